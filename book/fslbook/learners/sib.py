"""Synthetic information bottleneck (Hu et al., 2020)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fslcore.learners.common import OnFeatures, class_means

__all__ = ["SIB"]


class SIB(OnFeatures):
    """Class weights that start at prototypes and follow a synthetic gradient from the queries.

    Scores are scaled cosines to one weight vector per class. The weights start at the means of the
    support's unit features, times a trained factor per feature. Each step then updates them by a
    gradient with respect to the scores of the unlabelled queries. A network provides it in place of
    a loss that would need their labels; it is passed on to the weights by the chain rule. So the
    learner is *transductive*: a score depends on the other queries of its task.

    The paper's network reads the vector of a query's scores and fits one number of classes in one
    order. Ours reads for each class the log of its probability, the probability and the entropy of
    the query's probabilities. It has no batch normalisation and starts at zero, a step is the mean
    over queries, not the sum (the released rate of 0.001 is one of 0.075 for the mean of 75
    queries), and the bias shared by all classes, which changes no softmax, is
    omitted.

    Parameters
    ----------
    dim : int
        Length D of a feature vector.
    steps : int
        Of the synthetic gradient (paper: 3).
    lr : float
        Their learning rate.
    hidden : int
        Width of the network.
    scale : float
        Of the cosines, before training.
    """

    name = "sib"
    needs_dim = True
    digested = True
    settings = ("steps", "lr")
    transductive = True

    def __init__(
        self,
        dim: int = 256,
        *,
        steps: int = 3,
        lr: float = 1.0,
        hidden: int = 32,
        scale: float = 10.0,
    ) -> None:
        super().__init__()
        self.steps = steps
        self.lr = lr
        self.factor = nn.Parameter(torch.ones(dim))
        self.log_scale = nn.Parameter(torch.tensor(math.log(scale)))
        self.gradient = nn.Sequential(nn.Linear(3, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        for w in self.gradient[-1].parameters():
            nn.init.zeros_(w)

    def forward(
        self, support: Tensor, members: Tensor, query: Tensor, present: Tensor | None = None
    ) -> Tensor:
        """As for all learners.

        ``present`` (T, q) is True for a query and False for padding, by default True.
        """
        z = F.normalize(query, dim=-1)
        present = torch.ones_like(z[..., 0]) if present is None else present.to(z.dtype)
        share = (present / present.sum(dim=1, keepdim=True).clamp(min=1))[..., None]
        absent = members.sum(dim=1, keepdim=True) == 0
        weights = (
            class_means(F.normalize(support, dim=-1), members) * self.factor
        ).requires_grad_()
        with torch.enable_grad():
            for _ in range(self.steps):
                logits = self._logits(z, weights)
                synthetic = share * self._synthetic(logits, absent)
                (slope,) = torch.autograd.grad(
                    logits, weights, synthetic, create_graph=self.training
                )
                weights = weights - self.lr * slope
        return self._logits(z, weights)

    def _logits(self, unit: Tensor, weights: Tensor) -> Tensor:
        """(T, q, K) scaled cosines."""
        return self.log_scale.exp() * (unit @ F.normalize(weights, dim=-1).mT)

    def _synthetic(self, logits: Tensor, absent: Tensor) -> Tensor:
        """(T, q, K) gradient with respect to the logits, zero for classes without support."""
        # A large number in place of infinity, since infinity times zero is not a number.
        log_p = torch.log_softmax(logits.masked_fill(absent, -1e9), dim=-1)
        p = log_p.exp()
        entropy = -(p * log_p).sum(dim=-1, keepdim=True).expand_as(p)
        read = torch.stack([log_p, p, entropy], dim=-1)
        return self.gradient(read).squeeze(-1).masked_fill(absent, 0)
