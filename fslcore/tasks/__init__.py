"""Tasks: index arrays of the support and query images of a learner, and how they are drawn."""

from .biased import sample_biased, sample_matched
from .resplits import (
    ESTIMATORS,
    ORACLE,
    REFILLED,
    Resplit,
    bootstrap,
    hold_out,
    k_fold,
    leave_one_out,
    resplit,
)
from .samplers import sample_all, sample_closed, sample_open
from .tasks import Tasks

__all__ = [
    "ESTIMATORS",
    "ORACLE",
    "REFILLED",
    "Resplit",
    "Tasks",
    "bootstrap",
    "hold_out",
    "k_fold",
    "leave_one_out",
    "resplit",
    "sample_all",
    "sample_biased",
    "sample_closed",
    "sample_matched",
    "sample_open",
]
