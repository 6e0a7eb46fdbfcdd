"""Few-shot evaluation: draw tasks, adapt a learner, record its right answers, compute statistics.

The core has six subpackages. Data flow one way: ``datasets`` → ``models`` → ``tasks`` → ``learners`` →
``evaluation`` → ``stats``. ``report`` compares any methods from a file of their results, and ``fslcore.record``
records any evaluation loop. Nothing is imported here, so that
``fslcore.stats`` needs only NumPy and SciPy.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .errors import FslcoreWarning, InputError
    from .recorder import record

__all__ = ["FslcoreWarning", "InputError", "record"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "record":  # on first use
        from .recorder import record

        return record
    if name in ("FslcoreWarning", "InputError"):
        from . import errors

        return getattr(errors, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:  # for completion
    return sorted({*globals(), *__all__})
