"""What a task is: its words for a person, its parameters, and where its rows come from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from viz_core.capture import Capture
from viz_core.config import Architecture, Side, TransformerConfig
from viz_core.language import Message, translating
from viz_core.model.transformer import Transformer
from viz_core.problems import Problem
from viz_core.run import Batch, trace
from viz_core.text import Vocabulary

Parameters = Mapping[str, int]
Rows = Any  # what a kind of task draws: only the kind itself looks inside
HELD_OUT_SEED = 2_026  # of the fixed rows, whatever the seed of the training data


@dataclass(frozen=True, slots=True)
@translating
class Bound:
    """A parameter of a task: a whole number from `least` to `most`."""

    title: Message
    default: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """A person's own sentence as a task's symbols: ids [1, T] of each side, the words that are drawn, and those left out.

    right [T]: at each position of the side that answers the id of the right answer, padding where there is none or nobody knows
    it. asked [T]: the positions that are asked; None: all of them. own: ids of answers that are drawn as the person's words.
    """

    ids: Mapping[Side, np.ndarray]
    tokens: Mapping[Side, tuple[str, ...]]
    left_out: tuple[str, ...] = ()
    right: np.ndarray | None = None
    asked: np.ndarray | None = None
    own: Mapping[int, str] = field(default_factory=dict)

    def seen_by(self, model: Transformer, keep: Sequence[str] = ("*.weights",)) -> Capture:
        """What the model computes on it; by default only the attention weights. Dropout is off, the model comes back as it was."""
        training = model.training
        batch = Batch({side: ids for side, ids in self.ids.items()}, {side: [list(words)] for side, words in self.tokens.items()})
        try:
            return trace(model.eval(), batch, keep=keep)
        finally:
            model.train(training)


class Kind(Protocol):
    """Where the rows of a task come from. p: the task's parameters, all of them."""

    def vocabulary(self, p: Parameters, architecture: Architecture) -> dict[Side, Vocabulary]:
        """The words of each side that the architecture has."""
        ...

    def lengths(self, p: Parameters, architecture: Architecture) -> dict[Side, int]:
        """The most tokens that each side of a batch has."""
        ...

    def rows(self, p: Parameters, architecture: Architecture, rng: np.random.Generator, n: int, *, held_out: bool) -> Rows:
        """n random rows; a training row is never a held-out one where the task has so many rows that this can be."""
        ...

    def batch(self, p: Parameters, architecture: Architecture, rows: Rows) -> dict[str, np.ndarray]:
        """Ids [B, T] of the sides and the labels. The label of a position that does not count is padding."""
        ...

    def floor(self, p: Parameters, architecture: Architecture, causal: bool = True) -> float | None:
        """The best reachable mean loss in nats, for a model that sees no later token or for one that sees all; None if unknown."""
        ...

    def answers(self, p: Parameters) -> int:
        """How many answers there are: to guess among them costs their logarithm."""
        ...

    def symbols(self, p: Parameters) -> tuple[str, ...]:
        """The symbols that a person's words become; none where the task reads words of its own."""
        ...

    def read(self, p: Parameters, architecture: Architecture, words: Sequence[str], most: int) -> Sentence:
        """A person's words as ids, of each side at most so many tokens."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
@translating
class Task:
    """One thing to learn. All randomness comes from (seed, step), so that a run can go on where it stopped."""

    name: str
    title: Message
    question: Message
    architectures: tuple[Architecture, ...]
    bounds: Mapping[str, Bound]
    kind: Kind
    n_held_out: int = 256

    def parameters(self, given: Mapping[str, object] = MappingProxyType({})) -> dict[str, int]:
        """Every parameter, the given ones checked. `Problem` for an unknown one or a number outside its bounds."""
        if unknown := sorted(map(str, given.keys() - self.bounds.keys())):
            raise Problem(f"the task {self.name!r} has no parameter {unknown[0]!r}; use {', '.join(self.bounds) or 'none'}.",
                          "recipe_unknown", name=unknown[0], fits=tuple(self.bounds))
        found = {name: given.get(name, bound.default) for name, bound in self.bounds.items()}
        for name, bound in self.bounds.items():
            checked_number(name, found[name], bound.least, bound.most, whole=True)
        p = {name: int(value) for name, value in found.items()}  # type: ignore[call-overload]
        if p.get("shortest", 0) > p.get("length", 0):
            checked_number("shortest", p["shortest"], 0, p["length"], whole=True)
        if p.get("repeat", 0) > min(p.get("length", 0) // 2, p.get("symbols", 0)):
            checked_number("repeat", p["repeat"], 0, min(p["length"] // 2, p["symbols"]), whole=True)
        return p

    def vocabulary(self, p: Parameters, architecture: Architecture) -> dict[Side, Vocabulary]:
        """The words of each side that the architecture has."""
        return self.kind.vocabulary(p, architecture)

    def batch(self, p: Parameters, architecture: Architecture, seed: int, step: int, size: int) -> dict[str, Tensor]:
        """The rows of one step: ids of "source", "target" and "labels" [B, T], as the architecture needs.

        They depend on the seed and the step alone. Positions whose label is padding count neither in the loss nor in the accuracy.
        """
        rows = self.kind.rows(p, architecture, np.random.default_rng([seed, step]), size, held_out=False)
        return _tensors(self.kind.batch(p, architecture, rows))

    def held_out(self, p: Parameters, architecture: Architecture) -> dict[str, Tensor]:
        """The rows that are measured, always the same ones: no training has them, or they are fresh where rows never repeat."""
        rng = np.random.default_rng([HELD_OUT_SEED, HELD_OUT_SEED, HELD_OUT_SEED])  # three numbers: no (seed, step) draws these
        return _tensors(self.kind.batch(p, architecture, self.kind.rows(p, architecture, rng, self.n_held_out, held_out=True)))

    def sentence(self, p: Parameters, config: TransformerConfig, words: Sequence[str]) -> Sentence:
        """A person's own words as this task reads them. `Problem` if it can read none of them."""
        longest = config.max_len if config.has_position_table else 10**6
        read = self.kind.read(p, config.architecture, words, longest)
        if not read.ids or not all(ids.size for ids in read.ids.values()):
            raise Problem(f"the task {self.name!r} can read none of these words; type others.", "nothing_to_read")
        return read


def checked_number(name: str, value: object, least: float, most: float, *, whole: bool) -> None:
    """`Problem` for what is no finite number from least to most."""
    right = isinstance(value, int) if whole else isinstance(value, int | float)
    if not right or isinstance(value, bool) or not least <= value <= most:  # type: ignore[operator]  # NaN is never in between
        shown = repr(value) if len(repr(value)) <= 40 else f"{repr(value)[:40]}…"
        kind = "whole number" if whole else "number"
        raise Problem(f"{name} is {shown}; use a {kind} from {least:,} to {most:,}.", "recipe_number", name=name, given=shown,
                      least=least, most=most)


def _tensors(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.ascontiguousarray(x)) for name, x in arrays.items()}
