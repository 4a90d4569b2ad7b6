"""The special tokens of a published tokenizer: the ids that it adds to every text, its padding token and its reserved ids.

tokenizer_config.json and special_tokens_map.json, where they exist, name the special tokens. Only the files are read here; texts
are tokenized by `SubwordTokenizer`.
"""

import base64
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from viz_core.messages.errors import UserError

# The parts of tokenizers such as those of BERT and GPT-2. Others can apply any pattern to the typed text or make it a thousand
# times as long.
SAFE_PARTS = frozenset({
    "Sequence", "BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Strip", "Nmt",
    "BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Punctuation", "Digits", "ByteLevel", "Metaspace",
    "CharDelimiterSplit", "UnicodeScripts", "TemplateProcessing", "BertProcessing", "RobertaProcessing",
})
STEPS = ("normalizer", "pre_tokenizer", "post_processor")
MAX_PREPENDED = 8  # characters
MAX_REPLACEMENT = 64  # bytes; ﷺ is replaced by four words of 33 bytes

# Patterns that match in linear time: alternatives of one character class each, repeated or not; and patterns of published
# tokenizers.
_CLASS = r"(?: \?)?(?:\\[sSdDwWX]|\.|\\p\{\w{1,20}\}|\[[^\[\]]{1,200}\]|[^\\()\[\]{}|?*+.^$])(?:\+|\{\d{1,2}(?:,\d{0,2})?\})?"
_ALTERNATIVES = rf"{_CLASS}(?:\|{_CLASS})*"
SAFE_PATTERN = re.compile(rf"|{_ALTERNATIVES}|\((?:\?m?:)?{_ALTERNATIVES}\)")
PUBLISHED_PATTERNS = frozenset({
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
})
T = TypeVar("T")

# The keys of special tokens in tokenizer_config.json and special_tokens_map.json.
SPECIAL_TOKEN_FIELDS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_BRACKETED = re.compile(r"<.+>|\[.+\]|\{.+\}|\|.+\|", re.DOTALL)
_PAD_NAME = re.compile(r"[<\[|{(]{1,2}pad(?:ding)?[>\]|})]{1,2}", re.IGNORECASE)


class SpecialTokens(NamedTuple):
    """The special tokens of a tokenizer.

    prefix_ids, suffix_ids: the ids that it adds before and after every text. unk_id, pad_id, bos_id, eos_id: None where it has no
    such token. reserved_ids: the ids that typed text never has. Other tokens that are declared as special ("\\n", the letters of
    DNA) are ordinary text.
    """

    prefix_ids: tuple[int, ...]
    suffix_ids: tuple[int, ...]
    unk_id: int | None
    pad_id: int | None
    bos_id: int | None
    eos_id: int | None
    reserved_ids: frozenset[int]

    @property
    def is_pad_unambiguous(self) -> bool:
        """Whether the padding id is used for padding only."""
        return self.pad_id in self.reserved_ids and self.pad_id not in (self.unk_id, *self.prefix_ids, *self.suffix_ids)


def parse_tokenizer(text: str) -> dict[str, Any]:
    """Return the contents of tokenizer.json. Raises `ValueError`, one sentence, for invalid JSON and for unsupported parts."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict) or not isinstance(parsed.get("model"), dict):
        raise UserError("tokenizer_not_json")
    for step in STEPS:
        for part in iter_parts(parsed.get(step)):
            kind = part.get("type")
            if not isinstance(kind, str) or not (kind in SAFE_PARTS or _is_safe(kind, part)):
                raise UserError("tokenizer_step", step=step, kind=str(kind)[:40])
    return parsed | {"added_tokens": _with_library_ids(parsed.get("added_tokens"), parsed["model"].get("vocab"))}


def _with_library_ids(added: Any, vocabulary: Any) -> Any:
    """Return the added tokens with the ids that the library assigns: that of the vocabulary, or the next free one."""
    if not isinstance(added, list) or not isinstance(vocabulary, dict | list):
        return added
    contents = [x["content"] for x in _objects(added) if isinstance(x.get("content"), str) and x["content"]]
    known, free = _vocabulary_ids(frozenset(contents), vocabulary), len(vocabulary)
    ids: dict[str, int] = {}
    for content in dict.fromkeys(contents):
        ids[content] = known.get(content, free)
        free = max(free, ids[content] + 1)
    return [x | {"id": ids[x["content"]]} if _is_one_of(ids, x) else x for x in added]


def _is_one_of(contents: Collection[str], token: Any) -> bool:
    """Whether `token` is an added token with one of these texts."""
    return isinstance(token, dict) and isinstance(token.get("content"), str) and token["content"] in contents


def _vocabulary_ids(contents: Collection[str], vocabulary: Any) -> dict[str, int]:
    """Return the ids of those tokens that are in the vocabulary."""
    if isinstance(vocabulary, dict):
        return {content: vocabulary[content] for content in contents if _is_id(vocabulary.get(content))}
    pieces = ((piece[0], i) for i, piece in enumerate(vocabulary) if isinstance(piece, list) and piece)
    return {content: i for content, i in pieces if isinstance(content, str) and content in contents}


def iter_parts(step: Any) -> Iterator[dict[str, Any]]:
    """Yield a normalizer, pre-tokenizer or post-processor and, of a sequence, its parts."""
    if not isinstance(step, dict):
        return
    yield step
    for inner in (x for field in ("normalizers", "pretokenizers", "processors") for x in step.get(field) or ()):
        yield from iter_parts(inner)


def _is_safe(kind: str, part: Mapping[str, Any]) -> bool:
    """Whether a configurable part runs in linear time and does not make a text much longer."""
    if kind == "Precompiled":
        return _is_short_map(part.get("precompiled_charsmap"))
    if kind == "Prepend":
        return isinstance(part.get("prepend"), str) and len(part["prepend"]) <= MAX_PREPENDED
    if kind not in ("Split", "Replace") or not isinstance(pattern := part.get("pattern"), dict) or len(pattern) != 1:
        return False
    form, text = next(iter(pattern.items()))
    if not isinstance(text, str) or (form == "Regex" and text not in PUBLISHED_PATTERNS and not SAFE_PATTERN.fullmatch(text)):
        return False
    content = part.get("content", "")
    return kind == "Split" or (isinstance(content, str) and bool(text) and len(content) <= (len(text) if form == "String" else 1))


def _is_short_map(charsmap: Any) -> bool:
    """Whether all replacements in SentencePiece's table are short. The table is a trie, followed by texts that end in NUL."""
    try:
        table = base64.b64decode(charsmap, validate=True)
    except (TypeError, ValueError):
        return False
    start = 4 + int.from_bytes(table[:4], "little")
    return start <= len(table) and all(len(text) <= MAX_REPLACEMENT for text in table[start:].split(b"\0"))


# --- Reading the files ------------------------------------------------------------------------------------------------


def find_special_tokens(tokenizer_json: Mapping[str, Any], *name_files: Mapping[str, Any]) -> SpecialTokens:
    """Return the special tokens of a parsed tokenizer.json. name_files: tokenizer_config.json and special_tokens_map.json, if any.

    The padding token is the pad_token of these files, else that of tokenizer.json's padding, else a special token with a name
    such as [PAD].
    """
    added = {x["content"]: x["id"] for x in _objects(tokenizer_json.get("added_tokens"))
             if _is_id(x.get("id")) and isinstance(x.get("content"), str)}
    special = declared_special_tokens(tokenizer_json)

    def first(token: str, *others: Any) -> int | None:
        contents = [*(_token_text(x.get(token)) for x in name_files), *others]
        ids = (_token_id(content, added, tokenizer_json["model"]) for content in contents if isinstance(content, str))
        return next((id for id in ids if id is not None), None)

    filled = tokenizer_json.get("padding")
    padding = first("pad_token", filled.get("pad_token") if isinstance(filled, dict) else None, *filter(is_pad_name, special))
    front, back = added_ids(tokenizer_json.get("post_processor"))
    unknown = _find_unk_id(added, tokenizer_json["model"])
    roles = {content for x in name_files for role in SPECIAL_TOKEN_FIELDS if isinstance(content := _token_text(x.get(role)), str)}
    kept = {id for content, id in special.items()
            if content in roles or id in (unknown, padding, *front, *back) or is_special_name(content)}
    kept |= {id for id in (*front, *back) if is_special_name(token_name(id, tokenizer_json) or "")}
    return SpecialTokens(front, back, unknown, padding, first("bos_token"), first("eos_token"), frozenset(kept))


def declared_special_tokens(tokenizer_json: Mapping[str, Any]) -> dict[str, int]:
    """Return the tokens that tokenizer.json declares as special, with their ids."""
    return {x["content"]: x["id"] for x in _objects(tokenizer_json.get("added_tokens"))
            if _is_id(x.get("id")) and isinstance(x.get("content"), str) and x.get("special") is True}


def is_special_name(token: str) -> bool:
    """Whether a token is written like a special token: [SEP], <s>, <|endoftext|>."""
    return bool(_BRACKETED.fullmatch(token.strip())) or is_pad_name(token)


def with_ordinary_tokens(tokenizer_json: Mapping[str, Any], reserved_ids: Collection[int]) -> dict[str, Any]:
    """Return the tokenizer.json with all special tokens except `reserved_ids` made ordinary, as in `transformers`."""
    ordinary = {content for content, id in declared_special_tokens(tokenizer_json).items() if id not in reserved_ids}
    added = [x | {"special": False} if _is_one_of(ordinary, x) else x for x in tokenizer_json.get("added_tokens") or ()]
    return {**tokenizer_json, "added_tokens": added}


def added_ids(post_processor: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ids that a post-processor adds before and after every text.

    Raises `ValueError`, one sentence, for one that is malformed or drops the text.
    """
    front: list[int] = []
    back: list[int] = []
    for part in iter_parts(post_processor):
        try:
            before, behind = _added_by_part(part)
        except (KeyError, TypeError, IndexError, ValueError):
            raise UserError("tokenizer_post", kind=repr(part.get("type"))) from None
        front, back = before + front, back + behind
    return tuple(front), tuple(back)


def _added_by_part(part: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """Return the ids that one part of a post-processor adds before and after a text; ByteLevel adds none."""
    if part["type"] in ("BertProcessing", "RobertaProcessing"):
        return [part["cls"][1]], [part["sep"][1]]
    if part["type"] != "TemplateProcessing":
        return [], []
    pieces, known = part["single"], part["special_tokens"]
    (text,) = (i for i, piece in enumerate(pieces) if "Sequence" in piece)
    before, behind = ([id for piece in some for id in known[piece["SpecialToken"]["id"]]["ids"]]
                      for some in (pieces[:text], pieces[text + 1 :]))
    return before, behind


def is_pad_name(token: str) -> bool:
    """Whether a token has the name of a padding token: [PAD], <pad>, <|pad|>, <|padding|>."""
    return bool(_PAD_NAME.fullmatch(token))


def token_name(id: int, tokenizer_json: Mapping[str, Any]) -> str | None:
    """Return the token with this id; None if tokenizer.json has none."""
    for x in _objects(tokenizer_json.get("added_tokens")):
        if x.get("id") == id and isinstance(x.get("content"), str):
            return str(x["content"])
    vocabulary = tokenizer_json["model"].get("vocab")
    if isinstance(vocabulary, dict):
        return next((token for token, other in vocabulary.items() if other == id), None)
    piece = vocabulary[id] if isinstance(vocabulary, list) and 0 <= id < len(vocabulary) else None
    return str(piece[0]) if isinstance(piece, Sequence) and piece else None


def _find_unk_id(added: Mapping[str, int], model: Mapping[str, Any]) -> int | None:
    """Return the id of the unknown token: Unigram, whose vocabulary is a list, states the id, other models the text."""
    if isinstance(model.get("vocab"), list):
        return model["unk_id"] if _is_id(model.get("unk_id")) else None
    return _token_id(model["unk_token"], added, model) if isinstance(model.get("unk_token"), str) else None


def _token_id(content: str, added: Mapping[str, int], model: Mapping[str, Any]) -> int | None:
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, dict):
        found = vocabulary.get(content, added.get(content))
        return found if _is_id(found) else None
    pieces = enumerate(vocabulary) if isinstance(vocabulary, list) and content not in added else ()
    return added.get(content, next((i for i, piece in pieces if isinstance(piece, list) and piece[:1] == [content]), None))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (x for x in (value if isinstance(value, list) else ()) if isinstance(x, dict))


def _token_text(token: Any) -> Any:
    """Return the text of a token, which is an object in older files."""
    return token.get("content") if isinstance(token, dict) else token


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def call_library(call: Callable[[], T], error_of: Callable[[str], UserError]) -> T:
    """Return `call()`. Exceptions and panics of the library become the error that `error_of` returns for their text."""
    try:
        return call()
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise error_of(str(error)[:100]) from None
