"""The messages between the server and the workers. Imports nothing large, because the scheduler imports it too."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from viz_core.problems import Problem

if TYPE_CHECKING:
    from viz_core.learning.training_run import Event

Wish = Literal["pause", "stop"]
Ended = Literal["stopped", "told", "until", "orphaned", "problem"]
"""Why an attempt ended by itself. stopped: the run has stopped. told: the server sent a command. until: it has taken the requested
steps. orphaned: no server has fetched updates for a long time. problem: it cannot continue."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The state of a run after a step, as returned by `TrainingRun.serialize`."""

    step: int
    tensors: bytes
    facts: str

    @property
    def nbytes(self) -> int:
        """Bytes of the state."""
        return len(self.tensors) + len(self.facts)


@dataclass(frozen=True, slots=True)
class Order:
    """One attempt at a run, from a saved state or from the beginning, assigned to a worker. end_step: the step after which it ends;
    None: train to the end."""

    number: str
    topic: str
    recipe: str
    state: Stored | None
    device: str
    until: int | None


@dataclass(frozen=True, slots=True)
class Opening:
    """Facts about a run when it starts. held_out_metrics: (loss, accuracy) before the first step; None if the run is resumed."""

    parts: tuple[str, ...]
    initial_hash: str
    device: str
    held_out: tuple[float, float] | None


@dataclass(slots=True)
class Parcel:
    """What has happened since the previous update. Snapshots are serialized by `Snapshot.to_bytes`."""

    opening: Opening | None = None
    events: list["Event"] = field(default_factory=list)
    moments: list[bytes] = field(default_factory=list)
    state: Stored | None = None
    ended: Ended | None = None
    problem: Problem | None = None
