"""The grammar of the shipped translators takes seconds for a few hundred sentences: these tests have a smaller one."""

from collections.abc import Iterator

import numpy as np
import pytest

from viz_core.training.corpus.sentences import Example
from viz_core.training.interactive.tasks import language

SUBJECTS, VERBS = ["cat", "dog", "bird", "man", "cow"], ["sees", "likes", "has", "eats"]
OBJECTS = ["ball", "box", "fish", "tree", "sun", "moon"]


def small_grammar(seed: int) -> Iterator[Example]:
    """Sentences without end, in English and in capitals."""
    rng = np.random.default_rng(seed)
    while True:
        words = ["the", str(rng.choice(SUBJECTS)), str(rng.choice(VERBS)), "the", str(rng.choice(OBJECTS)), "."]
        yield Example(words, [word.upper() for word in words], [])


@pytest.fixture(autouse=True)
def grammar(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The small grammar instead of the real one, and nothing of either in the cache."""
    monkeypatch.setattr(language, "lessons", small_grammar)
    language.load_sentences.cache_clear()
    yield
    language.load_sentences.cache_clear()
