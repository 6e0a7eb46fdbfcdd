"""Tests that two or more Q* are equal, and the fit of the model to measured variances (OOPS, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike
from scipy import optimize
from scipy.stats import chi2, norm

from fslcore import stats
from fslcore.stats.pilot import Pilot, jackknife, left_out, moments


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


def compare_optima(a: ndarray, b: ndarray) -> OptimumRatio:
    """Test whether two sets of values on the same tasks have the same Q*, for tasks with new classes each.

    Q* is the same where α_b β_a - α_a β_b = 0. The test divides the estimate of that by its
    standard error, from leaving out one task at a time for both. It pairs tasks, so that their
    common difficulty cancels, and needs no positive estimate of α.

    Parameters
    ----------
    a, b : (T, K, Q) arrays
        Values of two methods on the same queries; or of a difference and of one of its methods. T ≥
        3.
    """
    (alpha_a, beta_a), (alpha_b, beta_b) = (
        (model.alpha, model.beta) for model in (moments(values).model(1) for values in (a, b))
    )
    left_a, left_b = left_out(a, 1), left_out(b, 1)
    spread = jackknife((left_b[:, 0] * left_a[:, 1] - left_a[:, 0] * left_b[:, 1])[:, None])[0, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = float((alpha_b * beta_a - alpha_a * beta_b) / np.sqrt(spread))
        squared = np.divide(alpha_b * beta_a, alpha_a * beta_b) if alpha_a > 0 < alpha_b else np.nan
    return OptimumRatio(float(np.sqrt(squared)), z, float(2 * norm.sf(abs(z))))


def common_optimum(pilots: Sequence[Pilot]) -> CommonOptimum:
    """Fit one Q* to independent runs with equal shots, and test whether they share it.

    The optimum is the q with the least sum of (β̂ - α̂q²)² / Var(β̂ - α̂q²) over the runs. As in
    `fslcore.stats.estimate_variance`, no estimate of α needs to be positive. Runs on the same tasks are not
    independent: see `compare_optima`.

    """
    alpha = np.array([pilot.model.alpha for pilot in pilots])
    beta = np.array([pilot.model.beta for pilot in pilots])
    covariance = np.array([pilot.covariance for pilot in pilots])

    def distance(log_q: ndarray) -> ndarray:
        square = np.exp(2 * np.atleast_1d(log_q))[:, None]
        spread = (
            covariance[:, 1, 1] - 2 * square * covariance[:, 0, 1] + square**2 * covariance[:, 0, 0]
        )
        return ((beta - alpha * square) ** 2 / spread).sum(axis=1)

    grid = np.linspace(np.log(0.01), np.log(1e4), 500)  # there may be more than one local minimum
    nearest = int(distance(grid).argmin())
    ends = grid[max(nearest - 1, 0)], grid[min(nearest + 1, len(grid) - 1)]
    minimum = optimize.minimize_scalar(lambda v: distance(v)[0], bounds=ends, method="bounded")
    return CommonOptimum(
        optimum=float(np.exp(minimum.x)),
        chi_square=float(minimum.fun),
        df=len(pilots) - 1,
        p_value=float(chi2.sf(minimum.fun, len(pilots) - 1)),
    )


def fit_variance(
    queries: ArrayLike, tasks: ArrayLike, variance: ArrayLike, error: ArrayLike, shots: int
) -> VarianceFit:
    """Fit α, β and γ to measured variances of Ā by weighted least squares.

    Parameters
    ----------
    queries : (n,) array_like
        Q of each measurement, at least 4 different ones.
    tasks : (n,) array_like
        T behind each: from `fslcore.stats.open_task_count` for the paper's smooth model, or the whole
        numbers of tasks.
    variance, error : (n,) array_like
        Measured Var(Ā) and its standard error.
    shots : int
        S.

    """
    q, t, v, e = (np.asarray(a, float) for a in (queries, tasks, variance, error))
    design = np.stack([q, 1 / q, np.ones_like(q)], axis=1) / ((shots + q) * t * e)[:, None]
    target = v / e
    solution = np.linalg.lstsq(design, target, rcond=None)[0]
    chi_square = float(((target - design @ solution) ** 2).sum())
    centred = target - (v / e**2).sum() / (1 / e**2).sum() / e
    return VarianceFit(
        model=stats.VarianceModel(*map(float, solution), shots),
        errors=tuple(np.sqrt(np.diag(np.linalg.inv(design.T @ design))).tolist()),
        r_squared=1 - chi_square / float((centred**2).sum()),
        chi_square=chi_square,
        p_value=float(chi2.sf(chi_square, len(q) - 3)),
    )
