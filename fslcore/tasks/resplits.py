"""Estimates of the accuracy from a support set alone: hold-out, k-fold, leave-one-out and
bootstrap.

Each of them trains on some of a task's support images and tests on others. That is a smaller task,
so it is represented as one: a *re-split* contains R tasks whose support and query are both inside
the supports of T given tasks. Every learner runs on them as on any other tasks, batched; the
estimate for a task is the mean accuracy over its re-splits. The query of the given tasks is never
used: the accuracy on it is the *oracle* with which estimates are compared (Shimabucoro et al.,
2024).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ..errors import (
    InputError,
    check_memory,
    either,
    flag,
    instance,
    quoted,
    suggestion,
    whole,
)
from .tasks import PAD, Booleans, Integers, Tasks, places_of_true, ranks

__all__ = [
    "LEAVE_ONE_OUT_REFILLED",
    "Resplit",
    "bootstrap_split",
    "hold_out",
    "k_fold",
    "leave_one_out",
    "resplit",
]

LEAVE_ONE_OUT_REFILLED = "leave-one-out, refilled"  # not in the paper
NAMES = ("hold-out", "5-fold", "leave-one-out", LEAVE_ONE_OUT_REFILLED, "bootstrap")  # also K-fold
DRAWS = 2_000  # after this many, bootstrap gives up on a support


class BootstrapFailed(InputError):
    """No draw of the bootstrap contains all classes of a support, because there are too many."""


@dataclass(frozen=True)
class Resplit:
    """Smaller tasks inside the supports of T given tasks.

    Attributes
    ----------
    tasks : Tasks
        R tasks; the query of each is the held-out part.
    owner : (R,) integers
        Which of the T given tasks each belongs to, ascending.
    """

    tasks: Tasks
    owner: Integers


def k_fold(tasks: Tasks, k: int = 5) -> Resplit:
    """Cross-validation: every image of the support is held out once, in one of k folds.

    The support is put in an order that takes one image of each class in turn, and divided into k
    runs of nearly equal length, the longer first; so 5-fold at 5 shots holds out one image per
    class each time. This is the order of the paper's released code, without randomness: images of a
    support are in random order.

    Parameters
    ----------
    tasks : Tasks
        T tasks; classes may have different numbers of support images.
    k : int
        2 to the number of support images. A class may lose all its images to a fold; learners
        then score it -inf, so that all of them count as errors.

    Returns
    -------
    Resplit
        k re-splits per task.

    Raises
    ------
    InputError
        k out of range for a support (so also a support of one image).
    """
    return _folds(tasks, whole("k", k, minimum=2))


def hold_out(tasks: Tasks, k: int = 5) -> Resplit:
    """Only the first of k folds: train on the others, test once on about n/k images.

    Parameters and errors: as for `k_fold`; one re-split per task.
    """
    return _folds(tasks, whole("k", k, minimum=2), only_first=True)


def leave_one_out(tasks: Tasks, refill: bool = False) -> Resplit:
    """Cross-validation with as many folds as there are support images: each is held out by itself.

    Parameters
    ----------
    tasks : Tasks
        T tasks.
    refill : bool
        Replace the image held out by a copy of another image of the class, the next one. So
        the class counts of the support do not change; not in the paper.

    Raises
    ------
    InputError
        A support of one image; with ``refill``, a class with one.
    """
    flag("refill", refill)
    split = _folds(tasks, None)
    if not refill:
        return split
    support, label, _ = _packed(tasks)
    support, label, held_out = support[split.owner], label[split.owner], split.tasks.query
    is_classmate = (label == split.tasks.query_label) & (support != held_out)
    has_classmate = is_classmate.any(axis=1)
    if not has_classmate.all():
        worst = split.owner[has_classmate.argmin()]
        raise InputError(
            f"task {worst} must have at least 2 images per class for leave-one-out, refilled, got 1"
        )
    places = np.arange(label.shape[1])
    place = (support == held_out).argmax(axis=1)[:, None]
    # How far behind the image held out, in a circle.
    distance = np.where(is_classmate, (places - place) % len(places), len(places))
    chosen = np.where(label >= 0, places, PAD)
    np.put_along_axis(chosen, place, distance.argmin(axis=1)[:, None], axis=1)
    return _resplit_of_positions(
        tasks, split.owner, chosen, place, estimator=LEAVE_ONE_OUT_REFILLED
    )


def bootstrap_split(tasks: Tasks, rounds: int = 30, seed: int = 0) -> Resplit:
    """Draw n of the n support images with replacement and test on those that were not drawn.

    A draw is repeated until it contains every class of the support and leaves an image out. On
    average training uses 0.63 n different images, some several times.

    Parameters
    ----------
    tasks : Tasks
        T tasks.
    rounds : int
        Re-splits per task; the paper's released code takes 20 to 30.
    seed : int
        The same seed gives the same draws. Those of the first t tasks are the same for any T, for
        tasks of one support width.

    Returns
    -------
    Resplit
        ``rounds`` re-splits per task; queries are padded with -1, as their number varies.

    Raises
    ------
    InputError
        Fewer than 1 round, a negative seed; a support with one image per class, all of which every
        draw of all classes uses; too many classes for a draw that contains them all to be found.
    """
    rounds = whole("rounds", rounds, minimum=1)
    seed = whole("seed", seed, minimum=0)
    _, label, n = _packed(tasks)
    check_memory("rounds", rounds, 64 * rounds * label.size)
    n_classes = _have_classes(label, label >= 0, tasks.ways).sum(axis=1)
    if (n <= n_classes).any():
        raise InputError(
            f"task {int((n <= n_classes).argmax())} must have a class with 2 support images for "
            "bootstrap, got 1 of each: a draw of all classes leaves none to test on"
        )
    owner = np.repeat(np.arange(len(n)), rounds)
    label = label[owner]
    is_image = label >= 0
    positions, times = np.zeros((2, *label.shape), np.int64)
    left = np.arange(len(owner))
    for attempt in range(DRAWS):
        # All are redrawn, and those that need one take theirs: so no task depends on the others.
        rng = np.random.default_rng([seed, attempt])
        positions[left] = rng.integers(n[owner, None], size=label.shape)[left]
        times[left] = _counts(positions[left], is_image[left])
        left = left[~_are_usable(label[left], times[left] > 0, tasks.ways)]
        if not len(left):
            break
    else:
        worst = owner[left[0]]
        raise BootstrapFailed(
            f"bootstrap: none of {DRAWS} draws of {n[worst]} support images had all "
            f"{n_classes[worst]} classes; try fewer ways or more shots"
        )
    return _resplit_of_positions(
        tasks,
        owner,
        np.where(is_image, positions, PAD),
        places_of_true(is_image & (times == 0)),
        estimator="bootstrap",
        rounds=rounds,
        bootstrap_seed=seed,
    )


def resplit(tasks: Tasks, estimator: str, *, rounds: int = 30, seed: int = 0) -> Resplit:
    """The re-splits of the estimator with this name.

    Parameters
    ----------
    tasks : Tasks
    estimator : str
        'hold-out', 'leave-one-out', 'leave-one-out, refilled', 'bootstrap', or 'K-fold' with a
        number K.
    rounds, seed : int
        For the bootstrap.

    Raises
    ------
    InputError
        Another name; and as for the estimator.
    """
    instance("estimator", estimator, str)
    if estimator == "bootstrap":
        return bootstrap_split(tasks, rounds, seed)
    if estimator == "hold-out":
        return hold_out(tasks)
    if estimator in ("leave-one-out", LEAVE_ONE_OUT_REFILLED):
        return leave_one_out(tasks, refill=estimator == LEAVE_ONE_OUT_REFILLED)
    k = re.fullmatch(r"(\d{1,9})-fold", estimator)
    if k is None:
        raise InputError(
            f"estimator must be {either([*NAMES, 'K-fold'])}, got "
            f"{quoted(estimator)}{suggestion(estimator, NAMES)}"
        )
    return k_fold(tasks, int(k[1]))


def _packed(tasks: Tasks) -> tuple[Integers, Integers, Integers]:
    """Support and labels (T, n) with padding last, and the number of images of each task."""
    instance("tasks", tasks, Tasks)
    order = np.argsort(tasks.support_label < 0, axis=1, kind="stable")
    support, label = (
        np.take_along_axis(a, order, axis=1) for a in (tasks.support, tasks.support_label)
    )
    return support, label, (label >= 0).sum(axis=1)


def _folds(tasks: Tasks, k: int | None, only_first: bool = False) -> Resplit:
    """Re-splits into k folds; None for as many as there are images."""
    _, label, n = _packed(tasks)
    folds = n if k is None else np.full(len(n), min(k, 10**9))
    is_wrong = (folds < 2) | (folds > n)
    if is_wrong.any():
        worst = int(is_wrong.argmax())
        raise InputError(
            f"k must be from 2 to the number of support images, {n[worst]} of task {worst}, got "
            f"{folds[worst]}"
        )
    fold = _fold_of_image(label, tasks.ways, n, folds)
    count = np.ones_like(folds) if only_first else folds
    owner = np.repeat(np.arange(len(n)), count)
    is_held_out = fold[owner] == ranks(count)[:, None]
    is_image = label[owner] >= 0
    return _resplit_of_positions(
        tasks,
        owner,
        places_of_true(is_image & ~is_held_out),
        places_of_true(is_image & is_held_out),
        estimator="hold-out" if only_first else "k-fold",
        k=int(folds.max()),
    )


def _fold_of_image(label: Integers, ways: int, n: Integers, k: Integers) -> Integers:
    """(T, n) fold of each image: images of the classes come in turn, and runs of them are folds."""
    is_of_class = label[..., None] == np.arange(ways)
    n_before = np.where(is_of_class, is_of_class.cumsum(axis=1) - 1, 0).sum(axis=2)
    key = np.where(label >= 0, n_before * ways + label, is_of_class[0].size)
    place = key.argsort(axis=1, kind="stable").argsort(axis=1)
    # Runs of nearly equal length: the first n mod k have one more image.
    length = (n // k)[:, None]
    n_longer = (n % k)[:, None]
    end = n_longer * (length + 1)
    return np.where(place < end, place // (length + 1), n_longer + (place - end) // length)


def _have_classes(label: Integers, is_chosen: Booleans, ways: int) -> Booleans:
    """(R, K) whether the images chosen (R, n) contain each class."""
    return ((label[..., None] == np.arange(ways)) & is_chosen[..., None]).any(axis=1)


def _are_usable(label: Integers, is_drawn: Booleans, ways: int) -> Booleans:
    """(R,) whether a draw contains every class of its support and leaves an image out."""
    is_image = label >= 0
    has_class = _have_classes(label, is_image, ways)
    has_all = (_have_classes(label, is_drawn, ways) == has_class).all(axis=1)
    return has_all & (is_image & ~is_drawn).any(axis=1)


def _counts(positions: Integers, is_image: Booleans) -> Integers:
    """(R, n) how many times each image was drawn; draws that are padding do not count."""
    times = np.zeros_like(positions)
    np.add.at(times, (np.nonzero(is_image)[0], positions[is_image]), 1)
    return times


def _resplit_of_positions(
    tasks: Tasks, owner: Integers, support: Integers, query: Integers, **estimator: str | int
) -> Resplit:
    """Tasks from positions in the packed supports of their owners; -1 is padding."""
    arrays = [array[owner] for array in _packed(tasks)[:2]]
    support, support_label, query, query_label = (
        np.where(position >= 0, np.take_along_axis(array, position.clip(min=0), axis=1), PAD)
        for position in (support, query)
        for array in arrays
    )
    sampler = {**tasks.sampler, **estimator}
    drawn = Tasks(support, support_label, query, query_label, tasks.ways, sampler)
    return Resplit(drawn, owner)
