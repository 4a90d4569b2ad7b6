"""What every test of the training needs."""

import sys
from types import ModuleType

import pytest


@pytest.fixture(autouse=True)
def no_page_is_the_main_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that a test opened before stays `__main__`, and each process that is started would run it again."""
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
