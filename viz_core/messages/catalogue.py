"""Catalogues: files in the format of GNU gettext (.po), read through Babel and compiled for the standard library's gettext."""

import gettext
import json
import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from babel.messages.catalog import Message

ENGLISH_PLURAL_RULE = "(n != 1)"  # English: one form for 1, one for every other number
# A call of `_` or `plural` in a component's script, with its messages where they are literals.
SCRIPT_CALL = re.compile(r"(?<![\w.$])(_|plural)\(\s*(?:(\"(?:[^\"\\]|\\.)*\")(?:\s*,\s*(\"(?:[^\"\\]|\\.)*\"))?)?")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The translations of one language.

    translations: messages without a translation stay English. forms: {English: forms} of each translated message, for scripts.
    rule: gettext's expression for the index of the form for a number n. problems: a sentence on each translation that cannot be
    used.
    """

    translations: gettext.NullTranslations = field(default_factory=gettext.NullTranslations)
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rule: str = ENGLISH_PLURAL_RULE
    problems: tuple[str, ...] = ()

    def forms_in_script(self, script: str) -> dict[str, tuple[str, ...]]:
        """Return the translations of the messages of a script, {message: forms}."""
        messages = {json.loads(call[2]) for call in SCRIPT_CALL.finditer(script) if call[2]} if self.forms else set()
        return {message: self.forms[message] for message in sorted(messages & self.forms.keys())}


def read_catalogue(file: Path) -> Catalogue:
    """Return the catalogue of a .po file. Fuzzy entries, and those whose fields differ from the English text, are left out.

    Raises ValueError, with a sentence, for a file that is no catalogue.
    """
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import PoFileError, read_po

    try:
        catalog = read_po(BytesIO(file.read_bytes()), abort_invalid=True)
        problems = []
        for entry in catalog:
            if fault := translation_error(entry, catalog.num_plurals):
                problems.append(f"the translation of {message_id(entry)!r} {fault}, so it is shown in English")
            if fault or not all(_forms(entry)):
                entry.string = ""
        compiled = BytesIO()
        write_mo(compiled, catalog)
        compiled.seek(0)
        translations = gettext.GNUTranslations(compiled)
    except (PoFileError, UnicodeError, ValueError) as error:
        raise ValueError(f"{file.name} is not a catalogue in the format of gettext: {error}") from error
    forms = {message_id(entry): _forms(entry) for entry in catalog if entry.id and entry.string and not entry.fuzzy}
    return Catalogue(translations, forms, catalog.plural_expr, tuple(problems))


def message_id(entry: "Message") -> str:
    """Return the English text of an entry, in the singular."""
    return entry.id if isinstance(entry.id, str) else entry.id[0]


def _forms(entry: "Message") -> tuple[str, ...]:
    return (entry.string,) if isinstance(entry.string, str) else tuple(entry.string or ("",))


def translation_error(entry: "Message", form_count: int) -> str:
    """Return why a translation cannot be used (wrong fields or number of forms); "" if it can, or if there is none."""
    forms = [form for form in _forms(entry) if form]
    if not entry.id or entry.fuzzy or not forms:
        return ""
    if entry.pluralizable and len(forms) != form_count:
        return f"has {len(forms)} forms, not {form_count}"
    allowed = frozenset[str]().union(*map(format_fields, [entry.id] if isinstance(entry.id, str) else entry.id))
    for form in forms:
        has = format_fields(form)
        if has != allowed and not (entry.pluralizable and has <= allowed):  # "one token" needs no field
            return f"has the fields {' '.join(sorted(has)) or 'none'}, not {' '.join(sorted(allowed)) or 'none'}"
    return ""


def format_fields(template: str) -> frozenset[str]:
    """Return the fields of a template as written: {"{layer}", "{n:,}"}. A text that is no valid template has none."""
    return frozenset(f"{{{name}{conversion}{spec}}}" for name, conversion, spec in _parse(template))


def field_names(template: str) -> frozenset[str]:
    """Return the names of the values that a template needs: {"layer", "n"}."""
    return frozenset(re.split(r"[.\[]", name)[0] for name, _, _ in _parse(template))


def _parse(template: str) -> Iterator[tuple[str, str, str]]:
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError:
        return
    for _, name, spec, conversion in parts:
        if name is not None:
            yield name, f"!{conversion}" if conversion else "", f":{spec}" if spec else ""
