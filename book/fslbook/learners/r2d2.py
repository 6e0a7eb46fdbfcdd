"""Ridge regression differentiable discriminator (Bertinetto et al., 2019)."""

import torch
from torch import Tensor, nn

from fslcore.learners.common import OnFeatures

__all__ = ["R2D2"]

FLOAT64_MIN_RATIO = (
    1e6  # squared length of a support over λ, above which 32 bits no longer solve the system
)


class R2D2(OnFeatures):
    """Ridge regression from features to one-hot labels, solved in closed form.

    W = Xᵀ(XXᵀ + λI)⁻¹Y only needs an n × n system, for n support images (Woodbury). λ and the scale
    and bias of the scores are trained with the network.
    """

    name = "r2d2"

    def __init__(self) -> None:
        super().__init__()
        self.log_lambda = nn.Parameter(torch.zeros(()))
        self.scale = nn.Parameter(torch.tensor(10.0))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, support: Tensor, members: Tensor, query: Tensor) -> Tensor:
        # Padding is a row of zeros, which changes nothing.
        support = support * members.sum(dim=-1, keepdim=True)
        penalty = self.log_lambda.exp()
        large = (support.square().sum((1, 2)) > FLOAT64_MIN_RATIO * penalty)[:, None, None]
        x = support.masked_fill(large, 0)  # tasks solved separately must not be singular here
        ridge = penalty * torch.eye(x.shape[1], device=x.device)
        weights = x.mT @ torch.linalg.solve(x @ x.mT + ridge, members)
        if large.any():
            weights = torch.where(large, _in_64_bits(support, members, penalty), weights)
        return self.scale * (query @ weights) + self.bias


def _in_64_bits(support: Tensor, members: Tensor, penalty: Tensor) -> Tensor:
    """Weights (T, D, K) by singular values: λ is lost in the squares of long features."""
    # Not all GPUs have 64 bits.
    x, y, ridge = (v.to("cpu", torch.float64) for v in (support, members, penalty))
    u, s, v = torch.linalg.svd(x, full_matrices=False)
    noise = s <= s[:, :1] * max(x.shape[1:]) * torch.finfo(s.dtype).eps
    shrunk = (s / (s.square() + ridge)).masked_fill(noise, 0)
    weights = v.mT @ (shrunk[..., None] * (u.mT @ y))
    return weights.to(support)
