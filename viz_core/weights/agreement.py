"""Special tokens on which a published tokenizer and its config.json disagree: which id is used, and what the card says.

The tokenizer decides which ids a text has. config.json often keeps the default of its model type, such as BERT's
pad_token_id=0, even if the tokenizer has another token at that id.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from viz_core.config import TransformerConfig
from viz_core.language import translate as _
from viz_core.weights.files import CONFIG
from viz_core.weights.layouts import Ends, Layout, Settings, as_written, is_whole
from viz_core.weights.special_tokens import SpecialTokens, name_of, names_padding


class Agreement(NamedTuple):
    """The config with the tokenizer's padding id, and the ids of <bos> and <eos> (None where the model has none).

    facts: one sentence for the card about each special token on which the files disagree.
    """

    config: TransformerConfig
    ends: Ends | None
    facts: Mapping[str, str]


def agree(layout: Layout, config: TransformerConfig, raw: Settings, parsed: Settings, tokens: SpecialTokens) -> Agreement:
    """Return the config and the special token ids to use.

    raw: config.json. tokenizer_json: the parsed tokenizer.json. tokens: the special tokens of the tokenizer.
    Raises `ValueError`, one sentence, for a RoBERTa whose texts can contain the padding id from which it counts positions.
    """
    _check_positions(layout, config, parsed, tokens)
    size, (bos, eos) = config.vocab_size(layout.side), layout.ends(raw) or (None, None)
    begin, end = (id if id is None or id < size else None for id in (tokens.begin, tokens.end))
    facts = {"padding": _padding_fact(raw, parsed, tokens)}
    if layout.ends(raw) is not None:
        facts["beginning of text"] = _end_fact("bos_token", raw, bos, tokens.front[:1], begin, parsed)
        facts["end of text"] = _end_fact("eos_token", raw, eos, tokens.back[-1:], end, parsed)
    ends = None if layout.ends(raw) is None else (begin if bos is None else bos, end if eos is None else eos)
    if ends is not None and ends[0] is None and not tokens.front:
        facts["beginning of text"] = _("no token, since {stated}; the first typed token is the first input token",
                                       stated=_stated("bos_token_id", raw, size))
    if ends is not None and ends[1] is None and not tokens.back:
        facts["end of text"] = _("no token, since {stated}; generated text ends at the length limit",
                                 stated=_stated("eos_token_id", raw, size))
    elif isinstance(several := raw.get("eos_token_id"), list) and len(several) > 1 and eos is not None and not tokens.back:
        facts["end of text"] = _("{stated}; the first of them that the vocabulary has, {eos}, is used here",
                                 stated=_stated("eos_token_id", raw), eos=_named(eos, parsed))
    return Agreement(_with_padding(layout, config, tokens, ends), ends, {name: fact for name, fact in facts.items() if fact})


def _with_padding(layout: Layout, config: TransformerConfig, tokens: SpecialTokens, ends: Ends | None) -> TransformerConfig:
    """Return the config with the tokenizer's padding id.

    Where the tokenizer has no token that is used for padding only, padding is determined by the length of each sentence.
    """
    known = tokens.padding is not None and tokens.padding < config.vocab_size(layout.side)
    by_id = known and tokens.pads and tokens.padding not in (ends or ())
    pad_id: Any = tokens.padding if known else config.pad_id(layout.side)
    return replace(config, padding_from="ids" if by_id else "lengths", **{f"{layout.side}_pad_id": pad_id})


def _check_positions(layout: Layout, config: TransformerConfig, parsed: Settings, tokens: SpecialTokens) -> None:
    """Raise `ValueError` if a text can contain the padding id: RoBERTa gives that id no position, which our model cannot do."""
    id = config.pad_id(layout.side)
    if layout.skips_padding and _is_read(id, parsed, tokens):
        raise ValueError(_("{config} says pad_token_id={id}, but the tokenizer reads it in texts; a {title} gives such a token no "
                           "position of its own, which this model cannot do",
                           config=CONFIG, id=_named(id, parsed), title=layout.title))


def _is_read(id: int, parsed: Settings, tokens: SpecialTokens) -> bool:
    """Whether a text may contain this id. A token with a name such as [PAD] is padding even if it is not declared as special."""
    if id in (tokens.unknown, *tokens.front, *tokens.back):
        return True
    name = name_of(id, parsed)
    return name is not None and id not in tokens.never_typed and not names_padding(name)


def _padding_fact(raw: Settings, parsed: Settings, tokens: SpecialTokens) -> str:
    """Return the card's sentence about padding; "" where the files agree."""
    stated = raw.get("pad_token_id")
    if not is_whole(stated):
        return ""
    if tokens.padding is not None and stated != tokens.padding:
        return _("{config} says pad_token_id={stated}, but the tokenizer's padding token is {ours}, which is used here",
                 config=CONFIG, stated=_named(stated, parsed), ours=_named(tokens.padding, parsed))
    if tokens.padding is None and stated not in (*tokens.front, *tokens.back) and _is_read(stated, parsed, tokens):
        return _("{config} says pad_token_id={stated}, but the tokenizer reads it in texts; here padding "
                 "is determined by the length of each sentence", config=CONFIG, stated=_named(stated, parsed))
    return ""


def _end_fact(
    field: str, raw: Settings, used: int | None, adds: tuple[int, ...], calls: int | None, parsed: Settings
) -> str:
    """Return the card's sentence about bos_token or eos_token (`field`); "" where the files agree.

    config_id: the id in config.json, None where that is not a token of the model. added_ids: the ids that the tokenizer adds to
    every text. tokenizer_id: the id of the token with this role in the tokenizer.
    """
    stated = raw.get(f"{field}_id")
    said = _named(stated, parsed) if is_whole(stated) else ""
    if adds and not said:
        return _("{adds}, which the tokenizer adds to every text", adds=_named(adds[0], parsed)) if used is None else ""
    if adds:
        return _("{config} says {field}_id={said}, but the tokenizer adds {adds} to every text, which is used here", config=CONFIG,
                 field=field, said=said, adds=_named(adds[0], parsed)) if stated != adds[0] else ""
    if calls is None or used == calls:
        return ""
    if used is None:
        return _("the tokenizer's {field}, {calls}, since {config} names no token of the vocabulary", config=CONFIG, field=field,
                 calls=_named(calls, parsed))
    return _("{config} says {field}_id={said}, which is used here, but the tokenizer's {field} is {calls}", config=CONFIG,
             field=field, said=said, calls=_named(calls, parsed)) if said else ""


def _stated(field: str, raw: Settings, words: int | None = None) -> str:
    """Return a clause with the value of a special token in config.json. vocab_size: given if the vocabulary lacks this id."""
    if field not in raw:
        return _("{config} has no {field}", config=CONFIG, field=field)
    said = _("{config} says {field}={value}", config=CONFIG, field=field, value=as_written(raw[field]))
    lacks = words is not None and raw[field] not in (None, [])
    return _("{said} and the vocabulary has {words:,} ids", said=said, words=words) if lacks else said


def _named(id: int, parsed: Settings) -> str:
    """Return the id with its token, such as "3 ('[PAD]')"."""
    name = name_of(id, parsed)
    return _("{id} (no token)", id=id) if name is None else f"{id} ({name!r})"
