"""Meta-transfer learning (Sun et al., 2019)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fslcore.learners.common import OnFeatures

from .common import descended_head

__all__ = ["MTL"]


class MTL(OnFeatures):
    """A linear classifier, fitted by gradient descent on scaled and shifted frozen features.

    The paper freezes a pre-trained network and trains, over many tasks, a scale and a shift of its
    neurons and a start of the classifier. Here they belong to the last layer, so that features are
    computed once: one scale and one shift per feature, on features of unit length. The rate of the
    steps is trained too, through second derivatives, which the released code leaves out. The
    classifier starts at zero, so that a task may have any number of classes in any order. A start
    shared by all classes would change all scores of a query by the same amount, and no answer.

    Parameters
    ----------
    dim : int
        Length D of a feature vector.
    steps : int
        Steps of gradient descent on the support (paper: 100), through which the parameters are
        trained.
    lr : float
        Their learning rate, before training.
    """

    name = "mtl"
    needs_dim = True
    digested = True
    settings = ("steps",)

    def __init__(self, dim: int = 256, *, steps: int = 20, lr: float = 2.0) -> None:
        super().__init__()
        self.steps = steps
        self.scale = nn.Parameter(torch.ones(dim))
        self.shift = nn.Parameter(torch.zeros(dim))
        self.log_rate = nn.Parameter(torch.tensor(math.log(lr)))

    def forward(self, support: Tensor, members: Tensor, query: Tensor) -> Tensor:
        support, query = (
            F.normalize(x, dim=-1) * self.scale + self.shift for x in (support, query)
        )
        head, bias = descended_head(
            support, members, self.steps, self.log_rate.exp(), create_graph=self.training
        )
        return query @ head.mT + bias
