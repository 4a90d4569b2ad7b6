"""The app without the sentence generator: every page is drawn and a model is trained, and nothing asks for it."""

import subprocess
import sys

import pytest

from tests.ui.helpers import APP

WITHOUT = """
import sys

class Finder:
    asked = []
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("viz_core.training.corpus", "viz_core.training.shipped")):
            self.asked.append(name)
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Finder())
"""
PAGES = """
from functools import cache
from streamlit.components.v2 import manifest_scanner
from tests.ui.helpers import go, open_page, sound, start
from viz_core.experiments import length_extrapolation
from viz_core.ui.shell import PAGES

manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)  # as tests/ui/conftest.py
length_extrapolation.N_SENTENCES = 24
typed = {"source": "the dog chased a cat"}
for page in PAGES:
    sound(go(start(**typed), page) if page != "home" else start(**typed).run())
open_page("positions", **typed, pos_section="experiments", pos_experiment="swap")
open_page("positions", **typed, pos_section="experiments", pos_experiment="longer")
at = open_page("cause", **typed, cause_section="heads")
for key in ("cause_ask_head effects", "cause_over"):  # the effects of the heads, then the same over held-out sentences
    for button in [button for button in at.button if button.key == key]:
        at = sound(button.click().run())
assert any("sentences of the grammar, each with one word replaced" in text.value for text in at.markdown)

from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.training_run import TrainingRun
next(iter(TrainingRun(Recipe(task="translate", steps=1))))
"""


def run_without(code: str) -> str:
    """What is asked for of the generator while this code runs in a fresh Python that does not find it."""
    script = f"{WITHOUT}{code}\nprint('asked:', *Finder.asked)"
    done = subprocess.run([sys.executable, "-c", script], cwd=APP.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("asked:")[2].strip()


@pytest.mark.slow
def test_every_page_is_drawn_without_it_and_a_model_is_trained() -> None:
    assert run_without(PAGES) == ""


def test_what_asks_for_it_is_found() -> None:
    asking = """
try:
    import viz_core.training.corpus.lexicon
except ModuleNotFoundError:
    pass
"""
    assert run_without(asking) == "viz_core.training.corpus"
