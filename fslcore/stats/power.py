"""How much data a comparison needs: from the variances of a pilot to tasks, images and classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from ..errors import InputError, instance, number, shown, whole
from .intervals import LEVEL, Floats, Interval
from .pilot import Pilot
from .three_intervals import ThreeIntervals

__all__ = ["Plan", "detectable", "plan", "power", "smallest"]

MIDDLES = (np.arange(25) + 0.5) / 25  # of equal parts of the chances, to average over
PEAKED = 0.4  # of an image variance's degrees of freedom: few images decide, so that it scatters more than they say
MOST = 2**62  # what is asked for is not looked for beyond
OF_IMAGES, OF_CLASSES = 8.0, 4.0  # by how much a variance falls faster than its size grows, see `plan`
MANY_QUERIES = 10_000  # a class and task; where more would be better still, they are not worth much


def power(difference: float, standard_error: float, df: float = np.inf, level: float = LEVEL) -> float:
    """Chance that an interval of a difference leaves 0 out, where the true difference is this one.

    Parameters
    ----------
    difference, standard_error : float
        True difference, and standard deviation of the estimate, in one unit.
    df : float
        Degrees of freedom of the Student quantile; infinite for a normal one.
    level : float
        Of the interval.

    Raises
    ------
    InputError
        A difference that is no finite number, a standard error that is not over 0, a level outside (0, 1), fewer
        than 1 degrees of freedom.

    Examples
    --------
    >>> round(power(1.0, 0.5), 3)
    0.516
    """
    number("difference", difference), number("standard_error", standard_error, above=0)
    number("level", level, above=0, below=1), number("df", df, least=1, infinite=True)
    return float(powers(difference, standard_error, df, level)[0])


def powers(difference: ArrayLike, standard_error: ArrayLike, df: ArrayLike, level: float) -> Floats:
    """`power` of checked arguments, element by element, since plans and reports ask it many times; (n,) at least."""
    with np.errstate(divide="ignore", over="ignore"):
        shift = np.minimum(np.atleast_1d(np.abs(difference) / np.asarray(standard_error, float)), 1e150)
    if np.isinf(df).all():
        limit = stats.norm.ppf((1 + level) / 2)
        return np.asarray(stats.norm.sf(limit - shift) + stats.norm.sf(limit + shift))
    limit = stats.t.ppf((1 + level) / 2, df)
    upper, lower = stats.nct.sf(limit, df, shift), 0.0
    if shift.min() < 10:
        lower = stats.nct.cdf(-limit, df, shift)
    lost = np.isnan(upper)  # as SciPy gives for huge shifts, beside which only the estimated error varies
    if lost.any():
        upper = np.where(lost, stats.chi2.cdf(df * (shift / limit) ** 2, df), upper)
    # SciPy gives NaN for some lower tails that are too small to matter.
    return np.asarray(upper + np.nan_to_num(lower))


def detectable(standard_error: float, df: float = np.inf, *, power: float = 0.8, level: float = LEVEL) -> float:
    """The true difference that an interval with this standard error tells from 0 with this power.

    Raises
    ------
    InputError
        As for `power`; a power not between 1 - level and 1.

    Examples
    --------
    >>> round(detectable(0.5), 2)
    1.4
    """
    number("standard_error", standard_error, above=0), number("df", df, least=1, infinite=True)
    check_power(power, level)
    # Every shift beyond both quantiles has the power.
    limit = stats.t.ppf((1 + level) / 2, df) + stats.t.ppf(power, df)
    root = optimize.brentq(lambda x: powers(x, 1.0, df, level)[0] - power, 1e-6, 2 * limit + 10)
    return float(root * standard_error)


def smallest(enough: Callable[[int], bool], least: int, most: int | None = None) -> int | None:
    """The smallest whole number that is enough, where every larger one is too.

    Parameters
    ----------
    enough : callable
        Takes a whole number, gives whether it is enough.
    least, most : int
        The range to look in, from 1 on, up to 2^62 (about 4.6 · 10^18) by default.

    Returns
    -------
    int or None
        None where none is enough.

    Raises
    ------
    InputError
        ``enough`` cannot be called, a range that is empty or goes beyond these bounds.
    """
    if not callable(enough):
        raise InputError(f"enough = {shown(enough)}; a function of a whole number is allowed")
    least = whole("least", least, 1, MOST)
    most = MOST if most is None else whole("most", most, least, MOST)
    return int(smallest_each(lambda _, n: np.array([enough(int(n[0]))]), 1, least, most)[0]) or None


def smallest_each(enough: Callable[..., NDArray[np.bool_]], count: int, least: int, most: int) -> NDArray[np.int64]:
    """`smallest` in each of many cases, which are asked together; 0 where none is enough.

    ``enough`` takes the numbers of some of the cases, from 0 to ``count`` - 1, with a whole number for each.
    """
    low, high = np.full((2, count), least, np.int64)
    less = ~enough(np.arange(count), high)
    while (at := np.flatnonzero(less & (high < most))).size:
        low[at], high[at] = high[at], np.minimum(2 * high[at], most)
        less[at] = ~enough(at, high[at])
    while (at := np.flatnonzero((low < high) & ~less)).size:
        middle = (low[at] + high[at]) // 2
        yes = enough(at, middle)
        high[at[yes]], low[at[~yes]] = middle[yes], middle[~yes] + 1
    return np.where(less, 0, high)


def check_power(power: float, level: float) -> None:
    number("power", power, above=1 - number("level", level, above=0, below=1), below=1)


@dataclass(frozen=True)
class Plan:
    """What it takes to tell a difference with the wanted power; see `plan`.

    Each size has a range beside it: an interval, at the level of the plan, for the size that would be planned if the
    variance were known. Its upper end is infinite where there is no bound.

    Attributes
    ----------
    n_tasks : int
        From three intervals: closed tasks, for the difference on these very images. From a pilot of open tasks: the
        open tasks, for the difference on new images.
    images_per_class : int or None
        For the difference on new images of these classes; None where the pilot tells nothing of them alone. Open tasks
        take so many if they take all classes equally often; where they draw them at random, a few images are left over.
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
    tasks_range: tuple[float, float] | None = None
    images_range: tuple[float, float] | None = None
    classes_range: tuple[float, float] | None = None

    def __str__(self) -> str:
        parts = [
            f"{size:,}{_between(between)} {name}"
            for size, between, name in (
                (self.n_tasks, self.tasks_range, "tasks"),
                (self.images_per_class, self.images_range, "images per class"),
                (self.n_classes, self.classes_range, "classes"),
            )
            if size is not None
        ]
        if self.queries is not None:
            parts[0] += f" of {self.queries:,} queries per class"
        return ", ".join(parts)


@dataclass(frozen=True)
class _Goal:
    """A difference that is to be told with this power, by intervals of this level."""

    difference: float
    power: float
    level: float

    def size(
        self,
        total: float,
        df: float,
        least: int,
        of_study: Callable[[int], float],
        *,
        less: float = 0.0,
        scatter: float = 1.0,
        curve: float = 0.0,
    ) -> tuple[int, tuple[float, float]]:
        """Where a variance of (total - less)(1 + curve/size)/size lets the difference be told, and its range."""

        def needed(ratio: Floats | float) -> int | None:
            variance = np.maximum(total / ratio - less, 0.0)

            def enough(n: int) -> bool:
                error = np.sqrt(variance * (1 + curve / n) / n)
                return bool(powers(self.difference, error, of_study(n), self.level).mean() >= self.power)

            return smallest(enough, least)

        sure, counted = math.isinf(df), scatter * df
        found = needed(1.0 if sure else stats.chi2.ppf(MIDDLES, df) / df)
        if found is None:
            raise InputError(
                f"difference = {self.difference}; more than {MOST:.2g} tasks, images or classes would be needed"
            )
        if sure:
            return found, (found, found)
        ends = stats.chi2.ppf([(1 + self.level) / 2, (1 - self.level) / 2], counted) / counted
        low, high = (needed(max(end, np.finfo(float).tiny)) or math.inf for end in ends)
        return found, (min(low, found), max(high, found))


def _between(between: tuple[float, float] | None) -> str:
    if between is None:
        return ""
    low, high = ("∞" if math.isinf(n) else f"{n:,}" for n in between)
    return f" ({low} to {high})"


def plan(
    pilot: ThreeIntervals | Pilot,
    *,
    difference: float,
    n_classes: int | None = None,
    images_per_class: float | None = None,
    ways: int | None = None,
    shots: int | None = None,
    power: float = 0.8,
    level: float = LEVEL,
) -> Plan:
    """Tasks, images per class or classes needed to tell a difference of two methods, from a pilot of that difference.

    From three intervals, which come from closed tasks: the variance of the mean falls as 1/T with the tasks. With n
    images per class its estimate falls about as (1 + c/n)/n with c = 8 + S/2, and with C classes as (1 + 4/C)/C: what
    images, and classes, change together is larger where they are few. Both constants are from simulations of nearest
    class centroids with 1 to 10 shots and 3 to 10 ways; c was between 6 and 13, and 4 between 2 and 7. In other such
    simulations, of 6 to 40 images and 4 to 20 classes, 78 to 88 % of the planned studies found the difference where 80
    % were wanted; planned from 30 images for 64 to 123, 72 to 82 %. In the study of the book (``data/coverage``), 76 to
    83 % of plans of images and 74 to 84 % of plans of classes did, by kind of pilot, with 200 plans each. For new
    images and classes, enough tasks are taken for granted: they cost computing only.

    From `pilot`, which sizes open tasks: T of them with Q queries per class have the variance (α + β/(SQ)) / T (OOPS,
    equation 10, with γ as it follows from the moments), and take T·K(S + Q) images (equation 6). T and Q are those
    that take about the fewest images at which the paired open interval, with its T - 1 degrees of freedom, has the
    wanted power: Q is that of `best_queries` for many tasks, and less where a handful of tasks would do. For
    Q, α is that of ``Pilot.expected``. A pilot on closed tasks of few images plans too little, as its α leaves out
    what they have in common (`moments`). A pilot of the target 'images' plans for a mean that takes the classes
    evenly; an interval that does not take them out, as the paired one, tells less.

    A pilot estimates a variance v with few degrees of freedom f, and who takes it for the truth plans too little about
    as often as too much, which costs more power than it gains. So the size planned is the one whose power, averaged
    over the variances v f/χ²(f) that the pilot leaves possible, is the wanted one (its *assurance*; O'Hagan, Stevens
    and Campbell, 2005): then it is the wanted one on average over pilots. What a single pilot leaves open is the
    range beside each size, from the interval of the variance. That of images counts 0.4 of the degrees of freedom:
    few images decide, so that their variance scatters more than that of normal numbers.

    Parameters
    ----------
    pilot : ThreeIntervals or Pilot
        Of the difference of the two methods, from a first test set. Bounds that were given with it must leave room to
        either side of 0.
    difference : float
        The true difference one wants to tell from 0, in the unit of the pilot.
    n_classes : int, optional
        C, classes of the pilot. With a `Pilot` those of the data to collect, K unless given.
    images_per_class : float
        Images per class of three intervals' test set; where classes differ, their harmonic mean. A `Pilot` needs none.
    ways, shots : int
        K and S of three intervals' tasks. A `Pilot` knows its own.
    power : float
        The wanted one (`power`).
    level : float
        Of the intervals.

    Raises
    ------
    InputError
        A pilot of one method's answers, whose bounds leave out one side of 0; a difference of 0, or one so small that
        more than 4.6 · 10^18 of something are needed; a power not between 1 - level and 1; fewer classes than ways;
        numbers that are none, missing, out of range, or given where a `Pilot` knows them.

    Examples
    --------
    >>> import numpy as np
    >>> from fslcore import stats
    >>> rng = np.random.default_rng(0)
    >>> easy = rng.uniform(0.4, 0.9, (300, 5, 1))
    >>> a, b = (rng.random((300, 5, 15)) < easy + shift for shift in (0.05, 0.0))
    >>> print(stats.plan(stats.pilot(a.astype(int) - b, shots=5), difference=0.05, n_classes=20))
    23 (20 to 26) tasks of 13 queries per class, 108 (90 to 126) images per class
    """
    instance("pilot", pilot, (ThreeIntervals, Pilot))
    _check_difference(pilot)
    if not abs(number("difference", difference)) > 0:
        raise InputError(f"difference = {difference}; a number other than 0 is allowed")
    check_power(power, level)
    goal = _Goal(difference, power, level)
    if isinstance(pilot, Pilot):
        for name, value in {"images_per_class": images_per_class, "ways": ways, "shots": shots}.items():
            if value is not None:
                raise InputError(f"{name} = {shown(value)}; with a Pilot, which needs none but its own, it is left out")
        ways = pilot.moments.ways
        return _of_open(pilot, goal, _classes(ways if n_classes is None else n_classes, ways))
    images = number("images_per_class", images_per_class, above=0)
    ways, shots = whole("ways", ways, least=2), whole("shots", shots, 1, MOST - 2)
    return _of_closed(pilot, goal, images, _classes(n_classes, ways), ways=ways, shots=shots)


def _check_difference(pilot: ThreeIntervals | Pilot) -> None:
    """Raise `InputError` where the bounds of a pilot's values exclude one side of 0."""
    name, bounds = ("pilot", pilot.bounds) if isinstance(pilot, Pilot) else ("three_intervals", pilot.closed.bounds)
    if bounds is not None and not bounds[0] < 0 < bounds[1]:
        raise InputError(
            f"pilot: its values lie between {bounds[0]:g} and {bounds[1]:g}, as those of one method; a pilot of a "
            f"difference is needed, {name}(1.0 * right_a - right_b, …, bounds=(-1, 1))"
        )


def _classes(n_classes: int | None, ways: int) -> int:
    classes = whole("n_classes", n_classes, 1, MOST)
    if classes < ways:
        raise InputError(f"n_classes = {n_classes}; at least as many as ways = {ways} are needed")
    return classes


def _of_open(pilot: Pilot, goal: _Goal, n_classes: int) -> Plan:
    """`plan` of open tasks, from checked arguments."""
    model, ways, shots = pilot.expected, pilot.moments.ways, pilot.model.shots
    best = int(min(max(model.optimum, 1), MANY_QUERIES)) + 1
    sizes = {
        q: goal.size(float(model.variance(q, 1)), math.inf, 2, lambda t: t - 1)[0]
        for q in sorted({*np.geomspace(1, best, 24).astype(int).tolist(), best - 1})
    }
    queries = min(sizes, key=lambda q: sizes[q] * (shots + q))
    weights = np.array([1, 1 / (shots * queries)])
    # The margin of the expected α is for choosing Q; here the degrees of freedom make one.
    total = float(weights @ [max(pilot.model.alpha, 0.0), model.beta])
    df = 2 * total**2 / (weights @ pilot.covariance @ weights)
    tasks, between = goal.size(total, max(df, 1.0), 2, lambda t: t - 1)

    def images(tasks: float) -> float:
        return tasks if math.isinf(tasks) else math.ceil(tasks * ways / n_classes) * (shots + queries)

    low, high = map(images, between)
    return Plan(tasks, int(images(tasks)), None, queries, between, (low, high))


def _of_closed(
    pilot: ThreeIntervals, goal: _Goal, images_per_class: float, n_classes: int, *, ways: int, shots: int
) -> Plan:
    """`plan` of closed tasks, from checked arguments."""
    sampling = pilot.sampling_variance
    tasks, of_tasks = goal.size(sampling * pilot.closed.n_tasks, pilot.closed.n_tasks - 1, 2, lambda t: t - 1)

    def of_units(
        found: Interval, of_study: Callable[[int], float], *, at: float, least: int, curve: float, scatter: float = 1.0
    ) -> tuple[int, tuple[float, float]]:
        at_pilot = at / (1 + curve / at)
        total, less = found.standard_error**2 * at_pilot, sampling * at_pilot
        return goal.size(total, found.df, least, of_study, less=less, scatter=scatter, curve=curve)

    images = of_images = classes = of_classes = None
    # Where it is not known what new images change, the classes' interval may stand in for that of the images.
    if math.isfinite(pilot.image_variance + pilot.images.half_width):
        curve = OF_IMAGES + shots / 2
        images, of_images = of_units(
            pilot.images, lambda n: n * n_classes - 1, at=images_per_class, least=shots + 2, curve=curve, scatter=PEAKED
        )
    if math.isfinite(pilot.class_variance + pilot.classes.half_width):
        classes, of_classes = of_units(pilot.classes, lambda c: c - 1, at=n_classes, least=ways + 1, curve=OF_CLASSES)
    return Plan(tasks, images, classes, None, of_tasks, of_images, of_classes)
