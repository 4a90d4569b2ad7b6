"""The definition of a learning task: its display texts, its parameters, and the source of its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from viz_core.capture import Capture
from viz_core.config import Architecture, Side, TransformerConfig
from viz_core.messages import LazyText
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, trace
from viz_core.text import Vocabulary

Parameters = Mapping[str, int]
Rows = Any  # what `sample_rows` returns; only the same `TaskKind` reads it
HELD_OUT_SEED = 2_026  # independent of the seed of the training data


@dataclass(frozen=True, slots=True)
class ParameterRange:
    """A parameter of a task: an integer from `minimum` to `maximum`."""

    title: LazyText
    default: int
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class TaskInput:
    """A visitor's sentence as task input: ids [1, T] of each side, the tokens to display, and the words left out.

    labels [T]: at each position of the output side the id of the correct answer; padding where there is none or it is unknown.
    answer_mask [T]: the positions where an answer is expected; None: all of them. user_words: ids of answers that are displayed as
    the visitor's words.
    """

    ids: Mapping[Side, np.ndarray]
    tokens: Mapping[Side, tuple[str, ...]]
    omitted_words: tuple[str, ...] = ()
    labels: np.ndarray | None = None
    answer_mask: np.ndarray | None = None
    user_words: Mapping[int, str] = field(default_factory=dict)

    def run_model(self, model: Transformer, keep: Sequence[str] = ("*.weights",)) -> Capture:
        """Run a model on the sentence and return the capture, by default of the attention weights only. Dropout is off during the
        run."""
        training = model.training
        batch = Batch({side: ids for side, ids in self.ids.items()}, {side: [list(words)] for side, words in self.tokens.items()})
        try:
            return trace(model.eval(), batch, keep=keep)
        finally:
            model.train(training)


class TaskKind(Protocol):
    """The source of a task's rows. p: all parameters of the task."""

    def vocabulary(self, p: Parameters, architecture: Architecture) -> dict[Side, Vocabulary]:
        """Return the vocabulary of each side of the architecture."""
        ...

    def max_lengths(self, p: Parameters, architecture: Architecture) -> dict[Side, int]:
        """Return the maximum number of tokens in a row, for each side."""
        ...

    def sample_rows(self, p: Parameters, architecture: Architecture, rng: np.random.Generator, n: int, *, held_out: bool) -> Rows:
        """Return n random rows. `SymbolTransform` and `SentenceTask` keep held-out rows out of training; `Induction` and `NextWord`
        draw both kinds alike."""
        ...

    def make_batch(self, p: Parameters, architecture: Architecture, rows: Rows) -> dict[str, np.ndarray]:
        """Return ids [B, T] of the sides, and labels in which positions without an answer are padding."""
        ...

    def irreducible_loss(self, p: Parameters, architecture: Architecture, causal: bool = True) -> float | None:
        """Return the irreducible mean loss in nats, for a model with a causal mask or one that sees all tokens; None if unknown."""
        ...

    def n_answers(self, p: Parameters) -> int:
        """Return the number of possible answers; the loss of a uniform guess is its logarithm."""
        ...

    def symbols(self, p: Parameters) -> tuple[str, ...]:
        """Return the symbols that a visitor's words are mapped to; empty where the task reads real words."""
        ...

    def read_words(self, p: Parameters, architecture: Architecture, words: Sequence[str], max_tokens: int) -> TaskInput:
        """Return a visitor's words as ids, at most max_tokens for each side."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A learning task. All randomness comes from (seed, step), so that a run can be resumed."""

    name: str
    title: LazyText
    question: LazyText
    architectures: tuple[Architecture, ...]
    parameter_ranges: Mapping[str, ParameterRange]
    kind: TaskKind
    n_held_out: int = 256

    def complete_parameters(self, given: Mapping[str, object] = MappingProxyType({})) -> dict[str, int]:
        """Return all parameters, with defaults for missing ones. Raises `UserError` for an unknown name or a value out of range."""
        if unknown := sorted(map(str, given.keys() - self.parameter_ranges.keys())):
            raise UserError("recipe_unknown", name=unknown[0], fits=tuple(self.parameter_ranges))
        found = {name: given.get(name, bound.default) for name, bound in self.parameter_ranges.items()}
        for name, bound in self.parameter_ranges.items():
            check_number(name, found[name], bound.minimum, bound.maximum, is_integer=True)
        p = {name: int(value) for name, value in found.items()}  # type: ignore[call-overload]
        if p.get("shortest", 0) > p.get("length", 0):
            check_number("shortest", p["shortest"], 0, p["length"], is_integer=True)
        if p.get("repeat", 0) > min(p.get("length", 0) // 2, p.get("symbols", 0)):
            check_number("repeat", p["repeat"], 0, min(p["length"] // 2, p["symbols"]), is_integer=True)
        return p

    def vocabulary(self, p: Parameters, architecture: Architecture) -> dict[Side, Vocabulary]:
        """Return the vocabulary of each side of the architecture."""
        return self.kind.vocabulary(p, architecture)

    def train_batch(self, p: Parameters, architecture: Architecture, seed: int, step: int, size: int) -> dict[str, Tensor]:
        """Return the batch of one step: ids "source", "target" and "labels" [B, T], as the architecture needs them.

        It depends on the seed and the step only. Positions whose label is padding count neither in the loss nor in the accuracy.
        """
        rows = self.kind.sample_rows(p, architecture, np.random.default_rng([seed, step]), size, held_out=False)
        return _to_tensors(self.kind.make_batch(p, architecture, rows))

    def held_out_batch(self, p: Parameters, architecture: Architecture) -> dict[str, Tensor]:
        """Return the held-out rows, always the same. They are drawn with a seed that no training batch has, and are never trained
        on where the task keeps them apart (see `TaskKind.sample_rows`)."""
        rng = np.random.default_rng([HELD_OUT_SEED, HELD_OUT_SEED, HELD_OUT_SEED])  # three, so unlike any (seed, step)
        return _to_tensors(
            self.kind.make_batch(p, architecture, self.kind.sample_rows(p, architecture, rng, self.n_held_out, held_out=True))
        )

    def read_sentence(self, p: Parameters, config: TransformerConfig, words: Sequence[str]) -> TaskInput:
        """Return a visitor's words as input of this task. Raises `UserError` if it can read none of them."""
        longest = config.max_len if config.has_position_table else 10**6
        sentence = self.kind.read_words(p, config.architecture, words, longest)
        if not sentence.ids or not all(ids.size for ids in sentence.ids.values()):
            raise UserError("nothing_to_read")
        return sentence


def check_number(name: str, value: object, minimum: float, maximum: float, *, is_integer: bool) -> None:
    """Raise `UserError` unless the value is a finite number from minimum to maximum."""
    valid = isinstance(value, int) if is_integer else isinstance(value, int | float)
    if not valid or isinstance(value, bool) or not minimum <= value <= maximum:  # type: ignore[operator]  # also false for NaN
        shown = repr(value) if len(repr(value)) <= 40 else f"{repr(value)[:40]}…"
        raise UserError("recipe_number", name=name, given=shown, least=minimum, most=maximum)


def _to_tensors(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.ascontiguousarray(x)) for name, x in arrays.items()}
