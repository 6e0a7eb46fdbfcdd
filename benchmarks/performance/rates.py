"""The rates of `fslbook plan`: images and tasks per second of one thread, their memory, and the times of a build."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np

import fslbook  # noqa: F401  # whose learners then have names
from fslcore import datasets
from fslcore.datasets.bank import Bank
from fslcore.evaluation import configure, evaluate
from fslcore.learners import make
from fslcore.models import backbones
from fslcore.models.backbones import Backbone
from fslcore.models.networks import import_torchvision
from fslcore.tasks import sample_closed

from .common import CPU, fresh_peak, peak_mb, seconds
from .learners import bank_of

__all__ = ["build", "fast_learners", "features", "slow_learners"]

SHAPE = dict(ways=5, shots=5, queries=15)
IMAGES = {
    "glyph-conv": 4096,
    "conv4-baseline": 2048,
    "efficientnet-lite0": 512,
    "efficientnet-lite2": 256,
}
TRANSFORMERS = {
    "clip": "vit_base_patch16_clip_quickgelu_224",
    "clip-b32": "vit_base_patch32_clip_quickgelu_224",
    "dino": "vit_base_patch16_224",
    "dinov2": "vit_base_patch14_dinov2",
    "dinov2-reg": "vit_base_patch14_reg4_dinov2",
}
TRAINED = (
    "protonet",
    "r2d2",
    "anil",
    "leo",
    "dn4",
    "can",
    "renet",
    "matchingnet",
    "mtl",
    "sib",
)  # beside a Conv4


def features(quick: bool, repeats: int) -> list[dict]:
    """Images a second of each backbone; of those whose weights do not ship, by random weights, which are as fast."""
    rows, rng = [], np.random.default_rng(0)

    def add(backbone: Backbone, side: int, images: int) -> None:
        pixels = rng.integers(0, 256, (images, side, side, 3), np.uint8)
        fresh_peak()
        if not quick:
            backbones.compute(_images(pixels[:2]), backbone)  # warm up
        speed = images / seconds(
            lambda: backbones.compute(_images(pixels), backbone), 1, warm=False, clock=CPU
        )
        row = dict(kind="features", name=backbone.name, side=side, dim=backbone.dim)
        rows.append(row | dict(per_second=speed, peak_mb=peak_mb()))

    for name, images in IMAGES.items():
        backbone = backbones.load(name)
        for side in (backbone.resolution,) if backbone.resolution else (32, 64):
            add(backbone, side, 8 if quick else images)
    for name, model in {} if quick else TRANSFORMERS.items():
        add(_transformer(name, model), 224, 4)
    return rows


def _images(pixels: np.ndarray) -> datasets.Images:
    return datasets.Images(
        "random", pixels, np.zeros(len(pixels), np.int64), ["one"], content="random"
    )


def _transformer(name: str, model: str) -> Backbone:
    import_torchvision()
    import timm

    size = {"img_size": 224} if "dinov2" in model else {}
    network = timm.create_model(model, pretrained=False, num_classes=0, **size).eval()
    return Backbone(
        name, "", "", network.num_features, network, (0.5,) * 3, (0.5,) * 3, 224, "bicubic", ""
    )


def fast_learners(quick: bool, repeats: int) -> list[dict]:
    """Tasks a second of learners that read features."""
    bank, rows = bank_of(), []
    for name in ("ncc", "lr", "cosine"):
        rows.append(_tasks(name, make(name), bank, 8 if quick else 512))
    source = datasets.load("icons")
    for name in TRAINED[:1] if quick else TRAINED:
        method = configure(source, f"conv4-icons-{name}", name)
        rows.append(_tasks(name, method.learner, method.bank(), 8 if quick else 64))
    return rows


def slow_learners(quick: bool, repeats: int) -> list[dict]:
    """Tasks a second of learners that train a network on the images of each task."""
    settings = [
        ("glyph-conv", "ft", "glyphs/hebrew"),
        ("conv4-maml", "maml", "coloured/hebrew?per_class=40"),
    ]
    settings += [("conv4-icons-boil", "boil", "icons")]
    settings += [("efficientnet-lite0", "ft", "clipart")]
    rows = []
    for backbone, learner, dataset in settings[1:2] if quick else settings:
        method = configure(dataset, backbone, learner)
        row = _tasks(learner, method.learner, method.bank(), 1 if learner == "ft" else 2)
        side = method.backbone.side(*method.source.images.shape[1:3])
        rows.append(row | dict(backbone=backbone, side=side))
    return rows


def _tasks(name: str, learner, bank: Bank, tasks: int) -> dict:
    closed = sample_closed(bank.labels, tasks=max(2, tasks), **SHAPE)[:tasks]
    fresh_peak()
    slow = learner.reads == "images"
    took = seconds(
        lambda: evaluate(learner, bank, closed), 1 if slow else 3, warm=not slow, clock=CPU
    )
    row = dict(
        kind="tasks", name=name, dim=0 if slow else int(np.prod(bank.data.shape[1:])), **SHAPE
    )
    return row | dict(per_second=tasks / took, peak_mb=peak_mb())


def build(checkout: Path) -> list[dict]:
    """Seconds of each job of the last build of a checkout, with the parameters of its notebooks; none without one."""
    rows = []
    for record in sorted((checkout / ".snakemake" / "metadata").glob("*")):
        output = Path(base64.b64decode(record.name).decode())
        metadata = json.loads(record.read_text())
        finished = (checkout / output).is_file() and metadata.get("endtime")
        if not finished or output.suffix not in (".ipynb", ".parquet"):
            continue
        row = dict(
            kind="build",
            name=output.stem,
            job="notebook" if output.suffix == ".ipynb" else "evaluate",
        )
        row |= dict(seconds=metadata["endtime"] - metadata["starttime"])
        if output.suffix == ".ipynb":
            row["parameters"] = json.loads((checkout / output).read_text("utf-8"))["metadata"][
                "papermill"
            ]["parameters"]
        rows.append(row)
    return rows
