"""One cell with the chain of parts that leads to it."""

import math
from dataclasses import dataclass

from viz_core.analysis.arithmetic.reductions import Mean, Norm, Product, Softmax, Sum
from viz_core.analysis.arithmetic.steps import Bucket, Choice, Copy, Distance, Function, Given, Logic, Lookup, Rotation, Scale, Wave
from viz_core.stages import Stage

TOLERANCE = 1e-5

Part = (
    Product | Sum | Softmax | Norm | Mean | Lookup | Logic | Choice | Function | Rotation | Wave | Distance | Bucket | Scale | Copy
    | Given
)


@dataclass(frozen=True, eq=False)
class Arithmetic:
    """How one cell was computed. `value` is the recorded cell; `parts` lead to it, and the result of the last is the cell."""

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

        They do not if an editing tap has replaced the cell.
        """
        if math.isnan(self.value) or math.isinf(self.value):
            return repr(self.value) == repr(self.rebuilt)
        return abs(self.rebuilt - self.value) <= TOLERANCE * max(1.0, abs(self.value), self.parts[-1].size)
