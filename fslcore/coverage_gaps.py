"""Do the intervals for the worst class and for gaps hold what they promise? Replicates on worlds with attributes.

A world is a set of classes and of attributes: an image's features are its class's mean, plus a shift for
each attribute it has, plus noise. What attributes do is the same for all classes: new classes come with the same attributes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from scipy.stats import binomtest

from . import honest, learners, stats
from .bank import Bank
from .coverage import DIMENSIONS
from .evaluate import evaluate
from .targets import TARGETS

__all__ = ["WORLD", "World", "replicates", "summary"]

NAMES = ("a", "b")


@dataclass(frozen=True)
class World:
    """Sizes of a world and of a test set.

    Attributes
    ----------
    classes, images : int
        C, and images of each class.
    attributes : int
        Each image has each of them with the chance ``share``.
    ways, shots, queries, tasks : int
        Of the tasks of each kind.
    spread, reliance : float
        Standard deviation of the class means, and length of the shift of an attribute, in each of 16 dimensions and
        in units of an image's noise.
    """

    classes: int = 16
    images: int = 40
    attributes: int = 5
    share: float = 0.35
    ways: int = 3
    shots: int = 1
    queries: int = 8
    tasks: int = 800
    spread: float = 0.8
    reliance: float = 0.6


WORLD = World()


def _shifts(world: World, rng: np.random.Generator) -> np.ndarray:
    """(2, A, D) what the attributes do to the features of two backbones."""
    return world.reliance * rng.normal(size=(2, world.attributes, DIMENSIONS))


def _classes(world: World, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Class means (2, C, D) as two backbones see them, and chances (C, A) of the attributes."""
    common, apart = (rng.normal(size=(n, world.classes, DIMENSIONS)) for n in (1, 2))
    chance = np.clip(world.share + 0.1 * rng.normal(size=(world.classes, world.attributes)), 0.15, 0.6)
    return world.spread * (np.sqrt(0.8) * common + np.sqrt(0.2) * apart), chance


def _test_set(world: World, shifts, means, chance, rng: np.random.Generator, seed: int) -> honest.Runs:
    labels = np.arange(world.classes).repeat(world.images)
    has = rng.random((len(labels), world.attributes)) < chance[labels]
    common, apart = (rng.normal(size=(n, len(labels), DIMENSIONS)) for n in (1, 2))
    x = means[:, labels] + has @ shifts + np.sqrt(0.8) * common + np.sqrt(0.2) * apart
    shape = dict(tasks=world.tasks, ways=world.ways, shots=world.shots, queries=world.queries)
    tasks, pools = honest.draw(labels, has, seed=seed, **shape)
    banks = [Bank(torch.from_numpy(f.astype(np.float32)), labels, "") for f in x]
    records = {
        kind: {name: evaluate(learners.NearestCentroid(), bank, drawn) for name, bank in zip(NAMES, banks)}
        for kind, drawn in tasks.items()
    }
    return honest.Runs(labels, tasks, pools, records)


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
        the two): new, world, set, statement, mean, the half-widths closed, images and classes, and ``halves``, the mean over
        even tasks minus that over odd ones.
    """
    rows = []
    for number in range(first, first + worlds):
        rng = np.random.default_rng([seed, number])
        shifts = _shifts(world, rng if new == "images" else np.random.default_rng(seed))
        made = shifts, *_classes(world, rng)
        for repeat in range(sets):
            runs = _test_set(world, *made, rng, int(rng.integers(2**31)))
            even, odd = (_statements(runs[part]) for part in (slice(0, None, 2), slice(1, None, 2)))
            for statement, influence in _statements(runs).items():
                r = influence.intervals()
                widths = [getattr(r, kind).half_width for kind in TARGETS]
                halves = even[statement].mean - odd[statement].mean
                rows.append((new, number, repeat, statement, r.closed.mean, *widths, halves))
    return pd.DataFrame(rows, columns=["new", "world", "set", "statement", "mean", *TARGETS, "halves"])


def _statements(runs: honest.Runs) -> dict[str, stats.Influence]:
    return runs.measures("a") | {"difference of gaps": runs.measures(*NAMES)["gap"]}


def summary(made: pd.DataFrame) -> pd.DataFrame:
    """Share (percent) of intervals that hold the truth, for what was drawn anew, by statement.

    The truth is the mean over the replicates (of a world, for new images), for which errors are scaled.

    Returns
    -------
    DataFrame
        target ('these images', 'new images' or 'new classes'), statement, interval ('closed', 'images' or 'classes'),
        share, low, high (its 95 % interval, by Clopper and Pearson; test sets of a world count as
        independent), n and half_width (mean). Closed intervals on these images are judged by the two halves of the tasks.
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
