"""How many queries a task should have, when tasks share no image (OOPS, section 4 and appendix A).

More queries per task make each task's accuracy more exact, and leave images for fewer tasks. The
variance of the mean over all tasks has one minimum in Q, and one pilot run shows where it lies.

A *value* is what a query contributes: 1 if it was classified rightly and 0 if not, or the
difference of two methods on it, which is -1, 0 or 1. All functions treat both alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ..errors import (
    InputError,
    array,
    broadcast,
    check_together,
    choice,
    floats,
    instance,
    labels as checked_labels,
    number,
    quoted,
    whole,
)
from .intervals import (
    DEFAULT_CONFIDENCE_LEVEL,
    Array,
    Bounds,
    Floats,
    Pair,
    checked_level,
    declared_bounds,
)
from .targets import Target
from .task_checks import order_by_class

__all__ = [
    "Moments",
    "Pilot",
    "VarianceModel",
    "estimate_variance",
    "moments",
    "open_task_count",
    "optimal_queries",
]

# What a mean over open tasks applies to; see `estimate_variance`.
TARGETS = (Target.NEW_CLASSES.value, Target.NEW_IMAGES.value)


@dataclass(frozen=True)
class VarianceModel:
    """Variance of the mean over T open tasks, as a function of Q (OOPS, equation 10).

    Var(Ā) = (αQ + β/Q + γ) / ((S + Q) T). With T = NC / (K(S + Q)), tasks until the images are
    used up, that is the paper's K/(NC) · (αQ + β/Q + γ).

    Attributes
    ----------
    alpha : float
        Variance over tasks of a task's expected value: what no number of queries can reduce.
        The paper's m2/K + m3 - m1². As a variance it is never negative; an estimate of it may be.
    beta : float
        S times the variance that the draw of one query per class adds to a task's value.
    gamma : float
        Equal to β/S + Sα where the three come from moments; free in a fit.
    shots : int
        S, labelled images per class.
    """

    alpha: float
    beta: float
    gamma: float
    shots: int

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma"):
            number(name, getattr(self, name))
        whole("shots", self.shots, minimum=1)

    @property
    def optimum(self) -> float:
        """Q* = √(β/α), in queries per class.

        Infinite where α ≤ 0: then a task's expected value does not vary, and each further query
        helps. 0 where β ≤ 0 < α: one query tells all. NaN where nothing varies.
        """
        if self.alpha > 0:
            return float(np.sqrt(max(self.beta, 0) / self.alpha))
        return inf if self.beta > 0 else nan

    def variance(self, queries: ArrayLike, tasks: ArrayLike) -> Floats | float:
        """Var(Ā), in the squared unit of a value, of ``tasks`` tasks with ``queries`` queries per
        class.

        ``tasks`` may be a whole number of tasks, or equation 6 without its rounding (`open_task_count`).

        Raises
        ------
        InputError
            Numbers that are not over 0, or are NaN or infinite.
        """
        q = positive("queries", queries)
        return (self.alpha * q + self.beta / q + self.gamma) / (
            (self.shots + q) * positive("tasks", tasks)
        )


@dataclass(frozen=True)
class Moments:
    """Moments of a query's value and of μ, its mean given the support (OOPS, appendix A).

    Attributes
    ----------
    mean : float
        m1, the mean value.
    square : float
        Mean of the squared value; equal to m1 where values are 0 and 1.
    m2 : float
        Mean over classes and tasks of μ².
    m3 : float
        Mean over tasks of Σ μ_c μ_c' over ordered pairs of different classes, divided by K².
    squared_mean : float
        Estimate of m1², from pairs of different tasks.
    ways : int
        K, classes per task.
    of_classes : float
        The part of α that the classes of a task make, each by itself: 0 unless the target is
        'new images'.
    """

    mean: float
    square: float
    m2: float
    m3: float
    squared_mean: float
    ways: int
    of_classes: float = 0.0

    def model(self, shots: int) -> VarianceModel:
        """The variance model at S = ``shots``, the shots that the moments were measured at."""
        whole("shots", shots, minimum=1)
        alpha = self.m2 / self.ways + self.m3 - self.squared_mean - self.of_classes
        a_query = (self.square - self.m2) / self.ways
        return VarianceModel(alpha, shots * a_query, a_query + shots * alpha, shots)


@dataclass(frozen=True)
class Pilot:
    """Q* from one run, with a confidence interval.

    Attributes
    ----------
    moments : Moments
        Unbiased estimates.
    model : VarianceModel
        What follows from them; ``model.optimum`` is Q*.
    low, high : float
        Interval for Q*; ``high`` is infinite where the run cannot tell α from 0.
    confidence_level : float
        Nominal coverage; `estimate_variance` says when the real one is less.
    n_tasks : int
        T of the run.
    covariance : (2, 2) ndarray
        Of the estimates of α and β, by a jackknife over tasks.
    bounds : (float, float) or None
        Least and largest possible value: (0, 1) for True and False, else as given.
    target : Target
        'new classes' or 'new images'; see `estimate_variance`.
    """

    moments: Moments
    model: VarianceModel
    low: float
    high: float
    confidence_level: float
    n_tasks: int
    covariance: Floats
    bounds: Bounds = None
    target: Target = Target.NEW_CLASSES

    @property
    def optimum(self) -> float:
        """Q*, in queries per class; infinite where the estimate of α is not positive."""
        return self.model.optimum

    @property
    def expected(self) -> VarianceModel:
        """The model to choose Q by: α̂ replaced by its mean given that α is not negative.

        That is the mean of a normal distribution cut off at 0, α̂ + s φ(α̂/s)/Φ(α̂/s) with the
        standard error s of α̂. Var(Ā) is linear in α, so the Q with the least variance in this
        model has the least expected variance. A well-measured α̂ stays as it is; one that happens
        to be near or below 0 does not send Q to infinity.
        """
        error = np.sqrt(self.covariance[0, 0])
        z = (
            max(self.model.alpha / error, -30.0) if error > 0 else inf
        )  # below -30 the sum is 0 in effect
        alpha = max(
            0.0,
            float(self.model.alpha + error * np.exp(stats.norm.logpdf(z) - stats.norm.logcdf(z))),
        )
        shots = self.model.shots
        return VarianceModel(alpha, self.model.beta, self.model.beta / shots + shots * alpha, shots)

    def __str__(self) -> str:
        q, low, high = (
            "∞" if np.isinf(x) else f"{x:.1f}" for x in (self.optimum, self.low, self.high)
        )
        return f"{q} ({low} to {high})"


def open_task_count(images: ArrayLike, ways: int, shots: int, queries: ArrayLike) -> Floats | float:
    """T, the number of open tasks that balanced data hold (OOPS, equation 6, not rounded).

    Parameters
    ----------
    images : array_like
        NC, images in all classes.
    ways, shots : int
        K and S.
    queries : array_like
        Q; broadcasts with ``images``.

    Raises
    ------
    InputError
        Numbers that are not over 0, or are NaN or infinite; shapes that do not broadcast.
    """
    n, q = broadcast(images=positive("images", images), queries=positive("queries", queries))
    ways = whole("ways", ways, minimum=1)
    shots = whole("shots", shots, minimum=1)
    return n / (ways * (shots + q))


def moments(
    scores: ArrayLike, *, labels: ArrayLike | None = None, target: str = Target.NEW_CLASSES
) -> Moments:
    """Unbiased estimates of the moments from one run with Q ≥ 2.

    Products of expectations are estimated from pairs that are independent given what they share:
    m2 from pairs of queries of one class in one task, m3 from pairs of classes in one task, and
    m1² from pairs of tasks. The estimate of α is then the variance over tasks of their mean values
    less what the draw of queries adds to it, as in an analysis of variance with random effects.

    Parameters
    ----------
    scores : (T, K, Q) array_like, or (T, K·Q) with ``labels``
        Value of each query, by task and class (`Outcomes.by_class` of `fslcore.evaluation`; the
        difference of two of them for a paired comparison). T ≥ 2, Q ≥ 2. The tasks must be
        independent: open tasks, or closed ones of a large data set. Closed tasks of N images have
        the data in common, which makes α too small by the variance over data sets of the closed
        mean.
    labels : (T, K·Q) array_like, optional
        Class of each query, where they are not grouped by class: ``scores`` then come in the same
        order. Q queries of each of the task's K classes, in any order; numbers from 0 on, or texts.
        Beside values that are grouped by class, (T, K) and the class of each group.
    target : str
        'new classes' or 'new images', as `estimate_variance` explains.

    Raises
    ------
    InputError
        Another shape, fewer than 2 tasks or queries, NaN or infinity; labels of another shape,
        padding (-1) among them, classes with different numbers of queries. For the target 'new images':
        no labels, or fewer than two tasks per class.

    Examples
    --------
    >>> m = moments([[[1, 1], [1, 0]], [[0, 1], [1, 1]], [[0, 0], [0, 1]]])
    >>> round(m.mean, 4), round(m.m2, 4), round(m.model(1).alpha, 4)
    (0.5833, 0.3333, 0.0208)
    """
    x = checked_values(scores, 2, labels)
    return _moments(x, _held_for_target(x, labels, target))


def _held_for_target(x: Floats, labels: ArrayLike | None, target: str) -> Floats | None:
    """Which classes each task holds, if what they change is no part of α."""
    is_of_images = choice("target", target, TARGETS) == Target.NEW_IMAGES
    return classes_held(x, labels) if is_of_images else None


def _moments(x: Floats, held: Floats | None) -> Moments:
    """Of checked values; ``held`` (T, C): the classes of tasks, if their part of α is taken out."""
    t, k, q = x.shape
    total = x.sum(axis=(1, 2))
    by_class = x.sum(axis=2)
    mean = x.mean(axis=(1, 2))
    of_classes = 0.0 if held is None else mean.var(ddof=1) - _residual_variance(x, held)[0]
    return Moments(
        mean=float(x.mean()),
        square=float((x**2).mean()),
        m2=float((by_class**2 - (x**2).sum(axis=2)).mean() / (q * (q - 1))),
        m3=float((total**2 - (by_class**2).sum(axis=1)).mean() / (k * q) ** 2),
        squared_mean=float((total.sum() ** 2 - (total**2).sum()) / (t * (t - 1)) / (k * q) ** 2),
        ways=k,
        of_classes=float(of_classes),
    )


def estimate_variance(  # noqa: PLR0914 the steps of one formula
    scores: ArrayLike,
    shots: int,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
    *,
    labels: ArrayLike | None = None,
    target: str = Target.NEW_CLASSES,
    bounds: Bounds = None,
    images: int | None = None,
) -> Pilot:
    """Q* and an interval for it from one run with Q ≥ 2.

    Which classes a task holds makes it easy or hard, and whether that counts depends on what the
    mean applies to. With the target 'new classes' new ones are drawn for each task, as in the paper:
    their part of α is a variance of the mean like any other. With 'new images' the classes stay and the
    open tasks use their images up. Then the tasks together take all classes evenly, easy ones as
    often as hard ones, and what classes do each by themselves cancels: α is the variance of what
    the classes of a task leave of its mean, in a regression on which they are. It is smaller, and
    Q* larger. Where each task holds every class both are the same. For open tasks until exhaustion
    s²/T, and so the open interval, counts the classes' part too: with 40 classes it was 1.7 to 2.3
    times the real variance at the usual Q, for one method; for a difference, in which easy and hard
    cancel, 1.0 to 1.2 times. There, at 5 shots, closed pilots of 60 images per class had a mean
    regret, the variance at their Q* over the least that new test sets have, of 1.01 for one method
    by the target 'new images' and of 1.12 by 'new classes'. For a difference 'new classes' does as
    well: 1.00 against 1.02.

    The interval is that of the ratio of two variances: of the means of tasks, α + β/(SQ), over what
    queries alone contribute, β/(SQ). For normal values its estimate has an F distribution (Searle,
    Casella and McCulloch, 1992, section 3.6). For others, the degrees of freedom of the numerator
    are lowered until the variance of the logarithm is that of a jackknife over tasks. Where α may
    be 0 the upper end is infinite. In 22 simulated settings, 93 % of the intervals of 5 to 100 open
    tasks hold Q*, and 94 % of those of 600 closed tasks with ``images``. The fewest, 78 and 65 %,
    do so where α comes from rare tasks that the run may not contain.

    Parameters
    ----------
    scores : (T, K, Q) array_like, or (T, K·Q) with ``labels``
        As for `moments`, with T ≥ 3.
    labels : (T, K·Q) or (T, K) array_like, optional
        As for `moments`; of the data set's classes, not of the places in a task, where the target
        is 'new images'.
    shots : int
        S of the run; Q* is that of tasks with as many shots.
    confidence_level : float
        Nominal coverage, between 0 and 1.
    target : str
        'new classes' (the paper's) or 'new images', for the mean on new images of these classes by tasks
        that use the data up.
    bounds : (float, float), optional
        Least and largest possible value, as for `three_intervals`: they tell `plan_sample_size` whether it is
        of a difference.
    images : int, optional
        Of closed tasks: NC, the images of the whole test set. Tasks that have images in common vary
        by less than independent ones, by at most the share 1/m for m = NC / (K (S + Q)) tasks that
        share none (Hoeffding, 1948): the lower end of the interval allows for that.

    Raises
    ------
    InputError
        As for `moments`; a level outside (0, 1); fewer than 1 shot; fewer images than a task has;
        values that do not vary within any class and task, which leave nothing to size.
    """
    x = checked_values(scores, 3, labels)
    held = _held_for_target(x, labels, target)
    shots = whole("shots", shots, minimum=1)
    confidence_level = checked_level(confidence_level)
    estimates = _moments(x, held)
    model = estimates.model(shots)
    if not x.var(axis=2).any():
        raise InputError("scores must vary within a class of a task, to choose Q, got no variation")
    tasks, ways, queries = x.shape
    lost = 0.0
    if images is not None:
        size = ways * (shots + queries)
        lost = size / whole("images", images, size)
    without_one = left_out(x, shots, held)
    free_tasks = tasks - (1 if held is None else np.linalg.matrix_rank(held))
    df = float(free_tasks), float(tasks * ways * (queries - 1))
    low, high = _interval_of_optimum(
        model, queries, without_one, df, lost=lost, confidence_level=confidence_level
    )
    return Pilot(
        moments=estimates,
        model=model,
        low=low,
        high=high,
        confidence_level=confidence_level,
        n_tasks=len(x),
        covariance=jackknife(without_one),
        bounds=declared_bounds(scores, bounds),
        target=Target(target),
    )


def optimal_queries(
    model: VarianceModel, queries: ArrayLike | None = None, tasks: ArrayLike | None = None
) -> int:
    """The whole Q with the least predicted variance.

    Parameters
    ----------
    model : VarianceModel
        From a pilot, best its ``expected`` one.
    queries, tasks : (n,) array_like, optional
        Values of Q to choose from, and how many whole tasks the data hold at each. Without them, Q*
        is rounded to the better of its two neighbours, which supposes many tasks.

    Raises
    ------
    InputError
        No finite Q* and nothing to choose from; one of ``queries`` and ``tasks`` without the other;
        different lengths; queries that are not whole numbers from 1 on; a number of tasks below 2.
    """
    instance("model", model, VarianceModel)
    check_together(queries=queries, tasks=tasks)
    if queries is None or tasks is None:
        if not np.isfinite(model.optimum):
            raise InputError(
                f"Q* = {model.optimum}; give the queries to choose from and the tasks at each"
            )
        queries = max(1, int(model.optimum)) + np.arange(2)
        tasks = 1 / (model.shots + queries)
    else:
        queries, tasks = _checked_choices(queries, tasks)
    return int(queries[np.argmin(model.variance(queries, tasks))])


def _checked_choices(queries: ArrayLike, tasks: ArrayLike) -> tuple[Floats, Floats]:
    """Numbers of queries to choose from, with the tasks at each."""
    q = positive("queries", queries)
    t = floats("tasks", tasks)
    if (q % 1).any():
        raise InputError(f"queries must be integers, got {quoted(queries)}")
    if q.shape != t.shape or not q.size:
        raise InputError(
            f"queries and tasks must have one length, got shapes {q.shape} and {t.shape}"
        )
    if (t < 2).any():
        raise InputError(f"tasks must be >= 2 for an interval, got {t.min():g}")
    return q, t


def _labels(x: Array, labels: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Checked labels of this shape."""
    classes = array("labels", labels, f"an array of shape {shape}")
    if classes.shape != shape:
        raise InputError(f"labels must have shape {shape}, as scores, got shape {classes.shape}")
    classes = checked_labels("labels", classes.ravel()).reshape(shape)
    if classes.dtype.kind == "i" and (classes < 0).any():
        raise InputError(
            f"labels must have no padding, as of tasks of equal size, got {classes.min()}"
        )
    return classes


def _by_class(x: Floats, labels: ArrayLike) -> Floats:
    """Values (T, K·Q) of queries in any order as (T, K, Q), by the class of each query."""
    if not x.size:
        raise InputError(f"scores must have at least one query per task, got shape {x.shape}")
    order, of_task = order_by_class("labels", _labels(x, labels, x.shape), "queries")
    return np.take_along_axis(x, order, axis=1).reshape(*of_task.shape, -1)


def positive(name: str, values: ArrayLike) -> Floats:
    """An array of numbers over 0."""
    x = floats(name, values, None)
    if (x <= 0).any():
        raise InputError(f"{name} must be > 0, got {x.min():g}")
    return x


def checked_values(values: ArrayLike, least_tasks: int, labels: ArrayLike | None) -> Floats:
    """Values as (T, K, Q), grouped by their labels if they come as (T, K·Q)."""
    x = floats("scores", values, None)
    if x.ndim == 2 and labels is not None:
        x = _by_class(x, labels)
    elif x.ndim == 2:
        raise InputError(
            f"labels must be the classes of the queries for scores of shape {x.shape}, got None"
        )
    if x.ndim != 3 or len(x) < least_tasks or x.shape[1] < 1 or x.shape[2] < 2:
        raise InputError(
            f"scores must have shape (tasks, ways, queries) with at least {least_tasks} tasks and "
            f"2 queries, got shape {x.shape}"
        )
    if labels is not None and np.ndim(values) == 3:
        _labels(x, labels, x.shape[:2])
    return x


def classes_held(x: Floats, labels: ArrayLike | None) -> Floats:
    """(T, C) the classes that each task holds, from labels as `moments` takes them."""
    if labels is None:
        raise InputError(
            "labels must be the classes of the queries for the target 'new images', got None"
        )
    tasks, ways, _ = x.shape
    classes = np.sort(_labels(x, labels, np.shape(labels)), axis=1)
    classes = classes[:, :: classes.shape[1] // ways]
    if (classes[:, 1:] == classes[:, :-1]).any():
        raise InputError(
            f"labels must have {ways} different classes in each task, got one class twice"
        )
    names, code = np.unique(classes, return_inverse=True)
    if tasks < 2 * len(names) and len(names) > ways:
        raise InputError(
            "labels must have at least two tasks per class for the target 'new images' (a pilot "
            f"of closed tasks), got {len(names)} classes in {tasks} tasks"
        )
    held = np.zeros((tasks, len(names)))
    np.put_along_axis(held, code.reshape(classes.shape), 1.0, axis=1)
    return held


def _residual_variance(x: Floats, held: Floats) -> tuple[float, Floats]:
    """Variance of what its classes leave of a task's mean, and (T,) the same without one task
    each.
    """
    mean = x.mean(axis=(1, 2))
    # Columns of one length sum to K in each row, so that the mean is among what they span.
    base, singular, _ = np.linalg.svd(held, full_matrices=False)
    base = base[:, singular > 1e-9 * singular[0]]
    residual = mean - base @ (base.T @ mean)
    leverage = 1 - (base**2).sum(axis=1)  # 0 where no other task has one of the classes
    free = len(x) - base.shape[1]
    alone = leverage <= 1e-9
    lost = np.divide(residual**2, leverage, out=np.zeros(len(x)), where=~alone)
    total = residual @ residual
    return float(total / free), (total - lost) / np.where(alone, free, free - 1)


def left_out(x: Floats, shots: int, held: Floats | None = None) -> Floats:
    """(T, 2) estimates of α and β, each without one task."""
    t, k, q = x.shape
    query_variance = x.var(axis=2, ddof=1).mean(axis=1) / k
    query_variance = (query_variance.sum() - query_variance) / (t - 1)
    if held is None:
        mean = x.mean(axis=(1, 2))
        deviation = (mean - mean.mean()) ** 2
        variance = (deviation.sum() - deviation * t / (t - 1)) / (t - 2)
    else:
        variance = _residual_variance(x, held)[1]
    return np.stack([variance - query_variance / q, shots * query_variance], axis=1)


def jackknife(left_out: Floats) -> Floats:
    """Covariance of estimates from their (T, p) values without one task each."""
    deviation = left_out - left_out.mean(axis=0)
    return (len(left_out) - 1) / len(left_out) * deviation.T @ deviation


def _interval_of_optimum(
    model: VarianceModel,
    queries: int,
    left_out: Floats,
    df: Pair,
    *,
    lost: float,
    confidence_level: float,
) -> Pair:
    """The q at which the variance of task means over that from queries alone fits its estimate.

    Parameters
    ----------
    model : VarianceModel
    queries : int
        Q of the run.
    left_out : (T, 2) ndarray
        Estimates of α and β, each without one task.
    df : (float, float)
        Degrees of freedom of the variance of task means, and of that within classes and tasks.
    lost : float
        Largest share of the former that the tasks cannot show, since they have images in common.
    confidence_level : float
    """
    size = model.shots * queries
    of_queries = model.beta / size
    of_tasks = model.alpha + of_queries
    if of_tasks <= 1e-12 * of_queries:  # 0 but for rounding
        return 0.0, inf
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(left_out[:, 0] / left_out[:, 1] + 1 / size)
        jackknifed = (len(logs) - 1) * logs.var()
    if not np.isfinite(jackknifed):
        return 0.0, inf
    # The logarithm of a variance of normal values varies by 2/df; that of unequal tasks by more.
    of_tasks_alone = max(jackknifed - 2 / df[1], 2 / df[0])
    reference = stats.f(max(2 / of_tasks_alone, 1.0), df[1])
    ratio = of_tasks / of_queries
    largest, least = ratio / reference.ppf([(1 - confidence_level) / 2, (1 + confidence_level) / 2])
    largest /= 1 - lost
    low, high = (float(np.sqrt(size / (r - 1))) if r > 1 else inf for r in (largest, least))
    return low, high
