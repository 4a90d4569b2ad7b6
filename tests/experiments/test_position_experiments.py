"""The order experiments, each number against plain runs of the same model on the same ids."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.model.small import small, unlike_identity
from tests.tolerances import FLOAT
from viz_core.config import TransformerConfig
from viz_core.experiments import position_experiments as order
from viz_core.experiments.position_experiments import POSITION_SCHEMES
from viz_core.model.transformer import Transformer
from viz_core.run import build, prepare, run, untrained_tokenizers

IDS = [5, 9, 7, 11, 6]
HIDDEN = {"post": "layers.1.norm_ffn.out", "pre": "final_norm.out", "none": "layers.1.resid_post"}
each_scheme = pytest.mark.parametrize("scheme", POSITION_SCHEMES)


def encoder(**switches: Any) -> TransformerConfig:
    return small(architecture="encoder-only", d_model=16, n_heads=2, **switches)


def model_of(**switches: Any) -> Transformer:
    """An encoder with gains and shifts unlike those it was drawn with, as trained ones are."""
    return unlike_identity(build(encoder(**switches), seed=3))


def hidden(model: Transformer, scheme: str, ids: list[int], causal: bool = False) -> np.ndarray:
    """The last hidden states of a plain run of the same weights, [T, D]."""
    config = replace(model.config, position=scheme, causal=causal, mask_source_padding=False)
    other = build(config, seed=3)
    other.load_state_dict(model.state_dict(), strict=False)
    return run(config, [ids], weights=other, device="cpu")[f"encoder.{HIDDEN[config.norm]}"][0]


# ---------------------------------------------------------------- one model, five schemes


@each_scheme
@pytest.mark.parametrize("own", POSITION_SCHEMES)
@pytest.mark.parametrize("architecture", ["encoder-decoder", "encoder-only", "decoder-only"])
def test_another_scheme_is_what_build_makes(architecture: str, own: str, scheme: str) -> None:
    """Of an untrained model: parameter for parameter the model that the config with the other scheme builds."""
    config = small(architecture=architecture, position=own, tie_output=True)
    other = order.with_scheme(build(config, seed=4), scheme, seed=4)
    expected = build(replace(config, position=scheme), seed=4)
    assert other.config == expected.config and not other.training
    assert other.state_dict().keys() == expected.state_dict().keys()
    for name, value in expected.state_dict().items():
        assert torch.equal(other.state_dict()[name], value), name


@each_scheme
def test_the_weights_are_shared_and_left_alone(scheme: str) -> None:
    model = model_of()
    before = {n: p.clone() for n, p in model.state_dict().items()}
    other = order.with_scheme(model, scheme, seed=3)
    own = dict(model.named_parameters())
    for name, p in other.named_parameters():
        assert name not in own or p.data_ptr() == own[name].data_ptr()
    order.reorder(model, IDS, [1, 0, 2, 3, 4])
    assert model.config == encoder()
    assert all(torch.equal(before[n], p) for n, p in model.state_dict().items())


def test_a_learned_table_of_the_model_is_kept() -> None:
    model = model_of(position="learned")
    with torch.no_grad():
        model.encoder.pos_embedding.weight.fill_(7)
    (found,) = [s for s in order.run_schemes(model, IDS) if s.position == "learned"]
    assert (found.pos_embed == 7).all()


def test_embedding_rows_are_those_of_the_model() -> None:
    config = small(init="xavier_uniform")
    model = build(config, seed=8)
    for side, stack in (("source", model.encoder), ("target", model.decoder)):
        rows = order.embedding_rows(config, 8, side, [3, 0, 3])
        assert np.array_equal(rows, stack.tok_embedding.weight.detach()[[3, 0, 3]])


@each_scheme
@pytest.mark.parametrize("architecture", ["encoder-decoder", "encoder-only", "decoder-only"])
def test_a_scheme_is_what_a_run_records(architecture: str, scheme: str) -> None:
    """The very numbers of `run` with the scheme switched on."""
    config = small(architecture=architecture, position="none")
    side = "decoder" if architecture == "decoder-only" else "encoder"
    (found,) = [s for s in order.run_schemes(build(config, seed=2), IDS, seed=2) if s.position == scheme]
    target = [[*IDS[1:], 1]] if side == "decoder" else [[5]]
    model = build(replace(config, position=scheme), seed=2)
    with torch.inference_mode():  # ids as they are: `run` would put <bos> in front of a target
        _, stages = order.run_first_stack(model, IDS, side == "decoder", ["*"])
    if side == "encoder":
        capture = run(replace(config, position=scheme), [IDS], target, seed=2, device="cpu")
        stages = {n.removeprefix("encoder."): x for n, x in capture.items() if n.startswith("encoder.")}
    attn = "layers.0.self_attn."
    for leaf in ("q", "k", "q_rot", "k_rot", "bias", "weights"):
        array = getattr(found, leaf)
        assert (array is None) == (attn + leaf not in stages)
        assert array is None or (np.array_equal(array, stages[attn + leaf][0]) and not array.flags.writeable)
    assert (found.pos_embed is None) == ("pos_embed" not in stages)
    assert found.pos_embed is None or np.array_equal(found.pos_embed, stages["pos_embed"][0])


def test_a_scheme_that_does_not_fit_says_why() -> None:
    found = order.run_schemes(build(encoder(qk_dim=6)), IDS)
    assert [s.position for s in found if s.problem] == ["rope"]
    (rope,) = [s for s in found if s.position == "rope"]
    assert rope.weights is None and (rope.problem.code, rope.problem.values["width"]) == ("odd_width", 3)
    assert {s.problem.code for s in order.run_schemes(build(encoder(n_encoder_layers=0)), IDS)} == {"no_attention"}
    longer = order.run_schemes(build(encoder(max_len=4)), IDS)
    assert [s.position for s in longer if s.problem] == ["sinusoidal", "learned"]
    assert {(s.problem.code, s.problem.values["max_len"], s.problem.values["tokens"]) for s in longer if s.problem} == {
        ("max_len", 4, 5)
    }
    assert all(s.problem.__traceback__ is None for s in longer if s.problem)  # it would keep the model


# ---------------------------------------------------------------- another order


@each_scheme
@pytest.mark.parametrize("norm", ["post", "pre", "none"])
@pytest.mark.parametrize("permutation", [[1, 0, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 1, 3]])
def test_the_differences_are_those_of_plain_runs(norm: str, permutation: list[int], scheme: str) -> None:
    model = model_of(norm=norm)
    (found,) = [r for r in order.reorder(model, IDS, permutation, seed=3).rows if r.position == scheme]
    for causal, difference, moved in (
        (False, found.difference, found.token_changes),
        (True, found.causal_difference, found.causal_token_changes),
    ):
        before = hidden(model, scheme, IDS, causal)
        after = hidden(model, scheme, [IDS[i] for i in permutation], causal)
        expected = np.stack([after[permutation.index(i)] - before[i] for i in range(5)])
        assert difference == pytest.approx(np.abs(expected).max(), abs=FLOAT)
        shares = np.linalg.norm(expected, axis=1) / np.linalg.norm(before, axis=1)
        np.testing.assert_allclose(moved, shares, atol=FLOAT)
    assert found.output_scale == pytest.approx(np.abs(hidden(model, scheme, IDS)).max(), abs=FLOAT)


@pytest.mark.parametrize("norm", ["post", "pre", "none"])
@pytest.mark.parametrize("n_heads", range(1, 17))
def test_without_positions_and_mask_outputs_are_permuted_and_a_causal_mask_breaks_it(n_heads: int, norm: str) -> None:
    config = small(architecture="encoder-only", d_model=4 * n_heads, n_heads=n_heads, norm=norm)
    model = unlike_identity(build(config, seed=n_heads))
    result = order.reorder(model, IDS, [1, 0, 2, 3, 4], seed=n_heads)
    rows = {r.position: r for r in result.rows}
    assert [p for p in POSITION_SCHEMES if rows[p].is_equivariant] == ["none"]
    assert rows["none"].difference <= 2e-6 * rows["none"].output_scale
    assert not any(r.is_causal_equivariant for r in result.rows)
    assert rows["none"].causal_difference > 1e-3 * rows["none"].output_scale


def test_a_two_way_penalty_cannot_tell_a_sentence_from_its_mirror_image() -> None:
    result = order.reorder(model_of(), IDS, [4, 3, 2, 1, 0], seed=3)
    assert [r.position for r in result.rows if r.is_equivariant] == ["alibi", "none"]
    for row, (title, free, causal) in zip(result.rows, result.token_changes, strict=True):  # of rounding nothing is left
        assert title == str(POSITION_SCHEMES[row.position].title) and causal.all()
        np.testing.assert_array_equal(free, 0 if row.is_equivariant else row.token_changes)


@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_every_architecture_is_read_by_its_first_stack(architecture: str) -> None:
    model = build(small(architecture=architecture))
    result = order.reorder(model, IDS, [2, 1, 0, 3, 4])
    assert [r.position for r in result.rows if r.is_equivariant] == ["none"]
    assert order.first_stack(model)[0] == ("target" if architecture == "decoder-only" else "source")


@pytest.mark.parametrize(
    ("ids", "permutation", "problem"),
    [
        ([5], [0], "One token has only one order"),
        ([5, 6, 5], [2, 1, 0], "Both orders give the model the same ids"),
        ([5, 6], [0, 1], "Both orders give the model the same ids"),
        ([5, 6, 7], [0, 1, 1], "is not an order of 3 words"),
        ([5, 6, 7], [0, 1], "is not an order of 3 words"),
    ],
)
def test_what_is_no_other_order_is_refused(ids: list[int], permutation: list[int], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        order.reorder(model_of(), ids, permutation)


def test_outputs_that_are_no_numbers_are_not_compared() -> None:
    model = model_of(norm="none")
    with torch.no_grad():
        model.encoder.layers[0].ffn.w_out.bias[0] = float("inf")
    result = order.reorder(model, IDS, [1, 0, 2, 3, 4])
    assert {r.problem for r in result.rows} == {order.NOT_FINITE}


@pytest.mark.parametrize("n", [2, 3, 6, 40])
def test_a_shuffle_is_another_order_and_the_same_for_the_same_seed(n: int) -> None:
    for seed in range(20):
        drawn = order.shuffled_order(n, seed)
        assert sorted(drawn) == list(range(n)) and list(drawn) != list(range(n))
        assert drawn == order.shuffled_order(n, seed)
    assert order.shuffled_order(1, 0) == (0,)


def test_a_swap_changes_two_places() -> None:
    assert order.swapped_order(5, 1, 3) == (0, 3, 2, 1, 4)


# ---------------------------------------------------------------- a word in front


def scores(model: Transformer, scheme: str, ids: list[int]) -> list[np.ndarray]:
    """Scores with bias of every layer, by plain runs."""
    config = replace(model.config, position=scheme)
    other = build(config, seed=3)
    other.load_state_dict(model.state_dict(), strict=False)
    capture = run(config, [ids], weights=other, device="cpu")
    found = []
    for i in range(2):
        name = f"encoder.layers.{i}.self_attn"
        bias = capture[f"{name}.bias"][0] if POSITION_SCHEMES[scheme].applied_to == "scores" else 0
        found.append(capture[f"{name}.scores"][0] + bias)
    return found


@each_scheme
@pytest.mark.parametrize("front", [[8], [8, 4, 8]])
def test_the_moves_are_those_of_plain_runs(front: list[int], scheme: str) -> None:
    model, m = model_of(), len(front)
    (found,) = [r for r in order.prepend(model, IDS, front, seed=3).rows if r.position == scheme]
    pairs = zip(scores(model, scheme, IDS), scores(model, scheme, [*front, *IDS]), strict=True)
    expected = [np.abs(b[:, m:, m:] - a).max() / np.abs(a).max() for a, b in pairs]
    assert found.changes == pytest.approx(expected, abs=FLOAT)


@pytest.mark.parametrize("n_heads", range(1, 17))
@pytest.mark.parametrize("causal", [False, True])
def test_only_schemes_of_distance_keep_layer_0s_scores(n_heads: int, causal: bool) -> None:
    config = small(architecture="encoder-only", d_model=4 * n_heads, n_heads=n_heads, causal=causal)
    model = unlike_identity(build(config, seed=1))
    result = order.prepend(model, IDS, [8], seed=1)
    rows = {r.position: r for r in result.rows}
    assert [p for p in POSITION_SCHEMES if rows[p].is_unchanged] == [
        p for p in POSITION_SCHEMES if POSITION_SCHEMES[p].applied_to != "embedding"
    ]
    assert min(rows["sinusoidal"].changes[0], rows["learned"].changes[0]) > 1e-2
    assert all(r.changes[1] > 1e-3 for r in result.rows)


def test_nothing_in_front_and_too_much_in_front() -> None:
    with pytest.raises(ValueError, match="at least one word to put in front"):
        order.prepend(model_of(), IDS, [])
    rows = {r.position: r for r in order.prepend(model_of(max_len=5), IDS, [8]).rows}
    assert "max_len 5 is too short for 6 tokens" in str(rows["sinusoidal"].problem) and not rows["learned"].changes
    assert rows["rope"].is_unchanged


# ---------------------------------------------------------------- past the table


def test_past_the_table_is_a_sentence_or_numbers() -> None:
    model = model_of(max_len=7)
    result = order.run_past_max_len(model, IDS)
    assert result.max_len == 7 and all(r.n_tokens == 8 for r in result.rows)
    rows = {r.position: r for r in result.rows}
    for scheme in ("sinusoidal", "learned"):
        with pytest.raises(ValueError) as refused:
            run(replace(model.config, position=scheme), [[5] * 8])
        assert str(rows[scheme].problem) == str(refused.value) and rows[scheme].is_finite is None
    assert all(rows[s].is_finite and not rows[s].problem for s in POSITION_SCHEMES if not POSITION_SCHEMES[s].has_table)


def test_a_long_table_is_passed_by_the_schemes_that_have_one() -> None:
    rows = {r.position: r for r in order.run_past_max_len(model_of(max_len=900), IDS).rows}
    assert rows["sinusoidal"].n_tokens == 901 and "max_len 900 is too short for 901 tokens" in str(rows["sinusoidal"].problem)
    assert rows["none"].n_tokens == order.UNLIMITED_TEST_LENGTH and rows["none"].is_finite


# ---------------------------------------------------------------- data


def test_results_are_frozen() -> None:
    result = order.reorder(model_of(), IDS, [1, 0, 2, 3, 4])
    with pytest.raises(FrozenInstanceError):
        result.rows[0].difference = 0.0
    with pytest.raises(ValueError, match="read-only"):
        result.rows[0].token_changes[0] = 0.0


# ---------------------------------------------------------------- the sentence and the tables


@pytest.mark.parametrize("scheme", ["learned", "t5"])
def test_a_learned_table_is_the_one_that_the_model_reads(scheme: str) -> None:
    model = build(encoder(position=scheme), seed=4)
    leaf = f"encoder.{POSITION_SCHEMES[scheme].parameter_name}.weight"
    np.testing.assert_array_equal(order.learned_table(model, scheme, 7), model.get_parameter(leaf).detach().numpy())
    other = build(encoder(position="rope"), seed=4)
    drawn = order.with_scheme(other, scheme, 7).get_parameter(leaf).detach().numpy()
    table = order.learned_table(other, scheme, 7)
    np.testing.assert_array_equal(table, drawn)
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0] = 1


@pytest.mark.parametrize("architecture", ["encoder-only", "decoder-only"])
def test_words_are_read_without_padding_and_without_bos(architecture: str) -> None:
    config = small(architecture=architecture)
    texts = ["a b c d", "x y"]
    batch = prepare(config, texts, texts)
    tokenizer = untrained_tokenizers(config)[config.input_side]
    for i, text in enumerate(texts):
        words = order.sentence_tokens(config, batch, i)
        assert (list(words.tokens), list(words.ids)) == tokenizer.tokens_and_ids(text) and not words.n_left_out
    long = order.first_tokens(["a"] * 60, range(60))
    assert (len(long.tokens), long.ids, long.n_left_out) == (48, tuple(range(48)), 12)
    blocked = order.causal_blocked(config, 3)
    assert blocked is None if architecture == "encoder-only" else blocked.tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
