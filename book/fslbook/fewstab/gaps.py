"""FewSTAB's measure: the worst class on random and on biased tasks, and how it orders learners."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from fslcore.errors import InputError, flag, instance, number, quoted
from fslcore.evaluation import Outcomes
from fslcore.stats import closed_task_interval, paired_interval, welch_interval

__all__ = ["gaps", "rank_correlations"]


def gaps(
    random: dict[str, Outcomes],
    biased: dict[str, Outcomes],
    *,
    paired: bool = False,
    level: float = 0.95,
) -> pd.DataFrame:
    """Mean accuracy of the worst class (equation 2) on random and on biased tasks, and their gap,
    in percent.

    Parameters
    ----------
    random, biased : dict of str to Outcomes
        By learner, the record on random tasks (`fslcore.tasks.sample_closed` or `sample_class_matched`)
        and on biased ones.
    paired : bool
        The random tasks are those that `sample_class_matched` made of the biased: the interval of the gap
        is then that of the differences task by task. Else the tasks of the two are independent.
    level : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    DataFrame
        By learner: ``wAcc-R``, ``wAcc-A`` and ``gap`` = wAcc-R - wAcc-A, each a
        `fslcore.stats.Interval`. All apply to these very images, on which other tasks might have
        been drawn.

    Raises
    ------
    InputError
        Learners that differ, no learner, or paired records of different numbers of tasks.
    """
    for name, records in (("random", random), ("biased", biased)):
        for record in instance(name, records, Mapping).values():
            if not hasattr(record, "worst_class"):
                raise InputError(
                    f"{name} must have records of `fslcore.evaluation` by learner, got "
                    f"{quoted(record)}"
                )
    flag("paired", paired), number("level", level, over=0, under=1)
    if random.keys() != biased.keys() or not random:
        raise InputError(
            f"random and biased must have the same learners, got {', '.join(random)} and "
            f"{', '.join(biased)}"
        )
    difference = paired_interval if paired else welch_interval
    rows = {}
    for name in random:
        r, a = (100 * records[name].worst_class() for records in (random, biased))
        rows[name] = (
            closed_task_interval(r, level),
            closed_task_interval(a, level),
            difference(r, a, level),
        )
    return pd.DataFrame.from_dict(rows, orient="index", columns=["wAcc-R", "wAcc-A", "gap"])


def rank_correlations(table: pd.DataFrame, a: str, b: str) -> pd.Series:
    """Spearman's rank correlation over learners of two columns, in each setting.

    Parameters
    ----------
    table : DataFrame
        A row per learner, indexed by the setting's levels and, the last, learner.
    a, b : str
        Columns.
    """
    settings = table.groupby(level=table.index.names[:-1])
    return settings.apply(lambda t: t[a].corr(t[b], method="spearman")).rename("correlation")
