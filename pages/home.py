"""What this is, the model drawn with live shapes, the tokens, the predictions, and the doors."""

from viz_core.ui.shell import open_page
from viz_core.ui.shell.warm import home_imported

lab = open_page(
    "Watch a Transformer read your sentence",
    "Type a sentence at the left and a real Transformer computes on it, here and now: at first a small translator that was "
    "trained for this app. Every tensor on its way from word to prediction can be opened, named and checked. "
    "Five documents describe this model in five ways: each is a choice under Model, and every switch is yours to flip.",
    imported=home_imported,
)

from viz_core.ui.pages import home

if lab.capture is not None:
    item = home.tokens(lab, lab.capture)
    home.drawing(lab.capture)
    home.next_word(lab, lab.capture, item)
home.doors()
home.origin(lab)
