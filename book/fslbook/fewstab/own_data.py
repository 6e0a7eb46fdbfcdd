"""Cells of FewSTAB's tables on its own data, computed here or reported by others, compared with the
printed cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fslcore.stats import closed_task_interval, welch_interval

from .. import published
from ..contributed import Pack
from ..reported import each
from ..training import recipes
from ..training.recipes import trained_with
from . import training
from .tables import REMEDIED, SETTING

__all__ = [
    "contributed_table",
    "on_own_data",
    "own_ablation",
    "own_accuracies",
    "own_agreement",
    "own_recent",
    "own_remedy",
    "own_training",
    "reported",
]

#: The paper's data sets and captioners, by their names here.
OWN = {
    "miniimagenet": "miniimagenet",
    "tieredimagenet": "tieredimagenet",
    "cub?splits=fewstab": "cub",
}
BY = {"vit-gpt2": "vit-gpt2", "blip-large": "blip"}
NETWORKS = "trained:fewstab/"  # those that are trained as the paper has them


def on_own_data(
    results: dict[str, pd.DataFrame] | pd.DataFrame, printed: pd.DataFrame, trained: str
) -> pd.DataFrame:
    """Live cells on the paper's own data, by networks trained as it has them, beside the printed
    ones.

    Parameters
    ----------
    results : DataFrame of Interval, or dict of them by captioner
        Columns by dataset, shots and learner, as `collect` gives them.
    printed : DataFrame
        Tables 3, S7 or S8 as transcribed.
    trained : str
        As for `method`. Where it is none of `fslbook.training.train_paper`, nothing is compared.

    Returns
    -------
    DataFrame
        As of `fslbook.published.comparison`.
    """
    if isinstance(results, dict):
        parts = [_long(table).assign(captioner=BY.get(by, "")) for by, table in results.items()]
        live, first = pd.concat(parts), next(iter(results.values()))
    else:
        live, first = _long(results), results
    return _of_paper(live, printed, trained, first.iloc[0, 0].confidence_level)


def _long(table: pd.DataFrame) -> pd.DataFrame:
    """A table of intervals in long form: its index, metric (the column), mean and half_width."""
    rows = [
        (*key, metric, r.estimate, r.half_width)
        for metric in table
        for key, r in table[metric].items()
    ]
    return pd.DataFrame(rows, columns=[*table.index.names, "metric", "mean", "half_width"])


def _of_paper(live, printed, trained, level):
    names = OWN if trained.startswith(NETWORKS) else {}
    return published.comparison(live, printed, level, names.get)


def own_ablation(
    gaps: pd.DataFrame, average: pd.DataFrame, table: str, trained: str, level: float
) -> pd.DataFrame:
    """Gaps of Table S5 or S6 on the paper's own data, and their average over learners, beside the
    printed ones.

    Parameters
    ----------
    gaps, average : DataFrame of Interval
        Of `ablation` and `averages`.
    table : str
        S5 or S6, which prints no intervals.
    trained, level
        As for `on_own_data` and `collect`.
    """
    mean = average[list(gaps)].assign(learner="average").set_index("learner", append=True)
    printed = published.table(table, "fewstab").query("tasks != 'random'")
    printed = printed.assign(
        metric=printed["tasks"].str.upper(), mean=printed["gap"], half_width=np.nan
    )
    return _of_paper(_long(pd.concat([gaps, mean])), printed, trained, level)


def own_accuracies(accuracies: pd.DataFrame, trained: str, level: float) -> pd.DataFrame:
    """The first half of Table S7 on the paper's own data; ``accuracies`` is of
    `fslbook.fewstab.training.accuracies`."""
    printed = published.table("S7", "fewstab").query("metric == 'acc'")
    return _of_paper(accuracies.assign(metric="acc"), printed, trained, level)


def own_training(by_training: pd.DataFrame, trained: str, level: float) -> pd.DataFrame:
    """The sides of Figure 6 that Table 3 prints, wAcc-A with as many shots in training as in tasks,
    beside it.

    ``by_training`` is of `training_gap`; the differences themselves are not printed.
    """
    if not len(by_training):
        return by_training
    live = _long(by_training[["one", "five"]])
    shots = live["metric"].map({"one": 1, "five": 5})
    live = live[live["shots"] == shots].assign(metric="wacc-a")
    return _of_paper(live, published.table(3, "fewstab"), trained, level)


def own_recent(results: dict[str, pd.DataFrame], trained: str, level: float) -> pd.DataFrame:
    """Table S9 on the paper's own data, by networks that a user brought, beside the printed cells.

    Parameters
    ----------
    results : dict of DataFrame
        Of `collect`, by captioner.
    trained : str
        As for `method`; no cells for the networks that ship.
    """
    printed = published.table("S9", "fewstab").rename(columns={"tasks": "metric"})
    first = next(iter(results.values()))
    live = [_long(first[["wacc-r"]]).assign(metric="random")]
    for by, table in results.items():
        live.append(_long(table[["wacc-a"]]).assign(metric=BY.get(by, "")))
    return _of_paper(pd.concat(live), printed, NETWORKS if trained else "", level)


def own_remedy(gains: pd.DataFrame, trained: str, level: float) -> pd.DataFrame:
    """Table S10, wAcc-A without and with the remedy, on the paper's own data; ``gains`` is of
    `remedy`."""
    printed = published.table("S10", "fewstab").rename(columns={"ifsl": "metric"})
    names = {name: short for short, name in REMEDIED.items()}
    live = _long(gains[["no", "yes"]].rename(index=names, level="learner"))
    return _of_paper(live, printed, trained, level)


def own_agreement(agree: dict[str, pd.DataFrame], ranks: pd.Series, trained: str) -> pd.DataFrame:
    """Table S11, detection accuracy and rank correlations of two captioners, on the paper's own
    data beside it.

    Parameters
    ----------
    agree : dict of DataFrame
        Of `fslbook.fewstab.detection.agreement_table` of the two, by data set.
    ranks : Series
        Of `rank_correlations`.
    trained : str
        As for `on_own_data`; no correlations by other networks.
    """
    printed = published.table("S11", "fewstab")
    shots = printed["shots"].map("correlation, {:.0f}-shot".format)
    printed["metric"] = shots.where(
        printed["shots"].notna(), "detection by " + printed["captioner"].astype(str)
    )
    detection = [
        (name, f"detection by {BY.get(by, '')}", table.loc[by].drop(by).item())
        for name, table in agree.items()
        for by in table.index
    ]
    coefficients = ranks.items() if trained.startswith(NETWORKS) else ()
    rows = [*detection, *((name, f"correlation, {s}-shot", rho) for (name, s), rho in coefficients)]
    live = pd.DataFrame(rows, columns=["dataset", "metric", "mean"]).assign(half_width=np.nan)
    printed = printed.rename(columns={"value": "mean"}).assign(half_width=np.nan)[[*live]]
    return published.comparison(live, printed, paper_name=OWN.get)


def contributed_table(file: Pack, captioner: str, *, level: float = 0.95, **shape) -> pd.DataFrame:
    """The table of `collect` as a contributed file has it, by networks trained as the paper has
    them.

    Parameters
    ----------
    file : Pack
    captioner, ways, queries, seed, level
        As for `collect`.
    """
    same_shape = [
        (row, right) for row, right in file.arrays if {name: row[name] for name in shape} == shape
    ]
    random = {_run_of(row): right for row, right in same_shape if row["sampling"] == "closed"}
    cells = {}
    for row, right in same_shape:
        name = _trained_as(row)
        if row["captioner"] == captioner and _run_of(row) in random and name:
            key = row["dataset"], row["shots"], name
            biased = right[:, shape["ways"] :]
            cells[key] = _intervals(random[_run_of(row)], biased, shape["queries"], level)
    columns = ["acc", "wacc-r", "wacc-a", "gap"]
    table = pd.DataFrame.from_dict(cells, orient="index", columns=columns)
    if cells:
        table.index = pd.MultiIndex.from_tuples(cells, names=[*SETTING, "learner"])
    return table


def _run_of(row):
    return row["dataset"], row["shots"], row["backbone"], row["learner"]


def _intervals(random, biased, queries, level):
    """A row of `collect` from the numbers of right answers by task and class."""
    worst_random, worst_biased = (100 * right.min(axis=1) / queries for right in (random, biased))
    return {
        "acc": closed_task_interval(100 * random.mean(axis=1) / queries, level),
        "wacc-r": closed_task_interval(worst_random, level),
        "wacc-a": closed_task_interval(worst_biased, level),
        "gap": welch_interval(worst_random, worst_biased, level),
    }


def _trained_as(row):
    """The training of a contributed row's network, where it is the paper's for tasks of so many
    shots."""
    for name in training.TEN if row["backbone"].startswith(NETWORKS) else ():
        called, learner = recipes.method(name, trained_with(row["shots"]), "{learner}")
        if row["backbone"].rpartition("/")[2] == called and row["learner"] == learner:
            return name
    return None


def reported(
    printed: pd.DataFrame, captioners: Sequence[str], columns: Sequence[str], **options
) -> pd.DataFrame:
    """Tables 3, S7 or S8 as others report them, beside the printed cells.

    Parameters
    ----------
    printed : DataFrame
        As for `on_own_data`.
    captioners, columns : sequences of str
        What of the tables of `contributed_table` is shown; options are those of that function.
    """

    def cells(file: Pack) -> pd.DataFrame:
        tables = {by: contributed_table(file, by, **options)[list(columns)] for by in captioners}
        tables = {by: table for by, table in tables.items() if len(table)}
        return on_own_data(tables, printed, NETWORKS) if tables else pd.DataFrame()

    return each(cells)
