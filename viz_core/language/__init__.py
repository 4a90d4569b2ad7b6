"""The language of everything that is shown: the code says it in English, a catalogue says it in another language.

    from viz_core.language import plural
    from viz_core.language import translate as _

    _("The heads of layer {layer}", layer=layer)
    plural("{n} token", "{n} tokens", n)

A catalogue is a file CODE.po beside this one, in the format of GNU gettext; `python -m viz_core.language CODE` makes it and
brings it up to date. A server process speaks one language, which `ATTENTION_LAB_LANGUAGE` names when it starts: so constants
that are made at import, and figures that all visitors share, are in the right language without a thought. A class that needs
two languages starts two replicas. A message without a translation is shown in English.
"""

import logging
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from viz_core.language.po import Catalogue, catalogue_of, read_po

LANGUAGE = "ATTENTION_LAB_LANGUAGE"
"""The environment variable: the code of a language whose catalogue stands here, or the path of a catalogue (CODE.po)."""

FOLDER = Path(__file__).parent

Message = Annotated[str, "an English message"]
"""The type of a field or parameter that takes text to show: what is passed for it in a literal is collected."""

T = TypeVar("T")


def translate(message: str, /, **values: object) -> str:
    """The message in the chosen language, its fields filled in as by `str.format`; without values, braces are text.

    The message must be a literal, so that it can be collected: no f-string and no variable.
    """
    text = _catalogue().one(message)
    return text.format(**values) if values else text


def plural(one: str, many: str, n: int, /, **values: object) -> str:
    """The message for this number, as the chosen language counts; its fields are n and the values.

    one, many: the English for 1 and for every other number; literals.
    """
    return _catalogue().counted(one, many, n).format(n=n, **values)


def translating(cls: type[T]) -> type[T]:
    """A dataclass whose fields of type `Message` are translated when a record is made; stands below `@dataclass`.

    A table of such records needs no `_` around its texts, which must be literals.
    """
    names = [name for name, annotation in cls.__annotations__.items() if annotation == Message]
    before: Any = getattr(cls, "__post_init__", None)

    def __post_init__(self: Any) -> None:
        for name in names:
            object.__setattr__(self, name, translate(getattr(self, name)))
        if before is not None:
            before(self)

    cls.__post_init__ = __post_init__  # type: ignore[attr-defined]
    return cls


def language() -> str:
    """The code of the language that is shown, such as "en"."""
    return _catalogue().code


def language_problem() -> str | None:
    """What is wrong with the chosen language, in one sentence; None where nothing is."""
    said = os.environ.get(LANGUAGE, "").strip()
    if said in ("", "en") or _file(said).is_file():
        return None
    offered = ", ".join(sorted(["en", *(path.stem for path in FOLDER.glob("*.po"))]))
    return f"{LANGUAGE} is {said[:80]!r}; give one of {offered}, or the path of a .po file. Until then the language is English."


def translations(messages: Iterable[str]) -> tuple[dict[str, tuple[str, ...]], str]:
    """What a script in the browser translates with: {message: its forms}, and the rule for the form of a number n, in which
    gettext, C and JavaScript agree.
    """
    known = _catalogue()
    return {m: known.forms[m] for m in messages if m in known.forms}, known.rule


def _file(said: str) -> Path:
    return Path(said) if said.endswith(".po") else FOLDER / f"{said}.po"


@cache
def _catalogue() -> Catalogue:
    """The catalogue that this process uses, read once."""
    said = os.environ.get(LANGUAGE, "").strip()
    if said in ("", "en") or language_problem() is not None:
        return Catalogue("en")
    file = _file(said)
    made, faults = catalogue_of(file.stem, read_po(file.read_text("utf-8")))
    for fault in faults:
        logging.getLogger(__name__).warning("%s: %s", file.name, fault)
    return made
