"""The training sentences and the held-out sentences of the shipped checkpoints."""

from collections import Counter
from collections.abc import Collection, Iterator
from hashlib import blake2b
from random import Random

from viz_core.training.corpus import eval_set
from viz_core.training.corpus.sentences import draw_sentence
from viz_core.training.corpus.unknown_words import with_unknown_words
from viz_core.training.examples import Example

MAX_WORDS = {"source": 26, "target": 30}
"""Longer sentences are left out of both sets."""


def examples(seed: int, *, held_out: bool = False, exclude: Collection[str] = ()) -> Iterator[Example]:
    """Generate random sentences endlessly, held out or not; the same seed gives the same sentences.

    exclude: English sentences to leave out, compared without regard to capitals. The sentences of the evaluation set are always
    left out, since they are used for evaluation only.
    """
    rng = Random(seed)
    said: Counter[object] = Counter()
    left_out = eval_set.eval_sentences_as_words() | {eval_set.normalized_words(sentence) for sentence in exclude}
    while True:
        example = with_unknown_words(draw_sentence(rng, said), rng)
        if example is None or len(example.source) > MAX_WORDS["source"] or len(example.target) > MAX_WORDS["target"]:
            continue
        if is_held_out(example) == held_out and eval_set.normalized_words(example.typed_text) not in left_out:
            yield example


def is_held_out(example: Example) -> bool:
    """Whether a combination of its content words is held out of training: one in twenty, chosen by its hash."""
    return any(_bucket(combination) == 0 for combination in example.combinations)


def _bucket(combination: tuple[str, ...]) -> int:
    """Return the hash bucket of a combination, from 0 to 19."""
    return int.from_bytes(blake2b(" ".join(combination).encode(), digest_size=8).digest(), "big") % 20
