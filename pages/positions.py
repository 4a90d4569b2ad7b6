"""Positions: waves, clocks, a sentence, five schemes, and experiments that measure what each scheme tells the model."""

from viz_core.ui.shell import open_page

open_page(
    "How does a Transformer know the order of the words?",
    "Without positions and without a causal mask, attention treats a sentence as a set of words: it cannot tell 我爱你 from "
    "你爱我. So each position gets its own encoding. The first Transformer used waves, from fast ones to very slow ones.",
)

from viz_core.ui.pages.positions.waves import positions

positions()
