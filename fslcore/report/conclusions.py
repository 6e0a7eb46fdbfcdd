"""What results conclude, as plain values: frames of methods and of pairs with their verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from .. import stats
from ..errors import InputError
from ..stats.planning import minimum_detectable_difference
from ..stats.simultaneous import comparison_half_widths
from .model import Shape
from .numbers import level_text
from .options import Options
from .samples import COHEN_DZ, Sample

PAIR_COLUMNS = (
    "place target unit a b difference low high half_width p p_holm n units_better units_worse spread "
    "test verdict detectable effect_size effect"
).split()
METHOD_COLUMNS = "place target method mean low high half_width comparison_half_width n".split()
POWER = 0.8
MOST_BARS = 20  # methods; bars of more would seldom agree with all of their pairs
BETTER, EQUIVALENT, SAME, OPEN = "better", "equivalent", "not significantly different", "open"


@dataclass(frozen=True)
class Conclusions:
    """The attributes of `fslcore.report.Results`, which says what each is."""

    shape: Shape
    options: Options
    percent: bool
    methods: pd.DataFrame
    pairs: pd.DataFrame
    reading: tuple[str, ...]
    applies: tuple[str, ...]
    assumptions: tuple[str, ...]
    cautions: tuple[str, ...]
    lower_is_better: bool = False
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    files: tuple[str, ...] = ("FILE",)
    inputs: tuple[str, ...] = ()

    @property
    def level(self) -> str:
        """The confidence level in words: '95 %'."""
        return level_text(self.options.level)


def pairs_of(samples: Sequence[Sample], options: Options) -> pd.DataFrame:
    """The pairs of all samples with corrected p-values and verdicts."""
    parts = [
        sample.pairs.assign(place=sample.place, target=sample.target, unit=sample.unit)
        for sample in samples
        if len(sample.pairs)
    ]
    if not parts:
        return pd.DataFrame(columns=PAIR_COLUMNS)
    pairs = pd.concat(parts, ignore_index=True)
    alpha = 1 - options.level
    # Each target is a question of its own; its pairs in all places are one family of tests.
    p_of_target = pairs.groupby("target")["p"]
    pairs["p_holm"] = p_of_target.transform(lambda p: stats.holm(p.to_numpy()))
    pairs["verdict"] = np.where(pairs["p_holm"] < alpha, BETTER, SAME)
    if "paired_half_width" in pairs:
        may_decide = pairs["difference"].abs() > pairs["paired_half_width"]
        pairs.loc[may_decide & (pairs["verdict"] == SAME), "verdict"] = OPEN
    if options.margin is not None:
        if "p_equivalent" not in pairs:
            raise InputError(f"margin = {options.margin:g}; results of this kind have no such test")
        pairs["p_equivalent"] = stats.holm(pairs["p_equivalent"].fillna(1.0).to_numpy())
        pairs.loc[pairs["p_equivalent"] < alpha, "verdict"] = EQUIVALENT
    levels = 1 - alpha / p_of_target.transform("size")
    pairs["detectable"] = detectable_differences(pairs, levels)
    varies = pairs["effect"].eq("") & (pairs["spread"] > 0)
    pairs.loc[varies, "effect_size"] = (pairs["difference"] / pairs["spread"])[varies]
    pairs.loc[varies, "effect"] = COHEN_DZ
    return columns_first(pairs, PAIR_COLUMNS)


def detectable_differences(pairs: pd.DataFrame, levels: pd.Series) -> pd.Series:
    """The true difference that the data of each pair show with 80 % power; NaN where it is not
    known.
    """
    errors = pairs["standard_error"]
    is_known = (errors > 0) & (pairs["test_df"] >= 1)
    differences = pd.Series(np.nan, pairs.index)
    # Of the same degrees of freedom it is the same number of standard errors.
    for (df, level), part in errors[is_known].groupby([pairs["test_df"], levels]):
        difference = minimum_detectable_difference(
            1.0, df, target_power=POWER, confidence_level=level
        )
        differences[part.index] = part * difference
    return differences


def columns_first(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The frame with these columns first."""
    return frame[[*names, *frame.columns.difference(names, sort=False)]]


def methods_of(samples: Sequence[Sample], pairs: pd.DataFrame, options: Options) -> pd.DataFrame:
    """The methods of all samples with the ranks that significant pairs leave them."""
    parts = []
    for sample in samples:
        part = sample.methods.assign(place=sample.place, target=sample.target)
        in_sample = (pairs["place"] == sample.place) & (pairs["target"] == sample.target)
        part["comparison_half_width"] = bars_of(part["method"], pairs[in_sample])
        if options.reference is None:
            better = pd.DataFrame(False, part["method"], part["method"])
            for pair in pairs[in_sample & (pairs["p_holm"] < 1 - options.level)].itertuples():
                better.loc[pair.a, pair.b] = True
            ranks = stats.rank_confidence_sets(better)
            part["best_rank"] = ranks.best
            part["worst_rank"] = ranks.worst
        parts.append(part)
    return columns_first(pd.concat(parts, ignore_index=True), METHOD_COLUMNS)


def bars_of(methods: pd.Series, pairs: pd.DataFrame) -> np.ndarray:
    """Half-widths of bars around the means, which overlap where the interval of a difference holds
    0; NaN where there are none.
    """
    distances = np.full((len(methods), len(methods)), np.nan)
    if pairs.empty or len(methods) > MOST_BARS:
        return distances.diagonal()
    widths = distances.copy()
    towards_0 = np.where(
        pairs["difference"] >= 0,
        pairs["difference"] - pairs["low"],
        pairs["high"] - pairs["difference"],
    )
    if not np.isfinite(towards_0).all():
        return distances.diagonal()
    first, second = (pd.Index(methods).get_indexer(pairs[side]) for side in ("a", "b"))
    upper = np.minimum(first, second), np.maximum(first, second)
    distances[upper] = pairs["difference"].abs()
    widths[upper] = towards_0
    return comparison_half_widths(distances, widths)
