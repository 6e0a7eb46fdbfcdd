"""Samplers of tasks against those that draw a task and look whether it will do."""

from __future__ import annotations

import numpy as np

from fslbook.biased_tasks import sample_biased
from fslcore.tasks import sample_closed, sample_open

from .common import CPU, fresh_peak, paired, peak_mb, ratio, seconds

__all__ = ["biased", "quickdraw", "samplers"]

REDRAWS = "a new permutation of each class for every task"
REMAINING = "all images that are left looked through a task"
RESTARTS = "tasks that start again where images lack"


def samplers(quick: bool, repeats: int) -> list[dict]:
    """Closed and open tasks from 52 classes of 2,000 images."""
    labels = np.repeat(np.arange(52), 200 if quick else 2000)
    many, few = (200, 4) if quick else (10_000, 100)
    ours, theirs = paired(
        lambda: sample_closed(labels, tasks=many),
        lambda: redraw_loop(labels, few),
        1 if quick else repeats,
    )
    rows = [ratio("tasks", "closed tasks", REDRAWS, "tasks/s", many / ours, few / theirs)]
    open_tasks = len(sample_open(labels))
    ours, theirs = paired(
        lambda: sample_open(labels), lambda: remaining_loop(labels, few), 1 if quick else repeats
    )
    return [
        *rows,
        ratio(
            "tasks",
            "open tasks, to exhaustion",
            REMAINING,
            "tasks/s",
            open_tasks / ours,
            few / theirs,
        ),
    ]


def quickdraw(quick: bool, repeats: int) -> list[dict]:
    """Open tasks from as many labels as the largest test set of the papers has: seconds and peak memory."""
    labels = np.repeat(np.arange(52), 1480 if quick else 148_000)
    fresh_peak()
    tasks = len(sample_open(labels))
    peak = peak_mb()
    took = seconds(lambda: sample_open(labels), 1, warm=False, clock=CPU)
    row = dict(
        subject="quickdraw",
        images=len(labels),
        stage="open tasks",
        seconds=took,
        peak_mb=peak,
        tasks=tasks,
    )
    return [row]


def biased(quick: bool, repeats: int) -> list[dict]:
    """Attribute-biased tasks by look-up against starting again."""
    labels, has = captions()
    many, few = (20, 2) if quick else (3000, 60)
    rows = []
    for shots, variant in ((5, "paper"), (1, "paper"), (5, "released")):
        ours, theirs = paired(
            lambda: sample_biased(labels, has, tasks=many, shots=shots, variant=variant),
            lambda: restart_loop(labels, has, few, shots),
            1 if quick else min(3, repeats),
        )
        title = f"biased tasks, {shots}-shot, {variant} construction"
        rows.append(ratio("tasks", title, RESTARTS, "tasks/s", many / ours, few / theirs))
    return rows


def redraw_loop(
    labels: np.ndarray, tasks: int, ways: int = 5, shots: int = 5, queries: int = 15
) -> list:
    """Closed tasks as episode samplers draw them: classes at random, then a permutation of all images of each."""
    rng = np.random.default_rng(0)
    by_class = [np.flatnonzero(labels == c) for c in np.unique(labels)]
    out = []
    while len(out) < tasks:
        chosen = rng.permutation(len(by_class))[:ways]
        images_of_class = [rng.permutation(by_class[c])[: shots + queries] for c in chosen]
        if all(len(images) == shots + queries for images in images_of_class):
            out.append([(images[:shots], images[shots:]) for images in images_of_class])
    return out


def remaining_loop(
    labels: np.ndarray, tasks: int, ways: int = 5, shots: int = 5, queries: int = 15
) -> list:
    """Open tasks as the algorithm reads: each looks which classes have enough images left, and marks those it takes."""
    rng = np.random.default_rng(0)
    classes, left, out = np.unique(labels), np.ones(len(labels), bool), []
    while len(out) < tasks:
        enough = [c for c in classes if (left & (labels == c)).sum() >= shots + queries]
        if len(enough) < ways:
            break
        task = []
        for c in rng.choice(enough, ways, replace=False):
            images = rng.permutation(np.flatnonzero(left & (labels == c)))[: shots + queries]
            left[images] = False
            task.append((images[:shots], images[shots:]))
        out.append(task)
    return out


def captions() -> tuple[np.ndarray, np.ndarray]:
    """20 classes of 600 images, 190 of 1,111 attributes a class: few frequent, most rare; about 6 an image."""
    rng = np.random.default_rng(0)
    labels, has = np.arange(20).repeat(600), np.zeros((12_000, 1111), dtype=bool)
    liked = 1 / np.arange(1, 1112) ** 0.6
    share = 0.6 / np.arange(1, 191) ** 0.8
    for c in range(20):
        of_class = np.sort(rng.choice(1111, 190, replace=False, p=liked / liked.sum()))
        has[600 * c : 600 * c + 600, of_class] = rng.random((600, 190)) < share
    return labels, has


def restart_loop(
    labels: np.ndarray, has: np.ndarray, tasks: int, shots: int, ways: int = 5, queries: int = 15
) -> list:
    """FewSTAB as the paper reads: choose, look at the images, and start again where they fall short."""
    rng = np.random.default_rng(0)
    by_class = {c: np.flatnonzero(labels == c) for c in np.unique(labels)}
    spurious = {c: np.flatnonzero(np.ptp(has[i].astype(int), axis=0)) for c, i in by_class.items()}
    out = []
    while len(out) < tasks:
        classes = rng.choice(list(by_class), ways, replace=False)
        chosen = np.array([rng.choice(spurious[c]) for c in classes])
        task = []
        for k, c in enumerate(classes):
            images = by_class[c]
            x = has[images]
            own_class, others = x[:, chosen[k]], x[:, np.delete(chosen, k)].any(axis=1)
            support, query = images[own_class & ~others], images[~own_class & others]
            if len(query) < queries:
                query = images[~own_class]
            if len(support) < shots or len(query) < queries:
                break
            x = has[query].astype(float)
            x[:, chosen] = 0
            lowest = (x @ x.mean(axis=0)).argsort()[:queries]
            task.append((rng.choice(support, shots, replace=False), query[lowest]))
        if len(task) == ways:
            out.append(task)
    return out
