"""The sentences that a checkpoint is trained on, and those that are held out for its measurement."""

from collections import Counter
from collections.abc import Collection, Iterator
from hashlib import blake2b
from random import Random

from viz_core.training.bilingual.sentences import Example, say, typed
from viz_core.training.bilingual.unknown import with_unknown_words
from viz_core.training.shipped import eval_set

MOST_WORDS = {"source": 26, "target": 30}
"""Longer sentences are left out of both."""


def examples(seed: int, *, held_out: bool = False, without: Collection[str] = ()) -> Iterator[Example]:
    """Random sentences without end, held out or not, the same ones for the same seed.

    without: English sentences that none of them may be, in whatever capitals; nor is any of them one of the everyday list,
    which is for measuring only.
    """
    rng = Random(seed)
    said: Counter[object] = Counter()
    left_out = eval_set.eval_sentences_as_words() | {eval_set.normalized_words(sentence) for sentence in without}
    while True:
        example = with_unknown_words(say(rng, said), rng)
        if example is None or len(example.source) > MOST_WORDS["source"] or len(example.target) > MOST_WORDS["target"]:
            continue
        if is_held_out(example) == held_out and eval_set.normalized_words(typed(example)) not in left_out:
            yield example


def is_held_out(example: Example) -> bool:
    """Whether it has a combination of content words that training never has: one in twenty, chosen by its hash."""
    return any(_bucket(combination) == 0 for combination in example.combinations)


def _bucket(combination: tuple[str, ...]) -> int:
    return int.from_bytes(blake2b(" ".join(combination).encode(), digest_size=8).digest(), "big") % 20
