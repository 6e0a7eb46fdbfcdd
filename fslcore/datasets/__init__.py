"""Images with labels: the embedded data sets, and the user's own folders."""

from .coloured import load_coloured
from .embedded import cards, load_embedded
from .folder import load_folder
from .images import Images
from .load import check, fetched, forms, load, names
from .source import Source

__all__ = [
    "Images",
    "Source",
    "cards",
    "check",
    "fetched",
    "forms",
    "load",
    "load_coloured",
    "load_embedded",
    "load_folder",
    "names",
]
