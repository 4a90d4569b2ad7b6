"""Muon for the matrices of the layers, Adam for everything else.

The gradient of a matrix is made nearly orthogonal before it is taken as a step, so that directions that the gradient seldom has are
learned, too (Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks"). Embeddings, the output matrix, biases
and norms stay with Adam, as its authors advise: a row of theirs belongs to a word or a unit, and not to a direction.
"""

from typing import Any

import torch
from torch import nn

from viz_core.model.transformer import Transformer
from viz_core.training.crew import ALONE, Crew

MOMENTUM = 0.95  # Muon's usual one
DECAY = 0.1  # Muon's usual one; without it, parts of a matrix that change no weight of attention grow on and on


class MuonAndAdam:
    """The two optimizers as one. times: Muon's rate as a multiple of Adam's. crew: the processes that share the matrices."""

    def __init__(self, model: Transformer, times: float, betas: tuple[float, float], eps: float, crew: Crew = ALONE) -> None:
        self.matrices = matrices(model)
        ours = set(map(id, self.matrices))
        rest = [p for p in model.parameters() if id(p) not in ours]
        self.crew = crew
        group = {"params": list(crew.own(self.matrices)), "times": times}
        self.muon = torch.optim.Muon([group], momentum=MOMENTUM, weight_decay=DECAY)
        self.adam = torch.optim.Adam(rest, betas=betas, eps=eps, fused=True)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The groups of both. A group with "times" takes its multiple of the rate."""
        return [*self.muon.param_groups, *self.adam.param_groups]

    def zero_grad(self) -> None:
        for p in self.matrices:  # also those that another process changes
            p.grad = None
        self.adam.zero_grad()

    def step(self) -> None:
        self.muon.step()
        self.crew.exchange(self.matrices)
        self.adam.step()


def matrices(model: Transformer) -> list[nn.Parameter]:
    """The weights of the linear maps inside the layers."""
    inside = (module for side in model.config.sides for module in model.stack(side).layers.modules())
    return [module.get_parameter("weight") for module in inside if isinstance(module, nn.Linear)]
