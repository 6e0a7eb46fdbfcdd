"""An interval that may be looked at after every task: it holds for all numbers of tasks at once.

The usual interval holds for a number of tasks that was fixed before. If tasks are drawn until
it makes two methods significantly different, equal methods become so sooner or later.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import logsumexp

from ..errors import InputError, floats
from .intervals import (
    DEFAULT_CONFIDENCE_LEVEL,
    Array,
    Interval,
    Pair,
    are_of_difference,
    checked_bounds,
    checked_level,
)
from .targets import Target

# Shares of the wealth that are bet, and how it is first divided among them: most on some tenths, a
# little on all, so that intervals are narrow from some hundred tasks to some ten thousand.
BETS = np.geomspace(1e-4, 0.999, 40)
DIVIDED = 1 / np.cosh(np.log(BETS / 0.7) / 1.5)
DIVIDED /= DIVIDED.sum()
TINY = 1e-12  # the least mean that is tried


def confidence_sequence(
    scores: ArrayLike, confidence_level: float = DEFAULT_CONFIDENCE_LEVEL, *, bounds: Pair = (0, 1)
) -> Interval:
    """Interval of a mean over tasks that holds whenever one stops drawing them.

    Parameters
    ----------
    scores : (T,) array_like
        One number per task, all tasks so far: accuracies, or the differences of two methods on the
        same tasks. Tasks are drawn with reuse of images, so the interval applies to **these
        images**, as `closed_task_interval` does.
    confidence_level : float
        Nominal coverage of all looks together, between 0 and 1.
    bounds : (float, float)
        Least and largest value that there can be: (0, 1) for shares, (0, 100) for percent; (-1, 1)
        or (-100, 100) for differences.

    Returns
    -------
    Interval
        Its ends need not lie equally far from the mean. The intervals after 1, 2, 3 … tasks *all* hold the
        true mean with a probability of ``confidence_level`` or more.

    Raises
    ------
    InputError
        No value, NaN, a value beyond the bounds, bounds in the wrong order.

    Notes
    -----
    A game: before each task a share b of a wealth that begins with 1 is bet on its accuracy x to
    exceed m, which multiplies the wealth by 1 - b + b x/m. If m is the true mean, no bets win on
    average, and the chance that the wealth *ever* reaches 2/α is at most α/2 (Ville, 1939). So each
    m against which so much was won is left out; the upper end is that of 1 - x. Before the first
    task the wealth is divided among many shares b. It is a hedged capital process (Waudby-Smith and
    Ramdas, 2024, section 4) with the mixture of bets of a universal portfolio (Orabona and Jun,
    2024). Nothing is assumed but independent tasks and the bounds, whatever the number of tasks,
    and their order does not matter. The price is 1.6 to 2 times the length of `closed_task_interval`
    from 600 tasks on, and more where values vary by little of what the bounds allow and tasks are
    few.

    Examples
    --------
    >>> import numpy as np
    >>> accuracies = np.random.default_rng(0).binomial(75, 0.8, 600) / 75
    >>> print(confidence_sequence(accuracies[:300]))
    0.794 (0.778 to 0.803)
    >>> print(confidence_sequence(100 * accuracies, bounds=(0, 100)))
    79.62 (78.74 to 80.21)
    """
    x = floats("scores", scores)
    confidence_level = checked_level(confidence_level)
    pair = checked_bounds(bounds)
    if pair is None:
        raise InputError(
            "bounds must be the lowest and the highest possible value, such as (0, 1), got None"
        )
    low, high = pair
    if not x.size:
        raise InputError("scores must have at least 1 task, got none")
    if x.min() < low or x.max() > high:
        raise InputError(
            f"scores must be within bounds = ({low:g}, {high:g}), got {x.min():g} to {x.max():g}; "
            "bounds are (0, 1) for shares, (0, 100) for percent, (-1, 1) or (-100, 100) for "
            "differences"
        )
    share, count = np.unique((x - low) / (high - low), return_counts=True)
    won = np.log(2 / (1 - confidence_level))
    ends = _lower(share, count, won), 1 - _lower(1 - share, count, won)
    first, last = (low + (high - low) * end for end in ends)
    return Interval.from_ends(
        estimate=float(x.mean()),
        low=first,
        high=last,
        confidence_level=confidence_level,
        n=x.size,
        target=Target.THESE_IMAGES,
        is_difference=are_of_difference((low, high)),
    )


def _wealth(share: Array, count: Array, mean: float) -> float:
    """Log of the wealth after bets that values in 0 … 1, of which there are so many, exceed this
    mean on average.
    """
    return float(logsumexp(np.log1p(BETS[:, None] * (share / mean - 1)) @ count, b=DIVIDED))


def _lower(share: Array, count: Array, won: float) -> float:
    """The least mean at which the wealth, which falls with it, has not reached what is needed."""
    mean = float(share @ count / count.sum())
    if mean <= TINY or _wealth(share, count, TINY) <= won:
        return 0.0
    return float(brentq(lambda m: _wealth(share, count, m) - won, TINY, mean, xtol=1e-10))
