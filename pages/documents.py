"""The five documents side by side, the errors in them, and links to the pages that show their concepts."""

from viz_core.ui.shell import PAGES, open_page

open_page(PAGES["documents"])

from viz_core.ui.pages import documents

documents.comparison_section()
documents.preset_buttons()
documents.errors_section()
documents.concepts_section()
