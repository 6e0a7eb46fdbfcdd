"""Tests that two or more Q* are equal, and the fit of the model to measured variances (OOPS, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize
from scipy.stats import chi2, norm

from fslcore import stats
from fslcore.errors import InputError, choice, floats, instance, whole
from fslcore.stats.pilot import (
    TARGETS,
    Pilot,
    checked_values,
    classes_held,
    jackknife,
    left_out,
    moments,
    positive,
)


@dataclass(frozen=True)
class OptimumRatio:
    """Q* of one set of values over Q* of another, on the same tasks.

    Attributes
    ----------
    ratio : float
        First over second; NaN where an estimate of α is not positive.
    z : float
        Test statistic, standard normal where the two Q* are equal; positive where the first is
        larger.
    p_value : float
        Two-sided.
    """

    ratio: float
    z: float
    p_value: float


@dataclass(frozen=True)
class CommonOptimum:
    """One Q* for several independent runs, and a test of whether they share it.

    Attributes
    ----------
    optimum : float
        The Q* that fits all runs best, in queries per class.
    chi_square : float
        How far the runs are from it together; chi-square with ``df`` degrees of freedom where they
        share a Q*.
    df : int
        Number of runs less one.
    p_value : float
    """

    optimum: float
    chi_square: float
    df: int
    p_value: float


@dataclass(frozen=True)
class VarianceFit:
    """The model fitted to measured variances.

    Attributes
    ----------
    model : VarianceModel
        Fitted α, β and γ.
    errors : (3,) tuple of float
        Standard errors of α, β and γ.
    r_squared : float
        Share of the (weighted) variation of the measured variances that the model explains.
    chi_square : float
        Sum of squared residuals, each in units of its error.
    p_value : float
        Probability of a chi-square as large, were the model true and the errors normal.
    """

    model: stats.VarianceModel
    errors: tuple[float, float, float]
    r_squared: float
    chi_square: float
    p_value: float


def compare_optima(
    a: ArrayLike, b: ArrayLike, *, labels: ArrayLike | None = None, target: str = "classes"
) -> OptimumRatio:
    """Test whether two sets of values on the same tasks have the same Q*.

    Q* is the same where α_b β_a - α_a β_b = 0. The test divides the estimate of that by its
    standard error, from leaving out one task at a time for both. It pairs tasks, so that their
    common difficulty cancels, and needs no positive estimate of α.

    Parameters
    ----------
    a, b : (T, K, Q) array_like
        Values of two methods on the same queries; or of a difference and of one of its methods. T ≥
        3.
    labels : (T, K) array_like, optional
        Class of each group of queries, for the target 'images'.
    target : str
        'classes' or 'images'; see `fslcore.stats.pilot`.

    Raises
    ------
    InputError
        As for `fslcore.stats.pilot.moments`; different shapes.
    """
    a, b = (checked_values(floats(name, x, 3), 3, name, labels) for name, x in (("a", a), ("b", b)))
    if a.shape != b.shape:
        raise InputError(f"a has shape {a.shape}, b has {b.shape}; both are of the same tasks")
    classes = classes_held(a, labels) if choice("target", target, TARGETS) == "images" else None
    (alpha_a, beta_a), (alpha_b, beta_b) = (
        (m.alpha, m.beta)
        for m in (moments(x, labels=labels, target=target).model(1) for x in (a, b))
    )
    left_a, left_b = left_out(a, 1, classes), left_out(b, 1, classes)
    spread = jackknife((left_b[:, 0] * left_a[:, 1] - left_a[:, 0] * left_b[:, 1])[:, None])[0, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = float((alpha_b * beta_a - alpha_a * beta_b) / np.sqrt(spread))
        squared = np.divide(alpha_b * beta_a, alpha_a * beta_b) if alpha_a > 0 < alpha_b else np.nan
    return OptimumRatio(float(np.sqrt(squared)), z, float(2 * norm.sf(abs(z))))


def common_optimum(pilots: Sequence[Pilot]) -> CommonOptimum:
    """Fit one Q* to independent runs with equal shots, and test whether they share it.

    The optimum is the q with the least sum of (β̂ - α̂q²)² / Var(β̂ - α̂q²) over the runs. As in
    `fslcore.stats.pilot`, no estimate of α needs to be positive. Runs on the same tasks are not
    independent: see `compare_optima`.

    Raises
    ------
    InputError
        Fewer than 2 runs; runs with different shots.
    """
    pilots = [instance("pilots", p, Pilot) for p in instance("pilots", pilots, Sequence)]
    if len(pilots) < 2 or len({p.model.shots for p in pilots}) > 1:
        raise InputError(f"pilots: {len(pilots)} runs; at least 2 with equal shots are needed")
    alpha, beta = (np.array([getattr(p.model, name) for p in pilots]) for name in ("alpha", "beta"))
    covariance = np.array([p.covariance for p in pilots])

    def distance(log_q: np.ndarray) -> np.ndarray:
        square = np.exp(2 * np.atleast_1d(log_q))[:, None]
        spread = (
            covariance[:, 1, 1] - 2 * square * covariance[:, 0, 1] + square**2 * covariance[:, 0, 0]
        )
        return ((beta - alpha * square) ** 2 / spread).sum(axis=1)

    grid = np.linspace(np.log(0.01), np.log(1e4), 500)  # there may be more than one local minimum
    nearest = int(distance(grid).argmin())
    ends = grid[max(nearest - 1, 0)], grid[min(nearest + 1, len(grid) - 1)]
    minimum = optimize.minimize_scalar(lambda v: distance(v)[0], bounds=ends, method="bounded")
    df = len(pilots) - 1
    p_value = float(chi2.sf(minimum.fun, df))
    return CommonOptimum(float(np.exp(minimum.x)), float(minimum.fun), df, p_value)


def fit_variance(
    queries: ArrayLike, tasks: ArrayLike, variance: ArrayLike, error: ArrayLike, shots: int
) -> VarianceFit:
    """Fit α, β and γ to measured variances of Ā by weighted least squares.

    Parameters
    ----------
    queries : (n,) array_like
        Q of each measurement, at least 4 different ones.
    tasks : (n,) array_like
        T behind each: from `fslcore.stats.task_count` for the paper's smooth model, or the whole
        numbers of tasks.
    variance, error : (n,) array_like
        Measured Var(Ā) and its standard error.
    shots : int
        S.

    Raises
    ------
    InputError
        Different lengths, fewer than 4 values of Q, numbers that are not over 0 (of ``variance``:
        below 0), NaN or infinity, fewer than 1 shot.
    """
    whole("shots", shots, minimum=1)
    q = positive("queries", queries)
    t = positive("tasks", tasks)
    e = positive("error", error)
    v = floats("variance", variance, None)
    if (v < 0).any():
        raise InputError(f"variance: the least is {v.min():g}; numbers of at least 0 are allowed")
    if not (q.shape == t.shape == v.shape == e.shape and q.ndim == 1) or len(np.unique(q)) < 4:
        raise InputError(
            f"queries, tasks, variance and error have shapes {q.shape}, {t.shape}, {v.shape}, {e.shape}; "
            "four arrays of one length, with at least 4 values of Q, are needed"
        )
    design = np.stack([q, 1 / q, np.ones_like(q)], axis=1) / ((shots + q) * t * e)[:, None]
    target = v / e
    solution = np.linalg.lstsq(design, target, rcond=None)[0]
    chi_square = float(((target - design @ solution) ** 2).sum())
    centred = target - (v / e**2).sum() / (1 / e**2).sum() / e
    return VarianceFit(
        stats.VarianceModel(*map(float, solution), shots),
        tuple(np.sqrt(np.diag(np.linalg.inv(design.T @ design))).tolist()),
        1 - chi_square / float((centred**2).sum()),
        chi_square,
        float(chi2.sf(chi_square, len(q) - 3)),
    )
