"""What the app is, the tokens, the architecture with the shapes of this run, the predictions, and links to the other pages."""

from viz_core.ui.shell import open_page
from viz_core.ui.shell.warm import home_imported

lab = open_page(
    "Watch a Transformer read your sentence",
    "Type a sentence on the left; a real Transformer runs on it immediately. At first this is a small translator that was "
    "trained for this app. You can open and check every tensor on its way from word to prediction. Under Model you can also "
    "choose the untrained models of five documents, in which you can change every setting.",
    imported=home_imported,
)

from viz_core.ui.pages import home

if lab.capture is not None:
    item = home.tokens(lab, lab.capture)
    home.drawing(lab.capture)
    home.next_word(lab, lab.capture, item)
home.page_links()
home.origin(lab)
