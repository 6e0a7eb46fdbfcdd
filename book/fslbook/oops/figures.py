"""The figures of the chapters on the OOPS paper."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy import ndarray

from fslbook.style import COLOURS, LINES, MARKERS, WIDTH, counted
from fslcore.stats.equivalence import Equivalence

from ..figures import plain_ticks
from ..remarks import remark
from . import CAP

RANK_STEP = 0.2  # inches between bars of a diagram of ranks
NAME_STEP = 0.27  # and between its names
HARD = 0.1  # the share of tasks that are called hard for a method
TILES = {"+": COLOURS[0], "0": "0.45", "−": COLOURS[3]}  # by symbol of a verdict


def crossover(
    ours: pd.DataFrame, printed: pd.DataFrame, tasks: int, images_a_task: int
) -> plt.Figure:
    """Ratio of open to closed half-width against the number of test images.

    Parameters
    ----------
    ours, printed : DataFrame
        Columns n_images, ratio and learner.
    tasks : int
        T of the closed intervals.
    images_a_task : int
        K (S + Q); the line is √(T · K (S + Q) / (C n)), the ratio for equal variances per task.
    """
    figure, ax = plt.subplots(figsize=(5.2, 5.2), layout="constrained")
    sizes = np.geomspace(*[f(pd.concat([ours, printed])["n_images"]) for f in (min, max)])
    line = np.sqrt(tasks * images_a_task / sizes)
    ax.plot(
        sizes,
        line,
        color="grey",
        linewidth=1.5,
        label=f"√({tasks} tasks × {images_a_task} images / (C n))",
    )
    cap = np.sqrt(tasks / CAP)
    ax.plot(
        sizes[line < cap],
        np.full((line < cap).sum(), cap),
        color="grey",
        linestyle=":",
        linewidth=1.5,
        label=f"the released sampler stops at {CAP:,} tasks",
    )
    for table, look in (
        (printed, dict(marker="x", color=COLOURS[1], label="OOPS, Table 2")),
        (ours, dict(marker="o", color=COLOURS[0], alpha=0.8, label="this book")),
    ):
        ax.scatter(table["n_images"], table["ratio"], s=45, **look)
    ax.axhline(1, color="black", linewidth=1)
    ax.annotate("open wider than closed", (sizes[-1], 1.15), ha="right", fontsize=10)
    ax.annotate("open narrower", (sizes[-1], 0.78), ha="right", fontsize=10)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="number of test images, C n",
        ylabel="half-width, open / closed (ratio)",
    )
    figure.legend(loc="outside lower center", fontsize=10)
    widest = ours.loc[ours["ratio"].idxmax()]
    remark(ax, f"open {widest['ratio']:.1f} times as wide", widest["n_images"], widest["ratio"])
    remark(ax, f"equal at {tasks * images_a_task:,} images", tasks * images_a_task, 1)
    return figure


def class_weights(weights: pd.DataFrame, coverage: pd.DataFrame, level: float) -> plt.Figure:
    """Weight of each class in open tasks by data set, and how often intervals contain the mean of equal weights.

    ``weights`` and ``coverage`` as `fslbook.oops.class_weights` gives them.
    """
    names = list(weights["dataset"].unique())
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(4.8, 4.2), sharey=True, layout="constrained"
    )
    scattered = np.random.default_rng(0).uniform(-0.25, 0.25, len(weights))
    rows = weights["dataset"].map(names.index)
    left.axvline(1, color="black", linewidth=1)
    left.scatter(weights["weight"], rows + scattered, s=12, alpha=0.5, color=COLOURS[0])
    left.set(
        xscale="log",
        xlabel="weight of a class\n(1: the average)",
        yticks=range(len(names)),
        yticklabels=names,
    )
    plain_ticks(left.xaxis, (1, 3))
    right.axvline(100 * level, color="black", linewidth=1)
    for i, (scheme, part) in enumerate(coverage.groupby("drawn", sort=False)):
        right.plot(
            part["share"],
            part["dataset"].map(names.index),
            MARKERS[i],
            color=COLOURS[i],
            label=scheme,
        )
    right.set(xlim=(-3, 103), xlabel="intervals with\nthe mean (%)")
    left.invert_yaxis()
    if len(coverage):
        right.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, fontsize=9)
    farthest = np.log(weights["weight"]).abs().argmax()
    weight = weights["weight"].iloc[farthest]
    height = rows.iloc[farthest] + scattered[farthest]
    remark(left, f"this class counts {weight:.2g} times", weight, height)
    if len(coverage):
        lowest = coverage.loc[coverage["share"].idxmin()]
        words = f"only {lowest['share']:.0f} %" if lowest["share"] < 100 * level else ""
        remark(right, words, lowest["share"], names.index(lowest["dataset"]))
    return figure


def paired_scatter(a: ndarray, b: ndarray, names: tuple[str, str], dataset: str) -> plt.Figure:
    """Per-task accuracies of two methods against each other (OOPS, Figure 1)."""
    figure, ax = plt.subplots(figsize=(5.4, 5.2))
    # Accuracies are multiples of 1/75: jitter by half a step, or points hide each other.
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, (2, len(a)))
    ax.scatter(a + noise[0], b + noise[1], s=14, alpha=0.5, color=COLOURS[0])
    ends = [min(a.min(), b.min()) - 2, 101]
    ax.plot(ends, ends, color="black", linewidth=1, label="equal accuracy")
    ax.set(
        xlabel=f"{names[0]}: accuracy on a task (%)",
        ylabel=f"{names[1]}: accuracy on a task (%)",
        xlim=ends,
        ylim=ends,
        aspect="equal",
        title=f"{dataset}: correlation {np.corrcoef(a, b)[0, 1]:.2f} over {len(a)} tasks",
    )
    ax.legend(loc="upper left")
    hardest = (a + b).argmin()
    if a[hardest] <= np.quantile(a, HARD) and b[hardest] <= np.quantile(b, HARD):
        remark(
            ax,
            "hard for both methods",
            a[hardest] + noise[0, hardest],
            b[hardest] + noise[1, hardest],
        )
    return figure


def verdict_tiles(tables: dict[str, pd.DataFrame], width: float = 6.8) -> plt.Figure:
    """Verdicts as tiles, a panel per table of symbols such as '+ 0 +' (`benchmark.symbols`)."""
    height = 0.25 * max(map(len, tables.values())) + 1.6
    figure, panels = plt.subplots(1, len(tables), figsize=(width, height), squeeze=False)
    for ax, (title, table) in zip(panels[0], tables.items()):
        for (row, column), symbols in np.ndenumerate(table):
            _tiles(ax, row, column, symbols.split())
        rows = [" ".join(np.atleast_1d(name)) for name in table.index]
        ax.set_yticks(range(len(rows)), rows, fontsize=8)
        slanted = dict(rotation=35, ha="right", rotation_mode="anchor")
        ax.set_xticks(range(table.shape[1]), table.columns, fontsize=8, **slanted)
        ax.set(ylim=(len(rows) - 0.5, -0.5), xlim=(-0.5, table.shape[1] - 0.5), title=title)
        ax.grid(visible=False)
    return figure


def _tiles(ax: plt.Axes, row: int, column: int, symbols: list[str]) -> None:
    """The symbols of one cell beside each other, each on its colour."""
    for k, symbol in enumerate(symbols):
        tile = dict(
            facecolor=TILES.get(symbol, "0.8"),
            edgecolor="none",
            pad=1.5,
        )
        x = column - 0.4 + 0.8 * (k + 0.5) / len(symbols)
        look = dict(
            color="white",
            ha="center",
            va="center",
            fontsize=8,
            family="monospace",
        )
        ax.text(x, row, symbol, bbox=tile, **look)


def margins(tested: dict[str, Equivalence]) -> plt.Figure:
    """Differences with their intervals, marked by verdict, over a band that shows the margin."""
    looks = {
        "equivalent": ("o", COLOURS[2]),
        "not significantly different": ("s", COLOURS[0]),
        "significantly different": ("^", COLOURS[3]),
    }
    figure, ax = plt.subplots(figsize=(WIDTH, 0.9 + 0.38 * len(tested)))
    margin = next(iter(tested.values())).margin
    ax.axvspan(-margin, margin, color="grey", alpha=0.2)
    ax.axvline(0, color="black", linewidth=1)
    for row, test in enumerate(tested.values()):
        verdict = test.verdict if test.verdict in looks else "significantly different"
        marker, colour = looks[verdict]
        labels = {text.get_label() for text in ax.lines}
        ax.hlines(row, test.difference.low, test.difference.high, color=colour, linewidth=2)
        ax.plot(
            test.difference.estimate,
            row,
            marker,
            color=colour,
            label=verdict if verdict not in labels else None,
        )
    names = [name.replace(" − ", " −\n") for name in tested]
    ax.set_yticks(range(len(tested)), names, fontsize=9)
    ax.set_xlabel("difference (points)")
    ax.invert_yaxis()
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=3,
        fontsize=9,
        columnspacing=1,
        handlelength=1,
        handletextpad=0.3,
    )
    return figure


def conclusive_bars(bars: pd.DataFrame) -> plt.Figure:
    """Share of conclusive pairs by rule (OOPS, Figure 6); ``bars`` as `fslbook.oops.benchmark.figure_6` gives them."""
    rules = list(bars["rule"].unique())
    y, share = bars["rule"].map(rules.index), 100 * bars["conclusive"] / bars["pairs"]
    shots = [s for s in bars["shots"].unique() if s]
    figure, ax = plt.subplots(figsize=(WIDTH, 0.85 * len(rules) + 1))
    theirs = bars["shots"] == 0
    # The paper's stand below the bars, clear of their numbers.
    slots = len(shots) + bool(theirs.any())
    height = 0.8 / slots
    for i, (s, hatch) in enumerate(zip(shots, ["", "//", "..", "xx", "--"])):
        mine = bars["shots"] == s
        look = dict(color=COLOURS[i], hatch=hatch, edgecolor="white", label=counted(s, "shot"))
        ax.barh(y[mine] + (i - (slots - 1) / 2) * height, share[mine], height, **look)
        ax.bar_label(ax.containers[-1], bars["conclusive"][mine].astype(str), padding=3, fontsize=9)
    look = dict(color="black", markersize=6, label="OOPS")
    ax.plot(share[theirs], y[theirs] + (slots - 1) / 2 * height, "D", **look)
    ax.set(
        yticks=range(len(rules)),
        yticklabels=rules,
        xlim=(0, 100),
        xlabel="conclusive pairs of methods (%)",
    )
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.35, 1),
        ncols=len(shots) + 1,
        fontsize=9,
        columnspacing=1,
        handlelength=1.5,
    )
    return figure


def variance_curve(measured: pd.DataFrame, models: dict[str, ndarray]) -> plt.Figure:
    """Variance of the mean accuracy against Q, measured and by models (OOPS, Figure 2).

    Parameters
    ----------
    measured : DataFrame
        Columns queries, variance and error, of shares; shown in squared points.
    models : dict
        Name → variances at the same Q. Up to three, drawn with different lines.
    """
    figure, ax = plt.subplots(figsize=(5.4, 4.2))
    q = measured["queries"]
    for i, (name, variance) in enumerate(models.items()):
        ax.plot(
            q, 1e4 * variance, color=COLOURS[i + 1], linestyle=LINES[i], linewidth=2, label=name
        )
    ax.errorbar(
        q,
        1e4 * measured["variance"],
        2e4 * measured["error"],
        fmt="o",
        markersize=4,
        color=COLOURS[0],
        label="measured ± 2 standard errors",
    )
    _log_queries(ax)
    ax.set(yscale="log", ylabel="variance of the mean accuracy (points²)")
    plain_ticks(ax.yaxis, (1, 2, 3, 4, 5, 7))
    ax.legend(fontsize=10, loc="upper center")
    least = measured.loc[measured["variance"].idxmin()]
    remark(ax, f"lowest at Q = {least['queries']:.0f}", least["queries"], 1e4 * least["variance"])
    return figure


def variance_panels(groups: dict[str, dict[str, pd.DataFrame]]) -> plt.Figure:
    """Variance and number of tasks against Q, a row per group of settings (OOPS, Figure 3).

    Parameters
    ----------
    groups : dict
        Title of a row → name of a setting → columns queries, variance (of shares), error, tasks and
        predicted.
    """
    figure = plt.figure(figsize=(5.3, 3.3 * len(groups)), layout="constrained")
    for row, (title, settings) in zip(
        figure.subfigures(len(groups), 1, squeeze=False)[:, 0], groups.items()
    ):
        left, right = row.subplots(1, 2)
        for i, (name, t) in enumerate(settings.items()):
            look = dict(color=COLOURS[i], label=name)
            left.plot(t["queries"], 1e4 * t["predicted"], color=COLOURS[i], linewidth=1)
            left.errorbar(
                t["queries"],
                1e4 * t["variance"],
                2e4 * t["error"],
                fmt=MARKERS[i],
                markersize=4,
                **look,
            )
            right.plot(
                t["queries"], t["tasks"], marker=MARKERS[i], markersize=4, linewidth=1, **look
            )
        left.set(yscale="log", ylabel="variance (points²)", title=title)
        right.set(yscale="log", ylabel="tasks, T", title=title)
        for ax in (left, right):
            _log_queries(ax, (1, 3))
            plain_ticks(ax.yaxis)
        row.legend(
            *right.get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=10
        )
    return figure


def query_panels(curves: pd.DataFrame) -> plt.Figure:
    """Open half-width and number of tasks against Q, a row per number of shots (OOPS, Figures 4 and 5).

    Parameters
    ----------
    curves : DataFrame
        Of one method: dataset, shots, queries, half_width (points), n_tasks. The least half-width
        is circled.
    """
    shots = curves["shots"].unique().tolist()
    size = (5.3, 0.6 + 2.5 * len(shots))
    figure, axes = plt.subplots(
        len(shots), 2, figsize=size, sharex=True, squeeze=False, layout="constrained"
    )
    for (left, right), s in zip(axes, shots):
        for i, (name, part) in enumerate(
            curves[curves["shots"] == s].groupby("dataset", sort=False)
        ):
            look = dict(color=COLOURS[i], marker=MARKERS[i], markersize=4, linewidth=1, label=name)
            for ax, column in ((left, "half_width"), (right, "n_tasks")):
                ax.plot(part["queries"], part[column], **look)
            minimum = part.loc[part["half_width"].idxmin()]
            left.plot(
                minimum["queries"],
                minimum["half_width"],
                "o",
                markersize=12,
                color=COLOURS[i],
                fillstyle="none",
            )
        left.set(yscale="log", ylabel="half-width (points)", title=counted(s, "shot"))
        right.set(yscale="log", ylabel="tasks, T", title=counted(s, "shot"))
        for ax in (left, right):
            _log_queries(ax, (1, 3))
            plain_ticks(ax.yaxis)
            ax.set_xlabel("queries per class, Q" if s == shots[-1] else "")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=2,
        fontsize=10,
    )
    few = curves[curves["shots"] == shots[0]]
    minima = few.loc[few.groupby("dataset")["half_width"].idxmin()]
    least = minima.loc[
        minima["half_width"].idxmax()
    ]  # of the upper curve, beside which there is room
    words = f"narrowest at Q = {least['queries']:.0f}"
    remark(axes[0, 0], words, least["queries"], least["half_width"])
    return figure


def optima(table: pd.DataFrame) -> plt.Figure:
    """Q* of pilots with their intervals, a panel per number of shots, a row per data set, a mark per method.

    Parameters
    ----------
    table : DataFrame
        Columns shots, method, dataset, optimum, low and high; an infinite end is drawn to the
        panel's edge.
    """
    shots, names, methods = (table[c].unique().tolist() for c in ("shots", "dataset", "method"))
    figure, axes = plt.subplots(
        len(shots),
        1,
        figsize=(WIDTH, 1.3 + 1.8 * len(shots)),
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    ends = table[["optimum", "low", "high"]]
    edge = 1.3 * ends.where(np.isfinite(ends)).max(axis=None)
    for ax, s in zip(axes[:, 0], shots):
        for i, method in enumerate(methods):
            part = table[(table["shots"] == s) & (table["method"] == method)]
            y = part["dataset"].map(names.index) + 0.22 * (i - (len(methods) - 1) / 2)
            ax.hlines(y, part["low"], part["high"].clip(upper=edge), color=COLOURS[i], linewidth=2)
            ax.plot(
                part["optimum"].where(part["optimum"] < np.inf),
                y,
                MARKERS[i],
                color=COLOURS[i],
                label=method,
            )
        _log_queries(ax)
        ax.set(yticks=range(len(names)), yticklabels=names, title=counted(s, "shot"), xlabel="")
        ax.invert_yaxis()
    axes[-1, 0].set_xlabel("best number of queries per class, Q*")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper left", fontsize=9)
    finite = table[np.isfinite(ends).all(axis=1)]
    if len(finite):
        widest = finite.loc[(finite["high"] / finite["low"]).idxmax()]
        height = names.index(widest["dataset"]) + 0.22 * (
            methods.index(widest["method"]) - (len(methods) - 1) / 2
        )
        words = f"one pilot: {widest['low']:.0f} to {widest['high']:.0f}"
        remark(axes[shots.index(widest["shots"]), 0], words, widest["low"], height)
    return figure


def _log_queries(ax: plt.Axes, digits: tuple[int, ...] = (1, 2, 5)) -> None:
    ax.set(xscale="log", xlabel="queries per class, Q")
    plain_ticks(ax.xaxis, digits)


def rank_diagram(
    ranks: pd.Series, groups: list[list[str]], critical_difference: float
) -> plt.Figure:
    """Critical-difference diagram (Demšar, 2006, Figure 1): methods on an axis of mean rank, the best on the left.

    Parameters
    ----------
    ranks : Series
        Mean rank by method, the best first.
    groups : list of lists
        Sets of methods of which no two differ significantly; a bar with a dot at each member joins
        those of two or more.
    critical_difference : float
        Drawn to scale above the axis.
    """
    bars = [group for group in groups if len(group) > 1]
    half = -(-len(ranks) // 2)
    first_name = 1.15 + RANK_STEP * len(bars)  # inches below the axis
    figure, ax = plt.subplots(figsize=(5.0, 0.9 + first_name + NAME_STEP * half))
    ax.set(
        xlim=(1.0, float(max(len(ranks), 2))),
        ylim=(-(first_name - 0.65 + NAME_STEP * half), 0.7),
    )
    draw_rank_axis(ax, len(ranks), critical_difference)
    for i, group in enumerate(bars):
        height = -0.18 - RANK_STEP * i
        ax.plot(
            [ranks[method] for method in group],
            [height] * len(group),
            "o-",
            color=COLOURS[0],
            linewidth=3,
            markersize=5,
        )
    names = list(ranks.index)
    for i, name in enumerate([*names[:half], *names[half:][::-1]]):
        height = -(first_name - 0.8 + NAME_STEP * (i % half))
        draw_ranked_name(ax, name, ranks[name], height, left=i < half)
    ax.axis("off")
    return figure


def draw_rank_axis(ax: plt.Axes, count: int, critical_difference: float) -> None:
    """The axis of ranks from 1, with the critical difference above it."""
    low, high = ax.get_xlim()
    ax.hlines(0, low, high, color="black", linewidth=1)
    for tick in range(1, count + 1):
        ax.vlines(tick, 0, 0.07, color="black", linewidth=1)
        ax.annotate(str(tick), (tick, 0.1), ha="center", va="bottom", fontsize=9)
    ax.annotate(
        "mean rank",
        ((low + high) / 2, 0.62),
        ha="center",
        va="bottom",
        fontsize=10,
        annotation_clip=False,
    )
    end = low + min(critical_difference, high - low)
    ax.hlines(0.42, low, end, color=COLOURS[1], linewidth=3)
    label = f"critical difference {critical_difference:.2f}"
    placement = dict(
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        fontsize=9,
        annotation_clip=False,
    )
    ax.annotate(label, (end, 0.42), **placement)


def draw_ranked_name(ax: plt.Axes, name: str, rank: float, height: float, left: bool) -> None:
    """A name at the left or right edge, with a line to its rank."""
    edge = ax.get_xlim()[0 if left else 1]
    ax.plot([rank, rank, edge], [0, height, height], color="grey", linewidth=0.8, zorder=0)
    label = f"{name} ({rank:.2f})".replace("$", r"\$")  # a dollar sign begins no formula
    side = dict(xytext=(-5, 0), ha="right") if left else dict(xytext=(5, 0), ha="left")
    ax.annotate(
        label,
        (edge, height),
        textcoords="offset points",
        va="center",
        fontsize=9,
        annotation_clip=False,
        **side,
    )
