"""What the short tour tells: which token it follows, and in which layer and heads something happens to that token.

    told = story(capture, item=0)
    told.token, told.layer, told.head("decoder.layers.1.cross_attn.weights")
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from viz_core.analysis.attention import AttentionKind, kinds, module, n_layers, real, sides
from viz_core.capture import Capture
from viz_core.config import Side


@dataclass(frozen=True, slots=True)
class Story:
    """The token at one position of the side that predicts, the layer that the tour stops in, and the head of each attention.

    heads: path of an attention, such as "decoder.layers.1.cross_attn" → the head in which the token attends most to a word.
    """

    token: int
    layer: int = 0
    heads: Mapping[str, int] = field(default_factory=dict)

    def head(self, stage: str) -> int | None:
        """The head to show at a stage; None where the stage has none of its own."""
        return self.heads.get(stage.rpartition(".")[0])


def story(capture: Capture, item: int, token: int | None = None, measured: tuple[int, int] | None = None) -> Story:
    """The story of one sentence.

    token: the one to follow; None: see `last_word`. measured: the layer and head of cross-attention that
    training measured as the best at this; None: where the weight of the token on another word is largest.
    """
    side = capture.config.output_side
    told = last_word(capture, side, item) if token is None else token
    available = [kind for kind in kinds(capture.config) if sides(kind)[0] == side]
    if not available:
        return Story(told)
    mixing = available[-1]  # cross-attention, where there is one
    layer, head = measured if measured is not None and mixing == "cross" else _strongest(capture, mixing, item, told)
    heads = {module(kind, layer): _strongest(capture, kind, item, told, layer)[1] for kind in available}
    return Story(told, layer, heads | {module(mixing, layer): head})


def means_something(token: str) -> bool:
    """Whether a token is a word or a part of one, and neither punctuation nor a special token such as <bos> or [CLS]."""
    return any(c.isalnum() for c in token) and not re.fullmatch(r"<.+>|\[.+\]", token)


def last_word(capture: Capture, side: Side, item: int) -> int:
    """The position of the last token that means something, if there is one before an answer that means something, too.

    Of a sentence without such tokens, the last one that is no padding.
    """
    tokens, there = capture.tokens(side)[item], real(capture, side, item)
    words = [t for t, token in enumerate(tokens) if there[t] and means_something(token)]
    answers = capture.tokens("labels")[item] if "labels" in capture.sides else []
    leading = [t for t in words if t < len(answers) and means_something(answers[t])]
    return (leading or words or [int(np.max(np.nonzero(there)[0], initial=0))])[-1]


def _strongest(capture: Capture, kind: AttentionKind, item: int, token: int, layer: int | None = None) -> tuple[int, int]:
    """Layer and head in which a token attends most to another token that means something; the first ones if to none."""
    queries, keys = sides(kind)
    other = np.array([means_something(key) for key in capture.tokens(keys)[item]])
    if queries == keys:
        other[token] = False
    layers = range(n_layers(capture.config, kind)) if layer is None else (layer,)
    most = np.array([(np.nan_to_num(capture[f"{module(kind, i)}.weights"][item, :, token]) * other).max(axis=-1) for i in layers])
    place, head = np.unravel_index(int(most.argmax()), most.shape)
    return layers[int(place)], int(head)
