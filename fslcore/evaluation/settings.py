"""One setting (data set, backbone, learner, sampling) from its names to its record."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd

from .. import datasets
from ..datasets.bank import Bank
from ..errors import choice
from ..tasks import Tasks, sample_closed, sample_open
from .methods import ready
from .records import Record
from .table import COLUMNS, results_table

__all__ = ["class_of", "draw", "run", "run_queries"]


def run(dataset: str, backbone: str, learner: str, sampling: str, **options) -> pd.DataFrame | None:
    """Results table of one setting, from the cache or from ``data/results`` where it is there.

    Parameters and errors: as for `run_queries`.

    Returns
    -------
    DataFrame or None
        One row a task, with the columns of `COLUMNS`; accuracy in percent.
    """
    given = inspect.signature(run_queries).bind(dataset, backbone, learner, sampling, **options)
    given.apply_defaults()
    _, kept = run_queries(*given.args, **given.kwargs)
    if kept is None:
        return None
    return results_table(kept, **{name: given.arguments[name] for name in COLUMNS if name in given.arguments})


def run_queries(
    dataset: str,
    backbone: str,
    learner: str,
    sampling: str,
    *,
    ways: int = 5,
    shots: int = 5,
    queries: int = 15,
    tasks: int | None = 600,
    seed: int = 0,
    skip_small_classes: bool = False,
    stored: bool = False,
    progress: bool = False,
    size: int | None = None,
) -> tuple[Tasks, Record | None]:
    """The tasks of one setting, and which queries were right.

    Parameters
    ----------
    dataset : str
        As for `fslcore.datasets.load`, or ``features:PATH`` for precomputed features.
    backbone : str
        As for `fslcore.models.backbones.load`; ignored for precomputed features.
    learner : str
        A name of `fslcore.learners.names`.
    sampling : str
        'closed' (with reuse of images) or 'open' (without, until the data are used up).
    ways, shots, queries, seed : int
        Of the tasks.
    tasks : int or None
        Number of closed tasks; upper bound on the number of open ones (None: no bound).
    skip_small_classes : bool
        Leave out classes with fewer than S + Q images instead of raising.
    stored : bool
        Compute nothing (fine-tuning takes hours on a CPU): as many of the first tasks as results
        are kept of, or None.
    progress : bool
        Show progress bars.
    size : int, optional
        Pixels at which the user's own images are read and seen, as for `fslcore.datasets.load`.

    Returns
    -------
    tasks : Tasks
    record : Record or None
        Of the first of these tasks, where fewer are kept.

    Raises
    ------
    InputError
        What the loaders and samplers raise; an unknown learner or sampling.
    """
    _known(sampling)
    method = ready(dataset, backbone, learner, size=size)
    shape = dict(ways=ways, shots=shots, queries=queries, seed=seed, skip_small_classes=skip_small_classes)
    drawn = draw(method.source, sampling, tasks=tasks, **shape)
    return drawn, method.record(drawn, stored=stored, progress=progress)


def draw(source: datasets.Images | Bank, sampling: str, *, tasks: int | None, **shape) -> Tasks:
    """Tasks of a sampling by its name; ``shape`` and errors as for `fslcore.tasks.sample_closed`."""
    labels = class_of(source)  # by name, so that an error can name one
    if _known(sampling) == "closed":
        return sample_closed(labels, tasks=0 if tasks is None else tasks, **shape)
    return sample_open(labels, max_tasks=tasks, **shape)


def class_of(source: datasets.Images | Bank) -> np.ndarray:
    """(N,) class of each image: its name, or what a bank calls it."""
    return source.classes if isinstance(source, Bank) else np.array(source.class_names)[source.labels]


def _known(sampling: str) -> str:
    return choice("sampling", sampling, ("closed", "open"))
