"""The activations, each written once more by its definition, independent of torch and of the app's own entries."""

import math
from collections.abc import Callable

DEFINITIONS: dict[str, Callable[[float], float]] = {
    "relu": lambda x: 0.0 if x <= 0 else x,
    "gelu": lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))),  # x times the normal distribution function
    "gelu_tanh": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + math.exp(-x)),  # x times the logistic function
}
