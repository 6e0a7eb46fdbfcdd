"""Bootstrap intervals of a mean over tasks, by the percentile method and BCa: SciPy's, with the checks of this library.

They make no assumption on how accuracies of tasks are distributed, and change nothing of what is random: they draw the
*tasks* again. So of tasks drawn with reuse of images they apply to these images, as `closed_interval` does.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ..errors import InputError, choice, floats, number, whole
from .intervals import LEVEL, Bounds, Ends, Interval, declared_bounds

__all__ = ["BootstrapInterval", "bootstrap_interval"]

METHODS = ("BCa", "percentile")
AT_ONCE = 2**21  # numbers
MOST = 10**7  # resamples
ULPS = 8  # of the largest: values that differ by no more are equal


@dataclass(frozen=True)
class BootstrapInterval(Ends):
    """What `bootstrap_interval` returns, in the unit of the input.

    Attributes
    ----------
    mean : float
        Over the tasks.
    low, high : float
        Ends of the interval, which need not lie equally far from the mean, and not beyond the least and the largest
        value unless all are equal.
    level : float
        Nominal coverage.
    n_tasks : int
        T, the number of tasks behind it.
    method : str
        'BCa' or 'percentile'.
    standard_error : float
        Standard deviation of the means of the resamples.
    """

    method: str
    standard_error: float


def bootstrap_interval(
    accuracies: ArrayLike,
    level: float = LEVEL,
    *,
    method: str = "BCa",
    resamples: int = 9999,
    seed: int = 0,
    bounds: Bounds = None,
) -> BootstrapInterval:
    """Interval of a mean over tasks by the bootstrap (Efron, 1987; DiCiccio and Efron, 1996).

    Parameters
    ----------
    accuracies : (T,) array_like
        One number per task, T ≥ 2: accuracies, or the differences of two methods (`paired_differences`). Of open
        tasks, which share no image, it applies to new images; of closed tasks **of these images alone**: the tasks are
        drawn again, the images never, so it is as short for new images as `closed_interval` is.
    level : float
        Nominal coverage, between 0 and 1.
    method : str
        'percentile': quantiles of the means of resamples. 'BCa': those quantiles moved for bias and skewness.
    resamples : int
        How often T of the tasks are drawn, with replacement; at least twice.
    seed : int
        Same seed, same interval.
    bounds : (float, float), optional
        Least and largest possible value. Where nothing varies no resample does; then the interval is that of `Interval`
        for equal values, which without bounds is infinite.

    Returns
    -------
    BootstrapInterval

    Raises
    ------
    InputError
        Fewer than 2 tasks, NaN or infinity, a level outside (0, 1), another method; for BCa, so few resamples that
        their means lie all on one side of that of the tasks.

    Notes
    -----
    Both take the spread of T numbers for that of all tasks, with T in its denominator and no quantile of Student's, so
    of few tasks they are too short: by √(1 - 1/T) and by the ratio of the two quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> accuracies = np.random.default_rng(0).binomial(75, 0.8, 600) / 75
    >>> print(bootstrap_interval(accuracies))
    0.7962 (0.7925 to 0.7999)
    """
    x, level = floats("accuracies", accuracies), number("level", level, above=0, below=1)
    choice("method", method, METHODS)
    bounds = declared_bounds(accuracies, bounds)
    resamples, seed = whole("resamples", resamples, 2, MOST), whole("seed", seed, least=0)
    if x.size < 2:
        raise InputError(f"accuracies has shape {x.shape}; one number per task for at least 2 tasks is needed")
    mean = float(x.mean())
    if np.ptp(x) <= ULPS * np.finfo(float).eps * np.abs(x).max():  # BCa has no value then
        equal = Interval(mean, 0.0, level, x.size, "open", bounds=bounds)
        return BootstrapInterval(mean, equal.low, equal.high, level, x.size, method, 0.0)
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # an error here
        found = stats.bootstrap(
            (x,),
            np.mean,
            n_resamples=resamples,
            batch=max(1, AT_ONCE // x.size),
            confidence_level=level,
            method=method,
            random_state=np.random.default_rng(seed),
        )
    low, high = map(float, found.confidence_interval)
    if math.isnan(low + high):
        raise InputError(f"resamples = {resamples}; the means of so few lie all on one side, which BCa cannot correct")
    return BootstrapInterval(mean, low, high, level, x.size, method, float(found.bootstrap_distribution.std()))
