"""A run kept as A beside the present one, B: in the frame, in the link, and with a value of A in B."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from tests.ui.helpers import TINY, Open, open_page, panels, sound, widget, widgets, words
from viz_core.experiments.patched_run import patched_run
from viz_core.experiments.patching import Site
from viz_core.run import build, prepare, trace
from viz_core.ui.shell.runs.setup_differences import differences
from viz_core.ui.shell.setup import DEFAULT_WEIGHTS, Setup, from_link, from_query, to_link, to_query, with_weights
from viz_core.weights.catalogue import catalogue

PAIR = TINY | {"source": "the cat was tired", "target": "x y"}
A = to_query(from_link(PAIR)[0])
CHANGED = PAIR | {"source": "the cat was wide"}


@pytest.fixture
def open_at() -> Open:
    return partial(open_page, "attention")


def test_a_target_that_the_model_wrote_is_no_difference_of_its_own() -> None:
    if DEFAULT_WEIGHTS not in catalogue():
        pytest.skip("the translator is not shipped here")
    first, second = (
        replace(with_weights(Setup(), DEFAULT_WEIGHTS), source=e[0]) for e in catalogue()[DEFAULT_WEIGHTS].examples[:2]
    )
    found = differences(first, second, 0)
    assert [d.is_consequence for d in found if d.is_text].count(False) == 1


def test_a_run_is_kept_and_cleared_in_the_frame(open_at: Open) -> None:
    at = open_at(**PAIR)
    assert not widgets(at, "lab_clear_a")
    sound(widget(at, "lab_keep").click().run())
    assert not widgets(at, "lab_keep") and "**A | B**: they are the same run." in words(at)
    assert from_query(at.session_state["lab_setup"].url_param("kept"))[0] == replace(at.session_state["lab_setup"], url_params=())
    sound(widget(at, "source").set_value("the cat was wide").run())
    assert "**A | B**: ` tired ` | ` wide `." in words(at) and "More than one" not in words(at)
    sound(widget(at, "seed").set_value(5).run())
    assert "More than one thing differs" in words(at)
    sound(widget(at, "lab_clear_a").click().run())
    assert not at.session_state["lab_setup"].url_param("kept") and "**A | B**" not in words(at)


def test_a_link_of_before_still_has_its_a() -> None:
    assert from_link({"att_a": A}) == from_link({"kept": A}) and from_link({"att_a": A})[0].url_param("kept") == A


def test_a_value_of_a_goes_into_b(open_at: Open) -> None:
    at = open_at(**CHANGED, kept=A, patch="encoder.residual.0.3", att_kind="encoder", att_layer="1")
    assert "B has A’s value of the residual stream after layer 0 of the encoder, at ` tired `." in words(at)
    config = from_link(PAIR)[0].config
    model, batch = build(config), prepare(config, ["the cat was wide"], ["x y"])
    donor = trace(model, prepare(config, ["the cat was tired"], ["x y"]))
    patched = patched_run(model, batch, donor, Site("encoder", "residual", 0), 3)
    drawn = panels(at)["B · wide: weights"]
    np.testing.assert_allclose(drawn, patched["encoder.layers.1.self_attn.weights"][0, 0], atol=1e-3)
    intact = panels(open_at(**CHANGED, kept=A, att_kind="encoder", att_layer="1"))["B · wide: weights"]
    assert np.abs(drawn - intact).max() > 1e-2  # or the patch would not have been seen
    sound(widget(at, "lab_unpatch").click().run())
    assert "B has A’s value" not in words(at) and not at.session_state["lab_setup"].url_param("patch")


@pytest.mark.parametrize(("changes", "patch", "said"), [
    ({}, "encoder.residual.9.3", "This model has no such site"),
    ({"source": "the cat was very wide"}, "encoder.residual.0.3", "Token 4 of A has no counterpart in B"),
    ({"seed": "3"}, "encoder.residual.0.3", "A and B are runs of different models"),
])
def test_a_patch_that_does_not_fit_is_said(open_at: Open, changes: dict[str, str], patch: str, said: str) -> None:
    at = open_at(**CHANGED | changes, kept=A, patch=patch)
    assert said in words(at) and "B has A’s value" not in words(at)


def test_a_sentence_that_b_no_longer_has_is_not_compared(open_at: Open) -> None:
    """The second line of A was selected, and B has one line: its first sentence is compared with A's first."""
    two = to_query(from_link(PAIR | {"source": "the cat was tired\nthe dog sat", "target": "x y\nz"})[0])
    at = open_at(**CHANGED, kept=two, item="1")
    assert "**A | B**: ` tired ` | ` wide `" in words(at)
    at = open_page("cause", **CHANGED, kept=two, item="1")
    assert "tired" in words(at) and "they are the same run" not in words(at)


def test_a_is_the_present_run_again(open_at: Open) -> None:
    at = open_at(**CHANGED, kept=A, patch="encoder.residual.0.3", att_kind="encoder")
    sound(widget(at, "lab_back_to_a").click().run())
    now = at.session_state["lab_setup"]
    assert now.source == "the cat was tired" and not now.url_param("kept") and not now.url_param("patch")
    assert now.url_param("att_kind") == "encoder"
    assert widgets(at, "lab_keep") and "**A | B**" not in words(at)


def test_a_patch_without_a_is_said(open_at: Open) -> None:
    assert "but has no run A" in words(open_at(**CHANGED, patch="encoder.residual.0.3"))


@pytest.mark.parametrize("text", ["", "encoder", "encoder.residual.x.3", "encoder.ffn.embed.3", "encoder.ffn.1.h2",
                                  "a.residual.1.3"])
def test_a_place_that_is_none_is_named(text: str) -> None:
    setup, faults = from_link({"patch": text})
    assert setup.url_param("patch") == () and bool(faults) == bool(text)


@pytest.mark.parametrize(("text", "place"), [
    ("encoder.residual.embed.0", ("encoder", "residual", -1, None, 0)),
    ("decoder.cross_attn.2.h5", ("decoder", "cross_attn", 2, 5, None)),
])
def test_a_place_survives_its_link(text: str, place: tuple[object, ...]) -> None:
    setup, faults = from_link({"patch": text})
    assert not faults and setup.url_param("patch") == place and to_link(setup)[0]["patch"] == text
