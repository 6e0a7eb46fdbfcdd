"""Images and attributes by class, from which biased tasks are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fslcore.errors import InputError, array
from fslcore.tasks.grouped import classes_of
from fslcore.tasks.tasks import Booleans, Integers, places_of_true

TRIES = 20_000  # for one task, before the samplers give up


@dataclass(frozen=True)
class Choice:
    """K classes with their attributes, and for each class what the released variant adds.

    Attributes
    ----------
    classes, attributes : (K,) integers
    tolerated : list of K ints
        How many of the other classes' attributes a support image may have.
    intra : list of K bools
        Whether the query may have none of the other classes' attributes.
    scored : (A,) bool, optional
        Attributes that count for an image's score, by logarithms.
    """

    classes: Integers
    attributes: Integers
    tolerated: list[int]
    intra: list[bool]
    scored: Booleans | None = None


class Candidates:
    """Images and attributes by class, of which there are at least K.

    Attributes
    ----------
    names : (C,) array
    images : list of C arrays (n,)
    columns : list of C arrays (A, n) bool
        Which images have an attribute.
    lists : list of C arrays (n, m)
        The attributes of each image, with A as padding.
    count : (C, A) integers
        How many images have an attribute.
    size : (C, 1) integers
    """

    def __init__(self, labels: ArrayLike, attributes: ArrayLike, ways: int) -> None:
        self.names, label = classes_of(labels, ways)
        attributes = array("attributes", attributes, "an array of (images, attributes)")
        if attributes.dtype != bool or attributes.ndim != 2 or label.shape != (len(attributes),):
            raise InputError(
                "labels and attributes must have shapes (images,) and (images, attributes) of "
                f"bool, got {label.shape} and {attributes.shape} of {attributes.dtype}"
            )
        ends = np.bincount(label).cumsum()[:-1]
        self.images = np.split(np.argsort(label, kind="stable"), ends)
        self.columns = [np.ascontiguousarray(attributes[images].T) for images in self.images]
        self.count = np.array([np.count_nonzero(columns, axis=1) for columns in self.columns])
        self.size = np.array([[len(images)] for images in self.images])
        lists = places_of_true(attributes, padding=attributes.shape[1])
        self.lists = [lists[images] for images in self.images]

    def marks(self, c: int, attributes: Integers, k: int) -> tuple[Booleans, Integers]:
        """Whether each image of class c, the k-th of a task, has the attribute of its class, and
        how many it has of the other classes.
        """
        chosen = self.columns[c][attributes]
        has_own = chosen[k].copy()
        chosen[k] = False
        return has_own, chosen.sum(axis=0)

    def scores(self, c: int, candidates: Integers, choice: Choice) -> NDArray[np.number]:
        """Score of each candidate of a class (equation 6).

        It is multiplied by the number of candidates: integers, so that ties are exact.
        """
        lists = self.lists[c][candidates]
        weight = np.bincount(lists.ravel(), minlength=self.count.shape[1] + 1)
        if choice.scored is not None:
            weight = np.log(weight / len(candidates) + 1e-10) - np.log(1e-10)
            weight[:-1][~choice.scored] = 0
        weight[choice.attributes] = weight[-1] = 0
        return weight[lists].sum(axis=1)


def first_names(names: Sequence[str] | np.ndarray) -> str:
    """The first five, and how many follow."""
    first = ", ".join(map(str, names[:5]))
    return f"{first} and {len(names) - 5} more" if len(names) > 5 else first
