"""Operations on one or two numbers: lookups, masks, activations, position encodings, scaling and copies."""

import math
from dataclasses import dataclass
from typing import Literal

from viz_core.analysis.arithmetic.operands import Number
from viz_core.analysis.positions import t5_bucket
from viz_core.config.activations import Activation
from viz_core.config.position_schemes import T5_NUM_BUCKETS
from viz_core.messages import lazy
from viz_core.messages import translate as _


@dataclass(frozen=True, eq=False)
class TableLookup:
    """One entry of an embedding table: `key` is the row's number, `entry` the value in one column of it."""

    key: Number
    entry: Number
    n_rows: int  # of the table

    @property
    def result(self) -> float:
        return self.entry.value

    @property
    def max_abs(self) -> float:
        return abs(self.entry.value)

    @property
    def formula(self) -> str:
        return _("table[{key}, feature]", key=self.key.role)


@dataclass(frozen=True, eq=False)
class MaskCondition:
    """A condition `left relation right` of a mask, and whether it holds.

    mask: the recorded mask cell that decides; None to compare the numbers. token: which token is tested, the key or the query.
    """

    left: Number
    relation: Literal["≠", "≤", "<"]
    right: Number
    mask: Number | None = None
    token: Literal["key", "query"] = "key"

    @property
    def recomputed(self) -> bool:
        left, right = self.left.value, self.right.value
        return {"≠": left != right, "≤": left <= right, "<": left < right}[self.relation]

    @property
    def holds(self) -> bool:
        return self.recomputed if self.mask is None else bool(self.mask.value)


@dataclass(frozen=True, eq=False)
class MaskConditions:
    """The logical AND of some conditions: 1 if all hold. Without conditions it is 1: nothing is masked."""

    conditions: tuple[MaskCondition, ...]

    @property
    def result(self) -> float:
        return float(all(f.holds for f in self.conditions))

    max_abs = 1.0

    @property
    def formula(self) -> str:
        return " ∧ ".join(f"({f.left.role} {f.relation} {f.right.role})" for f in self.conditions) or _("1, nothing is masked")


@dataclass(frozen=True, eq=False)
class Where:
    """One of two numbers, selected by a condition, as `torch.where` does."""

    condition: Number  # 1 or 0
    when_true: Number
    when_false: Number

    @property
    def selected(self) -> Number:
        return self.when_true if self.condition.value else self.when_false

    @property
    def result(self) -> float:
        return self.selected.value

    @property
    def max_abs(self) -> float:
        return abs(self.selected.value)

    @property
    def formula(self) -> str:
        return _("{score} where {condition}, else {fill}",
                 score=self.when_true.role, condition=self.condition.role, fill=self.when_false.role)


@dataclass(frozen=True, eq=False)
class ActivationValue:
    """An activation function applied to one number."""

    activation: Activation
    x: Number

    @property
    def gate(self) -> float:
        """The factor by which the activation multiplies x."""
        return self.activation.gate(self.x.value)

    @property
    def result(self) -> float:
        return self.activation(self.x.value)

    @property
    def max_abs(self) -> float:
        return abs(self.x.value)

    @property
    def formula(self) -> str:
        return self.activation.formula


@dataclass(frozen=True, eq=False)
class Rotation:
    """RoPE: one of two neighbouring features (a, b) after a rotation by position × frequency.

    is_second: whether it is the second of the two.
    """

    a: Number
    b: Number
    position: int
    frequency: float  # θ_i = base^(−2i/d_k), radians per position
    is_second: bool

    @property
    def angle(self) -> float:
        return self.position * self.frequency

    @property
    def rotated(self) -> tuple[float, float]:
        """Both features after the rotation."""
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        return self.a.value * cos - self.b.value * sin, self.a.value * sin + self.b.value * cos

    @property
    def result(self) -> float:
        return self.rotated[self.is_second]

    @property
    def max_abs(self) -> float:
        return max(abs(self.a.value), abs(self.b.value))

    @property
    def formula(self) -> str:
        return "a × sin φ + b × cos φ" if self.is_second else "a × cos φ − b × sin φ"


@dataclass(frozen=True, eq=False)
class Sinusoid:
    """One entry of the sinusoidal encoding: the sine or cosine of position ÷ base^(2i/d_model)."""

    position: int
    base: float
    exponent: float  # 2i/d_model
    is_cosine: bool

    @property
    def divisor(self) -> float:
        return self.base**self.exponent

    @property
    def angle(self) -> float:
        return self.position / self.divisor

    def value_at(self, position: float) -> float:
        """Return the same feature at any position."""
        return (math.cos if self.is_cosine else math.sin)(position / self.divisor)

    @property
    def result(self) -> float:
        return self.value_at(self.position)

    max_abs = 1.0

    @property
    def formula(self) -> str:
        return _("cos(position ÷ base^(2i/d_model))") if self.is_cosine else _("sin(position ÷ base^(2i/d_model))")


@dataclass(frozen=True, eq=False)
class AlibiBias:
    """ALiBi's bias: minus the head's slope times the distance between query and key."""

    slope: float
    query: int
    key: int

    @property
    def distance(self) -> int:
        return abs(self.query - self.key)

    @property
    def result(self) -> float:
        return -self.slope * self.distance

    @property
    def max_abs(self) -> float:
        return abs(self.result)

    formula = lazy("−slope × |query position − key position|")


@dataclass(frozen=True, eq=False)
class T5Bucket:
    """T5's bucket of the distance between query and key, which is a row of the learned table."""

    query: int
    key: int
    is_causal: bool  # a causal stack has no buckets for later keys

    @property
    def distance(self) -> int:
        return abs(self.query - self.key)

    @property
    def result(self) -> float:
        return float(t5_bucket(self.query, self.key, self.is_causal))

    max_abs = float(T5_NUM_BUCKETS)
    formula = lazy("bucket(query position − key position)")


@dataclass(frozen=True, eq=False)
class Scale:
    """A number multiplied by a constant, or divided by it."""

    x: Number
    factor: Number
    divide: bool

    @property
    def result(self) -> float:
        return self.x.value / self.factor.value if self.divide else self.x.value * self.factor.value

    @property
    def max_abs(self) -> float:
        return abs(self.result)

    @property
    def formula(self) -> str:
        return f"{self.x.role} {'÷' if self.divide else '×'} {self.factor.role}"


@dataclass(frozen=True, eq=False)
class Copy:
    """A number copied from another stage."""

    number: Number

    @property
    def result(self) -> float:
        return self.number.value

    @property
    def max_abs(self) -> float:
        return abs(self.number.value)

    @property
    def formula(self) -> str:
        return self.number.role


@dataclass(frozen=True, eq=False)
class InputValue:
    """An input id: the tokenizer's id of a typed word, of <bos> or of padding."""

    token: str
    id: int

    @property
    def result(self) -> float:
        return float(self.id)

    @property
    def max_abs(self) -> float:
        return float(self.id)

    formula = lazy("the token's number in the vocabulary")
