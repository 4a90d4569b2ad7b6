"""Does the model notice word order? It reads one sentence in two orders under every position scheme; all else stays fixed.

The experiments read one sentence with the model's first stack (the encoder, or the decoder of a decoder-only model).
Only the scheme changes: the weights are the model's own, and what a scheme has to learn and it lacks is drawn from the seed.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from viz_core.config import STACKS, Side, TransformerConfig
from viz_core.model.init import Embedding, draw_parameters
from viz_core.model.masks import causal_mask
from viz_core.model.transformer import Stack, Transformer, position_parameter
from viz_core.position_schemes import SCHEMES, Position
from viz_core.problems import Problem
from viz_core.run import Batch, switched
from viz_core.text import AnyTokenizer, visible
from viz_core.tracing import Tracer

ROUNDING = 1e-5  # the error of float32 sums in another order, relative to the largest number
ENOUGH = 257  # tokens that are enough to show that a scheme has no limit
MOST_WORDS = 48  # words of a sentence that the model reads under every scheme
NOT_NUMBERS = Problem("Some outputs are infinite or NaN, so they cannot be compared; choose another norm or scale.", "not_finite")


# ---------------------------------------------------------------- one sentence


@dataclass(frozen=True, slots=True)
class Words:
    """One sentence as the experiments read it: tokens as shown, without <pad> and <bos>, and their ids."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    left_out: int = 0  # tokens after the first MOST_WORDS


def as_words(tokens: Sequence[str], ids: Sequence[int]) -> Words:
    """The first MOST_WORDS of some tokens."""
    return Words(tuple(map(visible, tokens[:MOST_WORDS])), tuple(ids[:MOST_WORDS]), max(0, len(ids) - MOST_WORDS))


def words_of(config: TransformerConfig, batch: Batch, item: int = 0) -> Words:
    """A sentence of the side that the model's first stack reads."""
    side = config.input_side
    known = batch.token_mask(config)[side][item]
    triples = zip(batch.tokens[side][item], batch.ids[side][item].tolist(), known, strict=True)
    pairs = [(t, i) for t, i, is_token in triples if is_token][side == "target" :]
    return as_words([t for t, __ in pairs], [i for __, i in pairs])


def words_in_front(tokenizer: AnyTokenizer, text: str) -> Words:
    """The words of a text that can stand before others: without what the tokenizer puts around a sentence, such as [CLS]."""
    own = set(tokenizer.read("")[1])
    read = [(t, i) for t, i in zip(*tokenizer.read(text), strict=True) if i not in own]
    return as_words([t for t, __ in read], [i for __, i in read])


# ---------------------------------------------------------------- one model, another scheme


def with_scheme(model: Transformer, position: Position, seed: int = 0) -> Transformer:
    """The model with the same parameters, shared, under another position scheme.

    What the scheme has to learn, and the model lacks, is drawn from the seed, as `build` would draw it. `ValueError` where
    the scheme does not fit (RoPE rotates pairs, so heads must have an even width).
    """
    config = replace(model.config, position=position)
    device = next(model.parameters()).device
    if not config.scheme.parameter or model.config.position == position:
        return switched(model, config).to(device)
    added = {
        f"{side}.{config.scheme.parameter}.weight": position_table(config, seed, side)
        for side in ("encoder", "decoder") if getattr(model, side) is not None
    }
    return switched(model, config, added).to(device)


def position_table(config: TransformerConfig, seed: int, side: str) -> Tensor:
    """What an untrained stack's scheme has to learn: [max_len, D] for learned positions, [T5_BUCKETS, H] for T5's bias."""
    table = position_parameter(config)
    assert table is not None
    return _drawn(config, seed, side, config.scheme.parameter, *table.weight.shape)


def learned_table(model: Transformer, position: Position, seed: int = 0) -> np.ndarray:
    """What the first stack has learned for a scheme, or what is drawn from the seed in its place, read-only."""
    stack = STACKS[model.config.input_side]
    if model.config.position == position:
        table = model.get_parameter(f"{stack}.{SCHEMES[position].parameter}.weight").detach().cpu()
    else:
        table = position_table(replace(model.config, position=position), seed, stack)
    return _frozen(table.numpy().view())


def _drawn(config: TransformerConfig, seed: int, side: str, leaf: str, rows: int, columns: int) -> Tensor:
    """A table [rows, columns] exactly as an untrained model of this config and seed has it under `side.leaf`."""
    holder = nn.ModuleDict({side: nn.ModuleDict({leaf: Embedding(rows, columns)})})
    draw_parameters(holder, config, seed)
    return holder.get_parameter(f"{side}.{leaf}.weight").detach()


def embedding_rows(config: TransformerConfig, seed: int, side: Side, ids: Sequence[int]) -> np.ndarray:
    """Rows of the untrained token embedding of a side ("source" or "target") for these ids, [T, D]."""
    table = _drawn(config, seed, STACKS[side], "tok_embedding", config.vocab_size(side), config.d_model)
    return table[torch.tensor(list(ids))].numpy()


def first_stack(model: Transformer) -> tuple[str, Stack]:
    """The stack that the experiments read with, and its side: ("source", encoder) or ("target", decoder)."""
    if model.encoder is not None:
        return "source", model.encoder
    assert model.decoder is not None
    return "target", model.decoder


def sees_only_back(config: TransformerConfig) -> bool:
    """Whether the first stack of this model has a causal mask."""
    return config.is_causal and not config.has_cross_attention


def blocked(config: TransformerConfig, n: int) -> np.ndarray | None:
    """True where the causal mask of the first stack blocks, [T, T] for n tokens; None where it has no such mask."""
    return np.triu(np.ones((n, n), dtype=bool), 1) if sees_only_back(config) else None


def read(
    model: Transformer, ids: Sequence[int], causal: bool, keep: Iterable[str] = ()
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """One sentence through the first stack: its last hidden states [T, D], and the stages named in keep.

    The only mask is the causal one, if requested. Stage names are local: "layers.0.self_attn.weights".
    """
    _, stack = first_stack(model)
    device = next(model.parameters()).device
    n = len(ids)
    mask = causal_mask(n, device) if causal else torch.ones(1, 1, n, n, dtype=torch.bool, device=device)
    tracer = Tracer(keep=tuple(keep))
    with torch.inference_mode():
        hidden = stack(torch.tensor([list(ids)], device=device), mask, tap=tracer)  # [1, T, D]
    return hidden[0].cpu().numpy(), tracer.arrays()


# ---------------------------------------------------------------- every scheme on one sentence


@dataclass(frozen=True, slots=True)
class SchemeOnSentence:
    """What one scheme adds to a sentence, and layer 0's attention. An array is None where the scheme has no such thing.

    `problem` is why the scheme does not fit this model; then all arrays are None.
    """

    position: Position
    problem: Problem | None = None
    pos_embed: np.ndarray | None = None  # [T, D] added to the embedding
    q: np.ndarray | None = None  # [H, T, K]
    k: np.ndarray | None = None  # [H, T, K]
    q_rot: np.ndarray | None = None  # [H, T, K] rotated by the position
    k_rot: np.ndarray | None = None  # [H, T, K]
    bias: np.ndarray | None = None  # [H, T, T] added to the scores
    weights: np.ndarray | None = None  # [H, T, T]


def schemes(model: Transformer, ids: Sequence[int], seed: int = 0) -> tuple[SchemeOnSentence, ...]:
    """All of them on one sentence, weights and seed held fixed, under the mask that the model's first stack has."""
    return tuple(_scheme(model, position, ids, seed) for position in SCHEMES)


def _scheme(model: Transformer, position: Position, ids: Sequence[int], seed: int) -> SchemeOnSentence:
    leaves = ("q", "k", "q_rot", "k_rot", "bias", "weights")
    keep = ("pos_embed", *(f"layers.0.self_attn.{leaf}" for leaf in leaves))
    try:
        other = with_scheme(model, position, seed)
        _, stages = read(other, ids, sees_only_back(model.config), keep)
    except Problem as error:
        return SchemeOnSentence(position, error.kept())
    if "layers.0.self_attn.weights" not in stages:
        no_layers = Problem("This model has no layers, so it has no attention; give it at least one layer.", "no_attention")
        return SchemeOnSentence(position, no_layers)
    return SchemeOnSentence(position, None, **{name.rpartition(".")[2]: _frozen(x[0]) for name, x in stages.items()})


def _frozen(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


# ---------------------------------------------------------------- another order


@dataclass(frozen=True, slots=True)
class Reordered:
    """f(Πx) compared with Πf(x): the difference after the outputs are put back into the original order.

    `free` is the largest difference without a mask, `causal` the one under a causal mask alone; `size` is the largest
    output, a scale for rounding. `moved` [T] and `moved_causal` [T] hold, for each word of the
    original order, the change of its output vector relative to its length.
    """

    position: Position
    problem: Problem | None = None
    free: float = math.nan
    causal: float = math.nan
    size: float = math.nan
    moved: np.ndarray | None = None
    moved_causal: np.ndarray | None = None

    @property
    def equivariant(self) -> bool:
        """Whether the outputs without a mask are the same vectors in the new order, to rounding."""
        return self.free <= ROUNDING * self.size

    @property
    def causal_equivariant(self) -> bool:
        """The same under a causal mask."""
        return self.causal <= ROUNDING * self.size


@dataclass(frozen=True, slots=True)
class Reordering:
    """One permutation under every scheme. order[i] is the original position of the word that is now at i."""

    order: tuple[int, ...]
    rows: tuple[Reordered, ...]

    @property
    def moved(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """(scheme, change of each word without a mask, under a causal one); what is no more than rounding is 0."""
        return [(SCHEMES[r.position].title, _above_rounding(r.moved), _above_rounding(r.moved_causal))
                for r in self.rows if r.moved is not None and r.moved_causal is not None]


def _above_rounding(changes: np.ndarray) -> np.ndarray:
    """Changes [T], with 0 for those that are no more than rounding."""
    return np.where(changes > ROUNDING, changes, 0.0)


def swap(length: int, a: int, b: int) -> tuple[int, ...]:
    """The order in which two words are swapped."""
    order = list(range(length))
    order[a], order[b] = order[b], order[a]
    return tuple(order)


def shuffle(length: int, seed: int) -> tuple[int, ...]:
    """An order drawn from the seed; it differs from the original one if another order exists."""
    drawn = np.random.default_rng(seed).permutation(length).tolist()
    return tuple(drawn[1:] + drawn[:1] if drawn == sorted(drawn) else drawn)


def reorder(model: Transformer, ids: Sequence[int], order: Sequence[int], seed: int = 0) -> Reordering:
    """Read the sentence in both orders under each scheme. `ValueError` where both are the same sentence."""
    if sorted(order) != list(range(len(ids))):
        raise ValueError(f"order={tuple(order)} is not an order of {len(ids)} words; name each position from 0 once.")
    if len(ids) < 2:
        raise Problem("One token has only one order: type a second word.", "one_order")
    if [ids[i] for i in order] == list(ids):
        raise Problem("Both orders give the model the same ids: choose words with different ids.", "same_ids")
    rows = tuple(_reordered(model, position, ids, order, seed) for position in SCHEMES)
    return Reordering(tuple(order), rows)


def _reordered(model: Transformer, position: Position, ids: Sequence[int], order: Sequence[int], seed: int) -> Reordered:
    try:
        other = with_scheme(model, position, seed)
        there = [ids[i] for i in order]
        differences, moved, size = {}, {}, math.nan
        for causal in (False, True):
            before, after = read(other, ids, causal)[0], read(other, there, causal)[0]  # [T, D] each
            if not (np.isfinite(before).all() and np.isfinite(after).all()):
                return Reordered(position, NOT_NUMBERS)
            size = size if causal else float(np.abs(before).max())
            back = np.empty_like(after)
            back[list(order)] = after  # each word's output, where the word stood before
            differences[causal] = float(np.abs(back - before).max())
            moved[causal] = _frozen(_share(back - before, before))
    except Problem as error:
        return Reordered(position, error.kept())
    return Reordered(position, None, differences[False], differences[True], size, moved[False], moved[True])


def _share(change: np.ndarray, of: np.ndarray) -> np.ndarray:
    """‖change‖ / ‖of‖ of each row; 0 where both are 0."""
    changed, whole = np.linalg.norm(change, axis=1), np.linalg.norm(of, axis=1)
    share: np.ndarray = np.divide(changed, whole, out=np.zeros_like(changed), where=changed > 0)
    return share


# ---------------------------------------------------------------- a word in front


@dataclass(frozen=True, slots=True)
class Prepended:
    """How much the scores of the same pairs of words changed when words were put in front, layer by layer.

    Scores are taken with the position bias and before the mask. `changes` holds the largest difference of each layer as a
    share of that layer's largest score.
    """

    position: Position
    problem: Problem | None = None
    changes: tuple[float, ...] = ()

    @property
    def unchanged(self) -> bool:
        """Whether layer 0's scores are the same up to rounding: they depend at most on the distance."""
        return bool(self.changes) and self.changes[0] <= ROUNDING


@dataclass(frozen=True, slots=True)
class Prepending:
    """The same sentence behind other words, under every scheme."""

    tokens: int  # number of tokens put in front
    rows: tuple[Prepended, ...]

    @property
    def changes(self) -> list[tuple[Position, tuple[float, ...]]]:
        """(scheme, change in each layer) of the schemes that fit."""
        return [(r.position, r.changes) for r in self.rows if r.changes]


def prepend(model: Transformer, ids: Sequence[int], front: Sequence[int], seed: int = 0) -> Prepending:
    """Read the sentence alone and behind `front`, under each scheme and the first stack's own mask."""
    if not front:
        raise Problem("Type at least one word to put in front.", "nothing_in_front")
    rows = tuple(_prepended(model, position, ids, front, seed) for position in SCHEMES)
    return Prepending(len(front), rows)


def _prepended(model: Transformer, position: Position, ids: Sequence[int], front: Sequence[int], seed: int) -> Prepended:
    causal, m = sees_only_back(model.config), len(front)
    try:
        other = with_scheme(model, position, seed)
        alone, behind = (_scores(other, x, causal) for x in (ids, [*front, *ids]))  # a list of [H, T, T] each
    except Problem as error:
        return Prepended(position, error.kept())
    return Prepended(position, None, tuple(_move(b[:, m:, m:], a) for a, b in zip(alone, behind, strict=True)))


def _move(after: np.ndarray, before: np.ndarray) -> float:
    """The largest |after − before| as a share of the largest |before|."""
    change, size = float(np.abs(after - before).max()), float(np.abs(before).max())
    return change / size if size else change


def _scores(model: Transformer, ids: Sequence[int], causal: bool) -> list[np.ndarray]:
    """Scores with bias, before the mask, of every layer."""
    _, stages = read(model, ids, causal, ("*.self_attn.scores", "*.self_attn.bias"))
    found = []
    for i in range(len(first_stack(model)[1].layers)):
        scores = stages[f"layers.{i}.self_attn.scores"][0]  # [H, T, T]
        bias = stages.get(f"layers.{i}.self_attn.bias")
        found.append(scores if bias is None else scores + bias[0])
    return found


# ---------------------------------------------------------------- past the table


@dataclass(frozen=True, slots=True)
class PastMaxLen:
    """A scheme's result on a sentence longer than the table. problem: why it refuses the sentence; None if it reads it."""

    position: Position
    tokens: int
    problem: Problem | None
    finite: bool | None = None  # whether all outputs are finite; None if there are none


@dataclass(frozen=True, slots=True)
class MaxLenResult:
    """A sentence one token longer than the table, under every scheme."""

    max_len: int
    rows: tuple[PastMaxLen, ...]


def past_the_table(model: Transformer, ids: Sequence[int], seed: int = 0) -> MaxLenResult:
    """Repeat the sentence until it is one token longer than max_len.

    A scheme without a table reads at most ENOUGH tokens, because it has no limit.
    """
    n = model.config.max_len + 1
    rows = tuple(_beyond(model, position, ids, n, seed) for position in SCHEMES)
    return MaxLenResult(model.config.max_len, rows)


def _beyond(model: Transformer, position: Position, ids: Sequence[int], n: int, seed: int) -> PastMaxLen:
    n = n if SCHEMES[position].has_table else min(n, max(ENOUGH, len(ids)))
    long = [ids[i % len(ids)] for i in range(n)]
    try:
        hidden, _ = read(with_scheme(model, position, seed), long, sees_only_back(model.config))
    except Problem as error:
        return PastMaxLen(position, n, error.kept())
    return PastMaxLen(position, n, None, bool(np.isfinite(hidden).all()))
