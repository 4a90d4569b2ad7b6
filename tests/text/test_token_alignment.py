"""Partners in two sentences: equal tokens, replaced ones one by one, and gaps for the rest."""

import pytest

from viz_core.text.token_alignment import align_tokens


@pytest.mark.parametrize(("a", "b", "expected"), [
    ("it was tired", "it was wide", [(0, 0), (1, 1), (2, 2)]),
    ("it was tired", "it was very tired", [(0, 0), (1, 1), (None, 2), (2, 3)]),
    ("it was very tired", "it was wide", [(0, 0), (1, 1), (2, None), (3, None), (None, 2)]),
    ("a b c", "a b c", [(0, 0), (1, 1), (2, 2)]),
    ("a", "", [(0, None)]),
])
def test_who_stands_for_whom(a: str, b: str, expected: list) -> None:
    assert list(align_tokens(a.split(), b.split())) == expected


def test_a_token_that_a_long_sentence_repeats_still_has_its_partner() -> None:
    a = [7] * 300
    assert list(align_tokens(a, a)) == [(i, i) for i in range(300)]
