"""Do the intervals hold on real data? A data set of many classes and designers is split in two at random.

One part is a test set with its interval, the other has what the interval is about: other classes,
or images by other designers. The two means differ by chance alone, so the intervals of both say by
how much they may differ. Many random splits show how often that holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import scipy.stats
import torch
from numpy import ndarray
from numpy.random import Generator

from fslcore import datasets, evaluation, learners, stats
from fslcore.datasets.bank import Bank
from fslcore.models import backbones
from fslcore.tasks import sample_closed

from ..catalogue import LEARNER_TITLES
from .coverage import share_of
from .worlds import WAYS, answers, part_of, three_intervals

NEW = {"classes": "other classes", "designers": "other designers"}  # what the second part has
SPLITS = ("base", "validation", "novel")
TESTED = 60  # classes of a test set; the others are the rest
LEARNERS = ("protonet", "r2d2")  # trained on the base classes, and tested on novel ones
NOVEL = 45  # of the novel classes, as `TESTED`
QUERIES = {
    1: 5,
    5: 3,
}  # by shots; few, as half of the designers draw a concept twelve times or more
TASKS = 2000
KEY = ["new", "backbone", "shots", "interval"]
INTERVALS = {
    "closed": "for these images",
    "images": "for new images",
    "classes": "for new classes",
    "designers": "for new designers",
}


def icons(backbone: str, split_names: Sequence[str] = SPLITS) -> tuple[Bank, ndarray]:
    """Features of icons, and their designers.

    Parameters
    ----------
    backbone : str
        A name of `fslcore.models.backbones.load`.
    split_names : sequence of str
        The splits that are taken together; all, for a backbone that was trained on none of them.

    Returns
    -------
    bank : Bank
        Features and concepts.
    designers : (N,) array
        Number of each icon's author.
    """
    parts = [datasets.load("icons", split=split) for split in split_names]
    network = backbones.load(backbone)
    data = torch.cat([backbones.features(part, network).data for part in parts])
    facts = pd.concat([part.facts for part in parts])
    labels, authors = (pd.factorize(facts[name])[0] for name in ("class_name", "author"))
    return Bank(data, labels, digest=f"icons-{backbone}"), authors


def splits(
    bank: Bank,
    designers: ndarray,
    new: str,
    shots: int,
    count: int,
    *,
    tested: int = TESTED,
    learner: learners.Learner | None = None,
    seed: int = 0,
    first: int = 0,
) -> pd.DataFrame:
    """Differences of two parts, on closed tasks of each, with the standard errors that the intervals give.

    Parameters
    ----------
    bank, designers
        As from `icons`.
    new : str
        Of `NEW`. 'classes': some classes against all others. 'designers': half of the designers
        against the other half, on classes of which each half drew enough.
    shots : int
        S, 1 or 5.
    count : int
        Random splits.
    tested : int
        How many classes are the test set.
    learner
        On the features of `bank`; by default NCC.
    seed, first : int
        Split s has the random stream (seed, first + s).

    Returns
    -------
    DataFrame
        A row a split and ``interval`` ('closed', 'images', then 'classes' or 'designers'):
        ``difference`` of the two means in points, its standard ``error`` by that interval of both
        parts, and degrees of freedom (Satterthwaite).
    """
    rows = []
    for number in range(first, first + count):
        rng = np.random.default_rng([seed, number])
        intervals = [
            _intervals(bank, designers, np.flatnonzero(side), new, shots, learner, rng)
            for side in _sides(bank.labels, designers, new, shots, tested, rng)
        ]
        for row in _differences(*intervals):
            rows.append(dict(new=new, backbone="", shots=shots, split=number, **row))
    return pd.DataFrame(rows)


def _sides(
    labels: ndarray, designers: ndarray, new: str, shots: int, tested: int, rng: Generator
) -> tuple[ndarray, ndarray]:
    """(N,) whether each icon is in the first part, and whether it is in the second."""
    if new == "classes":
        first = np.isin(labels, rng.permutation(labels.max() + 1)[:tested])
        return first, ~first
    half = rng.permutation(designers.max() + 1)[: (designers.max() + 1) // 2]
    first = np.isin(designers, half)
    counts = [np.bincount(labels[side], minlength=labels.max() + 1) for side in (first, ~first)]
    large_enough = (np.minimum(*counts) >= shots + max(QUERIES.values()))[labels]
    return first & large_enough, ~first & large_enough


def _differences(
    first: dict[str, stats.Interval], second: dict[str, stats.Interval]
) -> Iterator[dict[str, object]]:
    """By interval: the difference of two parts, its standard error and degrees of freedom."""
    for name, a in first.items():
        b = second[name]
        squares = np.array([a.standard_error, b.standard_error]) ** 2
        df = squares.sum() ** 2 / (squares**2 / [min(a.df, 1e9), min(b.df, 1e9)]).sum()
        error = np.sqrt(squares.sum())
        yield {"interval": name, "difference": a.estimate - b.estimate, "error": error, "df": df}


def _intervals(
    bank: Bank,
    designers: ndarray,
    rows: ndarray,
    new: str,
    shots: int,
    learner: learners.Learner | None,
    rng: Generator,
) -> dict[str, stats.Interval]:
    part = part_of(bank, rows)
    sizes = dict(ways=WAYS, shots=shots, queries=QUERIES[shots], tasks=TASKS)
    tasks = sample_closed(part.labels, seed=int(rng.integers(2**31)), **sizes)
    if learner:
        right = 100 * evaluation.evaluate(learner, part, tasks).correct
    else:
        (right,) = answers([part], tasks)
    result = three_intervals(right, tasks, part.labels, bounds=(0, 100))
    intervals = {"closed": result.closed, "images": result.images}
    if new == "classes":
        return intervals | {"classes": result.classes}
    result = three_intervals(right, tasks, part.labels, groups=designers[rows], bounds=(0, 100))
    return intervals | {"designers": result.images}


def summary(table: pd.DataFrame, level: float = stats.DEFAULT_CONFIDENCE_LEVEL) -> pd.DataFrame:
    """By question, backbone, shots and interval: share (%) of splits whose intervals allow for the difference.

    Returns
    -------
    DataFrame
        share, n (splits), low and high (95 %), spread (standard deviation of the differences over
        the splits) and predicted (root of the mean squared standard error).
    """
    limit = scipy.stats.t.ppf((1 + level) / 2, table["df"]) * table["error"]
    hits = (table["difference"].abs() <= limit).groupby([table[c] for c in KEY], observed=True)
    out = pd.DataFrame([share_of(split_hits) for _, split_hits in hits])
    parts = table.groupby(KEY, observed=True)
    spread = parts["difference"].agg(lambda d: np.sqrt((d**2).mean()))
    predicted = parts["error"].agg(lambda e: np.sqrt((e**2).mean()))
    return out.set_index(spread.index).assign(spread=spread, predicted=predicted).reset_index()


def in_rows(shares: pd.DataFrame) -> pd.DataFrame:
    """`summary` as `fslbook.figures.forest` draws it: a panel a question, a row a network and number of shots."""
    rows = shares.assign(
        row=shares["backbone"].replace(LEARNER_TITLES)
        + ", "
        + shares["shots"].map("{}-shot".format),
        mean=shares["share"],
        series=shares["interval"].map(INTERVALS),
        panel=shares["new"].map(NEW),
    )
    order = [*INTERVALS.values()]
    return rows.sort_values(
        "series", key=lambda s: s.map(order.index), kind="stable", ignore_index=True
    )


def errors(shares: pd.DataFrame) -> pd.DataFrame:
    """For a reader: by question, network and shots, the spread of the differences and what each interval predicts."""
    named = shares.assign(new=shares["new"].map(NEW), interval=shares["interval"].map(INTERVALS))
    named["backbone"] = named["backbone"].replace(LEARNER_TITLES)
    index = ["new", "backbone", "shots"]
    wide = named.pivot(index=index, columns="interval", values="predicted").reindex(
        columns=[*INTERVALS.values()]
    )
    out = wide.map(lambda error: "—" if np.isnan(error) else f"{error:.2f}")
    out.insert(0, "spread", named.groupby(index)["spread"].first().map("{:.2f}".format))
    return out.rename_axis(columns=None)


def classes() -> int:
    """How many concepts the icons show."""
    return sum(
        domain["classes"]
        for domains in datasets.cards()["icons"]["splits"].values()
        for domain in domains.values()
    )
