"""One training step, used for the shipped checkpoints and for interactive training, and context managers around it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from viz_core.model.inputs import check_inputs
from viz_core.model.transformer import Transformer
from viz_core.tracing import NO_TAP, Tracer
from viz_core.training.alignment_supervision import alignment_loss, supervised_layer
from viz_core.training.data_parallel import SINGLE_PROCESS, WorkerGroup
from viz_core.training.loss import chunked_cross_entropy
from viz_core.training.muon import MuonAndAdam


@dataclass(frozen=True, slots=True)
class StepResult:
    """The loss and gradient norms of one step, before the parameters are updated."""

    loss: float  # mean cross-entropy over the labels that are not padding
    alignment_loss: float  # loss of the supervised heads, divided by the number of these labels; 0 without supervision
    grad_norm: float  # norm of the whole gradient before clipping
    group_grad_norms: tuple[float, ...]  # gradient norms of `parameter_groups` before clipping
    logits: Tensor | None  # [B, T, W]; None with a chunked loss

    @property
    def is_finite(self) -> bool:
        """Whether loss and gradient are finite; otherwise the parameters were not updated."""
        return math.isfinite(self.loss) and math.isfinite(self.grad_norm)


def make_adam(model: nn.Module, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8) -> torch.optim.Adam:
    """Return torch's Adam (Kingma & Ba 2015) with torch's defaults; the fused kernel takes a fifth of the time."""
    return torch.optim.Adam(model.parameters(), betas=betas, eps=eps, fused=True)


def train_step(
    model: Transformer,
    optimizer: torch.optim.Optimizer | MuonAndAdam,
    batch: Mapping[str, Tensor],
    learning_rate: float,
    max_grad_norm: float = math.inf,
    parameter_groups: Sequence[Sequence[nn.Parameter]] = (),
    bfloat16: bool = False,
    chunked: bool = False,
    alignment_weight: float = 0.0,
    workers: WorkerGroup = SINGLE_PROCESS,
) -> StepResult:
    """Run forward, backward, gradient clipping and the update on one batch.

    batch: ids of "source", "target" and "labels", as the architecture needs. parameter_groups: groups of parameters whose gradient
    norms are returned. bfloat16: matrix products in bfloat16 (torch.autocast); parameters, softmax and loss stay in float32.
    chunked: the loss is computed in chunks of rows (`chunked_cross_entropy`), which is faster with a large vocabulary and returns
    no logits. alignment_weight: the weight of `alignment_loss`, for which the batch also has "alignment" and "referents"; only
    with `chunked`. workers: the processes that share this batch; each computes its own rows, and the step is that of the whole
    batch.
    """
    for group in optimizer.param_groups:
        group["lr"] = learning_rate * group.get("times", 1.0)
    rows, share = workers.own_rows(batch), 1.0
    if workers is not SINGLE_PROCESS:
        pad = model.config.pad_id(model.config.output_side)
        share = int((rows["labels"] != pad).sum()) / int((batch["labels"] != pad).sum())
    with torch.autocast(batch["labels"].device.type, torch.bfloat16, enabled=bfloat16):
        ids, labels = (rows.get("source"), rows.get("target")), rows["labels"]
        check_inputs(model.config, *ids)
        tracer = Tracer(keep=[f"decoder.layers.{supervised_layer(model.config)}.cross_attn.weights"]) if alignment_weight else None
        if chunked:
            mean, logits = chunked_cross_entropy(model, *ids, labels, tracer or NO_TAP), None
        else:
            out = model(*ids, labels)
            mean, logits = out.loss, out.logits
        guided = torch.zeros_like(mean)
        if tracer is not None:
            (weights,) = tracer.tensors()
            real = (labels != model.config.pad_id(model.config.output_side)).sum()
            guided = alignment_loss(weights, rows["alignment"], rows["referents"]) / real
    optimizer.zero_grad()
    ((mean + alignment_weight * guided) * share).backward()
    mean, guided = workers.all_reduce(model, torch.stack([mean, guided]).detach() * share)
    norms = [nn.utils.get_total_norm([p.grad for p in part if p.grad is not None]) for part in parameter_groups]
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
    loss, guided_value, norm_value, *part_norms = torch.stack([mean, guided, norm, *norms]).tolist()
    step = StepResult(loss, guided_value, norm_value, tuple(part_norms), None if logits is None else logits.detach())
    if step.is_finite:
        optimizer.step()
    return step


@contextmanager
def deterministic_algorithms(seed: int, device: str = "cpu") -> Iterator[None]:
    """Seed torch's random numbers and use deterministic kernels; the previous state and settings are restored on exit."""
    memory: Any = torch.utils.deterministic  # a setting that torch's type stubs lack
    before, filled = torch.are_deterministic_algorithms_enabled(), memory.fill_uninitialized_memory
    with torch.random.fork_rng(devices=[torch.cuda.current_device()] if device == "cuda" else []):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True)
        memory.fill_uninitialized_memory = False  # filling new memory takes a tenth of a step and is not needed
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before)
            memory.fill_uninitialized_memory = filled


@contextmanager
def single_thread() -> Iterator[None]:
    """Run torch with one thread: the order of summation, and so the rounding, depends on the number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def flush_denormals() -> Iterator[None]:
    """Flush denormal numbers (below 1e-38) to 0 in this thread, since processors are many times slower with them.

    Adam's averages for a rare word decay into that range in steps without the word; with a large vocabulary this makes the
    update ten times slower. Such small numbers do not affect the result.
    """
    torch.set_flush_denormal(True)  # has no effect on processors that do not support it
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
