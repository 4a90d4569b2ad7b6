"""Operations on one or two numbers: lookups, masks, activations, position encodings, scaling and copies."""

import math
from dataclasses import dataclass
from typing import Literal

from viz_core.activations import Activation
from viz_core.analysis.arithmetic.numbers import Number
from viz_core.analysis.positions import T5_BUCKETS, t5_bucket
from viz_core.language import translate as _


@dataclass(frozen=True, eq=False)
class Lookup:
    """One entry of an embedding table: `key` is the row's number, `entry` the value in one column of it."""

    key: Number
    entry: Number
    rows: int  # of the table

    @property
    def result(self) -> float:
        return self.entry.value

    @property
    def size(self) -> float:
        return abs(self.entry.value)

    @property
    def formula(self) -> str:
        return _("table[{key}, feature]", key=self.key.role)


@dataclass(frozen=True, eq=False)
class Comparison:
    """A condition `left relation right` of a mask, and whether it holds.

    mask: the recorded mask cell that decides; None to compare the numbers. token: which token is tested, the key or the query.
    """

    left: Number
    relation: Literal["≠", "≤", "<"]
    right: Number
    mask: Number | None = None
    about: Literal["key", "query"] = "key"

    @property
    def computed(self) -> bool:
        left, right = self.left.value, self.right.value
        return {"≠": left != right, "≤": left <= right, "<": left < right}[self.relation]

    @property
    def true(self) -> bool:
        return self.computed if self.mask is None else bool(self.mask.value)


@dataclass(frozen=True, eq=False)
class Logic:
    """The logical AND of some conditions: 1 if all hold. Without conditions it is 1: nothing is masked."""

    factors: tuple[Comparison, ...]

    @property
    def result(self) -> float:
        return float(all(f.true for f in self.factors))

    size = 1.0

    @property
    def formula(self) -> str:
        return " ∧ ".join(f"({f.left.role} {f.relation} {f.right.role})" for f in self.factors) or _("1, nothing is masked")


@dataclass(frozen=True, eq=False)
class Choice:
    """One of two numbers, selected by a condition, as `torch.where` does."""

    condition: Number  # 1 or 0
    when_true: Number
    when_false: Number

    @property
    def taken(self) -> Number:
        return self.when_true if self.condition.value else self.when_false

    @property
    def result(self) -> float:
        return self.taken.value

    @property
    def size(self) -> float:
        return abs(self.taken.value)

    @property
    def formula(self) -> str:
        return _("{score} where {condition}, else {fill}",
                 score=self.when_true.role, condition=self.condition.role, fill=self.when_false.role)


@dataclass(frozen=True, eq=False)
class Function:
    """An activation function applied to one number."""

    of: Activation
    x: Number

    @property
    def gate(self) -> float:
        """The factor by which the activation multiplies x."""
        return self.of.gate(self.x.value)

    @property
    def result(self) -> float:
        return self.of(self.x.value)

    @property
    def size(self) -> float:
        return abs(self.x.value)

    @property
    def formula(self) -> str:
        return self.of.formula


@dataclass(frozen=True, eq=False)
class Rotation:
    """RoPE: one of two neighbouring features (a, b) after a rotation by position × frequency.

    is_second: whether it is the second of the two.
    """

    a: Number
    b: Number
    position: int
    speed: float  # θ_i = base^(−2i/d_k), radians per position
    odd: bool

    @property
    def angle(self) -> float:
        return self.position * self.speed

    @property
    def turned(self) -> tuple[float, float]:
        """Both features after the rotation."""
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        return self.a.value * cos - self.b.value * sin, self.a.value * sin + self.b.value * cos

    @property
    def result(self) -> float:
        return self.turned[self.odd]

    @property
    def size(self) -> float:
        return max(abs(self.a.value), abs(self.b.value))

    @property
    def formula(self) -> str:
        return "a × sin φ + b × cos φ" if self.odd else "a × cos φ − b × sin φ"


@dataclass(frozen=True, eq=False)
class Wave:
    """One entry of the sinusoidal encoding: the sine or cosine of position ÷ base^(2i/d_model)."""

    position: int
    base: float
    power: float  # 2i/d_model
    cosine: bool

    @property
    def divisor(self) -> float:
        return self.base**self.power

    @property
    def angle(self) -> float:
        return self.position / self.divisor

    def at(self, position: float) -> float:
        """Return the same feature at any position."""
        return (math.cos if self.cosine else math.sin)(position / self.divisor)

    @property
    def result(self) -> float:
        return self.at(self.position)

    size = 1.0

    @property
    def formula(self) -> str:
        return _("cos(position ÷ base^(2i/d_model))") if self.cosine else _("sin(position ÷ base^(2i/d_model))")


@dataclass(frozen=True, eq=False)
class Distance:
    """ALiBi's bias: minus the head's slope times the distance between query and key."""

    slope: float
    query: int
    key: int

    @property
    def steps(self) -> int:
        return abs(self.query - self.key)

    @property
    def result(self) -> float:
        return -self.slope * self.steps

    @property
    def size(self) -> float:
        return abs(self.result)

    formula = _("−slope × |query position − key position|")


@dataclass(frozen=True, eq=False)
class Bucket:
    """T5's bucket of the distance between query and key, which is a row of the learned table."""

    query: int
    key: int
    causal: bool  # a causal stack has no buckets for later keys

    @property
    def steps(self) -> int:
        return abs(self.query - self.key)

    @property
    def result(self) -> float:
        return float(t5_bucket(self.query, self.key, self.causal))

    size = float(T5_BUCKETS)
    formula = _("bucket(query position − key position)")


@dataclass(frozen=True, eq=False)
class Scale:
    """A number multiplied by a constant, or divided by it."""

    x: Number
    by: Number
    divide: bool

    @property
    def result(self) -> float:
        return self.x.value / self.by.value if self.divide else self.x.value * self.by.value

    @property
    def size(self) -> float:
        return abs(self.result)

    @property
    def formula(self) -> str:
        return f"{self.x.role} {'÷' if self.divide else '×'} {self.by.role}"


@dataclass(frozen=True, eq=False)
class Copy:
    """A number copied from another stage."""

    of: Number

    @property
    def result(self) -> float:
        return self.of.value

    @property
    def size(self) -> float:
        return abs(self.of.value)

    @property
    def formula(self) -> str:
        return self.of.role


@dataclass(frozen=True, eq=False)
class Given:
    """An input id: the tokenizer's id of a typed word, of <bos> or of padding."""

    token: str
    id: int

    @property
    def result(self) -> float:
        return float(self.id)

    @property
    def size(self) -> float:
        return float(self.id)

    formula = _("the token's number in the vocabulary")
