"""One step of training: the same for the shipped weights and for those that a visitor trains."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from viz_core.model.transformer import Transformer
from viz_core.tracing import NO_TAP, Tracer
from viz_core.training.crew import ALONE, Crew
from viz_core.training.guide import guided_layer, guided_loss
from viz_core.training.loss import loss_in_rows
from viz_core.training.muon import MuonAndAdam


@dataclass(frozen=True, slots=True)
class Step:
    """What one step saw, before it changed a parameter."""

    loss: float  # mean cross-entropy over the labels that are not padding
    guided: float  # the loss of the heads that are taught where to look, divided by the same number; 0 if none is
    norm: float  # of the whole gradient, before it is clipped
    norms: tuple[float, ...]  # of the parts of the gradient that were asked for, before it is clipped
    logits: Tensor | None  # [B, T, W]; None if the loss was computed some rows at a time

    @property
    def finite(self) -> bool:
        """Whether the step was taken: a loss or gradient that is NaN or infinite changes no parameter."""
        return math.isfinite(self.loss) and math.isfinite(self.norm)


def adam(model: nn.Module, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8) -> torch.optim.Adam:
    """Adam (Kingma & Ba 2015) as torch has it, with torch's defaults. Fused, it takes a fifth of the time."""
    return torch.optim.Adam(model.parameters(), betas=betas, eps=eps, fused=True)


def train_step(
    model: Transformer, optimizer: torch.optim.Optimizer | MuonAndAdam, batch: Mapping[str, Tensor], rate: float,
    clip: float = math.inf, parts: Sequence[Sequence[nn.Parameter]] = (), half: bool = False, in_rows: bool = False,
    guide: float = 0.0, crew: Crew = ALONE,
) -> Step:
    """Forward, backward, clip, update. batch: ids of "source", "target" and "labels", as the architecture needs.

    rate: the learning rate. clip: the largest norm of the gradient. parts: groups of parameters whose gradient's norm is wanted.
    half: matrix products in bfloat16 (torch.autocast); the parameters, the softmax and the loss stay in single precision.
    in_rows: the loss is computed some rows at a time (`loss_in_rows`), which costs less with a large vocabulary; there are no
    logits then.
    guide: the weight of `guided_loss`, for which the batch has "alignment" and "referents", too; only with in_rows.
    crew: the processes that share this batch; each reads its own rows, and the step is that of the whole batch.
    """
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("times", 1.0)
    own, share = crew.rows(batch), 1.0
    if crew is not ALONE:
        pad = model.config.pad_id(model.config.output_side)
        share = int((own["labels"] != pad).sum()) / int((batch["labels"] != pad).sum())
    with torch.autocast(batch["labels"].device.type, torch.bfloat16, enabled=half):
        ids, labels = (own.get("source"), own.get("target")), own["labels"]
        tracer = Tracer(keep=[f"decoder.layers.{guided_layer(model.config)}.cross_attn.weights"]) if guide else None
        if in_rows:
            mean, logits = loss_in_rows(model, *ids, labels, tracer or NO_TAP), None
        else:
            out = model(*ids, labels)
            mean, logits = out.loss, out.logits
        guided = torch.zeros_like(mean)
        if tracer is not None:
            (weights,) = tracer.tensors()
            real = (labels != model.config.pad_id(model.config.output_side)).sum()
            guided = guided_loss(weights, own["alignment"], own["referents"]) / real
    optimizer.zero_grad()
    ((mean + guide * guided) * share).backward()
    mean, guided = crew.add(model, torch.stack([mean, guided]).detach() * share)
    norms = [nn.utils.get_total_norm([p.grad for p in part if p.grad is not None]) for part in parts]
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    loss, found, total, *rest = torch.stack([mean, guided, norm, *norms]).tolist()
    step = Step(loss, found, total, tuple(rest), None if logits is None else logits.detach())
    if step.finite:
        optimizer.step()
    return step


@contextmanager
def repeatable(seed: int, device: str = "cpu") -> Iterator[None]:
    """Dropout drawn from this seed, deterministic kernels only; the caller's random state and settings come back."""
    memory: Any = torch.utils.deterministic  # a module with a setting that its types do not know
    before, filled = torch.are_deterministic_algorithms_enabled(), memory.fill_uninitialized_memory
    with torch.random.fork_rng(devices=[torch.cuda.current_device()] if device == "cuda" else []):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True)
        memory.fill_uninitialized_memory = False  # to fill all new memory takes a tenth of a step, and nothing reads it
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before)
            memory.fill_uninitialized_memory = filled


@contextmanager
def one_thread() -> Iterator[None]:
    """torch computes with one thread, whatever the machine has: with another number it adds in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def without_denormals() -> Iterator[None]:
    """Numbers below 1e-38 count as 0 in this thread. Processors compute with them many times slower.

    Adam's averages of a rare word pass through that range, since they shrink at every step without the word: soon each step of a
    large vocabulary waits for them, ten times as long as for Adam itself. Nothing that matters is so small.
    """
    torch.set_flush_denormal(True)  # a processor that cannot do it says so, and is as slow as before
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
