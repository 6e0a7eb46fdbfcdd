"""Do the intervals for the worst class and for gaps hold what they promise? Replicates on worlds with attributes.

A world is a set of classes and of attributes: an image's features are its class's mean, plus a shift for
each attribute it has, plus noise. What attributes do is the same for all classes: new classes come with the same
attributes.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from fslcore import stats
from fslcore.results.three import TARGETS

from . import worst_class
from .worlds import NAMES, World, classes_of, shifts_of, test_set

__all__ = ["replicates", "summary"]


def replicates(world: World, new: str, worlds: int, sets: int, *, seed: int = 0, first: int = 0) -> pd.DataFrame:
    """Means and half-widths of many test sets, in percent.

    Parameters
    ----------
    new : str
        'images': the test sets of a world differ in their images. 'classes': a world has one test set (``sets`` = 1),
        and all worlds have the same attributes.
    worlds, sets : int
        Worlds, and test sets of each.
    seed, first : int
        World w has the random stream (seed, first + w).

    Returns
    -------
    DataFrame
        A row a test set and statement ('wAcc-R', 'wAcc-A', 'gap' of the first backbone, and 'difference of gaps' of
        the two): new, world, set, statement, mean, the half-widths closed, images and classes, and ``halves``, the mean
        over even tasks minus that over odd ones.
    """
    rows = []
    for number in range(first, first + worlds):
        rng = np.random.default_rng([seed, number])
        shifts = shifts_of(world, rng if new == "images" else np.random.default_rng(seed))
        made = shifts, *classes_of(world, rng)
        for repeat in range(sets):
            runs = test_set(world, *made, rng, int(rng.integers(2**31)))
            even, odd = (_statements(runs[part]) for part in (slice(0, None, 2), slice(1, None, 2)))
            for statement, influence in _statements(runs).items():
                r = influence.intervals()
                widths = [getattr(r, kind).half_width for kind in TARGETS]
                halves = even[statement].mean - odd[statement].mean
                rows.append((new, number, repeat, statement, r.closed.mean, *widths, halves))
    return pd.DataFrame(rows, columns=["new", "world", "set", "statement", "mean", *TARGETS, "halves"])


def _statements(runs: worst_class.Runs) -> dict[str, stats.Influence]:
    return runs.measures("a") | {"difference of gaps": runs.measures(*NAMES)["gap"]}


def summary(made: pd.DataFrame) -> pd.DataFrame:
    """Share (percent) of intervals that hold the truth, for what was drawn anew, by statement.

    The truth is the mean over the replicates (of a world, for new images), for which errors are scaled.

    Returns
    -------
    DataFrame
        target ('these images', 'new images' or 'new classes'), statement, interval ('closed', 'images' or 'classes'),
        share, low, high (its 95 % interval, by Clopper and Pearson; test sets of a world count as
        independent), n and half_width (mean). Closed intervals on these images are judged by the two halves of the
        tasks.
    """
    rows = []

    def add(target, statement, interval, error, half):
        hits, n = int((error.abs() <= half).sum()), len(half)
        low, high = binomtest(hits, n).proportion_ci()
        rows.append((target, statement, interval, *(100 * x for x in (hits / n, low, high)), n, half.mean()))

    for statement, part in made.groupby("statement", sort=False):
        add(TARGETS["closed"], statement, "closed", part["halves"] / 2, part["closed"])
    for (new, statement), part in made.groupby(["new", "statement"], sort=False):
        by_world = part.groupby("world")["mean"] if new == "images" else part["mean"].groupby(np.zeros(len(part)))
        error = part["mean"] - by_world.transform("mean")
        k = by_world.transform("size")
        error = error * np.sqrt(k / (k - 1))
        for interval in ("closed", new):
            add(f"new {new}", statement, interval, error, part[interval])
    return pd.DataFrame(rows, columns=["target", "statement", "interval", "share", "low", "high", "n", "half_width"])
