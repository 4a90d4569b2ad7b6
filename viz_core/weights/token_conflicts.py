"""Special tokens on which a published tokenizer and its config.json disagree: which id is used, and what the card says.

The tokenizer decides which ids a text has. config.json often keeps the default of its model type, such as BERT's
pad_token_id=0, even if the tokenizer has another token at that id.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from viz_core.config import TransformerConfig
from viz_core.messages import NO_TEXT, LazyText, lazy
from viz_core.messages.errors import UserError
from viz_core.weights.files import CONFIG
from viz_core.weights.layouts import BosEosIds, Layout, RawConfig, as_json, is_int
from viz_core.weights.special_tokens import SpecialTokens, is_pad_name, token_name


class ResolvedTokens(NamedTuple):
    """The config with the tokenizer's padding id, and the ids of <bos> and <eos> (None where the model has none).

    facts: one sentence for the card about each special token on which the files disagree.
    """

    config: TransformerConfig
    bos_eos_ids: BosEosIds | None
    facts: Mapping[str, LazyText]


def resolve_special_tokens(
    layout: Layout, config: TransformerConfig, raw: RawConfig, tokenizer_json: RawConfig, tokens: SpecialTokens
) -> ResolvedTokens:
    """Return the config and the special token ids to use.

    raw: config.json. tokenizer_json: the parsed tokenizer.json. tokens: the special tokens of the tokenizer.
    Raises `ValueError`, one sentence, for a RoBERTa whose texts can contain the padding id from which it counts positions.
    """
    _check_positions(layout, config, tokenizer_json, tokens)
    size, (bos, eos) = config.vocab_size(layout.side), layout.bos_eos_ids(raw) or (None, None)
    begin, end = (id if id is None or id < size else None for id in (tokens.bos_id, tokens.eos_id))
    facts = {"padding": _padding_fact(raw, tokenizer_json, tokens)}
    if layout.bos_eos_ids(raw) is not None:
        facts["beginning of text"] = _bos_eos_fact("bos_token", raw, bos, tokens.prefix_ids[:1], begin, tokenizer_json)
        facts["end of text"] = _bos_eos_fact("eos_token", raw, eos, tokens.suffix_ids[-1:], end, tokenizer_json)
    ends = None if layout.bos_eos_ids(raw) is None else (begin if bos is None else bos, end if eos is None else eos)
    if ends is not None and ends[0] is None and not tokens.prefix_ids:
        facts["beginning of text"] = lazy("no token, since {stated}; the first typed token is the first input token",
                                          stated=_config_statement("bos_token_id", raw, size))
    if ends is not None and ends[1] is None and not tokens.suffix_ids:
        facts["end of text"] = lazy("no token, since {stated}; generated text ends at the length limit",
                                    stated=_config_statement("eos_token_id", raw, size))
    elif isinstance(several := raw.get("eos_token_id"), list) and len(several) > 1 and eos is not None and not tokens.suffix_ids:
        facts["end of text"] = lazy("{stated}; the first of them that the vocabulary has, {eos}, is used here",
                                    stated=_config_statement("eos_token_id", raw), eos=_id_with_name(eos, tokenizer_json))
    return ResolvedTokens(
        _with_tokenizer_padding(layout, config, tokens, ends), ends, {name: fact for name, fact in facts.items() if fact}
    )


def _with_tokenizer_padding(
    layout: Layout, config: TransformerConfig, tokens: SpecialTokens, bos_eos_ids: BosEosIds | None
) -> TransformerConfig:
    """Return the config with the tokenizer's padding id.

    Where the tokenizer has no token that is used for padding only, padding is determined by the length of each sentence.
    """
    known = tokens.pad_id is not None and tokens.pad_id < config.vocab_size(layout.side)
    by_id = known and tokens.is_pad_unambiguous and tokens.pad_id not in (bos_eos_ids or ())
    pad_id: Any = tokens.pad_id if known else config.pad_id(layout.side)
    return replace(config, padding_from="ids" if by_id else "lengths", **{f"{layout.side}_pad_id": pad_id})


def _check_positions(layout: Layout, config: TransformerConfig, tokenizer_json: RawConfig, tokens: SpecialTokens) -> None:
    """Raise `ValueError` if a text can contain the padding id: RoBERTa gives that id no position, which our model cannot do."""
    id = config.pad_id(layout.side)
    if layout.positions_skip_padding and _occurs_in_text(id, tokenizer_json, tokens):
        raise UserError("padding_read", config=CONFIG, id=_id_with_name(id, tokenizer_json), title=layout.title)


def _occurs_in_text(id: int, tokenizer_json: RawConfig, tokens: SpecialTokens) -> bool:
    """Whether a text may contain this id. A token with a name such as [PAD] is padding even if it is not declared as special."""
    if id in (tokens.unk_id, *tokens.prefix_ids, *tokens.suffix_ids):
        return True
    name = token_name(id, tokenizer_json)
    return name is not None and id not in tokens.reserved_ids and not is_pad_name(name)


def _padding_fact(raw: RawConfig, tokenizer_json: RawConfig, tokens: SpecialTokens) -> LazyText:
    """Return the card's sentence about padding; "" where the files agree."""
    stated = raw.get("pad_token_id")
    if not is_int(stated):
        return NO_TEXT
    if tokens.pad_id is not None and stated != tokens.pad_id:
        return lazy("{config} says pad_token_id={stated}, but the tokenizer's padding token is {ours}, which is used here",
                    config=CONFIG, stated=_id_with_name(stated, tokenizer_json), ours=_id_with_name(tokens.pad_id, tokenizer_json))
    if (
        tokens.pad_id is None
        and stated not in (*tokens.prefix_ids, *tokens.suffix_ids)
        and _occurs_in_text(stated, tokenizer_json, tokens)
    ):
        return lazy("{config} says pad_token_id={stated}, but the tokenizer reads it in texts; here padding "
                    "is determined by the length of each sentence", config=CONFIG, stated=_id_with_name(stated, tokenizer_json))
    return NO_TEXT


def _bos_eos_fact(
    field: str,
    raw: RawConfig,
    config_id: int | None,
    added_ids: tuple[int, ...],
    tokenizer_id: int | None,
    tokenizer_json: RawConfig,
) -> LazyText:
    """Return the card's sentence about bos_token or eos_token (`field`); "" where the files agree.

    config_id: the id in config.json, None where that is not a token of the model. added_ids: the ids that the tokenizer adds to
    every text. tokenizer_id: the id of the token with this role in the tokenizer.
    """
    stated = raw.get(f"{field}_id")
    said = _id_with_name(stated, tokenizer_json) if is_int(stated) else ""
    if added_ids and not said:
        return (
            lazy("{adds}, which the tokenizer adds to every text", adds=_id_with_name(added_ids[0], tokenizer_json))
            if config_id is None
            else NO_TEXT
        )
    if added_ids:
        return lazy("{config} says {field}_id={said}, but the tokenizer adds {adds} to every text, which is used here",
                    config=CONFIG, field=field, said=said, adds=_id_with_name(added_ids[0], tokenizer_json)
                    ) if stated != added_ids[0] else NO_TEXT
    if tokenizer_id is None or config_id == tokenizer_id:
        return NO_TEXT
    if config_id is None:
        return lazy("the tokenizer's {field}, {calls}, since {config} names no token of the vocabulary", config=CONFIG, field=field,
                    calls=_id_with_name(tokenizer_id, tokenizer_json))
    return lazy("{config} says {field}_id={said}, which is used here, but the tokenizer's {field} is {calls}", config=CONFIG,
                field=field, said=said, calls=_id_with_name(tokenizer_id, tokenizer_json)) if said else NO_TEXT


def _config_statement(field: str, raw: RawConfig, vocab_size: int | None = None) -> LazyText:
    """Return a clause with the value of a special token in config.json. vocab_size: given if the vocabulary lacks this id."""
    if field not in raw:
        return lazy("{config} has no {field}", config=CONFIG, field=field)
    said = lazy("{config} says {field}={value}", config=CONFIG, field=field, value=as_json(raw[field]))
    lacks = vocab_size is not None and raw[field] not in (None, [])
    return lazy("{said} and the vocabulary has {words:,} ids", said=said, words=vocab_size) if lacks else said


def _id_with_name(id: int, tokenizer_json: RawConfig) -> str | LazyText:
    """Return the id with its token, such as "3 ('[PAD]')"."""
    name = token_name(id, tokenizer_json)
    return lazy("{id} (no token)", id=id) if name is None else f"{id} ({name!r})"
