"""Images with labels: the embedded data sets, and the user's own folders."""

from .coloured import load_coloured
from .embedded import cards, load_embedded
from .folder import load_folder
from .images import Images
from .load import check_name, fetchable, load, names, path_forms
from .source import Source

__all__ = [
    "Images",
    "Source",
    "cards",
    "check_name",
    "fetchable",
    "load",
    "load_coloured",
    "load_embedded",
    "load_folder",
    "names",
    "path_forms",
]
