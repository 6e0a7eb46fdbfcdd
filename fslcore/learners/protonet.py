"""Prototypical networks (Snell et al., 2017)."""

import torch
from torch import Tensor

from .common import OnFeatures, class_means

__all__ = ["ProtoNet"]


class ProtoNet(OnFeatures):
    """Negative squared Euclidean distance to the mean of each class's support features."""

    name = "protonet"

    def forward(self, support: Tensor, members: Tensor, query: Tensor) -> Tensor:
        """Scores (T, n_query, K) from embedded features (T, n, D) and (T, n_query, D).

        ``members`` (T, n, K) says which support images are of which class (`one_hot`).
        """
        return -torch.cdist(
            query, class_means(support, members), compute_mode="donot_use_mm_for_euclid_dist"
        ).square()
