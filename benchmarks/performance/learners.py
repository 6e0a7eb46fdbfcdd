"""Learners on a batch of tasks against one task at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from statistics import median
from unittest.mock import patch

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression as SklearnLR
from torch import nn
from torch.nn import functional as F

from fslcore.datasets.bank import Bank
from fslcore.evaluation import evaluate
from fslcore.evaluation.outcomes import predict_scores
from fslcore.learners import FineTune, LogisticRegression, NearestCentroid
from fslcore.models.backbones import Backbone
from fslcore.models.networks import Conv4, GlyphConv
from fslcore.tasks import bootstrap_split, sample_closed

from .common import gaussian, now, ratio

__all__ = ["bank_of", "few_ways", "fine_tuning", "many_ways", "rounds"]

SCIKIT_LEARN, LOOP = "scikit-learn, a task at a time", "a loop over tasks in PyTorch"


def bank_of(classes: int = 64, per_class: int = 150, dim: int = 512) -> Bank:
    """Synthetic features of the usual size."""
    x, labels = gaussian(classes, per_class, dim)
    return Bank(torch.from_numpy(x), labels, "")


def few_ways(quick: bool, repeats: int) -> list[dict]:
    """LR and NCC at 5 ways."""
    bank = bank_of()
    tasks = sample_closed(bank.labels, tasks=64 if quick else 2048)
    theirs = tasks[: 16 if quick else 200]
    lr = compare(
        lambda t: predictions(LogisticRegression(), bank, t),
        tasks,
        lambda t: scikit_learn(bank, t),
        theirs,
        repeats,
    )
    ncc = compare(
        lambda t: predictions(NearestCentroid(), bank, t),
        tasks,
        lambda t: centroid_loop(bank, t),
        tasks,
        repeats,
    )
    return [
        ratio("learners", "LR, 5-way 5-shot", SCIKIT_LEARN, "tasks/s", **lr, target=20),
        ratio("learners", "NCC, 5-way 5-shot", LOOP, "tasks/s", **ncc, target=4),
    ]


def many_ways(quick: bool, repeats: int) -> list[dict]:
    """LR at 20 and 50 ways, where a support has 100 and 250 images, by default and with the same tolerance for both.

    Ours is of the gradient of a sum over the support, that of scikit-learn of a mean.
    """
    bank, rows = bank_of(), []
    for ways, count, theirs, target in ((20, 192, 24, 5), (50, 64, 8, 3)):
        tasks = sample_closed(bank.labels, tasks=2 if quick else count, ways=ways)
        n = tasks.support.shape[1]
        for what, our_tol, their_tol in (
            ("", 1e-6, 1e-4),
            ("both to 1e-6", 1e-6, 1e-6 / n),
            ("both to 1e-4 of the mean", 1e-4 * n, 1e-4),
        ):
            row = compare(
                lambda t: predictions(LogisticRegression(tol=our_tol), bank, t),
                tasks,
                lambda t: scikit_learn(bank, t, their_tol),
                tasks[: 2 if quick else theirs],
                min(repeats, 3),
            )
            name = f"LR, {ways}-way 5-shot" + (f", {what}" if what else "")
            rows.append(
                ratio(
                    "learners",
                    name,
                    SCIKIT_LEARN,
                    "tasks/s",
                    **row,
                    target=target if what else None,
                )
            )
    return rows


def rounds(quick: bool, repeats: int) -> list[dict]:
    """LR in every round of the bootstrap of a support."""
    bank = bank_of()
    tasks = bootstrap_split(
        sample_closed(bank.labels, tasks=4 if quick else 600), rounds=3 if quick else 30
    ).tasks
    row = compare(
        lambda t: evaluate(LogisticRegression(), bank, t).accuracy(),
        tasks,
        lambda t: scikit_learn_rounds(bank, t),
        tasks[: 8 if quick else 300],
        min(repeats, 3),
    )
    return [
        ratio(
            "learners", "LR, 30 bootstrap rounds a task", SCIKIT_LEARN, "rounds/s", **row, target=20
        )
    ]


def fine_tuning(quick: bool, repeats: int) -> list[dict]:
    """Fine-tuning of small networks: tasks at once by vmap, and in bfloat16, against one after the other in 32 bits."""
    torch.manual_seed(0)
    small = _tuned("a small network", GlyphConv(), 28, quick, repeats)
    return small + _tuned("a Conv4", Conv4(), 32, quick, repeats)


def _tuned(what: str, network: nn.Module, side: int, quick: bool, repeats: int) -> list[dict]:
    backbone = Backbone(
        "", "", "", None, network.eval(), (0.5,) * 3, (0.5,) * 3, side, "bilinear", ""
    )
    rng = np.random.default_rng(0)
    classes, noise = (rng.integers(0, 128, (n, side, side, 1), np.uint8) for n in (8, 200))
    bank = Bank(torch.from_numpy(classes.repeat(25, 0) + noise), np.arange(8).repeat(25), "")
    tasks = sample_closed(bank.labels, tasks=2 if quick else 4)
    tune = FineTune(backbone, epochs=2) if quick else FineTune(backbone)

    def by_vmap(tasks):
        return tune._together(bank, tasks).argmax(dim=-1).numpy()

    def in_bfloat16(tasks):
        with patch.dict(os.environ, FSLCORE_PRECISION="bf16"):
            return predictions(tune, bank, tasks)

    rows = []
    for how, run in (("4 tasks at once", by_vmap), ("bf16", in_bfloat16)):
        row = compare(run, tasks, lambda t: predictions(tune, bank, t), tasks, min(repeats, 3))
        rows.append(
            ratio("learners", f"FT of {what}, {how}", "one task at a time", "tasks/s", **row)
        )
    return rows


def compare(
    ours: Callable, ours_tasks, theirs: Callable, theirs_tasks, repeats: int
) -> dict[str, float]:
    """Tasks a second of two functions of tasks, and the share of equal predictions or accuracies."""
    ours(ours_tasks[:64]), theirs(theirs_tasks[:8])  # warm up
    speeds, results = ([], []), [None, None]
    for _ in range(repeats):
        for i, (run, tasks) in enumerate(((ours, ours_tasks), (theirs, theirs_tasks))):
            start = now()
            results[i] = run(tasks)
            speeds[i].append(len(tasks) / (now() - start))
    n = min(map(len, results))
    agree = float((results[0][:n] == results[1][:n]).mean())
    return dict(ours=median(speeds[0]), theirs=median(speeds[1]), agree=agree)


def predictions(learner, bank: Bank, tasks, chunk: int | None = None) -> np.ndarray:
    """(T, n_query) class that the learner gives each query."""
    return np.concatenate(
        [part.argmax(dim=-1).numpy() for part in predict_scores(learner, bank, tasks, chunk=chunk)]
    )


def scikit_learn(bank: Bank, tasks, tol: float = 1e-4) -> np.ndarray:
    """One fit a task, as the released code does. Its default tolerance stops a little before the optimum."""
    return np.array(list(_fits(bank, tasks, tol)))


def scikit_learn_rounds(bank: Bank, tasks) -> np.ndarray:
    """Accuracy of one fit a bootstrap round, whose queries are as many as were left out."""
    labels = (label[label >= 0] for label in tasks.query_label)
    return np.array([(p == label).mean() for p, label in zip(_fits(bank, tasks), labels)])


def _fits(bank: Bank, tasks, tol: float = 1e-4):
    x = bank.data.numpy()
    for support, label, query in zip(tasks.support, tasks.support_label, tasks.query):
        s, q = x[support], x[query[query >= 0]]
        s, q = (
            s / np.linalg.norm(s, axis=1, keepdims=True),
            q / np.linalg.norm(q, axis=1, keepdims=True),
        )
        yield SklearnLR(C=1.0, tol=tol, max_iter=1000).fit(s, label).predict(q)


@torch.inference_mode()
def centroid_loop(bank: Bank, tasks) -> np.ndarray:
    """One task at a time in PyTorch."""
    arrays = (tasks.support, tasks.support_label, tasks.query)
    out = []
    for support, label, query in zip(*(torch.from_numpy(a.astype(np.int64)) for a in arrays)):
        s, q = F.normalize(bank.data[support], dim=1), F.normalize(bank.data[query], dim=1)
        centroids = torch.stack([s[label == k].mean(dim=0) for k in range(tasks.ways)])
        out.append((q @ F.normalize(centroids, dim=1).T).argmax(dim=1))
    return torch.stack(out).numpy()
