"""Tables and figures of the measurements by ``benchmarks/bench.py``, read by `fslbook.measurements`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.patches import Patch

from fslbook.style import COLOURS, LINES, MARKERS, WIDTH

from ..measurements import load_machine, machines

SUBJECTS = {
    "learners": "Learners",
    "tasks": "Drawing tasks",
    "features": "Features",
    "statistics": "Statistics",
}


def measured_by(machine: dict, has: Callable[[dict], object]) -> tuple[dict, str]:
    """This machine if it has what is asked for, else another one; and a sentence that says so."""
    if has(machine):
        return machine, ""
    for other in map(load_machine, machines()):
        if has(other):
            words = f"({other['cpu']}, {other['cores']} cores)"
            return other, f"It was measured on another machine {words}."
    raise ValueError("no machine has these rows; benchmarks/bench.py measures them")


def ratios(machine: dict, subject: str) -> pd.DataFrame:
    """Speeds here and of the alternative, their ratio, the intended ratio, and the share of equal results."""
    rows = [row for row in machine["ratios"] if row["subject"] == subject]
    entries = pd.DataFrame(rows).set_index("what")
    table = entries[["against", "unit"]].assign(
        here=entries["ours"].map(number),
        there=entries["theirs"].map(number),
        ratio=entries["ratio"].map(number),
        aim=[f"{row['target']:g}" if row["target"] else "" for row in rows],
    )
    table["equal results"] = [
        f"{100 * row['agree']:.1f} %" if row["agree"] is not None else "" for row in rows
    ]
    return table.loc[:, (table != "").any()]  # no column without an entry


def measured(machine: dict) -> pd.DataFrame:
    """When each piece was measured, with how many threads and which versions, and the load before and after."""
    rows = {}
    for name, piece in machine["pieces"].items():
        before, after = ("—" if load is None else f"{load:.1f}" for load in piece["load"])
        versions = ", ".join(f"{package} {number}" for package, number in piece["versions"].items())
        rows[name] = (piece["date"], piece["threads"], before, after, versions)
    columns = ["date", "threads", "load before", "load after", "versions"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("piece")


def limits(machine: dict) -> pd.DataFrame:
    """Each speed relative to its bound."""
    rows = pd.DataFrame(machine["limits"]).set_index("what")
    columns = {
        "bounded by": rows["of"],
        "unit": rows["unit"],
        "reached": rows["value"].map(number),
        "bound": rows["limit"].map(number),
        "share": rows["share"].map("{:.0%}".format).str.replace("%", " %"),
    }
    return pd.DataFrame(columns)


def million(machine: dict) -> pd.DataFrame:
    """Seconds and peak memory by stage, for each number of images."""
    rows = pd.DataFrame([row for row in machine["scale"] if row["subject"] == "million"])
    columns = {}
    for images, stages in rows.groupby("images"):
        stages = stages.set_index("stage")
        columns[(f"{images:,} images", "seconds")] = stages["seconds"].map("{:,.1f}".format)
        columns[(f"{images:,} images", "peak (MB)")] = stages["peak_mb"].map("{:,.0f}".format)
    return pd.DataFrame(columns).reindex(rows["stage"].unique()).drop(index="start")


def task_rates(machine: dict) -> pd.DataFrame:
    """Tasks per second by learner, and the backbone of those that train on the images of each task."""
    rows = [row for row in machine["rates"] if row["kind"] == "tasks"]
    table = pd.DataFrame({"learner": [row["name"] for row in rows]})
    table["backbone"] = [row.get("backbone", "features") for row in rows]
    table["tasks per second"] = [number(row["per_second"]) for row in rows]
    return table.set_index("learner")


def powers(machine: dict) -> pd.DataFrame:
    """The power of each size with which time and memory grow, with its standard error."""
    rows = machine["growth"]
    index = pd.MultiIndex.from_tuples(
        [(row["what"], row["by"]) for row in rows], names=["what", "by"]
    )
    return pd.DataFrame(
        {quantity: [_power(row, quantity) for row in rows] for quantity in ("time", "memory")},
        index,
    )


def _power(row: dict, quantity: str) -> str:
    power, error = row[f"{quantity}_power"], row[f"{quantity}_error"]
    if power is None or error is None:
        return "—" if power is None else f"{power:.2f}"
    digits = 2 if error >= 0.01 else 3
    return f"{power:.{digits}f} ± {error:.{digits}f}".replace("-", "−")


def growth_curves(machine: dict, by: str) -> plt.Figure:
    """Seconds and peak memory against a size, on logarithmic axes; the powers stand in the legend."""
    rows = [row for row in machine["growth"] if row["by"] == by]
    names = list(dict.fromkeys(row["what"] for row in machine["growth"]))
    figure, axes = plt.subplots(1, 2, figsize=(5.4, 3.9), layout="constrained")
    for row in rows:
        i = names.index(row["what"])
        label = f"{row['what']}: {_power(row, 'time')}; {_power(row, 'memory')}"
        style = dict(
            color=COLOURS[i],
            marker=MARKERS[i],
            linestyle=LINES[i % len(LINES)],
            markersize=5,
            label=label,
        )
        for ax, values in zip(axes, (row["seconds"], row["memory_mb"])):
            ax.plot(row["at"], values, **style)
    for ax, title in zip(axes, ("seconds", "peak memory (MB)")):
        ax.set(xscale="log", yscale="log", xlabel=by, title=title)
    handles, labels = axes[0].get_legend_handles_labels()
    title = "power of time; of memory (± standard error)"
    figure.legend(
        handles, labels, title=title, fontsize=10, title_fontsize=10, loc="outside lower center"
    )
    return figure


def ratio_bars(machine: dict) -> plt.Figure:
    """All ratios on one logarithmic axis; a vertical line marks the aim."""
    rows = machine["ratios"][::-1]
    figure, ax = plt.subplots(figsize=(WIDTH, 0.265 * len(rows) + 1.2), layout="constrained")
    for at, row in enumerate(rows):
        colour = COLOURS[list(SUBJECTS).index(row["subject"])]
        ax.barh(at, row["ratio"] - 1, left=1, color=colour)
        end = max(row["ratio"], row["target"] or 1, 1)
        ax.text(1.2 * end, at, number(row["ratio"]), va="center", fontsize=9)
        if row["target"]:
            ax.plot([row["target"]] * 2, [at - 0.4, at + 0.4], color="black", linewidth=2)
    ax.axvline(1, color="black", linewidth=1)
    ax.set(xscale="log", ylim=(-0.7, len(rows) - 0.3))
    ax.set_xlabel("times as fast as the alternative")
    labels = [textwrap.fill(row["what"], 32) for row in rows]
    ax.set_yticks(range(len(rows)), labels, fontsize=9, linespacing=0.85)
    ax.set_xlim(
        min(0.5, *(0.8 * row["ratio"] for row in rows)), 3 * max(row["ratio"] for row in rows)
    )
    ax.set_title(machine["cpu"], fontsize=10)
    patches = [
        Patch(color=colour, label=subject) for colour, subject in zip(COLOURS, SUBJECTS.values())
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=2, fontsize=9)
    return figure


def number(value: float) -> str:
    """Format with three digits, as measurements of speed are no more precise."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
