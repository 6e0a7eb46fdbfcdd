"""How near the batched learners come to what the machine allows: its memory, and its matrix products."""

from __future__ import annotations

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from fslcore.evaluation import evaluate
from fslcore.learners import LogisticRegression, NearestCentroid
from fslcore.learners.common import indices
from fslcore.models import backbones
from fslcore.tasks import sample_closed

from .common import seconds
from .learners import bank_of

__all__ = ["features", "learners"]


def learners(quick: bool, repeats: int) -> list[dict]:
    """The gather of rows against a large copy, and NCC and LR against their matrix products and their gather alone."""
    repeats = 1 if quick else repeats
    bandwidth = _bandwidth(2**16 if quick else 2**26, repeats)
    bank = bank_of()
    tasks = sample_closed(bank.labels, tasks=64 if quick else 2048)
    read = [indices(tasks[at : at + 256], bank.data.device) for at in range(0, len(tasks), 256)]

    def gather():  # the support of 256 tasks at once and queries by few tasks, as learners do
        for support, _, query in read:
            F.embedding(support, bank.data)
            for few in query.split(2**19 // (query.shape[1] * bank.data.shape[1])):
                F.embedding(few, bank.data)

    rows = len(tasks) * (tasks.support.shape[1] + tasks.query.shape[1])
    moved = (
        2 * 4 * rows * bank.data.shape[1] / seconds(gather, repeats)
    )  # each byte is read and written
    found = [
        dict(
            what="rows gathered",
            unit="GB/s",
            value=moved / 1e9,
            limit=bandwidth / 1e9,
            of="a large copy in memory",
        )
    ]
    for learner in (NearestCentroid(), LogisticRegression()):
        rate = len(tasks) / seconds(lambda: evaluate(learner, bank, tasks), repeats)
        for limit, part in (
            ("its matrix products alone", _products(learner, tasks)),
            ("its gather alone", gather),
        ):
            bound = len(tasks) / seconds(part, repeats)
            found.append(
                dict(what=learner.name.upper(), unit="tasks/s", value=rate, limit=bound, of=limit)
            )
    return [dict(subject="learners", **row, share=row["value"] / row["limit"]) for row in found]


def features(quick: bool, repeats: int) -> list[dict]:
    """Networks against the fastest matrix product of this machine, in floating-point operations a second."""
    n = 64 if quick else 2048
    a = torch.rand(n, n)
    fastest = 2 * n**3 / seconds(lambda: a @ a, 1 if quick else repeats)
    rows = []
    for name, side, images in (("glyph-conv", 28, 2048), ("efficientnet-lite0", 64, 256)):
        backbone = backbones.load(name)
        network = (
            backbone.module
        )  # built here: weights that are made in inference mode serve nowhere else
        pixels = torch.randint(0, 256, (64 if quick else images, side, side, 3), dtype=torch.uint8)
        with FlopCounterMode(display=False) as counter, torch.inference_mode():
            network(backbone.preprocess(pixels[:1]))
        done = counter.get_total_flops() * backbones.speed(pixels.numpy(), backbone)
        row = dict(
            subject="features", what=f"{name} at {side} pixels", unit="Gflop/s", value=done / 1e9
        )
        rows.append(
            {
                **row,
                "limit": fastest / 1e9,
                "of": "one large matrix product",
                "share": done / fastest,
            }
        )
    return rows


def _bandwidth(numbers: int, repeats: int) -> float:
    """Bytes a second that a copy of so many 32-bit numbers reads and writes."""
    source = torch.ones(numbers)
    target = torch.empty_like(source)
    return 2 * 4 * numbers / seconds(lambda: target.copy_(source), repeats)


def _products(learner, tasks):
    """The matrix products that no batched form of the learner does without, on the same shapes and nothing else.

    Of LR these are the products of the support with itself, its weights and the scores; the steps of the optimum come
    on top, and are what this leaves out.
    """
    t, n, q, ways, dim = 256, tasks.support.shape[1], tasks.query.shape[1], tasks.ways, 512
    x, queries, members = torch.rand(t, n, dim), torch.rand(t, q, dim), torch.rand(t, ways, n)

    def run():
        for _ in range(max(1, len(tasks) // t)):
            if learner.name == "lr":
                x @ x.mT
            queries @ (members @ x).mT

    return run
