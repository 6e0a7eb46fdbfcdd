"""Confidence intervals of a mean accuracy over tasks, and of a difference of two.

The three differ in what they treat as random, which the sampling of the tasks decides; the
arithmetic is that of a mean of T numbers. Equation numbers are those of OOPS
(Lafargue et al., 2024).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ..errors import InputError

__all__ = ["Interval", "closed_interval", "independent_interval", "open_interval", "paired_interval"]


@dataclass(frozen=True)
class Interval:
    """A mean with a symmetric confidence interval, in the unit of the input.

    Attributes
    ----------
    mean, half_width : float
        The interval is mean ± half_width.
    level : float
        Nominal coverage, 0.95 say.
    n_tasks : int
        T, the number of tasks behind it.
    kind : str
        'closed', 'open', 'paired' or 'independent'; of `fslcore.stats.three_intervals` also 'images' and 'classes'.
    df : float
        Degrees of freedom of the Student quantile in it; infinite for a normal one.
    """

    mean: float
    half_width: float
    level: float
    n_tasks: int
    kind: str
    df: float = np.inf

    @property
    def low(self) -> float:
        """Lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half_width

    @property
    def standard_error(self) -> float:
        """Estimated standard deviation of the mean."""
        return self.half_width / float(stats.t.ppf((1 + self.level) / 2, self.df))

    @property
    def conclusion(self) -> int:
        """+1 if the whole interval lies above 0, -1 if below, 0 if it holds 0.

        For a paired interval this is the verdict on which method is better.
        """
        return int(self.low > 0) - int(self.high < 0)

    @property
    def p_value(self) -> float:
        """Two-sided p-value of the hypothesis that the mean is 0, for a paired interval.

        It is below 1 - level exactly where ``conclusion`` is not 0, and equals the p-value of the
        paired t-test (``scipy.stats.ttest_rel``). Without any variance it is 1 if the mean is 0
        and else 0, where SciPy has no value or warns: on few tasks such a 0 says only that the
        differences happen to be equal, as the interval of half-width 0 does.
        """
        if self.half_width == 0:
            return float(self.mean == 0)
        return float(2 * stats.t.sf(abs(self.mean) / self.standard_error, self.df))

    def meets(self, other: Interval) -> bool:
        """Whether the two intervals have a point in common."""
        return self.low <= other.high and other.low <= self.high

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.half_width:.2f}"


def closed_interval(accuracies: ArrayLike, level: float = 0.95) -> Interval:
    """Interval for the mean accuracy *on these very images* (OOPS, Algorithm 1 and equation 3).

    For tasks drawn with reuse of images. Repeating the draw of tasks from the same images gives a
    mean inside it in ``level`` of the cases; it says nothing of new images.

    Parameters
    ----------
    accuracies : (T,) array_like
        Accuracy of each task, T ≥ 2, in any unit (share or percent).
    level : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    Interval
        Half-width z·s/√T, with the normal quantile z (1.96 at 95 %) and the standard deviation s
        with T - 1 in its denominator.

    Raises
    ------
    InputError
        Fewer than 2 tasks, another shape, NaN or infinity, a level outside (0, 1).

    Examples
    --------
    >>> r = closed_interval([0.7, 0.8, 0.75, 0.85])
    >>> round(r.mean, 3), round(r.half_width, 4)
    (0.775, 0.0633)
    """
    return _interval(accuracies, level, "closed", lambda t: np.inf)


def open_interval(accuracies: ArrayLike, level: float = 0.95) -> Interval:
    """Interval for the mean accuracy *on new images* of the same kind (OOPS, Algorithm 2).

    For tasks that share no image, so that their accuracies are independent draws.

    Parameters, errors : as for `closed_interval`.

    Returns
    -------
    Interval
        Half-width t·s/√T, with the quantile t of Student's distribution with T - 1 degrees of
        freedom: there may be few tasks.

    Examples
    --------
    >>> round(open_interval([0.7, 0.8, 0.75, 0.85]).half_width, 4)
    0.1027
    """
    return _interval(accuracies, level, "open", lambda t: t - 1)


def paired_interval(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """Interval for the mean difference of two methods on the same tasks (OOPS, equation 5).

    Tasks are hard or easy for both methods alike, so the difference varies less than either
    accuracy, and what can be concluded is more. On tasks that share no image it speaks of new
    images, as `open_interval` does.

    Parameters
    ----------
    a, b : (T,) array_like
        Accuracies of two methods, task by task in the same order, T ≥ 2.
    level : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    Interval
        Of the mean of a - b, with Student's quantile; ``conclusion`` is +1 where a is better.

    Raises
    ------
    InputError
        Different lengths, and as for `closed_interval`.

    Examples
    --------
    >>> r = paired_interval([0.7, 0.8, 0.75, 0.85], [0.68, 0.77, 0.74, 0.80])
    >>> round(r.mean, 4), round(r.half_width, 4), r.conclusion
    (0.0275, 0.0272, 1)
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape:
        raise InputError(f"a has shape {a.shape}, b has {b.shape}; paired methods share their tasks")
    return _interval(a - b, level, "paired", lambda t: t - 1)


def independent_interval(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """Interval for the difference of the mean accuracies on two sets of tasks that were drawn independently.

    Parameters
    ----------
    a, b : (T,) and (U,) array_like
        Accuracies of each task of the two sets, at least 2 of each.
    level : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    Interval
        Of mean(a) - mean(b), with ``n_tasks`` = T + U and Student's quantile with the degrees of
        freedom of Welch (1947): the two variances may differ.

    Raises
    ------
    InputError
        As for `closed_interval`.

    Examples
    --------
    >>> r = independent_interval([0.7, 0.8, 0.75, 0.85], [0.5, 0.6, 0.4])
    >>> round(r.mean, 3), round(r.half_width, 3), r.conclusion
    (0.275, 0.202, 1)
    """
    one, other = open_interval(a, level), open_interval(b, level)
    variances = np.array([one.standard_error, other.standard_error]) ** 2
    total = variances.sum()
    counts = np.array([one.n_tasks, other.n_tasks])
    df = float(total**2 / (variances**2 / (counts - 1)).sum()) if total > 0 else np.inf
    half = float(stats.t.ppf((1 + level) / 2, df) * np.sqrt(total))
    return Interval(one.mean - other.mean, half, level, int(counts.sum()), "independent", df)


def _interval(values: ArrayLike, level: float, kind: str, degrees: Callable[[int], float]) -> Interval:
    x = np.asarray(values, dtype=float)
    if x.ndim != 1 or x.size < 2:
        raise InputError(f"accuracies have shape {x.shape}; one a task for at least 2 tasks is needed")
    if not np.isfinite(x).all():
        raise InputError(f"accuracies: {(~np.isfinite(x)).sum()} are NaN or infinite")
    if not 0 < level < 1:
        raise InputError(f"level = {level}; a number between 0 and 1 is allowed")
    df = degrees(x.size)
    half = stats.t.ppf((1 + level) / 2, df) * x.std(ddof=1) / np.sqrt(x.size)
    return Interval(float(x.mean()), float(half), level, x.size, kind, df)
