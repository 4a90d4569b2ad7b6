"""Metrics of the residual stream by depth for a placement of the norm, and the values that theory predicts.

The theory is that of Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", section 3, for a model
at initialisation: one head, W_Q = W_K = 0, no biases, every matrix N(0, 1/d), and a Gaussian input. Powers are ‖x‖²/d.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from viz_core.analysis.attention import entropy
from viz_core.capture import Capture
from viz_core.config import STACKS

Metric = Literal["power", "mean", "std", "largest", "inactive", "entropy", "cosine"]
CurveKind = Literal["stream", "sum", "after", "final", "hidden", "attention"]
STREAM_METRICS: tuple[Metric, ...] = ("power", "mean", "std", "largest", "cosine")  # metrics of residual stream vectors
METRICS: tuple[Metric, ...] = (*STREAM_METRICS, "inactive", "entropy")


# ---------------------------------------------------------------- metrics by depth


@dataclass(frozen=True, slots=True)
class DepthCurve:
    """A metric of each stage along the depth. depth: in layers; the attention of layer l is at l + ½.

    kind: "stream" (the residual stream), "sum" and "after" (Post-LN: the sum before its norm, the value after it), "final"
    (after the final norm), "hidden" (of the feed-forward network), "attention" (its weights).
    """

    kind: CurveKind
    stages: tuple[str, ...]
    depth: np.ndarray  # [N]
    values: np.ndarray  # [N] float64; not finite where the stage is not finite


@dataclass(frozen=True, slots=True)
class FirstNonFinite:
    """The first stage of a run with a value that is infinite or NaN, padding excluded."""

    stage: str
    what: Literal["infinite", "not a number"]


def depth_curves(capture: Capture, metrics: Iterable[Metric] = METRICS) -> Mapping[Metric, tuple[DepthCurve, ...]]:
    """Return some metrics of a run of one stack by depth, over all tokens that are not padding.

    Needs the stages embed, resid_mid, resid_post, out of the norms, ffn.pre_act and self_attn.weights, as far as the model has them
    and the metrics use them.
    """
    found: dict[Metric, tuple[DepthCurve, ...]] = {}
    stack, layers = _stack(capture)
    inside: dict[Metric, tuple[CurveKind, float, str]] = {
        "inactive": ("hidden", 1.0, "ffn.pre_act"), "entropy": ("attention", 0.5, "self_attn.weights"),
    }
    for metric in metrics:
        if metric in STREAM_METRICS:
            found[metric] = tuple(
                _depth_curve(capture, metric, k, places) for k, places in _stream_stages(capture).items() if places
            )
        else:
            kind, start, leaf = inside[metric]
            places = [(i + start, f"{stack}.layers.{i}.{leaf}") for i in range(layers)]
            found[metric] = (_depth_curve(capture, metric, kind, places),) if layers else ()
    return found


def first_non_finite(capture: Capture) -> FirstNonFinite | None:
    """Return the first stage in the order of computation with a value that is not finite; None if all are finite.

    Padding and the masked scores, which may be −∞ by definition, are ignored.
    """
    for name, x in capture.items():
        if x.dtype.kind != "f" or name.endswith(".masked_scores") or np.isfinite(x).all():
            continue
        rows = _token_rows(capture, name) if "T" in capture.stage(name).sides else [x]
        if not all(np.isfinite(row).all() for row in rows):
            return FirstNonFinite(name, "not a number" if any(np.isnan(row).any() for row in rows) else "infinite")
    return None


def power(x: np.ndarray) -> float:
    """Return the mean of ‖x‖²/d over vectors x [..., d]: the mean square of a feature."""
    return float(np.square(x, dtype=np.float64).mean())


def inactive_share(pre_act: np.ndarray) -> float:
    """Return the share of the hidden units [N, F] whose input is at most 0 for every token, so that ReLU gives 0."""
    return math.nan if np.isnan(pre_act).any() else float((pre_act <= 0).all(axis=0).mean())


def mean_cosine(sentences: Sequence[np.ndarray]) -> float:
    """Return the mean cosine between two different tokens of one sentence; sentences: [T, D] each. NaN if there is no pair.

    ‖Σ u‖² of n unit vectors is n + Σ of the cosines of all pairs, so no matrix of pairs is needed.
    """
    total, pairs = 0.0, 0
    for x in sentences:
        x = np.asarray(x, np.float64)
        lengths = np.linalg.norm(x, axis=-1, keepdims=True)
        unit = np.divide(x, lengths, out=np.full_like(x, np.nan), where=lengths > 0)
        n = len(x)
        total += float(np.square(unit.sum(axis=0)).sum()) - n if n > 1 else 0.0
        pairs += n * (n - 1)
    return total / pairs if pairs else math.nan


def _stack(capture: Capture) -> tuple[str, int]:
    """Return the run's only stack and its number of layers."""
    c = capture.config
    return STACKS[c.output_side], c.n_layers(c.output_side)


def _stream_stages(capture: Capture) -> dict[CurveKind, list[tuple[float, str]]]:
    """Return the stages of each curve with their depths."""
    stack, layers = _stack(capture)
    post, start = capture.config.norm == "post", [(0.0, f"{stack}.embed")]
    paths = [(i, f"{stack}.layers.{i}") for i in range(layers)]
    sums = [(i + half, f"{path}.{leaf}") for i, path in paths for half, leaf in ((0.5, "resid_mid"), (1.0, "resid_post"))]
    norms = ((0.5, "norm_self_attn"), (1.0, "norm_ffn"))
    after = [(i + half, f"{path}.{norm}.out") for i, path in paths for half, norm in norms]
    final = [(float(layers), f"{stack}.final_norm.out")] if capture.config.has_final_norm else []
    return {"sum": sums, "after": start + after, "final": final} if post else {"stream": start + sums, "final": final}


def _depth_curve(capture: Capture, metric: Metric, kind: CurveKind, places: Sequence[tuple[float, str]]) -> DepthCurve:
    """Return a metric of stages of one shape. places: depth and stage name of each."""
    depth, names = [depth for depth, __ in places], tuple(name for __, name in places)
    with np.errstate(invalid="ignore", over="ignore"):  # `first_non_finite` reports these
        values = _values(metric, _sentence_rows(capture, names))
    values.flags.writeable = False
    return DepthCurve(kind, names, np.array(depth), values)


def _token_rows(capture: Capture, name: str) -> list[np.ndarray]:
    """Return the rows of a stage that are not padding, [T, …] for each sentence; for attention weights [T, H, S]."""
    return [rows[0] for rows in _sentence_rows(capture, (name,))]


def _sentence_rows(capture: Capture, names: Sequence[str]) -> list[np.ndarray]:
    """Return the rows of N stages of one shape that are not padding, [N, T, …] for each sentence; of attention [N, T, H, S]."""
    stage = capture.stage(names[0])
    rows = np.moveaxis(np.stack([capture[name] for name in names]), 1 + stage.axes.index("T"), 2)  # [N, B, T, …]
    is_token = capture.token_mask(stage.sides["T"])  # [B, T]
    rows = np.broadcast_to(rows, (len(names), len(is_token), *rows.shape[2:]))
    return [np.ascontiguousarray(rows[:, item, kept]) for item, kept in enumerate(is_token)]


def _values(metric: Metric, sentences: Sequence[np.ndarray]) -> np.ndarray:
    """Return a metric of N stages, [N]. sentences: their rows [N, T, …] in each sentence."""
    if metric == "cosine":
        return np.array([mean_cosine(rows) for rows in zip(*sentences, strict=True)])
    x = np.concatenate(sentences, axis=1).astype(np.float64)  # [N, tokens, …]
    if not x.size:
        return np.full(len(x), math.nan)
    if metric == "inactive":
        return np.array(list(map(inactive_share, x)))
    flat = (entropy(x) if metric == "entropy" else x).reshape(len(x), -1)
    match metric:
        case "power":
            return np.square(flat).mean(axis=1)
        case "std":
            return flat.std(axis=1)
        case "largest":
            return np.abs(flat).max(axis=1)
        case _:
            return flat.mean(axis=1)


def mean_curve(curves_by_seed: Sequence[DepthCurve]) -> DepthCurve:
    """Return the mean of a curve over several initialisations of the weights, since the theory gives expected values."""
    values = np.mean([c.values for c in curves_by_seed], axis=0)
    values.flags.writeable = False
    return DepthCurve(curves_by_seed[0].kind, curves_by_seed[0].stages, curves_by_seed[0].depth, values)


def first_layers_of_curve(curve: DepthCurve, depth: int) -> DepthCurve:
    """Return the points of a curve within the first `depth` layers."""
    n = int((curve.depth <= depth).sum())
    return DepthCurve(curve.kind, curve.stages[:n], curve.depth[:n], curve.values[:n])


def curve_of_kind(curves: Sequence[DepthCurve], *kinds: CurveKind) -> DepthCurve:
    """Return the first curve of one of these kinds."""
    return next(c for c in curves if c.kind in kinds)


# ---------------------------------------------------------------- theory: three lemmas


def relu_power_share(hidden: np.ndarray) -> float:
    """Return ‖ReLU(X)‖² / ‖X‖² of hidden inputs X [..., F], which is ½ by Lemma 1."""
    x = np.asarray(hidden, np.float64)
    return float(np.square(np.maximum(x, 0)).sum() / np.square(x).sum())


def ffn_gain(d_model: int, d_ff: int) -> float:
    """Return the power that the feed-forward network adds to a stream of power 1: f = 2 d d_ff / (d + d_ff)².

    Follows from Lemma 1 between two Xavier matrices of variance 2/(d + d_ff); ½ if d_ff = d. (The paper has d_ff = d; the general
    case is derived here.)
    """
    return 2 * d_model * d_ff / (d_model + d_ff) ** 2


def post_ln_power(gain: float = 0.5) -> float:
    """Return ‖x⁵‖²/d of Post-LN, x⁵ being the sum before the second norm, at every layer: 3/2 (Lemma 2), in general 1 + f."""
    return 1 + gain


def pre_ln_power_bounds(layers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of ‖x_l‖²/d of Pre-LN after l layers: 1 + l/2 and 1 + 3l/2 (Lemma 2)."""
    layers = np.asarray(layers, np.float64)
    return 1 + layers / 2, 1 + 3 * layers / 2


def jacobian(x: np.ndarray, eps: float = 0.0) -> np.ndarray:
    """Return ∂LN(x)/∂x for one token x [d] with γ = 1: (I − 11ᵀ/d − x̂x̂ᵀ/d) / √(σ² + ε), [d, d]."""
    x = np.asarray(x, np.float64)
    d, scale = len(x), math.sqrt(float(x.var()) + eps)
    unit = (x - x.mean()) / scale
    found: np.ndarray = (np.eye(d) - 1 / d - np.outer(unit, unit) / d) / scale
    return found


def jacobian_norm(x: np.ndarray, eps: float = 0.0) -> float:
    """Return the largest singular value of `jacobian`, √d / ‖x − μ‖ where ε = 0 (Lemma 3, exact). x: [d], d > 2.

    LayerNorm divides the gradient by the norm of its input: the larger the residual stream, the smaller the gradient.
    """
    x = np.asarray(x, np.float64)
    return 1 / math.sqrt(float(x.var()) + eps)


# ---------------------------------------------------------------- theory: the mean field


@dataclass(frozen=True, slots=True)
class MeanField:
    """Expected power of the sum after each sub-layer, and the cosine between two tokens of it; depth as in `DepthCurve`."""

    depth: np.ndarray  # [2 L]: ½, 1, 1½, …
    power: np.ndarray  # [2 L]
    cosine: np.ndarray  # [2 L]


def kappa(rho: float) -> float:
    """Return 2 E[ReLU(a) ReLU(b)] for a, b of variance 1 and correlation ρ: the arc-cosine kernel (Cho & Saul 2009)."""
    rho = min(1.0, max(-1.0, rho))
    return (math.sqrt(1 - rho**2) + rho * (math.pi - math.acos(rho))) / math.pi


def mean_field(norm: str, layers: int, tokens: int, gain: float = 0.5) -> MeanField:
    """Return r = ‖x‖²/d and ρ = ⟨x_i, x_j⟩ / ‖x‖² in a wide model, layer by layer. (Derived here.)

    norm: "post" or "pre". Starting at r = 1, ρ = 0: uniform attention over n tokens gives every token the same vector, and adds
    a = 1/n + (1 − 1/n) ρ both to ‖x‖²/d and to ⟨x_i, x_j⟩/d; the feed-forward network adds f and f κ(ρ). Post-LN then sets r = 1.
    """
    r, s, steps = 1.0, 0.0, []
    for _ in range(layers):
        rho = s / r
        mixed = 1 / tokens + (1 - 1 / tokens) * rho
        r, s = r + mixed, s + mixed
        steps.append((r, s / r))
        if norm == "post":
            r, s = 1.0, s / r
        r, s = r + gain, s + gain * kappa(s / r)
        steps.append((r, s / r))
        if norm == "post":
            r, s = 1.0, s / r
    power, cosine = np.array(steps).reshape(-1, 2).T
    return MeanField(np.arange(1, 2 * layers + 1) / 2, power, cosine)


# ---------------------------------------------------------------- measured against expected


def layer_ends(curve: DepthCurve) -> tuple[np.ndarray, np.ndarray]:
    """Return depth and value of a curve at the end of each layer, to which Lemma 2 applies."""
    whole = (curve.depth % 1 == 0) & (curve.depth > 0)
    return curve.depth[whole], curve.values[whole]


def attention_ends(curve: DepthCurve) -> tuple[np.ndarray, np.ndarray]:
    """Return depth and value of a curve after each layer's attention."""
    half = curve.depth % 1 == 0.5
    return curve.depth[half], curve.values[half]


def mean_relative_difference(measured: np.ndarray, expected: np.ndarray | float) -> float:
    """Return the mean of measured / expected − 1: positive if the points lie above the line."""
    return float((np.asarray(measured) / expected - 1).mean())


def safe_ratio(a: float, b: float) -> float:
    """Return a / b, infinite or NaN if b is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.float64(a) / np.float64(b))


def count_outside(measured: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
    """Return the number of points outside the band from low to high."""
    return int(((measured < low) | (measured > high)).sum())


def power_law_exponent(x: np.ndarray, y: np.ndarray) -> float:
    """Return the exponent p of y ∝ xᵖ, fitted by least squares to the logarithms: 0 for a constant, −½ for 1/√L."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def fit_power_law(x: np.ndarray, y: np.ndarray, exponent: float) -> np.ndarray:
    """Return c · xᵖ with the c that fits the logarithms best, since a scaling law gives p only."""
    law: np.ndarray = np.asarray(x, np.float64) ** exponent
    return law * math.exp(float(np.mean(np.log(y) - np.log(law))))


GRADIENT_EXPONENTS = {"post": 0.0, "pre": -0.5}
"""The exponents of Theorem 1: the gradient of the last layer is proportional to depth to this power."""


def gradient_power_laws(depths: Sequence[int], measured: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the scaling law of Theorem 1 for each placement, fitted to its measured points [len(depths)]."""
    return {name: fit_power_law(np.array(depths), measured[name], exponent) for name, exponent in GRADIENT_EXPONENTS.items()}


@dataclass(frozen=True, slots=True)
class TheoryMeasurements:
    """Measured powers of both placements, averaged over several initialisations, and measurements for lemmas 1 and 3.

    first_non_finite: for each placement, the first stage that is not finite, if any.
    """

    post: DepthCurve
    pre: DepthCurve
    relu_power_share: float  # ‖ReLU(X)‖² / ‖X‖² in layer 0
    layer_outputs: np.ndarray  # [L, d] the first token after each layer of Pre-LN
    eps: float
    first_non_finite: Mapping[str, FirstNonFinite | None]
    n_tokens: int  # in a sentence

    def first_layers(self, depth: int) -> "TheoryMeasurements":
        """Return the measurements at a smaller depth, which are the same, since a layer does not depend on later ones."""
        inside = tuple(f"encoder.layers.{i}." for i in range(depth, len(self.layer_outputs)))
        non_finite = {name: None if o and o.stage.startswith(inside) else o for name, o in self.first_non_finite.items()}
        return replace(
            self,
            post=first_layers_of_curve(self.post, depth),
            pre=first_layers_of_curve(self.pre, depth),
            layer_outputs=self.layer_outputs[:depth],
            first_non_finite=non_finite,
        )


def measure_theory(runs_by_seed: Iterable[Mapping[str, Capture]]) -> TheoryMeasurements:
    """Measure both placements over several initialisations, each {"post": its run, "pre": its run}. The runs are not kept."""
    found: dict[str, list[DepthCurve]] = {"post": [], "pre": []}
    non_finite: dict[str, FirstNonFinite | None] = {}
    for runs in runs_by_seed:
        for name, capture in runs.items():
            found[name].append(curve_of_kind(depth_curves(capture, ["power"])["power"], "sum", "stream"))
            non_finite[name] = non_finite.get(name) or first_non_finite(capture)
    pre = runs["pre"]
    ends = np.stack([pre[f"encoder.layers.{i}.resid_post"][0, 0] for i in range(pre.config.n_encoder_layers)])
    words = int(pre.token_mask("source")[0].sum())
    return TheoryMeasurements(
        mean_curve(found["post"]), mean_curve(found["pre"]), relu_power_share(pre["encoder.layers.0.ffn.pre_act"]),
        ends, pre.config.norm_eps, non_finite, words,
    )
