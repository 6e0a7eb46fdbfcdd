"""From a results table: verdicts over several data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ... import stats
from ...stats.across_datasets import AcrossDatasets, mean_ranks
from .tables import MANY, SHARED, WORDS
from .wording import rank_texts

if TYPE_CHECKING:
    from .results import Results

__all__ = ["DatasetRanks", "by_ranks"]


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

    @property
    def shown(self) -> pd.DataFrame:
        """For a reader, the best method first: mean rank, ranks by the pairs that differ (Nemenyi), probabilities."""
        better = self.found.apart & (self.found.ranks[:, None] < self.found.ranks)
        return pd.DataFrame(
            {
                "mean rank": [f"{rank:.2f}" for rank in self.found.ranks],
                "possible ranks": rank_texts(stats.rank_sets(better)),
                "best on these data sets": [f"{p:.0%}" for p in self.best_here],
                "best on such data sets": [f"{p:.0%}" for p in self.best_new],
            },
            index=self.methods,
        )

    @property
    def caveat(self) -> str:
        """What so many data sets can show at best, as a sentence or two."""
        found = self.found
        methods, datasets = len(self.methods), found.n_datasets
        pairs = methods * (methods - 1) // 2
        said = (
            f"With {datasets} data sets, two methods by themselves have p = {found.smallest_pair:.2g} at best, when "
            "one is better on every data set, by however much"
        )
        if found.smallest_pair >= 1 - found.level:
            said += f": never below {1 - found.level:.2g}"
        if pairs > 1:
            said += f"; corrected for {pairs} pairs that is {min(1.0, pairs * found.smallest_pair):.2g}"
        if found.critical_difference >= methods - 1:
            said += (
                f". Mean ranks differ by {methods - 1} at most, no more than the critical difference: no pair can be "
                "significantly different"
            )
        elif found.apart.any() and pairs * found.smallest_pair >= 1 - found.level and pairs > 1:
            said += ". Ranks that differ significantly all the same follow from the order of all methods together"
        return f"{said}."

    def record(self, setting: str) -> dict:
        """The ranks as plain values, under the name of the settings that they are of."""
        return {
            "setting": setting,
            "datasets": self.datasets,
            "methods": self.methods,
            "mean_ranks": self.found.ranks.tolist(),
            "best_on_these": self.best_here.tolist(),
            "best_on_such": self.best_new.tolist(),
            "friedman": self.found.statistic,
            "p": self.found.p_value,
            "critical_difference": self.found.critical_difference,
            "p_pairs": self.found.p_values.tolist(),
            "apart": self.found.apart.tolist(),
            "smallest_p_of_a_pair": self.found.smallest_pair,
            "caveat": self.caveat,
        }


def by_ranks(results: Results) -> dict[str, DatasetRanks]:
    """Ranks over data sets, wherever two data sets or more share two methods or more.

    By what the settings share besides the data set ('5-shot', say; '' where nothing varies). Methods that a data
    set lacks are left out. Empty for one data set, and for more than 40 methods, which nobody reads.
    """
    table = results.table
    facts = table.groupby("setting")[[c for c in SHARED if c in table]].first()
    rest = [c for c in facts if c != "dataset" and facts[c].nunique() > 1]
    named = [", ".join(WORDS[c].format(row[c]) for c in rest) for _, row in facts.iterrows()]
    out = {}
    for name, part in facts.groupby(named, sort=False):
        parts = {row["dataset"]: results.grids[setting] for setting, row in part.iterrows()}
        shared = [m for m in next(iter(parts.values())) if all(m in grid for grid in parts.values())]
        if len(parts) == len(part) and len(parts) > 1 and 1 < len(shared) <= MANY:
            out[name] = _ranked({dataset: grid[shared] for dataset, grid in parts.items()}, results.level)
    return out


def _ranked(parts: dict[str, pd.DataFrame], level: float) -> DatasetRanks:
    means = np.array([grid.mean() for grid in parts.values()]).T
    noise = np.array([np.cov(grid.T) / len(grid) for grid in parts.values()])
    order = np.argsort(mean_ranks(means), kind="stable")
    means, noise = means[order], noise[:, order][:, :, order]
    here, new = (stats.probability_best(means, noise, new_datasets=new) for new in (False, True))
    methods = next(iter(parts.values())).columns[order].tolist()
    return DatasetRanks(methods, [*parts], means, stats.across_datasets(means, level), here, new)
