"""The style that all figures and tables share: colours, marks, lines, readable type, and counts in words."""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

__all__ = [
    "COLOURS",
    "LINES",
    "MARKERS",
    "NO_METADATA",
    "REPRODUCIBLE",
    "WIDTH",
    "counted",
    "style",
]

# Seaborn's palette for the colour-blind. Members with too little contrast on white are darkened to a ratio of 3 or
# more, as thin lines and small marks need (WCAG 2.2, 1.4.11), and so that no two look the same.
COLOURS = sns.color_palette(
    [
        "#0173b2",
        "#cd8405",
        "#029e73",
        "#d55e00",
        "#cc78bc",
        "#725237",
        "#4c3545",
        "#949494",
        "#77721a",
        "#4b9cca",
    ]
)
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h", "d"]
LINES = ["-", "--", ":", "-."]
# Inches. On a phone a figure of this width is as wide as the text, and its type of 9 points 9 pixels high.
WIDTH = 4.8
# For SVG: equal drawings give equal files.
REPRODUCIBLE = {"svg.hashsalt": "fslcore"}
NO_METADATA = dict.fromkeys(["Creator", "Date", "Format", "Type"])


def counted(number: int, unit: str) -> str:
    """'1 shot' or '5 shots'."""
    return f"{number} {unit}{'' if number == 1 else 's'}"


def style() -> None:
    """Set the figures' style: a white ground (the pages invert it in the dark), and vector drawings in a notebook."""
    pd.set_option("display.max_colwidth", None)  # tables on a page wrap, they need no cutting
    sns.set_theme(
        context="notebook",
        style="whitegrid",
        palette=COLOURS,
        rc={
            "figure.dpi": 110,
            "savefig.facecolor": "white",
            "axes.titlesize": "medium",
            "figure.autolayout": True,
        },
    )
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):  # in a notebook
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        plt.rcParams.update(REPRODUCIBLE)
        set_matplotlib_formats("svg", bbox_inches="tight", metadata=NO_METADATA)
