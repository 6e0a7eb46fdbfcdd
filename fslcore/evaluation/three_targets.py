"""The three intervals of methods on a data set, and of their differences."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from .. import stats
from ..datasets import Source
from .draws import sample_tasks
from .groups import image_groups
from .methods import Method, configure, load_images_or_features

__all__ = [
    "Answers",
    "answers",
    "groups_of_classes",
    "groups_of_images",
    "intervals",
    "pairs",
]

# Facts that make images dependent: of those that ship; then a filmed sign, a photo with several
# objects, who drew.
IMAGE_FACTS = ["family", "author", "track", "photo", "drawer"]
# Facts that make classes dependent: scripts of glyphs, data sets and groups of Meta-Album,
# alphabets of Omniglot.
CLASS_FACTS = ["domain", "super_category", "alphabet"]


@dataclass(frozen=True)
class Answers:
    """What methods got right on the closed tasks of one data set: the arguments of
    `fslcore.stats.three_intervals`.

    Attributes
    ----------
    right : dict of (T, K·Q) floats
        By `Method`, 100 for a right query, else 0.
    support : (T, K·S), query : (T, K·Q) integers
        Image of each place.
    labels : (N,) integers
        Class of each image.
    groups : (N,) array or None
        Images with equal entries depend on each other.
    class_groups : (N,) array or None
        So do classes whose images have equal entries.
    group_disjoint : bool
        Whether no support and query of a task share a group.
    transductive : frozenset of Method
        Those whose answer to a query depends on the other queries of its task.
    """

    right: dict[Method, np.ndarray]
    support: np.ndarray
    query: np.ndarray
    labels: np.ndarray
    groups: np.ndarray | None = None
    class_groups: np.ndarray | None = None
    group_disjoint: bool = False
    transductive: frozenset[Method] = frozenset()

    def intervals(
        self,
        a: Method,
        b: Method | None = None,
        confidence_level: float = stats.DEFAULT_CONFIDENCE_LEVEL,
    ) -> stats.ThreeIntervals:
        """Of one method, from 0 to 100, or of the difference a - b of two, from -100 to 100."""
        values = self.right[a] if b is None else self.right[a] - self.right[b]
        return stats.three_intervals(
            values,
            self.support,
            self.query,
            self.labels,
            groups=self.groups,
            class_groups=self.class_groups,
            group_disjoint=self.group_disjoint,
            transductive=not self.transductive.isdisjoint({a, b}),
            bounds=(0, 100) if b is None else (-100, 100),
            confidence_level=confidence_level,
        )


def answers(
    datasets: list[str],
    backbones: list[str],
    learners: list[str],
    *,
    tasks: int,
    groups: Sequence[str] = (),
    class_groups: Sequence[str] = (),
    size: int | None = None,
    apart: str | None = None,
    **shape: Any,
) -> dict[str, Answers]:
    """Which queries every method got right, on closed tasks that methods share.

    Parameters
    ----------
    tasks : int
        T.
    groups : sequence of str
        Names of facts of the images (``Images.facts``) that make those with equal entries
        dependent, such as 'family': of each data set the first that it knows. Where it knows none,
        images count as independent.
    class_groups : sequence of str
        The same for classes, such as 'domain', the script of glyphs. Where all are in one group,
        classes count as independent, and the interval for new classes applies to more of that
        group.
    size : int, optional
        As for `fslcore.evaluation.load_images_or_features`.
    apart : str, optional
        As for `fslcore.evaluation.sample_tasks`; these groups take the place of ``groups``.
    **shape
        ways, shots, queries, seed.

    Returns
    -------
    dict of Answers
        By data set.
    """
    by_dataset = {}
    for dataset in datasets:
        source = load_images_or_features(dataset, size)
        runs = {
            Method(*method): configure(source, *method) for method in product(backbones, learners)
        }
        sampled = sample_tasks(source, "closed", tasks=tasks, apart=apart, **shape)
        by_dataset[dataset] = Answers(
            right={method: 100.0 * runs[method].outcomes(sampled).correct for method in runs},
            support=sampled.support,
            query=sampled.query,
            labels=source.labels,
            groups=groups_of_images(source, groups)
            if apart is None
            else image_groups(source, apart),
            class_groups=groups_of_classes(source, class_groups),
            group_disjoint=apart is not None,
            transductive=frozenset(method for method in runs if runs[method].learner.transductive),
        )
    return by_dataset


def groups_of_images(source: Source, names: Sequence[str]) -> np.ndarray | None:
    """(N,) the first of these facts that the images have; None if they have none."""
    facts = source.facts
    for name in names:
        if facts is not None and name in facts:
            return facts[name].to_numpy()
    return None


def groups_of_classes(source: Source, names: Sequence[str]) -> np.ndarray | None:
    """(N,) the same, if it is equal within every class and differs between some; else None."""
    groups = groups_of_images(source, names)
    if groups is None or len(np.unique(groups)) < 2:
        return None
    divides_a_class = pd.Series(groups).groupby(source.labels).nunique().max() > 1
    return None if divides_a_class else groups


def intervals(
    by_dataset: dict[str, Answers], confidence_level: float = stats.DEFAULT_CONFIDENCE_LEVEL
) -> pd.DataFrame:
    """Three intervals of every method of `answers`.

    Returns
    -------
    DataFrame
        dataset, n_images, classes, method and ``result``, a `ThreeIntervals`.
    """
    rows = []
    for dataset, of_dataset in by_dataset.items():
        sizes = len(of_dataset.labels), len(np.unique(of_dataset.labels))
        for method in of_dataset.right:
            result = of_dataset.intervals(method, confidence_level=confidence_level)
            rows.append((dataset, *sizes, method.label, result))
    return pd.DataFrame(rows, columns=["dataset", "n_images", "classes", "method", "result"])


def pairs(
    by_dataset: dict[str, Answers], confidence_level: float = stats.DEFAULT_CONFIDENCE_LEVEL
) -> pd.DataFrame:
    """Three intervals of the difference a - b of every two methods, as ``result``."""
    rows = []
    for dataset, of_dataset in by_dataset.items():
        for a, b in combinations(of_dataset.right, 2):
            rows.append((dataset, a.label, b.label, of_dataset.intervals(a, b, confidence_level)))
    return pd.DataFrame(rows, columns=["dataset", "a", "b", "result"])
