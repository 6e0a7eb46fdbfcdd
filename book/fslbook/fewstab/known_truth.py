"""FewSTAB's gap against known truth: how far do learners rely on ink, and does the gap say so?

In coloured glyphs any image can be drawn again in another ink with all else unchanged, so what a learner
makes of ink is measured by itself (`counterfactual`). The gap of `fslcore.tasks.choices` is then set against it, split
into what is planted and what is mere difficulty (`split_gap`), and measured again with attributes of a
captioner that errs at known rates (`noisy`).

Networks that differ in nothing but the seed of their training are averaged, task by task: they are alike, and not
evidence of their own on how a score orders learners.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import torch
from scipy import stats as scipy_stats

from fslcore import datasets, evaluation, learners, stats
from fslcore.datasets import Images
from fslcore.datasets.bank import Bank
from fslcore.datasets.coloured import COLOURS
from fslcore.errors import InputError
from fslcore.models import backbones
from fslcore.paths import DATA
from fslcore.tasks import Tasks, sample_biased, sample_closed, sample_matched
from fslcore.tasks.samplers import streams

from .. import attributes
from ..attributes import Attributes
from ..training import RECIPES

__all__ = [
    "SCORES",
    "check_shots",
    "counterfactual",
    "error_rates",
    "frozen",
    "in_each_ink",
    "in_parts",
    "inks_seen",
    "networks",
    "noise_curves",
    "noisy",
    "orderings",
    "part_rows",
    "random_supports",
    "sample_conflict",
    "score_rows",
    "split_gap",
    "steps",
]

FOLDER = DATA / "checkpoints" / "bias"
TRAININGS = ("baseline", "baseline++", "protonet", "r2d2", "anil")
CONFLICT_QUERIES = 5  # test images per class where each is drawn in every ink
CELL = ["learner", "bias"]  # what networks have in common that differ in the seed of their training
#: What one may order networks by, by column of `split_gap`.
SCORES = {
    "gap": "gap, wAcc-R − wAcc-A",
    "clue": "its planted part",
    "relative": "gap / wAcc-R",
    "mean gap": "gap of mean accuracy",
    "wAcc-A": "wAcc-A, the lowest first",
    "wAcc-R": "wAcc-R, the highest first",
}


def networks(biases: Iterable[float], seeds: Iterable[int] = (0,)) -> pd.DataFrame:
    """The networks that were trained with ink tied to class, each with the learner it was trained for.

    Parameters
    ----------
    biases : floats
        Shares of training images that have their class's own ink.
    seeds : ints
        Of the training.

    Returns
    -------
    DataFrame
        ``learner`` (as it is written), ``bias``, ``seed``, ``name`` (of `fslcore.learners`) and ``backbone`` (as for
        `fslcore.models.backbones.load`).

    Raises
    ------
    InputError
        No such network: says which biases and seeds there are.
    """
    rows = []
    for recipe in TRAININGS:
        for bias in biases:
            for seed in seeds:
                path = FOLDER / f"{recipe}-{bias:g}-{seed}.safetensors"
                if not path.is_file():
                    _, there, kept = zip(*(p.stem.rsplit("-", 2) for p in FOLDER.glob("*.safetensors")))
                    raise InputError(
                        f"no network of bias {bias:g} and seed {seed}; "
                        f"biases {', '.join(sorted(set(there), key=float))} "
                        f"and seeds {', '.join(sorted(set(kept), key=int))} are allowed"
                    )
                rows.append(
                    (evaluation.LEARNERS[recipe], bias, seed, RECIPES[recipe].learner, f"conv4-{recipe}:{path}")
                )
    return pd.DataFrame(rows, columns=["learner", "bias", "seed", "name", "backbone"])


def check_shots(shots: Sequence[int], shown: int, redrawn: int, per_class: int, queries: int = 15) -> None:
    """Refuse parameters of the chapter that do not go together.

    Parameters
    ----------
    shots, shown, redrawn, per_class, queries
        As the chapter has them.

    Raises
    ------
    InputError
        ``shown`` is none of ``shots``, or one of the two sets of images is too small for the most shots.
    """
    if shown not in shots:
        raise InputError(f"shown = {shown}; one of shots, {', '.join(map(str, shots))}, is allowed")
    for name, images, tested in (("redrawn", redrawn, CONFLICT_QUERIES), ("per_class", per_class, queries)):
        if images < (least := max(shots) + tested):
            raise InputError(
                f"{name} = {images}; {max(shots)} shots and {tested} queries take {least} images per class: "
                f"{name} = {least} or more is needed, or fewer shots"
            )


def sample_conflict(
    labels: np.ndarray, inks: int, *, tasks: int, ways: int = 5, shots: int = 5, queries: int = 5, seed: int = 0
) -> dict[str, Tasks]:
    """Tasks in which every class has an ink of its own in the support, and the same queries in three inks.

    The classes of a task get different inks, at random. They point into a bank that holds each of N images in each
    ink: image i in ink a is row a·N + i.

    Parameters
    ----------
    labels : (N,) integers or strings
        The class of each image.
    inks : int
        How many there are; more than ``ways``.
    tasks, ways, shots, queries, seed
        As for `fslcore.tasks.sample_closed`.

    Returns
    -------
    dict of str to Tasks
        ``own``: each query in the ink of its class; ``none``: in one that no class of the task has; ``other``: in that
        of another class. All else is the same, so that the three can be compared in pairs.

    Raises
    ------
    InputError
        Too few inks, and as for `sample_closed`.
    """
    if inks <= ways:
        raise InputError(f"ways = {ways}; fewer than the {inks} inks are needed, so that one is free")
    plain = sample_closed(
        labels, tasks=tasks, ways=ways, shots=shots, queries=queries, seed=seed, skip_small_classes=True
    )
    ink_rng, other_rng, free_rng = streams(seed, 3)
    order = ink_rng.random((tasks, inks)).argsort(axis=1)  # the first K are the classes' inks
    label, size = plain.query_label, len(labels)
    shown = {
        "own": label,
        "none": free_rng.integers(ways, inks, size=label.shape),
        "other": (label + other_rng.integers(1, ways, size=label.shape)) % ways,
    }

    def inked(images: np.ndarray, which: np.ndarray) -> np.ndarray:
        return images + size * np.take_along_axis(order, which, axis=1)

    support = inked(plain.support, plain.support_label)
    return {
        name: replace(
            plain,
            support=support,
            query=inked(plain.query, which),
            sampler={**plain.sampler, "sampling": f"ink: {name}"},
        )
        for name, which in shown.items()
    }


def random_supports(labels: np.ndarray, tasks: Tasks, *, seed: int = 0) -> Tasks:
    """The queries of ``tasks`` with other supports: any images of the same classes, those of the query excepted.

    Parameters
    ----------
    labels : (N,) integers or strings
        The class of each image.
    tasks : Tasks
        No image is twice in a task.
    seed : int
        Same seed, same tasks.
    """
    (rng,) = streams(seed, 1)
    _, of_class = np.unique(labels, return_inverse=True)
    members = [np.flatnonzero(of_class == c) for c in range(of_class.max() + 1)]
    support = tasks.support.copy()
    for row, label, query in zip(support, tasks.support_label, tasks.query):
        taken = set(query.tolist())
        for k in range(tasks.ways):
            mine = label == k
            of = members[of_class[row[mine][0]]]
            row[mine] = [i for i in rng.permutation(of).tolist() if i not in taken][: mine.sum()]
    return replace(tasks, support=support, sampler={**tasks.sampler, "support": "random"})


def in_each_ink(dataset: str) -> list[Images]:
    """Coloured glyphs drawn again in each of `fslcore.datasets.coloured.COLOURS`, all else unchanged.

    Parameters
    ----------
    dataset : str
        With settings such as ``per_class``, but no ``ink``.
    """
    return [_drawn(f"{dataset}{'&' if '?' in dataset else '?'}ink={ink}") for ink in COLOURS]


def counterfactual(
    chosen: pd.DataFrame,
    dataset: str,
    *,
    shots: Iterable[int] = (1, 5),
    tasks: int = 600,
    ways: int = 5,
    queries: int = CONFLICT_QUERIES,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """What an ink that is changed, and nothing else, does to each network's accuracy (see `sample_conflict`).

    Parameters
    ----------
    chosen : DataFrame
        As `networks` gives them.
    dataset : str
        As for `in_each_ink`.
    shots, tasks, ways, queries, seed
        Of the tasks.
    level : float
        Nominal coverage of the intervals.

    Returns
    -------
    DataFrame
        By learner, bias and shots, in percent: the accuracies ``own``, ``none`` and ``other``, and ``reliance``,
        own - other, each an `fslcore.stats.Interval` that applies to these very images and networks; ``tasks``, the
        latter task by task; ``seeds``, its mean for each network.
    """
    drawn = in_each_ink(dataset)
    sampled = {
        s: sample_conflict(drawn[0].labels, len(drawn), tasks=tasks, ways=ways, shots=s, queries=queries, seed=seed)
        for s in shots
    }
    found = {(*key, s): [] for key in _cells(chosen) for s in sampled}
    for network in chosen.itertuples():
        backbone = evaluation.load_backbone(network.backbone)
        banks = [backbones.features(images, backbone) for images in drawn]
        digest = hashlib.sha256(" ".join(bank.digest for bank in banks).encode()).hexdigest()
        bank = Bank(torch.cat([b.data for b in banks]), np.concatenate([b.labels for b in banks]), digest)
        run = evaluation.Ready(bank, None, learners.make(network.name, backbone))
        for s, kinds in sampled.items():
            found[network.learner, network.bias, s].append(
                {kind: 100 * run.record(of).accuracy() for kind, of in kinds.items()}
            )
    rows = {}
    for key, seeds in found.items():
        mean = {kind: np.mean([of[kind] for of in seeds], axis=0) for kind in seeds[0]}
        rows[key] = {
            **{kind: stats.closed_interval(accuracy, level) for kind, accuracy in mean.items()},
            "reliance": stats.paired_interval(mean["own"], mean["other"], level),
            "tasks": mean["own"] - mean["other"],
            "seeds": [float(np.mean(of["own"] - of["other"])) for of in seeds],
        }
    return _by_cell(rows)


def frozen(learners: Iterable[str], backbone: str = "efficientnet-lite0") -> pd.DataFrame:
    """Learners on the features of one backbone, in the form of `networks`, for `split_gap`; of no known bias."""
    named = {"learner": [evaluation.LEARNERS[name] for name in learners], "name": [*learners]}
    return pd.DataFrame(named).assign(bias=0.0, seed=0, backbone=backbone)


def in_parts(gaps: pd.DataFrame) -> pd.DataFrame:
    """`split_gap` as `fslbook.figures.forest` draws it: the worst class on three kinds of task, and the gap's parts."""
    panels = {
        "worst class of a task (%)": {
            "wAcc-R": "random tasks",
            "wAcc-S": "their queries selected",
            "wAcc-A": "biased tasks",
        },
        "gap and its parts (points)": {
            "gap": "gap",
            "difficulty": "from selecting queries",
            "clue": "from the clue",
        },
    }
    parts = [
        _forest_rows(gaps, names, lambda key, panel=panel: (panel, f"{key[0]}, {key[2]}-shot"))
        for panel, names in panels.items()
    ]
    return pd.concat(parts, ignore_index=True)


def _forest_rows(
    table: pd.DataFrame, names: dict[str, str], placed: Callable[[tuple], tuple[str, str]]
) -> pd.DataFrame:
    """Intervals of these columns as `fslbook.figures.forest` draws them; ``placed`` gives panel and row of a key."""
    return pd.DataFrame(
        [
            (*placed(key), name, of[column].mean, of[column].half_width)
            for key, of in table.iterrows()
            for column, name in names.items()
        ],
        columns=["panel", "row", "series", "mean", "half_width"],
    )


def split_gap(
    chosen: pd.DataFrame,
    dataset: str,
    has: np.ndarray,
    *,
    shots: Iterable[int] = (1, 5),
    tasks: int = 600,
    ways: int = 5,
    queries: int = 15,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """FewSTAB's gap of each network, split into the difficulty of the queries and the clue that is planted.

    On random tasks (R) of the same classes, on biased tasks (A), and on tasks with the biased queries but random
    supports (S) the worst class has wAcc-R, wAcc-A and wAcc-S. What the queries cost without any clue in the
    support, R - S, is difficulty; what the clue costs beyond that is S - A; the two add up to the gap.

    Parameters
    ----------
    chosen : DataFrame
        As `networks` gives them.
    dataset : str
    has : (N, A) bool
        Attributes of its images.
    shots, tasks, ways, queries, seed
        Of the tasks.
    level : float
        Nominal coverage of the intervals.

    Returns
    -------
    DataFrame
        By learner, bias and shots, in percent: ``wAcc-R``, ``wAcc-S``, ``wAcc-A`` and, of mean accuracy, ``Acc-R``;
        ``gap``, ``difficulty``, ``clue``
        and ``mean gap``, that of mean accuracy, paired task by task; each an `fslcore.stats.Interval`. A number,
        ``relative``: gap / wAcc-R. And ``tasks``, the gap task by task, and ``seeds``, its mean for each network.
    """
    images = _drawn(dataset)
    sampled = {}
    for s in shots:
        shape = dict(tasks=tasks, ways=ways, shots=s, queries=queries, seed=seed)
        try:
            biased, _ = sample_biased(images.labels, has, **shape)
        except InputError as why:
            raise InputError(
                f"shots = {s}, queries = {queries}; fewer, or a larger per_class, are needed for biased tasks of "
                f"{dataset}: {str(why).removeprefix(f'ways = {ways}; ')}"
            ) from why
        sampled[s] = {
            "R": sample_matched(images.labels, biased, seed=seed),
            "S": random_supports(images.labels, biased, seed=seed),
            "A": biased,
        }
    found = {(*key, s): [] for key in _cells(chosen) for s in sampled}
    for network in chosen.itertuples():
        run = evaluation.ready(images, network.backbone, network.name)
        for s, kinds in sampled.items():
            found[network.learner, network.bias, s].append({kind: run.record(part) for kind, part in kinds.items()})
    rows = {}
    for key, seeds in found.items():
        each = {kind: [100 * of[kind].worst_class() for of in seeds] for kind in "RSA"}
        worst = {kind: np.mean(values, axis=0) for kind, values in each.items()}
        mean = {kind: np.mean([100 * of[kind].accuracy() for of in seeds], axis=0) for kind in "RA"}
        row = {f"wAcc-{kind}": stats.closed_interval(values, level) for kind, values in worst.items()}
        row["gap"] = stats.paired_interval(worst["R"], worst["A"], level)
        row["difficulty"] = stats.paired_interval(worst["R"], worst["S"], level)
        row["clue"] = stats.paired_interval(worst["S"], worst["A"], level)
        row["Acc-R"] = stats.closed_interval(mean["R"], level)
        row["mean gap"] = stats.paired_interval(mean["R"], mean["A"], level)
        row["relative"] = row["gap"].mean / row["wAcc-R"].mean
        row["tasks"] = worst["R"] - worst["A"]
        row["seeds"] = [float(np.mean(r - a)) for r, a in zip(each["R"], each["A"])]
        rows[key] = row
    return _by_cell(rows)


def steps(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """From each bias to the next: how much the gap, or the reliance, of a learner rises.

    Parameters
    ----------
    table : DataFrame
        As `split_gap` or `counterfactual` give it: all on the same tasks.
    level : float
        Nominal coverage.

    Returns
    -------
    DataFrame
        By learner and shots, a column a step: paired intervals.
    """
    rows = {}
    for key, of in table.groupby(["learner", "shots"], sort=False):
        values = of.sort_index(level="bias")["tasks"]
        biases = values.index.get_level_values("bias")
        for a, b in zip(range(len(values)), range(1, len(values))):
            step = f"{biases[a]:g} to {biases[b]:g}"
            rows.setdefault(key, {})[step] = stats.paired_interval(values.iloc[b], values.iloc[a], level)
    found = pd.DataFrame.from_dict(rows, orient="index")
    found.index = pd.MultiIndex.from_tuples(found.index, names=["learner", "shots"])
    return found


def orderings(truth: pd.Series, gaps: pd.DataFrame, *, level: float = 0.95, seed: int = 0) -> pd.DataFrame:
    """How well each of `SCORES` orders what they truly rely on: Spearman's rank correlations.

    Parameters
    ----------
    truth : Series
        The reliance, in percent, by learner and bias.
    gaps : DataFrame
        As `split_gap` gives them, with the same index.
    level : float
        Nominal coverage of the interval, which resamples the rows.
    seed : int

    Returns
    -------
    DataFrame
        By score ``rank correlation`` over all rows with its interval ``low`` and ``high``, and ``p``, of a
        permutation test that there is none; and the same correlation ``within`` each learner, averaged.
    """
    rows = {}
    for score, name in SCORES.items():
        found = gaps[score].map(_mean) * (-1 if score == "wAcc-A" else 1)
        both = pd.DataFrame({"truth": truth, "score": found}).dropna()
        pair = both["truth"].to_numpy(), both["score"].to_numpy()
        boot = scipy_stats.bootstrap(
            pair,
            # Of one row, again and again, nothing is ordered.
            lambda a, b, axis: np.nan_to_num(stats.rank_correlation(a, b)),
            paired=True,
            vectorized=True,
            method="percentile",
            confidence_level=level,
            n_resamples=9999,
            rng=np.random.default_rng(seed),
        )
        p = scipy_stats.permutation_test(
            pair,
            lambda a, b, axis: stats.rank_correlation(a, b),
            permutation_type="pairings",
            vectorized=True,
            n_resamples=9999,
            rng=np.random.default_rng(seed),
        ).pvalue
        within = [stats.rank_correlation(of["truth"], of["score"]) for _, of in both.groupby("learner")]
        rows[name] = {
            "rank correlation": float(stats.rank_correlation(*pair)),
            "low": boot.confidence_interval.low,
            "high": boot.confidence_interval.high,
            "p": p,
            "within": np.mean(within),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("ordered by")


def score_rows(found: pd.DataFrame) -> pd.DataFrame:
    """`orderings` as `fslbook.figures.forest` draws them: a panel per number of shots.

    Parameters
    ----------
    found : DataFrame
        With shots as an outer level of the index.
    """
    rows = found.reset_index().rename(columns={"ordered by": "row", "rank correlation": "mean"})
    return rows.assign(panel=[f"S = {s}" for s in rows["shots"]])


def part_rows(split: pd.DataFrame) -> pd.DataFrame:
    """The gap and its parts as `fslbook.figures.forest` draws them: a panel per learner, a row per bias.

    Parameters
    ----------
    split : DataFrame
        ``gap``, ``difficulty`` and ``clue``, intervals by learner and bias.
    """
    names = {"gap": "gap", "difficulty": "queries, R − S", "clue": "clue, S − A"}
    return _forest_rows(split, names, lambda key: (key[0], f"bias {key[1]:g}"))


def noisy(true: Attributes, drop: float, invent: float, *, seed: int = 0) -> Attributes:
    """What a captioner would say that misses each attribute of an image and adds each other one at these rates.

    With one ``seed``, what goes wrong at a low rate goes wrong at every higher one.

    Parameters
    ----------
    true : Attributes
        Of N images.
    drop, invent : float
        Probabilities, 0 to 1.
    seed : int

    Raises
    ------
    InputError
        A rate outside 0 to 1.
    """
    for name, rate in (("drop", drop), ("invent", invent)):
        if not 0 <= rate <= 1:
            raise InputError(f"{name} = {rate}; 0 to 1 is allowed")
    (rng,) = streams(seed, 1)
    wrong = rng.random(true.has.shape) < np.where(true.has, drop, invent)
    return Attributes(true.has ^ wrong, true.names)


def error_rates(told: Attributes, true: Attributes) -> tuple[float, float]:
    """Share of true attributes that a captioner missed, and of those an image lacks that it told.

    Parameters
    ----------
    told, true : Attributes
        Of the same images, with the same names.

    Raises
    ------
    InputError
        Other images or other names.
    """
    if told.names != true.names or len(told) != len(true):
        raise InputError("attributes of other images or with other names; the same are needed")
    return float((~told.has[true.has]).mean()), float(told.has[~true.has].mean())


def inks_seen(dataset: str) -> Attributes:
    """The inks of coloured glyphs as `fslbook.attributes.pixels` tells them, under the names of the true ones."""
    seen = attributes.of(_drawn(dataset), "pixels")
    column = {name: i for i, name in enumerate(seen.names)}
    true = attributes.of(_drawn(dataset), "facts:ink").names
    named = [column.get(f"colour: {ink.removeprefix('ink: ')}") for ink in true]
    has = np.stack([np.zeros(len(seen), bool) if a is None else seen.has[:, a] for a in named], axis=1)
    return Attributes(has, true)


def noise_curves(
    chosen: pd.DataFrame,
    dataset: str,
    truth: pd.Series,
    *,
    rates: Iterable[float],
    shots: int = 5,
    seed: int = 0,
    **sizes,
) -> pd.DataFrame:
    """The gap by ink, and how it orders networks, where the captioner errs.

    Parameters
    ----------
    chosen, dataset
        As for `split_gap`; so are ``sizes``.
    truth : Series
        The reliance, by the index of `split_gap`.
    rates : floats
        At which inks are dropped, or invented, or both.

    Returns
    -------
    DataFrame
        A row a captioner, the last one `fslbook.attributes.pixels`, whose rates are measured: ``captioner``
        (drop, invent, both or pixels), ``drop``, ``invent``; means over learners and biases of ``gap``, ``clue`` and
        ``mean gap`` in points; and Spearman's rank correlation with the truth, ``by gap`` and ``by relative gap``.
    """
    true, seen = attributes.of(_drawn(dataset), "facts:ink"), inks_seen(dataset)
    kinds = {"drop": (1, 0), "invent": (0, 1), "both": (1, 1)}
    errors = [(kind, rate * drop, rate * invent) for kind, (drop, invent) in kinds.items() for rate in rates]
    told = [(*error, noisy(true, *error[1:], seed=seed)) for error in errors]
    rows = []
    for captioner, drop, invent, made in [*told, ("pixels", *error_rates(seen, true), seen)]:
        gaps = split_gap(chosen, dataset, made.has, shots=[shots], seed=seed, **sizes)
        means = gaps[["gap", "clue", "mean gap", "relative"]].map(_mean)
        rows.append(
            {
                "captioner": captioner,
                "drop": drop,
                "invent": invent,
                **means[["gap", "clue", "mean gap"]].mean(),
                "by gap": float(stats.rank_correlation(truth[means.index], means["gap"])),
                "by relative gap": float(stats.rank_correlation(truth[means.index], means["relative"])),
            }
        )
    return pd.DataFrame(rows)


_drawn = lru_cache(maxsize=32)(datasets.load)  # drawn once for all networks


def _cells(chosen: pd.DataFrame) -> list[tuple]:
    return list(chosen[CELL].drop_duplicates().itertuples(index=False, name=None))


def _by_cell(rows: dict) -> pd.DataFrame:
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=[*CELL, "shots"])
    return table


def _mean(value: float | stats.Interval) -> float:
    return value.mean if isinstance(value, stats.Interval) else value
