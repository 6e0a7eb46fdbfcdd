"""Checks of tasks that are given by the numbers of their images."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, wholes
from .intervals import Array

MINIMUM_TASKS = 20


def check_task_count(tasks: int) -> None:
    """Raise `InputError` where there are too few tasks for a jackknife over images."""
    if tasks < MINIMUM_TASKS:
        raise InputError(
            f"{tasks} tasks; at least {MINIMUM_TASKS} are needed, and some thousand are better"
        )


def checked_images(name: str, images: ArrayLike, shape: tuple[int, int], lowest: int = 0) -> Array:
    """Images (T, m) of T tasks, out of N, without repetition in a task.

    Parameters
    ----------
    shape : (int, int)
        T and N.
    lowest : int
        0, or -1 where that is allowed as padding.
    """
    images = wholes(name, images)
    tasks, count = shape
    if images.ndim != 2 or len(images) != tasks or not images.size:
        raise InputError(
            f"{name} is {images.dtype} of shape {images.shape}; "
            f"whole numbers, one row for each of {tasks} tasks"
        )
    if images.min() < lowest or images.max() >= count:
        raise InputError(
            f"{name} holds images from {images.min()} to {images.max()}; "
            f"images {lowest} to {count - 1} are allowed{'' if lowest else ', without padding'}"
        )
    ordered = np.sort(images, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise InputError(
            f"{name}: an image stands twice in a task; tasks without repetition are needed"
        )
    return images


def check_reuse(name: str, images: Array) -> None:
    """Raise `InputError` where no image (T, m) is in two tasks: then nothing shows what the tasks
    have in common.
    """
    if len(np.unique(images)) == images.size:
        raise InputError(
            f"{name}: no image is in two tasks; tasks drawn with reuse of images are needed "
            "(sample_closed). For open tasks, open_task_interval of their accuracies applies to new "
            "images"
        )


def order_by_class(name: str, classes: Array, places: str = "images") -> tuple[Array, Array]:
    """The order (T, n) that sorts the places of each task by class, and (T, K) the classes.

    Raises
    ------
    InputError
        A task with unequal numbers of places per class.
    """
    order = classes.argsort(axis=1, kind="stable")
    ways = len(np.unique(classes[0]))
    if classes.shape[1] % ways == 0:
        grouped = np.take_along_axis(classes, order, axis=1).reshape(len(classes), ways, -1)
        task_classes = grouped[..., 0]
        one_class = (grouped == grouped[..., :1]).all()
        if one_class and (task_classes[:, 1:] != task_classes[:, :-1]).all():
            return order, task_classes
    raise InputError(
        f"{name}: {ways} classes with equal numbers of {places} in each task are needed"
    )
