"""A single sentence read together with its own half: which pages read it so, and when."""

import pytest

from tests.ui.helpers import SIZES, components, open_page, words
from viz_core.run import run

SMALL = {"preset": "002"} | SIZES


def test_one_sentence_is_padded_beside_its_own_first_half() -> None:
    at = open_page("masks", **SMALL, mask_section="empty", source="a b c d", target="e f")
    n = run(at.session_state["lab_setup"].config, ["a b c d"], ["e f"], device="cpu")["ids.source"].shape[1]
    assert "together with its own first half" in words(at)
    assert f"Of {n} tokens, this many are NaN: **0** in the embedding, **{n - (n + 1) // 2}** after layer 0" in words(at)
    assert f", **{n}** after layer 1" in words(at)


@pytest.mark.parametrize(("texts", "sizes"), [
    ({"source": "a b\nc d", "target": "e f\ng h"}, {}),  # a batch of one's own
    ({"source": "cat", "target": ""}, {"architecture": "encoder-only"}),  # a single token has no half
])
def test_what_has_no_half_is_read_as_it_is(texts: dict[str, str], sizes: dict[str, str]) -> None:
    at = open_page("masks", **SMALL, **sizes, mask_section="empty", **texts)
    assert "no padded source token" in at.info[0].value and len(components(at)) == 0
    assert "together with its own" not in words(at)
