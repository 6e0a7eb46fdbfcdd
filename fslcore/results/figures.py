"""The figures of a report, and the style that all figures share."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

__all__ = ["groups", "style"]

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
