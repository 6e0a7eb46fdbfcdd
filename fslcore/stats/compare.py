"""Which of two methods is better, by each of the three ways to tell (OOPS, section 2.3 and 3), and
of many pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control

from ..errors import InputError, floats, instance
from .intervals import Floats, Interval

__all__ = ["CONCLUSION", "benjamini_hochberg", "compare", "holm"]

CONCLUSION = {1: "+", -1: "−", 0: "0"}  # as the paper prints them


def compare(a: Interval, b: Interval) -> int:
    """+1 if a is better, -1 if b is, 0 if nothing can be concluded.

    Two closed or two open intervals are conclusive when they do not meet (OOPS, equation 4). Where
    all tasks gave one value, an interval without bounds is infinite, and nothing is concluded
    (`Interval`).

    Raises
    ------
    InputError
        The intervals differ in kind or level, or are paired (whose own ``conclusion`` says it).
    """
    instance("a", a, Interval), instance("b", b, Interval)
    if a.kind != b.kind or a.level != b.level or a.kind == "paired":
        raise InputError(
            f"cannot compare a {a.kind} interval at {a.level} with a {b.kind} one at {b.level}; "
            "two closed or two open ones at one level are allowed"
        )
    return 0 if a.meets(b) else int(np.sign(a.mean - b.mean))


def holm(p: ArrayLike) -> Floats:
    """p-values of many tests, adjusted so that one below 1 - level is no false conclusion at that
    level (Holm, 1979).

    Rejecting where the adjusted value is below 0.05 bounds the chance of even one false conclusion
    among all tests by 5 %, however the tests depend on each other.

    Parameters
    ----------
    p : (n,) array_like
        p-values of all the tests that one looks at, n ≥ 0.

    Returns
    -------
    (n,) array
        Adjusted p-values, in the order of ``p``; none is below its p.

    Raises
    ------
    InputError
        Another shape, NaN, numbers outside 0 to 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3)
    array([0.03, 0.06, 0.06])
    """
    p = _p_values(p)
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1)
    return adjusted[np.argsort(order)]


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """p-values of many tests, adjusted to bound the share of false conclusions (Benjamini and
    Hochberg, 1995).

    Rejecting where the adjusted value is below 0.05 bounds the expected share of false ones among
    the conclusions by 5 %, for tests that are independent or positively dependent. Parameters,
    returned array, errors : as for `holm`.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(3)
    array([0.03, 0.04, 0.04])
    """
    p = _p_values(p)
    return false_discovery_control(p) if p.size else p


def _p_values(p: ArrayLike) -> Floats:
    p = floats("p", p, extreme=True)
    if ((p < 0) | (p > 1)).any():
        raise InputError(f"p goes from {p.min():g} to {p.max():g}; p-values are from 0 to 1")
    return p
