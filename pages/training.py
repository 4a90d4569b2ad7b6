"""Training: how weights come to be, and what each choice of the architecture changes while they do."""

from viz_core.ui.shell import PAGES, open_page

lab = open_page(PAGES["training"])

from viz_core.ui.pages.training.page import training

training(lab)
