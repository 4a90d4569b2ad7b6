"""The operations that compute one cell of a stage, each with its operands and its result.

Every operand has a role and the stage or parameter it comes from. An operation computes in float64 from its own operands.
`viz_core.analysis.cell_explanation` lists the operations of a cell in order; the `result` of the last one is the cell's value.
"""

from viz_core.analysis.arithmetic.cell import TOLERANCE, Arithmetic, Part
from viz_core.analysis.arithmetic.numbers import Array, Index, Number, Vector
from viz_core.analysis.arithmetic.reductions import Mean, Norm, Product, Softmax, Sum
from viz_core.analysis.arithmetic.steps import (
    Bucket,
    Choice,
    Comparison,
    Copy,
    Distance,
    Function,
    Given,
    Logic,
    Lookup,
    Rotation,
    Scale,
    Wave,
)

__all__ = [
    "TOLERANCE", "Arithmetic", "Array", "Bucket", "Choice", "Comparison", "Copy", "Distance", "Function", "Given", "Index",
    "Logic", "Lookup", "Mean", "Norm", "Number", "Part", "Product", "Rotation", "Scale", "Softmax", "Sum", "Vector", "Wave",
]
