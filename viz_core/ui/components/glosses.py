"""The dictionary words that every picture and sentence of a page shows beside the tokens that have one.

The shell says once in a run of the page which ones they are; components and pages read them here, so no picture has to hand
them on to the next.
"""

from collections.abc import Mapping
from contextvars import ContextVar

from viz_core.figures.glosses import quoted as with_quotes
from viz_core.figures.glosses import with_gloss
from viz_core.text import visible

_SHOWN: ContextVar[Mapping[str, str]] = ContextVar("glosses")


def show_glosses(glosses: Mapping[str, str]) -> None:
    """From here on, pictures and sentences of this run show these: word → dictionary words. An empty mapping shows none."""
    _SHOWN.set(glosses)


def shown_glosses() -> Mapping[str, str]:
    """Those of this run."""
    return _SHOWN.get({})


def labelled(label: str) -> str:
    """A label in a title, a list or a table, and what it means: "动物 (animal)". Plain text, not escaped."""
    return with_gloss(label, shown_glosses())


def named(token: str) -> str:
    """The same of a token, which is made visible."""
    return labelled(visible(token))


def quoted(token: str) -> str:
    """A token in a sentence, and what it means: “动物 (animal)”. Plain text, not escaped."""
    return with_quotes(token, shown_glosses())
