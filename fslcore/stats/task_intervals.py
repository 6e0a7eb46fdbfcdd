"""Confidence intervals of a mean accuracy over tasks, and of a difference of two.

The three differ in what they treat as random, which the sampling of the tasks decides; the
arithmetic is that of a mean of T numbers. Equation numbers are those of OOPS (Lafargue et al.,
2024). Numbers that differ by less than they were rounded by are equal (`paired_differences`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, detached, floats, instance, number, shown, whole
from .intervals import (
    DEFAULT_CONFIDENCE_LEVEL,
    ROUNDING_SHARE,
    Bounds,
    Floats,
    Interval,
    bounds_of_difference,
    checked_level,
    closed_df,
    declared_bounds,
    mean_within,
    student,
    student_quantile,
)
from .rare import Rarity, rarity_of
from .targets import Target

ULPS = 4  # an accuracy is a sum and a quotient: its last digits may be off by a few


def closed_task_interval(
    scores: ArrayLike,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
    *,
    bounds: Bounds = None,
) -> Interval:
    """Interval for the mean accuracy *on these very images* (OOPS, Algorithm 1 and equation 3).

    For tasks drawn with reuse of images. Repeating the draw of tasks from the same images gives a
    mean inside it in ``confidence_level`` of the cases; it shows nothing about new images. What it estimates is
    the mean over all tasks of these images, in which classes have equal weight
    (`fslcore.tasks.sample_closed`).

    Parameters
    ----------
    scores : (T,) array_like
        Accuracy of each task, T ≥ 2, in any unit (share or percent).
    confidence_level : float
        Nominal coverage, between 0 and 1.
    bounds : (float, float), optional
        Least and largest possible value, such as (0, 100): the ends of the interval then lie
        between them (`limits`). By default (0, 1) for True and False, and else none: the ends are
        mean ± half-width, as in the paper.

    Returns
    -------
    Interval
        Half-width z·s/√T, with the normal quantile z (1.96 at 95 %) and the standard deviation s
        with T - 1 in its denominator. For fewer than 100 tasks z is Student's quantile, as in
        `open_task_interval`: with the normal one, intervals of 5 tasks covered in 87 % of cases instead
        of 95 %.

    Raises
    ------
    InputError
        Fewer than 2 tasks, another shape, NaN or infinity, a level outside (0, 1), bounds that some
        are outside of.

    Examples
    --------
    >>> r = closed_task_interval([0.7, 0.8, 0.75, 0.85])
    >>> round(r.estimate, 3), round(r.half_width, 4)
    (0.775, 0.1027)
    """
    bounds = declared_bounds(scores, bounds)
    sample = per_task("scores", scores)
    df = closed_df(sample.values.size)
    return _interval(sample, confidence_level, Target.THESE_IMAGES, bounds, df=df)


def open_task_interval(
    scores: ArrayLike,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
    *,
    bounds: Bounds = None,
) -> Interval:
    """Interval for the mean accuracy *on new images* of the same kind (OOPS, Algorithm 2).

    For tasks that share no image, so that their accuracies are independent draws. What it estimates
    is the mean over tasks of new images that are drawn in the same way. With ``balanced=True`` of
    `fslcore.tasks.sample_open`, classes have equal weight in it. By default classes with more
    images have more weight: where classes differ in size, this is another mean than that of
    `closed_task_interval`, and the interval does not cover the latter at its nominal level.

    Parameters, errors : as for `closed_task_interval`.

    Returns
    -------
    Interval
        Half-width t·s/√T, with the quantile t of Student's distribution with T - 1 degrees of
        freedom: there may be few tasks.

    Notes
    -----
    An interval of few tasks does not know of failures that are rare and were not drawn. If 3 % of
    tasks lose 60 points, and all others vary by 5, at least one of 10 tasks fails in 26 % of
    samples, and 37 % of intervals hold the mean; of 30 tasks 59 %, of 100 93 %. Where most tasks
    gave the same value, ``bounds`` make up for that (`Interval`); where all differ, nothing in the
    data tells. An interval that holds for any distribution between 0 and 100 would be some 60
    points long after 10 tasks.

    Examples
    --------
    >>> round(open_task_interval([0.7, 0.8, 0.75, 0.85]).half_width, 4)
    0.1027
    """
    bounds = declared_bounds(scores, bounds)
    return _interval(per_task("scores", scores), confidence_level, Target.NEW_IMAGES, bounds)


def fold_interval(
    scores: ArrayLike,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
    *,
    bounds: Bounds = None,
) -> Interval:
    """`open_task_interval` of a mean over the k folds of a cross-validation, whose trainings share
    data: the variance is enlarged by 1 + k / (k - 1) (Nadeau and Bengio, 2003).

    Examples
    --------
    >>> print(open_task_interval([70.0, 72, 71, 75, 73]), fold_interval([70.0, 72, 71, 75, 73]))
    72.20 ± 2.39 72.20 ± 3.58
    """
    interval = open_task_interval(scores, confidence_level, bounds=bounds)
    enlarged = np.sqrt(1 + interval.n / (interval.n - 1))
    return replace(interval, half_width=float(interval.half_width * enlarged))


def paired_interval(
    a: ArrayLike,
    b: ArrayLike,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
    *,
    bounds: Bounds = None,
    atol: float | None = None,
) -> Interval:
    """Interval for the mean difference of two methods on the same tasks (OOPS, equation 5).

    Tasks are hard or easy for both methods alike, so the difference varies less than either
    accuracy, and what can be concluded is more. On tasks that share no image it applies to new
    images, as `open_task_interval` does.

    Parameters
    ----------
    a, b : (T,) array_like
        Accuracies of two methods in one unit, task by task in the same order, T ≥ 2. Two pandas
        Series are paired by their index.
    confidence_level : float
        Nominal coverage, between 0 and 1.
    bounds : (float, float), optional
        Least and largest possible difference, (-100, 100) for accuracies in percent. They are
        needed where no task differs from the others, or few do (`Interval`): without them nothing
        is concluded then, or too much. By default (-1, 1) for True and False, and else none.
    atol : float, optional
        As for `paired_differences`.

    Returns
    -------
    Interval
        Of the mean of first - second (`paired_differences`), with Student's quantile;
        ``sign`` is +1 where the first is better. With bounds, and fewer than a quarter of the
        differences unlike the others, rare ones are expected (`Interval`).

    Raises
    ------
    InputError
        Different lengths or index labels, one in percent and the other in shares, and as for
        `closed_task_interval`.

    Examples
    --------
    >>> r = paired_interval([0.7, 0.8, 0.75, 0.85], [0.68, 0.77, 0.74, 0.80])
    >>> round(r.estimate, 4), round(r.half_width, 4), r.sign
    (0.0275, 0.0272, 1)
    """
    differences = paired_differences(a, b, atol=atol)
    if differences.ndim != 1 or differences.size < 2:
        raise InputError(
            "a and b must have one number for each of at least 2 tasks, got shape "
            f"{differences.shape}"
        )
    _check_units(a, b)
    bounds = bounds_of_difference(a, b, bounds)
    sample = CheckedScores(differences, 0.0)
    return _interval(sample, confidence_level, Target.NEW_TASKS, bounds, is_difference=True)


def paired_differences(
    a: ArrayLike, b: ArrayLike, *, axis: int = 0, atol: float | None = None
) -> Floats:
    """Differences first - second without what comes from rounding: 0.3 and 0.1 + 0.2 are equal.

    Parameters
    ----------
    a, b : (T,) or (T, n) array_like
        Accuracies of two methods (or of n methods each) on the same T tasks, in one unit. Where
        both have an index, as in pandas, it says which tasks are the same.
    axis : int
        The axis of the tasks.
    atol : float, optional
        Numbers that differ by no more are equal. By default 4 units in the last place of the
        largest number of a column, of the coarser type of the two: with accuracies up to 100, 9e-14
        for 64-bit floats and 5e-5 for 32-bit floats. Numbers that were 32-bit floats before they
        were converted need ``atol=5e-7 * largest``.

    Returns
    -------
    array of that shape
        0 where the two differ by no more than ``atol``. Where the differences of a column are all
        equal but for twice that, they are made equal: then nothing varies, and the bounds decide
        (`Interval.p_value`).

    Raises
    ------
    InputError
        Different shapes or index labels, NaN or infinity, values that are masked out, no tasks, an
        ``atol`` below 0.

    Examples
    --------
    >>> paired_differences([0.3, 0.7], [0.1 + 0.2, 0.5])
    array([0. , 0.2])
    """
    b = _in_order(a, b)
    x = floats("a", a, None)
    y = floats("b", b, None)
    if x.shape != y.shape or x.ndim not in (1, 2) or not x.size:
        raise InputError(f"a and b must be from the same tasks, got shapes {x.shape} and {y.shape}")
    axis = whole("axis", axis, -x.ndim, x.ndim - 1)
    tolerance = np.maximum(rounding(a, x, atol, axis), rounding(b, y, atol, axis))
    differences = x - y
    differences[np.abs(differences) <= tolerance] = 0.0
    low = differences.min(axis=axis, keepdims=True)
    high = differences.max(axis=axis, keepdims=True)
    constant = np.where((low <= 0) & (high >= 0), 0.0, low)
    return np.where(high - low <= 2 * tolerance, constant, differences)


def _in_order(first: Any, second: Any) -> Any:
    """The second with its rows in the order of the first, where both have an index, as in pandas.

    The type is Any because pandas is not imported here.
    """
    if not (hasattr(first, "reindex") and hasattr(second, "reindex")):
        return second
    rows = first.index
    other_rows = second.index
    if rows.equals(other_rows):
        return second
    are_unique = rows.is_unique and other_rows.is_unique
    if len(rows) != len(other_rows) or not (are_unique and rows.isin(other_rows).all()):
        raise InputError(
            f"a and b must have the same index, each label once, got {shown(list(rows[:3]))} … "
            f"and {shown(list(other_rows[:3]))} …; .to_numpy() of both pairs tasks by position"
        )
    return second.reindex(rows)


def _check_units(a: ArrayLike, b: ArrayLike) -> None:
    """Raise `InputError` where the accuracies of one method are in percent and those of the other
    are shares.

    So they are if one goes beyond 1, up to 100, while another varies within 0 and 1, not from 0 to
    1 alone, and has a mean that is less than a fifth. All other numbers, constants, differences and
    sizes too, are taken as they come.
    """
    arrays = {
        "a": np.asarray(detached(a), dtype=float),
        "b": np.asarray(detached(b), dtype=float),
    }
    for large_name, small_name in (("a", "b"), ("b", "a")):
        large = arrays[large_name]
        small = arrays[small_name]
        in_percent = large.min() >= 0 and 1 < large.max() <= 100
        in_shares = 0 <= small.min() < small.max() <= 1 and ((small > 0) & (small < 1)).any()
        if in_percent and in_shares and 5 * small.mean() < large.mean():
            raise InputError(
                f"{large_name} and {small_name} must be in one unit, got values up to "
                f"{large.max():g} and {small.max():g}; if they are percent and shares, divide "
                f"{large_name} by 100"
            )


def compare_by_overlap(a: Interval, b: Interval) -> int:
    """+1 if the first mean is higher, -1 if it is lower, 0 if the intervals overlap.

    Two closed or two open intervals are conclusive when they do not overlap (OOPS, equation 4).
    Where all tasks gave one value, an interval without bounds is infinite, and nothing is concluded
    (`Interval`).

    Parameters
    ----------
    a, b : Interval
        For one target and of one level; not of a difference, whose own ``sign`` says it.

    Raises
    ------
    InputError
        Other intervals.
    """
    instance("a", a, Interval)
    instance("b", b, Interval)
    for name, interval in (("a", a), ("b", b)):
        if interval.is_difference:
            raise InputError(f"{name} must be of one method, got a difference; its sign says it")
    if a.target != b.target or a.confidence_level != b.confidence_level:
        raise InputError(
            f"a and b must be for one target at one level, got {a.target} at {a.confidence_level} "
            f"and {b.target} at {b.confidence_level}"
        )
    return 0 if a.overlaps(b) else int(np.sign(a.estimate - b.estimate))


def rounding(
    values: ArrayLike, numbers: Floats, atol: float | None = None, axis: int | None = 0
) -> Floats:
    """By how much numbers along an axis may be off from having been rounded, from the type of the
    values given.
    """
    largest = np.abs(numbers).max(axis=axis, keepdims=True)
    if atol is not None:
        return np.full_like(largest, number("atol", atol, minimum=0))
    dtype = np.asarray(detached(values)).dtype
    coarse = np.finfo(dtype if dtype.kind == "f" and dtype.itemsize < 8 else float)
    bfloat16 = str(getattr(values, "dtype", "")) == "torch.bfloat16"
    eps = 2.0**-7 if bfloat16 else float(coarse.eps)
    return ULPS * eps * largest


def welch_interval(
    a: ArrayLike,
    b: ArrayLike,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
    *,
    bounds: Bounds = None,
) -> Interval:
    """Interval for the difference of the mean accuracies on two sets of tasks that were drawn
    independently.

    Parameters
    ----------
    a, b : (T,) and (U,) array_like
        Accuracies of each task of the two sets, at least 2 of each.
    confidence_level : float
        Nominal coverage, between 0 and 1.
    bounds : (float, float), optional
        As for `paired_interval`.

    Returns
    -------
    Interval
        Of the first mean minus the second, with ``n`` = T + U and Student's quantile with the
        degrees of freedom of Welch (1947): the two variances may differ. Where nothing varies in
        either set, or few tasks differ from the others, its ``units`` are the smaller number of
        tasks, as for the differences of as many pairs.

    Raises
    ------
    InputError
        As for `closed_task_interval`; one in percent and the other in shares.

    Examples
    --------
    >>> r = welch_interval([0.7, 0.8, 0.75, 0.85], [0.5, 0.6, 0.4])
    >>> round(r.estimate, 3), round(r.half_width, 3), r.sign
    (0.275, 0.202, 1)
    """
    samples = per_task("a", a), per_task("b", b)
    _check_units(samples[0].values, samples[1].values)
    intervals = [_interval(sample, confidence_level, Target.NEW_TASKS) for sample in samples]
    counts = [interval.n for interval in intervals]
    parts = [(interval.standard_error**2, interval.n - 1) for interval in intervals]
    half_width, df = student(sum(variance for variance, _ in parts), parts, confidence_level)
    mean = intervals[0].estimate - intervals[1].estimate
    if abs(mean) <= max(sample.tolerance for sample in samples):
        mean = 0.0
    bounds = bounds_of_difference(a, b, bounds)
    if bounds is not None:
        mean = mean_within(mean, bounds, "difference of a and b")
    return Interval(
        estimate=mean,
        half_width=half_width,
        confidence_level=confidence_level,
        n=sum(counts),
        target=Target.NEW_TASKS,
        df=df,
        units=min(counts),
        bounds=bounds,
        rarity=_larger_rarity(intervals),
        is_difference=True,
    )


def stratified_interval(
    scores: ArrayLike,
    strata: ArrayLike,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
    *,
    bounds: Bounds = None,
) -> Interval:
    """Interval of a mean over tasks whose variance is taken within strata (Cochran, 1977, chapter 5).

    Parameters
    ----------
    scores : (T,) array_like
        One number per task, or a difference of two methods.
    strata : (T,) array_like
        The stratum of each task, such as the draw that it is from. Strata have their own means, and
        another study would have the same strata. With a stratum of one task, `open_task_interval`.
    confidence_level, bounds
        As for `closed_task_interval`.

    Raises
    ------
    InputError
        As for `closed_task_interval`; another number of strata.

    Examples
    --------
    >>> print(stratified_interval([70.0, 72, 71, 80, 82, 81], [0, 0, 0, 1, 1, 1]))
    76.00 ± 1.13
    """
    values, tolerance = per_task("scores", scores)
    confidence_level = checked_level(confidence_level)
    bounds = declared_bounds(scores, bounds)
    stratum = np.unique(np.asarray(detached(strata)), return_inverse=True)[1].ravel()
    if stratum.size != values.size:
        raise InputError(f"strata must be {values.size} as the scores are, got {stratum.size}")
    counts = np.bincount(stratum)
    if counts.min() < 2:
        return open_task_interval(scores, confidence_level, bounds=bounds)
    means = np.bincount(stratum, values) / counts
    deviations = values - means[stratum]
    deviations[np.abs(deviations) <= tolerance] = 0.0
    variances = np.bincount(stratum, deviations**2) / (counts - 1)
    df = values.size - counts.size
    error = np.sqrt((counts * variances).sum()) / values.size
    return Interval(
        estimate=float(values.mean()),
        half_width=float(student_quantile(df, confidence_level) * error),
        confidence_level=confidence_level,
        n=values.size,
        target=Target.NEW_TASKS,
        df=df,
        bounds=bounds,
    )


def _larger_rarity(samples: list[Interval]) -> Rarity:
    """That of two samples which moves its mean more, for as many units as the smaller one has."""
    fewest = min(sample.n for sample in samples)
    return Rarity(
        unseen=max(sample.rarity.unseen * fewest / sample.n for sample in samples),
        size=max(sample.rarity.size * fewest / sample.n for sample in samples),
    )


class CheckedScores(NamedTuple):
    """Checked values, one per task, and by how much rounding may have put them off."""

    values: Floats
    tolerance: float


def per_task(name: str, values: ArrayLike) -> CheckedScores:
    """One number per task, of at least 2 tasks."""
    numbers = floats(name, values)
    if numbers.size < 2:
        raise InputError(
            f"{name} must have one number for each of at least 2 tasks, got shape {numbers.shape}"
        )
    return CheckedScores(numbers, float(rounding(values, numbers).item()))


def _interval(
    sample: CheckedScores,
    confidence_level: float,
    target: Target,
    bounds: Bounds = None,
    *,
    df: float | None = None,
    is_difference: bool | None = None,
) -> Interval:
    """Student's interval of checked values; they are equal where they spread by rounding alone."""
    values, tolerance = sample
    confidence_level = checked_level(confidence_level)
    tasks = values.size
    df = tasks - 1 if df is None else df
    spread = values.std(ddof=1) if np.ptp(values) > 2 * tolerance else 0.0
    half_width = student_quantile(df, confidence_level) * spread / np.sqrt(tasks)
    if bounds is not None:
        slack = ROUNDING_SHARE * (bounds[1] - bounds[0])
        if values.min() < bounds[0] - slack or values.max() > bounds[1] + slack:
            subject = "differences of a and b" if is_difference else "scores"
            raise InputError(
                f"{subject} must be within bounds = {shown(bounds)}, got {values.min():g} to "
                f"{values.max():g}"
            )
    return Interval(
        estimate=float(values.mean()),
        half_width=float(half_width),
        confidence_level=confidence_level,
        n=tasks,
        target=target,
        df=df,
        bounds=bounds,
        rarity=rarity_of(values, 2 * tolerance),
        is_difference=is_difference,
    )
