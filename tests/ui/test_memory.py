"""A server that may keep little: whatever is opened, its store stays within the setting, and every page is whole."""

from itertools import islice
from urllib.parse import parse_qsl

import pytest

from tests.benchmarks.memory import random_links
from tests.ui.helpers import open_page
from viz_core.analysis.size_estimates import estimate_size
from viz_core.config.limits import CACHE_MB_ENV
from viz_core.ui.shell.caching.server_cache import server_cache

MB = 64


def test_random_links_fit_a_small_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_MB_ENV, str(MB))
    estimate_size.cache_clear()
    most = 0
    for page, query in islice(random_links(4), 32):
        open_page(page, **dict(parse_qsl(query)))
        most = max(most, server_cache().nbytes)
    assert MB * 10**6 / 2 < most <= MB * 10**6, "it was never full, or too full"
    estimate_size.cache_clear()


def test_a_setting_that_cannot_be_used_is_named_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_MB_ENV, "much")
    at = open_page("home")
    assert any("CACHE" in info.value and "much" in info.value for info in at.info)  # its _ are escaped
