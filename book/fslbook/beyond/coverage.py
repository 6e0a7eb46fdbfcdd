"""Coverage of the three intervals, by simulation on populations whose truth is known.

A *world* is a set of classes: clouds of features as seen by two equally good backbones. Test sets
are sampled from it. Many test sets from the same world check the interval for new images; a new
world for each test set checks the interval for new classes. All studies are long tables with one
row per interval."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd
from numpy import ndarray
from numpy.random import Generator
from scipy.stats import binomtest

from fslcore import stats
from fslcore.datasets.bank import Bank
from fslcore.paths import DATA
from fslcore.tasks import Tasks, sample_closed, sample_open

from .worlds import (
    QUERIES,
    USUAL_TASKS,
    WAYS,
    Population,
    Regime,
    Sample,
    answers,
    banks_of,
    correct,
    part_of,
    population,
    sample,
    three_intervals,
    views,
)


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
        source = population(regime, regime.own_share(new), rng)
        for repeat in range(sets):
            for row in _intervals(regime, new, sample(source, rng), rng):
                rows.append(dict(regime=regime.name, new=new, world=number, set=repeat, **row))
    return pd.DataFrame(rows)


def ends(interval: stats.Interval, unit: float = 1) -> dict[str, float]:
    """Number of tasks, mean, low and high of an interval, the last three times ``unit``."""
    low, high = unit * interval.low, unit * interval.high
    return {"tasks": interval.n, "mean": unit * interval.estimate, "low": low, "high": high}


def _row(
    unit: float, kind: str, interval: stats.Interval, knowledge: str = ""
) -> dict[str, object]:
    return {"interval": kind, "given": knowledge, **ends(interval, unit)}


def _intervals(
    regime: Regime, new: str, test_set: Sample, rng: Generator
) -> Iterator[dict[str, object]]:
    """The rows of one test set."""
    shape = dict(ways=WAYS, shots=regime.shots, seed=int(rng.integers(2**31)))
    closed = shape | dict(tasks=regime.tasks, queries=regime.queries)
    tasks = sample_closed(test_set.labels, **closed)
    banks = test_set.banks[: 1 + regime.paired]
    right = answers(banks, tasks, steps=regime.steps, soft=regime.soft)
    unit = 100 if regime.soft else 1
    yield _row(unit, "closed", stats.closed_task_interval(right[0].mean(axis=1)))
    yield _row(unit, "usual", stats.closed_task_interval(right[0][:USUAL_TASKS].mean(axis=1)))
    for knowledge in regime.given:
        result = _informed(knowledge, test_set, tasks, right[0], closed, (0, 100 // unit))
        yield _row(unit, new, getattr(result, new), knowledge)
    if regime.paired:
        paired, coin = _of_two(right[0] - right[1], tasks, test_set.labels, 100 // unit, rng)
        yield _row(unit, "paired", getattr(paired, new))
        yield _row(unit, "coin", coin)
    for q in QUERIES:
        if regime.opened and regime.shots + q <= regime.images:
            yield _row(unit, f"open {q}", _open_interval(test_set, queries=q, **shape))


def _of_two(
    difference: ndarray, tasks: Tasks, labels: ndarray, highest: int, rng: Generator
) -> tuple[stats.ThreeIntervals, stats.Interval]:
    """Intervals of the difference of two backbones, and where a coin per task says which is which."""
    bounds = (-highest, highest)
    flipped = difference.mean(axis=1) * rng.choice([-1, 1], len(difference))
    paired = three_intervals(difference, tasks, labels, bounds=bounds)
    return paired, _over_usual_tasks(flipped, bounds)


def _open_interval(test_set: Sample, **shape) -> stats.Interval:
    """The open interval of the first backbone."""
    tasks = sample_open(test_set.labels, **shape)
    (right,) = answers(test_set.banks[:1], tasks)
    return stats.open_task_interval(right.mean(axis=1))


def _informed(
    knowledge: str,
    test_set: Sample,
    tasks: Tasks,
    right: ndarray,
    closed: dict,
    bounds: tuple[int, int],
) -> stats.ThreeIntervals:
    """The intervals of the first backbone, given this knowledge (as in `Regime`) about dependence."""
    bank, groups = test_set.banks[0], test_set.groups
    if knowledge == "one of each":
        bank = part_of(bank, np.unique(groups, return_index=True)[1])
        tasks = sample_closed(bank.labels, **closed)
        (right,) = answers([bank], tasks)
    elif knowledge == "apart":
        tasks = sample_closed(bank.labels, groups=groups, **closed)
        (right,) = answers([bank], tasks)
    facts = {
        "groups": dict(groups=groups),
        "class groups": dict(class_groups=test_set.class_groups),
        "transductive": dict(transductive=True),
        "apart": dict(groups=groups, group_disjoint=True),
    }
    return three_intervals(right, tasks, bank.labels, **facts.get(knowledge, {}), bounds=bounds)


def _over_usual_tasks(differences: ndarray, bounds: tuple[int, int]) -> stats.Interval:
    """The paired interval of two methods, from their differences on the first 600 tasks."""
    usual = differences[:USUAL_TASKS]
    return stats.paired_interval(usual, np.zeros_like(usual), bounds=bounds)


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

    rows = []
    truth = _mean_accuracy(population, shots, seed) if new == "classes" else None
    for number in range(worlds):
        rng = np.random.default_rng([seed, number])
        chosen = rng.permutation(np.unique(population.labels))[:classes]
        if new == "images":
            truth = _mean_accuracy(_of_classes(population, chosen), shots, seed)
        for repeat in range(sets):
            for row in _population_rows(population, chosen, images, new, shots, rng):
                rows.append(dict(new=new, world=number, set=repeat, truth=truth, **row))
    return pd.DataFrame(
        rows,
        columns=["new", "world", "set", "interval", "tasks", "truth", "mean", "low", "high"],
    )


def _mean_accuracy(bank: Bank, shots: int, seed: int) -> float:
    """Of NCC on many closed tasks, in percent."""
    tasks = sample_closed(bank.labels, tasks=20_000, ways=WAYS, shots=shots, seed=seed)
    return correct(bank, tasks).mean()


def _of_classes(bank: Bank, classes: ndarray) -> Bank:
    return part_of(bank, np.flatnonzero(np.isin(bank.labels, classes)))


def _population_rows(
    bank: Bank, classes: ndarray, images: int, new: str, shots: int, rng: Generator
) -> Iterator[dict[str, object]]:
    """The intervals of a test set of so many images of these classes: the usual one, and that for what is new."""
    rows = [rng.permutation(np.flatnonzero(bank.labels == c))[:images] for c in classes]
    test_set = part_of(bank, np.concatenate(rows))
    seed = int(rng.integers(2**31))
    tasks = sample_closed(test_set.labels, tasks=2000, ways=WAYS, shots=shots, seed=seed)
    (right,) = answers([test_set], tasks)
    usual = stats.closed_task_interval(right[:USUAL_TASKS].mean(axis=1))
    yield {"interval": "usual", **ends(usual)}
    result = three_intervals(right, tasks, test_set.labels, bounds=(0, 100))
    yield {"interval": new, **ends(getattr(result, new))}


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
        tasks, labels, right = _equal_methods(regime, methods, regime.own_share(new), rng)
        for a, b in combinations(range(methods), 2):
            p_values = _two_p_values(right[a] - right[b], tasks, labels, new)
            rows.append(dict(new=new, study=study, a=a, b=b, **p_values))
    return pd.DataFrame(rows)


def _equal_methods(
    regime: Regime, methods: int, own_share: float, rng: Generator
) -> tuple[Tasks, ndarray, list[ndarray]]:
    """Tasks on a test set, its labels, and the answers of so many equally good backbones."""
    means = regime.spread * views(methods, regime.classes, own_share, rng, regime.dimensions)
    labels = np.arange(regime.classes).repeat(regime.images)
    noise = views(methods, len(labels), 1 - regime.alike, rng, regime.dimensions)
    banks = banks_of(means[:, labels] + noise, labels)
    tasks = regime.closed_tasks(labels, regime.tasks, rng)
    return tasks, labels, answers(banks, tasks)


def _two_p_values(difference: ndarray, tasks: Tasks, labels: ndarray, new: str) -> dict[str, float]:
    """p-values of a difference: for these images over 600 tasks, and for what is new."""
    closed = _over_usual_tasks(difference.mean(axis=1), (-100, 100))
    result = three_intervals(difference, tasks, labels, bounds=(-100, 100))
    return {"closed": closed.p_value, "ours": getattr(result, new).p_value}


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
                row = {"target": f"new {new}", "test": test, "correction": name}
                rows.append(row | share_of(smallest < 1 - level))
    return pd.DataFrame(rows)


def load(name: str = "replicates") -> pd.DataFrame:
    """A study that ships with the book: 'replicates', 'population', 'gaps', 'many' or 'plans' (of data/coverage)."""
    table = pd.read_parquet(DATA / "coverage" / f"{name}.parquet")
    return table.astype(dict.fromkeys(table.select_dtypes("category"), object))


def share_of(hits: pd.Series) -> dict[str, float]:
    """Share (percent) of hits, the number n, and low and high of the share's 95 % interval (Clopper and Pearson).

    Examples
    --------
    >>> {name: round(x, 1) for name, x in share_of(pd.Series([True] * 95 + [False] * 5)).items()}
    {'share': 95.0, 'n': 100, 'low': 88.7, 'high': 98.4}
    """
    interval = binomtest(int(hits.sum()), len(hits)).proportion_ci(0.95)
    low, high = 100 * interval.low, 100 * interval.high
    return {"share": 100 * float(hits.mean()), "n": len(hits), "low": low, "high": high}


def mean_half_width(intervals: pd.DataFrame) -> float:
    """Half of the mean length of intervals, from their columns low and high."""
    return (intervals["high"] - intervals["low"]).mean() / 2


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
    for regime, test_sets in replicates.groupby("regime", sort=False):
        by_interval = {
            key: part.set_index(["new", "world", "set"])
            for key, part in test_sets.groupby(["interval", "given"], sort=False)
        }
        statements = _on_these_images(by_interval)
        for new in test_sets["new"].unique():
            statements += _on_new(new, by_interval)
        rows += [{"regime": regime, **statement} for statement in statements]
    return pd.DataFrame(rows)


def _statement(
    target: str,
    interval: str,
    part: pd.DataFrame,
    truth: pd.Series | float,
    *,
    knowledge: str = "",
    inside: bool = True,
    bias: float = 0.0,
    queries: int = 0,
) -> dict[str, object]:
    """A row of `summary`: the share of intervals that contain the truth, or that miss it where not ``inside``."""
    contained = (part["low"] <= truth) & (truth <= part["high"])
    return {
        "target": target,
        "interval": interval,
        "given": knowledge,
        **share_of(contained == inside),
        "half_width": mean_half_width(part),
        "deviation": np.sqrt(((part["mean"] - truth) ** 2).mean()),
        "mean": part["mean"].mean(),
        "bias": bias,
        "queries": queries,
    }


def _on_these_images(by_interval: dict[tuple[str, str], pd.DataFrame]) -> list[dict]:
    """The statements on the images of each test set."""
    statements = []
    closed, usual = by_interval["closed", ""], by_interval["usual", ""]
    # The other tasks are no truth but a mean as well.
    if (usual["tasks"] < closed["tasks"]).all():
        missing_share = np.sqrt(1 - usual["tasks"] / closed["tasks"])
        truth = usual["mean"] - (usual["mean"] - closed["mean"]) / missing_share
        statements.append(_statement("these images", "closed", usual, truth))
    if ("coin", "") in by_interval:
        coin = by_interval["coin", ""]
        statements.append(_statement("these images", "paired", coin, 0.0, inside=False))
    return statements


def _narrowest_open(by_interval: dict[tuple[str, str], pd.DataFrame]) -> str | None:
    """'open Q' with the narrowest intervals."""
    widths = {
        kind: mean_half_width(part)
        for (kind, _), part in by_interval.items()
        if kind.startswith("open ")
    }
    return min(widths, key=widths.get, default=None)


def _on_new(new: str, by_interval: dict[tuple[str, str], pd.DataFrame]) -> Iterator[dict]:
    """The statements on new images or new classes."""
    best = _narrowest_open(by_interval)
    intervals = {
        key: part.loc[[new]]
        for key, part in by_interval.items()
        if new in part.index.get_level_values("new")
    }
    closed = intervals["closed", ""]
    # New classes come with a new world: all test sets have the same truth.
    world = closed.index.get_level_values("world") if new == "images" else 0
    world = pd.Series(world, closed.index)
    independent = intervals.get((new, "one of each"), closed)["mean"]
    truth = scaled_truth(closed["mean"], world, independent)
    target = f"new {new}"
    yield _statement(target, "closed", intervals["usual", ""], truth)
    if best:
        opened = intervals[best, ""]
        yield _statement(target, "open", opened, truth, queries=int(best.split()[1]))
    for (interval, knowledge), part in intervals.items():
        if interval == new:
            bias = part["mean"].mean() - independent.mean()
            truth = scaled_truth(part["mean"], world, independent)
            yield _statement(target, new, part, truth, knowledge=knowledge, bias=bias)
    if ("paired", "") in intervals:
        yield _statement(target, "paired", intervals["paired", ""], 0.0, inside=False)


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
        {
            "queries": wide["queries"]["open"].astype(int),
            "ratio": ratio,
            "deviations": deviations,
        }
    )
    return out.loc[order].reset_index()


PILOT = Regime(
    classes=10, images=30, shots=1, spread=0.6
)  # the test set that `check_plan` plans from
# Pilots, what is new, and the factor by which classes differ more under the second backbone: the
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
        right sign, in the pilot (``detected_by_pilot``) and in the test set of the planned size
        (``detected``).
    """
    study = PlanStudy(regime, new, better, np.random.default_rng(seed), power, level)
    difference = study.difference()
    pilots = [study.intervals(regime.classes, regime.images) for _ in range(loops)]
    facts = dict(regime=regime.name, new=new, better=better, difference=difference)
    return pd.DataFrame([facts | study.carried_out(pilot, difference) for pilot in pilots])


@dataclass(frozen=True)
class PlanStudy:
    """Test sets of two backbones, and plans for them; fields as the arguments of `plan_loops`."""

    regime: Regime
    new: str
    better: float
    rng: Generator
    power: float
    level: float

    def population(self, classes: int, images: int) -> Population:
        """A new world, with so many classes and images of each."""
        regime = replace(self.regime, classes=classes, images=images)
        source = population(regime, regime.own_share(self.new), self.rng)
        source.centres[1] *= self.better  # classes further apart are distinguished more easily
        return source

    @cached_property
    def same_classes(self) -> Population:
        """The world of all test sets, where images are new."""
        return self.population(self.regime.classes, self.regime.images)

    def test_set(self, classes: int, images: int) -> tuple[ndarray, Tasks, ndarray]:
        """Differences of the two backbones on a test set of this size, its tasks and its labels."""
        if self.new == "images":
            source = replace(self.same_classes, sizes=np.full(classes, images))
        else:
            source = self.population(classes, images)
        test_set = sample(source, self.rng)
        tasks = self.regime.closed_tasks(test_set.labels, 2000, self.rng)
        worse, better = answers(test_set.banks, tasks)
        return better - worse, tasks, test_set.labels

    def difference(self) -> float:
        """The true one, over 40 large test sets.

        Its own error must be small against a plan's: ten sets of 150 images leave it a tenth off.
        """
        large = (self.regime.classes, 1000) if self.new == "images" else (400, self.regime.images)
        return float(np.mean([self.test_set(*large)[0].mean() for _ in range(40)]))

    def intervals(self, classes: int, images: int) -> stats.ThreeIntervals:
        """Intervals of the difference on a test set of this size."""
        return three_intervals(
            *self.test_set(classes, images), confidence_level=self.level, bounds=(-100, 100)
        )

    def carried_out(self, pilot: stats.ThreeIntervals, difference: float) -> dict[str, object]:
        """A row of `plan_loops`: the plan from a pilot, and what a test set of this size shows."""
        regime = self.regime
        plan = stats.plan_sample_size(
            pilot,
            difference=difference,
            target_power=self.power,
            confidence_level=self.level,
            images_per_class=regime.images,
            n_classes=regime.classes,
            ways=WAYS,
            shots=regime.shots,
        )
        if self.new == "images":  # a task has S + Q of each class
            planned = max(plan.images_per_class, regime.shots + regime.queries)
            low, high = plan.images_range
            result = self.intervals(regime.classes, planned)
        else:
            planned = plan.n_classes
            low, high = plan.classes_range
            result = self.intervals(planned, regime.images)
        before, after = getattr(pilot, self.new), getattr(result, self.new)
        return {
            "pilot": before.half_width,
            "planned": planned,
            "low": low,
            "high": high,
            "detected_by_pilot": before.sign == 1,
            "detected": after.sign == 1,
        }


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
        facts = {
            "regime": regime,
            "target": f"new {new}",
            "difference": kind["difference"].mean(),
            "pilot": kind["pilot"].mean(),
            "planned": kind["planned"].median(),
            "in_pilot": 100 * kind["detected_by_pilot"].mean(),
        }
        rows.append(facts | share_of(kind["detected"]))
    return pd.DataFrame(rows)


def check_plan(test_sets: int, *, power: float, level: float, seed: int) -> pd.DataFrame:
    """`plan_loops` for new images, from the pilot `PILOT`."""
    return plan_loops(PILOT, "images", 1.05, test_sets, power=power, level=level, seed=seed)
