"""The activation functions of the feed-forward network, one entry each.

Each is a gate: act(x) = x · g(x), where g(x) is the share of x that passes. This module does not import torch: an entry
names the function of `torch.nn.functional`, which `viz_core.model.layers` looks up.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from viz_core.messages import LazyText, lazy


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """One activation function: its names, its formulas, and its value for one number."""

    title: str | LazyText  # as written in a sentence
    latex: str  # the symbol in the formula of a stage
    formula: str  # for one value x, as plain text
    gate: Callable[[float], float]  # g(x), from 0 to 1
    gate_description: LazyText  # a description of g(x)
    zeroes_negatives: bool  # whether g(x) is 0 for negative x and 1 for positive x
    torch_function: str  # the name in torch.nn.functional
    torch_options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    huggingface_names: tuple[str, ...]  # the names in a config.json of Hugging Face, such as `hidden_act` of BERT

    def __call__(self, x: float) -> float:
        """Return act(x) as torch computes it, also for infinite x and NaN."""
        return max(x, 0.0) if self.zeroes_negatives and not math.isnan(x) else x * self.gate(x)


def _sigmoid(x: float) -> float:
    """Return 1 / (1 + e^(−x)) without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {
        "relu": Activation(
            title="ReLU",
            latex=r"\mathrm{ReLU}",
            formula="max(0, x)",
            gate=lambda x: float(x > 0),
            gate_description=lazy("1 above zero, else 0"),
            zeroes_negatives=True,
            torch_function="relu",
            huggingface_names=("relu",),
        ),
        "gelu": Activation(
            title="GELU",
            latex=r"\mathrm{GELU}",
            formula="x × Φ(x)",
            gate=lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2))),
            gate_description=lazy("Φ(x), the share that passes"),
            zeroes_negatives=False,
            torch_function="gelu",
            huggingface_names=("gelu", "gelu_python"),
        ),
        "gelu_tanh": Activation(
            title=lazy("GELU (by tanh)"),
            latex=r"\mathrm{GELU}_{\tanh}",
            formula="x × ½(1 + tanh(√(2/π)(x + 0.044715 x³)))",
            gate=lambda x: 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
            gate_description=lazy("the share that passes"),
            zeroes_negatives=False,
            torch_function="gelu",
            torch_options=MappingProxyType({"approximate": "tanh"}),
            huggingface_names=("gelu_new", "gelu_fast", "gelu_accurate", "gelu_pytorch_tanh", "gelu_python_tanh"),
        ),
        "silu": Activation(
            title="SiLU",
            latex=r"\mathrm{SiLU}",
            formula="x × σ(x)",
            gate=_sigmoid,
            gate_description=lazy("σ(x) = 1 / (1 + e⁻ˣ), the share that passes"),
            zeroes_negatives=False,
            torch_function="silu",
            huggingface_names=("silu", "swish"),
        ),
    }
)
"""The activations by their name in a config and in a link, in the order of the sidebar."""
