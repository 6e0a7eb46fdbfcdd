"""Three intervals for the same mean accuracy: of these images, of new images, of new classes.

All three come from one run on tasks drawn with reuse of images (`fslcore.tasks.sample_closed`).
The mean over very many such tasks is a U-statistic of the images and of the classes. Its jackknife
needs no second run: leaving an image out changes the mean by an amount that follows from the tasks
in which the image took part. The noise of a finite number of tasks is subtracted without bias, by
counting products of *different* tasks only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite, nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..errors import InputError, flag, floats, labels as checked_labels, wholes
from .dependence import (
    UNKNOWN,
    Sparse,
    Units,
    Variance,
    checked_groups,
    of_parts,
    units_of,
    variances,
)
from .group_disjoint import GroupTasks, cells_of, without_groups
from .intervals import (
    DEFAULT_CONFIDENCE_LEVEL,
    Array,
    Bounds,
    Floats,
    Interval,
    checked_level,
    closed_df,
    declared_bounds,
    joint_text,
    student_quantile,
)
from .rare import NO_RARITY, Rarity, rarity_of
from .targets import IMAGE_TARGETS, Target
from .task_checks import check_reuse, check_task_count, checked_images, order_by_class

__all__ = ["ThreeIntervals", "three_intervals"]

ROUNDING = 1e-12  # relative: accuracies of tasks that differ by no more are equal
PARTS = 50  # of the tasks, to see how noisy a variance is
# Units whose changes are held as a table of parts, so that memory does not grow with their number.
AT_ONCE = 2**16


class TaskDesign(NamedTuple):
    """Tasks and images that `checked_design` has checked, for any number of results on these tasks.

    Attributes
    ----------
    support : (T, K, S), query : (T, K, Q) integers
        Images by class.
    task_classes : (T, K), label : (N,) integers
        Classes of the tasks, and of the images: -1 where no task has the class.
    order : (T, K·Q) integers
        The places of ``query`` among the queries as they were given.
    units : Units
        What is independent.
    disjoint_groups : (N,) array or None
        Groups that the tasks keep apart, if groups span classes; then the "images" here are cells.
    transductive : bool
        Whether each answer depends on all images of its task.
    """

    support: Array
    query: Array
    task_classes: Array
    label: Array
    order: Array
    units: Units
    disjoint_groups: Array | None
    transductive: bool

    @property
    def class_sizes(self) -> Array:
        """(C,) images of each class."""
        return np.bincount(self.label[self.label >= 0])


@dataclass(frozen=True)
class ThreeIntervals:
    """What `three_intervals` returns: one mean, three intervals.

    Attributes
    ----------
    closed : Interval
        For these images: where the mean would fall with other tasks drawn from them.
    images : Interval
        For new images of these classes. It equals ``classes`` if a class consists almost entirely
        (nine tenths) of one group, because image and class variation cannot then be separated, and
        it is never wider than ``classes`` on either side.
    classes : Interval
        For new classes, or new groups of classes if they were given. Its half-width is
        infinite if each task holds every class, or if one group of classes holds more than nine
        tenths of them.
    sampling_variance, image_variance, class_variance : float
        Variance of the mean, in squared units of the input: from the T tasks (it falls as 1/T),
        from the images (about as 1/N) and from the classes with their images (about as
        1/C). The last two are 0 where noise hides them, and infinite where they are not known.
    """

    closed: Interval
    images: Interval
    classes: Interval
    sampling_variance: float
    image_variance: float
    class_variance: float

    @property
    def by_target(self) -> dict[Target, Interval]:
        """The three intervals by what each applies to (`IMAGE_TARGETS`)."""
        return dict(zip(IMAGE_TARGETS, (self.closed, self.images, self.classes), strict=True))

    def __str__(self) -> str:
        return joint_text(self.by_target)


def three_intervals(
    scores: ArrayLike,
    support: ArrayLike,
    query: ArrayLike,
    labels: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    class_groups: ArrayLike | None = None,
    group_disjoint: bool = False,
    transductive: bool = False,
    confidence_level: float = DEFAULT_CONFIDENCE_LEVEL,
    bounds: Bounds = None,
) -> ThreeIntervals:
    """Intervals for the mean accuracy on these images, on new images and on new classes.

    Parameters
    ----------
    scores : (T, K·Q) array_like
        One number per query: 1 or True where it was classified correctly, else 0 (or 100 for
        percent). For a paired comparison the difference of two methods, query by query.
    support : (T, K·S), query : (T, K·Q) integer array_like
        Image of each place, from 0 to N - 1. Tasks drawn with reuse of images, each with K of the C
        classes, S support and Q query images of each class, and without repetition inside a task.
    labels : (N,) array_like
        Class of each image. Images of a class that no task holds are left out.
    groups : (N,) array_like, optional
        Images with equal entries are not independent (fonts of one family, photos of one
        scene): what is new then is groups of images. They may span classes.
    class_groups : (N,) array_like, optional
        Images whose classes are not independent have equal entries (species of one genus,
        characters of one script), the same for all images of a class: what is new then is groups of
        classes. The test set then stands for others whose classes form groups of the same kind. If
        classes of a group are alike, tasks that hold two of them are harder, and the mean is too
        low for classes without such neighbours. Tasks with no two classes of a group have no such
        bias: in a simulation their mean was 81.3 where the true one was 81.6, and that of all tasks
        71.5.
    group_disjoint : bool
        That the tasks keep the groups apart (``groups`` of `fslcore.tasks.sample_closed`). Then a
        group counts once, whatever its size, and what its absence changes follows from how such
        tasks are drawn.
    transductive : bool
        Whether an answer depends on the other queries of its task (`fslcore.evaluation.check_transductive`); for
        a difference, whether an answer of either method does. The absence of a query then changes
        the other answers too, and the image variance without it is too small, by up to a half. The
        formula for this case holds for every learner, but is noisier: it has fewer degrees of
        freedom, and more tasks narrow the interval.
    confidence_level : float
        Nominal coverage, between 0 and 1.
    bounds : (float, float), optional
        Least and largest possible value, which the ends of the intervals respect (`Interval`): (0,
        100) for answers in percent, (-100, 100) for the difference of two methods. By default (0,
        1) for True and False, and else none: numbers do not tell whether they are accuracies or
        differences.

    Returns
    -------
    ThreeIntervals

    Raises
    ------
    InputError
        Shapes that disagree, NaN, fewer than 20 tasks, tasks that are padded or unbalanced, an
        image twice in a task, a class with fewer than S + 2 images (S + Q + 1 for a transductive
        learner), tasks that share no image (`fslcore.stats.open_task_interval` is for those), one group
        in all or in every class, class groups that split a class or are one, a level outside (0,
        1).

    Notes
    -----
    For image i of a class with n images, leaving it out changes the mean over all tasks by

    (S (u_i - u) + q_i - q) / (C (n - S - 1)) + S (K - 1) (w_i - w) / (C (n - S)),

    with q_i the share of right answers where i is a query, u_i that of its own class where i is
    in the support and w_i that of the other classes then; q, u = q and w are the means over the
    class. This is exact for the mean over all tasks and estimated for T of them. Of a transductive
    learner, leaving it out changes the mean by

    K (S (U_i - A_c) + Q (V_i - A_c)) / (C (n - S - Q)),

    with U_i and V_i the mean accuracy of the tasks where i is in the support and where it is a
    query, and A_c that of the tasks that hold its class. To reduce noise, the accuracies are first
    adjusted for the classes of their task by least squares, which changes no expectation: which
    other classes a task holds does not depend on i. Leaving out class c changes it by K (A_c - A) /
    (C - K), with A_c the mean over the tasks that hold c. The jackknife variance (Efron and Stein,
    1981) is the sum over images, or over classes, of the squares of these changes, times (n - 1)/n
    or (C - 1)/C. For tasks of few images it is a little too large rather than too small. A group of
    images changes the mean by the sum over its images, divided by 1 - p, p its share of the class
    (CR3; Bell and McCaffrey, 2002); the squares of these are added. Groups of classes likewise.
    Quantiles are Student's, with Satterthwaite's degrees of freedom: few where there are few
    classes, images or groups (G - 1 for each class with G groups of one size), and where the noise
    of the tasks is not small against the variance. Then more tasks narrow the interval a lot. With
    ``groups`` that span classes, classes are not independent either, and their variance is the
    two-way one: of classes, plus of groups, minus of what groups have in single classes (Cameron,
    Gelbach and Miller, 2011).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(8).repeat(12)
    >>> def task():
    ...     return [rng.permutation(12)[:4] + 12 * c for c in rng.permutation(8)[:5]]
    >>> images = np.array([task() for _ in range(400)])
    >>> right = rng.random((400, 15)) < 0.5 + 0.4 * (labels[images[..., 1:]].reshape(400, 15) > 3)
    >>> support, query = images[..., 0], images[..., 1:].reshape(400, 15)
    >>> print(three_intervals(100 * right, support, query, labels, bounds=(0, 100)))
    69.97 ± 1.19 (these images), ± 1.40 (new images), 48.40 to 85.26 (new classes)
    """
    confidence_level = checked_level(confidence_level)
    bounds = declared_bounds(scores, bounds)
    scores = floats("scores", scores, None)
    design = checked_design(
        scores,
        support,
        query,
        labels,
        groups=groups,
        class_groups=class_groups,
        group_disjoint=group_disjoint,
        transductive=transductive,
    )
    return intervals_on(design, scores, confidence_level=confidence_level, bounds=bounds)


def intervals_on(
    design: TaskDesign,
    values: Floats,
    *,
    confidence_level: float,
    bounds: Bounds = None,
    is_difference: bool | None = None,
) -> ThreeIntervals:
    """`three_intervals` of values (T, K·Q) on a checked design; nothing is checked again."""
    values = np.take_along_axis(values, design.order, axis=1).reshape(design.query.shape)
    accuracy = values.mean(axis=(1, 2))
    tasks = len(accuracy)
    return three_intervals_of(
        accuracy.mean(),
        tasks,
        accuracy.var(ddof=1) / tasks,
        _variances(values, design),
        confidence_level=confidence_level,
        bounds=bounds,
        rarity=rarity_of(accuracy, ROUNDING * np.abs(accuracy).max()),
        is_difference=is_difference,
    )


def three_intervals_of(
    mean: float,
    tasks: int,
    sampling: float,
    estimates: tuple[Variance, Variance],
    *,
    confidence_level: float,
    bounds: Bounds = None,
    rarity: Rarity = NO_RARITY,
    is_difference: bool | None = None,
) -> ThreeIntervals:
    """Three intervals of a mean over tasks, with its variance from the tasks and those from images
    and from classes.
    """
    resolution = (1e-12 * mean) ** 2
    sampling = float(sampling) if sampling > resolution else 0.0
    df = closed_df(tasks)
    half_width = student_quantile(df, confidence_level) * sqrt(sampling)
    closed = Interval(
        estimate=float(mean),
        half_width=half_width,
        confidence_level=confidence_level,
        n=tasks,
        target=Target.THESE_IMAGES,
        df=df,
        bounds=bounds,
        rarity=rarity,
        is_difference=is_difference,
    )
    from_images = _at_least(0.0, estimates[0], resolution)
    # New classes have new images.
    from_classes = _at_least(
        from_images.estimate if from_images.df else 0.0, estimates[1], resolution
    )
    images = _wider_interval(closed, Target.NEW_IMAGES, sampling, from_images)
    classes = _wider_interval(closed, Target.NEW_CLASSES, sampling, from_classes)
    # What holds for new classes holds for new images too.
    if classes.half_width < images.half_width or classes.low > images.low:
        images = replace(classes, target=Target.NEW_IMAGES)
    return ThreeIntervals(
        closed, images, classes, sampling, from_images.estimate, from_classes.estimate
    )


def _at_least(minimum: float, variance: Variance, resolution: float) -> Variance:
    """A variance of at least this, without what comes from rounding."""
    if not variance.df > 0:
        return UNKNOWN
    estimate = float(variance.estimate) if abs(variance.estimate) > resolution else 0.0
    noise = variance.noise if variance.noise > resolution else 0.0
    return variance._replace(estimate=max(estimate, minimum), noise=noise)


def _wider_interval(closed: Interval, target: Target, sampling: float, added: Variance) -> Interval:
    """The interval for new images or classes, whose variance adds to that of the sampling of tasks.

    Its degrees of freedom are Satterthwaite's: the variance is uncertain by the number of units and
    of tasks, and by the noise of the tasks. That noise may be as large as the variance, and would
    then count most where it made the variance small.
    """
    variance, df, noise, units = added
    if not isfinite(variance):
        return replace(closed, half_width=inf, target=target, df=nan)
    total = variance + sampling
    scatter = 0.0
    if total:
        scatter = (variance**2 / df + sampling**2 / (closed.n - 1)) / total**2
    if noise:
        scatter += noise**2 / (2 * (total + noise) ** 2)
    total_df = float(1 / min(scatter, 1.0)) if scatter else inf
    return replace(
        closed,
        half_width=student_quantile(total_df, closed.confidence_level) * sqrt(total),
        target=target,
        df=total_df,
        units=min(closed.n, units),  # that gave equal values, where nothing varies
        classes=units if target == Target.NEW_CLASSES else None,
        rarity=closed.rarity.for_other_units,
    )


def _variances(values: Floats, design: TaskDesign) -> tuple[Variance, Variance]:
    """`variances` of a mean accuracy from answers (T, K, Q)."""
    changes, average = _changes_by_image(values, design)
    label = design.label
    classes = len(design.class_sizes)
    members = _table(np.ones((len(label), 1)), label[:, None].clip(0), classes)

    def of_images(matrix: Sparse) -> tuple[float, Floats]:
        if design.disjoint_groups is not None and matrix is design.units.images:
            return of_parts(_changes_by_group(values, design))
        return _products(changes @ matrix, average, members.T @ matrix)

    def of_classes(matrix: Sparse) -> tuple[float, Floats]:
        by_class, class_average = _changes_by_class(values.mean(axis=(1, 2)), design)
        all_classes = sparse.csr_array(np.ones((1, classes)))
        return _products(by_class @ matrix, class_average, all_classes @ matrix)

    has_others = design.task_classes.shape[1] < classes  # than those of each task
    return variances(design.units, of_images, of_classes if has_others else None)


def _changes_by_group(values: Floats, design: TaskDesign) -> Floats:
    """(P, G) changes of a mean accuracy without each group, of tasks that keep groups apart."""
    label = design.label
    present = label >= 0
    groups = np.asarray(design.disjoint_groups)[present]
    group = np.full(len(label), -1)
    group[present] = np.unique(groups, return_inverse=True)[1]
    members = np.zeros((group.max() + 1, label.max() + 1), bool)
    members[group[present], label[present]] = True
    tasks = GroupTasks(values, group[design.support], group[design.query], design.task_classes)
    parts = min(PARTS, len(values))
    return without_groups(tasks, members, parts=parts, transductive=design.transductive)


def _changes_by_class(accuracy: Floats, design: TaskDesign) -> tuple[Sparse, Sparse]:
    """(T, C) what each task contributes to the change without a class that it holds, and (T, 1)
    the mean of this over all classes.
    """
    (tasks, ways), classes = design.task_classes.shape, len(design.class_sizes)
    gap = (accuracy - accuracy.mean()) * classes / (tasks * (classes - ways))
    changes = _table(np.repeat(gap[:, None], ways, axis=1), design.task_classes, classes)
    return changes, _table(gap[:, None] * ways / classes, np.zeros((tasks, 1), int), 1)


def _changes_by_image(values: Floats, design: TaskDesign) -> tuple[Sparse, Sparse]:
    """(T, N) what each task contributes to the change without an image that it holds, and (T, C)
    the same of the average image of a class.

    Counted from the average image of a class, those that a task leaves out change too: by minus
    this average.
    """
    classes = design.task_classes
    sizes = design.class_sizes
    uses_of_class = np.bincount(classes.ravel())  # tasks that hold each class
    estimate = _transductive_changes if design.transductive else _single_changes
    sides = []
    for change in estimate(values, design):
        mean = np.bincount(classes.ravel(), change.mean(axis=2).ravel()) / uses_of_class
        uses = uses_of_class * change.shape[2] / sizes  # of an image, on average
        scale = len(sizes) * uses
        sides.append((change - mean[classes][..., None]) / scale[classes][..., None])
    changes = np.concatenate(sides, axis=2)
    images = np.concatenate([design.support, design.query], axis=2)
    average = _table(changes.sum(axis=2) / sizes[classes], classes, len(sizes))
    return _table(changes, images, len(design.label)), average


def _single_changes(values: Floats, design: TaskDesign) -> tuple[Floats, Floats]:
    """By how much the mean over all tasks changes without a support image, (T, K, S), and without a
    query, (T, K, Q), as estimated from each of its uses.
    """
    ways, shots = design.support.shape[1:]
    n = design.class_sizes[design.task_classes]
    class_accuracy = values.mean(axis=2)
    others = (values.sum(axis=(1, 2))[:, None] - values.sum(axis=2)) / values[0, 1:].size
    as_support = shots * (class_accuracy / (n - shots - 1) + (ways - 1) * others / (n - shots))
    as_query = values / (n - shots - 1)[..., None]
    return np.repeat(as_support[..., None], shots, axis=2), as_query


def _transductive_changes(values: Floats, design: TaskDesign) -> tuple[Floats, Floats]:
    """`_single_changes` where each answer depends on all images of its task."""
    (tasks, ways, shots), queries = design.support.shape, design.query.shape[2]
    sizes = design.class_sizes
    held = _table(np.ones((tasks, ways)), design.task_classes, len(sizes))
    change = ways * _adjusted(values.mean(axis=(1, 2)), held)[:, None]
    change = (change / (sizes[design.task_classes] - shots - queries))[..., None]
    return shots * change.repeat(shots, axis=2), change * np.full(design.query.shape, queries)


def _adjusted(accuracy: Floats, held: Sparse) -> Floats:
    """Accuracies (T,) less what a regression on the classes of each task (T, C) explains, up to its
    scale.
    """
    tasks, classes = held.shape
    residual: Floats = accuracy - accuracy.mean()
    if tasks > classes:
        residual -= held @ sparse.linalg.lsqr(held, residual, atol=1e-12, btol=1e-12)[0]
        residual *= np.sqrt(tasks / (tasks - classes))
    return residual


def _table(numbers: Array, places: Array, count: int) -> Sparse:
    """(T, count) sums of the numbers of each task by place."""
    tasks = np.arange(len(places)).repeat(places[0].size)
    shape = len(places), count
    return sparse.coo_array((numbers.ravel(), (tasks, places.ravel())), shape).tocsr()


def _products(change: Sparse, average: Sparse, weight: Sparse) -> tuple[float, Floats]:
    """Squared length of what all tasks change in each unit, without a task's product with itself;
    products of parts.

    A task changes units by a row of ``change`` (T, U), less ``average`` (T, C) times ``weight`` (C,
    U).
    """
    tasks, count = change.shape
    part = np.arange(tasks) * min(PARTS, tasks) // tasks
    sums = sparse.coo_array((np.ones(tasks), (part, np.arange(tasks)))).tocsr()
    changes = (sums @ change).tocsc()
    averages = (sums @ average).toarray()
    weights = weight.tocsc()
    square = 0.0
    products = np.zeros((len(averages),) * 2)
    for start in range(0, count, AT_ONCE):
        units = slice(start, start + AT_ONCE)
        parts = changes[:, units].toarray() - (weights[:, units].T @ averages.T).T
        square = square + (parts.sum(axis=0) ** 2).sum()
        products = products + parts @ parts.T
    return square - _same_task_products(change, average, weights), len(products) ** 2 * products


def _same_task_products(change: Sparse, average: Sparse, weight: Sparse) -> float:
    """Sum of the squares of what each task changes in each unit; arguments as for `_products`."""
    total = (change**2).sum() - 2 * ((change @ weight.T) * average).sum()
    total += ((average.T @ average) * (weight @ weight.T)).sum()
    return float(total)


def checked_design(
    values: Floats,
    support: ArrayLike,
    query: ArrayLike,
    labels: ArrayLike,
    *,
    groups: ArrayLike | None,
    class_groups: ArrayLike | None,
    transductive: bool,
    group_disjoint: bool = False,
) -> TaskDesign:
    """The checked arguments of `three_intervals`, for any values (T, K·Q) of the shape of these."""
    labels = checked_labels("labels", labels)
    support = wholes("support", support)
    query = wholes("query", query)
    if (
        values.shape != query.shape
        or {query.ndim, support.ndim} != {2}
        or len(support) != len(query)
    ):
        raise InputError(
            "scores, query and support must have shapes (T, K·Q), (T, K·Q) and (T, K·S), got "
            f"{values.shape}, {query.shape} and {support.shape}"
        )
    check_task_count(len(query))
    images = np.concatenate([support, query], axis=1)
    checked_images("support and query", images, (len(query), len(labels)))
    check_reuse("support and query", images)
    transductive = flag("transductive", transductive)
    design = _by_class(support, query, labels, groups, class_groups, transductive=transductive)
    if not flag("group_disjoint", group_disjoint):
        return design
    # The images of a group in a class are one: a task has at most one of them.
    cells = cells_of(labels, groups, support, query)
    if class_groups is not None:
        class_groups = np.asarray(class_groups)[cells.first_image]
    groups = np.asarray(groups)[cells.first_image] if cells.span_classes else None
    design = _by_class(
        cells.cell_of_image[support],
        cells.cell_of_image[query],
        labels[cells.first_image],
        groups,
        class_groups,
        transductive=transductive,
    )
    return design._replace(disjoint_groups=groups)


def _by_class(
    support: Array,
    query: Array,
    labels: Array,
    groups: ArrayLike | None,
    class_groups: ArrayLike | None,
    *,
    transductive: bool,
) -> TaskDesign:
    """Tasks with their images ordered by class; classes that no task holds are left out."""
    names, label = np.unique(labels, return_inverse=True)
    present = np.zeros(len(names), bool)
    present[label[support]] = present[label[query]] = True
    names = names[present]
    label = np.where(present, np.cumsum(present) - 1, -1)[label]
    support, task_classes, _ = _sorted_by_class("support", support, label)
    query, query_classes, order = _sorted_by_class("query", query, label)
    if task_classes.shape != query_classes.shape or (task_classes != query_classes).any():
        raise InputError("support and query must have the same classes in each task, got others")
    needed = support.shape[2] + (query.shape[2] + 1 if transductive else 2)
    _check_class_sizes(label, names, needed)
    units = units_of(label, *checked_groups(label, names, groups, class_groups))
    return TaskDesign(support, query, task_classes, label, order, units, None, transductive)


def _check_class_sizes(label: Array, names: Array, needed: int) -> None:
    """Raise `InputError` where a class has too few images to leave one out."""
    sizes = np.bincount(label[label >= 0])
    if sizes.min() < needed:
        raise InputError(
            f"class {names[sizes.argmin()]} must have at least {needed} images, to leave one out, "
            f"got {sizes.min()}"
        )


def _sorted_by_class(name: str, images: Array, label: Array) -> tuple[Array, Array, Array]:
    """Images (T, K, m) in the order of their classes, classes (T, K), and the order (T, K·m)."""
    order, classes = order_by_class(name, label[images])
    images = np.take_along_axis(images, order, axis=1)
    return images.reshape(*classes.shape, -1), classes, order
