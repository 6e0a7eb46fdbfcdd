"""Few-shot evaluation: draw tasks, adapt a learner, record its right answers, compute statistics.

The core has six subpackages. Data flow one way: ``datasets`` → ``models`` → ``tasks`` → ``learners`` →
``evaluation`` → ``stats``. ``report`` compares any methods from a file of their results.
``tools`` builds on them and is never imported by them: ``fslcore.record`` records any evaluation loop,
``tools.attributes`` finds the words that describe an image, ``tools.training`` trains backbones, and
``tools.estimation`` estimates accuracy from a support. Nothing is imported here, so that ``fslcore.stats`` needs only
NumPy and SciPy.
"""

__all__ = ["record"]

__version__ = "0.1.0"


def __getattr__(name: str):
    if name == "record":  # on first use
        from .recorder import record

        return record
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
