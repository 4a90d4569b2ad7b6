"""The training loop of the shipped checkpoints, with Adam or with Muon and Adam."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from viz_core.model.transformer import Transformer
from viz_core.training.data_parallel import WorkerGroup, run_data_parallel
from viz_core.training.encoding import pad_ids
from viz_core.training.muon import MuonAndAdam
from viz_core.training.shipped.plans import TrainingSettings
from viz_core.training.step import deterministic_algorithms, flush_denormals, make_adam, train_step


# --- Batches --------------------------------------------------------------------------------------------------------------
def iter_batches(
    data: Mapping[str, Tensor], pad_values: Mapping[str, int], batch_size: int, seed: int
) -> Iterator[dict[str, Tensor]]:
    """Yield batches without end, each sentence once per epoch, with similar lengths together to save padding.

    pad_values: the padding id of each tensor of `data`. Other tensors are padded with 0 and do not count for the length.
    """
    rng = np.random.default_rng(seed)
    lengths = sum((x != pad_values[name]).sum(dim=1) for name, x in data.items() if name in pad_values).numpy()  # type: ignore[union-attr]  # [N]
    while True:
        order = rng.permutation(len(lengths))  # [N]
        pools = np.array_split(order, max(1, len(order) // (32 * batch_size)))
        pools = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
        cuts = [cut for pool in pools for cut in np.array_split(pool, max(1, len(pool) // batch_size))]
        for i in rng.permutation(len(cuts)):
            yield {name: trim_padding(x[torch.from_numpy(cuts[i])], pad_values.get(name, 0)) for name, x in data.items()}


def trim_padding(ids: Tensor, pad_id: int) -> Tensor:
    """Return ids [B, T] without the last columns that are padding in every row."""
    used = (ids != pad_id).any(dim=0)  # [T]
    return ids[:, : int((used * torch.arange(1, len(used) + 1)).max())]


# --- Learning ---------------------------------------------------------------------------------------------------------
def train(
    model: Transformer,
    data: Mapping[str, Tensor],
    settings: TrainingSettings,
    on_step: Callable[[int, float], None] = lambda step, loss: None,
) -> list[float]:
    """Train the model in place, leave it in eval mode, and return the loss of every step.

    With the same model, data, settings, machine, torch version and number of threads the weights are bit-for-bit the same.
    Elsewhere rounding differs, and so do the weights; the accuracy is about the same. Raises `FloatingPointError` for a loss or a
    gradient norm that is not finite.
    """
    return run_data_parallel(settings.n_processes, _train_worker, model, data, settings, main_options={"on_step": on_step})


def _train_worker(
    workers: WorkerGroup,
    model: Transformer,
    data: Mapping[str, Tensor],
    settings: TrainingSettings,
    on_step: Callable[[int, float], None] | None = None,
) -> list[float]:
    optimizer: torch.optim.Optimizer | MuonAndAdam
    if settings.muon_rate:
        optimizer = MuonAndAdam(model, settings.muon_rate / settings.peak_rate, settings.betas, eps=1e-9, workers=workers)
    else:
        optimizer = make_adam(model, settings.betas, eps=1e-9)
    alignment_weight = settings.alignment_weight if model.config.has_cross_attention else 0.0
    losses: list[float] = []
    with deterministic_algorithms(settings.seed + workers.rank), flush_denormals():
        model.train()
        for step, batch in zip(
            range(settings.steps), iter_batches(data, pad_ids(model.config), settings.batch_size, settings.seed), strict=False
        ):
            taken = train_step(
                model,
                optimizer,
                batch,
                settings.learning_rate(step),
                settings.max_grad_norm,
                bfloat16=settings.bfloat16,
                chunked=True,
                alignment_weight=alignment_weight,
                workers=workers,
            )
            if not taken.is_finite:
                raise FloatingPointError(
                    f"the loss at step {step + 1} is {taken.loss} and the norm of its gradient {taken.grad_norm}."
                )
            losses.append(taken.loss)
            if on_step is not None:
                on_step(step + 1, losses[-1])
        model.eval()
    return losses
