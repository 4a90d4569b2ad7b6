"""What the app is, the tokens, the architecture with the shapes of this run, the predictions, and links to the other pages."""

from viz_core.ui.shell import PAGES, open_page
from viz_core.ui.shell.warm import home_imported

lab = open_page(PAGES["home"], imported=home_imported)

from viz_core.ui.pages import home

if lab.capture is not None:
    item = home.tokens(lab, lab.capture)
    home.drawing(lab.capture)
    home.next_word(lab, lab.capture, item)
home.page_links()
home.origin(lab)
