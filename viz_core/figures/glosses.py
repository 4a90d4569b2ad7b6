"""Dictionary words of the tokens of another language, so that a person who cannot read them can read the pictures."""

import html
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from viz_core.analysis.rows import ARROW
from viz_core.analysis.two_runs import EITHER
from viz_core.text import in_quotes, isolated, visible

SMALL = "display:block;font-size:11px;line-height:1.2;opacity:.8"  # the style of a dictionary word below its word
NO_GLOSSES: Mapping[str, str] = MappingProxyType({})
_BETWEEN = re.compile(f"({re.escape(ARROW)}|{re.escape(EITHER)})")


def gloss(label: str, glosses: Mapping[str, str]) -> str:
    """What a label means: 动物 is "animal", 因为 → 动物 is "because → animal"; "" for a label without dictionary words.

    glosses: word → its dictionary words. A part of the label that has none, such as a name, stays as it is.
    """
    if label in glosses or " " not in label:  # the names of a whole vocabulary are asked for
        return glosses.get(label, "")
    parts = _BETWEEN.split(label)
    return "".join(glosses.get(part, part) for part in parts) if any(part in glosses for part in parts) else ""


def glosses_of(labels: Iterable[str], glosses: Mapping[str, str]) -> dict[str, str]:
    """The glosses of those labels that have one."""
    return {label: said for label in labels if (said := gloss(label, glosses))} if glosses else {}


def with_gloss(label: str, glosses: Mapping[str, str]) -> str:
    """The label with what it means behind it, "动物 (animal)"; a label without dictionary words as it is."""
    said = gloss(label, glosses)
    return f"{isolated(label)} ({said})" if said else label


def quoted(token: str, glosses: Mapping[str, str] = NO_GLOSSES) -> str:
    """A token in a sentence, as plain text: visible, in quotes, with what it means, “动物 (animal)”."""
    return in_quotes(with_gloss(visible(token), glosses))


def words_html(words: Iterable[str], glosses: Mapping[str, str]) -> str:
    """HTML: words in a line, each with its dictionary words below it in smaller type; all escaped."""
    return " ".join(_word_html(html.escape(word), html.escape(gloss(word, glosses))) for word in words)


def _word_html(word: str, said: str) -> str:
    """A box, which keeps the two together where the line breaks."""
    below = f'<small style="{SMALL}">{said}</small>' if said else ""
    box = "display:inline-block;vertical-align:top;text-align:center;margin-right:5px"
    return f'<span style="{box}"><bdi>{word}</bdi>{below}</span>'
