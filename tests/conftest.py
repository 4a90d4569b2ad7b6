"""Settings shared by every test."""

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("lab", deadline=None, max_examples=30, derandomize=os.environ.get("CI") == "true")
settings.load_profile("lab")


@pytest.fixture(autouse=True)
def empty_caches() -> Iterator[None]:
    """No test sees what another one cached. That everything is imported stays true: to find it again takes a quarter of a page."""
    yield
    if app := sys.modules.get("viz_core.ui.shell.caching.server_cache"):
        app.server_cache.clear()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("cuda"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("torch finds no CUDA device")
