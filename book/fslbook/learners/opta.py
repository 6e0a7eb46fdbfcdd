"""Prototypes aligned with queries by transport (Poulakakis-Daktylidis and Jamali-Rad, 2024)."""

from functools import partialmethod

import torch
from torch import Tensor
from torch.nn import functional as F

from fslcore.datasets.bank import Bank
from fslcore.errors import choice, number, whole
from fslcore.learners.common import (
    check_features,
    class_means,
    indices,
    mask_absent,
    one_hot,
    queries_present,
)
from fslcore.learners.logistic import solve
from fslcore.learners.protocol import Learner
from fslcore.tasks import Tasks

__all__ = ["OpTA", "PlainOpTA", "transport"]

CLASSIFIERS = ("logistic", "nearest")
TOLERANCE = 1e-6  # change of a potential over ε below which a plan is final


def transport(
    cost: Tensor,
    epsilon: float,
    *,
    rows: Tensor | None = None,
    columns: Tensor | None = None,
    iterations: int = 1000,
) -> Tensor:
    """Entropy-regularised optimal transport between equal weights, by Sinkhorn's algorithm.

    The plan π minimises ⟨π, cost⟩ - ε · entropy(π); its rows sum to 1 / n and its columns to 1 / m
    (Cuturi, 2013). Each plan of a batch stops by itself, so that it does not depend on the other
    plans.

    Parameters
    ----------
    cost : (..., n, m) tensor
        Cost of moving a row to a column.
    epsilon : float
        ε, in units of the cost, over 0.
    rows, columns : (..., n) and (..., m) tensors of booleans, optional
        Which of them are present; absent ones get no weight, and nothing is moved from or to them.
    iterations : int
        The maximum number of iterations.

    Returns
    -------
    (..., n, m) tensor
        π. Its columns have the exact sums to the last digit; its rows do after convergence.
    """
    scaled = -cost / epsilon
    if rows is None:
        rows = torch.ones_like(cost[..., 0], dtype=torch.bool)
    if columns is None:
        columns = torch.ones_like(cost[..., 0, :], dtype=torch.bool)
    a, b = (_log_weights(present, cost.dtype) for present in (rows, columns))
    f = torch.zeros_like(a)
    g = torch.zeros_like(b).masked_fill(~columns, -torch.inf)
    live = torch.ones_like(a[..., :1], dtype=torch.bool)
    for _ in range(iterations):
        new = a - (scaled + g[..., None, :]).logsumexp(-1)
        change = (new - f).masked_fill(~rows, 0).abs().amax(-1, keepdim=True)
        f = torch.where(live, new, f)
        g = torch.where(live, b - (scaled + f[..., None]).logsumexp(-2), g)
        live = live & (change > TOLERANCE)
        if not live.any():
            break
    return (scaled + f[..., None] + g[..., None, :]).exp()


def _log_weights(present: Tensor, dtype: torch.dtype) -> Tensor:
    """Logarithms of equal weights (..., n); minus infinity for what is absent."""
    return (present / present.sum(-1, keepdim=True)).to(dtype).log()


class OpTA(Learner):
    """Prototypes moved towards the queries by optimal transport, and logistic regression on them.

    Prototypes are the means of each class's support. A transport plan between them and all queries
    of the task gives every class the same share of the queries, at the least cost (squared
    distances, over the largest of the task); each prototype becomes the mean of the queries,
    weighted by its row of the plan. This is done ``one_shot_passes`` times in tasks of one image
    per class, and ``passes`` times in others, where the prototype then keeps a part of its place
    before. Features are standardised: each image's own mean subtracted, over its own standard
    deviation.

    The learner is transductive: an answer depends on the task's other queries, and the equal shares
    assume equally many queries of each class. A single query has no answer: all prototypes are
    moved onto it.

    The defaults are those of the released evaluation (stypoumic/BECLR, evaluate.py), which fits the
    logistic regression of scikit-learn to one prototype per class. `PlainOpTA` leaves out the
    repetition, the blend and the fit.

    Parameters
    ----------
    epsilon : float
        Weight of the entropy, in units of the largest cost, above 0.
    passes, one_shot_passes : int
        How often the prototypes are moved in tasks of more than one image of some class, and of one
        image per class.
    keep : float
        Share, from 0 to 1, of the unmoved prototype in the result, with more than one image.
    classifier : str
        'logistic': logistic regression with C = 1 on the prototypes; 'nearest': the nearest
        prototype.

    Raises
    ------
    InputError
        A value that is not allowed.
    """

    name = "opta"
    version = 2
    settings = ("epsilon", "passes", "one_shot_passes", "keep", "classifier")
    transductive = True

    def __init__(
        self,
        epsilon: float = 0.05,
        passes: int = 1,
        *,
        one_shot_passes: int = 5,
        keep: float = 0.3,
        classifier: str = "logistic",
    ) -> None:
        number("epsilon", epsilon, over=0)  # kept as it is given, as it stands in keys
        number("keep", keep, minimum=0, maximum=1)
        self.epsilon = epsilon
        self.passes = whole("passes", passes, minimum=1)
        self.one_shot_passes = whole("one_shot_passes", one_shot_passes, minimum=1)
        self.keep = keep
        self.classifier = choice("classifier", classifier, CLASSIFIERS)

    @torch.inference_mode()
    def scores(self, bank: Bank, tasks: Tasks) -> Tensor:
        """Logits, or minus squared distances, (T, n_query, K) from a bank of features.

        -inf for a class without support.
        """
        check_features(bank)
        support, label, query = indices(tasks, bank.data.device)
        members = one_hot(label, tasks.ways).double()
        x, z = (_standard(bank.rows(index).double()) for index in (support, query))
        start = class_means(x, members)
        sizes = members.sum(dim=1)
        queries = queries_present(tasks, bank.data.device)
        prototypes = self._aligned(start, z, sizes, queries)
        if self.classifier == "nearest":
            scores = -torch.cdist(z, prototypes).square()
        else:
            scores = _logits(prototypes, z, sizes > 0)
        return mask_absent(scores.to(bank.dtype), members)

    def _aligned(self, start: Tensor, z: Tensor, sizes: Tensor, queries: Tensor) -> Tensor:
        """Prototypes (T, K, D) after all passes and the blend, for classes of these sizes (T, K)."""
        one_shot = sizes.amax(dim=1) == 1
        passes = torch.where(one_shot, self.one_shot_passes, self.passes)
        prototypes = start
        largest = int(passes.max()) if len(passes) else 0
        for step in range(largest):
            moved = self._moved(prototypes, z, sizes > 0, queries)
            prototypes = torch.where((step < passes)[:, None, None], moved, prototypes)
        blended = torch.lerp(prototypes, start, self.keep)
        return torch.where(one_shot[:, None, None], prototypes, blended)

    def _moved(self, prototypes: Tensor, z: Tensor, classes: Tensor, queries: Tensor) -> Tensor:
        """Prototypes (T, K, D) after a step towards queries z (T, q, D); absent ones stay."""
        cost = torch.cdist(prototypes, z).square()
        pairs = classes[..., None] & queries[:, None]
        largest = cost.masked_fill(~pairs, 0).amax((1, 2), keepdim=True).clamp(min=1e-12)
        plan = transport(cost / largest, self.epsilon, rows=classes, columns=queries)
        moved = plan @ z / plan.sum(dim=-1, keepdim=True).clamp(min=1e-300)
        return torch.where(classes[..., None], moved, prototypes)


def _standard(features: Tensor) -> Tensor:
    """Features (..., D), each image's own mean subtracted, over its own standard deviation."""
    unit = F.normalize(features - features.mean(dim=-1, keepdim=True), dim=-1)
    return unit * (features.shape[-1] - 1) ** 0.5


def _logits(prototypes: Tensor, z: Tensor, classes: Tensor) -> Tensor:
    """Logits (T, q, K) for z, by logistic regression on the prototypes (T, K, D) of classes (T, K)."""
    present = classes[..., None]
    x = torch.where(present, prototypes, 0.0)
    gram = x @ x.mT
    y = torch.diag_embed(classes.to(x.dtype))
    penalty = torch.ones_like(gram[:, :1, :1])  # 1 / C
    a, b = solve(gram, y, penalty, tol=1e-6, max_iter=1000)
    return z @ (a @ x).mT + b.mT


class PlainOpTA(OpTA):
    """`OpTA` with one pass for any number of shots, no blend, and the nearest prototype.

    The rule of the transport alone, beside the released one. Parameters are those of `OpTA`.
    """

    name = "opta-plain"
    __init__ = partialmethod(OpTA.__init__, one_shot_passes=1, keep=0.0, classifier="nearest")
