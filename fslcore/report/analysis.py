"""From measurements to means, differences and what they apply to: one function per shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import pandas as pd
import scipy.stats

from .. import stats
from ..errors import InputError
from ..stats import Interval
from ..stats.power import powers, smallest_each
from .options import Options
from .shapes import PLACE_KEYS, UNIT_KEYS, Measurements, Shape

FEW_UNITS = 20
DIGITS = 9
MOST_METHODS = 60  # compared two by two; the 1,770 pairs take a second
MOST_UNITS = 10**6  # beyond it a number of further tasks is no advice
POWER = 0.8
PERCENT_BOUNDS = (0.0, 100.0)
DIFFERENCE_BOUNDS = (-100.0, 100.0)
AGREEMENT = 0.95  # correlation of methods on the same tasks, at most; `fslcore.stats.published`
PAIRED_T = "paired t-test"
WELCH_T = "Welch's t-test"
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
        a, b (a has the better mean), difference (a - b), low, high, half_width, p, n, spread
        (standard deviation over units; NaN if more units would not settle the pair) and test.
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


def analyse(measured: Measurements, options: Options) -> Analysis:
    """What the measurements say, by their shape."""
    from .items import analyse_items  # late, as it is built on this module

    analyses = ANALYSES | {Shape.ITEMS: analyse_items}
    analysis = Analysis()
    if measured.rows["method"].nunique() > MOST_METHODS and options.reference is None:
        raise InputError(
            f"{measured.rows['method'].nunique()} methods; up to {MOST_METHODS} are compared two "
            "by two, or "
            "one with all others (--reference NAME)"
        )
    for place, rows in places(measured):
        analysis.samples += analyses[measured.shape](rows, place, options, analysis)
    if measured.shape is not Shape.ITEMS:
        analysis.applies += applies_to(measured, options)
    analysis.applies = list(dict.fromkeys(analysis.applies))
    add_cautions(analysis)
    return analysis


def places(measured: Measurements) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each place, named by what differs between places."""
    rows = measured.rows
    over_datasets = measured.shape in (Shape.DATASETS, Shape.DATASETS_AND_SEEDS)
    keys = [key for key in PLACE_KEYS if key in rows and rows[key].nunique() > 1]
    if over_datasets and "dataset" in keys:
        keys.remove("dataset")
    if not keys:
        yield "", rows
        return
    for values, part in rows.groupby(keys, sort=False):
        yield (
            ", ".join(place_word(key, value) for key, value in zip(keys, values, strict=True)),
            part,
        )


def place_word(key: str, value: object) -> str:
    """One key of a place in words: '5-shot'."""
    words = {"ways": "{}-way", "shots": "{}-shot", "queries": "{} queries"}
    return words.get(key, "{}").format(value)


# Intervals of methods and differences ------------------------------------------------------------


def method_row(name: str, interval: Interval) -> dict[str, object]:
    """A row of `Sample.methods`."""
    return {
        "method": name,
        "mean": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "half_width": interval.half_width,
        "n": interval.n_tasks,
    }


def pair_row(first: str, second: str, interval: Interval, test: str) -> dict[str, object]:
    """A row of `Sample.pairs`; ``interval`` is of the first minus the second.

    Where nothing varies, the ends are those that the bounds leave possible (`fslcore.stats`).
    """
    finite = np.isfinite(interval.half_width)
    half_width = interval.half_width
    ends = interval.mean - half_width, interval.mean + half_width
    low, high = ends if half_width > 0 else (interval.low, interval.high)
    return {
        "a": first,
        "b": second,
        "difference": interval.mean,
        "low": low,
        "high": high,
        "half_width": half_width,
        "p": interval.p_value,
        "n": interval.n_tasks,
        "spread": interval.standard_error * np.sqrt(interval.n_tasks) if finite else np.nan,
        "test": test,
    }


def best_first(methods: Sequence[dict], options: Options) -> pd.DataFrame:
    """Rows of methods, the best mean first."""
    frame = pd.DataFrame(methods)
    order = frame["mean"] if options.lower_is_better else -frame["mean"]
    return frame.iloc[order.argsort(kind="stable")].reset_index(drop=True)


def compared_pairs(methods: pd.DataFrame, options: Options) -> list[tuple[str, str]]:
    """The pairs that are compared, each with the better mean first."""
    pairs = combinations(methods["method"], 2)
    return [pair for pair in pairs if options.reference is None or options.reference in pair]


def sample_of_grid(
    grid: pd.DataFrame, place: str, unit: str, options: Options, *, shared_only: bool = False
) -> Sample:
    """Methods on units, compared unit by unit; on different units, as independent samples.

    Parameters
    ----------
    grid : DataFrame
        A row per unit and a column per method; NaN where a method lacks a unit.
    place, unit : str
        As for `Sample`.
    shared_only : bool
        Compare two methods on the units that both have, however many each has.
    """
    for name, count in grid.count().items():
        if count < 2:
            raise InputError(f"{name} has {count} {unit}{of_place(place)}; 2 or more are needed")
    methods = best_first([method_row(name, mean_of(grid[name], options)) for name in grid], options)

    def compare(first: str, second: str) -> tuple[Interval, str]:
        return difference_of(grid[[first, second]], options, shared_only)

    return Sample(place, "", unit, methods, paired_rows(methods, options, compare))


def mean_of(values: pd.Series, options: Options) -> Interval:
    """The interval of a mean, by how tasks were drawn."""
    bounds = None if options.lower_is_better else PERCENT_BOUNDS
    if options.sampling == "closed":
        return stats.closed_interval(values.dropna(), options.level, bounds)
    return stats.open_interval(values.dropna(), options.level, bounds)


def paired_rows(
    methods: pd.DataFrame, options: Options, compare: Callable[[str, str], tuple[Interval, str]]
) -> pd.DataFrame:
    """`Sample.pairs` of all compared pairs, whose interval and test ``compare`` gives."""
    rows = []
    for first, second in compared_pairs(methods, options):
        interval, test = compare(first, second)
        row = pair_row(first, second, interval, test)
        if options.margin is not None:
            row["p_equivalent"] = stats.equivalence(interval, options.margin).p_value
        rows.append(row)
    return pd.DataFrame(rows)


def difference_of(
    columns: pd.DataFrame, options: Options, shared_only: bool
) -> tuple[Interval, str]:
    """The interval of a difference of two columns, and the name of its test."""
    shared = columns.dropna()
    first, second = (columns[name].dropna() for name in columns)
    same_units = len(shared) == max(len(first), len(second))
    bounds = None if options.lower_is_better else DIFFERENCE_BOUNDS
    if same_units or (shared_only and len(shared) > 1):
        differences = stats.paired_differences(*shared.to_numpy().T)
        return stats.open_interval(differences, options.level, bounds), PAIRED_T
    values = first.to_numpy(), second.to_numpy()
    return stats.independent_interval(*values, options.level, bounds=bounds), WELCH_T


def of_place(place: str) -> str:
    """The place behind a count in a message."""
    return f" in {place}" if place else ""


def plural(unit: str) -> str:
    """The plural of a unit."""
    return PLURAL.get(unit, f"{unit}s")


def grid_of(rows: pd.DataFrame, index: Sequence[str]) -> pd.DataFrame:
    """Values with a row per unit and a column per method."""
    return rows.pivot_table("accuracy", list(index), "method", sort=False, observed=True)


# Tasks --------------------------------------------------------------------------------------------


def analyse_tasks(
    rows: pd.DataFrame, place: str, options: Options, analysis: Analysis
) -> list[Sample]:
    """Methods on tasks, paired where they have the same tasks."""
    unit = next(key for key in UNIT_KEYS if key in rows)
    grid = grid_of(rows, [unit])
    shared = grid.dropna()
    if len(shared) < len(grid):
        if options.common:
            if len(shared) < 2:
                raise InputError(
                    f"--common: no two {plural(unit)} are shared by all methods{of_place(place)}"
                )
            analysis.assumptions.append(
                f"Only the {len(shared):,} {plural(unit)} that all methods share are used."
            )
            grid = shared
        else:
            analysis.cautions.append(different_units(grid, shared, unit))
    elif grid.shape[1] > 1 and options.reference is None and not options.lower_is_better:
        add_winner(grid, place, options, analysis)
    return [sample_of_grid(grid, place, unit, options)]


def add_winner(grid: pd.DataFrame, place: str, options: Options, analysis: Analysis) -> None:
    """What the highest mean is worth, given that it was chosen on the same tasks."""
    try:
        winner = stats.winner_interval(
            grid.to_numpy().T, level=options.level, bounds=PERCENT_BOUNDS
        )
    except InputError:  # too few tasks
        return
    row = {
        "method": grid.columns[winner.method],
        "mean": winner.mean,
        "corrected": winner.estimate,
        "low": winner.low,
        "high": winner.high,
    }
    title = f"the highest mean, corrected for its choice{of_place(place)}"
    analysis.frames[title] = pd.DataFrame([row])


def different_units(grid: pd.DataFrame, shared: pd.DataFrame, unit: str) -> str:
    """What it costs that methods have different tasks."""
    units = plural(unit)
    sentence = (
        f"Methods have different {units}, so their differences are unpaired (Welch): what makes "
        f"{units} hard "
        "for all methods does not cancel."
    )
    if len(shared) > 1:
        return f"{sentence} {len(shared):,} {units} are shared by all: --common compares on these."
    return f"{sentence} Run all methods on the same {units} for shorter intervals."


def analyse_draws(
    rows: pd.DataFrame, place: str, options: Options, analysis: Analysis
) -> list[Sample]:
    """Tasks in several draws, as one sample that is stratified by draw."""
    unit = next(key for key in UNIT_KEYS if key in rows)
    grid = grid_of(rows, ["seed" if "seed" in rows else "run", unit])
    if grid.isna().to_numpy().any():
        return [sample_of_grid(grid, place, unit, options)]
    strata = grid.index.get_level_values(0).to_numpy()
    means = [
        method_row(name, stratified_interval(grid[name], strata, options, PERCENT_BOUNDS))
        for name in grid
    ]
    methods = best_first(means, options)

    def compare(first: str, second: str) -> tuple[Interval, str]:
        differences = stats.paired_differences(grid[first].to_numpy(), grid[second].to_numpy())
        interval = stratified_interval(pd.Series(differences), strata, options, DIFFERENCE_BOUNDS)
        return interval, "paired t-test, stratified by draw"

    analysis.assumptions.append(f"Variances are taken within each of {len(set(strata))} draws.")
    return [Sample(place, "", unit, methods, paired_rows(methods, options, compare))]


def stratified_interval(
    values: pd.Series, strata: np.ndarray, options: Options, bounds: tuple[float, float]
) -> Interval:
    """Interval of a mean whose variance is taken within strata (Cochran, 1977, chapter 5)."""
    groups = values.groupby(strata)
    count = groups.size()
    df = len(values) - len(count)
    if (count < 2).any():
        return stats.open_interval(values, options.level)
    variance = float((count * groups.var()).sum()) / len(values) ** 2
    half_width = float(scipy.stats.t.ppf((1 + options.level) / 2, df) * np.sqrt(variance))
    return Interval(
        mean=float(values.mean()),
        half_width=half_width,
        level=options.level,
        n_tasks=len(values),
        kind="paired",
        df=df,
        bounds=None if options.lower_is_better else bounds,
    )


def analyse_runs(
    rows: pd.DataFrame, place: str, options: Options, analysis: Analysis
) -> list[Sample]:
    """Training runs on tasks: both vary (`fslcore.stats.new_runs`)."""
    run = "run" if "run" in rows else "seed"
    rows = several_runs(rows, run, options, analysis)
    values = crossed_runs(rows, run)
    if not values:
        return means_of_runs(rows, run, place, options, analysis)
    intervals = {
        name: stats.new_runs(runs, level=options.level).interval for name, runs in values.items()
    }
    methods = best_first([method_row(*item) for item in intervals.items()], options)

    def compare(first: str, second: str) -> tuple[Interval, str]:
        difference = stats.new_runs(values[first], values[second], level=options.level)
        return difference.interval, "t-test over runs and tasks"

    pairs = paired_rows(methods, options, compare)
    pairs["spread"] = np.nan  # more tasks alone do not settle what runs leave open
    analysis.assumptions.append("Runs and tasks both vary; their variances add up.")
    methods["n"] = methods["method"].map(lambda name: len(values[name]))
    return [Sample(place, "", run, methods, pairs)]


def several_runs(
    rows: pd.DataFrame, run: str, options: Options, analysis: Analysis
) -> pd.DataFrame:
    """Rows without methods of one run, unless all have one or the reference has."""
    counts = rows.groupby("method", sort=False)[run].nunique()
    single = list(counts.index[counts < 2])
    if len(single) in (0, len(counts)) or options.reference in single:
        return rows
    names = ", ".join(single)
    analysis.cautions.append(f"Left out: {names}: one {run} shows nothing of other {plural(run)}.")
    return rows[~rows["method"].isin(single)]


def crossed_runs(rows: pd.DataFrame, run: str) -> dict[str, np.ndarray]:
    """By method its (R, T) values, if all runs of all methods have the same tasks; else empty."""
    unit = next(key for key in UNIT_KEYS if key in rows)
    values, tasks = {}, set()
    for name, part in rows.groupby("method", sort=False):
        grid = part.pivot_table("accuracy", run, unit, sort=False)
        tasks = tasks or set(grid)
        if len(grid) < 2 or grid.isna().to_numpy().any() or set(grid) != tasks:
            return {}
        values[name] = grid[sorted(tasks, key=str)].to_numpy()
    return values


def means_of_runs(
    rows: pd.DataFrame, run: str, place: str, options: Options, analysis: Analysis
) -> list[Sample]:
    """Means of runs, where runs have different tasks."""
    means = rows.groupby(["method", run], sort=False, as_index=False)["accuracy"].mean()
    if means.groupby("method").size().min() < 2:
        single = means.groupby("method").size().idxmin()
        raise InputError(
            f"{single} has one {run}{of_place(place)}, and nothing is known of other "
            f"{plural(run)}; bring more, "
            "or leave it out (--drop), or say --seed tasks if seeds number draws of tasks"
        )
    analysis.assumptions.append(
        f"The {plural(run)} have different tasks: the mean of each {run} is one measurement."
    )
    return [sample_of_grid(grid_of(means, [run]), place, run, options, shared_only=True)]


# Means --------------------------------------------------------------------------------------------


def analyse_datasets(
    rows: pd.DataFrame, place: str, options: Options, analysis: Analysis
) -> list[Sample]:
    """One mean per data set and method: data sets are the sample; ranks beside the differences."""
    grid = grid_of(rows, ["dataset"])
    sample = sample_of_grid(grid, place, "data set", options, shared_only=True)
    sample.pairs["p_wilcoxon"] = [
        signed_rank_p(grid[[pair.a, pair.b]].dropna()) for pair in sample.pairs.itertuples()
    ]
    complete = grid.dropna()
    if len(complete) < len(grid):
        analysis.cautions.append(
            "Some methods lack data sets: each pair is compared on those that both have."
        )
    if len(complete) > 1 and grid.shape[1] > 2:
        analysis.frames[f"ranks over data sets{of_place(place)}"] = rank_frame(complete, options)
    return [sample]


def signed_rank_p(columns: pd.DataFrame) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test, exact without ties and for up to 50 data
    sets.
    """
    # Ties are between numbers as they were written: 70.3 - 70 and 60.3 - 60 are the same.
    differences = stats.paired_differences(*columns.to_numpy().T).round(DIGITS)
    if not differences.any():
        return 1.0
    return float(scipy.stats.wilcoxon(differences).pvalue)


def rank_frame(grid: pd.DataFrame, options: Options) -> pd.DataFrame:
    """Mean ranks, the best first, with Friedman's p-value and Nemenyi's critical difference."""
    values = grid.to_numpy().T
    ranked = stats.across_datasets(-values if options.lower_is_better else values, options.level)
    frame = pd.DataFrame({"method": grid.columns, "mean_rank": ranked.ranks})
    frame["critical_difference"] = ranked.critical_difference
    frame["p_friedman"] = ranked.p_value
    return frame.sort_values("mean_rank", kind="stable").reset_index(drop=True)


def analyse_seeds(
    rows: pd.DataFrame, place: str, options: Options, analysis: Analysis
) -> list[Sample]:
    """One mean per seed and method, paired over seeds where the seeds are the same."""
    key = "seed" if "seed" in rows and rows["seed"].nunique() > 1 else "run"
    return [sample_of_grid(grid_of(rows, [key]), place, key, options)]


def analyse_datasets_and_seeds(
    rows: pd.DataFrame, place: str, options: Options, analysis: Analysis
) -> list[Sample]:
    """Over data sets, on means over seeds; and within each data set over its seeds."""
    means = rows.groupby(["method", "dataset"], sort=False, as_index=False)["accuracy"].mean()
    over = f"over data sets{of_place(place)}"
    samples = analyse_datasets(means, over, options, analysis)
    for dataset, part in rows.groupby("dataset", sort=False):
        inside = f"{dataset}, {place}" if place else str(dataset)
        if part.groupby("method").size().min() > 1:
            samples += analyse_seeds(part, inside, options, analysis)
    return samples


def analyse_printed(
    rows: pd.DataFrame, place: str, options: Options, analysis: Analysis
) -> list[Sample]:
    """Means with a printed ±: the best and the worst that pairing could do."""
    meaning = printed_meaning(rows, options)
    analysis.assumptions.append(f"± is read as {meaning}.")
    scale = half_widths_per(meaning, options)
    intervals = {
        row.method: printed_interval(row.accuracy, scale * row.half_width, options)
        for row in rows.itertuples()
    }
    methods = best_first([method_row(*item) for item in intervals.items()], options)

    def compare(first: str, second: str) -> tuple[Interval, str]:
        worst = np.hypot(intervals[first].half_width, intervals[second].half_width)
        difference = intervals[first].mean - intervals[second].mean
        return printed_interval(difference, worst, options), "unpaired z-test"

    pairs = paired_rows(methods, options, compare)
    if len(pairs):
        widths = methods.set_index("method")["half_width"]
        pairs["paired_half_width"] = best_pairing(pairs["a"].map(widths), pairs["b"].map(widths))
        pairs["spread"] = np.nan
    return [Sample(place, "", "task", methods, pairs)]


def best_pairing(first: pd.Series, second: pd.Series) -> pd.Series:
    """Half-widths of differences of methods that agree on tasks as much as is usual."""
    return np.sqrt(first**2 + second**2 - 2 * AGREEMENT * first * second)


HALF_WIDTH, STANDARD_ERROR, DEVIATION = (
    "half the width of a confidence interval",
    "a standard error",
    "a standard deviation over tasks",
)


def printed_meaning(rows: pd.DataFrame, options: Options) -> str:
    """What ± is: a half-width, or if the number of tasks is known what it likely is."""
    if options.tasks is None or len(rows) < 2:
        return HALF_WIDTH
    figures = rows[["accuracy", "half_width"]].to_numpy()[:2]
    likely = stats.from_printed(*map(tuple, figures), options.tasks, level=options.level).likely
    return {"standard error": STANDARD_ERROR, "standard deviation": DEVIATION}.get(
        likely.meaning, HALF_WIDTH
    )


def half_widths_per(meaning: str, options: Options) -> float:
    """Half-widths of an interval in one printed ±."""
    if meaning == HALF_WIDTH:
        return 1.0
    z = float(scipy.stats.norm.ppf((1 + options.level) / 2))
    return z if meaning == STANDARD_ERROR else z / np.sqrt(options.tasks)


def printed_interval(mean: float, half_width: float, options: Options) -> Interval:
    """A printed mean with its ±, which is normal."""
    return Interval(float(mean), float(half_width), options.level, options.tasks or 0, "printed")


def analyse_outcomes(
    rows: pd.DataFrame, place: str, options: Options, analysis: Analysis
) -> list[Sample]:
    """Right and wrong answers: Wilson's interval, and paired proportions (McNemar, Tango)."""
    unit = next(key for key in ("item", "task", "class") if key in rows)
    grid = grid_of(rows, [unit])
    if grid.isna().to_numpy().any():
        return analyse_tasks(rows, place, options, analysis)
    answers = {name: grid[name].to_numpy() > 0 for name in grid}
    methods = best_first(
        [share_row(name, right, options) for name, right in answers.items()], options
    )
    pairs = [
        outcome_row(first, second, answers, options)
        for first, second in compared_pairs(methods, options)
    ]
    return [Sample(place, "", unit, methods, pd.DataFrame(pairs))]


def share_row(name: str, right: np.ndarray, options: Options) -> dict[str, object]:
    """A row of `Sample.methods` for right and wrong answers, with Wilson's interval."""
    counted = scipy.stats.binomtest(int(right.sum()), len(right))
    ends = counted.proportion_ci(options.level, "wilson")
    return {
        "method": name,
        "mean": 100 * right.mean(),
        "low": 100 * ends.low,
        "high": 100 * ends.high,
        "half_width": 50 * (ends.high - ends.low),
        "n": len(right),
    }


def outcome_row(
    first: str, second: str, answers: dict[str, np.ndarray], options: Options
) -> dict[str, object]:
    """A row of `Sample.pairs` for right and wrong answers."""
    compared = stats.paired_proportions(answers[first], answers[second], options.level)
    return {
        "a": first,
        "b": second,
        "difference": 100 * compared.mean,
        "low": 100 * compared.low,
        "high": 100 * compared.high,
        "half_width": 100 * compared.half_width,
        "p": compared.p_value,
        "n": compared.n_tasks,
        "spread": 100 * float(np.std(answers[first] * 1.0 - answers[second], ddof=1)),
        "test": "exact McNemar test" if compared.is_exact else "McNemar's test",
    }


ANALYSES = {
    Shape.TASKS: analyse_tasks,
    Shape.DRAWS: analyse_draws,
    Shape.RUNS: analyse_runs,
    Shape.DATASETS: analyse_datasets,
    Shape.SEEDS: analyse_seeds,
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
    "This holds for these images if tasks reuse images, for new images if they do not: "
    "say --sampling closed or open."
)
WORST_PAIRING = (
    "How methods agree on the same tasks is not printed: intervals are the worst that pairing "
    "could do, and a pair is open where the best could decide it."
)
APPLIES = {
    Shape.DATASETS: (
        "The sample is the data sets: verdicts apply to other data sets if these were drawn at "
        "random from "
        "such, and say nothing about any single one."
    ),
    Shape.SEEDS: "Verdicts apply to new seeds, with these data and these images.",
    Shape.DATASETS_AND_SEEDS: (
        "Over data sets, verdicts apply to other data sets if these were drawn at random from "
        "such; within "
        "one, to new seeds."
    ),
    Shape.PRINTED: (
        "± is read as half the width of a confidence interval, as papers of the field print it; "
        f"--tasks N judges whether it is. {WORST_PAIRING}"
    ),
}


def applies_to(measured: Measurements, options: Options) -> list[str]:
    """What the verdicts apply to, in sentences."""
    if measured.shape is Shape.PRINTED and options.tasks is not None:
        return [WORST_PAIRING]
    if measured.shape in APPLIES:
        return [APPLIES[measured.shape]]
    rows = measured.rows
    if "class" in rows and "task" not in rows:
        return [
            "The sample is the classes: verdicts apply to new classes like these, with these "
            "images."
        ]
    if "item" in rows:
        return [
            "Verdicts apply to new items like these, if items are independent; the support stays "
            "as it was."
        ]
    sampling = options.sampling
    if sampling == "unknown" and "sampling" in rows and rows["sampling"].nunique() == 1:
        sampling = str(rows["sampling"].iloc[0])
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
            "intervals "
            "are right only if differences are nearly normal."
        )
    analysis.cautions = list(dict.fromkeys(analysis.cautions))


def units_to_settle(pairs: pd.DataFrame, levels: pd.Series) -> pd.Series:
    """Units at which paired t-tests find differences of this size in 80 % of studies.

    NaN where no number is known or more than a million would be needed.
    """
    known = (pairs["spread"] > 0) & (pairs["difference"] != 0)
    effects = (pairs["difference"] / pairs["spread"])[known].to_numpy(float)
    level = levels[known].to_numpy(float)

    def enough(cases: np.ndarray, units: np.ndarray) -> np.ndarray:
        return powers(effects[cases], 1 / np.sqrt(units), units - 1, level[cases]) >= POWER

    needed = pd.Series(np.nan, pairs.index)
    units = smallest_each(enough, len(effects), 2, MOST_UNITS)
    needed[known] = np.where(units > 0, units, np.nan)
    return needed
