"""How time and memory grow with images, tasks, ways, classes and shots: curves and the powers that fit them.

Each point is measured in a process of its own, so that its peak is not that of a point before it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context

import numpy as np
import torch
from scipy.stats import linregress

from fslcore.datasets.bank import Bank
from fslcore.evaluation import evaluate
from fslcore.learners import LogisticRegression, NearestCentroid
from fslcore.stats import paired_interval, three_intervals
from fslcore.tasks import sample_closed, sample_open

from .common import CPU, fresh_peak, gaussian, peak_mb, seconds

__all__ = ["CURVES", "Point", "fitted", "growth", "in_processes", "measured"]

LEAST_MB = 2.0  # what a first call loads into memory: a smaller peak says nothing of the size
SHORT = 0.2  # seconds: a run that takes longer is not repeated
CLOSED, OPEN, INTERVALS, PAIRED = (
    "closed tasks",
    "open tasks",
    "three intervals",
    "paired comparison",
)
ALL = (CLOSED, OPEN, "NCC", INTERVALS, PAIRED)
REUSED = (CLOSED, "NCC", "LR", INTERVALS, PAIRED)


@dataclass(frozen=True)
class Point:
    """Something to measure, and at which sizes; all classes have the same number of images."""

    what: str
    images: int = 10_000
    tasks: int = 1000
    ways: int = 5
    classes: int = 100
    shots: int = 5
    queries: int = 15
    dim: int = 512


#: What grows, by which sizes, and what else is other than in `Point`.
CURVES = {
    "images": (ALL, (10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7), dict(dim=16)),
    "tasks": (REUSED, (100, 300, 1000, 3000, 10**4, 3 * 10**4, 10**5), {}),
    "ways": (REUSED, (2, 5, 10, 20, 50, 100, 200), dict(classes=200, tasks=100)),
    "classes": (ALL, (10, 100, 1000, 10**4, 3 * 10**4, 10**5), dict(images=3 * 10**6, dim=16)),
    "shots": (("NCC", "LR"), (1, 2, 5, 10, 20, 40, 80), dict(tasks=100)),
}


def growth(quick: bool, repeats: int) -> list[dict]:
    """A curve per row: what, by, what is fixed, the sizes, seconds of one thread, MB beyond the input, and the powers.

    Open tasks are drawn until the images are used up; of all others the number is fixed.
    """
    curves = []
    for by, (subjects, sizes, settings) in CURVES.items():
        if quick:
            sizes, settings = sizes[:2], settings | dict(tasks=20, images=10_000)
        for subject in subjects:
            points = [
                (replace(Point(subject), **settings | {by: size}), 1 if quick else repeats)
                for size in sizes
            ]
            took, held = zip(*in_processes(points))
            fixed = {name: n for name, n in vars(points[0][0]).items() if name not in ("what", by)}
            row = {
                "what": subject,
                "by": by,
                "fixed": fixed,
                "at": sizes,
                "seconds": took,
                "memory_mb": held,
            }
            time, memory = fitted(sizes, took), fitted(sizes, held, LEAST_MB)
            row |= dict(
                zip(("time_power", "time_error", "memory_power", "memory_error"), (*time, *memory))
            )
            curves.append(row)
    return curves


def in_processes(points: list[tuple[Point, int]]) -> list[tuple[float, float]]:
    """`measured` of points and their repeats, one after the other, in a new process each."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["fslcore.evaluation", "fslcore.learners", "fslcore.stats"])
    with ProcessPoolExecutor(1, context, max_tasks_per_child=1) as pool:
        return list(pool.map(measured, *zip(*points)))


def fitted(at, values, lower_bound: float = 0.0) -> tuple[float | None, float | None]:
    """The power with which values grow over the upper half of the sizes, and its standard error.

    In the lower half the fixed cost of a call dominates. None where a value of the upper half is not above ``least``,
    and an error of None from two sizes.
    """
    upper = slice(-max(2, (len(at) + 1) // 2), None)
    x, y = np.array(at, float)[upper], np.array(values, float)[upper]
    if (y <= lower_bound).any():
        return None, None
    line = linregress(np.log(x), np.log(y))
    return float(line.slope), float(line.stderr) if len(x) > 2 else None


def measured(point: Point, repeats: int) -> tuple[float, float]:
    """Seconds of one thread, a median where they are short, and the peak in MB beyond what the process held before."""
    torch.set_num_threads(1)
    run = prepared(point)
    fresh_peak()
    before = peak_mb()
    start = CPU()
    run()
    took, peak = CPU() - start, peak_mb() - before
    if took < SHORT and repeats > 1:
        took = seconds(run, repeats, warm=False, clock=CPU)
    return took, max(peak, 0.0)


def prepared(point: Point) -> Callable[[], object]:
    """The call to measure, with its input."""
    labels = np.repeat(np.arange(point.classes, dtype=np.int32), point.images // point.classes)
    shape = {name: getattr(point, name) for name in ("ways", "shots", "queries")}
    if point.what == OPEN:
        return lambda: sample_open(labels, **shape)
    if point.what == CLOSED:
        return lambda: sample_closed(labels, tasks=point.tasks, **shape)
    tasks, rng = sample_closed(labels, tasks=point.tasks, **shape), np.random.default_rng(0)
    if point.what in ("NCC", "LR"):
        learner = NearestCentroid() if point.what == "NCC" else LogisticRegression()
        features, labels = gaussian(point.classes, point.images // point.classes, point.dim)
        bank = Bank(torch.from_numpy(features).half(), labels, "")
        del features  # so that only its half is held when the measurement begins
        return lambda: evaluate(learner, bank, tasks)
    right, other_right = (rng.random(tasks.query.shape) < share for share in (0.8, 0.75))
    if point.what == PAIRED:
        return lambda: paired_interval(right.mean(axis=1), other_right.mean(axis=1))
    return lambda: three_intervals(right, tasks.support, tasks.query, labels)
