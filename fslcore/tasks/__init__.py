"""Tasks: index arrays of the support and query images of a learner, and how they are drawn."""

from .matched import sample_class_matched
from .resplits import (
    LEAVE_ONE_OUT_REFILLED,
    Resplit,
    bootstrap_split,
    hold_out,
    k_fold,
    leave_one_out,
    resplit,
)
from .samplers import sample_all_classes, sample_closed, sample_open
from .tasks import Tasks

__all__ = [
    "LEAVE_ONE_OUT_REFILLED",
    "Resplit",
    "Tasks",
    "bootstrap_split",
    "hold_out",
    "k_fold",
    "leave_one_out",
    "resplit",
    "sample_all_classes",
    "sample_class_matched",
    "sample_closed",
    "sample_open",
]
