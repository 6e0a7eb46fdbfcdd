"""What results of several training runs let one conclude of new ones: intervals, recipes compared, plans in runs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from ... import stats
from ...stats.intervals import plus_minus
from .arguments import checked
from .compare import grids, p_value_text, unnested
from .tables import DIGITS

__all__ = ["new_runs", "recipe_list", "recipes", "run_cells", "run_list", "run_reading"]

SAYS = {
    "open": "new runs on new images of these classes",
    "closed": "new runs on these very images",
    "unknown": "new runs, on new images of these classes if no two tasks share an image, else on these very images",
}


@checked
def run_reading(table: pd.DataFrame) -> list[str]:
    """What intervals and conclusions of this module speak of; nothing without a column ``run``."""
    if "run" not in table:
        return []
    said = [SAYS[s] for s in SAYS if (table["sampling"] == s).any()]
    return [
        f"There are several runs of a method. What is said **for new runs** speaks of {' or of '.join(said)}, so of "
        "the recipes. All else speaks of these trained networks, by the mean of a method's runs."
    ]


@checked
def new_runs(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Mean and interval for new runs of every method in percent, the best first.

    Returns
    -------
    DataFrame
        By setting and method: mean, runs, the half-width ``new_runs`` (`fslcore.stats.new_runs`), ``sd`` of the
        runs' means, and ``another``, the half-width of where one more run would come out. NaN for one run. Without a
        column ``run`` it has no rows.
    """
    rows = {}
    for setting, methods in _of_runs(table).items():
        for method, x in methods.items():
            row = {"mean": x.mean(), "runs": len(x), "new_runs": np.nan, "sd": np.nan, "another": np.nan}
            if len(x) > 1:
                found = stats.new_runs(x, level=level)
                row |= {"new_runs": found.interval.half_width, "sd": found.spreads[0], "another": found.another}
            rows[setting, method] = row
    columns = ["mean", "runs", "new_runs", "sd", "another"]
    out = pd.DataFrame.from_dict(rows, orient="index", columns=columns).astype({"runs": int})
    out.index = pd.MultiIndex.from_tuples(rows, names=["setting", "method"])
    return out


@checked
def recipes(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Every two methods that were trained more than once, compared for new runs, not paired by run.

    Returns
    -------
    DataFrame
        setting; a and b, a with the higher mean; difference a - b and its half_width (points); p, and p_holm, corrected
        over all rows; ``holm``, whether a and b are told apart then; chance, chance_low and chance_high, that one run
        of a is above one of b; ``runs_needed``, runs of each for 80 % power if the observed difference is
        the true one (NaN where no number has it).
    """
    rows = []
    for setting, methods in _of_runs(table).items():
        for a, b in combinations([m for m, x in methods.items() if len(x) > 1], 2):
            x, y = methods[a], methods[b]
            found, chance = stats.new_runs(x, y, level=level), stats.chance_better(x.mean(axis=1), y.mean(axis=1))
            difference = found.interval.mean
            plan = stats.plan_runs(found, difference=difference, level=level).n_runs if difference else None
            rows.append(
                {
                    "setting": setting,
                    "a": a,
                    "b": b,
                    "difference": difference,
                    "half_width": found.interval.half_width,
                    "p": found.interval.p_value,
                    "chance": chance.value,
                    "chance_low": chance.low,
                    "chance_high": chance.high,
                    "runs_needed": np.nan if plan is None else plan,
                }
            )
    columns = "setting a b difference half_width p chance chance_low chance_high runs_needed".split()
    out = pd.DataFrame(rows, columns=columns)
    out["p_holm"] = stats.holm(out["p"].astype(float))
    out["holm"] = out["p_holm"] < 1 - level
    return out


def _of_runs(table: pd.DataFrame) -> dict[str, dict[str, np.ndarray]]:
    """Setting → method → (R, T) accuracies, the best mean first; empty without runs."""
    if "run" not in table:
        return {}
    out = {}
    for setting, grid in grids(table).items():
        wide = table[table["setting"] == setting].pivot(index=["method", "run"], columns="task", values="accuracy")
        out[setting] = {method: wide.loc[method].to_numpy().round(DIGITS) for method in grid}
    return out


def run_cells(found: pd.DataFrame) -> pd.Series:
    """'mean ± half-width' of each row of `new_runs`; a dash for one run."""
    cells = plus_minus(found["mean"], found["new_runs"], ".2f")
    return pd.Series(cells, found.index).where(found["runs"] > 1, "—")


@checked
def run_list(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """`new_runs` for a reader."""
    found = new_runs(table, level)
    several = found["runs"] > 1
    shown = {
        "for new runs": run_cells(found),
        "runs": found["runs"],
        "sd of the runs": found["sd"].map("{:.2f}".format).where(several, "—"),
        "one more run": ("± " + found["another"].map("{:.2f}".format)).where(several, "—"),
    }
    return unnested(table, pd.DataFrame(shown)) if len(found) else pd.DataFrame(shown)


@checked
def recipe_list(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """`recipes` for a reader: the difference for new runs, the verdict, P(one run is better) and the runs needed."""
    found = recipes(table, level)
    if found.empty:
        return pd.DataFrame()
    percent = found[["chance", "chance_low", "chance_high"]].map("{:.0%}".format)
    out = pd.DataFrame(
        {
            "setting": found["setting"],
            "higher mean": found["a"],
            "lower mean": found["b"],
            "difference (points)": plus_minus(found["difference"], found["half_width"], ".2f"),
            "for new runs": np.where(found["holm"], "higher (Holm)", "not told apart"),
            "p, Holm": found["p_holm"].map(p_value_text),
            "one run beats one": percent["chance"]
            + " ("
            + percent["chance_low"]
            + " to "
            + percent["chance_high"]
            + ")",
            "runs for 80 % power": found["runs_needed"].map(lambda n: "—" if np.isnan(n) else f"{n:.0f}"),
        }
    )
    return unnested(table, out.set_index(["setting", "higher mean"]))
