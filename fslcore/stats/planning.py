"""How much data a comparison needs: from the variances of a pilot to tasks, images and classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf, isfinite, isinf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from ..errors import InputError, instance, number, whole
from .image_intervals import ThreeIntervals
from .intervals import (
    DEFAULT_CONFIDENCE_LEVEL,
    Bounds,
    Floats,
    Interval,
    Pair,
    are_of_difference,
    checked_level,
)
from .pilot import Pilot

__all__ = ["Plan", "minimum_detectable_difference", "plan_sample_size", "power", "smallest"]

MAXIMUM = 2**62  # sizes beyond are not looked for
# Middles of equal parts of the chances, to average over.
ASSURANCE_QUANTILES = (np.arange(25) + 0.5) / 25
# Of an image variance's degrees of freedom: few images decide, so that it scatters more.
IMAGE_DF_FACTOR = 0.4
OF_IMAGES = 8.0  # by how much a variance falls faster than its size grows, see `plan_sample_size`
OF_CLASSES = 4.0
# Per class and task; where more would be better still, they are not worth much.
MANY_QUERIES = 10_000


def power(
    difference: float,
    standard_error: float,
    df: float = inf,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
) -> float:
    """Chance that an interval of a difference leaves 0 out, where the true difference is this one.

    Parameters
    ----------
    difference, standard_error : float
        True difference, and standard deviation of the estimate, in one unit.
    df : float
        Degrees of freedom of the Student quantile; infinite for a normal one.
    confidence_level : float
        Of the interval.

    Raises
    ------
    InputError
        A difference that is no finite number, a standard error that is not over 0, a level outside
        (0, 1), fewer than 1 degrees of freedom.

    Examples
    --------
    >>> round(power(1.0, 0.5), 3)
    0.516
    """
    number("difference", difference)
    number("standard_error", standard_error, over=0)
    checked_level(confidence_level)
    number("df", df, minimum=1, infinite=True)
    return float(powers(difference, standard_error, df, confidence_level)[0])


def powers(
    difference: ArrayLike, standard_error: ArrayLike, df: ArrayLike, confidence_level: ArrayLike
) -> Floats:
    """`power` of checked arguments, element by element, since plans and reports compute it many
    times; (n,) at least.
    """
    with np.errstate(divide="ignore", over="ignore"):
        shift = np.atleast_1d(np.abs(difference) / np.asarray(standard_error, float))
    shift = np.minimum(shift, 1e150)
    if np.isinf(df).all():
        limit = stats.norm.ppf((1 + np.asarray(confidence_level)) / 2)
        return stats.norm.sf(limit - shift) + stats.norm.sf(limit + shift)
    limit = stats.t.ppf((1 + np.asarray(confidence_level)) / 2, df)
    lower = 0.0
    with np.errstate(over="ignore"):  # of huge shifts, and in SciPy's series for them
        upper = stats.nct.sf(limit, df, shift)
        if shift.min() < 10:
            lower = stats.nct.cdf(-limit, df, shift)
        # SciPy gives NaN for huge shifts, beside which only the estimated error varies.
        huge = np.isnan(upper)
        if huge.any():
            upper = np.where(huge, stats.chi2.cdf(df * (shift / limit) ** 2, df), upper)
    # SciPy gives NaN for some lower tails that are too small to matter.
    return upper + np.nan_to_num(lower)


def minimum_detectable_difference(
    standard_error: float,
    df: float = inf,
    *,
    target_power: float = 0.8,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
) -> float:
    """The true difference that an interval with this standard error detects with this power.

    Parameters
    ----------
    standard_error, df, confidence_level : float
        As for `power`.
    target_power : float
        Probability of an interval that excludes 0.

    Returns
    -------
    float
        In the unit of the standard error.

    Raises
    ------
    InputError
        As for `power`; a ``target_power`` not between 1 - confidence_level and 1.

    Examples
    --------
    >>> round(minimum_detectable_difference(0.5), 2)
    1.4
    """
    number("standard_error", standard_error, over=0)
    number("df", df, minimum=1, infinite=True)
    check_power(target_power, confidence_level)
    # Every shift beyond both quantiles has the power.
    largest = 2 * (stats.t.ppf((1 + confidence_level) / 2, df) + stats.t.ppf(target_power, df)) + 10
    shift = optimize.brentq(
        lambda x: powers(x, 1.0, df, confidence_level)[0] - target_power, 1e-6, largest
    )
    return float(shift * standard_error)


def smallest(enough: Callable[[int], bool], minimum: int, maximum: int = MAXIMUM) -> int | None:
    """The smallest whole number in a range that is enough, where every larger one is too; None
    where none is.
    """
    low = high = minimum
    while not enough(high):
        if high == maximum:
            return None
        low, high = high + 1, min(2 * high, maximum)
    while low < high:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle + 1
    return high


def check_power(power: float, confidence_level: float) -> None:
    """Raise `InputError` where a power is not between that of no difference and 1."""
    number("target_power", power, over=1 - checked_level(confidence_level), under=1)


def check_nonzero(difference: float) -> None:
    """Raise `InputError` where a difference is 0 or no finite number."""
    if number("difference", difference) == 0:
        raise InputError(f"difference must be a number other than 0, got {difference}")


@dataclass(frozen=True)
class Plan:
    """What it takes to tell a difference with the wanted power; see `plan_sample_size`.

    Each size has a range beside it: an interval, at the level of the plan, for the size that would
    be planned if the variance were known. Its upper end is infinite where there is no bound.

    Attributes
    ----------
    n_tasks : int
        From three intervals: closed tasks, for the difference on these very images. From a pilot of
        open tasks: the open tasks, for the difference on new images.
    images_per_class : int or None
        For the difference on new images of these classes; None where the pilot shows nothing about
        them alone. Open tasks take so many if they take all classes equally often; where they draw
        them at random, a few images are left over.
    n_classes : int or None
        Classes of as many images as the pilot's, for the difference on new classes. None where the
        pilot's tasks held all classes, or fewer classes than ways would do; and for open tasks.
    queries : int or None
        Q of the open tasks. None for closed ones, which are planned with the pilot's.
    tasks_range, images_range, classes_range : (2,) tuple
        Of ``n_tasks``, ``images_per_class`` and ``n_classes``; None where that is None.
    """

    n_tasks: int
    images_per_class: int | None
    n_classes: int | None
    queries: int | None = None
    tasks_range: Bounds = None
    images_range: Bounds = None
    classes_range: Bounds = None

    def __str__(self) -> str:
        tasks = _with_range(self.n_tasks, self.tasks_range, "tasks")
        if self.queries is not None:
            tasks += f" of {self.queries:,} queries per class"
        images = _with_range(self.images_per_class, self.images_range, "images per class")
        classes = _with_range(self.n_classes, self.classes_range, "classes")
        return ", ".join(filter(None, (tasks, images, classes)))


def _with_range(size: int | None, ends: Pair | None, name: str) -> str:
    """A size with its range; nothing where there is no size."""
    if size is None:
        return ""
    if ends is None:
        return f"{size:,} {name}"
    low, high = ("∞" if isinf(n) else f"{n:,}" for n in ends)
    return f"{size:,} ({low} to {high}) {name}"


class _Size(NamedTuple):
    """A planned size, with its range."""

    planned: int
    ends: Pair


@dataclass(frozen=True)
class _Goal:
    """A difference that is to be detected with this power, by intervals of this level."""

    difference: float
    power: float
    confidence_level: float

    def size(
        self, variance: _PilotVariance, minimum: int, study_df: Callable[[int], float]
    ) -> _Size:
        """The size with the wanted power, averaged over what the pilot leaves open."""

        def needed(ratio: Floats | float) -> int | None:
            def enough(n: int) -> bool:
                error = np.sqrt(variance.at(n, ratio))
                power = powers(self.difference, error, study_df(n), self.confidence_level).mean()
                return bool(power >= self.power)

            return smallest(enough, minimum)

        df = variance.df
        exact = isinf(df)
        planned = needed(1.0 if exact else stats.chi2.ppf(ASSURANCE_QUANTILES, df) / df)
        if planned is None:
            raise InputError(
                f"difference = {self.difference}; "
                f"more than {MAXIMUM:.2g} tasks, images or classes would be needed"
            )
        if exact:
            return _Size(planned, (planned, planned))
        df = variance.scatter * df
        tails = (
            stats.chi2.ppf([(1 + self.confidence_level) / 2, (1 - self.confidence_level) / 2], df)
            / df
        )
        low, high = (needed(max(tail, np.finfo(float).tiny)) or inf for tail in tails)
        return _Size(planned, (min(low, planned), max(high, planned)))


class _PilotVariance(NamedTuple):
    """A variance (total - shared) (1 + curve/n) / n with n tasks, images or classes.

    Attributes
    ----------
    total, df : float
        As the pilot estimates it, with degrees of freedom.
    shared : float
        What does not fall with n.
    curve : float
        By how much it falls faster than 1/n.
    scatter : float
        Share of the degrees of freedom that count for its range.
    """

    total: float
    df: float
    shared: float = 0.0
    curve: float = 0.0
    scatter: float = 1.0

    def at(self, n: int, ratio: Floats | float) -> Floats:
        """With n, if the estimate is so many times the truth."""
        variance = np.maximum(self.total / ratio - self.shared, 0.0)
        return variance * (1 + self.curve / n) / n


def plan_sample_size(
    pilot: ThreeIntervals | Pilot,
    *,
    difference: float,
    n_classes: int | None = None,
    images_per_class: float | None = None,
    ways: int | None = None,
    shots: int | None = None,
    target_power: float = 0.8,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
) -> Plan:
    """Tasks, images per class or classes needed to tell a difference of two methods, from a pilot
    of that difference.

    From three intervals, which come from closed tasks: the variance of the mean falls as 1/T with
    the tasks. With n images per class its estimate falls about as (1 + c/n)/n with c = 8 + S/2, and
    with C classes as (1 + 4/C)/C: what images, and classes, change together is larger where they
    are few. Both constants are from simulations of nearest class centroids with 1 to 10 shots and 3
    to 10 ways; c was between 6 and 13, and 4 between 2 and 7. In further simulations, of 6 to 40
    images and 4 to 20 classes, 78 to 88 % of the planned studies found the difference where 80 %
    were wanted; planned from 30 images for 64 to 123, 72 to 82 %. In the study of the book
    (``data/coverage``), 76 to 83 % of plans of images and 74 to 84 % of plans of classes did, by
    kind of pilot, with 200 plans each. For new images and classes, enough tasks are taken for
    granted: they cost computing only.

    From `estimate_variance`, which sizes open tasks: T of them with Q queries per class have the variance (α +
    β/(SQ)) / T (OOPS, equation 10, with γ as it follows from the moments), and take T·K(S + Q)
    images (equation 6). T and Q are those that take about the fewest images at which the paired
    open interval, with its T - 1 degrees of freedom, has the wanted power: Q is that of
    `optimal_queries` for many tasks, and less where a handful of tasks would do. For Q, α is that of
    ``Pilot.expected``. A pilot on closed tasks of few images plans too little, as its α leaves out
    what they have in common (`moments`). A pilot of the target 'new images' plans for a mean that takes
    the classes evenly; an interval that does not take them out, as the paired one, tells less.

    A pilot estimates a variance v with few degrees of freedom f. A plan that takes it for the truth
    is too small about as often as too large, which costs more power than it gains. So the size
    planned is the one whose power, averaged over the variances v f/χ²(f) that the pilot leaves
    possible, is the wanted one (its *assurance*; O'Hagan, Stevens and Campbell, 2005): then it is
    the wanted one on average over pilots. The planned study is tested on its own, without the
    pilot: if either of two tests may decide, equal methods are called different in up to 10 % of
    studies at a level of 95 %. What a single pilot leaves open is the range beside each
    size, from the interval of the variance. That of images counts 0.4 of the degrees of freedom:
    few images decide, so that their variance scatters more than that of normal numbers.

    Parameters
    ----------
    pilot : ThreeIntervals or Pilot
        Of the difference of the two methods, from a first test set. Bounds that were given with it
        must leave room to either side of 0.
    difference : float
        The true difference one wants to tell from 0, in the unit of the pilot.
    n_classes : int, optional
        C, classes of the pilot. With a `Pilot` those of the data to collect, K unless given.
    images_per_class : float
        Images per class of three intervals' test set; where classes differ, their harmonic mean. A
        `Pilot` needs none.
    ways, shots : int
        K and S of three intervals' tasks. A `Pilot` knows its own.
    target_power : float
        The wanted power (`power`).
    confidence_level : float
        Of the intervals.

    Raises
    ------
    InputError
        A pilot of one method's answers, whose bounds leave out one side of 0; a difference of 0, or
        one so small that more than 4.6 · 10^18 of something are needed; a ``target_power`` not between 1 -
        level and 1; fewer classes than ways; numbers that are none, missing, out of range, or given
        where a `Pilot` knows them.

    Examples
    --------
    >>> import numpy as np
    >>> from fslcore import stats
    >>> rng = np.random.default_rng(0)
    >>> easy = rng.uniform(0.4, 0.9, (300, 5, 1))
    >>> a, b = (rng.random((300, 5, 15)) < easy + shift for shift in (0.05, 0.0))
    >>> model = stats.estimate_variance(a.astype(int) - b, shots=5)
    >>> print(stats.plan_sample_size(model, difference=0.05, n_classes=20))
    23 (20 to 26) tasks of 13 queries per class, 108 (90 to 126) images per class
    """
    instance("pilot", pilot, (ThreeIntervals, Pilot))
    _check_difference(pilot)
    check_nonzero(difference)
    check_power(target_power, confidence_level)
    goal = _Goal(difference, target_power, confidence_level)
    if isinstance(pilot, Pilot):
        if any(size is not None for size in (images_per_class, ways, shots)):
            raise InputError(
                "images_per_class, ways and shots must be None with a Pilot, which has its own"
            )
        ways = pilot.moments.ways
        return _open_plan(pilot, goal, _classes(ways if n_classes is None else n_classes, ways))
    images = number("images_per_class", images_per_class, over=0)
    ways = whole("ways", ways, minimum=2)
    shots = whole("shots", shots, 1, MAXIMUM - 2)
    return _closed_plan(pilot, goal, images, _classes(n_classes, ways), ways=ways, shots=shots)


def _open_plan(pilot: Pilot, goal: _Goal, n_classes: int) -> Plan:
    """`plan_sample_size` of open tasks, from checked arguments."""
    shots = pilot.model.shots
    queries = _cheapest_queries(pilot, goal)
    weights = np.array([1, 1 / (shots * queries)])
    # The margin of the expected α is for choosing Q; here the degrees of freedom make one.
    total = float(weights @ [max(pilot.model.alpha, 0.0), pilot.model.beta])
    df = max(2 * total**2 / (weights @ pilot.covariance @ weights), 1.0)
    tasks = goal.size(_PilotVariance(total, df), 2, lambda t: t - 1)

    def images(tasks: float) -> float:
        if isinf(tasks):
            return tasks
        return ceil(tasks * pilot.moments.ways / n_classes) * (shots + queries)

    low, high = tasks.ends
    return Plan(
        n_tasks=tasks.planned,
        images_per_class=int(images(tasks.planned)),
        n_classes=None,
        queries=queries,
        tasks_range=tasks.ends,
        images_range=(images(low), images(high)),
    )


def _cheapest_queries(pilot: Pilot, goal: _Goal) -> int:
    """Q at which the goal takes about the fewest images."""
    model = pilot.expected
    best = int(min(max(model.optimum, 1), MANY_QUERIES)) + 1
    candidates = sorted({*np.geomspace(1, best, 24).astype(int).tolist(), best - 1})

    def images(queries: int) -> int:
        variance = _PilotVariance(float(model.variance(queries, 1)), inf)
        return goal.size(variance, 2, lambda t: t - 1).planned * (model.shots + queries)

    return min(candidates, key=images)


def _closed_plan(
    pilot: ThreeIntervals,
    goal: _Goal,
    images_per_class: float,
    n_classes: int,
    *,
    ways: int,
    shots: int,
) -> Plan:
    """`plan_sample_size` of closed tasks, from checked arguments."""
    sampling = pilot.sampling_variance
    n_tasks = pilot.closed.n
    sampling_variance = _PilotVariance(sampling * n_tasks, n_tasks - 1)
    tasks = goal.size(sampling_variance, 2, lambda t: t - 1)

    def variance(interval: Interval, size: float, curve: float, scatter: float) -> _PilotVariance:
        scale = size / (1 + curve / size)
        total = interval.standard_error**2 * scale
        return _PilotVariance(total, interval.df, sampling * scale, curve, scatter)

    images = classes = None
    # Where the part of new images is not known, the classes' interval may replace theirs.
    if isfinite(pilot.image_variance + pilot.images.half_width):
        of_images = variance(pilot.images, images_per_class, OF_IMAGES + shots / 2, IMAGE_DF_FACTOR)
        images = goal.size(of_images, shots + 2, lambda n: n * n_classes - 1)
    if isfinite(pilot.class_variance + pilot.classes.half_width):
        of_classes = variance(pilot.classes, n_classes, OF_CLASSES, 1.0)
        classes = goal.size(of_classes, ways + 1, lambda c: c - 1)
    return Plan(
        n_tasks=tasks.planned,
        images_per_class=images and images.planned,
        n_classes=classes and classes.planned,
        tasks_range=tasks.ends,
        images_range=images and images.ends,
        classes_range=classes and classes.ends,
    )


def _check_difference(pilot: ThreeIntervals | Pilot) -> None:
    """Raise `InputError` for a pilot of one method."""
    if isinstance(pilot, Pilot):
        bounds = pilot.bounds
        is_of_one_method = bounds is not None and not are_of_difference(bounds)
    else:
        bounds = pilot.closed.bounds
        is_of_one_method = pilot.closed.is_difference is False
    if is_of_one_method:
        values = f"values from {bounds[0]:g} to {bounds[1]:g}" if bounds else "values"
        raise InputError(
            "pilot must be of a difference, 1.0 * right_of_first - right_of_second with "
            f"bounds=(-1, 1), got {values} of one method"
        )


def _classes(n_classes: int | None, ways: int) -> int:
    classes = whole("n_classes", n_classes, 1, MAXIMUM)
    if classes < ways:
        raise InputError(f"n_classes must be at least ways = {ways}, got {n_classes}")
    return classes
