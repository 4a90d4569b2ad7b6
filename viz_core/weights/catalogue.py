"""The available weights. This module reads only cards: it loads neither torch nor a tensor."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from viz_core.config import TransformerConfig
from viz_core.text import AnyTokenizer, Vocabulary
from viz_core.weights.card import Card
from viz_core.weights.huggingface import cards

if TYPE_CHECKING:
    from viz_core.model.transformer import Transformer

SHIPPED = Path(__file__).with_name("shipped")


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, Card]:
    """Every choice except the untrained one, by name: shipped checkpoints first, then the models on this machine.

    It is read once; call `catalogue.cache_clear()` after fetching a model.
    """
    return MappingProxyType({card.name: card for card in (*_shipped(), *cards())})


@lru_cache(maxsize=1)
def _shipped() -> tuple[Card, ...]:
    read = {path: json.loads(path.read_text(encoding="utf-8")) for path in SHIPPED.glob("*.json")}
    return tuple(_shipped_card(path, stored) for path, stored in sorted(read.items(), key=lambda item: item[1]["place"]))


def _shipped_card(path: Path, stored: dict[str, Any]) -> Card:
    """The card of a shipped checkpoint, NAME.json, with its tensors in NAME.safetensors."""
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in stored["config"].items()}
    config = TransformerConfig(**fields)

    @lru_cache(maxsize=1)
    def tokenizers() -> Mapping[str, AnyTokenizer]:
        return {side: Vocabulary(tuple(words)) for side, words in stored["vocabulary"].items()}

    def load() -> "Transformer":
        from viz_core.weights.checkpoint import load

        return load(path.with_suffix(".safetensors"), config)

    return Card(
        name=path.stem, title=stored["title"], config=config, tokenizers=tokenizers, load=load,
        about=MappingProxyType(stored["about"]), examples=tuple(map(tuple, stored["examples"])),
        measures=MappingProxyType(stored["measures"]),
    )
