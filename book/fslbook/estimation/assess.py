"""Assess a user's own support set: the likely accuracy of each method on further images."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from fslcore import datasets, learners
from fslcore.datasets import Images
from fslcore.datasets.bank import Bank
from fslcore.errors import InputError, number
from fslcore.models import backbones
from fslcore.tasks import Tasks

from ..catalogue import method_title
from . import informed
from .calibration import METHOD, episodes
from .conformal import conformal_quantile
from .resampled import ESTIMATORS

__all__ = [
    "as_json",
    "assess",
    "assess_bank",
    "cautions",
    "judge",
    "load",
    "nearest",
    "of_method",
    "summary",
]

SIZE = 64  # pixels: the largest image size in the episodes
QUERIES = 15  # per class, in the episodes
MOST = 20  # images per class; with more, the user's own test set is better
NEAR = 1500  # episodes of nearest shape for calibrating a method's interval
LIKE = 100  # episodes of nearest shape of each data set, for the errors of the classical estimators
# The basis of an estimate, and its name in text.
INFORMED, SHAPE = "informed", "shape"
BY = {INFORMED: "", "5-fold": "5-fold", "bootstrap": "the bootstrap", SHAPE: "its shape alone"}
EDGE = 0.02  # share at either end that exceeds the allowed deviation
GUESS = 1.64  # standard errors above chance within which an accuracy may be a guess
FEW = 5  # with fewer images per class, not every fold of 5 has one, and the bootstrap has smaller errors


def load(folder: str | Path) -> Images:
    """A support set: a folder of class folders, read at the size of the episodes.

    Raises
    ------
    InputError
        As for `fslcore.datasets.load_folder`; fewer than 2 classes; more than 20 images in a class.
    """
    images = datasets.load_folder(folder, size=SIZE)
    counts = images.counts
    if len(counts) < 2:
        raise InputError(f"{folder} must have at least 2 class folders, got one, {counts.index[0]}")
    if counts.max() > MOST:
        raise InputError(
            f"{folder}: class {counts.idxmax()} has {counts.max()} images; up to {MOST} are assessed here. With "
            "more, put some aside and test on them"
        )
    return images


def assess(
    images: Images,
    chosen: Sequence[tuple[str, str]],
    level: float = 0.9,
    *,
    progress: bool = False,
) -> pd.DataFrame:
    """Estimate and interval of every method, for its accuracy on 15 further images per class; see `judge`.

    Parameters
    ----------
    images : Images
        The support, from `load`.
    chosen : sequence of (backbone, learner)
        From `methods`.
    level : float
        Nominal coverage.
    progress : bool
        Show a progress bar if it takes longer than five seconds.

    Returns
    -------
    DataFrame
        One row per method, the best estimate first: backbone, learner, low, estimate, high, 5-fold
        (NaN if a class has one image), shares, 0 to 1; basis and guess, as in `judge`; outside, in
        words, how the support exceeds the range of the episodes, or else empty.

    Raises
    ------
    InputError
        Level outside (0, 1); an unreadable image.
    """
    number("level", level, over=0, under=1)
    rows, banks = [], {}
    for backbone, learner in tqdm(chosen, "assessed", unit="method", delay=5, disable=not progress):
        if backbone not in banks:
            banks[backbone] = backbones.features(images, backbones.load(backbone))
        rows.append(assess_bank(banks[backbone], backbone, learner, level))
    best = dict(ascending=False, kind="stable", ignore_index=True)
    return pd.DataFrame(rows).sort_values(["estimate", "low"], **best)


def assess_bank(bank: Bank, backbone: str, learner: str, level: float = 0.9) -> dict:
    """The row of `assess` for one method, for a support whose features by that backbone are given."""
    n, label = np.arange(len(bank))[None], bank.labels[None]
    task = Tasks(n, label, n, label, int(label.max()) + 1, unseen=False)  # the query is never used
    signals = informed.signals(bank, learners.make(learner), task).assign(
        queries=QUERIES * task.ways
    )
    # Distances between single images mislead: on left-out data sets their errors are larger than
    # from the shape alone.
    columns = (
        informed.SIGNALS
        if signals[list(informed.SIGNALS)].notna().all(axis=None)
        else informed.SHAPE
    )
    model, table, scores = _calibration(backbone, learner, columns)
    judged = judge(model, table, scores, signals, level).iloc[0]
    return {
        "backbone": backbone,
        "learner": learner,
        **judged[["low", "estimate", "high"]].astype(float),
        "5-fold": signals["5-fold"].iloc[0],
        "basis": judged["basis"],
        "guess": bool(judged["guess"]),
        "outside": _beyond(table, signals.iloc[0], columns) if model.outside(signals)[0] else "",
    }


def judge(
    model: informed.Informed,
    table: pd.DataFrame,
    scores: np.ndarray,
    tasks: pd.DataFrame,
    level: float,
) -> pd.DataFrame:
    """Estimate and interval of a method for each task, by the informed estimator within its range.

    *Inside* the range of the episodes the estimate is the informed one, limited relative to the
    lowest and highest of the four classical estimators: the truth exceeded these limits in only
    `EDGE` of the `LIKE` episodes of nearest shape of each data set. If a class has one image, none
    of the four exists, and the estimate is the mean for tasks of this shape, within the accuracies
    of these episodes. Its interval is calibrated on errors with the data set left out of the fit,
    because a user's folder is not from those data sets either, and on the `NEAR` episodes of
    nearest shape.

    *Outside*, where `informed.Informed.outside` says that it would extrapolate, the estimate is
    5-fold (the bootstrap if a class has fewer than `FEW` images), corrected by its median error on
    those `LIKE` episodes. The interval is as wide as the data set with the largest errors requires,
    and never narrower than inside. If a class has one image, the estimate is the median accuracy of
    these episodes, and the interval goes from chance to 1.

    No estimate is below chance, one over the number of ways. Cross-validation of few images can be,
    since it leaves out the very images that define their class. But if it is not `GUESS` standard
    errors above chance, the interval starts at chance or below.

    Parameters
    ----------
    model : Informed
        Fitted on the episodes of the method.
    table : DataFrame
        These episodes, with their ``domain``.
    scores : (T,) array
        `informed.cross_scores` of these episodes.
    tasks : DataFrame
        `informed.signals` and ``queries``, one row per task.
    level : float
        Nominal coverage.

    Returns
    -------
    DataFrame
        One row per task: low, estimate, high, shares, 0 to 1; basis: 'informed', '5-fold',
        'bootstrap', or 'shape' for the accuracies of tasks of that shape; guess: whether
        cross-validation allows a guess.
    """
    calibrated = _calibrated(table, scores, tasks, model.columns, level)
    classical = _classical(tasks, calibrated["basis"])
    chance, outside = 1 / tasks["ways"], model.outside(tasks)
    predicted = pd.Series(model.predict(tasks), tasks.index)
    estimate = predicted.clip(
        classical["lowest"] + calibrated["below"], classical["highest"] + calibrated["above"]
    )
    shifted = classical["named"] + calibrated["shift"]
    estimate = estimate.mask(outside, shifted).clip(chance, 1)
    half = calibrated["factor"] * model.spread(tasks, predicted.mask(outside, estimate).to_numpy())
    half = half.mask(outside, np.maximum(half, calibrated["half"]))
    bare = calibrated["basis"] == SHAPE
    error = np.sqrt(chance * (1 - chance) / (tasks["ways"] * tasks["shots"]))
    guess = (shifted <= chance + GUESS * error) & ~bare
    low = (estimate - half).clip(0, 1)
    low = low.mask(guess, np.minimum(low, chance)).mask(outside & bare, chance)
    return pd.DataFrame(
        {
            "low": low,
            "estimate": estimate,
            "high": (estimate + half).clip(0, 1).mask(outside & bare, 1.0),
            "basis": calibrated["basis"].where(outside | bare, INFORMED),
            "guess": guess,
        }
    )


def _calibrated(
    table: pd.DataFrame,
    scores: np.ndarray,
    tasks: pd.DataFrame,
    columns: Sequence[str],
    level: float,
) -> pd.DataFrame:
    """`_near` of each task, computed once for each shape."""
    shapes, at = np.unique(tasks[list(informed.SHAPE)].to_numpy(float), axis=0, return_inverse=True)
    rows = [
        _near(table, scores, dict(zip(informed.SHAPE, shape)), columns, level) for shape in shapes
    ]
    return pd.DataFrame(rows).iloc[at.ravel()].set_index(tasks.index)


def _near(
    table: pd.DataFrame, scores: np.ndarray, shape: dict, columns: Sequence[str], level: float
) -> dict[str, object]:
    """From the episodes of nearest shape: the factor of the spread, and the errors of the classical estimators."""
    order = nearest(table, shape, len(table))
    like = table.iloc[order].groupby("domain", observed=True).head(LIKE)
    basis = "5-fold" if shape["fewest"] >= FEW else "bootstrap"
    if "5-fold" not in columns:
        basis = SHAPE
    truth = like["accuracy"].astype(float)
    classical = _classical(like, pd.Series(basis, like.index))
    below = (truth - classical["lowest"]).quantile(EDGE)
    above = (truth - classical["highest"]).quantile(1 - EDGE)
    if basis != SHAPE:  # every value between the lowest and the highest is allowed
        below, above = min(below, 0), max(above, 0)
    shift = (truth - classical["named"]).median()
    errors = (truth - (classical["named"] + shift).clip(1 / like["ways"], 1)).abs()
    by_domain = errors.groupby(like["domain"])
    return {
        "factor": conformal_quantile(scores[order[:NEAR]], level),
        "below": below,
        "above": above,
        "basis": basis,
        "shift": shift,
        "half": max(conformal_quantile(part, level) for _, part in by_domain),
    }


def _classical(tasks: pd.DataFrame, basis: pd.Series) -> pd.DataFrame:
    """Lowest and highest classical estimate of each task, and the one named by ``basis``; 0 if there are none."""
    names = [SHAPE] if (basis == SHAPE).all() else list(ESTIMATORS)
    estimates = tasks.assign(**{SHAPE: 0.0})[names].astype(float)
    named = estimates.to_numpy()[np.arange(len(tasks)), estimates.columns.get_indexer(basis)]
    ends = {"lowest": estimates.min(axis=1), "highest": estimates.max(axis=1), "named": named}
    return pd.DataFrame(ends)


def nearest(table: pd.DataFrame, task: pd.Series | dict, count: int = NEAR) -> np.ndarray:
    """Positions of the episodes whose ways, shots and images of the smallest class are nearest, as ratios."""
    gap = sum(
        np.abs(np.log(table[name].to_numpy(float)) - np.log(float(task[name])))
        for name in informed.SHAPE
    )
    return np.argsort(gap, kind="stable")[:count]


@cache
def _calibration(
    backbone: str, learner: str, columns: tuple[str, ...]
) -> tuple[informed.Informed, pd.DataFrame, np.ndarray]:
    """Estimator of a method, its episodes, and their scores with their own data set left out of the fit."""
    table = of_method(backbone, learner, columns)
    return (
        informed.Informed(table, columns),
        table,
        informed.cross_scores(table, table["domain"], columns=columns),
    )


def of_method(backbone: str, learner: str, columns: Sequence[str]) -> pd.DataFrame:
    """The episodes of a method that have all of ``columns``."""
    table = episodes()
    mine = table[(table["backbone"] == backbone) & (table["learner"] == learner)]
    return mine.dropna(subset=list(columns)).reset_index(drop=True)


def _beyond(table: pd.DataFrame, task: pd.Series, columns: Sequence[str]) -> str:
    """The signal farthest outside the range of the episodes, in words."""
    fitted, values = table[list(columns)].astype(float), task[list(columns)].astype(float)
    low, high = fitted.min(), fitted.max()
    away = np.maximum(low - values, values - high) / fitted.std()
    name = away.idxmax()
    if away[name] <= 0:
        return "an unusual combination of signals"
    return f"{name} {values[name]:.3g} (tasks: {low[name]:.2g} to {high[name]:.2g})"


def summary(images: Images, table: pd.DataFrame, level: float = 0.9) -> list[str]:
    """The assessment in lines of text: every method, the recommended one, and the basis of the interval."""
    lines = [
        f"{method_title(row.backbone, row.learner)}: estimated {100 * row.estimate:.0f} % of further images right "
        f"({100 * level:.6g} % interval {100 * row.low:.0f} to {100 * row.high:.0f} %"
        + (f", from {BY[row.basis]})" if BY[row.basis] else ")")
        for row in table.itertuples()
    ]
    best = table.iloc[0]
    if len(table) > 1:
        lines.append(
            f"recommended: {method_title(*best[METHOD])}, which has the highest estimate; "
            "no test has shown that it is better than the others"
        )
    return [*lines, *cautions(images, table, level)]


def as_json(images: Images, table: pd.DataFrame, level: float = 0.9) -> dict:
    """The same for programs: images per class, a dict per method (shares, 0 to 1; None for no 5-fold), and warnings."""
    rows = table.rename(columns={"5-fold": "five_fold"}).astype(object)
    rows = rows.where(rows.notna(), None).to_dict("records")
    counts = {name: int(count) for name, count in images.counts.items()}
    return {
        "name": images.name,
        "level": level,
        "images": counts,
        "queries": QUERIES * len(counts),
        "methods": rows,
        "recommended": {name: rows[0][name] for name in METHOD},
        "cautions": cautions(images, table, level),
    }


def cautions(images: Images, table: pd.DataFrame, level: float = 0.9) -> list[str]:
    """Warnings: what the intervals were calibrated on, and whether the support is of that kind."""
    counts = images.counts
    name, percent = (
        (table["backbone"] + " " + table["learner"]).to_numpy(),
        f"{100 * level:.6g} %",
    )
    lines = [
        f"The interval is for the accuracy on {QUERIES} further images of each class. It was calibrated on tasks of "
        f"{', '.join(_domains(table))}, each data set left out in turn; its coverage is {percent} if "
        "your images differ from those no more than these do from each other.",
        *_outside_cautions(table),
    ]
    guess = table["guess"].to_numpy()
    if guess.any():
        lines.append(
            f"Cross-validation does not rule out guessing, one in {len(counts)}: {', '.join(name[guess])}. The classes "
            "may be mislabelled, or look the same to the backbone."
        )
    if (table["basis"] == SHAPE).any() and counts.min() > 1:
        lines.append(
            f"With {len(counts)} classes and {counts.mean():.3g} images of each, hardly a draw of the bootstrap "
            "contains them all. So the estimate is the usual one for tasks of this shape; more images would improve it."
        )
    if counts.min() == 1:
        alone = ", ".join(counts.index[counts == 1])
        lines.append(
            f"One image only: {alone}. Such a class cannot be held out. So the estimate is the usual one for tasks "
            "of this shape, whatever their images; a second image would improve it greatly."
        )
    outside = (table["outside"] != "").to_numpy()
    shifted = outside & (table["basis"] != SHAPE).to_numpy()
    for count, rows in ((NEAR, ~outside), (LIKE, shifted)):
        if rows.any() and level > count / (count + 1):
            lines.append(
                f"{count} tasks are too few for {percent}, so the interval is 0 to 100 %: {', '.join(name[rows])}."
            )
    return lines


def _domains(table: pd.DataFrame) -> list[str]:
    """The data sets with episodes of these backbones and learners."""
    fitted = episodes()
    rows = fitted["backbone"].isin(table["backbone"]) & fitted["learner"].isin(table["learner"])
    return sorted(fitted["domain"][rows].unique())


def _outside_cautions(table: pd.DataFrame) -> list[str]:
    """On methods for which the support is outside the calibrated range."""
    lines = []
    outside = table[table["outside"] != ""]
    for (basis, range_words), rows in outside.groupby(["basis", "outside"], sort=False):
        names = ", ".join(rows["backbone"] + " " + rows["learner"])
        rests = f"that of {BY[basis]}, corrected by its usual error on tasks of this shape; the interval is wider"
        if basis == SHAPE:
            rests = (
                "the median accuracy of tasks of this shape; the interval goes from chance to 100 %"
            )
        lines.append(
            f"Outside the calibrated range, {names}: {range_words}. The estimate is {rests}."
        )
    if outside["outside"].str.contains("ratio").any():
        lines.append(
            "The ratio is the distance between classes divided by that within them. Above its range, the images of a "
            "class are more similar than in any task, like shots of one scene; it then applies only to such images."
        )
    return lines
