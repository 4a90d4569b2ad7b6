"""The training loop, with one step of Adam for each batch of sentences."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from viz_core.config import TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.text import Vocabulary, pad
from viz_core.training.plans import Recipe


# --- Sentences as ids -------------------------------------------------------------------------------------------------
def encode(
    config: TransformerConfig, pairs: Sequence[tuple[Sequence[str], Sequence[str]]], vocabulary: Mapping[str, Vocabulary]
) -> dict[str, Tensor]:
    """Tokens of (source, target) -> padded ids: source [N, S], the decoder's input target [N, T], and labels [N, T].

    labels = target + <eos>; the decoder reads the same shifted right behind <bos>. Without a decoder, the label of each
    source word is the next one, and that of the last is <eos>. A side that the architecture lacks is left out.
    """
    rows: dict[str, list[list[int]]] = {}
    if config.has_encoder:
        rows["source"] = [vocabulary["source"].encode(source) for source, _ in pairs]
    if not config.has_decoder:
        rows["labels"] = [[*ids[1:], vocabulary["source"].eos_id] for ids in rows["source"]]
    if config.has_decoder:
        words = vocabulary["target"]
        targets = [words.encode(target) for _, target in pairs]
        rows["target"] = [[words.bos_id, *ids] for ids in targets]
        rows["labels"] = [[*ids, words.eos_id] for ids in targets]
    pads = pad_ids(config)
    return {name: torch.from_numpy(pad(ids, pads[name])) for name, ids in rows.items()}


def pad_ids(config: TransformerConfig) -> dict[str, int]:
    """The id that fills shorter rows of each side and of the labels."""
    return {**{side: config.pad_id(side) for side in config.sides}, "labels": config.pad_id(config.output_side)}


def batches(data: Mapping[str, Tensor], pads: Mapping[str, int], size: int, seed: int) -> Iterator[dict[str, Tensor]]:
    """An endless sequence of batches, with every sentence once per epoch; similar lengths together, to save padding.

    pads: the id of padding in each of the data.
    """
    rng = np.random.default_rng(seed)
    lengths = sum((x != pads[name]).sum(dim=1) for name, x in data.items()).numpy()  # type: ignore[union-attr]  # [N]
    while True:
        order = rng.permutation(len(lengths))  # [N]
        pools = np.array_split(order, max(1, len(order) // (32 * size)))
        pools = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
        cuts = [cut for pool in pools for cut in np.array_split(pool, max(1, len(pool) // size))]
        for i in rng.permutation(len(cuts)):
            yield {name: trimmed(x[torch.from_numpy(cuts[i])], pads[name]) for name, x in data.items()}


def trimmed(ids: Tensor, pad_id: int) -> Tensor:
    """[B, T] without the columns at the end that are padding in every row."""
    return ids[:, : int((ids != pad_id).sum(dim=1).max())]


# --- Learning ---------------------------------------------------------------------------------------------------------
def train(
    model: Transformer, data: Mapping[str, Tensor], recipe: Recipe, report: Callable[[int, float], None] = lambda step, loss: None
) -> list[float]:
    """Fit the model to its data in place; the loss of every step. The model comes back with dropout off.

    Same model, data, recipe, machine, torch and number of threads: the same weights, bit for bit. Elsewhere sums are
    rounded in another order, and the weights differ while the accuracy stays.
    """
    optimizer = torch.optim.Adam(model.parameters(), betas=recipe.betas, eps=1e-9, fused=True)  # the step takes a fifth of the time
    losses: list[float] = []
    with repeatable(recipe.seed):
        model.train()
        for step, batch in zip(range(recipe.steps), batches(data, pad_ids(model.config), recipe.batch, recipe.seed), strict=False):
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
