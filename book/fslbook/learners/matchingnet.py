"""Matching networks (Vinyals et al., 2016)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fslcore.learners.common import OnFeatures

__all__ = ["MatchingNet"]


class MatchingNet(OnFeatures):
    """Log of the attention that a query pays to the support images of each class.

    The attention is a softmax of the cosines to all support images, times a scale (the paper's
    equations 1 and 2, where the scale is 1). The scale is trained, and nothing else if the network
    for the features is frozen.

    Fully contextual embeddings are not implemented: they read the support as a sequence, so that
    scores depend on the order of its images, which a task does not have.

    Parameters
    ----------
    scale : float
        Of the cosines, before training.
    """

    name = "matchingnet"

    def __init__(self, scale: float = 10.0) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(math.log(scale)))

    def forward(self, support: Tensor, members: Tensor, query: Tensor) -> Tensor:
        cosine = F.normalize(query, dim=-1) @ F.normalize(support, dim=-1).mT
        padding = members.sum(dim=-1)[:, None] == 0
        attention = torch.softmax(
            (self.log_scale.exp() * cosine).masked_fill(padding, -torch.inf), dim=-1
        )
        return (attention @ members).clamp(min=torch.finfo(attention.dtype).tiny).log()
