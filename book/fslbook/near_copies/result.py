"""The result of a search for near-copies, in tables and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from fslcore.datasets import Images
from fslcore.errors import visible, whole
from fslcore.paths import replace_file

from .fingerprints import BITS
from .thresholds import COPIES, LEAST, OTHERS, OWN

LIMITS = {
    "own": f"{OWN:.0%} of images and their own copies, re-encoded and rescaled, are within",
    "others": f"{OTHERS:.0%} of images have one of another class within",
}
MISSED = (
    "WARNING: {:.0%} of such copies are missed, so tasks that keep these groups apart may have "
    "copies in support and query; look at the pairs (--sheet), and give larger --bits or --distance"
)


@dataclass(frozen=True)
class Copies:
    """Result of `find`.

    Attributes
    ----------
    name : str
        Name of the data set.
    images : DataFrame
        One row per image, N in all: ``split``, ``image`` (its name), ``class``, ``group`` (a whole
        number; images connected by near-copies, over any number of steps, share one) and its
        nearest image: ``nearest`` (a row), ``bits``, ``frequencies`` and ``distance`` to it, and
        ``closeness``, up to 1 for near-copies.
    pairs : DataFrame
        Numbers of pairs up to the threshold, half of it and half as much again: within a class,
        across classes of a split, and across splits.
    by : str
        One of `fslbook.catalogue.NEAR_COPY_RULES`.
    bits : int or None
        The largest number of differing bits out of 64; None if hashes are not used.
    frequencies : float or None
        The largest cosine distance of the hashed frequencies; None if they are not used.
    distance : float or None
        The largest cosine distance of features; None if they are not used.
    reference : dict
        The basis of ``bits`` and ``distance`` that were not given: ``own`` and ``others``, each
        with those that are used.
    shares : dict
        Of a sample of images, the share whose own copy is a near-copy at these thresholds, for each
        kind of copy; and ``others``, the share with a near-copy of another class. Empty for
        features without images.
    sources : of Images
        The data sets of the images, in this order; empty for features without images.
    """

    name: str
    images: pd.DataFrame
    pairs: pd.DataFrame
    by: str
    bits: int | None
    frequencies: float | None
    distance: float | None
    reference: dict[str, dict[str, float]] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    sources: Sequence[Images] = field(default=(), repr=False)

    @property
    def sizes(self) -> pd.Series:
        """Number of images of each group of two or more, in descending order."""
        sizes = self.images["group"].value_counts()
        return sizes[sizes > 1]

    @property
    def missed(self) -> float | None:
        """Share of images whose own copy is not found, for the kind found least; None without
        images.
        """
        return 1 - min(self.shares[kind] for kind in COPIES) if self.shares else None

    @property
    def rule(self) -> str:
        """The rule for near-copies, in words."""
        conditions = []
        if self.bits is not None:
            conditions.append(f"at most {self.bits} of {BITS} bits of their hashes differ")
        cosine = "the cosine distance of their {} is at most {:.3g}"
        if self.frequencies is not None:
            conditions.append(cosine.format("low frequencies", self.frequencies))
        if self.distance is not None:
            conditions.append(cosine.format("features", self.distance))
        return (" and " if self.by == "both" else " or ").join(conditions)

    def examples(self, count: int = 4) -> pd.DataFrame:
        """Pairs for judging the threshold: the nearest, the last below it, and the first above;
        ``count`` of a kind.
        """
        count = whole("count", count, minimum=1)
        pairs = self._nearest_pairs()
        below = pairs[pairs["closeness"] <= 1]
        kinds = {
            "nearest": below[:count],
            "last below": below[count:].tail(count),
            "first beyond": pairs[len(below) :][:count],
        }
        parts = [part.assign(pair=kind) for kind, part in kinds.items()]
        table = pd.concat(parts, ignore_index=True)
        measures = ["bits", "frequencies", "distance"] if self.frequencies else ["bits", "distance"]
        return table[["pair", *measures, "same_class", "first", "second", "a", "b"]]

    def _nearest_pairs(self) -> pd.DataFrame:
        """Each image with its nearest one, as rows ``a`` and ``b``; each pair once, by
        closeness.
        """
        names, classes = self.images["image"].to_numpy(), self.images["class"].to_numpy()
        a, b = np.sort([np.arange(len(names)), self.images["nearest"]], axis=0)
        pairs = self.images.assign(
            a=a, b=b, first=names[a], second=names[b], same_class=classes[a] == classes[b]
        )
        return pairs.drop_duplicates(["a", "b"]).sort_values(
            ["closeness", "distance", "bits", "a"], kind="stable"
        )

    def lines(self) -> list[str]:
        """The result in words and tables."""
        sizes = self.sizes
        held = f"{sizes.sum():,} images ({sizes.sum() / len(self.images):.1%})"
        return [
            f"near-copies in {self.name}: {self.rule}",
            self.images.groupby("split", sort=False)["class"]
            .agg(images="size", classes="nunique")
            .to_string(),
            *self._basis(),
            self.pairs.to_string(),
            f"{len(sizes):,} groups of two or more hold {held}; the largest: {sizes[:5].tolist()}",
            self.examples().drop(columns=["a", "b"]).round(4).to_string(index=False),
        ]

    def _basis(self) -> list[str]:
        """The limits that the thresholds are based on, and the shares of images with
        near-copies.
        """
        limits = pd.DataFrame.from_dict(self.reference, orient="index").rename(LIMITS)
        lines = [limits.round(4).to_string()]
        missed = self.missed
        if missed is None:
            return lines
        shares = pd.Series(self.shares).rename({"others": "another class"}).map("{:.0%}".format)
        lines.append("images with a near-copy, among their own copies and in another class:")
        lines.append(shares.to_string())
        if missed > 1 - LEAST:
            lines.append(MISSED.format(missed))
        return lines

    def record(self) -> dict[str, object]:
        """Thresholds, numbers of pairs, sizes of groups and examples, for a program."""
        names = ("by", "bits", "frequencies", "distance", "reference", "shares", "missed")
        return {
            "images": self.images.groupby("split", sort=False).size().to_dict(),
            **{name: getattr(self, name) for name in names},
            "pairs": self.pairs.T.to_dict(),
            "groups": self.sizes.tolist(),
            "examples": self.examples(),
        }

    def write(self, path: str | Path) -> None:
        """Write split, image, class and group of every image, and `missed`, to a .csv for
        `evaluation.image_groups`.
        """
        table = self.images[["split", "image", "class", "group"]].copy()
        table["class"] = table["class"].map(visible)
        if self.missed is not None:
            table["missed"] = round(self.missed, 4)
        replace_file(Path(path), lambda part: table.to_csv(part, index=False))
