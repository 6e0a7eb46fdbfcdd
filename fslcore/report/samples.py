"""Methods measured on the same units: their means, differences, and what carries them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats

from .. import stats
from ..errors import InputError
from ..stats import Interval
from ..stats.across_datasets import interval_over_datasets
from ..stats.intervals import Bounds
from ..stats.rare import variance_units
from .model import PERCENT, UNIT_KEYS
from .options import Options

PERCENT_BOUNDS = (0.0, PERCENT)
DIFFERENCE_BOUNDS = (-PERCENT, PERCENT)
# Cohen (1988); d_z: Lakens (2013).
COHEN_D, COHEN_DZ, COHEN_G = "Cohen's d", "Cohen's d_z", "Cohen's g"
OVER_DATASETS = "over data sets"  # the name of a place
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
        spread (standard deviation over units; NaN if units are no independent sample), test,
        effect_size and effect (its name; `fslcore.report.results` fills in Cohen's d_z).

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
        return in_place(self.name)

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


def plural(unit: str) -> str:
    """The plural of a unit."""
    return PLURAL.get(unit, f"{unit}s")


def counted(count: int, unit: str) -> str:
    """A number of units: '1 task', '1,200 tasks'."""
    return f"{count:,} {unit if count == 1 else plural(unit)}"


def in_place(name: str) -> str:
    """A place, to end a sentence with: ' in CUB'; empty where there is one."""
    if name.startswith(OVER_DATASETS):
        return f" {name}"
    return f" in {name}" if name else ""


def numbers_of(interval: Interval) -> dict[str, float]:
    """The ends of an interval, its half-width and its number of units."""
    numbers = {key: getattr(interval, key) for key in ("low", "high", "half_width")}
    return numbers | {"n": interval.n}


def pair_row(
    pair: Sequence[str], interval: Interval, test: str, options: Options, margin: float | None
) -> dict[str, object]:
    """A row of `Sample.pairs` without its p-value; the interval is of the first of the pair minus the
    second. With a margin, the tests of equivalence too.

    The better of the two is the first on the units that both have, which need not be all of each.
    """
    mean = interval.estimate
    row: dict[str, Any] = {"a": pair[0], "b": pair[1], "difference": mean, **numbers_of(interval)}
    unknown = ("units_better", "units_worse", "standard_error", "spread", "effect_size")
    row |= dict.fromkeys(unknown, np.nan)
    row |= {"test_df": np.inf, "test": test, "effect": ""}
    if interval.ends is None and np.isfinite(interval.half_width):
        row["standard_error"] = interval.standard_error
        row["spread"] = interval.standard_error * np.sqrt(interval.n)
        row["test_df"] = interval.df
    if margin is not None:
        low, high = ends_of_two_tests(interval)
        row |= {"low_equivalent": low, "high_equivalent": high}
        row["p_equivalent"] = stats.tost(interval, margin).p_value
    if options.sign * mean < 0:
        row |= {"a": pair[1], "b": pair[0], "difference": -mean}
        for low_end, high_end in (("low", "high"), ("low_equivalent", "high_equivalent")):
            if low_end in row:
                row |= {low_end: -row[high_end], high_end: -row[low_end]}
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
    margin: float | None = None,
) -> Sample:
    """A sample of intervals by (method,), the best first, and by (a, b), whose p-values are by default
    those of the intervals; with a margin, tests of equivalence too.
    """
    methods, pairs = [], []
    for names, interval in intervals.items():
        if len(names) == 2:
            row = pair_row(names, interval, test, place.options, margin)
            row["p"] = interval.p_value if p_values is None else p_values[names]
            pairs.append(row)
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
    return sample_of_intervals(named, place, unit, test, margin=place.options.margin)


def sample_of_paired(
    place: Place,
    grid: pd.DataFrame,
    interval_of: Callable[[np.ndarray, Bounds], Interval],
    unit: str,
    test: str,
) -> Sample:
    """Methods that all have the same units, with one kind of interval, which takes values and their
    bounds, for means and for paired differences.
    """
    intervals = {name: interval_of(grid[name].to_numpy(), place.bounds) for name in grid}

    def difference(first: str, second: str) -> Interval:
        return interval_of(paired(grid, first, second), place.difference_bounds)

    return sample_of(place, intervals, difference, unit, test)


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
    sizes = grid.count()

    def are_paired(first: str, second: str) -> bool:
        count = shared_units(grid, first, second).sum()
        return count == max(sizes[first], sizes[second]) or (shared_only and count > 1)

    def difference(first: str, second: str) -> Interval:
        if not are_paired(first, second):
            samples = grid[first].dropna(), grid[second].dropna()
            return stats.welch_interval(*samples, level, bounds=bounds)
        interval_of = interval_over_datasets if shared_only else stats.open_task_interval
        return interval_of(paired(grid, first, second), level, bounds=bounds)

    sample = sample_of(place, intervals, difference, unit, "paired t-test")
    for pair in sample.pairs.itertuples():
        if not are_paired(pair.a, pair.b):
            sample.pairs.loc[pair.Index, "test"] = "Welch's t-test"
    add_variance_units(sample, grid)
    add_better_units(sample.pairs, grid, place.options)
    if len(sample.pairs):
        add_effects_of_independent(sample.pairs, grid)
    return sample


def shared_units(grid: pd.DataFrame, first: str, second: str) -> np.ndarray:
    """Which units of a grid both of two methods have."""
    return (grid[first].notna() & grid[second].notna()).to_numpy()


def paired(grid: pd.DataFrame, first: str, second: str) -> np.ndarray:
    """The differences of two methods on the units that both have, without errors of rounding."""
    is_shared = shared_units(grid, first, second)
    values = [grid[name].to_numpy()[is_shared] for name in (first, second)]
    return stats.paired_differences(*values)


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
            differences = paired(grid, *names)
            size = len(differences)
            carrying.append(variance_units(differences))
        behind.append(size)
    sample.pairs["variance_units"] = carrying
    sample.pairs["variance_of"] = behind


def add_better_units(pairs: pd.DataFrame, grid: pd.DataFrame, options: Options) -> None:
    """Add on how many units the first of a pair is better, and on how many the second."""
    for pair in pairs.itertuples():
        if not pair.test.startswith("Welch"):
            gains = options.sign * paired(grid, pair.a, pair.b)
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
    is_closed = place.options.sampling == "closed"
    interval_of = stats.closed_task_interval if is_closed else stats.open_task_interval
    return interval_of(values, place.options.level, bounds=place.bounds)
