"""An estimator of a task's accuracy that has learned from other tasks, and an interval for one task.

Hold-out, cross-validation and the bootstrap use one support only. Many tasks of known accuracy,
*episodes*, allow learning how properties of a support (its *signals*) relate to the accuracy on
queries, and a prediction for a new support. The errors on separate episodes then give an interval:
split conformal prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np
import pandas as pd
import torch
from scipy.special import ndtr
from sklearn.base import RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fslcore import evaluation
from fslcore.datasets.bank import Bank
from fslcore.errors import InputError, number
from fslcore.learners.common import supports_and_queries
from fslcore.tasks import Resplit, Tasks, resplit, resplits

from .conformal import conformal_quantile

__all__ = [
    "BARE",
    "COLUMNS",
    "SIGNALS",
    "Informed",
    "cross_scores",
    "signals",
]

FOLDS = 25  # for a larger support, leave-one-out holds out one of this many parts instead, to limit the time
SHAPE = ("ways", "shots", "fewest")
SEPARATION = ("between", "nearest", "within", "ratio", "silhouette")
RESAMPLED = tuple(
    f"{name}{quantity}"
    for name in ("5-fold", "leave-one-out", "bootstrap")
    for quantity in ("", " margin", " spread", " smooth", " low", " worst")
)
COLUMNS = (*SHAPE, *SEPARATION, "hold-out", *RESAMPLED)
# The input of the estimator: distances as such differ between data sets, their ratios less so.
SIGNALS = tuple(name for name in COLUMNS if name not in ("between", "nearest", "within"))
BARE = (*SHAPE, "between", "nearest")  # available if a class has a single image
RIDGE = partial(RidgeCV, np.logspace(-1, 4, 11))


def signals(
    bank: Bank,
    learner,
    tasks: Tasks,
    *,
    features: Bank | None = None,
    rounds: int = 20,
    seed: int = 0,
) -> pd.DataFrame:
    """Signals of each task's support; its query is never used.

    Among the held-out images of each re-split: the *margin*, score of the true class minus the best
    other, divided by the mean standard deviation of an image's scores, so that learners with
    different scales are comparable.

    Parameters
    ----------
    bank : Bank
        The learner's input.
    learner
        As for `fslcore.evaluation.evaluate`.
    tasks : Tasks
        T tasks, of about as many support images each.
    features : Bank, optional
        Features for distances, if the learner reads images.
    rounds, seed : int
        For the bootstrap.

    Returns
    -------
    DataFrame
        One row per task, columns `COLUMNS`. ``ways``; ``shots``, mean images per class; ``fewest``,
        of the smallest class. From cosine distances between support images: ``within`` (mean over
        pairs of one class), ``between`` (mean over pairs of classes), ``nearest`` (of the closest
        two classes), ``ratio`` (between / within) and ``silhouette`` (mean; Rousseeuw, 1987). From
        the held-out images of 5-fold, leave-one-out (above 25 images: 25-fold) and bootstrap: the
        estimated accuracy, mean ``margin`` and its ``spread`` (standard deviation), ``smooth`` =
        Φ(margin / spread), ``low`` (the 10 % quantile of the margins) and ``worst`` (lowest
        accuracy of a class). ``hold-out`` is the first of the 5 folds. If a class has a single
        image, only the columns of `BARE` have values. The bootstrap's have none if there are too
        many classes for a draw to contain all of them.
    """
    out = _separation(features or bank, tasks)
    held_outable = out["fewest"].to_numpy() > 1
    table = pd.DataFrame(np.nan, index=range(len(tasks)), columns=list(COLUMNS)).rename_axis("task")
    table.loc[:, out.columns] = out
    if not held_outable.all():
        table.loc[~held_outable, list(set(COLUMNS) - set(BARE))] = np.nan
    if not held_outable.any():
        return table
    part = tasks[np.flatnonzero(held_outable)]
    for name in ("5-fold", "leave-one-out", "bootstrap"):
        try:
            split = resplit(part, _resampling(name, part), rounds=rounds, seed=seed)
        except resplits.BootstrapFailed:
            continue
        held = _held_out(bank, learner, split)
        summary = _summary(held, name)
        if name == "5-fold":
            first = held[held["split"].isin(np.unique(split.owner, return_index=True)[1])]
            summary["hold-out"] = first.groupby("task")["right"].mean()
        table.loc[held_outable, summary.columns] = summary.to_numpy()
    return table


def _resampling(name: str, tasks: Tasks) -> str:
    """The estimator that stands for this one: no more folds than images, and no more than `FOLDS`."""
    images = (tasks.support_label >= 0).sum(axis=1)
    if name == "5-fold":
        return f"{min(5, images.min())}-fold"
    if name == "leave-one-out" and images.max() > FOLDS:
        return f"{min(FOLDS, images.min())}-fold"
    return name


def _held_out(bank: Bank, learner, split: Resplit) -> pd.DataFrame:
    """One row per held-out image: task, split, label, right (whether it was classified correctly), margin, scale."""
    label = split.tasks.query_label
    scores = np.concatenate(
        [s.double().cpu().numpy() for s in evaluation.predict_scores(learner, bank, split.tasks)]
    )
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
    return pd.DataFrame(
        {
            "task": split.owner[row],
            "split": row,
            "label": label,
            "right": scores.argmax(axis=1) == label,
            # An image whose class has no training image left has no margin, but counts as an error.
            "margin": np.where(np.isfinite(margin), margin, np.nan),
            "scale": np.sqrt(square.sum(axis=1) / present.sum(axis=1)),
        }
    )


def _summary(held: pd.DataFrame, name: str) -> pd.DataFrame:
    """Signals of the held-out images, one row per task."""
    held = held.assign(
        margin=held["margin"] / held.groupby("task")["scale"].transform("mean").clip(lower=1e-12)
    )
    by_split = held.groupby(["task", "split"])["right"].mean()
    margins = held.groupby("task")["margin"]
    mean, spread = margins.mean(), margins.std(ddof=0)
    return pd.DataFrame(
        {
            name: by_split.groupby("task").mean(),
            f"{name} margin": mean,
            f"{name} spread": spread,
            f"{name} smooth": ndtr(mean / spread.clip(lower=1e-6)),
            f"{name} low": margins.quantile(0.1),
            f"{name} worst": held.groupby(["task", "label"])["right"].mean().groupby("task").min(),
        }
    )


def _separation(bank: Bank, tasks: Tasks) -> pd.DataFrame:
    """Shape of each task and distances between its support images."""
    distance, members = _distances(bank, tasks)
    size = members.sum(dim=1)  # (T, K)
    to_class = distance @ members  # (T, n, K) sum of distances from an image to those of a class
    pairs = members.mT @ to_class  # (T, K, K)
    classes = (size > 0).double()
    unequal = 1 - torch.eye(tasks.ways, dtype=torch.float64, device=size.device)
    different = classes[:, :, None] * classes[:, None] * unequal
    mean = pairs / (size[:, :, None] * size[:, None]).clamp(min=1)
    own_pairs = (size * (size - 1)).sum(dim=1).clamp(min=1)
    within_class = pairs.diagonal(dim1=1, dim2=2).sum(dim=1) / own_pairs
    between_classes = (mean * different).sum((1, 2)) / different.sum((1, 2))
    columns = {
        "ways": classes.sum(1),
        "shots": size.sum(1) / classes.sum(1),
        "fewest": size.masked_fill(size == 0, np.inf).amin(1),
        "between": between_classes,
        "nearest": mean.masked_fill(different == 0, np.inf).amin((1, 2)),
        "within": within_class,
        "ratio": between_classes / within_class.clamp(min=1e-12),
        "silhouette": _silhouette(to_class, members, size),
    }
    return pd.DataFrame({name: value.cpu().numpy() for name, value in columns.items()})


def _distances(bank: Bank, tasks: Tasks) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine distances (T, n, n) of support images, and the class (T, n, K) of each as 0 and 1."""
    x, members, scale, _ = supports_and_queries(bank, tasks)
    distance = (1 - (x @ x.mT) * scale * scale.mT).double().clamp(min=0)
    distance.diagonal(dim1=1, dim2=2).zero_()
    return distance, members.double()


def _silhouette(to_class: torch.Tensor, members: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
    """(T,) mean silhouette (Rousseeuw, 1987), of images whose class has another one.

    An image's distance to its own class, without itself, compared with the nearest other class.
    """
    own_size = (members * size[:, None]).sum(dim=-1)
    own_distance = (to_class * members).sum(dim=-1) / (own_size - 1).clamp(min=1)
    elsewhere = (members > 0) | (size[:, None] == 0)
    by_class = to_class / size[:, None].clamp(min=1)
    other_distance = by_class.masked_fill(elsewhere, np.inf).amin(-1)
    larger = other_distance.maximum(own_distance).clamp(min=1e-12)
    real = own_size > 1
    silhouette = ((other_distance - own_distance) / larger).masked_fill(~real, 0)
    return silhouette.sum(1) / real.sum(1).clamp(min=1)


class Informed:
    """Accuracy of a task predicted from signals of its support.

    Fitted at once from the given episodes, and not stored. Episodes are weighted so that every
    level of accuracy counts equally: the accuracy to expect before seeing an image varies between
    data sets, and must not be learned. The standard deviation of its error is modelled as the
    square root of a sum of three variances with weights of at least 0: the noise of the query, p (1
    - p) / queries, that of the support, p (1 - p) / images, and a constant, fitted to squared
    errors of 5-fold cross-validation over the episodes.

    Parameters
    ----------
    fitting : DataFrame
        One row per task: `signals`, and the true ``accuracy`` (0 to 1) on a number of ``queries``.
    columns : sequence of str
        Columns to predict from; non-numeric ones, such as the method, become
        indicators. Rows with missing values are left out.
    regressor : callable
        Makes the regression, which takes weights of the episodes; only that of a ridge regression
        has a leverage.
    level : float
        Degree of the weighting, from 0 (as drawn) to 1 (full).

    Raises
    ------
    InputError
        Level outside 0 to 1; fewer than 50 complete episodes.
    """

    def __init__(
        self,
        fitting: pd.DataFrame,
        columns: Sequence[str] = SIGNALS,
        regressor: Callable[[], RegressorMixin] = RIDGE,
        level: float = 1.0,
    ):
        number("level", level, minimum=0, maximum=1)
        self.columns = list(columns)
        fitting = fitting.dropna(subset=self.columns)
        if len(fitting) < 50:
            raise InputError(
                f"episodes must be at least 50 complete ones to fit on, got {len(fitting)}"
            )
        names = fitting[self.columns].select_dtypes(exclude="number").columns
        self._model = make_pipeline(
            make_column_transformer(
                (OneHotEncoder(handle_unknown="ignore"), list(names)),
                remainder=StandardScaler(),
            ),
            regressor(),
        )
        x, y = fitting[self.columns], fitting["accuracy"].to_numpy(dtype=float)
        weight = {f"{self._model.steps[-1][0]}__sample_weight": _level_weights(y) ** level}
        self._model.fit(x, y, **weight)
        self._fitting, self._weight = fitting, weight

    @cached_property
    def _geometry(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean of the standardised columns and inverse of their penalised scatter, as in the ridge regressor."""
        x, (weight,) = (
            self._model[:-1].transform(self._fitting[self.columns]),
            self._weight.values(),
        )
        mean = np.average(x, axis=0, weights=weight)
        scatter = (x - mean).T @ (weight[:, None] * (x - mean))
        return mean, np.linalg.inv(scatter + self._model[-1].alpha_ * np.eye(len(mean)))

    def leverage(self, table: pd.DataFrame) -> np.ndarray:
        """(T,) leverage of each task, for ridge: its squared distance from the centre of the episodes.

        It is relative to their spread in that direction, so that an unusual combination of usual
        signals counts too. The variance of a linear prediction grows with it (Hoaglin and Welsch,
        1978)."""
        mean, inverse = self._geometry
        away = self._model[:-1].transform(table[self.columns]) - mean
        return np.einsum("ti,ij,tj->t", away, inverse, away)

    def outside(self, table: pd.DataFrame) -> np.ndarray:
        """(T,) whether a task is outside the range of the fitted episodes, so that the estimate extrapolates.

        That is, its number of ways or images is beyond theirs, or its `leverage` is larger than any
        of theirs."""
        shape = [name for name in SHAPE if name in self.columns]
        fitted = self._fitting[shape].astype(float)
        exceeds = (table[shape] < fitted.min()) | (table[shape] > fitted.max())
        return exceeds.any(axis=1).to_numpy() | (self.leverage(table) > self._farthest)

    @cached_property
    def _farthest(self) -> float:
        return self.leverage(self._fitting).max()

    @cached_property
    def _spread(self) -> LinearRegression:
        """From the parts of the variance to the variance of the error; only intervals need it."""
        x, y = self._fitting[self.columns], self._fitting["accuracy"].to_numpy(dtype=float)
        folds = KFold(5, shuffle=True, random_state=0)
        predicted = cross_val_predict(self._model, x, y, cv=folds, params=self._weight).clip(0, 1)
        spread = LinearRegression(positive=True, fit_intercept=False)
        return spread.fit(_variances(predicted, self._fitting), (y - predicted) ** 2)

    def predict(self, table: pd.DataFrame) -> np.ndarray:
        """(T,) estimated accuracies, 0 to 1."""
        return self._model.predict(table[self.columns]).clip(0, 1)

    def spread(self, table: pd.DataFrame, estimate: np.ndarray | None = None) -> np.ndarray:
        """(T,) expected root mean square error, for the accuracy on ``queries`` queries.

        For `predict`, or for another ``estimate``, (T,), as if it were as good.
        """
        variance = self._spread.predict(
            _variances(self.predict(table) if estimate is None else estimate, table)
        )
        return np.sqrt(variance.clip(min=1e-4))  # at least one point

    def scores(self, table: pd.DataFrame) -> np.ndarray:
        """(T,) size of the error on episodes, relative to the spread; `intervals` is calibrated with it."""
        return np.abs(table["accuracy"].to_numpy(dtype=float) - self.predict(table)) / self.spread(
            table
        )

    def intervals(
        self, table: pd.DataFrame, scores: np.ndarray, level: float = 0.9
    ) -> pd.DataFrame:
        """Estimate with an interval for the accuracy on ``queries`` queries of each task.

        Parameters
        ----------
        table : DataFrame
            Signals and ``queries``, one row per task.
        scores : (n,) array
            `scores` of episodes that the estimator was not fitted on, exchangeable with the tasks.
        level : float
            Nominal coverage.

        Returns
        -------
        DataFrame
            low, estimate, high; shares, 0 to 1, with the index of ``table``.
        """
        estimate = self.predict(table)
        half = conformal_quantile(scores, level) * self.spread(table)
        columns = {"low": estimate - half, "estimate": estimate, "high": estimate + half}
        return pd.DataFrame(columns, index=table.index).clip(0, 1)


def cross_scores(table: pd.DataFrame, groups: np.ndarray, **options) -> np.ndarray:
    """`Informed.scores` of every episode by an estimator fitted only on the other groups.

    With data sets as groups, these are the errors to expect on a data set without episodes.

    Parameters
    ----------
    table : DataFrame
        `episodes`.
    groups : (T,) array
        The group of each episode, of two or more.
    options
        Of `Informed`.
    """
    groups = np.asarray(groups)
    out = np.empty(len(table))
    for group in np.unique(groups):
        mine = groups == group
        out[mine] = Informed(table[~mine], **options).scores(table[mine])
    return out


def _level_weights(accuracy: np.ndarray) -> np.ndarray:
    """(T,) weights, mean 1, that give each twentieth of the scale the same total, within bounds for the rare."""
    level = np.minimum((20 * accuracy).astype(int), 19)
    weight = 1 / np.bincount(level)[level].clip(min=0.02 * len(level))
    return weight / weight.mean()


def _variances(estimate: np.ndarray, table: pd.DataFrame) -> np.ndarray:
    """(T, 3) components of the variance of an error."""
    p = np.clip(estimate, 0.03, 0.97)
    images = (table["ways"] * table["shots"]).to_numpy(dtype=float)
    binomial = p * (1 - p)
    return np.column_stack(
        [binomial / table["queries"].to_numpy(dtype=float), binomial / images, np.ones_like(p)]
    )
