"""Masks put to the test: what the experiments report is what torch says when it is asked here, and no oracle leaks."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.model.documents.doc004 import scaled_dot_product_attention
from tests.model.small import TARGET, ids, small, unlike_identity
from tests.tolerances import FLOAT
from viz_core.experiments.masks import (
    compare_conventions,
    compare_empty_rows,
    last_hidden_state,
    masked_run,
    measure_leak,
    mha_limitations,
    replacement_changes,
    replacement_ids,
    spread_nan,
    unsqueeze_mask,
    with_mask,
    with_padded_queries_masked,
)
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, build, prepare, run, trace
from viz_core.tracing import Tracer

SOURCE = [[5, 9, 7, 11, 6], [8, 3, 10], [4, 2, 9, 9]]
ENCODER, DECODER, CROSS = "encoder.layers.0.self_attn", "decoder.layers.0.self_attn", "decoder.layers.0.cross_attn"
CAUSAL: list[dict[str, Any]] = [
    {}, {"architecture": "decoder-only"}, {"architecture": "encoder-only", "causal": True}, {"norm": "pre"}, {"position": "rope"},
    {"position": "alibi"}, {"position": "t5"}, {"mask_padded_queries": True},
]


def made(**switches: Any) -> tuple[Transformer, Batch]:
    """A small model whose gains and shifts are off their usual 1 and 0, and a batch with padding on both sides."""
    config = small(**switches)
    batch = prepare(config, SOURCE if config.has_encoder else None, TARGET if config.has_decoder else None)
    return unlike_identity(build(config, seed=2)), batch


# ---------------------------------------------------------------- with a mask and without it


@pytest.mark.parametrize("name", ["causal", "mask_source_padding", "mask_target_padding", "mask_padded_queries"])
@pytest.mark.parametrize("on", [True, False])
def test_a_switched_mask_is_a_run_of_that_config(name: str, on: bool) -> None:
    model, batch = made()
    before = trace(model, batch)
    config = with_mask(model.config, name, on)
    assert getattr(config, name) == on
    found = masked_run(model, batch, config)
    other = unlike_identity(build(config, seed=2))
    expected = trace(other, batch)
    assert f"{CROSS}.weights" in found and "loss" in found
    for stage in found:
        np.testing.assert_array_equal(found[stage], expected[stage], err_msg=stage)
    unchanged = on == getattr(model.config, name.replace("causal", "is_causal"))
    assert np.array_equal(found["probs"], before["probs"]) == unchanged
    np.testing.assert_array_equal(trace(model, batch)["probs"], before["probs"])  # nothing is left behind


def test_padded_queries_go_with_the_last_padding_mask() -> None:
    config = small(mask_padded_queries=True)
    assert with_mask(config, "mask_source_padding", False).mask_padded_queries
    both = with_mask(with_mask(config, "mask_source_padding", False), "mask_target_padding", False)
    assert not both.mask_padded_queries
    with pytest.raises(ValueError, match="no padding is masked"):
        with_mask(both, "mask_padded_queries", True)


# ---------------------------------------------------------------- leaks


@pytest.mark.parametrize("switches", CAUSAL, ids=str)
def test_nothing_before_the_exchanged_word_moves_by_a_bit(switches: dict[str, Any]) -> None:
    model, batch = made(**switches)
    side = "target" if model.config.has_decoder else "source"
    for place in (1, 2):
        new = int(batch.ids[side][1, place]) % 16 + 1
        found = measure_leak(model, batch, 1, place, new)
        assert (found.old_id, found.new_id, found.position) == (int(batch.ids[side][1, place]), new, place)
        assert not found.is_changed[:place].any() and not found.change[:place].any()
        assert found.is_changed[place] and found.change[place] > 0
        assert found.is_changed_without_mask[:place].all() and (found.change_without_mask[:place] > 1e-6).all()


def test_the_moves_are_those_of_two_runs() -> None:
    model, batch = made()
    found = measure_leak(model, batch, 1, 2, 15)
    words = [list(map(int, row[row != 0])) for row in batch.ids["labels"]]
    other = [list(w) for w in words]
    other[1][1] = 15  # the decoder's input is shifted by one
    for causal, moved in ((True, found.change), (False, found.change_without_mask)):
        weights = unlike_identity(build(small(causal=causal), seed=2))
        before, after = (run(small(causal=causal), SOURCE, t, weights=weights, device="cpu") for t in (words, other))
        stage = "decoder.layers.1.norm_ffn.out"
        assert after["ids.target"][1, 2] == 15 and before["ids.target"][1, 2] == found.old_id
        np.testing.assert_allclose(moved, np.abs(after[stage] - before[stage])[1].max(axis=-1), atol=FLOAT)
        for item in (0, 2):  # the other sentences of the batch are alone
            np.testing.assert_array_equal(after[stage][item], before[stage][item])


def test_the_same_word_or_none_of_the_vocabulary_is_refused() -> None:
    model, batch = made()
    with pytest.raises(ValueError, match="is already at this position"):
        measure_leak(model, batch, 0, 1, int(batch.ids["target"][0, 1]))
    with pytest.raises(ValueError, match="outside the vocabulary"):
        measure_leak(model, batch, 0, 1, 999)
    assert batch.ids["target"][0, 1] != 999


def test_each_replacement_is_another_word_of_the_vocabulary_and_no_padding() -> None:
    model, batch = made()
    for item, row in enumerate(batch.ids["target"].tolist()):
        others = replacement_ids(model.config, batch, item, model.config.target_vocab_size)
        assert len(others) == len(row) and not any(a == b for a, b in zip(row, others, strict=True))
        assert all(0 < id < model.config.target_vocab_size for id in others)
    alone = Batch({"target": np.array([[model.config.target_vocab_size - 1]])}, {"target": [["x"]]})
    assert replacement_ids(model.config, alone, 0, model.config.target_vocab_size) == [1]


@pytest.mark.parametrize("causal", [True, False])
def test_where_a_token_reaches_is_where_its_gradient_comes_from(causal: bool) -> None:
    """∂out_i/∂x_j = 0 for j > i under a causal mask; each row of the map is a leak test of its own."""
    model, batch = made(architecture="decoder-only")
    others = [int(i) % 16 + 1 for i in batch.ids["target"][1]]
    found = replacement_changes(model, batch, 1, others, causal)
    if causal:
        np.testing.assert_array_equal(found > 0, np.triu(np.ones_like(found)))
    one = measure_leak(model, batch, 1, 2, others[2])
    np.testing.assert_array_equal(found[2], one.change if causal else one.change_without_mask)

    other = unlike_identity(build(small(architecture="decoder-only", causal=causal), seed=2))
    leaves: list[torch.Tensor] = []

    def catch(name: str, x: torch.Tensor) -> torch.Tensor:
        if name == "decoder.embed":
            x = x.detach().requires_grad_()
            leaves.append(x)
        return x

    out = other(None, torch.tensor(batch.ids["target"]), tap=Tracer(edit=catch)).hidden[1]
    felt = torch.stack([torch.autograd.grad((x**3).sum(), leaves, retain_graph=True)[0][1] for x in out])  # [i, j, D]
    np.testing.assert_array_equal(found > 0, (felt.abs().amax(-1) > 0).T.numpy())


@pytest.mark.parametrize("architecture", ["encoder-decoder", "encoder-only", "decoder-only"])
def test_appended_padding_changes_no_word_unless_it_is_unmasked(architecture: str) -> None:
    def moved(**switches: Any) -> float:
        config = small(architecture=architecture, **switches)
        model = unlike_identity(build(config, seed=2))
        given = {"source": ids(2, 5).numpy(), "target": ids(2, 4, seed=1).numpy()}
        longer = {side: np.pad(x, ((0, 0), (0, 3))) for side, x in given.items()}
        if not config.has_decoder:
            given, longer = {"source": given["source"]}, {"source": longer["source"]}
        n = given["target" if config.has_decoder else "source"].shape[1]
        return float(np.abs(last_hidden_state(model, Batch(longer, {}))[:, :n] - last_hidden_state(model, Batch(given, {}))).max())

    assert moved() < FLOAT
    assert moved(causal=False, mask_source_padding=False, mask_target_padding=False) > 1e-3


# ---------------------------------------------------------------- rows that see nothing


@pytest.fixture(params=[ENCODER, DECODER, CROSS])
def path(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


ATTENTIONS = [{}, {"norm": "pre"}, {"position": "alibi"}, {"position": "t5"}, {"attention_bias": False}]


@pytest.mark.parametrize("switches", ATTENTIONS, ids=str)
def test_every_treatment_is_what_torch_says_here(path: str, switches: dict[str, Any]) -> None:
    model, batch = made(**switches)
    item = 2  # padded on both sides
    capture = trace(_twin(model), batch)
    mask = torch.tensor(capture[capture.stage(f"{path}.weights").mask or ""])  # [B, 1, T, S]
    scores = torch.tensor(capture[f"{path}.scores"])
    if f"{path}.bias" in capture:
        scores = scores + torch.tensor(capture[f"{path}.bias"])
    q, k, v = (torch.tensor(capture[f"{path}.{leaf}"]) for leaf in "qkv")
    w_o = model.get_submodule(path).w_o
    blocked = ~mask.expand_as(scores)

    def out(z: torch.Tensor) -> np.ndarray:
        return w_o(z.transpose(1, 2).flatten(2))[item].detach().numpy()

    mha, x, memory = _mha(model, path), *(torch.tensor(capture[capture.stage(f"{path}.{leaf}").inputs[0]]) for leaf in "qk")
    added = (scores - q @ k.mT / 2).masked_fill(blocked, -torch.inf)  # d_k = 4; what is left is ALiBi's bias
    given = added if f"{path}.bias" in capture else blocked
    asked = {need: mha(x, memory, memory, attn_mask=given.flatten(0, 1), need_weights=need, average_attn_weights=False)
             for need in (True, False)}
    keep = added if f"{path}.bias" in capture else ~blocked
    fused = F.scaled_dot_product_attention(q, k, v, keep)
    by_inf, by_number = (scores.masked_fill(blocked, fill).softmax(-1) for fill in (-torch.inf, -1e20))

    found = compare_empty_rows(model, batch, path, item)
    expected = {
        "infinite_fill": (by_inf, out(by_inf @ v)),
        "finite_fill": (by_number, out(by_number @ v)),
        "module_with_weights": (asked[True][1], asked[True][0][item].detach().numpy()),
        "module_without_weights": (None, asked[False][0][item].detach().numpy()),
        "fused": (None, out(fused)),
        "app": (torch.tensor(capture[f"{path}.weights"]), capture[f"{path}.out"][item]),
    }
    assert [t.name for t in found.results] == list(expected)
    np.testing.assert_array_equal(found.is_empty, blocked[item, 0].all(-1).numpy())
    for t in found.results:
        weights, left = expected[t.name]
        np.testing.assert_allclose(t.out, left, atol=FLOAT, err_msg=t.name)
        if weights is not None:
            np.testing.assert_allclose(t.weights, weights[item].detach().numpy(), atol=FLOAT, err_msg=t.name)


def test_what_comes_out_where_there_is_nothing_to_see() -> None:
    """As this version of torch has it, and as the app's default does."""
    model, batch = made()
    found = compare_empty_rows(model, batch, ENCODER, 1)
    assert found.is_empty.tolist() == [False, False, False, True, True]
    weights = {t.name: t.weights for t in found.results}
    outs = {t.name: t.out for t in found.results}
    assert np.isnan(weights["infinite_fill"][:, 3:]).all() and np.isnan(outs["infinite_fill"][3:]).all()
    np.testing.assert_allclose(weights["finite_fill"][:, 3:], 0.2, atol=FLOAT)
    assert not weights["app"][:, 3:].any()
    np.testing.assert_allclose(outs["app"][3:], [model.get_parameter(f"{ENCODER}.w_o.bias").detach().numpy()] * 2, atol=FLOAT)
    assert weights["module_without_weights"] is None
    for name, w in weights.items():  # whoever sees something is treated alike by all
        np.testing.assert_allclose(outs[name][:3], outs["app"][:3], atol=FLOAT)
        if w is not None:
            np.testing.assert_allclose(w[:, :3], weights["app"][:, :3], atol=FLOAT)
            np.testing.assert_allclose(w[:, :3].sum(-1), 1, atol=FLOAT)


def _twin(model: Transformer) -> Transformer:
    """The same parameters in the model that `with_padded_queries_masked` describes."""
    other = build(with_padded_queries_masked(model.config), seed=9)
    other.load_state_dict(model.state_dict())
    return other


def _mha(model: Transformer, path: str) -> torch.nn.MultiheadAttention:
    """torch's module with the attention's parameters copied in."""
    ours: Any = model.get_submodule(path)
    mha = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    with torch.no_grad():
        for i, part in enumerate((ours.w_q, ours.w_k, ours.w_v)):
            mha.in_proj_weight[8 * i : 8 * i + 8] = part.weight
            mha.in_proj_bias[8 * i : 8 * i + 8] = 0 if part.bias is None else part.bias
        mha.out_proj.weight.copy_(ours.w_o.weight)
        mha.out_proj.bias.copy_(torch.zeros(8) if ours.w_o.bias is None else ours.w_o.bias)
    return mha.eval().requires_grad_(False)


@pytest.mark.parametrize(("switches", "cross", "said"), [
    ({}, False, ()), ({"qk_dim": 4}, False, ("qk_width",)), ({"position": "rope"}, False, ("rotated",)),
    ({"position": "rope"}, True, ()), ({"scale_scores": False}, True, ("unscaled",)),
])
def test_why_torchs_module_cannot_be_asked(switches: dict[str, Any], cross: bool, said: tuple[str, ...]) -> None:
    assert mha_limitations(small(**switches), cross) == said
    model, batch = made(**switches)
    names = [t.name for t in compare_empty_rows(model, batch, CROSS if cross else ENCODER, 1).results if t.mha_limitations]
    assert len(names) == (2 if said else 0)


@pytest.mark.parametrize("side", ["source", "target"])
def test_nan_spreads_from_padded_rows_to_every_token(side: str) -> None:
    model, batch = made()
    found = spread_nan(model, batch, side, 2)
    pad = batch.ids[side][2] == 0
    assert found.layers == (None, 0, 1) and pad.any()
    counts = np.isnan(found.norms_softmax)
    assert not counts[0].any() and counts[2].all()
    if side == "source":
        np.testing.assert_array_equal(counts[1], pad)
    else:
        assert counts[1].all()  # the decoder reads an encoder that is NaN by then
    assert np.isfinite(found.norms_zero).all()
    capture = trace(_twin(model), batch)
    stack = "encoder" if side == "source" else "decoder"
    for row, stage in zip(found.norms_zero, ("embed", "layers.0.norm_ffn.out", "layers.1.norm_ffn.out"), strict=True):
        np.testing.assert_allclose(row, np.sqrt((capture[f"{stack}.{stage}"][2].astype(float) ** 2).sum(-1)), rtol=FLOAT)


def test_a_sentence_without_padding_stays_whole() -> None:
    model, batch = made()
    assert np.isfinite(spread_nan(model, batch, "source", 0).norms_softmax).all()


# ---------------------------------------------------------------- conventions


@pytest.mark.parametrize("switches", [{}, {"mask_padded_queries": True}, {"scale_scores": False}, {"position": "rope"}], ids=str)
def test_both_forms_of_a_mask_agree(path: str, switches: dict[str, Any]) -> None:
    found = compare_conventions(*made(**switches), path)
    assert found.sdpa is not None and found.sdpa < FLOAT
    asked = switches.get("scale_scores", True) and not (switches.get("position") == "rope" and path != CROSS)
    assert (found.mha is not None) == asked == (not found.mha_limitations)
    assert found.mha is None or found.mha < FLOAT


def test_alibi_leaves_no_bool_form() -> None:
    model, batch = made(position="alibi")
    assert compare_conventions(model, batch, ENCODER).sdpa is None and compare_conventions(model, batch, ENCODER).has_no_bool_form
    assert compare_conventions(model, batch, CROSS).mha is not None


# ---------------------------------------------------------------- unsqueeze(1)


@pytest.mark.parametrize("switches", [{}, {"architecture": "encoder-only"}, {"architecture": "decoder-only"}], ids=str)
def test_torch_refuses_in_its_own_words(switches: dict[str, Any]) -> None:
    model, batch = made(**switches)
    found = unsqueeze_mask(model, batch, 0)
    n = found.scores_shape[-1]
    with pytest.raises(RuntimeError) as error:
        torch.zeros(3, 2, n, n).masked_fill(torch.zeros(n, n, dtype=torch.bool).unsqueeze(1), 0.0)
    assert found.error == str(error.value) and found.weights is None and found.future_share is None
    assert (found.mask_shape, found.scores_shape) == ((n, 1, n), (3, 2, n, n))


@pytest.mark.parametrize("heads", [2, 4])
def test_where_t_is_the_number_of_heads_it_leaks(heads: int) -> None:
    model, batch = made(n_heads=heads)
    found = unsqueeze_mask(model, batch, 1, heads)
    assert found.error == "" and found.weights is not None and found.future_share is not None
    cut = copy.deepcopy(batch)
    cut.ids["target"] = cut.ids["target"][:, :heads]
    cut.given_token_masks["target"] = cut.given_token_masks["target"][:, :heads]
    cut.ids.pop("labels")
    cut.given_token_masks.pop("labels")
    capture = trace(model, cut)
    q, k, v = (torch.tensor(capture[f"{DECODER}.{leaf}"]) for leaf in "qkv")
    look_ahead = torch.triu(torch.ones((heads, heads)), diagonal=1).bool()
    _, printed = scaled_dot_product_attention(q, k, v, look_ahead.unsqueeze(1))
    _, meant = scaled_dot_product_attention(q, k, v, look_ahead)
    np.testing.assert_allclose(found.weights, printed[1].numpy(), atol=FLOAT)
    np.testing.assert_allclose(found.intended_weights, meant[1].numpy(), atol=FLOAT)
    for h in range(heads):  # head h hides the keys after h, whoever asks
        assert (found.weights[h, :, h + 1 :] == 0).all() and (found.weights[h, :, : h + 1] > 0).all()
        np.testing.assert_array_equal(found.printed_mask(h), found.weights[h] == 0)
        later = [found.weights[h, t, t + 1 :].sum() for t in range(heads - 1)]
        assert found.future_share[h] == pytest.approx(np.mean(later), abs=FLOAT)
    assert found.future_share[0] == 0 and found.future_share[-1] > 0.05
    assert not np.triu(found.intended_weights, 1).any()
    np.testing.assert_array_equal(found.intended_mask, look_ahead.numpy())


def test_one_head_is_refused_later_and_one_token_is_no_leak() -> None:
    model, batch = made(n_heads=1)
    assert "cannot be multiplied" in unsqueeze_mask(model, batch, 0).error
    alone = unsqueeze_mask(model, batch, 0, 1)
    assert alone.error == "" and alone.future_share is not None and alone.future_share.tolist() == [0]
