"""Where do they diverge? The distances of a real pair of runs, the sentence about them, and the way from a cell to its stage."""

from functools import partial

import numpy as np
import pytest

from tests.ui.helpers import TINY, Open, canvas_headers, link, open_page, panels, sound, widget, widgets, words
from viz_core.analysis.run_alignment import align_runs, divergences, is_in_stream, stream_divergences
from viz_core.run import run
from viz_core.ui.shell.setup import from_link, to_query

PAIR = TINY | {"source": "the cat was tired", "target": "x y"}
A = to_query(from_link(PAIR)[0])
WIDE = PAIR | {"source": "the cat was wide", "kept": A, "walk_look": "parting"}
SOURCE, TARGET = "‖A − B‖ / ‖A‖, source", "‖A − B‖ / ‖A‖, target"


@pytest.fixture
def open_at() -> Open:
    return partial(open_page, "step_by_step")


def test_the_matrices_hold_the_distances(open_at: Open) -> None:
    at = open_at(**WIDE)
    a, b = (run(from_link(p)[0].config, [p["source"]], [p["target"]], device="cpu") for p in (PAIR, WIDE))
    rows = stream_divergences(divergences(align_runs(a, b)))
    drawn = panels(at)
    assert list(drawn) == [SOURCE, TARGET]
    for title, side in ((SOURCE, "source"), (TARGET, "target")):
        expected = np.stack([row.relative_difference for row in rows if row.side == side])
        np.testing.assert_allclose(drawn[title], expected, rtol=1e-4, atol=1e-6)
    header = canvas_headers(at)[0]
    assert header["opens"] and all(p["log"] for p in header["panels"])
    assert header["panels"][0]["rows"][:4] == ["token embedding", "embedding", "0 self-attention", "0 feed-forward"]
    assert header["panels"][0]["cols"] == ["the", "cat", "was", "tired | wide"]


def test_the_sentence_says_where_they_part_and_how_far_it_goes(open_at: Open) -> None:
    said = words(open_at(**WIDE))
    assert "They diverge at the token embedding of the encoder, at ` tired | wide `." in said
    assert "From layer 0’s self-attention on, every source token differs." in said
    assert "From layer 0’s cross-attention on, every target token differs." in said


def test_runs_that_agree_part_nowhere(open_at: Open) -> None:
    assert "A and B agree at every stage shown" in words(open_at(**PAIR, kept=A, walk_look="parting"))


def test_a_change_in_the_target_alone_leaves_the_source(open_at: Open) -> None:
    said = words(open_at(**PAIR | {"target": "x z"}, kept=A, walk_look="parting"))
    assert "They diverge at the token embedding of the decoder" in said and "No source token differs." in said
    assert "Not every target token differs in the end." in said, "a causal mask keeps the first tokens from it"


def test_stages_of_another_width_are_counted_and_no_later_one_is_said_to_be_where_they_part(open_at: Open) -> None:
    at = open_at(**PAIR | {"d_model": "32", "qk_dim": "32"}, kept=A, walk_look="parting")
    a, b = (run(from_link(p)[0].config, ["the cat was tired"], ["x y"], device="cpu") for p in (PAIR, PAIR | {"d_model": "32"}))
    other = [n for n in a if is_in_stream(n) and n in b and a[n].shape != b[n].shape]
    assert [p["rows"] for p in canvas_headers(at)[0]["panels"]] == [["logits"]] and len(other) > 5
    said = words(at)
    assert "The first stage that can be compared is the logits: A and B differ there, at every token." in said.replace("**", "")
    assert f"{len(other)} stages have another shape in A and B and are left out." in said and "They diverge at" not in said


def test_stages_with_other_heads_are_left_out_of_all_stages_but_not_of_the_stream(open_at: Open) -> None:
    few = PAIR | {"n_heads": "4"}
    at = open_at(**few, kept=A, walk_look="parting", walk_rows="all")
    a, b = (run(from_link(p)[0].config, ["the cat was tired"], ["x y"], device="cpu") for p in (PAIR, few))
    other = [n for n in a if n in b and a[n].shape != b[n].shape]
    assert other and f"{len(other)} stages have another shape in A and B and are left out." in words(at)
    assert "Of the stages that can be compared, " in words(at) and "They diverge at" not in words(at)
    assert "They diverge at layer 0’s" in words(open_at(**few, kept=A, walk_look="parting"))
    assert "another shape" not in words(open_at(**WIDE, walk_rows="all"))


def test_all_stages_are_one_click_away(open_at: Open) -> None:
    at = open_at(**WIDE)
    few = len(canvas_headers(at)[0]["panels"][0]["rows"])
    sound(widget(at, "walk_rows").set_value("all").run())
    rows = canvas_headers(at)[0]["panels"][0]["rows"]
    assert len(rows) > 3 * few and "0 self_attn.weights" in rows and "decoder 0 cross_attn.k" in rows
    assert link(at)["walk_rows"] == "all" and not any("norm" in r and r.endswith(".var") for r in rows)
    sound(widget(at, "walk_norms").set_value(True).run())
    assert any(r.endswith(".var") for r in canvas_headers(at)[0]["panels"][0]["rows"])


def test_the_switch_is_in_the_link_and_only_there_with_a(open_at: Open) -> None:
    at = open_at(**PAIR | {"source": "the cat was wide"}, kept=A)
    sound(widget(at, "walk_look").set_value("parting").run())
    assert link(at)["walk_look"] == "parting" and list(panels(at)) == [SOURCE, TARGET] and not widgets(at, "shown")
    sound(widget(at, "walk_look").set_value("stage").run())
    assert widgets(at, "shown")
    assert not widgets(open_at(**PAIR, walk_look="parting"), "walk_look")


@pytest.mark.parametrize(("a", "b"), [
    ({}, {"source": "the very old cat was wide"}), ({}, {"architecture": "decoder-only"}), ({}, {"architecture": "encoder-only"}),
    ({}, {"d_model": "32", "qk_dim": "32"}), ({}, {"n_heads": "4"}), ({}, {"norm": "pre"}), ({}, {"causal": "off"}),
    ({"source": "👩‍👩‍👧 שלום"}, {"source": "שלום 👩‍👩‍👧 <b>$x$</b>"}),
    ({"source": "a\nb c d"}, {"source": "a\nb d", "item": "1"}),
])
def test_any_pair_has_a_picture_or_a_reason(open_at: Open, a: dict[str, str], b: dict[str, str]) -> None:
    kept = to_query(from_link(PAIR | a)[0])
    at = open_at(**PAIR | b, kept=kept, walk_look="parting")
    assert canvas_headers(at) or "no stage in common" in words(at) or "has no sentence" in words(at)
    assert not at.warning
