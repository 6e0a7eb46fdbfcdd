"""Multinomial logistic regression, solved for a batch of tasks at once."""

from typing import NamedTuple

import torch
from torch import Tensor

from ..datasets.bank import Bank
from ..errors import number
from ..tasks import Tasks
from .common import mask_absent, query_scores, supports_and_queries
from .protocol import Learner

__all__ = ["LogisticRegression"]

LBFGS_MIN_CLASSES = 10  # classes from which L-BFGS is used
STORED_STEPS = 5  # of steps and gradient changes that it stores
FLOAT32_STEPS = 4  # of its steps that are in 32 bits
FLOAT32_MAX_C = 100.0  # C up to which they are
FLOAT32_MIN_TOL = 1e-3  # tolerance over which the rounding of 32 bits is small
CACHED_ENTRIES = 2**19  # entries of a few tasks' Gram matrices
FLOAT64_MIN_C = 1000.0  # C above which 32-bit rounding is not small compared with the penalty


class LogisticRegression(Learner):
    """L2-regularised multinomial logistic regression on L2-normalised features (LR in OOPS).

    Minimises, for each task, C · Σ cross-entropy + ½‖W‖² over weights W and a free intercept b, as
    scikit-learn does by default. For two classes the penalty is ‖W‖², because scikit-learn then
    fits one weight vector, their difference. With n support images, n ≪ D, the weights are W = XᵀA,
    so a task is a problem in the n × n Gram matrix. Up to 9 classes it is solved with a fixed
    Hessian hI in place of diag(p) - ppᵀ, and Nesterov's momentum with restarts: one Cholesky factor
    per task, then only matrix products. h = ½ is a bound (Böhning, 1992) that always converges. A
    smaller h, near the truth where several classes have a share, takes half the steps and is tried
    first. With 10 or more classes both are far too large, and L-BFGS starts at h = 1/K. In all
    cases a task is done when its gradient vanishes, which is the optimum. Each task stops by
    itself, so its result does not depend on the other tasks.

    Parameters
    ----------
    C : float
        Inverse regularisation strength, over 0.
    tol : float
        Stop a task when no entry of its gradient is larger, in double precision; with 10 or more
        classes, a ``tol`` over 0.001 is compared in single precision.
    max_iter : int
        The maximum number of steps with h = ½, or of L-BFGS.
    """

    name = "lr"
    settings = ("C", "tol", "max_iter")

    def __init__(self, C: float = 1.0, tol: float = 1e-6, max_iter: int = 1000) -> None:
        number("C", C, over=0)
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    @property
    def version(self) -> int:  # type: ignore[override]  # it follows from the settings
        return 4 if self.C > FLOAT64_MIN_C else 3

    @torch.inference_mode()
    def scores(self, bank: Bank, tasks: Tasks) -> Tensor:
        """Logits (T, n_query, K) from a bank of features; -inf for a class without support."""
        if bank.data.is_cuda:
            return self._scores(bank, tasks)
        # A few tasks at a time, whose matrices fit into the cache of a CPU.
        step = max(1, CACHED_ENTRIES // tasks.support.shape[1] ** 2)
        return torch.cat(
            [self._scores(bank, tasks[at : at + step]) for at in range(0, max(len(tasks), 1), step)]
        )

    def _scores(self, bank: Bank, tasks: Tasks) -> Tensor:
        x, members, scale, query = supports_and_queries(bank, tasks)
        gram = products(x, self.C, scale)
        y = members.mT.double()
        two = (y.sum(dim=-1, keepdim=True) > 0).sum(dim=1, keepdim=True) == 2
        a, b = solve(gram, y, (1 + two.to(y.dtype)) / self.C, self.tol, self.max_iter)
        weights = (a.to(x.dtype) * scale.mT) @ x
        return mask_absent(query_scores(bank, query, weights) + b.mT.to(x.dtype), members)


def products(x: Tensor, C: float, scale: Tensor | None = None) -> Tensor:
    """(T, n, n) products of features x (T, n, D), each times its ``scale`` (T, n, 1), in 64 bits.

    Rounding in 32 bits leaves eigenvalues below 0 if there are more images than features, or one
    occurs twice. This is negligible compared with the penalty 1 / C, unless C is large: the
    objective would then have no minimum.
    """
    if C > FLOAT64_MIN_C:
        x = x.double() if scale is None else (scale * x).double()
        return x @ x.mT
    return (x @ x.mT if scale is None else x @ x.mT * scale * scale.mT).double()


def solve(
    gram: Tensor,
    y: Tensor,
    lam: Tensor,
    tol: float,
    max_iter: int,
    start: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Dual weights A (T, K, n) and intercepts b (T, K, 1) of logistic regression on T tasks.

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
        Logits of the support by the weights from which departures are penalised, in place of zero
        weights; there is then no intercept.
    """
    if start is None and y.shape[1] >= LBFGS_MIN_CLASSES:
        return quasi_newton(gram, y, lam, tol, max_iter)
    h = min(0.5, max(0.25, 1.25 / y.shape[1]))
    problem = _FixedHessian.of(gram, y, lam, h, start)
    a, b, left = _descend(problem, tol, min(50, max_iter))
    if len(left):
        start = None if start is None else start[left]
        problem = _FixedHessian.of(gram[left], y[left], lam[left], 0.5, start)
        a[left], b[left], _ = _descend(problem, tol, max_iter)
    return a, b


def quasi_newton(
    gram: Tensor,
    y: Tensor,
    lam: Tensor,
    tol: float,
    max_iter: int,
    curvature: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """A and b of `solve`, by L-BFGS from the Hessian h gram + λI with h = ``curvature`` / K.

    Among many classes the probability of an image's own class stays far from 1, unless C is large,
    so few steps suffice with a ``curvature`` of 1. If C is large, probabilities come near 0 and 1
    and the loss curves less: a smaller ``curvature`` then takes fewer steps. The last
    `STORED_STEPS` steps estimate the rest of the Hessian (Liu and Nocedal, 1989). A step is halved
    until the objective falls enough (Armijo), so that it converges for every C. Unless C is large,
    the first `FLOAT32_STEPS` steps are in 32 bits, which takes half the time, and the rest in 64.
    """
    wide = y.dtype
    single = torch.float32 if FLOAT32_MAX_C * lam.min() >= 1 else wide
    problem = _Problem.of(
        gram.to(single),
        y.to(single, memory_format=torch.contiguous_format),
        lam.to(single),
        curvature,
    )
    place = problem.start()
    out_a = torch.zeros_like(y)
    out_b = torch.zeros_like(y[..., :1])
    live = torch.arange(len(y), device=y.device)
    for step in range(max_iter):
        if step == FLOAT32_STEPS and single != wide:
            problem = problem.at(gram)
            place = problem.moved_to(place)
        done = (place.slope[..., -1].abs().amax(1) < tol) & (
            step >= FLOAT32_STEPS or tol > FLOAT32_MIN_TOL
        )
        if done.any():  # otherwise a product is saved
            done &= (place.slope[..., :-1] @ problem.gram).abs().amax((1, 2)) < tol
        if done.any():
            out_a[live[done]] = place.a[done].to(wide)
            out_b[live[done]] = place.z[done, :, -1:].to(wide)
            live = live[~done]
            place = place.of_tasks(~done)
            if not len(live):
                break
            problem = _Problem(*(t[~done] for t in problem))
        place = problem.step(place)
    out_a[live] = place.a.to(wide)
    out_b[live] = place.z[..., -1:].to(wide)
    return out_a, out_b


class _Place(NamedTuple):
    """Where the search of T tasks is, and the last steps to there."""

    a: Tensor  # (T, K, n)
    z: Tensor  # (T, K, n + 1), its logits beside b
    value: Tensor  # (T,) objective over C
    slope: Tensor  # (T, K, n + 1), its gradient
    pairs: list[
        list[Tensor]
    ]  # steps of a and z, changes of the gradient, 1 / product of the latter

    def of_tasks(self, rows: Tensor) -> "_Place":
        """The place of some of the tasks."""
        a, z, value, slope = (t[rows] for t in (self.a, self.z, self.value, self.slope))
        return _Place(a, z, value, slope, [[t[rows] for t in pair] for pair in self.pairs])


class _Problem(NamedTuple):
    """T tasks of `quasi_newton`: floats of one kind, except ``inverse``, which may be inexact."""

    gram: Tensor  # (T, n, n)
    sums: Tensor  # (T, n, 1) of its rows
    lam: Tensor
    y: Tensor  # (T, K, n)
    label: Tensor  # (T, 1, n) class of each image
    mask: Tensor  # (T, 1, n), 1 for an image, 0 for padding
    fixed: Tensor  # (T, K, 1), -inf for a class without support
    h: Tensor
    inverse: Tensor  # (T, n, n) of h gram + λI
    v: Tensor  # (T, 1, n): by how much an intercept of 1 lowers A

    @classmethod
    def of(cls, gram: Tensor, y: Tensor, lam: Tensor, curvature: float) -> "_Problem":
        size = y.sum(dim=-1, keepdim=True)
        mask = y.sum(dim=1, keepdim=True)
        label = (torch.arange(y.shape[1], dtype=y.dtype, device=y.device) @ y)[:, None].long()
        h = curvature / (size > 0).sum(dim=1, keepdim=True).to(y.dtype)
        hessian = h * gram
        hessian.diagonal(dim1=1, dim2=2).add_(lam[..., 0])
        inverse = torch.cholesky_inverse(
            torch.linalg.cholesky(hessian)
        ).mT  # symmetric; so its rows lie in a row
        fixed = torch.zeros_like(size).masked_fill_(size == 0, -torch.inf)
        return cls(
            gram,
            gram.sum(-1, keepdim=True),
            lam,
            y,
            label,
            mask,
            fixed,
            h,
            inverse,
            h * (mask @ inverse),
        )

    def at(self, gram: Tensor) -> "_Problem":
        """The same problem in the precision of ``gram``."""
        converted = (
            t if t is self.label or t is self.inverse else t.to(gram.dtype) for t in self[2:]
        )
        return _Problem(gram, gram.sum(-1, keepdim=True), *converted)

    def start(self) -> "_Place":
        """Weights and intercepts of 0."""
        a = torch.zeros_like(self.y)
        z = self.y.new_zeros(*a.shape[:2], a.shape[2] + 1)
        return _Place(a, z, *self.objective(a, z), [])

    def moved_to(self, place: "_Place") -> "_Place":
        """The place in the precision of this problem."""
        wide = self.y.dtype
        a = place.a.to(wide)
        z = torch.cat([a @ self.gram, place.z[..., -1:]], dim=-1)
        pairs = [[t.to(wide) for t in pair] for pair in place.pairs]
        return _Place(a, z, *self.objective(a, z), pairs)

    def objective(self, a: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """(T,) of the objective over C, and its gradient: E (of W = XᵀA) beside that of b."""
        n = a.shape[-1]
        log_p = torch.log_softmax((z[..., :n] + z[..., n:]).add_(self.fixed), dim=1)
        value = self.lam / 2 * _dot(a, z[..., :n])
        value = value - log_p.gather(1, self.label).masked_fill(self.mask == 0, 0).sum(
            dim=-1, keepdim=True
        )
        residual = log_p.exp_().sub_(self.y).mul_(self.mask)
        slope = torch.empty_like(z)
        slope[..., n] = residual.sum(dim=-1)
        torch.addcmul(residual, self.lam, a, out=slope[..., :n])
        return value.flatten(), slope

    def step(self, place: "_Place") -> "_Place":
        """The next place, and the last `STORED_STEPS` steps."""
        move_a, move_z = self.direction(place)
        fall = 1e-4 * _dot(place.slope, move_z).flatten()
        slack = 1e4 * torch.finfo(move_a.dtype).eps * place.value.abs()
        for _ in range(30):
            value, slope = self.objective(place.a - move_a, place.z - move_z)
            too_high = value > place.value - fall + slack
            if not too_high.any():
                break
            part = torch.where(too_high, 0.5, 1.0).to(move_a.dtype)
            fall = part * fall
            move_a = part[:, None, None] * move_a
            move_z = part[:, None, None] * move_z
        change = place.slope - slope
        curved = _dot(move_z, change)  # below 0 by rounding alone: such a step is noise
        pair = [move_a, move_z, change, torch.where(curved > 0, 1 / curved, 0)]
        pairs = [*place.pairs[1 - STORED_STEPS :], pair]
        return _Place(place.a - move_a, place.z - move_z, value, slope, pairs)

    def direction(self, place: "_Place") -> tuple[Tensor, Tensor]:
        """By how much a step lowers a and z: the two loops over the pairs of L-BFGS."""
        q = place.slope
        shares = []
        for _, step_z, change, over in reversed(place.pairs):
            shares.append(over * _dot(step_z, q))
            q = torch.addcmul(q, shares[-1], change, value=-1)
        move_a = (q[..., :-1].to(self.inverse.dtype) @ self.inverse).to(q.dtype)
        b = (q[..., -1:] / self.h - move_a @ self.sums) / (
            self.mask.sum(dim=-1, keepdim=True) - self.v @ self.sums
        )
        move_a.addcmul_(b, self.v, value=-1)
        move_z = torch.cat([move_a @ self.gram, b], dim=-1)
        for (step_a, step_z, change, over), share in zip(place.pairs, reversed(shares)):
            remainder = share - over * _dot(change, move_z)
            move_a.addcmul_(remainder, step_a)
            move_z.addcmul_(remainder, step_z)
        return move_a, move_z


def _dot(x: Tensor, y: Tensor) -> Tensor:
    """(T, 1, 1) sums of the products of all entries of x and y (T, K, n)."""
    return (x * y).sum((1, 2), keepdim=True)


def _descend(problem: "_FixedHessian", tol: float, steps: int) -> tuple[Tensor, ...]:
    """A and b of `solve`, and which tasks are not done after ``steps``.

    The gradient of the objective over C is Xᵀ(R + λA) for W and 1ᵀR for b, with R = P - Y. A step
    solves the fixed Hessian's linear system for both together.
    """
    a = torch.zeros_like(problem.y)
    b = torch.zeros_like(a[..., :1])
    point = _Point(a, b, a, b, torch.ones_like(problem.lam))
    out_a = a.clone()
    out_b = b.clone()
    live = torch.arange(len(a), device=a.device)
    for _ in range(steps):
        point, largest = problem.step(point)
        done = largest < tol
        if done.any():
            out_a[live[done]] = point.a[done]
            out_b[live[done]] = point.b[done]
            live = live[~done]
            point = _Point(*(t[~done] for t in point))
            problem = _FixedHessian(*(t[~done] for t in problem))
            if not len(live):
                break
    out_a[live] = point.a
    out_b[live] = point.b
    return out_a, out_b, live


class _Point(NamedTuple):
    """A and b of T tasks, and those of Nesterov's momentum."""

    a: Tensor
    b: Tensor
    ahead_a: Tensor
    ahead_b: Tensor
    momentum: Tensor  # (T, 1, 1)


class _FixedHessian(NamedTuple):
    """What each step of `_descend` reads of T tasks."""

    gram: Tensor
    lam: Tensor
    y: Tensor
    h: Tensor  # (T, 1, 1)
    mask: Tensor  # (T, 1, n), 1 for an image, 0 for padding
    fixed: Tensor  # added to the logits; -inf for a class without support
    intercept: Tensor  # (T, 1, 1), 1 if there is one
    mean: Tensor  # (T, 1, n), from a gradient to the step of the intercept
    project: Tensor  # (T, n, n), the inverse with the intercept eliminated

    @classmethod
    def of(
        cls, gram: Tensor, y: Tensor, lam: Tensor, h: float, start: Tensor | None
    ) -> "_FixedHessian":
        mask = y.sum(dim=1, keepdim=True)
        size = y.sum(dim=-1, keepdim=True)
        fixed = torch.zeros_like(size).masked_fill_(size == 0, -torch.inf)
        eye = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(h * gram + lam * eye))
        v = mask @ inverse
        mean = v / v.sum(dim=-1, keepdim=True)
        if start is not None:
            fixed = fixed + start
            mean = 0 * mean
        return cls(
            gram=gram,
            lam=lam,
            y=y,
            h=torch.full_like(lam, h),
            mask=mask,
            fixed=fixed,
            intercept=torch.full_like(v[..., :1], start is None),
            mean=mean,
            project=inverse - v.mT @ mean,
        )

    def step(self, point: "_Point") -> "tuple[_Point, Tensor]":
        """The next point, and the largest entry (T,) of the gradient before it."""
        a = point.ahead_a
        b = point.ahead_b
        p = torch.softmax(a @ self.gram + b + self.fixed, dim=1)
        residual = (p - self.y) * self.mask
        error = residual + self.lam * a
        gradient = error @ self.gram
        slope = residual.sum(dim=-1, keepdim=True) * self.intercept
        largest = torch.maximum(gradient.abs().amax((1, 2)), slope.abs().amax((1, 2)))
        a = a - error @ self.project
        b = b - error @ self.mean.mT / self.h
        move_a = a - point.a
        move_b = b - point.b
        # Momentum, reset after an uphill step (gradient restart).
        uphill = (gradient * move_a).sum((1, 2)) + (slope * move_b).sum((1, 2)) > 0
        following = (1 + torch.sqrt(1 + 4 * point.momentum**2)) / 2
        factor = (point.momentum - 1) / following
        factor[uphill] = 0
        following[uphill] = 1
        return _Point(a, b, a + factor * move_a, b + factor * move_b, following), largest
