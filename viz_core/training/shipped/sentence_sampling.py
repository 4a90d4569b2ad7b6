"""Sampling of the training sentences from the grammar, in one process for each core."""

import multiprocessing as mp
import os
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, islice
from sys import intern

import numpy as np

from viz_core.training.alignment_supervision import WordLinks, to_bitmasks
from viz_core.training.corpus.dataset import examples

PART_SIZE = 125_000
"""Sentences of one part; each part has its own seed, so the result does not depend on the number of cores."""
SEED_STRIDE = 1000  # difference between the seeds of consecutive parts
SentencePair = tuple[Sequence[str], Sequence[str]]
LinkBitmasks = tuple[np.ndarray, np.ndarray]
SampledSentences = tuple[list[SentencePair], LinkBitmasks]


def sample_sentences(seed: int, n: int, exclude: Collection[str] = ()) -> SampledSentences:
    """Return n training sentences as words of both languages, with alignments and referents as bit masks (`to_bitmasks`).

    exclude: English sentences that are never sampled.
    """
    sizes = [min(PART_SIZE, n - start) for start in range(0, n, PART_SIZE)]
    seeds = [seed + SEED_STRIDE * i for i in range(len(sizes))]
    draw = partial(sample_part, exclude=tuple(exclude))
    if len(sizes) < 2:
        return draw(seed, n)
    with ProcessPoolExecutor(min(len(sizes), os.cpu_count() or 1), mp.get_context("spawn")) as pool:
        parts = list(pool.map(draw, seeds, sizes))
    pairs, bits = zip(*parts, strict=True)
    alignments, referents = zip(*bits, strict=True)
    return list(chain.from_iterable(pairs)), (_stack_padded(alignments), _stack_padded(referents))


def sample_part(seed: int, n: int, exclude: Collection[str] = ()) -> SampledSentences:
    """Return n sentences of one seed. Words are interned, as there are millions of tokens."""
    found: list[SentencePair] = []

    def links() -> Iterator[WordLinks]:
        for e in islice(examples(seed, exclude=exclude), n):
            found.append((tuple(map(intern, e.source)), tuple(map(intern, e.target))))
            yield e.alignment, e.referent

    bits = to_bitmasks(links())
    return found, bits


def _stack_padded(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate tables of different widths, padded with 0: [N, T]."""
    width = max(each.shape[1] for each in parts)
    return np.concatenate([np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in parts])
