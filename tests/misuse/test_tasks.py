"""`fslcore.tasks`: labels that the samplers are given, numbers out of range, and Tasks that a user makes himself."""

import numpy as np
import pandas as pd
import pytest

from fslcore.tasks import Tasks, sample_all, sample_closed, sample_open

from .judging import Trap, fill, fine, judge, row

LABELS = np.arange(8).repeat(25)
SAMPLERS = {
    sample_closed: dict(tasks=30, ways=5, shots=2, queries=3),
    sample_open: dict(ways=5, shots=2, queries=3, max_tasks=5),
    sample_all: dict(shots=2, tasks=5),
}


KINDS = {
    "texts": (LABELS.astype(str), fine),
    "a Series with another index": (pd.Series(LABELS, index=range(500, 700)), fine),
    "objects": (LABELS.astype(object), fine),
    "one class": (0 * LABELS, "class"),
    "a class of one": (np.r_[LABELS, 99], "99 & 1"),
}


@pytest.mark.parametrize(
    "sampler, labels, expected",
    [
        row(f"{sampler.__name__}, {name}", sampler, *case)
        for sampler in SAMPLERS
        for name, case in KINDS.items()
        if sampler is not sample_all or name != "a class of one"  # of which it takes all
    ],
)
def test_labels(sampler, labels, expected):
    judge(lambda: sampler(labels, **SAMPLERS[sampler]), expected)


def tasks(**changes):
    """Two tasks of two classes, made by hand, but for these changes."""
    arrays = {
        "support": np.array([[0, 5], [1, 6]]),
        "support_label": np.array([[0, 1], [0, 1]]),
        "query": np.array([[2, 3, 7, 8], [2, 3, 7, 8]]),
        "query_label": np.array([[0, 0, 1, 1], [0, 0, 1, 1]]),
    }
    return Tasks(**{**arrays, "ways": 2, **changes})


@pytest.mark.parametrize(
    "changes, expected",
    [
        row("a query twice", {"query": np.array([[2, 2, 7, 8], [2, 3, 7, 8]])}, fine),
        row("a label below -1", {"query_label": np.array([[0, 0, -2, 1], [0, 0, 1, 1]])}, "query"),
        row("an index below -1", {"query": np.array([[2, 3, -2, 8], [2, 3, 7, 8]])}, "query"),
        row("a query of a class without support", {"support_label": np.zeros((2, 2), int)}, fine),
    ],
)
def test_tasks_of_ones_own(changes, expected):
    judge(lambda: tasks(**changes), expected)


def cut(path):
    tasks().save(path)
    path.write_bytes(path.read_bytes()[:200])


@pytest.mark.parametrize(
    "content, expected",
    [
        row(
            "what was saved",
            lambda path: tasks().save(path),
            lambda done: done.value.digest == tasks().digest,
        ),
        row("no such file", lambda path: None, "t.npz"),
        row("noise", bytes(99), "t.npz"),
        row("cut off", cut, "t.npz"),
        row(
            "a pickle that runs a command",
            lambda path: np.savez(path, support=np.array([Trap()], object)),
            "t.npz",
        ),
    ],
)
def test_files(content, expected):
    fill("t.npz", content)
    judge(lambda: Tasks.load("t.npz"), expected)
