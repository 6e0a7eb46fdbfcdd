"""Differences over data sets: which of them decide, and tests by ranks."""

from __future__ import annotations

import pandas as pd

from .. import stats
from ..stats.across_datasets import decisive_datasets, nearly_all_are_one, signed_rank_p_value
from .options import Options
from .samples import Place, counted, in_place, shared_units, unit_values

FEWEST_DATASETS = 3  # without one of them, there are still two


def decisive_text(place: Place, grid: pd.DataFrame, first: str, second: str) -> str:
    """'CUB or DTD (or 1 more)', without each of which two methods do not differ; else empty."""
    datasets = grid.index[shared_units(grid, first, second)]
    if len(datasets) < FEWEST_DATASETS:
        return ""
    differences = unit_values(grid, first, second)
    level, bounds = place.options.level, place.bounds_of(first, second)
    names = [*map(str, datasets[decisive_datasets(differences, level, bounds=bounds)])]
    others = f" (or {len(names) - 2} more)" if len(names) > 2 else ""
    return " or ".join(names[:2]) + others


def decisive_cautions(pairs: pd.DataFrame) -> list[str]:
    """Say where a method is better, by the corrected test too, because of one data set."""
    if "decisive" not in pairs:
        return []
    decided = pairs[(pairs["verdict"] == "better") & pairs["decisive"].fillna("").ne("")]
    if decided.empty:
        return []
    first, count = decided.iloc[0], len(decided) - 1
    others = f", and so for {counted(count, 'more pair')}" if count else ""
    return [
        f"One data set decides: without {first['decisive']}, {first['a']} − {first['b']} is not "
        f"significant{in_place(first['place'])}{others}."
    ]


def add_equal_differences(place: Place, pairs: pd.DataFrame, grid: pd.DataFrame) -> None:
    """Say what is assumed of pairs that differ by one number on nearly all data sets."""
    names = [
        f"{pair.a} − {pair.b}"
        for pair in pairs.itertuples()
        if nearly_all_are_one(unit_values(grid, pair.a, pair.b))
    ]
    if names:
        others = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
        place.analysis.cautions.append(
            f"{names[0]}{others} is one number on nearly all data sets{place}: its interval assumes "
            "that no difference is larger than those seen, in either direction."
        )


def signed_rank_frame(pairs: pd.DataFrame, grid: pd.DataFrame) -> pd.DataFrame:
    """Wilcoxon's test of each pair: in a table of its own, as the printed intervals are those of
    the t-test, and the two may disagree.
    """
    differences = [unit_values(grid, pair.a, pair.b) for pair in pairs.itertuples()]
    frame = pd.DataFrame({"pair": pairs["a"] + " − " + pairs["b"]})
    frame["n"] = [len(values) for values in differences]
    frame["p_wilcoxon"] = [signed_rank_p_value(values) for values in differences]
    frame["p_holm"] = stats.holm(frame["p_wilcoxon"].to_numpy())
    return frame


def rank_frame(grid: pd.DataFrame, options: Options) -> pd.DataFrame:
    """Mean ranks, the best first, with Friedman's p-value and Nemenyi's critical difference."""
    ranked = stats.friedman_nemenyi(options.sign * grid.to_numpy().T, options.level)
    frame = pd.DataFrame({"method": grid.columns, "mean_rank": ranked.ranks})
    frame["critical_difference"] = ranked.critical_difference
    frame["p_friedman"] = ranked.p_value
    return frame.sort_values("mean_rank", kind="stable").reset_index(drop=True)
