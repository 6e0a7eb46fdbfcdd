"""Results: per-task accuracies of anybody's methods, read, compared and shown."""

from .across_datasets import by_ranks, caveat, equivalents, rank_list
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
    settles,
    tasks_for_power,
    tasks_for_width,
)
from .paragraph import paragraphs
from .recorded import three_intervals, three_list
from .runs import new_runs, recipe_list, recipes, run_list, run_reading
from .show import (
    changed,
    crowded,
    few_errors,
    interval_list,
    matrix,
    pair_list,
    record,
    summary,
    write_figures,
    write_tables,
)
from .tables import normalise, read
from .targets import legend

__all__ = [
    "MANY",
    "ROWS",
    "by_ranks",
    "caveat",
    "changed",
    "comparisons",
    "crowded",
    "equivalents",
    "few_errors",
    "group_letters",
    "groups",
    "interval_list",
    "intervals",
    "legend",
    "matrix",
    "needed",
    "new_runs",
    "normalise",
    "pair_list",
    "panels",
    "paragraphs",
    "rank_list",
    "read",
    "reading",
    "recipe_list",
    "recipes",
    "record",
    "run_list",
    "run_reading",
    "settings",
    "settles",
    "summary",
    "tasks_for_power",
    "tasks_for_width",
    "three_intervals",
    "three_list",
    "write_figures",
    "write_tables",
]
