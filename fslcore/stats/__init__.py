"""Statistics of few-shot accuracy: arrays in, result objects out. Needs NumPy and SciPy only.

Arrays of values with a largest magnitude outside 1e-30 to 1e30 are refused, except for p-values.
"""

from .across_datasets import across_datasets
from .anytime import anytime_interval
from .chosen import rank_sets, winner_interval
from .compare import benjamini_hochberg, compare, holm
from .conformal import conformal_quantile
from .crossed import crossed_intervals
from .equivalence import equivalence
from .influence import influence
from .intervals import LEVEL, Interval
from .pilot import VarianceModel, best_queries, pilot, task_count
from .power import detectable, plan, power
from .proportions import paired_proportions
from .published import from_printed
from .ranks import picked, rank_correlation
from .runs import chance_better, new_runs, plan_runs, run_intervals
from .simultaneous import simultaneous_intervals
from .task_intervals import (
    closed_interval,
    independent_interval,
    open_interval,
    paired_differences,
    paired_interval,
)
from .three_intervals import ThreeIntervals, three_intervals

__all__ = [
    "LEVEL",
    "Interval",
    "ThreeIntervals",
    "VarianceModel",
    "across_datasets",
    "anytime_interval",
    "benjamini_hochberg",
    "best_queries",
    "chance_better",
    "closed_interval",
    "compare",
    "conformal_quantile",
    "crossed_intervals",
    "detectable",
    "equivalence",
    "from_printed",
    "holm",
    "independent_interval",
    "influence",
    "new_runs",
    "open_interval",
    "paired_differences",
    "paired_interval",
    "paired_proportions",
    "picked",
    "pilot",
    "plan",
    "plan_runs",
    "power",
    "rank_correlation",
    "rank_sets",
    "run_intervals",
    "simultaneous_intervals",
    "task_count",
    "three_intervals",
    "winner_interval",
]
