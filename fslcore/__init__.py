"""Few-shot evaluation: draw tasks, adapt a learner, record what it got right, do statistics.

The data flow one way: ``datasets`` → ``backbones`` → ``tasks`` → ``learners`` → ``evaluate``
→ ``stats``. Nothing is imported here, so that ``fslcore.stats`` needs only NumPy and SciPy.
"""

__version__ = "0.1.0"
