"""The figures of the chapters on FewSTAB."""

from __future__ import annotations

from itertools import cycle, product
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from ..remarks import remark
from ..style import COLOURS, LINES, MARKERS, counted
from .cells import short_name

if TYPE_CHECKING:
    from fslcore.datasets import Images
    from fslcore.tasks import Tasks

__all__ = [
    "accuracy_panels",
    "against_truth",
    "biased_task",
    "captioner_noise",
    "conflict",
    "dial",
    "gap_bars",
    "spread_ratios",
    "training_curves",
]


LOOKS = [dict(color=colour, marker=marker) for colour, marker in zip(cycle(COLOURS), MARKERS)]
# Of the distance between rows: all bars of a row together, and from dot to dot.
BARS = 0.8
DOTS = 0.2
HATCHES = ["", "//", ".."]
# Captioners of `captioner_noise`, their labels and lines.
ERRORS = (
    ("drop", "inks missed", "-"),
    ("invent", "inks invented", "--"),
    ("both", "both", ":"),
    ("pixels", "from pixels", ""),
)


def gap_bars(
    gaps: pd.Series,
    half_widths: pd.Series,
    xlabel: str = "gap, wAcc-R − wAcc-A (points)",
    pale: pd.Series | None = None,
) -> plt.Figure:
    """Gap of each learner with its interval by number of shots, a panel per data set (FewSTAB, Figure
    4).

    Parameters
    ----------
    gaps, half_widths : Series
        By dataset, shots and learner: in points, and the half-widths of their intervals.
    pale : Series of bool, optional
        With the same index: bars that are drawn pale (`fslbook.fewstab.tables.near_chance`).
    """
    sets, shots, learners = _levels(gaps, "dataset", "shots", "learner")
    cells = pd.DataFrame({"gap": gaps, "half_width": half_widths, "pale": pale})
    size = (5.6, (0.3 * len(learners) + 0.6) * len(sets) + 0.8)
    figure, axes = _panels(len(sets), 1, size, sharex=True)
    for ax, name in zip(axes[:, 0], sets):
        for i, count in enumerate(shots):
            part = cells.xs((name, count), level=["dataset", "shots"])
            _draw_bars(ax, part.reindex(learners), i, shots)
        _label_rows(ax, learners)
        ax.set_title(name)
        ax.grid(axis="y", visible=False)
    axes[-1, 0].set_xlabel(xlabel)
    _with_legend(figure, axes[0, 0], loc="outside upper center", ncols=len(shots))
    clear = cells.loc[cells["pale"].ne(True), "gap"].dropna()
    if len(clear):
        name, count, learner = clear.idxmax()
        step = BARS / len(shots)
        height = _beside(learners.index(learner), shots.index(count), len(shots), step)
        words = f"highest: {clear.max():.1f} points"
        remark(axes[sets.index(name), 0], words, clear.max(), height)
    return figure


def _beside(row: float | np.ndarray, i: int, count: int, step: float) -> float | np.ndarray:
    """Where the i-th of so many marks of a row is: they stand around its middle, a step apart."""
    return row + step * (i - (count - 1) / 2)


def _draw_bars(ax: plt.Axes, cells: pd.DataFrame, i: int, shots: list[int]) -> None:
    """The bars of the i-th number of shots, one per learner."""
    height = BARS / len(shots)
    rows = _beside(np.arange(len(cells)), i, len(shots), height)
    style = dict(color=COLOURS[i], hatch=HATCHES[i], label=counted(shots[i], "shot"))
    style |= dict(edgecolor="white", error_kw=dict(elinewidth=1))
    bars = ax.barh(rows, cells["gap"], height, xerr=cells["half_width"], **style)
    for bar, pale in zip(bars, cells["pale"]):
        bar.set_alpha(0.3 if pale is True else 1)


def accuracy_panels(table: pd.DataFrame, guess: tuple[float, float] | None = None) -> plt.Figure:
    """wAcc-A against Acc, a mark per learner, a panel per data set and number of shots (FewSTAB,
    Figures 5 and S1).

    Parameters
    ----------
    table : DataFrame
        Columns acc and wacc-a by dataset, shots and learner, in percent. Up to twelve learners; one
        may be missing in a panel.
    guess : (float, float), optional
        Acc and wAcc of guessing, drawn as dotted lines where they are within the panel.
    """
    sets, shots, learners = _levels(table, "dataset", "shots", "learner")
    size = (2.3 * len(shots) + 0.2, 2.2 * len(sets) + 1.1)
    figure, axes = _panels(len(sets), len(shots), size)
    for ax, (name, count) in zip(axes.flat, product(sets, shots)):
        for look, learner in zip(LOOKS, learners):
            point = table[["acc", "wacc-a"]].reindex([(name, count, learner)]).iloc[0]
            ax.scatter(*point, s=40, label=learner, **look)
        if guess:
            ax.set_xlim(*ax.get_xlim())  # learners far above guessing fill their panel
            ax.axvline(guess[0], color="grey", linestyle=":", zorder=0)
            ax.axhline(guess[1], color="grey", linestyle=":", zorder=0)
        ax.set_title(f"{name}, {counted(count, 'shot')}", fontsize=10)
    for ax in axes[-1]:
        ax.set_xlabel("Acc (%)")
    for ax in axes[:, 0]:
        ax.set_ylabel("wAcc-A (%)")
    return _with_legend(figure, axes[0, 0], ncols=3, fontsize=9)


def training_curves(curves: pd.DataFrame) -> plt.Figure:
    """Validation accuracy after each epoch, a line per learner, a panel per number of training shots.

    Parameters
    ----------
    curves : DataFrame
        Columns learner, shots, epoch and validation, in percent. Up to ten learners.
    """
    shots = curves["shots"].unique()
    figure, axes = _panels(len(shots), 1, (4.8, 2.6 * len(shots) + 1.1))
    for ax, count in zip(axes[:, 0], shots):
        for look, learner in zip(LOOKS, curves["learner"].unique()):
            curve = curves[(curves["learner"] == learner) & (curves["shots"] == count)]
            style = look | dict(markersize=5, linewidth=1.2, label=learner)
            ax.plot(curve["epoch"], curve["validation"], **style)
        ax.set(xlabel="epoch", ylabel="validation accuracy (%)")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_title(counted(count, "shot"), fontsize=11)
    return _with_legend(figure, axes[0, 0], ncols=3, fontsize=9)


def biased_task(images: Images, task: pd.DataFrame) -> plt.Figure:
    """A biased task, a row per class: its support, then queries with what the learner takes them
    for.

    Parameters
    ----------
    images : Images
    task : DataFrame
        As `fslbook.fewstab.tables.example` gives it.
    """
    rows = task.groupby("class", sort=False)
    size = (6.8, 1.55 * rows.ngroups + 0.4)
    figure, axes = _panels(rows.ngroups, rows.size().max(), size)
    for line, (name, row) in zip(axes, rows):
        for ax, image in zip(line, row.itertuples()):
            _draw_image(ax, images, image)
        label = _wrapped(short_name(name), 10)
        line[0].set_ylabel(label, fontsize=10, rotation=0, ha="right", va="center")
    return figure


def _draw_image(ax: plt.Axes, images: Images, row: NamedTuple) -> None:
    """A picture of `biased_task`, framed by its role and by whether the answer is right."""
    title, frame = "support", dict(color="black", linestyle="-", linewidth=1.5)
    if row.role == "query" and row.right:
        title, frame = "✓", dict(color=COLOURS[0], linestyle="-", linewidth=2.5)
    elif row.role == "query":
        title = _wrapped(f"✗ {short_name(row.predicted)}")
        frame = dict(color=COLOURS[1], linestyle="--", linewidth=3.5)
    ax.imshow(images.images[[row.image]][0].squeeze(), cmap="gray", vmin=0, vmax=255)
    ax.set(xticks=[], yticks=[])
    ax.grid(visible=False)
    ax.set_title(title, fontsize=9, pad=3)
    ax.set_xlabel(_wrapped(row.attribute) or "–", fontsize=8, labelpad=2)
    for spine in ax.spines.values():
        spine.set(visible=True, **frame)


def _wrapped(words: str, width: int = 13) -> str:
    lines = []
    for part in words.split(", "):
        lines += wrap(part, width)
    return "\n".join(lines)


def spread_ratios(spread: pd.DataFrame) -> plt.Figure:
    """Spread of the worst-class accuracy, in units of what chance alone leaves, by learner.

    Parameters
    ----------
    spread : DataFrame
        Column ratio by dataset, shots, learner and metric, as
        `fslbook.fewstab.audit.Evidence.spread`.
    """
    sets, learners = _levels(spread, "dataset", "learner")
    figure, axes = _panels(1, 1, (5.8, 0.42 * len(learners) + 1.5))
    ax = axes[0, 0]
    ax.axvline(1, color="black", linewidth=1)
    for k, name in enumerate(sets):
        ratios = spread["ratio"].xs(name, level="dataset")
        rows = ratios.index.get_level_values("learner").map(learners.index).to_numpy()
        rows = _beside(rows, k, len(sets), DOTS)
        ax.scatter(ratios, rows, s=30, alpha=0.8, label=name, **LOOKS[k])
    _label_rows(ax, learners)
    ax.set(xlabel="spread over tasks / spread with equal classes (ratio)", xlim=(0, None))
    _with_legend(figure, ax, loc="outside upper center", ncols=len(sets))
    largest = spread["ratio"].idxmax()
    name, learner = (largest[spread.index.names.index(level)] for level in ("dataset", "learner"))
    height = _beside(learners.index(learner), sets.index(name), len(sets), DOTS)
    ratio = spread["ratio"].max()
    remark(ax, f"{ratio:.1f} times that of equal classes", ratio, height)
    return figure


def conflict(inked: list[Images], sampled: dict[str, Tasks]) -> plt.Figure:
    """One task of `fslbook.fewstab.known_truth.sample_conflict`: a column a class, its support, a
    query in three inks.

    Parameters
    ----------
    inked : list of Images
        The same images in each ink, as `fslbook.fewstab.known_truth.in_each_ink` gives them.
    sampled : dict of str to Tasks
        The first task is drawn.
    """
    first = sampled["own"]
    rows = {"support": (first.support[0], first.support_label[0])}
    for name, tasks in sampled.items():
        rows[f"query, {name}"] = tasks.query[0], tasks.query_label[0]
    figure, axes = plt.subplots(len(rows), first.ways, figsize=(6.0, 1.2 * len(rows) + 0.2))
    for line, (name, (images, labels)) in zip(axes, rows.items()):
        for k, ax in enumerate(line):
            ink, image = divmod(images[labels == k][0], len(inked[0]))
            ax.imshow(inked[ink].images[image])
            ax.set(xticks=[], yticks=[])
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
    for k, ax in enumerate(axes[0]):
        ax.set_title(f"class {k + 1}")
    return figure


def dial(panels: dict[str, pd.Series]) -> plt.Figure:
    """Intervals against the bias of training, a line per learner, a panel per quantity.

    Parameters
    ----------
    panels : dict of str to Series
        Title → `fslcore.stats.Interval` by learner and bias (other levels do not vary).
    """
    figure, axes = _panels(len(panels), 1, (4.4, 5.6), sharex=True)
    for ax, (title, intervals) in zip(axes[:, 0], panels.items()):
        by_learner = intervals.groupby(level="learner", sort=False)
        for look, line, (learner, part) in zip(LOOKS, cycle(LINES), by_learner):
            ends = [r.estimate for r in part], [r.half_width for r in part]
            style = look | dict(linestyle=line, capsize=3, label=learner)
            ax.errorbar(part.index.get_level_values("bias"), *ends, **style)
        lowest = min(0, ax.get_ylim()[0])
        ax.set(title=title, ylabel="points", ylim=(lowest, None))
    ax.set_xlabel("share of biased training images")
    return _with_legend(figure, ax, ncols=2)


def against_truth(
    truth: pd.Series, scores: dict[str, pd.Series], near_chance: pd.Series | None = None
) -> plt.Figure:
    """What a score shows about learners against what is true of them, a panel per score; marks grow with
    the bias.

    Parameters
    ----------
    truth : Series
        By learner and bias (other levels do not vary).
    scores : dict of str to Series
        Axis label → numbers, with the same index.
    near_chance : Series of bool, optional
        By the same index: points on which no remark is made.
    """
    figure, axes = _panels(len(scores), 1, (4.4, 6.2), sharex=True)
    for ax, (name, score) in zip(axes[:, 0], scores.items()):
        by_learner = truth.groupby(level="learner", sort=False)
        for look, line, (learner, values) in zip(LOOKS, cycle(LINES), by_learner):
            points = values, score[values.index]
            size = 25 + 75 * values.index.get_level_values("bias").to_numpy(float)
            ax.scatter(*points, size, alpha=0.85, label=learner, **look)
            ax.plot(*points, color=look["color"], linestyle=line, linewidth=1)
        ax.set_ylabel(name)
        ax.margins(0.15)
    ax.set_xlabel("true reliance on ink (points)")
    _with_legend(figure, ax, ncols=2)
    score = next(iter(scores.values()))
    clear = truth if near_chance is None else truth[~near_chance[truth.index].to_numpy(bool)]
    if len(clear):
        most, highest = clear.idxmax(), score[clear.index].idxmax()
        words = "relies most" if most == truth.idxmax() else "relies most above chance"
        remark(axes[0, 0], words, truth[most], score[most])
        if highest != most:
            remark(axes[0, 0], "widest gap, relies less", truth[highest], score[highest])
    return figure


def captioner_noise(curves: pd.DataFrame) -> plt.Figure:
    """Mean gap, and how it orders networks, by a captioner's errors
    (`fslbook.fewstab.known_truth.noise_curves`)."""
    figure, axes = _panels(2, 1, (4.4, 5.6), sharex=True)
    gaps, orders = axes[:, 0]
    for ax, column in ((gaps, "gap"), (orders, "by relative gap")):
        for look, (captioner, name, line) in zip(LOOKS, ERRORS):
            part = curves[curves["captioner"] == captioner]
            rates = 100 * part[["drop", "invent"]].max(axis=1)
            style = look | dict(linestyle=line, label=name, markersize=6 if line else 8)
            ax.plot(rates, part[column], **style)
    gaps.set(ylabel="mean gap (points)", ylim=(0, None))
    lowest = min(0, curves["by relative gap"].min())
    orders.set(ylabel="rank correlation", ylim=(lowest, 1.05), xlabel="error rate (%)")
    return _with_legend(figure, gaps, ncols=2)


def _levels(table: pd.DataFrame | pd.Series, *names: str) -> list[list]:
    """The values of these levels of the index, in their order."""
    return [list(table.index.unique(name)) for name in names]


def _panels(
    rows: int, columns: int, size: tuple[float, float], **options: bool
) -> tuple[plt.Figure, np.ndarray]:
    shared = dict(figsize=size, squeeze=False, layout="constrained")
    return plt.subplots(rows, columns, **shared, **options)


def _label_rows(ax: plt.Axes, labels: list[str]) -> None:
    """One row per label, the first at the top."""
    ylim = (len(labels) - 0.5, -0.5)
    ax.set(yticks=range(len(labels)), yticklabels=labels, ylim=ylim)


def _with_legend(
    figure: plt.Figure, ax: plt.Axes, loc: str = "outside lower center", **options: int
) -> plt.Figure:
    """The figure with a legend of what these axes show, in full colours."""
    handles, labels = ax.get_legend_handles_labels()
    legend = figure.legend(handles, labels, loc=loc, **options)
    for patch in legend.get_patches():
        patch.set_alpha(1)
    return figure
