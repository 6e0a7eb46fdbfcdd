"""Figures and parts of figures that chapters of several papers share."""

from __future__ import annotations

import base64
import html
import io
import re
import textwrap
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import HTML
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fslcore.stats import Interval

from .remarks import remark
from .style import COLOURS, MARKERS, NO_METADATA, REPRODUCIBLE

if TYPE_CHECKING:
    from fslcore.datasets import Images

__all__ = ["LOOKS", "forest", "image_grid", "in_words", "interval_stack"]

SHARES = (0, 100)  # percent: what an accuracy, a coverage or any other share may be
STRIP = 0.8  # rows: room for a remark
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
# What a paper prints: hollow marks.
LOOKS["printed"] = dict(color="black", mfc="white", marker="D")


def image_grid(images: Images, classes: int, per_class: int, seed: int) -> plt.Figure:
    """A few images per class, one row per class; classes and images are chosen at random with ``seed``."""
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(images.class_names))[:classes])
    figure, axes = plt.subplots(len(chosen), 1, figsize=(6.2, 0.57 * len(chosen)))
    for ax, label in zip(axes, chosen):
        rows = rng.permutation(np.flatnonzero(images.labels == label))[:per_class]
        strip = np.concatenate(list(images.images[rows]), axis=1)
        ax.imshow(strip.squeeze(), cmap="gray", vmin=0, vmax=255)
        name = images.class_names[label].split("/")[-1]
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
    ends = pd.DataFrame([(r.low, r.high) for r in intervals], columns=["low", "high"])
    hit = (ends["low"] <= truth) & (truth <= ends["high"])
    for part, colour, line, name in (
        (ends[hit], COLOURS[0], "-", "contains the truth"),
        (ends[~hit], COLOURS[3], "--", "misses it"),
    ):
        style = dict(color=colour, linestyle=line, linewidth=2, label=name)
        ax.hlines(part.index, part["low"], part["high"], **style)
    ax.axvline(truth, color="black", linewidth=1)
    title = f"{title}: {100 * hit.mean():.0f} % contain the truth"
    ax.set(xlabel="mean accuracy (%)", ylabel="repetition, with new images", title=title)
    return ax


def forest(
    rows: pd.DataFrame,
    xlabel: str = "accuracy (%)",
    zero: bool = False,
    wanted: float | None = None,
    remarks: dict[Hashable, str] | None = None,
) -> HTML | None:
    """Draw intervals as a forest plot: one picture per panel, one row per label, with its series below each other.

    Parameters
    ----------
    rows : DataFrame
        Columns ``row`` (its label), ``mean`` and ``low`` and ``high``, or else ``half_width``; without either,
        points alone. Optional ``series`` (ours and the printed one, say) and ``panel``, and ``xlabel`` where the
        panels have several. Labels, series and panels are drawn in the order in which they first occur; sort before.
    xlabel : str
        Of each panel. With "(%)" its numbers are shares: a ``half_width`` is cut at 0 and 100.
    zero : bool
        A line at 0, for differences.
    wanted : float, optional
        A dashed line at this value, such as a nominal share.
    remarks : dict, optional
        By index of a row: a few words that point at its mean. `fslbook.remarks.remark` places them.

    Returns
    -------
    IPython.display.HTML or None
        One SVG per panel, in a grid that has one column on a phone; None for an empty table.

    Raises
    ------
    ValueError
        A share, or an end of its interval, below 0 or above 100.
    """
    if not len(rows):
        return None
    defaults = {"series": "", "panel": "", "xlabel": xlabel}
    rows = _with_ends(rows.assign(**{key: rows.get(key, value) for key, value in defaults.items()}))
    looks = _looks(rows["series"].unique())
    panels = rows.groupby("panel", sort=False)
    pictures = []
    for panel, part in panels:
        ax = _panel(part, looks, single=panels.ngroups == 1)
        if zero:
            ax.axvline(0, color="black", linewidth=1)
        if wanted is not None:
            ax.axvline(wanted, color="black", linewidth=1, linestyle="--")
        labels = [_drawn(label, LABEL) for label in part["row"].unique()]
        ax.set_yticks(range(len(labels)), labels, fontsize=9)
        ax.set(ylim=(len(labels) - 0.5, -0.5))
        (xlabel,) = part["xlabel"].unique()
        ax.set_xlabel(xlabel, fontsize=9)
        ax.set_title(_drawn(panel), fontsize=10)
        ax.tick_params(axis="x", labelsize=9)
        ax.locator_params(axis="x", steps=[1, 2, 5, 10])  # 2.5 has a digit more, which crowds them
        ax.grid(axis="y", visible=False)
        heights = _heights(part, looks)
        for index in part.index.intersection(list(remarks or {})):
            _remark_row(ax, remarks[index], part.loc[index, "mean"], heights[index])
        means = [f"{f'{r.row} {r.series}'.strip()} {r.mean:.4g}" for r in part.itertuples()]
        alt = html.escape(f"{panel} {xlabel}: {', '.join(means)}".strip())
        svg = _svg(ax.figure)
        pictures.append(f'<img alt="{alt}" src="data:image/svg+xml;base64,{svg}">')
    return HTML(f'<div class="forest">{"".join(pictures)}</div>')


def _with_ends(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the columns ``low`` and ``high``, if they have intervals; no share leaves 0 to 100."""
    least, most = SHARES
    is_share = rows["xlabel"].str.contains("(%)", regex=False)
    if "half_width" in rows and not {"low", "high"} <= set(rows):
        low, high = rows["mean"] - rows["half_width"], rows["mean"] + rows["half_width"]
        rows = rows.assign(
            low=low.where(~is_share, low.clip(least, most)),
            high=high.where(~is_share, high.clip(least, most)),
        )
    shares = rows.loc[is_share, rows.columns.intersection(["mean", "low", "high"])]
    outside = ((shares < least) | (shares > most)).any(axis=1)
    if outside.any():
        row = rows.loc[outside.idxmax()]
        numbers = ", ".join(f"{key} = {row[key]:.4g}" for key in shares)
        raise ValueError(
            f"forest: {row['row']!r} has {numbers}; a share is from {least} to {most} %"
        )
    return rows


def _looks(series: Iterable[str]) -> dict[str, dict]:
    """Colour and mark of each series: those of `LOOKS`, or else the next in order."""
    free = zip(COLOURS, MARKERS)
    looks = {}
    for name in series:
        if name in LOOKS:
            looks[name] = LOOKS[name]
        else:
            colour, mark = next(free)
            looks[name] = dict(color=colour, marker=mark)
    return looks


def _panel(rows: pd.DataFrame, looks: dict[str, dict], single: bool) -> plt.Axes:
    """The rows of a panel drawn on axes of their own, with a legend if there are several series."""
    labels = list(rows["row"].unique())
    series = _drawn_series(rows, looks)
    heights = _heights(rows, looks)
    lines = 1 + max(_drawn(label, LABEL).count("\n") for label in labels)
    height = len(labels) * max(0.27, 0.17 * lines, 0.16 * len(series)) + 0.75
    if len(looks) > 1:
        height += 0.25
    figure, ax = plt.subplots(figsize=(4.4 if single else 3.5, height), layout="constrained")
    for name in series:
        points = rows[rows["series"] == name]
        y = heights[rows["series"] == name]
        style = looks[name] | dict(linestyle="", markersize=5, zorder=3)
        ax.plot(points["mean"], y, label=_drawn(name), **style)
        if "low" in points:
            ax.hlines(y, points["low"], points["high"], color=style["color"], linewidth=1.5)
    if len(looks) > 1:  # below the axis, where no mark can lie under it
        wide = single and max(len(str(name)) for name in series) <= 14
        columns = min(len(series), 3 if wide else 2)
        look = dict(loc="outside lower center", ncols=columns, fontsize=9, frameon=False)
        figure.legend(*line_by_line(*ax.get_legend_handles_labels(), columns), **look)
    return ax


def line_by_line(handles: list, labels: list[str], columns: int) -> tuple[list, list[str]]:
    """Entries of a legend so that Matplotlib, which fills one column after the other, shows them line by line."""
    order = [k for column in range(columns) for k in range(column, len(labels), columns)]
    return [handles[k] for k in order], [labels[k] for k in order]


def _drawn_series(rows: pd.DataFrame, looks: dict[str, dict]) -> list[str]:
    """The series of a panel, from top to bottom."""
    return [name for name in looks if name in rows["series"].unique()]


def _heights(rows: pd.DataFrame, looks: dict[str, dict]) -> pd.Series:
    """Where each row of a panel is drawn: at the place of its label and, within it, of its series."""
    labels, series = list(rows["row"].unique()), _drawn_series(rows, looks)
    steps = 0.7 * ((rows["series"].map(series.index) + 0.5) / len(series) - 0.5)
    return rows["row"].map(labels.index) + steps


def _remark_row(ax: plt.Axes, words: str, mean: float, height: float) -> None:
    """Write a remark on a row; where all is full, above or below all rows, in a strip that is added for it."""
    if words and remark(ax, words, mean, height) is None:
        bottom, top = ax.get_ylim()
        is_above = height < (bottom + top) / 2
        ax.set_ylim(bottom + STRIP * (not is_above), top - STRIP * is_above)
        width, inches = ax.figure.get_size_inches()
        ax.figure.set_size_inches(width, inches * (1 + STRIP / (bottom - top)))
        remark(ax, words, mean, height)


def in_words(name: str) -> str:
    """Put the options of a data set's name into words: ``a?per_class=9`` becomes ``a (9 per class)``."""
    return re.sub(r"\?per_class=(\d+)", r" (\1 per class)", name)


def _drawn(label: object, width: int | None = None) -> str:
    """A label for Matplotlib: options in words, dollar signs escaped, since they would start a formula."""
    text = in_words(str(label)).replace("$", r"\$")
    return textwrap.fill(text, width) if width else text


def _svg(figure: plt.Figure) -> str:
    """A figure as SVG in base64, the same bytes for the same picture; the figure is closed."""
    file = io.BytesIO()
    with plt.rc_context(REPRODUCIBLE):
        figure.savefig(file, format="svg", bbox_inches="tight", metadata=NO_METADATA)
    plt.close(figure)
    return base64.b64encode(file.getvalue()).decode()
