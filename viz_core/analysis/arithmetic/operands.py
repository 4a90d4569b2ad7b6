"""Operands of the operations: a number or a vector, each with its role and the stage or parameter it comes from."""

from dataclasses import dataclass

import numpy as np

Array = np.ndarray
Index = tuple[int | None, ...]  # None stands for the whole axis


@dataclass(frozen=True, eq=False)
class Number:
    """One number.

    source, index: its cell in a stage or parameter; both are empty for a constant.
    """

    role: str
    value: float
    source: str = ""
    index: Index = ()


@dataclass(frozen=True, eq=False)
class Vector:
    """A vector [n], float64, read-only.

    source, index: the stage or parameter it is taken from, with None for the axis that it runs along. letter: that axis in the
    stage table ("K", "S", …).
    """

    role: str
    values: Array
    letter: str
    source: str = ""
    index: Index = ()
