"""One cell of a stage with the operations that compute it."""

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
    """The operations that compute one cell.

    value: the recorded value. operations: in order; the result of the last one is the cell's value again.
    """

    stage: Stage
    index: tuple[int, ...]
    value: float
    parts: tuple[Part, ...]

    @property
    def rebuilt(self) -> float:
        """The value that the operations give, in float64."""
        return self.parts[-1].result

    @property
    def formula(self) -> str:
        """The formula of the last operation."""
        return self.parts[-1].formula

    @property
    def agrees(self) -> bool:
        """Whether the operations give the recorded value within TOLERANCE of the largest number involved, which float32 rounds.

        False where an editing tap has replaced the cell.
        """
        if math.isnan(self.value) or math.isinf(self.value):
            return repr(self.value) == repr(self.rebuilt)
        return abs(self.rebuilt - self.value) <= TOLERANCE * max(1.0, abs(self.value), self.parts[-1].size)
