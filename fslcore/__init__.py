"""Few-shot evaluation: draw tasks, adapt a learner, record what it got right, do statistics.

The data flow one way: ``datasets`` → ``models`` → ``tasks`` → ``learners`` → ``evaluation`` → ``stats``. Around
them, ``attributes`` says which words describe an image, ``training`` makes backbones, ``results`` compares anybody's
methods, and ``estimation`` asks a task about itself; ``fslcore.record`` keeps what any other loop got right. Nothing is
imported here, so that ``fslcore.stats`` needs only NumPy and SciPy.
"""

__version__ = "0.1.0"


def __getattr__(name: str):
    if name == "record":  # when it is asked for
        from .recorder import record

        return record
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
