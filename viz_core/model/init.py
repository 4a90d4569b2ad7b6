"""Parameter initialization. Each parameter has a generator seeded by (seed, name), so changing one setting does not
change the other parameters."""

import hashlib
import math

import torch
from torch import Tensor, nn

from viz_core.config import TransformerConfig


def empty_parameter(*shape: int) -> nn.Parameter:
    """Return an uninitialized parameter, for `initialize_parameters` to fill."""
    return nn.Parameter(torch.empty(*shape))


class Linear(nn.Linear):
    """x Wᵀ + b without torch's default initialization, since `initialize_parameters` fills it."""

    def reset_parameters(self) -> None:
        pass


class Embedding(nn.Embedding):
    """A lookup table [rows, D] without torch's default initialization, since `initialize_parameters` fills it."""

    def reset_parameters(self) -> None:
        pass


def parameter_generator(seed: int, name: str) -> torch.Generator:
    """Return the random generator of one parameter, seeded by the seed and the parameter's name."""
    digest = hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest, "big") >> 1)


@torch.no_grad()
def initialize_parameters(model: nn.Module, config: TransformerConfig, seed: int) -> None:
    """Initialize every parameter: norms with γ = 1 and β = 0, matrices and biases by `config.init`.

    "torch": the defaults of nn.Linear and nn.Embedding, U(±1/√fan_in) and N(0, 1). "xavier_*": Glorot for every matrix,
    including embeddings, and torch's default for biases (document 001).
    """
    for path, module in model.named_modules():
        for name, parameter in module.named_parameters(recurse=False):
            g = parameter_generator(seed, f"{path}.{name}")
            if isinstance(module, nn.Linear | nn.Embedding):
                _initialize(parameter, module, name, config.init, g)
            else:
                parameter.fill_(1.0 if name == "weight" else 0.0)  # γ and β of a norm


def _initialize(x: Tensor, module: nn.Linear | nn.Embedding, name: str, init: str, g: torch.Generator) -> None:
    """Fill x in place, which avoids a second copy of a large embedding table."""
    if name == "weight" and init == "xavier_uniform":
        nn.init.xavier_uniform_(x, generator=g)
    elif name == "weight" and init == "xavier_normal":
        nn.init.xavier_normal_(x, generator=g)
    elif isinstance(module, nn.Embedding):
        x.normal_(generator=g)
    else:
        bound = 1 / math.sqrt(module.in_features)
        x.uniform_(-bound, bound, generator=g)
