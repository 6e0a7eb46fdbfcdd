"""Tables and figures of the measurements by `benchmarks/bench.py`, read by `fslcore.tools.workload.stored`."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from fslcore.tools.report.figures import COLOURS, LINES, MARKERS

__all__ = ["across", "exponents", "growth_curves", "limits", "million", "number", "ratio_bars", "ratios"]

SUBJECTS = {"learners": "Learners", "tasks": "Drawing tasks", "features": "Features", "statistics": "Statistics"}


def ratios(found: dict, subject: str) -> pd.DataFrame:
    """Speeds here and of the alternative, their ratio, the intended ratio, and the share of equal results."""
    rows = [row for row in found["ratios"] if row["subject"] == subject]
    table = pd.DataFrame(
        {
            "what": [row["what"] for row in rows],
            "against": [row["against"] for row in rows],
            "unit": [row["unit"] for row in rows],
            "here": [number(row["ours"]) for row in rows],
            "there": [number(row["theirs"]) for row in rows],
            "ratio": [number(row["ratio"]) for row in rows],
            "aim": [f"{row['target']:g}" if row["target"] else "" for row in rows],
            "equal results": [f"{100 * row['agree']:.1f} %" if row["agree"] is not None else "" for row in rows],
        }
    ).set_index("what")
    return table.loc[:, (table != "").any()]  # no column without an entry


def across(machines: list[dict]) -> pd.DataFrame:
    """The ratio of each comparison, a column per machine with its processor, date and load; NaN where there is none."""
    columns = {}
    for found in machines:
        machine = f"{found['cpu']}, {found['cores']} cores", f"{found['date']}, load {found['load']:.0f}"
        columns[machine] = {row["what"]: row["ratio"] for row in found["ratios"]}
    return pd.DataFrame(columns).rename_axis("what").rename_axis(["machine", "measured"], axis=1)


def limits(found: dict) -> pd.DataFrame:
    """Each speed relative to its bound."""
    rows = found["limits"]
    return pd.DataFrame(
        {
            "what": [row["what"] for row in rows],
            "bounded by": [row["of"] for row in rows],
            "unit": [row["unit"] for row in rows],
            "reached": [number(row["value"]) for row in rows],
            "bound": [number(row["limit"]) for row in rows],
            "share": [f"{100 * row['share']:.0f} %" for row in rows],
        }
    ).set_index("what")


def million(found: dict) -> pd.DataFrame:
    """Seconds and peak memory by stage, for each number of images."""
    rows = pd.DataFrame([row for row in found["scale"] if row["subject"] == "million"])
    columns = {}
    for images, of in rows.groupby("images"):
        of = of.set_index("stage")
        columns[(f"{images:,} images", "seconds")] = of["seconds"].map("{:,.1f}".format)
        columns[(f"{images:,} images", "peak (MB)")] = of["peak_mb"].map("{:,.0f}".format)
    return pd.DataFrame(columns).reindex(rows["stage"].unique()).drop(index="start")


def exponents(found: dict) -> pd.DataFrame:
    """The power of a size with which time grows, by task and size, from the larger half of the sizes."""
    rows = []
    for (what, by), of in pd.DataFrame(found["growth"]).groupby(["what", "by"], sort=False):
        rows.append((what, by, of["at"].max() / of["at"].min(), _slope(of)))
    return pd.DataFrame(rows, columns=["what", "by", "range", "exponent"])


def _slope(of: pd.DataFrame) -> float:
    """Least squares on logarithms of the upper half; in the lower half the fixed cost of a call dominates."""
    upper = of.sort_values("at").iloc[-max(2, (len(of) + 1) // 2) :]
    return float(np.polyfit(np.log(upper["at"]), np.log(upper["seconds"]), 1)[0])


def growth_curves(found: dict) -> plt.Figure:
    """Seconds against tasks, images, ways and shots, on logarithmic axes; the exponents stand in the legends."""
    rows = pd.DataFrame(found["growth"])
    names = list(dict.fromkeys(rows["what"]))
    figure, axes = plt.subplots(2, 2, figsize=(6.8, 7.6), layout="constrained")
    for ax, (by, of) in zip(axes.flat, rows.groupby("by", sort=False)):
        for what, curve in of.groupby("what", sort=False):
            i = names.index(what)
            label = f"{what}: {_slope(curve):.1f}"
            style = dict(color=COLOURS[i], marker=MARKERS[i], linestyle=LINES[i % len(LINES)], label=label)
            ax.plot(curve["at"], curve["seconds"], **style)
        ax.set(xscale="log", yscale="log", xlabel=by, ylabel="seconds")
        if len(sizes := sorted(of["at"].unique())) and sizes[-1] < 10_000:  # few and near: the sizes themselves
            ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
            ax.xaxis.set_minor_formatter(NullFormatter())
        ax.legend(fontsize=8, title="grows as the power", title_fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1))
    return figure


def ratio_bars(found: dict) -> plt.Figure:
    """All ratios on one logarithmic axis; a black line marks the aim."""
    rows = found["ratios"][::-1]
    figure, ax = plt.subplots(figsize=(6.2, 0.34 * len(rows) + 1.1), layout="constrained")
    for at, row in enumerate(rows):
        colour = COLOURS[list(SUBJECTS).index(row["subject"])]
        ax.barh(at, row["ratio"] - 1, left=1, color=colour)
        end = max(row["ratio"], row["target"] or 1, 1)
        ax.text(1.2 * end, at, number(row["ratio"]), va="center", fontsize=9)
        if row["target"]:
            ax.plot([row["target"]] * 2, [at - 0.4, at + 0.4], color="black", linewidth=2)
    ax.axvline(1, color="black", linewidth=1)
    ax.set(xscale="log", yticks=range(len(rows)), xlabel="times as fast as the alternative")
    ax.set_yticklabels([row["what"] for row in rows], fontsize=9)
    ax.set_xlim(min(0.5, *(0.8 * row["ratio"] for row in rows)), 3 * max(row["ratio"] for row in rows))
    ax.set_title(found["cpu"], fontsize=10)
    patches = [Patch(color=colour, label=subject) for colour, subject in zip(COLOURS, SUBJECTS.values())]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches), fontsize=9)
    return figure


def number(value: float) -> str:
    """Format with three digits, as measurements of speed are no more precise."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
