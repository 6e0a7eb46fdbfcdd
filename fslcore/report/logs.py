"""Logs of lm-evaluation-harness and MTEB as tables of item scores, recognised by their fields.

Checked with lm-evaluation-harness 0.4.13 (``--log_samples``) and MTEB 2.26.24 (results,
``prediction_folder``).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..errors import InputError

if TYPE_CHECKING:
    from .read import Table

SAMPLES_NAME = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT\d\d-\d\d-[\d.]+")
SAMPLE_FIELDS = (
    "doc_id doc target arguments resps filtered_resps filter metrics doc_hash prompt_hash "
    "target_hash"
).split()
PROMPT, PREDICTED = "lm-eval prompt", "MTEB prediction"  # columns until all files are read
ROUNDING = 1e-6  # MTEB rounds scores to six digits


# lm-evaluation-harness ----------------------------------------------------------------------------


def are_samples(records: Sequence[dict]) -> bool:
    """Whether records are samples of lm-evaluation-harness."""
    return len({"doc_id", "resps", "filter", "doc_hash"} & {*records[0]}) > 1


def samples_frame(records: Sequence[dict], path: Path) -> tuple[pd.DataFrame, list[str]]:
    """A row per item and metric, and notes: item, prompt, accuracy and the task as data set.

    Each metric, and each filter of answers, is a data set of its own. The model is the folder's
    name where the file is called as lm-eval calls it; else the file's name tells it.
    """
    frame = pd.DataFrame.from_records(records)
    numeric = frame.select_dtypes(["number", "bool"]).columns.difference(SAMPLE_FIELDS)
    metrics = [name for name in numeric if frame[name].between(0, 1).all()]
    if not metrics:
        raise InputError(
            f"{path.name}: no metric has a number from 0 to 1 in every line; accuracies of items "
            "are needed"
        )
    unread = frame.columns.difference([*SAMPLE_FIELDS, *metrics])
    notes = [f"{path.name} is a log of lm-evaluation-harness."]
    if len(unread):
        notes.append(f"{path.name}: not read, as not every line has a share: {', '.join(unread)}.")
    items = frame["doc_id"].astype(str)
    if "doc_hash" in frame:
        items += " (" + frame["doc_hash"].astype(str).str[:8] + ")"
    named = SAMPLES_NAME.fullmatch(path.stem)
    rows = pd.DataFrame({"item": items})
    # Objects: a prompt may hold half a pair of surrogates, which pandas' own texts refuse.
    prompts = pd.Series(map(prompt_of, records), dtype=object)
    if prompts.notna().all():
        rows[PROMPT] = prompts
    if named:
        rows["method"] = path.absolute().parent.name
    rows["dataset"] = f"{named['task']}, " if named else ""
    several_filters = "filter" in frame and frame["filter"].nunique() > 1
    parts = []
    for name in metrics:
        part = rows.assign(accuracy=frame[name].astype(float), dataset=rows["dataset"] + name)
        if several_filters:
            part["dataset"] += ", " + frame["filter"]
        parts.append(part)
    return pd.concat(parts, ignore_index=True), notes


def prompt_of(record: dict) -> str | None:
    """The text that the model was shown, as any release lays it out; None if it is not logged."""
    arguments = record.get("arguments")
    for _ in range(2):
        arguments = [*arguments.values()] if isinstance(arguments, dict) else arguments
        if not isinstance(arguments, list) or not arguments:
            return None
        arguments = arguments[0]
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def with_supports(tables: Sequence[Table]) -> list[Table]:
    """Tables whose prompts are replaced by the support that they show.

    The end that all prompts of an item share is the item itself, and the beginning that all prompts
    of a file share is its support: where the two make up every prompt of a file, one support served
    all items. Else each prompt is one of its own.
    """
    prompts_of_item = defaultdict(list)
    for table in tables:
        for key, prompt in keyed_prompts(table):
            prompts_of_item[key].append(prompt[::-1])
    ends = {}
    for key, prompts in prompts_of_item.items():
        ends[key] = len(commonprefix(prompts))  # noqa: RUF071
    completed = []
    for table in tables:
        if PROMPT in table.frame:
            prompts = [*table.frame[PROMPT]]
            start = commonprefix(prompts)  # noqa: RUF071  characters are meant
            if all(len(start) + ends[key] >= len(text) for key, text in keyed_prompts(table)):
                prompts = [start] * len(prompts)
            frame = table.frame.drop(columns=PROMPT).assign(support=[*map(digest, prompts)])
            table = replace(table, frame=frame)
        completed.append(table)
    return completed


def keyed_prompts(table: Table) -> list[tuple[tuple, str]]:
    """Prompts with the item that each is for, as the model of the file was asked it."""
    frame = table.frame
    if PROMPT not in frame:
        return []
    methods = frame.get("method", re.sub(r"[\d_. -]+$", "", table.stem))
    keyed = frame.assign(method=methods)
    keys = keyed[["method", "dataset", "item"]].itertuples(index=False, name=None)
    return list(zip(keys, keyed[PROMPT], strict=True))


def digest(text: str) -> str:
    """A short name of a text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]


# MTEB ---------------------------------------------------------------------------------------------


def mteb_frame(content: dict, path: Path) -> pd.DataFrame | None:
    """The rows of a result, or of predictions, of MTEB; None for other files."""
    if {"task_name", "scores"} <= {*content}:
        return result_frame(content, path)
    if "mteb_model_meta" in content:
        return predictions_frame(content, path)
    return None


def result_frame(content: dict, path: Path) -> pd.DataFrame:
    """A row per experiment, each with a support of its own; no items."""
    rows = []
    for split, entries in content["scores"].items():
        for entry in entries:
            dataset = dataset_name(content["task_name"], entry["hf_subset"], split)
            experiments = entry.get("scores_per_experiment") or []
            if len(experiments) < 2 or "accuracy" not in experiments[0]:
                raise InputError(
                    f"{path.name}: {dataset} has no accuracies of two or more experiments "
                    "(scores_per_experiment), and one number shows no variation; run MTEB's "
                    "classification with n_experiments"
                )
            for number, scores in enumerate(experiments):
                row = {"support": f"experiment {number}", "accuracy": scores["accuracy"]}
                rows.append({**row, "dataset": dataset})
    frame = pd.DataFrame(rows)
    description = path.absolute().parent / "model_meta.json"
    if description.is_file():
        frame["method"] = json.loads(description.read_text("utf-8"))["name"]
    return frame


def predictions_frame(content: dict, path: Path) -> pd.DataFrame:
    """A row per experiment and item, with the class that was predicted."""
    parts = []
    for subset, splits in content.items():
        if subset == "mteb_model_meta":
            continue
        for split, predictions in splits.items():
            dataset = dataset_name(path.stem.removesuffix("_predictions"), subset, split)
            if len({len(experiment) for experiment in predictions}) != 1:
                raise InputError(
                    f"{path.name}: a list per experiment of {dataset}, with a class for every "
                    "item, is needed"
                )
            frame = pd.DataFrame(predictions).T.rename_axis("item").reset_index()
            frame = frame.melt("item", var_name="support", value_name=PREDICTED)
            frame["support"] = "experiment " + frame["support"].astype(str)
            parts.append(frame.assign(dataset=dataset))
    return pd.concat(parts, ignore_index=True).assign(
        method=content["mteb_model_meta"]["model_name"]
    )


def dataset_name(task: str, subset: str, split: str) -> str:
    """What a part of a task of MTEB is called."""
    return ", ".join(name for name in (task, subset, split) if name != "default")


def with_answers(tables: Sequence[Table]) -> list[Table]:
    """Tables whose predictions are replaced by right and wrong answers.

    Results in other files, whose accuracies must be the same, check them.
    """
    predicted = [table for table in tables if PREDICTED in table.frame]
    if not predicted:
        return list(tables)
    labels = [table for table in tables if [*table.frame] == ["label"]]
    if len(labels) != 1:
        raise InputError(
            f"{predicted[0].name} has predictions without the right answers; give one more file, a "
            "csv with the column label alone, for the items of the test set in their order "
            f"({len(labels)} are given)"
        )
    answers = labels[0].frame["label"].to_numpy()
    scored = [with_scores(table, answers, labels[0].name) for table in predicted]
    keys = ["method", "dataset", "support"]
    means = pd.concat([table.frame for table in scored]).groupby(keys)["accuracy"].mean()
    completed = []
    for table in tables:
        if PREDICTED in table.frame or [*table.frame] == ["label"]:
            continue
        if {*keys} <= {*table.frame}:
            table = without_checked(table, means, keys, labels[0].name)
        if len(table.frame):
            completed.append(table)
    return [*completed, *scored]


def with_scores(table: Table, answers: np.ndarray, source: str) -> Table:
    """A table of predictions as one of right and wrong answers."""
    count = int(table.frame["item"].max()) + 1
    if count != len(answers):
        raise InputError(
            f"{table.name} has predictions of {count} items, and {source} has {len(answers)} labels"
        )
    right = table.frame[PREDICTED].to_numpy() == answers[table.frame["item"]]
    frame = table.frame.drop(columns=PREDICTED).assign(accuracy=right.astype(float))
    return replace(table, frame=frame, notes=(f"{table.name} is scored by {source}.",))


def without_checked(table: Table, means: pd.Series, keys: list[str], source: str) -> Table:
    """A table of results without those that predictions repeat, with the same accuracies."""
    results = table.frame.set_index(keys)["accuracy"]
    repeated = results[results.index.isin(means.index)]
    wrong = repeated[(repeated - means[repeated.index]).abs() > ROUNDING]
    if len(wrong):
        method, dataset, support = wrong.index[0]
        raise InputError(
            f"{dataset}, {support} of {method}: {source} gives an accuracy of "
            f"{means[wrong.index[0]]:.6f}, and {table.name} has {wrong.iloc[0]:.6f}; the labels of "
            "the same test set in its order are needed"
        )
    return replace(table, frame=table.frame[~results.index.isin(means.index)])
