"""Alignment supervision of two cross-attention heads, with the word alignment of the grammar.

The first head is trained to attend from each target word to the source words that it translates. The second is trained on the
same, except that a target noun that translates a pronoun attends to the noun that the pronoun refers to. The other heads are not
supervised (Garg et al. 2019, "Jointly Learning to Align and Translate with Transformer Models", who also supervise a head of the
last layer but one).
"""

from array import array
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from viz_core.config import TransformerConfig

ALIGNMENT_HEAD, REFERENT_HEAD = 0, 1  # indices of the two heads
PRONOUN_WEIGHT = 3.0  # weight of a pronoun in the loss of the second head, as pronouns are rare; other words have 1
MIN_ATTENTION = 1e-6  # lower bound of an attention weight in the loss, so that it is finite
WordLinks = tuple[Sequence[tuple[int, ...]], tuple[int, int] | None]
"""The alignment and the referent of an `Example`."""


def supervised_layer(config: TransformerConfig) -> int:
    """Return the decoder layer with the supervised heads: the last but one, if there are two."""
    return max(0, config.n_decoder_layers - 2)


def supervised_heads(config: TransformerConfig) -> dict[str, tuple[int, int]]:
    """Return the (layer, head) of the supervised cross-attention heads, by what they learn: "alignment" and "referent"."""
    layer = supervised_layer(config)
    return {"alignment": (layer, ALIGNMENT_HEAD), "referent": (layer, REFERENT_HEAD)}


def to_bitmasks(links: Iterable[WordLinks]) -> tuple[np.ndarray, np.ndarray]:
    """Return (alignment [N, T], referents [N, T]): bit s is set if the target word translates source word s, or refers to it.

    T is the number of words of the longest target. Raises `ValueError` for a link to a source word after the 31st.
    """
    rows: list[array[int]] = []
    nouns: list[array[int]] = []
    for alignment, referent in links:
        row = [sum(1 << s for s in words) for words in alignment]
        noun = [0] * len(row)
        if referent is not None:
            noun[referent[0]] = 1 << referent[1]
        if max(row + noun, default=0) >= 1 << 31:
            raise ValueError("a source of more than 31 words has no bits for all of them; leave it out, or shorten it to 31.")
        rows.append(array("q", row))
        nouns.append(array("q", noun))
    width = max(map(len, rows), default=0)
    return _padded(rows, width), _padded(nouns, width)


def _padded(rows: Sequence[Sequence[int]], width: int) -> np.ndarray:
    out = np.zeros((len(rows), width), np.int32)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def alignment_loss(weights: Tensor, alignment_bits: Tensor, referent_bits: Tensor) -> Tensor:
    """Return the loss of the two heads, summed over the target words, [].

    weights: cross-attention weights [B, H, T, S]. alignment_bits, referent_bits: bit masks [B, T'], cut or padded with 0
    to T. The loss of a word is -log of the total weight on its source words. Words without source words are left out: their row
    sums to 1 too, so it cannot learn to attend to nothing.
    """
    length = weights.shape[2]
    alignment_bits, referent_bits = (
        F.pad(bits, (0, length - bits.shape[1])) for bits in (alignment_bits, referent_bits)
    )  # [B, T]; cut or padded
    resolved = torch.where(referent_bits != 0, referent_bits, alignment_bits)  # [B, T]
    times = torch.where(referent_bits != 0, PRONOUN_WEIGHT, 1.0)  # [B, T]
    return (
        _head_losses(weights[:, ALIGNMENT_HEAD], alignment_bits) + times * _head_losses(weights[:, REFERENT_HEAD], resolved)
    ).sum()  # []


def _head_losses(weights: Tensor, bits: Tensor) -> Tensor:
    """Return -log of the total weight at the set bits, [B, T]; 0 where none is set. weights: [B, T, S]; bits: [B, T]."""
    width = weights.shape[-1]
    weights = weights.to(torch.promote_types(weights.dtype, torch.float32))  # half precision is too coarse for the sum
    right = (bits[..., None] >> torch.arange(width, device=bits.device)) & 1  # [B, T, S]
    found = (weights * right).sum(dim=-1).clamp_min(MIN_ATTENTION)  # [B, T]
    return torch.where(bits != 0, -found.log(), 0.0)  # [B, T]
