"""Thresholds from the data: images and their own copies should be near-copies, images of different
classes should not.

`fslcore.near_copies.find` describes the rule. Samples are tables of distances: a column per
measure, and the ``kind`` of own copy, or "others" for images of other classes.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pandas as pd
from PIL import Image

from ..datasets import Images
from ..models.backbone import Backbone
from .fingerprints import BLOCK, SCALES, Vectors, distances, fingerprints, of_rows, picture

SAMPLE = 1000  # images whose nearest of another class is sought
OWN, OTHERS = (
    0.95,
    0.01,
)  # shares of images within the two limits, of own copies and of other classes
LEAST, MOST = 0.9, 0.99  # shares of own copies: with fewer, frequencies are tried; more are no gain
MISTAKEN = 0.05  # largest share of images with a near-copy of another class by frequencies
EXACT = 1e-3  # bits or distance
SMALLEST = 1e-6  # a distance that rounding does not reach
WITHOUT_PIXELS = 0.05  # the largest distance of features without images
THUMBNAIL = 48  # pixels per side of the smallest own copies
COPIES = [
    "saved as JPEG",
    "at 80 % of the size",
    f"as thumbnails of {THUMBNAIL} pixels",
]  # the first two change little
BICUBIC = Image.Resampling.BICUBIC


@dataclass(frozen=True)
class Rule:
    """By which of the measures two images are near-copies, and up to which distances."""

    by: str
    thresholds: dict[str, float]

    def closeness(self, distances: dict | pd.DataFrame) -> np.ndarray:
        """Distances as one number, which is up to 1 for near-copies."""
        parts = []
        for measure, threshold in self.thresholds.items():
            added = int(measure == "bits")  # as a threshold of 0 bits is possible
            parts.append((distances[measure] + added) / np.float32(threshold + added))
        return reduce(np.maximum if self.by == "both" else np.minimum, parts)

    def shares(self, samples: pd.DataFrame) -> pd.Series:
        """The share of near-copies by kind of sample."""
        return (self.closeness(samples) <= 1).groupby(samples["kind"], sort=False).mean()


def own_copies(pixels: np.ndarray) -> dict[str, np.ndarray]:
    """Copies of an image by kind, at its size."""
    image = picture(pixels)
    thumbnail = image.copy()
    thumbnail.thumbnail((THUMBNAIL, THUMBNAIL), BICUBIC)
    rescaled = image.resize([max(1, side * 4 // 5) for side in image.size], BICUBIC)
    copies = dict(zip(COPIES, (_as_jpeg(image), rescaled, _as_jpeg(thumbnail))))
    return {kind: np.asarray(copy.resize(image.size, BICUBIC)) for kind, copy in copies.items()}


def _as_jpeg(image: Image.Image) -> Image.Image:
    file = io.BytesIO()
    image.save(file, "JPEG", quality=75)
    return Image.open(file)


def sample_own_copies(
    sources: Sequence[Images], by: str, model: Backbone | None, vectors: Vectors
) -> pd.DataFrame:
    """Distances of some images from their own copies."""
    rows = _spread(sum(map(len, sources)), BLOCK)
    pixels = np.stack(pixels_of(sources, rows))
    copies = [own_copies(image) for image in pixels]
    tables = []
    for kind in COPIES:
        copied = np.stack([copy[kind] for copy in copies]).reshape(pixels.shape)
        images = Images("copies", copied, np.zeros(len(rows), int), ["copy"])
        measured = distances(fingerprints([images], by, model), of_rows(vectors, rows), paired=True)
        tables.append(pd.DataFrame(measured).assign(kind=kind))
    return pd.concat(tables)


def pixels_of(sources: Sequence[Images], rows: Sequence[int]) -> list[np.ndarray]:
    """The pixels of some rows of the data sets, which are counted in their order."""
    starts = np.cumsum([0, *map(len, sources)])
    places = np.searchsorted(starts, rows, side="right") - 1
    return [sources[place].images[row - starts[place]] for place, row in zip(places, rows)]


def _spread(count, size):
    """Rows at equal steps."""
    return np.linspace(0, count - 1, min(count, size)).astype(int)


def sample_other_classes(vectors: Vectors, classes: np.ndarray) -> pd.DataFrame:
    """Distances of some images from the nearest image of another class.

    Images with an exact copy there do not count: they are an error in the data, not a chance
    similarity.
    """
    rows = _spread(len(classes), SAMPLE)
    tables = []
    for block in np.array_split(rows, -(-len(rows) // BLOCK)):
        same_class = classes[block, None] == classes
        measured = distances(of_rows(vectors, block), vectors)
        nearest = {
            m: np.where(same_class, 2 * SCALES[m], values).min(axis=1)
            for m, values in measured.items()
        }
        tables.append(pd.DataFrame(nearest))
    samples = pd.concat(tables).assign(kind="others")
    exact = (samples.filter(["bits", "distance"]) < EXACT).all(axis=1)
    return samples[~exact] if not exact.all() else samples.assign(**dict.fromkeys(vectors, 0))


def limits_of(samples: pd.DataFrame) -> dict[str, dict[str, float]]:
    """The bits and the distance within which own copies are, and those within which images of other
    classes are.
    """
    limits = {}
    for name, kinds, share, method in (
        ("others", ["others"], OTHERS, "lower"),
        ("own", COPIES[:2], OWN, "linear"),
    ):
        rows = samples[samples["kind"].isin(kinds)]
        if len(rows):
            methods = {"bits": "higher", "distance": method}
            limits[name] = {
                m: np.quantile(rows[m], share, method=methods[m]).item()
                for m in methods
                if m in rows
            }
    if (
        "bits" in samples
    ):  # whole numbers: that of the last own copy, and that below the first image too many
        limits["own"]["bits"] = int(limits["own"]["bits"])
        limits["others"]["bits"] = max(0, int(limits["others"]["bits"]) - 1)
    return limits


def complete_rule(rule: Rule, samples: pd.DataFrame, several_classes: bool) -> Rule:
    """The rule with the thresholds that were not given; mistakes can be estimated if there are
    several classes.
    """
    limits = limits_of(samples)
    own, others = limits.get("own", {"distance": WITHOUT_PIXELS}), limits["others"]
    thresholds = dict(rule.thresholds)
    if "distance" in others:
        thresholds.setdefault("distance", max(SMALLEST, min(own["distance"], others["distance"])))
    if "bits" not in others or "bits" in thresholds:
        return Rule(rule.by, thresholds)
    by_hash = Rule(rule.by, {"bits": min(own["bits"], others["bits"]), **thresholds})
    if not several_classes or by_hash.shares(samples)[COPIES].min() >= LEAST:
        return by_hash
    return _by_frequencies(by_hash, thresholds if rule.by == "both" else rule.thresholds, samples)


def _by_frequencies(by_hash, thresholds, samples) -> Rule:
    """The rule with frequencies in place of the hash, if the share of own copies minus that of
    mistakes is larger.
    """
    shares = by_hash.shares(samples)
    best, best_gain = by_hash, shares[COPIES].min() - shares["others"]
    for step in (
        np.unique(samples["frequencies"][samples["kind"] != "others"]).clip(SMALLEST).tolist()
    ):
        # Two copies of an image are up to twice as far from each other as from it, which is four
        # times by the cosine. For "both" the mistaken share is an upper bound: the nearest by
        # frequencies may be far by features.
        rule = Rule(by_hash.by, {"frequencies": 4 * step, **thresholds})
        mistaken = rule.shares(samples)["others"]
        if mistaken > MISTAKEN:
            break
        copied = Rule(by_hash.by, {"frequencies": step, **thresholds}).shares(samples)[COPIES].min()
        gain = min(MOST, copied) - mistaken
        if gain > best_gain:
            best, best_gain = rule, gain
    return best
