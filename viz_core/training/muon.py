"""Muon for the matrices of the layers, Adam for all other parameters.

Muon makes the update of a matrix nearly orthogonal, so that rare directions of the gradient are learned too (Jordan et al. 2024,
"Muon: An optimizer for hidden layers in neural networks"). Embeddings, the output matrix, biases and norms are trained with Adam,
as its authors advise.
"""

from typing import Any

import torch
from torch import nn

from viz_core.model.transformer import Transformer
from viz_core.training.data_parallel import SINGLE_PROCESS, WorkerGroup

MOMENTUM = 0.95  # the usual value of Muon
WEIGHT_DECAY = 0.1  # the usual value; without it, components of a matrix that do not affect attention weights grow without bound


class MuonAndAdam:
    """Muon and Adam as one optimizer. rate_ratio: Muon's learning rate / Adam's. workers: the processes that share the matrices."""

    def __init__(
        self, model: Transformer, rate_ratio: float, betas: tuple[float, float], eps: float, workers: WorkerGroup = SINGLE_PROCESS
    ) -> None:
        self.matrices = layer_matrices(model)
        matrix_ids = set(map(id, self.matrices))
        rest = [p for p in model.parameters() if id(p) not in matrix_ids]
        self.workers = workers
        group = {"params": list(workers.own_items(self.matrices)), "times": rate_ratio}
        self.muon = torch.optim.Muon([group], momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)
        self.adam = torch.optim.Adam(rest, betas=betas, eps=eps, fused=True)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The parameter groups of both. The learning rate of a group is multiplied by its "times", if it has one."""
        return [*self.muon.param_groups, *self.adam.param_groups]

    def zero_grad(self) -> None:
        for p in self.matrices:  # including those that another process updates
            p.grad = None
        self.adam.zero_grad()

    def step(self) -> None:
        self.muon.step()
        self.workers.all_gather(self.matrices)
        self.adam.step()


def layer_matrices(model: Transformer) -> list[nn.Parameter]:
    """Return the weights of the linear modules inside the layers."""
    inside = (module for side in model.config.sides for module in model.stack(side).layers.modules())
    return [module.get_parameter("weight") for module in inside if isinstance(module, nn.Linear)]
