"""The data sets that ship with the book: one Parquet file and one card each, under ``data/``."""

from __future__ import annotations

import hashlib
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from PIL import Image

from ..errors import choice
from ..paths import DATA
from .images import Images, OnDemand
from .listing import cards

__all__ = ["load_embedded"]


def embedded_table(
    name: str, split: str, domain: str | None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Rows of an embedded data set and its card; raises as `load_embedded`."""
    card = cards()[choice("dataset", name, cards())]
    domains = card["splits"][choice(f"split of {name}", split, card["splits"])]
    if domain is not None:
        choice(f"domain of {name} ({split})", domain, domains)
    chosen = [("split", "==", split)]
    if domain:
        chosen.append(("domain", "==", domain))
    table = pq.read_table(DATA / name / "images.parquet", filters=chosen).to_pandas()
    return table, card


def decoded(image: bytes, mode: str) -> Image.Image:
    """An embedded image; the format is given, so Pillow does not try all formats."""
    return Image.open(BytesIO(image), formats=("WEBP",)).convert(mode)


def load_embedded(name: str, *, split: str = "novel", domain: str | None = None) -> Images:
    """An embedded data set, or one domain of it.

    Parameters
    ----------
    name : str
        A key of `fslcore.datasets.listing.cards`, such as ``clipart``.
    split : str
        ``novel`` (the classes for evaluation), ``validation`` or ``base`` (for training).
    domain : str, optional
        For ``glyphs``, a script; all of the split by default.

    Raises
    ------
    InputError
        Unknown name, split or domain; the message lists those that exist.
    """
    table, card = embedded_table(name, split, domain)
    size = tuple(card["image"][side] for side in ("height", "width", "channels"))
    encoded = table["image"].tolist()
    mode = "L" if size[2] == 1 else "RGB"

    def read(i: int) -> np.ndarray:
        return np.asarray(decoded(encoded[i], mode)).reshape(size)

    classes = pd.Categorical(table["class_name"])
    return Images(
        f"{name}/{domain}" if domain else name,
        OnDemand(read, len(table), size),
        classes.codes.astype(np.int64),
        list(classes.categories),
        table["caption"].tolist(),
        table.drop(columns=["image", "caption"]),
        hashlib.sha256(b"".join(encoded)).hexdigest(),
    )
