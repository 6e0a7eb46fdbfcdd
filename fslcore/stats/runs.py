"""Intervals that apply to training again: of new runs, alone and with new images or new classes.

A *run* is one training of a recipe: another seed starts from other weights and sees its batches in
another order. Every other interval here holds for the networks that were tested. With R runs on the
same tasks the runs are a second sample, crossed with that of tasks, images or classes, and
variances of crossed samples add up: of the runs, plus of the images, minus what is in both, the
part of an image's change that differs from run to run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite, isinf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ..errors import InputError, flag, floats, instance
from .image_intervals import ROUNDING, TaskDesign, ThreeIntervals, checked_design, intervals_on
from .intervals import (
    DEFAULT_CONFIDENCE_LEVEL,
    Bounds,
    Floats,
    Interval,
    bounds_of_difference,
    chance_of_equal,
    checked_level,
    joint_text,
    student,
    student_quantile,
)
from .planning import check_nonzero, check_power, smallest
from .rare import rarity_of
from .targets import IMAGE_TARGETS, Target
from .task_intervals import paired_differences, rounding

NODES = 50  # quantiles over which a variance is averaged
MOST_RUNS = 10**6
WITH_NEW_RUNS = {  # what an interval for these runs applies to if the runs are new too
    Target.NEW_TASKS: Target.NEW_RUNS,
    Target.THESE_IMAGES: Target.NEW_RUNS,
    Target.NEW_IMAGES: Target.NEW_RUNS_AND_IMAGES,
    Target.NEW_CLASSES: Target.NEW_RUNS_AND_CLASSES,
}


@dataclass(frozen=True)
class NewRuns:
    """A mean over runs, or a difference of two, with what it shows about new runs; see `new_run_interval` and
    `new_run_intervals`.

    Attributes
    ----------
    interval : Interval
        For new runs: the mean over all runs that the recipe could give. Its target is 'new runs';
        of `new_run_intervals` also 'new runs and images' and 'new runs and classes'.
    fixed : Interval
        For these runs alone: the usual interval of the mean over them. Its target is 'new tasks';
        of `new_run_intervals` that of the test set.
    n_runs : tuple of int
        Runs of the method, or of the two.
    run_variance : float
        Variance of one run's mean from training again, in squared units of the input; for a
        difference that of one run of each.
    rest_variance : float
        Variance from the tasks, images or classes that all runs share: more runs do not lower it.
    interaction_variance : float
        Variance of one run's mean from what tasks, images or classes change in this run only. With
        R runs the mean has the variance (run + interaction) / R + rest. Estimates below 0 are 0.
    run_deviations : tuple of float
        Standard deviation of the runs' means, of the method or of the two (of the differences,
        where runs are paired).
    rest_df : float
        Degrees of freedom of the rest.
    """

    interval: Interval
    fixed: Interval
    n_runs: tuple[int, ...]
    run_variance: float
    rest_variance: float
    interaction_variance: float
    run_deviations: tuple[float, ...]
    rest_df: float

    @property
    def prediction_half_width(self) -> float:
        """Half-width of a prediction: where one more run (or one of each, compared) would come out
        on the same test.

        More runs or tasks narrow it little: it is the spread of the runs.
        """
        variance = sum(s**2 * (1 + 1 / n) for s, n in zip(self.run_deviations, self.n_runs))
        return student_quantile(self._run_df, self.interval.confidence_level) * sqrt(variance)

    @property
    def _run_df(self) -> float:
        """Satterthwaite's degrees of freedom of the sum of squared deviations."""
        squares = [s**2 for s in self.run_deviations]
        scatter = sum(s**2 / (n - 1) for s, n in zip(squares, self.n_runs))
        return sum(squares) ** 2 / scatter if scatter > 0 else float(min(self.n_runs) - 1)

    def __str__(self) -> str:
        return joint_text({"these runs": self.fixed, "new runs": self.interval})


@dataclass(frozen=True)
class RunIntervals:
    """What `new_run_intervals` returns: a mean over runs, for three test sets, for these runs and for
    new ones.

    Attributes
    ----------
    closed, images, classes : NewRuns
        On these images, new images, new classes: ``fixed`` is that of `three_intervals` for these
        runs, ``interval`` holds for new runs too. That of a target is never wider than that of the
        next, which holds for it too.
    """

    closed: NewRuns
    images: NewRuns
    classes: NewRuns

    @property
    def by_target(self) -> dict[Target, NewRuns]:
        """The same by the test set (`IMAGE_TARGETS`)."""
        return dict(zip(IMAGE_TARGETS, (self.closed, self.images, self.classes), strict=True))

    def __str__(self) -> str:
        intervals = {target: runs.interval for target, runs in self.by_target.items()}
        return joint_text(intervals, after_mean=" with new runs")


def new_run_interval(
    a: ArrayLike,
    b: ArrayLike | None = None,
    *,
    paired: bool = False,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
    bounds: Bounds = None,
) -> NewRuns:
    """The interval of a method's mean accuracy, or of the difference of two methods, for new
    training runs.

    Parameters
    ----------
    a : (R, T) array_like
        Accuracy of each of R ≥ 2 runs on each of T ≥ 2 tasks, the same for every run, in any unit.
        Tasks that share no image make it apply to new runs on new images, tasks drawn with reuse of
        images (closed) of new runs on these.
    b : (S, T) array_like, optional
        Accuracies of a second method on these tasks: the result is of the difference, the first
        minus this one.
    paired : bool
        Run r of one goes with run r of the other, since something is the same for both, such as the
        weights that they start from: what varies is their difference. An equal number as seed pairs
        nothing unless it makes that equal.
    confidence_level : float
        Nominal coverage, between 0 and 1.
    bounds : (float, float), optional
        Least and largest possible value, as for `three_intervals`: (-100, 100) for a difference in
        percent. They are needed where nothing varies.

    Returns
    -------
    NewRuns

    Raises
    ------
    InputError
        Fewer than 2 runs or tasks, other shapes, NaN, other tasks or (paired) another number of
        runs for ``b``, ``paired`` without it, a level outside (0, 1).

    Notes
    -----
    With runs and tasks crossed, the variance of the mean over all is estimated by (MS_runs +
    MS_tasks - MS_residual) / (RT), from the mean squares of the two-way analysis of variance
    (Searle, Casella and McCulloch, 1992, chapter 4), and never by less than either alone. Quantiles
    are Student's with Satterthwaite's degrees of freedom: R - 1 where runs matter most. With two
    runs the interval is never narrower than Student's of their means alone: in simulations that
    raised the coverage for two runs from 87 to 97 %, and from 80 to 92 % where the means of runs
    are skewed. With three runs of skewed means it stays at 89 %. For two methods that share only
    tasks, each has a variance of runs (Welch).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(2)
    >>> tasks = rng.normal(0, 8, 300)
    >>> runs = 70 + rng.normal(0, 2, (5, 1)) + tasks + rng.normal(0, 3, (5, 300))
    >>> print(new_run_interval(runs))
    70.75 ± 0.94 (these runs), ± 2.50 (new runs)
    """
    confidence_level = checked_level(confidence_level)
    paired = flag("paired", paired)
    methods = _validated_runs(2, a, b, paired=paired)
    means = [runs.mean(axis=0) for runs in methods]
    by_task = paired_differences(*means) if len(means) > 1 else means[0]
    tasks = len(by_task)
    df = tasks - 1
    shared = by_task.var(ddof=1) / tasks
    fixed = Interval(
        estimate=float(by_task.mean()),
        half_width=student_quantile(df, confidence_level) * sqrt(shared),
        confidence_level=confidence_level,
        n=tasks,
        target=Target.NEW_TASKS,
        df=df,
        bounds=bounds_of_difference(a, b, bounds),
        rarity=rarity_of(by_task, ROUNDING * np.abs(by_task).max()),
        is_difference=None if b is None else True,
    )
    interactions = [
        ((runs - mean).var(axis=1, ddof=1) / tasks).sum() / (len(runs) - 1)
        for runs, mean in zip(methods, means)
    ]
    return _new_runs(fixed, shared, df, [runs.mean(axis=1) for runs in methods], interactions)


def new_run_intervals(
    a: ArrayLike,
    support: ArrayLike,
    query: ArrayLike,
    labels: ArrayLike,
    *,
    b: ArrayLike | None = None,
    paired: bool = False,
    groups: ArrayLike | None = None,
    class_groups: ArrayLike | None = None,
    transductive: bool = False,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
    bounds: Bounds = None,
) -> RunIntervals:
    """Intervals for new runs on these images, on new images and on new classes, of a method or of a
    difference.

    Parameters
    ----------
    a : (R, T, K·Q) array_like
        As for `three_intervals`, for each of R ≥ 2 runs on the same tasks.
    support, query, labels, groups, class_groups, transductive
        As for `three_intervals`.
    b : (S, T, K·Q) array_like, optional
        The same of a second method: the result is of the difference, the first minus this one.
    paired, confidence_level, bounds : bool, float, (float, float)
        As for `new_run_interval`.

    Returns
    -------
    RunIntervals

    Raises
    ------
    InputError
        As for `three_intervals` and `new_run_interval`.

    Notes
    -----
    The jackknife variance from images, of the mean over runs, is I + J/R, with I what images change
    in all runs alike and J what they change in one run alone. The variance of the R means, divided
    by R, holds J/R too. So the total is the sum of the two less J/R, as for crossed random effects
    (`Owen, 2007 <https://doi.org/10.1214/07-AOAS122>`_). J follows from single runs: their
    variances add up to R times that of their mean, and R - 1 times J.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(8).repeat(12)
    >>> def task():
    ...     return [rng.permutation(12)[:4] + 12 * c for c in rng.permutation(8)[:5]]
    >>> images = np.array([task() for _ in range(400)])
    >>> query = images[..., 1:].reshape(400, 15)
    >>> run = rng.normal(0, 0.02, (4, 1, 1))
    >>> right = rng.random((4, 400, 15)) < 0.5 + 0.4 * (labels[query] > 3) + run
    >>> print(new_run_intervals(100 * right, images[..., 0], query, labels))
    70.39 with new runs ± 2.16 (these images), ± 2.20 (new images), ± 20.09 (new classes)
    """
    confidence_level = checked_level(confidence_level)
    paired = flag("paired", paired)
    methods = _validated_runs(3, a, b, paired=paired)
    design = checked_design(
        methods[0][0],
        support,
        query,
        labels,
        groups=groups,
        class_groups=class_groups,
        transductive=transductive,
    )
    return _on_design(
        design,
        methods,
        confidence_level=confidence_level,
        bounds=bounds_of_difference(a, b, bounds),
        is_difference=None if b is None else True,
    )


def _on_design(
    design: TaskDesign,
    methods: list[Floats],
    *,
    confidence_level: float,
    bounds: Bounds,
    is_difference: bool | None,
) -> RunIntervals:
    """`new_run_intervals` of checked runs (R, T, K·Q) of one method or two."""
    intervals = partial(intervals_on, design, confidence_level=confidence_level)
    means = [runs.mean(axis=0) for runs in methods]
    difference = means[0] - means[1] if len(means) > 1 else means[0]
    fixed = intervals(difference, bounds=bounds, is_difference=is_difference)
    of_methods = [
        _OneMethod(intervals(mean), list(map(intervals, runs)), runs.mean(axis=(1, 2)))
        for mean, runs in zip(means, methods)
    ]
    classes = _new_runs_on(Target.NEW_CLASSES, fixed, of_methods)
    images = _no_wider(_new_runs_on(Target.NEW_IMAGES, fixed, of_methods), classes)
    closed = _no_wider(_new_runs_on(Target.THESE_IMAGES, fixed, of_methods), images)
    return RunIntervals(closed, images, classes)


def _new_runs_on(target: Target, fixed: ThreeIntervals, methods: list[_OneMethod]) -> NewRuns:
    """Of one target, from the intervals for these runs."""
    interval = fixed.by_target[target]
    shared = interval.standard_error**2 if isfinite(interval.half_width) else inf
    interactions = [method.interaction(target) for method in methods]
    means = [method.run_means for method in methods]
    return _new_runs(interval, shared, interval.df, means, interactions)


def _no_wider(runs: NewRuns, larger: NewRuns) -> NewRuns:
    """With the interval for a larger target where that is narrower, as its degrees of freedom may
    make it.
    """
    interval = min(runs.interval, larger.interval, key=lambda r: r.half_width)
    return replace(runs, interval=replace(interval, target=runs.interval.target))


class _OneMethod(NamedTuple):
    """Intervals of the mean over the runs of a method, and of each run; the means of the runs."""

    mean: ThreeIntervals
    runs: list[ThreeIntervals]
    run_means: Floats

    def interaction(self, target: Target) -> float:
        """Variance from what tasks, images or classes change in one run alone."""
        total = sum(_variance(run, target) for run in self.runs)
        return (total - len(self.runs) * _variance(self.mean, target)) / (len(self.runs) - 1)


def _variance(intervals: ThreeIntervals, target: Target) -> float:
    """Variance of the mean for a target, with the noise of the tasks; 0 where it is not known."""
    added = {
        Target.NEW_IMAGES: intervals.image_variance,
        Target.NEW_CLASSES: intervals.class_variance,
    }
    variance = added.get(target, 0.0)
    return intervals.sampling_variance + (variance if isfinite(variance) else 0.0)


def _validated_runs(ndim: int, a: ArrayLike, b: ArrayLike | None, *, paired: bool) -> list[Floats]:
    """One or two checked arrays of runs; of paired runs their differences."""
    x = _checked_runs(ndim, "a", a)
    if b is None:
        if paired:
            raise InputError("paired must be False without b, whose runs go with those of a")
        return [x]
    y = _checked_runs(ndim, "b", b)
    if x.shape[1:] != y.shape[1:]:
        raise InputError(
            f"a and b must have the same tasks, got shapes {x.shape[1:]} and {y.shape[1:]}"
        )
    if not paired:
        return [x, y]
    if len(x) != len(y):
        raise InputError(f"paired runs must be as many, got {len(x)} of a and {len(y)} of b")
    atol = _rounding((a, x), (b, y))
    return [paired_differences(x.ravel(), y.ravel(), atol=atol).reshape(x.shape)]


def _checked_runs(ndim: int, name: str, values: ArrayLike) -> Floats:
    runs = floats(name, values, ndim)
    if len(runs) < 2:
        raise InputError(f"{name} must have at least 2 runs, to estimate new ones, got {len(runs)}")
    if ndim > 1 and (0 in runs.shape or runs.shape[1] < 2):
        raise InputError(f"{name} must have runs with at least 2 tasks, got shape {runs.shape}")
    return runs


def _new_runs(
    fixed: Interval, shared: float, df: float, means: list[Floats], interactions: list[float]
) -> NewRuns:
    """From the interval for these runs with its variance, the means of the runs, and the variances
    in single runs.
    """
    counts = np.array([len(run_means) for run_means in means])
    variances = np.array([_run_variance(run_means) for run_means in means])
    by_one_run = np.clip(interactions, 0.0, variances)
    by_runs = float((variances / counts).sum())
    parts = [*zip((variances / counts).tolist(), (counts - 1).tolist())]
    common = max(shared - float((by_one_run / counts).sum()), 0.0)
    width = student(max(by_runs + common, shared), [*parts, (shared, df)], fixed.confidence_level)
    if counts.min() == 2:  # they may be alike by chance, and then seem to matter little
        width = max(width, student(by_runs, parts, fixed.confidence_level))
    # The units are those that gave equal means, where nothing varies.
    interval = replace(
        fixed,
        half_width=width[0],
        target=WITH_NEW_RUNS[fixed.target],
        df=width[1],
        units=int(counts.min()),
        classes=None,
        rarity=fixed.rarity.for_other_units,
    )
    return NewRuns(
        interval=interval,
        fixed=fixed,
        n_runs=tuple(counts.tolist()),
        run_variance=float(variances.sum() - by_one_run.sum()),
        rest_variance=float(common),
        interaction_variance=float(by_one_run.sum()),
        run_deviations=tuple(np.sqrt(variances).tolist()),
        rest_df=float(df),
    )


def _run_variance(means: Floats) -> float:
    """Variance of the means of runs; 0 where they differ by rounding alone."""
    return 0.0 if np.ptp(means) <= 1e-12 * np.abs(means).max() else float(means.var(ddof=1))


def probability_of_improvement(
    a: ArrayLike,
    b: ArrayLike,
    *,
    paired: bool = False,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
) -> Interval:
    """How often one run of a method comes out above one run of another, on the same test.

    A difference of the means over runs may be significant and yet small against the spread of the
    runs: training each method once then often gives the wrong order. Runs that tie count as half of
    each order.

    Parameters
    ----------
    a, b : (R,) and (S,) array_like
        Mean accuracy of each run of the two methods, in one unit; at least 2 of each.
    paired : bool
        As for `new_run_interval`: then it is one more pair of runs that is asked about.
    confidence_level : float
        Nominal coverage of the interval.

    Returns
    -------
    Interval
        Its ``mean`` is the share of all R·S pairs of runs (of the R pairs, if ``paired``) in which the
        first method's run is the higher; ``n`` is the smaller number of runs.

    Raises
    ------
    InputError
        Fewer than 2 runs, other shapes, NaN, paired runs of different numbers, a level outside (0,
        1).

    Notes
    -----
    The interval assumes that runs are independent, and nothing of how they are distributed. It is
    that of Clopper and Pearson (1934) for a number of independent pairs. This is at least that of
    the runs of the method with fewer: the share of all pairs is the mean of such shares over all
    ways to form these pairs, so it varies no more than one of them (`Hoeffding, 1963
    <https://doi.org/10.1080/01621459.1963.10500830>`_, section 5), and as much where one method has
    runs of two kinds, say some that collapse, and the other's lie between. Where the runs show that
    it varies less, it is the number of pairs whose share has the estimated variance (`DeLong,
    DeLong and Clarke-Pearson, 1988 <https://doi.org/10.2307/2531595>`_), and at most 3RS/(R + S +
    1), which is that of equal distributions (Mann and Whitney, 1947). No interval excludes what it
    holds where all pairs agree, as few runs may all be of one kind. In 70 simulated settings, 3 to
    30 runs of each that are normal, collapse, are of two kinds or tie, 95 to 100 % of intervals at
    95 % hold the probability.

    At 95 % it reaches from 16 % to 100 % where all pairs of 2 runs agree, from 48 % with 5 and from
    54 % with 6: with fewer than 6 runs of each it never excludes a half. `new_run_interval` is the more
    powerful test of the means.

    Examples
    --------
    >>> found = probability_of_improvement([61.2, 63.0, 62.1, 60.4, 62.5], [59.8, 61.9, 60.1, 60.9, 59.0])
    >>> print(f"{found:.0%}")
    88% (44% to 100%)
    """
    confidence_level = checked_level(confidence_level)
    paired = flag("paired", paired)
    methods = _validated_runs(1, a, () if b is None else b, paired=paired)
    if paired:
        value = float((1 + np.sign(methods[0])).mean()) / 2
        pairs = float(len(methods[0]))
    else:
        x, y = methods
        tolerance = _rounding((a, x), (b, y))
        above = _shares_below(x, y, tolerance)
        value = float(above.mean())
        pairs = _independent_pairs(value, above, 1 - _shares_below(y, x, tolerance))
    higher = pairs * value
    lower = pairs * (1 - value)
    low = (
        float(stats.beta.ppf((1 - confidence_level) / 2, higher, lower + 1)) if higher > 0 else 0.0
    )
    high = (
        float(stats.beta.ppf((1 + confidence_level) / 2, higher + 1, lower)) if lower > 0 else 1.0
    )
    # A few runs may by chance be all of one kind, and then nearly agree.
    fewest = min(map(len, methods))
    agreeing = ((1 - confidence_level) / 2) ** (1 / fewest)
    return Interval.from_ends(
        estimate=value,
        low=min(low, agreeing),
        high=max(high, 1 - agreeing),
        confidence_level=confidence_level,
        n=fewest,
        target=Target.NEW_RUNS,
        is_difference=False,
    )


def _shares_below(runs: Floats, others: Floats, tolerance: float) -> Floats:
    """Share of the other runs that is below each run; those that tie count as half."""
    ordered = np.sort(others)  # a table of all pairs would be large
    below = np.searchsorted(ordered, runs - tolerance)
    not_above = np.searchsorted(ordered, runs + tolerance, "right")
    shares: Floats = (below + not_above) / (2.0 * len(others))
    return shares


def _independent_pairs(value: float, above: Floats, below: Floats) -> float:
    """How many independent pairs of runs tell as much as all; see `probability_of_improvement`.

    ``above`` and ``below`` are of each run of the first and of the second method: the share of the
    other's runs over which the first method wins.
    """
    r, s = len(above), len(below)
    fewest = float(min(r, s))
    if value in (0.0, 1.0):  # pairs that all agree do not show how they vary
        return fewest
    variance = above.var(ddof=1) / r + below.var(ddof=1) / s
    largest = 3 * r * s / (r + s + 1)
    if variance == 0:
        return max(largest, fewest)
    return float(max(min(value * (1 - value) / variance, largest), fewest))


def _rounding(*methods: tuple[ArrayLike, Floats]) -> float:
    """By how much values, each with their checked array, may be off from having been rounded."""
    return max(rounding(*pair, axis=None).item() for pair in methods)


@dataclass(frozen=True)
class RunPlan:
    """Runs of each method that a comparison takes; see `plan_runs`.

    Attributes
    ----------
    n_runs : int or None
        For the wanted power, averaged over what the pilot leaves open of the spread of the runs;
        None where no number of runs has it, since the tasks or images are too few.
    runs_range : (2,) tuple of int or None
        The same for the least and the largest spread that the pilot allows for.
    """

    n_runs: int | None
    runs_range: tuple[int | None, int | None]


def plan_runs(
    pilot: NewRuns,
    *,
    difference: float,
    target_power: float = 0.8,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
) -> RunPlan:
    """How many runs of each of two methods tell a true difference, for new runs.

    Parameters
    ----------
    pilot : NewRuns
        Of a difference, from the first runs of both: that for the test set meant (`new_run_interval` on
        these tasks; ``new_run_intervals(…).images`` where images are to be new too).
    difference : float
        The true difference one wants to tell from 0, in the unit of the pilot.
    target_power, confidence_level : float
        As for `fslcore.stats.plan_sample_size`.

    Returns
    -------
    RunPlan

    Raises
    ------
    InputError
        A pilot of another class, a difference of 0, a ``target_power`` not between 1 - confidence_level and 1.

    Notes
    -----
    A few runs say little of their spread: the true variance may be a multiple of theirs. So the
    power is averaged over the scaled inverse χ² distribution that the pilot's degrees of freedom
    give, and ``runs_range`` is for its quantiles at ``confidence_level``. What tasks or images add is
    not lowered by runs.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = rng.normal(0, 8, 300)
    >>> a, b = (70 + rng.normal(0, 2, (5, 1)) + tasks + rng.normal(0, 3, (5, 300)) for _ in "ab")
    >>> plan_runs(new_run_interval(a, b), difference=2)
    RunPlan(n_runs=8, runs_range=(4, 24))
    """
    instance("pilot", pilot, NewRuns)
    check_nonzero(difference)
    check_power(target_power, confidence_level)
    if isinf(pilot.rest_variance):
        return RunPlan(None, (None, None))
    variance = sum(s**2 for s in pilot.run_deviations)
    df = pilot._run_df

    def needed(variances: Floats) -> int | None:
        return smallest(
            lambda n: (
                _power_of_runs(variances, n, pilot, difference, confidence_level).mean()
                >= target_power
            ),
            2,
            MOST_RUNS,
        )

    low, high = (
        needed(np.array([df * variance / stats.chi2.ppf(q, df)]))
        for q in ((1 + confidence_level) / 2, (1 - confidence_level) / 2)
    )
    return RunPlan(needed(df * variance / _chi2_nodes(df)), (low, high))


def _power_of_runs(
    variances: Floats, n: int, pilot: NewRuns, difference: float, confidence_level: float
) -> Floats:
    """`fslcore.stats.power` of n runs for each of many variances of one run: an integral over the
    estimated error.
    """
    by_runs = variances / n
    total = by_runs + pilot.rest_variance
    if (total == 0).any():
        bounds = pilot.interval.bounds  # without any variance, they decide
        p_value = 2 * chance_of_equal(difference, 0.0, bounds, n) if bounds else 1.0
        return np.full(len(variances), float(p_value < 1 - confidence_level))
    rest = pilot.rest_variance**2 / pilot.rest_df
    df = total**2 / (by_runs**2 / (len(pilot.run_deviations) * (n - 1)) + rest)
    df = np.maximum(df, 1.0)[:, None]
    limit = stats.t.ppf((1 + confidence_level) / 2, df) * np.sqrt(_chi2_nodes(df) / df)
    shift = abs(difference) / np.sqrt(total)[:, None]
    power = stats.norm.sf(limit - shift) + stats.norm.cdf(-limit - shift)
    return power.mean(axis=1)


def _chi2_nodes(df: float | Floats) -> Floats:
    """Quantiles of the χ² distribution in the middle of equal parts."""
    middles = (np.arange(NODES) + 0.5) / NODES
    return stats.chi2.ppf(middles, np.minimum(df, 1e9))
