"""Do the intervals for the worst class and for gaps hold what they promise? Replicates on worlds with attributes.

A world is a set of classes and of attributes: an image's features are its class's mean, plus a
shift for each attribute it has, plus noise. What attributes do is the same for all classes: new
classes come with the same attributes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from fslcore.stats import Target
from fslcore.stats.influence import Influence

from . import worst_class
from .coverage import scaled_truth, share_of
from .worlds import NAMES, World, classes_of, shifts_of, test_set


def replicates(
    world: World, new: str, worlds: int, sets: int, *, seed: int = 0, first: int = 0
) -> pd.DataFrame:
    """Means and half-widths of many test sets, in percent.

    Parameters
    ----------
    new : str
        'images': the test sets of a world differ in their images. 'classes': a world has one test
        set (``sets`` = 1), and all worlds have the same attributes.
    worlds, sets : int
        Worlds, and test sets of each.
    seed, first : int
        World w has the random stream (seed, first + w).

    Returns
    -------
    DataFrame
        A row a test set, statement ('wAcc-R', 'wAcc-A', 'gap' of the first backbone, and
        'difference of gaps' of the two) and interval ('closed', 'images' or 'classes'): new, world,
        set, statement, interval, mean, low, high, and ``halves``, the mean over even tasks minus
        that over odd ones.
    """
    rows = []
    for number in range(first, first + worlds):
        rng = np.random.default_rng([seed, number])
        shifts = shifts_of(world, rng if new == "images" else np.random.default_rng(seed))
        population = shifts, *classes_of(world, rng)
        for repeat in range(sets):
            runs = test_set(world, population, rng)
            for row in _intervals(runs, new):
                rows.append(dict(new=new, world=number, set=repeat, **row))
    return pd.DataFrame(rows)


def _intervals(runs: worst_class.Runs, new: str) -> Iterator[dict[str, object]]:
    """The rows of one test set."""
    even, odd = _statements(runs[::2]), _statements(runs[1::2])
    for statement, influence in _statements(runs).items():
        # A gap is a difference already, and is compared here with another one.
        bounds = (0, 100) if statement.startswith("wAcc") else (-200, 200)
        result = influence.intervals(bounds=bounds)
        halves = even[statement].mean - odd[statement].mean
        for kind in ("closed", new):
            r = getattr(result, kind)
            ends = {"mean": r.estimate, "low": r.low, "high": r.high}
            yield {"statement": statement, "interval": kind, **ends, "halves": halves}


def _statements(runs: worst_class.Runs) -> dict[str, Influence]:
    return runs.measures("a") | {"difference of gaps": runs.measures(*NAMES)["gap"]}


def summary(test_sets: pd.DataFrame) -> pd.DataFrame:
    """Share (percent) of intervals that hold the truth, for what was drawn new, by statement.

    The truth is the mean over the replicates (of a world, for new images), for which errors are
    scaled.

    Returns
    -------
    DataFrame
        target ('these images', 'new images' or 'new classes'), statement, interval ('closed',
        'images' or 'classes'), share, low, high (its 95 % interval, by Clopper and Pearson; test
        sets of a world count as independent) and n. Closed intervals on these images are judged by
        the two halves of the tasks.
    """
    rows = []
    closed = test_sets[test_sets["interval"] == "closed"]
    for statement, part in closed.groupby("statement", sort=False):
        truth = part["mean"] - part["halves"] / 2
        place = {"target": Target.THESE_IMAGES.value, "statement": statement, "interval": "closed"}
        rows.append(place | _share(part, truth))
    keys = ["new", "statement", "interval"]
    for (new, statement, interval), part in test_sets.groupby(keys, sort=False):
        world = part["world"] if new == "images" else part["world"] * 0
        place = {"target": f"new {new}", "statement": statement, "interval": interval}
        rows.append(place | _share(part, scaled_truth(part["mean"], world)))
    return pd.DataFrame(rows)


def _share(part: pd.DataFrame, truth: pd.Series) -> dict[str, float]:
    """How many of these intervals contain the truth."""
    return share_of((part["low"] <= truth) & (truth <= part["high"]))


def rows(study: pd.DataFrame) -> pd.DataFrame:
    """`summary` as `fslbook.figures.forest` draws it: a panel per target, a row per statement."""
    named = study.rename(columns={"target": "panel", "statement": "row", "share": "mean"})
    return named.assign(series=np.where(study["interval"] == "closed", "closed", "ours"))
