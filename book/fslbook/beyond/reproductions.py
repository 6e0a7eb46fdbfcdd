"""How unusual a difference from a paper is, by what differs, and what a ± says when it is printed.

Three sources: published pairs (``data/published/leaderboards.csv``), published trainings from
several seeds (``seeds.csv`` there), and this book's own trainings (``data/runs``). All are in
points of accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import hypot, sqrt

import numpy as np
import pandas as pd
from scipy.stats import norm, t

from fslcore.paths import DATA
from fslcore.stats.published import BETWEEN
from fslcore.stats.runs import RunIntervals

from .. import labs
from ..training import RECIPES
from . import runs
from .leaderboards import QUERIES, TEST_SPLITS, WAYS, both_half_widths

__all__ = [
    "AUTHORS",
    "CLIPART",
    "ELSEWHERE",
    "GLYPHS",
    "KINDS",
    "SEEDS",
    "TARGET",
    "TWO",
    "Kind",
    "Percentile",
    "SplitWidths",
    "TrainingWidths",
    "agreement",
    "agreement_table",
    "differences",
    "largest_usual",
    "of_tasks",
    "percentile_table",
    "percentiles",
    "published_seeds",
    "reproduction_lab",
    "run_sentence",
    "sentence_to_print",
    "split_widths",
    "training_widths",
]

DECIMALS = 4  # of differences that are compared: printed ones have at most three
CLIPART = "another seed, this book's clip art"
GLYPHS = "another seed, this book's glyphs"
SEEDS = "another seed, published"
AUTHORS = "the authors' code, run by others"
TARGET = "new implementation, target known"
ELSEWHERE = "new implementation, target elsewhere"
TWO = "two other laboratories"


@dataclass(frozen=True)
class Kind:
    """What separates two accuracies of one method.

    Attributes
    ----------
    name : str
    pair_kind : str
        Of ``leaderboards.csv``; empty where the differences have another source.
    is_directed : bool
        Whether one of the two is the original. Otherwise a difference counts half in each direction.
    groups : str
        What its differences are grouped by.
    """

    name: str
    pair_kind: str
    is_directed: bool
    groups: str


KINDS = (
    Kind(CLIPART, "", False, "methods"),
    Kind(GLYPHS, "", False, "methods"),
    Kind(SEEDS, "", False, "laboratories"),
    Kind(AUTHORS, "authors' code", True, "laboratories"),
    Kind(TARGET, "paper", True, "laboratories"),
    Kind(ELSEWHERE, "another table", True, "laboratories"),
    Kind(TWO, "", False, "pairs of laboratories"),
)


@dataclass(frozen=True)
class Percentile:
    """Where a gap lies among the differences of one kind.

    Attributes
    ----------
    kind : str
    pairs, farther : int
        Differences, and those as far from 0 as the gap or farther: on its side where one of the two
        is the original, on either side otherwise.
    groups, groups_farther : int
        Laboratories, or what else groups the differences, and those with such a difference.
    percentile : float
        Share of differences on this side that are as large or larger, in percent; NaN without pairs.
    with_yours : float
        The same with each group weighted alike and the gap's own laboratory as one more group: a
        conformal p-value over laboratories, in percent, which few of them cannot make small.
    """

    kind: str
    pairs: int
    farther: int
    groups: int
    groups_farther: int
    percentile: float
    with_yours: float


@dataclass(frozen=True)
class SplitWidths:
    """Half-widths of a printed mean, in points, as `split_widths` returns them.

    Attributes
    ----------
    tasks : float
        For other tasks of the same images.
    images, classes : float or None
        For new images and for new classes, at most; None where the test split is not known.
    """

    tasks: float
    images: float | None
    classes: float | None


@dataclass(frozen=True)
class TrainingWidths:
    """What several trainings say, as `training_widths` returns it, in points.

    Attributes
    ----------
    mean, new_runs, prediction : float
        Of the trainings; the half-width of their mean for new trainings on the same tasks; and how
        far from the mean one more training is expected.
    """

    mean: float
    new_runs: float
    prediction: float


def published_seeds() -> pd.DataFrame:
    """Accuracies of the same code from several seeds, as ``data/published/seeds.csv`` has them."""
    return pd.read_csv(DATA / "published" / "seeds.csv", dtype={"ways": str, "shots": str})


def differences(pairs: pd.DataFrame, laboratory_pairs: pd.DataFrame) -> pd.DataFrame:
    """Differences of accuracies of one method in one setting, by `KINDS`.

    Parameters
    ----------
    pairs : DataFrame
        `leaderboards.pairs`.
    laboratory_pairs : DataFrame
        `laboratories.laboratory_pairs`.

    Returns
    -------
    DataFrame
        ``kind``, ``difference`` (reproduced minus original; absolute where neither is the original)
        and ``group``.

    Notes
    -----
    Trainings that start from the same trained network share its seed, so this book's learners on a
    Baseline network are left out.
    """
    seeds = published_seeds()
    columns = ["source", "method", "backbone", "dataset", "ways", "shots"]
    parts = [
        _seed_pairs(CLIPART, _own_trainings("clipart")),
        _seed_pairs(GLYPHS, _own_trainings("coloured/hebrew")),
        _seed_pairs(SEEDS, {key: part["mean"] for key, part in seeds.groupby(columns)}),
    ]
    for kind in KINDS:
        if kind.pair_kind:
            part = pairs[pairs["pair_kind"] == kind.pair_kind]
            part = part.rename(columns={"laboratory": "group"})
            parts.append(part.assign(kind=kind.name)[["kind", "difference", "group"]])
    names = laboratory_pairs["laboratory"] + " and " + laboratory_pairs["other"]
    absolute = laboratory_pairs["difference"].abs()
    parts.append(pd.DataFrame({"kind": TWO, "difference": absolute, "group": names}))
    table = pd.concat(parts, ignore_index=True)
    return table.assign(difference=table["difference"].astype(float).round(DECIMALS))


def _own_trainings(dataset: str) -> dict[tuple[str], np.ndarray]:
    """Mean accuracies of each learner that is trained from its own weights, by its name."""
    return {
        (name,): runs.accuracies(dataset, name).mean(axis=1)
        for name in runs.names(runs.FEW)
        if not RECIPES[name].frozen
    }


def _seed_pairs(kind: str, means: dict[tuple, Sequence[float]]) -> pd.DataFrame:
    """Absolute differences of every two trainings of each recipe; the group is its key's first."""
    rows = []
    for key, trainings in means.items():
        for first, second in combinations(trainings, 2):
            rows.append({"kind": kind, "difference": abs(first - second), "group": key[0]})
    return pd.DataFrame(rows)


def of_tasks(gap: float, plus_minus: float, paper_plus_minus: float, level: float = 0.95) -> float:
    """How often other tasks alone give such a gap or a larger one on its side, in percent.

    Parameters
    ----------
    gap : float
        Own mean minus the paper's, in points.
    plus_minus, paper_plus_minus : float
        Half-widths of the two means, of independent tasks.
    """
    error = hypot(plus_minus, paper_plus_minus) / norm.ppf((1 + level) / 2)
    return 100 * float(norm.sf(abs(gap) / error))


def percentiles(gap: float, table: pd.DataFrame) -> list[Percentile]:
    """Where a gap lies among the differences of each kind.

    Parameters
    ----------
    gap : float
        Own mean minus the paper's, in points; a gap of 0 counts as below.
    table : DataFrame
        `differences`.

    Notes
    -----
    ``percentile`` counts pairs alike, of which few laboratories have most. ``with_yours`` has
    laboratories as units: the mean over them of their shares, with 1 for that of the gap. If
    laboratories are exchangeable, it is seldom small. In 600 simulations with 66, 10, 8, 4, 2, 2, 2
    and 2 differences of eight laboratories, the gap of a ninth had, on either side:

    ====================================  =====================  ====================
    centres, log scatter of laboratories  ``with_yours`` ≤ 15 %  ``percentile`` ≤ 5 %
    ====================================  =====================  ====================
    equal, 0                              14 %                   11 %
    1.5 standard deviations apart, 0      16 %                   22 %
    equal, 0.6                            11 %                   13 %
    1.5 standard deviations apart, 0.6    16 %                   27 %
    independent differences (nominal)     30 %                   10 %
    ====================================  =====================  ====================
    """
    return [_percentile(gap, kind, table[table["kind"] == kind.name]) for kind in KINDS]


def _percentile(gap: float, kind: Kind, part: pd.DataFrame) -> Percentile:
    if part.empty:
        return Percentile(kind.name, 0, 0, 0, 0, np.nan, np.nan)
    side = 1 if gap > 0 or not kind.is_directed else -1
    is_farther = side * part["difference"] >= abs(round(gap, DECIMALS))
    by_group = is_farther.groupby(part["group"]).mean()
    weight = 100 if kind.is_directed else 50
    return Percentile(
        kind=kind.name,
        pairs=len(part),
        farther=int(is_farther.sum()),
        groups=len(by_group),
        groups_farther=int((by_group > 0).sum()),
        percentile=weight * float(is_farther.mean()),
        with_yours=weight * float((by_group.sum() + 1) / (len(by_group) + 1)),
    )


def percentile_table(gaps: Sequence[float], table: pd.DataFrame) -> pd.DataFrame:
    """Shares of differences as far below or farther, by kind and gap, as text.

    Parameters
    ----------
    gaps : sequence of float
        Points below the original.
    table : DataFrame
        `differences`.
    """
    by_gap = [percentiles(-gap, table) for gap in gaps]
    rows = []
    for kind, *of_kind in zip(KINDS, *by_gap):
        first = of_kind[0]
        centre = table.loc[table["kind"] == kind.name, "difference"].mean()
        row = {
            "what differs": first.kind,
            "pairs": first.pairs,
            "groups": first.groups,
            "mean": "—",
        }
        if kind.is_directed and first.pairs:
            row["mean"] = f"{centre:+.1f}".replace("-", "−")
        for gap, found in zip(gaps, of_kind):
            row[f"−{gap:g}"] = "—" if not found.pairs else f"{found.percentile:.0f} %"
        rows.append(row)
    return pd.DataFrame(rows).set_index("what differs").rename_axis(index=None)


def largest_usual(table: pd.DataFrame, kind: str = TARGET, level: float = 0.95) -> float:
    """The ± that would have held this share of the differences of a kind; NaN without any."""
    absolute = table.loc[table["kind"] == kind, "difference"].abs()
    return float(absolute.quantile(level))


def agreement(pairs: pd.DataFrame, laboratory_pairs: pd.DataFrame) -> pd.DataFrame:
    """How many pairs with both ± lie within them, combined as for independent tasks.

    Parameters
    ----------
    pairs, laboratory_pairs : DataFrame
        As for `differences`.

    Returns
    -------
    DataFrame
        By kind: ``pairs`` with both ±, those ``within``, their ``share`` in percent, the median
        ``plus_minus`` of a difference and its root mean square, ``rms``, in points.
    """
    directed = pairs.assign(plus_minus=both_half_widths(pairs))
    parts = {
        kind.name: directed[directed["pair_kind"] == kind.pair_kind]
        for kind in KINDS
        if kind.pair_kind
    }
    rows = {}
    for name, part in (parts | {TWO: laboratory_pairs}).items():
        known = part.dropna(subset=["plus_minus"])
        within = known["difference"].abs().round(DECIMALS) <= known["plus_minus"]
        rows[name] = {
            "pairs": len(known),
            "within": int(within.sum()),
            "share": 100 * within.mean(),
            "plus_minus": known["plus_minus"].median(),
            "rms": sqrt(known["difference"].pow(2).mean()) if len(known) else np.nan,
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def agreement_table(table: pd.DataFrame) -> pd.DataFrame:
    """`agreement` as text, without the kinds that have no pair with both ±."""
    known = table[table["pairs"] > 0]
    columns = {
        "pairs": known["pairs"].map("{:.0f}".format),
        "within both ±": known["within"].map("{:.0f}".format),
        "share": known["share"].map("{:.0f} %".format),
        "median of both ±": known["plus_minus"].map("{:.2f}".format),
        "root mean square": known["rms"].map("{:.2f}".format),
    }
    return pd.DataFrame(columns)


def split_widths(
    mean: float,
    plus_minus: float | None,
    tasks: int,
    dataset: str,
    shots: int,
    level: float = 0.95,
) -> SplitWidths:
    """What a mean over closed tasks shows about other tasks, new images and new classes.

    Parameters
    ----------
    mean, plus_minus : float
        In percent. Without a ± the usual spread over tasks of this shape stands for it.
    tasks : int
    dataset : str
        Of `leaderboards.TEST_SPLITS`, or another, whose images and classes are not known.
    shots : int
        5-way tasks with 15 queries per class.

    Notes
    -----
    The standard deviation s of tasks follows from the ±, as an interval, or from the mean (notes of
    `stats.compare_printed`). Images that make m tasks without using one twice bound the variance by
    s² (1/T + 1/m), with m - 1 degrees of freedom; so do classes.
    """
    quantile = norm.ppf((1 + level) / 2)
    if plus_minus is None:
        answers = WAYS * QUERIES
        variance = mean * (100 - mean) * (1 / answers + BETWEEN * (1 - 1 / answers))
    else:
        variance = tasks * (plus_minus / quantile) ** 2
    images, classes = TEST_SPLITS.get(dataset, (0, 0))
    halves = {}
    disjoint_tasks = {"images": images // (WAYS * (shots + QUERIES)), "classes": classes // WAYS}
    for target, m in disjoint_tasks.items():
        known = t.ppf((1 + level) / 2, m - 1) * sqrt(variance * (1 / tasks + 1 / m)) if m > 1 else 0
        halves[target] = float(known) or None
    return SplitWidths(tasks=float(quantile * sqrt(variance / tasks)), **halves)


def training_widths(means: Sequence[float], level: float = 0.95) -> TrainingWidths | None:
    """What the means of several trainings on the same tasks show about new ones; None for fewer than two.

    Student's interval of their mean, and his prediction interval; `stats.new_run_interval` has both from
    accuracies per task.
    """
    count = len(means)
    if count < 2:
        return None
    quantile = t.ppf((1 + level) / 2, count - 1)
    deviation = np.std(means, ddof=1)
    return TrainingWidths(
        mean=float(np.mean(means)),
        new_runs=float(quantile * deviation / sqrt(count)),
        prediction=float(quantile * deviation * sqrt(1 + 1 / count)),
    )


def sentence_to_print(
    means: Sequence[float],
    plus_minus: float | None,
    tasks: int,
    dataset: str,
    shots: int,
    table: pd.DataFrame,
    level: float = 0.95,
) -> str:
    """What to print beside a mean, so that readers know which repetitions its ± includes.

    Parameters
    ----------
    means : sequence of float
        Of all trainings, the printed one first.
    table : DataFrame
        `differences`.
    plus_minus, tasks, dataset, shots
        As for `split_widths`.
    """
    widths = split_widths(means[0], plus_minus, tasks, dataset, shots, level)
    about = "" if plus_minus is not None else "about "
    first = (
        f"{means[0]:.2f} % over {tasks:,} 5-way {shots}-shot tasks on {dataset}"
        f" ({100 * level:g} % intervals: {about}± {widths.tasks:.2f} for other tasks of these images"
    )
    bounds = {"new images": widths.images, "new classes": widths.classes}
    known = [f"± {half:.1f} for {name}" for name, half in bounds.items() if half is not None]
    first += f"; at most {' and '.join(known)})." if known else ")."
    trainings = training_widths(means, level)
    second = "One training; the effect of another seed was not measured."
    if trainings:
        second = (
            f"Mean of {len(means)} trainings: {trainings.mean:.2f} ± {trainings.new_runs:.2f}"
            f" for new trainings; one more is expected within ± {trainings.prediction:.2f} of it."
        )
    count = int((table["kind"] == TARGET).sum())
    third = "One implementation."
    if count:
        third = (
            f"One implementation; of {count} published reproductions beside the paper's number,"
            f" {100 * level:g} % differ by up to {largest_usual(table, level=level):.1f} points."
        )
    return " ".join([first, second, third])


def run_sentence(found: RunIntervals, method: str, setting: str) -> str:
    """The sentence for trainings of which each answer is stored: intervals, and no bounds.

    Parameters
    ----------
    found : RunIntervals
        `stats.new_run_intervals`.
    method, setting : str
        Which method, and on which tasks.
    """
    closed = found.closed
    one_more = closed.prediction_half_width
    halves = [
        f"± {target.interval.half_width:.1f} for {name}"
        for name, target in {
            "other trainings": closed,
            "other trainings and images": found.images,
            "other trainings and classes": found.classes,
        }.items()
    ]
    return (
        f"{method}: {closed.interval.estimate:.1f} %, the mean of {closed.n_runs[0]} trainings on"
        f" {closed.fixed.n:,} {setting}; {100 * closed.interval.confidence_level:g} % intervals:"
        f" {', '.join(halves)}. One more training is expected within ± {one_more:.1f}"
        f" (these networks alone: ± {closed.fixed.half_width:.1f})."
    )


def reproduction_lab(table: pd.DataFrame, level: float = 0.95) -> str:
    """The lab that judges a typed difference from a paper, and writes the sentence to print.

    Parameters
    ----------
    table : DataFrame
        `differences`.
    """
    kinds = []
    for kind in KINDS:
        part = table[table["kind"] == kind.name]
        groups = list(dict.fromkeys(part["group"]))
        numbered = [[row.difference, groups.index(row.group)] for row in part.itertuples()]
        kinds.append(asdict(kind) | {"differences": numbered})
    data = {
        "kinds": kinds,
        "target": TARGET,
        "usual": largest_usual(table, level=level) if len(table) else None,
        "level": level,
        "between": BETWEEN,
        "ways": WAYS,
        "queries": QUERIES,
        "splits": {name: list(sizes) for name, sizes in TEST_SPLITS.items()},
        "decimals": DECIMALS,
    }
    words = (
        "With scripts enabled, this page compares your mean with a paper's, and writes what to "
        "print beside it. The tables above need none."
    )
    return labs.html("reproduction", words, data)
