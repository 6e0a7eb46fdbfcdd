"""Estimates of a task's accuracy from its own support: a learner on the re-splits of each task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from fslcore import evaluation
from fslcore.errors import InputError, check_memory, flag, instance, quoted, whole, wholes
from fslcore.tasks import Tasks
from fslcore.tasks.resplits import Resplit, resplit

from .. import catalogue

__all__ = ["ESTIMATORS", "ORACLE", "estimate", "run"]

ORACLE = "oracle"  # the accuracy on the query
ESTIMATORS = catalogue.ESTIMATORS["paper"]
COLUMNS = (ORACLE, *ESTIMATORS)


def estimate(record: evaluation.Outcomes, owner: np.ndarray, n: int) -> np.ndarray:
    """The estimated accuracy of each of n tasks: the mean accuracy over its re-splits.

    Parameters
    ----------
    record : Outcomes
        Outcomes of a learner on the R tasks of a `Resplit`.
    owner : (R,) integers
        Owners of that re-split.
    n : int
        T, the number of given tasks.

    Returns
    -------
    (T,) array
        Shares, 0 to 1; NaN for a task without re-splits.

    Raises
    ------
    InputError
        Owners that are not 0 to n - 1, one per task of the record; fewer than 1 task.
    """
    instance("record", record, evaluation.Outcomes)
    owner, n = wholes("owner", owner, 1), whole("n", n, minimum=1)
    if len(owner) != len(record.correct) or not 0 <= owner.min() <= owner.max() < n:
        raise InputError(
            f"owner must be from 0 to {n - 1}, one for each of the record's {len(record.correct)} "
            f"tasks, got {len(owner)} from {owner.min(initial=0)} to {owner.max(initial=0)}"
        )
    check_memory("n", n, 24 * n)
    with np.errstate(invalid="ignore"):
        return np.bincount(owner, record.accuracy(), minlength=n) / np.bincount(owner, minlength=n)


def run(
    method: evaluation.ConfiguredMethod,
    tasks: Tasks,
    names: Sequence[str] = COLUMNS,
    *,
    rounds: int = 30,
    seed: int = 0,
    stored: bool = False,
    progress: bool = False,
) -> pd.DataFrame | None:
    """Accuracy of a learner on tasks, by the oracle and as estimated from the support alone.

    Parameters
    ----------
    method : Ready
        From `fslcore.evaluation.configure`; the results of each estimator are cached.
    tasks : Tasks
        As for `fslcore.evaluation.evaluate`.
    names : sequence of str
        'oracle' and names for `resplit`.
    rounds, seed : int
        For the bootstrap.
    stored : bool
        Compute nothing: return None if results of any estimator are not stored.

    Returns
    -------
    DataFrame or None
        One row per task, one column per name; shares, 0 to 1.
    """
    instance("tasks", tasks, Tasks), flag("stored", stored), flag("progress", progress)
    if isinstance(names, str) or not all(
        isinstance(n, str) for n in instance("names", names, Iterable)
    ):
        raise InputError(f"names must be a sequence of names, got {quoted(names)}")
    columns = {}
    for name in names:
        if name == ORACLE:
            split = Resplit(tasks, np.arange(len(tasks)))
        else:
            split = resplit(tasks, name, rounds=rounds, seed=seed)
        record = method.outcomes(split.tasks, stored=stored, progress=progress)
        if record is None or len(record.correct) < len(split.tasks):
            return None
        columns[name] = estimate(record, split.owner, len(tasks))
    return pd.DataFrame(columns).rename_axis("task")
