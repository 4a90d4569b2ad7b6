"""Parts below the first screen: drawn only near the screen, with the page's headings and links as ever."""

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.helpers import components, go, said, sound, start, tiny, words
from viz_core.experiments import parity
from viz_core.ui.shell.layout import visibility
from viz_core.ui.shell.session.state import ALL_PARTS

HEADINGS = ["What you can look at", "Your words become numbers", "The model, with the shapes of this run",
            "What the model predicts next", "Where this model comes from"]


def unscrolled(**params: str) -> AppTest:
    """Home at a link, in a browser that has reported nothing."""
    at = start(**tiny(), **params)
    del at.session_state[ALL_PARTS]
    return sound(at.run())


def keys(at: AppTest) -> set[str]:
    return {component.key for component in components(at)}


def has_slider(at: AppTest) -> bool:
    return any(slider.key == "set_home_after" for slider in at.select_slider)


def test_before_a_visitor_scrolls_only_the_headings_are_drawn() -> None:
    at = unscrolled()
    assert keys(at) == {"home_words"} and not has_slider(at)
    assert [header.value for header in at.header] == HEADINGS


@pytest.mark.parametrize(
    ("params", "drawn"),
    [({"cells": "home_ids.0.0.2"}, {"home_words", "home_ids"}), ({"home_after": "1"}, {"home_words"})],
)
def test_what_a_link_names_is_drawn_at_once(params: dict[str, str], drawn: set[str]) -> None:
    at = unscrolled(**params)
    assert keys(at) == drawn and has_slider(at) == ("home_after" in params)


def test_an_open_section_of_a_link_is_drawn_at_once() -> None:
    at = unscrolled(open="home_choices")
    assert any("Why" in each.proto.body for each in at.get("html"))


def test_nothing_is_compared_with_torch_before_a_visitor_scrolls(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[object] = []
    check = parity.check_parity
    monkeypatch.setattr(parity, "check_parity", lambda *run: compared.append(run) or check(*run))
    at = sound(go(unscrolled(), "step_by_step"))
    assert not compared and reported(at) == {"parity_line": False}
    at.session_state["lab_part_parity_line_visibility"] = {"near": True}
    assert "Checked on this machine" in words(sound(at.run())) + said(at) and compared


def test_the_totals_of_shapes_are_not_written_before_a_visitor_scrolls() -> None:
    at = sound(go(unscrolled(), "shapes"))
    assert "shapes_table" in keys(at) and "FLOPs" not in words(at)
    at.session_state["lab_part_change_and_totals_visibility"] = {"near": True}
    assert "FLOPs" in words(sound(at.run()))


def reported(at: AppTest) -> dict[str, Any]:
    """What the server tells the browser about each part, by its key."""
    watched = [e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(f".{visibility._COMPONENT.name}")]
    found = [json.loads(proto.json) for proto in watched]
    return {data["container"].removeprefix("lab_part_"): data["drawn"] for data in found}


def test_the_browser_is_told_which_parts_are_drawn() -> None:
    parts = ("cards", "token_ids", "architecture", "next_words", "origin")
    assert reported(unscrolled()) == dict.fromkeys(parts, False)
    assert reported(unscrolled(home_after="1")) == dict.fromkeys(parts, False) | {"next_words": True}
    assert reported(sound(start(**tiny()).run())) == dict.fromkeys(parts, True)


def test_a_part_near_the_screen_is_drawn() -> None:
    at = start(**tiny())
    del at.session_state[ALL_PARTS]
    at.session_state["lab_part_token_ids_visibility"] = {"near": True}
    assert keys(sound(at.run())) == {"home_words", "home_ids"}


def test_a_part_that_was_left_is_not_drawn_in_the_next_run_of_the_page() -> None:
    at = sound(start(**tiny()).run())
    assert "home_ids" in keys(at)
    del at.session_state[ALL_PARTS]
    assert keys(sound(at.run())) == {"home_words"}
