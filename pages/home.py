"""Home: the sentence and its translation, links to the other pages, and details of the run."""

from viz_core.ui.shell import PAGES, open_page
from viz_core.ui.shell.caching.preload import preload_home

context = open_page(PAGES["home"], preload=preload_home)

from viz_core.ui.pages.home.details import architecture_section, next_word_section, origin_section, token_ids_section
from viz_core.ui.pages.home.hero import hero
from viz_core.ui.pages.home.page_cards import page_cards

hero(context)
page_cards(context)
if context.capture is not None:
    token_ids_section(context)
    architecture_section(context)
    next_word_section(context)
origin_section(context)
