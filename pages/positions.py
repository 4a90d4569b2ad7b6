"""Positions: waves, clocks, a sentence, five schemes, and experiments that measure what each of them tells the model."""

from viz_core.ui.shell import open_page

open_page(
    "How does a model without a notion of order learn who comes first?",
    "Attention sees a set of words, not a row of them: without help, 我爱你 and 你爱我 are the same. "
    "So each place gets a mark of its own. The first model of this kind used waves, from fast ones to very slow ones.",
)

from viz_core.ui.pages.positions.waves import positions

positions()
