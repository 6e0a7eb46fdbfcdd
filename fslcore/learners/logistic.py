"""Multinomial logistic regression, solved for a batch of tasks at once."""

from __future__ import annotations

import torch

from ..datasets.bank import Bank
from ..errors import number
from ..tasks import Tasks
from .common import fetch, query_scores, without_empty
from .protocol import Learner

__all__ = ["LogisticRegression"]

MANY = 10  # classes from which L-BFGS is used
PAIRS = 5  # of steps and gradient changes that it stores
IN_CACHE = 2**19  # entries of a few tasks' Gram matrices
LARGE = 1000.0  # C above which 32-bit rounding is not small compared with the penalty


class LogisticRegression(Learner):
    """L2-regularised multinomial logistic regression on L2-normalised features (LR in OOPS).

    Minimises, for each task, C · Σ cross-entropy + ½‖W‖² over weights W and a free intercept b,
    as scikit-learn does by default. For two classes the penalty is ‖W‖², because scikit-learn then fits one
    weight vector, their difference. With n support images, n ≪ D, the weights are W = XᵀA, so a
    task is a problem in the n × n Gram matrix. Up to 9 classes it is solved with a fixed Hessian hI in place of
    diag(p) - ppᵀ, and Nesterov's momentum with restarts: one Cholesky factor per task, then only matrix
    products. h = ½ is a bound (Böhning, 1992) that always converges. A smaller h, near the truth where
    several classes have a share, takes half the steps and is tried first. With 10 or more classes both are far
    too large, and L-BFGS starts at h = 1/K. In all cases a task is done when its gradient vanishes, which is
    the optimum. Each task stops by itself, so its result does not depend on the other tasks.

    Parameters
    ----------
    C : float
        Inverse regularisation strength, over 0.
    tol : float
        Stop a task when no entry of its gradient is larger, in double precision.
    max_iter : int
        The maximum number of steps with h = ½, or of L-BFGS.
    """

    name = "lr"
    settings = ("C", "tol", "max_iter")

    def __init__(self, C: float = 1.0, tol: float = 1e-6, max_iter: int = 1000):
        number("C", C, above=0)
        self.C, self.tol, self.max_iter = C, tol, max_iter

    @property
    def version(self) -> int:
        return 4 if self.C > LARGE else 3

    @torch.inference_mode()
    def scores(self, bank: Bank, tasks: Tasks) -> torch.Tensor:
        """Logits (T, n_query, K) from a bank of features; -inf for a class without support."""
        if tasks.ways < MANY or bank.data.is_cuda:
            return self._scores(bank, tasks)
        # A few tasks at a time, whose matrices fit into the cache of a CPU.
        step = max(1, IN_CACHE // tasks.support.shape[1] ** 2)
        return torch.cat([self._scores(bank, tasks[at : at + step]) for at in range(0, max(len(tasks), 1), step)])

    def _scores(self, bank: Bank, tasks: Tasks) -> torch.Tensor:
        x, members, scale, query = fetch(bank, tasks)
        gram, y = products(x, self.C, scale), members.mT.double()
        two = (y.sum(dim=-1, keepdim=True) > 0).sum(dim=1, keepdim=True) == 2
        a, b = solve(gram, y, (1 + two.to(y.dtype)) / self.C, self.tol, self.max_iter)
        weights = (a.to(x.dtype) * scale.mT) @ x
        return without_empty(query_scores(bank, query, weights) + b.mT.to(x.dtype), members)


def products(x: torch.Tensor, C: float, scale: torch.Tensor | None = None) -> torch.Tensor:
    """(T, n, n) products of features x (T, n, D), each times its ``scale`` (T, n, 1), in 64 bits.

    Rounding in 32 bits leaves eigenvalues below 0 if there are more images than features, or one occurs twice. This is
    negligible compared with the penalty 1 / C, unless C is large: the objective would then have no minimum.
    """
    if C > LARGE:
        x = x.double() if scale is None else (scale * x).double()
        return x @ x.mT
    return (x @ x.mT if scale is None else x @ x.mT * scale * scale.mT).double()


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
        Logits of the support by the weights from which departures are penalised, in place of zero weights; there
        is then no intercept.
    """
    if start is None and y.shape[1] >= MANY:
        return _quasi_newton(gram, y, lam, tol, max_iter)
    h = min(0.5, max(0.25, 1.25 / y.shape[1]))
    a, b, left = _descend(gram, y, lam, tol, h, min(50, max_iter), start)
    if len(left):
        start = start if start is None else start[left]
        a[left], b[left], _ = _descend(gram[left], y[left], lam[left], tol, 0.5, max_iter, start)
    return a, b


def _quasi_newton(
    gram: torch.Tensor, y: torch.Tensor, lam: torch.Tensor, tol: float, max_iter: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """A and b of `solve`, for many classes: L-BFGS from the Hessian at equal probabilities, h gram + λI with h = 1/K.

    Among many classes the probability of an image's own class stays far from 1, unless C is large, so few steps
    suffice. The last `PAIRS` of them estimate the rest of the Hessian (Liu and Nocedal, 1989). A step is halved until
    the objective falls enough (Armijo), so that it converges for every C. The logits of a step follow from its own
    equation, which saves a product with the Gram matrix.
    """
    n, y = gram.shape[-1], y.contiguous()
    mask = y.sum(dim=1, keepdim=True)  # 1 for an image, 0 for padding
    size = y.sum(dim=-1, keepdim=True)  # images of each class
    fixed = torch.zeros_like(size).masked_fill_(size == 0, -torch.inf)  # classes without support
    label = y.argmax(dim=1, keepdim=True)
    h = 1 / (size > 0).sum(dim=1, keepdim=True).to(y.dtype)
    eye = torch.eye(n, dtype=gram.dtype, device=gram.device)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(h * gram + lam * eye))
    v = h * (mask @ inverse)  # the contribution of an intercept to A, and to the logits without it
    v_logits = mask - lam / h * v
    pull = mask.sum(dim=-1, keepdim=True) - v_logits.sum(dim=-1, keepdim=True)

    # A; its logits A @ gram beside b, z; and the gradient by both, E (of W = XᵀA) beside that of b.
    a, z = torch.zeros_like(y), y.new_zeros(*y.shape[:2], n + 1)
    fixed_parts = y, mask, fixed, label, lam
    value, slope = _objective(a, z, *fixed_parts)
    pairs = []  # steps of a and z, their changes of the gradient, and 1 over the product of both
    out_a, out_b = a.clone(), z[..., n:].clone()
    live = torch.arange(len(y), device=y.device)
    for _ in range(max_iter):
        done = slope[..., n].abs().amax(1) < tol
        if done.any():  # otherwise a product is saved
            done &= (slope[..., :n] @ gram).abs().amax((1, 2)) < tol
        if done.any():
            out_a[live[done]], out_b[live[done]] = a[done], z[done, :, n:]
            if done.all():
                return out_a, out_b
            state = (live, gram, lam, h, inverse, v, v_logits, pull, a, z, value, slope)
            live, gram, lam, h, inverse, v, v_logits, pull, a, z, value, slope = (t[~done] for t in state)
            fixed_parts = [t[~done] for t in fixed_parts]
            pairs = [[t[~done] for t in pair] for pair in pairs]

        q, shares = slope, []
        for _, step_z, change, over in reversed(pairs):
            shares.append(over * _dot(step_z, q))
            q = torch.addcmul(q, shares[-1], change, value=-1)
        move_a, move_z = q[..., :n] @ inverse, torch.empty_like(q)
        logits = torch.addcmul(q[..., :n], lam, move_a, value=-1, out=move_z[..., :n]).div_(h)
        b = (q[..., n:] / h - logits.sum(dim=-1, keepdim=True)) / pull
        move_a.addcmul_(b, v, value=-1), logits.addcmul_(b, v_logits, value=-1)
        move_z[..., n:] = b
        for (step_a, step_z, change, over), share in zip(pairs, reversed(shares)):
            rest = share - over * _dot(change, move_z)
            move_a.addcmul_(rest, step_a), move_z.addcmul_(rest, step_z)

        fall = 1e-4 * _dot(slope, move_z).flatten()
        for _ in range(30):
            new_a, new_z = a - move_a, z - move_z
            new_value, new_slope = _objective(new_a, new_z, *fixed_parts)
            far = new_value > value - fall + 1e-12 * value.abs()
            if not far.any():
                break
            part = torch.where(far, 0.5, 1.0).to(y.dtype)
            fall = part * fall
            move_a, move_z = part[:, None, None] * move_a, part[:, None, None] * move_z
        change = slope - new_slope
        pairs = [*pairs[1 - PAIRS :], (move_a, move_z, change, 1 / _dot(move_z, change))]
        a, z, value, slope = new_a, new_z, new_value, new_slope
    out_a[live], out_b[live] = a, z[..., n:]
    return out_a, out_b


def _objective(a, z, y, mask, fixed, label, lam) -> tuple[torch.Tensor, torch.Tensor]:
    """(T,) of the objective over C, and its gradient as `_quasi_newton` keeps it."""
    n = y.shape[-1]
    log_p = torch.log_softmax((z[..., :n] + z[..., n:]).add_(fixed), dim=1)
    value = lam / 2 * (a * z[..., :n]).sum((1, 2), keepdim=True)
    value = value - log_p.gather(1, label).masked_fill(mask == 0, 0).sum(dim=-1, keepdim=True)
    residual = log_p.exp_().sub_(y).mul_(mask)
    slope = torch.empty_like(z)
    slope[..., n] = residual.sum(dim=-1)
    torch.addcmul(residual, lam, a, out=slope[..., :n])
    return value.flatten(), slope


def _dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """(T, 1, 1) products of all entries of x and y (T, K, n)."""
    return x.flatten(1)[:, None] @ y.flatten(1)[..., None]


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
    # Classes without support are excluded from the softmax.
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
        # Momentum, reset after an uphill step (gradient restart).
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
