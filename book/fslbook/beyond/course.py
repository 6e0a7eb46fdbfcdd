"""The data of the longer exercises, made by `data/course/build.py`."""

from __future__ import annotations

import pandas as pd

from fslcore import recorder
from fslcore.paths import DATA


def table(name: str) -> pd.DataFrame:
    """A table of ``data/course``; the README there describes the columns."""
    return pd.read_csv(DATA / "course" / f"{name}.csv")


def recording() -> recorder.Recording:
    """Two methods on the same tasks: which images each task used, and which queries were right."""
    return recorder.load([DATA / "course" / f"{name}.jsonl" for name in ("r2d2", "protonet")])
