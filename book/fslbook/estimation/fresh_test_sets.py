"""Closed tasks with two test sets: the queries of the oracle, and a fresh one that is as large as the support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
    shots, queries = (np.broadcast_to(count, ways) for count in (shots, queries))
    shape = dict(
        ways=ways, shots=shots, queries=queries + shots, seed=seed, skip_small_classes=True
    )
    sampled = (
        sample_closed(labels, tasks=tasks, **shape)
        if parts is None
        else _in_turn(labels, parts, tasks, shape)
    )
    label = sampled.query_label[0]  # the same in all tasks, class by class
    number = np.arange(len(label)) - np.searchsorted(label, label)
    first = number < queries[label]
    return _with_queries(sampled, first), _with_queries(sampled, ~first)


def _with_queries(tasks: Tasks, columns: np.ndarray) -> Tasks:
    return replace(tasks, query=tasks.query[:, columns], query_label=tasks.query_label[:, columns])


def _in_turn(labels: np.ndarray, parts: np.ndarray, tasks: int, shape: dict) -> Tasks:
    """Tasks of the first part, the second and so on in turn, each of classes of its part alone."""
    rows = [np.flatnonzero(parts == part) for part in range(parts.max() + 1)]
    count = max(2, -(-tasks // len(rows)))
    sampled = [sample_closed(labels[of_part], tasks=count, **shape) for of_part in rows]

    def merged(kind: str) -> np.ndarray:
        arrays = [getattr(part, kind) for part in sampled]
        if not kind.endswith("label"):
            arrays = [of_part[places] for of_part, places in zip(rows, arrays)]
        return np.stack(arrays, axis=1).reshape(-1, arrays[0].shape[1])[:tasks]

    kinds = ("support", "support_label", "query", "query_label")
    sampler = {**sampled[0].sampler, "tasks": tasks, "within": "domain"}
    return Tasks(*map(merged, kinds), shape["ways"], sampler)
