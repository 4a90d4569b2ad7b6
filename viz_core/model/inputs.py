"""Checks of the ids of a forward pass, for the functions that prepare one: the modules compute without checks."""

from torch import Tensor

from viz_core.config import Side, TransformerConfig
from viz_core.config.position_schemes import POSITION_SCHEMES
from viz_core.messages.errors import UserError


def check_inputs(config: TransformerConfig, source: Tensor | None, target: Tensor | None) -> None:
    """Raise `UserError` unless a model can read these ids, source [B, S] and target [B, T]; a side that it lacks is ignored."""
    given: dict[Side, Tensor | None] = {"source": source, "target": target}
    checked = [check_ids(config, side, given[side]) for side in config.sides]
    for ids in checked:
        check_length(config, ids.shape[1])


def check_ids(config: TransformerConfig, side: Side, ids: Tensor | None) -> Tensor:
    """Return the ids [B, T] of a side. Raises `UserError` if they are missing or outside the vocabulary."""
    size = config.vocab_size(side)
    if ids is None:
        raise UserError(f"{side}=None, but architecture={config.architecture!r} reads it; give {side} ids.",
                        "no_sentences", side=side)
    if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < size:
        worst = int(ids.max()) if int(ids.max()) >= size else int(ids.min())
        raise UserError(f"{side} id {worst} is outside the vocabulary; {side}_vocab_size={size} has 0 to {size - 1}.",
                        "id_outside", side=side, id=worst, last=size - 1)
    return ids


def check_length(config: TransformerConfig, length: int) -> None:
    """Raise `UserError` if a text of this many tokens is longer than the position table, where the scheme has one."""
    if config.has_position_table and length > config.max_len:
        *names, last = (repr(name) for name, scheme in POSITION_SCHEMES.items() if not scheme.has_table)
        without = f"{', '.join(names)} or {last}"
        raise UserError(
            f"max_len={config.max_len} is too short for {length} tokens: the {config.position} position table ends there; "
            f"raise max_len to {length}, shorten the sentence, or use position {without}.",
            "max_len", max_len=config.max_len, tokens=length,
        )
