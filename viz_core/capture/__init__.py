"""The recorded activations of a run, and arrays as tidy data frames.

    capture   Capture: the arrays of one run by stage name, read-only
    tidy      arrays as data frames with one row per cell; data frames as CSV
"""

from viz_core.capture.capture import (
    Capture,
)

__all__ = [
    "Capture",
]
