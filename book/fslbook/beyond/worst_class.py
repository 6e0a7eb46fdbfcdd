"""Intervals for the worst class, on random and on attribute-biased tasks, that apply to new images and new classes.

Every task is drawn with one query per class more than it is tested on, the *spare*: the one that
would be taken if another were not there. `fslcore.stats.jackknife_influence` needs to know that, because the
queries of a biased task are picked and not drawn at random. All numbers are in percent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
import pandas as pd
from numpy import ndarray

from fslcore import evaluation, stats
from fslcore.errors import InputError
from fslcore.evaluation import Method, Outcomes
from fslcore.evaluation.three_targets import (
    CLASS_FACTS,
    groups_of_classes,
    groups_of_images,
)
from fslcore.report.interval_table import interval_cells
from fslcore.stats.influence import Influence
from fslcore.stats.targets import IMAGE_TARGETS
from fslcore.tasks import Tasks, sample_closed

from .. import attributes
from ..biased_tasks import sample_biased
from ..catalogue import method_title
from ..estimation import resampled
from ..estimation.conformal import conformal_quantile
from .figures import three_rows

KINDS = ("random", "biased")
MEASURES = ("wAcc-R", "wAcc-A", "gap")


def worst_class(record: Outcomes) -> tuple[ndarray, ndarray]:
    """Accuracy of the worst class of each task without its spare queries, and with them in the place of others.

    Parameters
    ----------
    record : Outcomes
        Of tasks with Q + 1 queries per class, the last of each class its spare. The learner must
        take queries one by one.

    Returns
    -------
    values : (T,) floats
    values_without : (T, K·Q) floats
        Had the query in this place not been there and the spare of its class been taken.

    Raises
    ------
    InputError
        Fewer than 2 queries per class, or unequal numbers.
    """
    share, without = _class_shares(record)
    ordered = np.sort(share, axis=1)
    lowest = share.argmin(axis=1)
    others = np.repeat(ordered[:, :1], share.shape[1], axis=1)
    others[np.arange(len(share)), lowest] = ordered[:, 1]
    return ordered[:, 0], np.minimum(without, others[..., None]).reshape(len(share), -1)


def mean_accuracy(record: Outcomes) -> tuple[ndarray, ndarray]:
    """The same of the mean accuracy; see `worst_class`."""
    share, without = _class_shares(record)
    others = (share.sum(axis=1, keepdims=True) - share)[..., None]
    return share.mean(axis=1), ((others + without) / share.shape[1]).reshape(len(share), -1)


def _class_shares(record: Outcomes) -> tuple[ndarray, ndarray]:
    """Class accuracies (T, K) without the spare, and (T, K, Q) with it in the place of each query."""
    right = record.by_class()
    if right.shape[2] < 2:
        raise InputError(
            "record must have at least 2 queries per class, of which the last is the spare, got 1"
        )
    used, spare = right[..., :-1], right[..., -1:]
    count, queries = used.sum(axis=2, keepdims=True), used.shape[2]
    return 100 * count[..., 0] / queries, 100 * (count - used + spare) / queries


def pool(labels: ndarray, has: ndarray, tasks: Tasks, attribute: ndarray) -> ndarray:
    """(T, M) images that the supports of biased tasks were drawn from (SC3 of the paper), -1 as padding.

    Parameters
    ----------
    labels : (N,), has : (N, A) bool
        As for `fslbook.biased_tasks.sample_biased`.
    tasks, attribute
        What it returned.
    """
    labels = np.asarray(labels)
    of_class = {c: np.flatnonzero(labels == c) for c in np.unique(labels)}
    first = [int((tasks.support_label[0] == k).argmax()) for k in range(tasks.ways)]
    rows = [
        _support_pool([of_class[c] for c in classes], has, number)
        for classes, number in zip(labels[tasks.support[:, first]], attribute)
    ]
    out = np.full((len(rows), max(map(len, rows))), -1)
    for row, images in zip(out, rows):
        row[: len(images)] = images
    return out


def _support_pool(by_class: list[ndarray], has: ndarray, attribute: ndarray) -> ndarray:
    """Of the images of the classes of one task: those that have their class's attribute and none of the others."""
    fitting = []
    for k, images in enumerate(by_class):
        marks = has[images][:, attribute]
        fitting.append(images[marks[:, k] & (marks.sum(axis=1) == 1)])
    return np.concatenate(fitting)


@dataclass(frozen=True)
class Runs:
    """Learners on the random and the biased tasks of one data set.

    Attributes
    ----------
    labels : (N,) class of each image
    tasks : dict of Tasks
        By kind of task, with Q + 1 queries per class.
    pools : dict
        By kind, `pool`, or None for random tasks.
    records : dict of dict of Outcomes
        By kind and learner.
    groups : (N,) or None
        Images with equal entries depend on each other.
    class_groups : (N,) or None
        So do classes whose images have equal entries.
    """

    labels: ndarray
    tasks: dict[str, Tasks]
    pools: dict[str, ndarray | None]
    records: dict[str, dict[str, Outcomes]]
    groups: ndarray | None = None
    class_groups: ndarray | None = None

    def __getitem__(self, part: slice) -> Runs:
        """The same on part of the tasks."""
        records = {
            kind: {n: Outcomes(r.correct[part], r.query_label[part]) for n, r in by_learner.items()}
            for kind, by_learner in self.records.items()
        }
        return replace(
            self,
            tasks={kind: tasks[part] for kind, tasks in self.tasks.items()},
            pools={kind: p if p is None else p[part] for kind, p in self.pools.items()},
            records=records,
        )

    @property
    def names(self) -> list[str]:
        """Learners."""
        return list(self.records[KINDS[0]])

    def influence(
        self, kind: str, learner: str, second: str | None = None, value=worst_class
    ) -> Influence:
        """On the mean of a value on this kind of tasks; with ``second``, of the difference, learner - second."""
        tasks = self.tasks[kind]
        values, values_without = value(self.records[kind][learner])
        if second is not None:
            theirs = value(self.records[kind][second])
            values, values_without = values - theirs[0], values_without - theirs[1]
        query = tasks.query.reshape(len(tasks), tasks.ways, -1)[..., :-1].reshape(len(tasks), -1)
        return stats.jackknife_influence(
            values,
            tasks.support,
            self.labels,
            pool=self.pools[kind],
            query=query,
            scores_without=values_without,
            groups=self.groups,
            class_groups=self.class_groups,
        )

    def measures(
        self, learner: str, second: str | None = None, value=worst_class
    ) -> dict[str, Influence]:
        """Influences on the value on random and on biased tasks and on their gap, by `MEASURES`."""
        r, a = (self.influence(kind, learner, second, value) for kind in KINDS)
        return dict(zip(MEASURES, (r, a, r - a)))


def sized(dataset: str, per_class: int) -> str:
    """The name of a coloured data set with so many images per class, unless it says itself; other names as they are."""
    return (
        f"{dataset}?per_class={per_class}"
        if dataset.startswith("coloured") and "?" not in dataset
        else dataset
    )


def draw(
    labels: ndarray, has: ndarray, *, queries: int, seed: int = 0, **shape
) -> tuple[dict, dict]:
    """Random and biased tasks with a spare query per class, and the pools of their supports.

    Parameters
    ----------
    labels, has
        As for `fslbook.biased_tasks.sample_biased`.
    queries : int
        Q, without the spare.
    seed : int
        Of the random tasks; the biased ones have the next.
    **shape
        tasks, ways, shots.

    Returns
    -------
    tasks, pools : dict
        As of `Runs`.
    """
    random = sample_closed(labels, queries=queries + 1, seed=seed, **shape)
    biased, attribute = sample_biased(labels, has, queries=queries + 1, seed=seed + 1, **shape)
    return dict(zip(KINDS, (random, biased))), dict(
        zip(KINDS, (None, pool(labels, has, biased, attribute)))
    )


def run(
    dataset: str,
    methods: Sequence[str],
    *,
    attribute: str = "captions",
    groups: Sequence[str] = (),
    **shape,
) -> Runs:
    """Methods on the random and biased tasks of a data set.

    Parameters
    ----------
    dataset : str
        As for `fslcore.datasets.load`.
    methods : sequence of str
        As for `fslcore.evaluation.Method.parse`.
    attribute : str
        Where attributes come from, as for `fslbook.attributes.of`.
    groups : sequence of str
        Facts that make images dependent; the first that the data set knows counts.
    **shape
        tasks, ways, shots, queries, seed.

    Raises
    ------
    InputError
        What the loaders and samplers raise; precomputed features, which have no captions; a learner
        that is transductive.
    """
    source = evaluation.load_images_or_features(dataset)
    if not source.needs_backbone:
        raise InputError(f"dataset must be of images, to have attributes, got {dataset}")
    tasks, pools = draw(source.classes, attributes.of(source, attribute).has, **shape)
    ready = {method_title(*m): evaluation.configure(source, *m) for m in map(Method.parse, methods)}
    _check_one_by_one(ready)
    records = {
        kind: {name: method.outcomes(kind_tasks) for name, method in ready.items()}
        for kind, kind_tasks in tasks.items()
    }
    return Runs(
        source.classes,
        tasks,
        pools,
        records,
        groups_of_images(source, groups),
        groups_of_classes(source, CLASS_FACTS),
    )


def _check_one_by_one(ready: dict[str, evaluation.ConfiguredMethod]) -> None:
    """Of a transductive learner, what the spare changes would be wrong for the other queries."""
    for title, method in ready.items():
        if method.learner.transductive:
            raise InputError(
                f"methods must take queries one by one, got {title}, which is transductive"
            )


def estimates(
    runs: Runs, dataset: str, methods: Sequence[str], tasks: int, level: float = 0.9
) -> pd.DataFrame:
    """What 5-fold on its support estimates for each random task, with an interval learned from the other tasks.

    Parameters
    ----------
    runs : Runs
        Of `run` with this data set and these methods.
    tasks : int
        So many of the first.
    level : float
        Nominal coverage for a single task. The half-width is the conformal quantile of the errors
        of all other tasks.

    Returns
    -------
    DataFrame
        A row per task and learner: learner, task, accuracy (on the query), estimate, low, high;
        percent.
    """
    source, tables = evaluation.load_images_or_features(dataset), []
    asked_tasks = runs.tasks["random"][:tasks]
    for method in map(Method.parse, methods):
        run = evaluation.configure(source, *method)
        estimate = 100 * resampled.run(run, asked_tasks, ["5-fold"])["5-fold"].to_numpy()
        accuracy = mean_accuracy(runs.records["random"][method_title(*method)])[0][:tasks]
        error = np.abs(estimate - accuracy)
        half = np.array([conformal_quantile(np.delete(error, t), level) for t in range(len(error))])
        tables.append(
            pd.DataFrame(
                {
                    "learner": method_title(*method),
                    "task": np.arange(len(error)),
                    "accuracy": accuracy,
                    "estimate": estimate,
                    "low": (estimate - half).clip(0),
                    "high": (estimate + half).clip(max=100),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def one_task(runs: Runs, estimated: pd.DataFrame, task: int) -> pd.DataFrame:
    """What each paper's measure is on one task: a row per learner, percent."""
    row = estimated[estimated["task"] == task].set_index("learner")
    rows = {
        name: {
            "accuracy": f"{mean_accuracy(runs.records['random'][name])[0][task]:.1f}",
            "worst class": f"{worst_class(runs.records['random'][name])[0][task]:.1f}",
            "worst class, biased": f"{worst_class(runs.records['biased'][name])[0][task]:.1f}",
            "5-fold": f"{row.loc[name, 'estimate']:.1f} ({row.loc[name, 'low']:.0f} to {row.loc[name, 'high']:.0f})",
        }
        for name in runs.names
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("learner")


def by_task(estimated: pd.DataFrame, a: str, b: str) -> pd.Series:
    """How well 5-fold tells, task by task, which of two learners is better: tasks, and percentages of them."""
    wide = estimated.pivot(index="task", columns="learner", values=["accuracy", "estimate"])
    true, guess = (
        np.sign(wide[quantity][a] - wide[quantity][b]) for quantity in ("accuracy", "estimate")
    )
    decided = true != 0
    return pd.Series(
        {
            "tasks": len(wide),
            f"{a} better": 100 * (true > 0).mean(),
            f"{b} better": 100 * (true < 0).mean(),
            "5-fold names the better": 100 * (guess == true)[decided].mean(),
            "5-fold is undecided": 100 * (guess == 0)[decided].mean(),
            "5-fold names the worse": 100 * (guess == -true)[decided].mean(),
        }
    )


def lenses(runs: Runs, a: str, b: str, level: float = 0.95) -> pd.DataFrame:
    """a - b by each measure of the mean and the worst class, with three intervals: measure, a, b, result."""
    influences = {"mean accuracy": runs.influence("random", a, b, mean_accuracy)} | runs.measures(
        a, b
    )
    rows = [(m, a, b, i.intervals(level, bounds_of_pair(m))) for m, i in influences.items()]
    return pd.DataFrame(rows, columns=["measure", "a", "b", "result"])


def bounds_of_pair(measure: str) -> tuple[int, int]:
    """Least and largest difference of two learners, in points: of a gap, which is a difference itself, twice as far."""
    return (-200, 200) if measure == "gap" else (-100, 100)


def table(runs: Runs, level: float = 0.95) -> pd.DataFrame:
    """learner, measure and ``result``, a `fslcore.stats.ThreeIntervals`: every learner's wAcc-R, wAcc-A and gap."""
    rows = [
        (name, m, i.intervals(level, (-100, 100) if m == "gap" else (0, 100)))
        for name in runs.names
        for m, i in runs.measures(name).items()
    ]
    return pd.DataFrame(rows, columns=["learner", "measure", "result"])


def rows(tables: dict[str, pd.DataFrame], leave_out: Sequence[str] = ()) -> pd.DataFrame:
    """`table` or `orderings` of each data set as `fslbook.figures.forest` draws them: a panel per measure.

    A panel is named after the data set and the measure, or the measure alone if the name is empty.
    """
    parts = []
    for name, measured in tables.items():
        measured = measured[~measured["measure"].isin(leave_out)]
        for measure, part in measured.groupby("measure", sort=False):
            panel = f"{name}, {measure}" if name else measure
            places = part.assign(dataset=panel, method=_compared(part))
            rows = three_rows(places[["dataset", "method", "result"]])
            is_share = "learner" in part and measure != "gap"
            parts.append(rows.assign(xlabel="accuracy (%)" if is_share else "difference (points)"))
    return pd.concat(parts, ignore_index=True)


def _compared(measured: pd.DataFrame) -> pd.Series:
    """The learner, or the two whose difference it is, of each row."""
    if "learner" in measured:
        return measured["learner"]
    return (measured["a"] + " − " + measured["b"]).rename("difference")


def measure_table(measured: pd.DataFrame) -> pd.DataFrame:
    """`table` or `orderings` for reading: mean and intervals by measure and learner, or pair."""
    order = sorted(
        measured["measure"].unique(),
        key=("mean accuracy", *MEASURES, *measured["measure"]).index,
    )
    methods = _compared(measured)
    rows = {
        (r.measure, name): {"mean": f"{r.result.closed.estimate:.2f}"} | interval_cells(r.result)
        for r, name in zip(measured.itertuples(), methods)
    }
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.rename_axis(["measure", methods.name]).loc[list(order)]


def orderings(runs: Runs, level: float = 0.95) -> pd.DataFrame:
    """Every two learners by measure: a, b, ``result`` of a - b on the same tasks, and ``apart``.

    ``apart`` is 1, 0 or -1 as the closed intervals of a and b alone tell, which must not meet (as
    the paper compares)."""
    single = {
        name: {m: i.intervals(level).closed for m, i in runs.measures(name).items()}
        for name in runs.names
    }
    rows = []
    for a, b in combinations(runs.names, 2):
        for m, influence in runs.measures(a, b).items():
            result = influence.intervals(level, bounds_of_pair(m))
            rows.append((m, a, b, result, stats.compare_by_overlap(single[a][m], single[b][m])))
    return pd.DataFrame(rows, columns=["measure", "a", "b", "result", "apart"])


def verdicts(ordered: dict[str, pd.DataFrame], level: float = 0.95) -> pd.DataFrame:
    """How many `orderings` are conclusive, by data set and measure.

    Paired ones of a data set, measure and target are corrected for their number (Holm, 1979).

    Parameters
    ----------
    ordered : dict
        `orderings` by data set.
    level : float
        That of the intervals.
    """
    rows = {}
    for (dataset, table), measure in product(ordered.items(), MEASURES):
        part = table[table["measure"] == measure]
        row = {"pairs": len(part), "intervals apart": int((part["apart"] != 0).sum())}
        for target in IMAGE_TARGETS:
            intervals = [result.by_target[target] for result in part["result"]]
            row[f"paired, {target}"] = _conclusive(intervals, level)
        rows[dataset, measure] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["dataset", "measure"])


def _conclusive(intervals: list[stats.Interval], level: float) -> int:
    """How many of these intervals exclude 0, with Holm's correction."""
    p = [i.p_value if np.isfinite(i.half_width) else 1.0 for i in intervals]
    return int(np.sum(stats.holm(p) < 1 - level))
