"""Reports on results of any methods: what a file shows, in sentences, tables and one figure."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model import Shape
    from .options import Options
    from .results import Results

__all__ = ["Options", "Results", "Shape"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # On first use: `fslcore compare` needs no pandas.
    from .model import Shape
    from .options import Options
    from .results import Results

    return {"Options": Options, "Results": Results, "Shape": Shape}[name]


def __dir__() -> list[str]:  # for completion
    return sorted({*globals(), *__all__})
