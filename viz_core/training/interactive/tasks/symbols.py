"""Tasks on symbols a, b, c, …: transformations with one correct answer, and streams in which each next symbol is predicted.

A visitor's sentence is mapped to such symbols as well: its distinct words, in order of appearance; see `words_to_symbols`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import ascii_lowercase

import numpy as np

from viz_core.config import Architecture, Side
from viz_core.text import SPECIALS, Vocabulary
from viz_core.training.interactive.tasks.task import Parameters, TaskInput

MAX_SYMBOL_WORDS = 20
"""Distinct words of a visitor's sentence that become symbols; more could not be told apart in a plot."""
ARROW = "→"  # separates question and answer in the row of a decoder-only model
PAD, BOS, EOS, FIRST_ID = 0, 1, 2, len(SPECIALS)
HELD_OUT_EVERY = 20  # one row in twenty is held out


@cache
def symbol_names(n: int) -> tuple[str, ...]:
    """Return n symbols: a to z, then aa, ab, …."""
    two = (x + y for x in ascii_lowercase for y in ascii_lowercase)
    return (*ascii_lowercase, *two)[:n]


def is_held_out(rows: np.ndarray) -> np.ndarray:
    """Return whether each row of rows [B, n] is held out from training, [B], from its hash alone."""
    powers = np.uint64(0x9E3779B97F4A7C15) ** np.arange(1, rows.shape[1] + 1, dtype=np.uint64)
    hashed = (rows.astype(np.uint64) + np.uint64(1)) @ powers * np.uint64(0xD6E8FEB86659FD93)
    return (hashed >> np.uint64(40)) % np.uint64(HELD_OUT_EVERY) == 0


def words_to_symbols(words: Sequence[str], known_symbols: Sequence[str]) -> tuple[np.ndarray, dict[int, str], tuple[str, ...]]:
    """Return (the symbols of the words, counted from 0; the word of each symbol; the words left out).

    A word that is the name of a symbol becomes that symbol. The other words get the free symbols, in order of appearance.
    """
    distinct, index = list(dict.fromkeys(words)), {name: i for i, name in enumerate(known_symbols)}
    chosen = distinct[: min(MAX_SYMBOL_WORDS, len(known_symbols))]
    free = iter(sorted(set(range(len(known_symbols))) - {index[word] for word in chosen if word in index}))
    symbol_of = {word: index[word] if word in index else next(free) for word in chosen}
    symbols = np.array([symbol_of[word] for word in words if word in symbol_of], dtype=np.int64)
    return symbols, {i: word for word, i in symbol_of.items()}, tuple(distinct[len(chosen):])


def display_words(ids: np.ndarray, user_words: Mapping[int, str], vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the tokens that ids [1, T] are displayed as: the visitor's word if there is one, else the vocabulary's."""
    return tuple(user_words.get(i - FIRST_ID) or vocabulary.decode(i) for i in ids[0].tolist())


def make_question_batch(
    architecture: Architecture, questions: np.ndarray, answers: np.ndarray, arrow: int
) -> dict[str, np.ndarray]:
    """Return the ids and labels of questions [B, n] and answers [B, m] for an architecture.

    encoder-only: the answer is predicted at the last m positions. decoder-only: question, arrow and answer in one row; only the
    answer and the <eos> after it are labels. encoder-decoder: the question is the source, the answer the target.
    """
    n, m = questions.shape[1], answers.shape[1]
    column = np.ones((len(questions), 1), dtype=np.int64)
    if architecture == "encoder-only":
        return {"source": questions, "labels": np.hstack([np.full((len(questions), n - m), PAD, dtype=np.int64), answers])}
    answer = np.hstack([answers, EOS * column])
    if architecture == "encoder-decoder":
        return {"source": questions, "target": np.hstack([BOS * column, answers]), "labels": answer}
    row = np.hstack([BOS * column, questions, arrow * column, answers])
    return {"target": row, "labels": np.hstack([np.full((len(questions), n + 1), PAD, dtype=np.int64), answer])}


# --- Transformations with one correct answer --------------------------------------------------------------------------
def copy_symbols(x: np.ndarray) -> np.ndarray:
    """Return x [B, n] unchanged."""
    return x


def reverse_symbols(x: np.ndarray) -> np.ndarray:
    """Return x [B, n] in reverse order."""
    return x[:, ::-1]


def sort_symbols(x: np.ndarray) -> np.ndarray:
    """Return x [B, n] sorted alphabetically."""
    return np.sort(x, axis=1)


def most_frequent_symbol(x: np.ndarray) -> np.ndarray:
    """Return the most frequent symbol of each row of x [B, n], [B, 1]; of several, the first in the alphabet."""
    counts = (x[:, :, None] == np.arange(x.max(initial=0) + 1)).sum(axis=1)  # [B, symbols]
    return counts.argmax(axis=1)[:, None]


@dataclass(frozen=True, slots=True)
class SymbolTransform:
    """Random symbols and a function of them as the answer. Parameters: length, shortest (0: all rows have the full length),
    symbols."""

    transform: Callable[[np.ndarray], np.ndarray]
    has_single_answer: bool = False  # the answer is a single symbol

    def vocabulary(self, p: Parameters, architecture: Architecture) -> dict[Side, Vocabulary]:
        words = symbol_names(p["symbols"])
        match architecture:
            case "encoder-decoder":
                return {"source": Vocabulary(words), "target": Vocabulary(words)}
            case "encoder-only":
                return {"source": Vocabulary(words)}
        return {"target": Vocabulary((*words, ARROW))}

    def max_lengths(self, p: Parameters, architecture: Architecture) -> dict[Side, int]:
        n, m = p["length"], 1 if self.has_single_answer else p["length"]
        sides: dict[Architecture, dict[Side, int]] = {
            "encoder-only": {"source": n}, "decoder-only": {"target": n + m + 2}, "encoder-decoder": {"source": n, "target": m + 1},
        }
        return sides[architecture]

    def sample_rows(
        self, p: Parameters, architecture: Architecture, rng: np.random.Generator, n: int, *, held_out: bool
    ) -> np.ndarray:
        length = int(rng.integers(p["shortest"], p["length"] + 1)) if p["shortest"] and not held_out else p["length"]
        found = np.empty((0, length), dtype=np.int64)
        while len(found) < n:  # keep only the held-out rows, or only the others
            drawn = rng.integers(p["symbols"], size=(n * (HELD_OUT_EVERY if held_out else 2), length))
            found = np.vstack([found, drawn[is_held_out(drawn) == held_out]])
        return found[:n]

    def make_batch(self, p: Parameters, architecture: Architecture, rows: np.ndarray) -> dict[str, np.ndarray]:
        return make_question_batch(architecture, rows + FIRST_ID, self.transform(rows) + FIRST_ID, FIRST_ID + p["symbols"])

    def irreducible_loss(self, p: Parameters, architecture: Architecture, causal: bool = True) -> float:
        return 0.0

    def n_answers(self, p: Parameters) -> int:
        return p["symbols"]

    def symbols(self, p: Parameters) -> tuple[str, ...]:
        return symbol_names(p["symbols"])

    def read_words(self, p: Parameters, architecture: Architecture, words: Sequence[str], max_tokens: int) -> TaskInput:
        x, own, left_out = words_to_symbols(words, self.symbols(p))
        room = {
            "encoder-only": max_tokens,
            "encoder-decoder": max_tokens - 1,
            "decoder-only": max_tokens - 3 if self.has_single_answer else (max_tokens - 2) // 2,
        }
        x = x[None, : max(0, room[architecture])]
        if not x.size:
            return TaskInput({}, {}, left_out)
        left_out = (*left_out, *(word for i, word in own.items() if i not in x))
        ids = self.make_batch(p, architecture, x)
        return sentence_from_batch(ids, own, self.vocabulary(p, architecture), left_out)


def sentence_from_batch(
    ids: dict[str, np.ndarray], user_words: Mapping[int, str], vocabulary: dict[Side, Vocabulary], left_out: tuple[str, ...]
) -> TaskInput:
    """Return a batch of one row as task input, with the tokens to display.

    ids: the sides of the vocabulary, "labels", and, where answers are expected at other positions than the labels, "asked".
    """
    sides, right = {side: ids[side] for side in vocabulary}, ids["labels"][0]
    tokens = {side: display_words(x, user_words, vocabulary[side]) for side, x in sides.items()}
    asked = ids.get("asked", right[None])[0] != PAD
    return TaskInput(sides, tokens, left_out, right, asked, {FIRST_ID + i: word for i, word in user_words.items()})


# --- Streams: predict each next symbol --------------------------------------------------------------------------------
def make_next_symbol_batch(
    architecture: Architecture, rows: np.ndarray, is_label: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Return inputs and labels for predicting each symbol of rows of ids [B, L]. is_label [B, L]: which symbols are labels; None:
    all.

    A decoder reads <bos> first. An encoder has no input before the first symbol, so its labels start with the second.
    """
    labels = rows if is_label is None else np.where(is_label, rows, PAD)
    if architecture == "encoder-only":
        return {"source": rows[:, :-1], "labels": labels[:, 1:]}
    return {"target": np.hstack([np.full((len(rows), 1), BOS, dtype=np.int64), rows[:, :-1]]), "labels": labels}


def previous_seen_mask(rows: np.ndarray) -> np.ndarray:
    """Return whether the symbol before each position occurred earlier in its row, so that the next one can be looked up, [B, L].

    rows: [B, L].
    """
    previous = rows[:, :-1]  # [B, L - 1]
    same = previous[:, :, None] == previous[:, None, :]  # [B, L - 1, L - 1]
    seen = np.tril(same, k=-1).any(axis=2)  # [B, L - 1]
    return np.hstack([np.zeros((len(rows), 1), dtype=bool), seen])


@dataclass(frozen=True, slots=True)
class Induction:
    """A random block of distinct symbols, repeated. Parameters: length, symbols, repeat (0: a random block length for each row).

    With a fixed block length, positions alone determine the answer, and the model need not look anything up.
    """

    def vocabulary(self, p: Parameters, architecture: Architecture) -> dict[Side, Vocabulary]:
        return {"target": Vocabulary(symbol_names(p["symbols"]))}

    def max_lengths(self, p: Parameters, architecture: Architecture) -> dict[Side, int]:
        return {"target": p["length"]}

    def sample_rows(
        self, p: Parameters, architecture: Architecture, rng: np.random.Generator, n: int, *, held_out: bool
    ) -> np.ndarray:
        longest = min(p["length"] // 2, p["symbols"])
        sizes = np.full(n, p["repeat"]) if p["repeat"] else rng.integers(2, longest + 1, size=n)  # [B]
        orders = np.argsort(rng.random((n, p["symbols"])), axis=1)  # [B, symbols]: each row a permutation
        return np.take_along_axis(orders, np.arange(p["length"])[None] % sizes[:, None], axis=1)

    def make_batch(self, p: Parameters, architecture: Architecture, rows: np.ndarray) -> dict[str, np.ndarray]:
        return make_next_symbol_batch(architecture, rows + FIRST_ID, previous_seen_mask(rows))

    def irreducible_loss(self, p: Parameters, architecture: Architecture, causal: bool = True) -> float:
        return 0.0

    def n_answers(self, p: Parameters) -> int:
        return p["symbols"]

    def symbols(self, p: Parameters) -> tuple[str, ...]:
        return symbol_names(p["symbols"])

    def read_words(self, p: Parameters, architecture: Architecture, words: Sequence[str], max_tokens: int) -> TaskInput:
        return read_symbol_stream(self.vocabulary(p, architecture), self.symbols(p), words, max_tokens, previous_seen_mask)


def read_symbol_stream(
    vocabulary: dict[Side, Vocabulary], known_symbols: Sequence[str], words: Sequence[str], max_tokens: int,
    label_mask: Callable[[np.ndarray], np.ndarray] = np.ones_like,
) -> TaskInput:
    """Return a visitor's words as one row of symbols, after <bos> in a decoder.

    The last position predicts what follows the sentence, which is unknown. label_mask: [B, L] -> [B, L], the symbols that are
    labels.
    """
    x, own, left_out = words_to_symbols(words, known_symbols)
    start = [BOS] if "target" in vocabulary else []
    x = x[: max(0, max_tokens - len(start))]
    if not x.size:
        return TaskInput({}, {}, left_out)
    left_out = (*left_out, *(word for i, word in own.items() if i not in x))
    ids = np.array([[*start, *(x + FIRST_ID)]], dtype=np.int64)
    first = 1 - len(start)  # index of the first predicted symbol
    asked, right = label_mask(np.array([[*x, -1]]))[:, first:], np.array([[*(x + FIRST_ID), PAD]])[:, first:]
    row: dict[str, np.ndarray] = {side: ids for side in vocabulary}
    return sentence_from_batch({**row, "labels": np.where(asked, right, PAD), "asked": asked}, own, vocabulary, left_out)
