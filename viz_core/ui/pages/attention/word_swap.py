"""A pair of example sentences that differ in one word: what changes when that word is replaced?"""

from dataclasses import dataclass

from viz_core.text import split_words
from viz_core.ui.shell.setup import Setup, sentences


@dataclass(frozen=True, slots=True)
class Swap:
    """One source word replaced by another, with the sentence pair that results."""

    old: str
    new: str
    source: str
    target: str


def find_swap(setup: Setup, item: int) -> Swap | None:
    """Find another example of the chosen weights that differs from the sentence in one source word; None if there is none."""
    if setup.origin is None:
        return None
    pairs = list(zip(*sentences(setup)[:2], strict=False))
    if not 0 <= item < len(pairs):
        return None
    source, target = pairs[item]
    own = split_words(source)
    for other, translation in setup.origin.examples:
        words = split_words(other)
        differ = [i for i, (a, b) in enumerate(zip(own, words, strict=False)) if a != b]
        if (source, target) in setup.origin.examples and len(words) == len(own) and len(differ) == 1:
            return Swap(own[differ[0]], words[differ[0]], other, translation)
    return None
