"""Three intervals for the mean of any number that a task gives, such as the accuracy of its worst
class.

`three_intervals` takes which queries were right, because a mean accuracy is a mean over queries.
The accuracy of the worst class is not. Here each task gives one number, and leaving out an image,
or a class, means: the average over the tasks that would be drawn without it. The influences of two
runs on the same images can be subtracted before they are squared, so that a gap between two kinds
of tasks has its three intervals too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, check_together, flag, floats, instance, labels as checked_labels
from .dependence import Sparse, checked_groups, of_parts, units_of, variances
from .group_disjoint import cells_of
from .image_intervals import PARTS, ThreeIntervals, three_intervals_of
from .intervals import (
    DEFAULT_CONFIDENCE_LEVEL,
    Array,
    Bounds,
    Floats,
    checked_bounds,
    checked_level,
)
from .task_checks import check_reuse, check_task_count, checked_images, order_by_class


@dataclass(frozen=True)
class Influence:
    """By how much a mean over tasks changes without each image and without each class.

    Attributes
    ----------
    mean : float
        Over the T tasks.
    sampling_variance : float
        Of the mean, from the T tasks.
    n_tasks : int
        T.
    images : (P, N) floats
        The mean minus that without image i, as each of P parts of the tasks gives it, centred
        within classes.
    classes : (P, C) floats
        The mean minus that without class c. Infinite where all tasks hold a class.
    labels : (N,) integers
        Position, from 0 to C - 1, of the class of each image.
    held : (C,) bool
        Classes that some task holds.
    groups : (N,) integers or None
        Images with equal entries are not independent.
    class_groups : (C,) integers or None
        Classes with equal entries are not independent.

    Notes
    -----
    ``a - b`` is the influence on the difference of the means of two runs whose tasks were drawn
    independently of each other from the same images. For two methods on the same tasks pass the
    difference of their values to `jackknife_influence` instead.
    """

    mean: float
    sampling_variance: float
    n_tasks: int
    images: Floats
    classes: Floats
    labels: Array
    held: Array
    groups: Array | None
    class_groups: Array | None

    def __sub__(self, second: Influence) -> Influence:
        instance("second", second, Influence)
        for name in ("labels", "groups", "class_groups"):
            if not np.array_equal(getattr(self, name), getattr(second, name)):
                raise InputError(
                    f"both runs must have the same images for a difference, got different {name}"
                )
        with np.errstate(invalid="ignore"):
            classes = self.classes - second.classes
        return replace(
            self,
            mean=self.mean - second.mean,
            sampling_variance=self.sampling_variance + second.sampling_variance,
            n_tasks=self.n_tasks + second.n_tasks,
            images=self.images - second.images,
            classes=np.where(np.isnan(classes), inf, classes),
            held=self.held | second.held,
        )

    def intervals(
        self, confidence_level: float = DEFAULT_CONFIDENCE_LEVEL, bounds: Bounds = None
    ) -> ThreeIntervals:
        """The mean with its three intervals; squares of noise are left out, as products of a part
        with itself.

        Parameters
        ----------
        confidence_level : float
            Nominal coverage, between 0 and 1.
        bounds : (float, float), optional
            Least and largest possible value of a task, which the ends of the intervals respect: (0,
            100) for an accuracy in percent, (-100, 100) for a difference.

        Raises
        ------
        InputError
            A level outside (0, 1), bounds that the mean is outside of.
        """
        confidence_level = checked_level(confidence_level)
        bounds = checked_bounds(bounds)
        class_groups = None if self.class_groups is None else self.class_groups[self.held]
        units = units_of(_positions(self.held)[self.labels], self.groups, class_groups)
        classes = self.classes[:, self.held]

        def of_classes(matrix: Sparse) -> tuple[float, Floats]:
            return of_parts((classes - classes.mean(axis=1, keepdims=True)) @ matrix)

        estimates = variances(
            units,
            lambda matrix: of_parts(self.images @ matrix),
            of_classes if np.isfinite(classes).all() else None,
        )
        return three_intervals_of(
            self.mean,
            self.n_tasks,
            self.sampling_variance,
            estimates,
            confidence_level=confidence_level,
            bounds=bounds,
        )


def _positions(present: Array) -> Array:
    """The position of each class among those that are present, and -1 for the others."""
    return np.where(present, np.cumsum(present) - 1, -1)


def jackknife_influence(
    scores: ArrayLike,
    images: ArrayLike,
    labels: ArrayLike,
    *,
    pool: ArrayLike | None = None,
    query: ArrayLike | None = None,
    scores_without: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    class_groups: ArrayLike | None = None,
    group_disjoint: bool = False,
) -> Influence:
    """How the mean of one number per task depends on each image and each class.

    Parameters
    ----------
    scores : (T,) array_like
        The number each task gave, in any unit; for two methods on the same tasks, their difference.
    images : (T, K·m) integer array_like
        Images of each task that were drawn at random, m of each of its K classes, without
        repetition: its support and query, or the support alone where ``query`` is given.
    labels : (N,) array_like
        Class of each image.
    pool : (T, M) integer array_like, optional
        Images that those of ``images`` were drawn from, -1 as padding. By default all images of the
        task's classes. In attribute-biased tasks those with the class's attribute.
    query : (T, K·Q) integer array_like, optional
        Images of the query, if ``scores_without`` is given: where no pool is given, drawn at random
        from the images that the support leaves; else any, as long as none is in the pool.
    scores_without : (T, K·Q) array_like, optional
        The number the task would have given had this query image not been there and the next in
        line been taken.
    groups, class_groups : (N,) array_like, optional
        As for `three_intervals`.
    group_disjoint : bool
        As for `three_intervals`, without pool, query and scores_without. Where groups span classes,
        what the absence of one changes in the choice of the others is left out, which makes
        intervals too narrow by about a tenth where a class has few groups more than a task takes;
        those of `three_intervals` are exact.

    Returns
    -------
    Influence
        Whose ``intervals()`` gives the three.

    Raises
    ------
    InputError
        Shapes that disagree, NaN, fewer than 20 tasks, an image out of range or twice, unequal
        numbers of images per class, a class no larger than m, one of ``query`` and ``scores_without``
        without the other, one group in all or in every class, class groups that split a class or
        are one, tasks that share no image.

    Notes
    -----
    Without image i the mean over all tasks is that over the tasks that do not hold it, each class,
    or each class with its attribute, weighted as before. So a task counts 1 / (1 - m/s) times if i
    was among the s images of its pool and was not drawn, and not at all if it was drawn. For random
    tasks this is exact, and for a mean accuracy the same as in `three_intervals`, only with more
    noise. A query that is not drawn at random but picked (FewSTAB's lowest scores) is never missing
    from tasks that would hold it; there ``scores_without`` says what its absence changes, exactly
    as far as the others are picked as before. It is worth giving for random tasks too: most queries
    change little, so there is less noise. It needs a learner that takes queries one by one: of a
    transductive learner ``scores_without`` does not say what an absence changes in the answers to
    the other queries, and the intervals come out too narrow. Support and query in ``images``,
    without ``scores_without``, are right for any learner.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(8).repeat(12)
    >>> def task():
    ...     return [rng.permutation(12)[:4] + 12 * c for c in rng.permutation(8)[:5]]
    >>> images = np.array([task() for _ in range(400)])
    >>> right = rng.random((400, 5, 3)) < 0.5 + 0.4 * (labels[images[..., 1:]] > 3)
    >>> worst = 100 * right.mean(axis=2).min(axis=1)
    >>> print(jackknife_influence(worst, images.reshape(400, 20), labels).intervals())
    28.33 ± 2.28 (these images), ± 3.65 (new images), ± 9.21 (new classes)
    """
    scores = floats("scores", scores)
    labels = checked_labels("labels", labels)
    check_task_count(len(scores))
    check_together(query=query, scores_without=scores_without)
    shape = len(scores), len(labels)
    images = checked_images("images", images, shape)
    query = None if query is None else checked_images("query", query, shape)
    pool = None if pool is None else checked_images("pool", pool, shape, lowest=-1)
    check_reuse("images", images)
    if flag("group_disjoint", group_disjoint):
        if pool is not None or query is not None:
            raise InputError("pool, query and scores_without must be None with group_disjoint=True")
        return _group_disjoint(scores, images, labels, groups, class_groups)
    tasks = _Tasks.checked(images, labels)
    image_changes = _changes_by_image(scores, tasks, pool, query, scores_without)
    class_changes, frequency = _changes_by_class(scores, tasks)
    held = frequency > 0
    # Refusals are about what the tasks hold.
    checked_groups(_positions(held)[tasks.label], tasks.names[held], groups, class_groups)
    groups, class_groups = checked_groups(tasks.label, tasks.names, groups, class_groups)
    return Influence(
        mean=float(scores.mean()),
        sampling_variance=float(scores.var(ddof=1) / len(scores)),
        n_tasks=len(scores),
        images=image_changes,
        classes=class_changes,
        labels=tasks.label,
        held=held,
        groups=groups,
        class_groups=class_groups,
    )


class _Tasks(NamedTuple):
    """Tasks with the same number of images of each class, and sums over P parts of them.

    Attributes
    ----------
    images : (T, K·m) integers
        Images of each task.
    classes : (T, K) integers
        Classes of each task.
    label : (N,) integers
        Class of each image.
    names : (C,) array
        The classes as the user calls them.
    """

    images: Array
    classes: Array
    label: Array
    names: Array

    @classmethod
    def checked(cls, images: Array, labels: Array) -> _Tasks:
        """Raise `InputError` where a task has unequal numbers of images per class."""
        names, label = np.unique(labels, return_inverse=True)
        _, classes = order_by_class("images", label[images])
        return cls(images, classes, label, names)

    @property
    def images_per_class(self) -> int:
        """Images of a class in a task, m."""
        return int(self.images.shape[1] // self.classes.shape[1])

    def is_of_class(self, images: Array) -> Array:
        """(T, M, K) whether each image (T, M) is of each class of its task; False for padding."""
        label = np.where(images >= 0, self.label[images], -1)
        return label[..., None] == self.classes[:, None]

    def by_image(self, images: Array, numbers: Array) -> Floats:
        """The number (T, K) of its class for each image (T, M); 0 for padding."""
        return np.einsum("tmk,tk->tm", self.is_of_class(images), numbers)

    def part_sums(self, places: Array, numbers: Array, count: int) -> Array:
        """(P, count) sums of numbers by part of the tasks and by place, as means over tasks."""
        tasks = len(places)
        parts = min(PARTS, tasks)
        part = np.arange(tasks) * parts // tasks
        cell = part.reshape(-1, *[1] * (places.ndim - 1)) * count + places
        weights = np.broadcast_to(numbers, places.shape).ravel()
        sums = np.bincount(cell.ravel(), weights, parts * count)
        return (parts / tasks * sums).reshape(-1, count)


def _changes_by_image(
    values: Floats,
    tasks: _Tasks,
    pool: Array | None,
    query: Array | None,
    scores_without: ArrayLike | None,
) -> Floats:
    """(P, N) the mean minus that without each image, centred within classes."""
    label = tasks.label
    centred = (values - values.mean())[:, None]
    size = _pool_sizes(tasks, pool)
    m = tasks.images_per_class
    # Where the pool is used up, there is no such task without the image: it just does not count.
    extra = np.divide(m, size - m, out=np.zeros(size.shape), where=size > m)
    change = tasks.part_sums(
        tasks.images, centred * (1 + tasks.by_image(tasks.images, extra)), len(label)
    )
    if pool is None:
        change -= tasks.part_sums(tasks.classes, centred * extra, len(tasks.names))[:, label]
    else:
        in_pool = np.where(pool >= 0, centred * tasks.by_image(pool, extra), 0)
        change -= tasks.part_sums(pool.clip(min=0), in_pool, len(label))
    if query is not None and scores_without is not None:
        numbers = floats("scores_without", scores_without, None)
        if numbers.shape != query.shape:
            raise InputError(
                f"scores_without must have the shape of query, {query.shape}, got {numbers.shape}"
            )
        loss = values[:, None] - numbers
        if pool is None:
            loss = loss * (1 + tasks.by_image(query, extra))
        change += tasks.part_sums(query, loss, len(label))
    for row in change:
        row -= (np.bincount(label, row) / np.bincount(label))[label]
    return change


def _changes_by_class(values: Floats, tasks: _Tasks) -> tuple[Floats, Floats]:
    """(P, C) the mean minus that without each class, and (C,) the share of tasks that hold it."""
    count = len(tasks.names)
    centred = (values - values.mean())[:, None]
    frequency = tasks.part_sums(tasks.classes, np.ones(1), count).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = tasks.part_sums(tasks.classes, centred, count) / (1 - frequency)
    change[:, np.isclose(frequency, 1)] = inf
    return change, frequency


def _pool_sizes(tasks: _Tasks, pool: Array | None) -> Array:
    """(T, K) images that the m of a task's class were drawn from."""
    m = tasks.images_per_class
    if pool is None:
        sizes: Array = np.bincount(tasks.label)[tasks.classes]
        if (sizes <= m).any():
            name = tasks.names[tasks.classes[sizes <= m][0]]
            raise InputError(
                f"class {name} must have at least {m + 1} images, to leave one out, got "
                f"{sizes[sizes <= m][0]}"
            )
        return sizes
    sizes = tasks.is_of_class(pool).sum(axis=1)
    if (sizes < m).any():
        raise InputError(
            f"pool must have the {m} images of each class that were drawn from it, got fewer"
        )
    return sizes


def _group_disjoint(
    values: Floats,
    images: Array,
    labels: Array,
    groups: ArrayLike | None,
    class_groups: ArrayLike | None,
) -> Influence:
    """`jackknife_influence` of tasks that keep groups apart: that of cells, spread over the images of each.

    The images of a group then add up to what the group changes.
    """
    groups = None if groups is None else checked_labels("groups", groups, len(labels))
    cells = cells_of(labels, groups, images, np.zeros((len(images), 0), int))
    by_cell = jackknife_influence(values, cells.cell_of_image[images], labels[cells.first_image])
    names, label = np.unique(labels, return_inverse=True)
    position = _positions(by_cell.held)
    groups, class_groups = checked_groups(
        position[label], names[by_cell.held], groups, class_groups
    )
    images_of_class = np.bincount(label)[label]
    cells_of_class = np.bincount(by_cell.labels)[label]
    size = np.bincount(cells.cell_of_image)[cells.cell_of_image]
    without = 1 - size / images_of_class  # by which a group's sum is divided (`dependence`)
    scale = np.sqrt(1 - 1 / cells_of_class) * without / (1 - 1 / images_of_class) / size
    scale = np.where(by_cell.held[label], scale, 0)
    return replace(
        by_cell,
        images=by_cell.images[:, cells.cell_of_image] * scale,
        labels=label,
        groups=groups,
        class_groups=None if class_groups is None else class_groups[position],
    )
