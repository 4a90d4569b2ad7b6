"""The numbers behind a cell: one number or a row of numbers, each with its role and the stage or parameter it comes from."""

from dataclasses import dataclass

import numpy as np

Array = np.ndarray
Index = tuple[int | None, ...]  # None stands for the whole axis


@dataclass(frozen=True, eq=False)
class Number:
    """One number. `source` and `index` name its cell in a stage or parameter; both are empty for a constant."""

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
