"""How repeated looks at an interval, to decide when to stop drawing tasks, affect its errors."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fslbook.style import COLOURS
from fslcore import stats

from ..figures import plain_ticks


def studies(differences: np.ndarray, most: int, repeats: int, seed: int = 0) -> np.ndarray:
    """(repeats, most) differences of two equally good methods: resampled from those given, with random signs.

    Parameters
    ----------
    differences : (T,) floats
        Of two methods' accuracies, task by task, in percent.
    """
    rng = np.random.default_rng(seed)
    size = (repeats, most)
    return rng.choice(np.abs(differences), size) * rng.choice([-1.0, 1.0], size)


def path(differences: np.ndarray, looks: np.ndarray, level: float = stats.LEVEL) -> pd.DataFrame:
    """Both intervals at each look: mean, half (half-width of the usual one), low and high (the anytime-valid one)."""
    rows = []
    for tasks in looks:
        so_far = differences[:tasks]
        usual = stats.closed_interval(so_far, level)
        anytime = stats.anytime_interval(so_far, bounds=(-100, 100), level=level)
        rows.append((tasks, usual.mean, usual.half_width, anytime.low, anytime.high))
    return pd.DataFrame(rows, columns=["tasks", "mean", "half", "low", "high"])


def missed(drawn: np.ndarray, looks: np.ndarray, level: float = stats.LEVEL) -> pd.DataFrame:
    """Share of studies whose interval has excluded 0 at any look so far: columns tasks, usual, anytime."""
    paths = [path(x, looks, level) for x in drawn]
    usual = np.array([np.abs(p["mean"]) > p["half"] for p in paths])
    anytime = np.array([(p["low"] > 0) | (p["high"] < 0) for p in paths])
    ever = {
        name: np.maximum.accumulate(x, axis=1).mean(axis=0)
        for name, x in (("usual", usual), ("anytime", anytime))
    }
    return pd.DataFrame({"tasks": looks, **ever})


def figure(one: pd.DataFrame, shares: pd.DataFrame, level: float = stats.LEVEL) -> plt.Figure:
    """The two intervals of one study as tasks are drawn (`path`), and the share of false positives (`missed`)."""
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(5.6, 5.8), sharex=True)
    names = ("usual closed interval", "anytime-valid interval")
    ends = (one["mean"] - one["half"], one["mean"] + one["half"]), (one["low"], one["high"])
    for name, (low, high), colour, line, hatch in zip(
        names, ends, COLOURS[1::-1], ("--", "-"), ("//", "")
    ):
        top.fill_between(one["tasks"], low, high, alpha=0.25, color=colour, hatch=hatch, label=name)
        top.plot(one["tasks"], low, color=colour, linestyle=line, linewidth=1)
        top.plot(one["tasks"], high, color=colour, linestyle=line, linewidth=1)
    top.axhline(0, color="black", linewidth=1)
    top.set(ylabel="difference (points)", title="one study of two equal methods")
    late = one[
        one["tasks"] >= one["tasks"].max() ** 0.6
    ]  # the first look would make all others flat
    top.set_ylim(late["low"].min(), late["high"].max())
    top.legend(fontsize=9)
    for name, column, colour, line in zip(names, ("usual", "anytime"), COLOURS[1::-1], ("--", "-")):
        bottom.plot(
            shares["tasks"],
            100 * shares[column],
            color=colour,
            linestyle=line,
            linewidth=2,
            label=name,
        )
    bottom.axhline(100 * (1 - level), color="black", linewidth=1)
    bottom.set(
        xscale="log",
        xlabel="tasks drawn so far",
        ylabel="studies (%)",
        title="significant at some look: all of them wrong",
    )
    plain_ticks(bottom.xaxis)
    bottom.set_ylim(-2)
    return figure
