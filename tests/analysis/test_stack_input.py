"""What enters a stack, against the stages of the run."""

import math

import numpy as np
import pytest

from tests.model.small import small
from viz_core.analysis.stack_input import embedding_norms, stack_input
from viz_core.run import run


@pytest.mark.parametrize("position", ["sinusoidal", "rope"])
@pytest.mark.parametrize("scaled", [True, False])
def test_the_parts_add_up_to_what_the_model_reads(position: str, scaled: bool) -> None:
    config = small(position=position, scale_embedding=scaled)
    capture = run(config, [[5, 9, 7], [4, 8]], [[5, 9], [4]], device="cpu")
    for side, stack in (("source", "encoder"), ("target", "decoder")):
        x = stack_input(capture, side, 1)
        np.testing.assert_array_equal(x.total, capture[f"{stack}.embed"][1])
        np.testing.assert_allclose(x.tok_embed + x.pos_embed_or_zeros, x.total, rtol=1e-6)
        assert x.is_model_scale and x.is_scaled == scaled and (x.pos_embed is None) == (position == "rope")
        assert len(x.tokens) == len(x.total)
        for scale, factor in (("with", math.sqrt(config.d_model)), ("without", 1.0)):
            other = stack_input(capture, side, 1, scale)
            np.testing.assert_allclose(other.total, capture[f"{stack}.tok_embed"][1] * factor + other.pos_embed_or_zeros, rtol=1e-6)
            assert other.is_model_scale == (other.is_scaled == scaled)


@pytest.mark.parametrize("position", ["learned", "none"])
def test_lengths_are_those_of_the_words_without_padding(position: str) -> None:
    config = small(position=position)
    capture = run(config, [[5, 9, 7], [4, 8]], [[5, 9], [4]], device="cpu")
    (own, other), place = embedding_norms(capture, "source", 1, {"ones": np.ones((2, config.d_model))})
    words = capture["encoder.tok_embed"][1, :2].astype(float)
    assert own.unscaled == pytest.approx(math.sqrt(np.square(words).sum(axis=1).mean()))
    assert (other.name, other.unscaled, other.scaled) == ("ones", math.sqrt(config.d_model), pytest.approx(config.d_model))
    if position == "none":
        assert place == pytest.approx(math.sqrt(config.d_model / 2))
    else:
        assert place == pytest.approx(np.sqrt(np.square(capture["encoder.pos_embed"][0, :2].astype(float)).sum(axis=1).mean()))
