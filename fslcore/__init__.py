"""Few-shot evaluation: draw tasks, adapt a learner, record what it got right, do statistics.

The core is six rooms. Data flow one way: ``datasets`` → ``models`` → ``tasks`` → ``learners`` → ``evaluation`` →
``stats``. ``tools`` are built on them and never imported by them: ``fslcore.record`` keeps what any other loop got
right, ``tools.report`` compares anybody's methods, ``tools.attributes`` says which words describe an image,
``tools.training`` makes backbones, and ``tools.estimation`` asks a task about itself. Nothing is imported here, so that
``fslcore.stats`` needs only NumPy and SciPy.
"""

from . import moved

__all__ = ["moved", "record"]

__version__ = "0.1.0"


def __getattr__(name: str):
    if name == "record":  # when it is asked for
        from .tools.recorder import record

        return record
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
