"""Writing: generation word by word with the probabilities of each word, teacher forcing, and the key-value cache."""

from viz_core.ui.shell import PAGES, open_page

context = open_page(PAGES["writing"])

from viz_core.ui.pages.writing.page import writing_page

writing_page(context)
