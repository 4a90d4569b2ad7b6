"""Which words of the source a translation says nothing about, by the attention of two heads.

Coverage is the attention that a source word gets from the whole translation (Tu et al. 2016, "Modeling Coverage for Neural
Machine Translation"). Each target word has two rows: one predicts it and the next one reads it. So two heads of
cross-attention count, which training measured as the best aligned in these rows.

    c[s] = Σ_j q[j] · (writes[j, s] + reads[j + 1, s]) / 2        over the words j of the translation, <eos> left out
    q[j] = p(word j) / p(likeliest word)

A row shows what the model was about to say there, whatever was then written. q leaves out a row whose word the model would not
have written; of a greedy translation every q is 1.
"""

import numpy as np

from viz_core.analysis.attention import module
from viz_core.capture import Capture
from viz_core.text import is_content_word

Head = tuple[int, int]
"""A layer and a head of cross-attention."""


def coverage(capture: Capture, writes: Head, reads: Head, *, eos_id: int, item: int = 0) -> np.ndarray:
    """The coverage of each source token by the target of one sentence, [S].

    writes, reads: the heads whose rows are those that predict a word and those that read it. Needs the weights of both, and
    `probs`. ValueError without a causal mask, where a row knows the word that it predicts.
    """
    if not capture.config.is_causal:
        raise ValueError("is_causal is False, so no row has the probability of its word after those before it; write the text")
    probs, labels = capture["probs"][item], capture["ids.labels"][item]  # [T, W], [T]
    words = np.nonzero((labels != capture.config.pad_id("target")) & (labels != eos_id))[0]  # the rows that write one
    q = probs[words, labels[words]].astype(np.float64) / probs[words].max(axis=-1)  # [words]
    writing, reading = (capture[f"{module('cross', layer)}.weights"][item, head] for layer, head in (writes, reads))  # [T, S]
    read = words[words + 1 < len(labels)]  # the last word of a text that was cut off is read by no row
    total: np.ndarray = q @ writing[words] + q[: len(read)] @ reading[read + 1]  # [S]
    return total / 2


def uncovered(tokens: list[str], covered: np.ndarray, least: float) -> list[int]:
    """The positions of the content words of an English source whose coverage [S] is below `least`."""
    return [s for s, token in enumerate(tokens) if covered[s] < least and is_content_word(token)]
