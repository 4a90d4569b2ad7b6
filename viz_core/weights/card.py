"""The card of one choice of weights: what there is to know before a tensor is loaded."""

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
    """One choice of weights: what it is, what model it needs, how its text becomes ids, and where it came from.

    `about` are facts to show (task, data, steps, seed, accuracy …), in order; `examples` are (source, target) sentences
    of its own language; `measures` are what its training measured, where there was any. `tokenizers` and `load` are
    called when the weights are used. `load` gives the model on the CPU, dropout off, checked against the config; it
    raises `ValueError`, one sentence, for a file that is not what it should be.
    """

    name: str
    title: str
    config: TransformerConfig
    tokenizers: Callable[[], "Mapping[str, AnyTokenizer]"]
    load: Callable[[], "Transformer"]
    about: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    examples: Sequence[tuple[str, str]] = ()
    measures: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __repr__(self) -> str:
        """ "Card(translator: Translator, English → Chinese; encoder-decoder)" """
        return f"Card({self.name}: {self.title}; {self.config.architecture})"
