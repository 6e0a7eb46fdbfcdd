"""The figures of the chapters on FewSTAB."""

from __future__ import annotations

from itertools import cycle, product
from textwrap import wrap
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from fslbook.style import COLOURS, LINES, MARKERS, counted

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


def gap_bars(
    gaps: pd.Series,
    half: pd.Series,
    xlabel: str = "gap, wAcc-R − wAcc-A (points)",
    near: pd.Series | None = None,
) -> plt.Figure:
    """Gap of each learner with its interval by number of shots, a panel a data set (FewSTAB, Figure
    4).

    Parameters
    ----------
    gaps, half : Series
        By dataset, shots and learner: in points, and the half-widths of their intervals.
    near : Series of bool, optional
        With the same index: bars that are drawn pale (`fslbook.fewstab.tables.near_chance`).
    """
    sets, shots, learners = (
        list(gaps.index.unique(level)) for level in ("dataset", "shots", "learner")
    )
    size = (5.6, (0.3 * len(learners) + 0.6) * len(sets) + 0.8)
    figure, axes = plt.subplots(
        len(sets), 1, figsize=size, sharex=True, squeeze=False, layout="constrained"
    )
    height = 0.8 / len(shots)
    for ax, name in zip(axes[:, 0], sets):
        for i, (s, hatch) in enumerate(zip(shots, ["", "//", ".."])):
            rows = np.arange(len(learners)) + height * (i - (len(shots) - 1) / 2)
            style = dict(color=COLOURS[i], hatch=hatch, edgecolor="white", label=counted(s, "shot"))
            length, width = (
                values.xs((name, s), level=["dataset", "shots"]).reindex(learners)
                for values in (gaps, half)
            )
            bars = ax.barh(rows, length, height, xerr=width, error_kw=dict(elinewidth=1), **style)
            for bar, learner in zip(bars, learners):
                bar.set_alpha(
                    0.3 if near is not None and near.get((name, s, learner), False) else 1
                )
        ax.set(
            title=name,
            yticks=range(len(learners)),
            yticklabels=learners,
            ylim=(len(learners) - 0.5, -0.5),
        )
        ax.grid(axis="y", visible=False)
    axes[-1, 0].set_xlabel(xlabel)
    legend = figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=len(shots)
    )
    for handle in legend.get_patches():
        handle.set_alpha(1)
    return figure


def accuracy_panels(table: pd.DataFrame, guess: tuple[float, float] | None = None) -> plt.Figure:
    """wAcc-A against Acc, a mark a learner, a panel a data set and number of shots (FewSTAB,
    Figures 5 and S1).

    Parameters
    ----------
    table : DataFrame
        Columns acc and wacc-a by dataset, shots and learner, in percent. Up to twelve learners; one
        may be missing in a panel.
    guess : (float, float), optional
        Acc and wAcc of guessing, drawn as dotted lines where they are within the panel.
    """
    sets, shots, learners = (
        list(table.index.unique(level)) for level in ("dataset", "shots", "learner")
    )
    size = (3.1 * len(shots) + 0.2, 2.6 * len(sets) + 1.1)
    figure, axes = plt.subplots(
        len(sets), len(shots), figsize=size, squeeze=False, layout="constrained"
    )
    for (i, name), (j, s) in product(enumerate(sets), enumerate(shots)):
        ax = axes[i, j]
        for learner, colour, marker in zip(learners, cycle(COLOURS), MARKERS):
            at = table[["acc", "wacc-a"]].reindex([(name, s, learner)]).iloc[0]
            ax.scatter(*at, color=colour, marker=marker, s=55, label=learner)
        if guess:
            ax.set_xlim(*ax.get_xlim())  # learners far above guessing fill their panel
            ax.axvline(guess[0], color="grey", linestyle=":", zorder=0)
            ax.axhline(guess[1], color="grey", linestyle=":", zorder=0)
        ax.set_title(f"{name}, {counted(s, 'shot')}", fontsize=11)
        ax.set(
            xlabel="Acc (%)" if i == len(sets) - 1 else "", ylabel="wAcc-A (%)" if j == 0 else ""
        )
    return _with_legend(figure, axes[0, 0], ncols=4, fontsize=9)


def training_curves(curves: pd.DataFrame) -> plt.Figure:
    """Validation accuracy after each epoch, a line a learner, a panel a number of training shots.

    Parameters
    ----------
    curves : DataFrame
        Columns learner, shots, epoch and validation, in percent. Up to ten learners.
    """
    learners, shots = (list(curves[c].unique()) for c in ("learner", "shots"))
    figure, axes = plt.subplots(
        len(shots), 1, figsize=(6.4, 3 * len(shots) + 0.9), squeeze=False, layout="constrained"
    )
    for ax, s in zip(axes[:, 0], shots):
        for learner, colour, marker in zip(learners, COLOURS, MARKERS):
            t = curves[(curves["learner"] == learner) & (curves["shots"] == s)]
            ax.plot(
                t["epoch"],
                t["validation"],
                color=colour,
                marker=marker,
                markersize=5,
                linewidth=1.2,
                label=learner,
            )
        ax.set(xlabel="epoch", ylabel="validation accuracy (%)")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_title(f"{s} shot{'s' if s > 1 else ''}", fontsize=11)
    return _with_legend(figure, axes[0, 0], ncols=4, fontsize=9)


def biased_task(images: Images, task: pd.DataFrame) -> plt.Figure:
    """A biased task, a row per class: its support, then queries with what the learner takes them
    for.

    Parameters
    ----------
    images : Images
    task : DataFrame
        As `fslbook.fewstab.tables.example` gives it.
    """

    def wrapped(words: str, width: int = 13) -> str:
        return "\n".join(line for part in words.split(", ") for line in wrap(part, width))

    def short(name: str) -> str:
        return name.split("/")[-1].split(" ")[-1] if "U+" in name else name.split("/")[-1]

    rows = list(task.groupby("class", sort=False))
    columns = max(len(of) for _, of in rows)
    figure, axes = plt.subplots(
        len(rows), columns, figsize=(6.8, 1.55 * len(rows) + 0.4), layout="constrained"
    )
    for line, (name, of) in zip(axes, rows):
        for ax, r in zip(line, of.itertuples()):
            ax.imshow(images.images[[r.image]][0].squeeze(), cmap="gray", vmin=0, vmax=255)
            ax.set(xticks=[], yticks=[])
            ax.grid(visible=False)
            colour = "black"
            edge = "-"
            width = 1.5
            if r.role == "query":
                colour, edge, width = (COLOURS[0], "-", 2.5) if r.right else (COLOURS[1], "--", 3.5)
                ax.set_title(
                    "✓" if r.right else wrapped(f"✗ {short(r.predicted)}"), fontsize=9, pad=3
                )
            else:
                ax.set_title("support", fontsize=9, pad=3)
            ax.set_xlabel(wrapped(r.attribute) or "–", fontsize=8, labelpad=2)
            for spine in ax.spines.values():
                spine.set(visible=True, color=colour, linestyle=edge, linewidth=width)
        line[0].set_ylabel(
            wrapped(short(name), 10), fontsize=10, rotation=0, ha="right", va="center"
        )
    return figure


def spread_ratios(spread: pd.DataFrame) -> plt.Figure:
    """Spread of the worst-class accuracy, in units of what chance alone leaves, by learner.

    Parameters
    ----------
    spread : DataFrame
        Column ratio by dataset, shots, learner and metric, as
        `fslbook.fewstab.audit.Evidence.spread`.
    """
    sets, learners = (list(spread.index.unique(level)) for level in ("dataset", "learner"))
    figure, ax = plt.subplots(figsize=(5.8, 0.42 * len(learners) + 1.5), layout="constrained")
    ax.axvline(1, color="black", linewidth=1)
    for k, name in enumerate(sets):
        of = spread["ratio"].xs(name, level="dataset")
        at = np.array([learners.index(m) for m in of.index.get_level_values("learner")])
        rows = at + 0.2 * (k - (len(sets) - 1) / 2)
        ax.scatter(of, rows, marker=MARKERS[k], color=COLOURS[k], s=30, alpha=0.8, label=name)
    ax.set(
        yticks=range(len(learners)),
        yticklabels=learners,
        ylim=(len(learners) - 0.5, -0.5),
        xlabel="spread over tasks / spread with equal classes (ratio)",
        xlim=(0, None),
    )
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=len(sets))
    return figure


def conflict(drawn: list[Images], sampled: dict[str, Tasks], task: int = 0) -> plt.Figure:
    """One task of `fslbook.fewstab.known_truth.sample_conflict`: a column a class, its support, a
    query in three inks.

    Parameters
    ----------
    drawn : list of Images
        The same images in each ink, as `fslbook.fewstab.known_truth.in_each_ink` gives them.
    sampled : dict of str to Tasks
    """
    size, ways = len(drawn[0]), sampled["own"].ways
    rows = {"support": sampled["own"].support[task]} | {
        f"query, {name}": of.query[task] for name, of in sampled.items()
    }
    labels = [sampled["own"].support_label[task]] + [
        of.query_label[task] for of in sampled.values()
    ]
    figure, axes = plt.subplots(len(rows), ways, figsize=(6.0, 1.2 * len(rows) + 0.2))
    for i, ((name, images), label) in enumerate(zip(rows.items(), labels)):
        for k in range(ways):
            row = images[label == k][0]
            axes[i, k].imshow(drawn[row // size].images[row % size])
            axes[i, k].set(xticks=[], yticks=[])
        axes[i, 0].set_ylabel(name, rotation=0, ha="right", va="center")
    for k in range(ways):
        axes[0, k].set_title(f"class {k + 1}")
    return figure


def dial(panels: dict[str, pd.Series]) -> plt.Figure:
    """Intervals against the bias of training, a line a learner, a panel a quantity.

    Parameters
    ----------
    panels : dict of str to Series
        Title → `fslcore.stats.Interval` by learner and bias (other levels do not vary).
    """
    figure, axes = plt.subplots(
        1, len(panels), figsize=(6.8, 3.6), layout="constrained", squeeze=False
    )
    for ax, (title, found) in zip(axes[0], panels.items()):
        for k, (learner, of) in enumerate(found.groupby(level="learner", sort=False)):
            bias = of.index.get_level_values("bias")
            ax.errorbar(
                bias,
                [r.mean for r in of],
                [r.half_width for r in of],
                marker=MARKERS[k],
                color=COLOURS[k],
                linestyle=LINES[k % len(LINES)],
                capsize=3,
                label=learner,
            )
        ax.set(
            title=title,
            xlabel="share of biased training images",
            ylim=(min(0, ax.get_ylim()[0]), None),
        )
    axes[0, 0].set_ylabel("points")
    return _with_legend(figure, axes[0, 0], ncols=3)


def against_truth(truth: pd.Series, scores: dict[str, pd.Series]) -> plt.Figure:
    """What a score says of learners against what is true of them, a panel a score; marks grow with
    the bias.

    Parameters
    ----------
    truth : Series
        By learner and bias (other levels do not vary).
    scores : dict of str to Series
        Axis label → numbers, with the same index.
    """
    figure, axes = plt.subplots(
        1, len(scores), figsize=(6.8, 3.9), layout="constrained", squeeze=False
    )
    for ax, (name, score) in zip(axes[0], scores.items()):
        for k, (learner, values) in enumerate(truth.groupby(level="learner", sort=False)):
            size = 25 + 75 * values.index.get_level_values("bias").to_numpy(float)
            ax.scatter(
                values,
                score[values.index],
                size,
                marker=MARKERS[k],
                color=COLOURS[k],
                alpha=0.85,
                label=learner,
            )
            ax.plot(
                values,
                score[values.index],
                color=COLOURS[k],
                linestyle=LINES[k % len(LINES)],
                linewidth=1,
            )
        ax.set(xlabel="true reliance on ink (points)", ylabel=name)
        ax.margins(0.15)
    return _with_legend(figure, axes[0, 0], ncols=3)


def captioner_noise(curves: pd.DataFrame) -> plt.Figure:
    """Mean gap, and how it orders networks, by a captioner's errors
    (`fslbook.fewstab.known_truth.noise_curves`)."""
    figure, axes = plt.subplots(1, 2, figsize=(6.8, 3.7), layout="constrained")
    panels = (("gap", "mean gap (points)"), ("by relative gap", "rank correlation with the truth"))
    names = {
        "drop": "inks missed",
        "invent": "inks invented",
        "both": "both",
        "pixels": "from pixels",
    }
    for ax, (column, label) in zip(axes, panels):
        for k, (captioner, name) in enumerate(names.items()):
            part = curves[curves["captioner"] == captioner]
            ax.plot(
                100 * part[["drop", "invent"]].max(axis=1),
                part[column],
                MARKERS[k],
                linestyle=("-", "--", ":", "")[k],
                color=COLOURS[k],
                label=name,
                markersize=8 if captioner == "pixels" else 6,
            )
        ax.set(xlabel="error rate (%)", ylabel=label)
    axes[0].set_ylim(0, None)
    axes[1].set_ylim(min(0, curves["by relative gap"].min()), 1.05)
    return _with_legend(figure, axes[0], ncols=2)


def _with_legend(figure, ax, **options):
    """The figure with a legend below of what these axes show."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", **options)
    return figure
