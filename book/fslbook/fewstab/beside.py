"""Cells of FewSTAB's tables on its own data, computed here or reported by others, compared with the
printed cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fslcore.stats import closed_interval, independent_interval

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
    found: dict[str, pd.DataFrame] | pd.DataFrame, printed: pd.DataFrame, trained: str
) -> pd.DataFrame:
    """Live cells on the paper's own data, by networks trained as it has them, beside the printed
    ones.

    Parameters
    ----------
    found : DataFrame of Interval, or dict of them by captioner
        Columns by dataset, shots and learner, as `collect` gives them.
    printed : DataFrame
        Tables 3, S7 or S8 as transcribed.
    trained : str
        As for `method`. Where it is none of `fslbook.training.train_paper`, nothing is compared.

    Returns
    -------
    DataFrame
        As of `fslbook.published.beside`.
    """
    named = (
        {BY.get(name, ""): table_of for name, table_of in found.items()}
        if isinstance(found, dict)
        else {None: found}
    )
    live = pd.concat([_long(table).assign(captioner=by) for by, table in named.items()])
    return _of_paper(live, printed, trained, next(iter(named.values())).iloc[0, 0].level)


def _long(table):
    """A table of intervals in long form: its index, metric (the column), mean and half_width."""
    rows = [
        (*key, metric, r.mean, r.half_width) for metric in table for key, r in table[metric].items()
    ]
    return pd.DataFrame(rows, columns=[*table.index.names, "metric", "mean", "half_width"])


def _of_paper(live, printed, trained, level):
    names = OWN if trained.startswith(NETWORKS) else {}
    return published.beside(live, printed, level, names.get)


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


def own_accuracies(found: pd.DataFrame, trained: str, level: float) -> pd.DataFrame:
    """The first half of Table S7 on the paper's own data; ``found`` is of
    `fslbook.fewstab.training.accuracies`."""
    printed = published.table("S7", "fewstab").query("metric == 'acc'")
    return _of_paper(found.assign(metric="acc"), printed, trained, level)


def own_training(found: pd.DataFrame, trained: str, level: float) -> pd.DataFrame:
    """The sides of Figure 6 that Table 3 prints, wAcc-A with as many shots in training as in tasks,
    beside it.

    ``found`` is of `training_gap`; the differences themselves are not printed.
    """
    sides = [
        found[[side_name]].xs(s, level="shots", drop_level=False)
        for s, side_name in ((1, "one"), (5, "five"))
        if len(found)
    ]
    live = (
        pd.concat([_long(side.set_axis(["wacc-a"], axis=1)) for side in sides])
        if sides
        else pd.DataFrame()
    )
    printed = published.table(3, "fewstab")
    return _of_paper(live, printed, trained, level) if len(live) else live


def own_recent(found: dict[str, pd.DataFrame], trained: str, level: float) -> pd.DataFrame:
    """Table S9 on the paper's own data, by networks that a user brought, beside the printed cells.

    Parameters
    ----------
    found : dict of DataFrame
        Of `collect`, by captioner.
    trained : str
        As for `method`; no cells for the networks that ship.
    """
    printed = published.table("S9", "fewstab").rename(columns={"tasks": "metric"})
    live = [_long(next(iter(found.values()))[["wacc-r"]].set_axis(["random"], axis=1))]
    live += [
        _long(table[["wacc-a"]].set_axis([BY.get(by, "")], axis=1)) for by, table in found.items()
    ]
    return _of_paper(pd.concat(live), printed, NETWORKS if trained else "", level)


def own_remedy(found: pd.DataFrame, trained: str, level: float) -> pd.DataFrame:
    """Table S10, wAcc-A without and with the remedy, on the paper's own data; ``found`` is of
    `remedy`."""
    printed = published.table("S10", "fewstab").rename(columns={"ifsl": "metric"})
    names = {name: short for short, name in REMEDIED.items()}
    live = _long(found[["no", "yes"]].rename(index=names, level="learner"))
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
    return published.beside(live, printed, own=OWN.get)


def contributed_table(one: Pack, captioner: str, *, level: float = 0.95, **shape) -> pd.DataFrame:
    """The table of `collect` as a contributed file has it, by networks trained as the paper has
    them.

    Parameters
    ----------
    one : Pack
    captioner, ways, queries, seed, level
        As for `collect`.
    """
    same_shape = [
        (row, right) for row, right in one.arrays if {name: row[name] for name in shape} == shape
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
        "acc": closed_interval(100 * random.mean(axis=1) / queries, level),
        "wacc-r": closed_interval(worst_random, level),
        "wacc-a": closed_interval(worst_biased, level),
        "gap": independent_interval(worst_random, worst_biased, level),
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

    def cells(one: Pack) -> pd.DataFrame:
        found = {by: contributed_table(one, by, **options)[list(columns)] for by in captioners}
        found = {by: table for by, table in found.items() if len(table)}
        return on_own_data(found, printed, NETWORKS) if found else pd.DataFrame()

    return each(cells)
