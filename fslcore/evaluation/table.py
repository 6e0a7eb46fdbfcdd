"""The results table: one row per task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ..errors import InputError, visible
from ..paths import replace_file
from .records import Record

__all__ = ["COLUMNS", "results_table", "write_table"]

# One row per task; `fslcore.report` reads it back (book/running.md, "The results table").
COLUMNS = {
    "dataset": str,
    "backbone": str,
    "learner": str,
    "ways": int,
    "shots": int,
    "queries": int,
    "sampling": str,
    "seed": int,
    "task": int,
    "accuracy": float,
}


def results_table(record: Record, **setting) -> pd.DataFrame:
    """One row per task, with the columns of `COLUMNS`; accuracy in percent."""
    if setting["dataset"].startswith("features:"):
        setting["backbone"] = "none"
    for name, value in setting.items():
        if isinstance(
            value, str
        ):  # a folder may have any name, and a table is opened by any program
            setting[name] = visible(value)
    accuracy = 100 * record.accuracy()
    table = pd.DataFrame({"task": np.arange(len(accuracy)), "accuracy": accuracy})
    return table.assign(**setting)[list(COLUMNS)]


def check_ending(path: str | Path) -> Path:
    """The path, if it has a suffix that `write_table` can write."""
    path = Path(path)
    if path.suffix not in (".parquet", ".csv"):
        raise InputError(f"results: {path.name}; .parquet and .csv are allowed")
    return path


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a results table to .parquet or .csv (temporary name, then rename)."""
    path = check_ending(path)
    write = table.to_parquet if path.suffix == ".parquet" else table.to_csv
    replace_file(path, lambda part: write(part, index=False))
