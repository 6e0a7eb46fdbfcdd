"""The input of task samplers: images, or a bank of features."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pandas as pd

__all__ = ["Source"]


class Source(Protocol):
    """N images, as images (`fslcore.datasets.Images`) or as features
    (`fslcore.datasets.bank.Bank`).

    Attributes
    ----------
    labels : (N,) integers
    classes : (N,) array
        Class of each image, by the user's name.
    names : list of str
        Names of images, all different; of features, the row number.
    facts : DataFrame or None
        One row per image: its known properties.
    digest : str
        Identifies the content in cache keys.
    needs_backbone : bool
        Whether a backbone is needed to compute features.
    """

    def __len__(self) -> int: ...

    @property
    def labels(self) -> np.ndarray: ...

    @property
    def facts(self) -> pd.DataFrame | None: ...

    @property
    def digest(self) -> str: ...

    @property
    def needs_backbone(self) -> bool: ...

    @property
    def classes(self) -> np.ndarray: ...

    @property
    def names(self) -> list[str]: ...
