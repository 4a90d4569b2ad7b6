"""The evaluation set of the translators: everyday English sentences with their accepted translations.

They are never used for training; the grammar excludes them.
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
    """A sentence of the evaluation set and its accepted translations."""

    english: str
    chinese: tuple[str, ...]
    later: tuple[str, ...] = ()  # accepted after a model generated them, and counted separately

    def accepts(self, text: str, later: bool = False) -> bool:
        """Whether a translation is accepted. Only spaces and the final mark are ignored in the comparison."""
        return _bare(text) in map(_bare, (*self.chinese, *self.later) if later else self.chinese)

    @property
    def names(self) -> frozenset[str]:
        """The names in the sentence: the Latin words that are the same in a translation."""
        return frozenset(word for word in _LATIN.findall(self.english) if any(word in _LATIN.findall(t) for t in self.chinese))


def _bare(text: str) -> str:
    return "".join(text.split()).rstrip("".join(MARKS))


@cache
def sentences() -> tuple[Everyday, ...]:
    """Return the sentences of the evaluation set, in the order of the file."""
    later = dict(_rows(LATER))
    return tuple(Everyday(english, chinese, later.get(english, ())) for english, chinese in _rows(LIST))


def _rows(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Return (English, translations) of each line of a file."""
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    return [(english, tuple(chinese)) for english, *chinese in (line.split("\t") for line in lines)]


def words(text: str) -> tuple[str, ...]:
    """Return the words of a sentence as the app tokenizes it, in lower case and without the final mark.

    >>> words("Our teacher's dog isn't here.")
    ('our', "teacher's", 'dog', "isn't", 'here')
    """
    found = [word.lower() for word in split_words(text)]
    return tuple(found[:-1] if found and found[-1] in MARKS else found)


@cache
def known() -> frozenset[tuple[str, ...]]:
    """Return the English sentences of the evaluation set as words."""
    return frozenset(words(sentence.english) for sentence in sentences())
