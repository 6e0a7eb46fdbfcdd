"""How well estimates rank M candidates, and what the one they put first is worth, task by task."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from ..errors import InputError, floats, whole
from .intervals import Floats

__all__ = ["picked", "rank_correlation"]

DIGITS = 9  # of the largest: values that differ by less are equal, as sums of shares are rounded


def rank_correlation(a: ArrayLike, b: ArrayLike) -> Floats | float:
    """Spearman's rank correlation of every row of a with that row of b; ties share their mean rank.

    Parameters
    ----------
    a, b : (T, M) or (M,) array_like
        Two values of each of M candidates on each of T tasks, in any unit. A single row goes with
        every row of the other array.

    Returns
    -------
    (T,) array, or a number for two single rows
        -1 to 1; NaN where a row of a or b is constant, as nothing is ranked there.

    Raises
    ------
    InputError
        Other or different shapes, NaN or infinity.
    """
    ranks: list[Floats] = [rankdata(comparable(x), axis=-1) for x in _grids(rows=(1, 2), a=a, b=b)]
    x, y = (r - r.mean(axis=-1, keepdims=True) for r in ranks)
    with np.errstate(invalid="ignore"):
        found: Floats | float = (x * y).sum(axis=-1) / np.sqrt(
            (x**2).sum(axis=-1) * (y**2).sum(axis=-1)
        )
    return found


def picked(estimate: ArrayLike, value: ArrayLike, default: int | None = None) -> Floats:
    """The value of the candidate with the largest estimate, row by row.

    Candidates that tie for the first place are taken in equal shares, which is the expectation of a
    draw among them; so nothing is random.

    Parameters
    ----------
    estimate, value : (T, M) array_like
        What one chooses by, and what the choice is worth.
    default : int, optional
        A candidate that is taken alone wherever it ties for the first place: one does not leave it
        without a reason.

    Returns
    -------
    (T,) array
        In the unit of ``value``.

    Raises
    ------
    InputError
        As for `rank_correlation`; ``default`` is no candidate.
    """
    estimate, value = _grids(estimate=estimate, value=value)
    estimate = comparable(estimate)
    first = estimate == estimate.max(axis=1, keepdims=True)
    if default is not None:
        default = whole("default", default, 0, first.shape[1] - 1)
        stays = first[:, default]
        first[stays] = np.arange(first.shape[1]) == default
    return np.asarray((first * value).sum(axis=1) / first.sum(axis=1))


def comparable(values: Floats) -> Floats:
    """Values in units of a power of ten that none exceeds, without what comes from rounding."""
    unit = 10.0 ** np.ceil(np.log10(np.abs(values).max(initial=np.finfo(float).tiny)))
    return np.asarray(np.round(values / unit, DIGITS))


def _grids(rows: tuple[int, ...] = (2,), **given: ArrayLike) -> tuple[Floats, Floats]:
    """Checked arrays of one of these numbers of dimensions, which differ in nothing else."""
    a, b = (floats(name, x, None) for name, x in given.items())
    alike = a.shape == b.shape or (a.ndim != b.ndim and a.shape[-1:] == b.shape[-1:])
    if not (alike and a.ndim in rows and b.ndim in rows and a.shape[-1] >= 2):
        raise InputError(
            f"{' and '.join(given)} have shapes {a.shape} and {b.shape}; both (tasks, candidates) "
            "with 2 candidates or "
            "more are needed"
        )
    return a, b
