"""Data-parallel training in several processes: each computes some rows of every batch, and the gradients are summed.

An optimizer that is expensive for each matrix is shared too: each process updates some of the matrices, and they exchange them.

On two cores this is nearly twice as fast as one process, while a second thread in one process gains only a sixth: most operations
of a small model are too short to be split.
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

PATIENCE = 120.0  # seconds that a process waits for the others at a barrier
R = Any
T = TypeVar("T")


@dataclass(slots=True)
class Crew:
    """One process in a group that trains a model together. rank: its index in the group."""

    rank: int = 0
    size: int = 1
    shared: Tensor | None = None  # [2, world_size, P + 2]; two halves in turns, so that none is written while it is read
    barrier: Any = None
    turn: int = field(default=0, init=False)

    def rows(self, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the rows of a batch that this process computes."""
        return {name: x[self.rank :: self.size] for name, x in batch.items()}

    def own(self, things: Sequence[T]) -> Sequence[T]:
        """Return the items assigned to this process: every `world_size`-th one."""
        return things[self.rank :: self.size]

    def add(self, model: nn.Module, losses: Tensor) -> Tensor:
        """Sum the gradients and the losses [2] over all processes, in the same order in each, so that models stay identical."""
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
        """Copy the updates that each process made to its `own_items` of these parameters to all processes."""
        if self.shared is None:
            return
        slots = [slot.view_as(p) for slot, p in zip(
            self.shared[self.turn, 0, : sum(p.numel() for p in parameters)].split([p.numel() for p in parameters]), parameters,
            strict=True,
        )]
        for slot, p in zip(self.own(slots), self.own(parameters), strict=True):
            slot.copy_(p)
        self.barrier.wait(PATIENCE)
        for slot, p in zip(slots, parameters, strict=True):
            p.copy_(slot)
        self.turn = 1 - self.turn


ALONE = Crew()


def together(size: int, work: Callable[..., R], model: nn.Module, *rest: Any, here: Mapping[str, Any]) -> R:
    """Run work(workers, model, *rest) in this process and in `n_processes` - 1 others, and return the result of this process.

    Each other process has a copy of the model; `main_options` are keyword arguments in this process only. Raises `RuntimeError` (of
    the barrier) if another process fails. Only a failing process aborts the barrier: when this one returns, another may still be
    leaving its last wait.
    """
    if size == 1:
        return work(ALONE, model, *rest, **here)
    context = mp.get_context("spawn")
    n_parameters = sum(p.numel() for p in model.parameters())
    shared, barrier = torch.zeros(2, size, n_parameters + 2).share_memory_(), context.Barrier(size)
    others = [context.Process(target=_other, args=(Crew(rank, size, shared, barrier), work, deepcopy(model), *rest), daemon=True)
              for rank in range(1, size)]
    for process in others:
        process.start()
    try:
        barrier.wait(PATIENCE)  # all have started
        return work(Crew(0, size, shared, barrier), model, *rest, **here)
    except BaseException:
        barrier.abort()  # release the others
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
        sys.exit(1)  # another process failed and prints its error
    except BaseException:
        crew.barrier.abort()  # release the others
        raise
