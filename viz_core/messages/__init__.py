"""Translation of messages: the source is English, and a catalogue holds the translations into another language.

    from viz_core.messages import plural
    from viz_core.messages import translate as _

    _("The heads of layer {layer}", layer=layer)
    plural("{n} token", "{n} tokens", n)

A catalogue is a file CODE.po in this folder, in the format of GNU gettext; `python -m viz_core.messages CODE` creates or updates
it. A server process has one language, which the environment variable `ATTENTION_LAB_LANGUAGE` sets at its start, so constants
created at import and figures shared by all visitors are in that language. For two languages, start two servers. A message
without a translation is shown in English.
"""

import logging
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from viz_core.messages.po import MessageCatalogue, build_catalogue, read_po

LANGUAGE_ENV = "ATTENTION_LAB_LANGUAGE"
"""The environment variable that sets the language: a code with a catalogue in this folder, or the path of a .po file."""

FOLDER = Path(__file__).parent

Message = Annotated[str, "an English message"]
"""The type of a field or parameter for a message. Literals passed to it are collected for translation."""

T = TypeVar("T")


def translate(message: str, /, **values: object) -> str:
    """Return the translation of a message, formatted with the values as by `str.format`. Without values, braces are kept.

    message: a literal, not an f-string or a variable, so that it can be collected.
    """
    text = _catalogue().gettext(message)
    return text.format(**values) if values else text


def plural(one: str, many: str, n: int, /, **values: object) -> str:
    """Return the translation of a message in the form for the number n, formatted with n and the values.

    one, many: the English singular and plural, as literals.
    """
    return _catalogue().ngettext(one, many, n).format(n=n, **values)


def translate_fields(cls: type[T]) -> type[T]:
    """Class decorator, below `@dataclass`, that translates the fields of type `Message` when an instance is created.

    Such texts need no `_`, and have to be literals.
    """
    names = [name for name, annotation in cls.__annotations__.items() if annotation == Message]
    original: Any = getattr(cls, "__post_init__", None)

    def __post_init__(self: Any) -> None:
        for name in names:
            object.__setattr__(self, name, translate(getattr(self, name)))
        if original is not None:
            original(self)

    cls.__post_init__ = __post_init__  # type: ignore[attr-defined]
    return cls


def language() -> str:
    """Return the code of the current language, such as "en"."""
    return _catalogue().code


def language_problem() -> str | None:
    """Return a sentence on what is wrong with the language setting; None if it is valid."""
    setting = os.environ.get(LANGUAGE_ENV, "").strip()
    if setting in ("", "en") or _catalogue_file(setting).is_file():
        return None
    offered = ", ".join(sorted(["en", *(path.stem for path in FOLDER.glob("*.po"))]))
    return (
        f"{LANGUAGE_ENV} is {setting[:80]!r}; give one of {offered}, or the path of a .po file. Until then the language is English."
    )


def browser_translations(messages: Iterable[str]) -> tuple[dict[str, tuple[str, ...]], str]:
    """Return the translations for a script in the browser: {message: forms}, and the plural rule.

    The rule is an expression for the index of the form for a number n, valid in gettext, C and JavaScript.
    """
    catalogue = _catalogue()
    return {m: catalogue.forms[m] for m in messages if m in catalogue.forms}, catalogue.rule


def _catalogue_file(setting: str) -> Path:
    return Path(setting) if setting.endswith(".po") else FOLDER / f"{setting}.po"


@cache
def _catalogue() -> MessageCatalogue:
    """Return the catalogue of this process."""
    setting = os.environ.get(LANGUAGE_ENV, "").strip()
    if setting in ("", "en") or language_problem() is not None:
        return MessageCatalogue("en")
    file = _catalogue_file(setting)
    catalogue, errors = build_catalogue(file.stem, read_po(file.read_text("utf-8")))
    for error in errors:
        logging.getLogger(__name__).warning("%s: %s", file.name, error)
    return catalogue
