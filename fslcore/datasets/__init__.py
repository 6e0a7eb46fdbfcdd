"""Images with labels: the embedded data sets, and the user's own folders."""

from typing import TYPE_CHECKING

from .listing import cards
from .loading import check_name, fetchable, load, names, path_forms

if TYPE_CHECKING:
    from .embedded import load_embedded
    from .folder import load_folder
    from .images import Images
    from .source import Source

__all__ = [
    "Images",
    "Source",
    "cards",
    "check_name",
    "fetchable",
    "load",
    "load_embedded",
    "load_folder",
    "names",
    "path_forms",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # On first use: `fslcore list` needs no pandas, Pillow or pyarrow.
    from .embedded import load_embedded
    from .folder import load_folder
    from .images import Images
    from .source import Source

    late = (Images, Source, load_embedded, load_folder)
    return {public.__name__: public for public in late}[name]


def __dir__() -> list[str]:  # for completion
    return sorted({*globals(), *__all__})
