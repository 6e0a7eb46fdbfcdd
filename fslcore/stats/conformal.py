"""Split conformal prediction: from the errors of a predictor on kept-apart cases to an interval for
the next case.
"""

from __future__ import annotations

from math import ceil, inf

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, floats
from .intervals import LEVEL, checked_level


def conformal_quantile(scores: ArrayLike, level: float = LEVEL) -> float:
    """The size of error that the next case exceeds in at most 1 - level of cases.

    Of n calibration scores it is the ⌈(n + 1) · level⌉-th smallest. If these n cases and the next
    one are exchangeable (any order of them is equally likely, as with independent draws of one
    kind), the next score is at most this with a chance of at least ``level``, and without ties of
    less than level + 1 / (n + 1). The chance is over the calibration cases and the next one
    together, whatever the predictor is worth. Vovk, Gammerman and Shafer (2005); Lei et al. (2018),
    Theorem 2.2.

    Parameters
    ----------
    scores : (n,) array_like
        How far off the predictor was on each calibration case: ``|truth - prediction|`` for
        intervals of equal width, the same divided by a predicted spread for intervals whose width
        follows the case. The predictor and the spread must not have seen these cases.
    level : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    float
        In the unit of ``scores``; infinite if n is below level / (1 - level), too few for this
        level.

    Raises
    ------
    InputError
        No scores, another shape, NaN, a level outside (0, 1).

    Examples
    --------
    >>> conformal_quantile([0.03, 0.01, 0.08, 0.02, 0.05, 0.04, 0.06, 0.09, 0.07], level=0.9)
    0.09
    >>> conformal_quantile([0.03, 0.01], level=0.9)
    inf
    """
    x = floats("scores", scores, finite=False)
    if not x.size:
        raise InputError("scores: none is there; at least one case is needed")
    if np.isnan(x).any():
        raise InputError(f"scores: {int(np.isnan(x).sum())} are NaN")
    level = checked_level(level)
    rank = ceil((x.size + 1) * level - 1e-9)  # 10 · 0.9 is 9, not a little more
    return float(np.sort(x)[rank - 1]) if rank <= x.size else inf
