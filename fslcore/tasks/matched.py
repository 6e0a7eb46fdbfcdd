"""Random tasks with the classes of given tasks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, instance
from .grouped import classes_of
from .samplers import ImagesOfClasses, random_images, streams, tasks_from_picks
from .tasks import Integers, Tasks, describe

__all__ = ["sample_class_matched"]


def sample_class_matched(labels: ArrayLike, tasks: Tasks, *, seed: int = 0) -> Tasks:
    """Random tasks with the classes of ``tasks``, task by task: only the images are drawn again.

    Tasks whose images were chosen by a rule need not contain all classes equally often, so their
    gap to tasks from `fslcore.tasks.sample_closed` is partly one of classes. The gap to matched
    tasks is not, and the two can be compared in pairs.

    Parameters
    ----------
    labels : (N,) integers or strings
        The class of each image.
    tasks : Tasks
        T tasks with equal numbers of images per class from task to task.
    seed : int
        The same seed gives the same tasks.

    Raises
    ------
    InputError
        Tasks of different sizes or padded, or a class with fewer than S + Q images.
    """
    instance("tasks", tasks, Tasks)
    classes, label = classes_of(labels)
    shots = _images_per_class(tasks.support_label, tasks.ways)
    queries = _images_per_class(tasks.query_label, tasks.ways)
    tasks.check_bank(len(label))
    images = ImagesOfClasses.of(label, tasks.ways, 0)
    places = [int((tasks.support_label[0] == k).argmax()) for k in range(tasks.ways)]
    chosen = label[tasks.support[:, places]]
    is_small = images.size[chosen] < shots + queries
    if is_small.any():
        raise InputError(
            f"class {classes[chosen[is_small][0]]} must have shots + queries = "
            f"{(shots + queries).max()} images, got fewer"
        )
    picks = random_images(images, chosen, shots + queries, *streams(seed, 2))
    sampler = describe(
        "matched", tasks.ways, shots, queries, seed, tasks=len(tasks), to=tasks.digest
    )
    return tasks_from_picks(picks, shots, queries, sampler)


def _images_per_class(task_label: Integers, ways: int) -> Integers:
    """(K,) how many images a task has per class; raises `InputError` unless all are alike."""
    first = task_label[0]
    if (task_label != first).any() or first.min() < 0:
        raise InputError("tasks must have equal numbers of images per class, got unequal ones")
    return np.bincount(first, minlength=ways)
