"""The figures of the chapters on Evaluating the evaluators."""

from __future__ import annotations

import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from fslbook.catalogue import method_title
from fslbook.style import COLOURS, LINES, MARKERS, WIDTH

from ..figures import LOOKS, SHARES, in_words, plain_ticks
from ..remarks import remark

SHARP = 160  # dots per inch of the clouds of points, which would make a drawing of a megabyte
LEGEND = dict(
    fontsize=9,
    columnspacing=1,
    handletextpad=0.4,
)


def assessment(table: pd.DataFrame) -> plt.Figure:
    """Each method's estimate with its interval, and the 5-fold estimate
    (`fslbook.estimation.assess.assess`)."""
    figure, ax = plt.subplots(figsize=(4.8, 1.4 + 0.4 * len(table)))
    at = np.arange(len(table))
    informed = (table["basis"] == "informed").to_numpy()
    ax.hlines(
        at,
        100 * table["low"],
        100 * table["high"],
        color=COLOURS[0],
        linewidth=3,
        label="interval",
    )
    for rows, face, size, label in (
        (informed, COLOURS[0], 8, "informed estimate"),
        (~informed, "white", 11, "other estimate"),
    ):
        if rows.any():
            dots = dict(
                color=COLOURS[0],
                markerfacecolor=face,
                markersize=size,
                mew=2,
                label=label,
                clip_on=False,
            )
            ax.plot(100 * table["estimate"][rows], at[rows], "o", **dots)
    size = 8 if informed.all() else 6  # inside a dot that is empty
    ax.plot(
        100 * table["5-fold"],
        at,
        "x",
        color="black",
        markersize=size,
        mew=2,
        label="5-fold",
        clip_on=False,
    )
    titles = [method_title(*of) for of in zip(table["backbone"], table["learner"])]
    ax.set_yticks(at, [textwrap.fill(title, 20) for title in titles], fontsize=10)
    ax.set(xlim=(0, 100), ylim=(len(table) - 0.5, -0.5), xlabel="accuracy (%)")
    ax.grid(axis="y", visible=False)
    ax.legend(loc="lower left", bbox_to_anchor=(-0.3, 1), ncols=2, fontsize=10, columnspacing=1)
    row = (table["high"] - table["low"]).argmax()
    widest = table.iloc[row]
    half_width = 50 * (widest["high"] - widest["low"])
    remark(ax, f"± {half_width:.0f} points", 100 * widest["estimate"], row)
    return figure


def estimate_scatter(table: pd.DataFrame, estimators: list[str]) -> plt.Figure:
    """Accuracy on the query against its estimates, a panel per estimator.

    Parameters
    ----------
    table : DataFrame
        A row per task: accuracy and a column per estimator, shares.
    """
    figure, axes = plt.subplots(
        1, len(estimators), figsize=(5.6, 3.3), sharex=True, sharey=True, dpi=SHARP
    )
    # 5-fold gives multiples of 1/25 and the query of 1/75: jitter, or points hide each other.
    noise = np.random.default_rng(0).uniform(-1, 1, (2, len(table)))
    truth = _jittered(100 * table["accuracy"], 0.6 * noise[0])
    for ax, name in zip(axes, estimators):
        error = 100 * (table[name] - table["accuracy"]).abs().mean()
        size = 1.5 if name in ("5-fold", "hold-out") else 0
        guess = _jittered(100 * table[name], size * noise[1])
        ax.scatter(guess, truth, s=5, alpha=0.25, color=COLOURS[0], rasterized=True)
        ax.plot([0, 100], [0, 100], color="black", linewidth=1)
        ax.set_title(f"{name}: off by {error:.1f} points", fontsize=11)
        ax.set_xlabel("estimate (%)")
        ax.set(xlim=(0, 102), ylim=(0, 102), aspect="equal")
    axes[0].set_ylabel("accuracy on the query (%)")
    return figure


def _jittered(percent: pd.Series, noise: np.ndarray) -> pd.Series:
    """Shares moved a little, so that equal ones do not hide each other; none leaves 0 to 100 %."""
    return (percent + noise).clip(*SHARES)


def task_intervals(table: pd.DataFrame) -> plt.Figure:
    """Intervals of single tasks in order of their middle, with the accuracy on the query.

    Parameters
    ----------
    table : DataFrame
        low, high and truth, a row per task, shares.
    """
    table = table.assign(middle=(table["low"] + table["high"]) / 2).sort_values(
        "middle", ignore_index=True
    )
    inside = (table["low"] <= table["truth"]) & (table["truth"] <= table["high"])
    figure, ax = plt.subplots(figsize=(4.6, 3.4))
    ends = 100 * table["low"], 100 * table["high"]
    ax.vlines(table.index, *ends, color=COLOURS[0], alpha=0.5, linewidth=3, label="interval")
    for mine, mark, size, colour, name in (
        (inside, "o", 5, "black", "accuracy"),
        (~inside, "X", 8, COLOURS[3], "outside"),
    ):
        ax.plot(
            table.index[mine],
            100 * table["truth"][mine],
            mark,
            color=colour,
            markersize=size,
            label=name,
        )
    ax.set(xlabel="task, by estimate", ylabel="accuracy (%)", ylim=(0, 102))
    ax.set_title(f"{inside.sum()} of {len(table)} inside")
    ax.legend(loc="lower right", ncols=3, fontsize=9, columnspacing=1)
    beyond = np.maximum(table["low"] - table["truth"], table["truth"] - table["high"])
    if beyond.max() > 0:
        task = beyond.argmax()
        words = f"{100 * beyond[task]:.0f} points outside"
        remark(ax, words, task, 100 * table["truth"][task])
    return figure


def estimates(table: pd.DataFrame, names: list[str], title: str) -> plt.Figure:
    """Estimated accuracy against the oracle's, a panel per estimator, a dot per task (evaluators
    paper, Figure 1).

    ``table`` as `fslbook.evaluators.estimates.collect` gives it, of one data set and method, which
    ``title`` names."""
    figure, axes = plt.subplots(2, 2, figsize=(5.6, 5.4), sharex=True, sharey=True, dpi=SHARP)
    # Accuracies take few values.
    noise = np.random.default_rng(0).uniform(-1.5, 1.5, (2, len(table)))
    for ax, name in zip(axes.flat, names):
        ax.plot([0, 100], [0, 100], color="black", linewidth=1)
        ax.scatter(
            _jittered(table["oracle"], noise[0]),
            _jittered(table[name], noise[1]),
            s=10,
            alpha=0.4,
            color=LOOKS[name]["color"],
            rasterized=True,
        )
        words = "no correlation"
        if (table[["oracle", name]].nunique() > 1).all():
            words = f"correlation {table['oracle'].corr(table[name]):.2f}"
        ax.set(aspect="equal")
        ax.set_title(f"{name}: {words}", fontsize=10)
    figure.supylabel("estimate (%)", fontsize=12)
    figure.supxlabel("oracle (%)", fontsize=12)
    figure.suptitle(title)
    return figure


def error_boxes(errors: pd.DataFrame, subject: str, rows: str = "method") -> plt.Figure:
    """Distribution of the absolute error over tasks (evaluators paper, Figures 2 and 6).

    Parameters
    ----------
    errors : DataFrame
        As `fslbook.evaluators.estimates.errors` gives it.
    subject : str
        What all of them are of: a data set or a method.
    rows : str
        Column whose values are the groups of boxes.
    """
    names = [n for n in LOOKS if n in set(errors["estimator"])]
    groups = errors[rows].nunique()
    figure, ax = plt.subplots(figsize=(WIDTH, 1.1 + 0.18 * groups * len(names)))
    sns.boxplot(
        errors.assign(size=errors["error"].abs()),
        x="size",
        y=rows,
        hue="estimator",
        hue_order=names,
        ax=ax,
        palette=[LOOKS[n]["color"] if n != "fresh" else "0.75" for n in names],
        fliersize=1.5,
        linewidth=0.9,
        gap=0.15,
    )
    boxes = [p for p in ax.patches if p.get_path().vertices.shape[0] > 4]
    for i, box in enumerate(boxes):
        box.set_hatch(["", "//", "..", "xx", "--"][i // groups % 5])
    ax.axvline(10, color="black", linewidth=1)
    ax.set_xlabel(f"absolute error, {subject} (points)", fontsize=9)
    ax.set_ylabel("")
    ax.tick_params(labelsize=9)
    ax.legend(loc="lower center", bbox_to_anchor=(0.35, 1), ncols=3, **LEGEND)
    return figure


def setting_forest(tables: dict[str, pd.DataFrame], xlabel: str) -> plt.Figure:
    """Values by estimator, a row per data set and method, a panel per table on one common axis.

    Parameters
    ----------
    tables : dict of DataFrame
        By title: dataset, method, estimator, mean or mae, and half_width. The first has filled
        marks, what a paper prints has hollow ones.
    xlabel : str
        Of all panels.
    """
    methods = list(pd.concat(tables)["method"].unique())
    labels = ["", *methods] * max(table["dataset"].nunique() for table in tables.values())
    figure, panels = plt.subplots(
        1,
        len(tables),
        figsize=(WIDTH, 1.1 + 0.25 * len(labels)),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for ax, (title, table), face in zip(panels[0], tables.items(), (None, "white")):
        _draw_settings(ax, table.rename(columns={"mae": "mean"}), methods, face)
        ax.set_title(title, fontsize=10)
        ax.tick_params(labelsize=9)
        ax.grid(axis="y", visible=False)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    figure.supxlabel(xlabel, fontsize=9)
    entries = panels[0, 0].get_legend_handles_labels()
    figure.legend(*entries, loc="outside upper center", ncols=3, **LEGEND)
    return figure


def _draw_settings(ax: plt.Axes, table: pd.DataFrame, methods: list[str], face: str | None) -> None:
    """One panel: below the name of each data set a row per method, estimators beside each other."""
    sets = list(table["dataset"].unique())
    rows = table["dataset"].map(sets.index) * (len(methods) + 1)
    for row, dataset in zip(rows.unique(), sets):
        ax.text(
            0.01,
            row,
            in_words(dataset),
            transform=ax.get_yaxis_transform(),
            fontsize=9,
            weight="bold",
            va="center",
            zorder=1.5,
            backgroundcolor="white",
            parse_math=False,
        )
    rows += 1 + table["method"].map(methods.index)
    names = [name for name in LOOKS if name in set(table["estimator"])]
    for i, name in enumerate(names):
        part = table[table["estimator"] == name]
        y = rows[part.index] + 0.7 * ((i + 0.5) / len(names) - 0.5)
        look = LOOKS[name] | dict(linestyle="none", markersize=4, mfc=face, elinewidth=1)
        ax.errorbar(
            part["mean"],
            y,
            xerr=part["half_width"],
            label=name,
            **look,
        )
    ax.axvline(0, color="black", linewidth=1, zorder=1)


def error_curves(curve: pd.DataFrame, by: str, panels: str = "method", log: str = "") -> plt.Figure:
    """Mean absolute error ± its standard error, a line per estimator (evaluators paper, Figures 3
    and 7).

    Parameters
    ----------
    curve : DataFrame
        As `fslbook.evaluators.estimates.curve` gives it; where ``by`` has no value, the error is
        drawn as a level.
    by, panels : str
        Columns: the horizontal axis, and the one whose values have a panel each.
    log : str
        The axes that are logarithmic: '', 'x' or 'xy'.
    """
    titles = curve[panels].unique()
    rows = -(-len(titles) // 2)
    figure, axes = plt.subplots(
        rows,
        2,
        figsize=(WIDTH, 0.9 + 2 * rows),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for ax, name in zip(axes.flat, titles):
        for estimator, part in curve[curve[panels] == name].groupby("estimator", sort=False):
            look = LOOKS[estimator]
            if part[by].isna().all():
                ax.axhline(
                    part["mae"].iloc[0],
                    color=look["color"],
                    linestyle=look["linestyle"],
                    label=estimator,
                )
            else:
                part = part.sort_values(by)
                ax.errorbar(
                    part[by],
                    part["mae"],
                    part["error"],
                    markersize=4,
                    linewidth=1.2,
                    label=estimator,
                    **look,
                )
        ax.set_title(textwrap.fill(name, 24), fontsize=10)
        ax.tick_params(labelsize=9)
        for letter, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
            if letter in log:
                ax.set(**{f"{letter}scale": "log"})
                plain_ticks(axis, (1, 2, 3, 5))
        if "x" not in log:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if "y" not in log:
        axes[0, 0].set_ylim(0, 1.05 * (curve["mae"] + curve["error"]).max())
    for ax in axes.flat[len(titles) :]:
        ax.set_visible(False)
    if len(titles) % 2 and rows > 1:  # the right column ends a row earlier
        axes[-2, 1].tick_params(labelbottom=True)
    figure.supxlabel(by, fontsize=10)
    figure.supylabel("mean absolute error (points)", fontsize=10)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, **LEGEND
    )
    return figure


def rank_points(means: pd.DataFrame, printed: float) -> plt.Figure:
    """Mean rank correlation with its interval by estimator, a mark per data set (evaluators paper,
    Figure 4).

    Parameters
    ----------
    means : DataFrame
        dataset, estimator, mean, half_width.
    printed : float
        The largest value that the paper states, drawn as a line.
    """
    names, sets = (list(means[c].unique()) for c in ("estimator", "dataset"))
    figure, ax = plt.subplots(figsize=(5.6, 1.4 + 0.5 * len(names)))
    for i, (dataset, part) in enumerate(means.groupby("dataset", sort=False)):
        y = part["estimator"].map(names.index) + 0.18 * (i - (len(sets) - 1) / 2)
        look = dict(color=COLOURS[i], marker=MARKERS[i], markersize=5, linestyle="none")
        ax.errorbar(part["mean"], y, xerr=part["half_width"], label=dataset, **look)
    ax.axvline(0, color="black", linewidth=1)
    ax.axvline(printed, color="grey", linestyle="--", linewidth=1.2, label="largest in the paper")
    ax.set(
        yticks=range(len(names)),
        yticklabels=names,
        xlabel="rank correlation with the oracle, mean over tasks",
    )
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=2, fontsize=10)
    return figure


def shot_panels(curves: pd.DataFrame) -> plt.Figure:
    """Means ± one standard error against shots, a row per data set (evaluators paper, Figures 5 and
    8).

    Parameters
    ----------
    curves : DataFrame
        As `fslbook.evaluators.selection.curves` gives it. Each rule has its colour in `LOOKS`; with
        several numbers of ways, marks and lines distinguish these.
    """
    sets, panels, ways = (list(curves[c].unique()) for c in ("dataset", "panel", "ways"))
    by_ways = curves.groupby("dataset")["ways"].nunique().max() > 1
    figure, axes = plt.subplots(
        len(sets),
        len(panels),
        figsize=(WIDTH, 0.9 + 2 * len(sets)),
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    handles = {}
    for (dataset, panel, k, rule), part in curves.groupby(
        ["dataset", "panel", "ways", "rule"], sort=False
    ):
        look = LOOKS[rule]
        name = rule
        if by_ways:
            mark = MARKERS[ways.index(k)]
            line = LINES[ways.index(k)]
            look = look | dict(marker=mark, linestyle=line)
            name = f"{k} ways, {rule}"
        ax = axes[sets.index(dataset), panels.index(panel)]
        handles[name] = ax.errorbar(
            part["shots"], part["mean"], part["error"], markersize=5, linewidth=1.2, **look
        )
        ax.set(xscale="log")
        ax.set_ylabel(panel, fontsize=10)
        ax.set_title(dataset, fontsize=10)
        ax.xaxis.set_major_locator(FixedLocator(sorted(curves["shots"].unique())))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_locator(NullLocator())
        ax.tick_params(labelbottom=True, labelsize=9)
    figure.supxlabel("shots", fontsize=10)
    figure.legend(
        handles.values(),
        handles,
        loc="outside upper center",
        ncols=2 if by_ways else 3,
        fontsize=9,
    )
    return figure
