"""Files that `fslcore.tools.pack` wrote and others sent: what is checked before a number of one is shown.

A pack is a zip archive of ``about.json`` and one array a row of its ``results``, ``right-0000.npy``: (T, K) numbers of
queries that were right, by task and class. No names of files, no paths, nothing that is run. What `load` checks proves
that a file is consistent: that its digests are those of the manifest, and that its tasks are those which the
samplers draw from its class sizes and seeds. It does not prove that the learners were ever run.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import catalogue, sources
from ..datasets.load import source_of
from ..errors import InputError, reason, shown, visible
from ..paths import DATA
from ..tasks import Tasks, sample_closed, sample_open

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ABOUT", "FORMAT", "Pack", "contributed", "load", "member", "plain", "wrong_name"]

FORMAT = 1
BYTES, EXPANDED, MEMBERS = 16 * 2**20, 64 * 2**20, 5000  # of a file: at most so many, expanded, and arrays
NAME = 80  # characters of the name of who reports
IMAGES, CLASSES, DRAWN = 10**8, 10**5, 10**8  # of a data set; images in all tasks of a row
BROKEN = (OSError, EOFError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error)
#: What ``about.json`` holds: a list or a mapping of a form, a mapping with these keys, a type, or one of several.
ROW = {
    **dict.fromkeys(("dataset", "backbone", "learner", "sampling", "digest"), str),
    **dict.fromkeys(("ways", "shots", "queries", "seed"), int),
    "tasks": int | None,
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
        Results table of `fslcore.evaluation.run`, a row a task.
    """

    path: Path
    about: dict
    results: pd.DataFrame

    @property
    def by(self) -> str:
        """Who reports it. Any text in one line: whoever shows it escapes it."""
        return self.about["by"]

    @property
    def images(self) -> dict[str, int]:
        """Number of images by data set."""
        return {name: sum(sizes) for name, sizes in self.about["classes"].items()}


def contributed(folder: Path | None = None) -> list[Pack]:
    """The packs in ``data/contributed`` (or another folder), in the order of their names; errors as for `load`."""
    folder = DATA / "contributed" if folder is None else folder
    there = [path for path in sorted(folder.glob("[!.]*")) if path.name != "README.md"]
    return [_load(path, path.stat().st_mtime_ns, os.environ.get("FSLCORE_SOURCES")) for path in there]


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
        about = json.loads(members.pop("about.json"), parse_constant=_no_number)
    except BROKEN as error:
        raise InputError(f"{path.name}: no pack can be read ({reason(error)})") from None
    problems = list(_unlike(about, ABOUT, "about.json"))
    if not problems and about["format"] != FORMAT:
        problems.append(f"format {about['format']}; {FORMAT} is read")
    if not problems and members.keys() != {member(i) for i in range(len(about["results"]))}:
        problems.append(f"{len(members)} arrays; one a row of results is needed, {len(about['results'])} in all")
    if not problems:
        problems += [wrong for wrong in [wrong_name(about["by"])] if wrong]
        try:
            problems += _other_sources(about)
        except InputError as error:  # a data set with settings that it does not have
            problems.append(str(error))
        problems += _wrong_classes(about["classes"])
    tables = []
    for i, row in enumerate([] if problems else about["results"]):
        right, wrong = _right(members[member(i)], row, about)
        problems += [f"row {i} ({row['learner']} on {row['dataset']}, {row['backbone']}): {what}" for what in wrong]
        tables.append((row, right))
    if problems:
        problems = list(dict.fromkeys(problems))
        more = f" and {len(problems) - 20} more" if len(problems) > 20 else ""
        raise InputError(f"{path.name}: {'; '.join(problems[:20])}{more}")
    return Pack(path, about, _table(tables))


_load = cache(lambda path, time, manifest: load(path))


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")


def _members(path: Path) -> dict[str, bytes]:
    """Contents by name, where they are as large as they say, and not too large."""
    if path.stat().st_size > BYTES:
        raise ValueError(f"{path.stat().st_size:,} bytes; {BYTES:,} are allowed")
    found = {}
    with zipfile.ZipFile(path) as archive:
        there = archive.infolist()
        if len(there) > MEMBERS or sum(one.file_size for one in there) > EXPANDED:
            raise ValueError(f"it expands too far; {EXPANDED:,} bytes in {MEMBERS:,} parts are allowed")
        for one in there:
            with archive.open(one) as part:  # reads no further than the size that is declared, and compares the CRC
                content = part.read(one.file_size + 1)
            if one.filename in found or len(content) != one.file_size:
                raise ValueError(f"{shown(one.filename)} is there twice, or not as large as it says")
            found[one.filename] = content
    return found


def _unlike(value: object, form: object, where: str) -> Iterator[str]:
    """Where a value of JSON has another form than `ABOUT` says."""
    if isinstance(form, list | dict):
        kind, of_any = type(form), isinstance(form, list) or str in form
        if not isinstance(value, kind):
            yield f"{where} is {shown(value)}; a {'list' if kind is list else 'mapping'} is needed"
        elif of_any:
            inner = form[0] if kind is list else form[str]
            for key, one in enumerate(value) if kind is list else value.items():
                yield from _unlike(one, inner, f"{where}, {shown(key)}")
        elif value.keys() != form.keys():
            yield f"{where} has {shown(sorted(value))}; {', '.join(sorted(form))} are needed"
        else:
            for key, inner in form.items():
                yield from _unlike(value[key], inner, f"{where}, {key}")
    elif isinstance(value, bool) or not isinstance(value, form):
        yield f"{where} is {shown(value)}, which is of another kind"


def wrong_name(by: str) -> str | None:
    """What is wrong with the name of who reports; None where nothing is."""
    fits = 0 < len(by) <= NAME and by == by.strip() and visible(by) == by
    return None if fits else f"by = {shown(visible(by))}; a name in one line, of 1 to {NAME} characters, is needed"


def _other_sources(about: dict) -> list[str]:
    """Digests other than those that are listed, and names of data, networks and learners that are not known."""
    wrong = sources.differing(about["data"], about["weights"], sources.read())[0]
    same = [tuple(row[name] for name in ROW if name not in ("digest", "tasks")) for row in about["results"]]
    wrong += ["rows of the same setting"] * (len(set(same)) < len(same))
    lists = {"dataset": about["classes"], "learner": catalogue.known, "backbone": catalogue.backbones()}
    for kind, known in {**lists, "sampling": ("closed", "open")}.items():
        of = {row[kind] for row in about["results"]} - set(known)
        wrong += [f"{kind} {shown(name)} is not known" for name in sorted(of)]
    return wrong or [
        f"no digest of {shown(row[column])}"
        for kind, column, name in (("data", "dataset", source_of), ("weights", "backbone", plain))
        for row in about["results"]
        if name(row[column]) not in about[kind]
    ]


def _wrong_classes(classes: dict[str, list[int]]) -> list[str]:
    fits = {name: len(n) <= CLASSES and min(n, default=0) > 0 and sum(n) <= IMAGES for name, n in classes.items()}
    return [f"classes of {shown(name)}: sizes that no data set has" for name, fit in fits.items() if not fit]


def _right(content: bytes, row: dict, about: dict) -> tuple[np.ndarray | None, list[str]]:
    """(T, K) right queries of a row, and what is wrong with them or its tasks."""
    try:
        file = io.BytesIO(content)
        version, (shape, fortran, kind) = np.lib.format.read_magic(file), np.lib.format.read_array_header_1_0(file)
        if version != (1, 0) or fortran or kind != np.dtype("<u2") or len(shape) != 2 or shape[1] != row["ways"]:
            raise ValueError(f"an array {shape} of {kind}")
        right = np.frombuffer(file.read(), "<u2").reshape(shape)
    except ValueError as error:
        return None, [f"its array is not (tasks, ways) of 16-bit whole numbers ({reason(error)})"]
    size = right.size * (row["shots"] + row["queries"])
    if not 0 < row["shots"] < DRAWN or not 0 < row["queries"] < DRAWN or size > DRAWN:
        return None, [f"{row['shots']} shots and {row['queries']} queries in {len(right)} tasks"]
    if row["tasks"] is not None and row["tasks"] > DRAWN:
        return None, [f"{row['tasks']} tasks"]
    wrong = (
        [f"more than {row['queries']} queries of a class are right"] if right.max(initial=0) > row["queries"] else []
    )
    drawn = (row[name] for name in ("sampling", "tasks", "ways", "shots", "queries", "seed"))
    try:
        n, digest = _drawn(tuple(about["classes"][row["dataset"]]), *drawn)
    except InputError as error:
        return None, [*wrong, f"its tasks cannot be drawn ({error})"]
    if (n, digest) != (len(right), row["digest"]):
        wrong.append("its tasks are not those that its class sizes and seed give")
    return right, wrong


@cache
def _drawn(sizes: tuple[int, ...], sampling: str, tasks: int | None, *shape: int) -> tuple[int, str]:
    """Number and digest of the tasks that the samplers draw from images in the order of their classes."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    named = dict(zip(("ways", "shots", "queries", "seed"), shape), skip_small_classes=True)
    if sampling == "closed":
        found: Tasks = sample_closed(labels, tasks=0 if tasks is None else tasks, **named)
    else:
        found = sample_open(labels, max_tasks=tasks, **named)
    return len(found), found.digest


def _table(tables: list[tuple[dict, np.ndarray]]) -> pd.DataFrame:
    import pandas as pd

    from ..evaluation.table import COLUMNS

    made = []
    for row, right in tables:
        accuracy = 100 * right.sum(axis=1, dtype=np.int64) / (row["ways"] * row["queries"])
        of = {name: row[name] for name in COLUMNS if name in row}
        made.append(pd.DataFrame({"task": np.arange(len(right)), "accuracy": accuracy}).assign(**of)[list(COLUMNS)])
    return pd.concat(made, ignore_index=True)


def plain(name: str) -> str:
    """'clip' of 'clip-released:FILE'."""
    return name.partition(":")[0].removesuffix("-released")


def member(i: int) -> str:
    """What the array of a row is called in the archive."""
    return f"right-{i:04d}.npy"
