"""Nearest class centroid."""

import torch
from torch.nn import functional as F

from ..datasets.bank import Bank
from ..tasks import Tasks
from .common import mask_absent, query_scores, supports_and_queries
from .protocol import Learner

__all__ = ["NearestCentroid"]


class NearestCentroid(Learner):
    """Cosine to each class's mean of L2-normalised support features (NCC in OOPS, section 2.2)."""

    name = "ncc"

    @torch.inference_mode()
    def scores(self, bank: Bank, tasks: Tasks) -> torch.Tensor:
        """Cosines (T, n_query, K) from a bank of features; -inf for a class without support."""
        x, members, scale, query = supports_and_queries(bank, tasks)
        # The direction of the sum is that of the mean.
        centroids = F.normalize((members * scale).mT @ x, dim=-1)
        return mask_absent(query_scores(bank, query, centroids), members)
