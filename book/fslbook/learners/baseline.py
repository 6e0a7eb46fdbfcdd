"""The classifiers of Baseline (Chen et al., 2019) on raw features: logistic regression, and a linear layer by SGD."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from fslcore.errors import number
from fslcore.learners.common import OnFeatures
from fslcore.learners.logistic import quasi_newton

__all__ = ["LinearLayer", "RawLogisticRegression"]

# Of the loss where probabilities are near 0 and 1, in units of that where all are equal: of 1, 0.3, 0.1, 0.03
# and 0.01 this and its neighbours took the least time, half of that of 1, for 5 classes of 5 to 20 images.
CURVATURE = 0.1


class RawLogisticRegression(OnFeatures):
    """L2-regularised multinomial logistic regression on features as they are.

    This is Baseline in *Evaluating the evaluators* (Shimabucoro et al., 2024): scikit-learn's
    logistic regression at its defaults. `LogisticRegression` scales features to unit length first.
    If features have length r, C = 1 here is about C = r² there, a much weaker penalty.

    Parameters
    ----------
    C : float
        Inverse regularisation strength, over 0.
    tol : float
        Stop a task when no entry of its gradient is larger, in units of the mean squared length of its features.
    max_iter : int
        The maximum number of steps.
    """

    name = "lr-raw"
    version = 2  # by L-BFGS
    settings = ("C", "tol", "max_iter")

    def __init__(self, C: float = 1.0, tol: float = 1e-4, max_iter: int = 1000) -> None:
        super().__init__()
        number("C", C, over=0)
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    @torch.no_grad()
    def forward(self, support: Tensor, members: Tensor, query: Tensor) -> Tensor:
        # In 64 bits: the rounding of 32 is not small compared with the penalty if features are long.
        x = support.double() * members.sum(dim=-1, keepdim=True)
        y = members.mT.double()
        is_binary = (y.sum(dim=-1, keepdim=True) > 0).sum(dim=1, keepdim=True) == 2
        penalty = (
            1 + is_binary.to(y.dtype)
        ) / self.C  # of two classes scikit-learn fits one vector
        # Divided by the features' mean squared length, the problem is that of features of length 1.
        gram = x @ x.mT
        images = y.sum((1, 2))[:, None, None]
        squared = gram.diagonal(dim1=1, dim2=2).sum(dim=-1)[:, None, None] / images
        squared = squared.clamp(min=1e-12)
        a, b = quasi_newton(
            gram / squared, y, penalty / squared, self.tol, self.max_iter, CURVATURE
        )
        weights = (a / squared @ x).to(query.dtype)
        return query @ weights.mT + b.mT.to(query.dtype)


class LinearLayer(OnFeatures):
    """A linear layer that stochastic gradient descent fits to the support, from a random start.

    This is Baseline as released with *Evaluating the evaluators* and with FewSTAB (LibFewShot): cross-entropy
    over batches of 4 images in random order, for 100 epochs. All tasks share one start and one order,
    both drawn from ``seed``, so that the result of a task does not depend on others.
    The weights stay a multiple of their start plus a combination of the support, W = cW₀ + AX, so
    that a step needs only the n × n products of the support.

    Parameters
    ----------
    lr, momentum, dampening, weight_decay : float
        Of `torch.optim.SGD`; the weight decay applies to the intercept, too.
    batch : int
        Images per step.
    epochs : int
        Passes over the support.
    seed : int
        Of the start and the order.
    """

    name = "linear-sgd"
    version = 2  # each step computes the scores of its batch alone
    settings = ("lr", "momentum", "dampening", "weight_decay", "batch", "epochs", "seed")

    def __init__(
        self,
        lr: float = 0.01,
        momentum: float = 0.9,
        dampening: float = 0.9,
        weight_decay: float = 0.001,
        batch: int = 4,
        epochs: int = 100,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.lr = lr
        self.momentum = momentum
        self.dampening = dampening
        self.weight_decay = weight_decay
        self.batch = batch
        self.epochs = epochs
        self.seed = seed

    def start(self, ways: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
        """Weights (K, D) and intercepts (K,) of the start, uniform as in `torch.nn.Linear`."""
        rng = np.random.default_rng((self.seed, 0))
        values = rng.uniform(-(dim**-0.5), dim**-0.5, (ways, dim + 1))
        return values[:, :-1], values[:, -1]

    def orders(self, images: int) -> np.ndarray:
        """(epochs, n) random keys: the images of an epoch come by increasing key."""
        rng = np.random.default_rng((self.seed, 1))
        return rng.random((images, self.epochs)).T  # an image's keys do not depend on their number

    @torch.no_grad()
    def forward(self, support: Tensor, members: Tensor, query: Tensor) -> Tensor:
        y = members.double()
        x = support.double() * y.sum(dim=-1, keepdim=True)
        weights, intercept = (
            torch.as_tensor(array, device=x.device)[_first_seen(y)]
            for array in self.start(y.shape[-1], x.shape[-1])
        )
        fit = _Fit(x, y, weights, intercept)
        share = 1.0  # as torch.optim.SGD: the first step is not damped
        for batch in self._batches(y.any(dim=-1)):
            fit.step(*batch, self.lr, self.momentum, share, self.weight_decay)
            share = 1 - self.dampening
        learned = fit.a.mT @ x + fit.c * weights
        return query @ learned.to(query.dtype).mT + fit.b.to(query.dtype)

    def _batches(self, present: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """(T, batch) the places of each step's images, and which of them hold one.

        At the end of an epoch a smaller task has no images left.
        """
        images = present.shape[1]
        number = (present.cumsum(dim=1) - 1).clamp(min=0)  # of each image in its task
        for keys in torch.as_tensor(self.orders(images), device=present.device):
            order = torch.where(present, keys[number], torch.inf).argsort(dim=-1)
            for places in order.split(self.batch, dim=1):
                yield places, present.gather(1, places)


def _first_seen(y: Tensor) -> Tensor:
    """(T, K) the place of each class in the order in which the support (T, n, K) names the classes.

    The start of a class follows this order, not its number, which says nothing.
    """
    is_named = y.sum(dim=1) > 0
    first = torch.where(is_named, y.argmax(dim=1), y.shape[1])
    return first.argsort(dim=-1, stable=True).argsort(dim=-1)


class _Fit:
    """The layers of T tasks during their descent: W = cW₀ + AX and intercepts b.

    Images are rows, one task after another: the rows of a batch are copied whole, several times
    faster than single numbers.
    """

    def __init__(self, x: Tensor, y: Tensor, weights: Tensor, intercept: Tensor) -> None:
        tasks, images, _ = x.shape
        self.first_row = images * torch.arange(tasks, device=x.device)[:, None]
        self.y = y.flatten(0, 1)  # (T n, K), zeros for padding
        is_absent = y.sum(dim=1, keepdim=True) == 0
        self.absent = torch.zeros_like(y[:, :1]).masked_fill(is_absent, -torch.inf)  # (T, 1, K)
        self.gram = (x @ x.mT).flatten(0, 1)  # (T n, n)
        self.at_start = (x @ weights.mT).flatten(0, 1)  # (T n, K)
        self.a = torch.zeros_like(y)
        self.b = intercept[:, None].clone()
        self.c = y.new_ones(tasks, 1, 1)
        self.velocity_a, self.velocity_b, self.velocity_c = map(
            torch.zeros_like, (self.a, self.b, self.c)
        )

    def step(
        self,
        places: Tensor,
        holds_image: Tensor,
        lr: float,
        momentum: float,
        share: float,
        decay: float,
    ) -> None:
        """One step of SGD on the images at ``places`` (T, batch), ``share`` being 1 less the dampening."""
        rows = (self.first_row + places).flatten()
        gram, at_start, y = (
            table.index_select(0, rows).unflatten(0, places.shape)
            for table in (self.gram, self.at_start, self.y)
        )
        logits = self.c * at_start + gram @ self.a + self.b + self.absent
        # torch.softmax takes three times as long over so few classes.
        error = (logits - logits.amax(dim=-1, keepdim=True)).exp_()
        error /= error.sum(dim=-1, keepdim=True)
        error = (error - y) * holds_image[..., None]
        images = holds_image.sum(dim=-1)[:, None, None]
        error *= share / images.clamp(min=1)
        # A task without images in this batch does not take the step.
        takes = (images > 0).to(error.dtype)
        kept = 1 - takes * (1 - momentum)
        state = (
            (self.a, self.velocity_a),
            (self.b, self.velocity_b),
            (self.c, self.velocity_c),
        )
        for value, velocity in state:
            velocity.mul_(kept).addcmul_(value, takes, value=share * decay)
        self.velocity_a.flatten(0, 1).index_add_(0, rows, error.flatten(0, 1))
        self.velocity_b += error.sum(dim=1, keepdim=True)
        for value, velocity in state:
            value.addcmul_(velocity, takes, value=-lr)
