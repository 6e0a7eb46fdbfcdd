"""Features: a network as it runs here against the same network as it comes."""

from __future__ import annotations

import numpy as np
import torch

from fslcore.models import backbones, features, networks

from .common import paired, ratio

__all__ = ["folded"]

PLAIN = "the network as it comes, the same batches"


def folded(quick: bool, repeats: int) -> list[dict]:
    """Images a second with folded normalisation, faster convolutions and layout, and without."""
    import timm

    rows, rng = [], np.random.default_rng(0)
    settings = [("glyph-conv", networks.GlyphConv(), 28, 2048)]
    settings += [("efficientnet-lite0", timm.create_model("tf_efficientnet_lite0", num_classes=0), 64, 256)]
    for name, plain, side, images in settings:
        backbone, plain = backbones.load(name), plain.eval()
        pixels = rng.integers(0, 256, (16 if quick else images, side, side, 3), np.uint8)
        batches = torch.from_numpy(pixels).split(features.BATCH)

        @torch.inference_mode()
        def all_through(network):
            for batch in batches:
                network(backbone.preprocess(batch))

        fast = features._for_features(backbone, backbone.preprocess(batches[0]))
        all_through(fast), all_through(plain)
        took = paired(lambda: all_through(fast), lambda: all_through(plain), 1 if quick else repeats)
        ours, theirs = (len(pixels) / of for of in took)
        rows.append(ratio("features", f"{name} at {side} pixels", PLAIN, "images/s", ours, theirs))
    return rows
