"""Intervals for the worst class, on random and on attribute-biased tasks, that speak of new images and new classes.

Every task is drawn with one query a class more than it is tested on, the *spare*: the one that would be taken if
another were not there. `fslcore.stats.influence` needs to know that, because the queries of a biased task are picked
and not drawn at random. All numbers are in percent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from . import attributes, evaluate, learners, report, stats
from .biased import sample_biased
from .bank import Bank
from .errors import InputError
from .evaluate import Record
from .evaluators import method, title
from .targets import TARGETS
from .tasks import Tasks, sample_closed

__all__ = ["KINDS", "Runs", "draw", "mean_accuracy", "orderings", "pool", "printed_orderings", "run", "scaled", "shown",
           "table", "verdicts", "worst_class"]

KINDS = ("random", "biased")
MEASURES = ("wAcc-R", "wAcc-A", "gap")
UNPAIRED = "unpaired"


def worst_class(record: Record) -> tuple[np.ndarray, np.ndarray]:
    """Accuracy of the worst class of each task without its spare queries, and with them in the place of others.

    Parameters
    ----------
    record : Record
        Of tasks with Q + 1 queries a class, the last of each class its spare. The learner must take queries one by one.

    Returns
    -------
    values : (T,) floats
    replaced : (T, K·Q) floats
        Had the query in this place not been there and the spare of its class been taken.

    Raises
    ------
    InputError
        Fewer than 2 queries a class, or unequal numbers.
    """
    share, without = _class_shares(record)
    ordered = np.sort(share, axis=1)
    lowest = share.argmin(axis=1)
    others = np.repeat(ordered[:, :1], share.shape[1], axis=1)
    others[np.arange(len(share)), lowest] = ordered[:, 1]
    return ordered[:, 0], np.minimum(without, others[..., None]).reshape(len(share), -1)


def mean_accuracy(record: Record) -> tuple[np.ndarray, np.ndarray]:
    """The same of the mean accuracy; see `worst_class`."""
    share, without = _class_shares(record)
    others = (share.sum(axis=1, keepdims=True) - share)[..., None]
    return share.mean(axis=1), ((others + without) / share.shape[1]).reshape(len(share), -1)


def _class_shares(record: Record) -> tuple[np.ndarray, np.ndarray]:
    """Class accuracies (T, K) without the spare, and (T, K, Q) with it in the place of each query."""
    right = record.by_class()
    if right.shape[2] < 2:
        raise InputError("record: one query a class; at least 2 are needed, of which the last is the spare")
    used, spare = right[..., :-1], right[..., -1:]
    count, queries = used.sum(axis=2, keepdims=True), used.shape[2]
    return 100 * count[..., 0] / queries, 100 * (count - used + spare) / queries


def pool(labels: np.ndarray, has: np.ndarray, tasks: Tasks, attribute: np.ndarray) -> np.ndarray:
    """(T, M) images that the supports of biased tasks were drawn from (SC3 of the paper), -1 as padding.

    Parameters
    ----------
    labels : (N,), has : (N, A) bool
        As for `fslcore.biased.sample_biased`.
    tasks, attribute
        What it returned.
    """
    labels = np.asarray(labels)
    of_class = {c: np.flatnonzero(labels == c) for c in np.unique(labels)}
    first = [int((tasks.support_label[0] == k).argmax()) for k in range(tasks.ways)]
    rows = []
    for classes, own in zip(labels[tasks.support[:, first]], attribute):
        marks = [has[of_class[c]][:, own] for c in classes]
        fits = [of_class[c][m[:, k] & (m.sum(axis=1) == 1)] for k, (c, m) in enumerate(zip(classes, marks))]
        rows.append(np.concatenate(fits))
    out = np.full((len(rows), max(map(len, rows))), -1)
    for row, images in zip(out, rows):
        row[: len(images)] = images
    return out


@dataclass(frozen=True)
class Runs:
    """Learners on the random and the biased tasks of one data set.

    Attributes
    ----------
    labels : (N,) class of each image
    tasks : dict of Tasks
        By kind of task, with Q + 1 queries a class.
    pools : dict
        By kind, `pool`, or None for random tasks.
    records : dict of dict of Record
        By kind and learner.
    groups : (N,) or None
        Images with equal entries depend on each other.
    """

    labels: np.ndarray
    tasks: dict[str, Tasks]
    pools: dict[str, np.ndarray | None]
    records: dict[str, dict[str, Record]]
    groups: np.ndarray | None = None

    @property
    def names(self) -> list[str]:
        """Learners."""
        return list(self.records[KINDS[0]])

    def influence(self, kind: str, learner: str, other: str | None = None, value=worst_class) -> stats.Influence:
        """On the mean of a value on this kind of tasks; with ``other``, of the difference, learner - other."""
        drawn = self.tasks[kind]
        values, replaced = value(self.records[kind][learner])
        if other is not None:
            theirs = value(self.records[kind][other])
            values, replaced = values - theirs[0], replaced - theirs[1]
        query = drawn.query.reshape(len(drawn), drawn.ways, -1)[..., :-1].reshape(len(drawn), -1)
        return stats.influence(
            values, drawn.support, self.labels, pool=self.pools[kind], query=query, replaced=replaced,
            groups=self.groups,
        )

    def measures(self, learner: str, other: str | None = None, value=worst_class) -> dict[str, stats.Influence]:
        """Influences on the value on random and on biased tasks and on their gap, by `MEASURES`."""
        r, a = (self.influence(kind, learner, other, value) for kind in KINDS)
        return dict(zip(MEASURES, (r, a, r - a)))


def draw(labels: np.ndarray, has: np.ndarray, *, queries: int, seed: int = 0, **shape) -> tuple[dict, dict]:
    """Random and biased tasks with a spare query a class, and the pools of their supports.

    Parameters
    ----------
    labels, has
        As for `fslcore.biased.sample_biased`.
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
    return dict(zip(KINDS, (random, biased))), dict(zip(KINDS, (None, pool(labels, has, biased, attribute))))


def run(
    dataset: str, methods: Sequence[str], *, attribute: str = "captions", groups: Sequence[str] = (), **shape
) -> Runs:
    """Methods on the random and biased tasks of a data set.

    Parameters
    ----------
    dataset : str
        As for `fslcore.datasets.load`.
    methods : sequence of str
        As for `fslcore.evaluators.method`.
    attribute : str
        Where attributes come from, as for `fslcore.attributes.of`.
    groups : sequence of str
        Facts that make images dependent; the first that the data set knows counts.
    **shape
        tasks, ways, shots, queries, seed.

    Raises
    ------
    InputError
        What the loaders and samplers raise; precomputed features, which have no captions.
    """
    source = evaluate.load_source(dataset)
    if isinstance(source, Bank):
        raise InputError(f"dataset = {dataset}; images are needed, to have attributes")
    names = np.array(source.class_names)[source.labels]
    tasks, pools = draw(names, attributes.of(source, attribute).has, **shape)
    records = {
        kind: {title(m): _record(source, m, drawn) for m in methods} for kind, drawn in tasks.items()
    }
    known = [g for g in groups if source.facts is not None and g in source.facts]
    return Runs(names, tasks, pools, records, source.facts[known[0]].to_numpy() if known else None)


def _record(source, text: str, tasks: Tasks) -> Record:
    backbone, learner = method(text)
    model = evaluate.load_backbone(backbone)
    return evaluate.record(source, model, learners.make(learner, model), tasks)[0]


def table(runs: Runs, level: float = 0.95) -> pd.DataFrame:
    """learner, measure and ``result``, a `fslcore.stats.ThreeIntervals`: every learner's wAcc-R, wAcc-A and gap."""
    rows = [(name, m, i.intervals(level)) for name in runs.names for m, i in runs.measures(name).items()]
    return pd.DataFrame(rows, columns=["learner", "measure", "result"])


def shown(found: pd.DataFrame) -> pd.DataFrame:
    """`table` for reading: mean and half-widths by measure and learner."""
    rows = {
        (r.measure, r.learner): {"mean": r.result.closed.mean} | {
            f"± {target}": getattr(r.result, kind).half_width for kind, target in TARGETS.items()
        } for r in found.itertuples()
    }
    out = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["measure", "learner"])
    return out.map(lambda x: f"{x:.2f}" if np.isfinite(x) else "—").loc[list(found["measure"].unique())]


def orderings(runs: Runs, level: float = 0.95) -> pd.DataFrame:
    """Which of every two learners is better, by measure and by what the statement is to hold for.

    Returns
    -------
    DataFrame
        A row a measure, pair (a, b) and rule: ``rule`` is 'unpaired' (two closed intervals that must not meet, as
        the paper compares) or a key of `fslcore.targets.TARGETS` for the paired difference; ``difference`` of a and b;
        ``half_width``; ``verdict`` 1, 0 or -1 for a; ``p``, NaN for unpaired; ``holm``, the verdict after Holm's
        correction over the pairs of the measure.
    """
    single = {name: {m: i.intervals(level) for m, i in runs.measures(name).items()} for name in runs.names}
    rows = []
    for a, b in combinations(runs.names, 2):
        for m, influence in runs.measures(a, b).items():
            found = influence.intervals(level)
            apart = stats.compare(single[a][m].closed, single[b][m].closed)
            rows.append((m, a, b, UNPAIRED, found.closed.mean, np.nan, apart, np.nan))
            for kind in TARGETS:
                i = getattr(found, kind)
                p = i.p_value if np.isfinite(i.half_width) else 1.0
                rows.append((m, a, b, kind, i.mean, i.half_width, i.conclusion, p))
    out = pd.DataFrame(rows, columns=["measure", "a", "b", "rule", "difference", "half_width", "verdict", "p"])
    out["holm"] = out["verdict"]
    for _, part in out.dropna(subset="p").groupby(["measure", "rule"]):
        out.loc[part.index, "holm"] *= multipletests(part["p"], 1 - level, "holm")[0]
    return out


def verdicts(ordered: dict[str, pd.DataFrame], column: str = "verdict") -> pd.DataFrame:
    """How many orderings are conclusive, by data set and measure, a column a rule."""
    names = {UNPAIRED: "intervals apart"} | {k: f"paired, {t}" for k, t in TARGETS.items()}
    tables = {
        name: (t[column] != 0).groupby([t["measure"], t["rule"]]).sum().unstack("rule")[list(names)].loc[list(MEASURES)]
        .assign(pairs=t.groupby("measure").apply(lambda p: (p["rule"] == UNPAIRED).sum(), include_groups=False))
        for name, t in ordered.items()
    }
    return pd.concat(tables, names=["dataset"]).rename(columns=names)[["pairs", *names.values()]].rename_axis(columns=None)


def scaled(runs: Runs, found: pd.DataFrame, sizes: pd.DataFrame, tasks: int = 3000) -> pd.DataFrame:
    """By what factor closed intervals would widen on data sets of other sizes, if variances fall with these as usual.

    The variance owed to images falls with their number, that owed to classes with theirs, and that of
    the tasks with T.

    Parameters
    ----------
    found : DataFrame
        `table` of ``runs``.
    sizes : DataFrame
        Columns classes and images (in all), a row a data set.
    tasks : int
        T there.

    Returns
    -------
    DataFrame
        Median over learners of the factors for new images and for new classes, a row a data set and measure.
    """
    images, classes = len(runs.labels), len(np.unique(runs.labels))
    rows = {}
    for (name, size), m in product(sizes.iterrows(), MEASURES):
        factors = []
        for r in found.loc[found["measure"] == m, "result"]:
            sampling = r.sampling_variance * r.closed.n_tasks / (tasks * (1 + (m == "gap")))
            parts = r.image_variance * images / size["images"], r.class_variance * classes / size["classes"]
            factors.append([np.sqrt(1 + part / sampling) for part in parts])
        rows[name, m] = np.median(factors, axis=0)
    out = pd.DataFrame.from_dict(rows, orient="index", columns=["new images", "new classes"])
    return out.set_axis(pd.MultiIndex.from_tuples(out.index, names=["dataset", "measure"]))


def printed_orderings(factors: pd.DataFrame) -> pd.DataFrame:
    """How many of the orderings that FewSTAB's Table 3 prints stay conclusive with intervals widened by factors.

    Parameters
    ----------
    factors : DataFrame
        Of `scaled`: columns, by dataset and measure.

    Returns
    -------
    DataFrame
        By measure and shots: pairs, how many are conclusive as printed (intervals apart; of the gap, whose interval
        is not printed, that of two independent means), and for each column of factors how many then are.
    """
    printed = report.printed(3, "fewstab").pivot(
        index=["dataset", "shots", "learner"], columns="metric", values=["mean", "half_width"]
    )
    rows = []
    for (dataset, shots), t in printed.groupby(level=["dataset", "shots"], sort=False):
        for m in MEASURES:
            if m == "gap":
                mean = t["mean"]["wacc-r"] - t["mean"]["wacc-a"]
                half = np.hypot(t["half_width"]["wacc-r"], t["half_width"]["wacc-a"])
            else:
                mean, half = t["mean"][m.lower()], t["half_width"][m.lower()]
            i, j = np.triu_indices(len(t), 1)
            difference, reach = (np.abs(np.subtract.outer(*[mean.to_numpy()] * 2))[i, j],
                                 np.add.outer(*[half.to_numpy()] * 2)[i, j])
            wide = {name: (difference > f * reach).sum() for name, f in factors.loc[dataset, m].items()}
            rows.append({"measure": m, "shots": shots, "pairs": len(i), "as printed": (difference > reach).sum()} | wide)
    return pd.DataFrame(rows).groupby(["measure", "shots"]).sum().loc[list(MEASURES)]
