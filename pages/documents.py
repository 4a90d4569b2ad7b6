"""The five documents side by side, what in them does not hold, and where each of their concepts shows."""

from viz_core.ui.shell import open_page

open_page(
    "Five documents, one model: where do they agree?",
    "Five texts explain the Transformer, each with code of its own. Here each is a preset of one model.",
)

from viz_core.ui.pages import documents

documents.presets()
documents.side_by_side()
documents.faults()
documents.concepts()
