"""Statistics of few-shot accuracy: arrays in, frozen result objects out; with NumPy and SciPy only.

Arguments have one order: the values, of two methods ``first`` and ``second``; the tasks and images
that they come from; ``confidence_level``; ``bounds``, by keyword. A difference is the first minus the second.

Arrays of values with a largest magnitude outside 1e-30 to 1e30 are refused, except for p-values.
"""

from .across_datasets import friedman_nemenyi
from .adjusted_p_values import benjamini_hochberg, holm
from .anytime import confidence_sequence
from .chosen import rank_confidence_sets, winner_interval
from .crossed import crossed_intervals
from .equivalence import tost
from .image_intervals import ThreeIntervals, three_intervals
from .influence import jackknife_influence
from .intervals import DEFAULT_CONFIDENCE_LEVEL, Interval
from .pilot import VarianceModel, estimate_variance, open_task_count, optimal_queries
from .planning import minimum_detectable_difference, plan_sample_size, power
from .proportions import mcnemar
from .published import compare_printed
from .runs import new_run_interval, new_run_intervals, plan_runs, probability_of_improvement
from .simultaneous import simultaneous_intervals
from .targets import Target
from .task_intervals import (
    closed_task_interval,
    compare_by_overlap,
    open_task_interval,
    paired_differences,
    paired_interval,
    welch_interval,
)

__all__ = [
    "DEFAULT_CONFIDENCE_LEVEL",
    "Interval",
    "Target",
    "ThreeIntervals",
    "VarianceModel",
    "benjamini_hochberg",
    "closed_task_interval",
    "compare_by_overlap",
    "compare_printed",
    "confidence_sequence",
    "crossed_intervals",
    "estimate_variance",
    "friedman_nemenyi",
    "holm",
    "jackknife_influence",
    "mcnemar",
    "minimum_detectable_difference",
    "new_run_interval",
    "new_run_intervals",
    "open_task_count",
    "open_task_interval",
    "optimal_queries",
    "paired_differences",
    "paired_interval",
    "plan_runs",
    "plan_sample_size",
    "power",
    "probability_of_improvement",
    "rank_confidence_sets",
    "simultaneous_intervals",
    "three_intervals",
    "tost",
    "welch_interval",
    "winner_interval",
]
