"""The five documents side by side, the errors in them, and links to where the app shows each of their concepts."""

from viz_core.ui.shell import open_page

open_page(
    "Five documents, one model: where do they agree?",
    "Five texts explain the Transformer, each with its own code. In this app each is a preset of one model.",
)

from viz_core.ui.pages import documents

documents.presets()
documents.side_by_side()
documents.faults()
documents.concepts()
