"""Per-task accuracies of LibFewShot, from the event files that its test loop leaves.

LibFewShot logs a mean with its ±, and the accuracy of every batch of tasks to TensorBoard: a file
``results/RUN/log_files/tfboard_files/events.out.tfevents.*`` with the tag ``test/acc``, in the order of the tasks. What
the run was stands in ``RUN/config.yaml`` and on top of its log. TensorBoard itself would read the events, but with a
dozen packages; the format is two frozen ones (TFRecord, protocol buffers), of which three fields are needed.
"""

from __future__ import annotations

import ast
import struct
from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from ...errors import InputError

__all__ = ["MARK", "run", "runs"]

MARK = ".tfevents."  # in the name of every event file
ACCURACY = ("test/acc", "test/acc1")  # now, and in some releases
TIMES = ("test/data_time", "test/batch_time", "test/calc_time")  # what the test loop writes beside; the last at times
CRC = [reduce(lambda crc, _: crc >> 1 ^ (0x82F63B78 if crc & 1 else 0), range(8), byte) for byte in range(256)]
FACTS = {"test_way": "ways", "test_shot": "shots", "test_query": "queries", "seed": "seed"}
INSIDE = ("tfboard_files", "log_files")  # folders between a run's own and its events
PLACES = ("", "tfboard_files/", "log_files/tfboard_files/", "*/log_files/tfboard_files/")


def run(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """A row per task of one test run: ``method``, ``task``, ``accuracy`` in percent, and what is known of the tasks.

    Raises
    ------
    InputError
        No event file, one that is damaged or lacks tasks, another tool's, or of a training run, whose test accuracies
        are of a new network each epoch.
    """
    values, whole = _accuracies(path)
    if values is None:
        raise InputError(
            f"results: {path.name} is of a training run, with another network each epoch; the events of a test run "
            "(LibFewShot's run_test.py) are needed"
        )
    if not len(values):
        raise InputError(f"results: {path.name} has no {ACCURACY[0]}, the accuracies of LibFewShot's test loop")
    return _laid_out(path, values, whole)


def _laid_out(path: Path, values: np.ndarray, whole: bool) -> tuple[pd.DataFrame, list[str]]:
    """`run` of accuracies that were read."""
    home = _home(path)
    said, tested = _config(home), _tested(home)
    names = [(tested.get(part) or said.get(part) or {}).get("name") for part in ("classifier", "backbone")]
    method = " ".join(map(str, filter(None, names))) or home.name
    table = pd.DataFrame({"method": method, "task": np.arange(len(values)), "accuracy": values, "sampling": "closed"})
    data = tested.get("data_root") or said.get("data_root")
    known = {name: tested[key] for key, name in FACTS.items() if tested.get(key) is not None}
    table = table.assign(**({"dataset": Path(str(data)).name} if data else {}), **known)
    batch = tested.get("episode_size", 1)
    return table, [
        *[f"The last event of {path.name} is cut off; those before it are read."] * (not whole),
        *[f"Each accuracy of {method} is the mean of {batch} tasks (episode_size)."] * (batch != 1),
    ]


def runs(folder: Path) -> tuple[pd.DataFrame, list[str]]:
    """The test runs of a folder, LibFewShot's ``results`` or one of those in it; of each network the newest run.

    Networks of one name, as after several trainings, are called by their folders.

    Raises
    ------
    InputError
        No test run there; as for `run`.
    """
    found = sorted({path.resolve() for below in PLACES for path in folder.glob(f"{below}*{MARK}*")})  # links too
    if not found:
        raise InputError(f"results: no event file (*{MARK}*) in {folder}; of a folder, LibFewShot's results are read")
    read = {path: _accuracies(path) for path in found}
    newest = {_home(path): path for path, (of, _) in read.items() if of is not None and len(of)}  # names hold the time
    if not newest:
        raise InputError(f"results: no test run in {folder}; LibFewShot's run_test.py makes them")
    parts, notes = {}, []
    for home, path in newest.items():
        parts[home], more = _laid_out(path, *read[path])
        notes += more
    names = [part["method"].iloc[0] for part in parts.values()]
    for home, part in parts.items():
        if names.count(part["method"].iloc[0]) > 1:
            part["method"] = home.name
    told = "LibFewShot's tasks have no names: the first of each run are compared, the second, and so on. They are the "
    told += "same tasks only where the runs drew them alike; the intervals hold either way."
    older = len(found) - len(newest)
    left = f"{older} event files were left out: of training, or older than another of the same network."
    return pd.concat(parts.values(), ignore_index=True), notes + [told] * (len(parts) > 1) + [left] * (older > 0)


def _home(path: Path) -> Path:
    """The run's folder."""
    return next(p for p in path.absolute().parents if p.name not in INSIDE)


def _config(home: Path) -> dict:
    """What the training was told."""
    try:
        found = yaml.safe_load((home / "config.yaml").read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}


def _tested(home: Path) -> dict:
    """What the tests were told, which may differ from the training: where several logs do not agree, neither counts."""
    logs = []
    for log in sorted((home / "log_files").glob("*-test-*.log")):
        for line in log.read_text("utf-8", errors="replace").splitlines():
            _, opened, rest = line.partition(": {")
            if opened:
                try:
                    logs.append(ast.literal_eval("{" + rest))
                except (ValueError, SyntaxError):
                    continue  # another line with a brace
                break
    return {key: value for key, value in logs[0].items() if all(o.get(key) == value for o in logs)} if logs else {}


def _accuracies(path: Path) -> tuple[np.ndarray | None, bool]:
    """Accuracies in percent; None of a training run. And whether the last event is whole.

    The test loop writes every tag of `TIMES` and one of `ACCURACY` per batch of tasks, with a step that grows by the
    batch's number of tasks and begins again at most once per epoch of tests: other tags or steps are of another tool,
    or of a file that lost some.
    """
    found: dict[str, list[tuple[int, float]]] = {}
    whole = True
    try:
        for tag, step, value in _scalars(path):
            if tag.startswith("train/"):
                return None, True
            found.setdefault(tag, []).append((step, value))
    except EOFError:
        whole = False
    except (IndexError, KeyError, struct.error, UnicodeDecodeError):
        raise InputError(f"results: {path.name} is no event file") from None
    names = [tag for tag in ACCURACY if tag in found]
    if not names:
        return np.array([]), whole
    other = [tag for tag in found if tag not in (*ACCURACY, *TIMES)]
    if other or len(names) > 1 or any(tag not in found for tag in TIMES[:2]):
        what = f"has the tag {other[0]}" if other else f"lacks {' or '.join(TIMES[:2])}"
        raise InputError(
            f"results: {path.name} {what}, so it is not of LibFewShot's test loop, and its {names[0]} may be one per "
            "epoch; write the accuracy of each task to a .csv"
        )
    steps = [step for step, _ in found[names[0]]]
    by = steps[1] - steps[0] if len(steps) > 1 else 1
    gap = next((i for i, (a, b) in enumerate(pairwise(steps), 1) if b - a > by), None)
    lost = [step for step, _ in found[TIMES[0]]][: len(steps)] != steps
    if steps[0] or by < 1 or gap or lost:
        raise InputError(
            f"results: {path.name} lacks tasks: its {names[0]} has steps {steps[0]}, {steps[0] + by} and so on, but "
            f"{f'{steps[gap]} after {steps[gap - 1]}' if gap else 'not at every step of the test loop'}; copy the "
            "file again, or run the test again"
        )
    return np.array([value for _, value in found[names[0]]]), whole


def _scalars(path: Path) -> Iterator[tuple[str, int, float]]:
    """Tag, step and value of every scalar, in the order in which they were written."""
    whole = path.stat().st_size
    with open(path, "rb") as file:
        while head := file.read(12):  # the length of a record, and its checksum
            at = file.tell() - len(head)
            if len(head) < 12:
                raise EOFError if at else IndexError
            size, check = struct.unpack("<QI", head)
            if _checksum(head[:8]) != check:
                if not at:
                    raise IndexError  # the first record: of another format
                raise InputError(_damaged(path, at))
            if size + 4 > whole - file.tell():
                raise EOFError
            event, (check,) = file.read(size), struct.unpack("<I", file.read(4))
            if _checksum(event) != check:
                raise InputError(_damaged(path, at))
            step = next(iter(_fields(event, 2)), 0)
            for summary in _fields(event, 5):
                for value in _fields(summary, 1):
                    tag, number = _fields(value, 1), _fields(value, 2)
                    if tag and number:
                        yield tag[0].decode(), step, struct.unpack("<f", number[0])[0]


def _damaged(path: Path, at: int) -> str:
    return f"results: {path.name} is damaged: the checksum at byte {at:,} is wrong; copy it again, or repeat the test"


def _checksum(data: bytes) -> int:
    """The masked CRC-32C of TFRecord files."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _fields(message: bytes, wanted: int) -> list:
    """The fields of one number in a protocol buffer: whole numbers, and others as bytes."""
    found, at = [], 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            number, at = _varint(message, at)
            found += [number] * (key >> 3 == wanted)
            continue
        size, at = _varint(message, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
        if key >> 3 == wanted:
            found.append(message[at : at + size])
        at += size
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """A whole number of seven bits a byte, and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return value, at
