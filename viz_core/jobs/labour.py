"""At a worker: the steps of an order, with what is told, stored and kept of them on the way.

How often something is told or stored depends on the clock; what is computed never does.
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
"""Sends a message, below 2 KB: the step, and what `Event.to_json` says of it."""


def carry_out(box: Box, announce: Announce) -> None:
    """Train until something ends it. `Problem`s wait on the desk like everything else."""
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
        box.end("problem", Problem(f"{box.order.device} has too little memory for this training; lower the batch or the sizes.",
                                   "training_memory", device=box.order.device))


def begun(order: Order) -> TrainingRun:
    """The run of an order, where it is to go on."""
    if order.state is not None:
        return TrainingRun.resume(order.state.tensors, order.state.facts, order.device)
    return TrainingRun(Recipe.from_json(order.recipe), order.device)


def opening(run: TrainingRun) -> Opening:
    """What the server has to know before the first event."""
    return Opening(tuple(run.parts), run.initial_hash, run.device, run.measure() if run.done == 0 else None)


def stored(run: TrainingRun) -> Stored:
    return Stored(run.done, *run.stored())


def _steps(run: TrainingRun, box: Box, announce: Announce) -> Ended:
    told, storing = time.monotonic(), Storing()
    while run.stopped is None:
        if due := box.due:
            return due
        if box.order.until is not None and run.done >= box.order.until:
            return "until"
        event = run.step()
        box.add(event)
        if wanted(event.step) and event.stopped is None:
            box.keep(moment_of(run.model, run.done).to_bytes())
        storing.if_due(run, box)
        if time.monotonic() - told >= ANNOUNCED:
            told = time.monotonic()
            announce(event.step, event.to_json())
    return "stopped"


class Storing:
    """A state now and then, so seldom that it costs little: what is left if the process is killed."""

    def __init__(self) -> None:
        self.due = time.monotonic() + STORED

    def if_due(self, run: TrainingRun, box: Box) -> None:
        if (start := time.monotonic()) >= self.due and run.stopped is None:
            box.store(stored(run))
            now = time.monotonic()
            self.due = now + max(STORED, STORING * (now - start))
