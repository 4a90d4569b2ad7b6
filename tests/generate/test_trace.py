"""A trace: the words that `generate` writes, and the numbers that they were chosen by."""

import numpy as np
import pytest
import torch

from tests.model.small import small
from tests.tolerances import FLOAT
from viz_core.generate import generate
from viz_core.generate.sampling import sample
from viz_core.generate.strategy import Beam, Greedy, Sampling, Strategy
from viz_core.generate.teacher_forcing import logprobs
from viz_core.generate.trace import trace_generation
from viz_core.messages.errors import UserError
from viz_core.run import build, run

BOS, EOS = 1, 2
SOURCE = [5, 9, 7]
MOST = 6


@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
@pytest.mark.parametrize("strategy", [Greedy(), Sampling(temperature=1.5, top_k=8, top_p=0.9, seed=3), Beam(num_beams=3)], ids=str)
def test_its_words_are_those_of_generate(architecture: str, strategy: Strategy) -> None:
    c = small(architecture=architecture)
    source = SOURCE if c.has_encoder else None
    for seed in range(3):
        model = build(c, seed)
        (said,) = generate(model, torch.tensor([[BOS]]), None if source is None else torch.tensor([source]), eos_id=EOS,
                           max_new_tokens=MOST, strategy=strategy)
        found = trace_generation(model, [BOS], source, eos_id=EOS, max_new_tokens=MOST, strategy=strategy)
        assert found.ids == (*said.ids, *([EOS] if said.has_ended else [])) and found.has_ended == said.has_ended
        np.testing.assert_allclose(found.logprobs, logprobs(model, [BOS], found.ids, source), atol=FLOAT)
        capture = run(c, None if source is None else [source], [list(found.ids)], weights=model)
        np.testing.assert_allclose(found.logits, capture["logits"][0], atol=FLOAT)
        assert (found.search is not None) == isinstance(strategy, Beam)
        assert found.with_start([BOS]) == [BOS, *found.ids] and found.with_start([BOS], -1) == [BOS, *found.ids[:-1]]


def test_every_drawn_number_gives_its_word_again() -> None:
    sampling = Sampling(temperature=2.0, top_k=9, seed=5)
    found = trace_generation(build(small(), 1), [BOS], SOURCE, eos_id=EOS, max_new_tokens=MOST, strategy=sampling)
    again = [sample(logits, sampling, float(u)).token for logits, u in zip(found.logits, found.random_numbers, strict=True)]
    assert tuple(again) == found.ids and len(set(found.random_numbers)) == len(found.ids)


@pytest.mark.parametrize("strategy", [Greedy(), Sampling(seed=2), Beam(num_beams=2)], ids=str)
def test_given_words_come_first_and_the_rest_goes_on_from_them(strategy: Strategy) -> None:
    model = build(small(), 1)
    found = trace_generation(model, [BOS], SOURCE, eos_id=EOS, max_new_tokens=MOST, strategy=strategy, forced_ids=[8, 3])
    assert found.ids[:2] == (8, 3) and len(found.ids) <= MOST
    if not isinstance(strategy, Sampling):
        (said,) = generate(model, torch.tensor([[BOS, 8, 3]]), torch.tensor([SOURCE]), eos_id=EOS, max_new_tokens=MOST - 2,
                           strategy=strategy)
        assert found.ids[2:] == (*said.ids, *([EOS] if said.has_ended else []))
    np.testing.assert_allclose(found.logprobs, logprobs(model, [BOS], found.ids, SOURCE), atol=FLOAT)


def test_a_position_table_ends_the_text() -> None:
    c = small(max_len=5)
    found = trace_generation(build(c, 1), [BOS], SOURCE, eos_id=99, max_new_tokens=64)
    assert len(found.ids) == 5 and not found.has_ended


def test_what_cannot_be_written_says_so() -> None:
    with pytest.raises(UserError, match="target has no tokens"):
        trace_generation(build(small()), [], SOURCE, eos_id=EOS, max_new_tokens=3)
    with pytest.raises(ValueError, match="max_new_tokens cannot be 0"):
        trace_generation(build(small()), [BOS], SOURCE, eos_id=EOS, max_new_tokens=0)
