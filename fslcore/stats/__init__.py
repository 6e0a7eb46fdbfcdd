"""Statistics of few-shot accuracy: arrays in, frozen result objects out; with NumPy and SciPy only.

Arguments have one order: the values, of two methods ``first`` and ``second``; the tasks and images
that they come from; ``level``; ``bounds``, by keyword. A difference is the first minus the second.

Arrays of values with a largest magnitude outside 1e-30 to 1e30 are refused, except for p-values.
"""

from .across_datasets import across_datasets
from .adjusted_p_values import benjamini_hochberg, holm
from .anytime import anytime_interval
from .chosen import rank_sets, winner_interval
from .crossed import crossed_intervals
from .equivalence import equivalence
from .influence import influence
from .intervals import LEVEL, Interval
from .pilot import VarianceModel, best_queries, pilot, task_count
from .power import detectable_difference, plan, power
from .proportions import paired_proportions
from .published import from_printed
from .runs import chance_better, new_runs, plan_runs, run_intervals
from .simultaneous import simultaneous_intervals
from .task_intervals import (
    closed_interval,
    independent_interval,
    open_interval,
    overlap_conclusion,
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
    "crossed_intervals",
    "detectable_difference",
    "equivalence",
    "from_printed",
    "holm",
    "independent_interval",
    "influence",
    "new_runs",
    "open_interval",
    "overlap_conclusion",
    "paired_differences",
    "paired_interval",
    "paired_proportions",
    "pilot",
    "plan",
    "plan_runs",
    "power",
    "rank_sets",
    "run_intervals",
    "simultaneous_intervals",
    "task_count",
    "three_intervals",
    "winner_interval",
]
