"""What would tell two methods apart, and how the three intervals cover: tables for a chapter."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from fslcore import stats
from fslcore.results.three import TARGETS, Answers, half, indexed

from . import coverage

__all__ = ["coverage_table", "needs", "plan_table", "reach"]


def needs(
    found: dict[str, Answers],
    table: pd.DataFrame,
    differences: list[float],
    *,
    ways: int,
    shots: int,
    power: float,
    level: float,
) -> pd.DataFrame:
    """What would tell a difference of d points between the two methods of each row of `pairs`; see `stats.plan`."""
    rows = []
    for row, d in product(table.itertuples(), differences):
        size = np.unique(found[row.dataset].labels, return_counts=True)[1]
        plan = stats.plan(
            row.result,
            images_per_class=len(size) / (1 / size).sum(),
            n_classes=len(size),
            ways=ways,
            shots=shots,
            difference=d,
            power=power,
            level=level,
        )
        rows.append((row.dataset, row.a, row.b, d, plan.n_tasks, plan.images_per_class, plan.n_classes))
    return pd.DataFrame(rows, columns=["dataset", "a", "b", "difference", "tasks", "images a class", "classes"])


def plan_table(needed: pd.DataFrame) -> pd.DataFrame:
    """`needs` for reading: a row a pair and difference."""
    sizes = ["tasks", "images a class", "classes"]
    counts = {c: needed[c].map(lambda n: "—" if pd.isna(n) else f"{int(n):,}") for c in sizes}
    return indexed(needed.assign(**counts), ["dataset", "a", "b", "difference"], sizes)


def reach(table: pd.DataFrame, *, power: float, level: float) -> pd.DataFrame:
    """The difference (points) that each pair of `pairs` would have shown with this power, by target."""
    found = {
        target: [
            half(
                stats.detectable(r.standard_error, r.df, power=power, level=level)
                if np.isfinite(r.half_width)
                else np.inf
            )
            for r in (getattr(result, kind) for result in table["result"])
        ]
        for kind, target in TARGETS.items()
    }
    return indexed(table.assign(**found), ["dataset", "a", "b"], list(found))


def coverage_table(summary: pd.DataFrame) -> pd.DataFrame:
    """`fslbook.beyond.coverage.summary` by kind of world, in percent: three intervals on two targets."""
    tables = {}
    for target in ("new images", "new classes"):
        part = summary[(summary["target"] == target) & (summary["interval"] != "paired")]
        wide = part.assign(world=coverage.names(part)).pivot(index="world", columns="interval", values="share")
        own = target.removeprefix("new ")
        tables[target] = wide[["closed", "open", own]].rename(columns={own: "ours"})
        order = part.assign(world=coverage.names(part))["world"].unique()
    return pd.concat(tables, axis=1).loc[order].round(1).rename_axis(None)
