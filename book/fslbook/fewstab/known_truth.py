"""FewSTAB's gap against known truth: how far do learners rely on ink, and does the gap say so?

In coloured glyphs any image can be drawn again in another ink with all else unchanged, so what a
learner makes of ink is measured by itself (`counterfactual`). The gap of
`fslbook.biased_tasks.sample_biased` is then set against it, split into what is planted and what is mere
difficulty (`split_gap`), and measured again with attributes of a captioner that errs at known rates
(`noisy`).

Networks that differ in nothing but the seed of their training are averaged, task by task: they are
alike, and not evidence of their own on how a score orders learners."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise, product

import numpy as np
import pandas as pd
import torch
from scipy import stats as scipy_stats

from fslcore import datasets, evaluation, learners, stats
from fslcore.datasets import Images
from fslcore.datasets.bank import Bank
from fslcore.errors import InputError, number
from fslcore.models import backbones
from fslcore.paths import DATA
from fslcore.tasks import Tasks, sample_class_matched, sample_closed
from fslcore.tasks.samplers import streams

from .. import attributes
from ..attributes import Attributes
from ..biased_tasks import sample_biased
from ..catalogue import LEARNER_TITLES
from ..coloured_glyphs import COLOURS
from ..estimation.ranks import rank_correlation
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
    """The networks that were trained with ink tied to class, each with the learner it was trained
    for.

    Parameters
    ----------
    biases : floats
        Shares of training images that have their class's own ink.
    seeds : ints
        Of the training.

    Returns
    -------
    DataFrame
        ``learner`` (as it is written), ``bias``, ``seed``, ``name`` (of `fslcore.learners`) and
        ``backbone`` (as for `fslcore.models.backbones.load`).

    Raises
    ------
    InputError
        No such network: says which biases and seeds there are.
    """
    rows = []
    for recipe, bias, seed in product(TRAININGS, biases, seeds):
        path = FOLDER / f"{recipe}-{bias:g}-{seed}.safetensors"
        if not path.is_file():
            raise _no_network(bias, seed)
        learner = LEARNER_TITLES[recipe]
        backbone = f"conv4-{recipe}:{path}"
        rows.append((learner, bias, seed, RECIPES[recipe].learner, backbone))
    return pd.DataFrame(rows, columns=["learner", "bias", "seed", "name", "backbone"])


def _no_network(bias: float, seed: int) -> InputError:
    names = [file.stem.rsplit("-", 2) for file in FOLDER.glob("*.safetensors")]
    biases = sorted({name[1] for name in names}, key=float)
    seeds = sorted({name[2] for name in names}, key=int)
    return InputError(
        f"bias and seed must be of a network, biases {', '.join(biases)} and seeds "
        f"{', '.join(seeds)}, got {bias:g} and {seed}"
    )


def check_shots(
    shots: Sequence[int], in_figures: int, redrawn: int, per_class: int, queries: int
) -> None:
    """Refuse parameters of the chapter that do not go together.

    Parameters
    ----------
    shots, in_figures, redrawn, per_class, queries
        As the chapter has them, ``in_figures`` as ``shown``.

    Raises
    ------
    InputError
        ``in_figures`` is none of ``shots``, or one of the two sets of images is too small for the
        most shots.
    """
    if in_figures not in shots:
        raise InputError(
            f"shown must be one of shots, {', '.join(map(str, shots))}, got {in_figures}"
        )
    for name, images, tested in (
        ("redrawn", redrawn, CONFLICT_QUERIES),
        ("per_class", per_class, queries),
    ):
        needed = max(shots) + tested
        if images < needed:
            raise InputError(
                f"{name} must be at least {needed}, images per class for {max(shots)} shots and "
                f"{tested} queries, got {images}; or give fewer shots"
            )


def sample_conflict(
    labels: np.ndarray, inks: int, *, ways: int = 5, queries: int = 5, seed: int = 0, **shape: int
) -> dict[str, Tasks]:
    """Tasks in which every class has an ink of its own in the support, and the same queries in
    three inks.

    The classes of a task get different inks, at random. They point into a bank that holds each of N
    images in each ink: image i in ink a is row a·N + i.

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
        ``own``: each query in the ink of its class; ``none``: in one that no class of the task has;
        ``other``: in that of another class. All else is the same, so that the three can be compared
        in pairs.

    Raises
    ------
    InputError
        Too few inks, and as for `sample_closed`.
    """
    if inks <= ways:
        raise InputError(
            f"ways must be fewer than the {inks} inks, so that one is free, got {ways}"
        )
    tasks = sample_closed(
        labels, ways=ways, queries=queries, seed=seed, skip_small_classes=True, **shape
    )
    order, places = _inks(tasks.query_label, ways, inks, seed)
    support = _inked(tasks.support, order, tasks.support_label, len(labels))
    conflicts = {}
    for name, place in places.items():
        query = _inked(tasks.query, order, place, len(labels))
        sampler = {**tasks.sampler, "sampling": f"ink: {name}"}
        conflicts[name] = replace(tasks, support=support, query=query, sampler=sampler)
    return conflicts


def _inks(label, ways, inks, seed):
    """The inks of each task in random order, and the places in it of those of the queries.

    The first K of all inks are those of the task's classes.
    """
    ink_rng, other_rng, free_rng = streams(seed, 3)
    order = ink_rng.random((len(label), inks)).argsort(axis=1)
    free = free_rng.integers(ways, inks, size=label.shape)
    other_class = (label + other_rng.integers(1, ways, size=label.shape)) % ways
    return order, {"own": label, "none": free, "other": other_class}


def _inked(images, order, place, count):
    """Rows of the bank that hold these of ``count`` images in the inks at these places of the
    order."""
    return images + count * np.take_along_axis(order, place, axis=1)


def random_supports(labels: np.ndarray, tasks: Tasks, *, seed: int = 0) -> Tasks:
    """The queries of ``tasks`` with other supports: any images of the same classes, those of the
    query excepted.

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
    _, labels = np.unique(labels, return_inverse=True)
    members = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]
    support = tasks.support.copy()
    for row, label, query in zip(support, tasks.support_label, tasks.query):
        for k in range(tasks.ways):
            places = np.flatnonzero(label == k)
            images = rng.permutation(members[labels[row[places[0]]]])
            row[places] = images[~np.isin(images, query)][: len(places)]
    return replace(tasks, support=support, sampler={**tasks.sampler, "support": "random"})


def in_each_ink(dataset: str) -> list[Images]:
    """Coloured glyphs drawn again in each of `fslbook.coloured_glyphs.COLOURS`, all else
    unchanged.

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
    level: float = 0.95,
    **shape: int,
) -> pd.DataFrame:
    """What an ink that is changed, and nothing else, does to each network's accuracy (see
    `sample_conflict`).

    Parameters
    ----------
    chosen : DataFrame
        As `networks` gives them.
    dataset : str
        As for `in_each_ink`.
    shots, tasks, ways, seed
        Of the tasks.
    level : float
        Nominal coverage of the intervals.

    Returns
    -------
    DataFrame
        By learner, bias and shots, in percent: the accuracies ``own``, ``none`` and ``other``, and
        ``reliance``, own - other, each an `fslcore.stats.Interval` that applies to these very
        images and networks; ``tasks``, the latter task by task; ``seeds``, its mean for each
        network.
    """
    inks = in_each_ink(dataset)
    shape = {"tasks": 600, "queries": CONFLICT_QUERIES} | shape
    sampled = {
        count: sample_conflict(inks[0].labels, len(inks), shots=count, **shape) for count in shots
    }
    records = _records(chosen, sampled, partial(_ready_in_each_ink, inks))
    return _by_cell(records, _reliance, level)


def _ready_in_each_ink(inks, network):
    backbone = evaluation.load_backbone(network.backbone)
    banks = [backbones.features(images, backbone) for images in inks]
    digest = hashlib.sha256(" ".join(bank.digest for bank in banks).encode()).hexdigest()
    data = torch.cat([bank.data for bank in banks])
    bank = Bank(data, np.concatenate([bank.labels for bank in banks]), digest)
    return evaluation.ConfiguredMethod(bank, None, learners.make(network.name, backbone))


def _records(chosen, sampled, ready):
    """Records on each kind of tasks, by learner, bias and shots; a dict for each seed of the
    training."""
    records = {(*key, shots): [] for key in _cells(chosen) for shots in sampled}
    for network in chosen.itertuples():
        run = ready(network)
        for shots, kinds in sampled.items():
            by_kind = {kind: run.outcomes(tasks) for kind, tasks in kinds.items()}
            records[network.learner, network.bias, shots].append(by_kind)
    return records


def _reliance(runs, level):
    """A row of `counterfactual`, from the runs of several seeds."""
    accuracy = {kind: [100 * run[kind].accuracy() for run in runs] for kind in runs[0]}
    mean = {kind: np.mean(values, axis=0) for kind, values in accuracy.items()}
    row = {kind: stats.closed_task_interval(values, level) for kind, values in mean.items()}
    row["reliance"] = stats.paired_interval(mean["own"], mean["other"], level)
    row["tasks"] = mean["own"] - mean["other"]
    row["seeds"] = _mean_differences(accuracy["own"], accuracy["other"])
    return row


def _mean_differences(first, second):
    return [float(np.mean(a - b)) for a, b in zip(first, second)]


def frozen(learners: Iterable[str]) -> pd.DataFrame:
    """Learners on the features of EfficientNet-Lite0, in the form of `networks`, for `split_gap`;
    of no known bias."""
    named = {"learner": [LEARNER_TITLES[name] for name in learners], "name": [*learners]}
    return pd.DataFrame(named).assign(bias=0.0, seed=0, backbone="efficientnet-lite0")


def in_parts(gaps: pd.DataFrame) -> pd.DataFrame:
    """`split_gap` as `fslbook.figures.forest` draws it: the worst class on three kinds of task, and
    the gap's parts."""
    titles = {"accuracy (%)": "worst class of a task", "difference (points)": "gap and its parts"}
    panels = {
        "accuracy (%)": {
            "wAcc-R": "random tasks",
            "wAcc-S": "their queries selected",
            "wAcc-A": "biased tasks",
        },
        "difference (points)": {
            "gap": "gap",
            "difficulty": "from selecting queries",
            "clue": "from the clue",
        },
    }
    parts = []
    for xlabel, names in panels.items():
        rows = _forest_rows(gaps, names, lambda key: ("", f"{key[0]}, {key[2]}-shot"))
        parts.append(rows.assign(panel=titles[xlabel], xlabel=xlabel))
    return pd.concat(parts, ignore_index=True)


def _forest_rows(table, names, placed):
    """Intervals of these columns as `fslbook.figures.forest` draws them; ``placed`` gives panel and
    row of a key."""
    rows = []
    for key, intervals in table.iterrows():
        for column, name in names.items():
            interval = intervals[column]
            rows.append((*placed(key), name, interval.estimate, interval.half_width))
    return pd.DataFrame(rows, columns=["panel", "row", "series", "mean", "half_width"])


def split_gap(
    chosen: pd.DataFrame,
    dataset: str,
    has: np.ndarray,
    *,
    shots: Iterable[int] = (1, 5),
    level: float = 0.95,
    **shape: int,
) -> pd.DataFrame:
    """FewSTAB's gap of each network, split into the difficulty of the queries and the clue that is
    planted.

    On random tasks (R) of the same classes, on biased tasks (A), and on tasks with the biased
    queries but random supports (S) the worst class has wAcc-R, wAcc-A and wAcc-S. What the queries
    cost without any clue in the support, R - S, is difficulty; what the clue costs beyond that is S
    - A; the two add up to the gap.

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
        By learner, bias and shots, in percent: ``wAcc-R``, ``wAcc-S``, ``wAcc-A`` and, of mean
        accuracy, ``Acc-R``; ``gap``, ``difficulty``, ``clue`` and ``mean gap``, that of mean
        accuracy, paired task by task; each an `fslcore.stats.Interval`. A number, ``relative``: gap
        / wAcc-R. And ``tasks``, the gap task by task, and ``seeds``, its mean for each network.
    """
    images = _drawn(dataset)
    shape = {"tasks": 600, "ways": 5, "queries": 15, "seed": 0} | shape
    sampled = {}
    for count in shots:
        try:
            biased, _ = sample_biased(images.labels, has, shots=count, **shape)
        except InputError as error:
            raise InputError(
                f"shots and queries must be fewer, or per_class larger, for biased tasks of {dataset}, "
                f"got {count} and {shape['queries']}: {error}"
            ) from error
        sampled[count] = {
            "R": sample_class_matched(images.labels, biased, seed=shape["seed"]),
            "S": random_supports(images.labels, biased, seed=shape["seed"]),
            "A": biased,
        }
    records = _records(chosen, sampled, partial(_ready, images))
    return _by_cell(records, _gap_and_parts, level)


def _ready(images, network):
    return evaluation.configure(images, network.backbone, network.name)


def _gap_and_parts(runs, level):
    """A row of `split_gap`, from the runs of several seeds."""
    by_seed = {kind: [100 * run[kind].worst_class() for run in runs] for kind in "RSA"}
    worst = {kind: np.mean(values, axis=0) for kind, values in by_seed.items()}
    mean = {kind: np.mean([100 * run[kind].accuracy() for run in runs], axis=0) for kind in "RA"}
    row = {
        f"wAcc-{kind}": stats.closed_task_interval(values, level) for kind, values in worst.items()
    }
    for name, (easy, hard) in {"gap": "RA", "difficulty": "RS", "clue": "SA"}.items():
        row[name] = stats.paired_interval(worst[easy], worst[hard], level)
    row["Acc-R"] = stats.closed_task_interval(mean["R"], level)
    row["mean gap"] = stats.paired_interval(mean["R"], mean["A"], level)
    row["relative"] = row["gap"].estimate / row["wAcc-R"].estimate
    row["tasks"] = worst["R"] - worst["A"]
    row["seeds"] = _mean_differences(by_seed["R"], by_seed["A"])
    return row


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
    for key, runs in table.groupby(["learner", "shots"], sort=False):
        by_bias = runs["tasks"].droplevel(["learner", "shots"]).sort_index()
        for (lower, before), (higher, after) in pairwise(by_bias.items()):
            rise = stats.paired_interval(after, before, level)
            rows.setdefault(key, {})[f"{lower:g} to {higher:g}"] = rise
    return _by_keys(rows, ["learner", "shots"])


def orderings(
    truth: pd.Series, gaps: pd.DataFrame, *, level: float = 0.95, seed: int = 0
) -> pd.DataFrame:
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
        By score ``rank correlation`` over all rows with its interval ``low`` and ``high``, and
        ``p``, of a permutation test that there is none; and the same correlation ``within`` each
        learner, averaged.
    """
    rows = {}
    for score, name in SCORES.items():
        sign = -1 if score == "wAcc-A" else 1
        pairs = pd.DataFrame({"truth": truth, "score": sign * gaps[score].map(_mean)}).dropna()
        rows[name] = _rank_correlation(pairs, level, seed)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("ordered by")


def order_difference(
    truth: pd.Series,
    gaps: pd.DataFrame,
    scores: tuple[str, str],
    *,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Ends of the interval of a difference: the rank correlation of the first score with the truth,
    minus that of the second.

    Both correlations are of the same resampled rows.

    Parameters
    ----------
    truth, gaps, level, seed
        As for `orderings`.
    scores : two str
        Of `SCORES`, of which larger values mean more reliance.
    """
    columns = {score: gaps[score].map(_mean) for score in scores}
    rows = pd.DataFrame({"truth": truth, **columns}).dropna()

    def difference(truth, first, second, axis):
        correlations = (rank_correlation(truth, score) for score in (first, second))
        first, second = map(np.nan_to_num, correlations)  # of one row again and again: no order
        return first - second

    interval = scipy_stats.bootstrap(
        tuple(rows.to_numpy().T),
        difference,
        paired=True,
        method="percentile",
        confidence_level=level,
        rng=np.random.default_rng(seed),
        vectorized=True,
        n_resamples=9999,
    ).confidence_interval
    return interval.low, interval.high


def _rank_correlation(pairs, level, seed):
    pair = pairs["truth"].to_numpy(), pairs["score"].to_numpy()
    shared = dict(vectorized=True, n_resamples=9999)
    interval = scipy_stats.bootstrap(
        pair,
        # Of one row, again and again, nothing is ordered.
        lambda a, b, axis: np.nan_to_num(rank_correlation(a, b)),
        paired=True,
        method="percentile",
        confidence_level=level,
        rng=np.random.default_rng(seed),
        **shared,
    ).confidence_interval
    test = scipy_stats.permutation_test(
        pair,
        lambda a, b, axis: rank_correlation(a, b),
        permutation_type="pairings",
        rng=np.random.default_rng(seed),
        **shared,
    )
    by_learner = pairs.groupby("learner")
    within_learners = [rank_correlation(part["truth"], part["score"]) for _, part in by_learner]
    return {
        "rank correlation": float(rank_correlation(*pair)),
        "low": interval.low,
        "high": interval.high,
        "p": test.pvalue,
        "within": np.mean(within_learners),
    }


def score_rows(correlations: pd.DataFrame) -> pd.DataFrame:
    """`orderings` as `fslbook.figures.forest` draws them: a panel per number of shots.

    Parameters
    ----------
    correlations : DataFrame
        With shots as an outer level of the index.
    """
    rows = correlations.reset_index().rename(
        columns={"ordered by": "row", "rank correlation": "mean"}
    )
    return rows.assign(panel=[f"S = {s}" for s in rows["shots"]])


def part_rows(split: pd.DataFrame) -> pd.DataFrame:
    """The gap and its parts as `fslbook.figures.forest` draws them: a panel per learner, a row per
    bias.

    Parameters
    ----------
    split : DataFrame
        ``gap``, ``difficulty`` and ``clue``, intervals by learner and bias.
    """
    names = {"gap": "gap", "difficulty": "queries, R − S", "clue": "clue, S − A"}
    return _forest_rows(split, names, lambda key: (key[0], f"bias {key[1]:g}"))


def noisy(true: Attributes, drop: float, invent: float, *, seed: int = 0) -> Attributes:
    """What a captioner would say that misses each attribute of an image and adds each other one at
    these rates.

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
        number(name, rate, minimum=0, maximum=1)
    (rng,) = streams(seed, 1)
    wrong = rng.random(true.has.shape) < np.where(true.has, drop, invent)
    return Attributes(true.has ^ wrong, true.names)


def error_rates(captioned: Attributes, true: Attributes) -> tuple[float, float]:
    """Share of true attributes that a captioner missed, and of those an image lacks that it told.

    Parameters
    ----------
    captioned, true : Attributes
        Of the same images, with the same names.

    Raises
    ------
    InputError
        Other images or other names.
    """
    if captioned.names != true.names or len(captioned) != len(true):
        raise InputError(
            "captioned and true must be of the same images with the same names, got others"
        )
    return float((~captioned.has[true.has]).mean()), float(captioned.has[~true.has].mean())


def inks_seen(dataset: str) -> Attributes:
    """The inks of coloured glyphs as `fslbook.attributes.pixels` reads them, under the names of the
    true ones."""
    pixels = attributes.of(_drawn(dataset), "pixels")
    inks = attributes.of(_drawn(dataset), "facts:ink").names
    has = np.zeros((len(pixels), len(inks)), bool)
    for column, ink in enumerate(inks):
        colour = f"colour: {ink.removeprefix('ink: ')}"
        if colour in pixels.names:
            has[:, column] = pixels.has[:, pixels.names.index(colour)]
    return Attributes(has, inks)


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
        A row a captioner, the last one `fslbook.attributes.pixels`, whose rates are measured:
        ``captioner`` (drop, invent, both or pixels), ``drop``, ``invent``; means over learners and
        biases of ``gap``, ``clue`` and ``mean gap`` in points; and Spearman's rank correlation with
        the truth, ``by gap`` and ``by relative gap``.
    """
    rows = []
    for kind, (drop, invent), inks in _captioners(dataset, rates, seed):
        gaps = split_gap(chosen, dataset, inks.has, shots=[shots], seed=seed, **sizes)
        row = {"captioner": kind, "drop": drop, "invent": invent}
        rows.append(row | _means_and_ranks(gaps, truth))
    return pd.DataFrame(rows)


def _captioners(dataset, rates, seed):
    """Kind, rates of errors and attributes of captioners that err, the last the one of pixels."""
    true = attributes.of(_drawn(dataset), "facts:ink")
    for kind, drop, invent in (("drop", 1, 0), ("invent", 0, 1), ("both", 1, 1)):
        for rate in rates:
            errors = rate * drop, rate * invent
            yield kind, errors, noisy(true, *errors, seed=seed)
    pixels = inks_seen(dataset)
    yield "pixels", error_rates(pixels, true), pixels


def _means_and_ranks(gaps, truth):
    means = gaps[["gap", "clue", "mean gap", "relative"]].map(_mean)
    truth = truth[means.index]
    return {
        **means[["gap", "clue", "mean gap"]].mean(),
        "by gap": float(rank_correlation(truth, means["gap"])),
        "by relative gap": float(rank_correlation(truth, means["relative"])),
    }


_drawn = lru_cache(maxsize=32)(datasets.load)  # drawn once for all networks


def _cells(chosen):
    return list(chosen[CELL].drop_duplicates().itertuples(index=False, name=None))


def _by_cell(records, row_of, level):
    """A row of intervals for each learner, bias and number of shots."""
    rows = {key: row_of(runs, level) for key, runs in records.items()}
    return _by_keys(rows, [*CELL, "shots"])


def _by_keys(rows, names):
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=names)
    return table


def _mean(value):
    return value.estimate if isinstance(value, stats.Interval) else value
