"""Sentence pairs as padded token ids."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from viz_core.config import TransformerConfig
from viz_core.text import Vocabulary, pad


def encode_pairs(
    config: TransformerConfig, pairs: Sequence[tuple[Sequence[str], Sequence[str]]], vocabulary: Mapping[str, Vocabulary]
) -> dict[str, Tensor]:
    """Encode (source, target) tokens as padded ids: source [N, S], target [N, T] (the decoder's input) and labels [N, T].

    labels = target + <eos>, and the decoder's input = <bos> + target. Without a decoder, the label of each source token is the next
    one, and that of the last is <eos>. A side that the architecture lacks is left out.
    """
    rows: dict[str, list[list[int]]] = {}
    if config.has_encoder:
        rows["source"] = [vocabulary["source"].encode(source) for source, _ in pairs]
    if not config.has_decoder:
        rows["labels"] = [[*ids[1:], vocabulary["source"].eos_id] for ids in rows["source"]]
    if config.has_decoder:
        words = vocabulary["target"]
        targets = [words.encode(target) for _, target in pairs]
        rows["target"] = [[words.bos_id, *ids] for ids in targets]
        rows["labels"] = [[*ids, words.eos_id] for ids in targets]
    pads = pad_ids(config)
    return {name: torch.from_numpy(pad(ids, pads[name])) for name, ids in rows.items()}


def pad_ids(config: TransformerConfig) -> dict[str, int]:
    """Return the padding id of each side and of the labels."""
    return {**{side: config.pad_id(side) for side in config.sides}, "labels": config.pad_id(config.output_side)}
