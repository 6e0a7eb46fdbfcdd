"""Figures and parts of figures that chapters of several papers share."""

from __future__ import annotations

import base64
import html
import io
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import HTML
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fslbook.style import COLOURS, MARKERS
from fslcore.stats import Interval

if TYPE_CHECKING:
    from fslcore.datasets import Images

__all__ = ["LOOKS", "forest", "image_grid", "in_words", "interval_stack"]

LABEL = 24  # maximum number of characters per line of a row's label

#: Colour, mark and line of estimators, and of rules that choose by them: the same in all figures.
LOOKS = {
    name: dict(color=colour, marker=mark, linestyle=line)
    for name, colour, mark, line in [
        ("hold-out", COLOURS[1], "v", "-."),
        ("5-fold", COLOURS[0], "o", "-"),
        ("K-fold", COLOURS[0], "o", "-"),
        ("leave-one-out", COLOURS[3], "s", "--"),
        ("leave-one-out, refilled", COLOURS[4], "D", "-."),
        ("bootstrap", COLOURS[2], "^", ":"),
        ("even folds", COLOURS[5], "P", "-"),
        ("fresh", "black", "x", (0, (1, 1))),
        ("oracle", "black", "*", "-"),
        ("default", COLOURS[7], "D", "--"),
        ("best on average", COLOURS[8], "p", "-."),
    ]
}


def image_grid(images: Images, classes: int = 12, per_class: int = 8, seed: int = 0) -> plt.Figure:
    """A few images per class, one row per class; classes and images are chosen at random with ``seed``."""
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


def plain_ticks(axis, digits: tuple[int, ...] = (1, 2, 5)) -> None:
    """Put ticks at these digits times powers of ten, as plain numbers, on a logarithmic axis."""
    axis.set_major_locator(LogLocator(subs=digits))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_formatter(NullFormatter())


def interval_stack(intervals: list[Interval], truth: float, title: str, ax: plt.Axes) -> plt.Axes:
    """Intervals of repeated experiments, one above the other; those that miss the truth are marked."""
    lows, highs = (np.array([getattr(r, end) for r in intervals]) for end in ("low", "high"))
    hit = (lows <= truth) & (truth <= highs)
    rows = np.arange(len(intervals))
    for mine, colour, line, name in (
        (hit, COLOURS[0], "-", "contains the truth"),
        (~hit, COLOURS[3], "--", "misses it"),
    ):
        ax.hlines(rows[mine], lows[mine], highs[mine], color=colour, linestyle=line, linewidth=2, label=name)
    ax.axvline(truth, color="black", linewidth=1)
    title = f"{title}: {hit.mean():.0%} contain the truth"
    ax.set(xlabel="mean accuracy (%)", ylabel="repetition, with new images", title=title)
    return ax


def forest(
    rows: pd.DataFrame,
    xlabel: str = "accuracy (%)",
    zero: bool = False,
    hollow: Sequence[str] = ("printed",),
) -> HTML | None:
    """Draw intervals as a forest plot: one picture per panel, one row per label, with its series below each other.

    Parameters
    ----------
    rows : DataFrame
        Columns ``row`` (its label), ``mean`` and ``half_width``, or ``low`` and ``high`` in place of the latter;
        without either, points alone. Optional ``series`` (ours and the printed one, say) and ``panel``. Labels,
        series and panels are drawn in the order in which they first occur; sort before.
    xlabel : str
        Of each panel.
    zero : bool
        A line at 0, for differences.
    hollow : sequence of str
        Series drawn as hollow black marks, usually what a paper prints. Series named in `LOOKS` have the colour and
        mark given there; the others take colours and marks in order.

    Returns
    -------
    IPython.display.HTML or None
        One SVG per panel, in a grid that has one column on a phone; None for an empty table.
    """
    if not len(rows):
        return None
    rows = rows.assign(series=rows.get("series", ""), panel=rows.get("panel", ""))
    if "half_width" in rows:
        rows = rows.assign(low=rows["mean"] - rows["half_width"], high=rows["mean"] + rows["half_width"])
    series = list(rows["series"].unique())
    panels = list(rows["panel"].unique())
    looks = {name: LOOKS[name] for name in series if name in LOOKS}
    others = [name for name in series if name not in hollow and name not in looks]
    looks |= {name: dict(color=COLOURS[i], marker=MARKERS[i]) for i, name in enumerate(others)}
    looks |= {name: dict(color="black", mfc="white", marker="D") for name in hollow}
    pictures = []
    for panel in panels:
        mine = rows[rows["panel"] == panel]
        labels, present = list(mine["row"].unique()), [name for name in series if name in set(mine["series"])]
        names = [textwrap.fill(_drawn(label), LABEL) for label in labels]
        lines = 1 + max(name.count("\n") for name in names)
        height = len(labels) * max(0.27, 0.17 * lines, 0.16 * len(present)) + 0.75
        size = (4.4 if len(panels) == 1 else 3.5, height + 0.25 * (len(series) > 1))
        figure, ax = plt.subplots(figsize=size, layout="constrained")
        for i, name in enumerate(present):
            points_of = mine[mine["series"] == name]
            y = np.array([labels.index(label) for label in points_of["row"]]) + 0.7 * ((i + 0.5) / len(present) - 0.5)
            style = looks[name] | dict(linestyle="", markersize=5, zorder=3)
            ax.plot(points_of["mean"], y, label=_drawn(name), **style)
            if "low" in points_of:
                ax.hlines(y, points_of["low"], points_of["high"], color=style["color"], linewidth=1.5)
        if zero:
            ax.axvline(0, color="black", linewidth=1)
        ax.set_yticks(range(len(labels)), names, fontsize=9)
        ax.set(ylim=(len(labels) - 0.5, -0.5))
        ax.set_xlabel(xlabel, fontsize=9)
        ax.set_title(_drawn(panel), fontsize=10)
        ax.tick_params(axis="x", labelsize=9)
        ax.grid(axis="y", visible=False)
        if len(series) > 1:  # below the axis, where no mark can lie under it
            narrow = len(panels) > 1 or max(map(len, map(str, present))) > 14
            columns = min(len(present), 2 if narrow else 3)
            figure.legend(loc="outside lower center", ncols=columns, fontsize=9, frameon=False)
        points = (f"{f'{r.row} {r.series}'.strip()} {r.mean:.4g}" for r in mine.itertuples())
        alt = html.escape(f"{panel} {xlabel}: {', '.join(points)}".strip())
        pictures.append(f'<img alt="{alt}" src="data:image/svg+xml;base64,{_svg(figure)}">')
    return HTML(f'<div class="forest">{"".join(pictures)}</div>')


def in_words(name: str) -> str:
    """Put the options of a data set's name into words: ``a?per_class=9`` becomes ``a (9 per class)``."""
    return re.sub(r"\?per_class=(\d+)", r" (\1 per class)", name)


def _drawn(label: object) -> str:
    """Prepare a label for Matplotlib: options in words, dollar signs escaped, since they would start a formula."""
    return in_words(str(label)).replace("$", r"\$")


def _svg(figure: plt.Figure) -> str:
    """A figure as SVG in base64, the same bytes for the same picture; the figure is closed."""
    file = io.BytesIO()
    nothing = dict.fromkeys(["Creator", "Date", "Format", "Type"])
    with plt.rc_context({"svg.hashsalt": "fslcore"}):
        figure.savefig(file, format="svg", bbox_inches="tight", metadata=nothing)
    plt.close(figure)
    return base64.b64encode(file.getvalue()).decode()
