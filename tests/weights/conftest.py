"""What the tests of published checkpoints share."""

import pytest

from viz_core.weights import local_models
from viz_core.weights.hub import HUB
from viz_core.weights.local_models import FOLDERS


@pytest.fixture
def nothing_else(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Neither the package nor a folder."""
    monkeypatch.setattr(local_models, "find_spec", lambda name: None)
    monkeypatch.delenv(FOLDERS, raising=False)
    monkeypatch.delenv(HUB, raising=False)
    return monkeypatch
