"""Cells of FewSTAB's tables as text, and data sets by the names that readers know."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fslcore.stats import Interval

from ..catalogue import FACTS
from ..checks import DATASETS

__all__ = ["NEAR", "known_as", "near_chance", "short_name", "text", "texts", "titled", "wide_table"]

NEAR = "°"  #: what marks a cell near chance (`near_chance`)


def known_as(dataset: str) -> str:
    """A data set by the name it has in the paper, or without its settings."""
    return DATASETS.get(dataset, dataset.partition("?")[0])


def short_name(class_name: str) -> str:
    """The last part of a class's name: 'alef' of 'hebrew/U+05D0 alef'."""
    name = class_name.split("/")[-1]
    return name.split(" ")[-1] if "U+" in name else name


def titled(captioner: str) -> str:
    """A source of attributes for readers: 'style, grid' for 'facts:style+grid'; 'captions, compounds whole'."""
    return captioner.removeprefix(FACTS).replace("+", ", ").replace("?compounds=", ", compounds ")


def text(r: Interval) -> str:
    """'12.3 ± 0.4'."""
    return f"{r:.1f}".replace("-", "−")


def texts(
    table: pd.DataFrame | pd.Series, marked: pd.Series | None = None
) -> pd.DataFrame | pd.Series:
    """`text` of every interval, beside it the number of tasks where others in the table rest on
    more.

    Parameters
    ----------
    table : DataFrame or Series of Interval
    marked : Series of bool, optional
        By the table's rows: those that are marked by `NEAR`, as near chance.
    """
    # An independent difference comes from the tasks of two runs.
    tasks = table.map(lambda interval: interval.equal_units)
    fewer = tasks < np.max(tasks.to_numpy())
    cells = table.map(text) + (" (" + tasks.astype(str) + " tasks)").where(fewer, "")
    if marked is None:
        return cells
    marks = marked.reindex(table.index, fill_value=False).map({True: f" {NEAR}", False: ""})
    return cells.add(marks, axis=0)


def near_chance(worst: pd.Series, guess: float) -> pd.Series:
    """Whether a learner's worst class on random tasks is near that of guessing: no trap can take
    from it what it lacks.

    It is if the interval of wAcc-R reaches down to the mean of guessing, or lies below it.

    Parameters
    ----------
    worst : Series of Interval
        wAcc-R, in percent.
    guess : float
        The mean accuracy of the worst class if each query is guessed
        (`fslbook.fewstab.audit.lowest`), in percent.

    Returns
    -------
    Series of bool
    """
    return worst.map(lambda r: r.low <= guess).astype(bool)


def wide_table(table: pd.DataFrame, index: list[str], columns: str, values: str) -> pd.DataFrame:
    """The table with a column per value of ``columns``, and rows in the order of their first cell."""
    order = pd.MultiIndex.from_frame(table[index].drop_duplicates())
    wide = table.pivot(index=index, columns=columns, values=values)
    return wide.loc[order].rename_axis(columns=None)
