"""Masks taken apart: which part forbids a cell, how a mask is stretched over an attention, and what others write for it.

Here a mask is bool and True means may attend. Parts are recorded as `masks.source_padding`, `masks.target_padding`
[B, 1, 1, S] and `masks.causal` [1, 1, T, S]; what attention uses is their AND, [B, 1, T, S].
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from viz_core.analysis.attention import MASK, Kind, allowed, kinds, real, sides
from viz_core.capture import Capture
from viz_core.config import TransformerConfig

Convention = Literal["may", "blocked", "additive"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
WHY = ("may attend", "blocked: padding", "blocked: future", "blocked: padding and future")  # by the number of `provenance`


# ---------------------------------------------------------------- which part forbids a cell


class Parts(NamedTuple):
    """The recorded parts of one attention's mask, by name; None where a part is not in use."""

    keys: str | None  # [B, 1, 1, S]: the key is a word
    queries: str | None  # [B, 1, 1, T], turned to [B, 1, T, 1]: the query is a word (document 002)
    causal: str | None  # [1, 1, T, S]: the key is not later than the query


def parts(config: TransformerConfig, kind: Kind) -> Parts:
    """What the mask of a kind of attention is the AND of."""
    asks, asked = sides(kind)
    hides = {"source": config.mask_source_padding, "target": config.mask_target_padding}
    own = "target" if config.has_decoder else "source"
    return Parts(
        f"masks.{asked}_padding" if hides[asked] else None,
        f"masks.{asks}_padding" if hides[asks] and config.mask_padded_queries else None,
        "masks.causal" if config.is_causal and asks == asked == own else None,
    )


class Blocked(NamedTuple):
    """For one sentence, what each part forbids, True = blocked."""

    keys: np.ndarray  # [1, S]
    queries: np.ndarray  # [T, 1]
    future: np.ndarray  # [T, S]


def blocked(capture: Capture, kind: Kind, item: int) -> Blocked:
    """What each part of a mask forbids; nothing where the part is not in use."""
    keys, queries, causal = parts(capture.config, kind)
    n_queries, n_keys = allowed(capture, kind, item).shape
    return Blocked(
        ~capture[keys][item, 0] if keys else np.zeros((1, n_keys), bool),
        ~capture[queries][item, 0].T if queries else np.zeros((n_queries, 1), bool),
        ~capture[causal][0, 0] if causal else np.zeros((n_queries, n_keys), bool),
    )


def provenance(capture: Capture, kind: Kind, item: int) -> np.ndarray:
    """uint8 [T, S], an index into WHY: 0 may attend, 1 blocked as padding, 2 as future, 3 as both."""
    by = blocked(capture, kind, item)
    found: np.ndarray = (by.keys | by.queries) + 2 * by.future.astype(np.uint8)
    return found.astype(np.uint8)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one query may look at one key, or not. `apart` is key minus query, None where they are different sentences."""

    query: str
    key: str
    row: int
    col: int
    apart: int | None
    key_is_padding: bool
    hides_key: bool  # the key is padding, and padding is hidden
    hides_query: bool  # the query is padding, and padded queries are masked
    hides_future: bool
    causal: bool  # whether a causal mask is in use at all
    empty: bool  # the query may look at nothing

    @property
    def allowed(self) -> bool:
        return not (self.hides_key or self.hides_query or self.hides_future)


def reason(capture: Capture, kind: Kind, item: int, row: int, col: int) -> Reason:
    """The reason at one cell, from the recorded parts."""
    asks, asked = sides(kind)
    by = blocked(capture, kind, item)
    return Reason(
        capture.tokens(asks)[item][row], capture.tokens(asked)[item][col], row, col, None if kind == "cross" else col - row,
        not real(capture, asked, item)[col], bool(by.keys[0, col]), bool(by.queries[row, 0]), bool(by.future[row, col]),
        parts(capture.config, kind).causal is not None, not allowed(capture, kind, item)[row].any(),
    )


def sentence(r: Reason, name: Callable[[str], str] = str) -> str:
    """The reason in words, both tokens named with their places. name: how a token is written, such as escaped."""
    query, key = f"{name(r.query)} ({r.row})", f"{name(r.key)} ({r.col})"
    if r.allowed:
        odd = " It is padding, but nothing hides padding here." if r.key_is_padding else ""
        return f"{query} may look at {key}: {_why_allowed(r)}.{odd}"
    why = []
    if r.hides_key:
        why.append("the key is padding, which only fills up the shorter sentence")
    if r.hides_query:
        why.append("the query is padding itself, and here padded queries are masked too")
    if r.hides_future:
        why.append(f"the key stands {_places(r.apart)} later, and the causal mask hides what is still to be predicted")
    nothing = f" No key at all is left to {query}." if r.empty else ""
    return f"{query} may not look at {key}: {'; and '.join(why)}.{nothing}"


def _why_allowed(r: Reason) -> str:
    if r.apart is None:
        return "the whole source is known before the first word is written"
    if r.apart == 0:
        return "it is the token itself"
    side = f"it stands {_places(r.apart)} {'later' if r.apart > 0 else 'earlier'}"
    return side if r.causal else f"{side}, and here every token sees both sides"


def _places(apart: int | None) -> str:
    n = abs(apart or 0)
    return f"{n} place{'s' * (n != 1)}"


def tally(why: np.ndarray) -> tuple[int, ...]:
    """How many cells there are of each number of `provenance`."""
    return tuple(np.bincount(why.ravel(), minlength=len(WHY)).tolist())


def telling_cell(why: np.ndarray) -> tuple[int, int]:
    """A cell worth a first look: one blocked for the most reasons, in the lowest row that has one; else the last cell."""
    worst = int(why.max())
    row = int(np.nonzero((why == worst).any(axis=1))[0][-1 if worst != 2 else 0])
    return row, int(np.nonzero(why[row] == worst)[0][-1])


# ---------------------------------------------------------------- shapes


class InUse(NamedTuple):
    """One mask where it is used: its own shape and that of the scores that it has to fit, [B, H, T, S] both."""

    name: str
    kind: Kind
    turned: bool  # [B, 1, 1, S] is used as [B, 1, T, 1], as a mask of queries
    own: tuple[int, ...]
    full: tuple[int, ...]

    @property
    def repeated(self) -> dict[str, int]:
        """The axes along which one number serves all, and how many that are."""
        return {a: n for a, own, n in zip("BHTS", self.own, self.full, strict=True) if own == 1 != n}


def in_use(capture: Capture) -> tuple[InUse, ...]:
    """Every mask of the run at every place of use: for each kind of attention its parts, then their AND."""
    found = []
    for kind in kinds(capture.config):
        n_sentences, _, n_queries, n_keys = capture[MASK[kind]].shape
        full = (n_sentences, capture.config.n_heads, n_queries, n_keys)
        keys, queries, causal = parts(capture.config, kind)
        for name, turned in ((keys, False), (queries, True), (causal, False), (MASK[kind], False)):
            if name:
                own = capture[name].shape
                found.append(InUse(name, kind, turned, (own[0], own[1], own[3], own[2]) if turned else own, full))
    return tuple(found)


# ---------------------------------------------------------------- how a mask is made


def recipe(config: TransformerConfig, kind: Kind) -> tuple[str, ...]:
    """The lines of torch that make the mask of a kind from ids, `query_ids` [B, T] and `key_ids` [B, S]."""
    asks, asked = sides(kind)
    pads = {"source": config.source_pad_id, "target": config.target_pad_id}
    keys, queries, causal = parts(config, kind)
    lines = []
    if keys:
        lines.append(f"keys = key_ids.ne({pads[asked]})[:, None, None, :]  # [B, 1, 1, S]")
    if queries:
        lines.append(f"queries = query_ids.ne({pads[asks]})[:, None, :, None]  # [B, 1, T, 1]")
    if causal:
        lines.append("causal = torch.ones(T, T, dtype=torch.bool).tril()[None, None]  # [1, 1, T, S]")
    names = [line.split(" = ")[0] for line in lines]
    every = "torch.ones(B, 1, T, S, dtype=torch.bool)"
    return (*lines, f"mask = {' & '.join(names)}.expand(B, 1, T, S)" if len(names) == 1 else f"mask = {' & '.join(names) or every}")


# ---------------------------------------------------------------- what others write


# The one line of torch that makes each from a bool mask `may` (True = may attend), and the one that leads back.
TO: dict[Convention, str] = {
    "may": "mask = may",
    "blocked": "blocked = ~may",
    "additive": "added = torch.zeros(may.shape).masked_fill(~may, float('-inf'))",
}
BACK: dict[Convention, str] = {"may": "may = mask", "blocked": "may = ~blocked", "additive": "may = added == 0"}


def written(may: np.ndarray, convention: Convention) -> np.ndarray:
    """A bool mask (True = may attend) as a convention has it: bool, bool (True = blocked), or float32 0 and −∞ to be added."""
    if convention == "additive":
        return np.where(may, np.float32(0), np.float32(-np.inf))
    return may.copy() if convention == "may" else ~may


def read(mask: np.ndarray, convention: Convention) -> np.ndarray:
    """Back to bool, True = may attend. `ValueError` where an additive mask holds more than 0 and −∞: that is a bias."""
    if convention == "additive":
        other = mask[(mask != 0) & ~np.isneginf(mask)]
        if other.size:
            raise ValueError(f"an additive mask holds {other.flat[0]}, which is neither 0 nor −∞; leave a bias out of the mask.")
        return mask == 0
    return mask.copy() if convention == "may" else ~mask


# ---------------------------------------------------------------- what a mask does


def in_words(x: np.ndarray) -> str:
    """What numbers came out, shortly: "NaN", "0", "0.2 each", "from −1.1 to 0.9", or how many of them are NaN."""
    n_nan = int(np.isnan(x).sum())
    if n_nan:
        return "NaN" if n_nan == x.size else f"NaN in {n_nan} of {x.size}"
    low, high = float(x.min()), float(x.max())
    if np.allclose(x, low, rtol=1e-5, atol=0):
        return "0" if low == 0 else f"{low:.4g} each"
    return f"from {low:.3g} to {high:.3g}".replace("-", "−")


def open_cells(on: Capture, off: Capture, kind: Kind, item: int) -> np.ndarray:
    """bool [T, S]: the cells that one run forbids and the other does not."""
    found: np.ndarray = ~allowed(on, kind, item) & allowed(off, kind, item)
    return found


def weight_there(weights: np.ndarray, cells: np.ndarray, rows: np.ndarray) -> float:
    """The mean over these rows of the weight that falls on these cells. weights, cells: [T, S], rows: bool [T]; NaN for none."""
    taken = np.where(cells, weights.astype(np.float64), 0.0).sum(axis=-1)  # [T]
    return float(taken[rows].mean()) if rows.any() else float("nan")
