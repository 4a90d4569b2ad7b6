"""The two readers agree, and go on from any of their rows."""

import pytest
import torch

from tests.model.small import small
from tests.tolerances import FLOAT
from viz_core.config import CHOICES
from viz_core.generate.incremental import (
    CachedDecoder,
    UncachedDecoder,
    decoder_hidden_states,
    encode_source,
    init_decoder,
    next_logits,
)
from viz_core.run import build

START = torch.tensor([[6, 5, 4], [9, 12, 7]])
SOURCES = torch.tensor([[5, 9, 7, 11], [8, 3, 0, 0]])


@pytest.mark.parametrize("position", CHOICES["position"])
@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
@torch.inference_mode()
def test_both_read_on_alike_in_any_order_of_rows(architecture: str, position: str) -> None:
    model = build(small(architecture=architecture, position=position), seed=4)
    source = SOURCES if model.config.has_encoder else None
    both = [init_decoder(model, START, source, use_cache=on) for on in (False, True)]
    assert [type(reader) for reader in both] == [UncachedDecoder, CachedDecoder]
    found = []
    for reader in both:
        first, reader = reader.step(START)
        second, _ = reader.select(torch.tensor([1, 1, 0])).step(torch.tensor([[4], [10], [2]]))
        found.append((first, second))
    for plain, cached in zip(*found, strict=True):
        torch.testing.assert_close(cached, plain, rtol=0, atol=FLOAT)
    assert not torch.allclose(found[0][1][0], found[0][1][1])


@torch.inference_mode()
def test_the_logits_are_those_of_the_whole_model() -> None:
    model = build(small(), seed=4)
    context = encode_source(model, SOURCES, START)
    whole = model(SOURCES, START)
    torch.testing.assert_close(decoder_hidden_states(model, START, context), whole.hidden, rtol=0, atol=FLOAT)
    torch.testing.assert_close(next_logits(model, START, context), whole.logits[:, -1], rtol=0, atol=FLOAT)


def test_without_a_choice_the_cache_is_used_wherever_it_can_be() -> None:
    assert isinstance(init_decoder(build(small()), START, SOURCES), CachedDecoder)
    for switches in ({"causal": False}, {"mask_fill": 0.5}, {"mask_fill": -1e9, "empty_row": "softmax"}):
        assert isinstance(init_decoder(build(small(**switches)), START, SOURCES), UncachedDecoder)
