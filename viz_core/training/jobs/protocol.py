"""The messages between the server and the workers. Imports nothing large, because the scheduler imports it too."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from viz_core.messages.errors import UserError

if TYPE_CHECKING:
    from viz_core.training.interactive.training_run import StepEvent

Command = Literal["pause", "stop"]
EndReason = Literal["stopped", "told", "until", "orphaned", "problem"]
"""Why an attempt ended, as its worker reports it. stopped: the run has stopped. told: the server sent a command. until: it has
taken the requested steps. orphaned: no server has fetched updates for a long time. problem: it cannot continue."""


@dataclass(frozen=True, slots=True)
class SavedState:
    """The state of a run after a step, as returned by `TrainingRun.serialize`."""

    step: int
    tensors: bytes
    metadata: str

    @property
    def nbytes(self) -> int:
        """Bytes of the state."""
        return len(self.tensors) + len(self.metadata)


@dataclass(frozen=True, slots=True)
class Assignment:
    """One attempt at a run, from a saved state or from the beginning, assigned to a worker. end_step: the step after which it ends;
    None: train to the end."""

    assignment_id: str
    topic: str
    recipe_json: str
    saved_state: SavedState | None
    device: str
    end_step: int | None


@dataclass(frozen=True, slots=True)
class RunStart:
    """Facts about a run when it starts. held_out_metrics: (loss, accuracy) before the first step; None if the run is resumed."""

    parts: tuple[str, ...]
    initial_hash: str
    device: str
    held_out_metrics: tuple[float, float] | None


@dataclass(slots=True)
class ProgressUpdate:
    """What has happened since the previous update. Snapshots are serialized by `Snapshot.to_bytes`."""

    run_start: RunStart | None = None
    events: list["StepEvent"] = field(default_factory=list)
    snapshots: list[bytes] = field(default_factory=list)
    saved_state: SavedState | None = None
    end_reason: EndReason | None = None
    error: UserError | None = None
