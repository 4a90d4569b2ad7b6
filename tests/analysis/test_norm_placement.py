"""Metrics along depth against numpy on the capture, and the theory against closed forms, integrals and torch."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.model.small import SOURCE, TARGET, small
from tests.tolerances import DOUBLE, EXACT, FLOAT
from viz_core.analysis import norm_placement as norms
from viz_core.capture import Capture
from viz_core.run import run
from viz_core.tracing import Edit

SIDES = {"encoder-only": ("encoder", "source"), "decoder-only": ("decoder", "target")}


def captured(architecture: str, tap: Edit | None = None, **switches: object) -> Capture:
    """A batch of one stack with padding on its side."""
    config = small(architecture=architecture, d_ff=24, **switches)
    return run(config, SOURCE, None if architecture == "encoder-only" else TARGET, device="cpu", tap=tap)


def real_tokens(capture: Capture, name: str, side: str) -> np.ndarray:
    """The vectors of a stage [B, T, …] that are no padding, [N, …] in float64."""
    return capture[name][capture[f"ids.{side}"] != 0].astype(np.float64)


# ---------------------------------------------------------------- metrics

BY_HAND = {
    "power": lambda x: (x**2).sum(-1).mean() / x.shape[-1],
    "mean": np.mean,
    "std": np.std,
    "largest": lambda x: abs(x).max(),
}


@pytest.mark.parametrize("architecture", SIDES)
@pytest.mark.parametrize("norm", ["post", "pre", "none"])
def test_the_streams_metrics_equal_numpy_on_the_capture(architecture: str, norm: str) -> None:
    capture = captured(architecture, norm=norm)
    stack, side = SIDES[architecture]
    assert (capture[f"ids.{side}"] == 0).any()
    found = norms.depth_curves(capture)
    for metric, by_hand in BY_HAND.items():
        for curve in found[metric]:
            expected = [by_hand(real_tokens(capture, name, side)) for name in curve.stages]
            np.testing.assert_allclose(curve.values, expected, rtol=DOUBLE)
    layers = [f"{stack}.layers.{i}" for i in range(2)]
    sums = [f"{path}.{leaf}" for path in layers for leaf in ("resid_mid", "resid_post")]
    after = [f"{path}.{norm}.out" for path in layers for norm in ("norm_self_attn", "norm_ffn")]
    stages = {c.kind: c.stages for c in found["power"]}
    if norm == "post":
        assert stages == {"sum": tuple(sums), "after": (f"{stack}.embed", *after)}
    else:
        final = {"final": (f"{stack}.final_norm.out",)} if norm == "pre" else {}
        assert stages == {"stream": (f"{stack}.embed", *sums)} | final
    depths = {c.kind: c.depth.tolist() for c in found["power"]}
    assert depths["sum" if norm == "post" else "stream"][-4:] == [0.5, 1, 1.5, 2]


@pytest.mark.parametrize("architecture", SIDES)
def test_inactive_units_and_entropy_equal_numpy_on_the_capture(architecture: str) -> None:
    capture = captured(architecture, norm="pre")
    stack, side = SIDES[architecture]
    found = norms.depth_curves(capture)
    (hidden,), (attention,) = found["inactive"], found["entropy"]
    assert hidden.depth.tolist() == [1, 2] and attention.depth.tolist() == [0.5, 1.5]
    for i in range(2):
        active = real_tokens(capture, f"{stack}.layers.{i}.ffn.post_act", side) > 0
        assert hidden.values[i] == pytest.approx(1 - active.any(axis=0).mean())
        weights = capture[f"{stack}.layers.{i}.self_attn.weights"].astype(np.float64)  # [B, H, T, S]
        rows = weights.transpose(0, 2, 1, 3)[capture[f"ids.{side}"] != 0]  # [N, H, S]
        surprise = np.where(rows > 0, -np.log(np.where(rows > 0, rows, 1)), 0)
        assert attention.values[i] == pytest.approx((rows * surprise).sum(-1).mean(), rel=DOUBLE)
    assert 0 < hidden.values.max() < 1


def test_the_mean_cosine_counts_each_pair_of_one_sentence() -> None:
    capture = captured("encoder-only", norm="post")
    (curve,) = [c for c in norms.depth_curves(capture)["cosine"] if c.kind == "sum"]
    real = capture["ids.source"] != 0
    pairs = []
    for x, keep in zip(capture[curve.stages[-1]].astype(np.float64), real, strict=True):
        rows = x[keep]
        pairs += [rows[i] @ rows[j] / np.linalg.norm(rows[i]) / np.linalg.norm(rows[j])
                  for i in range(len(rows)) for j in range(len(rows)) if i != j]
    assert len(pairs) == 5 * 4 + 3 * 2  # the sentence of one token has none
    assert curve.values[-1] == pytest.approx(np.mean(pairs), rel=DOUBLE)


def test_cosines_of_one_and_the_same_token_and_of_none() -> None:
    x = np.array([1.0, -2.0, 3.0])
    assert norms.mean_cosine([np.stack([x, 2 * x, 5 * x])]) == pytest.approx(1, abs=EXACT)
    assert norms.mean_cosine([np.stack([x, -x])]) == pytest.approx(-1, abs=EXACT)
    assert norms.mean_cosine([1e22 * np.stack([x, x]).astype(np.float32)]) == pytest.approx(1, abs=EXACT)
    assert math.isnan(norms.mean_cosine([x[None]])) and math.isnan(norms.mean_cosine([np.stack([x, 0 * x])]))


def test_a_model_without_layers_and_one_token() -> None:
    found = norms.depth_curves(run(small(architecture="encoder-only", n_encoder_layers=0, norm="pre"), [[5]], device="cpu"))
    assert found["entropy"] == found["inactive"] == ()
    assert [c.kind for c in found["power"]] == ["stream", "final"] and np.isfinite(found["power"][0].values).all()


# ---------------------------------------------------------------- what is no number


@pytest.mark.parametrize(("value", "what"), [(math.inf, "infinite"), (-math.inf, "infinite"), (math.nan, "not a number")])
@pytest.mark.parametrize("stage", ["encoder.embed", "encoder.layers.1.resid_mid", "encoder.layers.0.self_attn.weights"])
def test_the_page_can_say_where_it_began(stage: str, value: float, what: str) -> None:
    def inject(name: str, x: torch.Tensor) -> torch.Tensor:
        return torch.where(torch.ones_like(x, dtype=torch.bool).cumsum(0) == 1, value, x) if name == stage else x

    capture = captured("encoder-only", inject, norm="none")
    assert norms.first_non_finite(capture) == norms.FirstNonFinite(stage, what)
    stream = next(c for c in norms.depth_curves(capture)["power"] if c.kind == "stream")
    assert not np.isfinite(stream.values[-1])


def test_finite_numbers_and_padding_are_left_alone() -> None:
    assert norms.first_non_finite(captured("encoder-only", norm="post")) is None  # masked scores are -inf on purpose
    config = small(architecture="encoder-only", mask_padded_queries=True, empty_row="softmax")
    capture = run(config, SOURCE, device="cpu", keep=["ids.*", "encoder.layers.0.self_attn.weights"])
    assert np.isnan(capture["encoder.layers.0.self_attn.weights"]).any() and norms.first_non_finite(capture) is None


# ---------------------------------------------------------------- lemmas


def test_lemma_1_is_the_mean_over_draws() -> None:
    x = 1.7 * np.random.default_rng(0).standard_normal((4000, 32))
    measured = (np.maximum(x, 0) ** 2).sum(-1).mean()
    assert measured == pytest.approx(1.7**2 * 32 / 2, rel=0.02)  # E‖ReLU(X)‖² = σ²d/2 for X ~ N(0, σ² I_d)
    assert norms.relu_power_share(x) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(("d", "d_ff"), [(64, 64), (32, 128), (96, 40)])
def test_what_a_feed_forward_network_adds(d: int, d_ff: int) -> None:
    """‖W₂ ReLU(W₁ x)‖² / ‖x‖² with matrices of variance 2/(d + d_ff), the mean over draws."""
    rng = np.random.default_rng(1)
    scale, x = math.sqrt(2 / (d + d_ff)), rng.standard_normal(d)
    gains = [
        ((scale * rng.standard_normal((d, d_ff)) @ np.maximum(scale * rng.standard_normal((d_ff, d)) @ x, 0)) ** 2).sum()
        for _ in range(600)
    ]
    assert np.mean(gains) / (x @ x) == pytest.approx(norms.ffn_gain(d, d_ff), rel=0.06)


def test_the_lines_of_lemma_2() -> None:
    assert norms.ffn_gain(7, 7) == 0.5 and norms.post_ln_power() == 1.5
    assert norms.post_ln_power(norms.ffn_gain(64, 256)) == pytest.approx(1.32)
    low, high = norms.pre_ln_power_bounds(np.array([0, 1, 4]))
    assert low.tolist() == [1, 1.5, 3] and high.tolist() == [1, 2.5, 7]


@pytest.mark.parametrize("eps", [0.0, 1e-5, 0.3])
def test_lemma_3_equals_autograd(eps: float) -> None:
    x = torch.randn(9, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 3 + 1
    theirs = torch.autograd.functional.jacobian(lambda v: torch.nn.functional.layer_norm(v, (9,), eps=eps), x).numpy()
    np.testing.assert_allclose(norms.jacobian(x.numpy(), eps), theirs, atol=DOUBLE)
    sizes = np.linalg.svd(theirs, compute_uv=False)
    assert norms.jacobian_norm(x.numpy(), eps) == pytest.approx(sizes[0], rel=DOUBLE)
    if eps == 0:
        centred = x.numpy() - x.numpy().mean()
        assert sizes[0] == pytest.approx(math.sqrt(9) / np.linalg.norm(centred), rel=DOUBLE)
        assert (sizes > DOUBLE).sum() == 7  # rank d - 2


# ---------------------------------------------------------------- mean field


def test_the_arc_cosine_kernel_is_an_integral() -> None:
    """2 E[ReLU(a) ReLU(b)] over a grid of the plane."""
    t = np.linspace(-7, 7, 1401)
    a, c = np.meshgrid(t, t)
    weight = np.exp(-(a**2 + c**2) / 2) / (2 * math.pi) * (t[1] - t[0]) ** 2
    for rho in (-1.0, -0.6, 0.0, 0.3, 0.9, 1.0):
        b = rho * a + math.sqrt(1 - rho**2) * c
        assert norms.kappa(rho) == pytest.approx((2 * np.maximum(a, 0) * np.maximum(b, 0) * weight).sum(), abs=1e-4)
    assert norms.kappa(1 + 1e-12) == 1 and norms.kappa(-1 - 1e-12) == 0


def test_the_recursion_as_it_was_worked_out() -> None:
    field = norms.mean_field("pre", 8, 16)
    assert np.round(field.power[1::2], 2).tolist() == [1.56, 2.27, 3.11, 4.05, 5.08, 6.18, 7.32, 8.49]
    assert field.depth.tolist() == [i / 2 for i in range(1, 17)]


def test_one_token_attains_the_upper_edge_and_many_begin_at_the_lower() -> None:
    layers = np.arange(1, 13)
    low, high = norms.pre_ln_power_bounds(layers)
    np.testing.assert_allclose(norms.mean_field("pre", 12, 1).power[1::2], high, rtol=EXACT)
    many = norms.mean_field("pre", 12, 100_000).power[1::2]
    assert many[0] == pytest.approx(low[0], abs=1e-4) and norms.count_outside(many, low, high) == 0


@pytest.mark.parametrize("tokens", [1, 2, 16, 500])
@pytest.mark.parametrize("gain", [0.5, 0.32])
def test_post_ln_is_flat_and_tokens_collapse(tokens: int, gain: float) -> None:
    field = norms.mean_field("post", 40, tokens, gain)
    np.testing.assert_allclose(field.power[1::2], 1 + gain, rtol=EXACT)
    assert field.power[0] == pytest.approx(1 + 1 / tokens) and field.power[-2] == pytest.approx(2, abs=1e-3)
    assert field.cosine[-1] == pytest.approx(1, abs=2e-3) and (np.diff(field.cosine[1::2]) > -EXACT).all()


# ---------------------------------------------------------------- measured against expected


def test_ends_and_middles_of_layers() -> None:
    curve = norms.DepthCurve("stream", ("a", "b", "c", "d", "e"), np.array([0, 0.5, 1, 1.5, 2]), np.arange(5.0))
    assert [x.tolist() for x in norms.layer_ends(curve)] == [[1, 2], [2, 4]]
    assert [x.tolist() for x in norms.attention_ends(curve)] == [[0.5, 1.5], [1, 3]]
    assert norms.mean_curve([curve, replace(curve, values=curve.values + 2)]).values.tolist() == [1, 2, 3, 4, 5]
    assert norms.curve_of_kind([replace(curve, kind="final"), curve], "sum", "stream") is curve


def test_laws_through_points() -> None:
    x = np.array([2.0, 4, 8, 16])
    y = 3 / np.sqrt(x)
    assert norms.power_law_exponent(x, y) == pytest.approx(-0.5, abs=DOUBLE)
    np.testing.assert_allclose(norms.fit_power_law(x, y * [1.1, 1 / 1.1, 1.1, 1 / 1.1], -0.5), y, rtol=FLOAT)
    laws = norms.gradient_power_laws(x.tolist(), {"post": y, "pre": y})
    np.testing.assert_allclose(laws["pre"], y, rtol=FLOAT)
    assert np.ptp(laws["post"]) == 0 and laws["post"][0] == pytest.approx(np.exp(np.log(y).mean()))
    assert norms.mean_relative_difference(np.array([1.1, 1.3]), np.array([1.0, 1.0])) == pytest.approx(0.2)
    assert norms.safe_ratio(3, 2) == 1.5 and norms.safe_ratio(1, 0) == math.inf and math.isnan(norms.safe_ratio(0, 0))
    assert norms.count_outside(np.array([0.0, 1, 2, 3]), np.array([0.5] * 4), np.array([2.0] * 4)) == 2
