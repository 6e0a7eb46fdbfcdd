"""Statistics of few-shot accuracy: arrays in, result objects out. Needs NumPy and SciPy only."""

from .compare import CONCLUSION, compare, conclusions
from .intervals import Interval, closed_interval, open_interval, paired_interval

from .targets import ThreeIntervals, three_intervals

__all__ = [
    "CONCLUSION", "Interval", "ThreeIntervals", "closed_interval", "compare", "conclusions", "open_interval",
    "paired_interval", "three_intervals",
]
