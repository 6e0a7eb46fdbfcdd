"""Near-copies: images that show nearly the same, by a perceptual hash of pixels and by features of
a backbone.
"""

from .pictures import sheet, write_sheet
from .result import Copies
from .search import find

__all__ = ["Copies", "find", "sheet", "write_sheet"]
