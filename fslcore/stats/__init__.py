"""Statistics of few-shot accuracy: arrays in, result objects out. Needs NumPy and SciPy only."""

from .across_datasets import AcrossDatasets, across_datasets, probability_best
from .anytime import AnytimeInterval, anytime_interval
from .bootstrap import BootstrapInterval, bootstrap_interval
from .compare import CONCLUSION, benjamini_hochberg, compare, conclusions, holm
from .conformal import conformal_quantile
from .equivalence import Equivalence, equivalence
from .influence import Influence, influence
from .intervals import (
    LEVEL,
    Interval,
    closed_interval,
    independent_interval,
    limits,
    open_interval,
    paired_differences,
    paired_interval,
    plus_minus,
    regression_interval,
    weighted_interval,
)
from .pilot import (
    CommonOptimum,
    Moments,
    OptimumRatio,
    Pilot,
    VarianceFit,
    VarianceModel,
    best_queries,
    common_optimum,
    compare_optima,
    fit_variance,
    moments,
    pilot,
    task_count,
)
from .power import Plan, detectable, plan, power, smallest
from .published import Printed, PrintedDifference, PrintedReading, from_printed
from .ranks import picked, rank_correlation
from .runs import Chance, NewRuns, RunIntervals, RunPlan, chance_better, new_runs, plan_runs, run_intervals
from .three_intervals import ThreeIntervals, three_intervals

__all__ = [
    "CONCLUSION",
    "LEVEL",
    "AcrossDatasets",
    "AnytimeInterval",
    "BootstrapInterval",
    "Chance",
    "CommonOptimum",
    "Equivalence",
    "Influence",
    "Interval",
    "Moments",
    "NewRuns",
    "OptimumRatio",
    "Pilot",
    "Plan",
    "Printed",
    "PrintedDifference",
    "PrintedReading",
    "RunIntervals",
    "RunPlan",
    "ThreeIntervals",
    "VarianceFit",
    "VarianceModel",
    "across_datasets",
    "anytime_interval",
    "benjamini_hochberg",
    "best_queries",
    "bootstrap_interval",
    "chance_better",
    "closed_interval",
    "common_optimum",
    "compare",
    "compare_optima",
    "conclusions",
    "conformal_quantile",
    "detectable",
    "equivalence",
    "fit_variance",
    "from_printed",
    "holm",
    "independent_interval",
    "influence",
    "limits",
    "moments",
    "new_runs",
    "open_interval",
    "paired_differences",
    "paired_interval",
    "picked",
    "pilot",
    "plan",
    "plan_runs",
    "plus_minus",
    "power",
    "probability_best",
    "rank_correlation",
    "regression_interval",
    "run_intervals",
    "smallest",
    "task_count",
    "three_intervals",
    "weighted_interval",
]
