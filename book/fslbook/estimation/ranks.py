"""How well estimates rank M candidates, and what the one they put first is worth, task by task."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from fslcore.errors import InputError, floats, whole
from fslcore.stats.across_datasets import comparable
from fslcore.stats.intervals import Floats

__all__ = ["rank_correlation", "selected_value"]


def rank_correlation(first: ArrayLike, second: ArrayLike) -> Floats | float:
    """Spearman's rank correlation of every row with that row of another array.

    Ties share their mean rank.

    Parameters
    ----------
    first, second : (T, M) or (M,) array_like
        Two values of each of M candidates on each of T tasks, in any unit. A single row goes with
        every row of the other array.

    Returns
    -------
    (T,) array, or a number for two single rows
        -1 to 1; NaN where a row of either is constant, as nothing is ranked there.

    Raises
    ------
    InputError
        Other or different shapes, NaN or infinity.
    """
    arrays = _grids(dimensions=(1, 2), first=first, second=second)
    ranks: list[Floats] = [rankdata(comparable(values), axis=-1) for values in arrays]
    x, y = (r - r.mean(axis=-1, keepdims=True) for r in ranks)
    with np.errstate(invalid="ignore"):
        correlation: Floats | float = (x * y).sum(axis=-1) / np.sqrt(
            (x**2).sum(axis=-1) * (y**2).sum(axis=-1)
        )
    return correlation


def selected_value(estimates: ArrayLike, values: ArrayLike, default: int | None = None) -> Floats:
    """The value of the candidate with the largest estimate, row by row.

    Candidates that tie for the first place are taken in equal shares, which is the expectation of a
    draw among them, so that nothing is random.

    Parameters
    ----------
    estimates, values : (T, M) array_like
        What the choice goes by, and what each of the M candidates is worth, on each of T tasks.
    default : int, optional
        Position of a candidate that is taken alone wherever it ties for the first place.

    Returns
    -------
    (T,) array
        In the unit of ``values``.

    Raises
    ------
    InputError
        As for `rank_correlation`; ``default`` is no candidate.
    """
    checked_estimates, worth = _grids(dimensions=(2,), estimates=estimates, values=values)
    comparable_estimates = comparable(checked_estimates)
    is_best = comparable_estimates == comparable_estimates.max(axis=1, keepdims=True)
    if default is not None:
        default = whole("default", default, 0, is_best.shape[1] - 1)
        is_best[is_best[:, default]] = np.arange(is_best.shape[1]) == default
    return (is_best * worth).sum(axis=1) / is_best.sum(axis=1)


def _grids(dimensions: tuple[int, ...], **arrays: ArrayLike) -> tuple[Floats, Floats]:
    """Two checked arrays of one of these numbers of dimensions, which differ in nothing else."""
    x, y = (floats(name, array, None) for name, array in arrays.items())
    have_one_shape = x.shape == y.shape or (x.ndim != y.ndim and x.shape[-1:] == y.shape[-1:])
    are_grids = x.ndim in dimensions and y.ndim in dimensions
    if not (have_one_shape and are_grids and x.shape[-1] >= 2):
        raise InputError(
            f"{' and '.join(arrays)} must have shape (tasks, candidates) with at least 2 "
            f"candidates, got shapes {x.shape} and {y.shape}"
        )
    return x, y
