"""How repeated looks at an interval, to decide when to stop drawing tasks, affect its errors."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy import ndarray

from fslbook.remarks import remark
from fslbook.style import COLOURS, WIDTH
from fslcore import stats

from ..figures import plain_ticks


def studies(differences: ndarray, tasks: int, repeats: int, seed: int = 0) -> ndarray:
    """(repeats, tasks) differences of two equally good methods: resampled from those given, with random signs.

    Parameters
    ----------
    differences : (T,) floats
        Of two methods' accuracies, task by task, in percent.
    """
    rng = np.random.default_rng(seed)
    size = (repeats, tasks)
    return rng.choice(np.abs(differences), size) * rng.choice([-1.0, 1.0], size)


def path(
    differences: ndarray, looks: ndarray, level: float = stats.DEFAULT_CONFIDENCE_LEVEL
) -> pd.DataFrame:
    """Both intervals at each look: mean, half (half-width of the usual one), low and high (the anytime-valid one)."""
    rows = []
    for tasks in looks:
        so_far = differences[:tasks]
        usual = stats.closed_task_interval(so_far, level)
        anytime = stats.confidence_sequence(so_far, bounds=(-100, 100), confidence_level=level)
        rows.append((tasks, usual.estimate, usual.half_width, anytime.low, anytime.high))
    return pd.DataFrame(rows, columns=["tasks", "mean", "half", "low", "high"])


def missed(
    drawn: ndarray, looks: ndarray, level: float = stats.DEFAULT_CONFIDENCE_LEVEL
) -> pd.DataFrame:
    """Share of studies whose interval has excluded 0 at any look so far: columns tasks, usual, anytime."""
    paths = [path(x, looks, level) for x in drawn]
    usual = np.array([np.abs(p["mean"]) > p["half"] for p in paths])
    anytime = np.array([(p["low"] > 0) | (p["high"] < 0) for p in paths])
    ever = {
        name: np.maximum.accumulate(x, axis=1).mean(axis=0)
        for name, x in (("usual", usual), ("anytime", anytime))
    }
    return pd.DataFrame({"tasks": looks, **ever})


def figure(
    study: pd.DataFrame, shares: pd.DataFrame, level: float = stats.DEFAULT_CONFIDENCE_LEVEL
) -> plt.Figure:
    """The two intervals of one study as tasks are drawn (`path`), and the share of false positives (`missed`)."""
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(WIDTH, 5.8), sharex=True)
    intervals = {
        "usual": (study["mean"] - study["half"], study["mean"] + study["half"]),
        "anytime": (study["low"], study["high"]),
    }
    for kind, name, colour, line, hatch in (
        ("usual", "usual closed interval", COLOURS[1], "--", "//"),
        ("anytime", "anytime-valid interval", COLOURS[0], "-", ""),
    ):
        look = dict(color=colour, linestyle=line)
        top.fill_between(
            study["tasks"],
            *intervals[kind],
            alpha=0.25,
            color=colour,
            hatch=hatch,
            label=name,
        )
        for end in intervals[kind]:
            top.plot(study["tasks"], end, linewidth=1, **look)
        bottom.plot(shares["tasks"], 100 * shares[kind], linewidth=2, label=name, **look)
    top.axhline(0, color="black", linewidth=1)
    top.set(ylabel="difference (points)", title="one study of two equal methods")
    # The first look would make all others flat.
    late = study[study["tasks"] >= study["tasks"].max() ** 0.6]
    top.set_ylim(late["low"].min(), late["high"].max())
    top.legend(fontsize=9)
    bottom.axhline(100 * (1 - level), color="black", linewidth=1)
    bottom.set(
        xscale="log",
        xlabel="tasks drawn so far",
        ylabel="studies (%)",
        title="significant at some look: all of them wrong",
    )
    plain_ticks(bottom.xaxis)
    bottom.set_ylim(-2)
    last = shares.iloc[-1]
    words = f"{100 * last['usual']:.0f} % after {last['tasks']:,.0f} tasks"
    remark(bottom, words, last["tasks"], 100 * last["usual"])
    return figure
