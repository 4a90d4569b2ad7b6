"""How parameters begin: each drawn from a generator seeded by (seed, its name), so that a switch leaves the rest."""

import hashlib
import math

import torch
from torch import Tensor, nn

from viz_core.config import TransformerConfig


def empty(*shape: int) -> nn.Parameter:
    """A parameter that `draw_parameters` will fill."""
    return nn.Parameter(torch.empty(*shape))


class Linear(nn.Linear):
    """x Wᵀ + b, to be filled by `draw_parameters` alone: torch's own draw would be thrown away."""

    def reset_parameters(self) -> None:
        pass


class Embedding(nn.Embedding):
    """A lookup table [rows, D], to be filled by `draw_parameters` alone."""

    def reset_parameters(self) -> None:
        pass


def generator(seed: int, name: str) -> torch.Generator:
    """A generator of its own for one parameter."""
    digest = hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest, "big") >> 1)


@torch.no_grad()
def draw_parameters(model: nn.Module, config: TransformerConfig, seed: int) -> None:
    """Fill every parameter: norms 1 and 0, matrices and biases by `config.init`.

    "torch": what nn.Linear and nn.Embedding draw, U(±1/√fan_in) and N(0, 1). "xavier_*": Glorot on every matrix,
    embeddings too, biases as torch's (document 001).
    """
    for path, module in model.named_modules():
        for leaf, parameter in module.named_parameters(recurse=False):
            g = generator(seed, f"{path}.{leaf}")
            if isinstance(module, nn.Linear | nn.Embedding):
                _draw(parameter, module, leaf, config.init, g)
            else:
                parameter.fill_(1.0 if leaf == "weight" else 0.0)  # LayerNorm's γ and β


def _draw(x: Tensor, module: nn.Linear | nn.Embedding, leaf: str, init: str, g: torch.Generator) -> None:
    """Fill x in its place: a table of tens of thousands of words would otherwise be there twice."""
    if leaf == "weight" and init == "xavier_uniform":
        nn.init.xavier_uniform_(x, generator=g)
    elif leaf == "weight" and init == "xavier_normal":
        nn.init.xavier_normal_(x, generator=g)
    elif isinstance(module, nn.Embedding):
        x.normal_(generator=g)
    else:
        bound = 1 / math.sqrt(module.in_features)
        x.uniform_(-bound, bound, generator=g)
