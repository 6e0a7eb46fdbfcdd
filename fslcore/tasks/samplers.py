"""Draw tasks at random: closed (images are used again), open (each image once), and with all classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, flag, room, shown, whole, wholes
from ..errors import labels as checked_labels
from .grouped import Cells, distinct, draw_closed, draw_open
from .tasks import Tasks, describe

__all__ = ["sample_all", "sample_closed", "sample_open"]

MOST, MOST_WAYS = 10**9, 10**6  # images per class, and classes, in a task
AT_ONCE = 2**20  # random numbers by which classes are chosen


def sample_closed(
    labels: np.ndarray,
    *,
    tasks: int,
    ways: int = 5,
    shots: int | Sequence[int] = 5,
    queries: int | Sequence[int] = 15,
    seed: int = 0,
    skip_small_classes: bool = False,
    groups: ArrayLike | None = None,
) -> Tasks:
    """Draw tasks that use images again (OOPS, Algorithm 1).

    Each task takes ``ways`` classes, then images without repetition inside the task; the next
    task starts from the whole data again. The first t tasks are the same for any number of ``tasks``.

    All sets of K classes are equally likely, and so are all images of a class. The mean accuracy over tasks therefore
    estimates the mean over all tasks of these images, in which **all classes have equal weight**, whatever their sizes:
    each of the C classes is expected in K·T/C of T tasks.

    With ``groups``, no group is in both the support and the query of a task, in any class. The support of each of
    its classes is S of the class's groups, all equally likely, with one random image of each. Its queries
    are Q of its groups that are in no support of the task, with one image of each. So groups count equally, for any
    number of images, and the mean over tasks is an estimate for new groups.

    Parameters
    ----------
    labels : (N,) integers or strings
        The class of each image.
    tasks : int
        T, at least 2 (an interval needs a variance).
    ways : int
        K, classes per task.
    shots, queries : int or K ints
        Images per class in the support (S) and in the query (Q); a sequence gives imbalanced tasks.
    seed : int
        The same seed gives the same tasks.
    skip_small_classes : bool
        Leave out classes with fewer than S + Q images instead of raising.
    groups : (N,) array_like, optional
        Images with equal entries are kept apart: near-copies, fonts of a family, photos of a scene.

    Raises
    ------
    InputError
        More ways than classes, shots + queries beyond a class, fewer than 2 tasks, too many tasks for the memory;
        a class with fewer than S + Q groups besides those that the supports of other classes may contain.
    """
    tasks = whole("tasks", tasks, least=2)
    shots, queries = per_class("shots", shots, ways), per_class("queries", queries, ways)
    if groups is not None:
        cells = Cells.of(labels, groups, ways, shots, queries, flag("skip_small_classes", skip_small_classes))
        room("tasks", tasks, 32 * tasks * ways * int(cells.needed.max()))
        class_rng, *rngs = streams(seed, 4)
        chosen = some_classes(tasks, len(cells.first), ways, class_rng)
        made = describe("closed", ways, shots, queries, seed, tasks=tasks, groups=cells.n_groups)
        return assemble(draw_closed(cells, chosen, shots, queries, *rngs), shots, queries, made)
    order, start, size = _by_class(labels, ways, shots, queries, skip_small_classes)
    room("tasks", tasks, 24 * tasks * int((shots + queries).sum()))
    class_rng, image_rng, order_rng = streams(seed, 3)

    chosen = some_classes(tasks, len(size), ways, class_rng)
    picks = fill(chosen, order, start, size, shots, queries, image_rng, order_rng)
    return assemble(picks, shots, queries, describe("closed", ways, shots, queries, seed, tasks=tasks))


def sample_open(
    labels: np.ndarray,
    *,
    ways: int = 5,
    shots: int | Sequence[int] = 5,
    queries: int | Sequence[int] = 15,
    seed: int = 0,
    max_tasks: int | None = None,
    skip_small_classes: bool = False,
    groups: ArrayLike | None = None,
    balanced: bool = False,
) -> Tasks:
    """Draw tasks that share no image, until the data are used up (OOPS, Algorithm 2).

    Each task takes ``ways`` random classes among those with at least S + Q images left, and
    uses up its images. Sampling stops when fewer than ``ways`` such classes are left. Time and memory
    are linear in the number of images.

    **Classes with more images have more weight.** A class of n images has enough for r = ⌊n/(S + Q)⌋ tasks. All classes
    are used at the same rate until they are used up, and sampling stops when K - 1 are left. So a class is in about
    min(r, h) tasks, with h the K-th largest r, or with ``max_tasks`` the number at which these add up to K·T. Where
    classes differ in size, the mean accuracy over tasks is therefore not an estimate of the mean that
    `sample_closed` estimates; late tasks also hold only large classes, which may be easier or harder to tell apart.

    With ``balanced``, **all classes have equal weight**, at the cost of fewer tasks: ⌊C·r/K⌋, with r of the smallest of
    the C classes. Rounds of all classes in random order are cut into tasks of K; where a task spans two rounds, the
    second begins with random classes that the task does not hold yet. So after any number of tasks, the classes have
    been in equally many, or some in one fewer. The draw treats all classes the same: each task, by itself, holds any
    set of K classes with equal probability, as in `sample_closed`, and the mean has the same expectation.

    With ``groups``, no group is in two tasks either, so that an interval over tasks applies to new groups. A task takes
    its groups like those of `sample_closed`, among the unused groups, and uses them up with all
    their images in all classes.

    Parameters
    ----------
    max_tasks : int, optional
        Stop after this many tasks (the released code stops at 2,000; the paper at exhaustion).
    balanced : bool
        Give all classes equal weight; not with ``groups``, which may use up images of several classes at once.
    labels, ways, shots, queries, seed, skip_small_classes, groups
        As for `sample_closed`.

    Raises
    ------
    InputError
        As for `sample_closed`; also if the data allow fewer than 2 tasks, and for ``balanced`` with ``groups``.
    """
    if flag("balanced", balanced) and groups is not None:
        raise InputError("balanced: not with groups, which may use up images of several classes at once; leave one out")
    if max_tasks is not None:
        max_tasks = whole("max_tasks", max_tasks, least=2)
    shots, queries = per_class("shots", shots, ways), per_class("queries", queries, ways)
    if groups is not None:
        cells = Cells.of(labels, groups, ways, shots, queries, flag("skip_small_classes", skip_small_classes))
        picks = draw_open(cells, ways, shots, queries, max_tasks, *streams(seed, 3))
        _check_two(len(picks[0]), ways, f"{int((shots + queries).max())} groups")
        made = describe("open", ways, shots, queries, seed, max_tasks=max_tasks, groups=cells.n_groups)
        return assemble(picks, shots, queries, made)
    order, start, size = _by_class(labels, ways, shots, queries, skip_small_classes)
    image_rng, class_rng = streams(seed, 2)
    # One shuffle per class; taking the next images of a shuffled class is random sampling.
    for first, n in zip(start, size):
        image_rng.shuffle(order[first : first + n])

    draw_classes = _balanced_classes if balanced else _classes_with_images_left
    chosen = draw_classes(size, shots + queries, len(order) if max_tasks is None else max_tasks, class_rng)
    _check_two(len(chosen), ways, f"{(shots + queries).max()} images", balanced)
    first = start[chosen] + _images_used(chosen, shots + queries)
    picks = [order[first[:, k, None] + np.arange(n)] for k, n in enumerate(shots + queries)]
    made = describe("open", ways, shots, queries, seed, max_tasks=max_tasks)
    return assemble(picks, shots, queries, made | {"balanced": True} if balanced else made)


def _classes_with_images_left(size: np.ndarray, need: np.ndarray, limit: int, rng: np.random.Generator) -> np.ndarray:
    """Random classes (T, K) of each task among those that have enough images left, until fewer than K have."""
    left, ways, enough = size.tolist(), len(need), need.max()
    eligible = [c for c, n in enumerate(left) if n >= enough]
    chosen: list[int] = []
    block, at = [], 0
    while len(eligible) >= ways and len(chosen) < ways * limit:
        if at == len(block):
            block, at = rng.random(ways * 4096).tolist(), 0
        for k, n in enumerate(need.tolist()):  # the first K steps of a Fisher-Yates shuffle
            j = k + int(block[at + k] * (len(eligible) - k))
            eligible[k], eligible[j] = eligible[j], eligible[k]
            left[eligible[k]] -= n
        chosen += eligible[:ways]
        at += ways
        for k in reversed(range(ways)):
            if left[eligible[k]] < enough:
                eligible[k] = eligible[-1]
                eligible.pop()
    return np.array(chosen, int).reshape(-1, ways)


def _balanced_classes(size: np.ndarray, need: np.ndarray, limit: int, rng: np.random.Generator) -> np.ndarray:
    """Random classes (T, K) of each task, each class in as many as the smallest class allows, or in one fewer."""
    classes, ways = np.arange(len(size)), len(need)
    tasks = min(limit, len(size) * int(size.min() // need.max()) // ways)
    chosen: list[int] = []
    while len(chosen) < tasks * ways:  # a round holds each class once
        begun = chosen[len(chosen) - len(chosen) % ways :]  # classes of a task that the last round left incomplete
        completing = rng.permutation(np.setdiff1d(classes, begun))[: ways - len(begun)]
        chosen += [*completing, *rng.permutation(np.setdiff1d(classes, completing))]
    return np.array(chosen[: tasks * ways], int).reshape(-1, ways)


def _images_used(chosen: np.ndarray, need: np.ndarray) -> np.ndarray:
    """Images (T, K) of each class that earlier tasks use, of tasks that take ``need`` (K,) from classes (T, K)."""
    by_class = chosen.ravel().argsort(kind="stable")
    taken = np.broadcast_to(need, chosen.shape).ravel()[by_class]
    before = taken.cumsum() - taken
    ordered = chosen.ravel()[by_class]
    used = np.empty(chosen.size, int)
    used[by_class] = before - before[np.searchsorted(ordered, ordered)]
    return used.reshape(chosen.shape)


def _check_two(tasks: int, ways: int, what: str, balanced: bool = False) -> None:
    if tasks < 2:
        number = "1 task" if tasks == 1 else f"{tasks} tasks"
        reuse = "without reuse, balanced by their smallest class" if balanced else "without reuse"
        raise InputError(
            f"the data hold {number} of {ways} ways and up to {what} a class {reuse}; at least 2 are needed: lower "
            "ways, shots or queries, or draw closed tasks alone (--samplings closed)"
        )


def sample_all(labels: np.ndarray, *, shots: int, tasks: int, seed: int = 0) -> Tasks:
    """Tasks of all classes, tested on all images that are not in the support (as CLIP was on few shots).

    Parameters
    ----------
    labels : (N,) integers or strings
        The class of each image; each class needs S + 1.
    shots : int
        Images per class in the support, S. Task t with fewer shots has part of the same support.
    tasks : int
        T, at least 1. The first t are the same for any T.
    seed : int
        The same seed gives the same tasks.

    Raises
    ------
    InputError
        Fewer than 2 classes, a class with S images or fewer, fewer than 1 task, too many tasks for the memory.
    """
    tasks, shots = whole("tasks", tasks, least=1), whole("shots", shots, least=1)
    labels = checked_labels("labels", labels)
    ways = len(np.unique(labels))
    if ways < 2:
        raise InputError(f"labels: they hold {ways} class; at least 2 are needed")
    room("tasks", tasks, 24 * tasks * len(labels))
    take = per_class("shots", shots, ways)
    order, start, size = _by_class(labels, ways, take, np.ones_like(take), skip_small_classes=False)
    (rng,) = streams(seed, 1)
    label = np.repeat(np.arange(ways), size)
    first = np.arange(len(order)) - start[label] < take[label]
    shuffled = []
    for _ in range(tasks):
        within = np.lexsort((rng.random(len(order)), label))  # class by class, in random order
        shuffled.append(order[within])
    images, label = np.array(shuffled), np.tile(label, (tasks, 1))
    made = {"sampling": "all classes", "ways": ways, "shots": int(take[0]), "seed": seed, "tasks": tasks}
    return Tasks(images[:, first], label[:, first], images[:, ~first], label[:, ~first], ways, made)


def streams(seed: int, n: int) -> list[np.random.Generator]:
    seed = whole("seed", seed, least=0)
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n)]


def per_class(name: str, count: int | Sequence[int], ways: int) -> np.ndarray:
    if whole("ways", ways, most=MOST_WAYS) < 2:
        raise InputError(f"ways = {ways}; at least 2 are needed")
    try:
        counts = np.atleast_1d(wholes(name, count))
    except InputError:  # a number too large for 64 bits does not give an integer array
        counts = np.zeros(0, int)
    if not counts.size or counts.ndim > 1 or counts.min() < 1 or counts.max() > MOST:
        raise InputError(f"{name} = {shown(count)}; whole numbers of at least 1, up to {MOST:,}, are allowed")
    if counts.size not in (1, ways):
        raise InputError(f"{name} = {count}; one number, or one for each of {ways} ways")
    return np.broadcast_to(counts, ways)


def _by_class(labels, ways, shots, queries, skip_small_classes):
    """Image indices sorted by class, and the start and size of each class."""
    flag("skip_small_classes", skip_small_classes)
    labels = checked_labels("labels", labels)
    classes, size = np.unique(labels, return_counts=True)
    if ways > len(classes):
        raise InputError(f"ways = {ways}; the data have {len(classes)} classes")
    order = np.argsort(labels, kind="stable").astype(np.int64 if len(labels) > 2**31 - 1 else np.int32)
    start = np.cumsum(size) - size
    enough = int((shots + queries).max())
    small = size < enough
    if small.any() and not skip_small_classes:
        worst = int(size.argmin())
        raise InputError(
            f"shots + queries = {enough}; class {classes[worst]} has {size[worst]} images "
            "(lower them, or skip small classes: --skip-small-classes)"
        )
    if (~small).sum() < ways:
        raise InputError(f"ways = {ways}; {(~small).sum()} classes have shots + queries = {enough} images or more")
    return order, start[~small], size[~small]


def some_classes(tasks: int, classes: int, ways: int, rng: np.random.Generator) -> np.ndarray:
    """Random classes (T, K) of each task, without repetition; the memory does not grow with tasks times classes."""
    chosen, rows = np.empty((tasks, ways), np.int64), max(1, AT_ONCE // classes)
    for at in range(0, tasks, rows):  # the same numbers, whatever the rows
        uniform = rng.random((min(rows, tasks - at), classes))
        chosen[at : at + rows] = uniform.argsort(axis=1)[:, :ways]
    return chosen


def fill(chosen: np.ndarray, order, start, size, shots, queries, image_rng, order_rng) -> list[np.ndarray]:
    """Random images, without repetition in a task, for the classes (T, K) of tasks: for `assemble`.

    ``order`` contains the images by class; class c has ``size[c]`` of them from ``start[c]`` on.
    """
    tasks, ways = chosen.shape
    m = int((shots + queries).max())
    uniform = image_rng.random((tasks, ways, m))
    shuffle = order_rng.random((tasks, ways, m))
    picks = []
    for k in range(ways):
        take = shots[k] + queries[k]
        within = distinct(uniform[:, k, :take], size[chosen[:, k]])
        within = np.take_along_axis(within, shuffle[:, k, :take].argsort(axis=1), axis=1)
        picks.append(order[start[chosen[:, k], None] + within])
    return picks


def assemble(picks: list[np.ndarray], shots, queries, sampler: dict) -> Tasks:
    """Tasks from one (T, S_k + Q_k) index array per class: shots first, then queries."""
    tasks, ways = len(picks[0]), len(picks)
    label = [np.repeat(np.arange(ways), n) for n in (shots, queries)]
    label = [np.broadcast_to(row, (tasks, len(row))) for row in label]
    support = np.concatenate([p[:, :s] for p, s in zip(picks, shots)], axis=1)
    query = np.concatenate([p[:, s:] for p, s in zip(picks, shots)], axis=1)
    return Tasks(support, label[0], query, label[1], ways, sampler)
