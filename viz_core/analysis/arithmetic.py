"""What a cell's arithmetic is made of: a few kinds of parts, each with its own numbers and the result they give.

Every number says its role and where it is from. A part computes in float64 from nothing but its own numbers; what
`viz_core.analysis.terms` finds behind a cell is a short chain of parts, of which the last one's `result` is the cell.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from viz_core.stages import Stage

Array = np.ndarray
Index = tuple[int | None, ...]  # None stands for the whole axis
TOLERANCE = 1e-5


# ---------------------------------------------------------------- numbers with a role


@dataclass(frozen=True, eq=False)
class Number:
    """One number. `source` and `index` say which cell of a stage or parameter it is; both empty for a constant."""

    role: str
    value: float
    source: str = ""
    index: Index = ()


@dataclass(frozen=True, eq=False)
class Vector:
    """A row of numbers [n], float64, read-only: `source` at `index`, where None marks the axis that it runs over.

    letter: that axis in the stage table ("K", "S", …).
    """

    role: str
    values: Array
    letter: str
    source: str = ""
    index: Index = ()


# ---------------------------------------------------------------- the kinds of parts


@dataclass(frozen=True, eq=False)
class Product:
    """Two vectors multiplied entry by entry and added up, plus a bias where there is one: a · b + bias."""

    a: Vector
    b: Vector
    bias: Number | None = None

    @cached_property
    def products(self) -> Array:
        """a_i · b_i, [n]."""
        with np.errstate(invalid="ignore"):  # 0 · ∞
            return self.a.values * self.b.values

    @cached_property
    def total(self) -> float:
        """Their sum, before the bias."""
        return float(self.products.sum())

    @property
    def result(self) -> float:
        return self.total + (self.bias.value if self.bias else 0.0)

    @property
    def size(self) -> float:
        return float(np.abs(self.products).max(initial=0.0))

    @property
    def formula(self) -> str:
        return f"Σ {self.a.role} × {self.b.role}" + (" + bias" if self.bias else "")


@dataclass(frozen=True, eq=False)
class Sum:
    """A few named numbers added up."""

    terms: tuple[Number, ...]

    @property
    def result(self) -> float:
        return float(sum(t.value for t in self.terms))

    @property
    def size(self) -> float:
        return max(abs(t.value) for t in self.terms)

    @property
    def formula(self) -> str:
        return " + ".join(t.role for t in self.terms)


@dataclass(frozen=True, eq=False)
class Softmax:
    """One entry of the softmax of a row of scores: exp(score − max) over the sum of all of them.

    allowed: bool [n], which entries a mask leaves; None where there is no mask. empty: the mask leaves nothing, and the
    result is defined as 0.
    """

    scores: Vector
    at: int
    allowed: Array | None = None
    empty: bool = False

    @cached_property
    def top(self) -> float:
        """The largest score, subtracted before exp so that nothing overflows; it cancels out."""
        return float(self.scores.values.max())

    @cached_property
    def numerators(self) -> Array:
        """exp(score − max), [n]. NaN where every score is −∞."""
        with np.errstate(invalid="ignore"):
            return np.exp(self.scores.values - self.top)

    @cached_property
    def denominator(self) -> float:
        return float(self.numerators.sum())

    @cached_property
    def shares(self) -> Array:
        """The whole row of the softmax, [n]."""
        return np.zeros_like(self.numerators) if self.empty else self.numerators / self.denominator

    @property
    def result(self) -> float:
        return float(self.shares[self.at])

    size = 1.0

    @property
    def formula(self) -> str:
        power = f"exp({self.scores.role} − max)"
        return f"{power} ÷ Σ {power}"


@dataclass(frozen=True, eq=False)
class Norm:
    """One feature on its way through a LayerNorm: (x − mean) ÷ √(variance + ε), then × γ + β.

    normalized: what was recorded between the two halves. For the cell of `normalized` itself it is None, and so are γ and β.
    """

    x: Number
    mean: Number
    variance: Number
    eps: float
    normalized: Number | None = None
    gamma: Number | None = None
    beta: Number | None = None

    @property
    def centred(self) -> float:
        return self.x.value - self.mean.value

    @property
    def root(self) -> float:
        """√(variance + ε)."""
        inside = self.variance.value + self.eps
        return math.sqrt(inside) if inside >= 0 else math.nan

    @property
    def standard(self) -> float:
        """(x − mean) ÷ √(variance + ε); 0 ÷ 0 where all features are equal and ε is 0."""
        return self.centred / self.root if self.root else self.centred * math.inf

    @property
    def result(self) -> float:
        if self.normalized is None or self.gamma is None or self.beta is None:
            return self.standard
        return self.gamma.value * self.normalized.value + self.beta.value

    @property
    def size(self) -> float:
        return max(abs(self.standard), abs(self.beta.value) if self.beta else 0.0)

    @property
    def formula(self) -> str:
        standard = "(x − mean) ÷ √(variance + ε)"
        return standard if self.normalized is None else f"γ × {standard} + β"


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean of the last column; the columns before it show how each entry came about. NaN where nothing counts.

    places: index [n, axes] of each entry where the entries do not lie side by side. skipped: entries that do not count.
    about: the mean that a variance measures from.
    """

    columns: tuple[Vector, ...]
    places: Array | None = None
    skipped: int = 0
    about: Number | None = None

    @property
    def entries(self) -> Array:
        return self.columns[-1].values

    @property
    def count(self) -> int:
        return len(self.entries)

    @property
    def total(self) -> float:
        return float(self.entries.sum())

    @property
    def result(self) -> float:
        return self.total / self.count if self.count else math.nan

    @property
    def size(self) -> float:
        return float(np.abs(self.entries).max(initial=0.0))

    @property
    def formula(self) -> str:
        return f"Σ {self.columns[-1].role} ÷ {self.count}"


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
        return f"table[{self.key.role}, feature]"


@dataclass(frozen=True, eq=False)
class Comparison:
    """`left relation right`, and whether a mask says that it holds. mask: the recorded truth, None for a mask of its own."""

    left: Number
    relation: Literal["≠", "≤"]
    right: Number
    mask: Number | None = None

    @property
    def computed(self) -> bool:
        left, right = self.left.value, self.right.value
        return left != right if self.relation == "≠" else left <= right

    @property
    def true(self) -> bool:
        return self.computed if self.mask is None else bool(self.mask.value)


@dataclass(frozen=True, eq=False)
class Logic:
    """Conditions joined by "and": 1 where all hold. With none of them, nothing is masked."""

    factors: tuple[Comparison, ...]

    @property
    def result(self) -> float:
        return float(all(f.true for f in self.factors))

    size = 1.0

    @property
    def formula(self) -> str:
        return " ∧ ".join(f"({f.left.role} {f.relation} {f.right.role})" for f in self.factors) or "1, nothing is masked"


@dataclass(frozen=True, eq=False)
class Choice:
    """Two branches, of which a condition takes one."""

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
        return f"{self.when_true.role} where {self.condition.role}, else {self.when_false.role}"


@dataclass(frozen=True, eq=False)
class Function:
    """An activation function of one number."""

    name: str  # of TransformerConfig.activation
    x: Number

    @property
    def gate(self) -> float:
        """The share of x that passes."""
        return gate(self.name, self.x.value)

    @property
    def result(self) -> float:
        return activation(self.name, self.x.value)

    @property
    def size(self) -> float:
        return abs(self.x.value)

    @property
    def formula(self) -> str:
        return {"relu": "max(0, x)", "gelu": "x × Φ(x)", "gelu_tanh": "x × ½(1 + tanh(√(2/π)(x + 0.044715 x³)))"}[self.name]


def gate(name: str, x: float) -> float:
    """The factor g of an activation x · g(x): 0 or 1 (ReLU), Φ(x) (GELU), or its tanh approximation."""
    if name == "relu":
        return float(x > 0)
    if name == "gelu":
        return 0.5 * (1 + math.erf(x / math.sqrt(2)))
    return 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def activation(name: str, x: float) -> float:
    """An activation function by its name in the config."""
    return max(x, 0.0) if name == "relu" and x == x else x * gate(name, x)


@dataclass(frozen=True, eq=False)
class Rotation:
    """RoPE: the pair (a, b) of neighbouring features turned by position × speed; `odd` takes the second of the two."""

    a: Number
    b: Number
    position: int
    speed: float  # θ_i = base^(−2i/d_k), radians a token
    odd: bool

    @property
    def angle(self) -> float:
        return self.position * self.speed

    @property
    def turned(self) -> tuple[float, float]:
        """The whole pair after the turn."""
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
        return f"{'cos' if self.cosine else 'sin'}(position ÷ base^(2i/d_model))"


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

    formula = "−slope × |query position − key position|"


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
    """The same number, from another place."""

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

    formula = "the token's number in the vocabulary"


Part = (
    Product | Sum | Softmax | Norm | Mean | Lookup | Logic | Choice | Function | Rotation | Wave | Distance | Scale | Copy | Given
)


@dataclass(frozen=True, eq=False)
class Arithmetic:
    """How one cell was made. `value` is the recorded cell; `parts` lead to it, the last one's result is the cell."""

    stage: Stage
    index: tuple[int, ...]
    value: float
    parts: tuple[Part, ...]

    @property
    def rebuilt(self) -> float:
        """The cell again, in float64."""
        return self.parts[-1].result

    @property
    def formula(self) -> str:
        """The last step in words and signs."""
        return self.parts[-1].formula

    @property
    def agrees(self) -> bool:
        """Whether the terms rebuild the cell to 1e-5, relative to the largest number involved: float32 rounds that one.

        They do not where an editing tap has put another number in the cell's place.
        """
        if math.isnan(self.value) or math.isinf(self.value):
            return repr(self.value) == repr(self.rebuilt)
        return abs(self.rebuilt - self.value) <= TOLERANCE * max(1.0, abs(self.value), self.parts[-1].size)
