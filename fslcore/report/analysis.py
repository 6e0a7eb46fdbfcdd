"""From measurements to means, differences and what they apply to: one function per shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats

from .. import stats
from ..errors import InputError
from ..stats import Interval, Target
from ..stats.across_datasets import interval_over_datasets
from ..stats.intervals import Bounds
from ..stats.proportions import PairedProportions, wilson_interval
from ..stats.rare import variance_units
from ..stats.task_intervals import stratified_interval
from . import over_datasets
from .model import PERCENT, SETTINGS, UNIT_KEYS, Measurements, Shape
from .options import Options
from .over_datasets import paired

FEW_UNITS = 20
MOST_KURTOSIS = 6.0  # twice that of a normal distribution, exceeded by 0.6 % of 20 normal values
FEW_DISCORDANT = 10  # items that two methods answer differently
MOST_METHODS = 60  # compared two by two; the 1,770 pairs take some seconds
PERCENT_BOUNDS = (0.0, PERCENT)
DIFFERENCE_BOUNDS = (-PERCENT, PERCENT)
AGREEMENT = 0.95  # correlation of methods on the same tasks, at most; `fslcore.stats.published`
COHEN_D, COHEN_DZ, COHEN_G = (
    "Cohen's d",
    "Cohen's d_z",
    "Cohen's g",
)  # Cohen (1988); d_z: Lakens (2013)
PLURAL = {"data set": "data sets", "class": "classes"}


@dataclass(frozen=True)
class Sample:
    """Methods measured on the same units, in one place, for one target.

    Attributes
    ----------
    place : str
        What distinguishes it from other samples of the file, such as 'CUB, 5-shot'; empty for one.
    target : str
        What its intervals apply to, in words, if the file supports several; else empty.
    unit : str
        'task', 'data set', 'seed', 'item', …
    methods : DataFrame
        method, mean, low, high, half_width, n; the best first.
    pairs : DataFrame
        a, b (a has the better mean), difference (a - b), low, high, half_width, p, n, units_better
        and units_worse (of paired units, on how many a is better and worse; NaN of others),
        standard_error (NaN where the interval is not Student's) and test_df (degrees of freedom),
        spread (standard deviation over units; NaN if more units would not settle the pair),
        spread_df (its degrees of freedom), test, effect_size and effect (its name;
        `fslcore.report.results` fills in Cohen's d_z).

    Both also have, where known, variance_units (`variance_units`) and variance_of, the units behind
    them.
    """

    place: str
    target: str
    unit: str
    methods: pd.DataFrame
    pairs: pd.DataFrame


@dataclass
class Analysis:
    """Samples, and sentences on what they apply to, what they assume and where to be careful."""

    samples: list[Sample] = field(default_factory=list)
    applies: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """The rows of one place, with what the user said of them.

    Attributes
    ----------
    name : str
        As in `Sample`.
    rows : DataFrame
        As in `fslcore.report.shapes.Measurements`.
    options : Options
    analysis : Analysis
        Where sentences and further frames are added.
    """

    name: str
    rows: pd.DataFrame
    options: Options
    analysis: Analysis
    percent: bool = True

    @property
    def unit(self) -> str:
        """The key of what is repeated in its rows."""
        return next(key for key in UNIT_KEYS if key in self.rows)

    def __str__(self) -> str:
        return f" in {self.name}" if self.name else ""

    def grid(self, *keys: str) -> pd.DataFrame:
        """Values with a row per unit, which the keys name, and a column per method."""
        return self.rows.pivot_table("accuracy", [*keys], "method", sort=False, observed=True)

    @property
    def bounds(self) -> Bounds:
        """Between which values lie: accuracies do, other measures need not."""
        return PERCENT_BOUNDS if self.percent else None

    @property
    def difference_bounds(self) -> Bounds:
        """Between which differences of values lie."""
        return DIFFERENCE_BOUNDS if self.percent else None


def analyse(measured: Measurements, options: Options) -> Analysis:
    """What the measurements say, by their shape."""
    from .items import analyse_items, analyse_items_of_classes  # late, as built on this module

    analyses = ANALYSES | {Shape.ITEMS: analyse_items}
    if has_items_of_classes(measured):
        analyses[measured.shape] = analyse_items_of_classes
    analysis = Analysis()
    count = measured.rows["method"].nunique()
    if count > MOST_METHODS and options.reference is None:
        raise InputError(
            f"{count} methods; up to {MOST_METHODS} are compared two by two, or one with all "
            "others (reference=NAME)"
        )
    for name, rows in places(measured):
        place = Place(name, rows, options, analysis, measured.percent)
        analysis.samples += analyses[measured.shape](place)
    if measured.shape is not Shape.ITEMS and not has_items_of_classes(measured):
        analysis.applies += applies_to(measured, options)
    analysis.applies = list(dict.fromkeys(analysis.applies))
    add_cautions(analysis)
    return analysis


def has_items_of_classes(measured: Measurements) -> bool:
    """Whether each item was measured once, and has a class: then there are two targets."""
    is_plain = measured.shape in (Shape.TASKS, Shape.OUTCOMES)
    return is_plain and {"item", "class"} <= {*measured.rows}


def places(measured: Measurements) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each place, named by what differs between places."""
    rows = measured.rows
    settings = dict.fromkeys((*SETTINGS, *measured.blocks))
    keys = [key for key in settings if key in rows and rows[key].nunique() > 1]
    over_datasets = measured.shape in (Shape.DATASETS, Shape.DATASETS_AND_SEEDS)
    if over_datasets and "dataset" not in measured.blocks:
        keys = [key for key in keys if key != "dataset"]
    if not keys:
        yield "", rows
        return
    for values, part in rows.groupby(keys, sort=False):
        yield ", ".join(map(place_word, keys, values)), part


def place_word(key: str, value: object) -> str:
    """One key of a place in words: '5-shot'."""
    words = {"ways": "{}-way", "shots": "{}-shot", "queries": "{} queries"}
    words |= dict.fromkeys(("dataset", "sampling"), "{}")
    return words.get(key, f"{key.strip()} {{}}").format(value)


# Intervals of methods and differences ------------------------------------------------------------


def numbers_of(interval: Interval) -> dict[str, float]:
    """The ends of an interval, its half-width and its number of units."""
    numbers = {key: getattr(interval, key) for key in ("low", "high", "half_width")}
    return numbers | {"n": interval.n}


def pair_row(
    pair: Sequence[str], interval: Interval, p_value: float, test: str, options: Options
) -> dict[str, object]:
    """A row of `Sample.pairs`; interval and p-value are of the first of the pair minus the second.

    The better of the two is the first on the units that both have, which need not be all of each.
    """
    mean = interval.estimate
    row: dict[str, Any] = {"a": pair[0], "b": pair[1], "difference": mean, **numbers_of(interval)}
    unknown = (
        "units_better",
        "units_worse",
        "standard_error",
        "spread",
        "spread_df",
        "effect_size",
    )
    row |= dict.fromkeys(unknown, np.nan)
    row |= {"p": p_value, "test_df": np.inf, "test": test, "effect": ""}
    if interval.ends is None and np.isfinite(interval.half_width):
        row["standard_error"] = interval.standard_error
        row["spread"] = interval.standard_error * np.sqrt(interval.n)
        row["spread_df"] = row["test_df"] = interval.df
    if options.sign * mean < 0:
        row |= {"a": pair[1], "b": pair[0], "difference": -mean}
        row |= {"low": -row["high"], "high": -row["low"]}
    return row


def named_intervals(
    means: pd.Series,
    options: Options,
    method: Callable[[str], Any],
    difference: Callable[[str, str], Any],
) -> dict[tuple[str, ...], Any]:
    """By (method,), the best first, and by (a, b), a with the better mean, what two functions give.

    Parameters
    ----------
    means : Series
        By method.
    options : Options
    method, difference : callable
        Of one name, and of two, to an interval or several.
    """
    names = means.index[(-options.sign * means).argsort(kind="stable")]
    intervals: dict[tuple[str, ...], Any] = {(name,): method(name) for name in names}
    for pair in combinations(names, 2):
        if options.reference is None or options.reference in pair:
            intervals[pair] = difference(*pair)
    return intervals


def sample_of_intervals(
    intervals: Mapping[tuple[str, ...], Interval],
    place: Place,
    unit: str,
    test: str,
    target: str = "",
    *,
    p_values: Mapping[tuple[str, ...], float] | None = None,
) -> Sample:
    """A sample of intervals by (method,), the best first, and by (a, b), whose p-values are by default
    those of the intervals.
    """
    methods, pairs = [], []
    for names, interval in intervals.items():
        if len(names) == 2:
            p_value = interval.p_value if p_values is None else p_values[names]
            pairs.append(pair_row(names, interval, p_value, test, place.options))
        else:
            row = {"method": names[0], "mean": interval.estimate, **numbers_of(interval)}
            methods.append(row)
    return Sample(place.name, target, unit, pd.DataFrame(methods), pd.DataFrame(pairs))


def sample_of(
    place: Place,
    intervals: dict[str, Interval],
    difference: Callable[[str, str], Interval],
    unit: str,
    test: str,
) -> Sample:
    """A sample of one interval per method, and of those that ``difference`` gives; with the margin
    of the options, tests of equivalence.
    """
    means = pd.Series({name: interval.estimate for name, interval in intervals.items()})
    named = named_intervals(means, place.options, intervals.get, difference)
    sample = sample_of_intervals(named, place, unit, test)
    margin = place.options.margin
    if margin is not None:
        differences = [interval for names, interval in named.items() if len(names) == 2]
        sample.pairs["p_equivalent"] = [
            stats.tost(interval, margin).p_value for interval in differences
        ]
        ends = [ends_of_two_tests(interval) for interval in differences]
        is_exchanged = (
            sample.pairs["difference"] * [interval.estimate for interval in differences] < 0
        )
        for (low, high), row in zip(ends, sample.pairs.index, strict=True):
            one_way = (-high, -low) if is_exchanged[row] else (low, high)
            sample.pairs.loc[row, ["low_equivalent", "high_equivalent"]] = one_way
    return sample


def ends_of_two_tests(interval: Interval) -> tuple[float, float]:
    """Ends of the interval that two one-sided tests at 1 - level invert, of the level 2 level - 1:
    it lies within the margin exactly where they call methods equivalent.
    """
    level = 2 * interval.confidence_level - 1
    if level <= 0 or not np.isfinite(interval.half_width):
        return interval.low, interval.high
    half_width = interval.standard_error * scipy.stats.t.ppf((1 + level) / 2, interval.df)
    narrower = replace(interval, confidence_level=level, half_width=float(half_width))
    return narrower.low, narrower.high


def sample_of_grid(
    place: Place, grid: pd.DataFrame, unit: str, *, shared_only: bool = False
) -> Sample:
    """Methods on units, compared unit by unit; on different units, as independent samples.

    Parameters
    ----------
    place : Place
    grid : DataFrame
        A row per unit and a column per method; NaN where a method lacks a unit.
    unit : str
        As for `Sample`.
    shared_only : bool
        Compare two methods on the units that both have, however many each has.
    """
    for name, count in grid.count().items():
        if count < 2:
            raise InputError(f"{name} must have at least 2 {plural(unit)}{place}, got {count}")
    level = place.options.level
    bounds = place.difference_bounds
    intervals = {name: mean_interval(grid[name].dropna(), place) for name in grid}

    def are_paired(first: str, second: str) -> bool:
        count = len(grid[[first, second]].dropna())
        return count == grid[[first, second]].count().max() or (shared_only and count > 1)

    def difference(first: str, second: str) -> Interval:
        if are_paired(first, second):
            interval_of = interval_over_datasets if shared_only else stats.open_task_interval
            return interval_of(paired(grid[[first, second]].dropna()), level, bounds=bounds)
        return stats.welch_interval(
            grid[first].dropna(), grid[second].dropna(), level, bounds=bounds
        )

    sample = sample_of(place, intervals, difference, unit, "paired t-test")
    for pair in sample.pairs.itertuples():
        if not are_paired(pair.a, pair.b):
            sample.pairs.loc[pair.Index, "test"] = "Welch's t-test"
    add_variance_units(sample, grid)
    add_better_units(sample.pairs, grid, place.options)
    if len(sample.pairs):
        add_effects_of_independent(sample.pairs, grid)
    return sample


def add_variance_units(sample: Sample, grid: pd.DataFrame) -> None:
    """Add to methods and pairs how many units carry their variance.

    Two methods on different units have as many as the smaller sample would have, at the lower of
    the two shares of units: a failure that is too rare to be among few units is among many.
    """
    sizes = grid.count()
    counts = pd.Series({name: variance_units(grid[name].dropna().to_numpy()) for name in grid})
    sample.methods["variance_units"] = sample.methods["method"].map(counts)
    sample.methods["variance_of"] = sample.methods["method"].map(sizes)
    carrying, behind = [], []
    for pair in sample.pairs.itertuples():
        names = [pair.a, pair.b]
        if pair.test.startswith("Welch"):
            size = sizes[names].min()
            carrying.append((counts / sizes)[names].min() * size)
        else:
            differences = paired(grid[names].dropna())
            size = len(differences)
            carrying.append(variance_units(differences))
        behind.append(size)
    sample.pairs["variance_units"] = carrying
    sample.pairs["variance_of"] = behind


def add_better_units(pairs: pd.DataFrame, grid: pd.DataFrame, options: Options) -> None:
    """Add on how many units the first of a pair is better, and on how many the second."""
    for pair in pairs.itertuples():
        if not pair.test.startswith("Welch"):
            gains = options.sign * paired(grid[[pair.a, pair.b]].dropna())
            counts = int((gains > 0).sum()), int((gains < 0).sum())
            pairs.loc[pair.Index, ["units_better", "units_worse"]] = counts


def add_effects_of_independent(pairs: pd.DataFrame, grid: pd.DataFrame) -> None:
    """Add Cohen's d of pairs on different units: by the mean variance of both methods."""
    independent = pairs["test"].str.startswith("Welch")
    variances = grid.var()
    deviation = np.sqrt((pairs["a"].map(variances) + pairs["b"].map(variances)) / 2)
    varies = independent & (deviation > 0)
    pairs.loc[varies, "effect_size"] = (pairs["difference"] / deviation)[varies]
    pairs.loc[varies, "effect"] = COHEN_D


def mean_interval(values: pd.Series, place: Place) -> Interval:
    """The interval of a mean, by how tasks were drawn."""
    of_mean = (
        stats.closed_task_interval
        if place.options.sampling == "closed"
        else stats.open_task_interval
    )
    return of_mean(values, place.options.level, bounds=place.bounds)


def plural(unit: str) -> str:
    """The plural of a unit."""
    return PLURAL.get(unit, f"{unit}s")


# Tasks --------------------------------------------------------------------------------------------


def analyse_tasks(place: Place) -> list[Sample]:
    """Methods on tasks, paired where they have the same tasks."""
    units, options, analysis = plural(place.unit), place.options, place.analysis
    grid = place.grid(place.unit)
    shared = grid.dropna()
    if len(shared) < len(grid):
        if options.common and len(shared) < 2:
            raise InputError(f"common=True: no two {units} are shared by all methods{place}")
        if options.common:
            analysis.assumptions.append(
                f"Only the {len(shared):,} {units} that all methods share are used."
            )
            grid = shared
        else:
            way_out = f"Run all methods on the same {units} for shorter intervals."
            if len(shared) > 1:
                way_out = f"{len(shared):,} {units} are shared by all: --common compares on these."
            analysis.cautions.append(
                f"Methods have different {units}, so their differences are unpaired (Welch): what "
                f"makes {units} hard for all methods does not cancel. {way_out}"
            )
    elif grid.shape[1] > 1 and options.reference is None and not options.lower_is_better:
        add_winner(place, grid)
    return [sample_of_grid(place, grid, place.unit)]


def add_winner(place: Place, grid: pd.DataFrame) -> None:
    """What the highest mean is worth, given that it was chosen on the same tasks."""
    level = place.options.level
    try:
        winner = stats.winner_interval(
            grid.to_numpy().T, confidence_level=level, bounds=PERCENT_BOUNDS
        )
    except InputError:  # too few tasks
        return
    row = {
        "method": grid.columns[winner.method],
        "mean": winner.observed.estimate,
        "corrected": winner.corrected.estimate,
        "low": winner.corrected.low,
        "high": winner.corrected.high,
    }
    title = f"the highest mean, corrected for its choice{place}"
    place.analysis.frames[title] = pd.DataFrame([row])


def analyse_draws(place: Place) -> list[Sample]:
    """Tasks in several draws, as one sample that is stratified by draw."""
    unit = place.unit
    draw = next(key for key in ("draw", "seed", "run") if key in place.rows)
    grid = place.grid(draw, unit)
    if grid.isna().to_numpy().any():
        return [sample_of_grid(place, grid, unit)]
    draws = grid.index.get_level_values(0).to_numpy()
    level = place.options.level
    intervals = {
        name: stratified_interval(grid[name], draws, level, bounds=place.bounds) for name in grid
    }

    def difference(first: str, second: str) -> Interval:
        differences = paired(grid[[first, second]])
        return stratified_interval(differences, draws, level, bounds=place.difference_bounds)

    place.analysis.assumptions.append(
        f"Variances are taken within each of {len(set(draws))} draws."
    )
    sample = sample_of(place, intervals, difference, unit, "paired t-test, stratified by draw")
    add_variance_units(sample, grid - grid.groupby(draws).transform("mean"))
    return [sample]


# Training runs ------------------------------------------------------------------------------------


def analyse_runs(place: Place) -> list[Sample]:
    """Training runs on tasks: both vary (`fslcore.stats.new_run_interval`)."""
    run = "run" if "run" in place.rows else "seed"
    place = with_several_runs(place, run)
    values = crossed_runs(place, run)
    if not values:
        return means_of_runs(place, run)
    level = place.options.level
    intervals = {
        name: stats.new_run_interval(runs, confidence_level=level, bounds=place.bounds).interval
        for name, runs in values.items()
    }

    def difference(first: str, second: str) -> Interval:
        bounds = place.difference_bounds
        return stats.new_run_interval(
            values[first], values[second], confidence_level=level, bounds=bounds
        ).interval

    sample = sample_of(place, intervals, difference, run, "t-test over runs and tasks")
    sample.pairs["spread"] = np.nan  # more tasks alone do not settle what runs leave open
    sample.methods["n"] = [len(values[name]) for name in sample.methods["method"]]
    place.analysis.assumptions.append("Runs and tasks both vary; their variances add up.")
    return [sample]


def with_several_runs(place: Place, run: str) -> Place:
    """The place without methods of one run, unless all have one or the reference has."""
    counts = place.rows.groupby("method", sort=False)[run].nunique()
    single = list(counts.index[counts < 2])
    if len(single) in (0, len(counts)) or place.options.reference in single:
        return place
    place.analysis.cautions.append(
        f"Left out: {', '.join(single)}: one {run} shows nothing of other {plural(run)}."
    )
    return replace(place, rows=place.rows[~place.rows["method"].isin(single)])


def crossed_runs(place: Place, run: str) -> dict[str, np.ndarray]:
    """By method its (R, T) values, if all runs of all methods have the same tasks; else empty."""
    values: dict[str, np.ndarray] = {}
    tasks: set[object] = set()
    for name, part in place.rows.groupby("method", sort=False):
        grid = part.pivot_table("accuracy", run, place.unit, sort=False)
        tasks = tasks or set(grid)
        if len(grid) < 2 or grid.isna().to_numpy().any() or set(grid) != tasks:
            return {}
        values[name] = grid[sorted(tasks, key=str)].to_numpy()
    return values


def means_of_runs(place: Place, run: str) -> list[Sample]:
    """Means of runs, where runs have different tasks."""
    means = place.grid(run)
    single = means.count().idxmin()
    if means[single].count() < 2:
        raise InputError(
            f"{single} has one {run}{place}, and nothing is known of other {plural(run)}; bring "
            f"more, or leave it out (where={[f'method!={single}']}), or say seed='tasks' if seeds number "
            "draws of tasks"
        )
    place.analysis.assumptions.append(
        f"The {plural(run)} have different tasks: the mean of each {run} is one measurement."
    )
    return [sample_of_grid(place, means, run, shared_only=True)]


# Means --------------------------------------------------------------------------------------------


def analyse_datasets(place: Place) -> list[Sample]:
    """One mean per data set and method: data sets are the sample; ranks beside the differences.

    Means over seeds, where there are several.
    """
    grid = place.grid("dataset")
    sample = sample_of_grid(place, grid, "data set", shared_only=True)
    if len(sample.pairs):
        title = f"signed-rank test over data sets{place}"
        place.analysis.frames[title] = over_datasets.signed_rank_frame(sample.pairs, grid)
    over_datasets.add_decisive_datasets(place, sample.pairs, grid)
    over_datasets.add_equal_differences(place, sample.pairs, grid)
    complete = grid.dropna()
    if len(complete) < len(grid):
        place.analysis.cautions.append(
            "Some methods lack data sets: each pair is compared on those that both have."
        )
    if len(complete) > 1 and grid.shape[1] > 2:
        ranks = over_datasets.rank_frame(complete, place.options)
        place.analysis.frames[f"ranks over data sets{place}"] = ranks
    return [sample]


def analyse_seeds(place: Place) -> list[Sample]:
    """One mean per seed and method, paired over seeds where the seeds are the same."""
    rows = place.rows
    key = "seed" if "seed" in rows and rows["seed"].nunique() > 1 else "run"
    return [sample_of_grid(place, place.grid(key), key)]


def analyse_folds(place: Place) -> list[Sample]:
    """One mean per fold and method; variances are enlarged, as folds share their training data
    (Nadeau and Bengio, 2003): by 1 + k / (k - 1) for k folds.
    """
    grid = place.grid("fold").dropna()
    if len(grid) < 2:
        raise InputError(f"fewer than two folds are shared by all methods{place}")
    factor = float(np.sqrt(1 + len(grid) / (len(grid) - 1)))
    level = place.options.level

    def corrected(values: np.ndarray, bounds: Bounds) -> Interval:
        interval = stats.open_task_interval(values, level, bounds=bounds)
        return replace(interval, half_width=interval.half_width * factor)

    intervals = {name: corrected(grid[name].to_numpy(), place.bounds) for name in grid}

    def difference(first: str, second: str) -> Interval:
        return corrected(paired(grid[[first, second]]), place.difference_bounds)

    sample = sample_of(place, intervals, difference, "fold", "corrected resampled t-test")
    add_better_units(sample.pairs, grid, place.options)
    sample.pairs["spread"] = np.nan  # more folds are no new data
    return [sample]


def analyse_datasets_and_seeds(place: Place) -> list[Sample]:
    """Over data sets, on means over seeds; and within each data set over its seeds."""
    samples = analyse_datasets(replace(place, name=f"over data sets{place}"))
    for dataset, part in place.rows.groupby("dataset", sort=False):
        if part.groupby("method").size().min() > 1:
            name = f"{dataset}, {place.name}" if place.name else str(dataset)
            samples += analyse_seeds(replace(place, name=name, rows=part))
    return samples


def analyse_printed(place: Place) -> list[Sample]:
    """Means with a printed ±: the best and the worst that pairing could do."""
    level = place.options.level
    intervals = {
        row.method: printed_interval(row.accuracy, row.half_width, level)
        for row in place.rows.itertuples()
    }

    def worst_difference(first: str, second: str) -> Interval:
        a, b = intervals[first], intervals[second]
        half_width = np.hypot(a.half_width, b.half_width)
        return printed_interval(a.estimate - b.estimate, half_width, level)

    sample = sample_of(place, intervals, worst_difference, "task", "unpaired z-test")
    cut_at_bounds(sample.methods, place.bounds)
    cut_at_bounds(sample.pairs, place.difference_bounds)
    pairs = sample.pairs
    if len(pairs):
        widths = sample.methods.set_index("method")["half_width"]
        a, b = pairs["a"].map(widths), pairs["b"].map(widths)
        # Of methods that agree on tasks as much as is usual.
        pairs["paired_half_width"] = np.sqrt(a**2 + b**2 - 2 * AGREEMENT * a * b)
        pairs[["spread", "standard_error"]] = np.nan
    return [sample]


def cut_at_bounds(frame: pd.DataFrame, bounds: Bounds) -> None:
    """Cut the ends of printed intervals at the bounds: 99.5 ± 0.8 is no share above 100."""
    if bounds is not None and len(frame):
        frame[["low", "high"]] = frame[["low", "high"]].clip(*bounds)


def printed_interval(mean: float, half_width: float, level: float) -> Interval:
    """A printed mean with its ±, which is normal."""
    return Interval(float(mean), float(half_width), level, 0, Target.NEW_TASKS)


def analyse_outcomes(place: Place) -> list[Sample]:
    """Right and wrong answers: Wilson's interval, and paired proportions (McNemar, Tango)."""
    grid = place.grid(place.unit)
    if grid.isna().to_numpy().any():
        return analyse_tasks(place)
    answers = grid > 0
    level = place.options.level
    tests: dict[tuple[str, ...], PairedProportions] = {}

    def difference(first: str, second: str) -> Interval:
        tests[first, second] = stats.mcnemar(answers[first], answers[second], level)
        return tests[first, second].interval

    shares = named_intervals(
        answers.mean(),
        place.options,
        lambda name: wilson_interval(answers[name], level),
        difference,
    )
    p_values = {pair: test.p_value for pair, test in tests.items()}
    sample = sample_of_intervals(shares, place, place.unit, "McNemar's test", p_values=p_values)
    sample.methods[["mean", "low", "high", "half_width"]] *= PERCENT
    if tests:
        sample.pairs[["difference", "low", "high", "half_width"]] *= PERCENT
        sample.pairs["spread"] = [(grid[a] - grid[b]).std() for a, b in tests]
        # The variance is nearly the share of discordant items, a Poisson number over N.
        sample.pairs["spread_df"] = [2 * sum(test.discordant) for test in tests.values()]
        discordant = np.array([test.discordant for test in tests.values()])
        add_discordant(sample.pairs, discordant, place)
    return [sample]


def add_discordant(pairs: pd.DataFrame, discordant: np.ndarray, place: Place) -> None:
    """Add Cohen's g, and say where few items distinguish two methods.

    Parameters
    ----------
    pairs : DataFrame
    discordant : (pairs, 2) integers
        Items that only one of the two answers rightly.
    place : Place
    """
    counts = discordant.sum(axis=1)
    differ = counts > 0
    pairs.loc[differ, "effect_size"] = discordant.max(axis=1)[differ] / counts[differ] - 0.5
    pairs.loc[differ, "effect"] = COHEN_G
    few = np.flatnonzero(differ & (counts < FEW_DISCORDANT))
    if len(few):
        pair, count = pairs.iloc[few[0]], counts[few[0]]
        others = f", and {len(few) - 1} other pairs few" if len(few) > 1 else ""
        place.analysis.cautions.append(
            f"{pair['a']} and {pair['b']} answer {count} of {pair['n']:,} {plural(place.unit)} "
            f"differently{others}{place}: one answer more or less can change the verdict."
        )


ANALYSES = {
    Shape.TASKS: analyse_tasks,
    Shape.TASKS_IN_DRAWS: analyse_draws,
    Shape.RUNS: analyse_runs,
    Shape.DATASETS: analyse_datasets,
    Shape.SEEDS: analyse_seeds,
    Shape.FOLDS: analyse_folds,
    Shape.DATASETS_AND_SEEDS: analyse_datasets_and_seeds,
    Shape.PRINTED: analyse_printed,
    Shape.OUTCOMES: analyse_outcomes,
}

# What verdicts apply to ---------------------------------------------------------------------------

CLOSED = "These verdicts hold for these images only: tasks reuse images."
OPEN = (
    "These verdicts hold for new images of these classes, not for new classes: no image is in two "
    "tasks."
)
UNKNOWN = (
    "Verdicts apply to new tasks of these test data if tasks share data, to new data if they do "
    "not: say --sampling closed or open."
)
NEW_CLASSES = "The sample is the classes: verdicts apply to new classes like these."
NEW_ITEMS = (
    "Verdicts apply to new items like these, if items are independent; the support stays as it was."
)
NEW_ITEMS_OF_CLASSES = (
    "Verdicts apply to new items of these classes, if items of one class are independent; they say "
    "nothing about new classes."
)
APPLIES = {
    Shape.DATASETS: (
        "The sample is the data sets: verdicts apply to other data sets if these are a random "
        "sample of them, and say nothing about any single one."
    ),
    Shape.SEEDS: "Verdicts apply to new seeds, with these data.",
    Shape.FOLDS: (
        "Verdicts apply to new splits of these data. Folds share training data: intervals are "
        "corrected for it (Nadeau and Bengio, 2003)."
    ),
    Shape.DATASETS_AND_SEEDS: (
        "Over data sets, verdicts apply to other data sets if these are a random sample of them; "
        "within one, to new seeds."
    ),
    Shape.PRINTED: (
        "± is read as half the width of a confidence interval, as papers of the field print it; "
        "fslcore compare judges whether it is by the number of tasks. How methods agree on the "
        "same tasks is not printed: intervals are the worst that pairing could do, and a pair is "
        "open where the best could decide it."
    ),
}


def applies_to(measured: Measurements, options: Options) -> list[str]:
    """What the verdicts apply to, in sentences."""
    if measured.shape in APPLIES:
        return [APPLIES[measured.shape]]
    rows = measured.rows
    unit = next(key for key in UNIT_KEYS if key in rows)
    sampling = options.sampling
    if sampling == "unknown" and "sampling" in rows and rows["sampling"].nunique() == 1:
        sampling = str(rows["sampling"].iloc[0])
    if unit == "class":
        sentence = NEW_CLASSES
    elif unit == "item":
        sentence = NEW_ITEMS_OF_CLASSES if "class" in rows else NEW_ITEMS
    else:
        sentence = {"closed": CLOSED, "open": OPEN}.get(sampling, UNKNOWN)
    if measured.shape is Shape.RUNS:
        return ["Verdicts apply to new training runs of these methods.", sentence]
    return [sentence]


def add_cautions(analysis: Analysis) -> None:
    """Say where few units carry an answer, and what that does to it."""
    fewest: dict[str, int] = {}
    for sample in analysis.samples:
        count = int(sample.methods["n"].min())
        if 0 < count < FEW_UNITS:
            fewest[sample.unit] = min(count, fewest.get(sample.unit, FEW_UNITS))
    for unit, count in fewest.items():
        analysis.cautions.append(
            f"Only {count} {plural(unit)} carry a verdict: one unusual {unit} can change it, and "
            "intervals are right only if differences are nearly normal."
        )
    for sample in analysis.samples:
        analysis.cautions += variance_cautions(sample)
    analysis.cautions = list(dict.fromkeys(analysis.cautions))


def variance_cautions(sample: Sample) -> list[str]:
    """Where few units carry the variance of a difference, or of a mean.

    Where one method fails on 3 of 100 tasks by 60 points, the interval of its difference covers in
    87 % of simulated studies, and Welch's test of 600 and 60 such tasks calls equal methods
    different in 12 %. The caution comes in 95 % of them or more, and with normal values in 1 % or
    fewer (tests/report/test_cautions.py).
    """
    cautions = []
    place = f" in {sample.place}" if sample.place else ""
    for frame, kind in ((sample.pairs, "difference"), (sample.methods, "mean")):
        if "variance_units" not in frame:
            continue
        limit = np.minimum(FEW_UNITS, frame["variance_of"] / MOST_KURTOSIS)
        few = frame[frame["variance_units"] < limit]
        if few.empty:
            continue
        first = few.iloc[0]
        name = f"{first['a']} − {first['b']}" if kind == "difference" else f"of {first['method']}"
        others = f" (and {len(few) - 1} more)" if len(few) > 1 else ""
        count = max(int(first["variance_units"] + 0.5), 1)
        units = plural(sample.unit)
        what = f"the {kind} {name}{others}{place}"
        if str(first.get("test", "")).startswith("Welch"):
            sentence = (
                f"Rare values carry {what}: about {count} of {first['variance_of']:,} {units}"
            )
            sentence += " would have one."
        else:
            sentence = f"Few {units} carry {what}: its variance comes from about {count}"
            sentence += f" of {first['variance_of']:,}."
        cautions.append(
            f"{sentence} One unusual {sample.unit} can change the answer, and the interval may be "
            "too narrow."
        )
    return cautions
