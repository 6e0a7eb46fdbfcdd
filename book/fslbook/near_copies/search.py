"""The search for near-copies in a data set."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fslcore import evaluation
from fslcore.catalogue import SPLITS
from fslcore.datasets import Images, Source, load
from fslcore.errors import InputError, choice, number, whole
from fslcore.models import backbones
from fslcore.models.backbone import Backbone

from ..catalogue import NEAR_COPY_RULES
from .fingerprints import BITS, fingerprints
from .pairs import compare
from .result import Copies
from .thresholds import Rule, complete_rule, limits_of, sample_other_classes, sample_own_copies


def find(
    dataset: str,
    backbone: str = "efficientnet-lite0",
    *,
    splits: Sequence[str] = ("novel",),
    by: str = "either",
    bits: int | None = None,
    distance: float | None = None,
    size: int | None = None,
    progress: bool = False,
) -> Copies:
    """Find near-copies within and across the classes and splits of a data set.

    Two images are near-copies if few of the 64 bits of their perceptual hashes differ, or if their
    features are near. No threshold fits all data: a large distance for photos is small for letters.
    A missing threshold is initially the smaller of two numbers. Within the first are 95 % of (a
    sample of) the images and their own copies, saved as JPEG of quality 75, or at 80 % of their
    size and back. Within the second, 1 % of the images have one of another class, exact copies
    excluded; beyond it, similar images are the same kind of picture rather than copies.

    A bit of a hash is random if its frequency is near the median, as many are in symmetric icons.
    And drawings of one object by two people can be as near by features as copies. So if these
    thresholds find less than 90 % of the own copies of some kind, including JPEG thumbnails of 48
    pixels, near-copies are found by the distance of the frequencies themselves, instead of the hash
    and, for 'either', of features. This threshold maximises the share of own copies found, up to 99
    %, minus the share of images with a near-copy of another class, which is at most 5 %. It is four
    times the distance of an own copy, the largest possible between two copies of an image. Given
    thresholds are kept, and with ``bits`` the hash. `Copies.missed` is the share of own copies that
    are not found.

    Check the pairs around the threshold (`Copies.examples`, `sheet`), and set your own. All pairs
    are compared, in blocks, so that memory grows with the number of images.

    Parameters
    ----------
    dataset : str
        As for `fslcore.evaluation.load_images_or_features`; ``features:PATH`` has no pixels, so only features
        are compared.
    backbone : str
        As for `fslcore.models.backbones.load`. Its features are taken from the cache if available.
    splits : of str
        Among novel, base and validation; several are searched together.
    by : str
        The rule for near-copies: 'either' of hash and features, 'both', 'hash' only or 'features'
        only.
    bits : int, optional
        The largest number of differing bits, 0 to 64.
    distance : float, optional
        The largest cosine distance of features, over 0 and up to 2.
    size : int, optional
        As for `fslcore.datasets.load`.
    progress : bool
        Show progress bars.

    Raises
    ------
    InputError
        As for the loaders; an unknown rule or split, a split twice; a threshold out of range or not
        used by the rule; hashes for features; fewer than 2 images.
    """
    rule = _check_rule(by, bits, distance)
    splits = [choice("split", split, SPLITS) for split in splits]
    if not splits or len(set(splits)) < len(splits):
        raise InputError(
            f"splits = {' '.join(splits)}; each of novel, validation, base once, and at least one"
        )
    if dataset.startswith("features:"):
        sources = [evaluation.load_images_or_features(dataset, size)]
        if by not in ("either", "features") or bits is not None or splits != ["novel"]:
            raise InputError(
                f"dataset = {dataset}; there are no pixels to hash and no splits; use only features"
            )
        rule = Rule("features", rule.thresholds)
    else:
        sources = [load(dataset, split, size) for split in splits]
    tables = [
        pd.DataFrame({"split": split, "image": source.names, "class": source.classes.astype(str)})
        for source, split in zip(sources, splits)
    ]
    images = pd.concat(tables, ignore_index=True)
    if len(images) < 2:
        raise InputError(f"dataset must have at least 2 images, got {len(images)} in {dataset}")
    return _search(dataset, sources, images, rule, backbone, progress=progress)


def _check_rule(by: str, bits: int | None, distance: float | None) -> Rule:
    choice("by", by, NEAR_COPY_RULES)
    thresholds: dict[str, float] = {}
    if bits is not None:
        thresholds["bits"] = whole("bits", bits, minimum=0, maximum=BITS)
    if distance is not None:
        thresholds["distance"] = number("distance", distance, over=0, maximum=2)
    unused = {"features": "bits", "hash": "distance"}.get(by)
    if unused in thresholds:
        raise InputError(
            f"{unused} = {thresholds[unused]}; it is not used if near-copies are found by {by} "
            "alone"
        )
    return Rule(by, thresholds)


def _search(
    name: str,
    sources: Sequence[Source],
    images: pd.DataFrame,
    rule: Rule,
    backbone: str,
    *,
    progress: bool,
) -> Copies:
    """`find` in images that were loaded, by the given thresholds and those of the data."""
    pictures = [source for source in sources if isinstance(source, Images)]
    model = None
    if pictures and rule.by != "hash":
        pictures, model = _fitted(pictures, backbone)
    vectors = fingerprints(pictures or sources, rule.by, model, progress)
    classes = pd.factorize(images["split"] + " " + images["class"])[0]
    samples = sample_other_classes(vectors, classes)
    if pictures:
        own_copies = sample_own_copies(pictures, rule.by, model, vectors)
        samples = pd.concat([own_copies, samples], ignore_index=True)
    rule = complete_rule(rule, samples, several_classes=classes.any())
    splits = pd.factorize(images["split"])[0]
    columns, pairs = compare(vectors, rule, classes, splits, progress)
    bits = rule.thresholds.get("bits")
    return Copies(
        name=name,
        images=images.assign(**columns),
        pairs=pairs,
        by=rule.by,
        bits=None if bits is None else int(bits),
        frequencies=rule.thresholds.get("frequencies"),
        distance=rule.thresholds.get("distance"),
        reference=limits_of(samples),
        shares=rule.shares(samples).to_dict() if pictures else {},
        sources=tuple(pictures),
    )


def _fitted(sources: Sequence[Images], backbone: str) -> tuple[list[Images], Backbone]:
    """The data sets at the size of the backbone's images, and the backbone at this size."""
    model = evaluation.load_backbone(backbone)
    pairs = [backbones.match_input_size(source, model) for source in sources]
    return [source for source, _ in pairs], pairs[0][1]
