"""The training sentences, drawn by as many processes as the machine has cores."""

import multiprocessing as mp
import os
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, islice
from sys import intern

import numpy as np

from viz_core.training.bilingual.split import examples
from viz_core.training.guide import Links, as_bits

PART = 125_000
"""Sentences that are drawn one after another; each part has a seed of its own, so they do not depend on the number of cores."""
APART = 1000  # from the seed of one part to that of the next
Pair = tuple[Sequence[str], Sequence[str]]
Bits = tuple[np.ndarray, np.ndarray]
Drawn = tuple[list[Pair], Bits]


def sentences(seed: int, n: int, without: Collection[str] = ()) -> Drawn:
    """The training sentences as words of both languages, with their alignment and their referents as bits (`as_bits`).

    without: English sentences that none of them may be.
    """
    sizes = [min(PART, n - start) for start in range(0, n, PART)]
    seeds = [seed + APART * i for i in range(len(sizes))]
    draw = partial(part, without=tuple(without))
    if len(sizes) < 2:
        return draw(seed, n)
    with ProcessPoolExecutor(min(len(sizes), os.cpu_count() or 1), mp.get_context("spawn")) as pool:
        parts = list(pool.map(draw, seeds, sizes))
    pairs, bits = zip(*parts, strict=True)
    alignments, referents = zip(*bits, strict=True)
    return list(chain.from_iterable(pairs)), (_stacked(alignments), _stacked(referents))


def part(seed: int, n: int, without: Collection[str] = ()) -> Drawn:
    """Sentences of one seed. Words are one object each: there are millions of them."""
    found: list[Pair] = []

    def links() -> Iterator[Links]:
        for e in islice(examples(seed, without=without), n):
            found.append((tuple(map(intern, e.source)), tuple(map(intern, e.target))))
            yield e.alignment, e.referent

    bits = as_bits(links())
    return found, bits


def _stacked(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Tables of different widths below each other, filled with 0: [N, T]."""
    width = max(each.shape[1] for each in parts)
    return np.concatenate([np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in parts])
