"""Coverage of source words by a translation, from the attention of two heads: which words are not translated.

Coverage is the attention that a source word gets from the whole translation (Tu et al. 2016, "Modeling Coverage for Neural
Machine Translation"). Each target word has two rows: one predicts it, and the next one reads it as input. Two heads of
cross-attention are used, those measured during training as the best aligned in these rows.

    c[s] = Σ_j q[j] · (writes[j, s] + reads[j + 1, s]) / 2        over the words j of the translation, <eos> left out
    q[j] = p(word j) / p(likeliest word)

The attention of a row belongs to the model's own prediction, whatever word follows in the text. q reduces the weight of a row
whose word is not the likeliest; in a greedy translation every q is 1.
"""

import numpy as np

from viz_core.analysis.attention import attention_path
from viz_core.capture import Capture
from viz_core.text import is_content_word

LayerHead = tuple[int, int]
"""A layer and a head of cross-attention."""


def coverage(capture: Capture, writes: LayerHead, reads: LayerHead, *, eos_id: int, item: int = 0) -> np.ndarray:
    """Return the coverage of each source token by the target of one sentence, [S].

    writes, reads: the head for the rows that predict a word, and the head for the rows that read it. The capture needs the weights
    of both, and `probs`. Raises `ValueError` without a causal mask, where a row can attend to the word that it predicts.
    """
    if not capture.config.is_causal:
        raise ValueError("is_causal=False: no row has the probability of its word given the words before it; use a causal model.")
    probs, labels = capture["probs"][item], capture["ids.labels"][item]  # [T, W], [T]
    words = np.nonzero((labels != capture.config.pad_id("target")) & (labels != eos_id))[0]  # the rows that predict a word
    q = probs[words, labels[words]].astype(np.float64) / probs[words].max(axis=-1)  # [words]
    writing, reading = (
        capture[f"{attention_path('cross', layer)}.weights"][item, head] for layer, head in (writes, reads)
    )  # [T, S]
    read = words[words + 1 < len(labels)]  # no row reads the last word of a text that was cut off
    total: np.ndarray = q @ writing[words] + q[: len(read)] @ reading[read + 1]  # [S]
    return total / 2


def uncovered_positions(tokens: list[str], covered: np.ndarray, threshold: float) -> list[int]:
    """Return the positions of the content words of an English source whose coverage [S] is below `threshold`."""
    return [s for s, token in enumerate(tokens) if covered[s] < threshold and is_content_word(token)]
