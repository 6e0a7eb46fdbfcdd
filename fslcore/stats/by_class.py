"""Checked tasks: their images by number, and the order of their places by class."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, wholes
from .intervals import Array

LEAST = 20  # tasks


def check_task_count(tasks: int) -> None:
    """Raise `InputError` where there are too few tasks for a jackknife over images."""
    if tasks < LEAST:
        raise InputError(
            f"{tasks} tasks; at least {LEAST} are needed, and some thousand are better"
        )


def checked_images(name: str, images: ArrayLike, shape: tuple[int, int], least: int = 0) -> Array:
    """Images (T, m) of T tasks, out of N, without repetition in a task; -1 may be padding."""
    images, (tasks, count) = wholes(name, images), shape
    if images.ndim != 2 or len(images) != tasks or not images.size:
        raise InputError(
            f"{name} is {images.dtype} of shape {images.shape}; "
            f"whole numbers, one row for each of {tasks} tasks"
        )
    if images.min() < least or images.max() >= count:
        raise InputError(
            f"{name} holds images from {images.min()} to {images.max()}; "
            f"images {least} to {count - 1} are allowed{'' if least else ', without padding'}"
        )
    ordered = np.sort(images, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise InputError(
            f"{name}: an image stands twice in a task; tasks without repetition are needed"
        )
    return images


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
        of_task = grouped[..., 0]
        one_class = (grouped == grouped[..., :1]).all()
        if one_class and (of_task[:, 1:] != of_task[:, :-1]).all():
            return order, of_task
    raise InputError(
        f"{name}: {ways} classes with equal numbers of {places} in each task are needed"
    )
