"""Features: a network as it runs here against the same network as it comes, and photos from their files."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from PIL import Image

from fslcore import datasets
from fslcore.models import backbone as models, backbones, features, networks

from .common import paired, ratio

__all__ = ["folded", "photos"]

PLAIN = "the network as it comes, the same batches"
IN_TURN = "32 bits, each batch decoded before the network runs"
SIDE = 224


def folded(quick: bool, repeats: int) -> list[dict]:
    """Images a second with folded normalisation, faster convolutions and layout, and without."""
    networks.import_torchvision()
    import timm

    rows, rng = [], np.random.default_rng(0)
    settings = [("glyph-conv", networks.GlyphConv(), 28, 2048)]
    settings += [
        ("efficientnet-lite0", timm.create_model("tf_efficientnet_lite0", num_classes=0), 64, 256)
    ]
    for name, reference, side, images in settings:
        backbone, reference = backbones.load(name), reference.eval()
        pixels = rng.integers(0, 256, (16 if quick else images, side, side, 3), np.uint8)
        batches = torch.from_numpy(pixels).split(features.BATCH)

        @torch.inference_mode()
        def all_through(network):
            for batch in batches:
                network(backbone.preprocess(batch))

        fast = features._for_features(backbone, backbone.preprocess(batches[0]))
        all_through(fast), all_through(reference)
        took = paired(
            lambda: all_through(fast), lambda: all_through(reference), 1 if quick else repeats
        )
        ours, theirs = (len(pixels) / duration for duration in took)
        rows.append(ratio("features", f"{name} at {side} pixels", PLAIN, "images/s", ours, theirs))
    return rows


def photos(quick: bool, repeats: int) -> list[dict]:
    """Images a second from JPEG files of 500 × 375 pixels to features: as they are computed here, and in turn."""
    backbone, rows = replace(backbones.load("efficientnet-lite0"), resolution=SIDE), []
    with tempfile.TemporaryDirectory() as folder:
        count = _draw(Path(folder), 8 if quick else 166)

        def read() -> datasets.Images:  # without what was decoded before
            return datasets.load_folder(folder, size=SIDE)

        @torch.inference_mode()
        def in_turn() -> torch.Tensor:
            images, outputs = read(), []
            size = features._batch(images, backbone)
            network = features._for_features(
                backbone, backbone.preprocess(torch.from_numpy(images.images[:8]))
            )
            for at in range(0, count, size):
                outputs.append(
                    network(
                        backbone.preprocess(torch.from_numpy(images.images[at : at + size]))
                    ).half()
                )
            return torch.cat(outputs)

        for precision in ("f32", "bf16")[: 1 + models.has_bfloat16()]:
            with patch.dict(os.environ, FSLCORE_PRECISION=precision):
                ours, theirs = backbones.compute(read(), backbone), in_turn()
                agree = (
                    (ours == theirs).all(dim=1).double().mean().item()
                    if precision == "f32"
                    else None
                )
                took = paired(
                    lambda: backbones.compute(read(), backbone), in_turn, 1 if quick else repeats
                )
            speeds = (count / duration for duration in took)
            title = f"photos at {SIDE} pixels, efficientnet-lite0, {precision}"
            rows.append(ratio("features", title, IN_TURN, "images/s", *speeds, agree=agree))
    return rows


def _draw(folder: Path, count: int) -> int:
    """Smooth colours under fine noise, 84 kB each, as photos are; in two classes."""
    rng = np.random.default_rng(0)
    for i in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (24, 32, 3), np.uint8)).resize(
            (500, 375), Image.Resampling.BICUBIC
        )
        pixels = np.clip(coarse + rng.normal(0, 12, (375, 500, 3)), 0, 255).astype(np.uint8)
        (folder / "ab"[i % 2]).mkdir(exist_ok=True)
        Image.fromarray(pixels).save(folder / "ab"[i % 2] / f"{i}.jpg", quality=90)
    return count
