"""An interval of a mean: the number, the rule near bounds, and how it is written.

Where all T values are equal, Student's interval has a half-width of 0 and would be certain after
two tasks. What T equal values tell of a mean then depends on how far other values may lie, that is
on the bounds (`chance_of_equal`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite, isinf, isnan, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from ..errors import InputError, broadcast, choice, detached, floats, number, quoted
from .formatting import NO_ESTIMATE, decimals, format_half_width, with_interval
from .rare import NO_RARITY, Rarity, chance_beyond, reach
from .targets import Target

__all__ = ["DEFAULT_CONFIDENCE_LEVEL", "Interval", "limits"]

Array = np.ndarray  # of any type
Floats = NDArray[np.float64]
Pair = tuple[float, float]
Bounds = Pair | None  # least and largest possible value, where they are known
DEFAULT_CONFIDENCE_LEVEL = 0.95  # nominal coverage where none is asked for
MANY_TASKS = 100  # from which a closed interval has a normal quantile, as in the paper
# Of the bounds' span: rare hard, or easy, classes would change means that are closer to a bound.
NEAR_BOUND_SHARE = 0.1
RELATIVE_SLACK = 1e-9  # one task that errs, among any number without an error, is just that one
ROUNDING_SHARE = 1e-9  # share of the bounds' span by which rounding may move a mean off a bound


@dataclass(frozen=True)
class Interval:
    """A mean, or another estimate, with its confidence interval, in the unit of the input.

    Attributes
    ----------
    estimate, half_width : float
        Student's interval is estimate ± half_width. Verdicts on differences are of it.
    confidence_level : float
        Nominal coverage, 0.95 say.
    n : int
        The number of tasks behind it; of items, supports or runs, where these are the sample.
    target : Target
        What it applies to, such as 'new images'.
    df : float
        Degrees of freedom of the Student quantile in it; infinite for a normal one.
    units : int or None
        Independent tasks, images, classes, items, supports or runs behind it; None where they are
        the ``n``. They decide what is concluded where nothing varies and the half-width is 0.
    bounds : (float, float) or None
        Between which every value must lie: (0, 100) for an accuracy in percent, (-100, 100) for a
        difference of two. None where they are not known.
    classes : int or None
        Independent classes, or groups of classes, behind an interval for new classes, if it is
        known.
    is_difference : bool or None
        Whether the estimate is of a difference, which is not near a bound at its bounds as an accuracy
        is. If the caller does not say it, it is one where the bounds lie to either side of 0, and not
        known (None) without bounds.
    rarity : Rarity
        How large the deviations are that have to be expected beside those that the half-width shows, where
        fewer than a quarter of the units differ from the others (`fslcore.stats.rare`): see Notes.
        It counts with bounds alone.
    ends : (float, float) or None
        Both ends, where they are not those of Student's interval, as of a score interval: then
        ``half_width`` is half their distance unless given, verdicts are of the ends, and there is neither
        a standard error nor a p-value here.
    low, high : float
        Ends of the interval: ``ends`` if they were given. Without bounds, and of a difference, estimate ±
        half_width, cut at the bounds. Else ``limits(estimate, half_width, bounds, df,
        confidence_level)``; with C ``classes`` and an estimate close to a bound, the interval also holds the mean
        of C + 1 classes of which one is at the other bound. Where nothing varies, or few units
        differ from the others, see Notes.
    few_errors : bool
        Whether the estimate is no more than one standard error off a bound, as if it rested on one
        independent error at most: then the limits are rough, and too wide rather than too narrow.

    Notes
    -----
    Where all n units gave the same value v, up to a share q = 1 - (α/2)^(1/n) of all units may give
    another one, with α = 1 - confidence_level: were it more, n equal values would have a chance below α/2. If
    that share is at a bound b, the mean is v + q (b - v). So the interval is v - q (v - low bound)
    to v + q (high bound - v), which is Clopper and Pearson's (1934) where v is itself a bound.
    ``p_value`` and ``sign`` are those of the same test. Without bounds a rare value may be
    anywhere: the interval is infinite and nothing is concluded. For new classes of which all
    answers are right (or wrong), n is the number of tasks, and the classes extend the interval as
    follows.

    Where few of n units differ, the half-width rests on these few. With bounds, the interval then
    holds the means that lie a distance x off for which neither x / √(SE² + x (w - x) / n) exceeds
    Student's quantile nor (1 - x/w)^n falls below α/2. Up to a tenth of the units, w is the
    distance to the bound on that side where up to ten differ, the size of the deviations seen where
    30 do, and in between a weighted mean of both; it falls to 0 at a quarter of the units, from
    where the interval is Student's. So the interval of few differing units joins that of none, and
    that of many. If 0.5 to 50 of 100 to 3,000 units are expected to differ, by up to the distance
    to a bound, 95 % or more of the intervals hold the mean, where Student's held it in 84 to 94 %;
    what is rare in values that all differ, no such rule can see.

    C classes that are almost free of errors do not exclude that some classes are hard: their
    variance does not show a class that is not among them. So on a bound the interval is extended by
    1 / (C + 1) of the way to the other bound; the extension falls linearly to 0 at a tenth of the
    way, where errors are common enough to show how they vary. If a share of the classes, whatever
    it is, has an accuracy of 60 % and the others of nearly 100 %, some 92 % of the intervals or
    more hold the mean of all classes at a level of 95 %. If the hard classes have an accuracy of 0,
    it may be 63 %: to exclude them takes an extension of about 3.7 / C, Clopper and Pearson's,
    which is wide for few classes.
    """

    estimate: float
    half_width: float
    confidence_level: float
    n: int
    target: Target
    df: float = inf
    units: int | None = None
    bounds: Bounds = None
    classes: int | None = None
    rarity: Rarity = NO_RARITY
    is_difference: bool | None = None
    ends: Pair | None = None
    low: float = field(init=False)
    high: float = field(init=False)
    few_errors: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "target", Target(choice("target", self.target, [t.value for t in Target]))
        )
        bounds = checked_bounds(self.bounds)
        if bounds is not None:
            object.__setattr__(self, "estimate", mean_within(self.estimate, bounds))
            if self.is_difference is None:
                object.__setattr__(self, "is_difference", are_of_difference(bounds))
        for name, end in zip(("low", "high"), _ends(self)):
            object.__setattr__(self, name, end)
        object.__setattr__(self, "few_errors", _has_few_errors(self))

    @classmethod
    def from_ends(
        cls,
        estimate: float,
        low: float,
        high: float,
        *,
        confidence_level: float,
        n: int,
        target: Target,
        is_difference: bool | None = None,
    ) -> Interval:
        """An interval that need not reach equally far to both sides of the estimate."""
        return cls(
            estimate=estimate,
            half_width=(high - low) / 2,
            confidence_level=confidence_level,
            n=n,
            target=target,
            is_difference=is_difference,
            ends=(low, high),
        )

    def __neg__(self) -> Interval:
        """The interval of the opposite difference, that of the second method minus the first."""
        bounds = None if self.bounds is None else (-self.bounds[1], -self.bounds[0])
        ends = None if self.ends is None else (-self.high, -self.low)
        return replace(self, estimate=-self.estimate, bounds=bounds, ends=ends)

    @property
    def equal_units(self) -> int:
        """How many independent values are equal where nothing varies: ``units``, by default
        ``n``.
        """
        return self.n if self.units is None else self.units

    @property
    def standard_error(self) -> float:
        """Estimated standard deviation of the estimate."""
        self._check_has_test()
        return self.half_width / student_quantile(self.df, self.confidence_level)

    @property
    def sign(self) -> int:
        """+1 if the whole interval lies above 0, -1 if below, 0 if it holds 0.

        For a paired interval this is the verdict on which method is better. Where few units differ,
        or none, it is that of ``p_value``, and always 0 without bounds if nothing varies.
        """
        if self.ends is not None:
            return int(self.low > 0) - int(self.high < 0)
        if self.half_width == 0 or self.has_rare_units:
            return int(np.sign(self.estimate)) if self.p_value < 1 - self.confidence_level else 0
        return int(self.estimate > self.half_width) - int(self.estimate < -self.half_width)

    @property
    def p_value(self) -> float:
        """Two-sided p-value of the hypothesis that the mean is 0, for a paired interval.

        It is below 1 - confidence_level exactly where ``sign`` is not 0, and equals the p-value of the
        paired t-test (``scipy.stats.ttest_rel``), but for bounds where few units differ (Notes).
        Where nothing varies, that test has no value. Then it is twice the largest chance of values
        all equal to this mean m if the true mean is 0: ``2 (b / (b + |m|))^n`` for n units and
        bounds -b and b; without bounds 1. It is 1 where the half-width is infinite.
        """
        self._check_has_test()
        if isinf(self.half_width):
            return 1.0
        return min(2 * self.one_sided_p_value(0.0), 1.0)

    def one_sided_p_value(self, true_mean: float) -> float:
        """p-value of the hypothesis that the true mean is this, or farther from the observed mean.

        The observed mean itself is a half, and where nothing varies the largest chance of equal
        values (`chance_of_equal`), 1 without bounds.
        """
        self._check_has_test()
        if self.half_width == 0:
            if self.bounds is None:
                return 1.0
            return float(chance_of_equal(self.estimate, true_mean, self.bounds, self.equal_units))
        return chance_beyond(
            abs(true_mean - self.estimate),
            self.standard_error,
            self.df,
            self._deviation(true_mean > self.estimate),
            self.equal_units,
        )

    def _check_has_test(self) -> None:
        """Raise `InputError` where the ends are not those of Student's interval."""
        if self.ends is not None:
            raise InputError(
                "this interval was computed from its ends, without a standard error; the result that "
                "holds it has its p-value, if there is one"
            )

    @property
    def has_rare_units(self) -> bool:
        """Whether deviations that were not seen, or seldom, have to be expected."""
        has_reach = isfinite(self.half_width) and self.half_width > 0
        return self.bounds is not None and has_reach and self.rarity != NO_RARITY

    def _deviation(self, upwards: bool) -> float:
        """Size of the deviations that have to be expected, above or below the mean."""
        if self.bounds is None:
            return 0.0
        return self.rarity.deviation(abs(self.bounds[int(upwards)] - self.estimate))

    def overlaps(self, second: Interval) -> bool:
        """Whether the two intervals have a point in common."""
        return self.low <= second.high and second.low <= self.high

    def format_half_width(self, spec: str = "") -> str:
        """The interval alone, by `fslcore.stats.formatting.format_half_width`."""
        return format_half_width(
            self.estimate, self.half_width, self.low, self.high, spec or self._spec
        )

    def __format__(self, spec: str) -> str:
        spec = spec or self._spec
        if isnan(self.estimate):
            return NO_ESTIMATE
        remark = "few errors" if self.few_errors else ""
        return with_interval(format(self.estimate, spec), self.format_half_width(spec), remark)

    def __str__(self) -> str:
        return format(self)

    @property
    def _spec(self) -> str:
        """A format with two digits of the half-width; where it says little, as none or few units
        differ, of half of the length.
        """
        is_told_by_ends = self.half_width == 0 or self.has_rare_units
        return f".{decimals((self.high - self.low) / 2 if is_told_by_ends else self.half_width)}f"


def _ends(interval: Interval) -> Pair:
    """Both ends: those given, mean ± half-width, or what the bounds make of it."""
    if interval.ends is not None:
        return interval.ends
    mean = interval.estimate
    half_width = interval.half_width
    bounds = interval.bounds
    low = mean - half_width
    high = mean + half_width
    if isnan(low):
        return low, high
    if half_width == 0:
        return _ends_of_equal_values(interval)
    if bounds is None:
        return low, high
    if not interval.is_difference:
        df = inf if isnan(interval.df) else interval.df
        ends = limits(mean, half_width, bounds, df, interval.confidence_level)
        low, high = float(ends[0]), float(ends[1])
    if interval.has_rare_units:
        low, high = _ends_with_rare_units(interval, bounds, low, high)
    low, high = max(low, bounds[0]), min(high, bounds[1])
    return _with_another_class(interval, low, high)


def _ends_with_rare_units(interval: Interval, bounds: Pair, low: float, high: float) -> Pair:
    """The ends with what rare deviations add: to those of Student's interval, or to `limits` on the
    side away from a bound that is near.

    Such limits are also cut where deviations up to the far bound could not take the mean.
    """
    tail = (1 - interval.confidence_level) / 2
    ends = [low, high]
    for upwards in (False, True):
        room = abs(bounds[upwards] - interval.estimate)
        distance = abs(ends[upwards] - interval.estimate)
        if distance < interval.half_width * (1 - RELATIVE_SLACK):  # a bound is near on this side
            continue
        at_least, at_most = (
            reach(tail, interval.standard_error, interval.df, size, interval.equal_units)
            for size in (interval._deviation(upwards), room)
        )
        distance = max(min(distance, at_most), at_least)
        ends[upwards] = interval.estimate + (distance if upwards else -distance)
    return ends[0], ends[1]


def _ends_of_equal_values(interval: Interval) -> Pair:
    """Both ends where nothing varies (see the notes of `Interval`)."""
    if interval.bounds is None:
        return -inf, inf
    mean, (lowest, highest) = interval.estimate, interval.bounds
    units = interval.equal_units
    if interval.classes is not None and mean in interval.bounds and not interval.is_difference:
        units = interval.n
    share = 1 - ((1 - interval.confidence_level) / 2) ** (1 / units)
    return _with_another_class(
        interval, mean - share * (mean - lowest), mean + share * (highest - mean)
    )


def _with_another_class(interval: Interval, low: float, high: float) -> Pair:
    """The ends extended to the mean with one more class at the far bound, for a mean near the other
    one.
    """
    classes = interval.classes
    bounds = interval.bounds
    if bounds is None or classes is None or interval.is_difference or isinf(interval.half_width):
        return low, high
    mean, (lowest, highest) = interval.estimate, bounds
    distance = min(mean - lowest, highest - mean)
    share = max(0.0, 1 - distance / (highest - lowest) / NEAR_BOUND_SHARE) / (classes + 1)
    if mean - lowest > distance:
        return min(low, mean - share * (mean - lowest)), high
    return low, max(high, mean + share * (highest - mean))


def _has_few_errors(interval: Interval) -> bool:
    """Whether the mean is no more than one standard error off a bound.

    Then limits near a bound hold, but are very wide.
    """
    mean = interval.estimate
    bounds = interval.bounds
    if interval.ends is not None or interval.is_difference or bounds is None:
        return False
    if not isfinite(mean + interval.half_width):
        return False
    distance = min(mean - bounds[0], bounds[1] - mean)
    return distance**2 <= interval.standard_error**2 * (1 + RELATIVE_SLACK)


def limits(
    mean: ArrayLike,
    half_width: ArrayLike,
    bounds: Bounds = None,
    df: ArrayLike = inf,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
) -> tuple[Floats, Floats]:
    """Ends of intervals of means that lie between two bounds, as an accuracy between 0 and 100 %.

    Student's interval of the logit of the mean, its standard error by the delta method, transformed
    back, as is done for rare events in surveys (Korn and Graubard, 1998): it stays inside the
    bounds, and reaches further to the side where there is room. Far from both bounds it is mean ±
    half-width.

    Parameters
    ----------
    mean, half_width : array_like
        Numbers, or arrays that broadcast: Student's interval is mean ± half_width.
    bounds : (float, float), optional
        Least and largest possible mean. Without them mean ± half_width is returned.
    df : array_like
        Degrees of freedom of the Student quantile in the half-widths; infinite where they are not
        known.
    confidence_level : float
        Nominal coverage of the half-widths.

    Returns
    -------
    low, high : arrays
        Of a mean on a bound: that mean twice if the half-width is 0, else the bounds.

    Raises
    ------
    InputError
        What are no numbers, NaN, shapes that do not broadcast, a negative half-width, bounds that
        are no two numbers in their order, a mean outside them, degrees of freedom that are not
        positive, a level outside (0, 1).

    Notes
    -----
    Where a mean is d standard errors off its nearer bound, it rests on about e = d² independent
    errors, as if these were rare events of equal size, and its variance is known no better than
    from so few. As the limit of a Poisson mean (Garwood, 1936), it is given 2 (e + 1) degrees of
    freedom: 1 / (1 / df + 1 / (2 e + 2)) are left.

    Examples
    --------
    >>> [round(float(x), 2) for x in limits(99.7, 0.4, (0, 100))]
    [98.46, 99.94]
    >>> [round(float(x), 2) for x in limits(70.0, 0.4, (0, 100))]
    [69.6, 70.4]
    """
    means = floats("mean", mean, None, extreme=True)
    mean, half_width, df = broadcast(mean=means, half_width=half_width, df=df)
    confidence_level = checked_level(confidence_level)
    if not (half_width >= 0).all():
        raise InputError(f"half_width must be >= 0, got {half_width.min():g}")
    if not (df > 0).all():
        raise InputError(f"df must be > 0, got {df.min():g}")
    bounds = checked_bounds(bounds)
    if bounds is None:
        return mean - half_width, mean + half_width
    return _limits_within(mean, half_width, bounds, df, confidence_level)


def _limits_within(  # noqa: PLR0914 the steps of one formula
    mean: Floats, half_width: Floats, bounds: Pair, df: Floats, confidence_level: float
) -> tuple[Floats, Floats]:
    """`limits` of checked arrays of one shape."""
    lowest, highest = bounds
    span = highest - lowest
    share = (mean - lowest) / span
    half = half_width / span
    is_outside = np.maximum(-share, share - 1) > ROUNDING_SHARE
    if is_outside.any():
        outside = mean[is_outside].flat[0]
        raise InputError(f"mean must be from {lowest:g} to {highest:g}, got {outside:g}")
    share = share.clip(0, 1)
    quantile = stats.t.ppf((1 + confidence_level) / 2, df)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        errors = (np.minimum(share, 1 - share) / half * quantile) ** 2
        df_of_errors = np.fmax(1 / (1 / df + 1 / (2 * errors + 2)), 1)
        factor = np.fmax(stats.t.ppf((1 + confidence_level) / 2, df_of_errors) / quantile, 1)
        centre = special.logit(share)
        width = factor * half / (share * (1 - share))
        lower = np.where(np.isinf(width), -inf, centre - width)
        upper = np.where(np.isinf(width), inf, centre + width)
    low, high = (
        np.where(half_width == 0, mean, lowest + span * special.expit(end))
        for end in (lower, upper)
    )
    return np.minimum(low, mean), np.maximum(high, mean)


def chance_of_equal(
    mean: ArrayLike, true_mean: ArrayLike, bounds: Pair, units: ArrayLike
) -> Floats:
    """Largest chance that independent values between two bounds are all equal to a number, given
    their true mean.

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
        (1 - p)^n: a share p of all values that are not v moves their mean from v at most to v + p
        (b - v), with b the bound on the side of m. So it is at least p = (m - v) / (b - v). 1 if m
        = v, and 0 if m is beyond that bound.

    Notes
    -----
    It is a p-value of the hypothesis that the true mean is m, or farther from v, whatever the
    distribution, and although several numbers could have come out n times. Of all numbers above m
    for which it is α or less, let w be the lowest, and P the share of values that are one of them.
    With the lower bound b, m - b ≥ P (w - b), so that P ≤ (m - b) / (w - b) = 1 - p ≤ α^(1/n), and
    one of them comes out n times with a chance of at most P^n ≤ α.

    Examples
    --------
    >>> chance_of_equal([0.5, 20.0], 0.0, (-100, 100), 6).round(3)
    array([0.971, 0.335])
    """
    v, m, n = broadcast(mean=mean, true_mean=true_mean, units=units)
    b = np.where(m > v, bounds[1], bounds[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(m == v, 0.0, (m - v) / (b - v))
    return (1 - p.clip(0, 1)) ** n


def mean_within(mean: float, bounds: Pair, name: str = "mean") -> float:
    """The mean, or the bound that it differs from by rounding alone."""
    for bound in bounds:
        if abs(mean - bound) <= ROUNDING_SHARE * (bounds[1] - bounds[0]):
            return float(bound)
    return number(name, mean, minimum=bounds[0], maximum=bounds[1])


def declared_bounds(values: ArrayLike, bounds: Bounds) -> Bounds:
    """The bounds given, checked; (0, 1) for True and False; else None, as numbers do not tell their
    bounds.
    """
    if bounds is None and np.asarray(detached(values)).dtype == bool:
        return 0.0, 1.0
    return checked_bounds(bounds)


def bounds_of_difference(first: ArrayLike, second: ArrayLike | None, bounds: Bounds) -> Bounds:
    """The bounds given, checked; (-1, 1) for a difference of True and False; else None.

    Without a second they are `declared_bounds` of the first.
    """
    if second is None:
        return declared_bounds(first, bounds)
    if bounds is None and declared_bounds(first, None) and declared_bounds(second, None):
        return -1.0, 1.0
    return checked_bounds(bounds)


def are_of_difference(bounds: Pair) -> bool:
    """Whether a mean between bounds may lie on either side of 0, as the mean of a difference may."""
    return bounds[0] < 0 < bounds[1]


def checked_bounds(bounds: Bounds) -> Bounds:
    """Two finite numbers, the lower first; or None."""
    if bounds is None:
        return None
    ends = floats("bounds", bounds, None)
    if ends.shape != (2,) or ends[0] >= ends[1]:
        raise InputError(
            "bounds must be None or two numbers, the lower first, such as (0, 100), got "
            f"{quoted(bounds)}"
        )
    return float(ends[0]), float(ends[1])


def joint_text(
    intervals: Mapping[str, Interval] | Mapping[Target, Interval], after_mean: str = ""
) -> str:
    """Intervals of one mean, by what is new in each: the mean once, with words after it, and all
    with the digits of the narrowest.
    """
    spec = max((interval._spec for interval in intervals.values()), key=_digits_of)
    cells = []
    for target, interval in intervals.items():
        remark = ", few errors" if interval.few_errors else ""
        cells.append(f"{interval.format_half_width(spec)} ({target}{remark})")
    return f"{interval.estimate:{spec}}{after_mean} {', '.join(cells)}"


def _digits_of(spec: str) -> int:
    """The decimals that a format shows."""
    return int(spec.strip(".f"))


def checked_level(confidence_level: float) -> float:
    """A nominal coverage, between 0 and 1."""
    return number("confidence_level", confidence_level, over=0, under=1)


def student_quantile(df: float, confidence_level: float) -> float:
    """The quantile of Student's distribution that an interval of this level has."""
    return float(stats.t.ppf((1 + confidence_level) / 2, df))


def normal_quantile(confidence_level: float) -> float:
    """The same of the normal distribution."""
    return float(stats.norm.ppf((1 + confidence_level) / 2))


def student(variance: float, parts: Sequence[Pair], confidence_level: float) -> Pair:
    """Half-width, and Satterthwaite's degrees of freedom, from the parts of a variance and the
    degrees of freedom of each; NaN of an infinite variance.
    """
    if isinf(variance):
        return inf, nan
    scatter = sum(part**2 / df for part, df in parts)
    df = max(variance**2 / scatter, 1.0) if scatter > 0 else inf
    return student_quantile(df, confidence_level) * sqrt(variance), df


def closed_df(tasks: int) -> float:
    """Degrees of freedom of a closed interval."""
    return inf if tasks >= MANY_TASKS else tasks - 1
