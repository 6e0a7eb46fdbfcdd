"""Figures and parts of figures that chapters of several papers share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fslcore.stats import Interval
from fslcore.tools.report.figures import COLOURS

if TYPE_CHECKING:
    from fslcore.datasets import Images

__all__ = ["image_grid", "interval_stack"]


def image_grid(images: Images, classes: int = 12, per_class: int = 8, seed: int = 0) -> plt.Figure:
    """A row per class with a few of its images, classes and images chosen at random from ``seed``."""
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
    """Ticks at these digits times powers of ten, as plain numbers on a logarithmic axis."""
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
