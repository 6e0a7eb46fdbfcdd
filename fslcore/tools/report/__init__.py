"""Results: per-task accuracies of anybody's methods, read once, compared and shown."""

from .compare import tasks_for_power, tasks_for_width
from .former import __getattr__  # noqa: F401
from .items import ItemScores
from .results import Results

__all__ = ["ItemScores", "Results", "tasks_for_power", "tasks_for_width"]
