"""What the Masks page says about cells and numbers, word for word."""

import numpy as np
import pytest

from tests.analysis.test_masks import captured
from tests.model.small import small
from viz_core.analysis.masks import cell_reason, summarize_values
from viz_core.ui.pages.masks.explanations import mha_limitations_text, reason_text, values_text


def test_reasons_of_a_few_cells_in_full() -> None:
    capture = captured(mask_padded_queries=True)
    words = capture.tokens("target")[0]
    itself, earlier = (reason_text(cell_reason(capture, "decoder", 0, *cell)) for cell in ((1, 1), (2, 0)))
    assert itself == f"{words[1]} (1) may attend to {words[1]} (1). A token may attend to itself."
    assert earlier == f"{words[2]} (2) may attend to <bos> (0). The key is 2 positions earlier."
    fully_masked = reason_text(cell_reason(capture, "decoder", 0, 3, 3))
    assert fully_masked == (
        "<pad> (3) may not attend to <pad> (3). The key is padding. The query is padding, and padded queries are masked. "
        "<pad> (3) may attend to no key at all."
    )
    later = reason_text(cell_reason(capture, "decoder", 0, 0, 1))
    assert later.endswith("The key is 1 position later, and the causal mask blocks later tokens.")
    seen = reason_text(cell_reason(captured(mask_source_padding=False, architecture="encoder-only"), "encoder", 1, 0, 2))
    assert "The key is 2 positions later, and this attention has no causal mask." in seen
    assert seen.endswith("The key is padding, but this attention does not mask padding.")
    assert "whole source is known" in reason_text(cell_reason(capture, "cross", 1, 0, 0))


@pytest.mark.parametrize(("x", "said"), [
    ([np.nan, np.nan], "NaN"), ([0.0, np.nan, 1.0], "NaN in 1 of 3"), ([0.0, 0.0], "0"), ([0.2, 0.2], "0.2 each"),
    ([-1.25, 0.5], "from −1.25 to 0.5"),
])
def test_what_came_out_in_words(x: list[float], said: str) -> None:
    assert values_text(summarize_values(np.array(x, np.float32))) == said


def test_why_torchs_module_cannot_be_compared() -> None:
    assert mha_limitations_text((), small()) == ""
    assert mha_limitations_text(("qk_width", "unscaled"), small(qk_dim=4)) == (
        "It makes queries d_model=8 wide, and here they are 4. It always divides by √d_k, which is switched off here."
    )
