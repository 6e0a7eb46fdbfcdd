"""A loop that is recorded, on a data set of eight classes of twenty images."""

import numpy as np

import fslcore

LABELS = np.arange(8).repeat(20)


def played(
    path, tasks, method="A", share=0.7, seed=0, order=None, labels=LABELS, name=int, **facts
):
    """A loop that guesses; whether each query is right."""
    right = np.random.default_rng(seed).random(tasks.query.shape) < share
    with fslcore.record(path, method, **facts) as record:
        for t in range(len(tasks)) if order is None else order:
            support, query = tasks.support[t], tasks.query[t]
            predicted = np.where(right[t], labels[query], (labels[query] + 1) % 8)
            record.task(
                [*map(name, support)],
                [*map(name, query)],
                labels[query],
                predicted,
                labels[support],
            )
    return right
