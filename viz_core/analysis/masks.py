"""Attention masks: the parts of a mask, the reason a cell is blocked, broadcasting over the scores, and mask conventions.

A mask is bool, and True means may attend. Parts are recorded as `masks.source_padding`, `masks.target_padding`
[B, 1, 1, S] and `masks.causal` [1, 1, T, S]; what attention uses is their AND, [B, 1, T, S].
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from viz_core.analysis.attention import MASK, AttentionKind, allowed, kinds, real, sides
from viz_core.capture import Capture
from viz_core.config import Side, TransformerConfig

Convention = Literal["may", "blocked", "additive"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
WHY = ("allowed", "padding", "future", "padding_and_future")  # indexed by the values of `blocking_reasons`


# ---------------------------------------------------------------- which part blocks a cell


class Parts(NamedTuple):
    """The recorded parts of one attention's mask, by name; None where a part is not in use."""

    keys: str | None  # [B, 1, 1, S]: the key is a word
    queries: str | None  # [B, 1, 1, T], transposed to [B, 1, T, 1]: the query is a word (Transformer_code (002))
    causal: str | None  # [1, 1, T, S]: the key is not later than the query


def parts(config: TransformerConfig, kind: AttentionKind) -> Parts:
    """Return the names of the parts whose AND is the mask of a kind of attention."""
    query_side, key_side = sides(kind)
    own = config.output_side
    return Parts(
        f"masks.{key_side}_padding" if config.masks_padding(key_side) else None,
        f"masks.{query_side}_padding" if config.masks_padding(query_side) and config.mask_padded_queries else None,
        "masks.causal" if config.is_causal and query_side == key_side == own else None,
    )


class Blocked(NamedTuple):
    """The cells that each part of a mask blocks in one sentence, True = blocked."""

    keys: np.ndarray  # [1, S]
    queries: np.ndarray  # [T, 1]
    future: np.ndarray  # [T, S]


def blocked(capture: Capture, kind: AttentionKind, item: int) -> Blocked:
    """Return the cells that each part of a mask blocks. A part that is not in use blocks none."""
    keys, queries, causal = parts(capture.config, kind)
    n_queries, n_keys = allowed(capture, kind, item).shape
    return Blocked(
        ~capture[keys][item, 0] if keys else np.zeros((1, n_keys), bool),
        ~capture[queries][item, 0].T if queries else np.zeros((n_queries, 1), bool),
        ~capture[causal][0, 0] if causal else np.zeros((n_queries, n_keys), bool),
    )


def provenance(capture: Capture, kind: AttentionKind, item: int) -> np.ndarray:
    """Return uint8 [T, S], an index into REASONS: 0 may attend, 1 blocked as padding, 2 as future, 3 as both."""
    by = blocked(capture, kind, item)
    why: np.ndarray = (by.keys | by.queries) + 2 * by.future.astype(np.uint8)
    return why.astype(np.uint8)


BOTH_MAY, ONLY_A, ONLY_B, NEITHER = range(4)  # which of two masks allow a cell


def agreement(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return uint8 [T, S]: which of two masks allow a cell, as BOTH_ALLOW, ONLY_A, ONLY_B or NEITHER.

    a, b: 1 where the mask allows a cell, NaN at tokens that one of the runs lacks, where the result is undefined.
    """
    cells: np.ndarray = np.where(a == 1, np.where(b == 1, BOTH_MAY, ONLY_A), np.where(b == 1, ONLY_B, NEITHER)).astype(np.uint8)
    return cells


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one query may or may not attend to one key. offset: key minus query position, None in cross-attention."""

    query: str
    key: str
    row: int
    col: int
    apart: int | None
    key_is_padding: bool
    hides_key: bool  # the key is padding, and padding is masked
    hides_query: bool  # the query is padding, and padded queries are masked
    hides_future: bool
    causal: bool  # whether this attention uses a causal mask
    empty: bool  # the query may attend to no key

    @property
    def allowed(self) -> bool:
        return not (self.hides_key or self.hides_query or self.hides_future)


def reason(capture: Capture, kind: AttentionKind, item: int, row: int, col: int) -> Reason:
    """Return the reason for one cell, from the recorded parts of the mask."""
    query_side, key_side = sides(kind)
    by = blocked(capture, kind, item)
    return Reason(
        capture.tokens(query_side)[item][row], capture.tokens(key_side)[item][col], row, col,
        None if kind == "cross" else col - row,
        not real(capture, key_side, item)[col], bool(by.keys[0, col]), bool(by.queries[row, 0]), bool(by.future[row, col]),
        parts(capture.config, kind).causal is not None, not allowed(capture, kind, item)[row].any(),
    )


def tally(why: np.ndarray) -> tuple[int, ...]:
    """Return the number of cells for each value of `blocking_reasons`."""
    return tuple(np.bincount(why.ravel(), minlength=len(WHY)).tolist())


def informative_cell(why: np.ndarray) -> tuple[int, int]:
    """Return the row and column of the cell to show first: one with the most reasons, or the last cell if none is blocked."""
    most = int(why.max())
    row = int(np.nonzero((why == most).any(axis=1))[0][-1 if most != 2 else 0])
    return row, int(np.nonzero(why[row] == most)[0][-1])


# ---------------------------------------------------------------- shapes


class InUse(NamedTuple):
    """A mask and the attention that uses it: its own shape and that of the scores, both along B, H, T, S."""

    name: str
    kind: AttentionKind
    turned: bool  # [B, 1, 1, S] is used as [B, 1, T, 1] to mask queries
    own: tuple[int, ...]
    full: tuple[int, ...]

    @property
    def repeated(self) -> dict[str, int]:
        """The axes along which the mask is broadcast, and their sizes in the scores."""
        return {a: n for a, own, n in zip("BHTS", self.own, self.full, strict=True) if own == 1 != n}


def in_use(capture: Capture) -> tuple[InUse, ...]:
    """Return every mask of the run: for each kind of attention its parts, then their AND."""
    uses = []
    for kind in kinds(capture.config):
        n_sentences, _, n_queries, n_keys = capture[MASK[kind]].shape
        full = (n_sentences, capture.config.n_heads, n_queries, n_keys)
        keys, queries, causal = parts(capture.config, kind)
        for name, turned in ((keys, False), (queries, True), (causal, False), (MASK[kind], False)):
            if name:
                own = capture[name].shape
                uses.append(InUse(name, kind, turned, (own[0], own[1], own[3], own[2]) if turned else own, full))
    return tuple(uses)


# ---------------------------------------------------------------- how a mask is built


def recipe(config: TransformerConfig, kind: AttentionKind) -> tuple[str, ...]:
    """Return the lines of torch code that build the mask of a kind from `query_ids` [B, T] and `key_ids` [B, S].

    Where padding is defined by the lengths of the sentences, they use `n_queries` and `n_keys` [B] instead.
    """
    query_side, key_side = sides(kind)
    keys, queries, causal = parts(config, kind)
    lines = []
    if keys:
        lines.append(f"keys = {_is_token(config, key_side, 'key', 'S')}[:, None, None, :]  # [B, 1, 1, S]")
    if queries:
        lines.append(f"queries = {_is_token(config, query_side, 'query', 'T')}[:, None, :, None]  # [B, 1, T, 1]")
    if causal:
        lines.append("causal = torch.ones(T, T, dtype=torch.bool).tril()[None, None]  # [1, 1, T, S]")
    names = [line.split(" = ")[0] for line in lines]
    every = "torch.ones(B, 1, T, S, dtype=torch.bool)"
    return (*lines, f"mask = {' & '.join(names)}.expand(B, 1, T, S)" if len(names) == 1 else f"mask = {' & '.join(names) or every}")


def _is_token(config: TransformerConfig, side: Side, name: str, axis: str) -> str:
    if config.padding_from == "ids":
        return f"{name}_ids.ne({config.pad_id(side)})"
    many = {"key": "n_keys", "query": "n_queries"}[name]
    return f"(torch.arange({axis}) < {many}[:, None])"


# ---------------------------------------------------------------- conventions


# The line of torch code that converts a bool mask `may` (True = may attend) to a convention, and the line that converts it back.
TO: dict[Convention, str] = {
    "may": "mask = may",
    "blocked": "blocked = ~may",
    "additive": "added = torch.zeros(may.shape).masked_fill(~may, float('-inf'))",
}
BACK: dict[Convention, str] = {"may": "may = mask", "blocked": "may = ~blocked", "additive": "may = added == 0"}


def written(may: np.ndarray, convention: Convention) -> np.ndarray:
    """Convert a bool mask (True = may attend) to a convention: bool, bool (True = blocked), or float32 0 and −∞ to add."""
    if convention == "additive":
        return np.where(may, np.float32(0), np.float32(-np.inf))
    return may.copy() if convention == "may" else ~may


def read(mask: np.ndarray, convention: Convention) -> np.ndarray:
    """Convert a mask in a convention to bool, True = may attend.

    `ValueError` if an additive mask holds anything but 0 and −∞, as a position bias does.
    """
    if convention == "additive":
        other = mask[(mask != 0) & ~np.isneginf(mask)]
        if other.size:
            raise ValueError(f"an additive mask holds {other.flat[0]}, which is neither 0 nor −∞; keep a bias out of the mask.")
        return mask == 0
    return mask.copy() if convention == "may" else ~mask


# ---------------------------------------------------------------- the effect of a mask


class Values(NamedTuple):
    """A summary of some numbers. low, high: the smallest and the largest; NaN if any is NaN."""

    size: int
    n_nan: int
    low: float
    high: float

    @property
    def all_equal(self) -> bool:
        """Whether all numbers are equal up to float32 rounding."""
        return bool(np.isclose(self.high, self.low, rtol=1e-5, atol=0))


def values(x: np.ndarray) -> Values:
    """Return the number of values, the number of NaN, and the range."""
    return Values(x.size, int(np.isnan(x).sum()), float(x.min()), float(x.max()))


def open_cells(on: Capture, off: Capture, kind: AttentionKind, item: int) -> np.ndarray:
    """Return bool [T, S]: the cells that are blocked in the run `masked` and allowed in the run `unmasked`."""
    cells: np.ndarray = ~allowed(on, kind, item) & allowed(off, kind, item)
    return cells


def weight_there(weights: np.ndarray, cells: np.ndarray, rows: np.ndarray) -> float:
    """Return the mean over these rows of the weight on these cells. weights, cells: [T, S]; rows: bool [T]. NaN without rows."""
    sums = np.where(cells, weights.astype(np.float64), 0.0).sum(axis=-1)  # [T]
    return float(sums[rows].mean()) if rows.any() else float("nan")
