"""All messages are found, and every call can be collected."""

import ast
import io
import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po as babel_reads

from viz_core.messages.collect import ROOT, collect, collection_errors, message_parameters, messages_in_python, messages_in_script
from viz_core.messages.po import Entry, write_po
from viz_core.presets import PRESETS
from viz_core.presets.concepts import CONCEPTS, DOCUMENT_ERRORS

SOURCES = sorted(path for folder in ("viz_core", "pages") for path in (ROOT / folder).rglob("*.py"))


def read(source: str) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
    tree = ast.parse(source)
    found = messages_in_python(tree, "a.py", dict(message_parameters(tree)))
    return found.entries, found.errors


def test_every_message_of_the_app_can_be_collected() -> None:
    assert collection_errors() == []


def test_collecting_twice_gives_the_same() -> None:
    first = write_po(collect())
    collect.__globals__["_files"].cache_clear()
    assert write_po(collect()) == first


def test_babel_reads_the_template() -> None:
    catalog = babel_reads(io.BytesIO(write_po(collect()).encode()))
    assert {m.id if isinstance(m.id, str) else m.id[0] for m in catalog if m.id} == {e.message for e in collect()}


def test_every_place_is_one() -> None:
    for entry in collect():
        for place in entry.locations:
            file, _, line = place.rpartition(":")
            assert 1 <= int(line) <= len((ROOT / file).read_text("utf-8").splitlines())


def test_tables_are_collected() -> None:
    known = {entry.message for entry in collect()}
    for concept in CONCEPTS:
        assert {concept.text, concept.link.takeaway} <= known
    for fault in DOCUMENT_ERRORS:
        assert {fault.printed_text, fault.correction} <= known
    for preset in PRESETS.values():
        assert {preset.summary, preset.document.english_heading} <= known
        assert {text for row in preset.rows for text in (row.value, row.why)} <= known


def test_each_kind_of_call() -> None:
    entries, wrong = read(
        "@translating\n"
        "class Row:\n"
        "    name: str\n"
        "    why: Message\n"
        "def make(number: int, **rows: tuple[Message, int, Message]) -> None: ...\n"
        "_('plain')\n"
        "_('layer {layer}', layer=1)\n"
        "plural('{n} token', '{n} tokens', 3)\n"
        "Row('a name', 'a reason')\n"
        "Row(name='b', why='another' if x else 'a third')\n"
        "make(3, first=('value', 2, 'why not'))\n"
    )
    assert wrong == ()
    assert [(e.message, e.plural, e.is_format) for e in entries] == [
        ("plain", None, False), ("layer {layer}", None, True), ("{n} token", "{n} tokens", False), ("a reason", None, False),
        ("another", None, False), ("a third", None, False), ("value", None, False), ("why not", None, False),
    ]
    assert [e.locations for e in entries][:2] == [("a.py:6",), ("a.py:7",)]


@pytest.mark.parametrize(("call", "said"), [
    ("_(f'layer {layer}')", "not a literal"),
    ("_(TITLES[name])", "not a literal"),
    ("plural('one', many, 3)", "not a literal"),
    ("_('layer {layer}', head=1)", r"fields \['layer'\], and the call gives \['head'\]"),
    ("_('layer {layer} {head}', layer=1)", "and the call gives"),
    ("plural('{n} of {all}', '{n} of {all}', 3)", "and the call gives"),
    ("_('layer {layer}', **values)", r"come as \*\*"),
])
def test_what_cannot_be_collected_is_named(call: str, said: str) -> None:
    __, wrong = read(f"x = 1\n{call}\n")
    assert len(wrong) == 1 and wrong[0].startswith("a.py:2: ") and re.search(said, wrong[0])


def test_scripts_are_collected() -> None:
    source = 'a(_("Play"));\nb = plural("{n} stage", "{n} stages", all); $_("no"); (_, i) => i;\n_("a \\"b\\"", {x})'
    found = messages_in_script(source, "a.js")
    assert [(e.message, e.plural, e.locations) for e in found.entries] == [
        ("Play", None, ("a.js:1",)), ("{n} stage", "{n} stages", ("a.js:2",)), ('a "b"', None, ("a.js:3",)),
    ]
    assert messages_in_script("_(title)", "a.js").errors == ("a.js:1: the message of _(…) is not a literal",)
    in_scripts = {place.split(":")[0] for entry in collect() for place in entry.locations if ".js:" in place}
    assert {Path(name).stem for name in in_scripts} >= {"figure", "clock", "curves", "heads", "lines", "scrubber", "table"}


def test_no_module_that_translates_assigns_the_name() -> None:
    """`for _ in …` would hide the function, and only where a message is shown would anyone notice."""
    wrong = []
    for path in SOURCES:
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        if any(a.asname == "_" for n in nodes if isinstance(n, ast.ImportFrom) for a in n.names):
            wrong += [f"{path}:{n.lineno}" for n in nodes
                      if isinstance(n, ast.Name) and n.id == "_" and not isinstance(n.ctx, ast.Load)]
    assert not wrong
