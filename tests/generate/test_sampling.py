"""One word drawn: against `transformers`' own filters, against its probabilities, and number by number."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.tolerances import EXACT
from viz_core.generate.sampling import random_numbers, sample
from viz_core.generate.strategy import Sampling
from viz_core.messages.errors import UserError

LOGITS = np.array([1.0, 3.0, -2.0, 0.5, 2.5, -np.inf, 0.0])
some_logits = arrays.arrays(np.float64, st.integers(1, 12), elements=st.floats(-30, 30), unique=True)


def by_transformers(logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    """The probabilities that their filters leave, in their order."""
    from transformers.generation import logits_process as theirs

    scores = theirs.TemperatureLogitsWarper(float(sampling.temperature))(None, torch.from_numpy(logits)[None])
    if sampling.top_k is not None:
        scores = theirs.TopKLogitsWarper(sampling.top_k)(None, scores)
    if sampling.top_p < 1:
        scores = theirs.TopPLogitsWarper(sampling.top_p)(None, scores)
    return scores.softmax(dim=-1)[0].numpy()


@given(some_logits, st.sampled_from([0.3, 1.0, 2.5]), st.none() | st.integers(1, 20), st.sampled_from([0.05, 0.5, 0.9, 1.0]))
def test_what_is_left_is_what_their_filters_leave(logits: np.ndarray, temperature: float, top_k: int | None, top_p: float) -> None:
    sampling = Sampling(temperature=temperature, top_k=top_k, top_p=top_p)
    found = sample(logits, sampling, 0.5)
    np.testing.assert_allclose(found.probs, by_transformers(logits, sampling), atol=EXACT)
    assert found.probs[~found.kept].sum() == 0 and not (found.kept & ~found.in_top_k).any()


def test_words_as_likely_as_the_last_of_top_k_stay_as_theirs_do() -> None:
    logits = np.array([2.0, 1.0, 1.0, 1.0, 0.0])
    found = sample(logits, Sampling(top_k=2), 0.0)
    assert found.in_top_k.tolist() == [True, True, True, True, False]
    np.testing.assert_allclose(found.probs, by_transformers(logits, Sampling(top_k=2)), atol=EXACT)


# ---------------------------------------------------------------- frequencies

CRITICAL = {2: 13.82, 3: 16.27, 5: 20.52}  # chi-square that 1 in 1,000 exceeds, by degrees of freedom (Fisher & Yates 1963)


@pytest.mark.parametrize(("sampling", "words"), [
    (Sampling(), 6), (Sampling(temperature=3.0), 6), (Sampling(top_k=4), 4), (Sampling(top_p=0.9), 3),
    (Sampling(temperature=2.0, top_k=4, top_p=0.8), 3),
], ids=str)
def test_words_come_as_often_as_their_probability_says(sampling: Sampling, words: int) -> None:
    numbers = random_numbers(seed=3, row=0, count=4000)
    drawn = np.bincount([sample(LOGITS, sampling, u).token for u in numbers], minlength=len(LOGITS))
    expected = by_transformers(LOGITS, sampling) * len(numbers)
    left = expected > 0
    assert left.sum() == words and drawn[~left].sum() == 0
    chi_square = ((drawn[left] - expected[left]) ** 2 / expected[left]).sum()
    assert chi_square < CRITICAL[words - 1]


def test_the_numbers_are_even_and_belong_to_their_seed_and_row() -> None:
    numbers = random_numbers(seed=5, row=2, count=4000)
    tenths = np.bincount((numbers * 10).astype(int), minlength=10)
    assert ((tenths - 400) ** 2 / 400).sum() < 27.88  # 9 degrees of freedom, 1 in 1,000
    assert np.array_equal(random_numbers(5, 2, 10), numbers[:10]) and numbers.min() >= 0 and numbers.max() < 1
    assert not np.isin(random_numbers(5, 3, 100), numbers).any() and not np.isin(random_numbers(6, 2, 100), numbers).any()


# ---------------------------------------------------------------- its arithmetic


@given(some_logits, st.floats(0, 1, exclude_max=True), st.sampled_from([0.5, 1.0]), st.sampled_from([0.4, 1.0]))
def test_each_step_follows_from_the_one_before(logits: np.ndarray, u: float, temperature: float, top_p: float) -> None:
    found = sample(logits, Sampling(temperature=temperature, top_k=5, top_p=top_p), u)
    np.testing.assert_allclose(found.scaled, logits / temperature)
    powers = [math.exp(x - max(logits) / temperature) if left else 0 for x, left in zip(found.scaled, found.in_top_k, strict=True)]
    np.testing.assert_allclose(found.after_top_k, np.array(powers) / sum(powers), atol=EXACT)
    rest = np.where(found.kept, found.after_top_k, 0)
    np.testing.assert_allclose(found.probs, rest / rest.sum(), atol=EXACT)
    assert list(found.order) == sorted(range(len(logits)), key=lambda i: -logits[i])
    running = 0.0
    for rank, id in enumerate(found.order[: found.kept.sum()]):
        running += found.probs[id]
        assert found.cumulative[rank] == pytest.approx(running, abs=EXACT)
    place = list(found.order).index(found.token)
    assert (found.cumulative[place - 1] if place else 0) <= u and (u < found.cumulative[place] or u > 1 - 1e-9)
    assert found.entropy == pytest.approx(-sum(p * math.log(p) for p in found.probs if p), abs=EXACT)


def test_entropy_is_in_nats() -> None:
    even = sample(np.zeros(8), Sampling(top_k=1), 0.9)
    assert even.model_entropy == pytest.approx(math.log(8)) and even.in_top_k.all()  # all are as likely as the first
    assert sample(LOGITS, Sampling(top_k=1), 0.9).entropy == 0 and sample(LOGITS, Sampling(top_k=1), 0.9).token == 1


@pytest.mark.parametrize("u", [0.0, 0.999999999999, np.nextafter(1, 0)])
def test_a_word_without_probability_is_never_drawn(u: float) -> None:
    logits = np.array([-np.inf, 0.0, -np.inf, -800.0, -40.0])  # e^-800 is 0 in float64
    assert sample(logits, Sampling(), u).token in (1, 4)


def test_a_number_on_the_border_of_two_words_draws_the_second() -> None:
    assert [sample(np.zeros(2), Sampling(), u).token for u in (0.0, 0.499, 0.5, 0.999)] == [0, 0, 1, 1]


def test_top_k_past_the_vocabulary_keeps_every_word() -> None:
    assert sample(LOGITS, Sampling(top_k=10_000), 0.3).in_top_k.all()


@pytest.mark.parametrize("logits", [[0.0, math.nan], [math.inf, 0.0], [-math.inf, -math.inf]])
def test_logits_without_a_softmax_say_so(logits: list[float]) -> None:
    with pytest.raises(UserError, match="The logits are infinite or NaN"):
        sample(np.array(logits), Sampling(), 0.5)


def test_a_draw_changes_nothing_and_cannot_be_changed() -> None:
    logits = LOGITS.copy()
    found = sample(logits, Sampling(temperature=2.0, top_k=3), 0.5)
    assert np.array_equal(logits, LOGITS) and logits.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        found.probs[0] = 1
    with pytest.raises(ValueError, match=r"u=1 is not in \[0, 1\)"):
        sample(logits, Sampling(), 1)
