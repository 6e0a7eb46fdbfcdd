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
from math import log, sqrt
from typing import NamedTuple

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
# Of the accuracies of two methods on the same tasks: where nine tenths of the correlations lie.
CORRELATION = (0.28, 0.95)
READINGS = ("interval", "standard error", "standard deviation")
ANSWERS, SAMPLINGS = ("yes", "no", "unknown"), ("closed", "open", "unknown")
MAXIMUM = 2**53
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
    first: Sequence[float],
    second: Sequence[float],
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
    first, second : (float, float)
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
    figures = _figure("first", first), _figure("second", second)
    counts = _checked_counts(tasks)
    choice("same_tasks", same_tasks, ANSWERS)
    choice("sampling", sampling, SAMPLINGS)
    whole("ways", ways, 2, MAXIMUM)
    whole("shots", shots, 1, MAXIMUM)
    whole("queries", queries, 1, MAXIMUM)
    if same_tasks == "yes" and counts[0] != counts[1]:
        raise InputError(f"tasks = {counts[0]} and {counts[1]}; the same tasks are equally many")
    open_tasks = class_sets = None
    if images is not None:
        open_tasks = _open_tasks(images, ways * (shots + queries), counts, sampling)
        if sampling == "unknown" and max(counts) > open_tasks:
            sampling = "closed"
    if classes is not None:
        class_sets = whole("classes", classes, ways, MAXIMUM) // ways
    comparison = _Comparison(
        means=(figures[0].mean, figures[1].mean),
        tasks=counts,
        answers=ways * queries,
        paired=same_tasks != "no" and counts[0] == counts[1],
        # Of open tasks' images the tasks speak already.
        open_tasks=None if sampling == "open" else open_tasks,
        class_sets=class_sets,
        level=level,
    )
    readings = comparison.readings((figures[0].plus_minus, figures[1].plus_minus))
    return Printed(
        difference=comparison.gap,
        readings=tuple(readings),
        likely=min(readings, key=lambda reading: comparison.distance(reading.deviations)),
        sampling=sampling,
        same_tasks=same_tasks,
        n_tasks=counts,
        level=level,
        coarse=all(round(x, 1) == x for figure in figures for x in figure),
    )


class _Figure(NamedTuple):
    """A printed mean, and what stands behind its ±, in percent."""

    mean: float
    plus_minus: float


def _figure(name: str, figure: Sequence[float]) -> _Figure:
    if not isinstance(figure, (tuple, list, np.ndarray)) or np.shape(figure) != (2,):
        raise InputError(
            f"{name} = {shown(figure)}; a mean and its ±, two numbers in percent, are allowed"
        )
    mean, plus_minus = (x.item() if isinstance(x, np.generic) else x for x in figure)
    mean = number(f"mean of {name}", mean)
    if 0 < mean <= 1:
        raise InputError(
            f"mean of {name} = {mean:g}; percent is allowed, not a share: {100 * mean:g}"
        )
    number(f"mean of {name}", mean, over=1, under=100)
    return _Figure(mean, number(f"± of {name}", plus_minus, over=0, under=100))


def _checked_counts(tasks: int | Sequence[int]) -> tuple[int, int]:
    """Numbers of tasks behind the two means, from one number for both or from two."""
    is_pair = isinstance(tasks, (tuple, list)) and len(tasks) == 2
    first, second = tasks if is_pair else (tasks, tasks)  # type: ignore[misc]
    return whole("tasks", first, 2, MAXIMUM), whole("tasks", second, 2, MAXIMUM)


def _open_tasks(images: int, task_size: int, tasks: tuple[int, int], sampling: str) -> int:
    """Number of tasks without a common image that so many images make."""
    open_tasks = whole("images", images, task_size, MAXIMUM) // task_size
    if sampling == "open" and max(tasks) > open_tasks:
        raise InputError(
            f"tasks = {max(tasks)}; "
            f"{images} images make at most {open_tasks} open tasks of this shape"
        )
    return open_tasks


class _Comparison(NamedTuple):
    """Two checked means in percent, and the tasks behind them.

    Attributes
    ----------
    means : (float, float)
    tasks : (int, int)
        Behind each mean.
    answers : int
        K·Q, in a task.
    paired : bool
        Whether both may be of the same tasks.
    open_tasks, class_sets : int or None
        Tasks without a common image, or class, that the test set makes; None where the number is
        not known or not needed.
    level : float
    """

    means: Pair
    tasks: tuple[int, int]
    answers: int
    paired: bool
    open_tasks: int | None
    class_sets: int | None
    level: float

    @property
    def gap(self) -> float:
        """First mean minus the second."""
        return self.means[0] - self.means[1]

    def readings(self, plus_minus: Pair) -> list[PrintedReading]:
        """What the two ± may mean, without what is impossible."""
        # Accuracies with this mean vary most where all are on the bounds, 0 or 100.
        largest = [sqrt(m * (100 - m) * t / (t - 1)) for m, t in zip(self.means, self.tasks)]
        readings = []
        for meaning in READINGS:
            deviations = self._deviations(meaning, plus_minus)
            if deviations[0] <= largest[0] and deviations[1] <= largest[1]:
                readings.append(self._reading(meaning, deviations))
        if not readings:
            raise InputError(
                f"± = {plus_minus[0]:g} and {plus_minus[1]:g}; accuracies with these means have "
                f"standard deviations of at most {largest[0]:.4g} and {largest[1]:.4g}"
            )
        return readings

    def _deviations(self, meaning: str, plus_minus: Pair) -> Pair:
        """Standard deviations of a task's accuracy that the two ± imply."""
        if meaning == "standard deviation":
            return plus_minus
        factor = 1 / normal_quantile(self.level) if meaning == "interval" else 1.0
        first, second = (h * (factor * sqrt(t)) for h, t in zip(plus_minus, self.tasks))
        return first, second

    def _from_usual(self, deviations: Pair) -> list[float]:
        """Logarithms of how far standard deviations are from what is usual for these tasks."""
        n = self.answers
        usual = [sqrt(m * (100 - m) * (1 / n + BETWEEN * (1 - 1 / n))) for m in self.means]
        return [abs(log(deviation / u)) for deviation, u in zip(deviations, usual)]

    def distance(self, deviations: Pair) -> float:
        """Squared distance of two standard deviations from what is usual for these tasks."""
        return float(np.square(self._from_usual(deviations)).sum())

    def _reading(self, meaning: str, deviations: Pair) -> PrintedReading:
        z = normal_quantile(self.level)
        return PrintedReading(
            meaning=meaning,
            deviations=deviations,
            usual=max(self._from_usual(deviations)) <= log(max(z, 1)) / 2,
            tasks=self._difference(deviations, None),
            images=self._new_difference(deviations, self.open_tasks),
            classes=self._new_difference(deviations, self.class_sets),
        )

    def _new_difference(
        self, deviations: Pair, independent: int | None
    ) -> PrintedDifference | None:
        """For new images or classes; less than two tasks that share none show nothing of these."""
        if independent is None or independent < 2:
            return None
        return self._difference(deviations, independent)

    def _difference(self, deviations: Pair, independent: int | None) -> PrintedDifference:
        """Of the means; with ``independent``, of what as many tasks that share nothing vary by on
        top.
        """
        extra = 1 / independent if independent else 0
        first, second = (s * s * (1 / t + extra) for s, t in zip(deviations, self.tasks))
        counts = [independent or t for t in self.tasks]
        parts = [(first, counts[0] - 1), (second, counts[1] - 1)]
        half, df = student(first + second, parts, self.level)
        tasks = independent or sum(self.tasks)
        widest = PercentDifference(self.gap, half, self.level, tasks, "independent", df)
        if not self.paired:
            return PrintedDifference(widest, widest, None)
        return self._paired_difference(widest, (first, second), counts[0])

    def _paired_difference(
        self, widest: Interval, variances: Pair, count: int
    ) -> PrintedDifference:
        """Of means over the same tasks, with these variances."""
        total, product = sum(variances), sqrt(variances[0] * variances[1])
        quantile = student_quantile(count - 1, self.level)
        half = min(quantile * sqrt(total - 2 * CORRELATION[1] * product), widest.half_width)
        narrowest = PercentDifference(self.gap, half, self.level, count, "paired", count - 1)
        correlation = (total - (self.gap / quantile) ** 2) / (2 * product)
        return PrintedDifference(widest, narrowest, correlation if -1 < correlation < 1 else None)
