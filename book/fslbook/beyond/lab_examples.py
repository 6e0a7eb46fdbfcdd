"""Small files of per-task accuracies for the lab that reads a reader's own: from the book's stored results.

``python -m fslbook.beyond.lab_examples`` writes ``book/_static/labs/report_examples.js``; a test says when it is stale.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from fslcore.paths import DATA, replace_file

__all__ = ["examples", "script"]

SCRIPT = Path(__file__).resolve().parents[2] / "_static" / "labs" / "report_examples.js"
TASKS = 60
RUN_TASKS, SEEDS = 30, 4


def examples() -> dict[str, dict[str, str]]:
    """By file name: ``title``, ``sampling`` (as the lab is to be told) and ``text``."""
    return {
        "clipart.csv": {"title": "Eight methods, closed tasks", "sampling": "closed", "text": _closed()},
        "fashion.csv": {"title": "Two methods, open tasks, decimal commas", "sampling": "open", "text": _open()},
        "runs.csv": {"title": "Three recipes, four runs each", "sampling": "unknown", "text": _runs()},
    }


def _closed() -> str:
    """Wide, shares: the first 5-way 5-shot episodes of clip art's novel classes."""
    rows = pd.read_parquet(DATA / "episodes" / "episodes.parquet")
    rows = rows[(rows["dataset"] == "clipart") & (rows["split"] == "novel") & (rows["block"] == -1)]
    learner = rows["learner"].astype(str).replace("lr", "logistic")  # the report asks whether lr is a learning rate
    rows = rows.assign(method=rows["backbone"].astype(str) + " " + learner)
    wide = rows.pivot(index="task", columns="method", values="accuracy")
    return wide.head(TASKS).dropna(axis=1).round(4).to_csv(lineterminator="\n")


def _open() -> str:
    """Wide, percent, as a spreadsheet writes it: fine-tuning on open tasks of Fashion-MNIST."""
    means = {}
    for backbone in ("efficientnet-lite0", "glyph-conv"):
        with np.load(DATA / "results" / f"fashion.{backbone}.ft.open.npz") as record:
            means[backbone] = 100 * record["correct"].mean(axis=1)
    return pd.DataFrame(means).round(2).to_csv(index=False, sep=";", decimal=",", lineterminator="\n")


def _runs() -> str:
    """Long, with a column run: every training run on the same tasks of clip art."""
    rows = pd.read_parquet(DATA / "runs" / "records.parquet").query("dataset == 'clipart'")
    lines = ["method,run,task,accuracy"]
    for learner in ("baseline", "protonet", "r2d2"):
        for row in rows[rows["learner"] == learner].sort_values("seed").head(SEEDS).itertuples():
            right = np.unpackbits(np.frombuffer(row.correct, np.uint8))[: row.tasks * 75].reshape(row.tasks, 75)
            lines += [f"{learner},{row.seed},{t},{a:.4f}" for t, a in enumerate(right[:RUN_TASKS].mean(axis=1))]
    return "\n".join(lines) + "\n"


def script() -> str:
    """What `report_examples.js` holds."""
    made = json.dumps(examples(), indent=1, sort_keys=True)
    return (
        "// Written by `python -m fslbook.beyond.lab_examples` from the book's stored results.\n"
        f"window.fslLabs.compute.report.EXAMPLES = {made};\n"
    )


if __name__ == "__main__":
    replace_file(SCRIPT, lambda part: part.write_text(script(), "utf-8"))
