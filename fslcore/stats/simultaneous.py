"""Several differences at once, as of one method and each of the others: intervals that all hold together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import chdtrc, fdtrc

from ..errors import InputError, floats, number
from .intervals import LEVEL, Bounds, Floats, chance_of_equal, checked_bounds

__all__ = ["Simultaneous", "simultaneous_intervals"]

POINTS = 2**14  # directions over which a probability is averaged


@dataclass(frozen=True, eq=False)
class Simultaneous:
    """K mean differences with intervals that all hold together.

    Attributes
    ----------
    mean, half_width : (K,) arrays
        In the unit of the differences.
    p_values : (K,) array
        Two-sided, adjusted for K comparisons (single-step): below 1 - level where the interval excludes 0.
    factor : float
        Half-width over standard error: between the quantile of Student's t for one comparison and that for K by
        Bonferroni. 0 if no difference varies.
    level : float
        Nominal probability that all K intervals hold.
    """

    mean: Floats
    half_width: Floats
    p_values: Floats
    factor: float
    level: float


def simultaneous_intervals(differences: ArrayLike, level: float = LEVEL, *, bounds: Bounds = None) -> Simultaneous:
    """Intervals for K mean differences on the same tasks, as of one method and each of K others.

    Each is mean ± c standard errors, where the largest of K absolute t statistics stays below c with probability
    ``level``: those of Dunnett (1955), with the correlations of these differences over the tasks in place of those of
    independent groups. The more alike the differences are, the closer c is to the quantile for one comparison. The
    correlations are estimated, and differences taken as normal, as for a t-test: with fewer than some 20 tasks and
    many methods prefer `holm`.

    Parameters
    ----------
    differences : (K, T) array_like
        Of each comparison on each of T tasks (`paired_differences`), 2 tasks at least.
    level : float
        Nominal probability that all K intervals hold.
    bounds : (float, float), optional
        Least and largest possible difference, (-100, 100) for accuracies in percent: needed for a difference that is
        the same on every task.

    Returns
    -------
    Simultaneous
        The largest t statistic's distribution is averaged over 16,384 fixed directions of a multivariate t
        distribution, so that the same input always gives the same numbers; exact for K = 1. A difference that is the
        same on every task has the p-value of `Interval` times K, and a half-width that agrees with it; without bounds 1
        and infinity.

    Raises
    ------
    InputError
        Another shape, NaN or infinity, a level not between 0 and 1.

    Examples
    --------
    >>> ours, others = np.array([7.0, 5, 8, 6]), np.array([[6.0, 5, 5, 4], [6, 2, 7, 5]])
    >>> found = simultaneous_intervals(ours - others)
    >>> found.mean, found.half_width.round(2)
    (array([1.5, 1.5]), array([2.39, 1.85]))
    """
    x = floats("differences", differences, 2)
    number("level", level, above=0, below=1)
    n, tasks = x.shape
    if not n or tasks < 2:
        raise InputError(f"differences have shape {x.shape}; 1 comparison or more on 2 tasks or more is allowed")
    mean = x.mean(axis=1)
    p, half = _of_equal_differences(mean, tasks, level, checked_bounds(bounds))
    varies = np.flatnonzero(np.ptp(x, axis=1) > 0)
    if not varies.size:
        return Simultaneous(mean, half, p, 0.0, level)
    k, df = len(varies), tasks - 1
    error = x[varies].std(ddof=1, axis=1) / math.sqrt(tasks)
    reach = reach_of(np.atleast_2d(np.corrcoef(x[varies])))
    c = factor(reach, k, df, level)
    half[varies] = c * error
    t = np.abs(mean[varies]) / error
    alone = 2 * scipy.stats.t.sf(t, df)
    p[varies] = np.clip([_beyond(of, reach, k, df) for of in t], alone, np.minimum(k * alone, 1))
    return Simultaneous(mean, half, p, c, level)


def _of_equal_differences(mean: Floats, tasks: int, level: float, bounds: Bounds) -> tuple[Floats, Floats]:
    """p-values and half-widths of differences that are each the same on all tasks, by Bonferroni's correction."""
    if bounds is None:
        return np.ones(len(mean)), np.full(len(mean), np.inf)
    share = 1 - ((1 - level) / (2 * len(mean))) ** (1 / tasks)  # of tasks that may differ, see `Interval`
    half = share * np.maximum(mean - bounds[0], bounds[1] - mean)
    p = 2 * len(mean) * chance_of_equal(mean, 0.0, bounds, tasks)
    return np.minimum(p, 1.0), half


def factor(reach: Floats, k: int, df: float, level: float) -> float:
    """The c that the largest of k absolute t statistics exceeds with probability 1 - level."""
    low, high = (float(scipy.stats.t.isf((1 - level) / 2 / count, df)) for count in (1, k))

    def excess(c: float) -> float:
        return _beyond(c, reach, k, df) - (1 - level)

    if excess(low) <= 0 or excess(high) >= 0:  # the bounds hold exactly, the average nearly
        return low if excess(low) <= 0 else high
    return float(brentq(excess, low, high, xtol=1e-14, rtol=1e-14))


def _beyond(c: float, reach: Floats, k: int, df: float) -> float:
    """Probability that the largest absolute t statistic exceeds c, by its value at points of k normal variables.

    A multivariate t vector is a direction times a radius, and the square of the radius is k times an F variable with k
    and df degrees of freedom: the radius is integrated exactly, the direction over fixed points (Deák, 1980).
    """
    square = (c / reach) ** 2
    return float((chdtrc(k, square) if math.isinf(df) else fdtrc(k, df, square / k)).mean())


@lru_cache(4)
def _directions(k: int, points: int) -> Floats:
    """(``points``, k) unit vectors in fixed directions, nearly uniform; read-only."""
    primes = [*islice((p for p in count(2) if all(p % q for q in range(2, math.isqrt(p) + 1))), k + k % 2)]
    u = np.outer(np.arange(1, points + 1), np.sqrt(primes)) % 1  # Richtmyer's sequence
    radius, angle = np.sqrt(-2 * np.log(u[:, ::2])), 2 * np.pi * u[:, 1::2]
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)[:, :k]
    out: Floats = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    out.flags.writeable = False
    return out


def reach_of(correlation: Floats) -> Floats:
    """By direction, the largest absolute coordinate of a point of radius 1 that is given these correlations."""
    k = len(correlation)
    root = np.zeros((k, k))  # Cholesky's, also of a matrix of lower rank, as of two equal methods
    for j in range(k):
        rest = correlation[j:, j] - root[j:, :j] @ root[j, :j]
        if rest[0] > 1e-10:
            root[j:, j] = rest / math.sqrt(rest[0])
    return np.asarray(np.abs(_directions(k, POINTS) @ root.T).max(axis=1))
