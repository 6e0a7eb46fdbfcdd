"""Logs of lm-evaluation-harness and MTEB as tables of item scores, recognised by their fields.

Checked with lm-evaluation-harness 0.4.13 (``--log_samples``) and MTEB 2.26.24.
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
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..errors import InputError

if TYPE_CHECKING:
    from .model import Table

SAMPLES_NAME = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT\d\d-\d\d-[\d.]+")
SAMPLE_FIELDS = (
    "doc_id doc target arguments resps filtered_resps filter metrics doc_hash prompt_hash "
    "target_hash"
).split()
PROMPT = "lm-eval prompt"  # a column until all files are read

# lm-evaluation-harness ----------------------------------------------------------------------------


def are_samples(records: Sequence[dict[str, Any]]) -> bool:
    """Whether records are samples of lm-evaluation-harness."""
    return len({"doc_id", "resps", "filter", "doc_hash"} & {*records[0]}) > 1


def samples_frame(records: Sequence[dict[str, Any]], path: Path) -> tuple[pd.DataFrame, list[str]]:
    """A row per item and metric, and notes: item, prompt, accuracy and the task as data set.

    Each metric, and each filter of answers, is a data set of its own. The model is the folder's
    name where the file has the name that lm-eval gives it; else it is the file's name.
    """
    frame = pd.DataFrame.from_records(records)
    numeric = frame.select_dtypes(["number", "bool"]).columns.difference(SAMPLE_FIELDS)
    metrics = [name for name in numeric if frame[name].between(0, 1).all()]
    if not metrics:
        raise InputError(
            f"{path.name} must have accuracies of items, got no metric with a number from 0 to 1 "
            "in every line"
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


def prompt_of(record: dict[str, Any]) -> str | None:
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
    ends = {key: len(commonprefix(turned)) for key, turned in prompts_of_item.items()}  # noqa: RUF071
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


def keyed_prompts(table: Table) -> list[tuple[tuple[object, ...], str]]:
    """The prompts of a table, each with the method, data set and item that it is for."""
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


def mteb_frame(content: dict[str, Any], path: Path) -> pd.DataFrame | None:
    """Of a result of MTEB a row per experiment, each with a support of its own; no items.

    None for other files.
    """
    if "mteb_model_meta" in content:
        raise InputError(
            f"{path.name} has predictions of MTEB without the right answers; a few lines score "
            "them (the page Logs of other tools), or give the result with scores_per_experiment"
        )
    if not {"task_name", "scores"} <= {*content}:
        return None
    rows = []
    for split, entries in content["scores"].items():
        for entry in entries:
            names = (content["task_name"], entry["hf_subset"], split)
            dataset = ", ".join(name for name in names if name != "default")
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
