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
            f"tasks must be at least {MINIMUM_TASKS}, better some thousand, got {tasks}"
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
            f"{name} must be integers, one row for each of {tasks} tasks, got {images.dtype} of "
            f"shape {images.shape}"
        )
    if images.min() < lowest or images.max() >= count:
        padding = "" if lowest else ", without padding"
        raise InputError(
            f"{name} must be images {lowest} to {count - 1}{padding}, got {images.min()} to "
            f"{images.max()}"
        )
    ordered = np.sort(images, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise InputError(f"{name} must be different in each task, got an image twice in one task")
    return images


def check_reuse(name: str, images: Array) -> None:
    """Raise `InputError` where no image (T, m) is in two tasks: then nothing shows what the tasks
    have in common.
    """
    if len(np.unique(images)) == images.size:
        raise InputError(
            f"{name} must share images between tasks, as sample_closed draws them, got none in "
            "two tasks. For open tasks, open_task_interval of their accuracies applies to new "
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
        f"{name} must have equal numbers of {places} of {ways} classes in each task, got others"
    )
