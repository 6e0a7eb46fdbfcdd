"""One test set and many supports: simulated studies with known truth, and a benchmark's protocol on real features.

A simulated score is a chance Φ(μ + support + item + interaction), with Gaussian effects, or a right
or wrong answer with that chance: the mean over whatever is new then has a closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy import ndarray
from numpy.random import Generator
from scipy.special import ndtr

from fslcore import datasets, learners, stats
from fslcore.datasets.bank import Bank
from fslcore.errors import InputError
from fslcore.evaluation import evaluate
from fslcore.evaluation.three_targets import groups_of_images
from fslcore.models import backbones
from fslcore.tasks import Tasks, sample_closed

from .coverage import share_of
from .worlds import part_of

TARGETS = {  # what each interval is held against
    "naive": "both",
    "items": "items",
    "supports": "supports",
    "items alone": "both",
    "both": "both",
}

SERIES = {
    "naive": "spread over supports",
    "supports": "new supports",
    "items": "new items",
    "both": "both",
}
TABLE_COLUMNS = {
    "naive": "spread over supports, for both",
    "items": "new items",
    "supports": "new supports",
    "items alone": "new items, for both",
    "both": "both",
}


@dataclass(frozen=True)
class Design:
    """One setting: sizes, and standard deviations of the effects on the scale of μ.

    Attributes
    ----------
    called : str
    supports, items, shots : int
        R, N and S.
    pool : int or None
        n labelled examples per class from which the supports are drawn; None for independent
        supports.
    mean, support, item, interaction : float
        μ, and what supports, items and both together vary by.
    soft : bool
        Whether a score is the chance itself; else an answer with that chance.
    classes : int
        C; their μ lie within 0.5 of the mean. Labels are given to the interval if there are
        several.
    skewed : bool
        Whether classes differ in size, and count alike in the mean.
    group : int
        Consecutive items that share their effects.
    second : float or None
        μ of a second model, which shares half of the variance of each effect: scores are
        differences.
    """

    called: str
    supports: int = 10
    items: int = 400
    shots: int = 8
    pool: int | None = None
    mean: float = 0.8
    support: float = 0.15
    item: float = 1.0
    interaction: float = 0.5
    soft: bool = False
    classes: int = 1
    skewed: bool = False
    group: int = 1
    second: float | None = None


DESIGNS = (
    Design("independent supports"),
    Design("two supports", supports=2),
    Design("three supports", supports=3, items=1000),
    Design("50 supports", supports=50, items=200),
    Design("pool of 100", pool=100),
    Design("pool of 16", pool=16, items=1000),
    Design("one shot from 10", pool=10, shots=1, support=0.3),
    Design("few items", items=60),
    Design("few items, pool of 16", items=60, pool=16),
    Design("many items", items=4000),
    Design("supports alike", support=0.0),
    Design("unlike supports", support=0.5),
    Design("95 % right", mean=2.4),
    Design("soft scores", soft=True),
    Design("soft scores, pool of 16", soft=True, pool=16),
    Design("ten classes", classes=10),
    Design("unequal classes, pool of 40", classes=10, skewed=True, pool=40, support=0.4),
    Design("groups of 10 items", group=10),
    Design("groups across classes", group=10, classes=5, support=0.3),
    Design("difference", second=0.6),
    Design("difference, pool of 24", second=0.6, pool=24),
    Design("difference, three supports, pool of 24", second=0.6, supports=3, pool=24),
)


def simulated(design: Design, studies: int, *, seed: int = 0, first: int = 0) -> pd.DataFrame:
    """Intervals of many studies of a design.

    Returns
    -------
    DataFrame
        A row per study and interval, those of `TARGETS`: ``design``, ``study``, ``interval``,
        whether it held the truth of its target (``hit``) and half of its ``width``. 'naive' is
        Student's of the R means, and 'items alone' that for new items, each read as one for both.
    """
    rows = []
    for study in range(first, first + studies):
        for row in _simulated_study(design, np.random.default_rng([seed, study])):
            rows.append({"design": design.called, "study": study, **row})
    return pd.DataFrame(rows)


def _simulated_study(design: Design, rng: Generator) -> list[dict[str, object]]:
    """The rows of one study."""
    scores, label, group, truth = _drawn(design, rng)
    options = dict(bounds=(0, 1) if design.second is None else (-1, 1))
    if design.skewed:
        options["weights"] = np.ones(design.classes)
    if design.pool is not None:
        options |= dict(pool=design.pool, shots=design.shots)
    labels = label if design.classes > 1 else None
    groups = group if design.group > 1 else None
    result = stats.crossed_intervals(scores, labels, groups=groups, **options)
    intervals = {
        "naive": stats.open_task_interval(scores @ _weights(design, label)),
        "items": result.items,
        "supports": result.supports,
        "items alone": result.items,
        "both": result.both,
    }
    return [_row(name, intervals[name], truth[target]) for name, target in TARGETS.items()]


def _row(name: str, interval: stats.Interval, truth: float) -> dict[str, object]:
    """Whether an interval holds the truth, and half of its width."""
    hit = bool(interval.low <= truth <= interval.high)
    return {"interval": name, "hit": hit, "width": float(interval.high - interval.low) / 2}


def _weights(design: Design, label: ndarray) -> ndarray:
    """Of each item in the mean."""
    size = np.bincount(label)
    return (
        1 / (design.classes * size[label]) if design.skewed else np.full(len(label), 1 / len(label))
    )


def _drawn(design: Design, rng: Generator) -> tuple[ndarray, ndarray, ndarray, dict[str, float]]:
    """Scores (R, N), class and group of each item, and the truth by target."""
    label, group = _classes_and_groups(design)
    chosen = None
    if design.pool is not None:  # which of the pool of a class are in each support
        places = rng.random((design.supports, design.classes, design.pool)).argsort(axis=2)
        chosen = places < design.shots
    effects = _effects(design, label, group, chosen, rng)
    scores, truth = _scored(design, design.mean, effects, label, rng)
    if design.second is None:
        return scores, label, group, truth
    others = _effects(design, label, group, chosen, rng)
    effects = [np.sqrt(0.5) * (a + b) for a, b in zip(effects, others, strict=True)]
    second_scores, second_truth = _scored(design, design.second, effects, label, rng)
    truth = {name: truth[name] - second_truth[name] for name in truth}
    return scores.astype(float) - second_scores, label, group, truth


def _classes_and_groups(design: Design) -> tuple[ndarray, ndarray]:
    """Of each item; skewed classes grow with the square of their number."""
    items = np.arange(design.items)
    if design.group > 1:
        return items % design.classes, items // design.group
    share = items / design.items if design.skewed else 1
    return (design.classes * items / design.items * share).astype(int), items


def _scored(
    design: Design,
    mean: float,
    effects: list[ndarray],
    label: ndarray,
    rng: Generator,
) -> tuple[ndarray, dict[str, float]]:
    """Scores (R, N) of a model with this μ, and the truth by target."""
    by_support, by_item, by_both = effects
    by_class = np.array([mean])
    if design.classes > 1:
        by_class = mean + np.linspace(-0.5, 0.5, design.classes)
    of_support = by_class + design.support * by_support
    of_item = by_class[label] + design.item * by_item
    chance = ndtr(of_item + design.support * by_support[:, label] + design.interaction * by_both)
    scores = chance if design.soft else rng.random(chance.shape) < chance
    return scores, _true_means(design, by_class, of_support, of_item, label)


def _true_means(
    design: Design,
    by_class: ndarray,
    of_support: ndarray,
    of_item: ndarray,
    label: ndarray,
) -> dict[str, float]:
    """The mean over what is new, by target: of items, of supports, or of both."""
    new_support = design.support**2 + design.interaction**2
    new_item = design.item**2 + design.interaction**2
    means = {
        "items": ndtr(of_support / np.sqrt(1 + new_item))[:, label],
        "supports": ndtr(of_item / np.sqrt(1 + new_support)),
        "both": ndtr(by_class / np.sqrt(1 + new_support + design.item**2))[label],
    }
    weight = _weights(design, label)
    return {target: np.mean(of_items @ weight) for target, of_items in means.items()}


def _effects(
    d: Design,
    label: ndarray,
    group: ndarray,
    chosen: ndarray | None,
    rng: Generator,
) -> list[ndarray]:
    """Standard normal effects of supports (R, C), items (N,) and both (R, N): of sums over labelled examples."""
    by_item, groups = rng.standard_normal(group.max() + 1)[group], group.max() + 1
    if chosen is None:
        return [
            rng.standard_normal((d.supports, d.classes)),
            by_item,
            rng.standard_normal((d.supports, groups))[:, group],
        ]
    examples = rng.standard_normal((d.classes, d.pool))
    by_support = (chosen * examples).sum(axis=2) / np.sqrt(d.shots)
    # An example changes an item of its own class; groups have their changes in common within a
    # class.
    in_item = rng.standard_normal((groups, d.pool))[group]
    by_both = np.empty((d.supports, len(label)))
    for c in range(d.classes):
        by_both[:, label == c] = chosen[:, c] @ in_item[label == c].T / np.sqrt(d.shots)
    return [by_support, by_item, by_both]


@dataclass(frozen=True)
class Protocol:
    """A benchmark's protocol on part of a large data set, whose images are the population.

    Attributes
    ----------
    dataset, backbone : str
    pool, items : int
        Labelled examples, and test items, of each class.
    supports, shots : int
        R and S.
    classes : int
        Drawn for each world.
    learners : tuple of str
        One, or two whose difference is the score.
    """

    dataset: str
    pool: int
    items: int
    supports: int = 10
    shots: int = 8
    classes: int = 20
    learners: tuple[str, ...] = ("lr",)
    backbone: str = "efficientnet-lite0"

    @property
    def called(self) -> str:
        """Its name."""
        supports = f"{self.supports} supports of {self.shots} from {self.pool}"
        sizes = f"{self.dataset}, {supports}, {self.items} items per class"
        return sizes + (", difference" if len(self.learners) > 1 else "")


PROTOCOLS = (
    Protocol("glyphs/latin", 40, 10),
    Protocol("glyphs/latin", 16, 30),
    Protocol("glyphs/latin", 40, 10, supports=30),
    Protocol("glyphs/latin", 10, 30, supports=5, shots=1),
    Protocol("glyphs/latin", 40, 10, learners=("lr", "ncc")),
    Protocol("fashion", 40, 20, classes=10),
    Protocol("fashion", 100, 100, classes=10),
    Protocol("fashion", 16, 100, classes=10),
)
TRUTH = 600  # supports whose mean is the truth, each with its own items


def measured(
    kind: Protocol, worlds: int, studies: int, *, seed: int = 0, first: int = 0
) -> pd.DataFrame:
    """Intervals of a protocol's studies, each with its own labelled examples and items from the population.

    Parameters
    ----------
    kind : Protocol
    worlds, studies : int
        Choices of classes, and studies of each.
    seed, first : int
        World w has the random stream (seed, first + w).

    Returns
    -------
    DataFrame
        As of `simulated`, in percent, for 'naive', 'items alone' and 'both', each held against the
        mean of 600 supports with their own items from the whole population.
    """
    bank = backbones.features(datasets.load(kind.dataset), backbones.load(kind.backbone))
    rows = []
    for world in range(first, first + worlds):
        rng = np.random.default_rng([seed, world])
        chosen = rng.permutation(np.unique(bank.labels))[: kind.classes]
        part = part_of(bank, np.flatnonzero(np.isin(bank.labels, chosen)))
        truth = _true_mean(kind, part, rng)
        for study in range(world * studies, (world + 1) * studies):
            for row in _protocol_study(kind, part, truth, rng):
                rows.append({"design": kind.called, "study": study, **row})
    return pd.DataFrame(rows)


def _true_mean(kind: Protocol, bank: Bank, rng: Generator) -> float:
    """The mean over many supports, each with its own items."""
    shape = dict(ways=kind.classes, shots=kind.shots, queries=15, tasks=TRUTH)
    tasks = sample_closed(bank.labels, seed=int(rng.integers(2**31)), **shape)
    return _scores(kind.learners, bank, tasks).mean()


def _protocol_study(
    kind: Protocol, bank: Bank, truth: float, rng: Generator
) -> list[dict[str, object]]:
    """The rows of one study."""
    sizes = dict(supports=kind.supports, shots=kind.shots, pool=kind.pool, items=kind.items)
    tasks = protocol(bank.labels, **sizes, rng=rng)
    scores = _scores(kind.learners, bank, tasks)
    bounds = (0, 100) if len(kind.learners) == 1 else (-100, 100)
    result = stats.crossed_intervals(
        scores, tasks.query_label[0], pool=kind.pool, shots=kind.shots, bounds=bounds
    )
    intervals = {
        "naive": stats.open_task_interval(scores.mean(axis=1)),
        "items alone": result.items,
        "both": result.both,
    }
    return [_row(name, interval, truth) for name, interval in intervals.items()]


def protocol(
    labels: ndarray,
    supports: int,
    shots: int,
    *,
    pool: int,
    items: int,
    rng: Generator,
) -> Tasks:
    """R supports from a pool of labelled images, and one test set for all of them.

    Parameters
    ----------
    labels : (N,) array
        Class of each image.
    supports, shots : int
        R and S.
    pool, items : int
        Labelled images and test items of each class, drawn at random.
    rng : Generator

    Returns
    -------
    Tasks
        R tasks with the same queries.
    """
    rows = np.stack(
        [rng.permutation(np.flatnonzero(labels == c))[: pool + items] for c in np.unique(labels)]
    )
    ways = len(rows)
    order = rng.random((supports, ways, pool)).argsort(axis=2)[..., :shots]
    support = np.take_along_axis(rows[None, :, :pool].repeat(supports, axis=0), order, axis=2)
    query = np.tile(rows[:, pool:].reshape(-1), (supports, 1))
    support_label, query_label = (
        np.tile(np.arange(ways).repeat(count), (supports, 1)) for count in (shots, items)
    )
    return Tasks(support.reshape(supports, -1), support_label, query, query_label, ways)


def _scores(names: tuple[str, ...], bank: Bank, tasks: Tasks) -> ndarray:
    """Whether each query was right (100) or wrong, or the difference of two learners."""
    first, *second = (100.0 * evaluate(learners.make(name), bank, tasks).correct for name in names)
    return first - second[0] if second else first


@dataclass(frozen=True)
class Replay:
    """A data set's replay of the protocol: scores (R, N) by learner, and class and group (or None) of each item."""

    scores: dict[str, ndarray]
    labels: ndarray
    groups: ndarray | None

    def intervals(self, *names: str, **chosen) -> stats.crossed.CrossedIntervals:
        """Of one learner, or of the difference of two; ``chosen`` are ``pool``, ``shots`` and ``confidence_level``."""
        first, *second = (self.scores[name] for name in names)
        values, bounds = (first - second[0], (-100, 100)) if second else (first, (0, 100))
        return stats.crossed_intervals(
            values, self.labels, groups=self.groups, bounds=bounds, **chosen
        )


def replay(
    names: list[str],
    backbone: str,
    methods: list[str],
    *,
    groups: list[str] = (),
    seed: int = 0,
    **sizes: int,
) -> dict[str, Replay]:
    """The protocol on each data set.

    Parameters
    ----------
    names : list of str
        Data sets.
    backbone : str
    methods : list of str
        Learners.
    groups : list of str
        Facts that make items dependent; the first one known is used.
    seed : int
    **sizes
        supports, shots, pool and items, as for `protocol`.

    Raises
    ------
    InputError
        A class with fewer images than ``pool`` + ``items``; a pool that is not larger than a
        support.
    """
    replays = {}
    for name in names:
        source = datasets.load(name)
        bank = backbones.features(source, backbones.load(backbone))
        _check_sizes(name, bank.labels, **sizes)
        tasks = protocol(bank.labels, **sizes, rng=np.random.default_rng(seed))
        group = groups_of_images(source, groups)
        replays[name] = Replay(
            scores={method: _scores((method,), bank, tasks) for method in methods},
            labels=tasks.query_label[0],
            groups=None if group is None else group[tasks.query[0]],
        )
    return replays


def _check_sizes(
    name: str, labels: ndarray, *, pool: int, items: int, shots: int, **_: int
) -> None:
    smallest = np.unique(labels, return_counts=True)[1].min()
    if smallest < pool + items:
        raise InputError(
            f"pool = {pool}, items = {items}; {name} has a class of {smallest} images (lower pool or items)"
        )
    if pool <= shots:
        raise InputError(f"pool must be larger than a support, shots = {shots}, got {pool}")


def in_rows(replays: dict[str, Replay], method: str, level: float, **chosen) -> pd.DataFrame:
    """A panel per data set and a row per interval, as `fslbook.figures.forest` draws them."""
    rows = []
    for name, replay in replays.items():
        result = replay.intervals(method, confidence_level=level, **chosen)
        naive = stats.open_task_interval(replay.scores[method].mean(axis=1), level)
        for kind, r in zip(
            SERIES.values(), (naive, result.supports, result.items, result.both), strict=True
        ):
            rows.append((name, kind, r.estimate, r.half_width, r.low, r.high))
    return pd.DataFrame(rows, columns=["panel", "row", "mean", "width", "low", "high"])


def sizes(
    result: stats.crossed.CrossedIntervals, supports: list[int], items: list[int]
) -> pd.DataFrame:
    """Half-widths to expect of other numbers of supports (rows) and items (columns)."""
    table = [[result.planned(r, n).half_width for n in items] for r in supports]
    return pd.DataFrame(
        table,
        index=pd.Index(supports, name="supports"),
        columns=[f"{n:,} items" for n in items],
    )


def coverage_rows(shares: pd.DataFrame) -> pd.DataFrame:
    """`summary` of the protocols on real features, as `fslbook.figures.forest` draws it."""
    real = shares[shares["design"].isin([kind.called for kind in PROTOCOLS])]
    panel = real["design"].str.partition(",")[0]
    names = real["interval"].map(
        {"naive": SERIES["naive"], "items alone": SERIES["items"], "both": SERIES["both"]}
    )
    row = real["design"].str.partition(", ")[2]
    return real.assign(row=row, panel=panel, series=names, mean=real["share"])


def coverage_table(shares: pd.DataFrame) -> pd.DataFrame:
    """Shares (`summary`) of the simulated designs: a row per design, a column per interval and its target."""
    simulated = shares[shares["design"].isin([design.called for design in DESIGNS])]
    wide = simulated.pivot(index="design", columns="interval", values="share")[list(TARGETS)]
    wide = wide.reindex([design.called for design in DESIGNS]).rename(columns=TABLE_COLUMNS)
    return wide.map("{:.1f}".format).rename_axis(columns=None)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """By design and interval: the share (%) of intervals that hold the truth, and their mean half-width.

    Returns
    -------
    DataFrame
        design, interval, share, n (studies), low and high (95 %, Clopper and Pearson), width (the
        mean half-width).
    """
    groups = table.groupby(["design", "interval"], sort=False, observed=True)
    rows = []
    for (design, interval), studies in groups:
        place = {"design": design, "interval": interval}
        rows.append(place | share_of(studies["hit"]) | {"width": float(studies["width"].mean())})
    return pd.DataFrame(rows)
