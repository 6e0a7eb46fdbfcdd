"""Recordings of `fslcore.record`: three intervals of each method and of each difference.

A recording holds the images of each task, and therefore supports intervals for these images, for
new images and for new classes (`fslcore.stats.three_intervals`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .. import recorder, stats
from ..errors import InputError, visible
from ..recorder import Recording, is_recording
from ..stats import Target, ThreeIntervals
from ..stats.influence import Influence
from ..stats.targets import IMAGE_TARGETS
from .analysis import FEW_UNITS, analyse
from .model import PERCENT, Measurements, Note, Shape
from .options import Options
from .roles import chosen_rows
from .samples import (
    DIFFERENCE_BOUNDS,
    PERCENT_BOUNDS,
    Analysis,
    Place,
    named_intervals,
    sample_of_intervals,
)
from .shapes import check_methods, check_reference

# By the bytes of support and query, and how many times these came before.
TaskNumbers = dict[tuple[bytes, bytes, int], int]
TEST = "t-test with jackknife variances of images and classes"
APPLIES = {
    Target.NEW_CLASSES: "a claim about methods needs the verdicts for new classes",
    Target.NEW_IMAGES: "verdicts for new images hold for these classes",
    Target.THESE_IMAGES: "verdicts for these images hold for this test set alone",
}


@dataclass(frozen=True)
class MethodTasks:
    """The recorded tasks of one method, or the difference of two methods on the same tasks.

    Attributes
    ----------
    number : (T,) integers
        The same number for the same images, whichever method it is of.
    support, query : (T, ·) integers
        Images of each task; -1 is padding.
    right : (T, ·) floats
        100 for a right query, else 0.
    transductive : bool
        Whether an answer depends on the other queries of its task.
    facts : dict of arrays
        The labels of all images, and their groups, as `fslcore.stats.three_intervals` takes them.
    """

    number: np.ndarray
    support: np.ndarray
    query: np.ndarray
    right: np.ndarray
    transductive: bool
    facts: dict[str, Any]

    def at(self, rows: np.ndarray) -> MethodTasks:
        """Some of the tasks."""
        names = ("number", "support", "query", "right")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def images(self) -> np.ndarray:
        """(T, ·) support and query together."""
        return np.concatenate([self.support, self.query], axis=1)

    def influence(self) -> Influence:
        """By how much the mean accuracy changes without each image and each class."""
        return stats.jackknife_influence(self.right.mean(axis=1), self.images(), **self.facts)

    def intervals(self, level: float, bounds: tuple[float, float] | None) -> ThreeIntervals:
        """The interval for each target."""
        return stats.three_intervals(
            self.right,
            self.support,
            self.query,
            **self.facts,
            transductive=self.transductive,
            confidence_level=level,
            bounds=bounds,
        )


def analyse_recordings(paths: Sequence[Path], options: Options) -> tuple[Measurements, Analysis]:
    """The accuracies of recorded tasks, and their analysis.

    Raises
    ------
    InputError
        Files that are no recordings, or do not fit together; a name that no method has.
    """
    others = [path.name for path in paths if not is_recording(path)]
    if others:
        raise InputError(
            f"{others[0]} is no recording of fslcore.record; report on recordings, or on tables, "
            "alone"
        )
    recording = recorder.load(paths)
    methods = chosen_methods(methods_of(recording), options)
    sampling = "closed" if reuses_images(methods) else "open"
    rows = task_rows(methods, sampling)
    note = (
        f"Read: {len(methods)} methods, {rows['task'].nunique():,} {sampling} tasks (recorded by "
        "fslcore.record), accuracy in percent."
    )
    measured = Measurements(rows, Shape.RECORDED, True, (note,))
    try:
        analysis = three_targets(methods, options)
    except InputError as error:
        analysis = analyse(replace(measured, shape=Shape.TASKS), options)
        if sampling == "closed":
            analysis.cautions.append(
                f"There are no intervals for new images and classes ({error})."
            )
    analysis.cautions = recording_cautions(recording, methods, sampling) + analysis.cautions
    return measured, analysis


def methods_of(recording: Recording) -> dict[str, MethodTasks]:
    """By the name of each method, its tasks."""
    facts = {"labels": recording.classes, **recording.groups}
    numbers: TaskNumbers = {}
    methods = {}
    for method in recording.methods:
        support, query = recording.support[method], recording.query[method]
        methods[visible(method)] = MethodTasks(
            number=task_numbers(support, query, numbers),
            support=support,
            query=query,
            right=PERCENT * recording.correct[method],
            transductive=recording.transductive.get(method, False),
            facts=facts,
        )
    return methods


def chosen_methods(methods: dict[str, MethodTasks], options: Options) -> dict[str, MethodTasks]:
    """Methods that the user does not leave out; with ``common``, on the tasks that all share."""
    rows = chosen_rows(pd.DataFrame({"method": [*methods]}), options.where)
    check_methods(methods, options)
    check_reference(rows, options)
    chosen = {name: methods[name] for name in options.methods or rows["method"]}
    if options.common:
        for shared in [tasks.number for tasks in chosen.values()]:
            for name, tasks in chosen.items():
                chosen[name] = tasks.at(np.isin(tasks.number, shared))
        if min(len(tasks.number) for tasks in chosen.values()) < 2:
            raise InputError("common=True: no two tasks are shared by all methods")
    return chosen


def task_numbers(support: np.ndarray, query: np.ndarray, numbers: TaskNumbers) -> np.ndarray:
    """The number of each task: the same for the same images, another the second time.

    ``numbers`` holds those of earlier methods, and grows.
    """
    repeats: dict[tuple[bytes, bytes], int] = {}
    result = []
    for supported, queried in zip(support, query, strict=True):
        key = supported[supported >= 0].tobytes(), queried[queried >= 0].tobytes()
        repeats[key] = repeats.get(key, 0) + 1
        result.append(numbers.setdefault((*key, repeats[key]), len(numbers)))
    return np.array(result)


def reuses_images(methods: dict[str, MethodTasks]) -> bool:
    """Whether an image is in two tasks."""
    images_of_task: dict[int, np.ndarray] = {}
    for tasks in methods.values():
        images_of_task |= dict(zip(tasks.number.tolist(), tasks.images(), strict=True))
    images = np.concatenate([*images_of_task.values()])
    images = images[images >= 0]
    return len(np.unique(images)) < len(images)


def task_rows(methods: dict[str, MethodTasks], sampling: str) -> pd.DataFrame:
    """A row per task and method, as those of a table."""
    parts = []
    for name, tasks in methods.items():
        accuracy = tasks.right.sum(axis=1) / (tasks.query >= 0).sum(axis=1)
        parts.append(pd.DataFrame({"method": name, "task": tasks.number, "accuracy": accuracy}))
    return pd.concat(parts, ignore_index=True).assign(sampling=sampling)


# Intervals ----------------------------------------------------------------------------------------


def three_targets(methods: dict[str, MethodTasks], options: Options) -> Analysis:
    """A sample for each target that the tasks support."""
    analysis = Analysis()
    place = Place("", pd.DataFrame(), options, analysis)
    intervals = three_intervals(methods, options)
    for target in reversed(IMAGE_TARGETS):  # the most cautious first
        of_target = {names: result.by_target[target] for names, result in intervals.items()}
        sample = sample_of_intervals(of_target, place, "task", TEST, target)
        if target != Target.THESE_IMAGES:
            sample.pairs["spread"] = np.nan  # more tasks do not settle what images leave open
        if np.isfinite(sample.methods["half_width"]).any():
            analysis.samples.append(sample)
    applies = "; ".join(APPLIES[Target(sample.target)] for sample in analysis.samples)
    analysis.applies.append(f"{applies[0].upper()}{applies[1:]}.")
    analysis.cautions += class_cautions({name: intervals[name,] for name in methods})
    return analysis


def three_intervals(
    methods: dict[str, MethodTasks], options: Options
) -> dict[tuple[str, ...], ThreeIntervals]:
    """By (method,), the best first, and by (a, b): `fslcore.stats.three_intervals`."""
    level = options.level
    singles = {name: tasks.intervals(level, PERCENT_BOUNDS) for name, tasks in methods.items()}
    means = pd.Series({name: result.closed.estimate for name, result in singles.items()})

    def difference(first: str, second: str) -> ThreeIntervals:
        return difference_intervals(methods[first], methods[second], level)

    return named_intervals(means, options, singles.get, difference)


def difference_intervals(first: MethodTasks, second: MethodTasks, level: float) -> ThreeIntervals:
    """Three intervals of a difference, paired on the tasks that both methods have.

    Where there are none, tasks are independent given the images, which both have in common: the
    variances from tasks add up, and what an image or a class changes is subtracted before it is
    squared (`fslcore.stats.influence.Influence`).
    """
    _, of_first, of_second = np.intersect1d(first.number, second.number, return_indices=True)
    if not len(of_first):
        return (first.influence() - second.influence()).intervals(level, DIFFERENCE_BOUNDS)
    first, second = first.at(of_first), second.at(of_second)
    difference = replace(
        first,
        right=first.right - second.right,
        transductive=first.transductive or second.transductive,
    )
    return difference.intervals(level, DIFFERENCE_BOUNDS)


# Cautions -----------------------------------------------------------------------------------------


def recording_cautions(
    recording: Recording, methods: dict[str, MethodTasks], sampling: str
) -> list[str]:
    """What is not finished, and whose answers may depend on each other."""
    cautions = []
    for name in recording.unfinished:
        count = len(recording.correct[name])
        cautions.append(f"{visible(name)} is not finished: {count:,} tasks of it were recorded.")
    unsaid = [visible(name) for name in recording.methods if name not in recording.transductive]
    unsaid = [name for name in unsaid if name in methods]
    if unsaid and sampling == "closed":
        cautions.append(
            f"Of {', '.join(unsaid)} it was not recorded whether an answer depends on the task's "
            "other queries. If it does, the interval for new images is too narrow: record it with "
            "transductive=True."
        )
    numbers = {frozenset(tasks.number.tolist()) for tasks in methods.values()}
    if len(numbers) > 1:
        caution = (
            "Methods have different tasks: each pair is compared on those that both have "
            "(with the option common: that all have), and unpaired where there are none."
        )
        cautions.append(Note(caution, option="common"))
    return cautions


def class_cautions(singles: dict[str, ThreeIntervals]) -> list[str]:
    """Where the tasks show little about new images or new classes."""
    results = singles.values()
    cautions = []
    if not any(np.isfinite(result.classes.half_width) for result in results):
        cautions.append(
            "These tasks do not tell about new classes: each of them holds all classes."
        )
    elif not any(np.isfinite(result.image_variance) for result in results):
        cautions.append(
            "The intervals for new images are those for new classes: nothing is known of images "
            "alone."
        )
    floors = [
        name
        for name, result in singles.items()
        if np.isfinite(result.image_variance) and result.class_variance == result.image_variance
    ]
    if floors:
        cautions.append(
            f"The tasks do not show that classes add anything to new images for {', '.join(floors)}"
            ": intervals for new classes are the least that they can be."
        )
    counts = [result.classes.classes for result in results if result.classes.classes]
    if counts and min(counts) < FEW_UNITS:
        cautions.append(
            f"Only {min(counts)} classes carry the verdicts for new classes: one unusual class can "
            "change them."
        )
    return cautions
