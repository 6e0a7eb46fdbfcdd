"""The running example: two methods on one data set, in a table to which chapters add a row each.

Both methods read the same features and answer the same tasks. A row is a repetition: what would be drawn again. The
rows in `NOT_THIS_PAIR` cannot be computed for these two methods; each says what it is from.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fslcore import evaluation, stats
from fslcore.evaluation.three_targets import Answers, answers
from fslcore.stats.formatting import format_interval
from fslcore.tasks import sample_closed

from .. import near_copies
from ..catalogue import LEARNER_TITLES
from ..cells import direction
from ..evaluations import RUNNING_EXAMPLE
from ..remarks import remark
from ..style import COLOURS
from . import laboratories, leaderboards, runs

__all__ = [
    "METHODS",
    "NOT_THIS_PAIR",
    "in_words",
    "picture",
    "row_of",
    "setting",
    "so_far",
    "table",
    "verdict",
]

TITLE = "Fashion-MNIST"
DIFFERENCE = "difference"
#: The two methods by their learner, in words; the difference is the first minus the second.
METHODS = {"lr": "logistic regression", "ncc": "nearest mean"}
QUANTITIES = [*METHODS.values(), DIFFERENCE]
#: Trained learners that stand in for the two methods: one is tested by logistic regression, the other by nearest means.
TRAINED = ("baseline", "protonet")
TRAINED_ON = "clipart"  # of the test sets of `runs`, the one whose pictures people drew
NOT_THIS_PAIR = ("new training runs", "another laboratory")


def setting() -> str:
    """Data set, sizes and shape of the tasks, in words."""
    one = RUNNING_EXAMPLE[0]
    source = evaluation.load_images_or_features(one.dataset)
    return (
        f"{TITLE}, {len(np.unique(source.labels))} classes, {len(source.labels):,} images, {one.tasks:,} tasks, "
        f"{one.ways}-way {one.shots}-shot with {one.queries} queries per class"
    )


def so_far(chapter: str, level: float = stats.DEFAULT_CONFIDENCE_LEVEL) -> pd.DataFrame:
    """The rows that are known after a chapter, in the order in which chapters add them.

    Parameters
    ----------
    chapter : str
        One of `ROWS`.
    level : float
        Nominal coverage of the intervals.

    Returns
    -------
    DataFrame
        A row per repetition and quantity: ``repetition``, ``quantity`` (a method or the difference), ``mean``, ``low``,
        ``high`` and ``half_width`` (points; NaN where there is no interval), ``source`` (what the row is from, where it
        is not these two methods on all images) and ``remark`` (words for the picture).
    """
    chapters = list(ROWS)
    parts = [ROWS[name](level) for name in chapters[: chapters.index(chapter) + 1]]
    return pd.concat(parts, ignore_index=True)


def row_of(rows: pd.DataFrame, repetition: str, quantity: str = DIFFERENCE) -> pd.Series:
    """One row of `so_far`."""
    return rows.set_index(["repetition", "quantity"]).loc[(repetition, quantity)]


def in_words(rows: pd.DataFrame, repetition: str, quantity: str) -> str:
    """One row of `so_far` as `table` prints it."""
    return table(rows).loc[repetition, quantity]


def verdict(rows: pd.DataFrame, repetition: str) -> str:
    """What the interval of the difference shows for a repetition."""
    found, first = row_of(rows, repetition), METHODS["lr"]
    return direction(
        found["low"],
        found["high"],
        above=f"{first} is significantly better",
        below=f"{first} is significantly worse",
        neither="the two methods are not significantly different",
    )


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of `so_far` as text: a line per repetition, and what it is from where there is something to say."""
    cells = rows.assign(text=[_text(row) for row in rows.itertuples()])
    wide = cells.pivot(index="repetition", columns="quantity", values="text")
    wide = wide.reindex(index=rows["repetition"].unique(), columns=QUANTITIES)
    source = rows.groupby("repetition")["source"].first()
    if source.any():
        wide["from"] = source.reindex(wide.index).replace("", "these two methods")
    return wide.rename_axis(index="what a repetition would replace", columns=None)


def picture(rows: pd.DataFrame) -> Figure:
    """The rows of `so_far`: left the two methods, right their difference; hollow marks are not of these two methods."""
    repetitions = list(rows["repetition"].unique())
    figure, (means, differences) = plt.subplots(
        1, 2, figsize=(9.2, 0.55 * len(repetitions) + 1.4), layout="constrained"
    )
    # Other images may be far easier or harder: their accuracies are written, not drawn.
    is_here = ~rows["repetition"].isin(NOT_THIS_PAIR[:1])
    here = rows[is_here & (rows["quantity"] != DIFFERENCE)]
    margin = 0.05 * (here["high"].max() - here["low"].min()) + 1
    means.set_xlim(here["low"].min() - margin, here["high"].max() + margin)
    for name, colour, marker, shift in zip(METHODS.values(), COLOURS, "os", (-0.15, 0.15)):
        part = rows[(rows["quantity"] == name) & is_here]
        _draw(means, part, repetitions, shift, colour, marker)
        means.scatter([], [], s=36, color=colour, marker=marker, label=name)
    part = rows[rows["quantity"] == DIFFERENCE]
    _draw(differences, part, repetitions, 0, "black", "D")
    differences.axvline(0, color="black", linewidth=1)
    written = part.loc[part["remark"] != ""].set_index("repetition")["remark"]
    for repetition, words in written.items():
        _write(differences, repetitions.index(repetition), words)
    other_images = rows[~is_here & (rows["quantity"] != DIFFERENCE)]
    for repetition, elsewhere in other_images.groupby("repetition"):
        text = " and ".join(map(_text, elsewhere.itertuples()))
        _write(means, repetitions.index(repetition), f"other images: {text}")
    for axes, label in ((means, "accuracy (%)"), (differences, "difference (points)")):
        names = [textwrap.fill(name, 14) for name in repetitions]
        axes.set_yticks(range(len(repetitions)), names, fontsize=10)
        axes.set(ylim=(len(repetitions) - 0.4, -0.6))
        axes.set_xlabel(label, fontsize=10)
        axes.tick_params(axis="x", labelsize=10)
        axes.grid(axis="y", visible=False)
    look = dict(fontsize=10, frameon=False, handletextpad=0.2, columnspacing=1)
    means.legend(loc="lower center", bbox_to_anchor=(0.45, 1), ncols=2, **look)
    differences.set_title(" minus ".join(METHODS.values()), fontsize=10)
    _remark_verdicts(differences, part, repetitions)
    return figure


def _remark_verdicts(axes: plt.Axes, rows: pd.DataFrame, repetitions: list[str]) -> None:
    """Say of the first interval without 0 and of the first that contains it what that means."""
    known = rows[rows["low"].notna() & ~rows["repetition"].isin(NOT_THIS_PAIR)]
    contains = (known["low"] <= 0) & (known["high"] >= 0)
    for part, words in (
        (known[~contains], "0 is outside: they differ"),
        (known[contains], "0 is inside: undecided"),
    ):
        for row in part.head(1).itertuples():
            remark(axes, words, row.mean, repetitions.index(row.repetition))


def _draw(
    axes: plt.Axes, rows: pd.DataFrame, repetitions: list[str], shift: float, colour, marker: str
) -> None:
    rows = rows[rows["low"].notna()]
    y = rows["repetition"].map(repetitions.index) + shift
    axes.hlines(y, rows["low"], rows["high"], color=colour, linewidth=2)
    faces = ["white" if name in NOT_THIS_PAIR else colour for name in rows["repetition"]]
    look = dict(marker=marker, edgecolors=[colour] * len(rows), zorder=3)
    axes.scatter(rows["mean"], y, 36, faces, **look)


def _write(axes: plt.Axes, height: float, words: str) -> None:
    look = dict(ha="center", va="center", fontsize=9.5, bbox=dict(fc="white", ec="none", pad=1))
    axes.text(0.5, height, words, transform=axes.get_yaxis_transform(), **look)


# ---------------------------------------------------------------- rows


def _rows(
    repetition: str, ends: list[tuple[float, float, float]], source: str = "", remark: str = ""
) -> pd.DataFrame:
    """A row per quantity from (mean, low, high) of each."""
    rows = pd.DataFrame(ends, columns=["mean", "low", "high"])
    rows.insert(0, "quantity", QUANTITIES)
    rows.insert(0, "repetition", repetition)
    half_widths = (rows["high"] - rows["low"]) / 2
    return rows.assign(half_width=half_widths, source=source, remark=remark)


def _ends(interval: stats.Interval) -> tuple[float, float, float]:
    return interval.estimate, interval.low, interval.high


def _text(row) -> str:
    spec = "+.2f" if row.quantity == DIFFERENCE else ".1f"
    return format_interval(row.mean, row.half_width, row.low, row.high, spec=spec).replace("-", "−")


@cache
def both() -> Answers:
    """The answers of both methods on the same closed tasks."""
    one = RUNNING_EXAMPLE[0]
    learners = [each.learner for each in RUNNING_EXAMPLE]
    setting = dict(tasks=one.tasks, seed=one.seed, **one.shape)
    return answers([one.dataset], [one.backbone], learners, **setting)[one.dataset]


@cache
def _three(level: float, found: Callable[[], Answers] = both) -> list[stats.ThreeIntervals]:
    """The three intervals of either method and of their difference."""
    both_answers = found()
    first, second = both_answers.right
    return [
        both_answers.intervals(*methods, confidence_level=level)
        for methods in ((first,), (second,), (first, second))
    ]


def _these_images(level: float) -> pd.DataFrame:
    return _rows("these images", [_ends(r.closed) for r in _three(level)])


def _new_images(level: float) -> pd.DataFrame:
    return _rows("new images", [_ends(r.images) for r in _three(level)])


def _new_classes(level: float) -> pd.DataFrame:
    return _rows("new classes", [_ends(r.classes) for r in _three(level)])


def _new_runs(level: float) -> pd.DataFrame:
    accuracies = [runs.accuracies(TRAINED_ON, name) for name in TRAINED]
    found = [stats.new_run_interval(one, confidence_level=level) for one in accuracies]
    found.append(stats.new_run_interval(*accuracies, confidence_level=level))
    baseline, protonet = (LEARNER_TITLES[name] for name in TRAINED)
    source = (
        f"other networks and images: {baseline} with logistic regression, and {protonet}, each trained "
        f"{found[0].n_runs[0]} times, on {TRAINED_ON}"
    )
    return _rows("new training runs", [_ends(r.interval) for r in found], source)


@cache
def apart() -> Answers:
    """The same methods on tasks whose support and query share no group of near-copies."""
    one, source = RUNNING_EXAMPLE[0], evaluation.load_images_or_features(RUNNING_EXAMPLE[0].dataset)
    groups = near_copies.find(one.dataset, one.backbone).images["group"].to_numpy()
    tasks = sample_closed(source.labels, groups=groups, tasks=one.tasks, seed=one.seed, **one.shape)
    right = {
        method: 100.0 * evaluation.configure(source, *method).outcomes(tasks).correct
        for method in both().right
    }
    return replace(
        both(),
        right=right,
        support=tasks.support,
        query=tasks.query,
        groups=groups,
        group_disjoint=True,
    )


def _near_copies(level: float) -> pd.DataFrame:
    sizes = pd.Series(apart().groups).value_counts()
    shared = sizes[sizes > 1]
    source = f"these two methods, new images; {shared.sum():,} images in {len(shared)} groups of near-copies"
    return _rows(
        "near-copies kept apart",
        [_ends(r.images) for r in _three(level, apart)],
        source,
    )


def _another_laboratory(level: float) -> pd.DataFrame:
    first, second, difference = (three.closed.estimate for three in _three(level))
    cells = leaderboards.cells()
    is_of_images = ~cells["dataset"].str.startswith(("Meta-Dataset", "Omniglot"))
    cells = cells[is_of_images & (cells["ways"] == "5")]
    pairs = leaderboards.pairs(cells).query("pair_kind == 'paper'")
    beside = laboratories.beside_target(
        pairs["difference"], pairs["laboratory"], pairs["method"], level=level
    )
    orders = laboratories.method_orders(
        leaderboards.boards(cells[cells["role"] != "quoted"]), cells
    )
    low, high = next(
        gap for gap in pairwise(laboratories.GAPS) if gap[0] <= abs(difference) < gap[1]
    )
    alike = orders[orders["beside"] & (low <= orders["gap"]) & (orders["gap"] < high)]
    half = beside.next_half_width
    kept = f"{alike['kept'].sum()} of {len(alike)}"
    source = (
        f"{beside.cells} reproductions of {beside.methods} other methods; {kept} pairs of methods that papers "
        f"print {low:g} to {high:g} points apart kept their order"
    )
    ends = [(mean, mean - half, mean + half) for mean in (first, second)]
    return _rows(
        "another laboratory",
        [*ends, (np.nan, np.nan, np.nan)],
        source,
        f"{kept} other pairs kept their order",
    )


#: By chapter, the row that it adds.
ROWS = {
    "closed-vs-open": _these_images,
    "comparing-methods": _new_images,
    "three-intervals": _new_classes,
    "coverage": _near_copies,
    "training-runs": _new_runs,
    "leaderboards": _another_laboratory,
}
