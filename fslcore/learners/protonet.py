"""Prototypical networks (Snell et al., 2017)."""

import torch
from torch import Tensor

from .common import OnFeatures, class_means

__all__ = ["ProtoNet"]


class ProtoNet(OnFeatures):
    """Negative squared Euclidean distance to the mean of each class's support features."""

    name = "protonet"

    def forward(self, support: Tensor, members: Tensor, query: Tensor) -> Tensor:
        return -torch.cdist(
            query, class_means(support, members), compute_mode="donot_use_mm_for_euclid_dist"
        ).square()
