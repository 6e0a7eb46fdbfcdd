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
    return [*PANELS] if len(results.pairs) else ["means"]


def draw(results: Results, names: list[str] | None = None) -> Figure:
    """All panels beside each other, or the named ones alone."""
    from matplotlib.figure import Figure

    names = names or panels(results)
    rows = max(len(results.methods), len(words.chosen_pairs(results)), 2)
    height = 0.34 * min(rows, MOST_ROWS) + 1.3
    figure = Figure(figsize=(5.2 * len(names), height), layout="constrained")
    all_axes = figure.subplots(1, len(names), squeeze=False)[0]
    for name, axes in zip(names, all_axes, strict=True):
        PANELS[name](axes, results)
    return figure


def draw_means(axes: Axes, results: Results) -> None:
    """Means with their intervals, the best on top."""
    methods = results.methods.head(MOST_ROWS)
    draw_forest(axes, methods["mean"], methods, methods["method"])
    axes.set_xlabel("mean accuracy, %" if results.percent else "mean")
    axes.set_title(f"Means with {results.level} intervals", fontsize=10)


def draw_differences(axes: Axes, results: Results) -> None:
    """Differences with their intervals; significant ones are filled and starred."""
    pairs = words.decided_first(words.chosen_pairs(results)).head(MOST_ROWS)
    is_significant = pairs["verdict"] == "better"
    labels = words.pair_names(pairs) + np.where(is_significant, " *", "")
    draw_forest(axes, pairs["difference"], pairs, labels, is_significant)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_xlabel("difference, points" if results.percent else "difference")
    axes.set_title("Differences (* significant after Holm)", fontsize=10)


PANELS = {"means": draw_means, "differences": draw_differences}


def draw_forest(
    axes: Axes, middles: pd.Series, frame: pd.DataFrame, names: pd.Series, filled: object = True
) -> None:
    """A named marker per row of a frame with its interval, the first on top; some are filled."""
    rows = range(len(frame))
    colors = np.where(filled, [BLUE] * len(frame), GREY)
    ends = frame[["low", "high"]].where(np.isfinite(frame["half_width"]), middles, axis=0)
    axes.hlines(rows, ends["low"], ends["high"], colors=colors, linewidth=2.5)
    faces = np.where(filled, colors, "white")
    axes.scatter(middles, rows, marker="D", color=faces, edgecolors=colors, zorder=3)
    named = zip(names, words.places_of(frame), strict=True)
    labels = [f"{name} ({head})" if head else name for name, head in named]
    axes.set_yticks(rows, [*map(shortened, labels)], fontsize=9)
    axes.set_ylim(len(frame) - 0.4, -0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def shortened(label: str) -> str:
    """A label that leaves room for the plot; $ is no formula."""
    label = label.replace("$", r"\$")
    return label if len(label) <= 44 else f"{label[:41]}…"


def draw_matrix(methods: pd.Series, pairs: pd.DataFrame) -> Figure:
    """All pairs of one place: the row's method minus the column's, starred where significant."""
    from matplotlib.figure import Figure

    names = list(methods)
    size = 0.28 * len(names) + 2.2
    figure = Figure(figsize=(size + 1, size), layout="constrained")
    axes = figure.subplots()
    largest = 1.3 * pairs["difference"].abs().max()  # no colour so dark that stars are lost
    differences = matrix_of(names, pairs)
    image = axes.imshow(differences, cmap="RdBu", vmin=-largest, vmax=largest)
    figure.colorbar(image, shrink=0.7, label="row minus column (* significant)")
    decided = np.isfinite(matrix_of(names, pairs[pairs["verdict"] == "better"]))
    axes.plot(*np.nonzero(decided), "*", color=INK, markeredgecolor="white", markersize=7)
    labels = [*map(shortened, names)]
    axes.set_xticks(range(len(names)), labels, rotation=90)
    axes.set_yticks(range(len(names)), labels)
    return figure


def matrix_of(names: list[str], pairs: pd.DataFrame) -> np.ndarray:
    """Differences, the row's method minus the column's; NaN where there is no pair."""
    frame = pairs.pivot(index="a", columns="b", values="difference").reindex(names, columns=names)
    values = frame.to_numpy(float)
    return np.where(np.isnan(values), -values.T, values)
