"""One setting: from the names of its parts to its record or table."""

import inspect
from typing import Any

import pandas as pd

from ..tasks import Tasks
from .draws import check_sampling, sample_tasks
from .methods import configure
from .outcomes import Outcomes
from .table import RESULT_COLUMNS, results_table

__all__ = ["run", "run_queries"]


def run(
    dataset: str, backbone: str, learner: str, sampling: str, **options: Any
) -> pd.DataFrame | None:
    """Results table of one setting, from the cache or from ``data/results`` if available.

    Parameters and errors: as for `run_queries`.

    Returns
    -------
    DataFrame or None
        One row per task, with the columns of `RESULT_COLUMNS`; accuracy in percent.
    """
    call = inspect.signature(run_queries).bind(dataset, backbone, learner, sampling, **options)
    call.apply_defaults()
    _, record = run_queries(*call.args, **call.kwargs)
    if record is None:
        return None
    setting = {name: value for name, value in call.arguments.items() if name in RESULT_COLUMNS}
    return results_table(record, **setting)


def run_queries(  # noqa: PLR0913 (the inputs of a table)
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
    apart: str | None = None,
) -> tuple[Tasks, Outcomes | None]:
    """The tasks of one setting, and which queries were right.

    Parameters
    ----------
    dataset : str
        As for `fslcore.datasets.load`, or ``features:PATH`` for precomputed features.
    backbone : str
        As for `fslcore.models.backbones.load`; ignored for precomputed features.
    learner : str
        A name of `fslcore.catalogue.registered_learners`.
    sampling : str
        'closed' (images are used again) or 'open' (each image once, until the data are used up).
    ways, shots, queries, seed : int
        Of the tasks.
    tasks : int or None
        Number of closed tasks; upper bound on the number of open ones (None: no bound).
    skip_small_classes : bool
        Leave out classes with fewer than S + Q images instead of raising.
    stored : bool
        Compute nothing (fine-tuning takes hours on a CPU): return as many of the first tasks as
        results are stored of, or None.
    progress : bool
        Show progress bars.
    size : int, optional
        Pixels at which the user's own images are read and used, as for `fslcore.datasets.load`.
    apart : str, optional
        As for `fslcore.evaluation.sample_tasks`.

    Returns
    -------
    tasks : Tasks
    outcomes : Outcomes or None
        Of the first of these tasks, if fewer are stored.

    Raises
    ------
    InputError
        As for the loaders and samplers; an unknown learner or sampling.
    """
    check_sampling(sampling)
    method = configure(dataset, backbone, learner, size=size)
    sampled = sample_tasks(
        method.source,
        sampling,
        tasks=tasks,
        apart=apart,
        ways=ways,
        shots=shots,
        queries=queries,
        seed=seed,
        skip_small_classes=skip_small_classes,
    )
    return sampled, method.outcomes(sampled, stored=stored, progress=progress)
