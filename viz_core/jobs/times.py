"""How long things may take before something is done about them, in seconds."""

from dataclasses import dataclass

ANNOUNCED = 0.25  # between two messages of a run
STORED = 2.0  # between two stored states of a run, or longer where storing takes long
STORING = 25  # so many times as long as storing took is trained before it is stored again
ORPHANED = 60.0  # after which a worker stops a run that no server has fetched anything of


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Of the server. Tests have shorter ones."""

    unwatched: float = 300.0  # after which a job that nobody looks at is paused
    quiet: float = 20.0  # without a step of any visitor, after which one more process may work
    idle: float = 60.0  # after which processes without work are ended
    silent: float = 2.0  # without a word of a run, after which its worker is asked whether it is there
    grace: float = 20.0  # for a worker to answer, or to end a run that was told to end
    start: float = 60.0  # for a process to start
    turn: float = 0.5  # between two looks at all of this
