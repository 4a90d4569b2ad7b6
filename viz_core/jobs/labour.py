"""The training loop on a worker, with its announcements, saved states and snapshots.

How often something is announced or saved depends on the clock; what is computed never does.
"""

import time
from collections.abc import Callable

import torch

from viz_core.jobs.box import Box
from viz_core.jobs.messages import Ended, Opening, Order, Stored
from viz_core.jobs.times import ANNOUNCED, STORED, STORING
from viz_core.learning.moments import moment_of, wanted
from viz_core.learning.recipe import Recipe
from viz_core.learning.training_run import TrainingRun
from viz_core.problems import Problem

Announce = Callable[[int, str | None], None]
"""Sends a message below 2 KB: the step, and the JSON of `StepEvent.to_json`."""


def carry_out(box: Box, announce: Announce) -> None:
    """Train until something ends the run. A `UserError` becomes part of the update."""
    try:
        run = begun(box.order)
        box.open(opening(run))
        if run.done == 0:
            box.keep(moment_of(run.model, 0).to_bytes())
        announce(run.done, None)
        why = _steps(run, box, announce)
        box.keep(moment_of(run.model, run.done).to_bytes())
        box.store(stored(run))
        box.end(why)
    except Problem as problem:
        box.end("problem", problem.kept())
    except (MemoryError, torch.OutOfMemoryError):
        device = box.order.device
        box.end("problem", Problem(f"{device} has too little memory for this training run; lower the batch or the model sizes.",
                                   "training_memory", device=device))


def begun(order: Order) -> TrainingRun:
    """Return the run of a task, resumed from its saved state if there is one."""
    if order.state is not None:
        return TrainingRun.resume(order.state.tensors, order.state.facts, order.device)
    return TrainingRun(Recipe.from_json(order.recipe), order.device)


def opening(run: TrainingRun) -> Opening:
    """Return the facts that the server needs before the first event."""
    return Opening(tuple(run.parts), run.initial_hash, run.device, run.measure() if run.done == 0 else None)


def stored(run: TrainingRun) -> Stored:
    """Return the serialized state of a run."""
    return Stored(run.done, *run.stored())


def _steps(run: TrainingRun, box: Box, announce: Announce) -> Ended:
    """Take steps until the run ends, and return why it ended."""
    announced, saver = time.monotonic(), Storing()
    while run.stopped is None:
        if reason := box.due:
            return reason
        if box.order.until is not None and run.done >= box.order.until:
            return "until"
        event = run.step()
        box.add(event)
        if wanted(event.step) and event.stopped is None:
            box.keep(moment_of(run.model, run.done).to_bytes())
        saver.if_due(run, box)
        if time.monotonic() - announced >= ANNOUNCED:
            announced = time.monotonic()
            announce(event.step, event.to_json())
    return "stopped"


class Storing:
    """Saves the state at intervals that keep the cost low; it is what remains if the process is killed."""

    def __init__(self) -> None:
        self.due = time.monotonic() + STORED

    def if_due(self, run: TrainingRun, box: Box) -> None:
        """Save the state if enough time has passed."""
        if (start := time.monotonic()) >= self.due and run.stopped is None:
            box.store(stored(run))
            now = time.monotonic()
            self.due = now + max(STORED, STORING * (now - start))
