"""Unknown words that slots carry, on the pages: drawn as typed, written by the model, named in the notice.

The shipped translator has no slots yet. Here some nouns of its vocabularies are slots instead, so it translates them as it
always does: the dog chased the cat → 狗 追 了 猫 becomes the John chased the Mary → John 追 了 Mary.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.helpers import open_page, said, typed, words
from viz_core.figures.lookup import lookup
from viz_core.figures.steps import stage_panels
from viz_core.ui.shell import cache
from viz_core.ui.shell.run import lab_of
from viz_core.ui.shell.setup import Setup, with_weights
from viz_core.weights import catalogue as found

NOUNS = {"dog": "<1>", "cat": "<2>", "狗": "<1>", "猫": "<2>"}
BOTH = "the John chased the Mary"


@pytest.fixture(scope="module", autouse=True)
def slotted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The shipped checkpoints, with slots."""
    folder, shipped = tmp_path_factory.mktemp("shipped"), found.SHIPPED
    for path in shipped.glob("*.safetensors"):
        (folder / path.name).symlink_to(path)
    for path in shipped.glob("*.json"):
        (folder / path.name).write_text(json.dumps(with_slots(path)), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(found, "SHIPPED", folder)
        forget()
        yield
    forget()


def with_slots(path: Path) -> dict[str, object]:
    stored = json.loads(path.read_text("utf-8"))
    stored["vocabulary"] = {side: [NOUNS.get(word, word) for word in own] for side, own in stored["vocabulary"].items()}
    return stored


def forget() -> None:
    found._found.cache_clear()
    found.catalogue.cache_clear()
    cache.store.clear()


def test_the_model_writes_the_names_of_its_sentence() -> None:
    at = open_page("home", source=BOTH, glosses="off")
    assert "**Translation:** John 追 了 Mary" in words(at) and typed(at, "target") == "John 追 了 Mary"
    assert "carries them over as they are: ` John `, ` Mary `." in said(at)
    assert "reads each as" not in said(at)


def test_each_sentence_keeps_its_own_names() -> None:
    """Their ids are the same, so what is stored for one may not be shown for another."""
    for one, other in (("John", "Mary"), ("Mary", "John"), ("Zoe", "Max")):
        at = open_page("home", source=f"the {one} chased the {other}", glosses="off")
        assert f"**Translation:** {one} 追 了 {other}" in words(at)
    at = open_page("home", source="the Ann chased the Bob\nthe Cy chased the Ann")
    assert typed(at, "target") == "Ann 追 了 Bob\nCy 追 了 Ann"


def test_what_becomes_of_words_without_a_slot_is_said_too() -> None:
    at = open_page("home", source="the John chased the Mary and the Zoe (")
    assert "reads each as `<unk>`: ` Zoe `, ` ( `." in said(at)
    assert "In each sentence it can carry over 2 different words" in said(at)


@pytest.mark.parametrize("name", ["$x$y", "<s>", "😀", "**b**", "\u202eabc", "[a](b)", "&lt;"])
def test_a_name_is_escaped(name: str) -> None:
    at = open_page("home", source=f"the {name} chased the cat")
    assert not at.exception and not any("<s>" in block.value for block in at.markdown if "Translation" in block.value)
    assert not any("\u202e" in block.value for block in at.markdown)


def lab_at(source: str, **more: object) -> Setup:
    return replace(with_weights(Setup(), "translator"), source=source, **more)  # type: ignore[arg-type]


def test_every_axis_shows_the_word_as_typed() -> None:
    lab = lab_of(lab_at(f"{BOTH}\nthe Zoe chased the John"))
    assert lab.capture is not None
    for item, (one, two) in enumerate([("John", "Mary"), ("Zoe", "John")]):
        named = lab.named(item)
        assert lab.capture.tokens("labels")[item] == [one, "追", "了", two, "<eos>"]
        (axis,) = [p.cols for p in stage_panels(lab.capture, "probs", item, 0, named) if p.col_letter == "W"][-1:]
        ids = lab.capture["ids.labels"][item]
        assert axis is not None and [axis[int(id)] for id in (ids[0], ids[3])] == [one, two]
        assert [lab.word("target", int(id), item) for id in (ids[0], ids[3])] == [one, two]
        best = [lab.word("target", int(id), item) for id in lab.capture["probs"][item].argmax(axis=-1)]
        assert best == [one, "追", "了", two, "<eos>"]
        rows = lookup(lab.capture, "ids.source", item, named)
        assert rows is not None and {f"slot 1: {one}", f"slot 2: {two}"} <= {row.words[0] for row in rows.rows}


def test_taken_over_as_typed_text_it_is_the_same_run() -> None:
    written, again = lab_of(lab_at(BOTH)), lab_of(lab_at(BOTH, writer="typed", target="John 追 了 mary"))
    assert written.capture is not None and again.capture is not None
    assert (written.capture["ids.labels"] == again.capture["ids.labels"]).all()
    assert again.capture.tokens("labels")[0][3] == "mary"


@pytest.mark.parametrize("page", ["attention", "step_by_step", "masks", "positions"])
def test_the_pages_open(page: str) -> None:
    at: AppTest = open_page(page, source=BOTH)
    assert not at.exception
