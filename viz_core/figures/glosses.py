"""Glosses: the dictionary words of tokens in another language, for readers who do not know it."""

import html
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from viz_core.analysis.run_alignment import LABEL_SEPARATOR
from viz_core.analysis.token_rows import NEXT_TOKEN_ARROW
from viz_core.text import bidi_isolated, display_token, in_quotes

GLOSS_STYLE = "display:block;font-size:11px;line-height:1.2;opacity:.8"  # style of a gloss below its word
NO_GLOSSES: Mapping[str, str] = MappingProxyType({})
# A run of Chinese characters with the punctuation in it.
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
CHINESE = re.compile(f"[{_HAN}][{_HAN}。，！？]*")
KANA = re.compile(r"[\u3040-\u30ff]")
_SEPARATORS = re.compile(f"({re.escape(NEXT_TOKEN_ARROW)}|{re.escape(LABEL_SEPARATOR)})")


def gloss(label: str, glosses: Mapping[str, str]) -> str:
    """Return the gloss of a label: "animal" for 动物, "because → animal" for 因为 → 动物, "" if no part has one.

    glosses: word → dictionary words. A part of the label without a gloss, such as a name, is kept.
    """
    if label in glosses or " " not in label:  # fast path: labels may be a whole vocabulary
        return glosses.get(label, "")
    parts = _SEPARATORS.split(label)
    return "".join(glosses.get(part, part) for part in parts) if any(part in glosses for part in parts) else ""


def glosses_of(labels: Iterable[str], glosses: Mapping[str, str]) -> dict[str, str]:
    """Return the gloss of each label that has one, by label."""
    return {label: meaning for label in labels if (meaning := gloss(label, glosses))} if glosses else {}


def with_gloss(label: str, glosses: Mapping[str, str]) -> str:
    """Return the label followed by its gloss, "动物 (animal)"; a label without a gloss is unchanged."""
    meaning = gloss(label, glosses)
    return f"{bidi_isolated(label)} ({meaning})" if meaning else label


def chinese_html(text: str) -> str:
    """Return text as HTML: escaped, with its Chinese parts marked as such, for screen readers, fonts and translations.

    Text with kana is Japanese, and unmarked.
    """
    escaped = html.escape(text)
    return escaped if KANA.search(text) else CHINESE.sub(r'<span lang="zh" translate="no">\g<0></span>', escaped)


def quoted_token(token: str, glosses: Mapping[str, str] = NO_GLOSSES) -> str:
    """Return a token for use in a sentence, as plain text: displayed, in quotes, with its gloss: “动物 (animal)”."""
    return in_quotes(with_gloss(display_token(token), glosses))


def glossed_words_html(words: Iterable[str], glosses: Mapping[str, str]) -> str:
    """Return HTML: a line of words, each with its gloss below it in smaller type. Text is escaped."""
    return " ".join(_word_html(html.escape(word), html.escape(gloss(word, glosses))) for word in words)


def _word_html(word: str, said: str) -> str:
    """Return a word and its gloss in an inline block, so that a line break does not separate them."""
    below = f'<small style="{GLOSS_STYLE}">{said}</small>' if said else ""
    box = "display:inline-block;vertical-align:top;text-align:center;margin-right:5px"
    return f'<span style="{box}"><bdi>{word}</bdi>{below}</span>'
