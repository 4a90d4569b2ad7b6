"""The card of one choice of weights: the facts that are known before a tensor is loaded."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from viz_core.config import TransformerConfig

if TYPE_CHECKING:
    from viz_core.model.transformer import Transformer
    from viz_core.text import AnyTokenizer

UNTRAINED = "untrained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One choice of weights: its title, config, tokenizers and origin.

    `about` are facts to show (task, data, steps, seed, accuracy …), in order; `examples` are (source, target) sentences
    of its own language; `measures` are the measurements of its training, if any. `tokenizers` and `load` are
    called when the weights are used. `load` gives the model on the CPU, dropout off, checked against the config; it
    raises `ValueError` with one sentence for an invalid file.
    """

    name: str
    title: str
    config: TransformerConfig
    tokenizers: Callable[[], "Mapping[str, AnyTokenizer]"]
    load: Callable[[], "Transformer"]
    about: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    examples: Sequence[tuple[str, str]] = ()
    measures: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
