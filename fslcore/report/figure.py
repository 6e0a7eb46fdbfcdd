"""The figure of a report: means with intervals, and paired differences, as two forest plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from . import words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .results import Results

INK, BLUE, GREY = "#222222", "#0072b2", "#777777"
MOST_ROWS = 40  # of a forest plot
MATRIX_FROM = 9  # methods; from here on all pairs are a picture


def panels(results: Results) -> list[str]:
    """The names of the panels: means, and differences where there are any."""
    return ["means", "differences"] if len(results.pairs) else ["means"]


def draw(results: Results, names: list[str] | None = None) -> Figure:
    """Means and differences beside each other, or the named panels alone; significant ones are
    filled and starred.
    """
    from matplotlib.figure import Figure

    names = names or panels(results)
    methods = results.methods.head(MOST_ROWS)
    pairs = words.decided_first(words.chosen_pairs(results)).head(MOST_ROWS)
    rows = max(len(methods), len(pairs), 2)
    figure = Figure(figsize=(5.2 * len(names), 0.34 * rows + 1.3), layout="constrained")
    axes = dict(zip(names, np.atleast_1d(figure.subplots(1, len(names))), strict=True))
    if "means" in axes:
        draw_means(axes["means"], methods, results)
    if "differences" in axes:
        draw_differences(axes["differences"], pairs, results)
    return figure


def draw_means(axes: Axes, methods: pd.DataFrame, results: Results) -> None:
    """A dot per method with its interval, the best on top."""
    at = np.arange(len(methods))
    finite = np.isfinite(methods["half_width"].to_numpy())
    ends = [methods["mean"] - methods["low"], methods["high"] - methods["mean"]]
    errors = np.where(finite, np.array(ends), 0)
    axes.errorbar(methods["mean"], at, xerr=errors, fmt="o", color=INK, ecolor=BLUE, elinewidth=2.5)
    label_rows(axes, row_labels(methods, methods["method"]))
    axes.set_xlabel("mean accuracy, %" if results.percent else "mean")
    axes.set_title(f"Means with {100 * results.options.level:g} % intervals", fontsize=10)


def draw_differences(axes: Axes, pairs: pd.DataFrame, results: Results) -> None:
    """A marker per difference with its interval; filled and starred where significant."""
    for place, pair in enumerate(pairs.itertuples()):
        significant = pair.verdict == "better"
        color = BLUE if significant else GREY
        if np.isfinite(pair.half_width):
            axes.plot([pair.low, pair.high], [place, place], color=color, linewidth=2.5)
        face = color if significant else "white"
        axes.plot(pair.difference, place, "D", color=color, markerfacecolor=face, zorder=3)
    axes.axvline(0, color=INK, linewidth=0.8)
    stars = np.where(pairs["verdict"] == "better", " *", "")
    label_rows(axes, row_labels(pairs, pairs["a"] + f" {words.MINUS} " + pairs["b"] + stars))
    axes.set_xlabel("difference, points" if results.percent else "difference")
    axes.set_title("Differences (* significant after Holm)", fontsize=10)


def row_labels(frame: pd.DataFrame, names: pd.Series) -> list[str]:
    """Names of rows, with the place and the target where there are several."""
    labels = []
    for place, target, name in zip(frame["place"], frame["target"], names, strict=True):
        head = ", ".join(part for part in (place, target) if part)
        labels.append(f"{name} ({head})" if head else name)
    return labels


def label_rows(axes: Axes, labels: list[str]) -> None:
    """One labelled row per entry, the first on top."""
    axes.set_yticks(range(len(labels)), [shortened(label) for label in labels], fontsize=9)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def shortened(label: str) -> str:
    """A label that leaves room for the plot; $ is no formula."""
    label = label.replace("$", r"\$")
    return label if len(label) <= 44 else f"{label[:41]}…"


def draw_matrix(results: Results, place: str, target: str) -> Figure:
    """All pairs of one place: the row's method minus the column's, starred where significant."""
    import seaborn
    from matplotlib.figure import Figure

    names = list(one_place(results.methods, place, target)["method"])
    values = pd.DataFrame(np.nan, names, names)
    stars = pd.DataFrame("", names, names)
    for pair in one_place(results.pairs, place, target).itertuples():
        values.loc[pair.a, pair.b] = pair.difference
        values.loc[pair.b, pair.a] = -pair.difference
        if pair.verdict == "better":
            stars.loc[pair.a, pair.b] = stars.loc[pair.b, pair.a] = "*"
    size = 0.28 * len(names) + 2.2
    figure = Figure(figsize=(size + 1, size), layout="constrained")
    label = "row minus column (* significant)"
    seaborn.heatmap(
        values,
        annot=stars,
        fmt="",
        cmap="RdBu",
        center=0,
        ax=figure.subplots(),
        cbar_kws={"label": label, "shrink": 0.7},
        xticklabels=[shortened(name) for name in names],
        yticklabels=[shortened(name) for name in names],
    )
    return figure


def one_place(frame: pd.DataFrame, place: str, target: str) -> pd.DataFrame:
    """The rows of one place and target."""
    return frame[(frame["place"] == place) & (frame["target"] == target)]
