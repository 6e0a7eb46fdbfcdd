"""Coverage of the three intervals, by simulation on populations whose truth is known.

A *world* is a set of classes: clouds of features as seen by two equally good backbones. Test sets
are sampled from it. Many test sets from the same world check the interval for new images; a new
world for each test set checks the interval for new classes. All studies are long tables with one
row per interval."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from fslcore import stats
from fslcore.datasets.bank import Bank
from fslcore.paths import DATA
from fslcore.tasks import Tasks, sample_closed, sample_open

from .worlds import (
    OWN_MEANS,
    QUERIES,
    USUAL_TASKS,
    WAYS,
    Regime,
    Sample,
    answers,
    banks_of,
    correct,
    draw,
    part_of,
    population,
    sample,
    views,
    world,
)

COLUMNS = ["regime", "new", "world", "set", "interval", "given", "tasks", "mean", "low", "high"]


def replicates(
    regime: Regime, new: str, worlds: int, sets: int, *, seed: int = 0, first: int = 0
) -> pd.DataFrame:
    """Intervals of many test sets, in percent.

    Parameters
    ----------
    new : str
        'images': each world keeps its classes, the two backbones see the same class means and so
        are equally good on them. 'classes': a world has one test set, and each backbone its own
        means.
    worlds, sets : int
        Worlds, and test sets of each (1 for 'classes').
    seed, first : int
        World w has the random stream (seed, first + w).

    Returns
    -------
    DataFrame
        One row per test set and interval: ``regime`` (its name), new, world, set, ``interval``,
        what it was ``given`` (as in `Regime`), how many ``tasks`` are behind it, ``mean``, ``low``
        and ``high``. Intervals of the first backbone: 'closed' of all tasks, 'usual' of 600,
        'images' or 'classes' as ``new`` says, and 'open Q'. Where the regime is paired, also
        'paired', of the difference of the two, and 'coin', closed, of their difference over 600
        tasks where a coin a task says which is which, so that they are equal on these very images.
    """
    rows = []
    for number in range(first, first + worlds):
        rng = np.random.default_rng([seed, number])
        source = population(
            regime, OWN_MEANS * (1 - regime.alike) if new == "classes" else 0.0, rng
        )
        for repeat in range(sets):
            intervals = _intervals(regime, new, sample(source, rng), rng)
            unit = 100 if regime.soft else 1
            rows += [
                (regime.name, new, number, repeat, *named, *ends(r, unit))
                for *named, r in intervals
            ]
    return pd.DataFrame(rows, columns=COLUMNS)


def ends(r: stats.Interval, unit: float = 1) -> tuple[int, float, float, float]:
    """Number of tasks, mean, low and high of an interval, the last three times ``unit``."""
    return r.n_tasks, unit * r.mean, unit * r.low, unit * r.high


def _intervals(
    regime: Regime, new: str, test_set: Sample, rng: np.random.Generator
) -> Iterator[tuple[str, str, stats.Interval]]:
    """(interval, given, the interval) of one test set."""
    labels, bank = test_set.labels, test_set.banks[0]
    shape = dict(ways=WAYS, shots=regime.shots, seed=int(rng.integers(2**31)))
    closed = shape | dict(tasks=regime.tasks, queries=regime.queries)
    tasks = sample_closed(labels, **closed)
    kind = dict(steps=regime.steps, soft=regime.soft)
    right, *second_right = answers(test_set.banks[: 1 + regime.paired], tasks, **kind)
    yield "closed", "", stats.closed_interval(right.mean(axis=1))
    yield "usual", "", stats.closed_interval(right[:USUAL_TASKS].mean(axis=1))
    facts = {
        "": {},
        "groups": {"groups": test_set.groups},
        "class groups": {"class_groups": test_set.class_groups},
    }
    facts["transductive"] = {"transductive": True}
    highest = 1 if regime.soft else 100
    bounds, of_difference = (0, highest), (-highest, highest)
    for knowledge in regime.given:
        if knowledge in facts:
            result = stats.three_intervals(
                right, tasks.support, tasks.query, labels, **facts[knowledge], bounds=bounds
            )
        elif knowledge == "apart":
            disjoint = sample_closed(labels, groups=test_set.groups, **closed)
            (answer,) = answers([bank], disjoint)
            design = dict(groups=test_set.groups, group_disjoint=True, bounds=bounds)
            result = stats.three_intervals(
                answer, disjoint.support, disjoint.query, labels, **design
            )
        else:
            single_bank = part_of(bank, np.unique(test_set.groups, return_index=True)[1])
            few = sample_closed(single_bank.labels, **closed)
            (answer,) = answers([single_bank], few)
            result = stats.three_intervals(
                answer, few.support, few.query, single_bank.labels, bounds=bounds
            )
        yield new, knowledge, getattr(result, new)
    if regime.paired:
        difference = right - second_right[0]
        paired = stats.three_intervals(
            difference, tasks.support, tasks.query, labels, bounds=of_difference
        )
        yield "paired", "", getattr(paired, new)
        flipped = (difference.mean(axis=1) * rng.choice([-1, 1], len(right)))[:USUAL_TASKS]
        yield (
            "coin",
            "",
            stats.paired_interval(flipped, np.zeros_like(flipped), bounds=of_difference),
        )
    for q in (q for q in QUERIES if regime.opened and regime.shots + q <= regime.images):
        accuracy = answers([bank], sample_open(labels, queries=q, **shape))[0].mean(axis=1)
        yield f"open {q}", "", stats.open_interval(accuracy)


def from_population(
    population: Bank,
    new: str,
    worlds: int,
    sets: int,
    *,
    classes: int,
    images: int,
    shots: int,
    seed: int = 0,
) -> pd.DataFrame:
    """As `replicates`, with a large data set of images as the population, whose mean is the truth.

    Parameters
    ----------
    population : Bank
        Features of the large data set, for NCC.
    new : str
        'images': each world is a choice of classes, and its test sets differ in their images.
        'classes': each test set has its own classes.
    worlds, sets : int
        Worlds, and test sets of each (1 for 'classes').
    classes, images, shots : int
        C, images of each class and S of a test set.
    seed : int
        World w has the random stream (seed, w).

    Returns
    -------
    DataFrame
        One row per test set and interval, 'usual' over the first 600 tasks or that for what is new:
        new, world, set, interval, tasks, ``truth``, mean, low, high; percent.
    """

    def mean(bank: Bank) -> float:
        return correct(
            bank, sample_closed(bank.labels, tasks=20_000, ways=WAYS, shots=shots, seed=seed)
        ).mean()

    rows = []
    truth = mean(population) if new == "classes" else None
    for number in range(worlds):
        rng = np.random.default_rng([seed, number])
        chosen = rng.permutation(np.unique(population.labels))[:classes]
        if new == "images":
            truth = mean(part_of(population, np.flatnonzero(np.isin(population.labels, chosen))))
        for repeat in range(sets):
            rows_of = [
                rng.permutation(np.flatnonzero(population.labels == c))[:images] for c in chosen
            ]
            bank = part_of(population, np.concatenate(rows_of))
            tasks = sample_closed(
                bank.labels, tasks=2000, ways=WAYS, shots=shots, seed=int(rng.integers(2**31))
            )
            (right,) = answers([bank], tasks)
            places = tasks.support, tasks.query, bank.labels
            ours = getattr(stats.three_intervals(right, *places, bounds=(0, 100)), new)
            usual = stats.closed_interval(right[:USUAL_TASKS].mean(axis=1))
            for name, r in (("usual", usual), (new, ours)):
                n, *limits = ends(r)
                rows.append((new, number, repeat, name, n, truth, *limits))
    return pd.DataFrame(
        rows, columns=["new", "world", "set", "interval", "tasks", "truth", "mean", "low", "high"]
    )


def many_methods(
    regime: Regime, new: str, methods: int, studies: int, *, seed: int = 0, first: int = 0
) -> pd.DataFrame:
    """p-values of all pairs of several equally good methods, by study.

    Parameters
    ----------
    regime : Regime
        A plain regime, which gives the size of a study's test set.
    new : str
        Where the methods are equally good: on new 'images' or on new 'classes'.
    methods, studies : int
        Backbones compared in each study, and studies. Study k has the random stream (seed, first +
        k).

    Returns
    -------
    DataFrame
        A row per study and pair: new, study, ``a`` and ``b``, and p-values of the difference:
        ``closed`` (paired over 600 closed tasks) and ``ours``.
    """
    rows = []
    for study in range(first, first + studies):
        rng = np.random.default_rng([seed, study])
        own_share = OWN_MEANS * (1 - regime.alike) if new == "classes" else 0.0
        means = regime.spread * views(methods, regime.classes, own_share, rng, regime.dimensions)
        labels = np.arange(regime.classes).repeat(regime.images)
        noise = views(methods, len(labels), 1 - regime.alike, rng, regime.dimensions)
        banks = banks_of(means[:, labels] + noise, labels)
        tasks = sample_closed(
            labels,
            tasks=regime.tasks,
            ways=WAYS,
            shots=regime.shots,
            queries=regime.queries,
            seed=int(rng.integers(2**31)),
        )
        right = answers(banks, tasks)
        for a, b in combinations(range(methods), 2):
            difference = right[a] - right[b]
            usual = difference[:USUAL_TASKS].mean(axis=1)
            closed = stats.paired_interval(usual, np.zeros_like(usual), bounds=(-100, 100))
            places = tasks.support, tasks.query, labels
            ours = getattr(stats.three_intervals(difference, *places, bounds=(-100, 100)), new)
            rows.append((new, study, a, b, closed.p_value, ours.p_value))
    return pd.DataFrame(rows, columns=["new", "study", "a", "b", "closed", "ours"])


def many_summary(p_values: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Share (percent) of the studies of `many_methods` with at least one false positive.

    Returns
    -------
    DataFrame
        A row per target, test ('closed' or 'ours') and correction ('none', 'Holm' or 'BH'): share,
        low and high (its 95 % interval), and n, the studies.
    """
    adjusted = {"none": np.asarray, "Holm": stats.holm, "BH": stats.benjamini_hochberg}
    rows = []
    for new, part in p_values.groupby("new", sort=False):
        for test in ("closed", "ours"):
            for name, adjust in adjusted.items():
                smallest = part.groupby("study")[test].agg(
                    lambda p, adjust=adjust: adjust(p.to_numpy()).min()
                )
                rows.append((f"new {new}", test, name, *share_of(smallest < 1 - level)))
    return pd.DataFrame(rows, columns=["target", "test", "correction", "share", "n", "low", "high"])


def load(name: str = "replicates") -> pd.DataFrame:
    """A study that ships with the book: 'replicates', 'population', 'gaps', 'many' or 'plans' (of data/coverage)."""
    table = pd.read_parquet(DATA / "coverage" / f"{name}.parquet")
    return table.astype(dict.fromkeys(table.select_dtypes("category"), object))


def share_of(hits: pd.Series) -> tuple[float, int, float, float]:
    """Share (percent) of hits, their number, and the share's 95 % interval (Clopper and Pearson).

    Examples
    --------
    >>> [round(x, 1) for x in share_of(pd.Series([True] * 95 + [False] * 5))]
    [95.0, 100, 88.7, 98.4]
    """
    interval = binomtest(int(hits.sum()), len(hits)).proportion_ci(0.95)
    return 100 * float(hits.mean()), len(hits), 100 * interval.low, 100 * interval.high


def scaled_truth(means: pd.Series, world: pd.Series, truths: pd.Series | None = None) -> pd.Series:
    """The value that each test set's interval should contain, if the truth is a mean over the test sets of a world.

    Parameters
    ----------
    means : (n,) Series
        Of each test set.
    world : (n,) Series
        Test sets with equal entries have the same truth.
    truths : (n,) Series, optional
        Values whose average is the truth, if not ``means``.

    Returns
    -------
    (n,) Series
        One of k means deviates less from an average that includes it, by a factor of √((k - 1)/k).
        The deviation of the truth is enlarged accordingly.

    Examples
    --------
    >>> scaled_truth(pd.Series([1.0, 2.0, 3.0, 4.0]), pd.Series([0, 0, 0, 0])).round(2).tolist()
    [2.73, 2.58, 2.42, 2.27]
    """
    by_world = (means if truths is None else truths).groupby(world)
    truth, k = by_world.transform("mean"), by_world.transform("size")
    return means - (means - truth) * np.sqrt(k / (k - 1))


def population_summary(test_sets: pd.DataFrame) -> pd.DataFrame:
    """Coverage (percent) of the intervals of `from_population`, by setting and by what a repetition replaces."""
    inside = 100 * (
        (test_sets["low"] <= test_sets["truth"]) & (test_sets["truth"] <= test_sets["high"])
    )
    name = (
        test_sets["interval"]
        .replace({"usual": "closed", "images": "ours", "classes": "ours"})
        .rename(None)
    )
    keys = [test_sets[k] for k in ("dataset", "backbone", "shots", "new")]
    shares = inside.groupby([*keys, name], sort=False).agg(["mean", "size"]).unstack()
    out = shares["mean"].round(1).assign(**{"test sets": shares["size"].iloc[:, 0]})
    return out.rename_axis(columns=None).reset_index()


def summary(replicates: pd.DataFrame) -> pd.DataFrame:
    """Coverage of each interval on each target, type-I errors and widths, by regime.

    Returns
    -------
    DataFrame
        One row per regime and statement: regime, ``target`` ('these images', 'new images' or 'new
        classes'), ``interval`` ('closed', 'open', 'images', 'classes', or 'paired' for the share of
        intervals of a difference that exclude 0 although it is true), ``given``, ``share`` in
        percent of ``n`` test sets, ``low`` and ``high``, its 95 % interval (Clopper and Pearson),
        ``half_width``, half of the mean length, ``deviation``, the root mean square of the errors
        that it should bound, ``mean`` of the test sets, ``bias`` in points, and ``queries``: open
        intervals are at the Q with the narrowest. The truth is a mean over test sets, and errors
        are scaled for that (`scaled_truth`). With near-copies it is that of one image of each
        group: what new groups would give.
    """
    rows = []

    def add(regime, target, interval, knowledge, part, truth, bias=0.0, queries=0, inside=True):
        hits = ((part["low"] <= truth) & (truth <= part["high"])) == inside
        half = (part["high"] - part["low"]).mean() / 2
        deviation = np.sqrt(((part["mean"] - truth) ** 2).mean())
        facts = half, deviation, part["mean"].mean(), bias, queries
        rows.append((regime, target, interval, knowledge, *share_of(hits), *facts))

    index = ["new", "world", "set"]
    for regime, of_regime in replicates.groupby("regime", sort=False):
        by = {
            k: v.set_index(index) for k, v in of_regime.groupby(["interval", "given"], sort=False)
        }
        closed, usual = by["closed", ""], by["usual", ""]
        if (
            usual["tasks"] < closed["tasks"]
        ).all():  # the other tasks are no truth but a mean as well
            missing_share = np.sqrt(1 - usual["tasks"] / closed["tasks"])
            truth = usual["mean"] - (usual["mean"] - closed["mean"]) / missing_share
            add(regime, "these images", "closed", "", usual, truth)
        if ("coin", "") in by:
            add(regime, "these images", "paired", "", by["coin", ""], 0.0, inside=False)
        opened = {k: part for (k, _), part in by.items() if k.startswith("open ")}
        best = min(
            opened, key=lambda k: (opened[k]["high"] - opened[k]["low"]).mean(), default=None
        )
        for new in of_regime["new"].unique():
            intervals = {
                key: part.loc[[new]]
                for key, part in by.items()
                if new in part.index.get_level_values("new")
            }
            world = (
                closed.loc[[new]]
                .index.get_level_values("world")
                .to_series(index=closed.loc[[new]].index)
            )
            world = world if new == "images" else world * 0
            independent = intervals.get((new, "one of each"), intervals["closed", ""])["mean"]

            def truth_of(part, world=world, independent=independent):
                return scaled_truth(part["mean"], world, independent)

            truth = truth_of(intervals["closed", ""])
            add(regime, f"new {new}", "closed", "", intervals["usual", ""], truth)
            if best:
                add(
                    regime,
                    f"new {new}",
                    "open",
                    "",
                    intervals[best, ""],
                    truth,
                    queries=int(best.split()[1]),
                )
            for (interval, knowledge), part in intervals.items():
                if interval == new:
                    bias = part["mean"].mean() - independent.mean()
                    add(regime, f"new {new}", new, knowledge, part, truth_of(part), bias)
            if ("paired", "") in intervals:
                add(regime, f"new {new}", "paired", "", intervals["paired", ""], 0.0, inside=False)
    columns = ["regime", "target", "interval", "given", "share", "n", "low", "high"]
    return pd.DataFrame(
        rows, columns=[*columns, "half_width", "deviation", "mean", "bias", "queries"]
    )


def width_ratios(summary: pd.DataFrame) -> pd.DataFrame:
    """Width of open intervals relative to the interval for new images, with one row per regime.

    Returns
    -------
    DataFrame
        regime; ``queries``, where the open interval is narrowest; ``ratio`` of its half-width to
        that for new images, and ``deviations``, the ratio of what the two should be in proportion
        to: the actual standard deviations of the means.
    """
    intervals = summary[
        (summary["target"] == "new images") & summary["interval"].isin(["open", "images"])
    ]
    wide = intervals[intervals["given"] == ""].pivot(index="regime", columns="interval").dropna()
    order = [regime for regime in summary["regime"].unique() if regime in wide.index]
    ratio, deviations = (wide[k]["open"] / wide[k]["images"] for k in ("half_width", "deviation"))
    out = pd.DataFrame(
        {"queries": wide["queries"]["open"].astype(int), "ratio": ratio, "deviations": deviations}
    )
    return out.loc[order].reset_index()


PILOT = Regime(
    classes=10, images=30, shots=1, spread=0.6
)  # the test set that `check_plan` plans from
# Pilots, what is new, and how many times as far apart the second backbone sees the classes: the
# median plans are 1.3 to 10 times the pilot's size.
PLANNED = (
    (PILOT, "images", 1.05),
    (PILOT, "images", 1.03),
    (Regime(classes=20, images=20, shots=5, spread=0.5), "images", 1.05),
    (Regime(classes=20, images=60, shots=5, spread=0.8, alike=0.8), "images", 1.02),
    (Regime(classes=10, images=30, shots=1, spread=0.6), "classes", 1.15),
    (Regime(classes=20, images=30, shots=5, spread=0.5), "classes", 1.12),
    (Regime(classes=40, images=20, shots=5, spread=0.6), "classes", 1.1),
    (Regime(classes=20, images=30, shots=1, spread=0.8, alike=0.8), "classes", 1.05),
)


def plan_loops(
    regime: Regime,
    new: str,
    better: float,
    loops: int,
    *,
    seed: int | list[int],
    power: float = 0.8,
    level: float = 0.95,
) -> pd.DataFrame:
    """Plan from a pilot the size that distinguishes two backbones, then sample a test set of this size; repeat.

    Parameters
    ----------
    regime : Regime
        Of the pilots.
    new : str
        'images': images per class are planned, and all test sets have the same classes. 'classes':
        classes are planned, and each test set has its own.
    better : float
        Factor by which the classes are further apart for the second backbone.

    Returns
    -------
    DataFrame
        A row per loop: regime (its name), new, better, the true ``difference`` (points, over many
        large test sets), the ``pilot``'s half-width, the size ``planned``, for images not below S +
        Q, its range, ``low`` and ``high``, and whether the difference is significant, and of the
        right sign, in the pilot (``told_by_pilot``) and in the test set of the planned size
        (``told``).
    """
    rng = np.random.default_rng(seed)

    def seen(classes: int, own_share: float) -> tuple[np.ndarray, np.ndarray]:
        means, scale = world(replace(regime, classes=classes), own_share, rng)
        means[1] *= better  # classes further apart are distinguished more easily
        return means, scale

    fixed_classes = seen(regime.classes, 0.0) if new == "images" else None

    def tested(classes: int, images: int) -> tuple[np.ndarray, Tasks, np.ndarray]:
        banks, labels = draw(
            *(fixed_classes or seen(classes, OWN_MEANS * (1 - regime.alike))),
            images,
            regime.alike,
            rng,
        )
        shape = dict(
            ways=WAYS, shots=regime.shots, queries=regime.queries, seed=int(rng.integers(2**31))
        )
        tasks = sample_closed(labels, tasks=2000, **shape)
        a, b = answers(banks, tasks)
        return b - a, tasks, labels

    def paired(classes: int, images: int) -> stats.ThreeIntervals:
        values, tasks, labels = tested(classes, images)
        return stats.three_intervals(
            values, tasks.support, tasks.query, labels, level=level, bounds=(-100, 100)
        )

    # Its own error must be small against a plan's: ten sets of 150 images leave it a tenth off.
    large = (regime.classes, 1000) if new == "images" else (400, regime.images)
    difference = float(np.mean([tested(*large)[0].mean() for _ in range(40)]))
    pilots = [paired(regime.classes, regime.images) for _ in range(loops)]
    pilot_size = dict(
        images_per_class=regime.images, n_classes=regime.classes, ways=WAYS, shots=regime.shots
    )
    rows = []
    for pilot in pilots:
        plan = stats.plan(pilot, difference=difference, power=power, level=level, **pilot_size)
        if new == "images":  # a task has S + Q of each class
            planned = max(plan.images_per_class, regime.shots + regime.queries)
            ends = plan.images_range
            carried_out = paired(regime.classes, planned)
        else:
            planned, ends = plan.n_classes, plan.classes_range
            carried_out = paired(planned, regime.images)
        before, after = (getattr(r, new) for r in (pilot, carried_out))
        detected = before.conclusion == 1, after.conclusion == 1
        rows.append(
            (regime.name, new, better, difference, before.half_width, planned, *ends, *detected)
        )
    columns = [
        "regime",
        "new",
        "better",
        "difference",
        "pilot",
        "planned",
        "low",
        "high",
        "told_by_pilot",
        "told",
    ]
    return pd.DataFrame(rows, columns=columns)


def plan_summary(loops: pd.DataFrame) -> pd.DataFrame:
    """Share (percent) of test sets of planned size that find the difference, for each kind of `plan_loops`.

    Returns
    -------
    DataFrame
        A row per kind: regime, ``target`` ('new images' or 'new classes'), the mean ``difference``
        and half-width of the ``pilot``, the median size ``planned``, ``in_pilot``, the share of
        pilots that find the difference, and ``share``, n, low and high as of `share_of`.
    """
    rows = []
    for (regime, new, _), kind in loops.groupby(["regime", "new", "better"], sort=False):
        facts = (
            kind["difference"].mean(),
            kind["pilot"].mean(),
            kind["planned"].median(),
            100 * kind["told_by_pilot"].mean(),
        )
        rows.append((regime, f"new {new}", *facts, *share_of(kind["told"])))
    columns = [
        "regime",
        "target",
        "difference",
        "pilot",
        "planned",
        "in_pilot",
        "share",
        "n",
        "low",
        "high",
    ]
    return pd.DataFrame(rows, columns=columns)


def check_plan(test_sets: int, *, power: float, level: float, seed: int) -> pd.DataFrame:
    """`plan_loops` for new images, from the pilot `PILOT`."""
    return plan_loops(PILOT, "images", 1.05, test_sets, power=power, level=level, seed=seed)
