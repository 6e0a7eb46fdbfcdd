"""Synthetic data whose truth is known, to see what an interval covers."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy import ndarray
from numpy.random import Generator
from scipy.stats import norm as normal

from fslcore import stats
from fslcore.stats.pilot import Moments
from fslcore.tasks import Tasks, sample_closed, sample_open

# The classes of the OOPS paper's synthetic study: one-dimensional, N(-1, 1) and N(1, 1).
PAPER = np.array([[-1.0], [1.0]])


def gaussian_classes(n: int, rng: Generator) -> tuple[ndarray, ndarray]:
    """The two classes of the OOPS paper's synthetic study (section 4.1): N(-1, 1) and N(1, 1).

    Parameters
    ----------
    n : int
        Images per class, each one number.

    Returns
    -------
    x : (2n,) floats
    labels : (2n,) integers
    """
    labels = np.repeat([0, 1], n)
    return rng.normal(2.0 * labels - 1), labels


def nearest_mean_accuracy(x: ndarray, tasks: Tasks) -> ndarray:
    """(T,) accuracy of the nearest class mean on one-dimensional data ``x`` (N,); classes of equal size."""
    return nearest_mean(x[:, None], tasks).mean(axis=(1, 2))


def nearest_mean(x: ndarray, tasks: Tasks) -> ndarray:
    """(T, K, Q) whether the nearest class mean is right, on data ``x`` (N, D); classes of equal size."""
    shape = (len(tasks), tasks.ways, -1, x.shape[1])
    return _nearest(x[tasks.support].reshape(shape), x[tasks.query].reshape(shape))


def _nearest(support: ndarray, query: ndarray) -> ndarray:
    """(T, K, Q) from supports (T, K, S, D) and queries (T, K, Q, D)."""
    means = support.mean(axis=2)
    tasks, ways, queries, dimensions = query.shape
    # Of a query and each mean: half of the query's square less their squared distance.
    products = means @ query.reshape(tasks, -1, dimensions).mT
    nearness = products - (means**2).sum(axis=-1, keepdims=True) / 2
    nearness = nearness.reshape(tasks, ways, ways, queries)
    own = np.arange(ways)
    return nearness[:, own, own] == nearness.max(axis=1)


def coverage(
    repetitions: int, n: int, *, tasks: int, shots: int, queries: int, level: float, seed: int
) -> tuple[float, dict[str, list[stats.Interval]]]:
    """Closed and open intervals of fresh test sets of the two Gaussian classes.

    Parameters
    ----------
    repetitions : int
        Number of test sets.
    n : int
        Images per class in each.
    tasks : int
        Number of closed tasks; open tasks run until the data are used up.
    shots, queries, level, seed
        Of the tasks and the intervals.

    Returns
    -------
    truth : float
        Mean accuracy (percent) over all images there could be, from 400,000 images per class.
    intervals : dict
        'closed' and 'open': one `Interval` (percent) a test set.
    """
    rng = np.random.default_rng(seed)
    shape = dict(ways=2, shots=shots, queries=queries)
    x, labels = gaussian_classes(400_000, rng)
    truth = _percent(x, sample_open(labels, seed=seed, **shape)).mean()
    closed, opened = [], []
    for repetition in range(repetitions):
        x, labels = gaussian_classes(n, rng)
        sampled = sample_closed(labels, tasks=tasks, seed=repetition, **shape)
        closed.append(stats.closed_task_interval(_percent(x, sampled), level))
        sampled = sample_open(labels, seed=repetition, **shape)
        opened.append(stats.open_task_interval(_percent(x, sampled), level))
    return float(truth), {"closed": closed, "open": opened}


def _percent(x: ndarray, tasks: Tasks) -> ndarray:
    return 100 * nearest_mean_accuracy(x, tasks)


def centres(ways: int, separation: float) -> ndarray:
    """(K, D) class means at equal distances ``separation``: on a line for two classes, else D = K."""
    return separation / 2 * PAPER if ways == 2 else separation / np.sqrt(2) * np.eye(ways)


def gaussian_tasks(
    means: ndarray,
    tasks: int,
    shots: int,
    queries: int,
    rng: Generator,
    noise: float = 0.0,
) -> ndarray:
    """(T, K, Q) whether each query is nearest to its own class's support mean, in fresh tasks.

    Images are drawn from N(mean of the class, identity). Tasks that share no image, made of
    independent images until none is left, are independent tasks: so these are also the open tasks
    of a data set with K classes, or of many data sets one after the other.

    Parameters
    ----------
    means : (K, D) floats
        Of the classes.
    tasks, shots, queries : int
        T, S and Q.
    noise : float
        If positive, the values are the paired difference from a second method, which sees the same
        images with normal noise of this standard deviation added.
    """
    ways, dimensions = means.shape
    values = np.empty((tasks, ways, queries), dtype=np.int8)
    step = max(1, 2**20 // (ways * dimensions * (shots + queries)))
    for at in range(0, tasks, step):
        shape = (min(step, tasks - at), ways, shots + queries, dimensions)
        x = rng.standard_normal(shape, dtype=np.float32) + means[:, None].astype(np.float32)
        values[at : at + step] = _nearest(x[:, :, :shots], x[:, :, shots:])
        if noise:
            x += noise * rng.standard_normal(shape, dtype=np.float32)
            values[at : at + step] -= _nearest(x[:, :, :shots], x[:, :, shots:])
    return values


def gaussian_pilot(
    means: ndarray, n: int, tasks: int, shots: int, queries: int, seed: int, noise: float = 0.0
) -> ndarray:
    """(T, K, Q) values of closed tasks on one fresh data set of ``n`` images per class; else as `gaussian_tasks`."""
    rng = np.random.default_rng(seed)
    ways, dimensions = means.shape
    x = rng.normal(np.repeat(means, n, axis=0))
    labels = np.repeat(np.arange(ways), n)
    closed_tasks = sample_closed(
        labels, tasks=tasks, ways=ways, shots=shots, queries=queries, seed=seed
    )
    values = nearest_mean(x, closed_tasks).astype(np.int8)
    return (
        values - nearest_mean(x + rng.normal(0, noise, x.shape), closed_tasks) if noise else values
    )


def gaussian_moments(shots: int, separation: float = 2.0) -> Moments:
    """Moments of the two Gaussian classes in one dimension, without sampling.

    The midpoint of the two support means is N(0, 1/2S) and their difference N(separation, 2/S),
    independent of it. Given both, a class's accuracy is a value of the normal distribution
    function; where the difference is negative, right and wrong change places. The integral over the
    midpoint is by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    weights = weights / weights.sum()
    midpoint = nodes / np.sqrt(2 * shots)
    left, right = normal.cdf(separation / 2 + midpoint), normal.cdf(separation / 2 - midpoint)
    swapped = normal.cdf(-separation / np.sqrt(2 / shots))

    def mean(moment) -> float:
        return float(
            weights @ ((1 - swapped) * moment(left, right) + swapped * moment(1 - left, 1 - right))
        )

    m1 = mean(lambda a, b: (a + b) / 2)
    m2, m3 = mean(lambda a, b: (a**2 + b**2) / 2), mean(lambda a, b: a * b / 2)
    return Moments(m1, m1, m2, m3, m1**2, 2)


def open_variances(
    n: int,
    shots: int,
    queries: list[int],
    repetitions: int,
    rng: Generator,
    means: ndarray = PAPER,
) -> pd.DataFrame:
    """Variance, over fresh data sets, of the mean accuracy of open tasks until the images are used up.

    Parameters
    ----------
    n : int
        Images per class in each data set.
    shots : int
        S.
    queries : list of int
        Values of Q; those that leave no task are left out.
    repetitions : int
        Data sets for each Q.

    Returns
    -------
    DataFrame
        One row a Q: queries, tasks (T), variance of the mean share of right queries, and its
        standard error, by the fourth moment.
    """
    rows = []
    for q in queries:
        tasks = n // (shots + q)
        if not tasks:
            continue
        correct = gaussian_tasks(means, repetitions * tasks, shots, q, rng)
        mean = correct.reshape(repetitions, -1).mean(axis=1)
        variance = mean.var(ddof=1)
        fourth = ((mean - mean.mean()) ** 4).mean()
        rows.append((q, tasks, variance, np.sqrt((fourth - variance**2) / repetitions)))
    return pd.DataFrame(rows, columns=["queries", "tasks", "variance", "error"])
