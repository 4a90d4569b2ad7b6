"""The operations that compute one cell of a stage, each with its operands and its result.

Every operand has a role and the stage or parameter it comes from. An operation computes in float64 from its own operands.
`viz_core.analysis.cell_explanation` lists the operations of a cell in order; the `result` of the last one is the cell's value.
"""

from viz_core.analysis.arithmetic.cell_arithmetic import TOLERANCE, CellArithmetic, Operation
from viz_core.analysis.arithmetic.operands import Array, Index, Number, Vector
from viz_core.analysis.arithmetic.reductions import Mean, NormFeature, Product, Softmax, Sum
from viz_core.analysis.arithmetic.scalar_operations import (
    ActivationValue,
    AlibiBias,
    Copy,
    InputValue,
    MaskCondition,
    MaskConditions,
    Rotation,
    Scale,
    Sinusoid,
    T5Bucket,
    TableLookup,
    Where,
)

__all__ = [
    "TOLERANCE",
    "ActivationValue",
    "AlibiBias",
    "Array",
    "CellArithmetic",
    "Copy",
    "Index",
    "InputValue",
    "MaskCondition",
    "MaskConditions",
    "Mean",
    "NormFeature",
    "Number",
    "Operation",
    "Product",
    "Rotation",
    "Scale",
    "Sinusoid",
    "Softmax",
    "Sum",
    "T5Bucket",
    "TableLookup",
    "Vector",
    "Where",
]
