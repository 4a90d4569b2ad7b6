"""Data-parallel training in several processes: each computes some rows of every batch, and the gradients are summed.

The work of an optimizer that is expensive for each matrix is shared too: each process updates some of the matrices, and the
processes exchange the results.

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

BARRIER_TIMEOUT = 120.0  # seconds that a process waits for the others at a barrier
R = TypeVar("R")
T = TypeVar("T")


@dataclass(slots=True)
class WorkerGroup:
    """A group of processes that train a model together, as seen by one of them. rank: the index of this process."""

    rank: int = 0
    world_size: int = 1
    buffer: Tensor | None = None  # [2, world_size, P + 2]: P gradients, 2 losses; halves alternate, none is written while read
    barrier: Any = None
    buffer_half: int = field(default=0, init=False)

    def own_rows(self, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the rows of a batch that this process computes."""
        return {name: x[self.rank :: self.world_size] for name, x in batch.items()}

    def own_items(self, items: Sequence[T]) -> Sequence[T]:
        """Return the items assigned to this process: every `world_size`-th one."""
        return items[self.rank :: self.world_size]

    def all_reduce(self, model: nn.Module, losses: Tensor) -> Tensor:
        """Sum the gradients, in place, and the losses [2] over all processes, and return the sums of the losses, [2].

        Every process sums in the same order, so that the models stay identical.
        """
        if self.buffer is None:
            return losses
        parameters = list(model.parameters())
        own = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        torch.cat([*(grad.flatten() for grad in own), losses], out=self.buffer[self.buffer_half, self.rank])  # [P + 2]
        self.barrier.wait(BARRIER_TIMEOUT)
        *sums, total = self.buffer[self.buffer_half].sum(dim=0).split([*(p.numel() for p in parameters), len(losses)])
        for p, whole in zip(parameters, sums, strict=True):
            p.grad = whole.view_as(p)
        self.buffer_half = 1 - self.buffer_half
        return total

    @torch.no_grad()
    def all_gather(self, parameters: Sequence[Tensor]) -> None:
        """Copy the updates that each process made to its `own_items` of these parameters to all processes."""
        if self.buffer is None:
            return
        slots = [
            slot.view_as(p)
            for slot, p in zip(
                self.buffer[self.buffer_half, 0, : sum(p.numel() for p in parameters)].split([p.numel() for p in parameters]),
                parameters,
                strict=True,
            )
        ]
        for slot, p in zip(self.own_items(slots), self.own_items(parameters), strict=True):
            slot.copy_(p)
        self.barrier.wait(BARRIER_TIMEOUT)
        for slot, p in zip(slots, parameters, strict=True):
            p.copy_(slot)
        self.buffer_half = 1 - self.buffer_half


SINGLE_PROCESS = WorkerGroup()


def run_data_parallel(n_processes: int, work: Callable[..., R], model: nn.Module, *rest: Any, main_options: Mapping[str, Any]) -> R:
    """Run work(workers, model, *rest) in this process and in `n_processes` - 1 others, and return the result of this process.

    Each other process has a copy of the model; `main_options` are keyword arguments in this process only. Raises `RuntimeError` (of
    the barrier) if another process fails. Only a failing process aborts the barrier: when this one returns, another may still be
    leaving its last wait.
    """
    if n_processes == 1:
        return work(SINGLE_PROCESS, model, *rest, **main_options)
    context = mp.get_context("spawn")
    n_parameters = sum(p.numel() for p in model.parameters())
    shared, barrier = torch.zeros(2, n_processes, n_parameters + 2).share_memory_(), context.Barrier(n_processes)
    others = [
        context.Process(
            target=_run_worker, args=(WorkerGroup(rank, n_processes, shared, barrier), work, deepcopy(model), *rest), daemon=True
        )
        for rank in range(1, n_processes)
    ]
    for process in others:
        process.start()
    try:
        barrier.wait(BARRIER_TIMEOUT)  # all have started
        return work(WorkerGroup(0, n_processes, shared, barrier), model, *rest, **main_options)
    except BaseException:
        barrier.abort()  # release the others
        raise
    finally:
        for process in others:
            process.join(BARRIER_TIMEOUT)


def _run_worker(workers: WorkerGroup, work: Callable[..., object], model: nn.Module, *rest: Any) -> None:
    torch.set_num_threads(1)
    try:
        workers.barrier.wait(BARRIER_TIMEOUT)
        work(workers, model, *rest)
    except BrokenBarrierError:
        sys.exit(1)  # another process failed and prints its error
    except BaseException:
        workers.barrier.abort()  # release the others
        raise
