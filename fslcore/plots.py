"""The book's figures: each function draws one message on the axes or figure it returns."""

from __future__ import annotations

from itertools import cycle, product
from textwrap import wrap
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from .stats import Interval, power

if TYPE_CHECKING:  # these import torch, which takes longer than a report
    from .datasets import Images
    from .tasks import Tasks

__all__ = [
    "accuracy_panels",
    "against_truth",
    "assessment",
    "biased_task",
    "captioner_noise",
    "conclusive_bars",
    "conflict",
    "coverage",
    "crossover",
    "dial",
    "error_boxes",
    "error_curves",
    "estimate_scatter",
    "estimates",
    "gap_bars",
    "groups",
    "image_grid",
    "implied_correlations",
    "interval_stack",
    "lens_intervals",
    "optima",
    "paired_scatter",
    "power_curves",
    "query_panels",
    "rank_points",
    "ratio_bars",
    "shot_panels",
    "spread_ratios",
    "style",
    "task_images",
    "task_intervals",
    "three_stacks",
    "training_curves",
    "variance_curve",
    "variance_panels",
]

CAP = 2000  # open tasks at which the released OOPS sampler stops
COLOURS = sns.color_palette("colorblind")
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h", "d"]
LINES = ["-", "--", ":", "-."]


def style() -> None:
    """Readable type, a white ground in light and dark mode alike, colour-blind-safe colours."""
    pd.set_option("display.max_colwidth", None)  # tables on a page wrap, they need no cutting
    sns.set_theme(
        context="notebook",
        style="whitegrid",
        palette="colorblind",
        rc={"figure.dpi": 110, "savefig.facecolor": "white", "axes.titlesize": "medium", "figure.autolayout": True},
    )


def image_grid(images: Images, classes: int = 12, per_class: int = 8, seed: int = 0) -> plt.Figure:
    """A row a class with a few of its images, classes and images chosen at random from ``seed``."""
    rng = np.random.default_rng(seed)
    classes = min(classes, len(images.class_names))
    chosen = np.sort(rng.permutation(len(images.class_names))[:classes])
    figure, axes = plt.subplots(classes, 1, figsize=(6.4, 0.6 * classes))
    for ax, c in zip(axes, chosen):
        rows = rng.permutation(np.flatnonzero(images.labels == c))[:per_class]
        strip = np.concatenate(list(images.images[rows]), axis=1)
        ax.imshow(strip.squeeze(), cmap="gray", vmin=0, vmax=255)
        name = images.class_names[c].split("/")[-1]
        ax.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=10)
        ax.set(xticks=[], yticks=[])
        sns.despine(ax=ax, left=True, bottom=True)
    return figure


def task_images(images: Images, tasks: Tasks, task: int, queries: int = 5) -> plt.Figure:
    """The support of one task, a row a class, and right of the gap the first of its query images."""
    figure, axes = plt.subplots(tasks.ways, 1, figsize=(6.4, 0.75 * tasks.ways + 0.2), layout="constrained")
    for k, ax in enumerate(axes):
        support, query = (
            index[task][label[task] == k]
            for index, label in ((tasks.support, tasks.support_label), (tasks.query, tasks.query_label))
        )
        pixels = list(images.images[np.concatenate([support, query[:queries]])])
        gap = np.full((pixels[0].shape[0], 16, pixels[0].shape[2]), 255, np.uint8)
        strip = np.concatenate([*pixels[: len(support)], gap, *pixels[len(support) :]], axis=1)
        ax.imshow(strip.squeeze(), cmap="gray", vmin=0, vmax=255)
        name = images.class_names[images.labels[support[0]]].split("/")[-1]
        ax.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=10)
        ax.set(xticks=[], yticks=[])
        sns.despine(ax=ax, left=True, bottom=True)
    axes[0].set_title("support | query", fontsize=10)
    return figure


def lens_intervals(found: pd.DataFrame) -> plt.Figure:
    """Differences of two learners by measure, each with intervals for three targets (`fslcore.honest.lenses`)."""
    figure, ax = plt.subplots(figsize=(6.4, 0.8 * len(found) + 1.4), layout="constrained")
    targets = {"closed": "these images", "images": "new images", "classes": "new classes"}
    for k, (kind, name) in enumerate(targets.items()):
        of = [getattr(r, kind) for r in found["result"]]
        rows = np.arange(len(of)) + 0.22 * (k - 1)
        halves = [r.half_width if np.isfinite(r.half_width) else np.nan for r in of]
        ax.errorbar([r.mean for r in of], rows, xerr=halves, fmt=MARKERS[k], color=COLOURS[k], capsize=4, label=name)
    ax.axvline(0, color="black", linewidth=1)
    ax.set(
        yticks=range(len(found)),
        yticklabels=found["measure"],
        ylim=(len(found) - 0.5, -0.5),
        xlabel=f"{found['a'].iloc[0]} − {found['b'].iloc[0]} (points)",
    )
    ax.grid(axis="y", visible=False)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=10)
    return figure


def interval_stack(intervals: list[Interval], truth: float, title: str, ax: plt.Axes) -> plt.Axes:
    """Intervals of repeated experiments, one above the other; those that miss the truth are marked."""
    lows, highs = (np.array([getattr(r, end) for r in intervals]) for end in ("low", "high"))
    hit = (lows <= truth) & (truth <= highs)
    rows = np.arange(len(intervals))
    for mine, colour, line, name in ((hit, COLOURS[0], "-", "holds the truth"), (~hit, COLOURS[3], "--", "misses it")):
        ax.hlines(rows[mine], lows[mine], highs[mine], color=colour, linestyle=line, linewidth=2, label=name)
    ax.axvline(truth, color="black", linewidth=1)
    title = f"{title}: {hit.mean():.0%} hold the truth"
    ax.set(xlabel="mean accuracy (%)", ylabel="repetition, with new images", title=title)
    return ax


def crossover(ours: pd.DataFrame, printed: pd.DataFrame, tasks: int, images_a_task: int) -> plt.Figure:
    """Ratio of open to closed half-width against the number of test images.

    Parameters
    ----------
    ours, printed : DataFrame
        Columns n_images, ratio and learner.
    tasks : int
        T of the closed intervals.
    images_a_task : int
        K (S + Q); the line is √(T · K (S + Q) / N), what equal variances a task would give.
    """
    figure, ax = plt.subplots(figsize=(6.4, 4.6))
    sizes = np.geomspace(*[f(pd.concat([ours, printed])["n_images"]) for f in (min, max)])
    line = np.sqrt(tasks * images_a_task / sizes)
    ax.plot(sizes, line, color="grey", linewidth=1.5, label=f"√({tasks} tasks × {images_a_task} images / N)")
    cap = np.sqrt(tasks / CAP)
    ax.plot(
        sizes[line < cap],
        np.full((line < cap).sum(), cap),
        color="grey",
        linestyle=":",
        linewidth=1.5,
        label=f"the released sampler stops at {CAP:,} tasks",
    )
    ax.scatter(printed["n_images"], printed["ratio"], marker="x", color=COLOURS[1], s=45, label="OOPS, Table 2")
    ax.scatter(ours["n_images"], ours["ratio"], marker="o", color=COLOURS[0], s=45, alpha=0.8, label="this book")
    ax.axhline(1, color="black", linewidth=1)
    ax.annotate("open wider than closed", (sizes[0], 1.15), fontsize=10)
    ax.annotate("open narrower", (sizes[0], 0.78), fontsize=10)
    ax.set(xscale="log", yscale="log", xlabel="number of test images, N", ylabel="half-width, open / closed (ratio)")
    ax.legend()
    return figure


def paired_scatter(a: np.ndarray, b: np.ndarray, names: tuple[str, str]) -> plt.Figure:
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
        title=f"correlation {np.corrcoef(a, b)[0, 1]:.2f} over {len(a)} tasks",
    )
    ax.legend(loc="upper left")
    return figure


def groups(panels: dict[str, tuple[pd.Series, list[list[str]]]]) -> plt.Figure:
    """Methods on an axis of mean accuracy; a bar joins those that are not told apart.

    Parameters
    ----------
    panels : dict
        Setting → mean accuracies (percent) by method, the best first, and groups of methods not
        told apart (see `fslcore.results.groups`). A bar has a dot at each member and passes
        by the others. More than 40 bars are left out with a word.
    """
    rows = [len(means) for means, _ in panels.values()]
    figure, axes = plt.subplots(
        len(panels), figsize=(5.2, 0.9 * len(panels) + 0.36 * sum(rows)), height_ratios=rows, squeeze=False
    )
    for ax, (setting, (means, found)) in zip(axes[:, 0], panels.items()):
        at = {method: row for row, method in enumerate(means.index)}
        ax.plot(means, list(at.values()), "o", color="black")
        bars = [group for group in found if len(group) > 1]
        if len(bars) > 40:  # they would be wider than the rest
            ax.text(1.02, 0.5, f"{len(bars)} bars are left out", transform=ax.transAxes, rotation=90, va="center")
            bars = []
        for i, group in enumerate(bars):
            own = [at[m] for m in group]
            ax.plot(
                [1.04 + 0.05 * i] * len(own),
                own,
                "o-",
                color=COLOURS[i % len(COLOURS)],
                linewidth=3,
                transform=ax.get_yaxis_transform(),
                clip_on=False,
            )
        ax.set(yticks=list(at.values()), yticklabels=list(at), ylim=(len(at) - 0.5, -0.5), xlabel="mean accuracy (%)")
        if len(panels) > 1:
            ax.set_title(setting)
    return figure


def three_stacks(made: dict[str, pd.DataFrame]) -> plt.Figure:
    """Closed intervals, and those made for the question, of test sets with new images and with new classes.

    Parameters
    ----------
    made : dict
        'images' and 'classes': `fslcore.coverage.replicates` of one regime.
    """
    figure, axes = plt.subplots(2, 2, figsize=(6.8, 6.4), sharex="col", sharey=True)
    for column, (new, sets) in zip(axes.T, made.items()):
        truth = sets["mean"].mean()
        rows = sets.head(40)
        for ax, half, name in zip(column, ("usual_half", f"{new}_half"), ("closed", f"for new {new}")):
            usual = rows["usual_gap"] * (1 - 600 / rows["tasks"])  # from the mean of all tasks to that of 600
            mean = rows["mean"] + (usual if half == "usual_half" else 0)
            stack = [Interval(m, h, 0.95, 0, name) for m, h in zip(mean, rows[half])]
            interval_stack(stack, truth, name, ax)
            ax.set(
                xlabel="", ylabel="test set", title=ax.get_title().replace(" hold the truth", " hold it"), ylim=(-1, 52)
            )
        column[1].set_xlabel("mean accuracy (%)")
    for ax, text in zip(axes[0], ("new images", "new classes")):
        ax.set_title(f"Test sets with {text}\n{ax.get_title()}")
    for ax in axes[:, 1]:
        ax.set_ylabel("")
    axes[1, 1].legend(loc="upper right", fontsize=9)
    return figure


def coverage(summary: pd.DataFrame) -> plt.Figure:
    """Share of intervals that hold the truth, by kind of world (`fslcore.coverage.summary`)."""
    from .coverage import names

    figure, axes = plt.subplots(1, 2, figsize=(6.8, 7.2), sharey=True)
    marks = {
        "closed": (COLOURS[1], "x", "closed, 600 tasks"),
        "open": (COLOURS[2], "^", "open, best Q"),
        "own": (COLOURS[0], "o", "this chapter's"),
    }
    for ax, target in zip(axes, ("new images", "new classes")):
        ax.axvspan(93, 97, color="0.88", zorder=0)
        for (kind, (colour, mark, name)), shift in zip(marks.items(), (0.22, 0, -0.22)):
            part = summary[
                (summary["target"] == target)
                & (summary["interval"] == (target.removeprefix("new ") if kind == "own" else kind))
            ]
            error = np.abs(part[["low", "high"]].to_numpy().T - part["share"].to_numpy())
            ax.errorbar(
                part["share"],
                np.arange(len(part)) + shift,
                xerr=error,
                fmt=mark,
                color=colour,
                markersize=5,
                label=name,
            )
        ax.set(title=f"target: {target}", xlabel="hold the truth (%)", xlim=(0, 102))
    axes[0].set_yticks(np.arange(len(part)), names(part), fontsize=9)
    axes[0].invert_yaxis()
    axes[0].legend(loc="lower left", fontsize=9)
    return figure


def ratio_bars(ratios: pd.DataFrame) -> plt.Figure:
    """Open half-width over that for new images, by kind of world (`fslcore.coverage.width_ratios`)."""
    from .coverage import names

    figure, ax = plt.subplots(figsize=(6.4, 4.6))
    rows = np.arange(len(ratios))
    ax.barh(rows, ratios["ratio"], color=COLOURS[0])
    ax.axvline(1, color="black", linewidth=1)
    for row, (ratio, q) in enumerate(zip(ratios["ratio"], ratios["queries"])):
        ax.annotate(f"{ratio:.1f}  (Q = {q})", (ratio + 0.05, row), va="center", fontsize=9)
    ax.set_yticks(rows, names(ratios), fontsize=9)
    ax.invert_yaxis()
    ax.set(xlabel="half-width, open / this chapter's (ratio)", xlim=(0, ratios["ratio"].max() + 1.2))
    return figure


def power_curves(degrees: list[float], level: float) -> plt.Figure:
    """Chance that a paired interval leaves 0 out, against the true difference in standard errors."""
    figure, ax = plt.subplots(figsize=(6.4, 4.2))
    x = np.linspace(0, 6, 121)
    for df, line in zip(degrees, ("--", "-", ":")):
        name = "many degrees of freedom" if np.isinf(df) else f"{df:.0f} degrees of freedom"
        ax.plot(x, [100 * power(d, 1.0, df, level) for d in x], line, linewidth=2, label=name)
    ax.axhline(80, color="grey", linewidth=1)
    ax.set(xlabel="true difference (standard errors)", ylabel="power (%)", ylim=(0, 101), xlim=(0, 6))
    ax.legend(loc="lower right")


def assessment(table: pd.DataFrame) -> plt.Figure:
    """Estimated accuracy of each method with its interval, and the 5-fold estimate (`fslcore.assess.assess`)."""
    figure, ax = plt.subplots(figsize=(6.4, 1.4 + 0.5 * len(table)))
    at, informed = np.arange(len(table)), (table["basis"] == "informed").to_numpy()
    ax.hlines(at, 100 * table["low"], 100 * table["high"], color=COLOURS[0], linewidth=3, label="interval")
    for rows, face, size, label in (
        (informed, COLOURS[0], 8, "informed estimate"),
        (~informed, "white", 11, "other estimate"),
    ):
        if rows.any():
            dots = dict(color=COLOURS[0], markerfacecolor=face, markersize=size, mew=2, label=label, clip_on=False)
            ax.plot(100 * table["estimate"][rows], at[rows], "o", **dots)
    size = 8 if informed.all() else 6  # inside a dot that is empty
    ax.plot(100 * table["5-fold"], at, "x", color="black", markersize=size, mew=2, label="5-fold", clip_on=False)
    ax.set_yticks(at, table["backbone"] + "\n" + table["learner"], fontsize=10)
    ax.set(xlim=(0, 100), ylim=(len(table) - 0.5, -0.5), xlabel="accuracy (%)")
    ax.grid(axis="y", visible=False)
    ax.legend(loc="lower left", bbox_to_anchor=(-0.3, 1), ncols=4, fontsize=10, columnspacing=1)
    return figure


def estimate_scatter(table: pd.DataFrame, estimators: list[str]) -> plt.Figure:
    """Accuracy on the query against its estimates, a panel an estimator.

    Parameters
    ----------
    table : DataFrame
        A row a task: accuracy and a column an estimator, shares.
    """
    figure, axes = plt.subplots(1, len(estimators), figsize=(6.8, 3.8), sharex=True, sharey=True)
    # 5-fold gives multiples of 1/25 and the query of 1/75: jitter, or points hide each other.
    noise = np.random.default_rng(0).uniform(-1, 1, (2, len(table)))
    truth = 100 * table["accuracy"] + 0.6 * noise[0]
    for ax, name in zip(axes, estimators):
        error = 100 * (table[name] - table["accuracy"]).abs().mean()
        guess = 100 * table[name] + 1.5 * noise[1] * (name in ("5-fold", "hold-out"))
        ax.scatter(guess, truth, s=5, alpha=0.25, color=COLOURS[0])
        ax.plot([0, 100], [0, 100], color="black", linewidth=1)
        ax.set(title=f"{name}: off by {error:.1f} points", xlabel="estimate (%)")
        ax.set(xlim=(0, 102), ylim=(0, 102), aspect="equal")
    axes[0].set_ylabel("accuracy on the query (%)")
    return figure


def task_intervals(table: pd.DataFrame) -> plt.Figure:
    """Intervals of single tasks in order of their middle, with the accuracy on the query.

    Parameters
    ----------
    table : DataFrame
        low, high and truth, a row a task, shares.
    """
    table = table.assign(middle=(table["low"] + table["high"]) / 2).sort_values("middle", ignore_index=True)
    inside = (table["low"] <= table["truth"]) & (table["truth"] <= table["high"])
    figure, ax = plt.subplots(figsize=(6.8, 3.8))
    ends = 100 * table["low"], 100 * table["high"]
    ax.vlines(table.index, *ends, color=COLOURS[0], alpha=0.5, linewidth=3, label="interval")
    for mine, mark, size, colour, name in (
        (inside, "o", 5, "black", "accuracy"),
        (~inside, "X", 8, COLOURS[3], "outside"),
    ):
        ax.plot(table.index[mine], 100 * table["truth"][mine], mark, color=colour, markersize=size, label=name)
    ax.set(xlabel="task, by estimate", ylabel="accuracy (%)", ylim=(0, 102))
    ax.set_title(f"{inside.sum()} of {len(table)} inside")
    ax.legend(loc="lower right", ncols=3, fontsize=10)
    return figure


def conclusive_bars(bars: pd.DataFrame) -> plt.Figure:
    """Share of conclusive pairs by rule (OOPS, Figure 6); ``bars`` as `fslcore.report.figure_6` gives them."""
    rules = list(bars["rule"].unique())
    y, share = bars["rule"].map(rules.index), 100 * bars["conclusive"] / bars["pairs"]
    shots = [s for s in bars["shots"].unique() if s]
    figure, ax = plt.subplots(figsize=(5.4, 0.85 * len(rules) + 1))
    height = 0.8 / len(shots)
    for i, (s, hatch) in enumerate(zip(shots, ["", "//", "..", "xx", "--"])):
        mine = bars["shots"] == s
        name = f"{s} shot" if s == 1 else f"{s} shots"
        offset = (i - (len(shots) - 1) / 2) * height
        style = dict(color=COLOURS[i], hatch=hatch, edgecolor="white", label=name)
        drawn = ax.barh(y[mine] + offset, share[mine], height, **style)
        ax.bar_label(drawn, bars["conclusive"][mine].astype(str), padding=3, fontsize=9)
    theirs = bars["shots"] == 0
    ax.plot(share[theirs], y[theirs], "D", color="black", markersize=7, label="OOPS, printed")
    ax.set(yticks=range(len(rules)), yticklabels=rules, xlim=(0, 100), xlabel="conclusive pairs of methods (%)")
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    above = dict(loc="lower center", bbox_to_anchor=(0.35, 1), ncols=len(shots) + 1)
    ax.legend(**above, fontsize=9, columnspacing=1, handlelength=1.5)
    return figure


def variance_curve(measured: pd.DataFrame, models: dict[str, np.ndarray]) -> plt.Figure:
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
        ax.plot(q, 1e4 * variance, color=COLOURS[i + 1], linestyle=LINES[i], linewidth=2, label=name)
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
    _plain_ticks(ax.yaxis, (1, 2, 3, 4, 5, 7))
    ax.legend(fontsize=10, loc="upper center")
    return figure


def variance_panels(groups: dict[str, dict[str, pd.DataFrame]]) -> plt.Figure:
    """Variance and number of tasks against Q, a row a group of settings (OOPS, Figure 3).

    Parameters
    ----------
    groups : dict
        Title of a row → name of a setting → columns queries, variance (of shares), error, tasks and predicted.
    """
    figure = plt.figure(figsize=(5.6, 3.3 * len(groups)), layout="constrained")
    for row, (title, settings) in zip(figure.subfigures(len(groups), 1, squeeze=False)[:, 0], groups.items()):
        left, right = row.subplots(1, 2)
        for i, (name, t) in enumerate(settings.items()):
            look = dict(color=COLOURS[i], label=name)
            left.plot(t["queries"], 1e4 * t["predicted"], color=COLOURS[i], linewidth=1)
            left.errorbar(t["queries"], 1e4 * t["variance"], 2e4 * t["error"], fmt=MARKERS[i], markersize=4, **look)
            right.plot(t["queries"], t["tasks"], marker=MARKERS[i], markersize=4, linewidth=1, **look)
        left.set(yscale="log", ylabel="variance (points²)", title=title)
        right.set(yscale="log", ylabel="tasks, T", title=title)
        for ax in (left, right):
            _log_queries(ax, (1, 3))
            _plain_ticks(ax.yaxis)
        row.legend(*right.get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=10)
    return figure


def query_panels(curves: pd.DataFrame) -> plt.Figure:
    """Open half-width and number of tasks against Q, a row a number of shots (OOPS, Figures 4 and 5).

    Parameters
    ----------
    curves : DataFrame
        Of one method: dataset, shots, queries, half_width (points), n_tasks. The least half-width is circled.
    """
    shots = curves["shots"].unique().tolist()
    size = (5.6, 0.6 + 2.5 * len(shots))
    figure, axes = plt.subplots(len(shots), 2, figsize=size, sharex=True, squeeze=False, layout="constrained")
    for (left, right), s in zip(axes, shots):
        for i, (name, part) in enumerate(curves[curves["shots"] == s].groupby("dataset", sort=False)):
            look = dict(color=COLOURS[i], marker=MARKERS[i], markersize=4, linewidth=1, label=name)
            for ax, column in ((left, "half_width"), (right, "n_tasks")):
                ax.plot(part["queries"], part[column], **look)
            least = part.loc[part["half_width"].idxmin()]
            left.plot(least["queries"], least["half_width"], "o", markersize=12, color=COLOURS[i], fillstyle="none")
        left.set(yscale="log", ylabel="half-width (points)", title=f"{s} shot{'s' * (s > 1)}")
        right.set(yscale="log", ylabel="tasks, T", title=f"{s} shot{'s' * (s > 1)}")
        for ax in (left, right):
            _log_queries(ax, (1, 3))
            _plain_ticks(ax.yaxis)
            ax.set_xlabel("queries a class, Q" if s == shots[-1] else "")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2, fontsize=10)
    return figure


def optima(table: pd.DataFrame, rows: str = "dataset") -> plt.Figure:
    """Q* of pilots with their intervals, a panel a number of shots, a row a value of ``rows``, a mark a method.

    Parameters
    ----------
    table : DataFrame
        Columns shots, method, ``rows``, optimum, low and high; an infinite end is drawn to the panel's edge.
    """
    shots, names, methods = (table[c].unique().tolist() for c in ("shots", rows, "method"))
    size = (5.4, 1.3 + 1.8 * len(shots))
    figure, axes = plt.subplots(len(shots), 1, figsize=size, sharex=True, squeeze=False, layout="constrained")
    finite = table[["optimum", "low", "high"]].replace(np.inf, np.nan)
    edge = 1.3 * np.nanmax(finite.to_numpy())
    for ax, s in zip(axes[:, 0], shots):
        for i, method in enumerate(methods):
            part = table[(table["shots"] == s) & (table["method"] == method)]
            y = np.array([names.index(n) for n in part[rows]]) + 0.22 * (i - (len(methods) - 1) / 2)
            ax.hlines(y, part["low"], part["high"].clip(upper=edge), color=COLOURS[i], linewidth=2)
            ax.plot(part["optimum"].where(part["optimum"] < np.inf), y, MARKERS[i], color=COLOURS[i], label=method)
        _log_queries(ax)
        ax.set(yticks=range(len(names)), yticklabels=names, title=f"{s} shot{'s' * (s > 1)}", xlabel="")
        ax.invert_yaxis()
    axes[-1, 0].set_xlabel("best number of queries a class, Q*")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper left", fontsize=9)
    return figure


# One colour, mark and line an estimator in all figures of errors.
ESTIMATORS = [
    "hold-out",
    "5-fold",
    "K-fold",
    "leave-one-out",
    "leave-one-out, refilled",
    "bootstrap",
    "even folds",
    "fresh",
]
_LOOK = {
    name: dict(color=colour, marker=mark, linestyle=line)
    for name, colour, mark, line in zip(
        ESTIMATORS,
        [*(COLOURS[i] for i in (1, 0, 0, 3, 4, 2, 5)), "black"],
        ["v", "o", "o", "s", "D", "^", "P", "x"],
        ["-.", "-", "-", "--", "-.", ":", "-", (0, (1, 1))],
    )
}


def estimates(table: pd.DataFrame, names: list[str]) -> plt.Figure:
    """Estimated accuracy against the oracle's, a panel an estimator, a dot a task (evaluators paper, Figure 1).

    ``table`` as `fslcore.evaluators.collect` gives it, of one data set and method.
    """
    figure, axes = plt.subplots(2, 2, figsize=(6.2, 6.2), sharex=True, sharey=True)
    noise = np.random.default_rng(0).uniform(-1.5, 1.5, (2, len(table)))  # accuracies take few values
    for ax, name in zip(axes.flat, names):
        ax.plot([0, 100], [0, 100], color="black", linewidth=1)
        ax.scatter(table["oracle"] + noise[0], table[name] + noise[1], s=10, alpha=0.4, color=_LOOK[name]["color"])
        ax.set(title=f"{name}: correlation {table['oracle'].corr(table[name]):.2f}", aspect="equal")
    for ax in axes[:, 0]:
        ax.set_ylabel("estimate (%)")
    for ax in axes[1]:
        ax.set_xlabel("oracle (%)")
    return figure


def error_boxes(errors: pd.DataFrame, rows: str = "method") -> plt.Figure:
    """Distribution of the absolute error over tasks (evaluators paper, Figures 2 and 6).

    Parameters
    ----------
    errors : DataFrame
        As `fslcore.evaluators.errors` gives it.
    rows : str
        Column whose values are the groups of boxes.
    """
    names = [n for n in ESTIMATORS if n in set(errors["estimator"])]
    groups = errors[rows].nunique()
    figure, ax = plt.subplots(figsize=(5.8, 1.2 + 0.24 * groups * len(names)))
    sns.boxplot(
        errors.assign(size=errors["error"].abs()),
        x="size",
        y=rows,
        hue="estimator",
        hue_order=names,
        ax=ax,
        palette=[_LOOK[n]["color"] if n != "fresh" else "0.75" for n in names],
        fliersize=1.5,
        linewidth=0.9,
        gap=0.15,
    )
    boxes = [p for p in ax.patches if p.get_path().vertices.shape[0] > 4]
    for i, box in enumerate(boxes):
        box.set_hatch(["", "//", "..", "xx", "--"][i // groups % 5])
    ax.axvline(10, color="black", linewidth=1)
    ax.set(xlabel="absolute error (points)", ylabel="")
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.35, 1), ncols=3, fontsize=9)
    return figure


def error_curves(curve: pd.DataFrame, by: str, panels: str = "method", log: str = "") -> plt.Figure:
    """Mean absolute error ± its standard error, a line an estimator (evaluators paper, Figures 3 and 7).

    Parameters
    ----------
    curve : DataFrame
        As `fslcore.evaluators.curve` gives it; where ``by`` has no value, the error is drawn as a level.
    by, panels : str
        Columns: of the horizontal axis, and whose values have a panel each.
    log : str
        The axes that are logarithmic: '', 'x' or 'xy'.
    """
    titles = curve[panels].unique()
    rows = -(-len(titles) // 2)
    figure, axes = plt.subplots(
        rows, 2, figsize=(6.4, 0.7 + 2.7 * rows), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for ax, name in zip(axes.flat, titles):
        for estimator, part in curve[curve[panels] == name].groupby("estimator", sort=False):
            look = _LOOK[estimator]
            if part[by].isna().all():
                ax.axhline(part["mae"].iloc[0], color=look["color"], linestyle=look["linestyle"], label=estimator)
            else:
                part = part.sort_values(by)
                ax.errorbar(part[by], part["mae"], part["error"], markersize=4, linewidth=1.2, label=estimator, **look)
        ax.set_title(name)
        for letter, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
            if letter in log:
                ax.set(**{f"{letter}scale": "log"})
                _plain_ticks(axis, (1, 2, 3, 5))
        if "x" not in log:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if "y" not in log:
        axes[0, 0].set_ylim(0, 1.05 * (curve["mae"] + curve["error"]).max())
    for ax in axes.flat[len(titles) :]:
        ax.set_visible(False)
    figure.supxlabel(by, fontsize=12)
    figure.supylabel("mean absolute error (points)", fontsize=12)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=9)
    return figure


def rank_points(means: pd.DataFrame, printed: float) -> plt.Figure:
    """Mean rank correlation with its interval by estimator, a mark a data set (evaluators paper, Figure 4).

    Parameters
    ----------
    means : DataFrame
        dataset, estimator, mean, half_width.
    printed : float
        The largest that the paper names, drawn as a line.
    """
    names, sets = (list(means[c].unique()) for c in ("estimator", "dataset"))
    figure, ax = plt.subplots(figsize=(5.6, 1.4 + 0.5 * len(names)))
    for i, (dataset, part) in enumerate(means.groupby("dataset", sort=False)):
        y = part["estimator"].map(names.index) + 0.18 * (i - (len(sets) - 1) / 2)
        look = dict(color=COLOURS[i], marker=MARKERS[i], markersize=5, linestyle="none")
        ax.errorbar(part["mean"], y, xerr=part["half_width"], label=dataset, **look)
    ax.axvline(0, color="black", linewidth=1)
    ax.axvline(printed, color="grey", linestyle="--", linewidth=1.2, label="largest in the paper")
    ax.set(yticks=range(len(names)), yticklabels=names, xlabel="rank correlation with the oracle, mean over tasks")
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=2, fontsize=10)
    return figure


def shot_panels(curves: pd.DataFrame) -> plt.Figure:
    """Means ± one standard error against shots, a row a data set (evaluators paper, Figures 5 and 8).

    Parameters
    ----------
    curves : DataFrame
        As `fslcore.selection.curves` gives it. With several numbers of ways these have the colours and rules the marks
        and lines; else rules have the looks of all figures of errors.
    """
    sets, panels, ways, rules = (list(curves[c].unique()) for c in ("dataset", "panel", "ways", "rule"))
    several = curves.groupby("dataset")["ways"].nunique().max() > 1
    size = (6.4, 0.9 + 2.4 * len(sets))
    figure, axes = plt.subplots(len(sets), len(panels), figsize=size, sharex=True, squeeze=False, layout="constrained")
    shown = {}
    for (dataset, panel, k, rule), part in curves.groupby(["dataset", "panel", "ways", "rule"], sort=False):
        i = rules.index(rule)
        if several:
            look = dict(color=COLOURS[ways.index(k)], marker=["o", "x", "+"][i], linestyle=LINES[i])
        else:
            look = _LOOK.get(rule, dict(color="black", marker="o", linestyle="-"))
        name = f"{k} ways, {rule}" if several else rule
        ax = axes[sets.index(dataset), panels.index(panel)]
        shown[name] = ax.errorbar(part["shots"], part["mean"], part["error"], markersize=5, linewidth=1.2, **look)
        ax.set(xscale="log", ylabel=panel, title=dataset)
        ax.xaxis.set_major_locator(FixedLocator(sorted(curves["shots"].unique())))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.tick_params(labelbottom=True)
    figure.supxlabel("shots", fontsize=12)
    figure.legend(shown.values(), shown, loc="outside upper center", ncols=2 if several else 3, fontsize=9)
    return figure


def implied_correlations(cells: pd.DataFrame) -> plt.Figure:
    """Correlation of estimate and oracle that printed tables imply, a panel a data set.

    Parameters
    ----------
    cells : DataFrame
        Column correlation by dataset, learner and estimator, as `fslcore.audit.evaluators.Evidence.cells`.
    """
    t = cells["correlation"].dropna()
    sets, learners, estimators = (list(t.index.unique(level)) for level in ("dataset", "learner", "estimator"))
    figure, axes = plt.subplots(len(sets), 1, figsize=(6.4, 2.2 * len(sets) + 0.9), sharex=True, layout="constrained")
    for ax, name in zip(axes, sets):
        ax.axvline(0, color="black", linewidth=1)
        ax.axvspan(1, t.max() + 0.1, color="grey", alpha=0.25, label="impossible")
        for k, estimator in enumerate(estimators):
            of = t.xs((name, estimator), level=("dataset", "estimator"))
            rows = np.array([learners.index(m) for m in of.index]) + 0.16 * (k - 1.5)
            ax.scatter(of, rows, marker=MARKERS[k], color=COLOURS[k], s=36, label=estimator)
        ax.set(title=name, yticks=range(len(learners)), yticklabels=learners, ylim=(len(learners) - 0.5, -0.5))
    axes[-1].set(xlabel="implied correlation of estimate and oracle over episodes", xlim=(t.min() - 0.1, t.max() + 0.1))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def gap_bars(gaps: pd.Series, xlabel: str = "gap, wAcc-R less wAcc-A (points)") -> plt.Figure:
    """Gap of each learner by number of shots, a panel a data set (FewSTAB, Figure 4).

    Parameters
    ----------
    gaps : Series
        By dataset, shots and learner.
    """
    sets, shots, learners = (list(gaps.index.unique(level)) for level in ("dataset", "shots", "learner"))
    size = (5.6, (0.3 * len(learners) + 0.6) * len(sets) + 0.8)
    figure, axes = plt.subplots(len(sets), 1, figsize=size, sharex=True, squeeze=False, layout="constrained")
    height = 0.8 / len(shots)
    for ax, name in zip(axes[:, 0], sets):
        for i, (s, hatch) in enumerate(zip(shots, ["", "//", ".."])):
            rows = np.arange(len(learners)) + height * (i - (len(shots) - 1) / 2)
            style = dict(color=COLOURS[i], hatch=hatch, edgecolor="white", label=f"{s} shot{'s' * (s > 1)}")
            ax.barh(rows, gaps.xs((name, s), level=["dataset", "shots"]).reindex(learners), height, **style)
        ax.set(title=name, yticks=range(len(learners)), yticklabels=learners, ylim=(len(learners) - 0.5, -0.5))
        ax.grid(axis="y", visible=False)
    axes[-1, 0].set_xlabel(xlabel)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=len(shots))
    return figure


def accuracy_panels(table: pd.DataFrame) -> plt.Figure:
    """wAcc-A against Acc, a mark a learner, a panel a data set and number of shots (FewSTAB, Figures 5 and S1).

    Parameters
    ----------
    table : DataFrame
        Columns acc and wacc-a by dataset, shots and learner, in percent. Up to twelve learners; one may be missing in a panel.
    """
    sets, shots, learners = (list(table.index.unique(level)) for level in ("dataset", "shots", "learner"))
    size = (3.1 * len(shots) + 0.2, 2.6 * len(sets) + 1.1)
    figure, axes = plt.subplots(len(sets), len(shots), figsize=size, squeeze=False, layout="constrained")
    for (i, name), (j, s) in product(enumerate(sets), enumerate(shots)):
        ax = axes[i, j]
        for learner, colour, marker in zip(learners, cycle(COLOURS), MARKERS):
            at = table[["acc", "wacc-a"]].reindex([(name, s, learner)]).iloc[0]
            ax.scatter(*at, color=colour, marker=marker, s=55, label=learner)
        ax.set_title(f"{name}, {s} shot{'s' * (s > 1)}", fontsize=11)
        ax.set(xlabel="Acc (%)" if i == len(sets) - 1 else "", ylabel="wAcc-A (%)" if j == 0 else "")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    return figure


def training_curves(curves: pd.DataFrame) -> plt.Figure:
    """Validation accuracy after each epoch, a line a learner, a panel a number of training shots.

    Parameters
    ----------
    curves : DataFrame
        Columns learner, shots, epoch and validation, in percent. Up to ten learners.
    """
    learners, shots = (list(curves[c].unique()) for c in ("learner", "shots"))
    figure, axes = plt.subplots(len(shots), 1, figsize=(6.4, 3 * len(shots) + 0.9), squeeze=False, layout="constrained")
    for ax, s in zip(axes[:, 0], shots):
        for learner, colour, marker in zip(learners, COLOURS, MARKERS):
            t = curves[(curves["learner"] == learner) & (curves["shots"] == s)]
            ax.plot(
                t["epoch"], t["validation"], color=colour, marker=marker, markersize=5, linewidth=1.2, label=learner
            )
        ax.set(xlabel="epoch", ylabel="validation accuracy (%)")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_title(f"{s} shot{'s' if s > 1 else ''}", fontsize=11)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    return figure


def biased_task(images: Images, task: pd.DataFrame) -> plt.Figure:
    """A biased task, a row a class: its support, then queries with what the learner takes them for.

    Parameters
    ----------
    images : Images
    task : DataFrame
        As `fslcore.spurious.example` gives it.
    """

    def wrapped(words: str, width: int = 13) -> str:
        return "\n".join(line for part in words.split(", ") for line in wrap(part, width))

    def short(name: str) -> str:
        return name.split("/")[-1].split(" ")[-1] if "U+" in name else name.split("/")[-1]

    rows = list(task.groupby("class", sort=False))
    columns = max(len(of) for _, of in rows)
    figure, axes = plt.subplots(len(rows), columns, figsize=(6.8, 1.55 * len(rows) + 0.4), layout="constrained")
    for line, (name, of) in zip(axes, rows):
        for ax, r in zip(line, of.itertuples()):
            ax.imshow(images.images[[r.image]][0].squeeze(), cmap="gray", vmin=0, vmax=255)
            ax.set(xticks=[], yticks=[])
            ax.grid(visible=False)
            colour, edge, width = "black", "-", 1.5
            if r.role == "query":
                colour, edge, width = (COLOURS[0], "-", 2.5) if r.right else (COLOURS[1], "--", 3.5)
                ax.set_title("✓" if r.right else wrapped(f"✗ {short(r.predicted)}"), fontsize=9, pad=3)
            else:
                ax.set_title("support", fontsize=9, pad=3)
            ax.set_xlabel(wrapped(r.attribute) or "–", fontsize=8, labelpad=2)
            for spine in ax.spines.values():
                spine.set(visible=True, color=colour, linestyle=edge, linewidth=width)
        line[0].set_ylabel(wrapped(short(name), 10), fontsize=10, rotation=0, ha="right", va="center")
    return figure


def spread_ratios(spread: pd.DataFrame) -> plt.Figure:
    """Spread of the worst-class accuracy, in units of what chance alone leaves, by learner.

    Parameters
    ----------
    spread : DataFrame
        Column ratio by dataset, shots, learner and metric, as `fslcore.audit.fewstab.Evidence.spread`.
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
    """One task of `fslcore.reliance.sample_conflict`: a column a class, its support, and one query in three inks.

    Parameters
    ----------
    drawn : list of Images
        The same images in each ink, as `fslcore.reliance.in_each_ink` gives them.
    sampled : dict of str to Tasks
    """
    size, ways = len(drawn[0]), sampled["own"].ways
    rows = {"support": sampled["own"].support[task]} | {
        f"query, {name}": of.query[task] for name, of in sampled.items()
    }
    labels = [sampled["own"].support_label[task]] + [of.query_label[task] for of in sampled.values()]
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
    figure, axes = plt.subplots(1, len(panels), figsize=(6.8, 3.6), layout="constrained", squeeze=False)
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
        ax.set(title=title, xlabel="share of biased training images", ylim=(min(0, ax.get_ylim()[0]), None))
    axes[0, 0].set_ylabel("points")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def against_truth(truth: pd.Series, scores: dict[str, pd.Series]) -> plt.Figure:
    """What a score says of learners against what is true of them, a panel a score; marks grow with the bias.

    Parameters
    ----------
    truth : Series
        By learner and bias (other levels do not vary).
    scores : dict of str to Series
        Axis label → numbers, with the same index.
    """
    figure, axes = plt.subplots(1, len(scores), figsize=(6.8, 3.9), layout="constrained", squeeze=False)
    for ax, (name, score) in zip(axes[0], scores.items()):
        for k, (learner, of) in enumerate(truth.groupby(level="learner", sort=False)):
            size = 25 + 75 * of.index.get_level_values("bias").to_numpy(float)
            ax.scatter(of, score[of.index], size, marker=MARKERS[k], color=COLOURS[k], alpha=0.85, label=learner)
            ax.plot(of, score[of.index], color=COLOURS[k], linestyle=LINES[k % len(LINES)], linewidth=1)
        ax.set(xlabel="true reliance on ink (points)", ylabel=name)
        ax.margins(0.15)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def captioner_noise(curves: pd.DataFrame) -> plt.Figure:
    """Mean gap, and how it orders networks, by the captioner's error rate (`fslcore.reliance.noise_curves`)."""
    figure, axes = plt.subplots(1, 2, figsize=(6.8, 3.7), layout="constrained")
    panels = (("gap", "mean gap (points)"), ("by relative gap", "rank correlation with the truth"))
    names = {"drop": "inks missed", "invent": "inks invented", "both": "both", "pixels": "from pixels"}
    for ax, (column, label) in zip(axes, panels):
        for k, (captioner, name) in enumerate(names.items()):
            of = curves[curves["captioner"] == captioner]
            ax.plot(
                100 * of[["drop", "invent"]].max(axis=1),
                of[column],
                MARKERS[k],
                linestyle=("-", "--", ":", "")[k],
                color=COLOURS[k],
                label=name,
                markersize=8 if captioner == "pixels" else 6,
            )
        ax.set(xlabel="error rate (%)", ylabel=label)
    axes[0].set_ylim(0, None)
    axes[1].set_ylim(min(0, curves["by relative gap"].min()), 1.05)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _log_queries(ax: plt.Axes, digits: tuple[int, ...] = (1, 2, 5)) -> None:
    ax.set(xscale="log", xlabel="queries a class, Q")
    _plain_ticks(ax.xaxis, digits)


def _plain_ticks(axis, digits: tuple[int, ...] = (1, 2, 5)) -> None:
    """Ticks at these digits times powers of ten, as plain numbers on a logarithmic axis."""
    axis.set_major_locator(LogLocator(subs=digits))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_formatter(NullFormatter())
