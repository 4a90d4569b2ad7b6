"""Subwords: the tokenizer of a published checkpoint, read from its tokenizer.json by the `tokenizers` library.

Typed text stays text: "[SEP]" or "<|endoftext|>" in a sentence is split like any other word and never becomes the
special token with that name.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import regex
from tokenizers import Encoding, Tokenizer, models

from viz_core.language import translate as _
from viz_core.text.tokenizer import NO_TOKEN
from viz_core.weights.special_tokens import declared_special, guarded, parsed_tokenizer, parts_of, special_tokens, with_text

_SURROGATE = regex.compile(r"[\uD800-\uDFFF]")  # half of a pair, which no text in UTF-8 has
_ESCAPED = regex.compile(r"[\uDC80-\uDCFF]+")  # Python's code for bytes that are not a whole character
_BYTES = regex.compile(r"⟨([0-9A-F]{2}(?: [0-9A-F]{2})*)⟩")


class Subword:
    """A published tokenizer: WordPiece (BERT), byte-level BPE (GPT-2), or another one of the library.

    Tokens are shown as the vocabulary has them ("##ing"), bytes as the text they are (" cat", not "Ġcat"), a part of a
    character as its bytes ("⟨E7 8C⟩"), and an unknown word as typed. ends: the ids of <bos> and <eos>, None for one that the
    model lacks; what the tokenizer adds itself is used instead. named: tokenizer_config.json and special_tokens_map.json, as far
    as there are. skips_padding: whether the model gives a token with the padding id no position, as RoBERTa does. `ValueError`
    with one sentence if tokenizer.json cannot be read or does not fit.
    """

    def __init__(
        self, text: str, vocab_size: int, pad_id: int, ends: tuple[int | None, int | None] | None = None,
        named: Sequence[Mapping[str, Any]] = (), skips_padding: bool = False,
    ) -> None:
        self.vocab_size, self.pad_id, self._skips_padding = vocab_size, pad_id, skips_padding
        parsed = parsed_tokenizer(text)
        tokens, special = special_tokens(parsed, *named), declared_special(parsed).values()
        never_typed = tokens.never_typed | {id for id in special if id in (ends or ()) or id >= vocab_size}
        if not never_typed.issuperset(special):
            text = json.dumps(with_text(parsed, never_typed))
        self._tokenizer = guarded(lambda: Tokenizer.from_str(text), _("tokenizer.json cannot be used"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # typed text is text
        if isinstance(self._tokenizer.model, models.BPE):
            self._tokenizer.model.dropout = None  # a training's noise: the same text has the same tokens
        added = (*tokens.front, *tokens.back)  # BERT's [CLS] and [SEP]
        self._check_ids(never_typed.difference(added))
        if ends is None:
            ends = (added[0], added[-1]) if added else (pad_id, pad_id)
        before, behind = (() if added or id is None else (id,) for added, id in zip((tokens.front, tokens.back), ends, strict=True))
        self.around = (before, behind)
        self.bos_id, self.eos_id = (*tokens.front, *before, NO_TOKEN)[0], (NO_TOKEN, *behind, *tokens.back)[-1]
        for id in (*before, *behind, *added):
            if not 0 <= id < vocab_size:
                raise ValueError(_("special token id {id!r} is outside the vocabulary of {vocab_size}",
                                   id=id, vocab_size=vocab_size))
        model = parsed["model"]  # which pieces begin a word, continue it (##ing) or end it (ing</w>), as far as they say it
        self._space = next(filter(None, map(_space, parts_of(parsed.get("normalizer")))), "") or next(
            filter(None, map(_space, parts_of(parsed.get("pre_tokenizer")))), "")
        self._prefix, self._suffix = (_string(model.get(x)) for x in ("continuing_subword_prefix", "end_of_word_suffix"))
        self._byte_level = any(part.get("type") == "ByteLevel" for step in ("normalizer", "pre_tokenizer")
                               for part in parts_of(parsed.get(step)))
        self._unknown = tokens.unknown
        self.unk_id = NO_TOKEN if tokens.unknown is None else tokens.unknown
        self._never_typed = never_typed | {tokens.unknown}
        in_model = self._tokenizer.model.id_to_token
        self._added = frozenset(id for id in self._tokenizer.get_added_tokens_decoder() if in_model(id) is None)
        specials = never_typed | {pad_id, self.bos_id, self.eos_id, self.unk_id}
        self._specials = frozenset(id for id in specials if 0 <= id < vocab_size)

    def _check_ids(self, unused: frozenset[int]) -> None:
        """Every id that a text can have has a row in the model. unused: special tokens that no text has."""
        ids = set(self._tokenizer.get_vocab(with_added_tokens=True).values())
        highest = max(ids - unused or ids, default=-1)
        if not 0 <= highest < self.vocab_size:
            raise ValueError(_("tokenizer.json has ids up to {highest}, and the model has {vocab_size} words, so they do not "
                               "belong together", highest=highest, vocab_size=self.vocab_size))

    def read(self, sentence: str) -> tuple[list[str], list[int]]:
        """The tokens as shown and their ids, with [CLS] and [SEP] if the tokenizer adds them."""
        tokens, ids = [], []
        for token, id, __ in self._pieces(sentence):
            tokens.append(token)
            ids.append(id)
        if self._skips_padding and self.pad_id in ids:
            raise ValueError(self._misplaced())
        return tokens, ids

    def check_ids(self, ids: Sequence[int]) -> None:
        """`ValueError`, one sentence, where padding stands before other ids and the model gives it no position.

        The later tokens would have other positions than in the published model.
        """
        if self._skips_padding and any(a == self.pad_id != b for a, b in pairwise(ids)):
            raise ValueError(self._misplaced())

    def _misplaced(self) -> str:
        return _("{token!r} (id {id}) fills up short texts in this model, which gives it no position of its own, so it may stand "
                 "only behind a text; leave it out", token=self.decode(self.pad_id), id=self.pad_id)

    def decode(self, id: int) -> str:
        """The token with this id as it is shown, or "⟨#123⟩" for an embedding row without a token."""
        if not 0 <= id < self.vocab_size:
            raise ValueError(_("token id {id} is outside the vocabulary of {vocab_size}; use 0 to {vocab_size_2}.",
                               id=id, vocab_size=self.vocab_size, vocab_size_2=self.vocab_size - 1))
        token = self._tokenizer.id_to_token(id)
        return f"⟨#{id}⟩" if token is None else self._shown(token, id)

    def collisions(self, tokens: Iterable[str]) -> list[tuple[str, ...]]:
        """None: tokens are shown as the vocabulary has them, so different ones have different ids."""
        return []

    def unknown(self, sentence: str) -> list[tuple[str, list[str]]]:
        """Each typed word without pieces in the vocabulary, once. There are no suggestions: single letters are pieces.

        Where the tokenizer has no token for what it does not know (`unk_id` is NO_TOKEN), the parts of the text that no token has.
        """
        if self._unknown is None:
            return [(part, []) for part in dict.fromkeys(self._left_out(sentence))]
        typed = [token for token, id, is_typed in self._pieces(sentence) if is_typed and id == self._unknown]
        return [(token, []) for token in dict.fromkeys(typed)]

    def _left_out(self, sentence: str) -> list[str]:
        """The parts of the text whose characters the vocabulary of a BPE lacks; none where all bytes are in it.

        The other models cannot read such a text.
        """
        if self._byte_level or not isinstance(self._tokenizer.model, models.BPE):
            return []
        lacking = {x for x in set(sentence) if not x.isspace() and self._lacks(x)}
        return "".join(x if x in lacking else " " for x in sentence).split()

    def _lacks(self, character: str) -> bool:
        """Whether a character gives no token. It is read twice, since the last one of a word may have a token of its own."""
        normalizer = self._tokenizer.normalizer
        text = _SURROGATE.sub("\ufffd", character)
        found = self._tokenizer.model.tokenize((text if normalizer is None else normalizer.normalize_str(text)) * 2)
        return not any(token.value.strip("▁") for token in found)

    def groups(self, tokens: Sequence[str]) -> list[int]:
        """For each token the number of its word, as the tokenizer splits words; special tokens stand alone."""
        starts = self._byte_starts(tokens) if self._byte_level else self._prefix_starts(tokens)
        return [count - 1 for count in accumulate(starts)]

    def word(self, tokens: Sequence[str]) -> str:
        """The joined pieces of one word, without "##", "▁" and "</w>" and with bytes decoded as characters."""
        if self._byte_level:
            return b"".join(map(_bytes, tokens)).decode("utf-8", "replace")
        pieces = [token.removeprefix(self._prefix) if i else token for i, token in enumerate(tokens)]
        whole = "".join(pieces).removesuffix(self._suffix)
        return (whole.replace(self._space, " ").strip() if self._space else whole) or whole

    def _prefix_starts(self, tokens: Sequence[str]) -> Iterator[bool]:
        special = self._special_names()
        for before, token in pairwise(["", *tokens]):
            if not before or before in special or token in special:
                yield True
            elif self._space:
                yield token.startswith(self._space)
            elif self._suffix:
                yield before.endswith(self._suffix)
            else:
                yield not self._prefix or not token.startswith(self._prefix)

    def _special_names(self) -> set[str]:
        """How special tokens are shown, also by the pages."""
        return {self.decode(id) for id in self._specials} | {"<pad>", "<bos>", "<eos>"}

    def _byte_starts(self, tokens: Sequence[str]) -> Iterator[bool]:
        """Join each run of typed tokens and split it where the tokenizer splits words."""
        special = self._special_names()
        run: list[bytes] = []
        for token in tokens:
            if token in special:
                yield from self._run_starts(run)
                run = []
                yield True
            else:
                run.append(_bytes(token))
        yield from self._run_starts(run)

    def _run_starts(self, run: Sequence[bytes]) -> Iterator[bool]:
        pre = self._tokenizer.pre_tokenizer
        words = pre.pre_tokenize_str(b"".join(run).decode("utf-8", "replace")) if pre is not None else []
        starts = {0, *accumulate(len(word) for word, __ in words)}  # in bytes: a word is spelt with one letter a byte
        yield from (place in starts for place in accumulate(map(len, run[:-1]), initial=0) if run)

    def _encode(self, sentence: str) -> Encoding:
        text = _SURROGATE.sub("\ufffd", sentence)
        try:
            return self._encoded(text)
        except ValueError:
            lost = next((word for word in text.split() if not self._reads(word)), None) if self._unknown is None else None
            if lost is None:
                raise
        raise ValueError(_("{word!r} is not in the vocabulary of this model, and its tokenizer.json has no token for unknown "
                           "words; write it differently", word=lost[:40]))

    def _encoded(self, text: str) -> Encoding:
        return guarded(lambda: self._tokenizer.encode(text), _("tokenizer.json cannot read this text"))

    def _reads(self, word: str) -> bool:
        try:
            self._encoded(word)
        except ValueError:
            return False
        return True

    def _pieces(self, sentence: str) -> Iterator[tuple[str, int, bool]]:
        """Token as shown, id, and whether it was typed rather than added."""
        found = self._encode(sentence)
        for token, id, added, (start, end) in zip(found.tokens, found.ids, found.special_tokens_mask, found.offsets, strict=True):
            typed = sentence[start:end]
            if added:
                yield self._shown(token, id), id, False
            elif id not in self._never_typed:
                yield self._shown(token, id), id, True
            elif id == self._unknown and (typed != self._tokenizer.id_to_token(id)
                                          or id not in (self.pad_id, self.bos_id, self.eos_id)):
                yield typed or token, id, True
            elif self._unknown not in (None, id):  # a tokenizer that keeps a special's name among its words
                yield typed, self.unk_id, True
            else:
                raise ValueError(_("{token!r} is a special token of this checkpoint and cannot be typed; write it differently",
                                   token=token[:40]))

    def _shown(self, token: str, id: int) -> str:
        """A token as it is shown. One that was added behind the vocabulary is written as text, not with a letter for each byte."""
        return token if not self._byte_level or id in self._never_typed or id in self._added else _text(token)


def _space(part: Mapping[str, Any]) -> str:
    """What stands for a space in the vocabulary, where this part of a tokenizer puts it there; "" otherwise."""
    if part.get("type") == "Metaspace":
        return _string(part.get("replacement"))
    return _string(part.get("content")) if part.get("type") == "Replace" and part.get("pattern") == {"String": " "} else ""


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


# --- Bytes as text ----------------------------------------------------------------------------------------------------


def _alphabet() -> dict[str, int]:
    """GPT-2's letter for each byte (`bytes_to_unicode`): the printable ones of Latin-1 as they are, the rest from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


BYTE_OF = _alphabet()


def _text(token: str) -> str:
    """The text that a byte-level token stands for: "Ġcat" -> " cat", "çĮ" -> "⟨E7 8C⟩", the first two bytes of 猫."""
    if any(letter not in BYTE_OF for letter in token):
        return token
    text = bytes(BYTE_OF[letter] for letter in token).decode("utf-8", "surrogateescape")
    return _ESCAPED.sub(lambda part: "⟨" + " ".join(f"{ord(x) - 0xDC00:02X}" for x in part[0]) + "⟩", text)


def _bytes(shown: str) -> bytes:
    """The inverse of `_text`."""
    pieces = _BYTES.split(shown)  # text, bytes in hex, text, …
    return b"".join(bytes.fromhex(x) if i % 2 else x.encode("utf-8", "replace") for i, x in enumerate(pieces))
