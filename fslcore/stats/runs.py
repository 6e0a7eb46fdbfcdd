"""Intervals that apply to training again: of new runs, alone and with new images or new classes.

A *run* is one training of a recipe: another seed starts from other weights and sees its batches in another order.
Every other interval here holds for the networks that were tested. With R runs on the same tasks the runs are a
second sample, crossed with that of tasks, images or classes, and variances of crossed samples add up: of the runs, plus
of the images, minus what is in both, the part of an image's change that differs from run to run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ..errors import InputError, flag, floats, instance, number
from .intervals import (
    LEVEL,
    Bounds,
    Floats,
    Interval,
    bounds_of_difference,
    chance_of_equal,
    declared_bounds,
    paired_differences,
    rounding,
)
from .power import check_power, smallest
from .three_intervals import ThreeIntervals, checked_design, intervals_on

__all__ = ["Chance", "NewRuns", "RunIntervals", "RunPlan", "chance_better", "new_runs", "plan_runs", "run_intervals"]

NODES = 50  # quantiles over which a variance is averaged
MOST_RUNS = 10**6


@dataclass(frozen=True)
class NewRuns:
    """A mean over runs, or a difference of two, with what it says of new runs; see `new_runs` and `run_intervals`.

    Attributes
    ----------
    interval : Interval
        Speaks of new runs: of the mean over all runs that the recipe could give. Its kind is 'runs'.
    fixed : Interval
        Speaks of these very runs: the usual interval, of the mean over them.
    n_runs : tuple of int
        Runs of the method, or of the two.
    run_variance : float
        Variance of one run's mean from training again, in squared units of the input; for a difference that of one run
        of each.
    rest_variance : float
        Variance from the tasks, images or classes that all runs share: more runs do not lower it.
    interaction_variance : float
        Variance of one run's mean from what tasks, images or classes change in this run only. With R runs the mean has
        the variance (run + interaction) / R + rest. Estimates below 0 are 0.
    spreads : tuple of float
        Standard deviation of the runs' means, of the method or of the two (of the differences, where runs are paired).
    rest_df : float
        Degrees of freedom of the rest.
    """

    interval: Interval
    fixed: Interval
    n_runs: tuple[int, ...]
    run_variance: float
    rest_variance: float
    interaction_variance: float
    spreads: tuple[float, ...]
    rest_df: float = np.inf

    @property
    def another(self) -> float:
        """Half-width of a prediction: where one more run (or one of each, compared) would come out on the same test.

        More runs or tasks narrow it little: it is the spread of the runs.
        """
        one_more = sum(s**2 * (1 + 1 / n) for s, n in zip(self.spreads, self.n_runs, strict=True))
        return float(stats.t.ppf((1 + self.interval.level) / 2, _df_of_spreads(self)) * math.sqrt(one_more))

    def __str__(self) -> str:
        return f"{self.fixed} (these runs), ± {self.interval.half_width:.2f} (new runs)"


@dataclass(frozen=True)
class RunIntervals:
    """What `run_intervals` returns: a mean over runs, for three test sets, for these runs and for new ones.

    Attributes
    ----------
    closed, images, classes : NewRuns
        On these images, new images, new classes: ``fixed`` is that of `three_intervals` for these runs,
        ``interval`` holds for new runs too. That of a target is never wider than that of the next, which holds for it
        too.
    """

    closed: NewRuns
    images: NewRuns
    classes: NewRuns

    def __str__(self) -> str:
        named = {"these images": self.closed, "new images": self.images, "new classes": self.classes}
        mean = f"{self.closed.interval.mean:.2f}"
        return f"{mean} with new runs " + ", ".join(f"± {r.interval.half_width:.2f} ({n})" for n, r in named.items())


def new_runs(
    accuracies: ArrayLike,
    other: ArrayLike | None = None,
    *,
    paired: bool = False,
    level: float = LEVEL,
    bounds: Bounds = None,
) -> NewRuns:
    """The interval of a method's mean accuracy, or of the difference of two methods, for new training runs.

    Parameters
    ----------
    accuracies : (R, T) array_like
        Accuracy of each of R ≥ 2 runs on each of T ≥ 2 tasks, the same for every run, in any unit. Tasks that share no
        image make it apply to new runs on new images, tasks drawn with reuse of images (closed) of new runs on these.
    other : (S, T) array_like, optional
        Accuracies of a second method on these tasks: the result is of the difference, the first minus this one.
    paired : bool
        Run r of one goes with run r of the other, since something is the same for both, such as the weights that they
        start from: what varies is their difference. An equal number as seed pairs nothing unless it makes that equal.
    level : float
        Nominal coverage, between 0 and 1.
    bounds : (float, float), optional
        Least and largest possible value, as for `three_intervals`: (-100, 100) for a difference in percent. They are
        needed where nothing varies.

    Returns
    -------
    NewRuns

    Raises
    ------
    InputError
        Fewer than 2 runs or tasks, other shapes, NaN, other tasks or (paired) another number of runs for ``other``,
        ``paired`` without it, a level outside (0, 1).

    Notes
    -----
    With runs and tasks crossed, the variance of the mean over all is estimated by (MS_runs + MS_tasks - MS_residual) /
    (RT), from the mean squares of the two-way analysis of variance (Searle, Casella and McCulloch, 1992, chapter 4),
    and never by less than either alone. Quantiles are Student's with Satterthwaite's degrees of freedom: R - 1 where
    runs matter most. With two runs the interval is never narrower than Student's of their means alone: in simulations
    that raised the coverage for two runs from 87 to 97 %, and from 80 to 92 % where the means of runs are skewed. With
    three runs of skewed means it stays at 89 %. For two methods that share only tasks, each has a variance of runs
    (Welch).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(2)
    >>> tasks = rng.normal(0, 8, 300)
    >>> runs = 70 + rng.normal(0, 2, (5, 1)) + tasks + rng.normal(0, 3, (5, 300))
    >>> print(new_runs(runs))
    70.75 ± 0.94 (these runs), ± 2.50 (new runs)
    """
    level, paired = number("level", level, above=0, below=1), flag("paired", paired)
    methods = _methods(2, "accuracies", accuracies, other, paired=paired)
    means = [x.mean(axis=0) for x in methods]
    of_tasks = paired_differences(*means) if len(means) > 1 else means[0]
    tasks = len(of_tasks)
    shared = of_tasks.var(ddof=1) / tasks
    half = stats.t.ppf((1 + level) / 2, tasks - 1) * math.sqrt(shared)
    bounds = _declared(accuracies, other, bounds)
    fixed = Interval(float(of_tasks.mean()), float(half), level, tasks, "runs", tasks - 1, bounds=bounds)
    own = [((x - m).var(axis=1, ddof=1) / tasks).sum() / (len(x) - 1) for x, m in zip(methods, means, strict=True)]
    return _assembled(fixed, shared, tasks - 1, [x.mean(axis=1) for x in methods], own)


def run_intervals(
    values: ArrayLike,
    support: ArrayLike,
    query: ArrayLike,
    labels: ArrayLike,
    *,
    other: ArrayLike | None = None,
    paired: bool = False,
    groups: ArrayLike | None = None,
    class_groups: ArrayLike | None = None,
    transductive: bool = False,
    level: float = LEVEL,
    bounds: Bounds = None,
) -> RunIntervals:
    """Intervals for new runs on these images, on new images and on new classes, of a method or of a difference.

    Parameters
    ----------
    values : (R, T, K·Q) array_like
        As for `three_intervals`, for each of R ≥ 2 runs on the same tasks.
    support, query, labels, groups, class_groups, transductive
        As for `three_intervals`.
    other : (S, T, K·Q) array_like, optional
        The same of a second method: the result is of the difference, the first minus this one.
    paired, level, bounds : bool, float, (float, float)
        As for `new_runs`.

    Returns
    -------
    RunIntervals

    Raises
    ------
    InputError
        As for `three_intervals` and `new_runs`.

    Notes
    -----
    The jackknife variance from images, of the mean over runs, is I + J/R, with I what images change in all runs alike
    and J what they change in one run alone. The variance of the R means, divided by R, holds J/R too. So the total is
    the sum of the two less J/R, as for crossed random effects (`Owen, 2007 <https://doi.org/10.1214/07-AOAS122>`_).
    J follows from single runs: their variances add up to R times that of their mean, and R - 1 times J.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(8).repeat(12)
    >>> images = np.array([[rng.permutation(12)[:4] + 12 * c for c in rng.permutation(8)[:5]] for _ in range(400)])
    >>> query = images[..., 1:].reshape(400, 15)
    >>> run = rng.normal(0, 0.02, (4, 1, 1))
    >>> right = rng.random((4, 400, 15)) < 0.5 + 0.4 * (labels[query] > 3) + run
    >>> print(run_intervals(100 * right, images[..., 0], query, labels))
    70.39 with new runs ± 2.16 (these images), ± 2.20 (new images), ± 20.09 (new classes)
    """
    level, paired = number("level", level, above=0, below=1), flag("paired", paired)
    methods = _methods(3, "values", values, other, paired=paired)
    means = [x.mean(axis=0) for x in methods]
    design = checked_design(
        means[0],
        support,
        query,
        labels,
        groups=groups,
        class_groups=class_groups,
        transductive=transductive,
    )
    difference = means[0] - means[1] if len(means) > 1 else means[0]
    intervals = partial(intervals_on, design, level=level)
    fixed = intervals(difference, bounds=_declared(values, other, bounds))
    each = [(intervals(mean), [*map(intervals, runs)]) for mean, runs in zip(means, methods, strict=True)]
    over_runs = [x.mean(axis=(1, 2)) for x in methods]

    def target(kind: str) -> NewRuns:
        own = [
            (sum(_variance(run, kind) for run in runs) - len(runs) * _variance(mean, kind)) / (len(runs) - 1)
            for mean, runs in each
        ]
        of = getattr(fixed, kind)
        shared = of.standard_error**2 if math.isfinite(of.half_width) else math.inf
        return _assembled(of, shared, of.df, over_runs, own)

    closed, images, classes = map(target, ("closed", "images", "classes"))
    images = _no_wider(images, classes)
    return RunIntervals(_no_wider(closed, images), images, classes)


def _no_wider(found: NewRuns, beyond: NewRuns) -> NewRuns:
    """With the interval for a target beyond its own where that is narrower, as it may be by its degrees of freedom."""
    return replace(found, interval=min(found.interval, beyond.interval, key=lambda r: r.half_width))


def _variance(found: ThreeIntervals, kind: str) -> float:
    """Of the mean for a target, with the noise of the tasks; 0 where it is not known."""
    beyond = {"closed": 0.0, "images": found.image_variance, "classes": found.class_variance}[kind]
    return found.sampling_variance + (beyond if math.isfinite(beyond) else 0.0)


def _methods(ndim: int, name: str, values: ArrayLike, other: ArrayLike | None, *, paired: bool) -> list[Floats]:
    """One or two checked arrays of runs; of paired runs their differences."""
    if other is None and paired:
        raise InputError("paired = True; a second method (other) is needed, whose runs go with those of the first")
    found = [floats(name, values, ndim)] + ([] if other is None else [floats("other", other, ndim)])
    for what, x in zip((name, "other"), found, strict=False):
        if len(x) < 2:
            raise InputError(f"{what} has {len(x)} run; at least 2 are needed, and nothing can be said of new runs")
        if 0 in x.shape or x.shape[1] < 2:
            raise InputError(f"{what} has shape {x.shape}; runs, and at least 2 tasks, are needed")
    if len(found) > 1 and found[0].shape[1:] != found[1].shape[1:]:
        raise InputError(
            f"{name} has tasks of shape {found[0].shape[1:]}, other of {found[1].shape[1:]}; the same tasks are needed"
        )
    if not paired:
        return found
    if len(found[0]) != len(found[1]):
        raise InputError(f"{name} has {len(found[0])} runs, other {len(found[1])}; paired runs are as many")
    return [_paired(values, other, *found)]


def _declared(values: ArrayLike, other: ArrayLike | None, bounds: Bounds) -> Bounds:
    """Bounds of the values of one method, or of the difference of two."""
    return declared_bounds(values, bounds) if other is None else bounds_of_difference(values, other, bounds)


def _paired(a: ArrayLike, b: ArrayLike | None, x: Floats, y: Floats) -> Floats:
    """Differences of the checked numbers x and y, up to the rounding of the types they were given in, as a and b."""
    atol = max(_rounding(given, of) for given, of in ((a, x), (b, y)) if given is not None)
    return paired_differences(x.ravel(), y.ravel(), atol=atol).reshape(x.shape)


def _assembled(fixed: Interval, shared: float, df: float, means: list[Floats], own: list[float]) -> NewRuns:
    """From the interval for these runs with its variance, the means of the runs, and the variances in single runs."""
    n_runs = tuple(map(len, means))
    spreads = [_spread(m) for m in means]
    own = [min(max(j, 0.0), s) for j, s in zip(own, spreads, strict=True)]
    added = [s / n for s, n in zip(spreads, n_runs, strict=True)]
    twice = sum(j / n for j, n in zip(own, n_runs, strict=True))
    run_variance = sum(spreads) - sum(own)
    rest = max(shared - twice, 0.0)
    total = max(sum(added) + rest, shared)
    if math.isinf(total):
        interval = replace(fixed, kind="runs")
    else:
        parts = [(v, n - 1) for v, n in zip(added, n_runs, strict=True)] + [(shared, df)]
        half, df_total = student(total, parts, fixed.level)
        if min(n_runs) == 2:  # they may be alike by chance, and then seem to matter little
            half, df_total = max((half, df_total), student(sum(added), parts[:-1], fixed.level))
        units = min(n_runs)  # that gave equal means, where nothing varies
        interval = Interval(fixed.mean, half, fixed.level, fixed.n_tasks, "runs", df_total, units, fixed.bounds)
    roots = tuple(math.sqrt(s) for s in spreads)
    return NewRuns(interval, fixed, n_runs, float(run_variance), float(rest), float(sum(own)), roots, float(df))


def student(variance: float, parts: list[tuple[float, float]], level: float) -> tuple[float, float]:
    """Half-width, and Satterthwaite's degrees of freedom, from the parts of a variance and their degrees of freedom."""
    spread = sum(v**2 / d for v, d in parts)
    df = max(variance**2 / spread, 1.0) if spread > 0 else math.inf
    return float(stats.t.ppf((1 + level) / 2, df)) * math.sqrt(variance), df


def _spread(means: Floats) -> float:
    """Variance of the means of runs; 0 where they differ by rounding alone."""
    return 0.0 if np.ptp(means) <= 1e-12 * np.abs(means).max() else float(means.var(ddof=1))


def _df_of_spreads(found: NewRuns) -> float:
    """Satterthwaite's degrees of freedom of the sum of squared spreads."""
    squares = [s**2 for s in found.spreads]
    below = sum(s**2 / (n - 1) for s, n in zip(squares, found.n_runs, strict=True))
    return sum(squares) ** 2 / below if below > 0 else float(min(found.n_runs) - 1)


@dataclass(frozen=True)
class Chance:
    """A probability with its interval; see `chance_better`.

    Attributes
    ----------
    value, low, high : float
        From 0 to 1.
    level : float
        Nominal coverage.
    """

    value: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        return f"{self.value:.0%} ({self.low:.0%} to {self.high:.0%})"


def chance_better(a: ArrayLike, b: ArrayLike, *, paired: bool = False, level: float = LEVEL) -> Chance:
    """How often one run of a method comes out above one run of another, on the same test.

    A difference of the means over runs may be sure and yet small against the spread of the runs: then who trains each
    method once finds the wrong order often. Runs that tie count as half of each order.

    Parameters
    ----------
    a, b : (R,) and (S,) array_like
        Mean accuracy of each run of the two methods, in one unit; at least 2 of each.
    paired : bool
        As for `new_runs`: then it is one more pair of runs that is asked about.
    level : float
        Nominal coverage of the interval.

    Returns
    -------
    Chance
        ``value`` is the share of all R·S pairs of runs (of the R pairs, if ``paired``) in which a's is the higher.

    Raises
    ------
    InputError
        Fewer than 2 runs, other shapes, NaN, paired runs of different numbers, a level outside (0, 1).

    Notes
    -----
    The interval assumes that runs are independent, and nothing of how they are distributed. It is that of Clopper and
    Pearson (1934) for as many independent pairs as the method with fewer runs has runs. The share of all pairs is the
    mean of such shares over all ways to form these pairs, so it varies no more than one of them (`Hoeffding, 1963
    <https://doi.org/10.1080/01621459.1963.10500830>`_, section 5), and as much where one method has runs of two kinds,
    say some that collapse, and the other's lie between. For less variable runs the interval is wider than needed.

    At 95 % it reaches from 16 % to 100 % where all pairs of 2 runs agree, from 48 % with 5 and from 54 % with 6: with
    fewer than 6 runs of each it never excludes a half. `new_runs` is the more powerful test of the means.

    Examples
    --------
    >>> print(chance_better([61.2, 63.0, 62.1, 60.4, 62.5], [59.8, 61.9, 60.1, 60.9, 59.0]))
    88% (35% to 100%)
    """
    level, paired = number("level", level, above=0, below=1), flag("paired", paired)
    first, second = floats("a", a), floats("b", b)
    for name, runs in (("a", first), ("b", second)):
        if runs.size < 2:
            raise InputError(f"{name} has {runs.size} runs; at least 2 are needed, and nothing can be said of new runs")
    if paired and len(first) != len(second):
        raise InputError(f"a has {len(first)} runs, b {len(second)}; paired runs are as many")
    tolerance = max(_rounding(a, first), _rounding(b, second))
    if paired:
        differences = first - second
        value = float(np.where(np.abs(differences) <= tolerance, 0.5, differences > 0).mean())
    else:
        ordered = np.sort(second)
        below = np.searchsorted(ordered, first - tolerance, "left")
        not_above = np.searchsorted(ordered, first + tolerance, "right")
        value = float((below + not_above).mean()) / (2 * len(second))
    pairs = min(len(first), len(second))
    higher, lower = pairs * value, pairs * (1 - value)
    low = float(stats.beta.ppf((1 - level) / 2, higher, lower + 1)) if higher > 0 else 0.0
    high = float(stats.beta.ppf((1 + level) / 2, higher + 1, lower)) if lower > 0 else 1.0
    return Chance(value, low, high, level)


def _rounding(given: ArrayLike, accuracies: Floats) -> float:
    """By how much numbers may be off from having been rounded; ``accuracies`` are those given, checked."""
    return float(rounding(given, accuracies, axis=None).item())


@dataclass(frozen=True)
class RunPlan:
    """Runs of each method that a comparison takes; see `plan_runs`.

    Attributes
    ----------
    n_runs : int or None
        For the wanted power, averaged over what the pilot leaves open of the spread of the runs; None where no number
        of runs has it, since the tasks or images are too few.
    low, high : int or None
        The same for the least and the largest spread that the pilot allows for.
    """

    n_runs: int | None
    low: int | None
    high: int | None


def plan_runs(pilot: NewRuns, *, difference: float, power: float = 0.8, level: float = LEVEL) -> RunPlan:
    """How many runs of each of two methods tell a true difference, for new runs.

    Parameters
    ----------
    pilot : NewRuns
        Of a difference, from the first runs of both: that for the test set meant (`new_runs` on these tasks;
        ``run_intervals(…).images`` where images are to be new too).
    difference : float
        The true difference one wants to tell from 0, in the unit of the pilot.
    power, level : float
        As for `fslcore.stats.plan`.

    Returns
    -------
    RunPlan

    Raises
    ------
    InputError
        A pilot of another class, a difference of 0, a power not between 1 - level and 1.

    Notes
    -----
    A few runs say little of their spread: the true variance may be a multiple of theirs. So the power is averaged over
    the scaled inverse χ² distribution that the pilot's degrees of freedom give, and ``low`` and ``high`` are for its
    quantiles at ``level``. What tasks or images add is not lowered by runs.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = rng.normal(0, 8, 300)
    >>> a, b = (70 + rng.normal(0, 2, (5, 1)) + tasks + rng.normal(0, 3, (5, 300)) for _ in "ab")
    >>> plan_runs(new_runs(a, b), difference=2)
    RunPlan(n_runs=8, low=4, high=24)
    """
    instance("pilot", pilot, NewRuns)
    if not abs(number("difference", difference)) > 0:
        raise InputError(f"difference = {difference}; a number other than 0 is allowed")
    check_power(power, level)
    variance, df = sum(s**2 for s in pilot.spreads), _df_of_spreads(pilot)
    if math.isinf(pilot.rest_variance):
        return RunPlan(None, None, None)

    def at(variances: Floats) -> int | None:
        return smallest(lambda n: _power_of_runs(variances, n, pilot, difference, level).mean() >= power, 2, MOST_RUNS)

    nodes = df * variance / _chi2_nodes(df)
    ends = [df * variance / stats.chi2.ppf(q, df) for q in ((1 + level) / 2, (1 - level) / 2)]
    return RunPlan(at(nodes), *(at(np.array([end])) for end in ends))


def _power_of_runs(variances: Floats, n: int, pilot: NewRuns, difference: float, level: float) -> Floats:
    """`fslcore.stats.power` of n runs for each of many variances of one run: an integral over the estimated error."""
    added = variances / n
    total = added + pilot.rest_variance
    if (total == 0).any():
        return np.full(len(variances), float(_decided_by_equal_runs(n, pilot, difference, level)))
    rest = pilot.rest_variance**2 / pilot.rest_df
    df = np.maximum(total**2 / (added**2 / (len(pilot.spreads) * (n - 1)) + rest), 1.0)[:, None]
    limit = stats.t.ppf((1 + level) / 2, df) * np.sqrt(_chi2_nodes(df) / df)
    shift = abs(difference) / np.sqrt(total)[:, None]
    return np.asarray((stats.norm.sf(limit - shift) + stats.norm.cdf(-limit - shift)).mean(axis=1))


def _decided_by_equal_runs(n: int, pilot: NewRuns, difference: float, level: float) -> bool:
    """Whether n runs without any variance tell this difference from 0; never without bounds."""
    bounds = pilot.interval.bounds
    return bounds is not None and bool(2 * chance_of_equal(difference, 0.0, bounds, n) < 1 - level)


def _chi2_nodes(df: float | Floats) -> Floats:
    """Quantiles of the χ² distribution in the middle of equal parts."""
    at = (np.arange(NODES) + 0.5) / NODES
    return np.asarray(stats.chi2.ppf(at, np.minimum(df, 1e9)))
