"""p-values of many tests, adjusted so that few or none of the conclusions are false."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control

from ..errors import InputError, floats
from .intervals import Floats


def holm(p_values: ArrayLike) -> Floats:
    """p-values adjusted for the chance of even one false conclusion (Holm, 1979).

    Rejecting where the adjusted value is below 0.05 bounds the chance of even one false conclusion
    among all tests by 5 %, however the tests depend on each other.

    Parameters
    ----------
    p_values : (n,) array_like
        p-values of all the tests that are looked at, n ≥ 0.

    Returns
    -------
    (n,) array
        Adjusted p-values, in the order of ``p_values``; none is below its p-value.

    Raises
    ------
    InputError
        Another shape, NaN, numbers outside 0 to 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3)
    array([0.03, 0.06, 0.06])
    """
    p = _checked_p_values(p_values)
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1)
    return adjusted[np.argsort(order)]


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """p-values adjusted for the share of false conclusions (Benjamini and Hochberg, 1995).

    Rejecting where the adjusted value is below 0.05 bounds the expected share of false ones among
    the conclusions by 5 %, for tests that are independent or positively dependent. Parameters,
    returned array and errors are as for `holm`.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(3)
    array([0.03, 0.04, 0.04])
    """
    p = _checked_p_values(p_values)
    return false_discovery_control(p) if p.size else p


def _checked_p_values(p_values: ArrayLike) -> Floats:
    p = floats("p_values", p_values, extreme=True)
    if ((p < 0) | (p > 1)).any():
        raise InputError(f"p_values must be from 0 to 1, got {p.min():g} to {p.max():g}")
    return p
