"""Which weights there are to choose from. Reads cards only: neither torch nor a tensor is loaded here."""

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
    """Every choice but the untrained one, by name: shipped checkpoints first, then what this machine has.

    Read once; `catalogue.cache_clear()` when something was fetched.
    """
    return MappingProxyType({card.name: card for card in (*_shipped(), *cards())})


@lru_cache(maxsize=1)
def _shipped() -> tuple[Card, ...]:
    read = {path: json.loads(path.read_text(encoding="utf-8")) for path in SHIPPED.glob("*.json")}
    return tuple(_shipped_card(path, said) for path, said in sorted(read.items(), key=lambda item: item[1]["place"]))


def _shipped_card(path: Path, said: dict[str, Any]) -> Card:
    """A card beside its tensors: NAME.json and NAME.safetensors."""
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in said["config"].items()}
    config = TransformerConfig(**fields)

    @lru_cache(maxsize=1)
    def tokenizers() -> Mapping[str, AnyTokenizer]:
        return {side: Vocabulary(tuple(words)) for side, words in said["vocabulary"].items()}

    def load() -> "Transformer":
        from viz_core.weights.checkpoint import load

        return load(path.with_suffix(".safetensors"), config)

    return Card(
        name=path.stem, title=said["title"], config=config, tokenizers=tokenizers, load=load,
        about=MappingProxyType(said["about"]), examples=tuple(map(tuple, said["examples"])),
        measures=MappingProxyType(said["measures"]),
    )
