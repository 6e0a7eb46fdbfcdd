"""What images are compared by: perceptual hashes, the frequencies behind them, and features of a
backbone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image
from scipy import fft
from tqdm import tqdm

from fslcore.datasets import Images, Source
from fslcore.datasets.bank import Bank
from fslcore.datasets.images import OnDemand
from fslcore.errors import instance
from fslcore.models import backbones
from fslcore.models.backbone import Backbone

SIDE, LOW = 32, 8  # pixels per side of the grey picture, and its lowest cosine frequencies per side
BITS = LOW * LOW
BLOCK = 256  # images compared with all others at a time
SCALES = {"bits": BITS / 2, "frequencies": 1, "distance": 1}  # of measures, in cosine distances
Vectors = dict[str, torch.Tensor]  # by measure, one row per image


def picture(pixels: np.ndarray) -> Image.Image:
    """The picture of (H, W, C) pixels."""
    return Image.fromarray(
        np.ascontiguousarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    )


def low_frequencies(images: np.ndarray | OnDemand, progress: bool) -> np.ndarray:
    """The lowest 8 × 8 cosine frequencies of each grey image at 32 × 32 pixels, (N, 64)."""
    frequencies = np.empty((len(images), BITS))
    bar = tqdm(images, "hashes", unit="image", delay=5, disable=not progress)
    for row, pixels in enumerate(bar):
        grey = picture(pixels).convert("L").resize((SIDE, SIDE), Image.Resampling.LANCZOS)
        frequencies[row] = fft.dctn(np.asarray(grey, float))[:LOW, :LOW].ravel()
    return frequencies


def fingerprints(
    sources: Sequence[Source], by: str, model: Backbone | None, progress: bool = False
) -> Vectors:
    """Vectors of length 1 by measure; for bits they are ±1/8, so that 32 cosine distances are the
    differing bits.

    The bits are those of ``phash`` of the package ImageHash, which does not return frequencies: a
    bit says whether one of the lowest 8 × 8 frequencies is above their median (Zauner, 2010).
    Copies differ in few bits, unrelated images in half of them. The frequencies leave out the
    first, the mean grey.
    """
    vectors: dict[str, np.ndarray | torch.Tensor] = {}
    if by != "features":
        sets = [instance("source", source, Images) for source in sources]
        of_sources = [low_frequencies(images.images, progress) for images in sets]
        frequencies = np.concatenate(of_sources)
        bits = frequencies > np.median(frequencies, axis=1, keepdims=True)
        vectors["bits"] = np.where(bits, 1, -1) / LOW
        waves = frequencies[:, 1:]
        lengths = np.linalg.norm(waves, axis=1, keepdims=True)
        vectors["frequencies"] = waves / np.maximum(lengths, 1)
    if by != "hash":
        banks = [
            backbones.features(instance("source", source, Images), model, progress=progress)
            if model
            else instance("source", source, Bank)
            for source in sources
        ]
        features = torch.cat([bank.data for bank in banks]).float()
        vectors["distance"] = torch.nn.functional.normalize(features, dim=1)
    return {measure: torch.as_tensor(values).float() for measure, values in vectors.items()}


def of_rows(vectors: Vectors, rows: slice | np.ndarray) -> Vectors:
    """Some rows."""
    return {measure: values[rows] for measure, values in vectors.items()}


def distances(first: Vectors, second: Vectors, *, paired: bool = False) -> dict[str, np.ndarray]:
    """By measure, distances of each image from each of the second, (N, M), or if paired from that
    of its row, (N,).
    """
    result = {}
    for measure, values in first.items():
        others = second[measure]
        cosines = (values * others).sum(dim=1) if paired else values @ others.T
        result[measure] = SCALES[measure] * (1 - cosines).clamp(min=0).numpy()
    return result
