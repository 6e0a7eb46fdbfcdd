"""Statistics of few-shot accuracy: arrays in, result objects out. Needs NumPy and SciPy only."""

from .compare import CONCLUSION, benjamini_hochberg, compare, conclusions, holm
from .conformal import conformal_quantile
from .influence import Influence, influence
from .intervals import (
    LEVEL,
    Interval,
    closed_interval,
    independent_interval,
    open_interval,
    paired_differences,
    paired_interval,
    plus_minus,
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
from .ranks import picked, rank_correlation
from .three_intervals import ThreeIntervals, three_intervals

__all__ = [
    "CONCLUSION",
    "CommonOptimum",
    "Influence",
    "Interval",
    "LEVEL",
    "Moments",
    "OptimumRatio",
    "Pilot",
    "Plan",
    "ThreeIntervals",
    "VarianceFit",
    "VarianceModel",
    "benjamini_hochberg",
    "best_queries",
    "closed_interval",
    "common_optimum",
    "compare",
    "compare_optima",
    "conclusions",
    "conformal_quantile",
    "detectable",
    "fit_variance",
    "holm",
    "independent_interval",
    "influence",
    "moments",
    "open_interval",
    "paired_differences",
    "paired_interval",
    "picked",
    "pilot",
    "plan",
    "plus_minus",
    "power",
    "rank_correlation",
    "smallest",
    "task_count",
    "three_intervals",
]
