"""Drawing the training sentences in several processes."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from viz_core.training.shipped import sentence_sampling
from viz_core.training.shipped.sentence_sampling import SEED_STRIDE, sample_part, sample_sentences


@pytest.mark.parametrize("cores", [1, 2])
def test_the_sentences_do_not_depend_on_the_cores(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part by its own seed, one behind the other, with the bits of the same sentence beside it."""
    monkeypatch.setattr(sentence_sampling, "PART_SIZE", 40)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    if cores == 1:  # nothing is at once, so that no process need be started
        monkeypatch.setattr(sentence_sampling, "ProcessPoolExecutor", lambda n, context: ThreadPoolExecutor(n))
    found, (alignment, referents) = sample_sentences(3, 100)
    expected = [sample_part(3 + SEED_STRIDE * i, n) for i, n in enumerate((40, 40, 20))]
    assert found == [pair for pairs, __ in expected for pair in pairs]
    assert len(set(found)) > 95  # no part says the sentences of another
    for i, (own, (links, nouns)) in enumerate(expected):
        rows = slice(40 * i, 40 * i + len(own))
        for whole, piece in ((alignment, links), (referents, nouns)):
            np.testing.assert_array_equal(whole[rows, : piece.shape[1]], piece)
            assert not whole[rows, piece.shape[1] :].any()
    assert referents.any()


def test_a_small_number_is_one_part_and_leaves_out_what_it_shall() -> None:
    plain = sample_sentences(5, 50)[0]
    assert plain == sample_part(5, 50)[0]
    unwanted = " ".join(plain[0][0])
    assert plain[0] not in sample_sentences(5, 50, [unwanted])[0] and plain[1] in sample_sentences(5, 50, [unwanted])[0]
