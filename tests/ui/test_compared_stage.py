"""Step by step with a run kept as A: every stage as A, B and A − B, gaps where a token is missing, and a picked cell's numbers."""

import re
from functools import partial

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.helpers import TINY, Open, bodies, canvas_headers, here, link, open_page, panels, sound, widget, widgets, words
from viz_core.run import run
from viz_core.stages import stages
from viz_core.ui.shell.setup import from_link, to_query

PAIR = TINY | {"source": "the cat was tired", "target": "x y"}
A = to_query(from_link(PAIR)[0])
WIDE = PAIR | {"source": "the cat was wide", "kept": A}
VERY = PAIR | {"source": "the cat was very tired", "kept": A}
WEIGHTS = "encoder.layers.1.self_attn.weights"
ABSENT = "A has no such token"


@pytest.fixture
def open_at() -> Open:
    return partial(open_page, "step_by_step")


def at_stage(at: AppTest, **params: str) -> AppTest:
    at.query_params.update(params)
    return sound(at.run())


def run_of(params: dict[str, str]) -> object:
    return run(from_link(params)[0].config, [params["source"]], [params["target"]], device="cpu")


def test_without_a_the_walk_is_as_it_was(open_at: Open) -> None:
    at = open_at(**PAIR, stage=WEIGHTS)
    assert widget(at, "lab_keep") and not widgets(at, "shown") and not widgets(at, "walk_look")
    assert list(panels(at))[-1] == "weights · head 0"


def test_a_stage_is_shown_as_a_b_and_their_difference(open_at: Open) -> None:
    a, b = (run_of(p)[WEIGHTS][0, 0] for p in (PAIR, WIDE))
    at = open_at(**WIDE, stage=WEIGHTS)
    drawn = panels(at)
    assert list(drawn) == ["A: weights · head 0", "B: weights · head 0", "A − B: weights · head 0"]
    np.testing.assert_allclose(drawn["A − B: weights · head 0"], a - b, atol=2e-6)
    (header,) = canvas_headers(at)
    assert [p["sign"] for p in header["panels"]] == ["", "−", "="] and header["panels"][2]["low"] == -header["panels"][2]["high"]
    for shown, values in (("a", a), ("b", b)):
        sound(widget(at, "shown").set_value(shown).run())
        assert link(at)["shown"] == shown
        np.testing.assert_allclose(panels(at)["weights · head 0"], values, atol=1e-6)
        (header,) = canvas_headers(at)
        assert header["panels"][-1]["high"] == pytest.approx(max(a.max(), b.max())), "A and B have one scale"
        assert [p["role"] for p in header["panels"]][-2:] == ["input", "output"], "with the inputs beside it"


def test_every_stage_has_all_three(open_at: Open) -> None:
    """One run alone is A in the encoder and B in the decoder, which have the same kinds of stages."""
    at = open_at(**VERY)
    alone = {"encoder": ("a",), "decoder": ("b",)}
    for stage in stages(from_link(PAIR)[0].config):
        if stage.is_norm_step or ".layers.1." in stage.name:
            continue
        for shown in (*alone.get(stage.name.partition(".")[0], ("a", "b")), "difference"):
            at_stage(at, stage=stage.name, shown=shown)
            assert here(at) == stage.name and not at.warning
        assert len(canvas_headers(at)[0]["panels"]) == 3, stage.name


def test_ids_and_masks_are_not_subtracted(open_at: Open) -> None:
    at = open_at(**WIDE, stage="ids.source", cells="walk_canvas.0.0.3")
    assert list(panels(at)) == ["A: ids.source", "B: ids.source", "A ≠ B: ids.source"]
    assert panels(at)["A ≠ B: ids.source"].tolist() == [[0, 0, 0, 1]]
    said = words(at)
    assert "Ids are names, not amounts" in said and re.search(r"A has \d+, and B has \d+: they differ\.", said)
    at_stage(at, stage="masks.target", cells="walk_canvas.0.0.1")
    assert not panels(at)["A ≠ B: masks.target"].any() and "A has 0, and B has 0: they agree." in words(at)
    assert "masks are not subtracted" in words(at)
    at_stage(at, stage="ids.source", shown="b", cells="")
    assert canvas_headers(at)[0]["lookup"], "one run's ids are rows of its vocabulary"


def test_a_token_that_one_run_lacks_leaves_a_gap(open_at: Open) -> None:
    at = open_at(**VERY, stage="encoder.embed", shown="a", cells="walk_canvas.0.3.0")
    (header,) = canvas_headers(at)
    embed = next(p for p in header["panels"] if p["role"] == "output")
    assert embed["rows"] == ["the", "cat", "was", "– | very", "tired"] and embed["masked"] is not None
    assert embed["absentNames"][0]["cell"] == ABSENT
    values = panels(at)["encoder.embed"]
    assert np.isnan(values[3]).all() and np.isfinite(values[[0, 1, 2, 4]]).all()
    np.testing.assert_allclose(values[4], run_of(PAIR)["encoder.embed"][0, 3], atol=1e-6)
    assert "A has no such token, so it has no number here." in words(at)
    at_stage(at, shown="difference", cells="walk_canvas.2.3.5")
    assert re.search(r"feature 5: A has no such token, and B has [−\d.]+\.", words(at))


def test_a_cell_of_one_run_has_the_arithmetic_of_that_run(open_at: Open) -> None:
    at = open_at(**VERY, stage=WEIGHTS, shown="a", cells="walk_canvas.2.4.0")
    value = run_of(PAIR)[WEIGHTS][0, 0, 3, 0]  # the fifth place is A's fourth token
    assert any(f"{WEIGHTS}[b=0, h=0, t=3, s=0] = {value:.6g}" in body for body in bodies(at))


def test_a_cell_of_the_difference_says_a_and_b(open_at: Open) -> None:
    at = open_at(**WIDE, stage="encoder.embed", cells="walk_canvas.2.3.0")
    a, b = (float(run_of(p)["encoder.embed"][0, 3, 0]) for p in (PAIR, WIDE))
    (said,) = [body for body in bodies(at) if "walk-apart" in body]
    numbers = [float(x.replace("−", "-")) for x in re.findall(r"−?\d+\.\d+", said.partition("A − B =")[2])]
    assert numbers == pytest.approx([a, b, a - b], abs=2e-3)
    assert "A: Token “<bdi>tired</bdi>”" in said and "B: Token “<bdi>wide</bdi>”" in said


@pytest.mark.parametrize(("changes", "stage", "said"), [
    ({"d_model": "32", "qk_dim": "32"}, "encoder.embed", "has D = 16 in A and D = 32 in B"),
    ({"n_heads": "4"}, WEIGHTS, "has H = 2 in A and H = 4 in B"),
    ({"n_encoder_layers": "3"}, "encoder.layers.2.ffn.out", "A has no stage ` encoder.layers.2.ffn.out `"),
    ({"architecture": "decoder-only"}, "decoder.layers.0.self_attn.z", ""),
])
def test_a_stage_that_cannot_be_compared_says_why(open_at: Open, changes: dict[str, str], stage: str, said: str) -> None:
    at = open_at(**WIDE | changes, stage=stage)
    assert here(at) == stage and said in words(at) and not at.warning
    if said:
        assert "B is shown" in words(at) and not any(title.startswith("A") for title in panels(at))


def test_an_a_that_cannot_be_computed_leaves_the_walk(open_at: Open) -> None:
    broken = to_query(from_link(PAIR | {"source": " "})[0])
    at = open_at(**WIDE | {"kept": broken}, stage=WEIGHTS, walk_look="parting")
    assert "can no longer be computed" in words(at) and here(at) == WEIGHTS
    assert list(panels(at))[-1] == "weights · head 0" and not widgets(at, "shown")
    at = open_at(**WIDE | {"kept": "n_heads=999"}, stage=WEIGHTS)
    assert "The link's A says" in words(at)


def test_sentences_that_hardly_align_stand_side_by_side(open_at: Open) -> None:
    kept = to_query(from_link(PAIR | {"source": "it was tired"})[0])
    at = open_at(**PAIR | {"source": "the old dog of my neighbour barks"}, kept=kept, stage="encoder.embed",
                 cells="walk_canvas.1.6.2")
    assert [title[0] for title in panels(at)] == ["A", "B"] and "Fewer than half of the tokens of A and B pair" in words(at)
    assert "barks" in words(at)  # the picked cell is one of B


@pytest.mark.parametrize("texts", [
    {"source": " ".join(f"w{i}" for i in range(200))}, {"source": "שלום 👩‍👩‍👧 <b>x</b> $y$"},
    {"source": "a\nb c d e", "target": "x\ny z", "item": "1"},
])
@pytest.mark.parametrize("shown", ["a", "difference"])
def test_any_words_can_be_compared(open_at: Open, texts: dict[str, str], shown: str) -> None:
    at = open_at(**PAIR | {"max_len": "300"} | texts, shown=shown, stage="encoder.layers.0.self_attn.weights",
                 kept=to_query(from_link(PAIR | {"max_len": "300", "source": "a\nb d e the", "target": "x\ny z"})[0]))
    assert panels(at) and not at.warning


def test_the_tour_speaks_of_the_run_that_is_shown(open_at: Open) -> None:
    at = open_at(**WIDE, walk_mode="tour", stage="decoder.layers.0.cross_attn.weights")
    scrubbers = lambda: "".join(c.proto.json or "" for c in at.get("bidi_component"))  # noqa: E731
    assert "In B: Now the keys are" in scrubbers()
    at_stage(at, shown="a")
    assert "Now the keys are" in scrubbers() and "In B:" not in scrubbers()


def test_a_patched_b_is_what_is_subtracted(open_at: Open) -> None:
    at = open_at(**WIDE, stage="encoder.layers.0.norm_ffn.out", patch="encoder.residual.0.3")
    whole = panels(at)["A − B: out"]
    assert not whole[3].any(), "B has A's value there"
    intact = panels(open_at(**WIDE, stage="encoder.layers.0.norm_ffn.out"))["A − B: out"]
    assert intact[3].any()


def test_a_is_cleared_with_one_click(open_at: Open) -> None:
    at = open_at(**WIDE, stage=WEIGHTS)
    sound(widget(at, "lab_clear_a").click().run())
    assert "kept" not in link(at) and list(panels(at))[-1] == "weights · head 0"
