"""Pairs of example sentences that differ in one word."""

from dataclasses import dataclass, replace

from viz_core.text import split_words
from viz_core.ui.shell.session.generated_target import generated_text
from viz_core.ui.shell.setup import Setup, typed_sentences


@dataclass(frozen=True, slots=True)
class WordSwap:
    """A source word, its replacement, and the resulting sentence pair; the target is the model's output if the model writes it."""

    old: str
    new: str
    source: str
    target: str


def find_swap(setup: Setup, item: int) -> WordSwap | None:
    """Return an example of the selected weights that differs from the sentence in one source word, or None.

    Only for a sentence that is itself an example, together with its target if that was typed.
    """
    sources, targets, __ = typed_sentences(setup)
    if setup.checkpoint_card is None or not 0 <= item < len(sources):
        return None
    here = (sources[item], *targets[item : item + 1])
    if here not in {pair[: len(here)] for pair in setup.checkpoint_card.examples}:
        return None
    own = split_words(here[0])
    for other, translation in setup.checkpoint_card.examples:
        words = split_words(other)
        differ = [i for i, (a, b) in enumerate(zip(own, words, strict=False)) if a != b]
        if len(words) == len(own) and len(differ) == 1:
            target = generated_text(replace(setup, source=other)) if setup.writer == "model" else translation
            return WordSwap(own[differ[0]], words[differ[0]], other, target)
    return None
