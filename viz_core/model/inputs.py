"""Checks of the ids of a forward pass, for the functions that prepare one: the modules compute without checks."""

from torch import Tensor

from viz_core.config import SIDE_NAMES, Side, TransformerConfig
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
        raise UserError("no_sentences", side=SIDE_NAMES[side])
    if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < size:
        worst = int(ids.max()) if int(ids.max()) >= size else int(ids.min())
        raise UserError("id_outside", side=SIDE_NAMES[side], id=worst, last=size - 1)
    return ids


def check_length(config: TransformerConfig, length: int) -> None:
    """Raise `UserError` if a text of this many tokens is longer than the position table, where the scheme has one."""
    if config.has_position_table and length > config.max_len:
        raise UserError("max_len", max_len=config.max_len, tokens=length)
