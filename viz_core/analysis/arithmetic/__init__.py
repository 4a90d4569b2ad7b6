"""The operations that compute one cell of a stage, each with its operands and its result.

Every operand has a role and the stage or parameter it comes from. An operation computes in float64 from its own operands.
`viz_core.analysis.cell_explanation` lists the operations of a cell in order; the `result` of the last one is the cell's value.
"""

from viz_core.analysis.arithmetic.cell import TOLERANCE, CellArithmetic, Operation
from viz_core.analysis.arithmetic.numbers import Array, Index, Number, Vector
from viz_core.analysis.arithmetic.reductions import Mean, LayerNormFeature, Product, Softmax, Sum
from viz_core.analysis.arithmetic.steps import (
    T5Bucket,
    Where,
    MaskCondition,
    Copy,
    AlibiBias,
    ActivationValue,
    InputValue,
    MaskConditions,
    TableLookup,
    Rotation,
    Scale,
    Sinusoid,
)

__all__ = [
    "TOLERANCE", "CellArithmetic", "Array", "T5Bucket", "Where", "MaskCondition", "Copy", "AlibiBias", "ActivationValue", "InputValue", "Index",
    "MaskConditions", "TableLookup", "Mean", "LayerNormFeature", "Number", "Operation", "Product", "Rotation", "Scale", "Softmax", "Sum", "Vector", "Sinusoid",
]
