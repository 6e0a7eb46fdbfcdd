"""Evaluation: a learner on tasks, the record of its right answers, and the results table."""

from .cache import Ready, record
from .draws import draw, left_out
from .export import write_features
from .groups import groups_of
from .methods import Method, load_backbone, load_source, ready
from .parts import make_features, make_records
from .probe import Neighbours, probe
from .records import Record, evaluate, scores
from .runs import run, run_queries
from .table import COLUMNS, results_table, write_table

__all__ = [
    "COLUMNS",
    "Method",
    "Neighbours",
    "Ready",
    "Record",
    "draw",
    "evaluate",
    "groups_of",
    "left_out",
    "load_backbone",
    "load_source",
    "make_features",
    "make_records",
    "probe",
    "ready",
    "record",
    "results_table",
    "run",
    "run_queries",
    "scores",
    "write_features",
    "write_table",
]
