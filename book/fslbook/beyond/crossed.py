"""One test set and several supports: simulated studies with known truth, and a benchmark's protocol on real features.

A simulated score is a chance Φ(μ + support + item + interaction), with Gaussian effects, or a right
or wrong answer with that chance: the mean over whatever is new then has a closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
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

ROW = ["design", "study", "interval", "hit", "width"]
SHOWN = {
    "naive": "spread over supports",
    "supports": "new supports",
    "items": "new items",
    "both": "both",
}
COLUMNS = {
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


def simulated(
    design: Design, studies: int, *, seed: int = 0, first: int = 0, level: float = stats.LEVEL
) -> pd.DataFrame:
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
        rng = np.random.default_rng([seed, study])
        scores, label, group, truth = _drawn(design, rng)
        options = dict(weights=np.ones(design.classes)) if design.skewed else {}
        if design.pool is not None:
            options |= dict(pool=design.pool, shots=design.shots)
        labels = label if design.classes > 1 else None
        groups = group if design.group > 1 else None
        options["bounds"] = (0, 1) if design.second is None else (-1, 1)
        result = stats.crossed_intervals(scores, labels, groups=groups, level=level, **options)
        naive = stats.open_interval(scores @ _weights(design, label), level)
        intervals = dict(
            zip(
                TARGETS,
                (naive, result.items, result.supports, result.items, result.both),
                strict=True,
            )
        )
        rows += [
            (design.called, study, name, *_held(interval, truth[TARGETS[name]]))
            for name, interval in intervals.items()
        ]
    return pd.DataFrame(rows, columns=ROW)


def _held(interval: stats.Interval, truth: float) -> tuple[bool, float]:
    """Whether an interval holds the truth, and half of its width."""
    return bool(interval.low <= truth <= interval.high), float(interval.high - interval.low) / 2


def _weights(design: Design, label: np.ndarray) -> np.ndarray:
    """Of each item in the mean."""
    size = np.bincount(label)
    return (
        1 / (design.classes * size[label]) if design.skewed else np.full(len(label), 1 / len(label))
    )


def _drawn(
    design: Design, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, float]]:
    """Scores (R, N), class and group of each item, and the truth by target."""
    d, items = design, np.arange(design.items)
    label = (d.classes * items / d.items * (items / d.items if d.skewed else 1)).astype(int)
    label = label if d.group == 1 else items % d.classes
    group = items // d.group
    weight = _weights(d, label)
    chosen = None
    if d.pool is not None:  # which of the pool of a class are in each support
        chosen = rng.random((d.supports, d.classes, d.pool)).argsort(axis=2) < d.shots
    means = [d.mean] if d.second is None else [d.mean, d.second]
    common = None
    scores, truth = [], []
    for mean in means:
        effects = _effects(d, label, group, chosen, rng)
        if common is None:
            common = effects
        else:
            effects = [np.sqrt(0.5) * (a + b) for a, b in zip(common, effects, strict=True)]
        by_support, by_item, by_both = effects
        by_class = mean + np.linspace(-0.5, 0.5, d.classes) if d.classes > 1 else np.array([mean])
        of_support, of_item = by_class + d.support * by_support, by_class[label] + d.item * by_item
        chance = ndtr(of_item + d.support * by_support[:, label] + d.interaction * by_both)
        scores.append(chance if d.soft else rng.random(chance.shape) < chance)
        new_support, new_item = d.support**2 + d.interaction**2, d.item**2 + d.interaction**2
        truth.append(
            {
                "items": ndtr(of_support / np.sqrt(1 + new_item))[:, label] @ weight,
                "supports": ndtr(of_item / np.sqrt(1 + new_support)) @ weight,
                "both": ndtr(by_class / np.sqrt(1 + new_support + d.item**2))[label] @ weight,
            }
        )
    first, *second = scores
    difference = first.astype(float) - second[0] if second else first
    truths = {
        name: np.mean(truth[0][name]) - (np.mean(truth[1][name]) if second else 0)
        for name in truth[0]
    }
    return difference, label, group, truths


def _effects(
    d: Design,
    label: np.ndarray,
    group: np.ndarray,
    chosen: np.ndarray | None,
    rng: np.random.Generator,
) -> list[np.ndarray]:
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
        truth_shape = dict(ways=kind.classes, shots=kind.shots, queries=15, tasks=TRUTH)
        truth = _scores(
            kind.learners,
            part,
            sample_closed(part.labels, seed=int(rng.integers(2**31)), **truth_shape),
        ).mean()
        for study in range(studies):
            tasks = protocol(
                part.labels, kind.supports, kind.shots, pool=kind.pool, items=kind.items, rng=rng
            )
            scores = _scores(kind.learners, part, tasks)
            options = dict(pool=kind.pool, shots=kind.shots)
            options["bounds"] = (0, 100) if len(kind.learners) == 1 else (-100, 100)
            result = stats.crossed_intervals(scores, tasks.query_label[0], **options)
            intervals = {
                "naive": stats.open_interval(scores.mean(axis=1)),
                "items alone": result.items,
                "both": result.both,
            }
            number = world * studies + study
            rows += [
                (kind.called, number, name, *_held(interval, truth))
                for name, interval in intervals.items()
            ]
    return pd.DataFrame(rows, columns=ROW)


def protocol(
    labels: np.ndarray,
    supports: int,
    shots: int,
    *,
    pool: int,
    items: int,
    rng: np.random.Generator,
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
    rows = [rng.permutation(np.flatnonzero(labels == c)) for c in np.unique(labels)]
    rows = np.stack([of_class[: pool + items] for of_class in rows])
    ways = len(rows)
    order = rng.random((supports, ways, pool)).argsort(axis=2)[..., :shots]
    support = np.take_along_axis(rows[None, :, :pool].repeat(supports, axis=0), order, axis=2)
    query = np.tile(rows[:, pool:].reshape(-1), (supports, 1))
    support_label, query_label = (
        np.tile(np.arange(ways).repeat(count), (supports, 1)) for count in (shots, items)
    )
    return Tasks(support.reshape(supports, -1), support_label, query, query_label, ways)


def _scores(names: tuple[str, ...], bank: Bank, tasks: Tasks) -> np.ndarray:
    """Whether each query was right (100) or wrong, or the difference of two learners."""
    first, *second = (100.0 * evaluate(learners.make(name), bank, tasks).correct for name in names)
    return first - second[0] if second else first


@dataclass(frozen=True)
class Replay:
    """A data set's replay of the protocol: scores (R, N) by learner, and class and group (or None) of each item."""

    scores: dict[str, np.ndarray]
    labels: np.ndarray
    groups: np.ndarray | None

    def intervals(self, *names: str, **chosen) -> stats.crossed.CrossedIntervals:
        """Of one learner, or of the difference of two; ``chosen`` are ``pool``, ``shots`` and ``level``."""
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
    supports: int,
    shots: int,
    pool: int,
    items: int,
    groups: list[str] = (),
    seed: int = 0,
) -> dict[str, Replay]:
    """The protocol on each data set.

    Parameters
    ----------
    names : list of str
        Data sets.
    backbone : str
    methods : list of str
        Learners.
    supports, shots, pool, items
        As for `protocol`.
    groups : list of str
        Facts that make items dependent; the first one known is used.
    seed : int

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
        sizes = np.unique(bank.labels, return_counts=True)[1]
        if sizes.min() < pool + items:
            raise InputError(
                f"pool = {pool}, items = {items}; {name} has a class of {sizes.min()} images (lower pool or items)"
            )
        if pool <= shots:
            raise InputError(
                f"pool = {pool}, shots = {shots}; a pool larger than a support is needed"
            )
        tasks = protocol(
            bank.labels, supports, shots, pool=pool, items=items, rng=np.random.default_rng(seed)
        )
        item_groups = groups_of_images(source, groups)
        scores = {method: _scores((method,), bank, tasks) for method in methods}
        replays[name] = Replay(
            scores,
            tasks.query_label[0],
            None if item_groups is None else item_groups[tasks.query[0]],
        )
    return replays


def in_rows(replays: dict[str, Replay], method: str, level: float, **chosen) -> pd.DataFrame:
    """A panel per data set and a row per interval, as `fslbook.figures.forest` draws them."""
    rows = []
    for name, replay in replays.items():
        result = replay.intervals(method, level=level, **chosen)
        naive = stats.open_interval(replay.scores[method].mean(axis=1), level)
        for kind, r in zip(
            SHOWN.values(), (naive, result.supports, result.items, result.both), strict=True
        ):
            rows.append((name, kind, r.mean, r.half_width, r.low, r.high))
    return pd.DataFrame(rows, columns=["panel", "row", "mean", "width", "low", "high"])


def sizes(
    result: stats.crossed.CrossedIntervals, supports: list[int], items: list[int]
) -> pd.DataFrame:
    """Half-widths to expect of other numbers of supports (rows) and items (columns)."""
    table = [[result.planned(r, n).half_width for n in items] for r in supports]
    return pd.DataFrame(
        table, index=pd.Index(supports, name="supports"), columns=[f"{n:,} items" for n in items]
    )


def coverage_rows(shares: pd.DataFrame) -> pd.DataFrame:
    """`summary` of the protocols on real features, as `fslbook.figures.forest` draws it."""
    real = shares[shares["design"].isin([kind.called for kind in PROTOCOLS])]
    panel = real["design"].str.partition(",")[0]
    names = real["interval"].map(
        {"naive": SHOWN["naive"], "items alone": SHOWN["items"], "both": SHOWN["both"]}
    )
    row = real["design"].str.partition(", ")[2]
    return real.assign(row=row, panel=panel, series=names, mean=real["share"])


def coverage_table(shares: pd.DataFrame) -> pd.DataFrame:
    """Shares (`summary`) of the simulated designs: a row per design, a column per interval and its target."""
    simulated = shares[shares["design"].isin([design.called for design in DESIGNS])]
    wide = simulated.pivot(index="design", columns="interval", values="share")[list(TARGETS)]
    wide = wide.reindex([design.called for design in DESIGNS]).rename(columns=COLUMNS)
    return wide.map("{:.1f}".format).rename_axis(columns=None)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """By design and interval: the share (%) of intervals that hold the truth, and their mean half-width.

    Returns
    -------
    DataFrame
        design, interval, share, n (studies), low and high (95 %, Clopper and Pearson), width (the
        mean half-width).
    """
    rows = []
    for (design, interval), studies in table.groupby(
        ["design", "interval"], sort=False, observed=True
    ):
        rows.append((design, interval, *share_of(studies["hit"]), float(studies["width"].mean())))
    return pd.DataFrame(rows, columns=["design", "interval", "share", "n", "low", "high", "width"])
