"""Several differences at once, as of one method and each of the others: intervals that all hold
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice
from math import inf, isinf, isqrt, sqrt

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize
from scipy.special import chdtrc, fdtrc

from ..errors import InputError, floats
from .intervals import (
    DEFAULT_CONFIDENCE_LEVEL,
    Bounds,
    Floats,
    Interval,
    chance_of_equal,
    checked_bounds,
    checked_level,
)
from .targets import Target

__all__ = ["Simultaneous", "simultaneous_intervals"]

POINTS = 2**14  # directions over which a probability is averaged
SLACK = 1e-6  # of a distance, by which bars that are to overlap do so at least


@dataclass(frozen=True, eq=False)
class Simultaneous:
    """K mean differences with intervals that all hold together.

    Attributes
    ----------
    intervals : tuple of Interval
        One per difference, in its unit.
    p_values : (K,) array
        Two-sided, adjusted for K comparisons (single-step): below 1 - confidence_level where the interval
        excludes 0.
    factor : float
        Half-width over standard error: between the quantile of Student's t for one comparison and
        that for K by Bonferroni. 0 if no difference varies.
    """

    intervals: tuple[Interval, ...]
    p_values: Floats
    factor: float

    @property
    def estimate(self) -> Floats:
        """(K,) mean differences."""
        return np.array([interval.estimate for interval in self.intervals])

    @property
    def half_width(self) -> Floats:
        """(K,) half-widths of the intervals."""
        return np.array([interval.half_width for interval in self.intervals])


def simultaneous_intervals(
    differences: ArrayLike,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
    *,
    bounds: Bounds = None,
) -> Simultaneous:
    """Intervals for K mean differences on the same tasks, as of one method and each of K others.

    Each is mean ± c standard errors, where the largest of K absolute t statistics stays below c
    with probability ``confidence_level``: those of Dunnett (1955), with the correlations of these differences
    over the tasks in place of those of independent groups. The more alike the differences are, the
    closer c is to the quantile for one comparison. The correlations are estimated, and shrunk
    towards 0 for that: of 10 differences on 10 to 100 tasks, 4.8 to 5.3 % of studies at 95 % have an
    interval that misses. Differences are taken as normal, as for a t-test: if 3 % of 100 tasks cost
    one method 60 points, it is 9 % for this method against 5 others.

    Parameters
    ----------
    differences : (K, T) array_like
        Of each comparison on each of T tasks (`paired_differences`), 2 tasks at least.
    confidence_level : float
        Nominal probability that all K intervals hold.
    bounds : (float, float), optional
        Least and largest possible difference, (-100, 100) for accuracies in percent: needed for a
        difference that is the same on every task.

    Returns
    -------
    Simultaneous
        The largest t statistic's distribution is averaged over 16,384 fixed directions of a
        multivariate t distribution, so that the same differences give the same numbers in any
        order; exact for K = 1. A difference that is the same on every task has the p-value of `Interval` times K,
        and a half-width that agrees with it; without bounds 1 and infinity.

    Raises
    ------
    InputError
        Another shape, NaN or infinity, a level not between 0 and 1.

    Examples
    --------
    >>> ours, others = np.array([7.0, 5, 8, 6]), np.array([[6.0, 5, 5, 4], [6, 2, 7, 5]])
    >>> found = simultaneous_intervals(ours - others)
    >>> print(*found.intervals, sep="; ")
    1.50 ± 2.49; 1.50 ± 1.93
    """
    x = floats("differences", differences, 2)
    checked_level(confidence_level)
    count, tasks = x.shape
    if not count or tasks < 2:
        raise InputError(
            f"differences must have at least 1 comparison and 2 tasks, got shape {x.shape}"
        )
    mean = x.mean(axis=1)
    p_values, half_width = _of_equal_differences(
        mean, tasks, confidence_level, checked_bounds(bounds)
    )
    varies = np.flatnonzero(np.ptp(x, axis=1) > 0)
    if not varies.size:
        return Simultaneous(_intervals(mean, half_width, tasks, confidence_level), p_values, 0.0)
    k = len(varies)
    df = tasks - 1
    error = x[varies].std(ddof=1, axis=1) / sqrt(tasks)
    reach = reach_of(_correlation(x[varies]))
    c = factor(reach, k, df, confidence_level)
    half_width[varies] = c * error
    t = np.abs(mean[varies]) / error
    single = 2 * scipy.stats.t.sf(t, df)
    adjusted = [_exceedance(statistic, reach, k, df) for statistic in t]
    p_values[varies] = np.clip(adjusted, single, np.minimum(k * single, 1))
    return Simultaneous(_intervals(mean, half_width, tasks, confidence_level), p_values, c)


def _intervals(
    means: Floats, half_widths: Floats, tasks: int, confidence_level: float
) -> tuple[Interval, ...]:
    """Mean ± half-width of each difference."""
    return tuple(
        Interval(
            estimate=mean,
            half_width=half_width,
            confidence_level=confidence_level,
            n=tasks,
            target=Target.NEW_TASKS,
            is_difference=True,
            ends=(mean - half_width, mean + half_width),
        )
        for mean, half_width in zip(means.tolist(), half_widths.tolist(), strict=True)
    )


def _of_equal_differences(
    mean: Floats, tasks: int, confidence_level: float, bounds: Bounds
) -> tuple[Floats, Floats]:
    """p-values and half-widths of differences that are each the same on all tasks, with
    Bonferroni's correction.
    """
    count = len(mean)
    if bounds is None:
        return np.ones(count), np.full(count, inf)
    share = 1 - ((1 - confidence_level) / (2 * count)) ** (1 / tasks)  # of tasks that may differ
    p_values = 2 * count * chance_of_equal(mean, 0.0, bounds, tasks)
    half_width = share * np.maximum(mean - bounds[0], bounds[1] - mean)
    return np.minimum(p_values, 1.0), half_width


def _correlation(differences: Floats) -> Floats:
    """(K, K) correlations to compute probabilities with, in an order that depends on them alone.

    Estimated correlations vary, which makes the factor too small: they are shrunk towards 0, at
    which it is largest (Šidák, 1967), by the share K / (K + T).
    """
    k, tasks = differences.shape
    correlation = np.atleast_2d(np.corrcoef(differences))
    absolute = np.abs(correlation)
    keys = [(absolute**power).sum(axis=0).round(9) for power in (3, 2, 1)]
    order = np.lexsort(keys)
    shrunk = correlation[order][:, order] * (tasks / (k + tasks))
    np.fill_diagonal(shrunk, 1.0)
    return shrunk


def factor(reach: Floats, k: int, df: float, confidence_level: float) -> float:
    """The c that the largest of k absolute t statistics exceeds with probability 1 - confidence_level."""
    low, high = (
        float(scipy.stats.t.isf((1 - confidence_level) / 2 / count, df)) for count in (1, k)
    )

    def excess(c: float) -> float:
        return _exceedance(c, reach, k, df) - (1 - confidence_level)

    # These two bounds hold exactly, the average over directions nearly.
    if excess(low) <= 0:
        return low
    if excess(high) >= 0:
        return high
    return float(brentq(excess, low, high, xtol=1e-14, rtol=1e-14))


def _exceedance(c: float, reach: Floats, k: int, df: float) -> float:
    """Probability that the largest absolute t statistic exceeds c, by its value at points of k
    normal variables.

    A multivariate t vector is a direction times a radius, and the square of the radius is k times
    an F variable with k and df degrees of freedom: the radius is integrated exactly, the direction
    over fixed points (Deák, 1980).
    """
    square = (c / reach) ** 2
    return float((chdtrc(k, square) if isinf(df) else fdtrc(k, df, square / k)).mean())


@lru_cache(4)
def _directions(k: int, points: int) -> Floats:
    """(``points``, k) unit vectors in fixed directions, nearly uniform; read-only."""
    is_prime = (n for n in count(2) if all(n % q for q in range(2, isqrt(n) + 1)))
    primes = list(islice(is_prime, k + k % 2))
    u = np.outer(np.arange(1, points + 1), np.sqrt(primes)) % 1  # Richtmyer's sequence
    radius = np.sqrt(-2 * np.log(u[:, ::2]))
    angle = 2 * np.pi * u[:, 1::2]
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)[:, :k]
    directions: Floats = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    directions.flags.writeable = False
    return directions


def reach_of(correlation: Floats) -> Floats:
    """By direction, the largest absolute coordinate of a point of radius 1 with these
    correlations.
    """
    return np.abs(_directions(len(correlation), POINTS) @ cholesky(correlation).T).max(axis=1)


def cholesky(correlation: Floats) -> Floats:
    """Cholesky's root, also of a matrix of lower rank, as of two equal methods."""
    k = len(correlation)
    root = np.zeros((k, k))
    for j in range(k):
        column = correlation[j:, j] - root[j:, :j] @ root[j, :j]
        if column[0] > 1e-10:
            root[j:, j] = column / sqrt(column[0])
    return root


def comparison_half_widths(distances: Floats, widths: Floats) -> Floats:
    """Half-widths of M bars, of which the sum of two is as near as possible to the width of the
    interval of their difference, on its side towards 0.

    Intervals of means measured on the same units contain what is hard for all of them, which their
    difference does not: they overlap beside differences that are significant. These bars overlap
    exactly where the interval of a difference holds 0.

    Parameters
    ----------
    distances : (M, M) array
        Absolute differences of means; of a pair that is not compared, NaN. What stands on and below
        the diagonal is not read.
    widths : (M, M) array
        How far the interval of a difference reaches from it towards 0 and beyond, finite where the
        distance is.

    Returns
    -------
    (M,) array
        NaN where no half-widths separate all pairs that differ, and no others.

    Notes
    -----
    Goldstein and Healy (1995), The graphical presentation of a collection of means, chose one
    factor of the standard errors for all means; Firth and de Menezes (2004), Quasi-variances, fit a
    number to each. Here least squares fit half-widths, and that two bars overlap exactly where
    their distance is at most their width is a condition.
    """
    count = len(distances)
    first, second = np.nonzero(np.triu(np.isfinite(distances), 1))
    if not len(first):
        return np.full(count, np.nan)
    distance = distances[first, second]
    width = widths[first, second]
    design = np.zeros((len(first), count))
    rows = np.arange(len(first))
    design[rows, first] = design[rows, second] = 1.0
    is_apart = width < distance
    sign = np.where(is_apart, 1.0, -1.0)
    largest = max(width.max(), distance.max(), np.finfo(float).tiny)
    slack = SLACK * distance / largest

    def misfit(half_widths: Floats) -> float:
        return float(((design @ half_widths - width / largest) ** 2).sum())

    def slope(half_widths: Floats) -> Floats:
        return 2 * design.T @ (design @ half_widths - width / largest)

    def margin(half_widths: Floats) -> Floats:
        return sign * (distance / largest - design @ half_widths) - slack

    start = design.T @ (width / largest) / np.maximum(design.sum(axis=0), 1) / 2
    fit = minimize(
        misfit,
        start,
        jac=slope,
        bounds=[(0.0, None)] * count,
        constraints={"type": "ineq", "fun": margin, "jac": lambda _: -sign[:, None] * design},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    half_widths = largest * fit.x
    holds = (design @ half_widths < distance) == is_apart
    return half_widths if holds.all() else np.full(count, np.nan)
