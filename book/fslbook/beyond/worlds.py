"""Simulated populations with known truth, from which test sets are sampled repeatedly."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy import ndarray
from numpy.random import Generator
from torch.nn import functional

from fslcore import learners, stats
from fslcore.datasets.bank import Bank
from fslcore.evaluation import evaluate
from fslcore.tasks import Tasks, sample_closed

from . import worst_class

WAYS = 5
DIMENSIONS = 16
USUAL_TASKS = 600
QUERIES = (1, 2, 3, 5, 8)  # of the open intervals; the narrowest lie between
CHUNK = 256  # tasks at a time
SHARP = 10.0  # by what cosines are multiplied before they become chances
OWN_MEANS = (
    0.6  # of the noise that two backbones have for themselves, so much is in their class means
)


@dataclass(frozen=True)
class Regime:
    """One setting of the study: how populations and test sets are made, and what the intervals are given.

    Attributes
    ----------
    classes, images : int
        C, and images of each class, n.
    shots : int
        S; tasks are 5-way.
    spread : float
        Standard deviation of the class means in each dimension, in units of that of the images:
        0.5 is hard, 0.8 easy.
    alike : float
        Share of the images' noise that the two backbones have in common.
    called : str
        Its name; by default one made of its sizes.
    queries : int
        Of each class of a closed task.
    drawn : int
        Closed tasks; 0 for enough that their own noise matters little.
    clump, clumped : int, float
        Classes of a superclass, and the share of the variance of class means that they have in
        common.
    copies, near : int, float
        Images of a group (at most so many where they do not go up), and the share of an image's
        noise that its group has in common. Groups lie within classes.
    largest : int
        Where not 0, class sizes vary between ``images`` and so many, evenly on a logarithmic scale.
    dimensions : int
        Of the features.
    tails : float
        Degrees of freedom of the images' noise: infinite for a Gaussian, 3 for heavy tails.
    modes : int
        Clouds that make up a class, which have unequal shares of its images.
    skew : float
        Standard deviation, in logarithms, of noise to one side that each cloud has in directions of
        its own.
    wrong : float
        Share of images whose label is of another class.
    rare : float
        Share of hard classes, whose images scatter four times as much.
    steps : int
        Number of steps of the centroids towards nearby queries; above 0 the learner is
        transductive.
    soft : bool
        Whether a query's value is the predicted probability of its class, rather than whether it is
        correct.
    new : tuple of str
        Targets that are asked for: 'images', 'classes'.
    given : tuple of str
        What the intervals are given about dependence: '' (nothing), 'groups' (which images depend
        on each other), 'class groups' (which classes do), 'apart' (groups, and tasks draw from one
        on one side only), 'one of each' (one image of each group, the others dropped),
        'transductive' (that answers depend on the other queries).
    paired : bool
        Whether two backbones of equal merit are compared.
    opened : bool
        Whether open intervals are made.
    """

    classes: int
    images: int
    shots: int
    spread: float
    alike: float = 0.5
    called: str = ""
    queries: int = 15
    drawn: int = 0
    clump: int = 1
    clumped: float = 0.0
    copies: int = 1
    near: float = 0.0
    largest: int = 0
    dimensions: int = DIMENSIONS
    tails: float = np.inf
    modes: int = 1
    skew: float = 0.0
    wrong: float = 0.0
    rare: float = 0.0
    steps: int = 0
    soft: bool = False
    new: tuple[str, ...] = ("images", "classes")
    given: tuple[str, ...] = ("",)
    paired: bool = True
    opened: bool = True

    @property
    def tasks(self) -> int:
        """Closed tasks: enough for their own noise to matter little, where not few are asked for."""
        return self.drawn or max(2000, self.classes * self.images // 3)

    def own_share(self, new: str) -> float:
        """Share of the variance of class means that each backbone has for itself: none for new 'images'."""
        return OWN_MEANS * (1 - self.alike) if new == "classes" else 0.0

    def closed_tasks(self, labels: ndarray, count: int, rng: Generator) -> Tasks:
        """So many closed tasks of its shape."""
        shape = dict(ways=WAYS, shots=self.shots, queries=self.queries)
        return sample_closed(labels, tasks=count, seed=int(rng.integers(2**31)), **shape)

    @property
    def name(self) -> str:
        """Its displayed name: ``called``, or else its sizes."""
        ease = "hard" if self.spread < 0.65 else "easy"
        return self.called or f"C = {self.classes}, n = {self.images}, {self.shots}-shot, {ease}"


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
#: Test sets on which equally good methods are compared, all with all.
MANY = Regime(20, 50, 5, 0.5)
CLUMPED = dict(clumped=0.85, spread=0.75, given=("", "class groups"), new=("classes",))
OTHER = dict(dimensions=12, paired=True)
COPIED, GROUPED = ("", "groups", "apart", "one of each"), ("", "groups")
# Where intervals of this kind break, or might: each differs from the first line as it says.
HARDER = tuple(
    replace(Regime(20, 30, 5, 0.6, queries=8, paired=False, opened=False), **facts)
    for facts in [
        dict(called="98 % right, C = 20", spread=1.3),
        dict(called="98 % right, C = 60", spread=1.3, classes=60),
        dict(called="99.7 % right, C = 20", spread=1.8),
        dict(called="99.7 % right, C = 60", spread=1.8, classes=60),
        dict(called="24 classes in clumps of 4", classes=24, clump=4, **CLUMPED),
        dict(called="60 classes in clumps of 6", classes=60, clump=6, **CLUMPED),
        dict(called="near-copies, 1-shot", classes=40, shots=1, copies=2, near=0.95, given=COPIED),
        dict(called="near-copies, 5-shot", classes=40, copies=2, near=0.95, given=COPIED),
        dict(called="2 groups a class", spread=0.7, copies=15, near=0.3, given=GROUPED),
        dict(called="3 groups a class", spread=0.7, copies=10, near=0.3, given=GROUPED),
        dict(called="6 groups a class", spread=0.7, copies=5, near=0.3, given=GROUPED),
        dict(called="50 tasks, C = 15", classes=15, images=40, drawn=50, paired=True),
        dict(
            called="heavy tails, 20 to 120 images",
            classes=30,
            images=20,
            largest=120,
            **OTHER,
            tails=3,
            spread=0.9,
        ),
        dict(
            called="modes, skew, wrong labels",
            classes=15,
            images=60,
            **OTHER,
            modes=3,
            skew=0.7,
            wrong=0.05,
        ),
        dict(called="rare hard classes, C = 60", classes=60, spread=1.8, rare=0.03),
        dict(called="transductive, 1-shot", shots=1, steps=3, given=("", "transductive")),
        dict(called="soft scores", soft=True),
    ]
)


@dataclass(frozen=True)
class Population:
    """Classes to draw test sets from: of each class c its size, scale, and M clouds with their shares."""

    regime: Regime
    centres: ndarray  # (2, C, M, D)
    scale: ndarray  # (C, 1)
    sizes: ndarray  # (C,)
    shares: ndarray  # (C, M), cumulated
    aside: ndarray  # (C, M, D), where noise to one side goes


@dataclass(frozen=True)
class Sample:
    """A sample from a population: a bank for each backbone, and the groups that make images or classes dependent.

    Attributes
    ----------
    banks : list of Bank
    labels, groups, class_groups : (N,) integers
        Class of each image, its group (images with equal entries are near-copies of each other) and
        its superclass.
    """

    banks: list[Bank]
    labels: ndarray
    groups: ndarray
    class_groups: ndarray


def world(regime: Regime, own_share: float, rng: Generator) -> tuple[ndarray, ndarray]:
    """Class means (2, C, D) of two backbones, a share ``own`` of their variance its own; scales (C, 1) of classes."""
    means = two_views(regime.classes, own_share, rng, regime.dimensions)
    scale = np.exp(0.2 * rng.normal(size=(regime.classes, 1)))
    if regime.clump > 1:
        common = two_views(regime.classes, own_share, rng, regime.dimensions)[
            :, np.arange(regime.classes) // regime.clump
        ]
        means = np.sqrt(1 - regime.clumped) * means + np.sqrt(regime.clumped) * common
    return regime.spread * means, scale


def population(regime: Regime, own_share: float, rng: Generator) -> Population:
    """A population of the regime, whose two backbones have a share ``own`` of their class means for themselves."""
    means, scale = world(regime, own_share, rng)
    c = regime.classes
    m = regime.modes
    d = regime.dimensions
    if regime.rare:
        scale = np.where(rng.random((c, 1)) < regime.rare, 4 * scale, scale)
    centres = means[:, :, None]
    shares = np.ones((c, 1))
    aside = np.zeros((c, 1, d))
    sizes = np.full(c, regime.images)
    if m > 1:
        centres = centres + 0.7 * two_views(c * m, own_share, rng, d).reshape(2, c, m, d)
        shares = rng.dirichlet(np.full(m, 2.0), c).cumsum(axis=1)
        shares[:, -1] = 1
    if regime.skew:
        aside = rng.normal(size=(c, m, d)) / np.sqrt(d)
    if regime.largest:
        sizes = np.rint(regime.images * (regime.largest / regime.images) ** rng.random(c)).astype(
            int
        )
    return Population(regime, centres, scale, sizes, shares, aside)


def sample(source: Population, rng: Generator) -> Sample:
    """A test set of the population."""
    regime, n = source.regime, int(source.sizes.sum())
    labels = np.arange(regime.classes).repeat(source.sizes)
    noise = two_views(n, 1 - regime.alike, rng, regime.dimensions)
    if np.isfinite(regime.tails):
        noise *= np.sqrt((regime.tails - 2) / rng.chisquare(regime.tails, (n, 1)))
    groups = np.arange(n)
    if regime.copies > 1:
        groups //= regime.copies
        common = two_views(groups[-1] + 1, 1 - regime.alike, rng, regime.dimensions)[:, groups]
        noise = np.sqrt(1 - regime.near) * noise + np.sqrt(regime.near) * common
    true, mode = labels, np.zeros(n, int)
    if regime.wrong:
        true = np.where(rng.random(n) < regime.wrong, rng.integers(regime.classes, size=n), labels)
    if regime.modes > 1:
        mode = (rng.random((n, 1)) > source.shares[true]).sum(axis=1)
    x = source.centres[:, true, mode] + source.scale[true] * noise
    if regime.skew:
        x = x + source.aside[true, mode] * np.exp(regime.skew * rng.normal(size=(n, 1)))
    return Sample(banks_of(x, labels), labels, groups, labels // regime.clump)


def two_views(n: int, own_share: float, rng: Generator, dimensions: int = DIMENSIONS) -> ndarray:
    """(2, n, D) standard normal numbers as two backbones see them, with a share ``own`` of the variance their own."""
    return views(2, n, own_share, rng, dimensions)


def views(count: int, n: int, own_share: float, rng: Generator, dimensions: int) -> ndarray:
    """The same, (count, n, D), of any number of backbones."""
    common, separate = rng.normal(size=(n, dimensions)), rng.normal(size=(count, n, dimensions))
    return np.sqrt(1 - own_share) * common + np.sqrt(own_share) * separate


def banks_of(features: ndarray, labels: ndarray) -> list[Bank]:
    """A bank for each backbone of features (2, N, D)."""
    return [Bank(torch.from_numpy(f.astype(np.float32)), labels, "") for f in features]


def correct(bank: Bank, tasks: Tasks) -> ndarray:
    """(T, n_query) 100 for a query that NCC classifies correctly, else 0."""
    return 100.0 * evaluate(learners.NearestCentroid(), bank, tasks).correct


def answers(
    banks: list[Bank], tasks: Tasks, *, steps: int = 0, soft: bool = False
) -> list[ndarray]:
    """`correct` of each bank, three times as fast: the banks together, with tasks whose supports are in class order.

    ``steps`` and ``soft`` as in `Regime`.
    """
    x = torch.stack([functional.normalize(bank.data, dim=-1) for bank in banks], 1)  # (N, B, D)
    places = (
        torch.from_numpy(np.array(a, np.int64)).split(CHUNK)
        for a in (tasks.support, tasks.query, tasks.query_label)
    )
    right = []
    for support, query, label in zip(*places):
        centroids, queries = _centroids_and_queries(x, support, query, tasks.ways, steps)
        if soft:
            chances = (SHARP * queries @ centroids).softmax(-1)
            label = label.expand(len(banks), -1, -1)[..., None]
            right.append(chances.gather(-1, label)[..., 0].double())
        else:
            right.append((queries @ centroids).argmax(-1) == label)
    return list((1.0 if soft else 100.0) * torch.cat(right, 1).numpy())


def _centroids_and_queries(
    x: torch.Tensor, support: torch.Tensor, query: torch.Tensor, ways: int, steps: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Centroids (B, t, D, K) of t tasks, and features of their queries (B, t, Q, D)."""
    by_class = functional.embedding(support, x.flatten(1)).reshape(
        len(support), ways, -1, *x.shape[1:]
    )
    centroids = functional.normalize(by_class.sum(2), dim=-1).permute(2, 0, 3, 1)
    queries = functional.embedding(query, x.flatten(1)).reshape(*query.shape, *x.shape[1:])
    queries = queries.permute(2, 0, 1, 3)
    of_support = centroids * (support.shape[1] // ways)
    for _ in range(steps):
        assignment = (SHARP * queries @ centroids).softmax(-1)
        centroids = functional.normalize(of_support + queries.mT @ assignment, dim=-2)
    return centroids, queries


def three_intervals(
    values: ndarray, tasks: Tasks, labels: ndarray, **options
) -> stats.ThreeIntervals:
    """`fslcore.stats.three_intervals` of the values of tasks, whose images have these labels."""
    return stats.three_intervals(values, tasks.support, tasks.query, labels, **options)


def part_of(bank: Bank, rows: ndarray) -> Bank:
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
        Standard deviation of the class means, and length of the shift of an attribute, in each of
        16 dimensions and in units of an image's noise.
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


def shifts_of(world: World, rng: Generator) -> ndarray:
    """(2, A, D) what the attributes do to the features of two backbones."""
    return world.reliance * rng.normal(size=(2, world.attributes, DIMENSIONS))


def classes_of(world: World, rng: Generator) -> tuple[ndarray, ndarray]:
    """Class means (2, C, D) as two backbones see them, and chances (C, A) of the attributes."""
    means = world.spread * two_views(world.classes, OWN, rng)
    return means, np.clip(
        world.share + 0.1 * rng.normal(size=(world.classes, world.attributes)), 0.15, 0.6
    )


def test_set(
    world: World, population: tuple[ndarray, ndarray, ndarray], rng: Generator
) -> worst_class.Runs:
    """A test set of the world, and nearest centroids of both backbones on random and on biased tasks of it.

    The population is shifts, class means and chances of attributes (`shifts_of`, `classes_of`).
    """
    seed = int(rng.integers(2**31))
    banks, labels, has = _images(world, *population, rng)
    shape = dict(tasks=world.tasks, ways=world.ways, shots=world.shots, queries=world.queries)
    tasks, pools = worst_class.draw(labels, has, seed=seed, **shape)
    records = {
        kind: {
            name: evaluate(learners.NearestCentroid(), bank, kind_tasks)
            for name, bank in banks.items()
        }
        for kind, kind_tasks in tasks.items()
    }
    return worst_class.Runs(labels, tasks, pools, records)


def _images(
    world: World, shifts: ndarray, means: ndarray, chance: ndarray, rng: Generator
) -> tuple[dict[str, Bank], ndarray, ndarray]:
    """The banks of both backbones, labels, and which attributes (N, A) each image has."""
    labels = np.arange(world.classes).repeat(world.images)
    has = rng.random((len(labels), world.attributes)) < chance[labels]
    x = means[:, labels] + has @ shifts + two_views(len(labels), OWN, rng)
    return dict(zip(NAMES, banks_of(x, labels))), labels, has
