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
        h = min(0.5, max(0.25, 1.25 / tasks.ways))
        a, b, left = self._solve(gram, y, h, min(50, self.max_iter))
        if len(left):
            a[left], b[left], _ = self._solve(gram[left], y[left], 0.5, self.max_iter)
        weights = (a.to(x.dtype) * scale.mT) @ x
        return without_empty(query_scores(bank, query, weights) + b.mT.to(x.dtype), members)

    def _solve(self, gram: torch.Tensor, y: torch.Tensor, h: float, steps: int) -> tuple[torch.Tensor, ...]:
        """Dual weights A (T, K, n), intercepts b (T, K, 1), and which tasks are not done after ``steps``.

        From Gram matrices (T, n, n) and one-hot labels y (T, K, n). The gradient of the objective
        over C is Xᵀ(R + λA) for W and 1ᵀR for b, with R = P - Y and λ = 1/C. A step solves the
        fixed Hessian's linear system for both together.
        """
        mask = y.sum(dim=1, keepdim=True)  # 1 for an image, 0 for padding
        size = y.sum(dim=-1, keepdim=True)  # images of each class
        # Classes without support stay out of the softmax.
        absent = torch.zeros_like(size).masked_fill_(size == 0, -torch.inf)
        two = (size > 0).sum(dim=1, keepdim=True) == 2
        lam = (1 + two.to(y.dtype)) / self.C
        eye = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(h * gram + lam * eye))
        v = mask @ inverse
        mean = v / v.sum(dim=-1, keepdim=True)
        project = inverse - v.mT @ mean  # the inverse with the intercept eliminated

        a, b = torch.zeros_like(y), torch.zeros_like(absent)
        za, zb, momentum = a, b, torch.ones_like(v[..., :1])
        out_a, out_b = a.clone(), b.clone()
        live = torch.arange(len(y), device=y.device)
        for _ in range(steps):
            residual = (torch.softmax(za @ gram + zb + absent, dim=1) - y) * mask
            error = residual + lam * za
            gradient, slope = error @ gram, residual.sum(dim=-1, keepdim=True)
            new_a, new_b = za - error @ project, zb - error @ mean.mT / h
            done = torch.maximum(gradient.abs().amax((1, 2)), slope.abs().amax((1, 2))) < self.tol
            # Momentum, dropped where the step went uphill (gradient restart).
            uphill = (gradient * (new_a - a)).sum((1, 2)) + (slope * (new_b - b)).sum((1, 2)) > 0
            following = (1 + torch.sqrt(1 + 4 * momentum**2)) / 2
            factor = (momentum - 1) / following
            factor[uphill], following[uphill] = 0, 1
            za, zb = new_a + factor * (new_a - a), new_b + factor * (new_b - b)
            a, b, momentum = new_a, new_b, following
            if done.any():
                out_a[live[done]], out_b[live[done]] = a[done], b[done]
                state = (live, gram, y, mask, absent, lam, project, mean, a, b, za, zb, momentum)
                live, gram, y, mask, absent, lam, project, mean, a, b, za, zb, momentum = (t[~done] for t in state)
                if not len(live):
                    break
        out_a[live], out_b[live] = a, b
        return out_a, out_b, live
