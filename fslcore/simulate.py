"""Synthetic data whose truth is known, to see what an interval covers."""

from __future__ import annotations

import numpy as np

from .tasks import Tasks

__all__ = ["gaussian_classes", "nearest_mean_accuracy"]


def gaussian_classes(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The two classes of the OOPS paper's synthetic study (section 4.1): N(-1, 1) and N(1, 1).

    Parameters
    ----------
    n : int
        Images a class, each one number.

    Returns
    -------
    x : (2n,) floats
    labels : (2n,) integers
    """
    labels = np.repeat([0, 1], n)
    return rng.normal(2.0 * labels - 1), labels


def nearest_mean_accuracy(x: np.ndarray, tasks: Tasks) -> np.ndarray:
    """(T,) accuracy of the nearest class mean on one-dimensional data ``x`` (N,)."""
    of_class = tasks.support_label[:, None] == np.arange(tasks.ways)[:, None]
    means = (x[tasks.support][:, None] * of_class).sum(axis=2) / of_class.sum(axis=2)
    nearest = np.abs(x[tasks.query][..., None] - means[:, None]).argmin(axis=2)
    return (nearest == tasks.query_label).mean(axis=1)
