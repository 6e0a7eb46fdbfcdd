"""Files that `fslbook.pack` wrote and others sent: what is checked before a number of one is shown.

A pack is a zip archive of ``about.json`` and one array per row of its ``results``, ``right-0000.npy``. By the sampling
of the row the array contains

- ``closed``, ``open``: (T, K) numbers of queries that were right, by task and class;
- ``biased``: (T, 2 K), the classes of each task and then these numbers;
- ``re-split``: (T, 6) accuracies by the oracle, by the four estimators and on the fresh test set.

No names of files, no paths, nothing that is run. What `load` checks proves that a file is consistent: that its digests
are those of the manifest, that each array has the digest in its row and is no copy of another learner's, backbone's or
seed's, and that its tasks are those which the samplers draw from its class sizes and seeds. Biased
tasks follow from attributes, which are not in the file: their number, classes and ranges are checked, and the row says
that they were not drawn again. Of data that a person brought no digests are listed: the number of their classes and
images is compared. It does not prove that the learners were ever run.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fslcore import catalogue, sources
from fslcore.datasets.loading import source_of
from fslcore.errors import InputError, quoted, reason, shown, unique_keys, visible
from fslcore.paths import DATA
from fslcore.tasks import Tasks, resplit, sample_closed, sample_open

from .catalogue import CAPTIONERS, TRAINERS
from .estimation import fresh_test_sets
from .estimation.resampled import ESTIMATORS

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ABOUT",
    "FORMAT",
    "REDRAWN",
    "RESPLIT",
    "RESULTS",
    "Pack",
    "array_digest",
    "contributed",
    "load",
    "member",
    "plain",
    "re_split",
    "wrong_name",
]

FORMAT = 1
BYTES, EXPANDED, MEMBERS = (
    16 * 2**20,
    64 * 2**20,
    5000,
)  # of a file: at most so many, expanded, and arrays
NAME = 80  # characters of the name of who reports
IMAGES, CLASSES, DRAWN = 10**8, 10**5, 10**8  # of a data set; images in all tasks of a row
BROKEN = (OSError, EOFError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error)
#: Columns of the array of a row of re-split tasks.
RESPLIT = ("oracle", *ESTIMATORS, fresh_test_sets.FRESH)
# What decides on the tasks of a row.
DRAWN_BY = ("sampling", "tasks", "rounds", "ways", "shots", "queries", "seed")
# By the sampling of a row: its array in words, the type of its numbers, and its columns.
FORMS = {
    "closed": ("(tasks, ways) of 16-bit whole numbers", "<u2", lambda ways: ways),
    "biased": ("(tasks, 2 ways) of 16-bit whole numbers", "<u2", lambda ways: 2 * ways),
    "re-split": ("(tasks, columns) of 64-bit numbers", "<f8", lambda ways: len(RESPLIT)),
}
#: By the sampling of a row, whether `load` draws its tasks again.
REDRAWN = dict.fromkeys(("closed", "open", "re-split"), "yes") | {
    "biased": "no, they follow from attributes"
}
#: What identifies results of a row: SHA-256 of its tasks and of its array, and whether `load` draws its tasks again.
RESULTS = ("digest", "array", "redrawn")
FEW_VALUES = 4  # different accuracies that two learners may share in all tasks by chance
#: What ``about.json`` holds: a list or a mapping of a form, a mapping with these keys, a type, or one of several.
ROW = {
    **dict.fromkeys(("dataset", "backbone", "learner", "sampling", *RESULTS), str),
    **dict.fromkeys(("ways", "shots", "queries", "seed"), int),
    **dict.fromkeys(("tasks", "rounds"), int | None),
    "captioner": str | None,
}
ABOUT = {
    "format": int,
    "by": str,
    "profile": str,
    "chapters": [str],
    "code": {str: str},
    "versions": {str: str},
    "machine": {str: str | int | None},
    "data": {str: {str: {str: str | int}}},
    "weights": {str: str},
    "classes": {str: [int]},
    "parts": {str: [int]},
    "results": [ROW],
}


@dataclass(frozen=True)
class Pack:
    """A file that `load` has read.

    Attributes
    ----------
    path : Path
    about : dict
        What ``about.json`` holds.
    results : DataFrame
        Results table of `fslcore.evaluation.evaluate_setting`, one row per task, of closed and open tasks.
    arrays : list of (dict, array)
        All rows of ``about["results"]``, each with its array.
    """

    path: Path
    about: dict
    results: pd.DataFrame
    arrays: list[tuple[dict, np.ndarray]]

    @property
    def by(self) -> str:
        """The name under which it is reported. Any text in one line, which is escaped where it is shown."""
        return self.about["by"]

    @property
    def images(self) -> dict[str, int]:
        """Number of images by data set."""
        return {name: sum(sizes) for name, sizes in self.about["classes"].items()}


def contributed(folder: Path | None = None) -> list[Pack]:
    """The packs in ``data/contributed`` (or another folder), in the order of their names; errors as for `load`."""
    folder = DATA / "contributed" if folder is None else folder
    paths = [path for path in sorted(folder.glob("[!.]*")) if path.name != "README.md"]
    return [
        _load(path, path.stat().st_mtime_ns, os.environ.get("FSLCORE_SOURCES")) for path in paths
    ]


def load(path: str | Path) -> Pack:
    """Read a pack and check it.

    Raises
    ------
    InputError
        All that is wrong with the file: no such archive, one that is too large or would expand too far, another form,
        digests that are not those of the manifest, tasks that the samplers do not draw from its class sizes and
        seeds, numbers that cannot be.
    """
    path = Path(path)
    try:
        members = _members(path)
        text = members.pop("about.json")
        about = json.loads(text, parse_constant=_no_number, object_pairs_hook=unique_keys)
    except BROKEN as error:
        raise InputError(f"{path.name}: no pack can be read ({reason(error)})") from None
    problems = list(_unlike(about, ABOUT, "about.json"))
    if not problems:
        problems = _wrong_about(about, members)
    arrays = []
    for i, row in enumerate([] if problems else about["results"]):
        content = members[member(i)]
        right, wrong = _right(content, row, about)
        if array_digest(content) != row["array"]:
            wrong.append("its array is another than the one that was packed")
        place = f"row {i} ({row['learner']} on {row['dataset']}, {row['backbone']})"
        problems += [f"{place}: {problem}" for problem in wrong]
        arrays.append((row, right))
    problems = problems or _copies(arrays)
    if problems:
        problems = list(dict.fromkeys(problems))
        unlisted = f" and {len(problems) - 20} more" if len(problems) > 20 else ""
        raise InputError(f"{path.name}: {'; '.join(problems[:20])}{unlisted}")
    return Pack(path, about, _table(arrays), arrays)


def array_digest(content: bytes) -> str:
    """SHA-256 of the array of a row, as the archive holds it."""
    return hashlib.sha256(content).hexdigest()


def _copies(arrays: list[tuple[dict, np.ndarray]]) -> list[str]:
    """Rows with the very same numbers under another learner, backbone or seed."""
    rows_of_array = defaultdict(list)
    for number, (row, right) in enumerate(arrays):
        numbers = right[:, row["ways"] :] if row["sampling"] == "biased" else right
        if len(np.unique(numbers.sum(axis=1))) > FEW_VALUES:
            rows_of_array[row["array"]].append((number, row))
    problems = []
    for (first, row), *others in rows_of_array.values():
        for number, other in others:
            differ = [name for name in ("learner", "backbone", "seed") if row[name] != other[name]]
            if differ:
                problems.append(
                    f"rows {first} and {number}, of another {differ[0]}, have the very same numbers"
                )
    return problems


def _wrong_about(about: dict, members: dict[str, bytes]) -> list[str]:
    """What is wrong with a description of the right form."""
    if about["format"] != FORMAT:
        return [f"format must be {FORMAT}, got {about['format']}"]
    count = len(about["results"])
    if members.keys() != {member(i) for i in range(count)}:
        return [f"arrays must be one per row of results, {count}, got {len(members)}"]
    problem = wrong_name(about["by"])
    problems = [problem] if problem else []
    try:
        problems += _other_sources(about)
    except InputError as error:  # a data set with settings that it does not have
        problems.append(str(error))
    return problems + _wrong_classes(about["classes"], about["parts"])


_load = cache(lambda path, time, manifest: load(path))


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")


def _members(path: Path) -> dict[str, bytes]:
    """Contents by name, where they are as large as they say, and not too large."""
    if path.stat().st_size > BYTES:
        raise ValueError(f"it must have at most {BYTES:,} bytes, got {path.stat().st_size:,}")
    contents = {}
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if len(entries) > MEMBERS or sum(entry.file_size for entry in entries) > EXPANDED:
            raise ValueError(f"it must expand to at most {EXPANDED:,} bytes in {MEMBERS:,} parts")
        for entry in entries:
            # This reads no further than the size that is declared, and compares the CRC.
            with archive.open(entry) as part:
                content = part.read(entry.file_size + 1)
            if entry.filename in contents or len(content) != entry.file_size:
                raise ValueError(
                    f"{shown(entry.filename)} is there twice, or not as large as it says"
                )
            contents[entry.filename] = content
    return contents


def _unlike(value: object, form: object, place: str) -> Iterator[str]:
    """Where a value of JSON has another form than `ABOUT` says."""
    if isinstance(form, list | dict):
        kind, of_any = type(form), isinstance(form, list) or str in form
        if not isinstance(value, kind):
            yield f"{place} must be a {'list' if kind is list else 'mapping'}, got {quoted(value)}"
        elif of_any:
            inner = form[0] if kind is list else form[str]
            for key, item in enumerate(value) if kind is list else value.items():
                yield from _unlike(item, inner, f"{place}, {shown(key)}")
        elif value.keys() != form.keys():
            yield f"{place} must have {', '.join(sorted(form))}, got {', '.join(sorted(value))}"
        else:
            for key, inner in form.items():
                yield from _unlike(value[key], inner, f"{place}, {key}")
    elif isinstance(value, bool) or not isinstance(value, form):
        yield f"{place} is {shown(value)}, which is of another kind"


def wrong_name(by: str) -> str | None:
    """What is wrong with the name of who reports; None where nothing is."""
    if 0 < len(by) <= NAME and by == by.strip() and visible(by) == by:
        return None
    return f"by must be a name in one line, of 1 to {NAME} characters, got {quoted(visible(by))}"


def _other_sources(about: dict) -> list[str]:
    """Digests other than those that are listed, and names of data, networks and learners that are not known."""
    wrong = sources.differing(about["data"], about["weights"], sources.read())[0]
    settings = [name for name in ROW if name not in (*RESULTS, "tasks")]
    if len({itemgetter(*settings)(row) for row in about["results"]}) < len(about["results"]):
        wrong.append("rows of the same setting")
    lists = {
        "dataset": about["classes"],
        "learner": catalogue.registered_learners,
        "backbone": _backbones(about["results"]),
        "sampling": REDRAWN,
        "captioner": [None, *CAPTIONERS],
    }
    for kind, allowed in lists.items():
        strange = {row[kind] for row in about["results"]} - set(allowed)
        wrong += [f"{kind} {shown(name)} is not known" for name in sorted(strange)]
    for row in about["results"] if not wrong else ():
        wanted = (
            row["sampling"] == "biased",
            row["sampling"] == "re-split",
            REDRAWN[row["sampling"]],
        )
        if (row["captioner"] is not None, row["rounds"] is not None, row["redrawn"]) != wanted:
            wrong.append(f"captioner, rounds or redrawn of a row of {row['sampling']} tasks")
    for name, sizes in about["classes"].items():
        source = sources.read().data.get(source_of(name))
        problem = (
            source.miscount("novel", len(sizes), sum(sizes))
            if source and source.reader == name
            else ""
        )
        if problem:
            wrong.append(f"{shown(name)}: {problem}")
    return wrong or [
        f"no digest of {shown(row[column])}"
        for kind, column, name in (("data", "dataset", source_of), ("weights", "backbone", plain))
        for row in about["results"]
        if name(row[column]) not in about[kind]
    ]


def _backbones(rows: list[dict]) -> list[str]:
    """Names of backbones, and of the papers' own networks where a row has one."""
    allowed = catalogue.backbones()
    if any(row["backbone"].startswith(f"{catalogue.USER_CHECKPOINT}:") for row in rows):
        from .training.paper_networks import networks

        allowed += [
            f"{catalogue.USER_CHECKPOINT}:{network[-1]}"
            for paper in TRAINERS
            for network in networks(paper)
        ]
    return [name for name in allowed if name != catalogue.USER_CHECKPOINT]


def _wrong_classes(classes: dict[str, list[int]], parts: dict[str, list[int]]) -> list[str]:
    fits = {
        name: len(n) <= CLASSES and min(n, default=0) > 0 and sum(n) <= IMAGES
        for name, n in classes.items()
    }
    for name, numbers in parts.items():
        numbered = set(numbers) == set(range(len(set(numbers))))
        fits[name] = fits.get(name, False) and len(numbers) == len(classes[name]) and numbered
    return [
        f"classes of {shown(name)}: sizes that no data set has"
        for name, fit in fits.items()
        if not fit
    ]


def _right(content: bytes, row: dict, about: dict) -> tuple[np.ndarray | None, list[str]]:
    """The array of a row, and what is wrong with it or the tasks of the row."""
    try:
        array = _array(content, row)
    except ValueError as error:
        numbers = FORMS.get(row["sampling"], FORMS["closed"])[0]
        return None, [f"its array is not {numbers} ({reason(error)})"]
    if problem := _too_large(row, len(array)):
        return None, [problem]
    sizes = tuple(about["classes"][row["dataset"]])
    if row["sampling"] == "biased":
        return array, _wrong_biased(array, row, np.array(sizes))
    parts = tuple(about["parts"].get(row["dataset"], ()))
    facts = {name: row[name] for name in DRAWN_BY}
    try:
        tasks, digest, tested = _drawn(sizes, parts, **facts)
    except InputError as error:
        return None, [f"its tasks cannot be drawn ({error})"]
    is_resplit = row["sampling"] == "re-split"
    wrong = _wrong_shares(array, tested) if is_resplit else _too_many(array, row["queries"])
    if (tasks, digest) != (len(array), row["digest"]):
        wrong.append("its tasks are not those that its class sizes and seed give")
    return array, wrong


def _array(content: bytes, row: dict) -> np.ndarray:
    """The array of a row; raises ValueError where it is of another form."""
    _, kind, width = FORMS.get(row["sampling"], FORMS["closed"])
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    fits = version == (1, 0) and not fortran and dtype == np.dtype(kind)
    if not fits or len(shape) != 2 or shape[1] != width(row["ways"]):
        raise ValueError(
            f"an array must have shape (N, {width(row['ways'])}) of {kind}, got {shape} of {dtype}"
        )
    return np.frombuffer(file.read(), kind).reshape(shape)


def _too_large(row: dict, tasks: int) -> str:
    """Why tasks would take too long to draw; empty if they would not."""
    ways, shots, queries, rounds = (row[name] for name in ("ways", "shots", "queries", "rounds"))
    size = tasks * ways * (shots + queries)
    if not 0 < shots < DRAWN or not 0 < queries < DRAWN or size > DRAWN:
        return f"{shots} shots and {queries} queries in {tasks} tasks"
    if row["tasks"] is not None and row["tasks"] > DRAWN:
        return f"{row['tasks']} tasks"
    images = tasks * ways * shots * max(rounds or 0, ways * shots)
    if row["sampling"] == "re-split" and not 0 < images <= DRAWN:
        return f"{rounds} rounds in {tasks} tasks"
    return ""


def _too_many(right: np.ndarray, queries: int) -> list[str]:
    if right.max(initial=0) <= queries:
        return []
    return [f"more than {queries} queries of a class are right"]


def _wrong_biased(array: np.ndarray, row: dict, sizes: np.ndarray) -> list[str]:
    """What can be checked of tasks that cannot be drawn again: their number, their classes, and ranges."""
    classes, right = np.split(array, 2, axis=1)
    wrong = _too_many(right, row["queries"])
    if len(array) != row["tasks"]:
        wrong.append(f"{len(array)} tasks, not {row['tasks']}")
    if (
        classes.max(initial=0) >= len(sizes)
        or (np.diff(np.sort(classes, axis=1), axis=1) == 0).any()
    ):
        wrong.append("classes that the data set does not have, or one twice in a task")
    elif (sizes[classes] < row["shots"] + row["queries"]).any():
        wrong.append("classes with too few images")
    return wrong


def _wrong_shares(shares: np.ndarray, tested: tuple[int, ...]) -> list[str]:
    """Accuracies that are none, or that so many test images (0: their number varies) cannot give."""
    if not ((shares >= 0) & (shares <= 1)).all():
        return ["accuracies that are not from 0 to 1"]
    right = shares * tested
    if (abs(right - right.round()) <= 1e-6).all():
        return []
    return ["accuracies that no number of right images gives"]


def re_split(tasks: Tasks, new: Tasks, rounds: int, seed: int) -> tuple[str, tuple[int, ...]]:
    """Digest of tasks, their re-splits and their fresh test sets, and by `RESPLIT` how many images test each task.

    0 where that number varies, as for the bootstrap.
    """
    cuts = [
        tasks,
        *(resplit(tasks, name, rounds=rounds, seed=seed).tasks for name in ESTIMATORS),
        new,
    ]
    images = [(cut.query >= 0).sum(axis=1) for cut in cuts]
    tested = (int(n[0]) * len(n) // len(tasks) if (n == n[0]).all() else 0 for n in images)
    return hashlib.sha256("".join(cut.digest for cut in cuts).encode()).hexdigest(), tuple(tested)


@cache
def _drawn(
    sizes: tuple[int, ...],
    parts: tuple[int, ...],
    sampling: str,
    tasks: int | None,
    rounds: int | None,
    **shape: int,
) -> tuple[int, str, tuple[int, ...]]:
    """Of the tasks that the samplers draw from images in the order of their classes: number, digest, `re_split`'s."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    tasks = tasks or 0
    if sampling == "re-split":
        image_parts = np.repeat(parts, sizes) if parts else None
        with_oracle, new = fresh_test_sets.draw(labels, image_parts, tasks=tasks, **shape)
        return len(with_oracle), *re_split(with_oracle, new, rounds, shape["seed"])
    if sampling == "closed":
        sampled: Tasks = sample_closed(labels, tasks=tasks, skip_small_classes=True, **shape)
    else:
        sampled = sample_open(labels, max_tasks=tasks or None, skip_small_classes=True, **shape)
    return len(sampled), sampled.digest, ()


def _table(arrays: list[tuple[dict, np.ndarray]]) -> pd.DataFrame:
    """The results table of closed and open tasks."""
    import pandas as pd

    from fslcore.evaluation.table import RESULT_COLUMNS

    parts = [pd.DataFrame(columns=list(RESULT_COLUMNS))]
    for row, right in arrays:
        if row["sampling"] in ("closed", "open"):
            accuracy = 100 * right.sum(axis=1, dtype=np.int64) / (row["ways"] * row["queries"])
            table = pd.DataFrame({"task": np.arange(len(right)), "accuracy": accuracy})
            facts = {name: row[name] for name in RESULT_COLUMNS if name in row}
            parts.append(table.assign(**facts)[list(RESULT_COLUMNS)])
    return pd.concat(parts[1:] or parts, ignore_index=True)


def plain(name: str) -> str:
    """'clip' of 'clip-released:FILE'; one of the papers' own networks by its whole name."""
    if name.startswith(f"{catalogue.USER_CHECKPOINT}:"):
        return name
    return name.partition(":")[0].removesuffix("-released")


def member(i: int) -> str:
    """What the array of a row is called in the archive."""
    return f"right-{i:04d}.npy"
