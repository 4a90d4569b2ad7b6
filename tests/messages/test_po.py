"""Catalogues as files, compared with Babel, which reads and writes the same format independently."""

import io

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po as babel_reads
from babel.messages.pofile import write_po as babel_writes

from viz_core.messages.po import Entry, MessageCatalogue, build_catalogue, format_fields, plural_rule, read_po, write_po

ENTRIES = [
    Entry("Head", forms=("Kopf",), locations=("viz_core/a.py:3", "viz_core/b.py:5")),
    Entry('A "quoted" text\nof two lines\twith \\frac{a}{b}', forms=('Ein "Text"\nmit \\frac{a}{b}\t…',)),
    Entry("The heads of layer {layer}", forms=("Die Köpfe der Schicht {layer}",), is_format=True),
    Entry("{n} token", "{n} tokens", ("{n} Token", "{n} Tokens"), is_format=True),
    Entry("not yet", forms=("",)),
]


def test_babel_reads_what_is_written() -> None:
    catalog = babel_reads(io.BytesIO(write_po(ENTRIES).encode()))
    for entry in ENTRIES:
        found = catalog.get(entry.message)
        assert found is not None
        strings = found.string if isinstance(found.string, tuple) else (found.string,)
        assert strings == entry.forms
        assert [f"{file}:{line}" for file, line in found.locations] == list(entry.locations)
        assert "python-brace-format" in found.flags or not entry.is_format  # Babel guesses it for others, too
    assert len(catalog) == len(ENTRIES)


def test_what_babel_writes_is_read() -> None:
    catalog = Catalog(locale="pl")
    catalog.add("a \"long\"\ntext", "\\ x " * 50, auto_comments=["a comment"])
    catalog.add(("{n} head", "{n} heads"), ("{n} głowa", "{n} głowy", "{n} głów"), flags=["python-brace-format"])
    catalog.add("an old guess", "stary", flags=["fuzzy"])
    file = io.BytesIO()
    babel_writes(file, catalog, width=60)
    made, faults = build_catalogue("pl", read_po(file.getvalue().decode()))
    assert faults == []
    assert made.forms == {"a \"long\"\ntext": ("\\ x " * 50,), "{n} head": ("{n} głowa", "{n} głowy", "{n} głów")}
    assert [made.ngettext("{n} head", "{n} heads", n)[4:] for n in (1, 2, 5, 12, 22)] == ["głowa", "głowy", "głów", "głów", "głowy"]


def test_what_is_written_is_read_again() -> None:
    header, *entries = read_po(write_po(ENTRIES))
    assert header.message == "" and entries == ENTRIES
    assert plural_rule(header.forms[0]) == ("(n != 1)", 2)


def test_left_over_translations_are_comments() -> None:
    written = write_po(ENTRIES[:1], obsolete_entries=ENTRIES[3:4])
    assert '#~ msgid "{n} token"' in written
    assert [e.message for e in read_po(written)] == ["", "Head"]


def test_fields_are_what_format_fills_in() -> None:
    assert format_fields("{layer} {n:,} {x!r:>4} {layer}") == {"{layer}", "{n:,}", "{x!r:>4}"}
    assert format_fields("{{no field}} 100%") == frozenset()
    assert format_fields(r"$\frac{$") == frozenset()


@pytest.mark.parametrize(("entry", "said"), [
    (Entry("layer {layer}", forms=("Schicht {schicht}",)), "{schicht}"),
    (Entry("layer {layer}", forms=("Schicht",)), "none"),
    (Entry("layer {layer:,}", forms=("Schicht {layer}",)), "{layer}"),
    (Entry("a text", forms=("Text {text}",)), "{text}"),
    (Entry("{n} token", "{n} tokens", ("{n} Token",)), "1 forms, not 2"),
])
def test_a_translation_with_other_fields_is_not_used(entry: Entry, said: str) -> None:
    made, faults = build_catalogue("de", [entry])
    assert made == MessageCatalogue("de") and len(faults) == 1 and said in faults[0] and entry.message in faults[0]


def test_a_form_for_one_needs_no_number() -> None:
    entry = Entry("{n} token", "{n} tokens", ("ein Token", "{n} Tokens"))
    made, faults = build_catalogue("de", [entry])
    assert faults == [] and made.ngettext("{n} token", "{n} tokens", 1) == "ein Token"


def test_without_a_translation_english_counts() -> None:
    assert [MessageCatalogue("en").ngettext("one", "many", n) for n in (0, 1, 2)] == ["many", "one", "many"]


@pytest.mark.parametrize(
    "text", ['msgid "a"\nmsgstr "b', 'msgid "a"\nsomething else', '"a text of nothing"', 'msgid "a"\nmsgstr "\\x"']
)
def test_a_line_that_is_none_of_the_format_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"line [12] of the catalogue"):
        list(read_po(text))


def test_a_rule_that_is_no_expression_of_n_is_refused() -> None:
    with pytest.raises(ValueError):
        plural_rule("Plural-Forms: nplurals=2; plural=__import__('os');")
