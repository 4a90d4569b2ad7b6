"""Attention over a part of the keys, for pictures: each row's weights divided by what the row keeps, and how much that is.

    kept = without_special(capture, "encoder", 0, card.tokenizers())   # of labelled_weights: neither [CLS] nor [SEP]
    weights, share = over_kept(weights, kept)                          # [..., T, S] -> [..., n, m] and [..., n]

Many trained heads put nearly all weight on a special token, where they look if they find nothing else (Clark et al. 2019); what
they do between words is then too faint to be seen. The run itself stays as it is.
"""

from typing import NamedTuple

import numpy as np


class Kept(NamedTuple):
    """The queries and the keys that a picture shows, by position: of tokens, or of words where it shows words."""

    queries: tuple[int, ...]
    keys: tuple[int, ...]


def over_kept(weights: np.ndarray, kept: Kept) -> tuple[np.ndarray, np.ndarray]:
    """The weights of the kept queries over the kept keys alone, and the share of its weight that each of these rows keeps.

    [..., T, S] -> [..., n, m] and [..., n]. A row sums to 1 again, as the whole row did; one that keeps nothing stays 0.
    """
    own = weights[..., list(kept.queries), :].astype(np.float64)
    left = own[..., list(kept.keys)]
    share: np.ndarray = left.sum(axis=-1)
    return left / np.where(share == 0, 1.0, share)[..., None], share
