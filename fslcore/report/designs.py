"""From rows to means and differences: one function per kind of sample."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from .. import stats
from ..errors import InputError
from ..stats import Interval, Target
from ..stats.proportions import PairedProportions, wilson_interval
from ..stats.task_intervals import fold_interval, stratified_interval
from . import over_datasets
from .model import PERCENT, Note
from .samples import (
    COHEN_G,
    DIFFERENCE_BOUNDS,
    OVER_DATASETS,
    PERCENT_BOUNDS,
    Place,
    Sample,
    add_better_units,
    add_variance_units,
    counted,
    named_intervals,
    plural,
    sample_of,
    sample_of_grid,
    sample_of_intervals,
    sample_of_paired,
)

FEW_DISCORDANT = 10  # items that two methods answer differently
AGREEMENT = 0.95  # correlation of methods on the same tasks, at most; `fslcore.stats.published`


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
            caution = (
                f"Methods have different {units}, so their differences are unpaired (Welch): what "
                f"makes {units} hard for all methods does not cancel."
            )
            if len(shared) > 1:
                caution = Note(
                    f"{caution} {len(shared):,} {units} are shared by all: the option common "
                    "compares on these.",
                    option="common",
                )
            else:
                caution += f" Run all methods on the same {units} for shorter intervals."
            analysis.cautions.append(caution)
    elif grid.shape[1] > 1 and options.reference is None and not options.lower_is_better:
        add_winner(place, grid)
    return [sample_of_grid(place, grid, place.unit)]


def repetition_in(rows: pd.DataFrame) -> str:
    """The key that numbers repetitions; of several, the one that varies."""
    keys = [key for key in ("run", "draw", "seed") if key in rows]
    return max(keys, key=lambda key: rows[key].nunique())


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
    draw = repetition_in(place.rows)
    grid = place.grid(draw, unit)
    if grid.isna().to_numpy().any():
        return [sample_of_grid(place, grid, unit)]
    draws = grid.index.get_level_values(0).to_numpy()
    place.analysis.assumptions.append(
        f"Variances are taken within each of {len(set(draws))} draws."
    )
    within_draws = partial(stratified_interval, strata=draws)
    test = "paired t-test, stratified by draw"
    sample = sample_of_paired(place, grid, within_draws, unit, test)
    add_variance_units(sample, grid - grid.groupby(draws).transform("mean"))
    return [sample]


def analyse_runs(place: Place) -> list[Sample]:
    """Training runs on tasks: both vary (`fslcore.stats.new_run_interval`)."""
    run = repetition_in(place.rows)
    place = with_several_runs(place, run)
    values = crossed_runs(place, run)
    if not values:
        return means_of_runs(place, run)

    def interval_of(*names: str) -> Interval:
        runs = [values[name] for name in names]
        bounds = place.bounds_of(*names)
        level = place.options.level
        return stats.new_run_interval(*runs, confidence_level=level, bounds=bounds).interval

    sample = sample_of(place, values, interval_of, run, "t-test over runs and tasks")
    sample.pairs["spread"] = np.nan  # over runs and tasks, which are crossed, there is none
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


def analyse_datasets(place: Place) -> list[Sample]:
    """One mean per data set and method: data sets are the sample; ranks beside the differences.

    Means over seeds, where there are several.
    """
    grid = place.grid("dataset")
    sample = sample_of_grid(place, grid, "data set", shared_only=True)
    sample.pairs["decisive"] = [
        over_datasets.decisive_text(place, grid, pair.a, pair.b)
        for pair in sample.pairs.itertuples()
    ]
    pairs = sample.pairs[sample.pairs["units_better"].notna()]  # others share no two data sets
    if len(pairs):
        title = f"signed-rank test over data sets{place}"
        place.analysis.frames[title] = over_datasets.signed_rank_frame(pairs, grid)
    over_datasets.add_equal_differences(place, pairs, grid)
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
    key = repetition_in(place.rows)
    return [sample_of_grid(place, place.grid(key), key)]


def analyse_folds(place: Place) -> list[Sample]:
    """One mean per fold and method, on the folds that all share."""
    grid = place.grid("fold").dropna()
    if len(grid) < 2:
        raise InputError(f"fewer than two folds are shared by all methods{place}")
    sample = sample_of_paired(place, grid, fold_interval, "fold", "corrected resampled t-test")
    add_better_units(sample.pairs, grid, place.options)
    sample.pairs["spread"] = np.nan  # folds share data, so theirs is no spread of differences
    return [sample]


def analyse_datasets_and_seeds(place: Place) -> list[Sample]:
    """Over data sets, on means over seeds; and within each data set over its seeds."""
    name = f"{OVER_DATASETS}{place}"
    samples = [replace(sample, place=name) for sample in analyse_datasets(place)]
    for dataset, part in place.rows.groupby("dataset", sort=False):
        if part.groupby("method").size().min() > 1:
            name = f"{dataset}, {place.name}" if place.name else str(dataset)
            samples += analyse_seeds(replace(place, name=name, rows=part))
    return samples


def analyse_printed(place: Place) -> list[Sample]:
    """Means with a printed ±: the best and the worst that pairing could do."""
    rows = place.rows.set_index("method")
    means, half_widths = rows["accuracy"], rows["half_width"]
    level, margin = place.options.level, place.options.margin
    printed = partial(Interval, confidence_level=level, n=0, target=Target.NEW_TASKS)

    def mean(name: str) -> Interval:
        return printed(means[name], half_widths[name])

    def worst_difference(first: str, second: str) -> Interval:
        half_width = np.hypot(half_widths[first], half_widths[second])
        return printed(means[first] - means[second], half_width)

    intervals = named_intervals(means, place.options, mean, worst_difference)
    sample = sample_of_intervals(intervals, place, "task", "unpaired z-test", margin=margin)
    methods, pairs = sample.methods, sample.pairs
    if place.percent:  # 99.5 ± 0.8 is no share above 100
        methods[["low", "high"]] = methods[["low", "high"]].clip(*PERCENT_BOUNDS)
        pairs[["low", "high"]] = pairs[["low", "high"]].clip(*DIFFERENCE_BOUNDS)
    a, b = pairs["a"].map(half_widths), pairs["b"].map(half_widths)
    # Of methods that agree on tasks as much as is usual.
    pairs["paired_half_width"] = np.sqrt(a**2 + b**2 - 2 * AGREEMENT * a * b)
    pairs[["spread", "standard_error"]] = np.nan
    return [sample]


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
    sample = sample_of_intervals(shares, place, place.unit, "McNemar's test")
    sample.methods[["mean", "low", "high", "half_width"]] *= PERCENT
    if tests:
        sample.pairs[["difference", "low", "high", "half_width"]] *= PERCENT
        sample.pairs["p"] = [test.p_value for test in tests.values()]
        sample.pairs["spread"] = [(grid[a] - grid[b]).std() for a, b in tests]
        sample.pairs["standard_error"] = sample.pairs["spread"] / np.sqrt(len(grid))
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
        others = f", and {counted(len(few) - 1, 'other pair')} few" if len(few) > 1 else ""
        place.analysis.cautions.append(
            f"{pair['a']} and {pair['b']} answer {count} of {pair['n']:,} {plural(place.unit)} "
            f"differently{others}{place}: one answer more or less can change the verdict."
        )
