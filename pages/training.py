"""Training: a model that learns while the page is open, and experiments on what each architecture choice changes."""

from viz_core.ui.shell import PAGES, open_page

context = open_page(PAGES["training"])

from viz_core.ui.pages.training.page import training_page

training_page(context)
