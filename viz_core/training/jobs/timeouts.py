"""Intervals and timeouts, in seconds."""

from dataclasses import dataclass

ANNOUNCE_INTERVAL = 0.25  # minimum time between two messages of a run
SAVE_INTERVAL = 2.0  # minimum time between two saves of a run's state
SAVE_COST_FACTOR = 25  # a factor: train at least this many times as long as the last save took before saving again
ORPHAN_TIMEOUT = 60.0  # a worker ends a run whose updates no server has fetched for this long


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Timeouts of the server. Tests use shorter ones."""

    unwatched: float = 300.0  # a job that no visitor has viewed for this long is paused
    no_activity: float = 20.0  # after this long without visitor activity, one more process may train
    idle_workers: float = 60.0  # worker processes without work are ended after this long
    no_update: float = 2.0  # after this long without an update, check that the worker is alive
    grace: float = 20.0  # for a worker to answer, or to end a run after a command
    worker_start: float = 60.0  # for a worker process to start
    poll_interval: float = 0.5  # between two rounds of the dispatcher
