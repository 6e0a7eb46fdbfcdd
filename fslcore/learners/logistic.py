"""Multinomial logistic regression, solved for a batch of tasks at once."""

from __future__ import annotations

import torch

from ..datasets.bank import Bank
from ..errors import InputError
from ..tasks import Tasks
from .common import fetch, query_scores, without_empty

__all__ = ["LogisticRegression"]


class LogisticRegression:
    """L2-regularised multinomial logistic regression on L2-normalised features (LR in OOPS).

    Minimises, for each task, C · Σ cross-entropy + ½‖W‖² over weights W and a free intercept b,
    as scikit-learn does by default; for two classes the penalty is ‖W‖², because scikit-learn fits one
    weight vector, their difference, then. With n support images, n ≪ D, the weights are W = XᵀA, so a
    task is a problem in the n × n Gram matrix. It is solved with a fixed Hessian hI in place of
    diag(p) - ppᵀ, and Nesterov's momentum with restarts: one Cholesky factor a task, then matrix products
    only. h = ½ is a bound (Böhning, 1992) that always converges; a smaller h, near the truth where
    several classes have a share, takes half the steps and is tried first. Whichever it is, a task is
    done when its gradient vanishes, which is the optimum. Each task stops by itself, so its result
    does not depend on the tasks beside it.

    Parameters
    ----------
    C : float
        Inverse regularisation strength, over 0.
    tol : float
        Stop a task when no entry of its gradient is larger, in double precision.
    max_iter : int
        At most so many steps with h = ½.
    """

    name = "lr"
    reads = "features"

    def __init__(self, C: float = 1.0, tol: float = 1e-6, max_iter: int = 1000):
        if not C > 0:
            raise InputError(f"C = {C}; a number over 0 is allowed")
        self.C, self.tol, self.max_iter = C, tol, max_iter

    def config(self) -> dict:
        """What decides the scores, for cache keys."""
        return {"learner": self.name, "version": 2, "C": self.C, "tol": self.tol, "max_iter": self.max_iter}

    @torch.inference_mode()
    def scores(self, bank: Bank, tasks: Tasks) -> torch.Tensor:
        """Logits (T, n_query, K) from a bank of features; -inf for a class without support."""
        x, members, scale, query = fetch(bank, tasks)
        gram, y = (x @ x.mT * scale * scale.mT).double(), members.mT.double()
        two = (y.sum(dim=-1, keepdim=True) > 0).sum(dim=1, keepdim=True) == 2
        a, b = solve(gram, y, (1 + two.to(y.dtype)) / self.C, self.tol, self.max_iter)
        weights = (a.to(x.dtype) * scale.mT) @ x
        return without_empty(query_scores(bank, query, weights) + b.mT.to(x.dtype), members)


def solve(
    gram: torch.Tensor, y: torch.Tensor, lam: torch.Tensor, tol: float, max_iter: int, start: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Dual weights A (T, K, n) and intercepts b (T, K, 1) of the logistic regression of a batch of tasks.

    Parameters
    ----------
    gram : (T, n, n) floats
        Products of the support's features.
    y : (T, K, n) floats
        One-hot labels; a column of zeros is padding.
    lam : (T, 1, 1) floats
        λ, weight of the penalty.
    tol, max_iter
        As for `LogisticRegression`.
    start : (T, K, n) floats, optional
        Logits of the support by weights from which those found are penalised to depart, in place of zero weights; there
        is no intercept then.
    """
    h = min(0.5, max(0.25, 1.25 / y.shape[1]))
    a, b, left = _descend(gram, y, lam, tol, h, min(50, max_iter), start)
    if len(left):
        start = start if start is None else start[left]
        a[left], b[left], _ = _descend(gram[left], y[left], lam[left], tol, 0.5, max_iter, start)
    return a, b


def _descend(
    gram: torch.Tensor,
    y: torch.Tensor,
    lam: torch.Tensor,
    tol: float,
    h: float,
    steps: int,
    start: torch.Tensor | None,
) -> tuple[torch.Tensor, ...]:
    """A and b of `solve`, and which tasks are not done after ``steps``.

    The gradient of the objective over C is Xᵀ(R + λA) for W and 1ᵀR for b, with R = P - Y. A step solves the
    fixed Hessian's linear system for both together.
    """
    mask = y.sum(dim=1, keepdim=True)  # 1 for an image, 0 for padding
    size = y.sum(dim=-1, keepdim=True)  # images of each class
    # Classes without support stay out of the softmax.
    fixed = torch.zeros_like(size).masked_fill_(size == 0, -torch.inf)
    eye = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(h * gram + lam * eye))
    v = mask @ inverse
    mean = v / v.sum(dim=-1, keepdim=True)
    a, b = torch.zeros_like(y), torch.zeros_like(fixed)
    if start is not None:
        fixed, mean = fixed + start, torch.zeros_like(mean)
    project = inverse - v.mT @ mean  # the inverse with the intercept eliminated
    za, zb, momentum = a, b, torch.ones_like(v[..., :1])
    out_a, out_b = a.clone(), b.clone()
    live = torch.arange(len(y), device=y.device)
    for _ in range(steps):
        residual = (torch.softmax(za @ gram + zb + fixed, dim=1) - y) * mask
        error = residual + lam * za
        gradient, slope = error @ gram, residual.sum(dim=-1, keepdim=True) * (start is None)
        new_a, new_b = za - error @ project, zb - error @ mean.mT / h
        done = torch.maximum(gradient.abs().amax((1, 2)), slope.abs().amax((1, 2))) < tol
        # Momentum, dropped where the step went uphill (gradient restart).
        uphill = (gradient * (new_a - a)).sum((1, 2)) + (slope * (new_b - b)).sum((1, 2)) > 0
        following = (1 + torch.sqrt(1 + 4 * momentum**2)) / 2
        factor = (momentum - 1) / following
        factor[uphill], following[uphill] = 0, 1
        za, zb = new_a + factor * (new_a - a), new_b + factor * (new_b - b)
        a, b, momentum = new_a, new_b, following
        if done.any():
            out_a[live[done]], out_b[live[done]] = a[done], b[done]
            state = (live, gram, y, mask, fixed, lam, project, mean, a, b, za, zb, momentum)
            live, gram, y, mask, fixed, lam, project, mean, a, b, za, zb, momentum = (t[~done] for t in state)
            if not len(live):
                break
    out_a[live], out_b[live] = a, b
    return out_a, out_b, live
