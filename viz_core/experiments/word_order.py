"""Experiments with position schemes: reordered words, words put in front, and sentences longer than the position table.

Each experiment runs one sentence through the model's first stack (the encoder, or the decoder of a decoder-only model) with every
position scheme. All other weights are the model's own; position parameters that it lacks are initialised from the seed.
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
ENOUGH = 257  # tokens with which a scheme without a length limit is tested
MOST_WORDS = 48  # of a sentence in these experiments
NOT_NUMBERS = Problem("Some outputs are infinite or NaN, so they cannot be compared; choose another norm or scale.", "not_finite")


# ---------------------------------------------------------------- one sentence


@dataclass(frozen=True, slots=True)
class Words:
    """One sentence of an experiment: tokens as displayed, without <pad> and <bos>, and their ids."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    left_out: int = 0  # the number of tokens after the first MAX_WORDS


def as_words(tokens: Sequence[str], ids: Sequence[int]) -> Words:
    """Return the first MAX_WORDS of some tokens."""
    return Words(tuple(map(visible, tokens[:MOST_WORDS])), tuple(ids[:MOST_WORDS]), max(0, len(ids) - MOST_WORDS))


def words_of(config: TransformerConfig, batch: Batch, item: int = 0) -> Words:
    """Return a sentence of the side that the model's first stack reads."""
    side = config.input_side
    known = batch.token_mask(config)[side][item]
    triples = zip(batch.tokens[side][item], batch.ids[side][item].tolist(), known, strict=True)
    pairs = [(t, i) for t, i, is_token in triples if is_token][side == "target" :]
    return as_words([t for t, __ in pairs], [i for __, i in pairs])


def words_in_front(tokenizer: AnyTokenizer, text: str) -> Words:
    """Return the tokens of a text without those that the tokenizer adds around a sentence, such as [CLS]."""
    own = set(tokenizer.read("")[1])
    read = [(t, i) for t, i in zip(*tokenizer.read(text), strict=True) if i not in own]
    return as_words([t for t, __ in read], [i for __, i in read])


# ---------------------------------------------------------------- a model with another scheme


def with_scheme(model: Transformer, position: Position, seed: int = 0) -> Transformer:
    """Return a model with another position scheme that shares the parameters.

    Position parameters that the model lacks are initialised from the seed, as by `build`. `ValueError` if the scheme is not
    possible (RoPE rotates pairs, so heads must have an even width).
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
    """Return the initial position table of an untrained stack: [max_len, D] for learned positions, [T5_NUM_BUCKETS, H] for T5."""
    table = position_parameter(config)
    assert table is not None
    return _drawn(config, seed, side, config.scheme.parameter, *table.weight.shape)


def learned_table(model: Transformer, position: Position, seed: int = 0) -> np.ndarray:
    """Return the first stack's table of a scheme, read-only: the trained one, or if there is none, the initial one of the seed."""
    stack = STACKS[model.config.input_side]
    if model.config.position == position:
        table = model.get_parameter(f"{stack}.{SCHEMES[position].parameter}.weight").detach().cpu()
    else:
        table = position_table(replace(model.config, position=position), seed, stack)
    return _frozen(table.numpy().view())


def _drawn(config: TransformerConfig, seed: int, side: str, leaf: str, rows: int, columns: int) -> Tensor:
    """Return a table [rows, columns] as an untrained model of this config and seed has it in `side.leaf`."""
    holder = nn.ModuleDict({side: nn.ModuleDict({leaf: Embedding(rows, columns)})})
    draw_parameters(holder, config, seed)
    return holder.get_parameter(f"{side}.{leaf}.weight").detach()


def embedding_rows(config: TransformerConfig, seed: int, side: Side, ids: Sequence[int]) -> np.ndarray:
    """Return rows of the untrained token embedding of a side ("source" or "target") for some ids, [T, D]."""
    table = _drawn(config, seed, STACKS[side], "tok_embedding", config.vocab_size(side), config.d_model)
    return table[torch.tensor(list(ids))].numpy()


def first_stack(model: Transformer) -> tuple[str, Stack]:
    """Return the side and the stack that the experiments use: ("source", encoder) or ("target", decoder)."""
    if model.encoder is not None:
        return "source", model.encoder
    assert model.decoder is not None
    return "target", model.decoder


def sees_only_back(config: TransformerConfig) -> bool:
    """Return whether the first stack of a model has a causal mask."""
    return config.is_causal and not config.has_cross_attention


def blocked(config: TransformerConfig, n: int) -> np.ndarray | None:
    """Return bool [T, T] for n tokens, True where the first stack's causal mask blocks; None if it has no causal mask."""
    return np.triu(np.ones((n, n), dtype=bool), 1) if sees_only_back(config) else None


def read(
    model: Transformer, ids: Sequence[int], causal: bool, keep: Iterable[str] = ()
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Run one sentence through the first stack; return its last hidden states [T, D] and the stages named in `keep`.

    The only mask is the causal one, if requested. Stage names are relative to the stack: "layers.0.self_attn.weights".
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
    """The stages of one scheme on one sentence: position encoding and layer 0's attention. None for stages that it does not have.

    problem: why the scheme is not possible for this model; then all arrays are None.
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
    """Run one sentence with every scheme, with the same weights and seed and the mask of the model's first stack."""
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
    """f(Πx) compared with Πf(x): the outputs of the permuted sentence, put back into the original order.

    difference, causal_difference: the largest difference without a mask and with a causal mask only. output_scale: the largest
    absolute output, to which rounding is relative. token_changes, causal_token_changes [T]: the change of each word's output vector
    relative to its length, in the original order.
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
        """Whether without a mask the outputs are the same vectors in the new order, up to rounding."""
        return self.free <= ROUNDING * self.size

    @property
    def causal_equivariant(self) -> bool:
        """Whether this holds with a causal mask."""
        return self.causal <= ROUNDING * self.size


@dataclass(frozen=True, slots=True)
class Reordering:
    """The effect of one permutation with every scheme. order[i]: the original position of the word at position i."""

    order: tuple[int, ...]
    rows: tuple[Reordered, ...]

    @property
    def moved(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """(scheme, change of each word without a mask, change with a causal mask); changes within rounding are 0."""
        return [(SCHEMES[r.position].title, _above_rounding(r.moved), _above_rounding(r.moved_causal))
                for r in self.rows if r.moved is not None and r.moved_causal is not None]


def _above_rounding(changes: np.ndarray) -> np.ndarray:
    """Return changes [T], with those within rounding set to 0."""
    return np.where(changes > ROUNDING, changes, 0.0)


def swap(length: int, a: int, b: int) -> tuple[int, ...]:
    """Return the order in which two words are swapped."""
    order = list(range(length))
    order[a], order[b] = order[b], order[a]
    return tuple(order)


def shuffle(length: int, seed: int) -> tuple[int, ...]:
    """Return a random order for the seed; it differs from the original one if another order exists."""
    order = np.random.default_rng(seed).permutation(length).tolist()
    return tuple(order[1:] + order[:1] if order == sorted(order) else order)


def reorder(model: Transformer, ids: Sequence[int], order: Sequence[int], seed: int = 0) -> Reordering:
    """Run the sentence in both orders with each scheme. `ValueError` if both give the same ids."""
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
        reordered_ids = [ids[i] for i in order]
        differences, moved, size = {}, {}, math.nan
        for causal in (False, True):
            before, after = read(other, ids, causal)[0], read(other, reordered_ids, causal)[0]  # [T, D] each
            if not (np.isfinite(before).all() and np.isfinite(after).all()):
                return Reordered(position, NOT_NUMBERS)
            size = size if causal else float(np.abs(before).max())
            restored = np.empty_like(after)
            restored[list(order)] = after  # each word's output at its original position
            differences[causal] = float(np.abs(restored - before).max())
            moved[causal] = _frozen(_share(restored - before, before))
    except Problem as error:
        return Reordered(position, error.kept())
    return Reordered(position, None, differences[False], differences[True], size, moved[False], moved[True])


def _share(change: np.ndarray, of: np.ndarray) -> np.ndarray:
    """Return ‖change‖ / ‖of‖ of each row; 0 where both are 0."""
    changed, whole = np.linalg.norm(change, axis=1), np.linalg.norm(of, axis=1)
    share: np.ndarray = np.divide(changed, whole, out=np.zeros_like(changed), where=changed > 0)
    return share


# ---------------------------------------------------------------- words in front


@dataclass(frozen=True, slots=True)
class Prepended:
    """The change of the scores between the words of a sentence when other words are put in front, by layer.

    changes: the largest difference of each layer relative to that layer's largest score. Scores include the position bias and are
    taken before the mask.
    """

    position: Position
    problem: Problem | None = None
    changes: tuple[float, ...] = ()

    @property
    def unchanged(self) -> bool:
        """Whether layer 0's scores are the same up to rounding, so that they depend on positions only through the distance."""
        return bool(self.changes) and self.changes[0] <= ROUNDING


@dataclass(frozen=True, slots=True)
class Prepending:
    """The effect of words in front of a sentence with every scheme."""

    tokens: int  # number of tokens put in front
    rows: tuple[Prepended, ...]

    @property
    def changes(self) -> list[tuple[Position, tuple[float, ...]]]:
        """(scheme, change in each layer) of the schemes that are possible."""
        return [(r.position, r.changes) for r in self.rows if r.changes]


def prepend(model: Transformer, ids: Sequence[int], front: Sequence[int], seed: int = 0) -> Prepending:
    """Run the sentence alone and after the words `front`, with each scheme and the first stack's own mask."""
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
    """Return the largest |after − before| relative to the largest |before|."""
    change, size = float(np.abs(after - before).max()), float(np.abs(before).max())
    return change / size if size else change


def _scores(model: Transformer, ids: Sequence[int], causal: bool) -> list[np.ndarray]:
    """Return the scores of every layer with the position bias, before the mask."""
    _, stages = read(model, ids, causal, ("*.self_attn.scores", "*.self_attn.bias"))
    found = []
    for i in range(len(first_stack(model)[1].layers)):
        scores = stages[f"layers.{i}.self_attn.scores"][0]  # [H, T, T]
        bias = stages.get(f"layers.{i}.self_attn.bias")
        found.append(scores if bias is None else scores + bias[0])
    return found


# ---------------------------------------------------------------- beyond max_len


@dataclass(frozen=True, slots=True)
class PastMaxLen:
    """A scheme's result on a sentence longer than max_len. problem: the error, None if it can read the sentence."""

    position: Position
    tokens: int
    problem: Problem | None
    finite: bool | None = None  # whether all outputs are finite; None if there are none


@dataclass(frozen=True, slots=True)
class MaxLenResult:
    """The results of every scheme on a sentence one token longer than max_len."""

    max_len: int
    rows: tuple[PastMaxLen, ...]


def past_the_table(model: Transformer, ids: Sequence[int], seed: int = 0) -> MaxLenResult:
    """Repeat the sentence until it is one token longer than max_len, and run it with every scheme.

    For a scheme without a table, which has no length limit, at most UNLIMITED_TEST_LENGTH tokens are used.
    """
    n = model.config.max_len + 1
    rows = tuple(_beyond(model, position, ids, n, seed) for position in SCHEMES)
    return MaxLenResult(model.config.max_len, rows)


def _beyond(model: Transformer, position: Position, ids: Sequence[int], n: int, seed: int) -> PastMaxLen:
    n = n if SCHEMES[position].has_table else min(n, max(ENOUGH, len(ids)))
    repeated_ids = [ids[i % len(ids)] for i in range(n)]
    try:
        hidden, _ = read(with_scheme(model, position, seed), repeated_ids, sees_only_back(model.config))
    except Problem as error:
        return PastMaxLen(position, n, error.kept())
    return PastMaxLen(position, n, None, bool(np.isfinite(hidden).all()))
