"""The three intervals of methods on a data set, and of their differences, as tables for a chapter."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd

from . import evaluate, stats
from .bank import Bank
from .report import label

__all__ = ["coverage_table", "intervals", "needs", "pairs", "plan_table", "queries", "reach", "shown", "verdicts"]

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
        By data set: ``right``, by method (backbone, learner) (T, n_query) numbers, 100 for a right query;
        ``places``, the arguments support, query, labels and groups of `fslcore.stats.three_intervals`.
    """
    out = {}
    for dataset in datasets:
        source = evaluate.load_source(dataset)
        right = {}
        for backbone, learner in product(backbones, learners):
            drawn, record = evaluate.run_queries(dataset, backbone, learner, "closed", tasks=tasks, **shape)
            right[backbone, learner] = 100.0 * record.correct
        facts = None if isinstance(source, Bank) else source.facts
        known = [g for g in groups if facts is not None and g in facts]
        out[dataset] = {"right": right, "places": {
            "support": drawn.support, "query": drawn.query, "labels": source.labels,
            "groups": facts[known[0]].to_numpy() if known else None,
        }}
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
            rows.append((dataset, *_size(of), label(method), stats.three_intervals(right, **of["places"], level=level)))
    return pd.DataFrame(rows, columns=["dataset", "n_images", "classes", "method", "result"])


def _size(of: dict) -> tuple[int, int]:
    labels = of["places"]["labels"]
    return len(labels), len(np.unique(labels))


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """`intervals` or `pairs` for reading: the mean and a column ± a target."""
    halves = {
        f"± {target}": [_half(getattr(r, kind).half_width) for r in table["result"]] for kind, target in TARGETS.items()
    }
    means = [f"{r.closed.mean:.2f}" for r in table["result"]]
    keys = [c for c in ("dataset", "n_images", "classes", "method", "a", "b") if c in table]
    return pd.DataFrame({**table[keys], "mean": means, **halves}).set_index(keys)


def _half(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "—"


def pairs(found: dict[str, dict], level: float = 0.95) -> pd.DataFrame:
    """Three intervals of the difference of every two methods: dataset, a, b, ``result`` of a - b."""
    rows = []
    for dataset, of in found.items():
        for a, b in combinations(of["right"], 2):
            result = stats.three_intervals(of["right"][a] - of["right"][b], **of["places"], level=level)
            rows.append((dataset, label(a), label(b), result))
    return pd.DataFrame(rows, columns=["dataset", "a", "b", "result"])


def verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """How many differences of `pairs` are conclusive for each target, by data set and in all."""
    told = pd.DataFrame({
        target: [getattr(r, kind).conclusion != 0 for r in table["result"]] for kind, target in TARGETS.items()
    })
    told.insert(0, "pairs", 1)
    by_set = told.groupby(table["dataset"], sort=False).sum()
    return pd.concat([by_set, by_set.sum().rename("all").to_frame().T])


def needs(
    found: dict[str, dict], table: pd.DataFrame, differences: list[float], *, ways: int, shots: int, chance: float, level: float
) -> pd.DataFrame:
    """What would tell a difference of d points between the two methods of each row of `pairs`; see `stats.plan`."""
    rows = []
    for row, d in product(table.itertuples(), differences):
        labels = found[row.dataset]["places"]["labels"]
        size = np.unique(labels, return_counts=True)[1]
        plan = stats.plan(
            row.result, images=len(size) / (1 / size).sum(), classes=len(size), ways=ways, shots=shots, difference=d,
            chance=chance, level=level,
        )
        rows.append((row.dataset, row.a, row.b, d, plan.tasks, plan.images, plan.classes))
    return pd.DataFrame(rows, columns=["dataset", "a", "b", "difference", "tasks", "images a class", "classes"])


def plan_table(needed: pd.DataFrame) -> pd.DataFrame:
    """`needs` for reading: a row a pair and difference."""
    counts = {c: needed[c].map(lambda n: "—" if pd.isna(n) else f"{int(n):,}") for c in needed.columns[4:]}
    pair = needed["a"] + " − " + needed["b"]
    return needed.assign(pair=pair, **counts).set_index(["dataset", "pair", "difference"])[list(counts)]


def reach(table: pd.DataFrame, *, chance: float, level: float) -> pd.DataFrame:
    """The difference (points) that each pair of `pairs` would have shown with this chance, by target."""
    rows = {}
    for row in table.itertuples():
        made = {target: getattr(row.result, kind) for kind, target in TARGETS.items()}
        rows[row.dataset, f"{row.a} − {row.b}"] = {
            target: stats.detectable(r.standard_error, r.df, chance=chance, level=level)
            for target, r in made.items() if np.isfinite(r.half_width)
        }
    out = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["dataset", "pair"])
    return out.map(_half)


def coverage_table(summary: pd.DataFrame) -> pd.DataFrame:
    """`fslcore.coverage.summary` by regime, in percent: each interval on the target it is meant for and on others."""
    columns = {
        ("these images", "closed"): "closed", ("new images", "closed"): "closed", ("new images", "open"): "open",
        ("new images", "images"): "this chapter's", ("new classes", "closed"): "closed", ("new classes", "open"): "open",
        ("new classes", "classes"): "this chapter's",
    }
    regime = ["classes", "images", "shots", "spread"]
    wide = summary.pivot(index=regime, columns=["target", "interval"], values="share")[list(columns)]
    wide.columns = pd.MultiIndex.from_tuples([(target, columns[target, kind]) for target, kind in wide.columns])
    return wide.round(1)
