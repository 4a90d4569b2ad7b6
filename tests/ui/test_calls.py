"""Records of calls: evaluated once, written as Python, and kept without their values."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from viz_core.analysis.positions import sinusoidal_table, wavelengths
from viz_core.figures.positions import position_table_panel
from viz_core.generate import Sampling
from viz_core.ui.components.call_code import notebook_code
from viz_core.ui.components.calls import Call, Expression, ScreenOnly, as_expression, evaluated
from viz_core.ui.shell.export.cached_call import cached

counted: Counter[str] = Counter()


def doubled(x: float, dark: bool = False) -> list[float]:
    counted["doubled"] += 1
    return [2 * x, float(dark)]


def run(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(text, "cell", "exec"), names)
    return names


def test_a_nested_call_is_evaluated_once() -> None:
    counted.clear()
    twice = Call(doubled, 3)
    assert evaluated([twice, {"a": twice[0]}, (Call(sum, twice),)]) == [[6, 0], {"a": 6}, (6,)] and counted["doubled"] == 1


def test_a_copy_has_no_value_and_shares_what_was_shared() -> None:
    counted.clear()
    twice = Call(doubled, 3)
    both = as_expression({"a": twice, "b": Call(sum, twice)})
    both.value()
    copy = both.without_values()
    assert copy.value() == both.value() and counted["doubled"] == 2


def test_a_cached_call_is_computed_once_for_all_visitors() -> None:
    counted.clear()
    call = cached(Call(doubled, 5), "test of calls", "five")
    assert call.without_values().value() == call.value() == [10, 0] and counted["doubled"] == 1


def test_a_value_may_come_from_elsewhere_but_not_that_of_a_copy() -> None:
    counted.clear()
    twice = Call(doubled, 3).with_source(lambda: [6.0, 0.0])
    assert Call(sum, twice).value() == 6 and not counted
    assert twice.without_values().value() == [6, 0] and counted["doubled"] == 1


def test_the_python_makes_the_same_value() -> None:
    table = Call(sinusoidal_table, 50, 64, 10000.0)
    panel = Call(position_table_panel, table, Call(wavelengths, 64, 10000.0).method("tolist"))
    made = run(notebook_code({"panel": panel, "cells": table[:, 3:5], "first": table[0, 1]}))
    np.testing.assert_array_equal(made["panel"].values, panel.value().values)
    assert made["cells"].shape == (50, 2) and made["first"] == table.value()[0, 1]


def test_a_call_that_is_used_twice_gets_a_variable() -> None:
    table = Call(sinusoidal_table, 5, 4, 10000.0)
    again = Call(sinusoidal_table, 5, 4, 10000.0)  # equal calls are one
    text = notebook_code({"pair": as_expression([table, again]), "once": Call(sum, Call(range, 3))})
    assert text.count("sinusoidal_table(5, 4, 10000.0)") == 1 and "once = sum(range(3))" in text


def test_variables_do_not_hide_one_another() -> None:
    calls: list[Expression[Any]] = [Call(doubled, i).named("sum") for i in range(3)]
    made = run(notebook_code({"all": as_expression(calls), "total": Call(sum, calls[2])}))
    assert made["all"] == [[0, 0], [2, 0], [4, 0]] and made["total"] == 4


def test_what_only_the_page_has_is_not_in_the_notebook() -> None:
    call = Call(doubled, 1, dark=ScreenOnly(True))
    assert call.value() == [2, 1] and run(notebook_code({"x": call}))["x"] == [2, 0]


def test_typed_text_stays_a_text() -> None:
    typed = '"""; import os #\n\\ שלום \u200b'
    call = Call(str, typed).method("lower")
    assert run(notebook_code({"x": call}))["x"] == typed.lower() and "\u200b" not in notebook_code({"x": call})


def test_data_classes_are_written_with_what_differs_from_the_defaults() -> None:
    text = notebook_code({"how": as_expression([Sampling(temperature=2.0)])})
    assert "from viz_core.generate" in text and "Sampling(temperature=2.0)" in text
    assert run(text)["how"] == [Sampling(temperature=2.0)]


def test_an_array_is_no_argument() -> None:
    with pytest.raises(TypeError):
        notebook_code({"x": Call(sum, np.ones(3))})
