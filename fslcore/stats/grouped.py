"""Tasks that keep groups apart (`fslcore.tasks.sample_closed`): what their mean would be without
each group.

Without a group the same law draws from the others. So a task that lacks it is drawn with another
probability, and the mean without the group is that over the tasks that lack it, each weighted by
the ratio of the two probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .intervals import Array, Floats

__all__ = ["Cells", "cells_of", "shrunk", "without_groups"]

AT_ONCE = 2**22  # numbers


@dataclass(frozen=True)
class Cells:
    """The images of a group in a class, as one, since a task has at most one of them.

    Attributes
    ----------
    of : (N,) integers
        The cell of each image, from 0 to M - 1.
    first : (M,) integers
        An image of each cell.
    span : bool
        Whether some group has images of several classes.
    """

    of: Array
    first: Array
    span: bool


def cells_of(labels: Array, groups: ArrayLike | None, support: Array, query: Array) -> Cells:
    """The cells of images, if tasks with this support and query (T, n) of images keep groups (N,)
    apart.

    Raises
    ------
    InputError
        No groups; a group on both sides of a task, or twice in a class of one.
    """
    if groups is None:
        raise InputError("apart = True; the groups that the tasks keep apart are needed")
    groups = np.asarray(groups)
    group, label = (np.unique(a, return_inverse=True)[1] for a in (groups, labels))
    count = int(group.max()) + 1
    task = np.arange(len(support))[:, None]
    both = np.intersect1d(*(task * count + group[images] for images in (support, query)))
    if both.size:
        name = groups[(group == both[0] % count).argmax()]
        place = f"task {both[0] // count}"
        raise InputError(
            f"groups: {name} is in the support and in the query of {place}, which are not kept "
            "apart"
        )
    _, first, of = np.unique(label * count + group, return_index=True, return_inverse=True)
    ordered = np.sort(of[np.concatenate([support, query], axis=1)], axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise InputError(
            "groups: a task has two images of a group in a class; tasks that keep groups apart "
            "have one"
        )
    return Cells(of, first, bool(len(first) > count))


def without_groups(
    values: Floats,
    support: Array,
    query: Array,
    of_task: Array,
    members: Array,
    *,
    parts: int,
    transductive: bool = False,
) -> Floats:
    """(P, G) the mean less that without each group, as each of P parts of the tasks tells it.

    Parameters
    ----------
    values : (T, K, Q) floats
        A number per query.
    support, query : (T, K, S), (T, K, Q) integers
        The group of each place.
    of_task : (T, K) integers
        Classes of each task.
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
    tasks, ways, _ = support.shape
    size = members.sum(axis=0)
    held = np.bincount(of_task.ravel(), minlength=len(size)).clip(min=1)
    usual = np.bincount(of_task.ravel(), values.mean(axis=2).ravel(), len(size)) / held
    values = values - usual[of_task][..., None]
    out = np.zeros((parts, len(members)))
    part = np.arange(tasks) * parts // tasks
    rows = max(1, AT_ONCE // (members.shape[0] * ways))
    for p in range(parts):
        of_part = np.flatnonzero(part == p)
        for at in range(0, len(of_part), rows):
            of = of_part[at : at + rows]
            out[p] += _changes(
                values[of], support[of], query[of], of_task[of], members, transductive=transductive
            ).sum(axis=0)
        out[p] /= len(of_part)
    return out


def _changes(
    values: Floats,
    support: Array,
    query: Array,
    of_task: Array,
    members: Array,
    *,
    transductive: bool,
) -> Floats:
    """(T, G) what each task tells of each group; arguments as for `without_groups`."""
    (tasks, ways, shots), queries = support.shape, query.shape[2]
    row = np.arange(tasks)[:, None]
    held = np.zeros((tasks, len(members)), bool)
    held[row, support.reshape(tasks, -1)] = True
    member = members[:, of_task].transpose(1, 2, 0)  # (T, K, G)
    n = members.sum(axis=0)[of_task].astype(float)
    left = n - (member & held[:, None]).sum(axis=2)
    spare = queries if transductive else 1
    if left.min() <= spare:
        raise InputError(
            "groups: a class has too few to leave one out; fewer shots or queries, or more groups"
        )
    member = member.astype(float)
    log_ratio = np.log(n / (n - shots))
    query_groups = query.reshape(tasks, -1)
    weight = np.exp(np.einsum("tkg,tk->tg", member, log_ratio))
    weight[held] = 0
    ratio = left / (left - spare)
    class_share = values.mean(axis=2) / ways
    if transductive:
        weight[row, query_groups] = 0
        weight = weight * np.exp(np.einsum("tkg,tk->tg", member, np.log(ratio)))
        return np.asarray(class_share.sum(axis=1)[:, None] * (1 - weight))
    without = weight * (
        class_share.sum(axis=1)[:, None]
        + np.einsum("tkg,tk->tg", member, class_share * (ratio - 1))
    )
    lost = values / (ways * queries) * ratio[..., None]
    # A group may be asked in several classes, so that sums are needed.
    flat = (row * len(members) + query_groups).ravel()
    lost = np.bincount(
        flat, (lost.reshape(tasks, -1) * weight[row, query_groups]).ravel(), without.size
    )
    return np.asarray(class_share.sum(axis=1)[:, None] - (without - lost.reshape(without.shape)))


def shrunk(changes: Floats, members: Array) -> Floats:
    """Changes (P, G) by group, whose squares add up to a variance: times √(1 - 1/n), n of a class
    on average.
    """
    share = (members / members.sum(axis=0)).sum(axis=1) / members.sum(axis=1)
    return np.asarray(changes * np.sqrt(1 - share))
