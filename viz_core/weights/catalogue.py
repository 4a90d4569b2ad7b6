"""Which weights there are to choose from. Reads cards only: neither torch nor a tensor is loaded here."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from viz_core.config import TransformerConfig

if TYPE_CHECKING:
    from viz_core.model.transformer import Transformer
    from viz_core.text import AnyTokenizer

UNTRAINED = "untrained"
SHIPPED = Path(__file__).with_name("shipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One choice of weights: what it is, what model it needs, how its text becomes ids, and where it came from.

    `about` are facts to show (task, data, steps, seed, accuracy …), in order; `examples` are (source, target) sentences
    of its own language. `tokenizers` and `load` are called when the weights are used. `load` gives the model on the CPU,
    dropout off, checked against the config; it raises `ValueError`, one sentence, for a file that is not what it should be.
    """

    name: str
    title: str
    config: TransformerConfig
    tokenizers: Callable[[], "Mapping[str, AnyTokenizer]"]
    load: Callable[[], "Transformer"]
    about: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    examples: Sequence[tuple[str, str]] = ()


def catalogue() -> Mapping[str, Card]:
    """Every choice but the untrained one, by name: shipped checkpoints first, then what this machine has."""
    return MappingProxyType({card.name: card for card in _shipped()})


@lru_cache(maxsize=1)
def _shipped() -> tuple[Card, ...]:
    return tuple(_shipped_card(path) for path in sorted(SHIPPED.glob("*.json")))


def _shipped_card(path: Path) -> Card:
    """A card beside its tensors: NAME.json and NAME.safetensors."""
    said = json.loads(path.read_text(encoding="utf-8"))
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in said["config"].items()}
    config = TransformerConfig(**fields)

    @lru_cache(maxsize=1)
    def tokenizers() -> "Mapping[str, AnyTokenizer]":
        from viz_core.text import Vocabulary

        return {side: Vocabulary(tuple(words)) for side, words in said["vocabulary"].items()}

    def load() -> "Transformer":
        from viz_core.weights.checkpoint import load

        return load(path.with_suffix(".safetensors"), config)

    return Card(
        name=path.stem, title=said["title"], config=config, tokenizers=tokenizers, load=load,
        about=MappingProxyType(said["about"]), examples=tuple(map(tuple, said["examples"])),
    )  # fmt: skip
