"""Almost no inner loop (Raghu et al., 2020)."""

from torch import Tensor

from fslcore.errors import whole
from fslcore.learners.common import OnFeatures

from .common import descended_head

__all__ = ["ANIL"]


class ANIL(OnFeatures):
    """MAML whose inner loop updates only the head, by a few steps of gradient descent.

    The network is trained through the steps, including second derivatives. As in our `MAML`, the
    head and its bias start at zero, where the paper trains the start; so a task may have any number
    of classes, in any order. The steps are fewer and larger than those of a fitted classifier; the
    features are trained for them.

    Parameters
    ----------
    steps : int
        Of gradient descent on the support.
    lr : float
        Their learning rate.

    Raises
    ------
    InputError
        Steps below 1.
    """

    name = "anil"
    settings = ("steps", "lr")

    def __init__(self, steps: int = 5, lr: float = 0.02) -> None:
        super().__init__()
        self.steps = whole("steps", steps, minimum=1)
        self.lr = lr

    def forward(self, support: Tensor, members: Tensor, query: Tensor) -> Tensor:
        head, bias = descended_head(
            support, members, self.steps, self.lr, create_graph=self.training
        )
        return query @ head.mT + bias
