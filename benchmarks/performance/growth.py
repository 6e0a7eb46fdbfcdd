"""How time grows with tasks, images, ways and shots: seconds of one thread at a few sizes each."""

from __future__ import annotations

import numpy as np

from fslcore.evaluation import evaluate
from fslcore.learners import LogisticRegression, NearestCentroid
from fslcore.stats import three_intervals
from fslcore.tasks import sample_closed, sample_open

from .common import CPU, seconds
from .learners import bank_of

__all__ = ["growth"]

QUERIES = 10  # a class, so that 40 shots fit into the bank's classes


def growth(quick: bool, repeats: int) -> list[dict]:
    """Rows of what, by, at and seconds."""
    sizes = {"tasks": (256, 512, 1024, 2048, 4096), "ways": (5, 10, 20, 40), "shots": (1, 5, 10, 20, 40)}
    images = (10_000, 30_000, 100_000, 300_000, 1_000_000)
    if quick:
        sizes, images = {name: some[:2] for name, some in sizes.items()}, images[:2]
    repeats = 1 if quick else min(3, repeats)
    bank, found = bank_of(), []

    def add(what: str, by: str, at: int, run) -> None:
        found.append({"what": what, "by": by, "at": at, "seconds": seconds(run, repeats, warm=not quick, clock=CPU)})

    for by, some in sizes.items():
        for at in some:
            shape = {"tasks": 32 if quick else 64, "queries": QUERIES} | {by: at}
            tasks = sample_closed(bank.labels, **shape)
            for learner in (NearestCentroid(), LogisticRegression()):
                add(learner.name.upper(), by, at, lambda: evaluate(learner, bank, tasks))
            if by == "tasks":
                right = np.random.default_rng(0).random(tasks.query.shape) < 0.8
                add("three intervals", by, at, lambda: three_intervals(right, tasks.support, tasks.query, bank.labels))
                add("closed tasks", by, at, lambda: sample_closed(bank.labels, **shape))
    for n in images:
        labels = np.repeat(np.arange(100), n // 100)
        tasks = sample_closed(labels, tasks=100 if quick else 4000)
        right = np.random.default_rng(0).random(tasks.query.shape) < 0.8
        add("closed tasks", "images", n, lambda: sample_closed(labels, tasks=len(tasks)))
        add("open tasks", "images", n, lambda: sample_open(labels))
        add("three intervals", "images", n, lambda: three_intervals(right, tasks.support, tasks.query, labels))
    return found
