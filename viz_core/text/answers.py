"""A word that somebody types as an answer, as the one id that a model would give it."""

from viz_core.limits import MAX_VIEW_CHARS
from viz_core.problems import Problem
from viz_core.text.showing import visible
from viz_core.text.tokenizer import AnyTokenizer
from viz_core.text.vocabulary import Vocabulary

SHOWN = 40  # characters of a typed answer that a sentence about it repeats


def answer_id(tokenizer: AnyTokenizer, typed: str) -> int:
    """The id of a typed word. `Problem`, a `ValueError`, where it is no word, several tokens, or not in the vocabulary.

    tokenizer: of the output side, `bound` to the words that the slots of the sentence carry; such a word has its slot's id. A
    token may also be typed by the name that it is shown with, such as <eos> or ⟨#123⟩. Where words begin with a space, as in
    GPT-2, the word is the one behind a space, if there is one.
    """
    word = typed.strip() or typed  # a space alone may be a character
    if not word:
        raise Problem("the answer is empty; type one word.", "answer_empty")
    shown = visible(word[:SHOWN])
    if len(word) > MAX_VIEW_CHARS:
        raise Problem(f"{shown!r}… has {len(word):,} characters; give one word.", "answer_long", word=shown, count=len(word))
    found = [_read(tokenizer, text) for text in dict.fromkeys((f" {word}", word))]
    single = next((ids[0] for ids in found if len(ids) == 1 and _is_word(tokenizer, ids[0])), None)
    if single is not None:
        return single
    named = next((id for id in range(tokenizer.vocab_size) if tokenizer.decode(id) in (word, typed)), None)
    if named is not None:
        return named
    if not word.strip():
        raise Problem("the answer is empty; type one word.", "answer_empty")
    if len(found[-1]) > 1:
        raise Problem(f"{shown!r} is {len(found[-1])} tokens; give one word.", "answer_tokens", word=shown, count=len(found[-1]))
    similar = next((near for token, near in tokenizer.unknown(word)), [])
    if similar:
        raise Problem(f"{shown!r} is not in the vocabulary of this model; choose {' or '.join(similar)}.", "answer_similar",
                      word=shown, fits=similar)
    raise Problem(f"{shown!r} is not in the vocabulary of this model; choose another word.", "answer_unknown", word=shown)


def _read(tokenizer: AnyTokenizer, text: str) -> list[int]:
    """The ids of what was typed, without the special ones that a tokenizer adds."""
    try:
        ids, added = tokenizer.read(text)[1], tokenizer.read("")[1]
    except ValueError:  # the name of a special token, which a published tokenizer does not read
        return []
    if not added:
        return ids
    front = next((n for n, (a, b) in enumerate(zip(added, ids, strict=False)) if a != b), min(len(added), len(ids)))
    return ids[front : len(ids) - (len(added) - front)]


def _is_word(tokenizer: AnyTokenizer, id: int) -> bool:
    """Whether an id stands for a word that is known, or that a slot of the sentence carries."""
    if isinstance(tokenizer, Vocabulary) and (slot := tokenizer.slot(id)):
        return slot <= len(tokenizer.carried)
    return id != tokenizer.unk_id
