"""What measurements say, place by place, what it applies to, and where to be careful."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from . import designs, items
from .applies import applies_to
from .model import SETTINGS, Measurements, Shape
from .options import Options
from .samples import Analysis, Place, Sample, in_place, plural

FEW_UNITS = 20
MOST_KURTOSIS = 6.0  # twice that of a normal distribution, exceeded by 0.6 % of 20 normal values
ANALYSES = {
    Shape.TASKS: designs.analyse_tasks,
    Shape.TASKS_IN_DRAWS: designs.analyse_draws,
    Shape.RUNS: designs.analyse_runs,
    Shape.DATASETS: designs.analyse_datasets,
    Shape.SEEDS: designs.analyse_seeds,
    Shape.FOLDS: designs.analyse_folds,
    Shape.DATASETS_AND_SEEDS: designs.analyse_datasets_and_seeds,
    Shape.PRINTED: designs.analyse_printed,
    Shape.OUTCOMES: designs.analyse_outcomes,
    Shape.ITEMS: items.analyse_items,
}


def analyse(measured: Measurements, options: Options) -> Analysis:
    """What the measurements say, by their shape."""
    are_of_classes = has_items_of_classes(measured)
    analyse_place = ANALYSES[measured.shape]
    if are_of_classes:
        analyse_place = items.analyse_items_of_classes
    analysis = Analysis()
    for name, rows in places(measured):
        place = Place(name, rows, options, analysis, measured.percent)
        analysis.samples += analyse_place(place)
    if measured.shape is not Shape.ITEMS and not are_of_classes:
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
    place = in_place(sample.place)
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
