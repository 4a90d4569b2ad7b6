"""Two runs compared at aligned tokens: the values of a stage in both, and their relative difference stage by stage.

    aligned = align_runs(a, b)
    aligned.values("encoder.embed")                # of A and of B, at the same positions, NaN where one has no such token
    aligned.labels("source")                       # "tired | wide" where the tokens differ
    divergences(aligned)                           # ‖A − B‖ / ‖A‖ of every stage and token
    divergence_spread(divergences(aligned))        # the first stage that differs, and the one from which every token differs
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from viz_core.analysis.token_rows import NEXT_TOKEN_ARROW
from viz_core.capture import Capture
from viz_core.stages import Stage
from viz_core.text.token_alignment import align_tokens

LABEL_SEPARATOR = " | "  # between the labels of A and of B
A_MINUS_B = "A − B"
GAP = "–"  # the label of a token that one of the runs lacks
DIVERGENCE_THRESHOLD = 1e-6  # of ‖A‖: smaller differences may be float32 rounding

PositionPairs = tuple[tuple[int | None, int | None], ...]  # positions of A and of B in reading order


@dataclass(frozen=True, slots=True, eq=False)
class AlignedRuns:
    """One sentence of run A and one of run B with aligned tokens. pairs: the pairs of positions of each common side."""

    a: Capture
    b: Capture
    item_a: int
    item_b: int
    pairs: Mapping[str, PositionPairs]

    def n_unpaired(self, side: str) -> int:
        """Return the number of tokens of a side without a partner in the other run."""
        return sum(None in place for place in self.pairs[side])

    def labels(self, side: str) -> list[str]:
        """Return a label for each pair of a side: the token, both tokens if they differ, "–" for a missing one."""
        a, b = self.a.tokens(side)[self.item_a], self.b.tokens(side)[self.item_b]
        named = [(GAP if i is None else a[i], GAP if j is None else b[j]) for i, j in self.pairs[side]]
        return [x if x == y else f"{x}{LABEL_SEPARATOR}{y}" for x, y in named]

    def axis_pairs(self, name: str, letter: str) -> PositionPairs | None:
        """Return the pairs of positions along an axis of a stage; None for an axis without tokens of both runs."""
        stage = (self.a if name in self.a else self.b).stage(name)
        return self.pairs.get(_tokens_of(name, stage.sides[letter])) if letter in stage.sides else None

    def is_mostly_unpaired(self, name: str) -> bool:
        """Return whether fewer than half of the tokens along an axis of a stage have a partner in the other run."""
        stage = (self.a if name in self.a else self.b).stage(name)
        return is_mostly_unpaired(*(self.pairs[_tokens_of(name, side)] for side in stage.sides.values()))

    @property
    def comparable_stages(self) -> list[str]:
        """The stages that both runs have with the same axes, widths and numbers of heads, in A's order."""
        return [name for name in self.a if name in self.b and self._is_comparable(name)]

    @property
    def incompatible_stages(self) -> list[str]:
        """The stages that both runs have, but with different axes, widths or numbers of heads, in A's order."""
        return [name for name in self.a if name in self.b and not self._is_comparable(name)]

    def _is_comparable(self, name: str) -> bool:
        one, other = self.a.stage(name), self.b.stage(name)
        if one.axes != other.axes or set(one.sides.values()) - self.pairs.keys():
            return False
        widths = [
            [n for axis, n in zip(s.axes, x.shape, strict=True) if axis not in (*s.sides, "B")]
            for s, x in ((one, self.a[name]), (other, self.b[name]))
        ]
        return widths[0] == widths[1]

    def values(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return a stage of both sentences at the aligned positions, in float64, without the batch axis; NaN at missing tokens."""
        return self._aligned(name, self.a, self.item_a, 0), self._aligned(name, self.b, self.item_b, 1)

    def _aligned(self, name: str, capture: Capture, item: int, which: int) -> np.ndarray:
        stage, x = capture.stage(name), capture[name]
        sides = dict(stage.sides)
        axes: Sequence[str] = stage.axes
        if sides:  # the first axis is the batch, or of size 1 for all sentences
            axes, x = axes[1:], x[min(item, len(x) - 1)]
        x = x.astype(np.float64)
        for i, axis in enumerate(axes):
            if axis in sides:
                x = take_or_nan(x, i, [place[which] for place in self.pairs[_tokens_of(name, sides[axis])]])
        return x


def align_runs(a: Capture, b: Capture, item_a: int = 0, item_b: int = 0) -> AlignedRuns:
    """Align one sentence of each run by its tokens: equal tokens match; replaced passages of equal length match one by one."""
    shared = [side for side in a.sides if side in b.sides]
    return AlignedRuns(a, b, item_a, item_b, {s: align_tokens(a.tokens(s)[item_a], b.tokens(s)[item_b]) for s in shared})


def is_mostly_unpaired(*axes: PositionPairs) -> bool:
    """Return whether on one of these axes fewer than half of the tokens of both runs have a partner."""
    return any(4 * sum(None not in place for place in places) < sum(at is not None for place in places for at in place)
               for places in axes)


def _tokens_of(name: str, side: str) -> str:
    return "labels" if name == "ids.labels" else side


def take_or_nan(x: np.ndarray, axis: int, indices: Sequence[int | None]) -> np.ndarray:
    """Return x at some indices of an axis, NaN where the index is None."""
    found = np.take(x, [0 if i is None else i for i in indices], axis=axis)
    missing = np.array([i is None for i in indices], dtype=bool)
    found[(slice(None),) * axis + (missing,)] = np.nan
    return found


def merge_labels(a: Sequence[str], b: Sequence[str]) -> tuple[str, ...]:
    """Merge the labels of two runs: "cat | dog"; of a token and its next token, only the one that differs: "动物 | 街道 → 太"."""
    return tuple(_merge_label(x, y) for x, y in zip(a, b, strict=True))


def _merge_label(x: str, y: str) -> str:
    if x == y:
        return x
    parts, others = x.split(NEXT_TOKEN_ARROW), y.split(NEXT_TOKEN_ARROW)
    if len(parts) != len(others):
        return f"{x}{LABEL_SEPARATOR}{y}"
    return NEXT_TOKEN_ARROW.join(p if p == q else f"{p}{LABEL_SEPARATOR}{q}" for p, q in zip(parts, others, strict=True))


# ---------------------------------------------------------------- divergence


@dataclass(frozen=True, slots=True, eq=False)
class Divergence:
    """The difference of two runs at one stage. side: of the tokens. relative_difference [pairs]: ‖A − B‖ / ‖A‖, NaN at a gap."""

    name: str
    side: str
    relative_difference: np.ndarray

    @property
    def is_divergent(self) -> bool:
        """Whether any token differs by more than rounding, or is missing in one of the runs."""
        return bool((np.isnan(self.relative_difference) | (self.relative_difference > DIVERGENCE_THRESHOLD)).any())


def divergences(both: AlignedRuns) -> list[Divergence]:
    """Return ‖A − B‖ / ‖A‖ of every stage that both runs have, in the order of computation, one number per token.

    The norms (Frobenius) are over all axes but the token's; in a T × S stage the token is the query. Cells that are not finite in
    one of the runs, such as blocked ones, and keys that one run lacks are left out. If A is 0, the result is 0 if B is 0, else
    ∞. For ids and masks, which cannot be subtracted, it is 1 if any of them differs, else 0.
    """
    found = []
    for name in both.comparable_stages:
        stage = both.a.stage(name)
        row = "T" if "T" in stage.sides else "S"
        if row in stage.sides:
            found.append(_divergence(both, name, stage.axes[1:].index(row), stage.sides[row]))
    return found


def _divergence(both: AlignedRuns, name: str, axis: int, side: str) -> Divergence:
    a, b = (np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1) for x in both.values(name))  # [T, everything else]
    side = _tokens_of(name, side)
    missing = np.array([None in place for place in both.pairs[side]], dtype=bool)
    is_counted = np.isfinite(a) & np.isfinite(b)
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.sqrt(np.square(np.where(is_counted, a - b, 0)).sum(axis=1))  # [T]
        norm = np.sqrt(np.square(np.where(is_counted, a, 0)).sum(axis=1))
        share = np.where(distance == 0, 0.0, distance / norm)
    if both.a[name].dtype.kind in "iub":
        share = (distance > 0).astype(float)
    return Divergence(name, side, np.where(missing, np.nan, share))


def is_token_activation(stage: Stage, side: str, norms: bool = False) -> bool:
    """Return whether a stage holds activations of source or target tokens; False for ids and masks.

    norms: whether to include the inner steps of LayerNorm.
    """
    return side in ("source", "target") and stage.kind not in ("ids", "mask") and (norms or not stage.is_norm_step)


def token_activations(both: AlignedRuns, rows: Sequence[Divergence], norms: bool = False) -> list[Divergence]:
    """Return the divergences of the stages for which `is_token_activation` is true."""
    return [row for row in rows if is_token_activation(both.b.stage(row.name), row.side, norms)]


STREAM_STAGES = ("tok_embed", "embed", "resid_mid", "resid_cross", "resid_post", "logits")


def stream_divergences(rows: Sequence[Divergence]) -> list[Divergence]:
    """Return the divergences along the residual stream: embeddings, the sum after each sub-layer, the final norm, and the logits.

    A layer's resid_pre is left out, since it equals the output of the layer before.
    """
    return [row for row in rows if is_in_stream(row.name)]


def is_in_stream(name: str) -> bool:
    """Return whether a stage is among those along the residual stream."""
    return name.rpartition(".")[2] in STREAM_STAGES or name.endswith(".final_norm.out")


@dataclass(frozen=True, slots=True)
class DivergenceSpread:
    """The spread of a difference through a run. first: the first stage where the runs differ, None if they are equal.

    first_by_side: of each side, the first stage where one of its tokens differs. all_tokens_from: of each side, the stage from
    which on all its tokens differ, at every later stage too. Sides without such a stage are missing.
    """

    first: Divergence | None
    first_by_side: Mapping[str, Divergence]
    all_tokens_from: Mapping[str, Divergence]


def divergence_spread(rows: Sequence[Divergence]) -> DivergenceSpread:
    """Return where the runs first differ, and how the difference spreads. rows: in the order of computation.

    A token that one run lacks counts as different for `first` and `first_by_side`, and is ignored for `all_tokens_from`.
    """
    reached: dict[str, Divergence] = {}
    filled: dict[str, Divergence] = {}
    for row in rows:
        if row.is_divergent:
            reached.setdefault(row.side, row)
        shares = row.relative_difference[~np.isnan(row.relative_difference)]
        if len(shares) and (shares > DIVERGENCE_THRESHOLD).all():
            filled.setdefault(row.side, row)
        else:
            filled.pop(row.side, None)
    return DivergenceSpread(next((row for row in rows if row.is_divergent), None), reached, filled)
