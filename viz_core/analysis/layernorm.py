"""LayerNorm step by step, LayerNorm compared with BatchNorm, and distributions of activations, layer by layer.

Axes as in the stage table: B sentence, T token, D feature of the residual stream. All sums are in float64; a variance is
biased (divided by the count), as in Transformer_code (002) and in torch.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from viz_core.analysis.attention import real
from viz_core.capture import Capture
from viz_core.config import STACKS, Side, TransformerConfig, side_of
from viz_core.stages import stage_of, stages

Which = Literal["self_attn", "cross_attn", "ffn", "embed", "final"]
Norm = Literal["layer", "batch", "instance"]
NORMS: tuple[Norm, ...] = get_args(Norm)
Scale = Literal["linear", "log"]
AXES: dict[Norm, tuple[int, ...]] = {"layer": (2,), "batch": (0, 1), "instance": (1,)}  # of [B, T, D], summed over
BINS = 60
REACH = 4.0  # a linear histogram reaches this many root mean squares of its widest layer
FAR_APART = 20.0  # spreads with a larger ratio are drawn on a logarithmic scale


# ---------------------------------------------------------------- the LayerNorms of a model


class Place(NamedTuple):
    """One LayerNorm of a model. reads: the stage that enters it; layer: None for the embedding's and the final one."""

    path: str  # "decoder.layers.1.norm_ffn"
    reads: str
    side: Side
    layer: int | None
    which: Which


def layer_norms(config: TransformerConfig) -> tuple[Place, ...]:
    """All LayerNorms of a model in the order of computation."""
    found = []
    for stage in stages(config):
        if stage.leaf == "mean":
            parts = stage.prefix.split(".")
            layer = int(parts[2]) if parts[1] == "layers" else None
            name = parts[-1].removeprefix("norm_").removesuffix("_norm")
            which: Which = next(w for w in get_args(Which) if w == name)
            found.append(Place(stage.prefix, stage.inputs[0], side_of(parts[0]), layer, which))
    return tuple(found)


def stream(config: TransformerConfig, side: Side) -> tuple[str, ...]:
    """The stages of a side's residual stream [B, T, D], in order: the embedding, then each layer's resid_*."""
    stack = STACKS[side]
    return tuple(s.name for s in stages(config) if s.prefix.startswith(stack) and (s.leaf == "embed" or s.leaf.startswith("resid")))


# ---------------------------------------------------------------- one token


@dataclass(frozen=True, slots=True)
class Steps:
    """One token through one LayerNorm, in float64: γ (x - μ) / √(σ² + ε) + β, with one array [D] per step."""

    x: np.ndarray
    mean: float
    var: float  # Σ (x - μ)² / D
    eps: float
    root: float  # √(σ² + ε)
    centred: np.ndarray  # x - μ
    normalized: np.ndarray  # ÷ √(σ² + ε)
    gamma: np.ndarray
    scaled: np.ndarray  # × γ
    beta: np.ndarray
    out: np.ndarray  # + β

    @property
    def kept(self) -> float:
        """The variance after the division, σ² / (σ² + ε): 1 if ε is small compared with σ². NaN for 0 / 0."""
        total = self.var + self.eps
        return self.var / total if total else math.nan


def layer_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, eps: float) -> Steps:
    """One token [D] through LayerNorm by the formula of Transformer_code (002): the variance divides by D, ε is under the root.

    If σ² and ε are both 0, the result is 0/0, NaN, as in torch.
    """
    x, gamma, beta = (np.asarray(a, np.float64) for a in (x, gamma, beta))  # [D]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # a token may hold ∞ or NaN
        mean = float(x.mean())
        centred = x - mean  # [D]
        var = float((centred**2).mean())
        root = float(np.sqrt(var + eps))
        normalized = centred / root  # [D]
        scaled = gamma * normalized  # [D]
        return Steps(x, mean, var, eps, root, centred, normalized, gamma, scaled, beta, scaled + beta)


def unbiased_outside(steps: Steps) -> np.ndarray:
    """The same token by another common formula, γ (x - μ) / (s + ε) + β with s² divided by D - 1, [D].

    "The Annotated Transformer" uses it; none of the five documents does. NaN if D = 1.
    """
    d = len(steps.x)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        s = math.sqrt(steps.var * d / (d - 1)) if d > 1 else math.nan
        found: np.ndarray = steps.gamma * (steps.centred / np.float64(s + steps.eps)) + steps.beta
    return found


def max_abs_diff(a: np.ndarray, b: np.ndarray) -> float:
    """The largest absolute difference. Two equal infinities count as equal, and so do two NaNs; ∞ if only one side has one."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(a - b))
    return float(np.where(np.isnan(apart), np.inf, apart).max(initial=0.0))


# ---------------------------------------------------------------- which cells share a mean


class Cell(NamedTuple):
    """One cell of a tensor [B, T, D]."""

    sentence: int
    token: int
    feature: int


class Means(NamedTuple):
    """Mean and variance of each set of cells, and how many cells it has; each broadcasts to [B, T, D]."""

    mean: np.ndarray
    var: np.ndarray
    n: np.ndarray


def members(norm: Norm, shape: tuple[int, ...], at: Cell, counted: np.ndarray) -> np.ndarray:
    """bool [B, T, D]: the cells whose mean and variance normalise the cell `at`.

    LayerNorm: the features of its token. BatchNorm: its feature in every token of every sentence. InstanceNorm: its
    feature in every token of its sentence. counted [B, T]: which tokens take part; LayerNorm uses no other token.
    """
    free = AXES[norm]
    index = tuple(slice(None) if axis in free else at[axis] for axis in range(3))
    found = np.zeros(shape, dtype=bool)
    found[index] = True
    if norm != "layer":
        found &= counted[:, :, None]
    return found


def means(x: np.ndarray, norm: Norm, counted: np.ndarray) -> Means:
    """Mean, biased variance and count of each set of cells of x [B, T, D]. NaN if no token of a set is counted."""
    x = x.astype(np.float64)
    mask = np.ones_like(counted) if norm == "layer" else counted  # [B, T]
    part = np.broadcast_to(mask[:, :, None], x.shape)  # [B, T, D]
    axes = AXES[norm]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        count = part.sum(axis=axes, keepdims=True)
        mean = np.where(part, x, 0.0).sum(axis=axes, keepdims=True) / count
        var = (np.where(part, x - mean, 0.0) ** 2).sum(axis=axes, keepdims=True) / count
    return Means(mean, var, count)


def normalise(x: np.ndarray, norm: Norm, eps: float, counted: np.ndarray) -> np.ndarray:
    """(x - mean) / √(var + ε) of x [B, T, D], with γ = 1 and β = 0, each cell by its own set's mean and variance."""
    found = means(x, norm, counted)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        normalised: np.ndarray = (x.astype(np.float64) - found.mean) / np.sqrt(found.var + eps)
    return normalised


@dataclass(frozen=True, slots=True)
class Share:
    """The set that one cell shares its mean with (size, mean and variance), and the cell's new value.

    sentence [T, D]: its whole sentence, normalised, γ = 1 and β = 0.
    """

    cells: int
    mean: float
    var: float
    value: float
    sentence: np.ndarray


def share(x: np.ndarray, norm: Norm, at: Cell, eps: float, counted: np.ndarray) -> Share:
    """One cell of x [B, T, D] by one norm, and its sentence. counted [B, T]: the tokens that take part."""
    if norm != "batch":  # no other sentence takes part
        x, counted, at = x[at.sentence : at.sentence + 1], counted[at.sentence : at.sentence + 1], at._replace(sentence=0)
    m = means(x, norm, counted)
    place = tuple(i if size > 1 else 0 for i, size in zip(at, m.mean.shape, strict=True))  # its set's
    row = min(at.sentence, len(m.mean) - 1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        y = (x[at.sentence].astype(np.float64) - m.mean[row]) / np.sqrt(m.var[row] + eps)  # [T, D]
    return Share(int(m.n[place]), float(m.mean[place]), float(m.var[place]), float(y[at.token, at.feature]), y)


@dataclass(frozen=True, slots=True)
class Case:
    """One cell normalised in one batch context, by LayerNorm and by BatchNorm.

    moved: BatchNorm's largest change from the first case, over all features of the sentence's words that still take part;
    layer_moved: LayerNorm's. NaN if no word takes part.
    """

    context: str
    layer: Share
    batch: Share
    moved: float
    layer_moved: float


def cases(x: np.ndarray, words: np.ndarray, at: Cell, eps: float) -> list[Case]:
    """The cell `at` of x [B, T, D] as its batch context changes; the input stays the same.

    "batch": every sentence, padding counted, as torch does it. "words": the same without padding (words [B, T] bool).
    "sentence": its sentence alone, without padding. "token": its token alone. A context equal to the previous one is left out.
    """
    alone, single = np.zeros_like(words), np.zeros_like(words)
    alone[at.sentence] = words[at.sentence]
    single[at.sentence, at.token] = True
    contexts = {"batch": np.ones_like(words), "words": words, "sentence": alone, "token": single}
    found: list[Case] = []
    last = None
    for context, counted in contexts.items():
        if last is not None and np.array_equal(counted, last):
            continue
        last = counted
        layer, batch = (share(x, norm, at, eps, counted) for norm in ("layer", "batch"))
        first = found[0] if found else Case(context, layer, batch, 0.0, 0.0)
        seen = counted[at.sentence] & words[at.sentence]  # [T]
        moved = [
            max_abs_diff(before.sentence[seen], after.sentence[seen]) if seen.any() else math.nan
            for before, after in ((first.batch, batch), (first.layer, layer))
        ]
        found.append(Case(context, layer, batch, *moved))
    return found


# ---------------------------------------------------------------- distributions


@dataclass(frozen=True, slots=True)
class Spread:
    """One placement's activations at one stage, one row per layer.

    shares [L, bins]: of all numbers of the layer, those in each bin. beyond [L]: the share outside the bins. odd [L]: the
    share that is infinite or NaN. std [L]: over the finite numbers; NaN if there are none.
    """

    layers: tuple[int, ...]
    shares: np.ndarray
    beyond: np.ndarray
    odd: np.ndarray
    std: np.ndarray


@dataclass(frozen=True, slots=True)
class Spreads:
    """Every placement on the same bins: edges [bins + 1] in the numbers' own unit, even steps on `scale`.

    On the logarithmic scale a number x is at arcsinh(x / unit): linear near 0, logarithmic far from it.
    """

    stage: str  # "encoder.layers.*.resid_post"
    scale: Scale
    unit: float
    edges: np.ndarray
    by: Mapping[str, Spread]
    without: tuple[str, ...]  # placements that have no such stage

    def place(self, x: np.ndarray) -> np.ndarray:
        """The place of numbers along the axis."""
        return np.arcsinh(x / self.unit) if self.scale == "log" else np.asarray(x)


def leaves(captures: Mapping[str, Capture], side: Side) -> tuple[str, ...]:
    """The stages [B, T, D] of a layer that any of the runs recorded, in order: "resid_pre", "norm_self_attn.out", …"""
    stack = STACKS[side]
    start = f"{stack}.layers.0."
    names = ((c.config, n) for c in captures.values() for n in c if n.startswith(start))
    return tuple(dict.fromkeys(n.removeprefix(start) for config, n in names if stage_of(config, n).axes == ("B", "T", "D")))


def spreads(captures: Mapping[str, Capture], side: Side, leaf: str, scale: Literal["auto", "linear", "log"] = "auto") -> Spreads:
    """Histograms of one stage, layer by layer, over all real tokens, with the same bins for every placement.

    leaf: one of `leaves`. scale: "auto" is logarithmic if the widest layer is more than FAR_APART times as wide as the narrowest.
    """
    stack = STACKS[side]
    rows = {name: _rows(capture, side, f"{stack}.layers", leaf) for name, capture in captures.items()}
    sizes = [r for found in rows.values() for r in map(_size, found.values()) if r > 0]
    widest, narrowest = max(sizes, default=1.0), min(sizes, default=1.0)
    drawn: Scale = "log" if scale == "log" or (scale == "auto" and widest > FAR_APART * narrowest) else "linear"
    largest = (float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for found in rows.values() for x in found.values())
    far = max(largest, default=0.0) or 1.0
    reach = min(far, REACH * widest) if drawn == "linear" else far
    if drawn == "log":
        edges = narrowest * np.sinh(np.linspace(-1, 1, BINS + 1) * np.arcsinh(reach / narrowest))
        edges[[0, -1]] = -reach, reach  # to the bit, so that rounding leaves no number outside
    else:
        edges = np.linspace(-reach, reach, BINS + 1)
    without = tuple(name for name, r in rows.items() if not r)
    empty = Spreads(f"{stack}.layers.*.{leaf}", drawn, narrowest, edges, {}, without)
    return replace(empty, by={name: _spread(r, empty) for name, r in rows.items() if r})


def _rows(capture: Capture, side: Side, layers: str, leaf: str) -> dict[int, np.ndarray]:
    """Layer → the numbers of all real tokens, flat, in float64."""
    words = np.stack([real(capture, side, i) for i in range(capture.n_sentences)])  # [B, T]
    config, found = capture.config, {}
    for i in range(config.n_layers(side)):
        if (name := f"{layers}.{i}.{leaf}") in capture:
            found[i] = capture[name][words].astype(np.float64).ravel()
    return found


def _size(x: np.ndarray) -> float:
    """Root mean square of the finite numbers; 0 if there are none."""
    finite = x[np.isfinite(x)]
    top = float(np.abs(finite).max(initial=0.0))
    return top * math.sqrt(float(((finite / top) ** 2).mean())) if top else 0.0


def _spread(rows: Mapping[int, np.ndarray], on: Spreads) -> Spread:
    reach = float(on.place(on.edges)[-1])
    shares, beyond, odd, std = [], [], [], []
    for x in rows.values():
        finite = x[np.isfinite(x)]
        n = max(1, x.size)
        inside = finite[np.abs(finite) <= on.edges[-1]]
        held = np.histogram(on.place(inside), bins=BINS, range=(-reach, reach))[0]
        shares.append(held / n)
        beyond.append((finite.size - held.sum()) / n)
        odd.append((x.size - finite.size) / n)
        std.append(float(finite.std()) if finite.size else math.nan)
    return Spread(tuple(rows), np.stack(shares), np.array(beyond), np.array(odd), np.array(std))
