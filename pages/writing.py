"""Writing: one word after another, each with the numbers that it was chosen by; teacher forcing; the key-value cache."""

from viz_core.ui.shell import PAGES, open_page

lab = open_page(PAGES["writing"])

from viz_core.ui.pages.writing.page import writing

writing(lab)
