"""Worlds whose truth is known: populations to draw test sets from, over and over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from fslcore import learners
from fslcore.datasets.bank import Bank
from fslcore.evaluation import evaluate
from fslcore.tasks import Tasks

from . import worst_class

__all__ = ["REGIMES", "WORLD", "correct", "draw", "world", "Regime", "World"]

WAYS, DIMENSIONS, USUAL_TASKS = 5, 16, 600


QUERIES = (1, 2, 3, 5, 8, 15)  # of the open intervals


@dataclass(frozen=True)
class Regime:
    """One setting of the study.

    Attributes
    ----------
    classes, images : int
        C, and images of each class, n.
    shots : int
        S; tasks are 5-way with 15 queries a class.
    spread : float
        Standard deviation of the class means in each of 16 dimensions, in units of that of the images:
        0.5 is hard, 0.8 easy.
    alike : float
        Share of the images' noise that the two backbones have in common.
    """

    classes: int
    images: int
    shots: int
    spread: float
    alike: float = 0.5

    @property
    def tasks(self) -> int:
        """Closed tasks: enough for their own noise to matter little."""
        return max(2000, self.classes * self.images // 3)


REGIMES = tuple(
    Regime(*r)
    for r in [
        (10, 20, 1, 0.5, 0.5),
        (10, 20, 5, 0.8, 0.95),
        (10, 60, 5, 0.5, 0.5),
        (10, 200, 1, 0.8, 0.95),
        (10, 200, 5, 0.5, 0.5),
        (20, 20, 5, 0.5, 0.95),
        (20, 60, 1, 0.8, 0.5),
        (20, 100, 5, 0.8, 0.95),
        (50, 20, 1, 0.8, 0.5),
        (50, 20, 5, 0.5, 0.95),
        (50, 60, 5, 0.8, 0.5),
        (50, 200, 5, 0.5, 0.95),
        (100, 20, 5, 0.8, 0.5),
        (100, 60, 1, 0.5, 0.95),
        (100, 200, 5, 0.8, 0.5),
    ]
)


def world(regime: Regime, own: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Class means (2, C, D) of two backbones, a share ``own`` of their variance its own; scales (C, 1) of classes."""
    means = regime.spread * two_views(regime.classes, own, rng)
    return means, np.exp(0.2 * rng.normal(size=(regime.classes, 1)))


def draw(
    means: np.ndarray, scale: np.ndarray, n: int, alike: float, rng: np.random.Generator
) -> tuple[list[Bank], np.ndarray]:
    """A bank for each backbone, with features whose noise is common to both in a share ``alike``, and labels."""
    labels = np.arange(means.shape[1]).repeat(n)
    return banks_of(means[:, labels] + scale[labels] * two_views(len(labels), 1 - alike, rng), labels), labels


def two_views(n: int, own: float, rng: np.random.Generator) -> np.ndarray:
    """(2, n, D) standard normal numbers as two backbones see them, with a share ``own`` of the variance their own."""
    common, apart = rng.normal(size=(n, DIMENSIONS)), rng.normal(size=(2, n, DIMENSIONS))
    return np.sqrt(1 - own) * common + np.sqrt(own) * apart


def banks_of(features: np.ndarray, labels: np.ndarray) -> list[Bank]:
    """A bank for each backbone of features (2, N, D)."""
    return [Bank(torch.from_numpy(f.astype(np.float32)), labels, "") for f in features]


def correct(bank: Bank, tasks: Tasks) -> np.ndarray:
    """(T, n_query) 100 for a query that NCC gets right, else 0."""
    return 100.0 * evaluate(learners.NearestCentroid(), bank, tasks).correct


def part_of(bank: Bank, rows: np.ndarray) -> Bank:
    """The bank of these rows."""
    return Bank(bank.data[rows], bank.labels[rows], "")


NAMES = ("a", "b")
OWN = 0.2  # share of what the two backbones of a world with attributes see that is their own


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


def shifts_of(world: World, rng: np.random.Generator) -> np.ndarray:
    """(2, A, D) what the attributes do to the features of two backbones."""
    return world.reliance * rng.normal(size=(2, world.attributes, DIMENSIONS))


def classes_of(world: World, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Class means (2, C, D) as two backbones see them, and chances (C, A) of the attributes."""
    means = world.spread * two_views(world.classes, OWN, rng)
    return means, np.clip(world.share + 0.1 * rng.normal(size=(world.classes, world.attributes)), 0.15, 0.6)


def test_set(world: World, shifts, means, chance, rng: np.random.Generator, seed: int) -> worst_class.Runs:
    """A test set of the world, and nearest centroids of both backbones on random and on biased tasks of it."""
    labels = np.arange(world.classes).repeat(world.images)
    has = rng.random((len(labels), world.attributes)) < chance[labels]
    x = means[:, labels] + has @ shifts + two_views(len(labels), OWN, rng)
    shape = dict(tasks=world.tasks, ways=world.ways, shots=world.shots, queries=world.queries)
    tasks, pools = worst_class.draw(labels, has, seed=seed, **shape)
    banks = banks_of(x, labels)
    records = {
        kind: {name: evaluate(learners.NearestCentroid(), bank, drawn) for name, bank in zip(NAMES, banks)}
        for kind, drawn in tasks.items()
    }
    return worst_class.Runs(labels, tasks, pools, records)
