"""Accuracies per task from the TensorBoard files of LibFewShot, read by TensorBoard's own reader.

LibFewShot's test loop logs the accuracy of every batch of tasks: a file
``results/RUN/log_files/tfboard_files/events.out.tfevents.*`` with the tag ``test/acc``, in the
order of the tasks. The settings of the tests stand on top of ``RUN/log_files/*-test-*.log``.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pandas as pd

from ..errors import InputError

MARK = ".tfevents."  # in the name of every event file
ACCURACY = "test/acc"
TAGS_OF_TEST = {ACCURACY, "test/data_time", "test/batch_time"}
SETTINGS = re.compile(r": (\{'.*\})$", re.MULTILINE)
PLACE_SETTINGS = {"data_root": "dataset", "test_way": "ways", "test_shot": "shots"}
INSIDE = ("tfboard_files", "log_files")  # folders between a run's own and its events


def test_runs(folder: Path) -> list[Path]:
    """The newest event file of each test run below a folder."""
    newest = {}
    for path in sorted(folder.glob(f"**/*{MARK}*")):  # names hold the time
        content = path.read_bytes()
        if ACCURACY.encode() in content and b"train/" not in content:
            newest[run_folder(path)] = path
    return [*newest.values()]


def run_folder(path: Path) -> Path:
    """The folder of the run that an event file belongs to."""
    return next(folder for folder in path.resolve().parents if folder.name not in INSIDE)


def test_run(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """A row per task of a test run, a method called after its folder, and notes.

    Raises
    ------
    InputError
        Events of a training run, or of another tool.
    """
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(path), {"scalars": 0}, purge_orphaned_data=False).Reload()
    tags = events.Tags()["scalars"]
    folder = run_folder(path)
    # Other tools, and training, log an accuracy per epoch, which is of another network each time.
    if {*tags} - {"test/calc_time"} != TAGS_OF_TEST:
        raise InputError(
            f"{folder.name}/{path.name} has the tags {', '.join(tags) or 'none'}, and not those of "
            f"LibFewShot's run_test.py, {', '.join(sorted(TAGS_OF_TEST))}; write the accuracy of "
            "each test task to a .csv"
        )
    accuracies = [event.value for event in events.Scalars(ACCURACY)]
    frame = pd.DataFrame({"task": range(len(accuracies)), "accuracy": accuracies})
    notes = [
        "LibFewShot's tasks have no names: the first of each run are compared, the second, and so "
        "on. They are the same only where the runs drew them alike; intervals hold either way."
    ]
    lost = path.read_bytes().count(ACCURACY.encode()) - len(accuracies)
    if lost > 0:
        notes.append(f"{path.name} is damaged: {lost} accuracies at its end are not read.")
    frame = frame.assign(method=folder.name, sampling="closed", **place_settings(folder))
    return frame, notes


def place_settings(folder: Path) -> dict[str, object]:
    """The data set, ways and shots of a run's tests; empty where their logs do not agree."""
    logs = [log.read_text("utf-8", "replace") for log in folder.glob("log_files/*-test-*.log")]
    texts = {match[1] for match in map(SETTINGS.search, logs) if match}
    if len(texts) != 1:
        return {}
    settings = ast.literal_eval(texts.pop())
    return {
        meaning: Path(str(settings[name])).name
        for name, meaning in PLACE_SETTINGS.items()
        if name in settings
    }
