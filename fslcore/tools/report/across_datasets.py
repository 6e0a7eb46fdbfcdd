"""From a results table: verdicts over several data sets, and which pairs of methods are the same within a margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ... import stats
from ...errors import instance
from ...stats.across_datasets import AcrossDatasets, mean_ranks
from .arguments import MANY, checked
from .compare import grids
from .tables import SHARED

__all__ = ["DatasetRanks", "by_ranks", "caveat", "equivalents", "rank_list", "rank_record"]


@dataclass(frozen=True)
class DatasetRanks:
    """Methods over data sets that they share.

    Attributes
    ----------
    methods : list of str
        By mean rank, the best first.
    datasets : list of str
        Each with tasks of all these methods.
    means : (M, D) floats
        Mean accuracies in percent.
    found : fslcore.stats.across_datasets.AcrossDatasets
        In the order of ``methods``.
    best_here, best_new : (M,) floats
        Probability of the best mean rank on these data sets, as the tasks leave it open, and on such data sets.
    """

    methods: list[str]
    datasets: list[str]
    means: np.ndarray
    found: AcrossDatasets
    best_here: np.ndarray
    best_new: np.ndarray


@checked
def by_ranks(table: pd.DataFrame, level: float = 0.95) -> dict[str, DatasetRanks]:
    """Ranks over data sets, wherever two data sets or more share two methods or more.

    Returns
    -------
    dict of DatasetRanks
        By what the settings share besides the data set ('5-shot', say; '' where nothing varies). Methods that a data
        set lacks are left out. Empty for one data set, and for more than 40 methods, which nobody reads.
    """
    if "dataset" not in table:
        return {}
    facts = table.groupby("setting")[[c for c in SHARED if c in table]].first()
    rest = [c for c in facts if c != "dataset" and facts[c].nunique() > 1]
    words = {"sampling": "{}", "ways": "{}-way", "shots": "{}-shot", "queries": "{} queries", "seed": "seed {}"}
    named = [", ".join(words.get(c, c + " {}").format(row[c]) for c in rest) for _, row in facts.iterrows()]
    of = grids(table)
    out = {}
    for name, part in facts.groupby(named, sort=False):
        parts = {row["dataset"]: of[setting] for setting, row in part.iterrows()}
        shared = [m for m in next(iter(parts.values())) if all(m in grid for grid in parts.values())]
        if len(parts) == len(part) and len(parts) > 1 and 1 < len(shared) <= MANY:
            out[name] = _ranked({dataset: grid[shared] for dataset, grid in parts.items()}, level)
    return out


def _ranked(parts: dict[str, pd.DataFrame], level: float) -> DatasetRanks:
    means = np.array([grid.mean() for grid in parts.values()]).T
    noise = np.array([np.cov(grid.T) / len(grid) for grid in parts.values()])
    order = np.argsort(mean_ranks(means), kind="stable")
    means, noise = means[order], noise[:, order][:, :, order]
    here, new = (stats.probability_best(means, noise, new_datasets=new) for new in (False, True))
    methods = next(iter(parts.values())).columns[order].tolist()
    return DatasetRanks(methods, [*parts], means, stats.across_datasets(means, level), here, new)


def rank_list(ranked: DatasetRanks) -> pd.DataFrame:
    """For a reader: a row a method, with its mean rank and the two probabilities; the best first."""
    instance("ranked", ranked, DatasetRanks)
    return pd.DataFrame(
        {
            "mean rank": [f"{rank:.2f}" for rank in ranked.found.ranks],
            "best on these data sets": [f"{p:.0%}" for p in ranked.best_here],
            "best on such data sets": [f"{p:.0%}" for p in ranked.best_new],
        },
        index=ranked.methods,
    )


def caveat(ranked: DatasetRanks) -> str:
    """What so many data sets can show at best, as a sentence or two."""
    found = instance("ranked", ranked, DatasetRanks).found
    methods, datasets = len(ranked.methods), found.n_datasets
    pairs = methods * (methods - 1) // 2
    said = (
        f"With {datasets} data sets, two methods by themselves have p = {found.smallest_pair:.2g} at best, when one is "
        "better on every data set, by however much"
    )
    if found.smallest_pair >= 1 - found.level:
        said += f": never below {1 - found.level:.2g}"
    if pairs > 1:
        said += f"; corrected for {pairs} pairs that is {min(1.0, pairs * found.smallest_pair):.2g}"
    if found.critical_difference >= methods - 1:
        said += (
            f". Mean ranks differ by {methods - 1} at most, no more than the critical difference: no pair can be told "
            "apart"
        )
    elif found.apart.any() and pairs * found.smallest_pair >= 1 - found.level and pairs > 1:
        said += ". What is told apart by ranks all the same is told by the order of all methods together"
    return f"{said}."


def rank_record(ranked: dict[str, DatasetRanks]) -> list[dict]:
    """`by_ranks` as plain values."""
    return [
        {
            "setting": name,
            "datasets": r.datasets,
            "methods": r.methods,
            "mean_ranks": r.found.ranks.tolist(),
            "best_on_these": r.best_here.tolist(),
            "best_on_such": r.best_new.tolist(),
            "friedman": r.found.statistic,
            "p": r.found.p_value,
            "critical_difference": r.found.critical_difference,
            "p_pairs": r.found.p_values.tolist(),
            "apart": r.found.apart.tolist(),
            "smallest_p_of_a_pair": r.found.smallest_pair,
            "caveat": caveat(r),
        }
        for name, r in ranked.items()
    ]


@checked
def equivalents(table: pd.DataFrame, pairs: pd.DataFrame, margin: float, level: float = 0.95) -> pd.DataFrame:
    """`comparisons` with columns that say which pairs differ by less than a margin.

    Two one-sided tests a pair (`fslcore.stats.equivalence`), corrected over all pairs of the table together by Holm's
    method. It bounds the chance of even one false *equivalent*; that of a false *higher* is bounded by itself.

    Parameters
    ----------
    margin : float
        Points, over 0: the largest difference that does not matter, chosen before the results are seen.

    Returns
    -------
    DataFrame
        The pairs with ``margin``, ``p_equivalent`` (corrected) and ``equivalent``, the verdict at ``level``.
    """
    p = [
        stats.equivalence(stats.Interval(d, half, level, tasks, "paired", tasks - 1), margin).p_value
        for d, half, tasks in zip(pairs["difference"], pairs["half_width"], pairs["tasks"])
    ]
    corrected = stats.holm(p)
    return pairs.assign(margin=float(margin), p_equivalent=corrected, equivalent=corrected < 1 - level)
