"""Example files for the report lab, from the book's stored results.

``python -m fslbook.beyond.lab_examples`` writes ``book/_static/labs/report_examples.js``; a test
fails if the file is out of date."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from fslcore.paths import DATA, replace_file

SCRIPT = Path(__file__).resolve().parents[2] / "_static" / "labs" / "report_examples.js"
TASKS = 60


def examples() -> dict[str, dict[str, str]]:
    """By file name: ``title`` and ``text``."""
    return {
        "clipart.csv": {"title": "Eight methods on clip art", "text": _wide()},
        "fashion.csv": {"title": "Two networks on Fashion-MNIST", "text": _semicolons()},
        "datasets.csv": {"title": "Four methods on five data sets", "text": _datasets()},
    }


def _wide() -> str:
    """Shares: the first closed 5-way 5-shot episodes of clip art's novel classes."""
    rows = pd.read_parquet(DATA / "episodes" / "episodes.parquet")
    rows = rows[(rows["dataset"] == "clipart") & (rows["split"] == "novel") & (rows["block"] == -1)]
    learner = rows["learner"].astype(str).replace("lr", "logistic regression")
    rows = rows.assign(method=rows["backbone"].astype(str) + " " + learner)
    wide = rows.pivot(index="task", columns="method", values="accuracy")
    return _long(wide.head(TASKS).dropna(axis=1).round(4))


def _semicolons() -> str:
    """Percent: fine-tuning on open tasks of Fashion-MNIST."""
    means = {}
    for backbone in ("efficientnet-lite0", "glyph-conv"):
        with np.load(DATA / "results" / f"fashion.{backbone}.ft.open.npz") as record:
            means[backbone] = 100 * record["correct"].mean(axis=1)
    return _long(pd.DataFrame(means).round(2).rename_axis("task"), sep=";")


def _datasets() -> str:
    """A row per data set: mean accuracies of four networks, each with its own classifier, on closed novel episodes."""
    rows = pd.read_parquet(DATA / "episodes" / "episodes.parquet")
    rows = rows[(rows["split"] == "novel") & (rows["block"] == -1)]
    rows = rows[rows["backbone"].astype(str).str.startswith("conv4")]
    names = rows["backbone"].astype(str).str.removeprefix("conv4-")
    means = rows.assign(method=names).pivot_table("accuracy", "dataset", "method", observed=True)
    return _long((100 * means).round(2))


def _long(wide: pd.DataFrame, sep: str = ",") -> str:
    """A row per measurement, of a table with a column per method."""
    long = wide.reset_index().melt(wide.index.name, var_name="method", value_name="accuracy")
    return long.to_csv(index=False, sep=sep, lineterminator="\n")


def script() -> str:
    """The contents of ``report_examples.js``."""
    data = json.dumps(examples(), indent=1, sort_keys=True)
    return (
        "// Written by `python -m fslbook.beyond.lab_examples` from the book's stored results.\n"
        f"window.fslLabs.compute.report.EXAMPLES = {data};\n"
    )


if __name__ == "__main__":
    replace_file(SCRIPT, lambda part: part.write_text(script(), "utf-8"))
