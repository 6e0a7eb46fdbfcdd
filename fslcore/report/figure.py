"""The figure of a report: means with intervals, and differences against 0, as two forest plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from . import words
from .conclusions import Conclusions
from .numbers import MINUS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, BLUE, ORANGE, GREY = "#222222", "#0072b2", "#b34700", "#777777"
LABEL = 30  # the longest label
SHORT = 12  # characters of two names that share a line
MOST_ROWS = 40  # of a forest plot
MATRIX_FROM = 9  # methods; from here on all pairs are a picture


def panels(results: Conclusions) -> list[str]:
    """The names of the panels: means, and differences where there are any."""
    return [*PANELS] if len(results.pairs) else ["means"]


def draw(results: Conclusions, names: list[str] | None = None) -> Figure:
    """All panels beside each other, or the named ones alone."""
    from matplotlib.figure import Figure

    names = names or panels(results)
    rows = max(len(results.methods), len(words.chosen_pairs(results)), 2)
    rows += len(set(words.places_of(results.methods)))  # heads
    height = 0.36 * min(rows, MOST_ROWS) + 0.9
    figure = Figure(figsize=(4.3 * len(names), height), layout="constrained")
    all_axes = figure.subplots(1, len(names), squeeze=False)[0]
    for name, axes in zip(names, all_axes, strict=True):
        PANELS[name](axes, results)
    return figure


def draw_means(axes: Axes, results: Conclusions) -> None:
    """Means by target, the best on top, with bars that agree with the differences."""
    methods = narrowest_first(words.bars(results))
    is_best = methods.groupby(["place", "target"]).cumcount() == 0
    colors = np.where(is_best, BLUE, ORANGE)
    draw_forest(axes, methods["mean"], methods, methods["method"].map(label_text), colors)
    axes.set_xlabel("mean accuracy, %" if results.percent else f"mean{direction(results)}")
    title = "Means" if len(results.pairs) else f"Mean with its {results.level} interval"
    if words.has_bars(results):
        title = "Means (bars overlap where the\ninterval of a difference holds 0)"
    axes.set_title(title, fontsize=10)


def draw_differences(axes: Axes, results: Conclusions) -> None:
    """Differences with their intervals and verdicts; significant ones are filled."""
    pairs = narrowest_first(words.chosen_pairs(results))
    names = [pair_label(a, b) for a, b in zip(pairs["a"], pairs["b"], strict=True)]
    colors = np.where(pairs["verdict"] == "better", INK, GREY)
    rows = draw_forest(axes, pairs["difference"], pairs, names, colors)
    place = axes.get_yaxis_transform()
    for row, verdict in zip(rows, pairs["verdict"], strict=True):
        axes.text(1, row - 0.2, verdict, transform=place, ha="right", fontsize=9)
    axes.axvline(0, color=INK, linewidth=0.8)
    unit = ", points" if results.percent else direction(results)
    axes.set_xlabel(f"difference{unit}")
    axes.set_title("Differences (filled: significant)", fontsize=10)


def pair_label(first: str, second: str) -> str:
    """'ours − base', on two lines unless it is short."""
    between = " " if len(first + second) <= SHORT else "\n"
    return f"{label_text(first)}{between}{MINUS} {label_text(second)}"


def direction(results: Conclusions) -> str:
    """Said at an axis of a measure of which lower values are better."""
    return " (lower is better)" if results.lower_is_better else ""


PANELS = {"means": draw_means, "differences": draw_differences}


def narrowest_first(frame: pd.DataFrame) -> pd.DataFrame:
    """The first rows of a frame, in each place the target that claims least on top."""
    frame = frame.head(MOST_ROWS)
    place, target = (pd.factorize(frame[key])[0] for key in ("place", "target"))
    return frame.iloc[np.lexsort((-target, place))]


def draw_forest(
    axes: Axes, middles: pd.Series, frame: pd.DataFrame, names: pd.Series, colors: np.ndarray
) -> pd.Series:
    """A named marker per row of a frame with its interval, the first on top; grey ones are hollow.

    Each place and target has a head above its rows. Returns the heights of the rows.
    """
    heads = pd.Series(words.places_of(frame), frame.index)
    is_new = (heads != heads.shift()) & (heads != "")
    rows = is_new.cumsum() + np.arange(len(frame))
    ends = frame[["low", "high"]].where(np.isfinite(frame["half_width"]), middles, axis=0)
    axes.hlines(rows, ends["low"], ends["high"], colors=colors.tolist(), linewidth=2.5)
    faces = np.where(colors == GREY, "white", colors)
    axes.scatter(middles, rows, 20, faces, marker="D", edgecolors=colors.tolist(), zorder=3)
    labels = [*names, *heads[is_new].map(label_text)]
    axes.set_yticks([*rows, *rows[is_new] - 1], labels, fontsize=9)
    for label in axes.get_yticklabels()[len(rows) :]:
        label.set_fontweight("bold")
    axes.set_ylim(rows.max() + 0.6, -0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    return rows


def label_text(name: str) -> str:
    """A label that leaves room for the plot; $ is no formula."""
    return words.shortened(name, LABEL).replace("$", r"\$")


def draw_matrix(methods: pd.Series, pairs: pd.DataFrame) -> Figure:
    """All pairs of one place: the row's method minus the column's, starred where significant."""
    from matplotlib.figure import Figure

    names = list(methods)
    size = 0.28 * len(names) + 2.2
    figure = Figure(figsize=(size + 1, size), layout="constrained")
    axes = figure.subplots()
    largest = 1.3 * pairs["difference"].abs().max()  # no colour so dark that stars are lost
    image = axes.imshow(matrix_of(names, pairs), cmap="RdBu", vmin=-largest, vmax=largest)
    figure.colorbar(image, shrink=0.7, label="row minus column (* significant)")
    decided = np.isfinite(matrix_of(names, pairs[pairs["verdict"] == "better"]))
    axes.plot(*np.nonzero(decided), "*", color=INK, markeredgecolor="white", markersize=7)
    labels = [*map(label_text, names)]
    axes.set_xticks(range(len(names)), labels, rotation=90)
    axes.set_yticks(range(len(names)), labels)
    return figure


def matrix_of(names: list[str], pairs: pd.DataFrame) -> np.ndarray:
    """Differences, the row's method minus the column's; NaN where there is no pair."""
    frame = pairs.pivot(index="a", columns="b", values="difference").reindex(names, columns=names)
    values = frame.to_numpy(float)
    return np.where(np.isnan(values), -values.T, values)
