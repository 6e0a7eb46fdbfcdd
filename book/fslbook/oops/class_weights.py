"""How much each class weighs in the mean over open tasks, with the class sizes of the OOPS paper's data sets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy import ndarray

from fslcore import stats
from fslcore.errors import InputError
from fslcore.paths import DATA
from fslcore.tasks import sample_open

from ..checks import OOPS_DATASETS

ACCURACIES = (0.5, 1.0)  # of classes in the simulation: uniform, whatever their size


def class_sizes() -> dict[str, ndarray]:
    """Images of each novel class by data set, as Meta-Dataset lists them (``data/published/oops_class_sizes.csv``)."""
    table = pd.read_csv(DATA / "published" / "oops_class_sizes.csv")
    by_set = table.groupby("dataset", sort=False)
    return {
        name: np.repeat(classes["n_images"], classes["classes"]).to_numpy()
        for name, classes in by_set
    }


def expected_uses(sizes: ndarray, *, ways: int, images: int, max_tasks: int) -> ndarray:
    """About how many open tasks hold each class, without classes that are too small for one.

    All classes are used at the same rate until their images run out, and sampling stops when fewer
    than K classes are left, or at a number of tasks.

    Parameters
    ----------
    sizes : (C,) integers
        Images of each class.
    ways, images, max_tasks : int
        K; S + Q; the largest number of tasks.

    Returns
    -------
    (C',) floats
        min(r, h), with r = ⌊n/(S + Q)⌋ of each class with r of at least 1, and h the K-th largest
        r, or less where the sum would exceed K times ``most``. Empty if there are fewer than K
        classes.
    """
    possible = np.sort(sizes // images)
    possible = possible[possible > 0]
    if len(possible) < ways:
        return np.zeros(0)
    uses = np.minimum(possible, possible[-ways])
    if uses.sum() <= ways * max_tasks:
        return uses.astype(float)
    # The height at which uses add up to K · max_tasks: the classes below it are used up, the others
    # share what is left.
    used_up = np.concatenate([[0], possible.cumsum()[:-1]])
    height = (ways * max_tasks - used_up) / np.arange(len(possible), 0, -1)
    return np.minimum(possible, height[height <= possible][0])


def paper_weights(*, ways: int, images: int, max_tasks: int) -> pd.DataFrame:
    """Weight of each class in open tasks of the paper's data sets, as a multiple of the average: dataset, weight."""
    parts = []
    for name, sizes in class_sizes().items():
        uses = expected_uses(sizes, ways=ways, images=images, max_tasks=max_tasks)
        parts.append(
            pd.DataFrame(
                {
                    "dataset": OOPS_DATASETS[name],
                    "weight": uses / uses.mean() if len(uses) else uses,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def coverage(
    *,
    ways: int,
    shots: int,
    queries: int,
    max_tasks: int,
    level: float,
    test_sets: int,
    seed: int,
) -> pd.DataFrame:
    """How often open intervals contain the mean in which classes have equal weight, by simulation.

    Each test set has the class sizes of one of the paper's data sets, and new accuracies of the
    classes, drawn uniformly and unrelated to size. Queries are right with the accuracy of their
    class.

    Parameters
    ----------
    ways, shots, queries, max_tasks : int
        Of the tasks; the largest number of them.
    level : float
        Of the intervals.
    test_sets : int
        For each data set and way of drawing tasks.
    seed : int
        Of accuracies and tasks.

    Returns
    -------
    DataFrame
        dataset, drawn ('by size' or 'balanced'), tasks (of the last test set), share (%). Only data
        sets whose classes differ in weight, and that hold 2 tasks.
    """
    rows = []
    for name, possible in _sets_with_unequal_weights(ways, shots + queries, max_tasks):
        for scheme in ("by size", "balanced"):
            shape = dict(ways=ways, max_tasks=max_tasks, balanced=scheme == "balanced")
            intervals = [
                _interval(possible, queries, level, [seed, number], shape)
                for number in range(test_sets)
            ]
            rows.append((name, scheme, intervals[-1][-1], _share(intervals)))
    columns = ["dataset", "drawn", "tasks", "share"]
    return pd.DataFrame(rows, columns=columns).dropna(ignore_index=True)


def _sets_with_unequal_weights(
    ways: int, images: int, max_tasks: int
) -> Iterator[tuple[str, ndarray]]:
    """Data sets whose classes differ in weight, and how many tasks each class could be in."""
    for name, sizes in class_sizes().items():
        uses = expected_uses(sizes, ways=ways, images=images, max_tasks=max_tasks)
        if len(uses) and uses.min() < uses.max():
            yield OOPS_DATASETS[name], sizes[sizes >= images] // images


def _interval(possible: ndarray, queries: int, level: float, seed: list[int], shape: dict) -> tuple:
    """Ends of an open interval, the mean in which classes have equal weight, and the number of tasks; NaN below 2."""
    rng = np.random.default_rng(seed)
    accuracy = rng.uniform(*ACCURACIES, len(possible))
    # Two labels for each task that a class could be in: tasks of one shot and one query then draw
    # classes the same way.
    labels = np.repeat(np.arange(len(possible)), 2 * possible)
    try:
        tasks = sample_open(labels, shots=1, queries=1, seed=int(rng.integers(2**31)), **shape)
    except InputError:
        return np.nan, np.nan, np.nan, 0
    right = rng.binomial(queries, accuracy[labels[tasks.support]]).mean(axis=1) / queries
    interval = stats.open_task_interval(right, level)
    return interval.low, interval.high, accuracy.mean(), len(tasks)


def _share(intervals: list[tuple]) -> float:
    """Percentage of intervals that contain their truth; NaN without any."""
    inside = [low <= truth <= high for low, high, truth, _ in intervals if not np.isnan(low)]
    return 100 * np.mean(inside) if inside else np.nan
