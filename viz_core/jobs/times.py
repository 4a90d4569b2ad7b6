"""Intervals and timeouts, in seconds."""

from dataclasses import dataclass

ANNOUNCED = 0.25  # minimum time between two messages of a run
STORED = 2.0  # minimum time between two saves of a run's state
STORING = 25  # a factor: train at least this many times as long as the last save took before saving again
ORPHANED = 60.0  # a worker ends a run whose updates no server has fetched for this long


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Timeouts of the server. Tests use shorter ones."""

    unwatched: float = 300.0  # a job that no visitor has viewed for this long is paused
    quiet: float = 20.0  # after this long without visitor activity, one more process may train
    idle: float = 60.0  # worker processes without work are ended after this long
    silent: float = 2.0  # after this long without an update, check that the worker is alive
    grace: float = 20.0  # for a worker to answer, or to end a run after a command
    start: float = 60.0  # for a worker process to start
    turn: float = 0.5  # between two rounds of the dispatcher
