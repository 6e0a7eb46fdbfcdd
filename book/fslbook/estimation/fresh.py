"""Closed tasks with two test sets: the queries of the oracle, and a fresh one that is as large as the support."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fslcore import datasets
from fslcore.tasks import Tasks, sample_closed

__all__ = ["FRESH", "draw", "parts_of"]

FRESH = "fresh"


def parts_of(source: datasets.Source) -> np.ndarray | None:
    """(N,) number of the part of each image of which tasks are drawn in turn; None where tasks may hold any class.

    The parts of a set of Meta-Album are its data sets, in order of appearance: as in the paper, no
    task mixes two."""
    facts = source.facts
    if facts is None or "domain" not in facts or not source.name.startswith("meta-album"):
        return None
    import pandas as pd

    return pd.factorize(facts["domain"])[0]


def draw(
    labels: np.ndarray,
    parts: np.ndarray | None = None,
    *,
    ways: int,
    shots: int | Sequence[int],
    queries: int | Sequence[int],
    tasks: int,
    seed: int,
) -> tuple[Tasks, Tasks]:
    """Tasks with the queries of the oracle, and the same tasks with the fresh test set.

    Parameters
    ----------
    labels : (N,) integers or strings
        The class of each image.
    parts : (N,) integers, optional
        As `parts_of` gives it.
    ways, shots, queries, tasks, seed
        As for `fslcore.tasks.sample_closed`; classes with too few images are left out.
    """
    shots, queries = (np.broadcast_to(n, ways) for n in (shots, queries))
    shape = dict(
        ways=ways, shots=shots, queries=queries + shots, seed=seed, skip_small_classes=True
    )
    sampled = (
        sample_closed(labels, tasks=tasks, **shape)
        if parts is None
        else _in_turn(labels, parts, tasks, shape)
    )
    label = sampled.query_label[0]  # alike in all tasks, class by class
    number = np.arange(len(label)) - np.searchsorted(label, label)
    first = number < queries[label]
    halves = ((sampled.query[:, part], sampled.query_label[:, part]) for part in (first, ~first))
    return tuple(
        Tasks(sampled.support, sampled.support_label, *query, ways, sampled.sampler)
        for query in halves
    )


def _in_turn(labels: np.ndarray, parts: np.ndarray, tasks: int, shape: dict) -> Tasks:
    rows = [np.flatnonzero(parts == part) for part in range(parts.max() + 1)]
    sampled = [
        sample_closed(labels[part_rows], tasks=max(2, -(-tasks // len(rows))), **shape)
        for part_rows in rows
    ]

    def merged(arrays: list[np.ndarray]) -> np.ndarray:
        return np.stack(arrays, axis=1).reshape(-1, arrays[0].shape[1])[:tasks]

    images = (
        [part_rows[getattr(part_tasks, kind)] for part_rows, part_tasks in zip(rows, sampled)]
        for kind in ("support", "query")
    )
    support, query = map(merged, images)
    label = [
        merged([getattr(part_tasks, f"{kind}_label") for part_tasks in sampled])
        for kind in ("support", "query")
    ]
    sampler = {**sampled[0].sampler, "tasks": tasks, "within": "domain"}
    return Tasks(support, label[0], query, label[1], shape["ways"], sampler)
