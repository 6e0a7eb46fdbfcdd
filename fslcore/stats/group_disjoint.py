"""Tasks that keep groups apart (`fslcore.tasks.sample_closed`): what their mean would be without
each group.

Without a group the same law draws from the others. So a task that lacks it is drawn with another
probability, and the mean without the group is that over the tasks that lack it, each weighted by
the ratio of the two probabilities.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .intervals import Array, Floats

AT_ONCE = 2**22  # numbers


class GroupCells(NamedTuple):
    """The images of a group in a class, as one, since a task has at most one of them.

    Attributes
    ----------
    cell_of_image : (N,) integers
        The cell of each image, from 0 to M - 1.
    first_image : (M,) integers
        An image of each cell.
    span_classes : bool
        Whether some group has images of several classes.
    """

    cell_of_image: Array
    first_image: Array
    span_classes: bool


class GroupTasks(NamedTuple):
    """Tasks with the group of each image in the place of the image.

    Attributes
    ----------
    values : (T, K, Q) floats
        A number per query.
    support, query : (T, K, S), (T, K, Q) integers
        The group of each place.
    classes : (T, K) integers
        Classes of each task.
    """

    values: Floats
    support: Array
    query: Array
    classes: Array


def cells_of(labels: Array, groups: ArrayLike | None, support: Array, query: Array) -> GroupCells:
    """The cells of images, if tasks with this support and query (T, n) of images keep groups (N,)
    apart.

    Raises
    ------
    InputError
        No groups; a group on both sides of a task, or twice in a class of one.
    """
    if groups is None:
        raise InputError(
            "groups must be those that the tasks keep apart (group_disjoint=True), got None"
        )
    names, group = np.unique(np.asarray(groups), return_inverse=True)
    label = np.unique(labels, return_inverse=True)[1]
    task = np.arange(len(support))[:, None] * len(names)
    shared = np.intersect1d(task + group[support], task + group[query])
    if shared.size:
        raise InputError(
            f"groups: {names[shared[0] % len(names)]} is in the support and in the query of task "
            f"{shared[0] // len(names)}, which are not kept apart"
        )
    cell = label * len(names) + group
    _, first_image, cell_of_image = np.unique(cell, return_index=True, return_inverse=True)
    task_cells = np.sort(cell_of_image[np.concatenate([support, query], axis=1)], axis=1)
    if (task_cells[:, 1:] == task_cells[:, :-1]).any():
        raise InputError(
            "groups: a task has two images of a group in a class; tasks that keep groups apart "
            "have one"
        )
    return GroupCells(cell_of_image, first_image, len(first_image) > len(names))


def without_groups(tasks: GroupTasks, members: Array, *, parts: int, transductive: bool) -> Floats:
    """(P, G) the mean minus that without each group, as each of P parts of the tasks estimates it,
    times √(1 - 1/n), n of a class on average: the squares add up to a variance.

    Parameters
    ----------
    tasks : GroupTasks
        T tasks that keep G groups apart.
    members : (G, C) bool
        Which groups have images in which class.
    parts : int
        P.
    transductive : bool
        Whether an answer depends on all images of its task, as those of a transductive learner do.

    Raises
    ------
    InputError
        A class that has no group to spare.

    Notes
    -----
    A support is S of the n groups of its class, so without a group it is n / (n - S) times as
    likely. A query is one of the n - u groups that none of the task's supports hold, so it is (n -
    u) / (n - u - 1) times as likely. The mean of its class is subtracted, which has no part in the
    choice of groups. If an answer depends on all images, a task counts as a whole: its Q queries of
    a class are one of C(n - u, Q) sets, so it is (n - u) / (n - u - Q) times as likely.
    """
    centred = _minus_class_means(tasks.values, tasks.classes, members.shape[1])
    tasks = tasks._replace(values=centred)
    changes = np.zeros((parts, len(members)))
    part = np.arange(len(centred)) * parts // len(centred)
    batch = max(1, AT_ONCE // (len(members) * centred.shape[1]))
    for p in range(parts):
        places = np.flatnonzero(part == p)
        for start in range(0, len(places), batch):
            rows = places[start : start + batch]
            some_tasks = GroupTasks(*(array[rows] for array in tasks))
            changes[p] += _changes(some_tasks, members, transductive=transductive).sum(axis=0)
        changes[p] /= len(places)
    class_share = (members / members.sum(axis=0)).sum(axis=1) / members.sum(axis=1)
    return changes * np.sqrt(1 - class_share)


def _minus_class_means(values: Floats, classes: Array, count: int) -> Floats:
    """Values (T, K, Q) minus the mean over all tasks of their class (T, K)."""
    uses = np.bincount(classes.ravel(), minlength=count).clip(min=1)
    means = np.bincount(classes.ravel(), values.mean(axis=2).ravel(), count) / uses
    return values - means[classes][..., None]


def _changes(tasks: GroupTasks, members: Array, *, transductive: bool) -> Floats:  # noqa: PLR0914 the steps of one formula
    """(T, G) what each task contributes to the change without each group."""
    shots = tasks.support.shape[2]
    queries = tasks.query.shape[2]
    row = np.arange(len(tasks.values))[:, None]
    in_support = np.zeros((len(row), len(members)), bool)
    in_support[row, tasks.support.reshape(len(row), -1)] = True
    member = members[:, tasks.classes].transpose(1, 2, 0)  # (T, K, G)
    n = members.sum(axis=0)[tasks.classes].astype(float)
    left = n - (member & in_support[:, None]).sum(axis=2)
    spare = queries if transductive else 1
    if left.min() <= spare:
        raise InputError(
            "groups: a class has too few to leave one out; fewer shots or queries, or more groups"
        )
    by_group = partial(np.einsum, "tkg,tk->tg", member.astype(float))
    weight = np.exp(by_group(np.log(n / (n - shots))))
    weight[in_support] = 0
    ratio = left / (left - spare)
    class_share = tasks.values.mean(axis=2) / tasks.classes.shape[1]
    mean = class_share.sum(axis=1)[:, None]
    query_groups = tasks.query.reshape(len(row), -1)
    if transductive:
        weight[row, query_groups] = 0
        return mean * (1 - weight * np.exp(by_group(np.log(ratio))))
    without = weight * (mean + by_group(class_share * (ratio - 1)))
    lost = tasks.values / tasks.values[0].size * ratio[..., None]
    lost = lost.reshape(len(row), -1) * weight[row, query_groups]
    # A group may have queries in several classes, so that sums are needed.
    place = row * len(members) + query_groups
    sums = np.bincount(place.ravel(), lost.ravel(), without.size)
    return mean - (without - sums.reshape(without.shape))
