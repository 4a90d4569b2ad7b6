"""Two runs on the same places: nothing is shifted, what is missing is a gap, and a change is found where it enters."""

import numpy as np
import pytest

from tests.model.small import small, unlike_identity
from viz_core.analysis.run_alignment import (
    GAP,
    AlignedRuns,
    Divergence,
    align_runs,
    divergence_spread,
    divergences,
    stream_divergences,
)
from viz_core.run import build, run

CONFIG = small(source_vocab_size=50, target_vocab_size=50)
MODEL = unlike_identity(build(CONFIG))


def both(a: str, b: str, target_a: str = "x y", target_b: str = "x y", **switches: object) -> AlignedRuns:
    config = small(source_vocab_size=50, target_vocab_size=50, **switches)
    model = unlike_identity(build(config))
    return align_runs(*(run(config, [s], [t], weights=model) for s, t in ((a, target_a), (b, target_b))))


def test_equal_tokens_stand_on_the_same_place_and_an_inserted_one_leaves_a_gap() -> None:
    found = both("it was tired", "it was very tired")
    assert found.labels("source") == ["it", "was", f"{GAP} | very", "tired"] and found.n_unpaired("source") == 1
    a, b = found.values("encoder.embed")
    assert a.shape == b.shape == (4, CONFIG.d_model)
    assert np.isnan(a[2]).all() and np.isfinite(a[[0, 1, 3]]).all() and np.isfinite(b).all()
    np.testing.assert_array_equal(a[3], found.a["encoder.embed"][0, 2].astype(float))
    np.testing.assert_array_equal(b[3], found.b["encoder.embed"][0, 3].astype(float))
    weights, __ = found.values("decoder.layers.0.cross_attn.weights")  # [H, T, S]
    assert weights.shape[1:] == (3, 4) and np.isnan(weights[:, :, 2]).all() and np.isfinite(weights[:, :, [0, 1, 3]]).all()


def test_a_replaced_word_stands_beside_the_other() -> None:
    assert both("it was tired", "it was wide").labels("source") == ["it", "was", "tired | wide"]


def test_the_change_is_found_where_it_enters_and_how_it_spreads() -> None:
    found = {p.name: p for p in divergences(both("it was tired", "it was wide"))}
    assert found["ids.source"].relative_difference.tolist() == [0, 0, 1]
    assert (
        found["encoder.tok_embed"].relative_difference[:2].tolist() == [0, 0]
        and found["encoder.tok_embed"].relative_difference[2] > 0.1
    )
    assert (
        not found["encoder.pos_embed"].is_divergent
        and not found["masks.cross"].is_divergent
        and not found["decoder.embed"].is_divergent
    )
    assert not found["decoder.layers.0.self_attn.out"].is_divergent  # the target is the same, and it has not read the source yet
    assert (found["encoder.layers.0.self_attn.out"].relative_difference > 0).all()  # every token attends to the changed one
    assert (found["decoder.layers.0.cross_attn.out"].relative_difference > 0).all() and found["logits"].is_divergent


def test_the_share_is_the_ratio_of_the_norms() -> None:
    found = both("it was tired", "it was wide")
    a, b = (x.reshape(3, -1) for x in found.values("encoder.layers.1.resid_post"))
    expected = np.linalg.norm(a - b, axis=1) / np.linalg.norm(a, axis=1)
    (share,) = [p.relative_difference for p in divergences(found) if p.name == "encoder.layers.1.resid_post"]
    np.testing.assert_allclose(share, expected, rtol=1e-12)
    a, b = (np.moveaxis(x, 1, 0).reshape(3, -1) for x in found.values("encoder.layers.1.self_attn.weights"))  # [T, H·S]
    (share,) = [p.relative_difference for p in divergences(found) if p.name == "encoder.layers.1.self_attn.weights"]
    np.testing.assert_allclose(share, np.linalg.norm(a - b, axis=1) / np.linalg.norm(a, axis=1), rtol=1e-12)


def test_a_gap_has_no_share_and_blocked_cells_do_not_count() -> None:
    found = {p.name: p for p in divergences(both("it was tired", "it was very tired", "x y", "x z y"))}
    assert np.isnan(found["encoder.embed"].relative_difference).tolist() == [False, False, True, False]
    masked = found["decoder.layers.0.self_attn.masked_scores"].relative_difference
    assert np.isfinite(masked[[0, 1]]).all() and masked[0] == 0


def test_the_same_run_has_no_difference() -> None:
    assert not any(p.is_divergent for p in divergences(both("it was tired", "it was tired")))


@pytest.mark.parametrize("switches", [{"n_heads": 4}, {"norm": "pre"}, {"architecture": "encoder-only"}])
def test_only_stages_that_both_have_in_the_same_width_are_compared(switches: dict[str, object]) -> None:
    one, other = (run(small(**s), ["a b"], ["x"]) for s in ({}, switches))
    found = align_runs(one, other)
    for name in found.comparable_stages:
        a, b = found.values(name)
        assert a.shape == b.shape
    assert "encoder.embed" in found.comparable_stages
    if "n_heads" in switches:
        assert (
            "encoder.layers.0.self_attn.q" not in found.comparable_stages
            and "encoder.layers.0.self_attn.out" in found.comparable_stages
        )


def test_of_several_sentences_the_chosen_ones_are_lined_up() -> None:
    a, b = run(CONFIG, ["a b", "c d e"], ["x", "y"], weights=MODEL), run(CONFIG, ["c f e"], ["y"], weights=MODEL)
    found = align_runs(a, b, 1, 0)
    assert found.labels("source") == ["c", "d | f", "e"]
    np.testing.assert_array_equal(found.values("encoder.embed")[0], a["encoder.embed"][1].astype(float))


def test_the_first_stage_and_the_one_from_which_every_token_differs() -> None:
    found = divergence_spread(stream_divergences(divergences(both("it was tired", "it was wide"))))
    assert found.first is not None and found.first.name == "encoder.tok_embed"
    assert {side: row.name for side, row in found.first_by_side.items()} == {
        "source": "encoder.tok_embed", "target": "decoder.layers.0.resid_cross"}
    assert {side: row.name for side, row in found.all_tokens_from.items()} == {
        "source": "encoder.layers.0.resid_mid", "target": "decoder.layers.0.resid_cross"}


def test_a_stage_at_which_all_tokens_differ_only_for_a_while_is_not_named() -> None:
    rows = [Divergence(str(i), "source", np.array(x)) for i, x in enumerate([[0, 0.1], [1, 1], [0, 1], [np.nan, 1], [np.nan, 2]])]
    found = divergence_spread(rows)
    assert found.first is rows[0] and found.first_by_side["source"] is rows[0] and found.all_tokens_from["source"] is rows[3]
    assert divergence_spread(rows[:1]).all_tokens_from == {}


def test_runs_that_agree_part_nowhere() -> None:
    found = divergence_spread(divergences(both("it was tired", "it was tired")))
    assert found.first is None and not found.first_by_side and not found.all_tokens_from


def test_the_places_of_an_axis_are_those_of_its_side() -> None:
    found = both("it was tired", "it was very tired")
    assert found.axis_pairs("encoder.embed", "T") == found.pairs["source"] and found.axis_pairs("encoder.embed", "D") is None
    assert found.axis_pairs("ids.labels", "T") == found.pairs["labels"]
