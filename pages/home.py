"""Home: the sentence and its translation, links to the other pages, and details of the run."""

from viz_core.ui.shell import PAGES, open_page
from viz_core.ui.shell.warm import home_imported

lab = open_page(PAGES["home"], imported=home_imported)

from viz_core.ui.pages.home.details import drawing, next_word, origin, tokens
from viz_core.ui.pages.home.offered import offered
from viz_core.ui.pages.home.welcome import welcome

welcome(lab)
offered(lab)
if lab.capture is not None:
    item = tokens(lab, lab.capture)
    drawing(lab, lab.capture)
    next_word(lab, lab.capture, item)
origin(lab)
