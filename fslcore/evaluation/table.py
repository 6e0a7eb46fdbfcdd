"""The results table: one row per task."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError, visible
from ..paths import replace_file
from .outcomes import Outcomes

__all__ = ["RESULT_COLUMNS", "results_table", "write_table"]

# One row per task; `fslcore.report` reads it back (book/results-format.md).
RESULT_COLUMNS = {
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


def results_table(record: Outcomes, **setting: Any) -> pd.DataFrame:
    """One row per task, with the columns of `RESULT_COLUMNS`; accuracy in percent."""
    if setting["dataset"].startswith("features:"):
        setting["backbone"] = "none"
    # A folder may have any name, and a table is opened by any program.
    for name, value in setting.items():
        if isinstance(value, str):
            setting[name] = visible(value)
    accuracy = 100 * record.accuracy()
    table = pd.DataFrame({"task": np.arange(len(accuracy)), "accuracy": accuracy})
    return table.assign(**setting)[list(RESULT_COLUMNS)]


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a results table to .parquet or .csv (temporary name, then rename)."""
    path = Path(path)
    writers = {".parquet": table.to_parquet, ".csv": table.to_csv}
    if path.suffix not in writers:
        raise InputError(f"results must be a file .parquet or .csv, got {path.name}")
    replace_file(path, lambda part: writers[path.suffix](part, index=False))
