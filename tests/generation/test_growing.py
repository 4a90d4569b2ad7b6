"""The growing cache: its rows are those of a whole run, and both ways of reading say the same."""

import numpy as np
import pytest

from tests.model.small import small
from tests.tolerances import FLOAT
from viz_core.generation.growing import measure_growth
from viz_core.problems import Problem
from viz_core.run import build, run

SOURCE, TEXT = [5, 9, 7], [1, 6, 4, 11, 8]


@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_its_rows_are_those_of_a_run(architecture: str) -> None:
    c = small(architecture=architecture)
    source = SOURCE if c.has_encoder else None
    model = build(c, 3)
    found = measure_growth(model, TEXT, source)
    capture = run(c, None if source is None else [source], [[*TEXT[1:], 2]], weights=model)
    for layer in range(c.n_decoder_layers):
        for name, rows in (("k", found.keys), ("v", found.values)):
            np.testing.assert_allclose(rows[layer], capture[f"decoder.layers.{layer}.self_attn.{name}"][0], atol=FLOAT)
    assert found.cached.shape == found.anew.shape == found.differences.shape == (len(TEXT),)
    assert found.differences.max() < 1e-5 and (found.cached > 0).all() and (found.anew > 0).all()


def test_without_a_causal_mask_nothing_can_be_kept() -> None:
    with pytest.raises(Problem, match="causal=False"):
        measure_growth(build(small(architecture="decoder-only", causal=False)), TEXT)
