"""What the tests of published checkpoints share."""

import pytest

from viz_core.weights import local_models
from viz_core.weights.hub import HUB_ENV
from viz_core.weights.local_models import WEIGHTS_FOLDERS_ENV


@pytest.fixture
def nothing_else(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Neither the package nor a folder."""
    monkeypatch.setattr(local_models, "find_spec", lambda name: None)
    monkeypatch.delenv(WEIGHTS_FOLDERS_ENV, raising=False)
    monkeypatch.delenv(HUB_ENV, raising=False)
    return monkeypatch
