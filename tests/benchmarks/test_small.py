"""Every benchmark runs at its small size, and says what it measured."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.benchmarks.__main__ import BENCHMARKS, IN_BROWSER
from tests.browser.conftest import ROOT, need_browser


@pytest.mark.parametrize("name", [pytest.param(x, marks=[pytest.mark.browser] * (x in IN_BROWSER)) for x in BENCHMARKS])
def test_it_measures(name: str) -> None:
    if name in IN_BROWSER:
        need_browser()
    command = [sys.executable, "tests/benchmarks", "--small", "--only", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    heading, *rows = done.stdout.partition("\nname ")[2].splitlines()
    assert heading.split()[0] == "measured" and rows, done.stdout
    for row in rows:
        assert float(row[heading.index("measured") + len("name ") :].split()[0]) > 0, row
