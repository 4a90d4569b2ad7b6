"""Every text that the app shows is a message: in a language that nobody speaks, no plain word is left."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ui.pseudo import STATES, catalogue, data, plain_words, pseudo
from viz_core.messages import LANGUAGE_ENV
from viz_core.presets.concepts import CONCEPTS, DOCUMENT_ERRORS
from viz_core.training.interactive.measurement import load_measurement
from viz_core.training.interactive.predefined_experiments import EXPERIMENTS
from viz_core.ui.shell import PAGES

ROOT = Path(__file__).parents[2]

# Words that are the same in every language. Names of methods, layers and people:
NAMES = {"LayerNorm", "BatchNorm", "InstanceNorm", "GroupNorm", "Pre-LN", "Post-LN", "LN", "RoPE", "ALiBi", "ReLU", "GELU", "SiLU"}
NAMES |= {"Xavier", "Adam"}
# torch and its classes, and devices:
NAMES |= {"torch", "TransformerEncoder", "TransformerDecoder", "MultiheadAttention", "unsqueeze"}
NAMES |= {"cpu", "cuda", "CPU", "True", "bool"}
# symbols of formulas and of numbers:
NAMES |= {"sin", "cos", "exp", "max", "min", "std", "log", "ln", "PE", "NaN", "inf", "FLOPs", "MB", "KB", "ms", "dtype"}
# processors on which something was measured:
NAMES |= {word for name in EXPERIMENTS if (found := load_measurement(name)) is not None for word in found.machine.name.split()}
# special tokens, and formats of files:
NAMES |= {"bos", "eos", "pad", "unk", "CSV", "SVG"}
# Stages, whose names are code, without the path that the title of a matrix leaves out:
LEAVES = {"loss", "scores", "weights"}


def test_every_page_is_walked() -> None:
    assert set(STATES) == set(PAGES)


def test_pseudo_keeps_what_is_no_text() -> None:
    message = "## The {layer:,} of `x_y` is $\\frac{a}{b}$ <b>now</b>"
    assert pseudo(message) == "## ⟦Ťḥé {layer:,} óḟ `x_y` íś $\\frac{a}{b}$ <b>ńóẃ</b>⟧"
    assert plain_words(pseudo("The heads of layer {layer}").format(layer=3), []) == []


def test_plain_words_are_noticed() -> None:
    assert plain_words("⟦Ťḥé⟧ heads of `x` in <b class='no'>bold</b> and d_model", []) == ["heads", "of", "in", "bold", "and"]
    assert plain_words('<th title="a reason">Encoder blocks</th> &lt;bos&gt;', ["Encoder blocks"]) == ["reason"]


def test_dictionary_words_are_data_only_at_their_word() -> None:
    assert plain_words("动物 (animal) <bdi>动物</bdi><small style='x'>animal</small>", []) == []
    assert plain_words("动物 animal (an animal)", []) == ["animal", "an", "animal"]


@pytest.fixture(scope="module")
def language(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("language") / "pseudo.po"
    catalogue(file)
    return file


@pytest.mark.slow
@pytest.mark.parametrize("pages", [list(STATES)[::2], list(STATES)[1::2]], ids=" ".join)
def test_only_messages_are_shown(pages: list[str], language: Path, tmp_path: Path) -> None:
    """Each page opens in every state of `STATES` for two visitors at once, one of whom reads the pseudo-language and one English.

    To the one it shows no plain word, to the other no word of the pseudo-language.
    """
    file = tmp_path / "shown.jsonl"
    walk = subprocess.run([sys.executable, "-m", "tests.ui.pseudo", str(file), *pages], cwd=ROOT, capture_output=True, text=True,
                          env=os.environ | {LANGUAGE_ENV: str(language)}, check=False)
    assert walk.returncode == 0, walk.stdout[-3000:] + walk.stderr[-3000:]
    read = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    english = [entry for code, *entry in read if code == "en"]
    foreign = [f"{state} | {where} | {text[:100]!r}" for state, where, text in english if "⟦" in text or "⟧" in text]
    assert not foreign, "\n".join(foreign)
    shown = [entry for code, *entry in read if code != "en"]
    assert len(english) > 0.9 * len(shown)
    opened = {state for state, _, _ in shown}
    for page in pages:
        assert len({state for state in opened if state.split()[0] == page}) == len(STATES[page])
    assert len(shown) > 50 * len(pages)
    if "documents" in pages:
        everything = "".join(text for _, _, text in shown)
        for text in (*(c.text for c in CONCEPTS), *(f.correction for f in DOCUMENT_ERRORS)):
            assert str(text) not in everything
    known, found = data(), dict[str, str]()
    plain = {text: plain_words(text, known) for text in {text for _, _, text in shown}}  # most stand in many states
    for state, where, text in shown:
        for word in plain[text]:
            if word not in NAMES and not (word in LEAVES and where.endswith("panels.title")):
                found.setdefault(word, f"{state} | {where} | {text[:100]!r}")
    assert not found, "\n".join(f"{word}: {place}" for word, place in found.items())
