"""What people type is data: shown as it was typed, wherever Streamlit would read Markdown."""

import re
from collections.abc import Sequence

from viz_core.figures.glosses import gloss
from viz_core.language import translate as _
from viz_core.text import SPACE, isolated, visible
from viz_core.ui.components.glosses import shown_glosses


def code(text: str, limit: int = 120) -> str:
    """Typed text as a Markdown code span, in which nothing is markup. Control characters become visible."""
    shown = visible(text.replace("\n", "⏎")[:limit]).replace(SPACE, " ") + ("…" if len(text) > limit else "")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return isolated(f"{fence} {shown} {fence}")


def token_code(token: str, limit: int = 120) -> str:
    """A token as a code span, with what it means behind it: `动物` (animal)."""
    said = gloss(visible(token), shown_glosses())
    return code(token, limit) + (f" ({escaped(said)})" if said else "")


def words(texts: list[str], limit: int = 8) -> str:
    """Several typed words, each as a code span."""
    return ", ".join(map(code, texts[:limit])) + (" …" if len(texts) > limit else "")


def few(texts: Sequence[str], limit: int, between: str = ", ") -> str:
    """The first of several, and how many more there are: "a, b and 7 more"."""
    more = " " + _("and {n_texts:,} more", n_texts=len(texts) - limit) if len(texts) > limit else ""
    return between.join(texts[:limit]) + more


def escaped(sentence: str) -> str:
    """A sentence in which no character is markup: for messages that quote a name or a value."""
    return re.sub(r"([\\`*_\[\]<>$~]|:(?=\w))", r"\\\1", sentence.replace("\n", " "))
