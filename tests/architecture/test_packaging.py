"""What the project declares: its dependencies, what is public, and the examples in docstrings."""

import doctest
import importlib
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest

import viz_core
from tests.architecture.test_imports import MODULES, ROOT, imports_of

DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = DECLARED["project"]
EXAMPLES = [module for module, path in MODULES.items() if ">>>" in path.read_text("utf-8")]


def test_the_requirements_are_the_projects_dependencies() -> None:
    assert (ROOT / "requirements.txt").read_text("utf-8").split() == PROJECT["dependencies"]


def test_all_that_is_imported_is_declared_and_the_other_way_round() -> None:
    roots = {name.partition(".")[0] for module in MODULES for name in imports_of(module)} - sys.stdlib_module_names - {"viz_core"}
    known = packages_distributions()
    owners = {root: {owner.lower() for owner in known.get(root, [])} for root in roots}
    declared = {re.split(r"[=<>~!\[ ]", line)[0].lower().replace("-", "_") for line in PROJECT["dependencies"]}
    for root, names in owners.items():
        assert declared & {name.replace("-", "_") for name in names}, f"{root} is imported and not declared in pyproject.toml"
    assert declared == {name.replace("-", "_") for names in owners.values() for name in names} & declared


@pytest.mark.parametrize("name", viz_core.__all__)
def test_what_is_public_is_there_and_is_explained(name: str) -> None:
    assert importlib.import_module(f"viz_core.{name}").__doc__
    assert re.search(rf"^    {name}\b", viz_core.__doc__ or "", re.MULTILINE)


@pytest.mark.parametrize("module", EXAMPLES)
def test_the_examples_in_docstrings_hold(module: str) -> None:
    done = doctest.testmod(importlib.import_module(module))
    assert done.attempted and not done.failed
