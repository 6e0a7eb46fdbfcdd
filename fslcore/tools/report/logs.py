"""What evaluation tools log of a few-shot model, as rows of scores: lm-evaluation-harness and MTEB.

Checked with lm-evaluation-harness 0.4.13 (``--log_samples``) and MTEB 2.26.24 (results and ``prediction_folder``).
What differs from their format is refused; which support a row had is for `fslcore.tools.report.items` to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from ...errors import InputError, shown
from .questions import refuse

SAMPLES = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT\d\d-\d\d-[\d.]+\.jsonl")
FIELDS = ("doc_id", "doc_hash", "arguments", "filter", "metrics")
NEAR = 1e-6  # MTEB rounds scores to six digits


def reader(path: Path) -> Callable[[Path], tuple[pd.DataFrame, list[str]]] | None:
    """What reads this file, by its first line or its top-level names; None if it is of neither tool."""
    try:
        with path.open(encoding="utf-8") as file:
            found = json.loads(next(islice(file, 1)) if path.suffix.lower() == ".jsonl" else file.read())
    except (OSError, ValueError, StopIteration, RecursionError):
        return None
    names = {*found} if isinstance(found, dict) else set()
    if "doc_id" in names:
        return lm_eval
    return mteb_result if {"task_name", "scores"} <= names else mteb_predictions if "mteb_model_meta" in names else None


def lm_eval(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """A row per item and metric of a file MODEL/samples_TASK_TIME.jsonl: item, prompt, score, model, dataset.

    ``dataset`` is the task with the metric and the filter, since each of them is a score of its own.

    Raises
    ------
    InputError
        Another name; lines that are no JSON, lack a field, or have no metric that is a number.
    """
    if not (named := SAMPLES.fullmatch(path.name)):
        raise InputError(f"results: {path.name} is not called samples_TASK_TIME.jsonl, as lm-eval calls it; rename it")
    rows, problems, unread = [], [], set()
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            of = json.loads(line)
            if lacking := [name for name in FIELDS if name not in of]:
                raise ValueError(f"lacks {', '.join(lacking)}")
            prompt = of["arguments"]["gen_args_0"]["arg_0"]
            values = {m: of[m] for m in of["metrics"] if isinstance(of.get(m), (int, float)) and np.isfinite(of[m])}
            if not values:
                raise ValueError(f"has no number for {', '.join(of['metrics']) or 'a metric'}")
        except (ValueError, KeyError, TypeError) as error:
            said = "has no prompt (arguments, gen_args_0, arg_0)" if not isinstance(error, ValueError) else str(error)
            problems.append(f"line {number} of {path.name} {'is no JSON' if 'line 1' in said else said}")
            continue
        unread |= {*of["metrics"]} - {*values}
        item, prompt = (
            f"{of['doc_id']} ({of['doc_hash'][:8]})",
            prompt if isinstance(prompt, str) else json.dumps(prompt),
        )
        rows += [(item, prompt, float(value), f"{named[1]}, {m}", of["filter"]) for m, value in values.items()]
    refuse(problems[:5] + [f"and {len(problems) - 5} more lines like these"] * (len(problems) > 5))
    # Objects: a prompt may hold half a pair of surrogates, which pandas' own texts refuse.
    table = pd.DataFrame(rows, columns=["item", "prompt", "score", "dataset", "filter"], dtype=object)
    if table["filter"].nunique() > 1:
        table["dataset"] += ", " + table["filter"]
    table = table.drop(columns="filter").assign(model=path.absolute().parent.name)
    return table, [f"Not read of {path.name}, as not every line has a number: {', '.join(sorted(unread))}."] * bool(
        unread
    )


def mteb_result(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """A row per experiment of a result of MTEB: support, score, accuracy, model, dataset; no items.

    Raises
    ------
    InputError
        A task without ``scores_per_experiment``, or of which these do not average to its main score.
    """
    found, rows, problems = json.loads(path.read_text("utf-8")), [], []
    for split, entries in found["scores"].items():
        for entry in entries:
            name = _called(found["task_name"], entry["hf_subset"], split)
            each = entry.get("scores_per_experiment") or []
            main = [m for m in each[0] if abs(_mean(each, m) - entry["main_score"]) < NEAR] if len(each) > 1 else []
            if not main:
                what = "have another mean than its main_score" if len(each) > 1 else "are missing, or of one experiment"
                problems.append(f"{path.name}: the scores_per_experiment of {name} {what}; two or more are needed")
                continue
            metric = "accuracy" if "accuracy" in main else main[0]
            rows += [(f"experiment {i}", of[metric], of.get("accuracy"), name) for i, of in enumerate(each)]
    refuse(problems)
    table = pd.DataFrame(rows, columns=["support", "score", "accuracy", "dataset"])
    meta = path.absolute().parent / "model_meta.json"
    model = json.loads(meta.read_text("utf-8")).get("name") if meta.is_file() else None
    return table.assign(model=model or path.absolute().parent.name), []


def mteb_predictions(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """A row per experiment and item of the predictions of MTEB: item, support, predicted, model, dataset.

    Raises
    ------
    InputError
        Predictions that are not a list of lists, a number per item.
    """
    found = json.loads(path.read_text("utf-8"))
    model, parts = found.pop("mteb_model_meta")["model_name"], []
    for subset, splits in found.items():
        for split, predicted in splits.items():
            name = _called(path.stem.removesuffix("_predictions"), subset, split)
            try:
                values = np.array(predicted)
            except ValueError:
                values = np.array(None)
            if values.ndim != 2 or values.dtype.kind not in "iufU":
                raise InputError(
                    f"results: {path.name}: the predictions of {name} are {shown(predicted)}; a list per experiment, "
                    "of a class for every item, is needed"
                )
            r, n = np.indices(values.shape).reshape(2, -1)
            of = {
                "item": n,
                "support": [f"experiment {i}" for i in r],
                "predicted": values.ravel().astype(str),
                "dataset": name,
            }
            parts.append(pd.DataFrame(of))
    return pd.concat(parts, ignore_index=True).assign(model=model), []


def _called(task: str, subset: str, split: str) -> str:
    return f"{task}, {split}" if subset == "default" else f"{task}, {subset}, {split}"


def _mean(scores: list[dict], metric: str) -> float:
    values = [of.get(metric) for of in scores]
    return float(np.mean(values)) if None not in values else np.nan
