"""Model-agnostic meta-learning of a small network on frozen features (Finn et al., 2017.

Yue et al., 2020).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fslcore.learners.common import OnFeatures

from .common import descended, support_loss

__all__ = ["FrozenMAML"]


class FrozenMAML(OnFeatures):
    """MAML whose network is one hidden layer on frozen features.

    This is the form of `MAML` compared with interventional learners, whose features are frozen (Yue
    et al., 2020, with two layers and a trained start of the head). As in our `MAML` the head starts
    at zero, so that a task may have any number of classes, in any order. Training goes through the
    steps, including second derivatives. Feature vectors are scaled to the length √D.

    Parameters
    ----------
    dim : int
        Length D of a feature vector.
    hidden : int
        Length of the hidden layer.
    steps : int
        Of gradient descent on the support.
    lr : float
        Their learning rate.
    """

    name = "maml-frozen"
    needs_dim = True
    digested = True
    settings = ("steps", "lr")

    def __init__(
        self, dim: int = 256, *, hidden: int = 64, steps: int = 5, lr: float = 0.3
    ) -> None:
        super().__init__()
        self.steps = steps
        self.lr = lr
        self.layer = nn.Linear(dim, hidden)

    def forward(self, support: Tensor, members: Tensor, query: Tensor) -> Tensor:
        tasks, _, dim = support.shape
        ways = members.shape[-1]
        support, query = (F.normalize(x, dim=-1) * dim**0.5 for x in (support, query))
        with torch.enable_grad():
            weights = [
                self.layer.weight.expand(tasks, -1, -1),
                self.layer.bias.expand(tasks, 1, -1),
                support.new_zeros(tasks, ways, len(self.layer.bias), requires_grad=True),
                support.new_zeros(tasks, 1, ways, requires_grad=True),
            ]
        loss = lambda *weights: support_loss(_scores(support, *weights), members)  # noqa: E731
        return _scores(query, *descended(loss, weights, self.steps, self.lr, self.training))


def _scores(x: Tensor, weight: Tensor, bias: Tensor, head: Tensor, head_bias: Tensor) -> Tensor:
    """(T, n, K) scores of features (T, n, D) by each task's layer (T, H, D) and head (T, K, H)."""
    return F.relu(x @ weight.mT + bias) @ head.mT + head_bias
