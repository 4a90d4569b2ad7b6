"""Operations on many numbers: dot products, sums, softmax, norms and means.

`max_abs` is the largest absolute value involved, to which the tolerance of a comparison is relative.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viz_core.analysis.arithmetic.operands import Array, Number, Vector
from viz_core.config.norms import Norm
from viz_core.messages import translate as _


@dataclass(frozen=True, eq=False)
class Product:
    """The dot product of two vectors plus an optional bias: a · b + bias."""

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
        """The sum of the products, before the bias."""
        return float(self.products.sum())

    @property
    def result(self) -> float:
        return self.total + (self.bias.value if self.bias else 0.0)

    @property
    def max_abs(self) -> float:
        return float(np.abs(self.products).max(initial=0.0))

    @property
    def formula(self) -> str:
        return f"Σ {self.a.role} × {self.b.role}" + (f" + {self.bias.role}" if self.bias else "")


@dataclass(frozen=True, eq=False)
class Sum:
    """The sum of a few named numbers."""

    terms: tuple[Number, ...]

    @property
    def result(self) -> float:
        return float(sum(t.value for t in self.terms))

    @property
    def max_abs(self) -> float:
        return max(abs(t.value) for t in self.terms)

    @property
    def formula(self) -> str:
        return " + ".join(t.role for t in self.terms)


@dataclass(frozen=True, eq=False)
class Softmax:
    """One entry of the softmax of a row of scores: exp(score − max) / Σ exp(score − max).

    allowed: bool [n], the entries that a mask allows; None without a mask. is_empty_row: the mask allows no entry, and the result
    is defined as 0.
    """

    scores: Vector
    index: int
    allowed: Array | None = None
    is_empty_row: bool = False

    @cached_property
    def max_score(self) -> float:
        """The largest score, subtracted before exp to avoid overflow; it cancels out."""
        return float(self.scores.values.max())

    @cached_property
    def numerators(self) -> Array:
        """exp(score − max), [n]. NaN where every score is −∞."""
        with np.errstate(invalid="ignore"):
            return np.exp(self.scores.values - self.max_score)

    @cached_property
    def denominator(self) -> float:
        return float(self.numerators.sum())

    @cached_property
    def probabilities(self) -> Array:
        """The softmax of the whole row, [n]."""
        return np.zeros_like(self.numerators) if self.is_empty_row else self.numerators / self.denominator

    @property
    def result(self) -> float:
        return float(self.probabilities[self.index])

    max_abs = 1.0

    @property
    def formula(self) -> str:
        power = f"exp({self.scores.role} − max)"
        return f"{power} ÷ Σ {power}"


@dataclass(frozen=True, eq=False)
class NormFeature:
    """One feature of a norm: (x − mean) ÷ √(power + ε), then × γ + β, as far as the norm has them.

    mean: None for a norm that does not subtract it. power: the mean of (x − mean)². normalized: the recorded value before γ and β;
    None, as are γ and β, for a cell of the stage `normalized` itself. beta: None also for a norm without a shift.
    """

    norm: Norm
    x: Number
    mean: Number | None
    power: Number
    eps: float
    normalized: Number | None = None
    gamma: Number | None = None
    beta: Number | None = None

    @property
    def centered(self) -> float:
        return self.x.value if self.mean is None else self.x.value - self.mean.value

    @property
    def denominator(self) -> float:
        """√(power + ε)."""
        inside = self.power.value + self.eps
        return math.sqrt(inside) if inside >= 0 else math.nan

    @property
    def standardized(self) -> float:
        """(x − mean) ÷ √(power + ε); 0 ÷ 0 where all features are equal and ε is 0."""
        return self.centered / self.denominator if self.denominator else self.centered * math.inf

    @property
    def scaled(self) -> float:
        """The recorded normalized value × γ; NaN for a cell of the stage `normalized` itself."""
        return math.nan if self.normalized is None or self.gamma is None else self.gamma.value * self.normalized.value

    @property
    def result(self) -> float:
        if self.normalized is None:
            return self.standardized
        return self.scaled if self.beta is None else self.scaled + self.beta.value

    @property
    def max_abs(self) -> float:
        return max(abs(self.standardized), abs(self.beta.value) if self.beta else 0.0)

    @property
    def formula(self) -> str:
        centered = "x" if self.mean is None else _("(x − mean)")
        standard = f"{centered} ÷ √({self.power.role} + ε)"
        return standard if self.normalized is None else f"γ × {standard}" + (" + β" if self.beta else "")


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean of the last column; the columns before it show how each entry was computed. NaN if there is no entry.

    indices: index [n, axes] of each entry if the entries are not contiguous. n_skipped: the number of entries left out.
    center: the mean that a variance is measured from.
    """

    columns: tuple[Vector, ...]
    indices: Array | None = None
    n_skipped: int = 0
    center: Number | None = None

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
    def max_abs(self) -> float:
        return float(np.abs(self.entries).max(initial=0.0))

    @property
    def formula(self) -> str:
        return f"Σ {self.columns[-1].role} ÷ {self.count}"
