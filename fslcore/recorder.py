"""Record any evaluation loop: which images each task used, and which queries were right.

A mean and a ± cannot be compared, corrected or extended to new images afterwards. The record can: `fslcore report`
reads it, and computes the three intervals of `fslcore.stats.three_intervals` from it. This module needs only NumPy, and
takes tensors of any library.
"""

from __future__ import annotations

import errno
import io
import json
import os
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path

import numpy as np

from .errors import InputError, flag, note, shown, whole
from .paths import check_expanded, check_output, check_zip, locked, replace_file

__all__ = ["ENDING", "Recorder", "Recording", "load", "record", "recording", "save"]

ENDING = ".npz"
FORMAT = "fslcore recording 1"
GROUPS = ("groups", "class_groups")
MOST = 2**53  # of seeds: integers up to here are exact in every file format
BLOCK = 20  # tasks after which a recording is written before it is finished
# Unfinished tasks are appended to the archive in blocks. Each begins with this (no text contains the first byte), then
# CRC-32, length and expanded length of compressed JSON, and the run. An incomplete block is ignored.
UNFINISHED = b"\xff\nfslcore recording, not finished\n"
HEAD = struct.Struct("<III16s")

Tasks = list[tuple[list[str], list[tuple[str, bool]]]]  # the support of each, and its queries with: was it right


@dataclass(frozen=True)
class Recording:
    """Tasks of several methods, as recorded by `Recorder`.

    Attributes
    ----------
    images : (N,) array of str
        Names of the images.
    classes : (N,) array of str
        Class of each image.
    support, query : dict of (T, ·) integer arrays
        By method: images of each task, by their position in ``images``, sorted by class and name; -1 is padding.
    correct : dict of (T, ·) bool arrays
        By method: whether each query was right. False on padding.
    facts : dict
        Further facts on the tasks: dataset and seed, if given.
    transductive : dict of bool
        By method, if given: whether an answer depends on the other queries of its task.
    groups : dict of (N,) arrays of str
        ``groups`` and ``class_groups``, as for `fslcore.stats.three_intervals`, if known.
    unfinished : dict of int
        Methods whose loop was stopped or is still running, with the number of tasks written so far.
    left_out : dict of int
        Tasks of further unfinished recordings, by method, if the method is also finished or has a longer one.
    """

    images: np.ndarray
    classes: np.ndarray
    support: dict[str, np.ndarray]
    query: dict[str, np.ndarray]
    correct: dict[str, np.ndarray]
    facts: dict
    transductive: dict[str, bool] = field(default_factory=dict)
    groups: dict[str, np.ndarray] = field(default_factory=dict)
    unfinished: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def methods(self) -> list[str]:
        """Names, in the order of recording."""
        return list(self.correct)


class Recorder:
    """Records tasks of one method, and writes them every 20 tasks and when the ``with`` block ends; see `record`."""

    def __init__(self, path: str | Path, method: str, transductive: bool | None = None, **facts: object):
        # Every possible error is raised before hours of work, not after.
        self.path = check_output(path, [ENDING], name="record")
        self.method = _text("method", method if method is None else str(method))
        self.transductive = transductive if transductive is None else flag("transductive", transductive)
        unknown = sorted(set(facts) - {"dataset", "seed"})
        if unknown:
            raise InputError(f"{unknown[0]}: dataset, seed and transductive can be set for a recording")
        self.facts = {name: value for name, value in facts.items() if value is not None}
        if "dataset" in self.facts:
            self.facts["dataset"] = _text("dataset", facts["dataset"])
        if "seed" in self.facts:
            self.facts["seed"] = whole("seed", facts["seed"], 0, MOST)
        self._done, blocks = self._there()
        self._before = _class_of(self._done)
        self._replaced = {run for run, of in _runs(blocks).items() if of["method"] == self.method}
        self._own = os.urandom(8)
        self._kept: tuple = (0,)  # number of tasks written as unfinished, their run, and the file
        self._place: dict[tuple[str, str | None], int] = {}  # of images with their classes, in these blocks
        self._class_of: dict[str, str] = {}
        self._first: dict[str, int] = {}
        self._tasks: list[tuple[list[str], list[tuple[str, bool]]]] = []
        self._asked = self._strange = 0  # queries, and those whose prediction is not a class of their task

    def __repr__(self) -> str:
        return f"Recorder({str(self.path)!r}, {self.method!r}): {len(self)} tasks"

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.save()
        elif self._tasks and self._keep():
            note(f"record: {self.path} holds the {len(self)} tasks of {shown(self.method)} until here; not finished")

    def __len__(self) -> int:
        return len(self._tasks)

    def task(
        self,
        support: Iterable,
        query: Iterable,
        labels: Iterable,
        predictions: Iterable,
        support_labels: Iterable | None = None,
        classes: Sequence | None = None,
    ) -> None:
        """Record one task.

        Parameters
        ----------
        support, query : (n,) and (q,)
            Names or numbers of the images: the same for the same image in every task.
        labels : (q,)
            True class of each query.
        predictions : (q,)
            Predictions of the method, in the same terms as ``labels``; None or a negative number if it made none.
        support_labels : (n,), optional
            Class of each support image; required for images that are never a query.
        classes : (K,), optional
            If labels are numbers within the task, 0 to K - 1: the class of the data set for each.

        Raises
        ------
        InputError
            Different lengths, an image twice in the task, pixels in place of a name, an image of two classes or
            none, a label without a class; predictions in other terms than the labels.
        """
        number = len(self._tasks)
        support, query, labels, predictions = map(_plain, (support, query, labels, predictions))
        of_support = None if support_labels is None else _plain(support_labels)
        for name, values, places in (
            ("labels", labels, query),
            ("predictions", predictions, query),
            ("support_labels", of_support, support),
        ):
            if values is not None and len(values) != len(places):
                raise InputError(f"task {number}: {len(values)} {name} for {len(places)} images")
        if not query:
            raise InputError(f"task {number}: no query")
        if nested := [i for i in (*support, *query) if isinstance(i, list | dict)]:
            raise InputError(f"task {number}: image {shown(nested[0])}; names or numbers are needed, not pixels")
        images = [str(i) for i in (*support, *query)]
        if len(set(images)) < len(images):
            twice = next(i for i in images if images.count(i) > 1)
            raise InputError(f"task {number}: image {shown(twice)} occurs twice in it")
        true = [*(of_support or []), *labels]
        if unsaid := [label for label in true if label is None or label != label]:
            raise InputError(f"task {number}: label {unsaid[0]}; the class of each image is needed")
        named = self._named(number, true, None if classes is None else _plain(classes))
        self._same_terms(number, true, predictions, classes)
        right = [label == said for label, said in zip(labels, predictions)]
        places = images if of_support is not None else images[len(support) :]
        for image, label in zip(places, named):
            self._check_class(number, image, label)
        for image, label in zip(places, named):  # nothing of a refused task is recorded
            self._class_of[image] = label
            self._first.setdefault(image, number)
        self._tasks.append((images[: len(support)], list(zip(images[len(support) :], right))))
        self._asked += len(right)
        known = {None, *true}
        self._strange += sum(said not in known for said in predictions)
        if len(self._tasks) % BLOCK == 0:
            self._keep()

    def _same_terms(self, number: int, labels: list, predictions: list, classes: Sequence | None) -> None:
        """Raise `InputError` for predictions that could never be right: all would be wrong, without an error."""
        said = [value for value in predictions if value is not None]
        for name, values in (("label", labels), ("prediction", said)):
            if several := [value for value in values if isinstance(value, list | tuple | dict)]:
                hint = ", the argmax of its scores" * (name == "prediction")
                raise InputError(f"task {number}: {name} {shown(several[0])}; one class per image is needed{hint}")
        beyond = [] if classes is None else [v for v in said if isinstance(v, int | float) and v >= len(classes)]
        if beyond:
            raise InputError(
                f"task {number}: prediction {beyond[0]}; 0 to {len(classes) - 1}, indices in classes like the labels, "
                "are allowed"
            )
        kinds = [{type(v) if isinstance(v, str | bytes) else float for v in values} for values in (labels, said)]
        if said and kinds[0].isdisjoint(kinds[1]):
            raise InputError(
                f"task {number}: label {labels[-1]!r} and prediction {said[-1]!r}; predictions in the same terms as "
                "the labels are needed"
            )

    def _named(self, number: int, labels: list, classes: list | None) -> list[str]:
        if classes is None:
            return [str(label) for label in labels]
        for label in labels:
            if not (isinstance(label, int) and 0 <= label < len(classes)):
                raise InputError(
                    f"task {number}: label {shown(label)}; 0 to {len(classes) - 1}, indices in classes, are allowed"
                )
        return [str(classes[label]) for label in labels]

    def _check_class(self, number: int, image: str, label: str) -> None:
        """Raise `InputError` for an image that had another class, in a task or in the file."""
        known = self._class_of.get(image, label)
        if known != label:
            first = self._first[image]
            raise InputError(
                f"task {number}: image {shown(image)} is of class {shown(label)}, and was of {shown(known)} in task "
                f"{first}; labels are classes of the data set: where yours are numbers within a task, give classes="
            )
        if (there := self._before.get(image, label)) != label:
            raise InputError(
                f"task {number}: image {shown(image)} is of class {shown(label)}, and of {shown(there)} in {self.path}"
            )

    def save(self) -> Path:
        """Write the tasks as finished, together with those of other methods in the file.

        The recording of this method that the file contained when the recorder was made is replaced. One that
        another process has written since then is kept; these tasks get the method's name with a number, and a note.

        Raises
        ------
        InputError
            No task, a support image without a class, other classes than in the file for an image.
        """
        if not self._tasks:
            raise InputError(f"record: no task of {self.method} was recorded")
        if 2 * self._strange > self._asked:
            note(
                f"record: {self._strange / self._asked:.0%} of the predictions of {self.method} are not a class of "
                "their task; are they in the same terms as the labels?"
            )
        unknown = next((i for support, _ in self._tasks for i in support if i not in self._class_of), None)
        if unknown is not None:
            raise InputError(
                f"record: image {shown(unknown)} is never a query, so its class is not known; give support_labels"
            )
        try:
            with locked(self.path):
                self._merge()
        except (InputError, OSError):
            self._keep()
            raise
        return self.path

    def _merge(self) -> None:
        done, blocks = self._there()
        class_of = _union({Path(): self._class_of, self.path: _class_of(done)}, "the class of image {}")
        finished, method = {m: _tasks(done, m) for m in done.methods}, self.method
        if method in finished and (method not in self._done.methods or finished[method] != _tasks(self._done, method)):
            self.method = next(name for k in count(2) if (name := f"{method} ({k})") not in finished)
            note(
                f"record: {method} was recorded in {self.path} by another process meanwhile; this recording of it is "
                f"{self.method} there"
            )
        made = _recording(finished | {self.method: self._tasks}, class_of, {**done.facts, **self.facts})
        said = {m: yes for m, yes in done.transductive.items() if m != self.method}
        said |= {} if self.transductive is None else {self.method: self.transductive}
        made = replace(made, transductive=said)
        others = [block for run, block in blocks if run not in {*self._replaced, self._run}]
        save(self.path, made, b"".join(others))
        self._done = made

    def _there(self) -> tuple[Recording, list[tuple[bytes, bytes]]]:
        """`_read` of the target file, which may be missing."""
        if not self.path.is_file():
            return _recording({}, {}, {}), []
        done, blocks = _read(self.path)
        if done.groups:
            raise InputError(
                f"record = {self.path}; it holds groups of images, which fslcore evaluate wrote and a loop does not "
                "say; record into another file, and name both to fslcore report"
            )
        return done, blocks

    @property
    def _run(self) -> bytes:
        return self._own + struct.pack("<Q", os.getpid())  # a fork continues with a copy of this recorder

    def _keep(self) -> bool:
        """Append the tasks that are missing in the file to it, as unfinished; returns whether they are there.

        If nothing can be written, they stay in memory until the next block, and the loop continues.
        """
        try:
            with locked(self.path), open(self.path, "ab", buffering=0) as file:
                now = os.fstat(file.fileno())
                where = self._run, now.st_ino
                # Another process that rewrites the file may have left out earlier blocks.
                start = self._kept[0] if self._kept[1:] == where else 0
                written = start == len(self._tasks) or self._append(file, start)
                if not written:  # a part of it
                    file.truncate(now.st_size)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            note(f"record: {self.path}: {error.strerror}; tasks of {shown(self.method)} are in memory only")
            self._kept = (0,)
            return False
        self._kept = (len(self._tasks), *where)
        return True

    def _append(self, file: io.FileIO, start: int) -> bool:
        place = self._place = self._place if start else {}
        before = len(place)

        def places(images: Iterable[str]) -> list[int]:
            return [place.setdefault((image, self._class_of.get(image)), len(place)) for image in images]

        tasks = [
            (places(support), places(image for image, _ in query), "".join("01"[right] for _, right in query))
            for support, query in self._tasks[start:]
        ]
        images = [*islice(place, before, None)]
        found = dict(method=self.method, facts=self.facts, transductive=self.transductive)
        found |= dict(start=start, images=images, tasks=tasks)
        text = json.dumps(found, separators=(",", ":")).encode()
        packed = zlib.compress(text, 1)
        head = HEAD.pack(zlib.crc32(packed), len(packed), len(text), self._run)
        return file.write(UNFINISHED + head + packed) == len(UNFINISHED + head + packed)


def recording(
    names: Sequence[str],
    classes: Sequence[str],
    runs: Mapping[str, tuple],
    facts: dict,
    groups: dict[str, np.ndarray],
) -> Recording:
    """Results of learners on tasks, in the form of `record`.

    Parameters
    ----------
    names, classes : (N,) str
        Of the images.
    runs : mapping
        By the name of a method: its `fslcore.tasks.Tasks`, their `fslcore.evaluation.Record`, and whether its answers
        depend on each other.
    facts, groups : dict
        As in `Recording`, with groups (N,) of all images.
    """
    parts = {
        "support": {name: tasks.support for name, (tasks, *_) in runs.items()},
        "query": {name: tasks.query for name, (tasks, *_) in runs.items()},
        "correct": {name: record.correct for name, (_, record, _) in runs.items()},
    }
    given = Recording(np.array(names, str), np.array(classes, str), **parts, facts=facts)
    made = _recording({name: _tasks(given, name) for name in runs}, _class_of(given), facts)
    place = {image: i for i, image in enumerate(given.images.tolist())}
    order = [place[image] for image in made.images.tolist()]
    transductive = {name: bool(depends) for name, (*_, depends) in runs.items()}
    return replace(made, transductive=transductive, groups={name: of[order].astype(str) for name, of in groups.items()})


def save(path: str | Path, found: Recording, unfinished: bytes = b"") -> None:
    """Write a recording, replacing the file's content, and blocks of other unfinished recordings."""
    about = {"format": FORMAT, "methods": found.methods, "facts": found.facts}
    about |= {"transductive": found.transductive} if found.transductive else {}
    arrays = {"about": np.array(json.dumps(about, sort_keys=True)), "images": found.images, "classes": found.classes}
    for k, method in enumerate(found.methods):
        arrays |= {f"{name}_{k}": getattr(found, name)[method] for name in ("support", "query", "correct")}

    def write(part: Path) -> None:
        with open(part, "wb") as file:
            np.savez_compressed(file, **arrays, **found.groups)
            file.write(unfinished)

    replace_file(Path(path), write)


def record(path: str | Path, method: str, transductive: bool | None = None, **facts: object) -> Recorder:
    """Record an evaluation loop: ``with record("mine.npz", "my method") as r: r.task(…)`` for each task.

    Tasks are written every 20 tasks, as unfinished; the recording is finished when the block ends without an error.
    If a loop is killed, at most 20 tasks are lost. Several methods go into one file, one after another or at the
    same time. An existing method is replaced when the new recording is finished. If processes record
    one method at the same time, each recording is kept, under names with a number.

    Parameters
    ----------
    path : path
        A .npz; ``~`` is the home folder.
    method : str
        The method's name.
    transductive : bool, optional
        Whether an answer depends on the other queries of its task, as with batch statistics of the queries
        (`fslcore.evaluation.probe` checks this). If True, the interval for new images counts how an image changes the
        other answers; if not given, the report has a note.
    **facts
        ``dataset``, a name or path, and ``seed``, a whole number of at least 0, for the report.

    Raises
    ------
    InputError
        At once, not when the block ends: another suffix, a path that cannot be written to, an existing file that is
        not a recording; a name that is empty or not Unicode; other facts; transductive neither True nor False.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "mine.npz"
    >>> with record(file, "guess") as r:
    ...     r.task(support=["a", "b"], query=["c", "d"], labels=[0, 1], predictions=[0, 0], support_labels=[0, 1])
    >>> load(file).correct["guess"].tolist()
    [[True, False]]
    """
    return Recorder(path, method, transductive, **facts)


def load(path: str | Path | Sequence[str | Path]) -> Recording:
    """A recording from its file, or from several files, each with other methods on images of the same names.

    For an unfinished method, the tasks written so far are returned, and `Recording.unfinished` names it. Its
    tasks whose support has an image of unknown class are left out.

    Raises
    ------
    InputError
        No such file, or one that `Recorder` did not write. Nothing is unpickled. For several: a method in two,
        an image of two classes, or facts that differ.
    """
    if isinstance(path, (str, os.PathLike)):
        return _load(Path(path))
    paths = [Path(one) for one in path]
    return _together({one: _load(one) for one in paths})


def _load(path: Path) -> Recording:
    done, blocks = _read(path)
    if done.methods and (not blocks or done.groups):
        return done
    class_of, facts = _class_of(done), done.facts
    kept, unfinished, left_out = {m: _tasks(done, m) for m in done.methods}, {}, {}
    said = dict(done.transductive)
    for run in sorted(_runs(blocks).values(), key=lambda run: -len(run["tasks"])):
        method, classes = run["method"], class_of | run["classes"]
        tasks = [task for task in run["tasks"] if all(image in classes for image in task[0])]
        if method in kept or not tasks or any(classes[image] != label for image, label in class_of.items()):
            left_out[method] = left_out.get(method, 0) + len(run["tasks"])
        else:
            kept[method], unfinished[method], class_of, facts = tasks, len(tasks), classes, {**run["facts"], **facts}
            said |= {} if run["transductive"] is None else {method: run["transductive"]}
    if not kept:
        raise InputError(f"record: {path} is not a recording (it was stopped before the first {BLOCK} tasks)")
    more = dict(transductive=said, unfinished=unfinished, left_out=left_out)
    return replace(_recording(kept, class_of, facts), **more)


def _read(path: Path) -> tuple[Recording, list[tuple[bytes, bytes]]]:
    """The finished part of a file, and the blocks of the unfinished part, each with its run."""
    if not path.is_file():
        raise InputError(f"record: no file {path}")
    try:
        archive, *parts = path.read_bytes().split(UNFINISHED)
        blocks, expanded = [], 0
        for part in parts:
            crc, length, size, run = HEAD.unpack(part[: HEAD.size]) if len(part) > HEAD.size else (0, 0, 0, b"")
            packed = part[HEAD.size : HEAD.size + length]
            if length and zlib.crc32(packed) == crc:  # otherwise it is incomplete
                blocks.append((run, UNFINISHED + part[: HEAD.size + length]))
                expanded += size
        check_expanded("record", path, expanded)
        if UNFINISHED.startswith(archive):  # nothing, or the beginning of a first block
            return _recording({}, {}, {}), blocks
        check_zip("record", path, file=io.BytesIO(archive))
        with np.load(io.BytesIO(archive), allow_pickle=False) as z:
            about = json.loads(str(z["about"]))
            if about["format"] != FORMAT:
                raise ValueError(f"its format is {about['format']}")
            kept = {
                name: {m: z[f"{name}_{k}"] for k, m in enumerate(about["methods"])}
                for name in ("support", "query", "correct")
            }
            # Files of earlier versions contain neither.
            more = {"transductive": about.get("transductive", {}), "groups": {k: z[k] for k in GROUPS if k in z}}
            return Recording(z["images"], z["classes"], **kept, facts=about["facts"], **more), blocks
    except InputError:
        raise
    except Exception as error:  # broken archives and other files raise many kinds
        raise InputError(f"record: {path} is not a recording ({' '.join(str(error).split())[:120]})") from None


def _runs(blocks: list[tuple[bytes, bytes]]) -> dict[bytes, dict]:
    """Blocks by their run: its method, facts, tasks, and the known classes of its images."""
    runs: dict[bytes, dict] = {}
    for run, block in blocks:
        size = HEAD.unpack_from(block, len(UNFINISHED))[2]
        found = json.loads(zlib.decompressobj().decompress(block[len(UNFINISHED) + HEAD.size :], size))
        if not found["start"]:
            runs[run] = {name: found.get(name) for name in ("method", "facts", "transductive")}
            runs[run] |= {"images": [], "tasks": [], "classes": {}}
        of = runs.get(run)
        if of is None or len(of["tasks"]) != found["start"]:  # an earlier block is damaged
            continue
        of["images"] += [image for image, _ in found["images"]]
        of["classes"] |= {image: label for image, label in found["images"] if label is not None}
        of["tasks"] += [
            ([of["images"][i] for i in support], [(of["images"][i], r == "1") for i, r in zip(query, right)])
            for support, query, right in found["tasks"]
        ]
    return runs


def _class_of(found: Recording) -> dict[str, str]:
    """The class of each image by its name."""
    return dict(zip(found.images.tolist(), found.classes.tolist()))


def _tasks(found: Recording, method: str) -> Tasks:
    images = found.images.tolist()
    rows = zip(*(getattr(found, name)[method].tolist() for name in ("support", "query", "correct")))
    return [
        ([images[i] for i in support if i >= 0], [(images[i], right) for i, right in zip(query, correct) if i >= 0])
        for support, query, correct in rows
    ]


def _recording(tasks: dict[str, Tasks], class_of: dict[str, str], facts: dict) -> Recording:
    """Tasks by method, by the names of images, as arrays."""
    images = sorted(class_of, key=lambda image: (class_of[image], image))
    place = {image: i for i, image in enumerate(images)}
    support, query, correct = {}, {}, {}
    for method, of in tasks.items():
        ordered = [sorted((place[i], bool(r)) for i, r in asked) for _, asked in of]
        support[method] = _padded([sorted(place[i] for i in shown) for shown, _ in of], -1, np.int32)
        query[method] = _padded([[i for i, _ in asked] for asked in ordered], -1, np.int32)
        correct[method] = _padded([[r for _, r in asked] for asked in ordered], False, bool)
    classes = np.array([class_of[image] for image in images])
    return Recording(np.array(images), classes, support, query, correct, facts)


def _together(found: dict[Path, Recording]) -> Recording:
    """One recording of all: images are identified by name."""
    holder: dict[str, Path] = {}
    for path, one in found.items():
        for method in one.methods:
            if method in holder:
                raise InputError(f"record: method {method} is in {holder[method]} and in {path}; one is allowed")
            holder[method] = path
    class_of = _union({path: _class_of(one) for path, one in found.items()}, "the class of image {}")
    facts = _union({path: one.facts for path, one in found.items()}, "{}")
    made = _recording({m: _tasks(found[path], m) for m, path in holder.items()}, class_of, facts)
    more = {
        name: {m: value for one in found.values() for m, value in getattr(one, name).items()}
        for name in ("transductive", "unfinished", "left_out")
    }
    known = [name for name in GROUPS if any(name in one.groups for one in found.values())]
    return replace(made, groups={name: _groups(name, found, made.images.tolist()) for name in known}, **more)


def _union(parts: dict[Path, dict], what: str) -> dict:
    """What files say, which has to be the same where several say it of one key; ``what`` names it in a message."""
    union: dict = {}
    for path, part in parts.items():
        for key, value in part.items():
            if union.setdefault(key, value) != value:
                raise InputError(
                    f"record: {what.format(shown(key))} is {shown(value)} in {path}, elsewhere {shown(union[key])}; "
                    "the same is needed"
                )
    return union


def _groups(name: str, found: dict[Path, Recording], images: list[str]) -> np.ndarray:
    """The group of each image, on which all files with groups must agree."""
    said = {path: one for path, one in found.items() if name in one.groups}
    parts = {path: dict(zip(one.images.tolist(), one.groups[name].tolist())) for path, one in said.items()}
    of = _union(parts, f"{name} of image {{}}")
    if lacking := [image for image in images if image not in of]:
        raise InputError(
            f"record: {name} of image {shown(lacking[0])} is in none of the files, but known for others; files "
            "that all say it are needed"
        )
    return np.array([of[image] for image in images])


def _text(name: str, value: object) -> str:
    """A name, or the text of a path, that a report can print."""
    text = str(value)
    if not isinstance(value, (str, Path)) or not text.strip():
        raise InputError(f"{name} = {value!r}; a name is needed")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name} = {shown(ascii(text))}; text that can be written as UTF-8 is allowed") from None
    return text


def _plain(values: Iterable) -> list:
    """A list of Python's own values, also from tensors and arrays; 1.0 and True become 1, the same class or image."""
    found = values.tolist() if hasattr(values, "tolist") else list(values)
    found = [_own(v) if hasattr(v, "item") else v for v in (found if isinstance(found, list) else [found])]
    return [int(v) if isinstance(v, bool) or (isinstance(v, float) and v.is_integer()) else v for v in found]


def _own(value: object) -> object:
    """The value of an array or tensor of one number; the nested list of a larger one."""
    found = value.tolist() if hasattr(value, "tolist") else value.item()
    while isinstance(found, list) and len(found) == 1:
        found = found[0]
    return found


def _padded(rows: list[list], pad: object, kind: type) -> np.ndarray:
    """Rows of any lengths as one array."""
    out = np.full((len(rows), max(map(len, rows))), pad, kind)
    for at, row in enumerate(rows):
        out[at, : len(row)] = row
    return out
