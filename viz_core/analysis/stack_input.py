"""The input of a stack: token embedding, position encoding and their sum, and the norms of these vectors.

    x = stack_input(capture, "source")
    x.tok_embed, x.pos_embed, x.total               # [T, D] each
    embedding_norms(capture, "source", 0, {})     # √E‖row‖² of the embedding and of the positions
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from viz_core.analysis.attention import token_mask
from viz_core.analysis.positions import EmbeddingNorm, embedding_norm, rms, row_norms, sinusoidal_table
from viz_core.capture import Capture
from viz_core.config import STACKS, Side, TransformerConfig
from viz_core.messages import translate as _
from viz_core.text import display_token

EmbeddingScale = Literal[
    "model", "with", "without"
]  # whether to scale the embedding by √d_model: as the model does, always, or never


@dataclass(frozen=True, slots=True, eq=False)
class StackInput:
    """Token embedding, position encoding and their sum, [T, D] each. pos_embed: None if the scheme adds nothing to the embedding.

    is_scaled: whether the embedding is scaled by √d_model here. is_model_scale: whether that is as in the model.
    """

    config: TransformerConfig
    tokens: list[str]
    tok_embed: np.ndarray
    pos_embed: np.ndarray | None
    total: np.ndarray
    is_scaled: bool
    is_model_scale: bool

    @property
    def pos_embed_or_zeros(self) -> np.ndarray:
        """The position encoding added to the embedding, zeros if there is none: [T, D]."""
        return np.zeros_like(self.total) if self.pos_embed is None else self.pos_embed


def stack_input(capture: Capture, side: Side, item: int = 0, scale: EmbeddingScale = "model") -> StackInput:
    """Return the input of a stack for one sentence of a side ("source" or "target")."""
    c, stack = capture.config, STACKS[side]
    scaled = c.scale_embedding if scale == "model" else scale == "with"
    content = capture[f"{stack}.tok_embed"][item] * (np.sqrt(c.d_model) if scaled else 1.0)
    added = capture[f"{stack}.pos_embed"][0] if f"{stack}.pos_embed" in capture else None
    own = scaled == c.scale_embedding
    total = capture[f"{stack}.embed"][item] if own else content + (0 if added is None else added)
    return StackInput(c, [display_token(t) for t in capture.tokens(side)[item]], content, added, total, scaled, own)


def embedding_norms(
    capture: Capture, side: Side, item: int, other_rows: Mapping[str, np.ndarray],
) -> tuple[list[EmbeddingNorm], float]:
    """Return the root mean square norm of a sentence's embedding rows and of other rows [T, D], and that of its position rows.

    other_rows: alternative embeddings by name. Padding is left out. For a model that adds no position encoding, the norm is that
    of the sinusoidal one.
    """
    c, is_token = capture.config, token_mask(capture, side, item)
    rows = capture[f"{STACKS[side]}.tok_embed"][item][is_token]
    added = stack_input(capture, side, item).pos_embed
    positions = sinusoidal_table(len(is_token), c.d_model, c.position_base) if added is None else added
    name_of_model = _("this model ({which})", which="× √d_model" if c.scale_embedding else _("not scaled"))
    return [embedding_norm(name_of_model, rows), *(embedding_norm(name, x) for name, x in other_rows.items())], rms(
        row_norms(positions[is_token])
    )
