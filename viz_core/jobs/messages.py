"""What travels between the server and the processes that train. It imports nothing large: a scheduler reads it, too."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from viz_core.problems import Problem

if TYPE_CHECKING:
    from viz_core.learning.training_run import Event

Wish = Literal["pause", "stop"]
Ended = Literal["stopped", "told", "until", "orphaned", "problem"]
"""Why an attempt ended by itself: the run has stopped, the server told it to end, it has taken the steps that it was to take, no
server has asked for a long time, or it cannot go on."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The state of a run behind a step, as `TrainingRun.stored` gives it."""

    step: int
    tensors: bytes
    facts: str

    @property
    def nbytes(self) -> int:
        return len(self.tensors) + len(self.facts)


@dataclass(frozen=True, slots=True)
class Order:
    """One attempt at a run: from a stored state, or from its beginning. until: the step behind which it ends, None for all."""

    number: str
    topic: str
    recipe: str
    state: Stored | None
    device: str
    until: int | None


@dataclass(frozen=True, slots=True)
class Opening:
    """The run as it was made. held_out: (loss, accuracy) before the first step; None where it goes on."""

    parts: tuple[str, ...]
    initial_hash: str
    device: str
    held_out: tuple[float, float] | None


@dataclass(slots=True)
class Parcel:
    """What has happened since the last parcel. Moments are as `Moment.to_bytes` gives them."""

    opening: Opening | None = None
    events: list["Event"] = field(default_factory=list)
    moments: list[bytes] = field(default_factory=list)
    state: Stored | None = None
    ended: Ended | None = None
    problem: Problem | None = None
