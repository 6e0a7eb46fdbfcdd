"""What results of several training runs let one conclude of new ones: intervals, recipes compared, plans in runs."""

from __future__ import annotations

from dataclasses import astuple
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ... import stats
from ...stats.intervals import plus_minus
from .tables import DIGITS
from .wording import by_pair, p_value_text, unnested

if TYPE_CHECKING:
    from .results import Results

SAYS = {
    "open": "new runs on new images of these classes",
    "closed": "new runs on these very images",
    "unknown": "new runs, on new images of these classes if no two tasks share an image, else on these very images",
}


def run_reading(results: Results) -> list[str]:
    """What is said for new runs; nothing where methods were trained once."""
    if "run" not in results.table:
        return []
    said = [SAYS[s] for s in SAYS if (results.table["sampling"] == s).any()]
    return [
        f"There are several runs of a method. What is said **for new runs** applies to {' or of '.join(said)}, so of "
        "the recipes. All else applies to these trained networks, by the mean of a method's runs."
    ]


def new_runs(results: Results) -> pd.DataFrame:
    """By setting and method, the best first: the mean and interval for new runs in percent.

    mean, runs, the half-width ``new_runs`` (`fslcore.stats.new_runs`), ``sd`` of the runs' means, and ``another``,
    the half-width of where one more run would come out. NaN for one run. Without a column ``run`` it has no rows.
    """
    rows = {}
    for setting, methods in _of_runs(results).items():
        for method, x in methods.items():
            row = {"mean": x.mean(), "runs": len(x), "new_runs": np.nan, "sd": np.nan, "another": np.nan}
            if len(x) > 1:
                found = stats.new_runs(x, level=results.level)
                row |= {"new_runs": found.interval.half_width, "sd": found.spreads[0], "another": found.another}
            rows[setting, method] = row
    columns = ["mean", "runs", "new_runs", "sd", "another"]
    out = pd.DataFrame.from_dict(rows, orient="index", columns=columns).astype({"runs": int})
    out.index = pd.MultiIndex.from_tuples(rows, names=["setting", "method"])
    return out


def recipes(results: Results) -> pd.DataFrame:
    """Every two methods that were trained more than once, compared for new runs, not paired by run.

    setting; a and b, a with the higher mean; difference a - b and its half_width (points); p, and p_holm, corrected
    over all rows; ``holm``, whether a and b are significantly different then; chance, chance_low and chance_high, that
    one run of a is above one of b, whatever the distribution of runs (`fslcore.stats.chance_better`); ``runs_needed``,
    runs of each for 80 % power if the observed difference is the true one (NaN where no number has it).
    """
    rows, level = [], results.level
    for setting, methods in _of_runs(results).items():
        for a, b in combinations([m for m, x in methods.items() if len(x) > 1], 2):
            if results.reference not in (None, a, b):
                continue
            x, y = methods[a], methods[b]
            found, chance = (
                stats.new_runs(x, y, level=level, bounds=(-100, 100)),
                stats.chance_better(x.mean(axis=1), y.mean(axis=1)),
            )
            of = found.interval
            plan = stats.plan_runs(found, difference=of.mean, level=level).n_runs if of.mean else None
            rows.append((setting, a, b, of.mean, of.half_width, of.p_value, *astuple(chance)[:3], plan))
    columns = "setting a b difference half_width p chance chance_low chance_high runs_needed".split()
    out = pd.DataFrame(rows, columns=columns).astype({"runs_needed": float})
    out["p_holm"] = stats.holm(out["p"].astype(float))
    out["holm"] = out["p_holm"] < 1 - level
    return out


def _of_runs(results: Results) -> dict[str, dict[str, np.ndarray]]:
    """Setting → method → (R, T) accuracies, the best mean first; empty without runs."""
    out, table = {}, results.table
    if "run" not in table:
        return out
    for setting, grid in results.grids.items():
        wide = table[table["setting"] == setting].pivot(index=["method", "run"], columns="task", values="accuracy")
        out[setting] = {method: wide.loc[method].to_numpy().round(DIGITS) for method in grid}
    return out


def run_cells(found: pd.DataFrame) -> pd.Series:
    """'mean ± half-width' of each row of `new_runs`; a dash for one run."""
    return pd.Series(plus_minus(found["mean"], found["new_runs"], ".2f"), found.index).where(found["runs"] > 1, "—")


def run_list(results: Results) -> pd.DataFrame:
    """The intervals for new runs, for a reader."""
    found = results.new_runs
    several = found["runs"] > 1
    shown = {
        "for new runs": run_cells(found),
        "runs": found["runs"],
        "sd of the runs": found["sd"].map("{:.2f}".format).where(several, "—"),
        "one more run": ("± " + found["another"].map("{:.2f}".format)).where(several, "—"),
    }
    return unnested(pd.DataFrame(shown), len(results.settings) > 1 or found.empty)


def recipe_list(results: Results) -> pd.DataFrame:
    """The recipes for a reader: the difference for new runs, the verdict, P(one run is better) and the runs needed."""
    found = results.recipes
    if found.empty:
        return pd.DataFrame()
    percent = found[["chance", "chance_low", "chance_high"]].map("{:.0%}".format)
    shown = {
        "difference (points)": plus_minus(found["difference"], found["half_width"], ".2f"),
        "for new runs": np.where(found["holm"], "higher (Holm)", "not significantly different"),
        "p, Holm": found["p_holm"].map(p_value_text),
        "one run beats one": percent["chance"] + " (" + percent["chance_low"] + " to " + percent["chance_high"] + ")",
        "runs for 80 % power": found["runs_needed"].map(lambda n: "—" if np.isnan(n) else f"{n:.0f}"),
    }
    return by_pair(found, shown, len(results.settings) > 1)
