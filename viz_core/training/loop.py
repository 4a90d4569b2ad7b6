"""The training loop, with one step of Adam for each batch of sentences; and greedy decoding."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from viz_core.config import TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.text import Vocabulary, pad


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The training settings. The learning rate rises to `peak` during `warmup` steps, then falls linearly to 0."""

    steps: int = 4000
    batch: int = 64
    peak: float = 2e-3
    warmup: int = 400
    betas: tuple[float, float] = (0.9, 0.98)
    clip: float = 1.0  # maximum gradient norm
    seed: int = 0

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        return self.peak * min((step + 1) / self.warmup, (self.steps - step) / max(1, self.steps - self.warmup))

    def shortened(self, steps: int) -> "Recipe":
        """The same with fewer steps, a tenth of them for the warm-up."""
        return replace(self, steps=steps, warmup=max(1, steps // 10))


# --- Sentences as ids -------------------------------------------------------------------------------------------------
def encode(
    config: TransformerConfig, pairs: Sequence[tuple[Sequence[str], Sequence[str]]], vocabulary: Mapping[str, Vocabulary]
) -> dict[str, Tensor]:
    """Tokens of (source, target) -> padded ids: source [N, S], the decoder's input target [N, T], and labels [N, T].

    labels = target + <eos>; the decoder reads the same shifted right behind <bos>. A side that the architecture lacks
    is left out.
    """
    rows: dict[str, list[list[int]]] = {}
    if config.has_encoder:
        rows["source"] = [vocabulary["source"].encode(source) for source, _ in pairs]
    if config.has_decoder:
        words = vocabulary["target"]
        targets = [words.encode(target) for _, target in pairs]
        rows["target"] = [[words.bos_id, *ids] for ids in targets]
        rows["labels"] = [[*ids, words.eos_id] for ids in targets]
    pad_id = {"source": config.source_pad_id, "target": config.target_pad_id, "labels": config.target_pad_id}
    return {side: torch.from_numpy(pad(ids, pad_id[side])) for side, ids in rows.items()}


def batches(data: Mapping[str, Tensor], size: int, seed: int) -> Iterator[dict[str, Tensor]]:
    """An endless sequence of batches, with every sentence once per epoch; similar lengths together, to save padding."""
    rng = np.random.default_rng(seed)
    lengths = sum((x != 0).sum(dim=1) for x in data.values()).numpy()  # type: ignore[union-attr]  # [N]
    while True:
        order = rng.permutation(len(lengths))  # [N]
        pools = np.array_split(order, max(1, len(order) // (32 * size)))
        pools = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
        cuts = [cut for pool in pools for cut in np.array_split(pool, max(1, len(pool) // size))]
        for i in rng.permutation(len(cuts)):
            yield {side: trimmed(x[torch.from_numpy(cuts[i])]) for side, x in data.items()}


def trimmed(ids: Tensor) -> Tensor:
    """[B, T] without the columns that are padding in every row."""
    return ids[:, : int((ids != 0).sum(dim=1).max())]


# --- Learning ---------------------------------------------------------------------------------------------------------
def train(
    model: Transformer, data: Mapping[str, Tensor], recipe: Recipe, report: Callable[[int, float], None] = lambda step, loss: None
) -> list[float]:
    """Fit the model to its data in place; the loss of every step. The model comes back with dropout off.

    Same model, data, recipe, machine, torch and number of threads: the same weights, bit for bit. Elsewhere sums are
    rounded in another order, and the weights differ while the accuracy stays.
    """
    optimizer = torch.optim.Adam(model.parameters(), betas=recipe.betas, eps=1e-9)
    losses: list[float] = []
    with repeatable(recipe.seed):
        model.train()
        for step, batch in zip(range(recipe.steps), batches(data, recipe.batch, recipe.seed), strict=False):
            for group in optimizer.param_groups:
                group["lr"] = recipe.rate(step)
            loss = model(batch.get("source"), batch.get("target"), batch.get("labels")).loss  # []
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
            optimizer.step()
            losses.append(loss.item())
            report(step + 1, losses[-1])
        model.eval()
    return losses


@contextmanager
def repeatable(seed: int) -> Iterator[None]:
    """Dropout drawn from this seed, deterministic kernels only; the caller's random state and setting come back."""
    before = torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before)


# --- Using what was learnt --------------------------------------------------------------------------------------------
@torch.inference_mode()
def greedy(model: Transformer, start: Tensor, eos_id: int, source: Tensor | None = None, longest: int = 30) -> list[list[int]]:
    """The likeliest next word, again and again up to <eos>: the ids of each sentence behind its start.

    start [B, T]: what the decoder has read already, <bos> at least. source [B, S] for an encoder. <eos> is left out; a
    sentence without one ends after `longest` words.
    """
    ids, done = start, torch.zeros(len(start), dtype=torch.bool)  # [B, T], [B]
    while ids.shape[1] < start.shape[1] + longest and not done.all():
        logits = model(source, ids).logits  # [B, T, W]
        ids = torch.cat((ids, logits[:, -1:].argmax(dim=-1)), dim=1)  # [B, T + 1]
        done = done | (ids[:, -1] == eos_id)  # [B]
    rows = ids[:, start.shape[1] :].tolist()
    return [row[: row.index(eos_id)] if eos_id in row else row for row in rows]
