"""The three intervals of methods on a data set, and of their differences."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd

from .. import evaluation, stats
from ..datasets.bank import Bank
from ..evaluation import Method

__all__ = ["TARGETS", "half", "indexed", "intervals", "pairs", "queries", "shown", "verdicts"]

GROUPS = ["family", "author"]  # facts of the embedded images that make those alike in one dependent


TARGETS = {"closed": "these images", "images": "new images", "classes": "new classes"}


def queries(
    datasets: list[str], backbones: list[str], learners: list[str], *, tasks: int, groups: list[str] = (), **shape
) -> dict[str, dict]:
    """Which queries every method got right, on closed tasks that methods share.

    Parameters
    ----------
    tasks : int
        T.
    groups : list of str
        Names of facts of the images (``Images.facts``) that make those alike in one dependent, such as 'family':
        of each data set the first that it knows. Where it knows none, images count as independent.
    **shape
        ways, shots, queries, seed.

    Returns
    -------
    dict
        By data set: ``right``, by `Method` (T, n_query) numbers, 100 for a right query;
        ``places``, the arguments support, query, labels and groups of `fslcore.stats.three_intervals`.
    """
    out = {}
    for dataset in datasets:
        source = evaluation.load_source(dataset)
        right = {}
        for backbone, learner in product(backbones, learners):
            drawn, record = evaluation.run_queries(dataset, backbone, learner, "closed", tasks=tasks, **shape)
            right[Method(backbone, learner)] = 100.0 * record.correct
        facts = None if isinstance(source, Bank) else source.facts
        known = [g for g in groups if facts is not None and g in facts]
        out[dataset] = {
            "right": right,
            "places": {
                "support": drawn.support,
                "query": drawn.query,
                "labels": source.labels,
                "groups": facts[known[0]].to_numpy() if known else None,
            },
        }
    return out


def intervals(found: dict[str, dict], level: float = 0.95) -> pd.DataFrame:
    """Three intervals of every method of `queries`.

    Returns
    -------
    DataFrame
        dataset, n_images, classes, method and ``result``, a `ThreeIntervals`.
    """
    rows = []
    for dataset, of in found.items():
        for method, right in of["right"].items():
            labels = of["places"]["labels"]
            result = stats.three_intervals(right, **of["places"], level=level)
            rows.append((dataset, len(labels), len(np.unique(labels)), method.label, result))
    return pd.DataFrame(rows, columns=["dataset", "n_images", "classes", "method", "result"])


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """`intervals` or `pairs` for reading: the mean and a column ± a target; what all rows share is left out."""
    halves = {
        f"± {target}": [half(getattr(r, kind).half_width) for r in table["result"]] for kind, target in TARGETS.items()
    }
    means = [f"{r.closed.mean:.2f}" for r in table["result"]]
    named = table.assign(**{"mean": means, **halves})
    if "classes" in table:
        named["dataset"] += " (" + table["classes"].astype(str) + " classes)"
    return indexed(named, ["dataset", "method", "a", "b"], ["mean", *halves])


def indexed(table: pd.DataFrame, keys: list[str], columns: list[str]) -> pd.DataFrame:
    """The columns by those keys that are there and vary; the first where none does."""
    there = [k for k in keys if k in table]
    return table.set_index([k for k in there if table[k].nunique() > 1] or there[:1])[columns]


def half(value: float) -> str:
    """A half-width for reading; a dash where there is none."""
    return f"{value:.2f}" if np.isfinite(value) else "—"


def pairs(found: dict[str, dict], level: float = 0.95) -> pd.DataFrame:
    """Three intervals of the difference of every two methods: dataset, a, b, ``result`` of a - b."""
    rows = []
    for dataset, of in found.items():
        for a, b in combinations(of["right"], 2):
            result = stats.three_intervals(of["right"][a] - of["right"][b], **of["places"], level=level)
            rows.append((dataset, a.label, b.label, result))
    return pd.DataFrame(rows, columns=["dataset", "a", "b", "result"])


def verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """How many differences of `pairs` are conclusive for each target, by data set and in all."""
    told = pd.DataFrame(
        {target: [getattr(r, kind).conclusion != 0 for r in table["result"]] for kind, target in TARGETS.items()}
    )
    told.insert(0, "pairs", 1)
    by_set = told.groupby(table["dataset"], sort=False).sum()
    return pd.concat([by_set, by_set.sum().rename("all").to_frame().T])
