"""Synthetic data whose truth is known, to see what an interval covers."""

from __future__ import annotations

import numpy as np

from . import stats
from .tasks import Tasks, sample_closed, sample_open

__all__ = ["coverage", "gaussian_classes", "nearest_mean_accuracy"]


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


def coverage(
    repetitions: int, n: int, *, tasks: int, shots: int, queries: int, level: float, seed: int
) -> tuple[float, dict[str, list[stats.Interval]]]:
    """Closed and open intervals of fresh test sets of the two Gaussian classes.

    Parameters
    ----------
    repetitions : int
        Number of test sets.
    n : int
        Images a class in each.
    tasks : int
        Number of closed tasks; open tasks run until the data are used up.
    shots, queries, level, seed
        Of the tasks and the intervals.

    Returns
    -------
    truth : float
        Mean accuracy (percent) over all images there could be, from 400,000 images a class.
    intervals : dict
        'closed' and 'open': one `Interval` (percent) a test set.
    """
    rng = np.random.default_rng(seed)
    shape = dict(ways=2, shots=shots, queries=queries)
    x, labels = gaussian_classes(400_000, rng)
    truth = 100 * nearest_mean_accuracy(x, sample_open(labels, seed=seed, **shape)).mean()
    made: dict[str, list[stats.Interval]] = {"closed": [], "open": []}
    for repetition in range(repetitions):
        x, labels = gaussian_classes(n, rng)
        closed = sample_closed(labels, tasks=tasks, seed=repetition, **shape)
        opened = sample_open(labels, seed=repetition, **shape)
        made["closed"].append(stats.closed_interval(100 * nearest_mean_accuracy(x, closed), level))
        made["open"].append(stats.open_interval(100 * nearest_mean_accuracy(x, opened), level))
    return float(truth), made
