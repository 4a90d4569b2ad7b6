"""Two heads of one cross-attention that are taught where to look, by the alignment that the grammar knows.

The first learns for each target word the source words that it comes from. The second learns the same, but for a noun that a
pronoun became it learns the noun that the pronoun stands for. All other heads find out for themselves what to attend to (Garg et
al. 2019, "Jointly Learning to Align and Translate with Transformer Models"; there, too, one head of the last layer but one).
"""

from array import array
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from viz_core.config import TransformerConfig

ALIGNS, REFERS = 0, 1  # heads
PRONOUNS = 3.0  # the weight of a pronoun in the second head against that of another word: they are few
SMALLEST = 1e-6  # weight that counts as this much at least, so that no loss is infinite
Links = tuple[Sequence[tuple[int, ...]], tuple[int, int] | None]
"""The alignment and the referent of an `Example`."""


def guided_layer(config: TransformerConfig) -> int:
    """The decoder layer with the two heads: the last but one, if there are two."""
    return max(0, config.n_decoder_layers - 2)


def taught_heads(config: TransformerConfig) -> dict[str, tuple[int, int]]:
    """What each of the two heads is taught, with its (layer, head) of cross-attention."""
    layer = guided_layer(config)
    return {"alignment": (layer, ALIGNS), "referent": (layer, REFERS)}


def as_bits(links: Iterable[Links]) -> tuple[np.ndarray, np.ndarray]:
    """(alignment [N, T], referents [N, T]): bit s of a number says that the target word comes from source word s, or refers to it.

    T is the number of words of the longest target. `ValueError` for a source word behind the 31st.
    """
    rows: list[array[int]] = []
    nouns: list[array[int]] = []
    for alignment, referent in links:
        row = array("q", (sum(1 << s for s in words) for words in alignment))
        noun = array("q", [0] * len(row))
        if referent is not None:
            noun[referent[0]] = 1 << referent[1]
        rows.append(row)
        nouns.append(noun)
    width = max(map(len, rows), default=0)
    if max((max(row, default=0) for row in rows + nouns), default=0) >= 1 << 31:
        raise ValueError("a source of more than 31 words has no bits for all of them; leave it out, or shorten it to 31.")
    return _padded(rows, width), _padded(nouns, width)


def _padded(rows: Sequence[Sequence[int]], width: int) -> np.ndarray:
    out = np.zeros((len(rows), width), np.int32)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def guided_loss(weights: Tensor, alignment: Tensor, referents: Tensor) -> Tensor:
    """How far the two heads are from where they should look, summed over the words, [].

    weights [B, H, T, S] of the cross-attention; alignment and referents [B, T'] as bits; rows behind those have none.
    A word's loss is -log of the weight on all its source words together. Words without any are left out: a softmax cannot point at
    nothing.
    """
    length = weights.shape[2]
    alignment, referents = (F.pad(bits, (0, length - bits.shape[1])) for bits in (alignment, referents))  # [B, T]; cut or filled
    resolved = torch.where(referents != 0, referents, alignment)  # [B, T]
    times = torch.where(referents != 0, PRONOUNS, 1.0)  # [B, T]
    return (_missed(weights[:, ALIGNS], alignment) + times * _missed(weights[:, REFERS], resolved)).sum()  # []


def _missed(weights: Tensor, bits: Tensor) -> Tensor:
    """weights [B, T, S], bits [B, T] -> [B, T]: -log of the weight that is where the bits are, 0 where there are none."""
    width = weights.shape[-1]
    weights = weights.to(torch.promote_types(weights.dtype, torch.float32))  # sums in half precision are too coarse
    right = (bits[..., None] >> torch.arange(width, device=bits.device)) & 1  # [B, T, S]
    found = (weights * right).sum(dim=-1).clamp_min(SMALLEST)  # [B, T]
    return torch.where(bits != 0, -found.log(), 0.0)  # [B, T]
