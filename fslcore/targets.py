"""The three intervals of methods on a data set, and of their differences, as tables for a chapter."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd

from . import coverage, evaluate, stats
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
            rows.append((dataset, len(labels), len(np.unique(labels)), label(method), result))
    return pd.DataFrame(rows, columns=["dataset", "n_images", "classes", "method", "result"])


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """`intervals` or `pairs` for reading: the mean and a column ± a target; what all rows share is left out."""
    halves = {
        f"± {target}": [_half(getattr(r, kind).half_width) for r in table["result"]] for kind, target in TARGETS.items()
    }
    means = [f"{r.closed.mean:.2f}" for r in table["result"]]
    named = table.assign(**{"mean": means, **halves})
    if "classes" in table:
        named["dataset"] += " (" + table["classes"].astype(str) + " classes)"
    return _indexed(named, ["dataset", "method", "a", "b"], ["mean", *halves])


def _indexed(table: pd.DataFrame, keys: list[str], columns: list[str]) -> pd.DataFrame:
    """The columns by those keys that are there and vary; the first where none does."""
    there = [k for k in keys if k in table]
    return table.set_index([k for k in there if table[k].nunique() > 1] or there[:1])[columns]


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
    told = pd.DataFrame(
        {target: [getattr(r, kind).conclusion != 0 for r in table["result"]] for kind, target in TARGETS.items()}
    )
    told.insert(0, "pairs", 1)
    by_set = told.groupby(table["dataset"], sort=False).sum()
    return pd.concat([by_set, by_set.sum().rename("all").to_frame().T])


def needs(
    found: dict[str, dict],
    table: pd.DataFrame,
    differences: list[float],
    *,
    ways: int,
    shots: int,
    chance: float,
    level: float,
) -> pd.DataFrame:
    """What would tell a difference of d points between the two methods of each row of `pairs`; see `stats.plan`."""
    rows = []
    for row, d in product(table.itertuples(), differences):
        labels = found[row.dataset]["places"]["labels"]
        size = np.unique(labels, return_counts=True)[1]
        plan = stats.plan(
            row.result,
            images=len(size) / (1 / size).sum(),
            classes=len(size),
            ways=ways,
            shots=shots,
            difference=d,
            chance=chance,
            level=level,
        )
        rows.append((row.dataset, row.a, row.b, d, plan.tasks, plan.images, plan.classes))
    return pd.DataFrame(rows, columns=["dataset", "a", "b", "difference", "tasks", "images a class", "classes"])


def plan_table(needed: pd.DataFrame) -> pd.DataFrame:
    """`needs` for reading: a row a pair and difference."""
    sizes = ["tasks", "images a class", "classes"]
    counts = {c: needed[c].map(lambda n: "—" if pd.isna(n) else f"{int(n):,}") for c in sizes}
    return _indexed(needed.assign(**counts), ["dataset", "a", "b", "difference"], sizes)


def reach(table: pd.DataFrame, *, chance: float, level: float) -> pd.DataFrame:
    """The difference (points) that each pair of `pairs` would have shown with this chance, by target."""
    found = {
        target: [
            _half(
                stats.detectable(r.standard_error, r.df, chance=chance, level=level)
                if np.isfinite(r.half_width)
                else np.inf
            )
            for r in (getattr(result, kind) for result in table["result"])
        ]
        for kind, target in TARGETS.items()
    }
    return _indexed(table.assign(**found), ["dataset", "a", "b"], list(found))


def coverage_table(summary: pd.DataFrame) -> pd.DataFrame:
    """`fslcore.coverage.summary` by kind of world, in percent: three intervals on two targets."""
    tables = {}
    for target in ("new images", "new classes"):
        part = summary[(summary["target"] == target) & (summary["interval"] != "paired")]
        wide = part.assign(world=coverage.names(part)).pivot(index="world", columns="interval", values="share")
        own = target.removeprefix("new ")
        tables[target] = wide[["closed", "open", own]].rename(columns={own: "ours"})
        order = part.assign(world=coverage.names(part))["world"].unique()
    return pd.concat(tables, axis=1).loc[order].round(1).rename_axis(None)
