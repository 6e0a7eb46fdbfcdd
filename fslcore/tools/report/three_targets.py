"""The three intervals of methods on a data set, and of their differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product, starmap

import numpy as np
import pandas as pd

from ... import evaluation, stats
from ...datasets import Source
from ...evaluation import Method
from .targets import TARGETS, in_cells

__all__ = ["TARGETS", "Answers", "alike", "indexed", "intervals", "kin", "pairs", "queries", "shown"]

# Facts that make images dependent: of those that ship; then a filmed sign, a photo with several objects, who drew.
GROUPS = ["family", "author", "track", "photo", "drawer"]
# Facts that make classes alike: scripts of glyphs, data sets and groups of Meta-Album, alphabets of Omniglot.
CLASS_GROUPS = ["domain", "super_category", "alphabet"]


@dataclass(frozen=True)
class Answers:
    """What methods got right on the closed tasks of one data set: the arguments of `fslcore.stats.three_intervals`.

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
    apart : bool
        Whether the tasks keep the groups apart.
    transductive : frozenset of Method
        Those whose answer to a query depends on the other queries of its task.
    """

    right: dict[Method, np.ndarray]
    support: np.ndarray
    query: np.ndarray
    labels: np.ndarray
    groups: np.ndarray | None = None
    class_groups: np.ndarray | None = None
    apart: bool = False
    transductive: frozenset[Method] = frozenset()

    def intervals(self, a: Method, b: Method | None = None, level: float = 0.95) -> stats.ThreeIntervals:
        """Of one method, between 0 and 100, or of the difference of two, a - b, between -100 and 100."""
        right = self.right[a] if b is None else self.right[a] - self.right[b]
        kin = dict(groups=self.groups, class_groups=self.class_groups, apart=self.apart)
        kin |= dict(
            transductive=not self.transductive.isdisjoint({a, b}), bounds=(0, 100) if b is None else (-100, 100)
        )
        return stats.three_intervals(right, self.support, self.query, self.labels, **kin, level=level)


def queries(
    datasets: list[str],
    backbones: list[str],
    learners: list[str],
    *,
    tasks: int,
    groups: list[str] = (),
    class_groups: list[str] = (),
    size: int | None = None,
    apart: str | None = None,
    **shape,
) -> dict[str, Answers]:
    """Which queries every method got right, on closed tasks that methods share.

    Parameters
    ----------
    tasks : int
        T.
    groups : list of str
        Names of facts of the images (``Images.facts``) that make those alike in one dependent, such as 'family':
        of each data set the first that it knows. Where it knows none, images count as independent.
    class_groups : list of str
        The same for classes, such as 'domain', the script of glyphs. Where all are in one group, classes count as
        independent, and the interval for new classes applies to more of that group.
    size : int, optional
        As for `fslcore.evaluation.load_source`.
    apart : str, optional
        Groups that the tasks keep apart, as for `fslcore.evaluation.groups_of`; they take the place of ``groups``.
    **shape
        ways, shots, queries, seed.

    Returns
    -------
    dict of Answers
        By data set.
    """
    out = {}
    for dataset in datasets:
        source = evaluation.load_source(dataset, size)
        runs = {m: evaluation.ready(source, *m) for m in starmap(Method, product(backbones, learners))}
        drawn = evaluation.draw(source, "closed", tasks=tasks, apart=apart, **shape)
        right = {method: 100.0 * run.record(drawn).correct for method, run in runs.items()}
        known = alike(source, groups) if apart is None else evaluation.groups_of(source, apart)
        places = drawn.support, drawn.query, source.labels
        shared = frozenset(m for m, run in runs.items() if run.learner.transductive)
        out[dataset] = Answers(right, *places, known, kin(source, class_groups), apart is not None, shared)
    return out


def alike(source: Source, groups: Sequence[str]) -> np.ndarray | None:
    """(N,) the first of these facts that the images have, where those equal in it depend on each other; else None."""
    facts = source.facts
    known = [g for g in groups if facts is not None and g in facts]
    return facts[known[0]].to_numpy() if known else None


def kin(source: Source, groups: Sequence[str]) -> np.ndarray | None:
    """(N,) the first of these facts that the images have and that tells groups of classes apart; else None."""
    found = alike(source, groups)
    if found is None or len(np.unique(found)) < 2:
        return None
    split = pd.Series(found).groupby(source.labels).nunique().max() > 1
    return None if split else found


def intervals(found: dict[str, Answers], level: float = 0.95) -> pd.DataFrame:
    """Three intervals of every method of `queries`.

    Returns
    -------
    DataFrame
        dataset, n_images, classes, method and ``result``, a `ThreeIntervals`.
    """
    rows = []
    for dataset, of in found.items():
        for method in of.right:
            sizes = len(of.labels), len(np.unique(of.labels))
            rows.append((dataset, *sizes, method.label, of.intervals(method, level=level)))
    return pd.DataFrame(rows, columns=["dataset", "n_images", "classes", "method", "result"])


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """`intervals` or `pairs` for reading: the mean and a column a target; what all rows share is left out."""
    means = [f"{r.closed.mean:.2f}" for r in table["result"]]
    cells = pd.DataFrame([in_cells(r) for r in table["result"]], index=table.index)
    named = table.assign(mean=means, **cells)
    if "classes" in table:
        named["dataset"] += " (" + table["classes"].astype(str) + " classes)"
    return indexed(named, ["dataset", "method", "a", "b"], ["mean", *cells])


def indexed(table: pd.DataFrame, keys: list[str], columns: list[str]) -> pd.DataFrame:
    """The columns by those keys that are there and vary; the first where none does."""
    there = [k for k in keys if k in table]
    return table.set_index([k for k in there if table[k].nunique() > 1] or there[:1])[columns]


def pairs(found: dict[str, Answers], level: float = 0.95) -> pd.DataFrame:
    """Three intervals of the difference of every two methods: dataset, a, b, ``result`` of a - b."""
    rows = []
    for dataset, of in found.items():
        for a, b in combinations(of.right, 2):
            rows.append((dataset, a.label, b.label, of.intervals(a, b, level)))
    return pd.DataFrame(rows, columns=["dataset", "a", "b", "result"])
