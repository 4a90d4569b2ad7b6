"""Home: the sentence and its translation, links to the other pages, and details of the run."""

from viz_core.ui.shell import PAGES, open_page
from viz_core.ui.shell.warm import preload_home

lab = open_page(PAGES["home"], preload=preload_home)

from viz_core.ui.pages.home.details import architecture_section, next_word_section, model_origin, token_ids
from viz_core.ui.pages.home.offered import page_cards
from viz_core.ui.pages.home.welcome import hero

hero(lab)
page_cards(lab)
if lab.capture is not None:
    item = token_ids(lab, lab.capture)
    architecture_section(lab, lab.capture)
    next_word_section(lab, lab.capture, item)
model_origin(lab)
