"""Page selections and the choice of weights, as parts of the setup and of its link."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from viz_core.config import TransformerConfig
from viz_core.limits import MAX_VIEW_CHARS
from viz_core.text import Tokenizer
from viz_core.ui.shell.setup import (
    BY_FIELD,
    DEFAULT_SOURCE,
    WEIGHTLESS,
    Setup,
    from_link,
    offered,
    to_link,
    with_field,
    with_preset,
    with_view,
    with_weights,
)
from viz_core.ui.shell.views import VIEWS, Cells, View
from viz_core.weights.card import Card

# ---------------------------------------------------------------- views


def values(view: View) -> list[Any]:
    """A few values that a view may have."""
    if isinstance(view, Cells):
        first, *_, last = view.options
        return [(), ((first, 0, 1, 2),), ((last, 15, 999_999, 999_999), (first,))]
    if view.options is None:
        return ["", "a <b> $x$", "x" * MAX_VIEW_CHARS]
    some = [*view.options][:5] + [*view.options][-5:]
    return [(), tuple(some[:3])] if view.many else some


@pytest.mark.parametrize("view", VIEWS, ids=lambda v: v.name)
def test_every_view_survives_its_link(view: View) -> None:
    for value in values(view):
        setup = with_view(Setup(), **{view.name: value})
        assert setup.view(view.name) == value
        params, _ = to_link(setup)
        assert (view.name in params) == (value != view.default)
        back, faults = from_link(params)
        assert not faults and back.view(view.name) == value


@pytest.mark.parametrize("view", [v for v in VIEWS if v.options is not None], ids=lambda v: v.name)
def test_a_value_that_no_page_offers_is_named(view: View) -> None:
    setup, faults = from_link({view.name: "-7x", "seed": "3"})
    assert setup.view(view.name) == view.default and setup.seed == 3
    assert [written for written, _ in faults] == [f"{view.name}=-7x"]


@pytest.mark.parametrize("view", [v for v in VIEWS if v.options is not None], ids=lambda v: v.name)
def test_a_fault_names_every_choice_that_a_person_has_and_nothing_else(view: View) -> None:
    assert view.options is not None
    ((_, fault),) = from_link({view.name: "zzz"})[1]
    assert fault.endswith("; the default is used")
    said = fault.removesuffix("; the default is used")
    choices = [view.write((o,) if view.many else o) for o in view.options if o not in ("", -1)]
    if isinstance(view.options, range):
        assert said.startswith(f"is not a whole number from {choices[0]} to {choices[-1]}")
    elif view.name == "cells":
        assert said.startswith("does not name a matrix of this app")
    elif len(choices) > 12:
        assert said == "is not one of the choices that the page offers"
    else:
        assert said == f"is not one of {', '.join(choices)}"


def test_numbers_of_a_view_are_bounded() -> None:
    view = View("v", 4, range(2, 11, 2))
    assert view.read("10") == 10
    for text in ("12", "3", "0", "-2", "1e1", "٤", "", "4.0", "9" * 30):
        with pytest.raises(ValueError, match="from 2 to 10 in steps of 2"):
            view.read(text)


def test_several_values_of_a_view() -> None:
    view = View("v", (), ("a", "b", "c"), many=True)
    assert view.read("c,a,c") == ("c", "a") and view.read("") == () and view.write(("c", "a")) == "c,a"
    with pytest.raises(ValueError, match="is not one of a, b, c"):
        view.read("a,z")


# ---------------------------------------------------------------- weights

TINY = TransformerConfig(d_model=8, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, source_vocab_size=20, target_vocab_size=20)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Iterator[Card]:
    """A catalogue of two cards, one of them with a learned position table."""

    def card(name: str, config: TransformerConfig, *examples: tuple[str, str]) -> Card:
        both = {"source": Tokenizer("word", 20), "target": Tokenizer("word", 20)}
        return Card(name=name, title=name.title(), config=config, tokenizers=lambda: both, load=lambda: None, examples=examples)  # type: ignore[arg-type,return-value]

    cards = {
        "translator": card("translator", TINY, ("a b", "c d"), ("e", "f")),
        "table": card("table", replace(TINY, position="learned"), ("g", "h")),
    }
    for module in ("value", "link_format"):
        monkeypatch.setattr(f"viz_core.ui.shell.setup.{module}.catalogue", lambda: cards)
    yield cards["translator"]


def test_an_empty_link_opens_the_trained_weights(trained: Card) -> None:
    setup, faults = from_link({})
    assert not faults and setup.weights == "translator" and setup.config == TINY and (setup.source, setup.target) == ("a b", "c d")
    assert to_link(setup)[0] == {}


@pytest.mark.parametrize("params", [{"seed": "3"}, {"preset": "002"}, {"n_heads": "2"}, {"tokenizer": "character"}])
def test_a_link_to_an_untrained_model_needs_no_more(trained: Card, params: dict[str, str]) -> None:
    setup, faults = from_link(params)
    assert not faults and setup.weights == "untrained"
    again, faults = from_link(to_link(setup)[0])
    assert not faults and again == setup


@pytest.mark.parametrize("name", ["untrained", "translator", "table"])
def test_every_choice_of_weights_survives_its_link(trained: Card, name: str) -> None:
    setup = with_preset(Setup(), "000") if name == "untrained" else with_weights(Setup(), name)
    for changed in (setup, replace(setup, source="typed"), with_field(setup, "causal", False)[0]):
        back, faults = from_link(to_link(changed)[0])
        assert not faults and back == changed


def test_what_nobody_typed_gives_way_and_what_was_typed_stays(trained: Card) -> None:
    there = with_weights(Setup(), "translator")
    assert (there.source, there.target) == ("a b", "c d")
    assert with_weights(there, "table").source == "g"
    assert with_preset(replace(there, source="e", target="f"), "001").source == DEFAULT_SOURCE  # an example, not typed
    assert with_weights(replace(there, source="mine"), "table").source == "mine"


def test_trained_weights_fix_what_they_depend_on(trained: Card) -> None:
    setup = with_weights(Setup(), "translator")
    for field in [f for f, c in BY_FIELD.items() if f not in WEIGHTLESS and c.when(TINY)]:
        value = next((o for o in BY_FIELD[field].options(TINY) if o != BY_FIELD[field].value(TINY)), None)
        if value is not None:
            same, notes = with_field(setup, field, value)
            assert same == setup and len(notes) >= 1, (field, value)
        _, faults = from_link({"weights": "translator", field: "2"})
        assert [f"{field}=2"] == [written for written, _ in faults] and "weights=untrained" in faults[0][1]
    assert with_field(setup, "scale_scores", False)[0].config == replace(TINY, scale_scores=False)


def test_a_learned_table_is_offered_only_where_one_was_learned(trained: Card) -> None:
    position = BY_FIELD["position"]
    assert "learned" not in offered(with_weights(Setup(), "translator"), position)
    assert "learned" in offered(with_weights(Setup(), "table"), position)
    setup, faults = from_link({"weights": "translator", "position": "learned"})
    assert setup.config == TINY and "weights=untrained" in faults[0][1]
    assert from_link({"weights": "table", "position": "none"})[0].config.position == "none"


def test_weights_that_are_not_here_are_named(trained: Card) -> None:
    setup, faults = from_link({"weights": "nobody", "source": "kept"})
    assert setup.weights == "translator" and setup.source == "kept" and faults[0][0] == "weights=nobody"
