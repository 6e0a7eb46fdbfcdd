"""The figures of a report, and the style that all figures share."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from .wording import of_reference

__all__ = ["against", "groups", "rank_diagram", "style"]

CAP = 2000  # open tasks at which the released OOPS sampler stops
# Seaborn's palette for the colour-blind, the members of too little contrast on white darkened to 3 or more, as thin
# lines and small marks need (WCAG 2.2, 1.4.11), and so that no two are alike.
COLOURS = sns.color_palette(
    ["#0173b2", "#cd8405", "#029e73", "#d55e00", "#cc78bc", "#725237", "#4c3545", "#949494", "#77721a", "#4b9cca"]
)
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h", "d"]
LINES = ["-", "--", ":", "-."]


def style() -> None:
    """Readable type, a white ground in light and dark mode alike, colour-blind-safe colours."""
    pd.set_option("display.max_colwidth", None)  # tables on a page wrap, they need no cutting
    sns.set_theme(
        context="notebook",
        style="whitegrid",
        palette=COLOURS,
        rc={"figure.dpi": 110, "savefig.facecolor": "white", "axes.titlesize": "medium", "figure.autolayout": True},
    )
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):  # in a notebook: drawings, sharp at any size, and equal where what they show is
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        plt.rcParams["svg.hashsalt"] = "fslcore"
        nothing = dict.fromkeys(["Creator", "Date", "Format", "Type"])
        set_matplotlib_formats("svg", bbox_inches="tight", metadata=nothing)


def groups(panels: dict[str, tuple[pd.Series, list[list[str]]]]) -> plt.Figure:
    """Methods on an axis of mean accuracy; a bar joins those that are not significantly different.

    Parameters
    ----------
    panels : dict
        Setting → mean accuracies (percent) by method, the best first, and groups of methods not
        told apart (see `fslcore.tools.report.groups`). A bar has a dot at each member and passes
        by the others. More than 40 bars are left out with a word.
    """
    figure, axes = _panels({setting: [*means.index] for setting, (means, _) in panels.items()})
    for ax, (means, found) in zip(axes, panels.values()):
        at = {method: row for row, method in enumerate(means.index)}
        ax.plot(means, list(at.values()), "o", color="black")
        bars = [group for group in found if len(group) > 1]
        if len(bars) > 40:  # they would be wider than the rest
            ax.text(1.02, 0.5, f"{len(bars)} bars are left out", transform=ax.transAxes, rotation=90, va="center")
            bars = []
        for i, group in enumerate(bars):
            own = [at[m] for m in group]
            beside = dict(transform=ax.get_yaxis_transform(), clip_on=False)
            ax.plot([1.04 + 0.05 * i] * len(own), own, "o-", color=COLOURS[i % len(COLOURS)], linewidth=3, **beside)
        ax.set_xlabel("mean accuracy (%)")
    return figure


def against(pairs: pd.DataFrame, reference: str) -> plt.Figure:
    """One method minus each other in points, with the interval of each by itself and, thin, those that hold together.

    Parameters
    ----------
    pairs : DataFrame
        `fslcore.tools.report.Results.pairs` of results with this ``reference``, one row at least.
    reference : str
        The method.
    """
    parts = {s: of_reference(of, reference).sort_values("difference") for s, of in pairs.groupby("setting")}
    figure, axes = _panels({setting: [*of["b"]] for setting, of in parts.items()})
    for ax, of in zip(axes, parts.values()):
        at = range(len(of))
        for column, width in (("half_width_all", 1), ("half_width", 4)):
            ax.errorbar(of["difference"], at, xerr=of[column], fmt="none", color=COLOURS[0], elinewidth=width)
        ax.plot(of["difference"], at, "o", color="black")
        ax.axvline(0, color="grey", linewidth=1)
        ax.set_xlabel(f"{_plain(reference)} minus this method (points)")
    return figure


def _panels(rows: dict[str, list[str]]) -> tuple[plt.Figure, Sequence[plt.Axes]]:
    """A panel per setting, one below the other, with a row per method."""
    sizes = [*map(len, rows.values())]
    shape = dict(figsize=(5.2, 0.9 * len(rows) + 0.36 * sum(sizes)), height_ratios=sizes)
    figure, axes = plt.subplots(len(rows), squeeze=False, **shape)
    for ax, (setting, methods) in zip(axes[:, 0], rows.items()):
        names = [*map(_plain, methods)]
        ax.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
        if len(rows) > 1:
            ax.set_title(_plain(setting))
    return figure, axes[:, 0]


def rank_diagram(ranks: pd.Series, found: list[list[str]], critical_difference: float) -> plt.Figure:
    """Critical-difference diagram (Demšar, 2006, Figure 1): methods on an axis of mean rank, the best on the left.

    Parameters
    ----------
    ranks : Series
        Mean rank by method, the best first.
    found : list of lists
        Groups of methods not significantly different; a bar with a dot at each member joins those of two or more.
    critical_difference : float
        Drawn to scale above the axis.
    """
    bars = [group for group in found if len(group) > 1]
    half = -(-len(ranks) // 2)
    step = 0.2
    top = 1.15 + step * len(bars)  # where the first name stands, in inches below the axis
    figure, ax = plt.subplots(figsize=(6.4, 0.9 + top + 0.27 * half))
    low, high = 1.0, float(max(len(ranks), 2))
    ax.set(xlim=(low, high), ylim=(-(top - 0.65 + 0.27 * half), 0.7))
    ax.hlines(0, low, high, color="black", linewidth=1)
    for tick in range(1, len(ranks) + 1):
        ax.vlines(tick, 0, 0.07, color="black", linewidth=1)
        ax.annotate(str(tick), (tick, 0.1), ha="center", va="bottom", fontsize=9)
    ax.annotate("mean rank", ((low + high) / 2, 0.62), ha="center", va="bottom", fontsize=10, annotation_clip=False)
    shown = min(critical_difference, high - low)
    ax.hlines(0.42, low, low + shown, color=COLOURS[1], linewidth=3)
    ax.annotate(f"critical difference {critical_difference:.2f}", (low + shown, 0.42), xytext=(6, 0),
                textcoords="offset points", va="center", fontsize=9, annotation_clip=False)  # fmt: skip
    for i, group in enumerate(bars):
        at = [ranks[m] for m in group]
        ax.plot(at, [-0.18 - step * i] * len(at), "o-", color=COLOURS[0], linewidth=3, markersize=5)
    for i, (method, rank) in enumerate(ranks.items()):
        left = i < half
        row = i if left else len(ranks) - 1 - i
        y, end = -(top - 0.8 + 0.27 * row), low if left else high
        ax.plot([rank, rank, end], [0, y, y], color="grey", linewidth=0.8, zorder=0)
        label = f"{_plain(method)} ({rank:.2f})"
        ax.annotate(label, (end, y), xytext=(-5 if left else 5, 0), textcoords="offset points",
                    ha="right" if left else "left", va="center", fontsize=9, annotation_clip=False)  # fmt: skip
    ax.axis("off")
    return figure


def _plain(name: str) -> str:
    """A name as Matplotlib draws it: a dollar sign begins no formula."""
    return name.replace("$", r"\$")
