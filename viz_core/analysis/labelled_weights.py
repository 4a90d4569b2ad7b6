"""Attention weights between tokens or words, with the labels of their queries and keys.

    weights, queries, keys = layer_weights(capture, "cross", 1)              # all heads of a layer
    weights, queries, keys = unpadded_layer_weights(capture, "cross", 1)     # queries labelled with the predicted token
    collect_heads(capture, "cross")                                          # all layers and heads
    words = query_key_words(capture, "cross", 0, card.tokenizers())          # for weights between words
    kept = without_special_tokens(capture, "encoder", 0, card.tokenizers())  # neither [CLS] nor [SEP]
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from viz_core.analysis.attention import AttentionKind, allowed, module, n_layers, real, relative, sides
from viz_core.analysis.kept_keys import Kept, over_kept
from viz_core.analysis.rows import reads_and_writes, row_labels
from viz_core.analysis.word_attention import between_words, seen_words
from viz_core.capture import Capture
from viz_core.config import Side
from viz_core.text import SPECIALS, AnyTokenizer, Words, visible, words_of

ADDED = SPECIALS[:3]  # <pad>, <bos> and <eos>; <unk> is not among them, since it replaces a typed word
WordPair = tuple[Words, Words]  # the words on the side of the queries, and on that of the keys

UNKNOWN_NEXT = "…"  # the next token of a row without a label


class Labelled(NamedTuple):
    """Weights [H, T, S], and the labels of their queries and keys."""

    weights: np.ndarray
    queries: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class EveryHead:
    """All heads of a kind: weights [L, H, T, S], blocked [T, S] by the mask, and the labels.

    is_relative: whether the values are weight × number of visible keys. run_label: "A", "B" or "A − B", "" for a single run.
    gaps [T, S]: cells whose query or key is missing in one of two runs; their weights are NaN.
    """

    kind: AttentionKind
    weights: np.ndarray
    blocked: np.ndarray
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    relative: bool = False
    run: str = ""
    gaps: np.ndarray | None = None


def words_of_both(capture: Capture, kind: AttentionKind, item: int, tokenizers: Mapping[str, AnyTokenizer]) -> WordPair:
    """Return the words of one sentence on the query side and on the key side. tokenizers: of each side, as used for the run."""
    queries, keys = (words_of(tokenizers[side], capture.tokens(side)[item]) for side in sides(kind))
    return queries, keys


def labels(capture: Capture, kind: AttentionKind, item: int, words: WordPair | None = None) -> tuple[tuple[str, ...], ...]:
    """Return the labels of queries and keys: words, or tokens. A decoder's query is labelled with its token and the next one."""
    if words is not None:
        return tuple(tuple(map(visible, side.texts)) for side in words)
    query_side, key_side = sides(kind)
    return row_labels(capture, query_side, item), tuple(map(visible, capture.tokens(key_side)[item]))


def layer_weights(capture: Capture, kind: AttentionKind, layer: int, item: int = 0, words: WordPair | None = None) -> Labelled:
    """Return the weights of one layer, between tokens or between words."""
    weights = capture[f"{module(kind, layer)}.weights"][item]  # [H, T, S]
    if words is not None:
        weights = between_words(weights, words[0].of, words[1].of)
    queries, keys = labels(capture, kind, item, words)
    return Labelled(weights, queries, keys)


def weights_read(capture: Capture, kind: AttentionKind, layer: int, item: int = 0) -> Labelled:
    """Return the weights of one layer without padding.

    A decoder's query is labelled with the token that its row predicts, or "…" where the text has no next token: at the last token
    of a model without <eos>.
    """
    query_side, key_side = sides(kind)
    rows, cols = (np.nonzero(real(capture, side, item))[0] for side in (query_side, key_side))
    all_rows, tokens = reads_and_writes(capture, query_side, item), capture.tokens(key_side)[item]
    predicts = query_side == "target" and "labels" in capture.sides
    shown = (all_rows[i] for i in rows)
    query_tokens = (UNKNOWN_NEXT if predicts and row.writes is None else row.writes or row.reads for row in shown)
    return Labelled(
        capture[f"{module(kind, layer)}.weights"][item][:, rows][:, :, cols],  # [H, T, S]
        tuple(visible(token) for token in query_tokens if token is not None), tuple(visible(tokens[i]) for i in cols),
    )


def every_head(
    capture: Capture, kind: AttentionKind, item: int = 0, words: WordPair | None = None, uniform: bool = False, run: str = ""
) -> EveryHead:
    """Return all heads of a kind, between tokens or between words. is_relative: return weight × number of visible keys."""
    seen = allowed(capture, kind, item)  # [T, S]
    weights = np.stack([capture[f"{module(kind, i)}.weights"][item] for i in range(n_layers(capture.config, kind))])
    if words is not None:
        seen, weights = (f(x, words[0].of, words[1].of) for f, x in ((seen_words, seen), (between_words, weights)))
    queries, keys = labels(capture, kind, item, words)
    return EveryHead(kind, relative(weights, seen) if uniform else weights, ~seen, queries, keys, uniform, run)


# ---------------------------------------------------------------- a subset of the keys


def kept_weights(found: Labelled, kept: Kept) -> tuple[Labelled, np.ndarray]:
    """Return the weights of the kept queries and keys, each row divided by the share of its weight that it keeps, and that share.

    share: [H, n].
    """
    weights, share = over_kept(found.weights, kept)
    return Labelled(weights, *(tuple(names[i] for i in at) for names, at in zip(found[1:], kept, strict=True))), share


def without_special(
    capture: Capture, kind: AttentionKind, item: int, tokenizers: Mapping[str, AnyTokenizer],
    words: WordPair | None = None,
) -> Kept | None:
    """Return the positions of one sentence without padding and the tokens that a tokenizer adds, such as [CLS], <bos> and <eos>.

    A decoder's row is kept if its token or its next token is a word. tokenizers: of each side, as used for the run. words: the
    words of the queries and of the keys; the positions are then those of words. None if nothing or everything would be left out.
    """
    query_side, key_side = sides(kind)
    added = {side: {*ADDED, *tokenizers[side].read("")[0]} for side in (query_side, key_side)}
    there = {side: real(capture, side, item) for side in added}
    rows = reads_and_writes(capture, query_side, item)
    queries = [there[query_side][i] and bool({*row} - {None, *added[query_side]}) for i, row in enumerate(rows)]
    keys = [there[key_side][i] and token not in added[key_side] for i, token in enumerate(capture.tokens(key_side)[item])]
    if (all(queries) and all(keys)) or not (any(queries) and any(keys)):
        return None
    places = [np.flatnonzero(shown) for shown in (queries, keys)]
    if words is not None:
        places = [np.unique(np.asarray(side.of)[at]) for side, at in zip(words, places, strict=True)]
    return Kept(*(tuple(map(int, at)) for at in places))


def special_tokens(capture: Capture, side: Side, item: int, tokenizer: AnyTokenizer) -> tuple[str, ...]:
    """Return the tokens of one sentence that `without_special_tokens` leaves out, each once, without padding."""
    added, there = {*ADDED[1:], *tokenizer.read("")[0]}, real(capture, side, item)
    return tuple(dict.fromkeys(t for t, is_there in zip(capture.tokens(side)[item], there, strict=True) if is_there and t in added))
