"""Accuracy of the informed estimator on unseen data: the tables of its chapter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from scipy.stats import binomtest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

from fslcore import stats
from fslcore.errors import InputError

from ..catalogue import method_title
from ..estimation.calibration import stored
from ..estimation.conformal import conformal_quantile
from ..estimation.informed import RIDGE, SIGNALS, Informed
from ..estimation.ranks import rank_correlation, selected_value
from ..estimation.resampled import ESTIMATORS

REGRESSORS = {
    "ridge": RIDGE,
    "forest": partial(
        RandomForestRegressor,
        40,
        min_samples_leaf=5,
        max_features=0.2,
        max_samples=0.5,
        random_state=0,
    ),
    "boosting": partial(
        GradientBoostingRegressor,
        n_estimators=80,
        max_depth=3,
        learning_rate=0.08,
        subsample=0.5,
        max_features=0.3,
        random_state=0,
    ),
}


def of_dataset(
    name: str, backbones: Sequence[str], mixed: bool = False
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Stored episodes of a data set: those to learn from (base and validation classes) and those to
    test on (novel).

    Parameters
    ----------
    name : str
        A data set, of all domains; the first part may be empty (fashion has novel classes only).
    backbones : sequence of str
    mixed : bool
        Those of mixed shapes, in place of those of 5 ways and 5 shots.

    Raises
    ------
    InputError
        No such episodes; the message names the data sets that have some. There may be none of mixed shapes.
    """
    table = stored().dropna(subset=list(SIGNALS))
    domain = table["dataset"].astype(str).str.partition("/")[0]
    for argument, names, available in (
        ("dataset", [name], domain),
        ("backbone", backbones, table["backbone"]),
    ):
        for wanted in names:
            if wanted not in set(available):
                raise InputError(
                    f"{argument} = {wanted}; there are episodes of {', '.join(available.unique())}"
                )
    table = table[
        (domain == name) & table["backbone"].isin(backbones) & ((table["block"] >= 0) == mixed)
    ]
    missing = [wanted for wanted in backbones if wanted not in set(table["backbone"])]
    if missing and not mixed:
        raise InputError(f"backbone = {', '.join(missing)}; there are no episodes of it on {name}")
    novel = table["split"] == "novel"
    test = table[novel]
    if not mixed:  # some backbones have more tasks than others, of which the first are the same
        met = test.groupby(["dataset", "classes", "task"], observed=True)["backbone"].transform(
            "nunique"
        )
        test = test[met == met.max()]
    return table[~novel].reset_index(drop=True), test.reset_index(drop=True)


def by_method(table: pd.DataFrame) -> dict[tuple[str, str], pd.DataFrame]:
    """(backbone, learner) → its episodes, in order of task, so that methods meet on the same
    tasks."""
    groups = table.groupby(["backbone", "learner"], observed=True, sort=False)
    return {
        method: part.sort_values(["classes", "block", "task"], ignore_index=True)
        for method, part in groups
    }


def noise_floor(accuracy: np.ndarray, queries: np.ndarray) -> float:
    """Mean absolute error of an estimate that equals the true accuracy, since queries are few.

    That of a binomial share around its mean, √(2 p (1 - p) / (π q)) (normal approximation, a
    percent off at q = 75), with the observed accuracy for p; queries of a task are treated as
    independent."""
    return float(np.sqrt(2 * accuracy * (1 - accuracy) / (np.pi * queries)).mean())


def errors(
    truth: np.ndarray, estimates: dict[str, np.ndarray], reference: str = "5-fold"
) -> pd.DataFrame:
    """Mean absolute error of each estimator and by how much it is below the reference's, paired by
    task.

    Returns
    -------
    DataFrame
        A row per estimator: error and bias (points), less (reference minus this error, points),
        half_width (of its 95 % paired interval) and share (of the reference's error that is saved,
        percent).
    """
    size = {name: 100 * np.abs(e - truth) for name, e in estimates.items()}
    rows = {}
    for name, mine in size.items():
        saved = stats.paired_interval(size[reference], mine)
        rows[name] = {
            "error": mine.mean(),
            "bias": 100 * (estimates[name] - truth).mean(),
            "less": saved.estimate,
            "half_width": saved.half_width,
            "share": 100 * saved.estimate / size[reference].mean(),
        }
    return pd.DataFrame(rows).T


def selection(
    truth: np.ndarray, estimates: dict[str, np.ndarray]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How well estimators rank M methods on each task.

    Parameters
    ----------
    truth : (T, M) accuracies on queries
    estimates : name → (T, M) estimates

    Returns
    -------
    correlation, accuracy : (T, names) DataFrames
        Spearman's rank correlation of estimates and truth over the methods (0 where either ranks
        all equal), and the accuracy of the method with the largest estimate (mean of those that
        tie).
    """
    correlation = {n: np.nan_to_num(rank_correlation(e, truth)) for n, e in estimates.items()}
    accuracy = {n: selected_value(e, truth) for n, e in estimates.items()}
    return pd.DataFrame(correlation), pd.DataFrame(accuracy)


def fitting_and_calibration(learning: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Episodes for fitting and for calibration: the last set of ``classes`` is for calibration,
    others for fitting."""
    last = learning["classes"] == learning["classes"].iloc[-1]
    return learning[~last].reset_index(drop=True), learning[last].reset_index(drop=True)


def fitted(
    fitting: pd.DataFrame,
    columns: Sequence[str] = SIGNALS,
    regressor: str = "ridge",
    level: float = 1.0,
) -> Informed:
    """`Informed` by the name of one of the `REGRESSORS` that the chapter compares."""
    return Informed(fitting, columns, REGRESSORS[regressor], level)


def pooled(columns: Sequence[str] = SIGNALS) -> tuple[str, ...]:
    """These columns and the method, for an estimator that learns from the episodes of all
    methods."""
    return (*columns, "backbone", "learner")


def saved(model: Informed, test: pd.DataFrame) -> float:
    """Reduction of the mean absolute error compared with 5-fold (percent)."""
    mine, fold = (
        np.abs(e - test["accuracy"]).mean() for e in (model.predict(test), test["5-fold"])
    )
    return float(100 * (1 - mine / fold))


def validate(learning: pd.DataFrame) -> pd.DataFrame:
    """Reduction of 5-fold's error (percent) by each choice, to select one before novel classes are
    used.

    Each set of ``classes`` is left out in turn, and tested on.

    Returns
    -------
    DataFrame
        A row per regressor, fitted to each method by itself or to all together (``episodes of``),
        with weights by ``level`` (0.5 only for those slower than ridge); a column per method, and
        their ``mean``. Means over the sets of classes.
    """
    rows = {}
    for regressor, together, level in product(REGRESSORS, (False, True), (0.0, 0.5, 1.0)):
        if regressor != "ridge" and level != 0.5:
            continue  # the slow ones
        parts = [
            _saved_without(learning, classes, together, regressor=regressor, level=level)
            for classes in learning["classes"].unique()
        ]
        kind = "all methods" if together else "the method"
        rows[regressor, kind, level] = pd.DataFrame(parts).mean()
    table = pd.DataFrame(rows).T.rename_axis(["regressor", "episodes of", "level"])
    return table.assign(mean=table.mean(axis=1))


def _saved_without(learning, classes, together, **options):
    """By method, what `saved` is on episodes of these classes, if those of the others are
    fitted."""
    left_out = learning["classes"] == classes
    fitting = by_method(learning[~left_out])
    model = fitted(learning[~left_out], pooled(), **options) if together else None
    return {
        method_title(*method): saved(model or fitted(fitting[method], **options), test)
        for method, test in by_method(learning[left_out]).items()
    }


def choose(validated: pd.DataFrame) -> dict:
    """Options of `fitted` that `validate` finds best on average, for the episodes of all methods
    together."""
    regressor, level = validated.xs("all methods", level="episodes of")["mean"].idxmax()
    return dict(regressor=regressor, level=float(level))


def estimates(
    learning: pd.DataFrame, test: pd.DataFrame, **options
) -> dict[tuple[str, str], pd.DataFrame]:
    """Every estimate of every test episode, by method; rows are those of `by_method`.

    Columns: the classical ones; ``informed``, from the episodes of all methods; ``of the method``,
    from its own; ``constant``, the mean accuracy of its episodes, for comparison. ``options`` are
    those of `fitted`."""
    own_episodes = by_method(learning)
    pooled_model = fitted(learning, pooled(), **options)
    return {
        method: new[list(ESTIMATORS)].assign(
            **{
                "informed": pooled_model.predict(new),
                "of the method": fitted(own_episodes[method], **options).predict(new),
                "constant": own_episodes[method]["accuracy"].mean(),
            }
        )
        for method, new in by_method(test).items()
    }


def errors_by_method(learning: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    """The row *informed* of `errors` for each method, with the regression that `validate` finds best."""
    truths = by_method(test)
    chosen = estimates(learning, test, **choose(validate(learning)))
    tables = {
        method: errors(truths[method]["accuracy"].to_numpy(), table.to_dict("series"))
        for method, table in chosen.items()
    }
    return pd.DataFrame({method: table.loc["informed"] for method, table in tables.items()}).T


def interval_kinds(
    fitting: pd.DataFrame,
    calibration: pd.DataFrame,
    test: pd.DataFrame,
    nominal: float = 0.9,
    **options,
) -> dict[str, pd.DataFrame]:
    """Intervals for the accuracy of each test episode, made in several ways.

    Each method is calibrated by itself, on its own episodes, for the ``nominal`` coverage.
    ``options`` are those of `fitted`.

    Returns
    -------
    dict of str to DataFrame
        Kind → low, high (shares), truth, backbone, learner. ``leave-one-out, exact`` is Clopper and
        Pearson's (1934), which treats held-out images as independent trials; ``5-fold, conformal``
        has one width for all; so has ``informed, one width``; that of ``informed`` follows the
        predicted spread. ``informed, same classes`` is fitted and calibrated on halves of the
        episodes of all classes but the novel ones.
    """
    learning = pd.concat([fitting, calibration], ignore_index=True)
    model = fitted(fitting, pooled(), **options)
    of_half = fitted(learning.iloc[::2], pooled(), **options)
    calibrations, halves = by_method(calibration), by_method(learning.iloc[1::2])
    tables = defaultdict(list)
    for method, episodes in by_method(test).items():
        kinds = _kinds(episodes, model, calibrations[method], nominal)
        scores = of_half.scores(halves[method])
        kinds["informed, same classes"] = of_half.intervals(episodes, scores, nominal)
        for kind, ends in kinds.items():
            tables[kind].append(_with_truth(ends, episodes, method))
    return {kind: pd.concat(tables[kind], ignore_index=True) for kind in tables}


def _kinds(
    episodes: pd.DataFrame, model: Informed, calibration: pd.DataFrame, nominal: float
) -> dict[str, pd.DataFrame]:
    """The intervals of one method that are calibrated on other classes, or not at all."""
    truth, estimate = calibration["accuracy"], model.predict(episodes)
    return {
        "leave-one-out, exact": _exact(episodes, nominal),
        "5-fold, conformal": _one_width(truth, calibration["5-fold"], episodes["5-fold"], nominal),
        "informed, one width": _one_width(truth, model.predict(calibration), estimate, nominal),
        "informed": model.intervals(episodes, model.scores(calibration), nominal),
    }


def _exact(episodes, nominal):
    images = (episodes["ways"] * episodes["shots"]).round().astype(int)
    right = (episodes["leave-one-out"] * images).round().astype(int)
    ends = [binomtest(k, n).proportion_ci(nominal) for k, n in zip(right, images)]
    return pd.DataFrame(ends, columns=["low", "high"])


def _one_width(truth, calibrated, estimate, nominal):
    """Estimates ± the conformal quantile of the errors of the calibration episodes."""
    half = conformal_quantile(np.abs(calibrated - truth), nominal)
    return pd.DataFrame({"low": estimate - half, "high": estimate + half})


def _with_truth(ends, episodes, method):
    backbone, learner = method
    ends = ends[["low", "high"]].clip(0, 1)
    return ends.assign(truth=episodes["accuracy"], backbone=backbone, learner=learner)


def coverage(intervals: pd.DataFrame) -> dict[str, float]:
    """Coverage, its 95 % Wilson interval (for independent episodes), and mean width; percent."""
    inside = (intervals["low"] <= intervals["truth"]) & (intervals["truth"] <= intervals["high"])
    wilson = binomtest(int(inside.sum()), len(inside)).proportion_ci(0.95, "wilson")
    width = (intervals["high"] - intervals["low"]).mean()
    values = dict(coverage=inside.mean(), low=wilson.low, high=wilson.high, width=width)
    return {name: 100 * float(value) for name, value in values.items()}


def transfer(
    learned: dict[str, tuple[pd.DataFrame, pd.DataFrame]],
    used: dict[str, pd.DataFrame],
    nominal: float = 0.9,
    **options,
) -> pd.DataFrame:
    """Accuracy and coverage of the estimator on episodes that differ from those it was fitted to.

    Parameters
    ----------
    learned : dict
        Name → episodes to fit on and to calibrate on.
    used : dict
        Name → test episodes.

    Returns
    -------
    DataFrame
        A row per pair of names: learned, used, saved (part of 5-fold's error, percent), bias
        (points), coverage and width (percent), over all methods that both have.
    """
    rows = []
    for (source, (fitting, calibration)), (target, test) in product(learned.items(), used.items()):
        model = fitted(fitting, pooled(), **options)
        intervals = _calibrated_intervals(model, calibration, test, nominal)
        bias = 100 * float((model.predict(test) - test["accuracy"]).mean())
        measured = coverage(intervals)
        rows.append(
            (source, target, saved(model, test), bias, measured["coverage"], measured["width"])
        )
    return pd.DataFrame(rows, columns=["learned", "used", "saved", "bias", "coverage", "width"])


def _calibrated_intervals(model, calibration, test, nominal):
    """Intervals and truth of the test episodes of all methods that can be calibrated."""
    calibrations = by_method(calibration)
    parts = []
    for method, new in by_method(test).items():
        if method in calibrations:
            intervals = model.intervals(new, model.scores(calibrations[method]), nominal)
            parts.append(intervals.assign(truth=new["accuracy"]))
    return pd.concat(parts)
