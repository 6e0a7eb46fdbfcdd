"""Ridge regression differentiable discriminator (Bertinetto et al., 2019)."""

from __future__ import annotations

import torch
from torch import nn

from .common import OnFeatures

__all__ = ["R2D2"]

LARGE = 1e6  # squared length of a support over λ, above which 32 bits do not solve the system any more


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
        penalty = self.log_lambda.exp()
        ridge = penalty * torch.eye(support.shape[1], device=support.device)
        weights = support.mT @ torch.linalg.solve(support @ support.mT + ridge, members)
        large = support.square().sum((1, 2)) > LARGE * penalty
        if large.any():
            weights = torch.where(large[:, None, None], _in_64_bits(support, members, penalty), weights)
        return self.scale * (query @ weights) + self.bias


def _in_64_bits(support: torch.Tensor, members: torch.Tensor, penalty: torch.Tensor) -> torch.Tensor:
    """Weights (T, D, K), from the smaller of the two systems: the larger one is nearly singular where λ is small."""
    x, y, ridge = (v.to("cpu", torch.float64) for v in (support, members, penalty))  # not all GPUs have 64 bits
    n, dim = x.shape[1:]
    ridge = ridge * torch.eye(min(n, dim), dtype=x.dtype)
    if dim < n:
        return torch.linalg.solve(x.mT @ x + ridge, x.mT @ y).to(support)
    return (x.mT @ torch.linalg.solve(x @ x.mT + ridge, y)).to(support)
