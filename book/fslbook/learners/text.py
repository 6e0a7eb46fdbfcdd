"""Learners that also read embeddings of class names: Tip-Adapter, and a linear probe."""

import torch
from torch import Tensor
from torch.nn import functional as F

from fslcore.datasets.bank import Bank
from fslcore.errors import InputError, number
from fslcore.learners.common import indices, mask_absent, query_scores, supports_and_queries
from fslcore.learners.logistic import FLOAT64_MIN_C, products, solve
from fslcore.learners.protocol import Learner
from fslcore.tasks import Tasks

__all__ = ["TextProbe", "TipAdapter"]


class TipAdapter(Learner):
    """CLIP's text classifier plus a cache of the support, without training (Zhang et al., 2022).

    A query with unit features z scores s·z·t for a class whose name has the unit embedding t, and
    α·exp(-β(1 - z·x)) more for each unit feature x of its support. Only β, α and s determine the
    weight of the names: where they are unrelated to the images, s·z·t is noise that a support of a
    few images does not outweigh.

    Parameters
    ----------
    alpha : float
        α, weight of the cache; 0 uses only the text classifier.
    beta : float
        β, how fast the weight of a support image falls with its distance.
    scale : float
        s, scale of the cosines to the names, 100 in CLIP; 0 uses only the cache.
    """

    name = "tip-adapter"
    reads_text = True
    settings = ("alpha", "beta", "scale")

    def __init__(self, alpha: float = 1.0, beta: float = 5.5, scale: float = 100.0) -> None:
        self.alpha = number("alpha", alpha, minimum=0)
        self.beta = number("beta", beta, minimum=0)
        self.scale = number("scale", scale, minimum=0)

    @torch.inference_mode()
    def scores(self, bank: Bank, tasks: Tasks) -> Tensor:
        """Logits (T, n_query, K) from a bank of features with text.

        -inf for a class without support.
        """
        x, members, scale, query = supports_and_queries(bank, tasks)
        affinity = torch.exp(self.beta * (query_scores(bank, query, scale * x) - 1))
        named = query_scores(bank, query, name_embeddings(bank, tasks))
        return mask_absent(self.scale * named + self.alpha * (affinity @ members), members)


class TextProbe(Learner):
    """Logistic regression on L2-normalised features, penalised towards embeddings of the names.

    Minimises, for each task, C · Σ cross-entropy + ½‖W - sT‖² over weights W without intercept; T
    are the unit embeddings of the classes' names. So CLIP's text classifier is the limit for C → 0,
    and the optimum nearest to it the limit for C → ∞. Linear probes that start at the names and
    stop early (Lin et al., 2023) or are penalised to depart from them (Silva-Rodríguez et al.,
    2024) interpolate in a similar way. Here the penalty is the same for all classes, and no step
    size matters. Solved in the n × n Gram matrix, like `LogisticRegression`.

    Parameters
    ----------
    C : float
        Inverse strength of the penalty, over 0.
    scale : float
        s, scale of the cosines to the names, 100 in CLIP; 0 gives logistic regression without an
        intercept.
    tol, max_iter
        As for `LogisticRegression`.
    """

    name = "text-probe"
    reads_text = True
    settings = ("C", "scale", "tol", "max_iter")

    def __init__(
        self, C: float = 1000.0, scale: float = 100.0, tol: float = 1e-6, max_iter: int = 1000
    ) -> None:
        self.C = number("C", C, over=0)
        self.scale = number("scale", scale, minimum=0)
        self.tol = tol
        self.max_iter = max_iter

    @property
    def version(self) -> int:  # type: ignore[override]  # it follows from the settings
        return 2 if self.C > FLOAT64_MIN_C else 1

    @torch.inference_mode()
    def scores(self, bank: Bank, tasks: Tasks) -> Tensor:
        """Logits (T, n_query, K) from a bank of features with text.

        -inf for a class without support.
        """
        x, members, scale, query = supports_and_queries(bank, tasks)
        x = scale * x
        first = self.scale * name_embeddings(bank, tasks)
        y = members.mT.double()
        lam = torch.full_like(y[:, :1, :1], 1 / self.C)
        a, _ = solve(products(x, self.C), y, lam, self.tol, self.max_iter, (first @ x.mT).double())
        return mask_absent(query_scores(bank, query, first + a.to(x.dtype) @ x), members)


def name_embeddings(bank: Bank, tasks: Tasks) -> Tensor:
    """(T, K, D) unit embeddings of the names of each task's classes.

    Raises
    ------
    InputError
        A bank without text; a class of a task whose support has images of several classes of the
        bank.
    """
    if bank.text is None:
        raise InputError(
            "text must be an embedding of each class's name, (K, D), of CLIP's text tower or an "
            "array 'text' beside the features, got none in the bank"
        )
    support, label, _ = indices(tasks, bank.data.device)
    classes = torch.as_tensor(bank.labels, device=bank.data.device)[support]
    column = label.masked_fill(label < 0, tasks.ways)  # padding, which is left out

    def extreme(start: int, kind: str) -> Tensor:
        out = torch.full((len(tasks), tasks.ways + 1), start, device=classes.device)
        return out.scatter_reduce(1, column, classes, kind)[:, :-1]

    highest = extreme(-1, "amax")
    lowest = extreme(len(bank.text), "amin")
    mixed = (highest != lowest) & (highest >= 0)
    if mixed.any():
        task, k = mixed.nonzero()[0].tolist()
        raise InputError(
            f"tasks: class {k} of task {task} has images of several classes, so it has no name"
        )
    return F.embedding(highest.clamp(min=0), F.normalize(bank.text.to(bank.dtype), dim=-1))
