"""Scores of items under supports (labelled examples, prompts): what they say of new ones of either.

Where every support scores every item the two are crossed, and there are three targets
(`fslcore.stats.crossed_intervals`). Other designs answer for less, and say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np
import pandas as pd

from .. import stats
from ..errors import InputError
from ..stats import Interval
from ..stats.crossed import CrossedIntervals
from .analysis import (
    PERCENT_BOUNDS,
    Analysis,
    Sample,
    analyse_outcomes,
    analyse_tasks,
    best_first,
    compared_pairs,
    grid_of,
    method_row,
    of_place,
    pair_row,
    plural,
    sample_of_grid,
)
from .options import Options
from .shapes import PERCENT, UNIT_KEYS

# The most cautious target first: it is the one that a claim about methods needs.
TARGETS = {"both": "new items and supports", "items": "new items", "supports": "new supports"}
MULTIPLES = (2, 10)  # times as many supports, or items, as there are


class Design(StrEnum):
    """Which supports score which items."""

    CROSSED = "every support scores every item"
    ONE = "one support"
    NESTED = "each item has supports of its own"
    UNEVEN = "supports score different items"
    MEANS = "a mean per support"


APPLIES = {
    Design.CROSSED: (
        "A claim about methods needs the verdicts for new items and supports; those for new items "
        "hold with these supports, those for new supports on these items."
    ),
    Design.ONE: (
        "Verdicts apply to new items like these, with this support; what another would give is not "
        "known."
    ),
    Design.NESTED: "Verdicts apply to new items like these, each with new supports of its own.",
    Design.UNEVEN: (
        "Verdicts apply to new items like these, with these supports: not every support of every "
        "method scores every item, and each item counts with its mean."
    ),
    Design.MEANS: (
        "Verdicts apply to new supports on these items; they say nothing about new items, and more "
        "supports would not change that."
    ),
}


def analyse_items(
    rows: pd.DataFrame, place: str, options: Options, analysis: Analysis
) -> list[Sample]:
    """Methods on items under supports, for every target that the design supports."""
    if "support" not in rows:
        rows = rows.assign(support=rows.get("seed", ""))
    units = [key for key in UNIT_KEYS if key in rows and rows[key].notna().all()]
    if not units:
        analysis.applies.append(APPLIES[Design.MEANS])
        sample = sample_of_grid(grid_of(rows, ["support"]), place, "support", options)
        return [replace(sample, target=TARGETS["supports"])]
    unit = units[0]
    scores = averaged(rows, ["method", "support", unit])
    if len(scores) < len(rows):
        analysis.cautions.append(
            f"Several scores of one {unit} under one support are averaged: what makes them differ "
            "is not counted."
        )
    if design_of(scores, unit) is Design.UNEVEN:
        scores = evened(scores, unit, options, analysis)
    design = design_of(scores, unit)
    analysis.applies.append(APPLIES[design])
    if design is Design.CROSSED:
        return crossed_samples(scores, place, unit, options, analysis)
    means = averaged(scores, ["method", unit]).assign(support="")
    if "group" in rows:
        return grouped_samples(means, place, unit, options, analysis)
    is_answer = means["accuracy"].isin([0.0, PERCENT]).all() and not options.lower_is_better
    analyse = analyse_outcomes if is_answer else analyse_tasks
    samples = analyse(means, place, options, analysis)
    return [replace(sample, target=TARGETS["items"]) for sample in samples]


def averaged(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Mean scores by these keys, and by group where there are groups."""
    keys = [*keys, *[key for key in ("group",) if key in rows]]
    return rows.groupby(keys, sort=False, as_index=False)["accuracy"].mean()


def design_of(scores: pd.DataFrame, unit: str) -> Design:
    """Which supports score which items, counted without a table of all supports by all items."""
    if scores["support"].nunique() == 1:
        return Design.ONE
    if scores.groupby(["method", "support"]).size().max() == 1:
        return Design.NESTED
    counts = [scores[key].nunique() for key in ("method", "support", unit)]
    return Design.CROSSED if len(scores) == np.prod(counts) else Design.UNEVEN


def is_complete(scores: pd.DataFrame, unit: str) -> pd.Series:
    """Whether the item of a row is scored under every support of every method."""
    combinations = len(scores[["method", "support"]].drop_duplicates())
    return scores.groupby(unit)["method"].transform("size") == combinations


def evened(scores: pd.DataFrame, unit: str, options: Options, analysis: Analysis) -> pd.DataFrame:
    """With --common the items that every support of every method scores, else all."""
    complete = scores[is_complete(scores, unit)]
    items = f"{complete[unit].nunique():,} of {scores[unit].nunique():,} {plural(unit)}"
    if options.common and len(complete):
        analysis.assumptions.append(f"Only {items} are used, which all supports score.")
        return complete
    analysis.cautions.append(
        f"{items} are scored under all supports of all methods: --common compares on these alone."
    )
    return scores


def groups_of(scores: pd.DataFrame, unit: str, analysis: Analysis) -> np.ndarray | None:
    """The group of each item, as they first appear; None without groups."""
    if "group" not in scores:
        return None
    groups_of_item = scores.groupby(unit, sort=False)["group"]
    counts = groups_of_item.nunique()
    if counts.max() > 1:
        raise InputError(
            f"{unit} {counts.idxmax()} is in {counts.max()} groups; an item has one. Correct the "
            "column, or leave it out with --drop"
        )
    groups = groups_of_item.first().to_numpy()
    analysis.applies.append(
        f"Items are in {len(set(groups)):,} groups: new items come in new groups."
    )
    return groups


def crossed_samples(
    scores: pd.DataFrame, place: str, unit: str, options: Options, analysis: Analysis
) -> list[Sample]:
    """A sample for each target, and what more supports or items would give."""
    groups = groups_of(scores, unit, analysis)
    intervals = crossed_intervals(arrays_of(scores, unit), groups, options)
    if options.pool:
        analysis.applies.append(
            f"Supports of {options.shots} out of {options.pool} labelled examples per class: new "
            "supports come from another such pool."
        )
    title = f"half-widths for new items and supports, with more of either{of_place(place)}"
    analysis.frames[title] = planned_frame(intervals)
    name = unit if groups is None else "group"
    return [target_sample(intervals, target, place, name, options) for target in TARGETS]


def grouped_samples(
    means: pd.DataFrame, place: str, unit: str, options: Options, analysis: Analysis
) -> list[Sample]:
    """A sample for new items, which come in groups."""
    shared = means[is_complete(means, unit)]
    if len(shared) < len(means):
        analysis.cautions.append(
            f"Only the {shared[unit].nunique():,} {plural(unit)} that all methods share are used, "
            "as they are in groups."
        )
    groups = groups_of(shared, unit, analysis)
    intervals = crossed_intervals(arrays_of(shared, unit), groups, options)
    return [target_sample(intervals, "items", place, "group", options)]


def arrays_of(scores: pd.DataFrame, unit: str) -> dict[str, np.ndarray]:
    """By method, scores with a row per support and a column per item, as they first appear."""
    supports, items = scores["support"].unique(), scores[unit].unique()
    arrays = {}
    for method, part in scores.groupby("method", sort=False):
        grid = part.pivot(index="support", columns=unit, values="accuracy")
        arrays[method] = grid.loc[supports, items].to_numpy()
    return arrays


def crossed_intervals(
    arrays: dict[str, np.ndarray], groups: np.ndarray | None, options: Options
) -> dict[Sequence[str], CrossedIntervals]:
    """By (method,) and by (a, b), a with the better mean: `fslcore.stats.crossed_intervals`."""
    arguments = {"groups": groups, "pool": options.pool, "shots": options.shots}
    arguments["level"] = options.level
    means = [{"method": name, "mean": values.mean()} for name, values in arrays.items()]
    methods = best_first(means, options)
    bounds = None if options.lower_is_better else PERCENT_BOUNDS
    intervals = {}
    for name in methods["method"]:
        intervals[name,] = stats.crossed_intervals(arrays[name], bounds=bounds, **arguments)
    for first, second in compared_pairs(methods, options):
        differences = stats.paired_differences(arrays[first], arrays[second], axis=1)
        intervals[first, second] = stats.crossed_intervals(differences, **arguments)
    return intervals


def target_sample(
    intervals: dict[Sequence[str], CrossedIntervals],
    target: str,
    place: str,
    unit: str,
    options: Options,
) -> Sample:
    """The sample of one target."""
    if target == "supports":
        unit = "support"
    words = TARGETS[target]
    of_target = {names: getattr(result, target) for names, result in intervals.items()}
    sample = sample_of_intervals(of_target, place, words, unit, f"paired t-test for {words}")
    if target == "both":
        sample.methods["n"] = next(iter(intervals.values())).items.n_tasks
    # More of one does not settle what both leave open, nor more supports what a pool leaves open.
    if target == "both" or (target == "supports" and options.pool):
        sample.pairs["spread"] = np.nan
    return sample


def sample_of_intervals(
    intervals: dict[Sequence[str], Interval], place: str, target: str, unit: str, test: str
) -> Sample:
    """A sample of intervals by (method,), the best first, and by (a, b)."""
    methods, pairs = [], []
    for names, interval in intervals.items():
        if len(names) == 1:
            methods.append(method_row(*names, interval))
        else:
            pairs.append(pair_row(*names, interval, test))
    return Sample(place, target, unit, pd.DataFrame(methods), pd.DataFrame(pairs))


def planned_frame(intervals: dict[Sequence[str], CrossedIntervals]) -> pd.DataFrame:
    """Half-widths for new items and supports now, and estimated for more supports or more items.

    Of the differences, those with the best method.
    """
    best = next(iter(intervals))[0]
    rows = []
    for names, result in intervals.items():
        if len(names) == 2 and best not in names:
            continue
        supports, items, now = result.n_supports, result.n_items, result.both.half_width
        row = {"method or difference": " − ".join(names), "now": now}
        for multiple in MULTIPLES:
            by_supports = result.planned(multiple * supports, items).half_width
            by_items = result.planned(supports, multiple * items).half_width
            row[f"{multiple} × supports"] = min(now, by_supports)
            row[f"{multiple} × items"] = min(now, by_items)
        mostly_items = result.items.standard_error >= result.supports.standard_error
        row["mostly from"] = "items" if mostly_items else "supports"
        rows.append(row)
    return pd.DataFrame(rows)
