"""The card of one choice of weights: everything that is known before a tensor is loaded."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from viz_core.config import TransformerConfig

if TYPE_CHECKING:
    from viz_core.model.transformer import Transformer
    from viz_core.text import AnyTokenizer

UNTRAINED = "untrained"
NEXT_WORD = ("next-word", "sentence", "induction")  # tasks in which each position is asked for what follows
MOST_FALSE_ALARMS, LEAST_ALARMS = 0.03, 0.6
"""Of right translations, and of those that lost a content word: with worse rates nothing is said of lost words."""


class LostWords(NamedTuple):
    """What tells that a translation lost a word, by `viz_core.analysis.coverage`: two heads, a limit, and how well it does.

    writes, reads: (layer, head) of cross-attention. least: the coverage below which a content word counts as lost. false_alarms:
    the share of right translations with such a word; alarms: the share of removed words that were found.
    """

    writes: tuple[int, int]
    reads: tuple[int, int]
    least: float
    false_alarms: float
    alarms: float


def says_lost_words(measured: Mapping[str, Any]) -> bool:
    """Whether the measured rates are good enough to say of a translation that it lost a word."""
    return bool(measured["false_alarms"] <= MOST_FALSE_ALARMS and measured["alarms"] >= LEAST_ALARMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One choice of weights: its config, its tokenizers, how to load it, and the facts about its training.

    `about` are facts to show (task, data, steps, seed, accuracy …), in order; `examples` are (source, target) sentences
    of its own language; `measures` are the measurements of its training, if there are any; `glosses` say in English what the
    words of its other language mean; `recipe` is what a link says to train the same weights again, where the app can do
    that; `task` is what they were trained for, a name of `viz_core.learning.tasks`, or "" where nobody stated it.
    `tokenizers` and `load` are called when the weights are used. `load` gives the model on the CPU, dropout off, checked
    against the config; it raises `ValueError`, one sentence, for a file that does not fit the card.
    """

    name: str
    title: str
    config: TransformerConfig
    tokenizers: Callable[[], "Mapping[str, AnyTokenizer]"]
    load: Callable[[], "Transformer"]
    about: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    examples: Sequence[tuple[str, str]] = ()
    measures: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    glosses: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    recipe: str = ""
    task: str = ""

    @property
    def answers_in_place(self) -> bool:
        """Whether an encoder answers at each position for that very position, as behind a mask, and not with the next word."""
        return self.config.architecture == "encoder-only" and self.task not in NEXT_WORD

    @property
    def referent_head(self) -> tuple[int, int] | None:
        """The layer and head of cross-attention that best resolve pronouns, if training measured that for all heads."""
        return self._best_head("referent", 1)

    @property
    def alignment_head(self) -> tuple[int, int] | None:
        """The layer and head of cross-attention with the smallest alignment error, if training measured that for all heads."""
        return self._best_head("aer", -1)

    def taught(self, what: str) -> tuple[int, int] | None:
        """The layer and head of cross-attention that training taught the "alignment" or the "referent", if it taught one."""
        found = self.measures.get("taught", {}).get(what)
        return (int(found[0]), int(found[1])) if found else None

    @property
    def lost_words(self) -> LostWords | None:
        """What tells that a translation lost a word; None where training did not measure that, or with rates that are too bad."""
        found = self.measures.get("lost_words")
        if not found or not says_lost_words(found):
            return None
        (i, j), (k, m) = found["writes"], found["reads"]
        return LostWords((int(i), int(j)), (int(k), int(m)), *(float(found[name]) for name in ("least", "false_alarms", "alarms")))

    def _best_head(self, measure: str, sign: int) -> tuple[int, int] | None:
        """The head with the largest measure (sign 1) or the smallest one (-1), in the row that predicts the word."""
        measured = np.array(self.measures.get(measure, {}).get("predicts", ()))  # [layer, head]
        if measured.shape != (self.config.n_decoder_layers, self.config.n_heads) or not measured.size:
            return None
        layer, head = np.unravel_index(int((sign * measured).argmax()), measured.shape)
        return int(layer), int(head)

    def __repr__(self) -> str:
        """ "Card(translator: Translator, English → Chinese; encoder-decoder)" """
        return f"Card({self.name}: {self.title}; {self.config.architecture})"
