"""These tests learn sentences of fewer words than the first lesson has."""

from collections.abc import Iterator

import numpy as np
import pytest

from viz_core.training.examples import SentencePair
from viz_core.training.interactive.tasks import language

SUBJECTS, VERBS = ["cat", "dog", "bird", "man", "cow"], ["sees", "likes", "has", "eats"]
OBJECTS = ["ball", "box", "fish", "tree", "sun", "moon"]


def small_grammar() -> Iterator[SentencePair]:
    """Sentences without end, in English and in capitals."""
    rng = np.random.default_rng(0)
    while True:
        words = ("the", str(rng.choice(SUBJECTS)), str(rng.choice(VERBS)), "the", str(rng.choice(OBJECTS)), ".")
        yield words, tuple(word.upper() for word in words)


@pytest.fixture(autouse=True)
def grammar(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The small grammar instead of the real one, and nothing of either in the cache."""
    monkeypatch.setattr(language, "first_lesson", small_grammar)
    language.load_sentences.cache_clear()
    yield
    language.load_sentences.cache_clear()
