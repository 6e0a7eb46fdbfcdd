"""What may be said of two printed figures, mean ± something, where the accuracies behind them are
not at hand.

What the ± means is judged by the spread of accuracies over tasks that it implies. Without the
accuracies nobody knows how they go together, so a difference has an interval at each end of what
their correlation may be. Closed tasks have their images in common, which no ± of theirs counts;
tasks that share nothing bound it (Hoeffding, 1948).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np

from ..errors import InputError, choice, number, quoted, whole
from .intervals import (
    DEFAULT_CONFIDENCE_LEVEL,
    Interval,
    Pair,
    checked_level,
    normal_quantile,
    student,
    student_quantile,
)
from .targets import Target

# From the 5-way 5-shot episodes in data/episodes, 600 tasks or fewer of four methods on each of 12
# sets of classes; tests/stats/test_printed.py makes them again.
BETWEEN = 0.0271  # median correlation of two answers of a task
# Of the accuracies of two methods on the same tasks: the 5 %, 50 % and 95 % quantiles of 72 pairs.
CORRELATION = (0.28, 0.71, 0.95)
# Of these accuracies, the least for which a verdict holds: all 72 pairs are above it.
ASSUMED_CORRELATION = 0.0
READINGS = ("interval", "standard error", "standard deviation")
ANSWERS = ("yes", "no", "unknown")
SAMPLINGS = ("closed", "open", "unknown")
MAXIMUM = 2**53


@dataclass(frozen=True)
class PrintedDifference:
    """The difference of two means, with the least and the largest interval that printed figures
    leave possible.

    Attributes
    ----------
    widest : Interval
        Of tasks that have nothing to do with each other (Welch's, as `welch_interval`); also
        what paired tasks give at worst, if their accuracies do not correlate negatively
        (`ASSUMED_CORRELATION`).
    narrowest : Interval
        Of the same tasks, where the methods agree as much as they usually may (`CORRELATION`, its
        upper end). Equal to ``widest`` where the tasks are not the same.
    paired : tuple of Interval
        Of the same tasks, one per usual correlation (`CORRELATION`); empty where the tasks are not
        the same.
    correlation : float or None
        Of the accuracies of the same tasks: above it a paired interval leaves 0 out. Between -1 and
        1; None where every correlation gives the same verdict, and where the tasks are not the
        same.
    """

    widest: Interval
    narrowest: Interval
    paired: tuple[Interval, ...]
    correlation: float | None

    @property
    def is_usually_decided(self) -> bool:
        """Whether the same tasks leave 0 out at every usual correlation; False for other tasks."""
        return bool(self.paired) and all(interval.sign for interval in self.paired)

    @property
    def verdict(self) -> str:
        """'better' where the widest leaves 0 out, 'not significantly different' where even the
        narrowest holds it.

        Else 'open': the accuracies of the tasks would decide. 'better' assumes that the accuracies
        of the two methods on the same tasks have a correlation of 0 or more
        (`ASSUMED_CORRELATION`). Of equal methods 5 % are then called so at a level of 95 %, as
        with different tasks; at a correlation of -0.3 it would be 9 %, at 0.3 2 %.
        """
        if self.widest.sign:
            return "better"
        return "open" if self.narrowest.sign else "not significantly different"


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
    """What `compare_printed` returns.

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
    shape : (int, int, int)
        Ways, shots and queries per class, as given.
    images, classes : int or None
        As given.
    disjoint_tasks : int or None
        As many tasks of this shape as the images make without using one twice; None where their
        number is not known.
    confidence_level : float
    coarse : bool
        Whether no figure has more than one decimal, so that rounding counts.
    """

    difference: float
    readings: tuple[PrintedReading, ...]
    likely: PrintedReading
    sampling: str
    same_tasks: str
    n_tasks: tuple[int, int]
    shape: tuple[int, int, int]
    images: int | None
    classes: int | None
    disjoint_tasks: int | None
    confidence_level: float
    coarse: bool


def compare_printed(
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
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
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
    confidence_level : float
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
    either side, z the quantile of ``confidence_level``: intervals and standard errors differ by z.

    *Pairing.* Means over tasks that are not the same are independent: Welch's interval
    (`scipy.stats.ttest_ind_from_stats`), which is too narrow for the same tasks only where
    accuracies correlate negatively; that they do not is assumed. On the same tasks with deviations s
    and t that correlate by ρ, the difference has the variance (s² + t² - 2ρst) / T, with T - 1
    degrees of freedom.

    *New images, new classes.* A mean over all tasks of N images is a U-statistic; its variance over
    sets of images is at most that of m = N / (K (S + Q)) independent tasks (Hoeffding, 1948,
    theorem 5.2), which is the number of open tasks (OOPS, equation 6); over sets of classes that of
    m = C / K. The mean over T of all tasks varies by s² / T on top. So 1/T + 1/m takes the place of
    1/T, and m - 1 are the degrees of freedom.

    Examples
    --------
    >>> r = compare_printed((79.59, 0.52), (76.87, 0.56), 600, images=840)
    >>> r.likely.meaning, r.likely.tasks.verdict, r.sampling
    ('interval', 'better', 'closed')
    >>> print(r.likely.tasks.widest, r.likely.tasks.narrowest, r.likely.images.widest, sep=", ")
    2.72 ± 0.76, 2.72 ± 0.18, 2.72 ± 7.29
    """
    confidence_level = checked_level(confidence_level)
    choice("same_tasks", same_tasks, ANSWERS)
    choice("sampling", sampling, SAMPLINGS)
    counts = _task_counts(tasks, same_tasks)
    whole("ways", ways, 2, MAXIMUM)
    whole("shots", shots, 1, MAXIMUM)
    whole("queries", queries, 1, MAXIMUM)
    means = [
        _Mean(*_figure("a", a), counts[0], ways * queries),
        _Mean(*_figure("b", b), counts[1], ways * queries),
    ]
    sets = _sets("images", images, ways * (shots + queries)), _sets("classes", classes, ways)
    disjoint_tasks = None if images is None else sets[0]
    if images is not None and max(counts) > sets[0]:
        if sampling == "open":
            raise InputError(
                f"tasks must be at most {sets[0]}, the open tasks of this shape that {images} "
                f"images make, got {max(counts)}"
            )
        sampling = "closed"
    if sampling == "open":
        sets = 0, sets[1]  # the tasks themselves show how their images vary
    readings = _readings(
        means,
        sets,
        paired=same_tasks != "no" and counts[0] == counts[1],
        confidence_level=confidence_level,
    )
    return Printed(
        difference=means[0].mean - means[1].mean,
        readings=tuple(readings),
        likely=min(
            readings, key=lambda r: sum(m.distance(r.meaning, confidence_level) ** 2 for m in means)
        ),
        sampling=sampling,
        same_tasks=same_tasks,
        n_tasks=counts,
        shape=(ways, shots, queries),
        images=images,
        classes=classes,
        disjoint_tasks=disjoint_tasks,
        confidence_level=confidence_level,
        coarse=all(round(x, 1) == x for mean in means for x in mean[:2]),
    )


def _task_counts(tasks: int | Sequence[int], same_tasks: str) -> tuple[int, int]:
    """Checked numbers of tasks behind the two means."""
    pair = tasks if isinstance(tasks, (tuple, list)) and len(tasks) == 2 else (tasks, tasks)
    first, second = (whole("tasks", count, 2, MAXIMUM) for count in pair)
    if same_tasks == "yes" and first != second:
        raise InputError(
            f"tasks must be equally many with same_tasks='yes', got {first} and {second}"
        )
    return first, second


def _sets(name: str, count: int | None, size: int) -> int:
    """How many tasks of this size have nothing in common; 0 where the whole is not known."""
    return 0 if count is None else whole(name, count, size, MAXIMUM) // size


def _figure(name: str, figure: Sequence[float]) -> Pair:
    """A checked mean, and what stands behind its ±."""
    if not isinstance(figure, (tuple, list, np.ndarray)) or np.shape(figure) != (2,):
        raise InputError(
            f"{name} must be a mean and its ±, two numbers in percent, got {quoted(figure)}"
        )
    mean = number(f"mean of {name}", figure[0])
    if 0 < mean <= 1:
        raise InputError(
            f"mean of {name} must be in percent, got {mean:g}; did you mean {100 * mean:g}?"
        )
    number(f"mean of {name}", mean, over=1, under=100)
    return mean, number(f"± of {name}", figure[1], over=0, under=100)


class _Mean(NamedTuple):
    """A printed mean with its ±, in percent, over so many tasks of so many answers."""

    mean: float
    plus_minus: float
    tasks: int
    answers: int

    def deviation(self, meaning: str, confidence_level: float) -> float:
        """Standard deviation of a task's accuracy that the ± implies."""
        if meaning == "standard deviation":
            return self.plus_minus
        factor = 1 / normal_quantile(confidence_level) if meaning == "interval" else 1.0
        return self.plus_minus * (factor * sqrt(self.tasks))

    @property
    def largest_deviation(self) -> float:
        """With this mean accuracies vary most where all are on the bounds, 0 or 100."""
        return sqrt(self.mean * (100 - self.mean) * self.tasks / (self.tasks - 1))

    def distance(self, meaning: str, confidence_level: float) -> float:
        """Absolute logarithm of the implied standard deviation over what is usual."""
        n = self.answers
        usual = sqrt(self.mean * (100 - self.mean) * (1 / n + BETWEEN * (1 - 1 / n)))
        return abs(log(self.deviation(meaning, confidence_level) / usual))


def _readings(
    means: list[_Mean], sets: tuple[int, int], *, paired: bool, confidence_level: float
) -> list[PrintedReading]:
    """All possible readings; ``sets`` are of images and of classes, as many as tasks that share
    none make.
    """
    readings = [
        _reading(means, meaning, sets, paired=paired, confidence_level=confidence_level)
        for meaning in READINGS
        if all(
            mean.deviation(meaning, confidence_level) <= mean.largest_deviation for mean in means
        )
    ]
    if not readings:
        first, second = means
        raise InputError(
            f"± = {first.plus_minus:g} and {second.plus_minus:g}; accuracies with these means have "
            f"standard deviations of at most {first.largest_deviation:.4g} and "
            f"{second.largest_deviation:.4g}"
        )
    return readings


def _reading(
    means: list[_Mean],
    meaning: str,
    sets: tuple[int, int],
    *,
    paired: bool,
    confidence_level: float,
) -> PrintedReading:
    deviations = (
        means[0].deviation(meaning, confidence_level),
        means[1].deviation(meaning, confidence_level),
    )
    difference = partial(
        _difference, means, deviations, paired=paired, confidence_level=confidence_level
    )
    distance = max(mean.distance(meaning, confidence_level) for mean in means)
    return PrintedReading(
        meaning,
        deviations,
        distance <= log(max(normal_quantile(confidence_level), 1)) / 2,
        difference(0),
        # Less than two sets show nothing of others.
        *(difference(count) if count > 1 else None for count in sets),
    )


def _difference(
    means: list[_Mean], deviations: Pair, sets: int, *, paired: bool, confidence_level: float
) -> PrintedDifference:
    """Of the means over tasks; with ``sets``, of what as many independent tasks vary by on top."""
    extra = 1 / sets if sets else 0
    variances = [s * s * (1 / mean.tasks + extra) for s, mean in zip(deviations, means)]
    counts = [sets or mean.tasks for mean in means]
    total = sum(variances)
    gap = means[0].mean - means[1].mean
    parts = [(variance, count - 1) for variance, count in zip(variances, counts)]
    half, df = student(total, parts, confidence_level)
    n_tasks = sets or sum(counts)
    widest = Interval(
        estimate=gap,
        half_width=half,
        confidence_level=confidence_level,
        n=n_tasks,
        target=Target.NEW_TASKS,
        df=df,
        bounds=(-100.0, 100.0),
        is_difference=True,
    )
    if not paired:
        return PrintedDifference(widest, widest, (), None)
    df = counts[0] - 1
    quantile = student_quantile(df, confidence_level)
    product = sqrt(variances[0] * variances[1])

    def same_tasks(correlation: float, largest: float) -> Interval:
        error = sqrt(total - 2 * correlation * product)
        half_width = min(quantile * error, largest)
        return replace(widest, half_width=half_width, n=counts[0], df=df)

    decisive = (total - (gap / quantile) ** 2) / (2 * product)
    return PrintedDifference(
        widest=widest,
        narrowest=same_tasks(CORRELATION[-1], half),
        paired=tuple(same_tasks(usual, inf) for usual in CORRELATION),
        correlation=decisive if -1 < decisive < 1 else None,
    )
