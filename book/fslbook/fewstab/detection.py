"""The chapter on captioners and tasks: what each source of attributes finds, and how far two of
them agree."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from fslcore.datasets import Images
from fslcore.errors import InputError, instance

from ..attributes import Attributes, describe, of

__all__ = ["agreement", "agreement_table", "describe_table"]


def describe_table(
    images: Iterable[Images], sources: Iterable[str] = ("captions", "pixels")
) -> pd.DataFrame:
    """FewSTAB's Table 2: `fslbook.attributes.describe`, one row per data set and source of
    attributes."""
    rows = {
        (one.name, source): describe(of(one, source), one.labels)
        for one in images
        for source in sources
    }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["dataset", "source"])
    return table.astype(dict.fromkeys(("classes", "images", "attributes"), int))


def agreement(captioner: Attributes, reference: Attributes) -> float:
    """Share, 0 to 1, of an image's attributes in ``reference`` that ``captioner`` finds too:
    FewSTAB, equation 9.

    Mean over the images; those without attributes in ``reference``, for which the equation divides
    by zero, are left out. NaN if that leaves none. Not symmetric.

    Raises
    ------
    InputError
        Different numbers of images, or arguments that are not attributes.
    """
    for name, value in (("captioner", captioner), ("reference", reference)):
        instance(name, value, Attributes)
    if len(captioner) != len(reference):
        raise InputError(
            f"captioner and reference must be of the same images, got {len(captioner)} and "
            f"{len(reference)}"
        )
    column = {name: a for a, name in enumerate(captioner.names)}
    shared = [(column[name], a) for a, name in enumerate(reference.names) if name in column]
    ours, theirs = np.array(shared, int).reshape(-1, 2).T
    size = reference.has.sum(axis=1)
    found = (captioner.has[:, ours] & reference.has[:, theirs]).sum(axis=1)[size > 0]
    return float((found / size[size > 0]).mean()) if len(found) else float("nan")


def agreement_table(captioners: dict[str, Attributes]) -> pd.DataFrame:
    """`agreement` of each captioner (rows) with each as the reference (columns), in percent."""
    rows = {
        name: {reference: 100 * agreement(a, b) for reference, b in captioners.items()}
        for name, a in captioners.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(
        index="captioner", columns="reference"
    )
