"""Reports on results of any methods: what a file shows, in sentences, tables and one figure."""

from .model import Shape
from .options import Options
from .results import Results

__all__ = ["Options", "Results", "Shape"]
