"""Everyday sentences as people type them, each with the translations that are accepted: what a translator is measured on.

Nothing is trained on them: the grammar only leaves them out.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from viz_core.text import split_words

LIST = Path(__file__).with_name("everyday.txt")
LATER = Path(__file__).with_name("everyday_later.txt")
MARKS = frozenset(".?!。？！")
_LATIN = re.compile("[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Everyday:
    """A sentence and its accepted translations."""

    english: str
    chinese: tuple[str, ...]
    later: tuple[str, ...] = ()  # right ones that were accepted after a model wrote them, and so count apart

    def accepts(self, text: str, later: bool = False) -> bool:
        """Whether a translation is an accepted one, or one accepted later. Spaces and the final mark are ignored, nothing else."""
        return _bare(text) in map(_bare, (*self.chinese, *self.later) if later else self.chinese)

    @property
    def names(self) -> frozenset[str]:
        """The names in it: the words that stand in a translation as they were typed."""
        return frozenset(word for word in _LATIN.findall(self.english) if any(word in _LATIN.findall(t) for t in self.chinese))


def _bare(text: str) -> str:
    return "".join(text.split()).rstrip("".join(MARKS))


@cache
def sentences() -> tuple[Everyday, ...]:
    """The sentences of the list, in its order."""
    later = dict(_rows(LATER))
    return tuple(Everyday(english, chinese, later.get(english, ())) for english, chinese in _rows(LIST))


def _rows(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    """(English, its translations) of each line of a file."""
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    return [(english, tuple(chinese)) for english, *chinese in (line.split("\t") for line in lines)]


def words(text: str) -> tuple[str, ...]:
    """The words of a sentence as the app reads them, in small letters and without the mark at its end.

    >>> words("Our teacher's dog isn't here.")
    ('our', "teacher's", 'dog', "isn't", 'here')
    """
    found = [word.lower() for word in split_words(text)]
    return tuple(found[:-1] if found and found[-1] in MARKS else found)


@cache
def known() -> frozenset[tuple[str, ...]]:
    """The English sentences of the list as words."""
    return frozenset(words(sentence.english) for sentence in sentences())
