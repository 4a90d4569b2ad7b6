"""Does the model notice order? One sentence read in two orders, under five position schemes, all else held fixed.

The experiments read one sentence with the model's first stack (the encoder, or the decoder of a decoder-only model).
Only the scheme changes: the weights are the model's own, and a learned table that it lacks is drawn from the seed.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import torch
from torch import Tensor, nn

from viz_core.config import Position, TransformerConfig
from viz_core.model.init import Embedding, draw_parameters
from viz_core.model.masks import causal_mask
from viz_core.model.transformer import Stack, Transformer
from viz_core.run import switched
from viz_core.tracing import Tracer

SCHEMES: tuple[Position, ...] = get_args(Position)
ROUNDING = 1e-5  # float32 against float32 in another order, relative to the largest number
ENOUGH = 257  # tokens that show that there is no end, where there is none
NOT_NUMBERS = "Some outputs are infinite or not a number here, so there is nothing to compare; choose another norm or scale."
NAMES = {"sinusoidal": "sinusoidal", "learned": "learned", "rope": "RoPE", "alibi": "ALiBi", "none": "no positions"}


# ---------------------------------------------------------------- one model, another scheme


def with_scheme(model: Transformer, position: Position, seed: int = 0) -> Transformer:
    """The model with the same parameters, shared, under another position scheme.

    A learned table that the model lacks is drawn from the seed, as `build` would draw it. `ValueError` where the
    scheme does not fit (RoPE turns pairs, so heads must be of even width).
    """
    config = replace(model.config, position=position)
    device = next(model.parameters()).device
    if position != "learned" or model.config.position == "learned":
        return switched(model, config).to(device)
    other = Transformer(config, seed=None).eval()
    tables = {
        f"{side}.pos_embedding.weight": drawn_table(config, seed, side, "pos_embedding", config.max_len)
        for side in ("encoder", "decoder") if getattr(model, side) is not None
    }
    other.load_state_dict(model.state_dict() | tables, assign=True)
    return other.to(device)


def drawn_table(config: TransformerConfig, seed: int, side: str, leaf: str, rows: int) -> Tensor:
    """A table [rows, D] exactly as an untrained model of this config and seed has it under `side.leaf`."""
    holder = nn.ModuleDict({side: nn.ModuleDict({leaf: Embedding(rows, config.d_model)})})
    draw_parameters(holder, config, seed)
    return holder.get_parameter(f"{side}.{leaf}.weight").detach()


def embedding_rows(config: TransformerConfig, seed: int, side: str, ids: Sequence[int]) -> np.ndarray:
    """Rows of the untrained token embedding of a side ("source" or "target") for these ids, [T, D]."""
    rows = config.target_vocab_size if side == "target" else config.source_vocab_size
    table = drawn_table(config, seed, "decoder" if side == "target" else "encoder", "tok_embedding", rows)
    return table[torch.tensor(list(ids))].numpy()


def first_stack(model: Transformer) -> tuple[str, Stack]:
    """The stack that the experiments read with, and its side: ("source", encoder) or ("target", decoder)."""
    if model.encoder is not None:
        return "source", model.encoder
    assert model.decoder is not None
    return "target", model.decoder


def sees_only_back(config: TransformerConfig) -> bool:
    """Whether the first stack works under a causal mask in this model."""
    return config.is_causal and not config.has_cross_attention


def read(
    model: Transformer, ids: Sequence[int], causal: bool, keep: Iterable[str] = ()
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """One sentence through the first stack: its last hidden states [T, D], and the stages named in keep.

    No mask but the causal one, where asked for. Stage names are local: "layers.0.self_attn.weights".
    """
    _, stack = first_stack(model)
    device = next(model.parameters()).device
    n = len(ids)
    mask = causal_mask(n, device) if causal else torch.ones(1, 1, n, n, dtype=torch.bool, device=device)
    tracer = Tracer(keep=tuple(keep))
    with torch.inference_mode():
        hidden = stack(torch.tensor([list(ids)], device=device), mask, tap=tracer)  # [1, T, D]
    return hidden[0].cpu().numpy(), tracer.arrays()


# ---------------------------------------------------------------- the five schemes on one sentence


@dataclass(frozen=True, slots=True)
class Scheme:
    """What one scheme adds to a sentence, and layer 0's attention. An array is None where the scheme has no such thing.

    `problem` is one sentence why the scheme cannot be had here; then all arrays are None.
    """

    position: Position
    problem: str = ""
    pos_embed: np.ndarray | None = None  # [T, D] added to the embedding
    q: np.ndarray | None = None  # [H, T, K]
    k: np.ndarray | None = None  # [H, T, K]
    q_rot: np.ndarray | None = None  # [H, T, K] turned by the position
    k_rot: np.ndarray | None = None  # [H, T, K]
    bias: np.ndarray | None = None  # [H, T, T] added to the scores
    weights: np.ndarray | None = None  # [H, T, T]


def schemes(model: Transformer, ids: Sequence[int], seed: int = 0) -> tuple[Scheme, ...]:
    """All five on one sentence, weights and seed held fixed, under the mask that the model's first stack has."""
    return tuple(_scheme(model, position, ids, seed) for position in SCHEMES)


def _scheme(model: Transformer, position: Position, ids: Sequence[int], seed: int) -> Scheme:
    leaves = ("q", "k", "q_rot", "k_rot", "bias", "weights")
    keep = ("pos_embed", *(f"layers.0.self_attn.{leaf}" for leaf in leaves))
    try:
        other = with_scheme(model, position, seed)
        _, stages = read(other, ids, sees_only_back(model.config), keep)
    except ValueError as error:
        return Scheme(position, str(error))
    if "layers.0.self_attn.weights" not in stages:
        return Scheme(position, "This model has no layer, so there is no attention to look at; give it at least one.")
    return Scheme(position, "", **{name.rpartition(".")[2]: _frozen(x[0]) for name, x in stages.items()})


def _frozen(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


# ---------------------------------------------------------------- another order


@dataclass(frozen=True, slots=True)
class Reordered:
    """f(Πx) against Πf(x): what is left once the outputs are put back into the first order.

    `free` is the largest difference where everyone sees everyone, `causal` under a causal mask alone; `size` is the
    largest output, to measure rounding by. `moved` [T] and `moved_causal` [T] say for each word of the first order by
    what share of its length its output vector changed.
    """

    position: Position
    problem: str = ""
    free: float = math.nan
    causal: float = math.nan
    size: float = math.nan
    moved: np.ndarray | None = None
    moved_causal: np.ndarray | None = None

    @property
    def merely_permuted(self) -> bool:
        """Whether the outputs without a mask are the same vectors in the new order, to rounding."""
        return self.free <= ROUNDING * self.size

    @property
    def causal_merely_permuted(self) -> bool:
        """The same under a causal mask."""
        return self.causal <= ROUNDING * self.size


@dataclass(frozen=True, slots=True)
class Reordering:
    """One permutation tried under the five schemes. order[i] is the place that the word now at i had before."""

    order: tuple[int, ...]
    rows: tuple[Reordered, ...]
    verdict: str


def swap(length: int, a: int, b: int) -> tuple[int, ...]:
    """The order in which two words have changed places."""
    order = list(range(length))
    order[a], order[b] = order[b], order[a]
    return tuple(order)


def shuffle(length: int, seed: int) -> tuple[int, ...]:
    """An order drawn from the seed; never the one that is there already, where there is another."""
    drawn = np.random.default_rng(seed).permutation(length).tolist()
    return tuple(drawn[1:] + drawn[:1] if drawn == sorted(drawn) else drawn)


def reorder(model: Transformer, ids: Sequence[int], order: Sequence[int], seed: int = 0) -> Reordering:
    """Read the sentence in both orders under each scheme. `ValueError` where both are the same sentence."""
    if sorted(order) != list(range(len(ids))):
        raise ValueError(f"order={tuple(order)} is not an order of {len(ids)} words; name each place from 0 once.")
    if len(ids) < 2:
        raise ValueError("One token has only one order: type a second word.")
    if [ids[i] for i in order] == list(ids):
        raise ValueError("Both orders are the same sentence to the model, id for id: choose words with different ids.")
    rows = tuple(_reordered(model, position, ids, order, seed) for position in SCHEMES)
    return Reordering(tuple(order), rows, order_verdict(rows))


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
    except ValueError as error:
        return Reordered(position, str(error))
    return Reordered(position, "", differences[False], differences[True], size, moved[False], moved[True])


def _share(change: np.ndarray, of: np.ndarray) -> np.ndarray:
    """‖change‖ / ‖of‖ of each row; 0 where both are 0."""
    changed, whole = np.linalg.norm(change, axis=1), np.linalg.norm(of, axis=1)
    share: np.ndarray = np.divide(changed, whole, out=np.zeros_like(changed), where=changed > 0)
    return share


def order_verdict(rows: Sequence[Reordered]) -> str:
    """What the numbers say, in a few sentences."""
    tried = [r for r in rows if not r.problem]
    blind, seeing = [r for r in tried if r.merely_permuted], [r for r in tried if not r.merely_permuted]
    said = []
    if blind:
        most = max(r.free for r in blind)
        said.append(f"{_names(blind)}, no mask: the outputs are the same vectors in another order, "
                    f"{f'to {most:.1e}' if most else 'to the last bit'}. Nothing in them tells who came first.")
        if broken := [r for r in blind if not r.causal_merely_permuted]:
            said.append(f"A causal mask alone breaks that: under it they differ by {min(r.causal for r in broken):.2g}, "
                        "since each word sees only what came before it.")
    if any(r.position == "alibi" for r in blind):
        said.append("ALiBi's penalty is the same to the left and to the right: where everyone sees everyone, a sentence and its "
                    "mirror image are alike to it.")
    if seeing:
        said.append(f"{_names(seeing)}: the outputs differ by {min(r.free for r in seeing):.2g} or more. The order is seen.")
    return " ".join(said)


# ---------------------------------------------------------------- a word in front


@dataclass(frozen=True, slots=True)
class Prepended:
    """How far the scores of the same pairs of words moved when words were put in front, layer by layer.

    Scores are taken with ALiBi's bias and before the mask. `changes` holds the largest difference of each layer as a
    share of that layer's largest score.
    """

    position: Position
    problem: str = ""
    changes: tuple[float, ...] = ()

    @property
    def unchanged(self) -> bool:
        """Whether layer 0's scores are the same, to rounding: they depend on distance (or on nothing) alone."""
        return bool(self.changes) and self.changes[0] <= ROUNDING


@dataclass(frozen=True, slots=True)
class Prepending:
    """Words put in front, under the five schemes."""

    tokens: int  # how many were put in front
    rows: tuple[Prepended, ...]
    verdict: str


def prepend(model: Transformer, ids: Sequence[int], front: Sequence[int], seed: int = 0) -> Prepending:
    """Read the sentence alone and behind `front`, under each scheme and the first stack's own mask."""
    if not front:
        raise ValueError("There is no word to put in front: type one.")
    rows = tuple(_prepended(model, position, ids, front, seed) for position in SCHEMES)
    return Prepending(len(front), rows, prepend_verdict(rows))


def _prepended(model: Transformer, position: Position, ids: Sequence[int], front: Sequence[int], seed: int) -> Prepended:
    causal, m = sees_only_back(model.config), len(front)
    try:
        other = with_scheme(model, position, seed)
        alone, behind = (_scores(other, x, causal) for x in (ids, [*front, *ids]))  # a list of [H, T, T] each
    except ValueError as error:
        return Prepended(position, str(error))
    return Prepended(position, "", tuple(_move(b[:, m:, m:], a) for a, b in zip(alone, behind, strict=True)))


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


def prepend_verdict(rows: Sequence[Prepended]) -> str:
    """What the numbers say, in a few sentences."""
    tried = [r for r in rows if r.changes]
    kept, changed = [r for r in tried if r.unchanged], [r for r in tried if not r.unchanged]
    said = []
    if kept:
        most = max(r.changes[0] for r in kept)
        how = f"to {most:.1e} of the largest score" if most else "to the last bit"
        said.append(f"{_names(kept)}: in layer 0 the same two words score the same, {how}. At most their distance counts.")
    if changed:
        said.append(f"{_names(changed)}: there the scores move by {min(r.changes[0] for r in changed):.2g} or more. "
                    "The place itself counts.")
    deeper = [c for r in tried for c in r.changes[1:]]
    if deeper and min(deeper) > ROUNDING:
        said.append(f"Deeper layers move under every scheme (by {min(deeper):.2g} to {max(deeper):.2g}): "
                    "there the new word is mixed into the others.")
    return " ".join(said)


# ---------------------------------------------------------------- past the table


@dataclass(frozen=True, slots=True)
class PastMaxLen:
    """What a scheme answers to a sentence that is longer than the table: its refusal, or "" where it reads on."""

    position: Position
    tokens: int
    answer: str
    finite: bool | None = None  # whether all outputs are numbers; None where there are none


@dataclass(frozen=True, slots=True)
class MaxLenResult:
    """One token more than the table has rows, under the five schemes."""

    max_len: int
    rows: tuple[PastMaxLen, ...]
    verdict: str


def past_the_table(model: Transformer, ids: Sequence[int], seed: int = 0) -> MaxLenResult:
    """Repeat the sentence until it is one token longer than max_len.

    A scheme without a table reads at most ENOUGH tokens: it has no end to reach.
    """
    n = model.config.max_len + 1
    rows = tuple(_beyond(model, position, ids, n, seed) for position in SCHEMES)
    return MaxLenResult(model.config.max_len, rows, past_verdict(rows))


def _beyond(model: Transformer, position: Position, ids: Sequence[int], n: int, seed: int) -> PastMaxLen:
    n = n if position in ("sinusoidal", "learned") else min(n, max(ENOUGH, len(ids)))
    long = [ids[i % len(ids)] for i in range(n)]
    try:
        hidden, _ = read(with_scheme(model, position, seed), long, sees_only_back(model.config))
    except ValueError as error:
        return PastMaxLen(position, n, str(error))
    return PastMaxLen(position, n, "", bool(np.isfinite(hidden).all()))


def past_verdict(rows: Sequence[PastMaxLen]) -> str:
    """What happened, in a few sentences."""
    refusing, going = [r for r in rows if r.answer], [r for r in rows if not r.answer]
    said = []
    if refusing:
        said.append(f"{_names(refusing)}: refused, in one sentence.")
    if going:
        said.append(f"{_names(going)}: read to the end" + (", every output a number." if all(r.finite for r in going) else "."))
    if refusing and going:
        said.append("To be read is not to be read well: max_len is the size of a table, not a length that was trained.")
    return " ".join(said)


def _names(rows: Sequence[Reordered | Prepended | PastMaxLen]) -> str:
    """ "Sinusoidal, learned and RoPE" """
    return listed([NAMES[r.position] for r in rows])


def listed(names: Sequence[str]) -> str:
    """Names as a sentence begins with them: "Sinusoidal, learned and RoPE"."""
    joined = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return joined[0].upper() + joined[1:]
