"""What is shown in another language, and what happens where a catalogue is wrong."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, dataclass, replace
from pathlib import Path

import pytest

from viz_core import messages as module
from viz_core.figures.assets import component_script, script
from viz_core.messages import (
    LANGUAGE_ENV,
    Message,
    browser_translations,
    language,
    language_problem,
    plural,
    translate,
    translate_fields,
)
from viz_core.messages.__main__ import update_catalogue
from viz_core.messages.collect import collect
from viz_core.messages.po import Entry, read_po, write_po

Speak = Callable[..., None]


@pytest.fixture
def speak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Speak]:
    """`speak(Entry(…), …)`: from now on the language is that of these entries."""

    def speak(*entries: Entry, header: str = "Plural-Forms: nplurals=2; plural=(n > 1);\n") -> None:
        file = tmp_path / "xx.po"
        file.write_text(write_po(entries, header), "utf-8")
        monkeypatch.setenv(LANGUAGE_ENV, str(file))
        module._catalogue.cache_clear()
        script.cache_clear()

    yield speak
    monkeypatch.undo()
    module._catalogue.cache_clear()
    script.cache_clear()


def test_a_message_is_translated_and_filled_in(speak: Speak) -> None:
    speak(Entry("The heads of layer {layer}", forms=("Schicht {layer}: die Köpfe",)))
    assert translate("The heads of layer {layer}", layer=3) == "Schicht 3: die Köpfe"
    assert translate("another {x:.1f}", x=0.25) == "another 0.2"
    assert language() == "xx"


def test_without_values_braces_are_text() -> None:
    assert translate(r"$\frac{a}{b}$ {x}") == r"$\frac{a}{b}$ {x}"
    assert translate("") == ""


def test_a_typed_text_is_not_a_template() -> None:
    assert translate("You typed {text}", text="{layer} {0}") == "You typed {layer} {0}"


def test_each_language_counts_in_its_way(speak: Speak) -> None:
    assert [plural("{n} token", "{n:,} tokens", n) for n in (0, 1, 2000)] == ["0 tokens", "1 token", "2,000 tokens"]
    speak(Entry("{n} of {all} token", "{n} of {all} tokens", ("{n} von {all} Token", "{n} von {all} Tokens")))
    assert [plural("{n} of {all} token", "{n} of {all} tokens", n, all=9) for n in (0, 2)] == ["0 von 9 Token", "2 von 9 Tokens"]


def test_a_record_translates_its_messages(speak: Speak) -> None:
    @dataclass(frozen=True, slots=True)
    @translate_fields
    class Row:
        name: str
        why: Message
        more: Message = ""

    speak(Entry("a reason", forms=("ein Grund",)), Entry("row", forms=("Zeile",)))
    row = Row("row", "a reason")
    assert (row.name, row.why, row.more) == ("row", "ein Grund", "")
    assert replace(row, name="b").why == "ein Grund"
    with pytest.raises(FrozenInstanceError):
        row.why = "c"


def test_wrong_fields_are_logged_and_shown_in_english(speak: Speak, caplog: pytest.LogCaptureFixture) -> None:
    speak(Entry("layer {layer}", forms=("Schicht {schicht}",)), Entry("head", forms=("Kopf",)))
    with caplog.at_level(logging.WARNING):
        assert translate("layer {layer}", layer=2) == "layer 2"
    assert translate("head") == "Kopf"
    assert "{schicht}" in caplog.text and "xx.po" in caplog.text


@pytest.mark.parametrize("said", ["klingon", "../secrets", "/nowhere/de.po"])
def test_an_unknown_language_is_said_in_one_sentence(said: str, speak: Speak, monkeypatch: pytest.MonkeyPatch) -> None:
    speak()
    monkeypatch.setenv(LANGUAGE_ENV, said)
    module._catalogue.cache_clear()
    problem = language_problem()
    assert problem is not None and said in problem and LANGUAGE_ENV in problem and "en" in problem
    assert translate("head") == "head" and language() == "en"


@pytest.mark.parametrize("said", ["", "  ", "en"])
def test_english_needs_no_file(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LANGUAGE_ENV, said)
    assert language_problem() is None


def test_a_script_brings_its_translations_along(speak: Speak) -> None:
    speak(Entry("Play", forms=("</script>",)), Entry("head", forms=("Kopf",)))
    assert browser_translations(["Play", "Pause"]) == ({"Play": ("</script>",)}, "(n > 1)")
    (front,) = [line for line in component_script("clock").split("\n") if line.startswith("const WORDS")]
    assert front == 'const WORDS = { forms: {"Play": ["\\u003c/script>"]}, form: (n) => Number((n > 1)) };'


def test_a_catalogue_is_brought_up_to_date(tmp_path: Path) -> None:
    file = tmp_path / "de.po"
    known, counted = collect()[0], next(e for e in collect() if e.plural)
    header = "Plural-Forms: nplurals=1; plural=0;\n"
    file.write_text(write_po([replace(known, forms=("bekannt",)), Entry("gone", forms=("weg",))], header), "utf-8")
    assert update_catalogue(file) == f"{file}: 1 of {len(collect())} messages are translated."
    entries = {e.message: e for e in read_po(file.read_text("utf-8"))}
    assert entries[""].forms == (header,) and entries[known.message].forms == ("bekannt",) and counted.message in entries
    assert "gone" not in entries and '#~ msgid "gone"' in file.read_text("utf-8")
    before = file.read_text("utf-8")
    update_catalogue(file)
    assert file.read_text("utf-8").count('#~ msgid "gone"') == 1 and file.read_text("utf-8") == before
