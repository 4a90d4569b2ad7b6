"""Several processes that train one model together: each reads some rows of every batch, and they add their gradients.

What costs much for each matrix, they share as well: each changes some of the matrices, and they exchange them.

On two cores that is nearly twice as fast as one process, while one process with two threads gains a sixth: most operations of a
small model are too short to be shared.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from threading import BrokenBarrierError
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch import multiprocessing as mp

PATIENCE = 120.0  # seconds after which a process that hears nothing of the others gives up
R = Any
T = TypeVar("T")


@dataclass(slots=True)
class Crew:
    """The processes of one training, as one of them sees them. rank: its own number, from 0."""

    rank: int = 0
    size: int = 1
    shared: Tensor | None = None  # [2, size, P + 2]: what each process adds, in turns, so that nobody writes what another reads
    barrier: Any = None
    turn: int = field(default=0, init=False)

    def rows(self, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The rows of a batch that this process reads."""
        return {name: x[self.rank :: self.size] for name, x in batch.items()}

    def own(self, things: Sequence[T]) -> Sequence[T]:
        """Those of some things that this process looks after: every size-th one."""
        return things[self.rank :: self.size]

    def add(self, model: nn.Module, losses: Tensor) -> Tensor:
        """Sums the gradients, and the losses [2], over all processes; all in the same order, so they stay alike bit for bit."""
        if self.shared is None:
            return losses
        parameters = list(model.parameters())
        own = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        torch.cat([*(grad.flatten() for grad in own), losses], out=self.shared[self.turn, self.rank])  # [P + 2]
        self.barrier.wait(PATIENCE)
        *sums, total = self.shared[self.turn].sum(dim=0).split([*(p.numel() for p in parameters), len(losses)])
        for p, whole in zip(parameters, sums, strict=True):
            p.grad = whole.view_as(p)
        self.turn = 1 - self.turn
        return total

    @torch.no_grad()
    def exchange(self, parameters: Sequence[Tensor]) -> None:
        """Each process has changed its `own` of these parameters; afterwards all have the changes of all."""
        if self.shared is None:
            return
        places = [place.view_as(p) for place, p in zip(
            self.shared[self.turn, 0, : sum(p.numel() for p in parameters)].split([p.numel() for p in parameters]), parameters,
            strict=True,
        )]
        for place, p in zip(self.own(places), self.own(parameters), strict=True):
            place.copy_(p)
        self.barrier.wait(PATIENCE)
        for place, p in zip(places, parameters, strict=True):
            p.copy_(place)
        self.turn = 1 - self.turn


ALONE = Crew()


def together(size: int, work: Callable[..., R], model: nn.Module, *rest: Any, here: Mapping[str, Any]) -> R:
    """work(crew, model, *rest) in this process and in size - 1 others; what it returns here, where it also has the options `here`.

    Each of the others has a copy of the model. `RuntimeError` (of the barrier) if one of them ends before its time. The barrier is
    broken only by a process that fails: where this one comes to its end, another may not yet have left their last wait.
    """
    if size == 1:
        return work(ALONE, model, *rest, **here)
    start = mp.get_context("spawn")
    n_parameters = sum(p.numel() for p in model.parameters())
    shared, barrier = torch.zeros(2, size, n_parameters + 2).share_memory_(), start.Barrier(size)
    others = [start.Process(target=_other, args=(Crew(rank, size, shared, barrier), work, deepcopy(model), *rest), daemon=True)
              for rank in range(1, size)]
    for process in others:
        process.start()
    try:
        barrier.wait(PATIENCE)  # they have read what they need
        return work(Crew(0, size, shared, barrier), model, *rest, **here)
    except BaseException:
        barrier.abort()  # the others wait no longer
        raise
    finally:
        for process in others:
            process.join(PATIENCE)


def _other(crew: Crew, work: Callable[..., R], model: nn.Module, *rest: Any) -> None:
    torch.set_num_threads(1)
    try:
        crew.barrier.wait(PATIENCE)
        work(crew, model, *rest)
    except BrokenBarrierError:
        sys.exit(1)  # another process failed, and says why
    except BaseException:
        crew.barrier.abort()  # the others wait no longer
        raise
