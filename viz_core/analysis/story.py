"""What is worth a first look: the token that the short tour follows, and the head and the row with most to show.

    told = story(capture, item=0)
    told.token, told.layer, told.head("decoder.layers.1.cross_attn.weights")
    layer, head = head_between_words(capture, "encoder", item=0)
    telling_row(capture, "encoder", layer, head, item=0)
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from viz_core.analysis.attention import AttentionKind, kinds, module, n_layers, real, sides
from viz_core.analysis.rows import reads_and_writes
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
    return (leading or words or [_last(capture, side, item)])[-1]


def telling_row(capture: Capture, kind: AttentionKind, layer: int, head: int, item: int) -> int:
    """The query of one head with most to show: of the rows that are about a word, the one that looks farthest at another word. That
    is the largest weight × distance, in cross-attention with both sentences drawn equally long. A word that is translated, or
    referred to, far from its own place stands out; most rows look at what is beside them.

    A row is about the word that it writes, or reads where it writes nothing. Without such rows, the last one that is no padding.
    """
    query_side, key_side = sides(kind)
    rows = _word_rows(capture, query_side, item)
    if not rows.any():
        return _last(capture, query_side, item)
    weights = np.nan_to_num(capture[f"{module(kind, layer)}.weights"][item, head]) * _other_words(capture, kind, item)  # [T, S]
    t, s = np.indices(weights.shape)
    ends = [max(1, _last(capture, side, item)) for side in (query_side, key_side)]
    far = (weights * np.abs(t / ends[0] - s / ends[1])).max(axis=-1, initial=0.0)  # [T]
    return int(np.where(rows, far, -1.0).argmax())


def head_between_words(capture: Capture, kind: AttentionKind, item: int) -> tuple[int, int]:
    """Layer and head in which words see words: where the largest weight of a word on another word is largest, averaged over the
    rows that are about a word. Many heads put nearly all weight on a special token or on the token itself; they come last.

    The first layer and head of a sentence without words.
    """
    rows, other = _word_rows(capture, sides(kind)[0], item), _other_words(capture, kind, item)
    if not rows.any():
        return 0, 0
    layers = [capture[f"{module(kind, i)}.weights"][item] for i in range(n_layers(capture.config, kind))]
    most = np.array([(np.nan_to_num(weights) * other)[:, rows].max(axis=-1, initial=0.0).mean(axis=-1) for weights in layers])
    layer, head = np.unravel_index(int(most.argmax()), most.shape)
    return int(layer), int(head)


def _last(capture: Capture, side: Side, item: int) -> int:
    """The last position of a sentence that is no padding."""
    return int(np.max(np.nonzero(real(capture, side, item))[0], initial=0))


def _word_rows(capture: Capture, side: Side, item: int) -> np.ndarray:
    """bool [T]: which rows of a side are about a word."""
    about = [row.reads if row.writes is None else row.writes for row in reads_and_writes(capture, side, item)]
    found: np.ndarray = np.array([means_something(token) for token in about]) & real(capture, side, item)
    return found


def _other_words(capture: Capture, kind: AttentionKind, item: int) -> np.ndarray:
    """bool [T, S]: whether a key is a word, and another token than the query's own."""
    query_side, key_side = sides(kind)
    words = np.array([means_something(key) for key in capture.tokens(key_side)[item]]) & real(capture, key_side, item)
    other = np.tile(words, (len(capture.tokens(query_side)[item]), 1))
    if query_side == key_side:
        np.fill_diagonal(other, False)
    return other


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
