"""Do the three intervals hold what they promise? Replicates on populations whose truth is known.

A *world* is a set of classes, Gaussian clouds of features seen by two backbones that are equally good.
From it test sets are drawn. With a world kept and its images drawn anew, one sees whether the interval
for new images holds; with a new world for each test set, the interval for new classes.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from fslcore import stats
from fslcore.datasets.bank import Bank
from fslcore.paths import DATA
from fslcore.tasks import sample_closed, sample_open

from .worlds import QUERIES, USUAL_TASKS, WAYS, Regime, correct, draw, part_of, world

__all__ = [
    "PILOT",
    "check_plan",
    "from_population",
    "load",
    "names",
    "population_summary",
    "replicates",
    "summary",
    "width_ratios",
]


def replicates(regime: Regime, new: str, worlds: int, sets: int, *, seed: int = 0, first: int = 0) -> pd.DataFrame:
    """Intervals of many test sets, in percent.

    Parameters
    ----------
    new : str
        'images': each world keeps its classes, the two backbones see the same class means and so are
        equally good on them. 'classes': a world has one test set, and each backbone its own means.
    worlds, sets : int
        Worlds, and test sets of each (1 for 'classes').
    seed, first : int
        World w has the random stream (seed, first + w).

    Returns
    -------
    DataFrame
        One row a test set: the regime; of the first backbone the ``mean`` and the half-widths
        ``closed_half``, ``images_half`` and ``classes_half``, for 600 closed tasks ``usual_half`` and
        ``usual_gap``, their mean minus that of the other tasks, and for open tasks
        ``open_mean_Q`` and ``open_half_Q``; the ``difference`` of the backbones with
        ``paired_images_half`` and ``paired_classes_half``; and their difference over 600 tasks where a
        coin a task says which is which, so that they are equal on these very images (``coin``, ``coin_half``).
    """
    rows = []
    for number in range(first, first + worlds):
        rng = np.random.default_rng([seed, number])
        means, scale = world(regime, 0.6 * (1 - regime.alike) if new == "classes" else 0.0, rng)
        for repeat in range(sets):
            banks, labels = draw(means, scale, regime.images, regime.alike, rng)
            shape = dict(ways=WAYS, shots=regime.shots, seed=int(rng.integers(2**31)))
            tasks = sample_closed(labels, tasks=regime.tasks, queries=15, **shape)
            a, b = (correct(bank, tasks) for bank in banks)
            single = stats.three_intervals(a, tasks.support, tasks.query, labels)
            paired = stats.three_intervals(a - b, tasks.support, tasks.query, labels)
            accuracy, usual = a.mean(axis=1), slice(USUAL_TASKS)
            flipped = ((a - b).mean(axis=1) * rng.choice([-1, 1], len(a)))[usual]
            coin = stats.paired_interval(flipped, np.zeros_like(flipped))
            row = asdict(regime) | {
                "new": new,
                "world": number,
                "set": repeat,
                "tasks": regime.tasks,
                "mean": single.closed.mean,
                "closed_half": single.closed.half_width,
                "images_half": single.images.half_width,
                "classes_half": single.classes.half_width,
                "usual_half": stats.closed_interval(accuracy[usual]).half_width,
                "usual_gap": accuracy[usual].mean() - accuracy[USUAL_TASKS:].mean(),
                "difference": paired.closed.mean,
                "paired_images_half": paired.images.half_width,
                "paired_classes_half": paired.classes.half_width,
                "coin": coin.mean,
                "coin_half": coin.half_width,
            }
            for q in (q for q in QUERIES if regime.shots + q <= regime.images):
                opened = stats.open_interval(correct(banks[0], sample_open(labels, queries=q, **shape)).mean(axis=1))
                row |= {f"open_mean_{q}": opened.mean, f"open_half_{q}": opened.half_width}
            rows.append(row)
    return pd.DataFrame(rows)


def from_population(
    population: Bank, new: str, worlds: int, sets: int, *, classes: int, images: int, shots: int, seed: int = 0
) -> pd.DataFrame:
    """The same on real images: test sets drawn from a large data set, over all of which the mean is the truth.

    Parameters
    ----------
    population : Bank
        Features of the large data set, for NCC.
    new : str
        'images': each world is a choice of classes, and its test sets differ in their images. 'classes': every
        test set has its own classes.
    worlds, sets : int
        Worlds, and test sets of each (1 for 'classes').
    classes, images, shots : int
        C, images of each class and S of a test set.
    seed : int
        World w has the random stream (seed, w).

    Returns
    -------
    DataFrame
        One row a test set: world, ``truth`` and ``mean``, with half-widths ``images_half`` and
        ``classes_half``, and ``usual_mean`` with ``usual_half`` over the first 600 tasks; percent.
    """

    def mean(bank: Bank) -> float:
        return correct(bank, sample_closed(bank.labels, tasks=20_000, ways=WAYS, shots=shots, seed=seed)).mean()

    rows = []
    truth = mean(population) if new == "classes" else None
    for number in range(worlds):
        rng = np.random.default_rng([seed, number])
        chosen = rng.permutation(np.unique(population.labels))[:classes]
        if new == "images":
            truth = mean(part_of(population, np.flatnonzero(np.isin(population.labels, chosen))))
        for _ in range(sets):
            rows_of = [rng.permutation(np.flatnonzero(population.labels == c))[:images] for c in chosen]
            bank = part_of(population, np.concatenate(rows_of))
            tasks = sample_closed(bank.labels, tasks=2000, ways=WAYS, shots=shots, seed=int(rng.integers(2**31)))
            right = correct(bank, tasks)
            r = stats.three_intervals(right, tasks.support, tasks.query, bank.labels)
            usual = stats.closed_interval(right[:USUAL_TASKS].mean(axis=1))
            rows.append(
                {
                    "new": new,
                    "world": number,
                    "truth": truth,
                    "mean": r.closed.mean,
                    "images_half": r.images.half_width,
                    "classes_half": r.classes.half_width,
                    "usual_mean": usual.mean,
                    "usual_half": usual.half_width,
                }
            )
    return pd.DataFrame(rows)


def names(table: pd.DataFrame) -> list[str]:
    """A short name of the regime of each row."""
    difficulty = table["spread"].map(lambda spread: "hard" if spread < 0.65 else "easy")
    columns = table["classes"], table["images"], table["shots"], difficulty
    return [f"C = {c:.0f}, n = {n:.0f}, {s:.0f}-shot, {d}" for c, n, s, d in zip(*columns)]


def load(name: str = "replicates") -> pd.DataFrame:
    """The 'replicates', or those from a 'population', that ship with the book (``data/coverage/build.py``)."""
    return pd.read_parquet(DATA / "coverage" / f"{name}.parquet")


def population_summary(made: pd.DataFrame) -> pd.DataFrame:
    """Share (percent) of intervals of `from_population` that hold the truth, by setting and what was drawn anew."""
    usual = (made["usual_mean"] - made["truth"]).abs() <= made["usual_half"]
    own_half = made["images_half"].where(made["new"] == "images", made["classes_half"])
    ours = (made["mean"] - made["truth"]).abs() <= own_half
    keys = ["dataset", "backbone", "shots", "new"]
    shares = pd.DataFrame({"closed": 100 * usual, "ours": 100 * ours}).groupby([made[k] for k in keys], sort=False)
    return shares.mean().round(1).assign(**{"test sets": shares.size()}).reset_index()


def summary(replicates: pd.DataFrame) -> pd.DataFrame:
    """Coverage of each interval on each target, type-I errors and widths, by regime.

    Returns
    -------
    DataFrame
        One row a regime and statement: the regime, ``target`` ('these images', 'new images' or 'new
        classes'), ``interval`` ('closed', 'open', 'images', 'classes', or 'paired' for the share of
        intervals of a difference that leave out 0 though there is none), ``share`` in percent of ``n`` test
        sets, ``low`` and ``high``, its 95 % interval (Clopper and Pearson), and ``half_width``, the mean one.
        Open intervals are at ``queries``, the Q with the narrowest. Where the truth is a mean over the
        replicates themselves, errors are scaled for that.
    """
    rows = []
    for regime, part in replicates.groupby(["classes", "images", "shots", "spread", "alike"]):
        halves = part[[f"open_half_{q}" for q in QUERIES]].mean()
        best = int(halves.idxmin().rsplit("_", 1)[1])

        def add(target, interval, error, half, inside=True):
            hits = int(((error.abs() <= half) == inside).sum())
            low, high = binomtest(hits, len(half)).proportion_ci()
            rows.append(
                (*regime, best, target, interval, 100 * hits / len(half), len(half), 100 * low, 100 * high, half.mean())
            )

        left = 1 - USUAL_TASKS / part["tasks"]  # the other tasks are no truth but a mean as well
        add("these images", "closed", part["usual_gap"] * np.sqrt(left), part["usual_half"])
        add("these images", "paired", part["coin"], part["coin_half"], inside=False)
        for new, sets in part.groupby("new"):
            means = sets.groupby("world")["mean"] if new == "images" else sets["mean"].groupby(np.zeros(len(sets)))
            truth, k = means.transform("mean"), means.transform("size")
            error, own = sets["mean"] - truth, np.sqrt(k / (k - 1))
            add(f"new {new}", "closed", error * own, sets["usual_half"])
            add(f"new {new}", "open", sets[f"open_mean_{best}"] - truth, sets[f"open_half_{best}"])
            add(f"new {new}", new, error * own, sets[f"{new}_half"])
            add(f"new {new}", "paired", sets["difference"], sets[f"paired_{new}_half"], inside=False)
    columns = [
        "classes",
        "images",
        "shots",
        "spread",
        "alike",
        "queries",
        "target",
        "interval",
        "share",
        "n",
        "low",
        "high",
        "half_width",
    ]
    return pd.DataFrame(rows, columns=columns)


def width_ratios(summary: pd.DataFrame) -> pd.DataFrame:
    """Mean half-width of the open interval at its best Q over that for new images: a row a regime, ``ratio``."""
    regime = ["classes", "images", "shots", "spread", "queries"]
    half = summary[summary["target"] == "new images"].pivot(index=regime, columns="interval", values="half_width")
    return (half["open"] / half["images"]).rename("ratio").reset_index()


PILOT = Regime(classes=10, images=30, shots=1, spread=0.6)  # the test set that `check_plan` plans from


def check_plan(test_sets: int, *, power: float, level: float, seed: int) -> dict[str, float]:
    """Plan from a pilot, `PILOT`, how many tell two backbones apart, then draw test sets of that size.

    Returns
    -------
    dict
        The true ``difference`` (points, over ten large test sets), ``pilot_half_width``, the planned ``images``
        a class, and the shares of test sets that tell the two apart: ``told`` of the planned size,
        ``told_by_pilot`` of the pilot's.
    """
    rng = np.random.default_rng(seed)
    means, scale = world(PILOT, 0.0, rng)
    means[1] *= 1.05  # classes further apart are told apart more easily

    def paired(images: int) -> stats.ThreeIntervals:
        banks, labels = draw(means, scale, images, PILOT.alike, rng)
        tasks = sample_closed(labels, tasks=2000, ways=WAYS, shots=1, queries=15, seed=int(rng.integers(2**31)))
        a, b = (correct(bank, tasks) for bank in banks)
        return stats.three_intervals(b - a, tasks.support, tasks.query, labels, level=level)

    difference = float(np.mean([paired(150).closed.mean for _ in range(10)]))
    first = paired(PILOT.images)
    images = stats.plan(
        first,
        images_per_class=PILOT.images,
        n_classes=PILOT.classes,
        ways=WAYS,
        shots=PILOT.shots,
        difference=difference,
        power=power,
        level=level,
    ).images_per_class
    told = {n: np.mean([paired(n).images.conclusion == 1 for _ in range(test_sets)]) for n in (images, PILOT.images)}
    return {
        "difference": difference,
        "pilot_half_width": first.images.half_width,
        "images": images,
        "told": told[images],
        "told_by_pilot": told[PILOT.images],
    }
