"""Weights that visitors brought: by name, bounded, the first ones that came go first."""

from collections.abc import Iterator

import pytest

from viz_core.config import TransformerConfig
from viz_core.weights.card import Card
from viz_core.weights.catalogue import catalogue, server_models
from viz_core.weights.user_weights import UserWeights, shared_user_weights


def card(name: str) -> Card:
    return Card(name=name, title=name, config=TransformerConfig(), tokenizers=dict, load=lambda: pytest.fail("loaded"))


@pytest.fixture
def fresh() -> Iterator[None]:
    shared_user_weights.cache_clear()
    yield
    shared_user_weights.cache_clear()


def test_they_are_found_by_name_behind_those_that_everybody_is_offered(fresh: None) -> None:
    assert catalogue() is server_models()
    shared_user_weights().add(card("trained-1"), 10)
    assert list(catalogue()) == [*server_models(), "trained-1"] and "trained-1" not in server_models()


def test_there_are_no_more_than_the_bounds_allow() -> None:
    kept = UserWeights(max_count=3, max_bytes=100)
    for name in "abcd":
        kept.add(card(name), 10)
    assert list(kept.cards()) == ["b", "c", "d"]
    kept.add(card("e"), 85)
    assert list(kept.cards()) == ["d", "e"] and kept.nbytes == 95
    kept.add(card("f"), 500)
    assert list(kept.cards()) == ["f"], "the newest stays, however large"


def test_who_comes_again_counts_as_new() -> None:
    kept = UserWeights(max_count=2)
    for name in ("a", "b", "a", "c"):
        kept.add(card(name), 10)
    assert list(kept.cards()) == ["a", "c"] and kept.nbytes == 20


def test_weights_that_somebody_looks_at_stay() -> None:
    kept = UserWeights(max_count=2)
    for name in ("a", "b"):
        kept.add(card(name), 1)
    kept.mark_used("a")
    kept.mark_used("never here")
    kept.add(card("c"), 1)
    assert list(kept.cards()) == ["a", "c"]
