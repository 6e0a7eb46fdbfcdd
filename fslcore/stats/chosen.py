"""Several methods on one test set: which ranks each may have, and how accurate the best of them
is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, sqrt

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from ..errors import InputError, floats, quoted
from .formatting import decimals
from .intervals import (
    DEFAULT_CONFIDENCE_LEVEL,
    Bounds,
    Floats,
    Interval,
    Pair,
    checked_bounds,
    checked_level,
    limits,
    normal_quantile,
    student_quantile,
)
from .rare import NO_RARITY, rarity_of
from .simultaneous import cholesky
from .targets import Target
from .task_intervals import open_task_interval

FEWEST_TASKS = 100  # for `winner_interval`: see its notes
SHARE_OF_GAPS = 0.1  # of the error, for gaps that are smaller than the data allow
POINTS = 2**13  # at which errors of means are simulated
COCHRAN = 25  # tasks per squared skewness (Cochran, 1977, Sampling Techniques, section 2.15)


@dataclass(frozen=True)
class RankSets:
    """What `rank_confidence_sets` returns, for M methods.

    Attributes
    ----------
    best, worst : (M,) integers
        Lowest and highest rank that each method may have, 1 for the highest true mean.
    """

    best: NDArray[np.int_]
    worst: NDArray[np.int_]


@dataclass(frozen=True)
class Winner:
    """The method with the highest mean, and an interval of its true mean that takes the choice into
    account; see `winner_interval`.

    Attributes
    ----------
    method : int
        Its position among the methods.
    observed : Interval
        The observed mean, on average too high, ± the half-width that ignores the choice.
    corrected : Interval
        The mean corrected for the choice, about as often above the true mean as below it; the interval
        holds both means.
    is_skewed : bool
        Whether T is below 25 γ², with the skewness γ of the accuracies of some method that may be
        best (Cochran, 1977, *Sampling Techniques*, section 2.15), as where failures are rare: then
        means are not nearly normal, and the interval may hold less often than ``confidence_level``. Without
        the accuracies this is not known, and False.
    """

    method: int
    observed: Interval
    corrected: Interval
    is_skewed: bool

    def __str__(self) -> str:
        spec = f".{decimals(self.corrected.half_width)}f"
        return f"{self.corrected:{spec}} corrected, {self.observed.estimate:{spec}} observed"


def rank_confidence_sets(better: ArrayLike) -> RankSets:
    """Ranks that M methods may have, from which of them is significantly better than which.

    Parameters
    ----------
    better : (M, M) array_like of bool
        Entry (i, j): method i is significantly better than method j, after a correction for all
        pairs such as `holm`.

    Returns
    -------
    RankSets
        ``best`` is 1 plus the number of methods that are significantly better, ``worst`` is M minus
        the number that are significantly worse. All true ranks lie in their sets whenever no
        verdict is false, so the sets hold together with the probability for which the pairs were
        corrected.

    Raises
    ------
    InputError
        Another shape, other values, two methods that are each better than the other.

    Notes
    -----
    Mogstad, Romano, Shaikh and Wilhelm (2024, `Review of Economic Studies 91, 476
    <https://doi.org/10.1093/restud/rdad006>`_) derive ranks from verdicts on pairs in this way,
    with a step-down test of their own. With the pairs of a table, its ranks, letters and verdicts
    cannot contradict each other.

    Examples
    --------
    Of three methods on the same tasks, from the paired tests of every two:

    >>> import numpy as np
    >>> from fslcore import stats
    >>> tasks = np.arange(12) % 4
    >>> accuracies = np.array([70 + tasks, 70 + tasks[::-1], 60 + (tasks > 1)])
    >>> first, second = np.triu_indices(3, 1)
    >>> pairs = [stats.paired_interval(accuracies[i], accuracies[j]) for i, j in zip(first, second)]
    >>> significant = stats.holm([pair.p_value for pair in pairs]) < 0.05
    >>> sign = significant * np.sign([pair.estimate for pair in pairs])
    >>> better = np.zeros((3, 3), bool)
    >>> better[first, second], better[second, first] = sign > 0, sign < 0
    >>> ranks = stats.rank_confidence_sets(better)
    >>> [f"{best} to {worst}" for best, worst in zip(ranks.best, ranks.worst)]
    ['1 to 2', '1 to 2', '3 to 3']
    """
    verdicts = floats("better", better, 2)
    methods = len(verdicts)
    if verdicts.shape != (methods, methods) or not np.isin(verdicts, (0, 1)).all():
        raise InputError(f"better must be an (M, M) array of True and False, got {quoted(better)}")
    contradicted = np.argwhere(verdicts * verdicts.T)
    if len(contradicted):
        i, j = contradicted[0]
        raise InputError(
            f"better must be True for at most one of [{i}, {j}] and [{j}, {i}], got both"
        )
    best = 1 + verdicts.sum(axis=0)
    worst = methods - verdicts.sum(axis=1)
    return RankSets(best.astype(int), worst.astype(int))


def winner_interval(  # noqa: PLR0914 the steps of one formula
    scores: ArrayLike,
    covariance: ArrayLike | None = None,
    df: ArrayLike | None = None,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
    *,
    bounds: Bounds = None,
) -> Winner:
    """Interval for the true mean of the method that has the highest mean of M, on the tasks that
    chose it.

    Parameters
    ----------
    scores : (M, T) or (M,) array_like
        Of M methods on the same T ≥ 100 tasks, in any unit; or means, with their ``covariance``,
        which should rest on as many independent tasks or classes. One method may have fewer tasks,
        2 or more.
    covariance : (M, M) array_like, optional
        Of the means, in squared units.
    df : float or (M, M) array_like, optional
        Degrees of freedom of each mean, on the diagonal; by default T - 1, and infinite for means
        with a covariance.
    confidence_level : float
        Nominal coverage.
    bounds : (float, float), optional
        Least and largest possible mean, between which interval and estimate lie.

    Returns
    -------
    Winner

    Raises
    ------
    InputError
        Another shape, NaN, fewer tasks, a matrix that is no covariance, degrees of freedom below 1,
        a level outside (0, 1), bounds that are no two numbers in their order.

    Notes
    -----
    The highest of several means is on average too high, and the interval reaches further down than
    up: it is the observed mean - r to that mean + its half-width, and never shorter than the interval of a method
    that was chosen beforehand. How far the highest mean can be off depends on how close the true
    means are, and it is most where they are equal. So r is computed for the closest true means that
    the data allow: the gap to each other method is taken to be the observed one, less its
    simultaneous (Bonferroni) error bound with a tenth of the error, and no less than 0. With these
    gaps the errors of the highest mean are simulated, by 8,192 fixed points of a multivariate
    normal distribution, and the part of them above r, together with the part below -half_width,
    makes up the other nine tenths. This is inference that is simultaneous over the methods that may
    be best (Benjamini, Hechtlinger and Stark, 2019, `arXiv:1906.00505
    <https://arxiv.org/abs/1906.00505>`_; Zrnic and Fithian, 2024, `arXiv:2212.09009
    <https://arxiv.org/abs/2212.09009>`_). The median of such errors, with gaps less their usual
    excess over true ones, is what the corrected mean subtracts. Both change continuously with the data,
    also where two means tie. The interval that is conditional on the choice (Andrews, Kitagawa and
    McCloskey, 2024, Quarterly Journal of Economics 139, 305) does not: where two means tie, as
    counts of right answers do, it shrinks to a point 3 standard errors below the mean.

    Means are taken as normal, with a known covariance; few degrees of freedom widen the interval as
    they widen Student's. If the method's accuracy is the same on all tasks, or nearly all, its own
    interval is that of `Interval` for such values, with Bonferroni's correction; a mean with a variance of 0
    is known, but for the other methods that could have been chosen.

    In simulations with 100 tasks (1,500 choices each) it covered 94.9 to 97.7 % at 95 % where 2 to
    20 methods were equal or had gaps, with normal and with exponential tasks, with five answers per
    task or with methods that differ on 0.3 % of 25 answers (94 to 100 % of the tables in which two
    means tie), and where each method fails on other 3 % of the tasks. The naive interval covered
    63 to 96 %. It was 1.01 to 1.38 times as long as the naive one: 1.02 of two independent methods,
    1.23 of 20. The estimate was above the true mean as often as below it where methods are equal;
    20 methods that are 2 or 3 standard errors behind made it too low in 66 and 78 % of choices. No
    correction for the choice corrects an interval of too few tasks: with tasks on which all methods
    fail, 1 to 3 % of all and 60 points each, it covered 90 %, with lognormal tasks (σ = 1) 94 %.
    ``is_skewed`` marks most of these. With fewer than 100 tasks it is not given.

    Examples
    --------
    >>> found = winner_interval([82.0, 81, 76, 60], 2 * np.eye(4))
    >>> print(f"{found.observed:.1f}; {found.corrected:.1f}")
    82.0 ± 2.8; 81.2 (78.9 to 84.8)
    """
    by_task = _checked_accuracies(scores) if covariance is None else None
    mean, covariance, df, order = _checked(scores, covariance, df)
    checked_level(confidence_level)
    bounds = checked_bounds(bounds)
    methods = len(mean)
    limit = student_quantile(df[0, 0], confidence_level)
    half_width = limit * sqrt(covariance[0, 0])
    errors = _Errors(mean, covariance, limit / normal_quantile(confidence_level))
    reach, correction = half_width, 0.0
    is_skewed = False
    if methods > 1:
        share_of_gaps = SHARE_OF_GAPS * (1 - confidence_level)
        closest_gaps = errors.gaps_less(-ndtri(share_of_gaps / (methods - 1)))
        closest = errors.of_highest(closest_gaps)
        share_below = float((closest < -half_width).mean())
        share_above = max(
            1 - confidence_level - share_of_gaps - share_below, (1 - confidence_level) / 2
        )
        reach = max(half_width, float(np.quantile(closest, 1 - share_above)))
        usual = errors.of_highest(errors.gaps_less(-ndtri(0.5 / methods)))
        correction = max(float(np.median(usual)), 0.0)
        is_skewed = by_task is not None and _are_skewed(by_task[order[closest_gaps == 0]])
    if by_task is None:
        ends = limits(mean[0], half_width, bounds, df[0, 0], confidence_level)
        beforehand = float(ends[0]), float(ends[1])
    else:
        beforehand = _ends_beforehand(by_task[order[0]], methods, confidence_level, bounds)
    lowest, highest = bounds or (-inf, inf)
    low = min(mean[0] - reach, beforehand[0])
    high = max(mean[0] + half_width, beforehand[1])
    observed = Interval(
        estimate=float(mean[0]),
        half_width=half_width,
        confidence_level=confidence_level,
        n=0 if by_task is None else by_task.shape[1],
        target=Target.NEW_TASKS,
        is_difference=False,
        ends=(float(mean[0]) - half_width, float(mean[0]) + half_width),
    )
    low = float(max(low, lowest))
    high = float(min(high, highest))
    corrected = replace(
        observed,
        estimate=float(np.clip(mean[0] - correction, lowest, highest)),
        half_width=(high - low) / 2,
        ends=(low, high),
    )
    return Winner(int(order[0]), observed, corrected, is_skewed)


class _Errors:
    """Errors of the highest of several means, the highest observed one first, by simulation."""

    def __init__(self, mean: Floats, covariance: Floats, widening: float) -> None:
        self.gaps = mean[0] - mean
        variance_of_gap = np.diag(covariance) + covariance[0, 0] - 2 * covariance[0]
        self.error_of_gap = widening * np.sqrt(variance_of_gap.clip(0))
        deviation = np.sqrt(np.diag(covariance))
        scale = np.where(deviation > 0, deviation, 1.0)
        root = deviation[:, None] * cholesky(covariance / np.outer(scale, scale))
        self.errors = widening * _normal_points(len(mean)) @ root.T

    def gaps_less(self, excess: float) -> Floats:
        """(M,) observed gaps less ``excess`` standard errors of each, and at least 0."""
        return np.maximum(self.gaps - excess * self.error_of_gap, 0.0)

    def of_highest(self, gaps: Floats) -> Floats:
        """(POINTS,) errors of the mean that comes out highest, if these are the true gaps."""
        highest = (self.errors - gaps).argmax(axis=1)
        chosen: Floats = np.take_along_axis(self.errors, highest[:, None], axis=1)[:, 0]
        return chosen


@lru_cache(4)
def _normal_points(count: int) -> Floats:
    """(POINTS, ``count``) fixed values of independent normal variables; read-only."""
    points: Floats = ndtri(qmc.Sobol(count, scramble=False).random(POINTS) + 0.5 / POINTS)
    points.flags.writeable = False
    return points


def _ends_beforehand(
    accuracies: Floats, methods: int, confidence_level: float, bounds: Bounds
) -> Pair:
    """Ends for a method that was not chosen; where its accuracy is the same on all tasks, or nearly
    all, any of the methods could have been chosen, by Bonferroni's correction.
    """
    if rarity_of(accuracies) != NO_RARITY:
        confidence_level = 1 - (1 - confidence_level) / methods
    interval = open_task_interval(accuracies, confidence_level, bounds=bounds)
    return interval.low, interval.high


def _are_skewed(accuracies: Floats) -> bool:
    """Whether fewer tasks than Cochran's rule asks for are behind a mean."""
    varying = accuracies[np.ptp(accuracies, axis=1) > 0]
    skewness = scipy.stats.skew(varying, axis=1)
    return bool((COCHRAN * skewness**2 > accuracies.shape[1]).any())


def _checked_accuracies(accuracies: ArrayLike) -> Floats:
    x = floats("scores", accuracies, None)
    if x.ndim != 2 or not len(x) or x.shape[1] < (FEWEST_TASKS if len(x) > 1 else 2):
        raise InputError(
            f"scores must have shape (M, T) with at least 2 tasks, and {FEWEST_TASKS} to correct "
            f"a choice, or (M,) with a covariance, got shape {x.shape}"
        )
    return x


def _checked(
    accuracies: ArrayLike, covariance: ArrayLike | None, df: ArrayLike | None
) -> tuple[Floats, Floats, Floats, NDArray[np.int_]]:
    """Means, the highest first, with covariance and degrees of freedom, and their order.

    The order makes that of the methods no matter, but for ties.
    """
    if covariance is not None:
        mean = floats("scores", accuracies)
        cov = _checked_covariance(covariance, len(mean))
    else:
        x = _checked_accuracies(accuracies)
        tasks = x.shape[1]
        df = tasks - 1 if df is None else df
        mean = x.mean(axis=1)
        cov = np.atleast_2d(np.cov(x)) / tasks
    free = floats("df", inf if df is None else df, None, finite=False)
    if free.shape not in ((), cov.shape) or not (free >= 1).all():
        raise InputError(f"df must be >= 1, one number or shape {cov.shape}, got {quoted(df)}")
    order = np.lexsort((np.diag(cov), -mean))
    turned = np.ix_(order, order)
    return mean[order], cov[turned], np.broadcast_to(free, cov.shape)[turned], order


def _checked_covariance(covariance: ArrayLike, count: int) -> Floats:
    """A matrix of this size that is symmetric and has no negative eigenvalue, but for rounding."""
    matrix = floats("covariance", covariance, 2)
    if not count or matrix.shape != (count, count):
        raise InputError(
            f"covariance must have shape (M, M) for M >= 1 scores, got shape {matrix.shape} for "
            f"{count} scores"
        )
    eigenvalues = np.linalg.eigvalsh(matrix)
    tolerance = 1e-9 * max(np.abs(eigenvalues).max(), np.finfo(float).tiny)
    if (
        not np.allclose(matrix, matrix.T, rtol=1e-6, atol=tolerance)
        or eigenvalues.min() < -tolerance
    ):
        raise InputError(
            "covariance must be symmetric without a negative eigenvalue, got another matrix"
        )
    return matrix
