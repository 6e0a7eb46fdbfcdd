"""Statistics of few-shot accuracy: arrays in, result objects out. Needs NumPy and SciPy only."""

from .compare import CONCLUSION, compare, conclusions
from .intervals import Interval, closed_interval, open_interval, paired_interval

from .planning import Plan, detectable, plan, power
from .targets import ThreeIntervals, three_intervals

__all__ = [
    "CONCLUSION", "Interval", "Plan", "ThreeIntervals", "closed_interval", "compare", "conclusions", "detectable",
    "open_interval", "paired_interval", "plan", "power", "three_intervals",
]
