"""The arithmetic behind a cell: a few kinds of parts, each with its own numbers and the result they give.

Every number says its role and where it comes from. A part computes in float64 from its own numbers alone. For each cell,
`viz_core.analysis.terms` makes a short chain of parts; the `result` of the last one is the cell.
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
