"""The parts of a cell's arithmetic that take one or two numbers: lookups, masks, activations, positions, scaling and copies."""

import math
from dataclasses import dataclass
from typing import Literal

from viz_core.activations import Activation
from viz_core.analysis.arithmetic.numbers import Number
from viz_core.analysis.positions import T5_BUCKETS, t5_bucket
from viz_core.language import translate as _


@dataclass(frozen=True, eq=False)
class Lookup:
    """One entry of a table: the row that a key names, and a column of it."""

    key: Number
    entry: Number
    rows: int  # how many the table has

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
    """`left relation right`, and whether it holds. mask: the recorded mask cell that decides; None to compare the numbers.

    about: the token that the condition is about.
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
    """Conditions joined by "and": 1 if all hold. Without conditions, nothing is masked."""

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
    """Two branches; a condition selects one."""

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
    """An activation function of one number."""

    of: Activation
    x: Number

    @property
    def gate(self) -> float:
        """The share of x that passes."""
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
    """RoPE: the pair (a, b) of neighbouring features rotated by position × speed; `odd` selects the second of the two."""

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
        """The whole pair after the rotation."""
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
    """A sinusoidal position: the sine or cosine of position ÷ base^(2i/d_model)."""

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
        """The same wave at any position."""
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
    """ALiBi: minus the head's slope times how far the key is from the query."""

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
    """T5: the bucket of the distance between query and key, a row of the learned table."""

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
    """A number times a constant, or divided by it."""

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
    """The same number, copied from another stage."""

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
    """An id that was not computed: the tokenizer's number of a typed word, <bos>, or padding."""

    token: str
    id: int

    @property
    def result(self) -> float:
        return float(self.id)

    @property
    def size(self) -> float:
        return float(self.id)

    formula = _("the token's number in the vocabulary")
