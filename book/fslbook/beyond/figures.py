"""The figures of the chapters that go beyond the papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from scipy.stats import t

from fslbook.style import COLOURS, MARKERS, WIDTH
from fslcore.stats import minimum_detectable_difference, power
from fslcore.stats.crossed import CrossedIntervals

from ..figures import interval_stack, plain_ticks
from ..remarks import remark
from .targets import series_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fslcore.datasets import Images
    from fslcore.tasks import Tasks

    from .reproductions import Kind


def task_images(images: Images, tasks: Tasks, task: int, queries: int = 5) -> plt.Figure:
    """The support of one task, one row per class; to the right of the gap, its first query images."""
    figure, axes = plt.subplots(
        tasks.ways, 1, figsize=(4.8, 0.56 * tasks.ways + 0.2), layout="constrained"
    )
    for k, ax in enumerate(axes):
        support = tasks.support[task][tasks.support_label[task] == k]
        query = tasks.query[task][tasks.query_label[task] == k]
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


def three_stacks(studies: dict[str, pd.DataFrame]) -> plt.Figure:
    """Closed intervals and those made for the question, for test sets with new images and with new classes.

    Parameters
    ----------
    studies : dict
        'images' and 'classes': `fslbook.beyond.coverage.replicates` of one regime.
    """
    figure, axes = plt.subplots(
        2, 2, figsize=(WIDTH, 5.6), sharex="col", sharey=True, layout="constrained"
    )
    for column, (new, sets) in zip(axes.T, studies.items()):
        truth = sets.loc[sets["interval"] == "closed", "mean"].mean()
        for ax, kind, title in zip(column, ("usual", new), ("closed", f"new {new}")):
            intervals = [*sets[sets["interval"] == kind].head(40).itertuples()]
            interval_stack(intervals, truth, title, ax)
            title = ax.get_title().replace(" contain the truth", " contain it")
            ax.set(xlabel="", ylabel="test set")
            ax.set_title(title, fontsize=10)
        column[1].set_xlabel("mean accuracy (%)")
    for ax, text in zip(axes[0], ("new images", "new classes")):
        ax.set_title(f"Test sets with {text}\n{ax.get_title()}", fontsize=10)
    for ax in axes[:, 1]:
        ax.set_ylabel("")
    look = dict(loc="outside lower center", ncols=2, fontsize=9)
    figure.legend(*axes[1, 1].get_legend_handles_labels(), **look)
    return figure


def three_rows(table: pd.DataFrame) -> pd.DataFrame:
    """`fslcore.evaluation.three_targets.intervals` or ``pairs`` as `fslbook.figures.forest` draws them.

    A panel per data set with a row per method, or a panel per pair of methods with a row per data
    set."""
    rows = []
    for at in table.itertuples():
        intervals = {target.value: interval for target, interval in at.result.by_target.items()}
        if "a" in table:
            rows += series_rows(intervals, row=at.dataset, panel=f"{at.a} − {at.b}")
        else:
            rows += series_rows(intervals, row=at.method, panel=at.dataset)
    return pd.DataFrame(rows)


def widest_remark(rows: pd.DataFrame) -> dict[int, str]:
    """For `three_rows` in `fslbook.figures.forest`: the interval that most exceeds the narrowest of its row."""
    widths = rows["high"] - rows["low"]
    times = widths / widths.groupby([rows["panel"], rows["row"]]).transform("min")
    return {times.idxmax(): f"{times.max():.0f} times as wide"}


def coverage(summary: pd.DataFrame, height: float = 0.4) -> plt.Figure:
    """Coverage of intervals (`fslbook.beyond.coverage.summary`), by kind of world and by what the interval was given.

    ``height`` is that of a row, in inches.
    """
    suited = {"new images": "images", "new classes": "classes"}
    rows = summary[summary["interval"].isin(suited.values())][["regime", "given"]].drop_duplicates()
    place = {key: at for at, key in enumerate(rows.itertuples(index=False, name=None))}
    at = [place.get(key) for key in zip(summary["regime"], summary["given"])]
    summary = summary.assign(at=at)
    figure, axes = plt.subplots(
        1, 2, figsize=(WIDTH, height * len(rows) + 1.4), sharey=True, layout="constrained"
    )
    for ax, (target, interval) in zip(axes, suited.items()):
        part = summary[summary["target"] == target]
        ax.axvspan(93, 97, color="0.88", zorder=0)
        _shares(ax, part[part["interval"] == "closed"], 0.22, COLOURS[1], "x", "closed, 600 tasks")
        _shares(ax, part[part["interval"] == "open"], 0, COLOURS[2], "^", "open, best Q")
        _shares(
            ax,
            part[part["interval"] == interval],
            -0.22,
            COLOURS[0],
            "o",
            "made for the target",
        )
        ax.set_title(target)
        _spread_high_shares(ax)
    axes[0].set_yticks(
        range(len(rows)),
        [f"{regime}: {knowledge}" if knowledge else regime for regime, knowledge in place],
        fontsize=9,
    )
    axes[0].set_ylim(len(rows) - 0.5, -0.5)
    figure.supxlabel("intervals that contain the truth for this target (%)", fontsize=10)
    figure.legend(
        *axes[1].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=9
    )
    for ax, target in zip(axes, suited):
        closed = summary[(summary["target"] == target) & (summary["interval"] == "closed")]
        for lowest in closed.nsmallest(1, "share").itertuples():
            remark(ax, f"closed: {lowest.share:.0f} %", lowest.share, lowest.at + 0.22)
    return figure


def _shares(
    ax: plt.Axes, part: pd.DataFrame, shift: float, colour: str, mark: str, name: str
) -> None:
    """Marks at the shares of one kind of interval, with the intervals of these shares."""
    if len(part):
        error = np.abs(part[["low", "high"]].to_numpy().T - part["share"].to_numpy())
        look = dict(fmt=mark, color=colour, markersize=5, label=name)
        ax.errorbar(part["share"], part["at"] + shift, xerr=error, **look)


def _spread_high_shares(ax: plt.Axes) -> None:
    """An axis on which shares near 100 % can be distinguished, and low ones can be read too."""
    ax.set(xlim=(0, 100.5))
    ax.set_xscale("function", functions=(lambda x: -np.log(104 - x), lambda y: 104 - np.exp(-y)))
    ax.set_xticks([0, 50, 80, 90, 95, 100], [0, 50, 80, "", 95, 100], fontsize=9)


def power_curves(degrees: list[float], level: float) -> plt.Figure:
    """Probability that a paired interval excludes 0, against the true difference in standard errors."""
    figure, ax = plt.subplots(figsize=(5.4, 3.8))
    x = np.linspace(0, 6, 121)
    for df, line in zip(degrees, ("--", "-", ":")):
        name = "many degrees of freedom" if np.isinf(df) else f"{df:.0f} degrees of freedom"
        ax.plot(x, [100 * power(d, 1.0, df, level) for d in x], line, linewidth=2, label=name)
    ax.axhline(80, color="grey", linewidth=1)
    ax.set(
        xlabel="true difference (standard errors)",
        ylabel="power (%)",
        ylim=(0, 101),
        xlim=(0, 6),
    )
    ax.legend(loc="lower right")
    needed = minimum_detectable_difference(1.0, target_power=0.8, confidence_level=level)
    remark(ax, f"80 % needs {needed:.1f} standard errors", needed, 80)
    return figure


def crossed_curves(
    result: CrossedIntervals, supports: list[int], times: list[int], unit: str
) -> plt.Figure:
    """Half-widths to expect against the number of supports: of their spread alone, and for both on more items."""
    figure, ax = plt.subplots(figsize=(5.4, 3.8))
    alone = [
        t.ppf((1 + result.both.confidence_level) / 2, r - 1) * _spread(result, r) for r in supports
    ]
    ax.plot(
        supports,
        alone,
        "--",
        color="black",
        linewidth=2,
        label=f"spread over supports, {result.n_items:,} items",
    )
    for k, factor in enumerate(times):
        n = factor * result.n_items
        half_widths = [result.planned(r, n).half_width for r in supports]
        ax.plot(
            supports,
            half_widths,
            MARKERS[k],
            color=COLOURS[k],
            linestyle="-",
            label=f"both, {n:,} items",
        )
    ax.set(xlabel="supports", ylabel=f"half-width ({unit})", xscale="log", ylim=(0, None))
    ax.set_xticks(supports, list(map(str, supports)))
    ax.minorticks_off()
    ax.legend()
    both = result.planned(supports[-1], times[0] * result.n_items).half_width
    if both > alone[-1]:
        remark(ax, f"{both / alone[-1]:.1f} times the spread over supports", supports[-1], both)
    return figure


def _spread(result: CrossedIntervals, supports: int) -> float:
    """Standard error of a mean over supports that their spread shows."""
    return float(
        np.sqrt((result.support_variance + result.interaction_variance / result.n_items) / supports)
    )


def seed_strip(panels: dict[str, pd.DataFrame]) -> plt.Figure:
    """Mean accuracy of each run, one row per learner; runs of the same seed have the same mark and colour.

    Parameters
    ----------
    panels : dict
        Data set → table with a column ``runs``, (R,) accuracies in percent, by learner. Rows are in
        the order of the first table.
    """
    order = list(next(iter(panels.values())).index)
    figure, axes = plt.subplots(
        1,
        len(panels),
        figsize=(5.2, 0.3 * len(order) + 1.4),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    rows = range(len(order))
    axes[0, 0].set_yticks(rows, order, fontsize=10)
    for ax, (name, table) in zip(axes[0], panels.items()):
        ax.set(title=name, xlabel="mean accuracy (%)", ylim=(len(order) - 0.5, -0.5))
        ax.grid(axis="y", visible=False)
        runs = np.stack(table.loc[order, "runs"])
        ax.hlines(rows, runs.min(axis=1), runs.max(axis=1), color="grey", linewidth=1)
        for seed, (values, mark, colour) in enumerate(zip(runs.T, MARKERS, COLOURS)):
            look = dict(
                color=colour,
                markersize=7,
                alpha=0.8,
                clip_on=False,
            )
            ax.plot(values, rows, mark, label=f"seed {seed}", **look)
    names = ax.get_legend_handles_labels()
    figure.legend(*names, loc="outside upper center", ncols=3)
    for ax, table in zip(axes[0], panels.values()):
        runs = np.stack(table.loc[order, "runs"])
        row = np.ptp(runs, axis=1).argmax()
        words = f"{np.ptp(runs[row]):.1f} points apart"
        remark(ax, words, runs[row].min(), row)
    return figure


def reproduction_strip(pairs: pd.DataFrame, printed: float, wide: float) -> plt.Figure:
    """Reproduced minus reported accuracy (`fslbook.beyond.leaderboards.pairs`), a row per method.

    Parameters
    ----------
    printed, wide : float
        Half-widths of the inner and the outer band around 0, in points.
    """
    methods = sorted(pairs["method"].unique(), key=str.lower)
    figure, ax = plt.subplots(figsize=(4.4, 0.24 * len(methods) + 0.8), layout="constrained")
    ax.axvspan(-wide, wide, color="0.92")
    if np.isfinite(printed):
        ax.axvspan(-printed, printed, color="0.72")
    rows = pairs["method"].map(methods.index)
    ax.plot(pairs["difference"], rows, "o", color=COLOURS[0], markersize=5, alpha=0.6)
    ax.set(ylim=(len(methods) - 0.5, -0.5), xlabel="reproduced minus reported (points)")
    ax.set_yticks(range(len(methods)), methods, fontsize=9)
    ax.grid(axis="y", visible=False)
    farthest = pairs.iloc[pairs["difference"].abs().argmax()]
    difference, height = farthest["difference"], methods.index(farthest["method"])
    side = "below" if difference < 0 else "above"
    remark(ax, f"{abs(difference):.1f} points {side} the paper", difference, height)
    return figure


def gap_strip(table: pd.DataFrame, kinds: Sequence[Kind], gap: float) -> plt.Figure:
    """Differences of two accuracies of one method (`fslbook.beyond.reproductions`), a row per kind.

    Parameters
    ----------
    table : DataFrame
        `reproductions.differences`.
    kinds : sequence of Kind
    gap : float
        Where the dashed line is, in points.
    """
    drawn = [kind for kind in kinds if kind.name in set(table["kind"])]
    figure, ax = plt.subplots(figsize=(WIDTH, 0.42 * len(drawn) + 0.9), layout="constrained")
    ax.axvline(0, color="0.6", linewidth=1)
    ax.axvline(gap, color=COLOURS[1], linewidth=1.5, linestyle="--", zorder=3)
    jitter = np.random.default_rng(0)
    for row, kind in enumerate(drawn):
        values = table.loc[table["kind"] == kind.name, "difference"].to_numpy()
        points = values if kind.is_directed else np.concatenate([values, -values])
        heights = row + jitter.uniform(-0.25, 0.25, len(points))
        ax.plot(points, heights, "o", color=COLOURS[0], markersize=3.5, alpha=0.45)
    ax.set(ylim=(len(drawn) - 0.5, -0.5), xlabel="difference (points)")
    ax.set_yticks(range(len(drawn)), [kind.name for kind in drawn], fontsize=9)
    ax.grid(axis="y", visible=False)
    return figure


def excess_panels(by_correlation: pd.DataFrame, by_gain: pd.DataFrame) -> plt.Figure:
    """Excess of the best of many scores: simulations with their intervals as marks, theory as lines.

    Parameters
    ----------
    by_correlation, by_gain : DataFrame
        `fslbook.beyond.adaptivity.excesses` of equally good methods, and of improving ones.
    """
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 3.3), sharey=True, layout="constrained")
    parts = (
        (by_correlation, "correlation", "correlation {:g}", "Equally good"),
        (by_gain, "gain", "{:+g} points each", "Each a little better"),
    )
    for ax, (table, column, name, title) in zip(axes, parts):
        for (value, world), colour, mark in zip(table.groupby(column), COLOURS, MARKERS):
            error = [world["simulated"] - world["low"], world["high"] - world["simulated"]]
            look = dict(color=colour, label=name.format(value))
            ax.errorbar(world["methods"], world["simulated"], error, fmt=mark, markersize=5, **look)
            ax.plot(world["methods"], world["expected"], color=colour, linewidth=1)
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
        ax.set_title(title, fontsize=10)
        ax.tick_params(labelsize=9)
        ax.set_xlabel("methods scored on the test set", fontsize=9)
        ax.legend(fontsize=9, loc="upper left")
    axes[0].set_ylabel("best score − its true accuracy (points)", fontsize=9)
    highest = max(by_correlation["high"].max(), by_gain["high"].max())
    axes[0].set_ylim(0, 1.6 * highest)  # with room for the legends
    for ax, table in zip(axes, (by_correlation, by_gain)):
        most = table.loc[table["simulated"].idxmax()]
        remark(ax, f"{most['simulated']:.1f} points too high", most["methods"], most["simulated"])
    return figure


def climbs(paths: dict[str, np.ndarray], truth: float) -> plt.Figure:
    """Best score so far (mean over test sets) by the number of variants tried, and the true accuracy.

    Parameters
    ----------
    paths : dict of (V + 1, R) arrays
        `fslbook.beyond.adaptivity.revised`, in percent, by how variants are accepted.
    """
    figure, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
    for (name, path), colour, line in zip(paths.items(), COLOURS, ("-", "--", "-.")):
        ax.plot(path.mean(axis=1), color=colour, linestyle=line, label=name)
    ax.axhline(truth, color="black", linewidth=1, label="true accuracy of every variant")
    ax.set_xlabel("variants scored on the same test set", fontsize=9)
    ax.set_ylabel("best score so far (%)", fontsize=9)
    ax.tick_params(labelsize=9)
    ax.legend(fontsize=9)
    climbed = next(iter(paths.values())).mean(axis=1)
    if climbed[-1] > truth:
        words = f"{climbed[-1] - truth:.1f} points too high after {len(climbed) - 1} variants"
        remark(ax, words, len(climbed) - 1, climbed[-1])
    return figure
