"""Where a published tokenizer and its config.json disagree about special tokens: the tokenizer is right, and the card says so.

A tokenizer decides which ids a text has. config.json often keeps the default of its model type, such as BERT's
pad_token_id=0, whatever the tokenizer has there.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from viz_core.config import Side, TransformerConfig
from viz_core.language import translate as _
from viz_core.weights.files import CONFIG
from viz_core.weights.special_tokens import SpecialTokens, name_of

Settings = Mapping[str, Any]  # the contents of a JSON file


def with_padding(config: TransformerConfig, side: Side, tokens: SpecialTokens, ends: Collection[Any] = ()) -> TransformerConfig:
    """The config whose padding is the tokenizer's.

    Where the tokenizer has no token for padding alone, the length of each sentence tells what is padding. ends: the ids of <bos>
    and <eos>, as far as config.json says them.
    """
    known = tokens.padding is not None and tokens.padding < config.vocab_size(side)
    return replace(
        config, padding_from="ids" if known and tokens.pads and tokens.padding not in ends else "lengths",
        **{f"{side}_pad_id": tokens.padding if known else config.pad_id(side)},  # type: ignore[arg-type]
    )


def disagreements(raw: Settings, parsed: Settings, tokens: SpecialTokens) -> dict[str, str]:
    """One sentence for each special token that config.json and the tokenizer know by different ids, by a name of the fact.

    raw: config.json. parsed: tokenizer.json. tokens: what it says about special tokens.
    """

    def named(id: int) -> str:
        name = name_of(id, parsed)
        return _("{id} (no token)", id=id) if name is None else f"{id} ({name!r})"

    found = {}
    stated = raw.get("pad_token_id")
    if _is_id(stated) and tokens.padding is not None and stated != tokens.padding:
        found["padding"] = _("{config} says pad_token_id={stated}, but the tokenizer's padding token is {ours}, which is used here",
                             config=CONFIG, stated=named(stated), ours=named(tokens.padding))
    elif _is_id(stated) and tokens.padding is None and (stated == tokens.unknown or stated not in tokens.never_typed):
        found["padding"] = _("{config} says pad_token_id={stated}, but the tokenizer reads it in texts; here the length of each "
                             "sentence tells what is padding", config=CONFIG, stated=named(stated))
    for fact, field, ours in (("beginning of text", "bos_token_id", tokens.front[:1]), ("end of text", "eos_token_id", tokens.back[-1:])):
        stated = raw.get(field)
        if ours and _is_id(stated) and stated != ours[0]:
            found[fact] = _("{config} says {field}={stated}, but the tokenizer adds {ours} to every text, which is used here",
                            config=CONFIG, field=field, stated=named(stated), ours=named(ours[0]))
    return found


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
