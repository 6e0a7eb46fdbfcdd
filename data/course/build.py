"""Build the data of the longer exercises, ``*.csv`` and two recordings, ``*.jsonl``, from records that ship.

    python data/course/build.py

Takes seconds. A second build gives the same bytes; a test builds them again.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd

from fslbook.beyond import leaderboards, runs
from fslcore import recorder
from fslcore.evaluation import load_source
from fslcore.paths import DATA, replace_file

HERE = Path(__file__).resolve().parent
TASKS = 200
SLOW = 100  # of learners that train a network on each
METHODS = {
    "protonet": "ProtoNet",
    "lr": "Baseline",
    "r2d2": "R2D2",
}  # in episodes, with a network of their own


def networks():
    """Validation and test accuracy of every training run of the four learners that have most and the same tasks."""
    rows = []
    for row in pd.read_parquet(DATA / "runs" / "records.parquet").itertuples():
        if row.learner in set(runs.names()) - {"maml"}:  # it has other tasks
            right = np.unpackbits(np.frombuffer(row.correct, np.uint8), count=row.tasks * 75).mean()
            rows.append(
                (
                    row.dataset,
                    row.learner,
                    row.seed,
                    round(row.validation, 2),
                    round(100 * right, 2),
                )
            )
    return pd.DataFrame(rows, columns=["dataset", "learner", "seed", "validation", "test"])


def write_recordings(folder, dataset="coloured/hebrew", methods=("r2d2", "protonet"), seed=0):
    """A recording each of one run of two methods on the same closed tasks."""
    labels = load_source(dataset).labels
    tasks = runs.tasks_of(dataset, methods[0])[:TASKS]
    for method in methods:
        right = runs.answers(dataset, method)[seed, :TASKS] > 0
        with recorder.record(folder / f"{method}.jsonl", method, dataset=dataset, seed=0) as record:
            for support, query, good in zip(tasks.support, tasks.query, right):
                predictions = np.where(good, labels[query], -1)
                record.task(
                    support, query, labels[query], predictions, support_labels=labels[support]
                )


def episodes(dataset):
    rows = pd.read_parquet(DATA / "episodes" / "episodes.parquet").query(
        "dataset == @dataset and block == -1"
    )
    return rows[
        rows["backbone"].astype(str).str.startswith("conv4-") & rows["learner"].isin(list(METHODS))
    ]


def one_support():
    """Estimates from the support and the accuracy, of tasks that are known, of another script and of other images."""
    names = ["hold-out", "5-fold", "leave-one-out", "bootstrap"]
    parts = []
    for kind, dataset in (
        ("known", "coloured/armenian"),
        ("yours", "coloured/hebrew"),
        ("elsewhere", "fashion"),
    ):
        rows = episodes(dataset).query("learner == 'lr' and task < @TASKS")
        parts.append(rows[["task", *names, "accuracy"]].assign(kind=kind))
    table = pd.concat(parts, ignore_index=True)[["kind", "task", *names, "accuracy"]]
    table[[*names, "accuracy"]] = (100 * table[[*names, "accuracy"]]).astype(float).round(2)
    return table


def worst(path):
    """(T,) accuracy of the worst class of each task, in percent."""
    with np.load(path) as file:
        correct, label = file["correct"], file["query_label"]
    return 100 * np.stack(
        [np.array([c[q == k].mean() for k in range(5)]).min() for c, q in zip(correct, label)]
    )


def trap():
    """Worst class of BOIL on the first random, picked and biased tasks of the same classes."""
    kinds = {"random": "matched.5-shot", "picked": "biased.{}.SC1", "biased": "biased.{}.5-shot"}
    rows = []
    for dataset, clue in (("clipart", "pixels"), ("icons", "ink+roundness+symmetry+colour")):
        name = f"{dataset}.conv4-icons-boil"
        columns = {
            k: worst(DATA / "results" / f"{name}.{pattern.format(clue)}.npz")[:SLOW]
            for k, pattern in kinds.items()
        }
        rows.append(
            pd.DataFrame(columns).round(2).rename_axis("task").reset_index().assign(dataset=dataset)
        )
    return pd.concat(rows, ignore_index=True)[["dataset", "task", *kinds]]


def review():
    """Accuracy and 5-fold estimate of three methods on the same tasks of three data sets."""
    parts = [
        episodes(name).query("split == 'novel' and task < @TASKS")
        for name in ("coloured/latin", "fashion", "clipart")
    ]
    table = pd.concat(parts, ignore_index=True)
    table["learner"] = table["learner"].astype(str).map(METHODS)
    for column in ("accuracy", "5-fold"):
        table[column] = (100 * table[column]).astype(float).round(2)
    return table[["dataset", "learner", "task", "accuracy", "5-fold"]].sort_values(
        ["dataset", "learner", "task"]
    )


def timings():
    """Seconds of one thread for so many tasks, by learner; and what one task of fine-tuning takes."""
    stored = json.loads(sorted((DATA / "performance").glob("*.json"))[0].read_text("utf-8"))[
        "pieces"
    ]
    grown = [
        row
        for row in stored["growth"]["rows"]
        if row["by"] == "tasks" and row["what"] in ("NCC", "LR")
    ]
    rows = [(row["what"], *point) for row in grown for point in zip(row["at"], row["seconds"])]
    tuned = next(
        row
        for row in stored["slow"]["rows"]
        if row["name"] == "ft" and row["backbone"] == "glyph-conv"
    )
    return pd.DataFrame(
        [*rows, ("FT", 1, round(1 / tuned["per_second"], 3))],
        columns=["learner", "tasks", "seconds"],
    )


def fine_tuned():
    """Accuracy of fine-tuning on the first closed tasks of clip art: a pilot."""
    with np.load(DATA / "results" / "clipart.glyph-conv.ft.closed.npz") as file:
        accuracy = 100 * file["correct"][:SLOW].mean(axis=1)
    return pd.DataFrame({"task": range(len(accuracy)), "accuracy": accuracy.round(2)})


def two_laboratories():
    """Accuracies that papers report on 5-way tasks of images beside what another laboratory obtained."""
    cells = leaderboards.cells()
    images = (cells["ways"] == "5") & (cells["dataset"] != "Omniglot")
    pairs = leaderboards.pairs(cells[images & ~cells["dataset"].str.startswith("Meta-Dataset")])
    columns = ["method", "backbone", "dataset", "shots", "reported", "plus_minus", "reproduced"]
    return pairs[columns]


TABLES = {
    "networks": networks,
    "one-support": one_support,
    "trap": trap,
    "review": review,
    "timings": timings,
    "fine-tuned": fine_tuned,
    "two-laboratories": two_laboratories,
}


def build(folder):
    """All files, and their digests in SHA256SUMS."""
    for name, table_of in TABLES.items():
        text = table_of().to_csv(index=False, lineterminator="\n")
        replace_file(folder / f"{name}.csv", lambda part, text=text: part.write_text(text, "utf-8"))
    write_recordings(folder)
    files = sorted([*folder.glob("*.csv"), *folder.glob("*.jsonl")])
    sums = "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files
    )
    replace_file(folder / "SHA256SUMS", lambda part: part.write_text(sums, "utf-8"))


if __name__ == "__main__":
    build(HERE)
