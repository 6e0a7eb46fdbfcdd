"""Tasks drawn from images or from rows of features, by the name of a sampling."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..catalogue import SAMPLINGS
from ..datasets import Source
from ..errors import choice
from ..tasks import Tasks, sample_closed, sample_open
from ..tasks.grouped import GroupedImages
from ..tasks.samplers import per_class
from .groups import image_groups

__all__ = ["check_sampling", "excluded_classes", "sample_tasks"]


def check_sampling(sampling: str) -> None:
    """Raise `InputError` unless it is 'closed' or 'open'."""
    choice("sampling", sampling, SAMPLINGS)


def sample_tasks(
    source: Source,
    sampling: str,
    *,
    tasks: int | None,
    apart: str | None = None,
    balanced: bool = False,
    **shape: Any,
) -> Tasks:
    """Tasks of a sampling by its name; ``shape`` and errors as for `fslcore.tasks.sample_closed`.

    With ``apart``, groups of images are kept apart, which `image_groups` finds by that name; the
    tasks' ``sampler`` names it. With ``balanced``, open tasks give all classes equal weight, as
    closed ones do.
    """
    check_sampling(sampling)
    if apart is not None:
        shape["groups"] = image_groups(source, apart)
    if sampling == "closed":
        sampled = sample_closed(source.classes, tasks=0 if tasks is None else tasks, **shape)
    else:
        sampled = sample_open(source.classes, max_tasks=tasks, balanced=balanced, **shape)
    if apart is None:
        return sampled
    return replace(sampled, sampler={**sampled.sampler, "apart": apart}, check=False)


def excluded_classes(
    source: Source, *, apart: str | None = None, groups: np.ndarray | None = None, **shape: Any
) -> list[str]:
    """Classes too small for tasks of a shape (``ways``, ``shots``, ``queries``), or with too few
    groups.

    Groups (N,) are given, or found by `image_groups`.
    """
    ways = shape["ways"]
    shots, queries = (per_class(name, shape[name], ways) for name in ("shots", "queries"))
    if groups is None and apart is not None:
        groups = image_groups(source, apart)
    if groups is not None:
        return GroupedImages.of(source.classes, groups, ways, shots, queries, True).excluded_classes
    classes, sizes = np.unique(source.classes, return_counts=True)
    return classes[sizes < (shots + queries).max()].astype(str).tolist()
