"""Evaluation of a checkpoint: its translations, and its attention compared with the alignment that the grammar knows.

Which row of a decoder belongs to a target word? Input position j reads word j - 1 (behind <bos>) and predicts word j.
So each word has two rows: one predicts it, and the next one reads it. Every measure names its row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor

from viz_core.capture import Capture
from viz_core.generate import generate, write
from viz_core.limits import MAX_SENTENCES
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, trace
from viz_core.text import Vocabulary
from viz_core.training import everyday
from viz_core.training.bilingual.sentences import Example
from viz_core.training.loop import encode

T = TypeVar("T")
Row = Literal["predicts", "reads"]
ROWS: tuple[Row, ...] = ("predicts", "reads")
LONGEST = 30  # words after which a translation is cut off


# --- Attention compared with the alignment: numbers only --------------------------------------------------------------
def most_attended(weights: np.ndarray, row: Row = "predicts") -> np.ndarray:
    """weights [B, H, T, S] -> for each target word's row the key with the largest weight, [B, H, T] (T - 1 if it reads)."""
    largest: np.ndarray = weights.argmax(axis=-1)  # [B, H, T]
    return largest if row == "predicts" else largest[:, :, 1:]


def alignment_error_rate(
    weights: np.ndarray, alignments: Sequence[Sequence[tuple[int, ...]]], row: Row = "predicts"
) -> np.ndarray:
    """AER of each head, [H]: 0 if its largest weights are the true alignment, 1 if none of them is (Och & Ney 2003).

    1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|). A: each target word linked to the source word with its row's largest weight.
    P: the true links. S, the sure ones: those of target words that come from exactly one source word; for "did not" ->
    没有 either word is right. Target words without a source word (的) are left out: a softmax cannot point at nothing.
    """
    chosen = most_attended(weights, row)  # [B, H, T]
    links = [(b, j, truth) for b, words in enumerate(alignments) for j, truth in enumerate(words) if truth]
    right = np.array([np.isin(chosen[b, :, j], truth) for b, j, truth in links])  # [links, H]
    sure = np.array([len(truth) == 1 for _, _, truth in links])  # [links]
    return 1 - (right[sure].sum(axis=0) + right.sum(axis=0)) / (len(right) + sure.sum())


def referent_accuracy(weights: np.ndarray, referents: Sequence[tuple[int, int] | None], row: Row = "predicts") -> np.ndarray:
    """How often a head's largest weight in the row of a resolved noun is on the noun that the pronoun stands for, [H].

    A head that always attends to the first noun is right about half of the time.
    """
    chosen = most_attended(weights, row)  # [B, H, T]
    found = [(b, *pair) for b, pair in enumerate(referents) if pair is not None]
    return np.mean([chosen[b, :, j] == s for b, j, s in found], axis=0)


# --- A checkpoint on sentences ----------------------------------------------------------------------------------------
def translations(model: Transformer, examples: Sequence[Example], vocabulary: Mapping[str, Vocabulary]) -> list[list[str]]:
    """The greedy translation of each example's source."""
    target = vocabulary["target"]
    done: list[list[str]] = []
    for part in _parts(examples):
        source = encode(model.config, [(e.source, e.target) for e in part], vocabulary)["source"]
        start = torch.full((len(part), 1), target.bos_id)
        written = generate(model, start, source, eos_id=target.eos_id, max_new_tokens=LONGEST)
        done += [[target.decode(i) for i in one.ids] for one in written]
    return done


def exact_match(model: Transformer, examples: Sequence[Example], vocabulary: Mapping[str, Vocabulary]) -> float:
    """Share of the examples whose greedy translation is correct in every word."""
    translated = translations(model, examples, vocabulary)
    return float(np.mean([words == e.target for words, e in zip(translated, examples, strict=True)]))


@dataclass(frozen=True, slots=True)
class EverydayScore:
    """How a translator does on the everyday list. misses: each sentence that was translated otherwise, and what was written."""

    sentences: int
    known: float  # the share of words in its vocabulary; names not counted, which are carried over
    misses: tuple[tuple[str, str], ...]
    misses_later: tuple[tuple[str, str], ...]  # those that are not among the translations accepted later either

    @property
    def translated(self) -> float:
        """The share of sentences whose greedy translation is an accepted one."""
        return 1 - len(self.misses) / self.sentences

    @property
    def translated_later(self) -> float:
        """The same with the translations that were accepted later."""
        return 1 - len(self.misses_later) / self.sentences


def everyday_score(model: Transformer, vocabulary: Mapping[str, Vocabulary]) -> EverydayScore:
    """The everyday sentences, read and written as a visitor's are."""
    listed = everyday.sentences()
    written = [
        one.text
        for part in _parts(listed, MAX_SENTENCES)
        for one in write(model, [each.english for each in part], vocabulary, most=LONGEST)
    ]
    pairs = list(zip(listed, written, strict=True))
    misses, after = (tuple((e.english, text) for e, text in pairs if not e.accepts(text, later)) for later in (False, True))
    return EverydayScore(len(listed), known_share(vocabulary["source"]), misses, after)


def known_share(vocabulary: Vocabulary) -> float:
    """The share of the words of the everyday list that a vocabulary knows, names not counted."""
    unknown = total = 0
    for each in everyday.sentences():
        words = [word for word in vocabulary.tokenize(each.english) if word not in each.names]
        strangers = {word for word, __ in vocabulary.unknown(each.english)}
        total += len(words)
        unknown += sum(word in strangers for word in words)
    return 1 - unknown / total


def attention_measures(
    model: Transformer, examples: Sequence[Example], pronouns: Sequence[Example], vocabulary: Mapping[str, Vocabulary]
) -> dict[str, dict[str, list[list[float]]]]:
    """For each row convention, layer and head of cross-attention: AER and referent accuracy, with the true target as input.

    The error rate is measured on `examples`, the accuracy on `pronouns`: examples that have a referent.
    {"aer": {"predicts": [layer][head], "reads": ...}, "referent": the same}.
    """
    alignments, referents = [e.alignment for e in examples], [e.referent for e in pronouns]
    return {
        "aer": _of_heads(model, examples, vocabulary, lambda weights, row: alignment_error_rate(weights, alignments, row)),
        "referent": _of_heads(model, pronouns, vocabulary, lambda weights, row: referent_accuracy(weights, referents, row)),
    }


def _of_heads(
    model: Transformer, examples: Sequence[Example], vocabulary: Mapping[str, Vocabulary],
    measure: Callable[[np.ndarray, Row], np.ndarray],
) -> dict[str, list[list[float]]]:
    """measure(weights [N, H, T, S], row) -> [H], of each layer of cross-attention and each row convention."""
    parts = [(part, _capture(model, part, vocabulary)) for part in _parts(examples)]
    names = [f"decoder.layers.{layer}.cross_attn.weights" for layer in range(model.config.n_decoder_layers)]
    weights = [_stacked([capture[name] for _, capture in parts]) for name in names]  # [N, H, T, S] of each layer
    return {row: [[round(float(x), 4) for x in measure(of_layer, row)] for of_layer in weights] for row in ROWS}


def next_word(model: Transformer, data: Mapping[str, Tensor]) -> tuple[float, float]:
    """Mean loss per token in nats, and the share of tokens whose true next token is the likeliest."""
    with torch.inference_mode():
        out = model(data.get("source"), data.get("target"), data["labels"])
    assert out.logits is not None and out.loss is not None
    real = data["labels"] != model.config.pad_id(model.config.output_side)  # [B, T]
    return float(out.loss), float((out.logits.argmax(dim=-1) == data["labels"])[real].float().mean())


def best_head(table: Sequence[Sequence[float]], largest: bool = True) -> tuple[int, int]:
    """(layer, head) with the largest or smallest number of a [layer][head] table."""
    numbers = np.array(table)
    layer, head = np.unravel_index(numbers.argmax() if largest else numbers.argmin(), numbers.shape)
    return int(layer), int(head)


def _parts(items: Sequence[T], size: int = 250) -> list[Sequence[T]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


def _capture(model: Transformer, examples: Sequence[Example], vocabulary: Mapping[str, Vocabulary]) -> Capture:
    ids: dict[str, Any] = encode(model.config, [(e.source, e.target) for e in examples], vocabulary)
    batch = Batch({side: x.numpy() for side, x in ids.items()}, {})
    return trace(model, batch, keep=["decoder.layers.*.cross_attn.weights"])


def _stacked(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """[B, H, T, S] of several batches -> one [N, H, T, S], padded with weights of 0."""
    length, width = (max(x.shape[axis] for x in arrays) for axis in (2, 3))
    return np.concatenate([np.pad(x, ((0, 0), (0, 0), (0, length - x.shape[2]), (0, width - x.shape[3]))) for x in arrays])
