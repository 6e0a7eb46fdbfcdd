"""An honest word on a support set of one's own: how accurate is each method likely to be on further images?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from . import backbones, datasets, evaluate, informed, learners, stats
from .datasets import Images
from .errors import InputError
from .tasks import Tasks, sample_closed

__all__ = [
    "assess", "calibrated", "cautions", "episodes", "example", "load", "methods", "nearest", "record", "summary", "truth",
]

QUERIES = 15  # a class, of the episodes
MOST = 20  # images a class; from there on a test set of one's own is the better answer
NEAR = 1500  # episodes of a method that an interval is calibrated on, those of the nearest shapes
METHOD = ["backbone", "learner"]


@cache
def episodes() -> pd.DataFrame:
    """The episodes that ship with the book (``data/episodes``), of mixed shapes, with their ``domain``."""
    table = informed.stored()
    domain = table["dataset"].astype(str).str.split("/").str[0]
    return table[table["block"] >= 0].assign(domain=domain).reset_index(drop=True)


def calibrated() -> list[tuple[str, str]]:
    """(backbone, learner) of the methods that episodes of several data sets ship of."""
    domains = episodes().groupby(METHOD, observed=True)["domain"].nunique()
    return list(domains.index[domains > 1])


def methods(backbones: Sequence[str] | None = None, learners: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Those of `calibrated` with these backbones and learners; all by default.

    Raises
    ------
    InputError
        A backbone or learner that no episodes ship of.
    """
    known = calibrated()
    for what, names, have in zip(METHOD, (backbones, learners), zip(*known)):
        for name in names or ():
            if name not in have:
                have = ", ".join(dict.fromkeys(have))
                raise InputError(f"{what} = {name}; there are episodes to learn from of {have}")
    return [(b, l) for b, l in known if b in (backbones or [b]) and l in (learners or [l])]


def load(folder: str | Path) -> Images:
    """A support set: a folder of class folders.

    Raises
    ------
    InputError
        As for `fslcore.datasets.load_folder`; fewer than 2 classes; more than 20 images in a class.
    """
    images = datasets.load_folder(folder, size=224)  # and seen at 64, as the images of the episodes were
    counts = images.counts
    if len(counts) < 2:
        raise InputError(f"{folder}: one class folder, {counts.index[0]}; at least 2 classes are needed")
    if counts.max() > MOST:
        raise InputError(
            f"{folder}: class {counts.idxmax()} has {counts.max()} images; up to {MOST} are assessed here. With "
            "more, put some aside and test on them"
        )
    return images


def assess(images: Images, chosen: Sequence[tuple[str, str]], level: float = 0.9) -> pd.DataFrame:
    """Estimate and interval of every method, for its accuracy on 15 further images a class.

    The estimator of a method is fitted on all its episodes. Its interval is calibrated on their
    errors when the data set they came from was left out of the fit, because a folder from elsewhere is no
    draw from those data sets either; and on the `NEAR` episodes whose shape is nearest.

    Parameters
    ----------
    images : Images
        The support, from `load`.
    chosen : sequence of (backbone, learner)
        From `methods`.
    level : float
        Nominal coverage.

    Returns
    -------
    DataFrame
        A row a method, the best estimate first: backbone, learner, low, estimate, high, 5-fold (NaN where a
        class has one image); shares, 0 to 1.

    Raises
    ------
    InputError
        An unreadable image; classes so many that no bootstrap draw holds them all.
    """
    n = np.arange(len(images))[None]
    label = images.labels[None]
    task = Tasks(n, label, n, label, len(images.class_names))  # the query is never looked at
    rows = []
    banks = {name: backbones.features(images, backbones.load(name)) for name in dict.fromkeys(b for b, _ in chosen)}
    for backbone, learner in chosen:
        own = informed.signals(banks[backbone], learners.make(learner), task)
        own = own.assign(queries=QUERIES * task.ways)
        columns = informed.SIGNALS if own[list(informed.SIGNALS)].notna().all(axis=None) else informed.BARE
        table, scores = _errors(backbone, learner, columns)
        model = _model(backbone, learner, columns)
        found = model.intervals(own, scores[nearest(table, own.iloc[0])], level)
        rows.append({"backbone": backbone, "learner": learner, **found.iloc[0], "5-fold": own["5-fold"].iloc[0]})
    return pd.DataFrame(rows).sort_values("estimate", ascending=False, kind="stable", ignore_index=True)


def nearest(table: pd.DataFrame, task: pd.Series, count: int = NEAR) -> np.ndarray:
    """Positions of the episodes whose ways, shots and images of the smallest class are nearest, as ratios."""
    shape = list(informed.SHAPE)
    gap = np.abs(np.log(table[shape].to_numpy(float)) - np.log(task[shape].to_numpy(float))).sum(axis=1)
    return np.argsort(gap, kind="stable")[:count]


@cache
def _of_method(backbone: str, learner: str, columns: tuple[str, ...]) -> pd.DataFrame:
    table = episodes()
    mine = table[(table["backbone"] == backbone) & (table["learner"] == learner)]
    return mine.dropna(subset=list(columns)).reset_index(drop=True)


@cache
def _model(backbone: str, learner: str, columns: tuple[str, ...]) -> informed.Informed:
    return informed.Informed(_of_method(backbone, learner, columns), columns)


@cache
def _errors(backbone: str, learner: str, columns: tuple[str, ...]) -> tuple[pd.DataFrame, np.ndarray]:
    """Episodes of a method, and their scores with their own data set left out of the fit."""
    table = _of_method(backbone, learner, columns)
    return table, informed.cross_scores(table, table["domain"], columns=columns)



def record(chosen: Sequence[tuple[str, str]], level: float = 0.9) -> pd.DataFrame:
    """What the page's promise is worth: every data set of the episodes in turn plays the unknown folder.

    Parameters
    ----------
    chosen : sequence of (backbone, learner)
        From `methods`.
    level : float
        Nominal coverage.

    Returns
    -------
    DataFrame
        A row a method and data set left out: backbone, learner, domain, episodes, coverage (share of
        intervals that hold, percent), mean width, error and 5-fold (mean absolute errors; points).
    """
    rows = []
    for backbone, learner in chosen:
        table = _of_method(backbone, learner, informed.SIGNALS)
        for domain in table["domain"].unique():
            mine = table["domain"] == domain
            rest, new = (table[part].reset_index(drop=True) for part in (~mine, mine))
            model, scores = informed.Informed(rest), informed.cross_scores(rest, rest["domain"])
            factor = np.empty(len(new))
            for same in new.groupby(list(informed.SHAPE)).indices.values():
                factor[same] = stats.conformal_quantile(scores[nearest(rest, new.iloc[same[0]])], level)
            estimate, half = model.predict(new), factor * model.spread(new)
            low, high = (estimate - half).clip(0, 1), (estimate + half).clip(0, 1)
            truth = new["accuracy"].to_numpy(float)
            errors = (np.abs(e - truth).mean() for e in (estimate, new["5-fold"]))
            figures = (((low <= truth) & (truth <= high)).mean(), (high - low).mean(), *errors)
            rows.append((backbone, learner, domain, len(new), *(100 * float(f) for f in figures)))
    return pd.DataFrame(rows, columns=[*METHOD, "domain", "episodes", "coverage", "width", "error", "5-fold"])


def summary(images: Images, table: pd.DataFrame, level: float = 0.9) -> list[str]:
    """The assessment in lines of text: every method, the recommended one, and what the interval rests on."""
    lines = [
        f"{row.backbone} {row.learner}: {100 * row.estimate:.0f} % of further images right "
        f"({100 * level:.4g} % interval {100 * row.low:.0f} to {100 * row.high:.0f} %)"
        for row in table.itertuples()
    ]
    best = table.iloc[0]
    if len(table) > 1:
        lines.append(f"recommended: {best['backbone']} {best['learner']}")
    return [*lines, *cautions(images, level)]


def cautions(images: Images, level: float = 0.9) -> list[str]:
    """What to mind: what the interval was calibrated on, and whether the support is of that kind."""
    table, counts = episodes(), images.counts
    domains = ", ".join(sorted(table["domain"].unique()))
    lines = [
        f"The interval is for the accuracy on {QUERIES} further images of each class. It was calibrated on tasks of "
        f"{domains}, each data set left out in turn; it holds in {100 * level:.4g} % of cases if your images differ from "
        "those no more than these do from each other."
    ]
    if counts.min() == 1:
        alone = ", ".join(counts.index[counts == 1])
        lines.append(
            f"One image only: {alone}. Such a class cannot be held out, so the estimate rests on how far apart the classes "
            "lie; a second image would tell much more."
        )
    ways = table["ways"].max()
    if len(counts) > ways:
        lines.append(
            f"There are {len(counts)} classes; the tasks had up to {ways:.0f}, so the interval reaches beyond them."
        )
    return lines


def example(dataset: str, ways: int = 5, shots: int = 5, seed: int = 0) -> tuple[Images, Images]:
    """A support drawn from an embedded data set, and the other images of its classes.

    Raises
    ------
    InputError
        What `fslcore.datasets.load` and the sampler raise.
    """
    images = datasets.load(dataset)
    task = sample_closed(images.labels, tasks=2, ways=ways, shots=shots, queries=1, seed=seed)
    support, label = task.support[0], task.support_label[0]
    classes = images.labels[support[np.unique(label, return_index=True)[1]]]
    rest = np.setdiff1d(np.flatnonzero(np.isin(images.labels, classes)), support)
    return tuple(_subset(images, rows, classes) for rows in (support, rest))


def truth(support: Images, rest: Images, chosen: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """backbone, learner and truth: accuracy on all the other images, the mean over classes; shares, 0 to 1."""
    pixels = np.concatenate([support.images[:], rest.images[:]])
    both = Images("both", pixels, np.r_[support.labels, rest.labels], support.class_names)
    n, m = len(support), len(rest)
    task = Tasks(
        np.arange(n)[None], support.labels[None], np.arange(n, n + m)[None], rest.labels[None], len(support.class_names)
    )
    rows = []
    for backbone, learner in chosen:
        bank = backbones.features(both, backbones.load(backbone))
        record = evaluate.evaluate(learners.make(learner), bank, task)
        rows.append((backbone, learner, record.class_accuracy().mean()))
    return pd.DataFrame(rows, columns=[*METHOD, "truth"])


def _subset(images: Images, rows: np.ndarray, classes: np.ndarray) -> Images:
    label = (images.labels[rows][:, None] == classes).argmax(axis=1)
    return Images(images.name, images.images[rows], label, [images.class_names[c] for c in classes])
