"""The evaluation set of the translators: everyday English sentences with their accepted translations.

They are never used for training; the grammar excludes them.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from viz_core.text import split_words

EVAL_SET_FILE = Path(__file__).with_name("eval_set.txt")
ACCEPTED_LATER_FILE = Path(__file__).with_name("eval_set_later.txt")
FINAL_MARKS = frozenset(".?!。？！")
_LATIN = re.compile("[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class EvalSentence:
    """A sentence of the evaluation set and its accepted translations."""

    english: str
    chinese: tuple[str, ...]
    accepted_later: tuple[str, ...] = ()  # accepted after a model generated them, and counted separately

    def accepts(self, text: str, include_later: bool = False) -> bool:
        """Whether a translation is accepted. Only spaces and the final mark are ignored in the comparison."""
        return _normalized(text) in map(_normalized, (*self.chinese, *self.accepted_later) if include_later else self.chinese)

    @property
    def names(self) -> frozenset[str]:
        """The names in the sentence: the Latin words that are the same in a translation."""
        return frozenset(word for word in _LATIN.findall(self.english) if any(word in _LATIN.findall(t) for t in self.chinese))


def _normalized(text: str) -> str:
    return "".join(text.split()).rstrip("".join(FINAL_MARKS))


@cache
def eval_sentences() -> tuple[EvalSentence, ...]:
    """Return the sentences of the evaluation set, in the order of the file."""
    later = dict(_read_rows(ACCEPTED_LATER_FILE))
    return tuple(EvalSentence(english, chinese, later.get(english, ())) for english, chinese in _read_rows(EVAL_SET_FILE))


def _read_rows(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Return (English, translations) of each line of a file."""
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    return [(english, tuple(chinese)) for english, *chinese in (line.split("\t") for line in lines)]


def normalized_words(text: str) -> tuple[str, ...]:
    """Return the words of a sentence as the app tokenizes it, in lower case and without the final mark.

    >>> normalized_words("Our teacher's dog isn't here.")
    ('our', "teacher's", 'dog', "isn't", 'here')
    """
    found = [word.lower() for word in split_words(text)]
    return tuple(found[:-1] if found and found[-1] in FINAL_MARKS else found)


@cache
def eval_sentences_as_words() -> frozenset[tuple[str, ...]]:
    """Return the English sentences of the evaluation set as words."""
    return frozenset(normalized_words(sentence.english) for sentence in eval_sentences())
