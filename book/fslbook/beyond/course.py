"""The data of the longer exercises, which `data/course/build.py` makes."""

from __future__ import annotations

import pandas as pd

from fslcore.paths import DATA
from fslcore.tools import recorder

__all__ = ["recording", "table"]


def table(name: str) -> pd.DataFrame:
    """One of the tables of ``data/course``; its README says what the columns are."""
    return pd.read_csv(DATA / "course" / f"{name}.csv")


def recording() -> recorder.Recording:
    """Two methods on the same tasks: which images each task used, and which queries were right."""
    return recorder.load(DATA / "course" / "two-methods.npz")
