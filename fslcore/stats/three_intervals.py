"""Three intervals for the same mean accuracy: of these images, of new images, of new classes.

All three come from one run on tasks drawn with reuse of images (`fslcore.tasks.sample_closed`).
The mean over very many such tasks is a U-statistic of the images and of the classes. Its jackknife
needs no second run: leaving an image out changes the mean by an amount that follows from the tasks
in which the image took part. The noise of a finite number of tasks is subtracted without bias, by
counting products of *different* tasks only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ..errors import InputError, floats, number, wholes
from ..errors import labels as checked_labels
from .intervals import LEVEL, Interval, decimals, plus_minus

__all__ = ["three_intervals", "ThreeIntervals"]

PARTS = 10  # of the tasks, to see how noisy a variance is


@dataclass(frozen=True)
class ThreeIntervals:
    """What `three_intervals` returns: one mean, three intervals.

    Attributes
    ----------
    closed : Interval
        Speaks of these images: where the mean would fall with other tasks drawn from them.
    images : Interval
        Speaks of new images of these classes. Never wider than ``classes``, which holds for them too.
    classes : Interval
        Speaks of new classes. Its half-width is infinite if each task holds every class.
    sampling_variance, image_variance, class_variance : float
        Variance of the mean, in squared units of the input: from the T tasks (it falls as 1/T),
        from the images (about as 1/N) and from the classes with their images (about as
        1/C). The last two are 0 where noise hides them.
    difference : bool or None
        Whether the values were those of a difference of two methods (some are negative) or of one (all are 0 or one
        other number, such as 1 or 100); None where this cannot be told.
    """

    closed: Interval
    images: Interval
    classes: Interval
    sampling_variance: float
    image_variance: float
    class_variance: float
    difference: bool | None = None

    def __str__(self) -> str:
        widths = [r.half_width for r in (self.closed, self.images, self.classes)]
        cells = plus_minus(self.closed.mean, widths, f".{max(map(decimals, widths))}f")
        these, images, classes = cells[0], *(c[c.index("±") :] for c in cells[1:])
        return f"{these} (these images), {images} (new images), {classes} (new classes)"


def three_intervals(
    values: ArrayLike,
    support: ArrayLike,
    query: ArrayLike,
    labels: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    level: float = LEVEL,
) -> ThreeIntervals:
    """Intervals for the mean accuracy on these images, on new images and on new classes.

    Parameters
    ----------
    values : (T, K·Q) array_like
        One number a query: 1 where it was classified rightly, else 0 (or 100 for percent). For a
        paired comparison the difference of two methods, query by query.
    support : (T, K·S), query : (T, K·Q) integer array_like
        Image of each place, from 0 to N - 1. Tasks drawn with reuse of images, each with K of the C
        classes, S support and Q query images of each class, and without repetition inside a task.
    labels : (N,) array_like
        Class of each image. Images of a class that no task holds are left out.
    groups : (N,) array_like, optional
        Images with equal entries are not independent (fonts of one family, photos of one
        scene): what is new then is groups of images. They may span classes.
    level : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    ThreeIntervals

    Raises
    ------
    InputError
        Shapes that disagree, NaN, fewer than 20 tasks, tasks that are padded or unbalanced, an image twice
        in a task, a class with fewer than S + 2 images, tasks that share no image (`fslcore.stats.open_interval` is
        for those), a level outside (0, 1).

    Notes
    -----
    For image i of a class with n images, leaving it out changes the mean over all tasks by

    (S (u_i - u) + q_i - q) / (C (n - S - 1)) + S (K - 1) (w_i - w) / (C (n - S)),

    with q_i the share of right answers where i is a query, u_i that of its own class where i is
    in the support and w_i that of the other classes then; q, u = q and w are the means over the class.
    This is exact for the mean over all tasks and estimated for T of them. Leaving out class c changes it by
    K (A_c - A) / (C - K), with A_c the mean over the tasks that hold c. The jackknife variance
    (Efron and Stein, 1981) is the sum over images, or over classes, of the squares of these
    changes, times (n - 1)/n or (C - 1)/C. For tasks of few images it is a little too large rather than too
    small. Quantiles are Student's, with Satterthwaite's degrees of freedom: few where there are few
    classes, images or groups, and where the noise of the tasks is not small against the variance. Then
    more tasks narrow the interval a lot. With ``groups`` that span classes, classes are not independent
    either, and their variance is the two-way one: of classes, plus of groups, minus of images.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(8).repeat(12)
    >>> images = np.array([[rng.permutation(12)[:4] + 12 * c for c in rng.permutation(8)[:5]] for _ in range(400)])
    >>> right = rng.random((400, 15)) < 0.5 + 0.4 * (labels[images[..., 1:]].reshape(400, 15) > 3)
    >>> print(three_intervals(100 * right, images[..., 0], images[..., 1:].reshape(400, 15), labels))
    69.97 ± 1.19 (these images), ± 1.97 (new images), ± 17.87 (new classes)
    """
    level = number("level", level, above=0, below=1)
    run, size, groups, members = _checked(values, support, query, labels, groups)
    accuracy = run[0].mean(axis=(1, 2))
    (tasks, ways), classes = run[3].shape, len(size)
    sampling = accuracy.var(ddof=1) / tasks
    found = np.array(_variances(*run, size, groups, members))
    # Noise of the two variances: that between tenths of the tasks, which falls as 1/T.
    parts = [_variances(*part, size, groups, members) for part in zip(*(np.array_split(a, PARTS) for a in run))]
    noise = np.std(parts, axis=0, ddof=1) / PARTS
    if classes == ways:
        found[1] = np.inf
    units = size.sum() if members is None else len(members)
    made = assembled(accuracy.mean(), tasks, sampling, found, noise, units, classes, level)
    return replace(made, difference=of_difference(run[0]))


def of_difference(values: np.ndarray) -> bool | None:
    """Whether values of queries are those of a difference of two methods, as far as it can be told."""
    low, high = values.min(), values.max()
    if low < 0:
        return True
    return False if low == 0 < high and ((values == 0) | (values == high)).all() else None


def assembled(
    mean: float,
    tasks: int,
    sampling: float,
    found: np.ndarray,
    noise: np.ndarray,
    units: int,
    classes: int,
    level: float,
) -> ThreeIntervals:
    """Three intervals from the variances of images and of classes (an infinite one is not known), and their noise."""
    z = stats.norm.ppf((1 + level) / 2)
    rounded = (1e-12 * mean) ** 2  # what varies by less does not vary
    sampling, found, noise = (np.where(np.abs(x) > rounded, x, 0.0) for x in (sampling, found, noise))
    closed = Interval(float(mean), float(z * np.sqrt(sampling)), level, tasks, "closed")
    image_variance, class_variance = np.maximum(found, [0, max(found[0], 0)])

    def interval(kind: str, variance: float, units: int, noise: float) -> Interval:
        if not np.isfinite(variance):
            return Interval(closed.mean, np.inf, level, tasks, kind, np.nan)
        total = variance + sampling
        # Satterthwaite: the variance is uncertain by the number of units and by the noise of the tasks.
        spread = 2 * variance**2 / (units - 1) + noise**2
        df = max(2 * total**2 / spread, 1.0) if spread > 0 else np.inf
        half = stats.t.ppf((1 + level) / 2, df) * np.sqrt(total)
        # Where nothing varies: a sign test of images, groups or classes, which all lie on one side of 0.
        return Interval(closed.mean, float(half), level, tasks, kind, float(df), 2.0 ** (1 - units))

    images = interval("images", image_variance, units, noise[0])
    of_classes = interval("classes", class_variance, classes, noise[1])
    if of_classes.half_width < images.half_width:  # new classes come with new images, so it holds for those too
        images = replace(of_classes, kind="images")
    return ThreeIntervals(closed, images, of_classes, float(sampling), float(image_variance), float(class_variance))


def _variances(v, support, query, of_task, size, groups, members) -> tuple[float, float]:
    """Jackknife variances from images (or groups) and from classes, without bias; noise may make them negative."""
    (tasks, ways, shots), classes = support.shape, len(size)
    accuracy = v.mean(axis=(1, 2))
    # By how much the mean over all tasks changes without an image, as each of its uses tells it.
    n = size[of_task]
    own, others = v.mean(axis=2), (v.sum(axis=(1, 2))[:, None] - v.sum(axis=2)) / v[0, 1:].size
    as_support = shots * (own / (n - shots - 1) + (ways - 1) * others / (n - shots))
    as_support = np.repeat(as_support[..., None], shots, axis=2)
    as_query = v / (n - shots - 1)[..., None]
    holding = np.bincount(of_task.ravel(), minlength=classes).clip(min=1)  # tasks that hold each class
    parts = []
    for change in (as_support, as_query):
        mean = np.bincount(of_task.ravel(), change.mean(axis=2).ravel(), classes) / holding
        uses = holding * change.shape[2] / size  # of an image, on average
        parts.append((change - mean[of_task][..., None]) / (classes * uses)[of_task][..., None])
    change, used = np.concatenate(parts, axis=2), np.concatenate([support, query], axis=2)
    # Counted from the average image of a class, those that a task leaves out change too: by minus this.
    average = change.sum(axis=2) / n

    shrink = (1 - 1 / size)[of_task]
    scaled = change * np.sqrt(shrink)[..., None]
    with_itself = (scaled**2).sum() - (n * shrink * average**2).sum()
    by_image = by_unit = (np.bincount(used.ravel(), scaled.ravel()) ** 2).sum() - with_itself
    if members is not None:
        by_unit = _by_group(change * shrink[..., None], average * shrink, groups[used], of_task, members)
    if classes == ways:
        return by_unit, 0.0
    gap = np.bincount(of_task.ravel(), np.repeat(accuracy - accuracy.mean(), ways), classes) / (tasks * ways / classes)
    noise = accuracy.var(ddof=1) / tasks * classes * (classes - ways) / ways
    by_class = (ways / (classes - ways)) ** 2 * (1 - 1 / classes) * ((gap**2).sum() - noise)
    # Groups that span classes make classes depend on each other (two-way clustering).
    return by_unit, by_class + max(by_unit - by_image, 0.0)


def _by_group(change, average, group, of_task, members) -> float:
    """Variance from groups: squared sums of the changes of their images, without a task's product with itself.

    From changes and groups of the images used (T, K, m), the average image's change (T, K), classes
    (T, K), and how many images of each class a group has (G, C).
    """
    total = np.bincount(group.ravel(), change.ravel(), len(members))
    tasks = np.arange(len(group))[:, None, None]
    _, place = np.unique(tasks * len(members) + group, return_inverse=True)
    # In a task a group changes by the images it has there, less those it has in the classes, times the average.
    there = np.bincount(place.ravel(), change.ravel())
    usual = (members[group[..., None], of_task[:, None, None]] * average[:, None, None]).sum(axis=3)
    together = members.T @ members
    both = (together[of_task[..., None], of_task[:, None]] * average[..., None] * average[:, None]).sum()
    with_itself = (there**2).sum() - 2 * (change * usual).sum() + both
    return len(members) / (len(members) - 1) * ((total**2).sum() - with_itself)


def _checked(values, support, query, labels, groups):
    """(values (T, K, Q), support (T, K, S), query (T, K, Q), classes (T, K)) by class; sizes; groups; members."""
    values, labels = floats("values", values, None), checked_labels("labels", labels)
    support, query = wholes("support", support), wholes("query", query)
    if values.shape != query.shape or query.ndim != 2 or support.ndim != 2 or len(support) != len(query):
        raise InputError(
            f"values have shape {values.shape}, query {query.shape}, support {support.shape}; "
            "(T, K·Q), the same and (T, K·S) are needed"
        )
    if len(values) < 2 * PARTS:
        raise InputError(f"{len(values)} tasks; at least {2 * PARTS} are needed, and some thousand are better")
    both = np.concatenate([support, query], axis=1)
    if both.min() < 0 or both.max() >= len(labels):
        raise InputError(
            f"support and query hold {both.dtype} from {both.min()} to {both.max()}; "
            f"images 0 to {len(labels) - 1} are allowed, without padding"
        )
    ordered = np.sort(both, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise InputError("an image stands twice in a task; tasks without repetition are needed")
    check_reuse("support and query", both)
    names, label, size = np.unique(labels, return_inverse=True, return_counts=True)
    present = np.unique(label[both])  # classes that no task holds are left out
    place = np.full(len(names), -1)
    place[present] = np.arange(len(present))
    names, size, label = names[present], size[present], place[label]
    support, of_task, _ = _by_class("support", support, label)
    query, of_query, order = _by_class("query", query, label)
    if of_task.shape != of_query.shape or (of_task != of_query).any():
        raise InputError("support and query of a task hold different classes")
    needed = support.shape[2] + 2
    if size.min() < needed:
        raise InputError(f"class {names[size.argmin()]} has {size.min()} images; {needed} are needed, to leave one out")
    members = None
    if groups is not None:
        groups = checked_labels("groups", groups, len(labels))
        of_present = label >= 0
        groups = np.unique(groups, return_inverse=True)[1]
        present_groups = np.unique(groups[of_present])
        groups = np.searchsorted(present_groups, groups)
        if len(present_groups) < 2:
            raise InputError("groups: all images are in one; at least 2 are needed")
        members = np.zeros((len(present_groups), len(size)))
        np.add.at(members, (groups[of_present], label[of_present]), 1)
    values = np.take_along_axis(values, order, axis=1).reshape(query.shape)
    return (values, support, query, of_task), size, groups, members


def check_reuse(what: str, images: np.ndarray) -> None:
    """Raise `InputError` where no image (T, m) is in two tasks: then nothing tells what the tasks have in common."""
    if len(np.unique(images)) == images.size:
        raise InputError(
            f"{what}: no image is in two tasks; tasks drawn with reuse of images are needed (sample_closed). For open "
            "tasks, open_interval of their accuracies speaks of new images"
        )


def _by_class(what: str, images: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images (T, K, m) in the order of their classes, the classes (T, K), and the order taken (T, K·m)."""
    order = np.argsort(label[images], axis=1, kind="stable")
    images, ways = np.take_along_axis(images, order, axis=1), len(np.unique(label[images[0]]))
    if images.shape[1] % ways == 0:
        images = images.reshape(len(images), ways, -1)
        of_task = label[images]
        if (of_task == of_task[..., :1]).all() and (np.diff(of_task[..., 0], axis=1) > 0).all():
            return images, of_task[..., 0], order
    raise InputError(f"{what}: {ways} classes with equal numbers of images in each task are needed")
