"""Methods compared by scores of items under supports (labelled examples, prompts).

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
from ..stats import Target
from ..stats.crossed import CrossedIntervals
from ..stats.targets import ITEM_TARGETS
from .applies import NEW_ITEMS, NEW_ITEMS_OF_CLASSES
from .designs import analyse_outcomes, analyse_tasks
from .model import PERCENT, UNIT_KEYS, Note
from .samples import (
    Place,
    Sample,
    add_variance_units,
    named_intervals,
    plural,
    sample_of_grid,
    sample_of_intervals,
)
from .shapes import averaged

ITEMS_OF_CLASSES = "new items of these classes"
FEWEST_CLASSES = 5  # with fewer, such as the two of yes and no, new classes are seldom meant


class Design(StrEnum):
    """Which supports score which items; the value says what verdicts then apply to."""

    CROSSED = (
        "A claim about methods needs the verdicts for new items and supports; those for new items "
        "hold with these supports, those for new supports on these items."
    )
    ONE_SUPPORT = (
        "Verdicts apply to new items like these, with this support; what another would give is not "
        "known."
    )
    NESTED = "Verdicts apply to new items like these, each with new supports of its own."
    UNEVEN = (
        "Verdicts apply to new items like these, with these supports: not every support of every "
        "method scores every item, and each item counts with its mean."
    )
    MEANS_OF_SUPPORTS = (
        "Verdicts apply to new supports on these items; they say nothing about new items, and more "
        "supports would not change that."
    )


def analyse_items(place: Place) -> list[Sample]:
    """Methods on items under supports, for every target that the design supports."""
    rows, analysis = place.rows, place.analysis
    if "support" not in rows:
        rows = rows.assign(support=rows.get("seed", ""))
    units = [key for key in UNIT_KEYS if key in rows and rows[key].notna().all()]
    if not units:
        analysis.applies.append(Design.MEANS_OF_SUPPORTS.value)
        sample = sample_of_grid(place, place.grid("support"), "support")
        return [replace(sample, target=Target.NEW_SUPPORTS)]
    unit = units[0]
    place = with_means(replace(place, rows=rows), ["method", "support", unit])
    if len(place.rows) < len(rows):
        analysis.cautions.append(
            f"Several scores of one {unit} under one support are averaged: what makes them differ "
            "is not counted."
        )
    if design_of(place.rows, unit) is Design.UNEVEN:
        place = evened(place, unit)
    design = design_of(place.rows, unit)
    analysis.applies.append(design.value)
    if design is Design.CROSSED:
        return crossed_samples(place, unit)
    place = with_means(place, ["method", unit])
    if "group" in rows:
        return [grouped_sample(place, unit)]
    return analyse_scores(place, Target.NEW_ITEMS)


def analyse_items_of_classes(place: Place) -> list[Sample]:
    """Methods on items of known classes, for new classes and for new items of these classes.

    Items of one class are hard or easy together. For new classes the classes are therefore the
    units; tests over items hold for these classes alone.
    """
    samples = analyse_scores(place, ITEMS_OF_CLASSES)
    classes, items = place.rows["class"].nunique(), place.rows["item"].nunique()
    shared = complete_rows(place.rows, "item")
    if classes == items:  # a class per item is no grouping
        place.analysis.applies.append(NEW_ITEMS)
        return [replace(sample, target="") for sample in samples]
    by_class = None
    if min(classes, shared["class"].nunique()) >= FEWEST_CLASSES:
        by_class = grouped_sample(place, "item", "class")
    # One class with nearly all items shows nothing of other classes.
    if by_class is None or not np.isfinite(by_class.methods["half_width"]).any():
        place.analysis.applies.append(NEW_ITEMS_OF_CLASSES)
        return samples
    place.analysis.applies.append(
        "A claim about methods needs the verdicts for new classes, which take classes as the units; "
        "those for new items hold for these classes alone, and take items of one class as "
        "independent."
    )
    return [by_class, *samples]


def analyse_scores(place: Place, target: str) -> list[Sample]:
    """Methods on items with one score each, as right and wrong answers where all are."""
    are_answers = place.rows["accuracy"].isin([0.0, PERCENT]).all()
    is_outcome = are_answers and not place.options.lower_is_better
    analyse = analyse_outcomes if is_outcome else analyse_tasks
    return [replace(sample, target=target) for sample in analyse(place)]


def with_means(place: Place, keys: Sequence[str]) -> Place:
    """The place with mean scores by these keys, and by group where there are groups."""
    groups = ["group"] if "group" in place.rows else []
    return replace(place, rows=averaged(place.rows, [*keys, *groups]))


def design_of(scores: pd.DataFrame, unit: str) -> Design:
    """Which supports score which items, counted without a table of all supports by all items."""
    if scores["support"].nunique() == 1:
        return Design.ONE_SUPPORT
    if scores.groupby(["method", "support"]).size().max() == 1:
        return Design.NESTED
    counts = scores[["method", "support", unit]].nunique()
    return Design.CROSSED if len(scores) == counts.prod() else Design.UNEVEN


def complete_rows(scores: pd.DataFrame, unit: str) -> pd.DataFrame:
    """The rows of items that are scored under every support of every method."""
    keys = scores.columns.intersection(["method", "support"])
    combinations = len(scores[keys].drop_duplicates())
    return scores[scores.groupby(unit)["method"].transform("size") == combinations]


def evened(place: Place, unit: str) -> Place:
    """With ``common`` the items that every support of every method scores, else all."""
    scores = place.rows
    complete = complete_rows(scores, unit)
    items = f"{complete[unit].nunique():,} of {scores[unit].nunique():,} {plural(unit)}"
    if place.options.common and len(complete):
        place.analysis.assumptions.append(f"Only {items} are used, which all supports score.")
        return replace(place, rows=complete)
    caution = (
        f"{items} are scored under all supports of all methods: the option common compares on "
        "these alone."
    )
    place.analysis.cautions.append(Note(caution, option="common"))
    return place


def crossed_samples(place: Place, unit: str) -> list[Sample]:
    """A sample for each target."""
    intervals = crossed_intervals(place, unit)
    unit = "group" if "group" in place.rows else unit
    pool = place.options.pool
    if pool:
        place.analysis.applies.append(
            f"Supports of {place.options.shots} out of {pool} labelled examples per class: new "
            "supports come from another pool of this size."
        )
    samples = []
    for target in ITEM_TARGETS:
        of_target = {names: result.by_target[target] for names, result in intervals.items()}
        repeated = "support" if target == Target.NEW_SUPPORTS else unit
        test = f"paired t-test for {target}"
        samples.append(sample_of_intervals(of_target, place, repeated, test, target))
    add_variance_units(samples[1], deviations_of(place, unit))
    # What varies over both, or over supports of one pool, has no standard deviation over units.
    samples[0].pairs["spread"] = np.nan
    samples[0].methods["n"] = samples[1].methods["n"]
    if pool:
        samples[2].pairs["spread"] = np.nan
    return samples


def grouped_sample(place: Place, unit: str, key: str = "group") -> Sample:
    """A sample for new items, which come in groups; or for new classes, if the groups are these."""
    shared = complete_rows(place.rows, unit)
    if len(shared) < len(place.rows):
        place.analysis.cautions.append(
            f"Only the {shared[unit].nunique():,} {plural(unit)} that all methods share are used, "
            f"as they are in {plural(key)}."
        )
    single = replace(place, rows=shared.assign(support=""))
    intervals = crossed_intervals(single, unit, key)
    of_items = {names: result.items for names, result in intervals.items()}
    target = Target.NEW_CLASSES if key == "class" else Target.NEW_ITEMS
    sample = sample_of_intervals(of_items, place, key, f"paired t-test for {target}", target)
    add_variance_units(sample, deviations_of(single, key))
    return sample


def deviations_of(place: Place, unit: str) -> pd.DataFrame:
    """By item, or by group of items, and method: what it adds to the deviation of the mean."""
    means = place.rows.groupby("method", sort=False)["accuracy"].transform("mean")
    deviations = place.rows.assign(accuracy=place.rows["accuracy"] - means)
    return deviations.pivot_table("accuracy", unit, "method", "sum", sort=False, observed=True)


def crossed_intervals(
    place: Place, unit: str, key: str = "group"
) -> dict[tuple[str, ...], CrossedIntervals]:
    """By (method,), the best first, and by (a, b): `fslcore.stats.crossed_intervals`, with the
    groups of items that the column ``key`` names.
    """
    scores, options = place.rows, place.options
    groups = groups_of(place, unit, key) if key in scores else None
    arrays = arrays_of(scores, unit)

    def interval_of(*names: str) -> CrossedIntervals:
        first, *second = (arrays[name] for name in names)
        return stats.crossed_intervals(
            stats.paired_differences(first, *second, axis=1) if second else first,
            groups=groups,
            pool=options.pool,
            shots=options.shots,
            confidence_level=options.level,
            bounds=place.bounds_of(*names),
        )

    means = pd.Series({name: values.mean() for name, values in arrays.items()})
    return named_intervals(means, options, interval_of, interval_of)


def groups_of(place: Place, unit: str, key: str) -> np.ndarray:
    """The group of each item, as they first appear."""
    groups_of_item = place.rows.groupby(unit, sort=False)[key]
    counts = groups_of_item.nunique()
    if counts.max() > 1:
        raise InputError(
            f"{unit} {counts.idxmax()} is in {counts.max()} groups; an item has one. Correct the "
            "column, or leave it out (ignore=['COLUMN'])"
        )
    groups = groups_of_item.first().to_numpy()
    if key == "group":
        place.analysis.applies.append(
            f"Items are in {len(set(groups)):,} groups: new items come in new groups."
        )
    return groups


def arrays_of(scores: pd.DataFrame, unit: str) -> dict[str, np.ndarray]:
    """By method, scores with a row per support and a column per item, as they first appear."""
    supports, items = scores["support"].unique(), scores[unit].unique()
    grid = scores.set_index(["method", "support", unit])["accuracy"].unstack()[items]
    return {name: grid.loc[name].loc[supports].to_numpy() for name in scores["method"].unique()}
