"""Thresholds from the data: images and their own copies should be near-copies, images of different
classes should not.

`fslbook.near_copies.find` describes the rule. Samples are tables of distances: a column per
measure, and the ``kind`` of own copy, or "others" for images of other classes.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from fslcore.datasets import Images
from fslcore.models.backbone import Backbone

from .fingerprints import BLOCK, SCALES, Vectors, distances, fingerprints, of_rows, picture

SAMPLE = 1000  # images whose nearest of another class is sought
OWN = 0.95  # the share of images that are within the limit of own copies
OTHERS = 0.01  # the share of images that are within the limit of other classes
LEAST = 0.9  # share of own copies: with fewer, frequencies are tried
MOST = 0.99  # share of own copies: more are no gain
MISTAKEN = 0.05  # largest share of images with a near-copy of another class by frequencies
EXACT = 1e-3  # bits or distance
SMALLEST = 1e-6  # a distance that rounding does not reach
WITHOUT_PIXELS = 0.05  # the largest distance of features without images
THUMBNAIL = 48  # pixels per side of the smallest own copies
SLIGHT_COPIES = ["saved as JPEG", "at 80 % of the size"]
COPIES = [*SLIGHT_COPIES, f"as thumbnails of {THUMBNAIL} pixels"]
BICUBIC = Image.Resampling.BICUBIC


@dataclass(frozen=True)
class Rule:
    """By which of the measures two images are near-copies, and up to which distances."""

    by: str
    thresholds: dict[str, float]

    @overload
    def closeness(self, distances: dict[str, np.ndarray]) -> np.ndarray: ...

    @overload
    def closeness(self, distances: pd.DataFrame) -> pd.Series: ...

    def closeness(self, distances: dict[str, np.ndarray] | pd.DataFrame) -> np.ndarray | pd.Series:
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


def pixels_of(
    sources: Sequence[Images], rows: Sequence[int] | NDArray[np.int_]
) -> list[np.ndarray]:
    """The pixels of some rows of the data sets, which are counted in their order."""
    starts = np.cumsum([0, *map(len, sources)])
    places = np.searchsorted(starts, rows, side="right") - 1
    return [sources[place].images[row - starts[place]] for place, row in zip(places, rows)]


def _spread(count: int, size: int) -> NDArray[np.int_]:
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
    """The bits and the distance within which images of other classes are, and those within which
    own copies are.
    """
    others = _quantiles(samples[samples["kind"] == "others"], OTHERS, "lower")
    if "bits" in others:
        others["bits"] = max(0, others["bits"] - 1)  # below the first image too many
    limits = {"others": others}
    slight = samples[samples["kind"].isin(SLIGHT_COPIES)]
    if len(slight):
        limits["own"] = _quantiles(slight, OWN, "linear")
    return limits


def _quantiles(
    samples: pd.DataFrame, share: float, method: Literal["lower", "linear"]
) -> dict[str, float]:
    limits: dict[str, float] = {}
    if "bits" in samples:
        limits["bits"] = int(np.quantile(samples["bits"], share, method="higher"))
    if "distance" in samples:
        limits["distance"] = np.quantile(samples["distance"], share, method=method).item()
    return limits


def complete_rule(rule: Rule, samples: pd.DataFrame, several_classes: bool) -> Rule:
    """The rule with the thresholds that were not given; mistakes can be estimated if there are
    several classes.
    """
    limits = limits_of(samples)
    others = limits["others"]
    own_copies = limits.get("own", {"distance": WITHOUT_PIXELS})
    nearer = {measure: min(own_copies[measure], others[measure]) for measure in others}
    thresholds = dict(rule.thresholds)
    if "distance" in nearer:
        thresholds.setdefault("distance", max(SMALLEST, nearer["distance"]))
    if "bits" not in nearer or "bits" in thresholds:
        return Rule(rule.by, thresholds)
    by_hash = Rule(rule.by, {"bits": nearer["bits"], **thresholds})
    if not several_classes or by_hash.shares(samples)[COPIES].min() >= LEAST:
        return by_hash
    return _by_frequencies(by_hash, thresholds if rule.by == "both" else rule.thresholds, samples)


def _by_frequencies(by_hash: Rule, thresholds: dict[str, float], samples: pd.DataFrame) -> Rule:
    """The rule with frequencies in place of the hash, if the share of own copies minus that of
    mistakes is larger.
    """
    shares = by_hash.shares(samples)
    best, best_gain = by_hash, shares[COPIES].min() - shares["others"]
    of_copies = samples.loc[samples["kind"] != "others", "frequencies"]
    for step in np.unique(of_copies).clip(SMALLEST).tolist():
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
