"""Features: a network as it runs here against the same network as it comes."""

from __future__ import annotations

from statistics import median

import numpy as np
import torch

from fslcore.models import backbones, networks

from .common import ratio, seconds

__all__ = ["folded"]

PLAIN = "the network as it comes, the same batches"


def folded(quick: bool, repeats: int) -> list[dict]:
    """Images a second with folded normalisation, faster convolutions and layout, and without."""
    networks.import_torchvision()
    import timm

    rows, rng = [], np.random.default_rng(0)
    settings = [("glyph-conv", networks.GlyphConv(), 28, 2048)]
    settings += [("efficientnet-lite0", timm.create_model("tf_efficientnet_lite0", num_classes=0), 64, 256)]
    for name, plain, side, images in settings:
        backbone, plain = backbones.load(name), plain.eval()
        pixels = rng.integers(0, 256, (16 if quick else images, side, side, 3), np.uint8)
        batches = torch.from_numpy(pixels).split(backbones.BATCH)

        @torch.inference_mode()
        def as_it_comes():
            for batch in batches:
                plain(backbone.preprocess(batch))

        as_it_comes()
        found = []
        for _ in range(1 if quick else repeats):  # in turn; `speed` itself has a batch to warm up
            found.append((backbones.speed(backbone, pixels), len(pixels) / seconds(as_it_comes, 1, warm=False)))
        ours, theirs = map(median, zip(*found))
        rows.append(ratio("features", f"{name} at {side} pixels", PLAIN, "images/s", ours, theirs))
    return rows
