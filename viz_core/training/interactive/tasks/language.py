"""Language tasks on the sentences of the first lesson: translate, continue, fill in, restore.

The sentences are always the same, so that the vocabulary, and with it the weights, does not depend on the seed of a run.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import Literal

import numpy as np

from viz_core.config import Architecture, Side
from viz_core.text import Vocabulary, pad, with_copied_words
from viz_core.training.examples import first_lesson
from viz_core.training.interactive.tasks.symbols import BOS, EOS, FIRST_ID, HELD_OUT_EVERY, PAD
from viz_core.training.interactive.tasks.task import Parameters, TaskInput

MASK = "<mask>"
MIN_SENTENCES_PER_WORD = 5  # words that occur in fewer sentences are not in the vocabulary; sentences with such words are left out
IdPair = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class SentencePool:
    """Sentences in both languages as ids, and the vocabularies. train, held_out: pairs (English, Chinese)."""

    train: tuple[IdPair, ...]
    held_out: tuple[IdPair, ...]
    english: Vocabulary
    chinese: Vocabulary


@lru_cache(maxsize=4)
def load_sentences(n_sentences: int, longest: int) -> SentencePool:
    """Return the first sentences of the lesson with at most `longest` words in each language; one in twenty is held out.

    Raises `ValueError` if the lesson has fewer such sentences.
    """
    drawn = list(islice((pair for pair in first_lesson() if max(map(len, pair)) <= longest), n_sentences))
    if len(drawn) < n_sentences:
        raise ValueError(f"the lesson has {len(drawn)} sentences of at most {longest} words, not {n_sentences}.")
    english, chinese = (_frequent_vocabulary([pair[side] for pair in drawn]) for side in (0, 1))
    known = [p for p in drawn if english.unk_id not in english.encode(p[0]) and chinese.unk_id not in chinese.encode(p[1])]
    split: tuple[list[IdPair], list[IdPair]] = ([], [])
    for pair in known:
        split[is_held_out(pair[0])].append((tuple(english.encode(pair[0])), tuple(chinese.encode(pair[1]))))
    return SentencePool(tuple(split[False]), tuple(dict.fromkeys(split[True])), english, chinese)


def is_held_out(sentence: Sequence[str]) -> bool:
    """Return whether an English sentence is held out from training, from its hash alone."""
    return int.from_bytes(blake2b(" ".join(sentence).encode(), digest_size=8).digest(), "big") % HELD_OUT_EVERY == 0


def _frequent_vocabulary(sentences: Sequence[Sequence[str]]) -> Vocabulary:
    """Return the vocabulary of the words that occur in enough sentences."""
    found = Counter(word for sentence in sentences for word in set(sentence))
    slots = [word for word in found if word.startswith("<")]  # placeholders of names and unknown words: kept however rare
    return Vocabulary(tuple(sorted(word for word, n in found.items() if n >= MIN_SENTENCES_PER_WORD or word in slots)))


@dataclass(frozen=True, slots=True)
class SentenceTask:
    """Tasks on sentences. Parameters: sentences, longest; for fill in and restore also damage, the percentage of changed words."""

    objective: Literal["translate", "go on", "fill in", "restore"]

    def sentences(self, p: Parameters) -> SentencePool:
        """Return the sentences for these parameters."""
        return load_sentences(p["sentences"], p["longest"])

    def vocabulary(self, p: Parameters, architecture: Architecture) -> dict[Side, Vocabulary]:
        words = self.sentences(p)
        match self.objective:
            case "translate":
                return {"source": words.english, "target": words.chinese}
            case "go on":
                return {"source" if architecture == "encoder-only" else "target": words.english}
            case "fill in":
                return {"source": Vocabulary((*words.english.words, MASK))}
        return {"source": words.english, "target": words.english}

    def max_lengths(self, p: Parameters, architecture: Architecture) -> dict[Side, int]:
        found: dict[Side, int] = {"source": p["longest"], "target": p["longest"] + 1}
        return {side: found[side] for side in self.vocabulary(p, architecture)}

    def sample_rows(
        self, p: Parameters, architecture: Architecture, rng: np.random.Generator, n: int, *, held_out: bool
    ) -> list[IdPair]:
        """Return (input, answer) of n sentences; when filling in, the answer is padding where the word is visible."""
        pairs = self.sentences(p).held_out if held_out else self.sentences(p).train
        chosen = [pairs[i] for i in (range(min(n, len(pairs))) if held_out else rng.integers(len(pairs), size=n))]
        if self.objective == "translate":
            return chosen
        if self.objective == "go on":
            return [(english, english) for english, __ in chosen]
        return [(self.mask_words if self.objective == "fill in" else self.corrupt_words)(english, p, rng) for english, __ in chosen]

    def mask_words(self, ids: tuple[int, ...], p: Parameters, rng: np.random.Generator) -> IdPair:
        """Mask some words, at least one; only these are labels (Devlin et al. 2019, section 3.1, masks only)."""
        hit = _choose_positions(len(ids), p["damage"], rng)
        mask = FIRST_ID + len(self.sentences(p).english.words)
        return tuple(np.where(hit, mask, ids)), tuple(np.where(hit, ids, PAD))

    def corrupt_words(self, ids: tuple[int, ...], p: Parameters, rng: np.random.Generator) -> IdPair:
        """Delete or replace some words, at least one; the label is the whole sentence (after Lewis et al. 2020)."""
        hit = _choose_positions(len(ids), p["damage"], rng)
        others = rng.integers(FIRST_ID, self.sentences(p).english.vocab_size, size=len(ids))
        deleted = hit & (rng.random(len(ids)) < 0.5)
        kept = np.where(hit, others, ids)[~deleted]
        return tuple(kept) or ids[:1], ids

    def masked_input(
        self, p: Parameters, ids: np.ndarray, tokens: tuple[str, ...], omitted_words: tuple[str, ...], user_words: Mapping[int, str]
    ) -> TaskInput:
        """Return a visitor's sentence with masked words."""
        mask = FIRST_ID + len(self.sentences(p).english.words)
        typed, every_third = ids == mask, np.arange(len(ids)) % 3 == min(1, len(ids) - 1)
        hit = typed if typed.any() else every_third
        read = tuple(MASK if hidden else token for token, hidden in zip(tokens, hit, strict=True))
        right = np.where(hit & ~typed, ids, PAD)
        return TaskInput({"source": np.where(hit, mask, ids)[None]}, {"source": read}, omitted_words, right, hit, user_words)

    def make_batch(self, p: Parameters, architecture: Architecture, rows: Sequence[IdPair]) -> dict[str, np.ndarray]:
        source = pad([read for read, __ in rows], PAD)
        if self.objective == "fill in":
            return {"source": source, "labels": pad([answer for __, answer in rows], PAD)}
        if architecture == "encoder-only":  # it has no <bos>, so the first word is not predicted
            return {"source": source, "labels": pad([(*answer[1:], EOS) for __, answer in rows], PAD)}
        labels = pad([(*answer, EOS) for __, answer in rows], PAD)
        written = {"target": pad([(BOS, *answer) for __, answer in rows], PAD), "labels": labels}
        return written if architecture == "decoder-only" else {"source": source, **written}

    def irreducible_loss(self, p: Parameters, architecture: Architecture, causal: bool = True) -> None:
        return None

    def n_answers(self, p: Parameters) -> int:
        words = self.sentences(p)
        return len((words.chinese if self.objective == "translate" else words.english).words)

    def symbols(self, p: Parameters) -> tuple[str, ...]:
        return ()

    def read_words(self, p: Parameters, architecture: Architecture, words: Sequence[str], max_tokens: int) -> TaskInput:
        """Return a visitor's sentence as task input, with the words that the vocabulary knows.

        To continue or restore a sentence, the visitor's sentence is the answer.
        A translation starts with <bos> alone, and the model generates it. The words to fill in are those typed as "<mask>", or
        every third word if none was.
        """
        sides, text = self.vocabulary(p, architecture), " ".join(words)
        english = next(iter(sides.values()))
        copied = english.fill_slots(text)
        reader = with_copied_words(english, copied)
        known = [(token, id) for token, id in zip(*reader.tokens_and_ids(text), strict=True)]
        read = [(token, id) for token, id in known if id != reader.unk_id]
        max_tokens -= self.objective == "restore" or architecture == "decoder-only"  # their target has <bos> too
        unread = [token for token, id in known if id == reader.unk_id] + [token for token, __ in read[max_tokens:]]
        left_out = tuple(dict.fromkeys(unread))
        ids = np.array([id for __, id in read[:max_tokens]], dtype=np.int64)
        shown = tuple(token for token, __ in read[:max_tokens])
        own = {id: token for token, id in read[:max_tokens] if english.slot(id)}
        if self.objective == "fill in":
            return self.masked_input(p, ids, shown, left_out, own)
        if self.objective == "go on" and architecture == "encoder-only":
            return TaskInput({"source": ids[None]}, {"source": shown}, left_out, np.array([*ids[1:], EOS]), None, own)
        if self.objective == "go on":
            row = np.array([[BOS, *ids]])
            return TaskInput({"target": row}, {"target": ("<bos>", *shown)}, left_out, np.array([*ids, EOS]), None, own)
        if self.objective == "restore":
            found: dict[Side, np.ndarray] = {"source": ids[None], "target": np.array([[BOS, *ids]])}
            return TaskInput(found, {"source": shown, "target": ("<bos>", *shown)}, left_out, np.array([*ids, EOS]), None, own)
        target = sides["target"]
        slot_words = {target.encode([f"<{n}>"])[0]: word for n, word in enumerate(copied[: target.n_slots], start=1)}
        start: dict[Side, np.ndarray] = {"source": ids[None], "target": np.array([[BOS]])}
        return TaskInput(start, {"source": shown, "target": ("<bos>",)}, left_out, user_words=slot_words)


def _choose_positions(n: int, percent: int, rng: np.random.Generator) -> np.ndarray:
    """Return which of n words are changed, [n]; at least one is."""
    hit = rng.random(n) < percent / 100
    hit[rng.integers(n)] |= not hit.any()
    return hit
