"""The paragraph "Evaluation" of a paper, filled with what a results table and its comparisons hold."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...stats import Interval, ThreeIntervals, holm
from ...stats.intervals import MANY_TASKS
from .targets import TARGETS
from .wording import of_reference

if TYPE_CHECKING:
    from .results import Results

DRAWN = {
    "open": "no two tasks share an image, so intervals and tests apply to new images of these classes",
    "closed": "tasks reuse images, so intervals and tests apply to these images only",
    "unknown": "[tasks reuse images, so intervals and tests apply to these images only / no two tasks share an "
    "image, so they apply to new images of these classes]",
}
RECORDED = "tasks reuse images, so the tests apply to these images only; intervals for {} come from a jackknife"
NAMED = 12  # methods whose numbers a paragraph gives


def paragraphs(results: Results) -> dict[str, str]:
    """How accuracies were measured and compared, and what came out, as a paper says it: a paragraph a setting.

    What the table does not say stands in square brackets, for its author to fill in.
    """
    table, pairs, level, three = results.table, results.pairs, results.level, results.three or {}
    found: dict[str, dict[str, Interval]] = {setting: {} for setting in results.settings.index}
    for (setting, method), intervals in results.single.items():
        found[setting][method] = next(iter(intervals.values()))
    new = {target: _known(three, target) for target in ("images", "classes")}
    out = {}
    for setting, of in results.settings.iterrows():
        mine = pairs[pairs["setting"] == setting]
        runs = table[table["setting"] == setting].groupby("method")["run"].nunique() if "run" in table else None
        sentences = [
            _measured(of, runs, level, [TARGETS[target] for target, intervals in new.items() if intervals]),
            _compared(mine, len(pairs), level, results.reference),
            *(_beyond(new[target], found[setting], TARGETS[target], level) for target in new),
            _best(found[setting], mine, new, results.reference),
        ]
        out[setting] = " ".join(filter(None, sentences))
    return out


def _known(three: dict[str, ThreeIntervals], target: str) -> dict[str, Interval]:
    """Intervals for a target by method and difference, where there are any."""
    return {n: getattr(r, target) for n, r in three.items() if np.isfinite(getattr(r, target).half_width)}


def _measured(facts: pd.Series, runs: pd.Series | None, level: float, beyond: list[str]) -> str:
    def known(name: str, letter: str) -> str:
        return f"{facts[name]:.0f}" if pd.notna(facts.get(name)) else f"[{letter}]"

    sampling = facts["sampling"]
    many = "of the normal distribution" if facts["tasks"] >= MANY_TASKS else "of Student's t"
    quantile = {"closed": many, "open": "of Student's t"}.get(sampling, "[of Student's t / normal]")
    drawn = RECORDED.format(" and ".join(beyond)) if beyond else DRAWN[sampling]
    quantile += f", of Student's t for {' and '.join(beyond)}" if beyond else ""
    over, of_runs = "", ""
    if runs is not None and runs.max() > 1:
        counts = f"{runs.max()}" if runs.min() == runs.max() else f"{runs.min()} to {runs.max()}"
        over, of_runs = f" and over {counts} training runs of each method,", ", which apply to these trained networks"
    return (
        f"Methods were evaluated on {facts['tasks']:,} {known('ways', 'K')}-way {known('shots', 'S')}-shot tasks with "
        f"{known('queries', 'Q')} queries per class, from [data set: C classes, N images]; {drawn}. Accuracies "
        f"are means over tasks{over} with {100 * level:.4g} % confidence intervals (quantile {quantile}){of_runs}."
    )


def _compared(mine: pd.DataFrame, in_all: int, level: float, reference: str | None) -> str:
    if mine.empty:
        return ""
    several = f", with Holm's correction for all {in_all} comparisons" if in_all > 1 else ""
    told = f"{mine['holm'].sum()} of {len(mine)} pairs are significantly different" if len(mine) > 1 else ""
    if reference and told:
        up = mine["a"] == reference
        above, below = (mine.loc[of, "holm"].sum() for of in (up, ~up))
        told = (
            f"the accuracy of {reference} is significantly higher than that of {above} and lower than that of {below}"
        )
    told = told or (
        "the two are significantly different" if mine["holm"].any() else "the two are not significantly different"
    )
    every = f"{reference} was compared with each other method" if reference else "Every two methods were compared"
    return f"{every} on the tasks that both were run on, by paired t-tests at {1 - level:.2g}{several}; {told}."


def _beyond(new: dict[str, Interval], methods: dict[str, Interval], target: str, level: float) -> str:
    """How many differences are significant for new images or classes."""
    p = [new[name].p_value for a, b in permutations(methods, 2) if (name := f"{a} − {b}") in new]
    if not p:
        return ""
    told = f"{(holm(p) < 1 - level).sum()} of {len(p)} differences are significant after the same correction"
    alone = f"the difference is {'' if p[0] < 1 - level else 'not '}significant"
    return f"For {target}, by a jackknife, {told if len(p) > 1 else alone}."


def _best(
    found: dict[str, Interval], mine: pd.DataFrame, new: dict[str, dict[str, Interval]], reference: str | None
) -> str:
    if len(found) > NAMED:
        found = dict(list(found.items())[:1])
    numbers = "; ".join(f"{method} {interval:.2f} %{_wider(method, new)}" for method, interval in found.items())
    if mine.empty:
        return f"Found were: {numbers}."
    if reference:
        each = "; ".join(
            f"{of['b']} {f'{of.difference + 0.0:+.2f}'.replace('-', '−')} ± {of['half_width_all']:.2f}"
            for _, of in of_reference(mine, reference).head(NAMED).iterrows()
        )
        told = f"{reference} minus the others, in points with intervals that hold together (Dunnett): {each}."
    else:
        first = next(iter(found))
        of_first = mine[(mine["a"] == first) | (mine["b"] == first)]
        below = of_first["holm"].sum()
        told = f"The highest mean, that of {first}, is significantly different from {below} of {len(of_first)} others."
    unsaid = "" if new["classes"] else ", and nothing here applies to classes that were not tested"
    unequal = f"A difference that is not significant does not show that methods are equal{unsaid}."
    return f"Found were: {numbers}. {told} {unequal}"


def _wider(method: str, new: dict[str, dict[str, Interval]]) -> str:
    """' on these images, ± 1.40 on new images, …' of a method's intervals, where it has such."""
    of = [f"{i[method].around('.2f')} on {TARGETS[target]}" for target, i in new.items() if method in i]
    return " on " + ", ".join([TARGETS["closed"], *of]) if of else ""
