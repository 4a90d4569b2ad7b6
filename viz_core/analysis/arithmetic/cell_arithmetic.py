"""One cell of a stage with the operations that compute it."""

import math
from dataclasses import dataclass

from viz_core.analysis.arithmetic.reductions import Mean, NormFeature, Product, Softmax, Sum
from viz_core.analysis.arithmetic.scalar_operations import (
    ActivationValue,
    AlibiBias,
    Copy,
    InputValue,
    MaskConditions,
    Rotation,
    Scale,
    Sinusoid,
    T5Bucket,
    TableLookup,
    Where,
)
from viz_core.stages import Stage

TOLERANCE = 1e-5

Operation = (
    Product
    | Sum
    | Softmax
    | NormFeature
    | Mean
    | TableLookup
    | MaskConditions
    | Where
    | ActivationValue
    | Rotation
    | Sinusoid
    | AlibiBias
    | T5Bucket
    | Scale
    | Copy
    | InputValue
)


@dataclass(frozen=True, eq=False)
class CellArithmetic:
    """The operations that compute one cell.

    value: the recorded value. operations: in order; the result of the last one is the cell's value again.
    """

    stage: Stage
    index: tuple[int, ...]
    value: float
    operations: tuple[Operation, ...]

    @property
    def recomputed(self) -> float:
        """The value that the operations give, in float64."""
        return self.operations[-1].result

    @property
    def formula(self) -> str:
        """The formula of the last operation."""
        return str(self.operations[-1].formula)

    @property
    def agrees(self) -> bool:
        """Whether the operations give the recorded value, up to float32 rounding.

        The difference may be TOLERANCE times the largest absolute value involved, or TOLERANCE if that is below 1. False where an
        editing tap has replaced the cell.
        """
        if math.isnan(self.value) or math.isinf(self.value):
            return repr(self.value) == repr(self.recomputed)
        return abs(self.recomputed - self.value) <= TOLERANCE * max(1.0, abs(self.value), self.operations[-1].max_abs)
