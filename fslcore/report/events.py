"""Accuracies per task from the TensorBoard files of LibFewShot, read by TensorBoard's own reader.

LibFewShot's test loop logs the accuracy of every batch of tasks: a file
``results/RUN/log_files/tfboard_files/events.out.tfevents.*`` with the tag ``test/acc``, in the
order of the tasks. What the test was told stands on top of its log, ``RUN/log_files/*-test-*.log``.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ..errors import InputError

if TYPE_CHECKING:
    from .read import Table

MARK = ".tfevents."  # in the name of every event file
ACCURACIES = ("test/acc", "test/acc1")  # now, and in some releases
TIMES = {"test/data_time", "test/batch_time"}  # beside it
OPTIONAL = {"test/calc_time"}
SETTINGS = re.compile(r": (\{'.*\})$", re.MULTILINE)
FACTS = {"test_way": "ways", "test_shot": "shots", "test_query": "queries"}
INSIDE = ("tfboard_files", "log_files")  # folders between a run's own and its events


def test_runs(folder: Path) -> list[Path]:
    """The event files of test runs below a folder, the newest of each network."""
    newest = {}
    # Names hold the time; a link to a run is the same file.
    for path in sorted({path.resolve() for path in folder.glob(f"**/*{MARK}*")}):
        content = path.read_bytes()
        if b"test/acc" in content and b"train/" not in content:
            newest[run_folder(path)] = path
    return [*newest.values()]


def run_folder(path: Path) -> Path:
    """The folder of the run that an event file belongs to."""
    return next(folder for folder in path.absolute().parents if folder.name not in INSIDE)


def test_run(path: Path) -> tuple[pd.DataFrame, str, str, tuple[str, ...]]:
    """The fields of a `fslcore.report.read.Table` of a test run, with what its log says.

    Raises
    ------
    InputError
        No TensorBoard; events of a training run, or of another tool.
    """
    folder = run_folder(path)
    name = f"{folder.name}/{path.name}"
    accuracies = test_accuracies(scalars_of(path), name)
    settings = settings_of_test(folder)
    networks = [settings.get(part) or {} for part in ("classifier", "backbone")]
    method = " ".join(network["name"] for network in networks if "name" in network)
    frame = pd.DataFrame({"task": range(len(accuracies)), "accuracy": accuracies})
    frame = frame.assign(method=method or folder.name, sampling="closed")
    if "data_root" in settings:
        frame["dataset"] = Path(settings["data_root"]).name
    for fact in FACTS.keys() & settings.keys():
        frame[FACTS[fact]] = settings[fact]
    notes = [
        "LibFewShot's tasks have no names: the first of each run are compared, the second, and so "
        "on. They are the same only where the runs drew them alike; intervals hold either way."
    ]
    lost = path.read_bytes().count(b"test/acc") - len(accuracies)
    if lost > 0:
        notes.append(f"{name} is cut off or damaged: {lost} accuracies at its end are not read.")
    batch = settings.get("episode_size", 1)
    if batch != 1:
        notes.append(f"Each accuracy of {name} is the mean of {batch} tasks (episode_size).")
    return frame, name, "events", tuple(notes)


def scalars_of(path: Path) -> dict[str, list[float]]:
    """By tag, the values of an event file, up to where it is damaged."""
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ModuleNotFoundError:
        raise InputError(
            f"{path.name}: reading TensorBoard's events needs tensorboard; pip install tensorboard "
            "installs it"
        ) from None
    events = EventAccumulator(str(path), {"scalars": 0}, purge_orphaned_data=False).Reload()
    tags = events.Tags()["scalars"]
    return {tag: [event.value for event in events.Scalars(tag)] for tag in tags}


def test_accuracies(scalars: dict[str, list[float]], name: str) -> list[float]:
    """The accuracies of a test loop.

    Other tags are of training, where each accuracy is of another network, or of another tool, where
    it may be one per epoch: taken for tasks, epochs would get a ± of their own.
    """
    if any(tag.startswith("train/") for tag in scalars):
        raise InputError(
            f"{name} is of a training run, with another network each epoch; the events of a test "
            "run (LibFewShot's run_test.py) are needed"
        )
    tags = [tag for tag in ACCURACIES if tag in scalars]
    if not tags:
        raise InputError(f"{name} has no test/acc, the accuracies of LibFewShot's test loop")
    if {*scalars} - OPTIONAL != {tags[0], *TIMES}:
        raise InputError(
            f"{name} has the tags {', '.join(scalars)}, so it is not of LibFewShot's test loop, "
            f"and its {tags[0]} may be one per epoch; write the accuracy of each task to a .csv"
        )
    return scalars[tags[0]]


def settings_of_test(folder: Path) -> dict[str, object]:
    """What the tests of a run were told; empty where their logs do not agree."""
    logs = [
        log.read_text("utf-8", errors="replace") for log in folder.glob("log_files/*-test-*.log")
    ]
    settings = {match[1] for match in map(SETTINGS.search, logs) if match}
    return ast.literal_eval(settings.pop()) if len(settings) == 1 else {}


def named_apart(tables: Sequence[Table]) -> list[Table]:
    """Tables, where test runs of the same name and settings are called by their folders."""
    keys = []
    for table in tables:
        facts = table.frame.columns.difference(["task", "accuracy"])
        keys.append(str(table.frame[facts].head(1).to_dict("list")))
    counts = Counter(keys)
    named = []
    for table, key in zip(tables, keys, strict=True):
        if MARK in table.name and counts[key] > 1:
            folder = table.name.partition("/")[0]
            table = replace(table, frame=table.frame.assign(method=folder))
        named.append(table)
    return named
