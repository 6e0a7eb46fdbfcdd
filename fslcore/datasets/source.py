"""What tasks can be drawn from: images, or a bank of features."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pandas as pd

__all__ = ["Source"]


class Source(Protocol):
    """N images, as they are (`fslcore.datasets.Images`) or as features (`fslcore.datasets.bank.Bank`).

    Attributes
    ----------
    labels : (N,) integers
    classes : (N,) array
        Class of each image, as the user calls it.
    names : list of str
        What each image is called, all different; of features, the number of the row.
    facts : DataFrame or None
        One row an image: what is known of it.
    digest : str
        Stands for the content in cache keys.
    needs_backbone : bool
        Whether a backbone makes features of them.
    """

    labels: np.ndarray
    facts: pd.DataFrame | None
    digest: str
    needs_backbone: bool

    def __len__(self) -> int: ...

    @property
    def classes(self) -> np.ndarray: ...

    @property
    def names(self) -> list[str]: ...
