"""Confidence intervals of a mean accuracy over tasks, and of a difference of two.

The three differ in what they treat as random, which the sampling of the tasks decides; the
arithmetic is that of a mean of T numbers. Equation numbers are those of OOPS
(Lafargue et al., 2024).

Numbers that differ by less than they were rounded by are equal (`paired_differences`). Where all T are equal, Student's
interval has a half-width of 0 and would be certain after two tasks. What T equal values tell of a mean then depends on
how far other values may lie, that is on the bounds (`chance_of_equal`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from ..errors import InputError, detached, floats, number, shown, whole

__all__ = [
    "LEVEL",
    "Ends",
    "Interval",
    "closed_interval",
    "independent_interval",
    "limits",
    "open_interval",
    "paired_differences",
    "paired_interval",
    "per_task",
    "plus_minus",
]

Floats = NDArray[np.float64]
Bounds = tuple[float, float] | None  # least and largest possible value, where they are known
LEVEL = 0.95  # nominal coverage where none is asked for
ULPS = 4  # an accuracy is a sum and a quotient: its last digits may be off by a few
MANY_TASKS = 100  # from which a closed interval has a normal quantile, as in the paper
NEAR = 0.1  # of the bounds' span: means closer to a bound are those that rare hard, or easy, classes would change
FEW = 1  # independent errors; with no more, limits near a bound hold, but say little
SLACK = 1e-9  # relative: one task that errs, among any number without an error, is just that one
TINY = 2.0**-1074  # the smallest number
ROUNDED = 1e-9  # share of the bounds' span by which rounding may move a mean off a bound


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval, in the unit of the input.

    Attributes
    ----------
    mean, half_width : float
        Student's interval is mean ± half_width. Verdicts on differences are of it.
    level : float
        Nominal coverage, 0.95 say.
    n_tasks : int
        T, the number of tasks behind it.
    kind : str
        'closed', 'open', 'paired', 'independent', 'weighted' or 'regression'; of `fslcore.stats.three_intervals` also
        'images' and 'classes'; of `fslcore.stats.crossed_intervals` 'items', 'supports' and 'both'.
    df : float
        Degrees of freedom of the Student quantile in it; infinite for a normal one.
    units : int or None
        Independent tasks, images, classes, items, supports or runs behind it; None where they are the tasks. They
        decide what is concluded where nothing varies and the half-width is 0.
    bounds : (float, float) or None
        Between which every value must lie: (0, 100) for an accuracy in percent, (-100, 100) for a difference of two.
        None where they are not known.
    classes : int or None
        Independent classes, or groups of classes, behind an interval for new classes, if it is known.
    low, high : float
        Ends of the interval. Without bounds, and with bounds to either side of 0, mean ± half_width, cut at the bounds.
        With other bounds ``limits(mean, half_width, bounds, df, level)``; with C ``classes`` and a mean close to a
        bound, the interval also holds the mean of C + 1 classes of which one is at the other bound. Where nothing
        varies, see Notes.
    few_errors : bool
        Whether the mean is no more than one standard error off a bound, as if it rested on one independent error at
        most: then the limits are rough, and too wide rather than too narrow.

    Notes
    -----
    Where all n units gave the same value v, up to a share q = 1 - (α/2)^(1/n) of all units may give another one, with
    α = 1 - level: were it more, n equal values would have a chance below α/2. If that share is at a bound b, the mean
    is v + q (b - v). So the interval is v - q (v - low bound) to v + q (high bound - v), which is Clopper and Pearson's
    (1934) where v is itself a bound. ``p_value`` and ``conclusion`` are those of the same test. Without bounds a rare
    value may be anywhere: the interval is infinite and nothing is concluded. For new classes of which all answers are
    right (or wrong), n is the number of tasks, and the classes extend the interval as follows.

    C classes that are almost free of errors do not exclude that some classes are hard: their variance does not show a
    class that is not among them. So on a bound the interval is extended by 1 / (C + 1) of the way to the other bound;
    the extension falls linearly to 0 at a tenth of the way, where errors are common enough to show how they vary. If a
    share of the classes, whatever it is, has an accuracy of 60 % and the others of nearly 100 %, some 92 % of the
    intervals or more hold the mean of all classes at a level of 95 %. If the hard classes have an accuracy of 0, it may
    be 63 %: to exclude them takes an extension of about 3.7 / C, Clopper and Pearson's, which is wide for few classes.
    """

    mean: float
    half_width: float
    level: float
    n_tasks: int
    kind: str
    df: float = np.inf
    units: int | None = None
    bounds: Bounds = None
    classes: int | None = None
    low: float = field(init=False)
    high: float = field(init=False)
    few_errors: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        if (bounds := checked_bounds(self.bounds)) is not None:
            object.__setattr__(self, "mean", _mean_within(self.mean, bounds))
        low, high = self._ends()
        for name, value in (("low", low), ("high", high), ("few_errors", self._few_errors())):
            object.__setattr__(self, name, value)

    def _ends(self) -> tuple[float, float]:
        """Both ends of the interval."""
        low, high = self.mean - self.half_width, self.mean + self.half_width
        if math.isnan(low):
            return low, high
        if self.half_width == 0:
            return self._ends_of_equal_values()
        if self.bounds is None:
            return low, high
        if self._two_signs:  # mean ± half_width decides about 0, and the ends agree with it
            return max(low, self.bounds[0]), min(high, self.bounds[1])
        df = np.inf if math.isnan(self.df) else self.df
        low, high = map(float, limits(self.mean, self.half_width, self.bounds, df, self.level))
        return self._with_another_class(low, high)

    def _ends_of_equal_values(self) -> tuple[float, float]:
        """Both ends where nothing varies (see Notes of the class)."""
        if self.bounds is None:
            return -math.inf, math.inf
        first, last = self.bounds
        on_bound = self.mean in self.bounds and not self._two_signs
        units = self.n_tasks if on_bound and self.classes is not None else self.equal_units
        share = 1 - ((1 - self.level) / 2) ** (1 / units)
        low, high = self.mean - share * (self.mean - first), self.mean + share * (last - self.mean)
        return self._with_another_class(low, high)

    def _with_another_class(self, low: float, high: float) -> tuple[float, float]:
        """The ends extended to the mean of one more class at the farther bound, for a mean near the other one."""
        if self.bounds is None or self.classes is None or math.isinf(self.half_width) or self._two_signs:
            return low, high
        first, last = self.bounds
        room = min(self.mean - first, last - self.mean)
        share = max(0.0, 1 - room / (last - first) / NEAR) / (self.classes + 1)
        if self.mean - first > room:
            return min(low, self.mean - share * (self.mean - first)), high
        return low, max(high, self.mean + share * (last - self.mean))

    def _few_errors(self) -> bool:
        """Whether the mean is no more than one standard error off a bound."""
        if self.bounds is None or self._two_signs or not math.isfinite(self.mean + self.half_width):
            return False
        room = min(self.mean - self.bounds[0], self.bounds[1] - self.mean)
        return room**2 <= FEW * self.standard_error**2 * (1 + SLACK)

    @property
    def _two_signs(self) -> bool:
        """Whether the mean may lie on either side of 0, as that of a difference."""
        return self.bounds is not None and self.bounds[0] < 0 < self.bounds[1]

    @property
    def equal_units(self) -> int:
        """How many independent values are equal where nothing varies: ``units``, by default the tasks."""
        return max(self.n_tasks if self.units is None else self.units, 1)

    @property
    def standard_error(self) -> float:
        """Estimated standard deviation of the mean."""
        return self.half_width / float(stats.t.ppf((1 + self.level) / 2, self.df))

    @property
    def conclusion(self) -> int:
        """+1 if the whole interval lies above 0, -1 if below, 0 if it holds 0.

        For a paired interval this is the verdict on which method is better. Where nothing varies it is that of
        ``p_value``, and always 0 without bounds.
        """
        if self.half_width == 0:
            return int(np.sign(self.mean)) if self.p_value < 1 - self.level else 0
        return int(self.mean > self.half_width) - int(self.mean < -self.half_width)

    @property
    def p_value(self) -> float:
        """Two-sided p-value of the hypothesis that the mean is 0, for a paired interval.

        It is below 1 - level exactly where ``conclusion`` is not 0, and equals the p-value of the
        paired t-test (``scipy.stats.ttest_rel``). Where nothing varies, that test has no value. Then it is twice the
        largest chance of values all equal to this mean m if the true mean is 0: ``2 (b / (b + |m|))^n`` for n units and
        bounds -b and b; without bounds 1. It is 1 where the half-width is infinite.
        """
        if self.half_width == 0:
            return min(2 * self.chance_of_equal_values(0.0), 1.0)
        if math.isinf(self.half_width):
            return 1.0
        return float(2 * stats.t.sf(abs(self.mean) / self.standard_error, self.df))

    def chance_of_equal_values(self, true_mean: float) -> float:
        """Largest chance that all units are equal, as they are where nothing varies, with this ``true_mean``.

        A one-sided p-value; 1 without bounds (`chance_of_equal`).
        """
        if self.bounds is None:
            return 1.0
        return float(chance_of_equal(self.mean, true_mean, self.bounds, self.equal_units))

    def meets(self, other: Interval) -> bool:
        """Whether the two intervals have a point in common."""
        return self.low <= other.high and other.low <= self.high

    def around(self, spec: str = "") -> str:
        """'± half-width', or 'low to high' where an end is off from mean ± half-width by over a tenth of the latter.

        Parameters
        ----------
        spec : str
            As for `plus_minus`.

        Returns
        -------
        str
            '' where the half-width is NaN.
        """
        spec = spec or self._decimals()
        if math.isinf(self.high - self.low):
            return "± ∞"
        off = max(abs(self.mean - self.half_width - self.low), abs(self.mean + self.half_width - self.high))
        if math.isinf(self.half_width) or not off > self.half_width / 10:
            return str(plus_minus(0.0, self.half_width, spec)).partition(" ")[2]
        low, high = (format(end, spec.lstrip("+ ")) for end in (self.low, self.high))
        return f"{low} to {high}"

    def _decimals(self) -> str:
        """Format that shows two digits of the half-width; where it is 0, of half of the interval's length."""
        return f".{decimals(self.half_width or (self.high - self.low) / 2)}f"

    def __format__(self, spec: str) -> str:
        spec = spec or self._decimals()
        mean, around = str(plus_minus(self.mean, self.half_width, spec)).partition(" ±")[0], self.around(spec)
        if not around or math.isnan(self.mean):
            return mean
        if not around.startswith("±"):
            return f"{mean} ({around}, few errors)" if self.few_errors else f"{mean} ({around})"
        return f"{mean} {around} (few errors)" if self.few_errors else f"{mean} {around}"

    def __str__(self) -> str:
        return format(self)


@dataclass(frozen=True)
class Ends:
    """An interval whose ends need not lie equally far from the mean, in the unit of the input."""

    mean: float
    low: float
    high: float
    level: float
    n_tasks: int

    @property
    def half_width(self) -> float:
        """Half of the interval's length."""
        return (self.high - self.low) / 2

    @property
    def conclusion(self) -> int:
        """+1 if the whole interval lies above 0, -1 if below, else 0: the verdict on a difference."""
        return int(self.low > 0) - int(self.high < 0)

    def __str__(self) -> str:
        digits = decimals(self.half_width)
        return f"{self.mean:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"


def limits(
    mean: ArrayLike,
    half_width: ArrayLike,
    bounds: Bounds = None,
    df: ArrayLike = np.inf,
    level: float = LEVEL,
) -> tuple[Floats, Floats]:
    """Ends of intervals of means that lie between two bounds, as an accuracy between 0 and 100 %.

    Student's interval of the logit of the mean, its standard error by the delta method, transformed back, as is done
    for rare events in surveys (Korn and Graubard, 1998): it stays inside the bounds, and reaches further to the side
    where there is room. Far from both bounds it is mean ± half-width.

    Parameters
    ----------
    mean, half_width : array_like
        Numbers, or arrays that broadcast: Student's interval is mean ± half_width.
    bounds : (float, float), optional
        Least and largest possible mean. Without them mean ± half_width is returned.
    df : array_like
        Degrees of freedom of the Student quantile in the half-widths; infinite where they are not known.
    level : float
        Nominal coverage of the half-widths.

    Returns
    -------
    low, high : arrays
        Of a mean on a bound: that mean twice if the half-width is 0, else the bounds.

    Raises
    ------
    InputError
        What are no numbers, NaN, shapes that do not broadcast, a negative half-width, bounds that are no two numbers in
        their order, a mean outside them, degrees of freedom that are not positive, a level outside (0, 1).

    Notes
    -----
    Where a mean is d standard errors off its nearer bound, it rests on about e = d² independent errors, as if these
    were rare events of equal size, and its variance is known no better than from so few. As the limit of a Poisson mean
    (Garwood, 1936), it is given 2 (e + 1) degrees of freedom: 1 / (1 / df + 1 / (2 e + 2)) are left.

    Examples
    --------
    >>> [round(float(x), 2) for x in limits(99.7, 0.4, (0, 100))]
    [98.46, 99.94]
    >>> [round(float(x), 2) for x in limits(70.0, 0.4, (0, 100))]
    [69.6, 70.4]
    """
    mean, half, df = _together(mean=floats("mean", mean, None, extreme=True), half_width=half_width, df=df)
    for name, values in (("half_width", half), ("df", df)):
        if np.isnan(values).any():
            raise InputError(f"{name}: {int(np.isnan(values).sum())} values are NaN")
    level = number("level", level, above=0, below=1)
    if (half < 0).any() or (df <= 0).any():
        what, least = ("half_width", half.min()) if (half < 0).any() else ("df", df.min())
        raise InputError(f"{what} goes down to {least:g}; {'0 or more' if what != 'df' else 'more than 0'} is allowed")
    if (pair := checked_bounds(bounds)) is None:
        return mean - half, mean + half
    lower, upper = pair
    span = upper - lower
    share, half_share = (mean - lower) / span, half / span
    if (far := np.maximum(-share, share - 1) > ROUNDED).any():
        raise InputError(f"mean = {mean[far].flat[0]:g}; {lower:g} to {upper:g} is allowed")
    share = share.clip(0, 1)

    def quantile(df: Floats) -> Floats:
        return np.asarray(stats.t.ppf((1 + level) / 2, df))

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        errors = (np.minimum(share, 1 - share) / half_share * quantile(df)) ** 2
        more = quantile(np.fmax(1 / (1 / df + 1 / (2 * errors + 2)), 1)) / quantile(df)
        centre, width = special.logit(share), np.fmax(more, 1) * half_share / (share * (1 - share))
        ends = [np.where(np.isinf(width), side * np.inf, centre + side * width) for side in (-1, 1)]
    low, high = (np.where(half == 0, mean, lower + span * special.expit(end)) for end in ends)
    return np.minimum(low, mean), np.maximum(high, mean)


def chance_of_equal(mean: ArrayLike, true_mean: ArrayLike, bounds: tuple[float, float], units: ArrayLike) -> Floats:
    """Largest chance that independent values between two bounds are all equal to a number, given their true mean.

    Parameters
    ----------
    mean, true_mean : array_like
        The number, v, and the true mean, m; they broadcast.
    bounds : (float, float)
        Between which all values lie.
    units : array_like of int
        How many values there are, n.

    Returns
    -------
    array
        (1 - p)^n: a share p of all values that are not v moves their mean from v at most to v + p (b - v), with b the
        bound on the side of m. So it is at least p = (m - v) / (b - v). 1 if m = v, and 0 if m is beyond that bound.

    Notes
    -----
    It is a p-value of the hypothesis that the true mean is m, or farther from v, whatever the distribution, and
    although several numbers could have come out n times. Of all numbers above m for which it is α or less, let w be the
    lowest, and P the share of values that are one of them. With the lower bound b, m - b ≥ P (w - b), so that
    P ≤ (m - b) / (w - b) = 1 - p ≤ α^(1/n), and one of them comes out n times with a chance of at most P^n ≤ α.

    Examples
    --------
    >>> chance_of_equal([0.5, 20.0], 0.0, (-100, 100), 6).round(3)
    array([0.971, 0.335])
    """
    v, m, n = _together(mean=mean, true_mean=true_mean, units=units)
    end = np.where(m > v, bounds[1], bounds[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(m == v, 0.0, (m - v) / (end - v))
    return np.asarray((1 - share.clip(0, 1)) ** n)


def _mean_within(mean: float, bounds: tuple[float, float], name: str = "mean") -> float:
    """The mean, or the bound that it differs from by rounding alone."""
    for bound in bounds:
        if abs(mean - bound) <= ROUNDED * (bounds[1] - bounds[0]):
            return float(bound)
    if mean < bounds[0] or mean > bounds[1]:
        raise InputError(f"{name} = {mean:g}; {bounds[0]:g} to {bounds[1]:g} is allowed")
    return mean


def declared_bounds(values: ArrayLike, bounds: Bounds) -> Bounds:
    """The bounds given, checked; (0, 1) for True and False; else None, as numbers do not tell their bounds."""
    if bounds is None and np.asarray(detached(values)).dtype == bool:
        return 0.0, 1.0
    return checked_bounds(bounds)


def bounds_of_difference(a: ArrayLike, b: ArrayLike, bounds: Bounds) -> Bounds:
    """The bounds given, checked; (-1, 1) for a difference of True and False; else None."""
    if bounds is None and declared_bounds(a, None) and declared_bounds(b, None):
        return -1.0, 1.0
    return checked_bounds(bounds)


def checked_bounds(bounds: Bounds) -> Bounds:
    """Two finite numbers, the lower first; or None."""
    if bounds is None:
        return None
    pair = floats("bounds", bounds, None)
    if pair.shape != (2,) or pair[0] >= pair[1]:
        raise InputError(
            f"bounds = {shown(bounds)}; None or two numbers, the lower first, such as (0, 100), are allowed"
        )
    return float(pair[0]), float(pair[1])


def _together(**values: ArrayLike) -> list[Floats]:
    """Arrays of numbers, broadcast against each other."""
    found = {name: floats(name, value, None, finite=False) for name, value in values.items()}
    try:
        return list(np.broadcast_arrays(*found.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in found.items())
        raise InputError(f"shapes: {shapes}; shapes that broadcast are needed") from None


def plus_minus(mean: ArrayLike, half_width: ArrayLike, spec: str = "") -> str | np.ndarray:
    """'mean ± half-width' as text; of an `Interval`, ``f"{r}"`` and ``f"{r:.1f}"`` give the same.

    Parameters
    ----------
    mean, half_width : array_like
        Numbers, or arrays that broadcast.
    spec : str
        Python's format of a number, for both: '.1f', or '+.1f' for a mean with its sign. Without it two decimals, or
        as many more as show two digits of the half-width.

    Returns
    -------
    str, or array of str
        '—' where the mean is NaN, the mean alone where the half-width is.

    Raises
    ------
    InputError
        What are no numbers, shapes that do not broadcast, a format that numbers do not have.

    Examples
    --------
    >>> plus_minus(80.123, 0.314), plus_minus(0.80123, 0.00314), plus_minus(-1.25, 0.5, "+.1f")
    ('80.12 ± 0.31', '0.8012 ± 0.0031', '-1.2 ± 0.5')
    """
    try:
        format(0.0, spec)
    except (TypeError, ValueError) as e:
        raise InputError(f"spec = {shown(spec)}: {e}; a format of numbers is needed") from None
    mean, half = _together(mean=mean, half_width=half_width)
    cells = np.vectorize(lambda m, h: _cell(m, h, spec or f".{decimals(h)}f"), otypes=[object])(mean, half)
    return cells if cells.ndim else str(cells[()])


def _cell(mean: float, half: float, spec: str) -> str:
    if math.isnan(mean):
        return "—"
    wide = "" if math.isnan(half) else " ± ∞" if math.isinf(half) else f" ± {half:{spec.lstrip('+ ')}}"
    return format(mean, spec) + wide


def decimals(half: float) -> int:
    """How many show two digits of a half-width: two at least, and not without end where it comes from rounding."""
    return min(max(2, 1 - math.floor(math.log10(half))), 9) if 0 < half < math.inf else 2


def together(found: dict[str, Interval]) -> str:
    """Intervals of one mean, by what is new in each: the mean once, and all with the digits of the narrowest."""
    spec = f".{max(decimals(r.half_width) for r in found.values())}f"
    cells = (f"{r.around(spec)} ({what}{', few errors' if r.few_errors else ''})" for what, r in found.items())
    return f"{next(iter(found.values())).mean:{spec}} {', '.join(cells)}"


def closed_interval(accuracies: ArrayLike, level: float = LEVEL, bounds: Bounds = None) -> Interval:
    """Interval for the mean accuracy *on these very images* (OOPS, Algorithm 1 and equation 3).

    For tasks drawn with reuse of images. Repeating the draw of tasks from the same images gives a
    mean inside it in ``level`` of the cases; it says nothing of new images. What it estimates is the mean over all
    tasks of these images, in which classes have equal weight (`fslcore.tasks.sample_closed`).

    Parameters
    ----------
    accuracies : (T,) array_like
        Accuracy of each task, T ≥ 2, in any unit (share or percent).
    level : float
        Nominal coverage, between 0 and 1.
    bounds : (float, float), optional
        Least and largest possible value, such as (0, 100): the ends of the interval then lie between them (`limits`).
        By default (0, 1) for True and False, and else none: the ends are mean ± half-width, as in the paper.

    Returns
    -------
    Interval
        Half-width z·s/√T, with the normal quantile z (1.96 at 95 %) and the standard deviation s
        with T - 1 in its denominator. For fewer than 100 tasks z is Student's quantile, as in `open_interval`: with the
        normal one, intervals of 5 tasks covered in 87 % of cases instead of 95 %.

    Raises
    ------
    InputError
        Fewer than 2 tasks, another shape, NaN or infinity, a level outside (0, 1), bounds that some are outside of.

    Examples
    --------
    >>> r = closed_interval([0.7, 0.8, 0.75, 0.85])
    >>> round(r.mean, 3), round(r.half_width, 4)
    (0.775, 0.1027)
    """
    bounds = declared_bounds(accuracies, bounds)
    return _interval(*per_task("accuracies", accuracies), level, "closed", closed_df, bounds=bounds)


def closed_df(tasks: int) -> float:
    """Degrees of freedom of a closed interval."""
    return np.inf if tasks >= MANY_TASKS else tasks - 1


def open_interval(accuracies: ArrayLike, level: float = LEVEL, bounds: Bounds = None) -> Interval:
    """Interval for the mean accuracy *on new images* of the same kind (OOPS, Algorithm 2).

    For tasks that share no image, so that their accuracies are independent draws. What it estimates is the mean over
    tasks of new images that are drawn in the same way. With ``balanced=True`` of `fslcore.tasks.sample_open`, classes
    have equal weight in it. By default classes with more images have more weight: where classes differ in size, this is
    another mean than that of `closed_interval`, and the interval does not cover the latter at its nominal level.

    Parameters, errors : as for `closed_interval`.

    Returns
    -------
    Interval
        Half-width t·s/√T, with the quantile t of Student's distribution with T - 1 degrees of
        freedom: there may be few tasks.

    Examples
    --------
    >>> round(open_interval([0.7, 0.8, 0.75, 0.85]).half_width, 4)
    0.1027
    """
    bounds = declared_bounds(accuracies, bounds)
    return _interval(*per_task("accuracies", accuracies), level, "open", lambda t: t - 1, bounds=bounds)


def paired_interval(
    a: ArrayLike,
    b: ArrayLike,
    level: float = LEVEL,
    *,
    atol: float | None = None,
    bounds: Bounds = None,
) -> Interval:
    """Interval for the mean difference of two methods on the same tasks (OOPS, equation 5).

    Tasks are hard or easy for both methods alike, so the difference varies less than either
    accuracy, and what can be concluded is more. On tasks that share no image it applies to new
    images, as `open_interval` does.

    Parameters
    ----------
    a, b : (T,) array_like
        Accuracies of two methods in one unit, task by task in the same order, T ≥ 2. Two pandas Series are paired
        by their index.
    level : float
        Nominal coverage, between 0 and 1.
    atol : float, optional
        As for `paired_differences`.
    bounds : (float, float), optional
        Least and largest possible difference, (-100, 100) for accuracies in percent. They are needed where nothing
        varies: without them nothing is concluded then. By default (-1, 1) for True and False, and else none.

    Returns
    -------
    Interval
        Of the mean of a - b (`paired_differences`), with Student's quantile; ``conclusion`` is +1 where a is better.

    Raises
    ------
    InputError
        Different lengths or index labels, one in percent and the other in shares, and as for `closed_interval`.

    Examples
    --------
    >>> r = paired_interval([0.7, 0.8, 0.75, 0.85], [0.68, 0.77, 0.74, 0.80])
    >>> round(r.mean, 4), round(r.half_width, 4), r.conclusion
    (0.0275, 0.0272, 1)
    """
    d = paired_differences(a, b, atol=atol)
    if d.ndim != 1 or d.size < 2:
        raise InputError(f"a and b have shape {d.shape}; one number per task for at least 2 tasks is needed")
    _check_units(a, b)
    return _interval(d, 0.0, level, "paired", lambda t: t - 1, bounds=bounds_of_difference(a, b, bounds))


def paired_differences(a: ArrayLike, b: ArrayLike, *, atol: float | None = None, axis: int = 0) -> Floats:
    """Differences a - b without what comes from rounding: 0.3 and 0.1 + 0.2 are equal.

    Parameters
    ----------
    a, b : (T,) or (T, n) array_like
        Accuracies of two methods (or of n methods each) on the same T tasks, in one unit. Where both have an index,
        as in pandas, it says which tasks are the same.
    atol : float, optional
        Numbers that differ by no more are equal. By default 4 units in the last place of the largest number of a
        column, of the coarser type of the two: with accuracies up to 100, 9e-14 for 64-bit floats and 5e-5 for 32-bit
        floats. Numbers that were 32-bit floats before they were converted need ``atol=5e-7 * largest``.
    axis : int
        That of the tasks.

    Returns
    -------
    array of that shape
        0 where a and b differ by no more than ``atol``. Where the differences of a column are all equal but for twice
        that, they are made equal: then nothing varies, and the bounds decide (`Interval.p_value`).

    Raises
    ------
    InputError
        Different shapes or index labels, NaN or infinity, values that are masked out, no tasks, an ``atol`` below 0.

    Examples
    --------
    >>> paired_differences([0.3, 0.7], [0.1 + 0.2, 0.5])
    array([0. , 0.2])
    """
    b = _in_order(a, b)
    x, y = floats("a", a, None), floats("b", b, None)
    if x.shape != y.shape or x.ndim not in (1, 2) or not x.size:
        raise InputError(f"a has shape {x.shape}, b has {y.shape}; paired methods share their tasks")
    axis = whole("axis", axis, -x.ndim, x.ndim - 1)
    fine = np.maximum(rounding(a, x, atol, axis), rounding(b, y, atol, axis))
    d = x - y
    d[np.abs(d) <= fine] = 0.0
    low, high = d.min(axis=axis, keepdims=True), d.max(axis=axis, keepdims=True)
    same = high - low <= 2 * fine
    return np.where(same, np.where((low <= 0) & (high >= 0), 0.0, low), d)


def _in_order(a: Any, b: Any) -> Any:
    """Put the rows of b in the order of a, where both have an index, as in pandas: never paired by position then.

    Any, as pandas is not imported here.
    """
    if not (hasattr(a, "reindex") and hasattr(b, "reindex")) or a.index.equals(b.index):
        return b
    if len(a) != len(b) or not (a.index.is_unique and b.index.is_unique and a.index.isin(b.index).all()):
        raise InputError(
            f"index: a has {shown(list(a.index[:3]))} …, b has {shown(list(b.index[:3]))} …; the same labels, each "
            "once, are needed to pair tasks (.to_numpy() of both, to pair them by position)"
        )
    return b.reindex(a.index)


def _check_units(a: ArrayLike, b: ArrayLike) -> None:
    """Raise `InputError` where the accuracies of one method are in percent and those of the other are shares.

    So they are if one goes beyond 1, up to 100, while another varies within 0 and 1, not from 0 to 1 alone, and has a
    mean that is less than a fifth. All other numbers, constants, differences and sizes too, are taken as they come.
    """
    x, y = (np.asarray(detached(values), dtype=float) for values in (a, b))
    for percent_name, percent, share_name, share in (("a", x, "b", y), ("b", y, "a", x)):
        in_percent = percent.min() >= 0 and 1 < percent.max() <= 100
        in_shares = 0 <= share.min() < share.max() <= 1 and ((share > 0) & (share < 1)).any()
        if in_percent and in_shares and 5 * share.mean() < percent.mean():
            raise InputError(
                f"{percent_name} goes up to {percent.max():g} and {share_name} to {share.max():g}: percent and shares? "
                "one unit is needed (divide both by 100 if it is)"
            )


def rounding(given: ArrayLike, x: Floats, atol: float | None = None, axis: int | None = 0) -> Floats:
    """By how much numbers along an axis may be off from having been rounded; x are those given, checked."""
    largest = np.abs(x).max(axis=axis, keepdims=True)
    if atol is not None:
        return np.full_like(largest, number("atol", atol, least=0))
    dtype = np.asarray(detached(given)).dtype
    coarse = np.finfo(dtype if dtype.kind == "f" and dtype.itemsize < 8 else float)
    eps = 2.0**-7 if str(getattr(given, "dtype", "")) == "torch.bfloat16" else float(coarse.eps)
    return np.asarray(ULPS * eps * largest)


def independent_interval(a: ArrayLike, b: ArrayLike, level: float = LEVEL, *, bounds: Bounds = None) -> Interval:
    """Interval for the difference of the mean accuracies on two sets of tasks that were drawn independently.

    Parameters
    ----------
    a, b : (T,) and (U,) array_like
        Accuracies of each task of the two sets, at least 2 of each.
    level : float
        Nominal coverage, between 0 and 1.
    bounds : (float, float), optional
        As for `paired_interval`.

    Returns
    -------
    Interval
        Of mean(a) - mean(b), with ``n_tasks`` = T + U and Student's quantile with the degrees of
        freedom of Welch (1947): the two variances may differ. Where nothing varies in either set, its ``units`` are the
        smaller number of tasks, as for the differences of as many pairs.

    Raises
    ------
    InputError
        As for `closed_interval`; one in percent and the other in shares.

    Examples
    --------
    >>> r = independent_interval([0.7, 0.8, 0.75, 0.85], [0.5, 0.6, 0.4])
    >>> round(r.mean, 3), round(r.half_width, 3), r.conclusion
    (0.275, 0.202, 1)
    """
    (x, fine_x), (y, fine_y) = per_task("a", a), per_task("b", b)
    _check_units(x, y)
    one, other = (_interval(v, fine, level, "open", lambda t: t - 1) for v, fine in ((x, fine_x), (y, fine_y)))
    variances = np.array([one.standard_error, other.standard_error]) ** 2
    total = variances.sum()
    counts = np.array([one.n_tasks, other.n_tasks])
    df = float(total**2 / (variances**2 / (counts - 1)).sum()) if total > 0 else np.inf
    half = float(stats.t.ppf((1 + level) / 2, df) * np.sqrt(total))
    mean = one.mean - other.mean
    mean = mean if abs(mean) > max(fine_x, fine_y) else 0.0
    if (bounds := bounds_of_difference(a, b, bounds)) is not None:
        mean = _mean_within(mean, bounds, "difference of a and b")
    return Interval(mean, half, level, int(counts.sum()), "independent", df, int(counts.min()), bounds)


def per_task(name: str, values: ArrayLike) -> tuple[Floats, float]:
    """One number per task, of at least 2 tasks, and by how much they may be off from having been rounded."""
    x = floats(name, values, None)
    if x.ndim != 1 or x.size < 2:
        raise InputError(f"{name} has shape {x.shape}; one number per task for at least 2 tasks is needed")
    return x, float(rounding(values, x).item())


def _interval(
    x: Floats,
    fine: float,
    level: float,
    kind: str,
    degrees: Callable[[int], float],
    *,
    bounds: Bounds = None,
) -> Interval:
    """Of checked values, which are equal where they spread by no more than rounding puts them off."""
    level, df = number("level", level, above=0, below=1), degrees(x.size)
    spread = x.std(ddof=1) if np.ptp(x) > 2 * fine else 0.0
    half = stats.t.ppf((1 + level) / 2, df) * spread / np.sqrt(x.size)
    bounds = checked_bounds(bounds)
    rounded = ROUNDED * (bounds[1] - bounds[0]) if bounds else 0
    if bounds and not (bounds[0] - rounded <= x.min() and x.max() <= bounds[1] + rounded):
        what = "differences of a and b" if kind == "paired" else "accuracies"
        raise InputError(f"{what} go from {x.min():g} to {x.max():g}; bounds = {shown(bounds)}, between which they lie")
    return Interval(float(x.mean()), float(half), level, x.size, kind, df, bounds=bounds)
