"""Results: per-task accuracies of anybody's methods, read, compared and shown."""

from .arguments import MANY, ROWS
from .compare import (
    comparisons,
    group_letters,
    groups,
    intervals,
    needed,
    panels,
    reading,
    settings,
    tasks_for_power,
    tasks_for_width,
)
from .show import changed, crowded, interval_list, matrix, pair_list, record, summary, write_figures, write_tables
from .tables import normalise, read

__all__ = [
    "MANY",
    "ROWS",
    "changed",
    "comparisons",
    "crowded",
    "group_letters",
    "groups",
    "interval_list",
    "intervals",
    "matrix",
    "needed",
    "normalise",
    "pair_list",
    "panels",
    "read",
    "reading",
    "record",
    "settings",
    "summary",
    "tasks_for_power",
    "tasks_for_width",
    "write_figures",
    "write_tables",
]
