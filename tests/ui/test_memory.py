"""A server that may keep little: whatever is opened, its store stays within the setting, and every page is whole."""

from itertools import islice
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from tests.benchmarks.memory import random_links
from viz_core.analysis.counts import estimate
from viz_core.limits import CACHE_MB
from viz_core.ui.shell.cache import store

APP = Path(__file__).parents[2] / "app.py"
MB = 64


def test_random_links_fit_a_small_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_MB, str(MB))
    estimate.cache_clear()
    most = 0
    for page, query in islice(random_links(4), 12):
        at = AppTest.from_file(APP, default_timeout=60)
        at.query_params.update(dict(parse_qsl(query)))
        at.run()
        if page != "home":
            at.switch_page(f"pages/{page}.py").run()
        assert not at.exception and not at.error, (page, query[:500], [e.message for e in at.exception])
        assert len(at.title) == 1
        most = max(most, store().nbytes)
    assert MB * 10**6 / 2 < most <= MB * 10**6, "it was never full, or too full"
    estimate.cache_clear()


def test_a_setting_that_cannot_be_used_is_named_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_MB, "much")
    at = AppTest.from_file(APP, default_timeout=60).run()
    assert not at.exception and any("CACHE" in info.value and "much" in info.value for info in at.info)  # its _ are escaped
