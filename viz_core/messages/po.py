"""Read and write catalogues in the format of GNU gettext (.po).

Supports what the app uses: messages, plurals, locations, comments and "fuzzy". Entries with a context (msgctxt), fuzzy and obsolete
entries are not used as translations.
"""

import ast
import gettext
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

ENGLISH_PLURAL_RULE = "(n != 1)"  # English: one form for 1, one for every other number
HEADER = "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=%s;\n"
KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)?\s*(".*")$')


@dataclass(frozen=True, slots=True)
class Entry:
    """One message: the English text, the English plural (None for a message without a number), and the forms of the translation.

    locations: "file:line" of each use. is_format: whether it has fields. is_active: false for a fuzzy entry, which is not used.
    """

    message: str
    plural: str | None = None
    forms: tuple[str, ...] = ()
    locations: tuple[str, ...] = ()
    is_format: bool = False
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class MessageCatalogue:
    """The translations of one language. forms: {English: forms}. rule: gettext's expression for the index of the form for n."""

    code: str
    forms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rule: str = ENGLISH_PLURAL_RULE

    def gettext(self, message: str) -> str:
        """Return the translation of a message."""
        return self.forms[message][0] if message in self.forms else message

    def ngettext(self, singular: str, plural: str, n: int) -> str:
        """Return the translation of a message in the form for the number n."""
        if singular not in self.forms:
            return singular if n == 1 else plural
        form: int = gettext.c2py(self.rule)(n)
        return self.forms[singular][form]


def build_catalogue(code: str, entries: Iterable[Entry]) -> tuple[MessageCatalogue, list[str]]:
    """Return the catalogue of the entries of a file, and a sentence on each entry that cannot be used and stays English."""
    forms, faults, rule, count = {}, [], ENGLISH_PLURAL_RULE, 2
    for entry in entries:
        if not entry.message:
            rule, count = plural_rule(entry.forms[0])
        elif entry.is_active and entry.forms and all(entry.forms):
            if fault := form_error(entry, count):
                faults.append(f"the translation of {entry.message!r} {fault}, so it is shown in English")
            else:
                forms[entry.message] = entry.forms
    return MessageCatalogue(code, forms, rule), faults


def form_error(entry: Entry, count: int) -> str:
    """Return why a translation cannot be used (wrong fields or number of forms); "" if it can."""
    if entry.plural is not None and len(entry.forms) != count:
        return f"has {len(entry.forms)} forms, not {count}"
    allowed = format_fields(entry.message) | format_fields(entry.plural or "")
    for form in entry.forms:
        has = format_fields(form)
        if has != allowed and not (entry.plural is not None and has <= allowed):  # "one token" needs no field
            return f"has the fields {' '.join(sorted(has)) or 'none'}, not {' '.join(sorted(allowed)) or 'none'}"
    return ""


def format_fields(template: str) -> frozenset[str]:
    """Return the fields of a template as written: {"{layer}", "{n:,}"}. A text that is no valid template has none."""
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError:
        return frozenset()
    named = [(name, f"!{how}" if how else "", f":{spec}" if spec else "") for _, name, spec, how in parts if name is not None]
    return frozenset(f"{{{name}{how}{spec}}}" for name, how, spec in named)


def plural_rule(header: str) -> tuple[str, int]:
    """Return the plural rule and the number of forms. Raises `ValueError` for a rule that gettext cannot parse."""
    found = re.search(r"nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;\n]+)", header)
    if found is None:
        return ENGLISH_PLURAL_RULE, 2
    gettext.c2py(found[2])
    return found[2].strip(), int(found[1])


# ---------------------------------------------------------------- reading and writing


def read_po(text: str) -> Iterator[Entry]:
    """Yield the entries of a file, first its header (the message ""). Raises `ValueError` for a line that cannot be parsed."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate([*text.removeprefix("\ufeff").splitlines(), ""], 1):
        starts = line.startswith("#") and any(not kept.startswith("#") for _, kept in block)
        if block and (starts or not line.strip()):
            yield from _entry(block)
            block = []
        if line.strip() and not line.startswith("#~"):
            block.append((number, line.strip()))


def _entry(block: Sequence[tuple[int, str]]) -> Iterator[Entry]:
    parts: dict[str, str] = {}
    flags, places, keyword = "", [], ""
    for number, line in block:
        if line.startswith("#"):
            flags += line if line.startswith("#,") else ""
            places += line[2:].split() if line.startswith("#:") else []
            continue
        found = KEYWORD.match(line)
        if found is None or not (found[1] or keyword):
            raise ValueError(f"line {number} of the catalogue is not valid in a .po file: {line[:80]}")
        keyword = found[1] or keyword
        try:
            parts[keyword] = parts.get(keyword, "") + ast.literal_eval(found[2])
        except SyntaxError as error:
            raise ValueError(f"line {number} of the catalogue is not a quoted text: {line[:80]}") from error
    if "msgid" in parts:
        forms = tuple(parts[name] for name in sorted(parts) if name.startswith("msgstr"))
        live = "fuzzy" not in flags and "msgctxt" not in parts
        yield Entry(parts["msgid"], parts.get("msgid_plural"), forms, tuple(places), "brace-format" in flags, live)


def write_po(
    entries: Iterable[Entry], header: str = HEADER % ENGLISH_PLURAL_RULE, obsolete_entries: Iterable[Entry] = (), old_text: str = ""
) -> str:
    """Return a file with these entries. `obsolete_entries`, and those in `old_text`, are kept as comments, as in gettext."""
    obsolete = ["\n".join(f"#~ {line}" for line in _format_entry(replace(e, locations=())).splitlines()) for e in obsolete_entries]
    obsolete = [block for block in old_text.split("\n\n") if block.startswith("#~")] + obsolete
    return (
        "\n\n".join(block.strip() for block in [_format_entry(Entry("", forms=(header,))), *map(_format_entry, entries), *obsolete])
        + "\n"
    )


def _format_entry(entry: Entry) -> str:
    lines = [f"#: {place}" for place in entry.locations]
    flags = [name for name, on in (("fuzzy", not entry.is_active), ("python-brace-format", entry.is_format)) if on]
    lines += [f"#, {', '.join(flags)}"] if flags else []
    lines.append(f"msgid {_quoted(entry.message)}")
    if entry.plural is None:
        lines.append(f"msgstr {_quoted((*entry.forms, '')[0])}")
    else:
        lines.append(f"msgid_plural {_quoted(entry.plural)}")
        lines += [f"msgstr[{i}] {_quoted(form)}" for i, form in enumerate(entry.forms or ("", ""))]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    marks: dict[str, Any] = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(marks.get(c, c) for c in text) + '"'
