"""The statistics of many results: a report on many methods, and intervals for new images."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import torch
from scipy.stats import ttest_rel
from statsmodels.stats.multitest import multipletests

from fslcore.datasets.bank import Bank
from fslcore.evaluation import evaluate
from fslcore.learners import LogisticRegression, NearestCentroid
from fslcore.report import Results
from fslcore.stats import three_intervals
from fslcore.tasks import sample_closed

from .common import gaussian, now, paired, ratio

__all__ = ["report", "resampling"]


def report(quick: bool, repeats: int, methods: int = 60, tasks: int = 600) -> list[dict]:
    """All pairs of methods at once against one after the other."""
    methods, tasks = (6, 20) if quick else (methods, tasks)
    rng = np.random.default_rng(0)
    x = (
        rng.normal(70, 8, (tasks, 1))
        + 0.02 * np.arange(methods)
        + rng.normal(0, 4, (tasks, methods))
    )
    names = [f"m{i}" for i in range(methods)]
    frame = pd.DataFrame(x.clip(2, 100), columns=names)

    def all_pairs():
        return Results.from_frame(frame, methods=names, rows="task").pairs

    pairs, (p, holm) = all_pairs(), pair_loop(frame)
    equal = np.isclose(pairs["p"], p, atol=1e-9) & np.isclose(pairs["p_holm"], holm, atol=1e-9)
    ours, theirs = paired(all_pairs, lambda: pair_loop(frame), 1 if quick else repeats)
    title, n = f"report: paired tests of {methods} methods on {tasks} tasks", len(pairs)
    against = "SciPy a pair, statsmodels' correction"
    return [
        ratio(
            "statistics", title, against, "pairs/s", n / ours, n / theirs, agree=float(equal.mean())
        )
    ]


def pair_loop(grid: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """p-values of all pairs, and after Holm's correction, with one call of SciPy a pair and statsmodels' correction."""
    grid = grid[sorted(grid, key=lambda m: -grid[m].mean())]
    p = np.array([ttest_rel(grid[a], grid[b]).pvalue for a, b in combinations(grid, 2)])
    return p, multipletests(p, method="holm")[1]


def resampling(quick: bool, repeats: int) -> list[dict]:
    """Intervals for new images of 2,000: ten groups left out in turn, 3,000 tasks each, against one run of as many."""
    x, labels = gaussian(20, 100, 512, seed=1)
    bank = Bank(torch.from_numpy(x), labels, "")
    group, per_group, rows = np.arange(2000) % 10, 20 if quick else 3000, []
    for learner in (NearestCentroid(), LogisticRegression()):
        start = now()
        for g in range(10):
            others = np.flatnonzero(group != g)
            tasks = sample_closed(bank.labels[others], tasks=per_group, seed=g)
            evaluate(learner, Bank(bank.data[others], bank.labels[others], ""), tasks)
        ten = now()
        tasks = sample_closed(bank.labels, tasks=10 * per_group)
        record = evaluate(learner, bank, tasks)
        three_intervals(record.correct, tasks.support, tasks.query, bank.labels)
        per_interval = now() - ten
        title = f"three intervals, {learner.name.upper()}, {10 * per_group:,} tasks"
        against = "ten runs, each without a tenth of the images"
        ours, theirs = 10 * per_group / per_interval, 10 * per_group / (ten - start)
        rows.append(ratio("statistics", title, against, "tasks/s", ours, theirs))
    return rows
