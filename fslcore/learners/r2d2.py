"""Ridge regression differentiable discriminator (Bertinetto et al., 2019)."""

from __future__ import annotations

import torch
from torch import nn

from .common import OnFeatures

__all__ = ["R2D2"]


class R2D2(OnFeatures):
    """Ridge regression from features to one-hot labels, solved in closed form.

    W = Xᵀ(XXᵀ + λI)⁻¹Y needs an n × n system only, for n support images (Woodbury). λ and the scale
    and bias of the scores are trained with the network.
    """

    name = "r2d2"

    def __init__(self):
        super().__init__()
        self.log_lambda = nn.Parameter(torch.zeros(()))
        self.scale = nn.Parameter(torch.tensor(10.0))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, support: torch.Tensor, members: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
        support = support * members.sum(dim=-1, keepdim=True)  # padding is a row of zeros, which changes nothing
        ridge = self.log_lambda.exp() * torch.eye(support.shape[1], device=support.device)
        dual = torch.linalg.solve(support @ support.mT + ridge, members)
        return self.scale * (query @ (support.mT @ dual)) + self.bias
