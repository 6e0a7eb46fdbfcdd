"""Methods measured on the same units: their means, differences, and what carries them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

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
PAIR_KEYS = (
    "a b difference low high half_width n p units_better units_worse spread standard_error test_df "
    "test effect_size effect"
).split()
EQUIVALENCE_KEYS = ["low_equivalent", "high_equivalent", "p_equivalent"]
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
        Columns of `fslcore.report.Results.pairs`, and standard_error (NaN where the interval is not
        Student's) with its test_df (degrees of freedom). NaN are units_better and units_worse of
        other than paired units, spread if units are no independent sample, and effect_size where
        `fslcore.report.conclusions` fills in Cohen's d_z.

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

    def bounds_of(self, *names: str) -> Bounds:
        """Between which the values of a method lie, or the differences of two; None of other
        measures than accuracies.
        """
        if not self.percent:
            return None
        return PERCENT_BOUNDS if len(names) == 1 else DIFFERENCE_BOUNDS


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
    return {key: getattr(interval, key) for key in ("low", "high", "half_width", "n")}


def pair_row(
    pair: Sequence[str], interval: Interval, test: str, options: Options, margin: float | None
) -> dict[str, object]:
    """A row of `Sample.pairs`; the interval is of the first of the pair minus the second. With a margin,
    the tests of equivalence too.

    The better of the two is the first on the units that both have, which need not be all of each.
    """
    if options.sign * interval.estimate < 0:
        pair, interval = pair[::-1], -interval
    row = {"a": pair[0], "b": pair[1], "difference": interval.estimate, **numbers_of(interval)}
    row |= {"test_df": np.inf, "test": test, "effect": ""}
    if interval.ends is None:
        row["p"] = interval.p_value
    if interval.ends is None and np.isfinite(interval.half_width):
        row["standard_error"] = interval.standard_error
        row["spread"] = interval.standard_error * np.sqrt(interval.n)
        row["test_df"] = interval.df
    if margin is not None:
        equivalence = stats.tost(interval, margin)
        row["low_equivalent"] = equivalence.interval.low
        row["high_equivalent"] = equivalence.interval.high
        row["p_equivalent"] = equivalence.p_value
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
    margin: float | None = None,
) -> Sample:
    """A sample of intervals by (method,), the best first, and by (a, b); with a margin, tests of
    equivalence too.
    """
    methods, pairs = [], []
    for names, interval in intervals.items():
        if len(names) == 2:
            pairs.append(pair_row(names, interval, test, place.options, margin))
        else:
            row = {"method": names[0], "mean": interval.estimate, **numbers_of(interval)}
            methods.append(row)
    keys = PAIR_KEYS if margin is None else [*PAIR_KEYS, *EQUIVALENCE_KEYS]
    pairs = pd.DataFrame(pairs, columns=keys)
    return Sample(place.name, target, unit, pd.DataFrame(methods), pairs)


def sample_of(
    place: Place,
    names: Iterable[str],
    interval_of: Callable[..., Interval],
    unit: str,
    test: str,
) -> Sample:
    """A sample of the intervals that a function gives of one method and of two; with the margin of
    the options, tests of equivalence.
    """
    singles = {name: interval_of(name) for name in names}
    means = pd.Series({name: interval.estimate for name, interval in singles.items()})
    named = named_intervals(means, place.options, singles.get, interval_of)
    return sample_of_intervals(named, place, unit, test, margin=place.options.margin)


def sample_of_paired(
    place: Place,
    grid: pd.DataFrame,
    interval: Callable[..., Interval],
    unit: str,
    test: str,
) -> Sample:
    """Methods that all have the same units, with one kind of interval, a function of
    `fslcore.stats`, for means and for paired differences.
    """

    def interval_of(*names: str) -> Interval:
        values = unit_values(grid, *names)
        bounds = place.bounds_of(*names)
        return interval(values, confidence_level=place.options.level, bounds=bounds)

    return sample_of(place, grid, interval_of, unit, test)


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
    is_closed = place.options.sampling == "closed"
    mean_interval = stats.closed_task_interval if is_closed else stats.open_task_interval
    difference_interval = interval_over_datasets if shared_only else stats.open_task_interval
    sizes = grid.count()

    def are_paired(first: str, second: str) -> bool:
        count = shared_units(grid, first, second).sum()
        return count == max(sizes[first], sizes[second]) or (shared_only and count > 1)

    def interval_of(*names: str) -> Interval:
        bounds = place.bounds_of(*names)
        if len(names) == 2 and not are_paired(*names):
            first, second = (unit_values(grid, name) for name in names)
            return stats.welch_interval(first, second, level, bounds=bounds)
        interval = mean_interval if len(names) == 1 else difference_interval
        return interval(unit_values(grid, *names), level, bounds=bounds)

    sample = sample_of(place, grid, interval_of, unit, "paired t-test")
    for pair in sample.pairs.itertuples():
        if not are_paired(pair.a, pair.b):
            sample.pairs.loc[pair.Index, "test"] = "Welch's t-test"
    add_variance_units(sample, grid)
    add_better_units(sample.pairs, grid, place.options)
    add_effects_of_independent(sample.pairs, grid)
    return sample


def shared_units(grid: pd.DataFrame, *names: str) -> np.ndarray:
    """Which units of a grid all of these methods have."""
    has_units = [grid[name].notna().to_numpy() for name in names]
    return np.logical_and.reduce(has_units)


def unit_values(grid: pd.DataFrame, *names: str) -> np.ndarray:
    """The values of a method, or the differences of two on the units that both have, without errors
    of rounding.
    """
    is_shared = shared_units(grid, *names)
    first, *second = (grid[name].to_numpy()[is_shared] for name in names)
    return stats.paired_differences(first, *second) if second else first


def add_variance_units(sample: Sample, grid: pd.DataFrame) -> None:
    """Add to methods and pairs how many units carry their variance.

    Two methods on different units have as many as the smaller sample would have, at the lower of
    the two shares of units: a failure that is too rare to be among few units is among many.
    """
    sizes = grid.count()
    counts = pd.Series({name: variance_units(unit_values(grid, name)) for name in grid})
    sample.methods["variance_units"] = sample.methods["method"].map(counts)
    sample.methods["variance_of"] = sample.methods["method"].map(sizes)
    carrying, behind = [], []
    for pair in sample.pairs.itertuples():
        names = [pair.a, pair.b]
        if pair.test.startswith("Welch"):
            size = sizes[names].min()
            carrying.append((counts / sizes)[names].min() * size)
        else:
            differences = unit_values(grid, *names)
            size = len(differences)
            carrying.append(variance_units(differences))
        behind.append(size)
    sample.pairs["variance_units"] = carrying
    sample.pairs["variance_of"] = behind


def add_better_units(pairs: pd.DataFrame, grid: pd.DataFrame, options: Options) -> None:
    """Add on how many units the first of a pair is better, and on how many the second."""
    for pair in pairs.itertuples():
        if not pair.test.startswith("Welch"):
            gains = options.sign * unit_values(grid, pair.a, pair.b)
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
