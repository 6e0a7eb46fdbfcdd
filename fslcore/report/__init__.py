"""Reports on results of any methods: what a file shows, in sentences, tables and one figure."""

from .options import Options
from .results import Results
from .shapes import Shape

__all__ = ["Options", "Results", "Shape"]
