"""Evaluation: a learner on tasks, the record of its right answers, and the results table."""

from .cache import Ready, record
from .export import write_features
from .methods import LEARNERS, Method, load_backbone, load_source, ready
from .parts import make_features, make_records
from .probe import Neighbours, probe
from .records import Record, evaluate, scores
from .settings import class_of, draw, groups_of, left_out, run, run_queries
from .table import COLUMNS, results_table, write_table

__all__ = [
    "COLUMNS",
    "LEARNERS",
    "Method",
    "Neighbours",
    "Ready",
    "Record",
    "class_of",
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
