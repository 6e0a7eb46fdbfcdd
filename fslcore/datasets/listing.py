"""Which data sets there are, by name; without pandas or a reader, so that ``fslcore list`` is quick."""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml

from ..paths import DATA, check_data

__all__ = ["PAPERS", "PARTED_RELEASES", "READERS", "RELEASES", "cards"]

#: Data sets whose reader is in `fslcore.datasets.papers`.
PAPERS = ("cifar-fs", "miniimagenet", "tieredimagenet", "meta-album", "cub")
#: Data sets that `fslcore.datasets.releases` describes.
RELEASES = (
    "omniglot",
    "aircraft",
    "dtd",
    "fungi",
    "vgg-flower",
    "traffic-signs",
    "mscoco",
    "eurosat",
    "flowers102",
    "food101",
)
#: Those with ``part``, such as train and test.
PARTED_RELEASES = ("flowers102", "food101")
#: The user's own data, by the name before the colon.
READERS = (*PAPERS, *RELEASES, "quickdraw")


@cache
def cards() -> dict[str, dict[str, Any]]:
    """The card of each embedded data set, by name: title, licence, source, counts, digest.

    Raises
    ------
    InputError
        The distribution of the data is not installed.
    """
    check_data()
    paths = sorted(DATA.glob("*/card.yml"))
    cards = [yaml.safe_load(path.read_text("utf-8")) for path in paths]
    return {card["name"]: card for card in cards}
