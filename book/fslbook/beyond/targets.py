"""Half-widths and conclusions of three intervals, as chapters show them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from fslcore.stats import Interval
from fslcore.stats.formatting import UNKNOWN
from fslcore.stats.targets import IMAGE_TARGETS


def half(value: float, digits: int = 2) -> str:
    """A half-width for reading, without its ±."""
    return f"{value:.{digits}f}" if np.isfinite(value) else UNKNOWN


def series_rows(intervals: dict[str, Interval], **place: str) -> list[dict[str, object]]:
    """Rows for `fslbook.figures.forest`: a series per interval, without those that have no ends."""
    return [
        dict(place, series=name, mean=interval.estimate, low=interval.low, high=interval.high)
        for name, interval in intervals.items()
        if np.isfinite([interval.low, interval.high]).all()
    ]


def verdicts(
    table: pd.DataFrame, adjust: Callable[[np.ndarray], np.ndarray] | None = None
) -> pd.DataFrame:
    """How many differences of two methods are conclusive for each target, by data set and in all.

    The table is of `fslcore.evaluation.three_targets.pairs`. With ``adjust``, `fslcore.stats.holm`
    or `fslcore.stats.benjamini_hochberg`, they are corrected for the number of pairs of all data
    sets, target by target."""
    conclusive = {}
    for target in IMAGE_TARGETS:
        intervals = [r.by_target[target] for r in table["result"]]
        if adjust is None:
            conclusive[target.value] = [r.sign != 0 for r in intervals]
        else:
            conclusive[target.value] = adjust(
                np.array([r.p_value for r in intervals])
            ) < 1 - np.array([r.confidence_level for r in intervals])
    conclusive = pd.DataFrame(conclusive)
    conclusive.insert(0, "pairs", 1)
    by_set = conclusive.groupby(table["dataset"], sort=False).sum()
    return pd.concat([by_set, by_set.sum().rename("all").to_frame().T])
