"""Three intervals for the mean of any number that a task gives, such as the accuracy of its worst class.

`three_intervals` takes which queries were right, because a mean accuracy is a mean over queries. The accuracy of
the worst class is not. Here each task gives one number, and leaving out an image, or a class, means: the average over
the tasks that would be drawn without it. The influences of two runs on the same images can be subtracted before
they are squared, so that a gap between two kinds of tasks has its three intervals too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, flag, floats, instance, number, wholes
from ..errors import labels as checked_labels
from .dependence import checked_groups, of_parts, units_of, variances
from .grouped import cells_of
from .intervals import LEVEL, Floats, checked_bounds
from .three_intervals import LEAST, PARTS, ThreeIntervals, assembled, check_reuse

__all__ = ["Influence", "influence"]


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
        The mean minus that without image i, as each of P parts of the tasks tells it, centred within classes.
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
    ``a - b`` is the influence on the difference of the means of two runs whose tasks were drawn independently of
    each other from the same images. For two methods on the same tasks pass the difference of their
    values to `influence` instead.
    """

    mean: float
    sampling_variance: float
    n_tasks: int
    images: Floats
    classes: Floats
    labels: np.ndarray
    held: np.ndarray
    groups: np.ndarray | None = None
    class_groups: np.ndarray | None = None

    def __sub__(self, other: Influence) -> Influence:
        instance("other", other, Influence)
        for what in ("labels", "groups", "class_groups"):
            mine, theirs = getattr(self, what), getattr(other, what)
            if (mine is None) != (theirs is None) or not np.array_equal(mine, theirs):
                raise InputError(f"the two runs are on different images ({what}); the same are needed for a difference")
        with np.errstate(invalid="ignore"):
            classes = self.classes - other.classes
        return Influence(
            self.mean - other.mean,
            self.sampling_variance + other.sampling_variance,
            self.n_tasks + other.n_tasks,
            self.images - other.images,
            np.where(np.isnan(classes), np.inf, classes),
            self.labels,
            self.held | other.held,
            self.groups,
            self.class_groups,
        )

    def intervals(self, level: float = LEVEL, bounds: tuple[float, float] | None = None) -> ThreeIntervals:
        """The mean with its three intervals; squares of noise are left out, as products of a part with itself.

        Parameters
        ----------
        level : float
            Nominal coverage, between 0 and 1.
        bounds : (float, float), optional
            Least and largest possible value of a task, which the ends of the intervals respect: (0, 100) for an
            accuracy in percent, (-100, 100) for a difference.

        Raises
        ------
        InputError
            A level outside (0, 1), bounds that the mean is outside of.
        """
        level, bounds = number("level", level, above=0, below=1), checked_bounds(bounds)
        place = np.where(self.held, np.cumsum(self.held) - 1, -1)
        units = units_of(
            place[self.labels], self.groups, None if self.class_groups is None else self.class_groups[self.held]
        )
        by_class = self.classes[:, self.held]
        known = np.isfinite(by_class).all()
        by_class = by_class - by_class.mean(axis=1, keepdims=True) if known else np.zeros_like(by_class)

        found, freedom, noise = variances(
            units, lambda matrix: of_parts(self.images @ matrix), lambda matrix: of_parts(by_class @ matrix)
        )
        if not known:
            freedom[1] = 0
        told = self.mean, self.n_tasks, self.sampling_variance, found, freedom
        return assembled(*told, noise=noise, counts=units.counts, level=level, bounds=bounds)


def influence(
    values: ArrayLike,
    drawn: ArrayLike,
    labels: ArrayLike,
    *,
    pool: ArrayLike | None = None,
    query: ArrayLike | None = None,
    replaced: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    class_groups: ArrayLike | None = None,
    apart: bool = False,
) -> Influence:
    """How the mean of one number per task depends on each image and each class.

    Parameters
    ----------
    values : (T,) array_like
        The number each task gave, in any unit; for two methods on the same tasks, their difference.
    drawn : (T, K·m) integer array_like
        Images of each task that were drawn at random, m of each of its K classes, without repetition: its support
        and query, or the support alone where ``query`` says of the query.
    labels : (N,) array_like
        Class of each image.
    pool : (T, M) integer array_like, optional
        Images that those of ``drawn`` were drawn from, -1 as padding. By default all images of the task's
        classes. In attribute-biased tasks those with the class's attribute.
    query : (T, K·Q) integer array_like, optional
        Images of the query, if ``replaced`` is given: where no pool is given, drawn at random from the images that the
        support leaves; else any, as long as none is in the pool.
    replaced : (T, K·Q) array_like, optional
        The number the task would have given had this query image not been there and the next in line been taken.
    groups, class_groups : (N,) array_like, optional
        As for `three_intervals`.

    apart : bool
        As for `three_intervals`, without pool, query and replaced. Where groups span classes, what the absence of one
        changes in the choice of the others is left out, which makes intervals too narrow by about a tenth where a class
        has few groups more than a task takes; those of `three_intervals` are exact.

    Returns
    -------
    Influence
        Whose ``intervals()`` gives the three.

    Raises
    ------
    InputError
        Shapes that disagree, NaN, fewer than 20 tasks, an image out of range or twice, unequal numbers of images a
        class, a class no larger than m, one of ``query`` and ``replaced`` without the other, one group in
        all or in every class, class groups that split a class or are one, tasks that share no image.

    Notes
    -----
    Without image i the mean over all tasks is that over the tasks that do not hold it, each class, or each class with
    its attribute, weighted as before. So a task counts 1 / (1 - m/s) times if i was among
    the s images of its pool and was not drawn, and not at all if it was drawn. For random tasks this is exact, and for
    a mean accuracy the same as in `three_intervals`, only with more noise. A query that is not drawn at
    random but picked (FewSTAB's lowest scores) is never missing from tasks that would hold it;
    there ``replaced`` says what its absence changes, exactly as far as the others are picked as before. It is worth
    giving for random tasks too: most queries change little, so there is less noise. It needs a
    learner that takes queries one by one: of a transductive learner ``replaced`` does not say what an absence changes
    in the answers to the other queries, and the intervals come out too narrow. Support and query in ``drawn``, without
    ``replaced``, are right for any learner.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(8).repeat(12)
    >>> images = np.array([[rng.permutation(12)[:4] + 12 * c for c in rng.permutation(8)[:5]] for _ in range(400)])
    >>> right = rng.random((400, 5, 3)) < 0.5 + 0.4 * (labels[images[..., 1:]] > 3)
    >>> print(influence(100 * right.mean(axis=2).min(axis=1), images.reshape(400, 20), labels).intervals())
    28.33 ± 2.28 (these images), ± 3.65 (new images), ± 9.21 (new classes)
    """
    values, drawn, labels = floats("values", values), wholes("drawn", drawn), checked_labels("labels", labels)
    if len(values) < LEAST:
        raise InputError(f"{len(values)} tasks; at least {LEAST} are needed, and some thousand are better")
    if (query is None) != (replaced is None):
        raise InputError("query and replaced: one is given without the other; both or none are needed")
    for what, images, lowest in (("drawn", drawn, 0), ("query", query, 0), ("pool", pool, -1)):
        if images is not None:
            _check(what, wholes(what, images), len(values), len(labels), lowest)
    check_reuse("drawn", drawn)
    if flag("apart", apart):
        if pool is not None or query is not None:
            raise InputError("apart = True; tasks drawn from all images are needed, without pool, query and replaced")
        return _apart(values, drawn, labels, groups, class_groups)
    names, label, size = np.unique(labels, return_inverse=True, return_counts=True)
    tasks, of_drawn = len(values), np.sort(label[drawn], axis=1)
    classes = len(np.unique(of_drawn[0]))
    m, rest = divmod(drawn.shape[1], classes)
    of_task = of_drawn[:, ::m] if not rest else of_drawn
    if rest or (np.repeat(of_task, m, axis=1) != of_drawn).any() or (np.diff(of_task, axis=1) <= 0).any():
        raise InputError(f"drawn: {classes} classes with equal numbers of images in each task are needed")

    def of_class(images: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """The number (T, K) of its class for each image (T, M); 0 for padding."""
        own = np.where(images >= 0, label[images], -1)
        return np.asarray(sum(np.where(own == c[:, None], n[:, None], 0) for c, n in zip(of_task.T, numbers.T)))

    count_of_parts = min(PARTS, tasks)
    part = np.arange(tasks) * count_of_parts // tasks
    scale = count_of_parts / tasks

    def summed(places: np.ndarray, numbers: np.ndarray, count: int) -> np.ndarray:
        """(P, count) sums of numbers by part of the tasks and by place."""
        numbers = np.broadcast_to(numbers, places.shape)
        at = part.reshape(-1, *[1] * (places.ndim - 1)) * count + places
        return scale * np.bincount(at.ravel(), numbers.ravel(), count_of_parts * count).reshape(-1, count)

    centred = (values - values.mean())[:, None]
    pool = None if pool is None else np.asarray(pool)
    available = _available(pool, of_task, label, names, m)
    # Where the pool is used up, there is no such task without the image: it just does not count.
    more = np.divide(m, available - m, out=np.zeros(available.shape), where=available > m)
    change = summed(drawn, centred * (1 + of_class(drawn, more)), len(labels))
    if pool is None:
        change -= summed(of_task, centred * more, len(names))[:, label]
    else:
        inside = pool >= 0
        change -= summed(np.where(inside, pool, 0), np.where(inside, centred * of_class(pool, more), 0), len(labels))
    if query is not None and replaced is not None:
        query, replaced = np.asarray(query), floats("replaced", replaced, None)
        if replaced.shape != query.shape:
            raise InputError(
                f"replaced has shape {replaced.shape}, query {query.shape}; a finite number each is needed"
            )
        less = values[:, None] - replaced
        change += summed(query, less * (1 + of_class(query, more)) if pool is None else less, len(labels))
    per_class = np.array([np.bincount(label, row) for row in change]) / size
    holding = summed(of_task, np.ones(1), len(names)).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_classes = summed(of_task, centred, len(names)) / (1 - holding)
    of_classes[:, np.isclose(holding, 1)] = np.inf
    held = holding > 0
    place = np.where(held, np.cumsum(held) - 1, -1)
    checked_groups(place[label], names[held], groups, class_groups)  # refusals are about what the tasks hold
    groups, class_groups = checked_groups(label, names, groups, class_groups)
    return Influence(
        float(values.mean()),
        float(values.var(ddof=1) / tasks),
        tasks,
        change - per_class[:, label],
        of_classes,
        label,
        held,
        groups,
        class_groups,
    )


def _available(
    pool: np.ndarray | None, of_task: np.ndarray, label: np.ndarray, names: np.ndarray, m: int
) -> np.ndarray:
    """(T, K) images that the m of a task's class were drawn from."""
    if pool is None:
        available: np.ndarray = np.bincount(label)[of_task]
        if (available <= m).any():
            c, size = of_task[available <= m][0], available[available <= m][0]
            raise InputError(f"class {names[c]} has {size} images; {m + 1} are needed, to leave one out")
        return available
    own = np.where(pool >= 0, label[pool], -1)
    available = np.stack([(own == classes[:, None]).sum(axis=1) for classes in of_task.T], axis=1)
    if (available < m).any():
        raise InputError(f"pool: fewer images of a class than the {m} that were drawn from it")
    return available


def _apart(
    values: Floats, drawn: np.ndarray, labels: np.ndarray, groups: ArrayLike | None, class_groups: ArrayLike | None
) -> Influence:
    """`influence` of tasks that keep groups apart: that of cells, laid on their images: a group adds up to it."""
    groups = None if groups is None else checked_labels("groups", groups, len(labels))
    cells = cells_of(labels, groups, drawn, np.zeros((len(drawn), 0), int))
    found = influence(values, cells.of[drawn], labels[cells.first])
    label = np.unique(labels, return_inverse=True)[1]
    images, of = np.bincount(label)[label], np.bincount(found.labels)[label]
    size = np.bincount(cells.of)[cells.of]
    rest = 1 - size / images  # by which the sum over a group is divided (`fslcore.stats.dependence`)
    scale = np.sqrt(1 - 1 / of) * rest / (1 - 1 / images) / size
    held = found.held[label]
    place = np.where(held, (np.cumsum(found.held) - 1)[label], -1)
    names = np.unique(labels)[found.held]
    kept, kin = checked_groups(place, names, groups, class_groups)
    if kin is not None:
        kin = kin[np.where(found.held, np.cumsum(found.held) - 1, -1)]
    changes = found.images[:, cells.of] * np.where(held, scale, 0)
    return replace(found, images=changes, labels=label, groups=kept, class_groups=kin)


def _check(what: str, images: np.ndarray, tasks: int, n: int, lowest: int) -> None:
    if images.ndim != 2 or len(images) != tasks or not images.size:
        raise InputError(
            f"{what} is {images.dtype} of shape {images.shape}; whole numbers, one row for each of {tasks} tasks"
        )
    if images.min() < lowest or images.max() >= n:
        raise InputError(f"{what} holds images from {images.min()} to {images.max()}; {lowest} to {n - 1} are allowed")
    ordered = np.sort(images, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise InputError(f"{what}: an image stands twice in a task; tasks without repetition are needed")
