"""Each registry entry is complete, and whatever names an entry covers all of them: the failure says what is missing."""

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from tests.model.activations import DEFINITIONS
from viz_core.activations import ACTIVATIONS, Activation
from viz_core.config import CHOICES, TransformerConfig
from viz_core.model.layers import activation_function
from viz_core.stages import stages

GRID = torch.linspace(-8, 8, 161, dtype=torch.float64)


# --- Activations ------------------------------------------------------------------------------------------------------


def missing_in_activation(name: str, entry: Activation) -> Iterator[str]:
    """What an entry lacks, and what in it contradicts torch or the definition that the tests have."""
    where = f"viz_core/activations.py, {name!r}"
    empty = [f.name for f in fields(entry) if f.name != "torch_options" and getattr(entry, f.name) in ("", ())]
    yield from (f"{where} has an empty {field}" for field in empty)
    if not hasattr(F, entry.torch_function):
        yield f"{where}: torch.nn.functional has no {entry.torch_function!r}"
    elif not _equal(entry, getattr(F, entry.torch_function)(GRID, **entry.torch_options).tolist()):
        yield f"{where}: x · gate(x) is not what torch computes"
    if name not in DEFINITIONS:
        yield f"tests/model/activations.py has no definition of {name!r}"
    elif not _equal(entry, list(map(DEFINITIONS[name], GRID.tolist()))):
        yield f"{where}: x · gate(x) differs from its definition in tests/model/activations.py"
    if entry.zeroes_negatives != (entry.gate(-1.0) == 0 and entry.gate(1.0) == 1):
        yield f"{where}: zeroes_negatives is {entry.zeroes_negatives}, and its gate at −1 is {entry.gate(-1.0)}"


def _equal(entry: Activation, expected: list[float]) -> bool:
    return all(math.isclose(entry(x), y, rel_tol=1e-9, abs_tol=1e-12) for x, y in zip(GRID.tolist(), expected, strict=True))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_is_complete(name: str) -> None:
    assert not list(missing_in_activation(name, ACTIVATIONS[name]))


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("x", [0.0, 1e4, -1e4, math.inf, -math.inf, math.nan])
def test_an_activation_of_an_extreme_number_is_what_torch_computes(name: str, x: float) -> None:
    expected = activation_function(name)(torch.tensor(x, dtype=torch.float64)).item()
    assert ACTIVATIONS[name](x) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(("change", "said"), [
    ({"title": ""}, "has an empty title"), ({"latex": ""}, "has an empty latex"), ({"formula": ""}, "has an empty formula"),
    ({"gate_words": ""}, "has an empty gate_words"), ({"huggingface": ()}, "has an empty huggingface"),
    ({"torch_function": "gelo"}, "torch.nn.functional has no 'gelo'"), ({"torch_function": "silu"}, "not what torch computes"),
    ({"gate": lambda x: 0.5}, "differs from its definition"), ({"zeroes_negatives": True}, "zeroes_negatives is True"),
], ids=lambda given: given if isinstance(given, str) else ",".join(given))
def test_an_incomplete_activation_is_told(change: dict[str, Any], said: str) -> None:
    assert any(said in problem for problem in missing_in_activation("gelu", replace(ACTIVATIONS["gelu"], **change)))


def test_an_activation_without_a_definition_in_the_tests_is_told() -> None:
    told = list(missing_in_activation("new", ACTIVATIONS["gelu"]))
    assert told == ["tests/model/activations.py has no definition of 'new'"]


def test_every_activation_is_a_choice_with_names_of_its_own() -> None:
    assert CHOICES["activation"] == tuple(ACTIVATIONS)
    for own in ("title", "latex", "formula"):
        assert len({getattr(entry, own) for entry in ACTIVATIONS.values()}) == len(ACTIVATIONS), own
    theirs = [name for entry in ACTIVATIONS.values() for name in entry.huggingface]
    assert len(set(theirs)) == len(theirs)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_formula_of_the_hidden_units_names_the_activation(name: str) -> None:
    (first, *_) = (s for s in stages(TransformerConfig(activation=name)) if s.leaf == "post_act")
    assert ACTIVATIONS[name].latex in first.formula
