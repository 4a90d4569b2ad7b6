"""Placements share their weights, gradients are autograd's, and the lemmas hold in the paper's setting."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.model.small import SOURCE, TARGET, small
from tests.tolerances import FLOAT
from viz_core.analysis.norm_placement import (
    count_outside,
    curve_of_kind,
    depth_curves,
    ffn_gain,
    first_non_finite,
    jacobian_norm,
    layer_ends,
    mean_field,
    mean_relative_difference,
    measure_theory,
    post_ln_power,
    power_law_exponent,
    pre_ln_power_bounds,
    relu_power_share,
)
from viz_core.config import CHOICES, TransformerConfig
from viz_core.experiments import norm_placement as norms
from viz_core.experiments.norm_placement import (
    PLACEMENTS,
    PaperSetting,
    comparison_batch,
    comparison_config,
    paper_runs,
    placement_config,
    with_placement,
)
from viz_core.presets import PRESETS
from viz_core.run import Batch, build, run

CONFIG = comparison_config(small(), 4, 16, "xavier_uniform")
IDS = np.array([[5, 9, 7, 11, 6], [8, 3, 10, 0, 0]])
TOKENS = {side: [["a"] * 5] * 2 for side in ("source", "labels")}
BATCH = Batch({"source": IDS, "labels": np.array([[9, 7, 11, 6, 0], [3, 10, 0, 0, 0]])}, TOKENS)


# ---------------------------------------------------------------- one stack, several placements


@pytest.mark.parametrize("name", PLACEMENTS)
def test_a_placement_has_the_weights_that_it_would_have_drawn(name: str) -> None:
    base = build(CONFIG, 3)
    other, drawn = with_placement(base, name), build(placement_config(CONFIG, name), 3)
    assert other.config == drawn.config
    held = dict(other.named_parameters())
    assert held.keys() == dict(drawn.named_parameters()).keys()
    for n, p in drawn.named_parameters():
        assert torch.equal(held[n], p)
        assert held[n].data_ptr() == dict(base.named_parameters())[n].data_ptr()  # shared: no second copy in memory
    expected = run(other.config, IDS.tolist(), seed=3, device="cpu")
    found = norms.run_placement(base, BATCH, name, 3)
    for stage in found:
        np.testing.assert_array_equal(found[stage], BATCH.ids["labels"] if stage == "ids.labels" else expected[stage])
    assert {"encoder.layers.3.resid_post", "encoder.layers.0.self_attn.weights", "encoder.layers.0.ffn.pre_act"} <= set(found)


@pytest.mark.parametrize("name", PLACEMENTS)
def test_the_first_layers_of_a_deep_run_are_the_shallow_run(name: str) -> None:
    deep, shallow = build(norms.with_depth(CONFIG, 7), 3), build(CONFIG, 3)
    found, expected = (
        norms.truncated_run(norms.run_placement(deep, BATCH, name, 3), deep, 4),
        norms.run_placement(shallow, BATCH, name, 3),
    )
    assert (found.config, list(found)) == (expected.config, list(expected))
    for stage in expected:
        np.testing.assert_array_equal(found[stage], expected[stage])
    cut, own = (norms.layer_gradients(model, [BATCH]) for model in (with_placement(deep, name, 4), with_placement(shallow, name)))
    np.testing.assert_array_equal(cut.ffn, own.ffn)


def test_theory_at_a_depth_is_cut_from_a_deeper_measurement() -> None:
    deep, shallow = (measure_theory(paper_runs(PaperSetting(depth=depth, width=16, seed=i)) for i in range(2)) for depth in (6, 4))
    cut = deep.first_layers(4)
    for found, expected in ((cut.post, shallow.post), (cut.pre, shallow.pre)):
        assert found.stages == expected.stages
        np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(cut.layer_outputs, shallow.layer_outputs)
    assert (cut.relu_power_share, cut.first_non_finite, cut.n_tokens) == (
        shallow.relu_power_share,
        shallow.first_non_finite,
        shallow.n_tokens,
    )


def test_what_the_placements_are() -> None:
    assert {name: (c.norm, c.has_final_norm, c.residual) for name in PLACEMENTS for c in [placement_config(CONFIG, name)]} == {
        "post": ("post", False, True), "pre": ("pre", True, True), "pre_no_final": ("pre", False, True),
        "none": ("none", False, True),
        "post_no_residual": ("post", False, False), "plain": ("none", False, False),
    }


def test_the_shared_model_stays_as_it_was() -> None:
    base, again = build(CONFIG, 3), build(CONFIG, 3)
    norms.run_placements(base, BATCH, PLACEMENTS, 3)
    norms.layer_gradients(with_placement(base, "post"), [BATCH])
    norms.layer_gradients(base, [BATCH])
    for p, q in zip(base.parameters(), again.parameters(), strict=True):
        assert torch.equal(p, q) and p.grad is None and p.requires_grad


def test_an_editing_tap_reaches_every_placement() -> None:
    def inject(name: str, x: torch.Tensor) -> torch.Tensor:
        return x * math.inf if name == "encoder.layers.2.resid_mid" else x

    runs = norms.run_placements(build(CONFIG), BATCH, ("post", "none"), tap=inject)
    assert [odd.stage for c in runs.values() if (odd := first_non_finite(c))] == ["encoder.layers.2.resid_mid"] * 2


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("switches", [
    {}, {"architecture": "encoder-only", "head": False}, {"architecture": "decoder-only"}, {"norm": "none", "final_norm": None},
    {"architecture": "decoder-only", "causal": False, "position": "rope"}, {"n_heads": 16, "position": "alibi"},
    {"n_heads": 3, "qk_dim": 6, "d_model": 15}, {"tie_output": True, "final_norm": True, "norm": "post"}, {"norm_embedding": True},
    {"architecture": "encoder-decoder", "mask_padded_queries": True, "mask_source_padding": False, "mask_target_padding": True},
], ids=str)
def test_any_setup_has_a_stack_to_compare(preset: str, switches: dict[str, object]) -> None:
    sizes = {"d_model": 32, "n_heads": 4, "qk_dim": None, "source_vocab_size": 50, "target_vocab_size": 50, "max_len": 30,
             "n_encoder_layers": 1, "n_decoder_layers": 1, "d_ff": 8}
    config = replace(PRESETS[preset].config, **sizes | switches)
    found = comparison_config(config, 2, 16, "torch")
    decoder = config.architecture == "decoder-only"
    assert found.architecture == ("decoder-only" if decoder else "encoder-only") and (found.norm, found.d_model) == ("pre", 16)
    assert found.is_causal == (config.is_causal if decoder or not config.has_decoder else False)
    capture = run(config, [[5, 6, 7], [8, 9]], [[5, 6], [7]], device="cpu")
    for name in PLACEMENTS:
        depth_curves(norms.run_placement(build(found), comparison_batch(capture), name))


@pytest.mark.parametrize(("heads", "width", "fits"), [(4, 128, 4), (8, 16, 8), (16, 16, 8), (12, 64, 4), (3, 32, 1), (1, 16, 1)])
def test_heads_split_the_width_evenly(heads: int, width: int, fits: int) -> None:
    config = comparison_config(small(d_model=48, n_heads=heads, qk_dim=None), 1, width, "torch")
    assert config.n_heads == fits and config.d_k % 2 == 0


# ---------------------------------------------------------------- what is read


def test_the_first_stacks_own_ids_and_next_tokens_are_read() -> None:
    batch = comparison_batch(run(small(), SOURCE, TARGET, device="cpu"))
    assert batch.ids["source"].tolist() == [[5, 9, 7, 11, 6], [8, 3, 10, 0, 0], [4, 0, 0, 0, 0]]
    assert batch.ids["labels"].tolist() == [[9, 7, 11, 6, 0], [3, 10, 0, 0, 0], [0, 0, 0, 0, 0]]
    capture = run(small(architecture="decoder-only"), None, TARGET, device="cpu")
    batch = comparison_batch(capture)
    assert batch.ids.keys() == {"target", "labels"}
    for side in batch.ids:
        np.testing.assert_array_equal(batch.ids[side], capture[f"ids.{side}"])


def test_long_texts_are_cut_within_the_bounds() -> None:
    config = small(max_len=100, architecture="encoder-only")
    one = comparison_batch(run(config, [[5] * 90], device="cpu"))
    assert one.ids["source"].shape == (1, norms.MAX_TOKENS)
    many = comparison_batch(run(config, [[5] * 90] * 5, device="cpu"))
    assert many.ids["source"].size <= norms.MAX_TOTAL_TOKENS and len(many.tokens["source"]) == len(many.ids["source"]) == 2


# ---------------------------------------------------------------- gradients


def by_backward(config: TransformerConfig, batches: list[Batch], seed: int) -> tuple[list[float], list[float], float]:
    """Norms per layer with loss.backward() on a fresh model, without a tap and without our loss."""
    model = build(config, seed)
    losses = []
    for batch in batches:
        ids = {side: torch.tensor(x) for side, x in batch.ids.items()}
        logits = model(ids.get("source"), ids.get("target")).logits
        losses.append(F.cross_entropy(logits.flatten(0, 1), ids["labels"].flatten(), ignore_index=0))
    loss = torch.stack(losses).mean()
    loss.backward()
    layers = (model.decoder or model.encoder).layers
    attention = [[layer.self_attn.w_q, layer.self_attn.w_k, layer.self_attn.w_v, layer.self_attn.w_o] for layer in layers]
    ffn = [[layer.ffn.w_in, layer.ffn.w_out] for layer in layers]
    size = [[float(torch.cat([m.weight.grad.flatten() for m in held]).norm()) for held in part] for part in (attention, ffn)]
    return size[0], size[1], float(loss.detach())


@pytest.mark.parametrize("name", PLACEMENTS)
@pytest.mark.parametrize(("n", "joint"), [(1, 512), (3, 512), (3, 20), (3, 1)])
def test_gradients_equal_autograds_on_an_uninstrumented_copy(
    monkeypatch: pytest.MonkeyPatch, name: str, n: int, joint: int
) -> None:
    """However many batches one backward pass takes together."""
    monkeypatch.setattr(norms, "MAX_JOINED_TOKENS", joint)
    base = build(CONFIG, 1)
    batches = norms.with_random_batches(BATCH, CONFIG, n, 1)
    found = norms.layer_gradients(with_placement(base, name), batches)
    attention, ffn, loss = by_backward(placement_config(CONFIG, name), batches, 1)
    np.testing.assert_allclose(found.attention, attention, rtol=10 * FLOAT)
    np.testing.assert_allclose(found.ffn, ffn, rtol=10 * FLOAT)
    assert found.loss == pytest.approx(loss, rel=FLOAT) and found.batches == n and min(found.ffn) > 0


def test_gradients_of_a_decoder() -> None:
    config = comparison_config(small(architecture="decoder-only"), 2, 16, "torch")
    batch = comparison_batch(run(small(architecture="decoder-only"), None, TARGET, device="cpu"))
    batches = norms.with_random_batches(batch, config, 2, 0)
    found = norms.layer_gradients(build(config), batches)
    np.testing.assert_allclose(found.attention, by_backward(config, batches, 0)[0], rtol=10 * FLOAT)


def test_random_batches_keep_shape_and_padding() -> None:
    config = replace(CONFIG, source_pad_id=5)
    first = Batch({"source": np.array([[7, 8, 9], [3, 5, 5]]), "labels": np.array([[8, 9, 5], [5, 5, 5]])}, {})
    made = norms.with_random_batches(first, config, 40, 0)
    assert made[0] is first and len(made) == 40
    ids = np.stack([b.ids["source"] for b in made[1:]])
    assert ((ids == 5) == (first.ids["source"] == 5)).all()
    assert {0, config.source_vocab_size - 1} <= set(ids.ravel().tolist()) and ids.max() < config.source_vocab_size
    for b in made[1:]:
        np.testing.assert_array_equal(b.ids["labels"][:, :-1], b.ids["source"][:, 1:])
    assert len({b.ids["source"].tobytes() for b in made}) == 40


def test_one_token_has_nothing_to_learn_from() -> None:
    alone = Batch({"source": np.array([[5]]), "labels": np.array([[0]])}, {"source": [["a"]], "labels": [["<pad>"]]})
    with pytest.raises(ValueError, match="type a sentence of at least two words"):
        norms.layer_gradients(build(CONFIG), [alone])


# ---------------------------------------------------------------- the extremes


def test_without_norm_it_explodes_and_without_residual_too_it_vanishes() -> None:
    base = build(comparison_config(small(), 48, 64, "xavier_uniform"))
    runs = norms.run_placements(base, BATCH, ("none", "plain"))
    last = {name: depth_curves(c)["power"][0].values[-1] for name, c in runs.items()}
    assert 1e12 < last["none"] < math.inf and 0 < last["plain"] < 1e-12
    assert all(first_non_finite(c) is None for c in runs.values())


# ---------------------------------------------------------------- the paper's setting


@pytest.mark.parametrize("broken", [(), *((b,) for b in norms.ASSUMPTIONS if b != "gaussian")], ids=str)
def test_the_setting_is_what_it_says(broken: tuple[str, ...]) -> None:
    setting = PaperSetting(depth=2, width=64, broken_assumptions=frozenset(broken))
    model, runs = norms.paper_model(setting), paper_runs(setting)
    layer = model.encoder.layers[1]
    d_ff = 256 if "square" in broken else 64
    for m in (layer.self_attn.w_v, layer.self_attn.w_o, layer.ffn.w_in, layer.ffn.w_out):
        d, out = m.weight.shape[1], m.weight.shape[0]
        variance = 1 / (3 * d) if "normal" in broken else 2 / (d + out)
        assert float(m.weight.detach().var()) == pytest.approx(variance, rel=0.1)
        assert (m.bias is not None) == ("unbiased" in broken)
    assert layer.ffn.w_in.weight.shape == (d_ff, 64) and model.config.n_heads == (4 if "single" in broken else 1)
    assert bool((layer.self_attn.w_q.weight == 0).all() and (layer.self_attn.w_k.weight == 0).all()) == ("uniform" not in broken)
    for capture in runs.values():
        uniform = np.allclose(capture["encoder.layers.1.self_attn.weights"], 1 / norms.PAPER_TOKENS)
        assert uniform == ("uniform" not in broken)
    x = runs["post"]["encoder.embed"]
    assert x.shape == (norms.PAPER_SENTENCES, norms.PAPER_TOKENS, 64) and np.array_equal(x, runs["pre"]["encoder.embed"])
    assert x.mean() == pytest.approx(0, abs=0.05) and x.std() == pytest.approx(1, abs=0.05)


def test_typed_words_take_the_place_of_the_gaussian() -> None:
    typed = norms.run_placement(build(comparison_config(small(), 2, 32, "torch")), BATCH, "pre")
    setting = PaperSetting(depth=3, width=32, broken_assumptions=frozenset({"gaussian"}))
    for capture in paper_runs(setting, typed).values():
        np.testing.assert_array_equal(capture["encoder.embed"], typed["encoder.embed"])
        np.testing.assert_array_equal(capture["ids.source"] == 0, IDS == 0)
        np.testing.assert_allclose(capture["encoder.layers.0.self_attn.weights"][1, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0, 0])
    with pytest.raises(ValueError, match="type a sentence"):
        paper_runs(setting)


@pytest.mark.parametrize("ratio", [1, 4])
def test_lemma_2_and_the_mean_field(ratio: int) -> None:
    """Four draws at d = 256, the sum before the second norm and the stream, within what four draws can say."""
    depth, broken = 8, frozenset({"square"} if ratio == 4 else ())
    gain = ffn_gain(256, 256 * ratio)
    found: dict[str, list[np.ndarray]] = {"post": [], "pre": []}
    for seed in range(4):
        for name, capture in paper_runs(PaperSetting(depth=depth, width=256, broken_assumptions=broken, seed=seed)).items():
            found[name].append(curve_of_kind(depth_curves(capture)["power"], "sum", "stream").values)
            assert relu_power_share(capture["encoder.layers.0.ffn.pre_act"]) == pytest.approx(0.5, abs=0.02)  # Lemma 1
    post, pre = np.mean(found["post"], axis=0), np.mean(found["pre"], axis=0)[1:]
    assert mean_relative_difference(post[1::2], post_ln_power(gain)) == pytest.approx(0, abs=0.03)
    np.testing.assert_allclose(post[1::2], post_ln_power(gain), rtol=0.1)
    np.testing.assert_allclose(post, mean_field("post", depth, norms.PAPER_TOKENS, gain).power, rtol=0.12)
    np.testing.assert_allclose(pre, mean_field("pre", depth, norms.PAPER_TOKENS, gain).power, rtol=0.06)
    if ratio == 1:
        assert count_outside(pre[1::2], *pre_ln_power_bounds(np.arange(1, depth + 1))) == 0


def test_tokens_become_as_alike_as_the_mean_field_says() -> None:
    for name, capture in paper_runs(PaperSetting(depth=8, width=256)).items():
        cosine = curve_of_kind(depth_curves(capture)["cosine"], "sum", "stream")
        expected = mean_field(name, 8, norms.PAPER_TOKENS).cosine
        np.testing.assert_allclose(cosine.values[-16:], expected, atol=0.05)


def test_torchs_own_draw_breaks_lemma_2() -> None:
    capture = paper_runs(PaperSetting(depth=4, width=128, broken_assumptions=frozenset({"normal"})))["post"]
    _, values = layer_ends(curve_of_kind(depth_curves(capture)["power"], "sum"))
    assert mean_relative_difference(values, post_ln_power()) < -0.2


@pytest.mark.parametrize("eps", [0.0, 1e-5, 0.5])
def test_lemma_3_on_the_models_own_norm(eps: float) -> None:
    x = paper_runs(PaperSetting(depth=2, width=32))["pre"]["encoder.layers.1.resid_post"][0, 0]
    assert norms.autograd_jacobian_norm(x, eps) == pytest.approx(jacobian_norm(x, eps), rel=FLOAT)
    if eps == 0:
        assert jacobian_norm(x) == pytest.approx(math.sqrt(32) / np.linalg.norm(x - x.mean()), rel=FLOAT)


def test_theorem_1_scales_as_it_says() -> None:
    depths = np.array(norms.DEPTHS)
    found = norms.last_layer_gradients(128)
    assert power_law_exponent(depths, found["post"]) == pytest.approx(0, abs=0.1)
    assert power_law_exponent(depths, found["pre"]) == pytest.approx(-0.5, abs=0.1)
    assert np.ptp(found["post"]) / found["post"].mean() < 0.25
    scaled = found["pre"] * np.sqrt(depths)
    assert scaled.max() / scaled.min() < 1.4


def test_the_last_layers_gradient_is_autograds() -> None:
    setting = PaperSetting(depth=2, width=16, seed=5)
    model = with_placement(norms.paper_model(setting), "post")
    hidden = norms.input_tap(setting, batches=2)("encoder.embed", torch.empty(0))
    assert hidden.shape == (2 * norms.PAPER_SENTENCES, norms.PAPER_TOKENS, 16)
    for layer in model.encoder.layers:
        hidden = layer(hidden, torch.ones(1, 1, norms.PAPER_TOKENS, norms.PAPER_TOKENS, dtype=torch.bool))
    labels = torch.tensor(norms.paper_batch(setting, 2).ids["labels"])
    loss = F.cross_entropy(model.head(hidden).flatten(0, 1), labels.flatten(), ignore_index=0)
    (g,) = torch.autograd.grad(loss, [model.encoder.layers[1].ffn.w_out.weight])
    found = norms.last_layer_gradients(16, depths=(2,), batches=2, seed=5)
    assert found["post"][0] == pytest.approx(float(g.norm()), rel=10 * FLOAT)


def test_sizes_of_init_are_the_configs() -> None:
    for init in CHOICES["init"]:
        assert comparison_config(small(), 3, 64, init).init == init  # type: ignore[arg-type]
