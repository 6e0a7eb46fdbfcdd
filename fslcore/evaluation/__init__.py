"""Evaluation: a learner on tasks, the record of its right answers, and the results table."""

from .cache import ConfiguredMethod, cached_outcomes
from .draws import excluded_classes, sample_tasks
from .export import write_features
from .groups import image_groups
from .methods import Method, configure, load_backbone, load_images_or_features
from .outcomes import Outcomes, evaluate, predict_scores
from .parts import compute_features, compute_outcomes
from .setting import SettingResult, evaluate_setting
from .table import RESULT_COLUMNS, results_table, write_table
from .transductivity import TransductivityResult, check_transductive

__all__ = [
    "RESULT_COLUMNS",
    "ConfiguredMethod",
    "Method",
    "Outcomes",
    "SettingResult",
    "TransductivityResult",
    "cached_outcomes",
    "check_transductive",
    "compute_features",
    "compute_outcomes",
    "configure",
    "evaluate",
    "evaluate_setting",
    "excluded_classes",
    "image_groups",
    "load_backbone",
    "load_images_or_features",
    "predict_scores",
    "results_table",
    "sample_tasks",
    "write_features",
    "write_table",
]
