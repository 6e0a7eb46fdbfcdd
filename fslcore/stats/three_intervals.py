"""Three intervals for the same mean accuracy: of these images, of new images, of new classes.

All three come from one run on tasks drawn with reuse of images (`fslcore.tasks.sample_closed`).
The mean over very many such tasks is a U-statistic of the images and of the classes. Its jackknife
needs no second run: leaving an image out changes the mean by an amount that follows from the tasks
in which the image took part. The noise of a finite number of tasks is subtracted without bias, by
counting products of *different* tasks only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, stats

from ..errors import InputError, flag, floats, number, wholes
from ..errors import labels as checked_labels
from .dependence import Units, checked_groups, of_parts, units_of, variances
from .grouped import cells_of, shrunk, without_groups
from .intervals import LEVEL, Bounds, Floats, Interval, closed_df, declared_bounds, together

__all__ = ["ThreeIntervals", "three_intervals"]

LEAST = 20  # tasks
PARTS = 50  # of the tasks, to see how noisy a variance is
AT_ONCE = 2**16  # units whose changes are held as a table of parts, so that memory does not grow with it


class Design(NamedTuple):
    """Tasks and images that `checked_design` has checked, for any number of results on these tasks.

    Attributes
    ----------
    support : (T, K, S), query : (T, K, Q) integers
        Images by class.
    of_task : (T, K), label : (N,) integers
        Classes of the tasks, and of the images: -1 where no task has the class.
    order : (T, K·Q) integers
        The places of ``query`` among the queries as they were given.
    units : Units
        What is independent.
    apart : (N,) array or None
        Groups that the tasks keep apart, if groups span classes; then the "images" here are cells.
    transductive : bool
        Whether each answer depends on all images of its task.
    """

    support: np.ndarray
    query: np.ndarray
    of_task: np.ndarray
    label: np.ndarray
    order: np.ndarray
    units: Units
    apart: np.ndarray | None
    transductive: bool


@dataclass(frozen=True)
class ThreeIntervals:
    """What `three_intervals` returns: one mean, three intervals.

    Attributes
    ----------
    closed : Interval
        Speaks of these images: where the mean would fall with other tasks drawn from them.
    images : Interval
        Speaks of new images of these classes. Never wider than ``classes``, which holds for them too, to either side,
        and stands here where nothing is known of new images alone, since some class is, up to a tenth, one group.
    classes : Interval
        Speaks of new classes, or new groups of classes if they were given. Its half-width is infinite if each task
        holds every class, or if one group of classes holds more than nine tenths of them.
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

    def __str__(self) -> str:
        return together({"these images": self.closed, "new images": self.images, "new classes": self.classes})


def three_intervals(
    values: ArrayLike,
    support: ArrayLike,
    query: ArrayLike,
    labels: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    class_groups: ArrayLike | None = None,
    apart: bool = False,
    transductive: bool = False,
    level: float = LEVEL,
    bounds: Bounds = None,
) -> ThreeIntervals:
    """Intervals for the mean accuracy on these images, on new images and on new classes.

    Parameters
    ----------
    values : (T, K·Q) array_like
        One number per query: 1 or True where it was classified correctly, else 0 (or 100 for percent). For a
        paired comparison the difference of two methods, query by query.
    support : (T, K·S), query : (T, K·Q) integer array_like
        Image of each place, from 0 to N - 1. Tasks drawn with reuse of images, each with K of the C
        classes, S support and Q query images of each class, and without repetition inside a task.
    labels : (N,) array_like
        Class of each image. Images of a class that no task holds are left out.
    groups : (N,) array_like, optional
        Images with equal entries are not independent (fonts of one family, photos of one
        scene): what is new then is groups of images. They may span classes.
    class_groups : (N,) array_like, optional
        Images whose classes are not independent have equal entries (species of one genus, characters of one script),
        the same for all images of a class: what is new then is groups of classes. The test set then stands for others
        whose classes form groups of the same kind. If classes of a group are alike, tasks that hold two of them are
        harder, and the mean is too low for classes without such neighbours. Tasks with no two classes of a group have
        no such bias: in a simulation their mean was 81.3 where the true one was 81.6, and that of all tasks 71.5.
    apart : bool
        That the tasks keep the groups apart (``groups`` of `fslcore.tasks.sample_closed`). Then a group counts once,
        whatever its size, and what its absence changes follows from how such tasks are drawn.
    transductive : bool
        Whether an answer depends on the other queries of its task (`fslcore.evaluation.probe`); for a difference,
        whether an answer of either method does. The absence of a query then changes the other answers too, and the
        image variance without it is too small, by up to a half. The formula for this case holds for every learner,
        but is noisier: it has fewer degrees of freedom, and more tasks narrow the interval.
    level : float
        Nominal coverage, between 0 and 1.
    bounds : (float, float), optional
        Least and largest possible value, which the ends of the intervals respect (`Interval`): (0, 100) for answers in
        percent, (-100, 100) for the difference of two methods. By default (0, 1) for True and False, and else none:
        numbers do not tell whether they are accuracies or differences.

    Returns
    -------
    ThreeIntervals

    Raises
    ------
    InputError
        Shapes that disagree, NaN, fewer than 20 tasks, tasks that are padded or unbalanced, an image twice in a task, a
        class with fewer than S + 2 images (S + Q + 1 for a transductive learner), tasks that share no image
        (`fslcore.stats.open_interval` is for those), one group in all or in every class, class groups that split a
        class or are one, a level outside (0, 1).

    Notes
    -----
    For image i of a class with n images, leaving it out changes the mean over all tasks by

    (S (u_i - u) + q_i - q) / (C (n - S - 1)) + S (K - 1) (w_i - w) / (C (n - S)),

    with q_i the share of right answers where i is a query, u_i that of its own class where i is
    in the support and w_i that of the other classes then; q, u = q and w are the means over the class.
    This is exact for the mean over all tasks and estimated for T of them. Of a transductive learner, leaving it out
    changes the mean by

    K (S (U_i - A_c) + Q (V_i - A_c)) / (C (n - S - Q)),

    with U_i and V_i the mean accuracy of the tasks where i is in the support and where it is a query, and A_c that of
    the tasks that hold its class. To reduce noise, the accuracies are first adjusted for the classes of their task by
    least squares, which changes no expectation: which other classes a task holds does not depend on i. Leaving out
    class c changes it by K (A_c - A) / (C - K), with A_c the mean over the tasks that hold c. The jackknife variance
    (Efron and Stein, 1981) is the sum over images, or over classes, of the squares of these changes, times (n - 1)/n or
    (C - 1)/C. For tasks of few images it is a little too large rather than too small. A group of images changes the
    mean by the sum over its images, divided by 1 - p, p its share of the class (CR3; Bell and McCaffrey, 2002); the
    squares of these are added. Groups of classes likewise. Quantiles are Student's, with Satterthwaite's degrees of
    freedom: few where there are few classes, images or groups (G - 1 for each class with G groups of one size), and
    where the noise of the tasks is not small against the variance. Then more tasks narrow the interval a lot. With
    ``groups`` that span classes, classes are not independent either, and their variance is the two-way one: of classes,
    plus of groups, minus of what groups have in single classes (Cameron, Gelbach and Miller, 2011).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(8).repeat(12)
    >>> images = np.array([[rng.permutation(12)[:4] + 12 * c for c in rng.permutation(8)[:5]] for _ in range(400)])
    >>> right = rng.random((400, 15)) < 0.5 + 0.4 * (labels[images[..., 1:]].reshape(400, 15) > 3)
    >>> support, query = images[..., 0], images[..., 1:].reshape(400, 15)
    >>> print(three_intervals(100 * right, support, query, labels, bounds=(0, 100)))
    69.97 ± 1.19 (these images), ± 1.40 (new images), 48.40 to 85.26 (new classes)
    """
    level, bounds = number("level", level, above=0, below=1), declared_bounds(values, bounds)
    values = floats("values", values, None)
    design = checked_design(
        values,
        support,
        query,
        labels,
        groups=groups,
        class_groups=class_groups,
        apart=apart,
        transductive=transductive,
    )
    return intervals_on(design, values, level=level, bounds=bounds)


def intervals_on(design: Design, values: Floats, *, level: float, bounds: Bounds = None) -> ThreeIntervals:
    """`three_intervals` of values (T, K·Q) on a checked design; nothing is checked again."""
    values = np.take_along_axis(values, design.order, axis=1).reshape(design.query.shape)
    accuracy = values.mean(axis=(1, 2))
    tasks, ways = design.of_task.shape
    found, freedom, noise = _variances(values, design)
    if ways == design.label.max() + 1:
        freedom[1] = 0
    return assembled(
        accuracy.mean(),
        tasks,
        accuracy.var(ddof=1) / tasks,
        found,
        freedom,
        noise=noise,
        counts=design.units.counts,
        level=level,
        bounds=bounds,
    )


def assembled(
    mean: float,
    tasks: int,
    sampling: float,
    found: Floats,
    freedom: Floats,
    *,
    noise: Floats,
    counts: tuple[int, int],
    level: float,
    bounds: Bounds = None,
) -> ThreeIntervals:
    """Three intervals from the variances of images and of classes, their degrees of freedom and noise.

    With 0 degrees of freedom a variance is not known. ``counts`` are of independent units of images and of classes.
    """
    found = np.where(freedom > 0, found, np.inf)
    rounded = (1e-12 * mean) ** 2  # what varies by less does not vary
    found, noise = (np.where(np.abs(x) > rounded, x, 0.0) for x in (found, noise))
    sampling = sampling if sampling > rounded else 0.0
    df = closed_df(tasks)
    half = float(stats.t.ppf((1 + level) / 2, df) * np.sqrt(sampling))
    closed = Interval(float(mean), half, level, tasks, "closed", df, bounds=bounds)
    image_variance, class_variance = np.maximum(found, [0, max(found[0], 0) if freedom[0] > 0 else 0])

    def interval(kind: str, variance: float, freedom: float, noise: float, units: int) -> Interval:
        if not np.isfinite(variance):
            return Interval(closed.mean, np.inf, level, tasks, kind, np.nan, bounds=bounds)
        total = variance + sampling
        # Satterthwaite: the variance is uncertain by the number of units and of tasks, and by the noise of the tasks.
        # That noise may be as large as the variance, and would then count most where it made the variance small.
        of_units = (variance**2 / freedom + sampling**2 / (tasks - 1)) / total**2 if total else 0.0
        of_noise = noise**2 / (2 * (total + noise) ** 2) if noise else 0.0
        df = 1 / min(of_units + of_noise, 1.0) if of_units + of_noise else np.inf
        half = stats.t.ppf((1 + level) / 2, df) * np.sqrt(total)
        classes = units if kind == "classes" else None
        units = min(tasks, units)  # that gave equal values, where nothing varies
        return Interval(closed.mean, float(half), level, tasks, kind, float(df), units, bounds, classes)

    images = interval("images", image_variance, freedom[0], noise[0], counts[0])
    of_classes = interval("classes", class_variance, freedom[1], noise[1], min(counts))  # groups may span classes
    # New classes come with new images, so what holds for them holds for those too.
    if of_classes.half_width < images.half_width or of_classes.low > images.low:
        images = replace(of_classes, kind="images")
    return ThreeIntervals(closed, images, of_classes, float(sampling), float(image_variance), float(class_variance))


def _without(values: Floats, design: Design) -> Floats:
    """Changes (P, G) of a mean accuracy without each group, of tasks that keep groups apart."""
    support, query, of_task, label = design[:4]
    there = label >= 0
    place = np.full(len(label), -1)
    place[there] = np.unique(np.asarray(design.apart)[there], return_inverse=True)[1]
    members = np.zeros((place.max() + 1, label.max() + 1), bool)
    members[place[there], label[there]] = True
    changes = without_groups(
        values,
        place[support],
        place[query],
        of_task,
        members,
        parts=min(PARTS, len(values)),
        whole=design.transductive,
    )
    return shrunk(changes, members)


def _variances(v: Floats, design: Design) -> tuple[Floats, Floats, Floats]:
    """`variances` of a mean accuracy from answers v (T, K, Q), without bias: noise may make them negative."""
    support, query, of_task, label = design[:4]
    (tasks, ways, shots), size = support.shape, np.bincount(label[label >= 0])
    classes = len(size)
    accuracy = v.mean(axis=(1, 2))
    # By how much the mean over all tasks changes without an image, as estimated from each of its uses.
    n = size[of_task]
    if design.transductive:
        of_all = ways * _adjusted(accuracy, _table(np.ones((tasks, ways)), of_task, classes))[:, None]
        of_all = (of_all / (n - shots - query.shape[2]))[..., None]
        as_support, as_query = shots * of_all.repeat(shots, axis=2), of_all * np.full(query.shape, query.shape[2])
    else:
        own, others = v.mean(axis=2), (v.sum(axis=(1, 2))[:, None] - v.sum(axis=2)) / v[0, 1:].size
        as_support = shots * (own / (n - shots - 1) + (ways - 1) * others / (n - shots))
        as_support = np.repeat(as_support[..., None], shots, axis=2)
        as_query = v / (n - shots - 1)[..., None]
    holding = np.bincount(of_task.ravel())  # tasks that hold each class
    parts = []
    for change in (as_support, as_query):
        mean = np.bincount(of_task.ravel(), change.mean(axis=2).ravel()) / holding
        uses = holding * change.shape[2] / size  # of an image, on average
        parts.append((change - mean[of_task][..., None]) / (classes * uses)[of_task][..., None])
    changes, used = np.concatenate(parts, axis=2), np.concatenate([support, query], axis=2)
    images = _table(changes, used, len(label))
    members = _table(np.ones((len(label), 1)), label[:, None].clip(0), classes)
    # Counted from the average image of a class, those that a task leaves out change too: by minus this.
    average = _table(changes.sum(axis=2) / n, of_task, classes)

    def of_images(matrix: sparse.csr_array) -> tuple[float, Floats]:
        if design.apart is not None and matrix is design.units.images:
            return of_parts(_without(v, design))
        return _products(images @ matrix, average, members.T @ matrix)

    gap = (accuracy - accuracy.mean()) * classes / (tasks * max(classes - ways, 1))
    held = _table(np.repeat(gap[:, None], ways, axis=1), of_task, classes)
    usual = _table(gap[:, None] * ways / classes, np.zeros((tasks, 1), int), 1)
    all_classes = sparse.csr_array(np.ones((1, classes)))

    def of_classes(matrix: sparse.csr_array) -> tuple[float, Floats]:
        return _products(held @ matrix, usual, all_classes @ matrix)

    return variances(design.units, of_images, of_classes)


def _adjusted(accuracy: Floats, held: sparse.csr_array) -> Floats:
    """Accuracies (T,) less what a regression on the classes that each task holds (T, C) explains, up to its scale."""
    tasks, classes = held.shape
    rest: Floats = accuracy - accuracy.mean()
    if tasks > classes:
        rest -= held @ sparse.linalg.lsqr(held, rest, atol=1e-12, btol=1e-12)[0]
        rest *= np.sqrt(tasks / (tasks - classes))
    return rest


def _table(numbers: np.ndarray, places: np.ndarray, count: int) -> sparse.csr_array:
    """(T, count) sums of the numbers of each task by place."""
    tasks = np.arange(len(places)).repeat(places[0].size)
    return sparse.coo_array((numbers.ravel(), (tasks, places.ravel())), (len(places), count)).tocsr()


def _products(change: sparse.csr_array, average: sparse.csr_array, weight: sparse.csr_array) -> tuple[float, Floats]:
    """Squared length of what all tasks change in each unit, without a task's product with itself; products of parts.

    A task changes units by a row of ``change`` (T, U), less ``average`` (T, C) times ``weight`` (C, U).
    """
    tasks = change.shape[0]
    part = np.arange(tasks) * min(PARTS, tasks) // tasks
    sums = sparse.coo_array((np.ones(tasks), (part, np.arange(tasks)))).tocsr()
    changes, averages, weight = (sums @ change).tocsc(), (sums @ average).toarray(), weight.tocsc()
    square, products = 0.0, np.zeros((len(averages),) * 2)
    for at in range(0, change.shape[1], AT_ONCE):
        units = slice(at, at + AT_ONCE)
        parts = changes[:, units].toarray() - (weight[:, units].T @ averages.T).T
        square, products = square + (parts.sum(axis=0) ** 2).sum(), products + parts @ parts.T
    with_itself = (change**2).sum() - 2 * ((change @ weight.T) * average).sum()
    with_itself += ((average.T @ average) * (weight @ weight.T)).sum()
    return square - with_itself, len(products) ** 2 * products


def checked_design(
    values: Floats,
    support: ArrayLike,
    query: ArrayLike,
    labels: ArrayLike,
    *,
    groups: ArrayLike | None,
    class_groups: ArrayLike | None,
    transductive: bool,
    apart: bool = False,
) -> Design:
    """The arguments of `three_intervals`, checked, for any values (T, K·Q) of the shape of these."""
    labels = checked_labels("labels", labels)
    support, query = wholes("support", support), wholes("query", query)
    if values.shape != query.shape or query.ndim != 2 or support.ndim != 2 or len(support) != len(query):
        raise InputError(
            f"values have shape {values.shape}, query {query.shape}, support {support.shape}; "
            "(T, K·Q), the same and (T, K·S) are needed"
        )
    if len(query) < LEAST:
        raise InputError(f"{len(query)} tasks; at least {LEAST} are needed, and some thousand are better")
    both = np.concatenate([support, query], axis=1)
    if both.min() < 0 or both.max() >= len(labels):
        raise InputError(
            f"support and query hold {both.dtype} from {both.min()} to {both.max()}; "
            f"images 0 to {len(labels) - 1} are allowed, without padding"
        )
    ordered = np.sort(both, axis=1)
    if (np.diff(ordered) == 0).any():
        raise InputError("an image stands twice in a task; tasks without repetition are needed")
    check_reuse("support and query", both)
    names, label, size = np.unique(labels, return_inverse=True, return_counts=True)
    present = np.unique(label[both])  # classes that no task holds are left out
    place = np.full(len(names), -1)
    place[present] = np.arange(len(present))
    names, size, label = names[present], size[present], place[label]
    support_of_class, of_task, _ = _by_class("support", support, label)
    query_of_class, of_query, order = _by_class("query", query, label)
    if of_task.shape != of_query.shape or (of_task != of_query).any():
        raise InputError("support and query of a task hold different classes")
    needed = support_of_class.shape[2] + (query_of_class.shape[2] + 1 if flag("transductive", transductive) else 2)
    if size.min() < needed:
        raise InputError(f"class {names[size.argmin()]} has {size.min()} images; {needed} are needed, to leave one out")
    units = units_of(label, *checked_groups(label, names, groups, class_groups))
    if not flag("apart", apart):
        return Design(support_of_class, query_of_class, of_task, label, order, units, None, transductive)
    # The images of a group in a class are one: a task has at most one of them.
    cells = cells_of(labels, groups, support, query)
    places = cells.of[support], cells.of[query], labels[cells.first]
    groups = np.asarray(groups)[cells.first] if cells.span else None
    if class_groups is not None:
        class_groups = np.asarray(class_groups)[cells.first]
    design = checked_design(values, *places, groups=groups, class_groups=class_groups, transductive=transductive)
    return design._replace(apart=groups)


def check_reuse(what: str, images: np.ndarray) -> None:
    """Raise `InputError` where no image (T, m) is in two tasks: then nothing tells what the tasks have in common."""
    if len(np.unique(images)) == images.size:
        raise InputError(
            f"{what}: no image is in two tasks; tasks drawn with reuse of images are needed (sample_closed). For open "
            "tasks, open_interval of their accuracies applies to new images"
        )


def _by_class(what: str, images: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, ...]:
    """Images (T, K, m) in the order of their classes, the classes (T, K), and the order taken (T, K·m)."""
    order = np.argsort(label[images], axis=1, kind="stable")
    images, ways = np.take_along_axis(images, order, axis=1), len(np.unique(label[images[0]]))
    if images.shape[1] % ways == 0:
        images = images.reshape(len(images), ways, -1)
        of_task = label[images]
        if (of_task == of_task[..., :1]).all() and (np.diff(of_task[..., 0], axis=1) > 0).all():
            return images, of_task[..., 0], order
    raise InputError(f"{what}: {ways} classes with equal numbers of images in each task are needed")
