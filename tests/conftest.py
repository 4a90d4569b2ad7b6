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
    """No test sees what another one cached. Streamlit is left alone where nothing has imported it."""
    yield
    if streamlit := sys.modules.get("streamlit"):
        streamlit.cache_data.clear()
        streamlit.cache_resource.clear()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("cuda"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("torch finds no CUDA device")
