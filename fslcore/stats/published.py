"""What may be said of two printed figures, mean ± something, where the accuracies behind them are
not at hand.

What the ± means is judged by the spread of accuracies over tasks that it implies. Without the
accuracies nobody knows how they go together, so a difference has an interval at each end of what
their correlation may be. Closed tasks have their images in common, which no ± of theirs counts;
tasks that share nothing bound it (Hoeffding, 1948).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import log, sqrt

import numpy as np

from ..errors import InputError, choice, number, shown, whole
from .intervals import (
    LEVEL,
    Interval,
    Pair,
    checked_level,
    normal_quantile,
    student,
    student_quantile,
)

__all__ = [
    "BETWEEN",
    "CORRELATION",
    "Printed",
    "PrintedDifference",
    "PrintedReading",
    "from_printed",
]

# From the 5-way 5-shot episodes in data/episodes, 600 tasks or fewer of four methods on each of 12
# sets of classes; tests/stats/test_printed.py makes them again.
BETWEEN = 0.0271  # median correlation of two answers of a task
CORRELATION = (
    0.28,
    0.95,
)  # of the accuracies of two methods on the same tasks: where nine tenths lie
READINGS = ("interval", "standard error", "standard deviation")
ANSWERS, SAMPLINGS = ("yes", "no", "unknown"), ("closed", "open", "unknown")
MOST = 2**53
VERDICTS = ("better", "open", "not significantly different")


@dataclass(frozen=True)
class PercentDifference(Interval):
    """Student's interval of a difference of two percentages, whose ends are cut at -100 and 100."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            object.__setattr__(self, name, min(max(getattr(self, name), -100.0), 100.0))


@dataclass(frozen=True)
class PrintedDifference:
    """The difference of two means, with the least and the largest interval that printed figures
    leave possible.

    Attributes
    ----------
    widest : Interval
        Of tasks that have nothing to do with each other (Welch's, as `independent_interval`); also
        what paired tasks give at worst, unless what is hard for one method is easy for the other.
    narrowest : Interval
        Of the same tasks, where the methods agree as much as they usually may (`CORRELATION`, its
        upper end). Equal to ``widest`` where the tasks are not the same.
    correlation : float or None
        Of the accuracies of the same tasks: above it a paired interval leaves 0 out. Between -1 and
        1; None where every correlation gives the same verdict, and where the tasks are not the
        same.
    """

    widest: Interval
    narrowest: Interval
    correlation: float | None

    @property
    def verdict(self) -> str:
        """'better' where the widest leaves 0 out, 'not significantly different' where even the
        narrowest holds it.

        Else 'open': the accuracies of the tasks would decide.
        """
        return VERDICTS[0 if self.widest.conclusion else 1 if self.narrowest.conclusion else 2]


@dataclass(frozen=True)
class PrintedReading:
    """What two printed figures say if their ± means this.

    Attributes
    ----------
    meaning : str
        'interval' (half its width), 'standard error' or 'standard deviation' (over tasks).
    deviations : (float, float)
        Standard deviation of a task's accuracy, in points, that the two ± then imply.
    usual : bool
        Whether both are nearer to what is usual for tasks of this shape than to that of another
        reading.
    tasks : PrintedDifference
        For other tasks that are drawn in the same way.
    images, classes : PrintedDifference or None
        For new images, and for new classes; the real intervals are at most about as wide. None
        where the images (the classes) make fewer than two tasks that share none, where their number
        is not known, and of open tasks' images.
    """

    meaning: str
    deviations: Pair
    usual: bool
    tasks: PrintedDifference
    images: PrintedDifference | None
    classes: PrintedDifference | None


@dataclass(frozen=True)
class Printed:
    """What `from_printed` returns.

    Attributes
    ----------
    difference : float
        First mean less the second, in points.
    readings : tuple of PrintedReading
        By what ± may mean, 1 to 3: without those by which accuracies between 0 and 100 would vary
        more than they can.
    likely : PrintedReading
        The one whose implied deviations are nearest to what is usual.
    sampling : str
        'closed', 'open' or 'unknown': as given, or 'closed' where there are more tasks than images
        allow without reuse.
    same_tasks : str
        As given.
    n_tasks : (int, int)
        As given.
    level : float
    coarse : bool
        Whether no figure has more than one decimal, so that rounding counts.
    """

    difference: float
    readings: tuple[PrintedReading, ...]
    likely: PrintedReading
    sampling: str
    same_tasks: str
    n_tasks: tuple[int, int]
    level: float
    coarse: bool = False


def from_printed(
    a: Sequence[float],
    b: Sequence[float],
    tasks: int | Sequence[int],
    *,
    images: int | None = None,
    classes: int | None = None,
    ways: int = 5,
    shots: int = 5,
    queries: int = 15,
    same_tasks: str = "unknown",
    sampling: str = "unknown",
    level: float = LEVEL,
) -> Printed:
    """What may be said of two printed accuracies with their ±.

    Parameters
    ----------
    a, b : (float, float)
        Mean accuracy and what stands behind its ±, in percent.
    tasks : int, or (int, int)
        T behind each mean, at least 2.
    images, classes : int, optional
        Of the whole test set.
    ways, shots, queries : int
        K, S and Q of the tasks: what an accuracy of K·Q answers must vary by, and how many images a
        task takes.
    same_tasks : str
        'yes', 'no' or 'unknown': whether both methods were tested on the same tasks.
    sampling : str
        'closed' (images are used again in other tasks, as is usual), 'open' (each once) or
        'unknown'.
    level : float
        Nominal coverage, of the ± where it is an interval and of the intervals returned.

    Returns
    -------
    Printed

    Raises
    ------
    InputError
        Accuracies that are not between 1 and 100 (shares are refused), a ± that is not over 0, or
        too large by any reading; fewer than 2 tasks, other numbers of them on the same tasks; fewer
        classes than ways, images that are too few for a task, or for as many open tasks; unknown
        words; a level outside (0, 1).

    Notes
    -----
    *Meaning.* Of n = KQ answers in a task, each right with probability p on average, the accuracy
    has the variance p (1 - p) (1/n + τ (1 - 1/n)), τ their correlation within a task; τ is usually
    near `BETWEEN`. A ± h is an interval if h √T / z, a standard error if h √T and a standard
    deviation if h itself is about the root of that. 'usual' is what is off by less than √z to
    either side, z the quantile of ``level``: intervals and standard errors differ by z.

    *Pairing.* Means over tasks that are not the same are independent: Welch's interval
    (`scipy.stats.ttest_ind_from_stats`). On the same tasks with deviations s and t that correlate
    by ρ, the difference has the variance (s² + t² - 2ρst) / T, with T - 1 degrees of freedom.

    *New images, new classes.* A mean over all tasks of N images is a U-statistic; its variance over
    sets of images is at most that of m = N / (K (S + Q)) independent tasks (Hoeffding, 1948,
    theorem 5.2), which is the number of open tasks (OOPS, equation 6); over sets of classes that of
    m = C / K. The mean over T of all tasks varies by s² / T on top. So 1/T + 1/m takes the place of
    1/T, and m - 1 are the degrees of freedom.

    Examples
    --------
    >>> r = from_printed((79.59, 0.52), (76.87, 0.56), 600, images=840)
    >>> r.likely.meaning, r.likely.tasks.verdict, r.sampling
    ('interval', 'better', 'closed')
    >>> print(r.likely.tasks.widest, r.likely.tasks.narrowest, r.likely.images.widest, sep=", ")
    2.72 ± 0.76, 2.72 ± 0.18, 2.72 ± 7.29
    """
    level = checked_level(level)
    means, widths = zip(_figure("a", a), _figure("b", b))
    counts = (
        tuple(tasks) if isinstance(tasks, (tuple, list)) and len(tasks) == 2 else (tasks, tasks)
    )
    counts = tuple(whole("tasks", t, 2, MOST) for t in counts)
    choice("same_tasks", same_tasks, ANSWERS), choice("sampling", sampling, SAMPLINGS)
    whole("ways", ways, 2, MOST), whole("shots", shots, 1, MOST), whole("queries", queries, 1, MOST)
    if same_tasks == "yes" and counts[0] != counts[1]:
        raise InputError(f"tasks = {counts[0]} and {counts[1]}; the same tasks are equally many")
    open_tasks, class_sets = None, None
    if images is not None:
        task_size = ways * (shots + queries)
        open_tasks = whole("images", images, task_size, MOST) // task_size
        if sampling == "open" and max(counts) > open_tasks:
            raise InputError(
                f"tasks = {max(counts)}; "
                f"{images} images make at most {open_tasks} open tasks of this shape"
            )
        if sampling == "unknown" and max(counts) > open_tasks:
            sampling = "closed"
    if classes is not None:
        class_sets = whole("classes", classes, ways, MOST) // ways
    z = normal_quantile(level)
    n = ways * queries
    usual = [sqrt(m * (100 - m) * (1 / n + BETWEEN * (1 - 1 / n))) for m in means]
    # Accuracies with this mean vary most where all are on the bounds, 0 or 100.
    largest = [sqrt(m * (100 - m) * t / (t - 1)) for m, t in zip(means, counts)]
    readings, distances, gap = [], [], means[0] - means[1]
    paired = same_tasks != "no" and counts[0] == counts[1]
    for meaning in READINGS:
        factor = {"interval": 1 / z, "standard error": 1.0}.get(meaning)
        first, second = (
            h * (1 if factor is None else factor * sqrt(t)) for h, t in zip(widths, counts)
        )
        spread = first, second
        if any(s > limit for s, limit in zip(spread, largest)):
            continue
        distances.append([abs(log(s / u)) for s, u in zip(spread, usual)])
        difference = partial(_difference, gap, spread, counts, paired=paired, level=level)
        # Of open tasks' images the tasks speak already; less than two that share none say nothing.
        independent_tasks = (open_tasks if sampling != "open" else None, class_sets)
        of_new = [
            None if independent is None or independent < 2 else difference(independent=independent)
            for independent in independent_tasks
        ]
        usual_spread = max(distances[-1]) <= log(max(z, 1)) / 2
        readings.append(PrintedReading(meaning, spread, usual_spread, difference(), *of_new))
    if not readings:
        raise InputError(
            f"± = {widths[0]:g} and {widths[1]:g}; accuracies with these means have standard "
            f"deviations of at most {largest[0]:.4g} and {largest[1]:.4g}"
        )
    likely = readings[int(np.argmin([np.square(distance).sum() for distance in distances]))]
    coarse = all(round(x, 1) == x for x in (*means, *widths))
    return Printed(gap, tuple(readings), likely, sampling, same_tasks, counts, level, coarse)


def _figure(name: str, figure: Sequence[float]) -> Pair:
    if not isinstance(figure, (tuple, list, np.ndarray)) or np.shape(figure) != (2,):
        raise InputError(
            f"{name} = {shown(figure)}; a mean and its ±, two numbers in percent, are allowed"
        )
    mean, widths = (x.item() if isinstance(x, np.generic) else x for x in figure)
    mean = number(f"mean of {name}", mean)
    if 0 < mean <= 1:
        raise InputError(
            f"mean of {name} = {mean:g}; percent is allowed, not a share: {100 * mean:g}"
        )
    number(f"mean of {name}", mean, over=1, under=100)
    return mean, number(f"± of {name}", widths, over=0, under=100)


def _difference(
    gap: float,
    spread: Sequence[float],
    tasks: Sequence[int],
    *,
    paired: bool,
    level: float,
    independent: int | None = None,
) -> PrintedDifference:
    """Of means over so many tasks; with ``independent``, of what as many tasks that share nothing
    vary by on top.
    """
    first, second = (
        s * s * (1 / t + (1 / independent if independent else 0)) for s, t in zip(spread, tasks)
    )
    counts = [independent or t for t in tasks]
    total = first + second
    parts = [(first, counts[0] - 1), (second, counts[1] - 1)]
    half, df = student(total, parts, level)
    widest = PercentDifference(gap, half, level, independent or sum(tasks), "independent", df)
    if not paired:
        return PrintedDifference(widest, widest, None)
    quantile, product = student_quantile(counts[0] - 1, level), sqrt(first * second)
    narrow = quantile * sqrt(total - 2 * CORRELATION[1] * product)
    narrowest = PercentDifference(gap, min(narrow, half), level, counts[0], "paired", counts[0] - 1)
    correlation = (total - (gap / quantile) ** 2) / (2 * product)
    return PrintedDifference(widest, narrowest, correlation if -1 < correlation < 1 else None)
