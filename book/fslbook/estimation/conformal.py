"""Split conformal prediction: from the errors of a predictor on kept-apart cases to an interval for
the next case.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fslcore.errors import InputError, floats
from fslcore.stats.intervals import DEFAULT_CONFIDENCE_LEVEL, checked_level


def conformal_quantile(
    scores: ArrayLike, confidence_level: float = DEFAULT_CONFIDENCE_LEVEL
) -> float:
    """The size of error that the next case exceeds in at most 1 - confidence_level of cases.

    Of n calibration scores it is the ⌈(n + 1) · confidence_level⌉-th smallest. If these n cases and the next
    one are exchangeable (any order of them is equally likely, as with independent draws of one
    kind), the next score is at most this with a chance of at least ``confidence_level``, and without ties of
    less than confidence_level + 1 / (n + 1). The chance is over the calibration cases and the next one
    together, whatever the predictor is worth. Vovk, Gammerman and Shafer (2005); Lei et al. (2018),
    Theorem 2.2.

    Parameters
    ----------
    scores : (n,) array_like
        How far off the predictor was on each calibration case: ``|truth - prediction|`` for
        intervals of equal width, the same divided by a predicted spread for intervals whose width
        follows the case. The predictor and the spread must not have seen these cases.
    confidence_level : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    float
        In the unit of ``scores``; infinite if n is below confidence_level / (1 - confidence_level), too few for this
        level.

    Raises
    ------
    InputError
        No scores, another shape, NaN, a level outside (0, 1).
    """
    x = floats("scores", scores, finite=False)
    if not x.size:
        raise InputError("scores must have at least one case, got none")
    if np.isnan(x).any():
        raise InputError(f"scores: {int(np.isnan(x).sum())} are NaN")
    confidence_level = checked_level(confidence_level)
    # The next score counts as infinite: the quantile is then the ⌈(n + 1) · confidence_level⌉-th smallest.
    return float(np.quantile(np.append(x, np.inf), confidence_level, method="inverted_cdf"))
