"""An estimator of a task's accuracy that has seen other tasks, and an interval for one task.

Hold-out, cross-validation and the bootstrap know one support and nothing else. Who has many tasks of
known outcome, *episodes*, can learn how what a support shows (its *signals*) goes with the accuracy on
queries, and predict for a new support. The errors on episodes kept apart then give an interval:
split conformal prediction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from scipy.special import ndtr

from . import estimators, evaluate, stats
from .bank import Bank
from .errors import InputError
from .learners.common import fetch
from .tasks import Tasks, sample_closed

__all__ = ["BARE", "FOLDS", "SIGNALS", "Informed", "episodes", "mixed_shapes", "signals"]

FOLDS = 25  # leave-one-out of a larger support holds out one of so many parts instead, to bound the time
SHOTS = (1, 2, 3, 4, 5, 7, 10, 15, 20)  # of tasks of mixed shapes
SHAPE = ("ways", "shots", "fewest")
SEPARATION = ("between", "nearest", "within", "ratio", "silhouette")
RESAMPLED = tuple(
    f"{name}{of}"
    for name in ("5-fold", "leave-one-out", "bootstrap")
    for of in ("", " margin", " spread", " smooth", " low", " worst")
)
SIGNALS = (*SHAPE, *SEPARATION, "hold-out", *RESAMPLED)
BARE = (*SHAPE, "between", "nearest")  # what a class with a single image leaves


def signals(bank: Bank, learner, tasks: Tasks, *, rounds: int = 20, seed: int = 0) -> pd.DataFrame:
    """What the support of each task shows; its query is never looked at.

    Of the held-out images of each re-split: the *margin*, score of the true class minus the best other, in units
    of the mean standard deviation of an image's scores, so that learners with other scales compare.

    Parameters
    ----------
    bank : Bank
        Features.
    learner
        Of features, as for `fslcore.evaluate.evaluate`.
    tasks : Tasks
        T tasks.
    rounds, seed : int
        Of the bootstrap.

    Returns
    -------
    DataFrame
        A row a task, columns `SIGNALS`. ``ways``; ``shots``, mean images a class; ``fewest``, images of the smallest
        class. Of cosine distances between support images: ``within`` (mean over pairs of one class),
        ``between`` (mean over pairs of classes), ``nearest`` (of the closest two classes),
        ``ratio`` (between / within) and ``silhouette`` (mean; Rousseeuw, 1987). Of the held-out images of
        5-fold, leave-one-out (above 25 images: 25-fold) and bootstrap: the estimated accuracy, mean
        ``margin`` and its ``spread`` (standard deviation), ``smooth`` = Φ(margin / spread), ``low``
        (the 10 % quantile of the margins) and ``worst`` (lowest accuracy of a class). ``hold-out`` is
        the first of the 5 folds. Where a class has a single image, no column besides those of `BARE` has a value.
    """
    out = _separation(bank, tasks)
    whole = out["fewest"].to_numpy() > 1
    table = pd.DataFrame(np.nan, index=range(len(tasks)), columns=list(SIGNALS)).rename_axis("task")
    table.loc[:, out.columns] = out
    if not whole.all():
        table.loc[~whole, list(set(SIGNALS) - set(BARE))] = np.nan
    if not whole.any():
        return table
    part = tasks[np.flatnonzero(whole)]
    size = (part.support_label >= 0).sum(axis=1)
    names = {
        "5-fold": f"{min(5, size.min())}-fold",
        "leave-one-out": "leave-one-out" if size.max() <= FOLDS else f"{min(FOLDS, size.min())}-fold",
        "bootstrap": "bootstrap",
    }
    for name, made in names.items():
        split = estimators.resplit(part, made, rounds=rounds, seed=seed)
        held = _held_out(bank, learner, split)
        found = _summary(held, name)
        if name == "5-fold":
            first = held[held["split"].isin(np.unique(split.owner, return_index=True)[1])]
            found["hold-out"] = first.groupby("task")["right"].mean()
        table.loc[whole, found.columns] = found.to_numpy()
    return table


def episodes(bank: Bank, learner, tasks: Tasks, *, rounds: int = 20, seed: int = 0) -> pd.DataFrame:
    """`signals` of each task and its true outcome: ``accuracy`` on its query (0 to 1) and their number, ``queries``.

    Parameters: as for `signals`.
    """
    record = evaluate.evaluate(learner, bank, tasks)
    table = signals(bank, learner, tasks, rounds=rounds, seed=seed)
    return table.assign(queries=(tasks.query_label >= 0).sum(axis=1), accuracy=record.accuracy())


def _held_out(bank: Bank, learner, split: estimators.Resplit) -> pd.DataFrame:
    """A row a held-out image: task, split, label, right (was it classified so), margin, scale."""
    label = split.tasks.query_label
    scores = np.concatenate([s.double().cpu().numpy() for s in evaluate.scores(learner, bank, split.tasks)])
    row, image = np.nonzero(label >= 0)
    scores, label = scores[row, image], label[row, image]
    at = np.arange(len(label))
    true = scores[at, label]
    others = scores.copy()
    others[at, label] = -np.inf
    margin = true - others.max(axis=1)
    present = np.isfinite(scores)
    mean = np.where(present, scores, 0).sum(axis=1) / present.sum(axis=1)
    square = np.where(present, scores - mean[:, None], 0) ** 2
    return pd.DataFrame({
        "task": split.owner[row], "split": row, "label": label, "right": scores.argmax(axis=1) == label,
        # An image whose class went with it has no margin, but counts as an error.
        "margin": np.where(np.isfinite(margin), margin, np.nan),
        "scale": np.sqrt(square.sum(axis=1) / present.sum(axis=1)),
    })


def _summary(held: pd.DataFrame, name: str) -> pd.DataFrame:
    """Signals of the held-out images, a row a task."""
    held = held.assign(margin=held["margin"] / held.groupby("task")["scale"].transform("mean").clip(lower=1e-12))
    by_split = held.groupby(["task", "split"])["right"].mean()
    margins = held.groupby("task")["margin"]
    mean, spread = margins.mean(), margins.std(ddof=0)
    return pd.DataFrame({
        name: by_split.groupby("task").mean(), f"{name} margin": mean, f"{name} spread": spread,
        f"{name} smooth": ndtr(mean / spread.clip(lower=1e-6)), f"{name} low": margins.quantile(0.1),
        f"{name} worst": held.groupby(["task", "label"])["right"].mean().groupby("task").min(),
    })


def _separation(bank: Bank, tasks: Tasks) -> pd.DataFrame:
    """Shape of each task and distances between its support images."""
    x, members, scale, _ = fetch(bank, tasks)
    members = members.double()
    distance = (1 - (x @ x.mT) * scale * scale.mT).double().clamp(min=0)
    distance.diagonal(dim1=1, dim2=2).zero_()
    size = members.sum(dim=1)  # (T, K)
    to_class = distance @ members  # (T, n, K) sum of distances from an image to those of a class
    pairs = members.mT @ to_class  # (T, K, K)
    classes = (size > 0).double()
    apart = classes[:, :, None] * classes[:, None] * (1 - torch.eye(tasks.ways, dtype=torch.float64, device=x.device))
    mean = pairs / (size[:, :, None] * size[:, None]).clamp(min=1)
    own_pairs = (size * (size - 1)).sum(dim=1)
    within = pairs.diagonal(dim1=1, dim2=2).sum(dim=1) / own_pairs.clamp(min=1)
    between = (mean * apart).sum((1, 2)) / apart.sum((1, 2))
    nearest = mean.masked_fill(apart == 0, np.inf).amin((1, 2))
    # Silhouette: an image's distance to its own class, without itself, against the nearest other class.
    own_size = (members * size[:, None]).sum(dim=-1)
    own = (to_class * members).sum(dim=-1) / (own_size - 1).clamp(min=1)
    other = (to_class / size[:, None].clamp(min=1)).masked_fill((members > 0) | (size[:, None] == 0), np.inf).amin(-1)
    real = own_size > 1
    silhouette = ((other - own) / other.maximum(own).clamp(min=1e-12)).masked_fill(~real, 0)
    counts = size.masked_fill(size == 0, np.inf)
    columns = {
        "ways": classes.sum(1), "shots": size.sum(1) / classes.sum(1), "fewest": counts.amin(1),
        "between": between, "nearest": nearest, "within": within, "ratio": between / within.clamp(min=1e-12),
        "silhouette": silhouette.sum(1) / real.sum(1).clamp(min=1),
    }
    return pd.DataFrame({name: value.cpu().numpy() for name, value in columns.items()})


def mixed_shapes(labels: np.ndarray, blocks: int, *, tasks: int = 10, queries: int = 15, seed: int = 0) -> list[Tasks]:
    """Blocks of closed tasks, each block of a shape of its own: 2 to 10 ways and 1 to 20 shots.

    In every second block the classes have numbers of support images of their own, uniform between two
    bounds. A shape that the data have too few images for is drawn again.

    Parameters
    ----------
    labels : (N,) integers
        The class of each image.
    blocks, tasks : int
        Number of blocks and of tasks in each.
    queries : int
        A class.
    seed : int
        Same seed, same tasks.

    Raises
    ------
    InputError
        No class has ``queries`` + 20 images, so that shapes are not of one kind over data sets.
    """
    sizes = np.sort(np.bincount(labels))[::-1]
    if (sizes >= queries + max(SHOTS)).sum() < 2:
        raise InputError(f"queries = {queries}; two classes of {queries + max(SHOTS)} images or more are needed")
    rng = np.random.default_rng(seed)
    out = []
    while len(out) < blocks:
        ways = int(rng.integers(2, 11))
        low, high = np.sort(rng.choice(SHOTS, 2))
        shots = rng.integers(low, high + 1, ways) if len(out) % 2 else np.full(ways, low)
        if (sizes >= queries + shots.max()).sum() >= ways:
            made = dict(ways=ways, shots=shots.tolist(), queries=queries, seed=seed + len(out))
            out.append(sample_closed(labels, tasks=tasks, skip_small_classes=True, **made))
    return out
