"""Draw tasks at random: closed (images are used again), open (each once), and with all classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, check_memory, flag, quoted, whole, wholes
from .grouped import (
    GroupedImages,
    classes_of,
    draw_closed,
    draw_open,
    first_to_front,
    shuffled_distinct,
)
from .tasks import Integers, Tasks, describe

__all__ = ["sample_all_classes", "sample_closed", "sample_open"]

MAX_IMAGES_PER_CLASS = 10**9  # in the support or the query of a task
MAX_WAYS = 10**6
RANDOM_NUMBERS_AT_ONCE = 2**20  # random numbers by which classes are chosen


def sample_closed(
    labels: ArrayLike,
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

    Each task takes ``ways`` classes, then images without repetition inside the task; the next task
    starts from the whole data again. The first t tasks are the same for any number of ``tasks``.

    All sets of K classes are equally likely, and so are all images of a class. The mean accuracy
    over tasks therefore estimates the mean over all tasks of these images, in which **all classes
    have equal weight**, whatever their sizes: each of the C classes is expected in K·T/C of T
    tasks.

    With ``groups``, no group is in both the support and the query of a task, in any class. The
    support of each of its classes is S of the class's groups, all equally likely, with one random
    image of each. Its queries are Q of its groups that are in no support of the task, with one
    image of each. So groups count equally, for any number of images, and the mean over tasks is an
    estimate for new groups.

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
        More ways than classes, shots + queries beyond a class, fewer than 2 tasks, too many tasks
        for the memory; a class with fewer than S + Q groups besides those that the supports of
        other classes may contain.
    """
    tasks = whole("tasks", tasks, minimum=2)
    n_shots = per_class("shots", shots, ways)
    n_queries = per_class("queries", queries, ways)
    need = n_shots + n_queries
    skip_small_classes = flag("skip_small_classes", skip_small_classes)
    sampler = describe("closed", ways, n_shots, n_queries, seed, tasks=tasks)
    if groups is not None:
        cells = GroupedImages.of(labels, groups, ways, n_shots, n_queries, skip_small_classes)
        check_memory("tasks", tasks, 32 * tasks * ways * int(cells.needed.max()))
        class_rng, *rngs = streams(seed, 4)
        chosen = _random_classes(tasks, len(cells.first), ways, class_rng)
        picks = draw_closed(cells, chosen, n_shots, n_queries, rngs)
        sampler["groups"] = cells.n_groups
    else:
        images = ImagesOfClasses.of(labels, ways, need, skip_small_classes)
        check_memory("tasks", tasks, 24 * tasks * int(need.sum()))
        class_rng, *rngs = streams(seed, 3)
        chosen = _random_classes(tasks, len(images.size), ways, class_rng)
        picks = random_images(images, chosen, need, *rngs)
    return tasks_from_picks(picks, n_shots, n_queries, sampler)


def sample_open(
    labels: ArrayLike,
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

    Each task takes ``ways`` random classes among those with at least S + Q images left, and uses up
    its images. Sampling stops when fewer than ``ways`` such classes are left. Time and memory are
    linear in the number of images.

    **Classes with more images have more weight.** A class of n images has enough for r = ⌊n/(S +
    Q)⌋ tasks. All classes are used at the same rate until they are used up, and sampling stops when
    K - 1 are left. So a class is in about min(r, h) tasks, with h the K-th largest r, or with
    ``max_tasks`` the number at which these add up to K·T. Where classes differ in size, the mean
    accuracy over tasks is therefore not an estimate of the mean that `sample_closed` estimates;
    late tasks also hold only large classes, which may be easier or harder to tell apart.

    With ``balanced``, **all classes have equal weight**, at the cost of fewer tasks: ⌊C·r/K⌋, with
    r of the smallest of the C classes. Rounds of all classes in random order are cut into tasks of
    K; where a task spans two rounds, the second begins with random classes that the task does not
    hold yet. So after any number of tasks, the classes have been in equally many, or some in one
    fewer. The draw treats all classes the same: each task, by itself, holds any set of K classes
    with equal probability, as in `sample_closed`, and the mean has the same expectation.

    With ``groups``, no group is in two tasks either, so that an interval over tasks applies to new
    groups. A task takes its groups like those of `sample_closed`, among the unused groups, and uses
    them up with all their images in all classes.

    Parameters
    ----------
    max_tasks : int, optional
        Stop after this many tasks (the released code stops at 2,000; the paper at exhaustion).
    balanced : bool
        Give all classes equal weight; not with ``groups``, which may use up images of several
        classes at once.
    labels, ways, shots, queries, seed, skip_small_classes, groups
        As for `sample_closed`.

    Raises
    ------
    InputError
        As for `sample_closed`; also if the data allow fewer than 2 tasks, and for ``balanced`` with
        ``groups``.
    """
    if flag("balanced", balanced) and groups is not None:
        raise InputError(
            "balanced must be False with groups, which may use up images of several classes at once"
        )
    if max_tasks is not None:
        max_tasks = whole("max_tasks", max_tasks, minimum=2)
    n_shots = per_class("shots", shots, ways)
    n_queries = per_class("queries", queries, ways)
    need = n_shots + n_queries
    skip_small_classes = flag("skip_small_classes", skip_small_classes)
    sampler = describe("open", ways, n_shots, n_queries, seed, max_tasks=max_tasks)
    if groups is not None:
        cells = GroupedImages.of(labels, groups, ways, n_shots, n_queries, skip_small_classes)
        picks = draw_open(cells, n_shots, n_queries, max_tasks, streams(seed, 3))
        sampler["groups"] = cells.n_groups
    else:
        images = ImagesOfClasses.of(labels, ways, need, skip_small_classes)
        choose = _balanced_classes if balanced else _classes_with_images_left
        picks = _images_used_once(images, need, max_tasks, choose, *streams(seed, 2))
    if balanced:
        sampler["balanced"] = True
    unit = "images" if groups is None else "groups"
    _check_two(len(picks[0]), ways, f"{need.max()} {unit}", balanced)
    return tasks_from_picks(picks, n_shots, n_queries, sampler)


def _images_used_once(
    images: ImagesOfClasses,
    need: Integers,
    max_tasks: int | None,
    choose: Callable[..., Integers],
    image_rng: np.random.Generator,
    class_rng: np.random.Generator,
) -> list[Integers]:
    """Images (T, S_k + Q_k) by place of tasks whose classes ``choose`` gives."""
    # One shuffle per class; taking the next images of a shuffled class is random sampling.
    order = images.order
    for start, size in zip(images.start, images.size):
        image_rng.shuffle(order[start : start + size])
    chosen = choose(images.size, need, len(order) if max_tasks is None else max_tasks, class_rng)
    first = images.start[chosen] + _images_used(chosen, need)
    return [order[first[:, k, None] + np.arange(n)] for k, n in enumerate(need)]


def _classes_with_images_left(
    size: Integers, need: Integers, limit: int, rng: np.random.Generator
) -> Integers:
    """Random classes (T, K) among those with enough images left, until fewer than K have them."""
    left = size.tolist()
    ways = len(need)
    enough = need.max()
    eligible = [c for c, n in enumerate(left) if n >= enough]
    chosen: list[int] = []
    while len(eligible) >= ways and len(chosen) < ways * limit:
        first_to_front(eligible, rng.random(ways).tolist())
        for c, n in zip(eligible, need.tolist()):
            left[c] -= n
        chosen += eligible[:ways]
        for k in reversed(range(ways)):
            if left[eligible[k]] < enough:
                eligible[k] = eligible[-1]
                eligible.pop()
    return np.array(chosen, int).reshape(-1, ways)


def _balanced_classes(
    size: Integers, need: Integers, limit: int, rng: np.random.Generator
) -> Integers:
    """Random classes (T, K), each in the tasks that the smallest class allows, or in one fewer."""
    classes = np.arange(len(size))
    ways = len(need)
    tasks = min(limit, len(size) * int(size.min() // need.max()) // ways)
    chosen: list[int] = []
    while len(chosen) < tasks * ways:  # a round holds each class once
        # Classes of a task that the last round left incomplete.
        begun = chosen[len(chosen) - len(chosen) % ways :]
        completing = rng.permutation(np.setdiff1d(classes, begun))[: ways - len(begun)]
        chosen += [*completing, *rng.permutation(np.setdiff1d(classes, completing))]
    return np.array(chosen[: tasks * ways], int).reshape(-1, ways)


def _images_used(chosen: Integers, need: Integers) -> Integers:
    """(T, K) number of images of each class that earlier tasks use; each uses ``need`` (K,)."""
    by_class = chosen.ravel().argsort(kind="stable")
    taken = np.broadcast_to(need, chosen.shape).ravel()[by_class]
    before = taken.cumsum() - taken
    ordered = chosen.ravel()[by_class]
    used = np.empty(chosen.size, int)
    used[by_class] = before - before[np.searchsorted(ordered, ordered)]
    return used.reshape(chosen.shape)


def _check_two(tasks: int, ways: int, images: str, balanced: bool) -> None:
    if tasks < 2:
        number = "1 task" if tasks else "0 tasks"
        smallest = ", balanced by their smallest class" if balanced else ""
        raise InputError(
            f"the data must hold at least 2 tasks of {ways} ways and up to {images} per class "
            f"without reuse{smallest}, got {number}: lower ways, shots or queries, or draw closed "
            "tasks alone (sampling='closed')"
        )


def sample_all_classes(labels: ArrayLike, *, shots: int, tasks: int, seed: int = 0) -> Tasks:
    """Draw tasks of all classes, tested on all images outside the support (as CLIP was on few
    shots).

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
        Fewer than 2 classes, a class with S images or fewer, fewer than 1 task, too many tasks for
        the memory.
    """
    tasks = whole("tasks", tasks, minimum=1)
    shots = whole("shots", shots, minimum=1)
    classes, class_of_image = classes_of(labels)
    ways = len(classes)
    if ways < 2:
        raise InputError(f"labels must have at least 2 classes, got {ways}")
    check_memory("tasks", tasks, 24 * tasks * len(class_of_image))
    images = ImagesOfClasses.of(labels, ways, shots + 1)
    (rng,) = streams(seed, 1)
    label = np.repeat(np.arange(ways), images.size)
    is_support = np.arange(len(label)) - images.start[label] < shots
    # Class by class, in random order.
    orders = [np.lexsort((rng.random(len(label)), label)) for _ in range(tasks)]
    index, label = images.order[np.array(orders)], np.tile(label, (tasks, 1))
    return Tasks(
        support=index[:, is_support],
        support_label=label[:, is_support],
        query=index[:, ~is_support],
        query_label=label[:, ~is_support],
        ways=ways,
        sampler={
            "sampling": "all classes",
            "ways": ways,
            "shots": shots,
            "seed": seed,
            "tasks": tasks,
        },
    )


def streams(seed: int, n: int) -> list[np.random.Generator]:
    """Independent random streams, one for each purpose.

    So the first t tasks are the same for any number of tasks: each stream grows by whole tasks. The
    order in which a sampler takes them determines its tasks, and thereby stored results.
    """
    seed = whole("seed", seed, minimum=0)
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n)]


def per_class(name: str, count: int | Sequence[int], ways: int) -> Integers:
    """(K,) numbers of images, from one number or K; raises `InputError` for others."""
    whole("ways", ways, 2, MAX_WAYS)
    try:
        counts = np.atleast_1d(wholes(name, count))
    except InputError:  # a number too large for 64 bits does not give an integer array
        counts = np.zeros(0, int)
    if (
        not counts.size
        or counts.ndim > 1
        or counts.min() < 1
        or counts.max() > MAX_IMAGES_PER_CLASS
    ):
        raise InputError(
            f"{name} must be integers from 1 to {MAX_IMAGES_PER_CLASS:,}, got {quoted(count)}"
        )
    if counts.size not in (1, ways):
        raise InputError(f"{name} must be one number, or one for each of {ways} ways, got {count}")
    return np.broadcast_to(counts, ways)


@dataclass(frozen=True)
class ImagesOfClasses:
    """Images by class.

    Attributes
    ----------
    order : (N,) integers
        All images; those of a class are together.
    start, size : (C,) integers
        Start of a class in ``order``, and its number of images.
    """

    order: Integers
    start: Integers
    size: Integers

    @classmethod
    def of(
        cls, labels: ArrayLike, ways: int, need: Integers | int, skip_small_classes: bool = False
    ) -> ImagesOfClasses:
        """Of classes with enough images; raises `InputError` if there are fewer than K."""
        enough = int(np.max(need))
        classes, label = classes_of(labels, ways)
        size = np.bincount(label)
        is_large = size >= enough
        if not (is_large.all() or skip_small_classes):
            worst = int(size.argmin())
            raise InputError(
                f"class {classes[worst]} must have shots + queries = {enough} images, got "
                f"{size[worst]} (lower them, or skip small classes: skip_small_classes=True)"
            )
        if is_large.sum() < ways:
            raise InputError(
                f"ways must be at most {is_large.sum()}, the classes with shots + queries = "
                f"{enough} images or more, got {ways}"
            )
        kind: type[np.integer] = np.int64 if len(label) > 2**31 - 1 else np.int32
        order = np.argsort(label, kind="stable").astype(kind)
        start = np.cumsum(size) - size
        return cls(order, start[is_large], size[is_large])


def _random_classes(tasks: int, classes: int, ways: int, rng: np.random.Generator) -> Integers:
    """Random classes (T, K), without repetition in a task; memory is linear in the tasks."""
    chosen = np.empty((tasks, ways), np.int64)
    rows = max(1, RANDOM_NUMBERS_AT_ONCE // classes)
    for at in range(0, tasks, rows):  # the same numbers, whatever the rows
        uniform = rng.random((min(rows, tasks - at), classes))
        chosen[at : at + rows] = uniform.argsort(axis=1)[:, :ways]
    return chosen


def random_images(
    images: ImagesOfClasses,
    chosen: Integers,
    need: Integers,
    image_rng: np.random.Generator,
    order_rng: np.random.Generator,
) -> list[Integers]:
    """Random images (T, S_k + Q_k) of the classes (T, K), without repetition in a task."""
    shape = (*chosen.shape, int(need.max()))
    uniform = image_rng.random(shape)
    shuffle = order_rng.random(shape)
    picks = []
    for k, n in enumerate(need):
        c = chosen[:, k]
        places = shuffled_distinct(uniform[:, k, :n], shuffle[:, k, :n], images.size[c], n)
        picks.append(images.order[images.start[c, None] + places])
    return picks


def tasks_from_picks(
    picks: Sequence[Integers] | Integers,
    shots: Integers,
    queries: Integers,
    sampler: dict[str, Any],
) -> Tasks:
    """Tasks from one (T, S_k + Q_k) index array per class: shots first, then queries."""
    tasks = len(picks[0])
    ways = len(picks)
    support_label, query_label = (
        np.broadcast_to(np.repeat(np.arange(ways), n), (tasks, n.sum())) for n in (shots, queries)
    )
    support = np.concatenate([index[:, :s] for index, s in zip(picks, shots)], axis=1)
    query = np.concatenate([index[:, s:] for index, s in zip(picks, shots)], axis=1)
    return Tasks(support, support_label, query, query_label, ways, sampler)
