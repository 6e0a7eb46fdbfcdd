"""What counts as one unit of the data: an image or a group of images, a class or a group of classes.

A jackknife leaves out one unit at a time. To first order a group changes the mean by the sum of what its images
change; scaled by 1 / (1 - p), p its share of the class, that is the change when the whole group is left out, and the
sum of squares is a variance that does not promise too much where a class has few groups (CR3 of Bell and McCaffrey,
2002, Survey Methodology 28). Its degrees of freedom are theirs too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..errors import InputError
from ..errors import labels as checked_labels
from .intervals import Floats

__all__ = ["Units", "checked_groups", "of_parts", "square", "units_of", "variances"]

Squared = Callable[[sparse.csr_array], tuple[float, Floats]]
NEARLY = 0.9  # a class of which one group holds a larger share is one group, as far as its variance goes


@dataclass(frozen=True)
class Units:
    """How changes by image and by class add up to changes by unit, and how many units stand behind each variance.

    Attributes
    ----------
    images : (N, U) sparse matrix
        From the change without an image to that without its group, or scaled for images that are independent.
    cells : (N, V) sparse matrix or None
        The same for what a group has in one class (or group of classes); None where no group spans classes.
    classes : (C, W) sparse matrix
        From the change without a class to that without its group, or scaled.
    freedom : tuple of 3 floats
        Degrees of freedom of the variance from groups (or images), of what it has between classes, and from classes.
        0 where nothing is known.
    counts : tuple of 2 ints
        Independent units of images, U, and of classes, W.
    """

    images: sparse.csr_array
    cells: sparse.csr_array | None
    classes: sparse.csr_array
    freedom: tuple[float, float, float]
    counts: tuple[int, int]


def checked_groups(
    label: np.ndarray, names: np.ndarray, groups: ArrayLike | None, class_groups: ArrayLike | None
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Groups (N,) and groups of classes (C,) as whole numbers, from what a user gives for images: (N,) each, or None.

    Images have these classes (N,), -1 for those left out, with names (C,).
    """
    there = label >= 0
    if groups is not None:
        groups = np.unique(checked_labels("groups", groups, len(label)), return_inverse=True)[1]
        if len(np.unique(groups[there])) == there.sum():  # of one image each: images are independent
            groups = None
    if groups is not None:
        if len(np.unique(groups[there])) < 2:
            raise InputError("groups: all images are in one; at least 2 are needed")
        cells = len(np.unique(groups[there] * len(names) + label[there]))
        if cells == len(names):
            raise InputError(
                "groups: each class is one group, so nothing tells what other groups would be like; leave groups out, "
                "or give finer ones"
            )
    if class_groups is not None:
        class_groups = np.unique(checked_labels("class_groups", class_groups, len(label)), return_inverse=True)[1]
        first = np.zeros(len(names), int)
        first[label[there]] = class_groups[there]
        split = there & (first[label] != class_groups)
        if split.any():
            name = names[label[split.argmax()]]
            raise InputError(f"class_groups: class {name} is in several; all images of a class need the same")
        class_groups = first
        if len(np.unique(class_groups)) == len(names):
            return groups, None
        if len(np.unique(class_groups)) < 2:
            raise InputError("class_groups: all classes are in one; at least 2 are needed")
    return groups, class_groups


def units_of(label: np.ndarray, groups: np.ndarray | None, class_groups: np.ndarray | None) -> Units:
    """Units of images with these classes (N,), from 0 to C - 1, their groups (N,) and the groups of classes (C,).

    Images of class -1 are left out.
    """
    there = label >= 0
    size = np.bincount(label[there])
    count = len(size)
    if class_groups is None:
        classes, of_classes, several = _alone(np.zeros(count, int)), count - 1.0, np.arange(count)
    else:
        several = np.unique(class_groups, return_inverse=True)[1]
        classes, of_classes = _together(np.zeros(count, int), several)
    if groups is None:
        images = _alone(label)
        return Units(images, None, classes, (size.sum() - 1, 0, of_classes), (size.sum(), classes.shape[1]))
    images, of_groups = _together(label, groups)
    used = len(np.unique(groups[there]))
    cell = np.where(there, groups * (several.max() + 1) + several[label], 0)
    cells, between = None, 0.0
    if len(np.unique(cell[there])) > used:
        cells, between = _together(label, cell)[0], _together(np.where(there, 0, -1), groups)[1]
        of_groups = min(of_groups, between)
    return Units(images, cells, classes, (of_groups, between, of_classes), (used, classes.shape[1]))


def _alone(label: np.ndarray) -> sparse.csr_array:
    """Each thing for itself: (n - 1)/n times a squared change, n of its class."""
    size = np.bincount(label[label >= 0])
    return sparse.diags_array(np.where(label >= 0, np.sqrt(1 - 1 / size[label]), 0.0), format="csr")


def _together(label: np.ndarray, groups: np.ndarray) -> tuple[sparse.csr_array, float]:
    """Things of these classes in these groups: their changes by group, and degrees of freedom (0: a class is one)."""
    there = label >= 0
    place = np.unique(groups[there], return_inverse=True)[1]
    members = sparse.coo_array((np.ones(len(place)), (place, label[there]))).tocsr()
    members.sum_duplicates()
    size = np.asarray(members.sum(axis=0)).ravel()
    cells = members.tocoo()
    p, of = cells.data / size[cells.col], cells.col
    known = np.isin(np.arange(len(size)), of[p > NEARLY], invert=True)
    share = np.zeros(len(label))
    share[there] = np.asarray(members[place, label[there]]).ravel() / size[label[there]]
    # Where too little is left to tell, changes are as they are: they count between classes alone.
    scale = (1 - 1 / size[label]) / np.where(share > NEARLY, 1, 1 - share)
    matrix = sparse.csr_array((scale[there], (np.flatnonzero(there), place)), (len(label), members.shape[0]))
    if not known.all():
        return matrix, 0.0

    def summed(x: np.ndarray) -> np.ndarray:
        return np.bincount(of, x, len(size))

    # E and Var of the sum of b (a_g - a)², for effects a_g of groups and their mean a, weighted by the shares.
    b = (p / (1 - p)) ** 2
    s, s0, s1, s2 = summed(p * p), summed(b), summed(b * p), summed(b * p * p)
    trace = s0 * (1 + s) - 2 * s1
    doubled = (s * s0) ** 2 - 4 * s * s0 * s1 + 2 * s0 * s2 + 2 * s1**2 + summed(b * b * (1 + 2 * (s[of] - 2 * p)))
    return matrix, trace.sum() ** 2 / doubled.sum()


def variances(units: Units, of_images: Squared, of_classes: Squared) -> tuple[Floats, Floats, Floats]:
    """Variances of images and of classes, their degrees of freedom and the noise of the tasks in them.

    From functions of a matrix of `Units` that give a squared length without bias, and its products between parts
    (P, P). Groups that span classes make classes depend on each other: the variance of classes is then
    the two-way one, of classes, plus of groups, minus of what groups have in single classes.
    """
    (image, image_parts), (of_class, class_parts) = of_images(units.images), of_classes(units.classes)
    of_groups, between, freedom = units.freedom
    if units.cells is not None:
        cell, cell_parts = of_images(units.cells)
        more = image - cell
        if more > 0:
            both = np.array([max(of_class, 0.0), more])
            with np.errstate(divide="ignore"):
                freedom = both.sum() ** 2 / (both**2 / np.array([freedom, between], float)).sum()
            of_class, class_parts = of_class + more, class_parts + image_parts - cell_parts
    noise = [square(parts)[1] for parts in (image_parts, class_parts)]
    return np.array([image, of_class]), np.array([of_groups, freedom]), np.array(noise)


def of_parts(parts: Floats) -> tuple[float, Floats]:
    """Squared length of the mean of parts (P, U), without bias, and their products (P, P)."""
    products = parts @ parts.T
    return square(products)[0], products


def square(products: Floats) -> tuple[float, float]:
    """Squared length of the mean of parts with these products (P, P), without bias, and its standard error.

    The mean product of two different parts is a U-statistic; its variance over parts is estimated without bias by
    products of pairs that share two, one or no part (Hoeffding, 1948).
    """
    g = products - np.diag(np.diag(products))
    p = len(g)
    total, rows, squares = g.sum(), (g.sum(axis=0) ** 2).sum(), (g**2).sum()
    pairs = p * (p - 1)
    same, one = squares / pairs, (rows - squares) / (pairs * (p - 2))
    none = (total**2 - 4 * rows + 2 * squares) / (pairs * (p - 2) * (p - 3))
    variance = 2 / pairs * (2 * (p - 2) * max(one - none, 0.0) + max(same - none, 0.0))
    return total / pairs, np.sqrt(variance)
