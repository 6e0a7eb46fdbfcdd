"""From results tables and printed figures to the tables that a chapter shows."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd

from . import evaluate, stats
from .paths import DATA

__all__ = [
    "collect", "conclusive_counts", "grid_table", "intervals", "methods", "pair_table", "printed", "wide",
]

LEARNERS = {"ncc": "NCC", "lr": "LR", "ft": "FT"}


def collect(
    datasets: list[str], backbones: list[str], learners: list[str], *, tasks: int, ft_tasks: int,
    fine_tuning: str, **shape,
) -> pd.DataFrame:
    """Results of every combination, closed and open, as one results table.

    Parameters
    ----------
    tasks, ft_tasks : int
        Closed tasks of each learner and of fine-tuning; open tasks run until the data are used up.
    fine_tuning : str
        'stored': only results that are at hand; 'run': compute what is missing.
    **shape
        ways, shots, queries, seed.
    """
    tables = []
    for dataset, backbone, learner, sampling in product(datasets, backbones, learners, ("closed", "open")):
        ft = learner == "ft"
        count = (ft_tasks if ft else tasks) if sampling == "closed" else None
        stored = ft and fine_tuning == "stored"
        tables.append(evaluate.run(dataset, backbone, learner, sampling, tasks=count, stored=stored, **shape))
    return pd.concat([t for t in tables if t is not None], ignore_index=True)


def intervals(results: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """One row a setting: mean, half_width (percent) and T, by the interval of its sampling."""
    make = {"closed": stats.closed_interval, "open": stats.open_interval}
    rows = []
    for key, part in results.groupby(["dataset", "backbone", "learner", "sampling"], sort=False):
        r = make[key[3]](part["accuracy"], level)
        rows.append((*key, r.mean, r.half_width, r.n_tasks))
    columns = ["dataset", "backbone", "learner", "sampling", "mean", "half_width", "n_tasks"]
    return pd.DataFrame(rows, columns=columns)


def printed(table: int) -> pd.DataFrame:
    """A table of the OOPS paper, as transcribed in ``data/published``; symbols as text."""
    path = DATA / "published" / f"oops_table{table}.csv"
    return pd.read_csv(path, dtype={"closed": str, "open": str, "paired": str})


def wide(table: pd.DataFrame) -> pd.DataFrame:
    """Table 2's layout: a row a data set and learner, a column a backbone and sampling, cells 'mean ± half-width'."""
    cells = table["mean"].map("{:.2f}".format) + " ± " + table["half_width"].map("{:.2f}".format)
    rows = [c for c in ("dataset", "n_images") if c in table]
    shown = table.assign(cell=cells, learner=table["learner"].map(LEARNERS))
    out = shown.pivot(index=[*rows, "learner"], columns=["backbone", "sampling"], values="cell")
    order = shown.drop_duplicates([*rows, "learner"]).set_index([*rows, "learner"]).index
    columns = shown.drop_duplicates(["backbone", "sampling"])[["backbone", "sampling"]]
    out = out.reindex(index=order, columns=pd.MultiIndex.from_frame(columns)).sort_index(axis=1, level=0, sort_remaining=True)
    return out.fillna("–")


def methods(results: pd.DataFrame, dataset: str, sampling: str) -> dict[tuple[str, str], np.ndarray]:
    """(backbone, learner) → per-task accuracies on one data set, tasks in the same order."""
    part = results[(results["dataset"] == dataset) & (results["sampling"] == sampling)].sort_values("task")
    groups = part.groupby(["backbone", "learner"], sort=False)["accuracy"]
    return {key: accuracies.to_numpy() for key, accuracies in groups}


def pair_table(results: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Every pair of methods on every data set, with its three conclusions.

    Closed conclusions come from the closed tasks, open and paired ones from the open tasks.

    Returns
    -------
    DataFrame
        dataset, a, b (each (backbone, learner)), closed, open, paired: +1 a is better, -1, 0.
    """
    rows = []
    for dataset in results["dataset"].unique():
        closed, opened = (methods(results, dataset, s) for s in ("closed", "open"))
        names = [m for m in opened if m in closed]
        verdict = {
            "closed": stats.conclusions({m: closed[m] for m in names}, "closed", level),
            "open": stats.conclusions({m: opened[m] for m in names}, "open", level),
            "paired": stats.conclusions({m: opened[m] for m in names}, "paired", level),
        }
        for i, j in combinations(range(len(names)), 2):
            rows.append((dataset, names[i], names[j], *(int(v[i, j]) for v in verdict.values())))
    return pd.DataFrame(rows, columns=["dataset", "a", "b", "closed", "open", "paired"])


def conclusive_counts(pairs: pd.DataFrame) -> pd.Series:
    """How many pairs are conclusive by each rule, and how many conclusions change between rules."""
    c, o, p = pairs["closed"], pairs["open"], pairs["paired"]
    return pd.Series({
        "pairs of methods": len(pairs),
        "conclusive, closed": (c != 0).sum(),
        "conclusive, open": (o != 0).sum(),
        "conclusive, paired": (p != 0).sum(),
        "closed conclusive, open not": ((c != 0) & (o == 0)).sum(),
        "open conclusive, closed not": ((c == 0) & (o != 0)).sum(),
        "closed and open conclusive, opposite": (c * o < 0).sum(),
        "open conclusive, paired not": ((o != 0) & (p == 0)).sum(),
        "paired conclusive, open not": ((p != 0) & (o == 0)).sum(),
        "closed conclusive, lost open, back paired": ((c != 0) & (o == 0) & (p != 0)).sum(),
        "closed conclusive, paired not": ((c != 0) & (p == 0)).sum(),
        "closed and paired conclusive, opposite": (c * p < 0).sum(),
    }, name="count")


def label(method: tuple[str, str]) -> str:
    """'efficientnet-lite0 NCC' for ('efficientnet-lite0', 'ncc')."""
    return f"{method[0]} {LEARNERS[method[1]]}"


def symbols(pairs: pd.DataFrame, kinds: tuple[str, ...]) -> pd.DataFrame:
    """The pairs in both directions, with one text of symbols such as '+0+' for the given kinds."""
    back = pairs.rename(columns={"a": "b", "b": "a"}).assign(**{k: -pairs[k] for k in ("closed", "open", "paired")})
    both = pd.concat([pairs, back], ignore_index=True)
    text = both[list(kinds)].map(stats.CONCLUSION.get).agg(" ".join, axis=1)
    return both.assign(symbols=text)


def grid_table(pairs: pd.DataFrame, lower: str, upper: str, shown: list[tuple[str, str]]) -> pd.DataFrame:
    """Table 1's layout: row against column method; below the diagonal one data set, above it another."""
    cells = symbols(pairs, ("closed", "open", "paired")).set_index(["dataset", "a", "b"])["symbols"]
    grid = pd.DataFrame("", index=[label(m) for m in shown], columns=[label(m) for m in shown])
    for i, j in product(range(len(shown)), repeat=2):
        if i != j:
            grid.iat[i, j] = cells.get((lower if i > j else upper, shown[i], shown[j]), "–")
    return grid
