"""The paragraph "Evaluation" of a paper, filled with what a results table and its comparisons hold."""

from __future__ import annotations

import pandas as pd

from ..stats import Interval
from .arguments import checked
from .compare import settings, single

__all__ = ["paragraphs"]

DRAWN = {
    "open": "no two tasks share an image, so intervals and tests speak of new images of these classes",
    "closed": "tasks use images again, so intervals and tests speak of these images only",
    "unknown": "[tasks use images again, so intervals and tests speak of these images only / no two tasks share an "
    "image, so they speak of new images of these classes]",
}
NAMED = 12  # methods whose numbers a paragraph gives


@checked
def paragraphs(table: pd.DataFrame, pairs: pd.DataFrame, level: float = 0.95) -> dict[str, str]:
    """How accuracies were measured and compared, and what came out, as a paper says it: a paragraph a setting.

    What the table does not say stands in square brackets, for its author to fill in.
    """
    of_all, facts = single(table, level), settings(table)
    found: dict[str, dict[str, Interval]] = {setting: {} for setting in facts.index}
    for (setting, method), intervals in of_all.items():
        found[setting][method] = next(iter(intervals.values()))
    out = {}
    for setting, of in facts.iterrows():
        mine = pairs[pairs["setting"] == setting]
        runs = table[table["setting"] == setting].groupby("method")["run"].nunique() if "run" in table else None
        sentences = [_measured(of, runs, level), _compared(mine, len(pairs), level), _best(found[setting], mine)]
        out[setting] = " ".join(filter(None, sentences))
    return out


def _measured(facts: pd.Series, runs: pd.Series | None, level: float) -> str:
    def known(name: str, letter: str) -> str:
        return f"{facts[name]:.0f}" if pd.notna(facts.get(name)) else f"[{letter}]"

    sampling = facts["sampling"]
    quantile = {"closed": "of the normal distribution", "open": "of Student's t"}.get(
        sampling, "[of Student's t / normal]"
    )
    over, of_runs = "", ""
    if runs is not None and runs.max() > 1:
        counts = f"{runs.max()}" if runs.min() == runs.max() else f"{runs.min()} to {runs.max()}"
        over, of_runs = f" and over {counts} training runs of each method,", ", which speak of these trained networks"
    return (
        f"Methods were evaluated on {facts['tasks']:,} {known('ways', 'K')}-way {known('shots', 'S')}-shot tasks with "
        f"{known('queries', 'Q')} queries a class, from [data set: C classes, N images]; {DRAWN[sampling]}. Accuracies "
        f"are means over tasks{over} with {100 * level:.4g} % confidence intervals (quantile {quantile}){of_runs}."
    )


def _compared(mine: pd.DataFrame, in_all: int, level: float) -> str:
    if mine.empty:
        return ""
    several = f", with Holm's correction for all {in_all} comparisons" if in_all > 1 else ""
    told = f"{mine['holm'].sum()} of {len(mine)} pairs are told apart" if len(mine) > 1 else ""
    told = told or ("the two are told apart" if mine["holm"].any() else "the two are not told apart")
    return (
        f"Every two methods were compared on the tasks that both were run on, by paired t-tests at {1 - level:.2g}"
        f"{several}; {told}."
    )


def _best(found: dict[str, Interval], mine: pd.DataFrame) -> str:
    if len(found) > NAMED:
        found = dict(list(found.items())[:1])
    numbers = "; ".join(f"{method} {interval:.2f} %" for method, interval in found.items())
    if mine.empty:
        return f"Found were: {numbers}."
    first = next(iter(found))
    of_first = mine[(mine["a"] == first) | (mine["b"] == first)]
    below = of_first["holm"].sum()
    told = f"The highest mean, that of {first}, is told apart from {below} of {len(of_first)} others."
    return (
        f"Found were: {numbers}. {told} That two methods are not told apart does not say that they are equal, and "
        "nothing here speaks of classes that were not tested."
    )
