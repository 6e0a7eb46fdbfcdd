"""Record any evaluation loop: which images each task used, and which queries were right.

A mean and a ± cannot be compared, corrected or extended to new images afterwards. The record can:
``fslcore report`` reads it, and computes the three intervals of `fslcore.stats.three_intervals` from
it. This module needs only NumPy, and takes tensors of any library.

A recording is a text file with one JSON object per line. The first line is a header, the last one
counts the tasks. Images have numbers, from 0 on, in the order in which the lines introduce them::

    {"format":"fslcore recording 1","method":"ProtoNet","dataset":"birds"}
    {"images":{"a.jpg":{"class":"cat"},"b.jpg":{"class":"cat"}},"support":[0],"query":[1],"correct":[1]}
    {"tasks":1}

Another header begins the recording of another method. ``fslcore evaluate`` writes such files; a loop
writes one file per method. Images may have ``groups`` and ``class_groups`` beside their class.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InputError, choice, flag, quoted, reason, shown, warn, whole
from .paths import check_output, is_at, note_replacement, replace_file

if TYPE_CHECKING:
    from .evaluation import Outcomes
    from .tasks import Tasks

__all__ = [
    "ENDING",
    "Recorder",
    "Recording",
    "is_earlier_part",
    "is_recording",
    "load",
    "record",
    "save",
]

ENDING = ".jsonl"
FORMAT = "fslcore recording 1"
BEGINNING = b'{"format":"fslcore recording'
FACTS = ("dataset", "seed")
GROUPS = ("groups", "class_groups")
LARGEST_SEED = 2**53  # integers up to here are exact in every file format


@dataclass(frozen=True)
class Recording:
    """Tasks of several methods, as recorded by `Recorder`.

    Attributes
    ----------
    images : (N,) array of str
        Names of the images.
    classes : (N,) array of str
        Class of each image.
    support, query : dict[str, Any] of (T, ·) integer arrays
        By method: images of each task, by their position in ``images``, sorted by class and name;
        -1 is padding.
    correct : dict[str, Any] of (T, ·) bool arrays
        By method: whether each query was right. False on padding.
    facts : dict[str, Any]
        Further facts on the tasks: dataset and seed, if given.
    transductive : dict[str, Any] of bool
        By method, if given: whether an answer depends on the other queries of its task.
    groups : dict[str, Any] of (N,) arrays of str
        ``groups`` and ``class_groups``, as for `fslcore.stats.three_intervals`, if known.
    unfinished : tuple of str
        Methods whose loop was stopped or is still running.
    """

    images: np.ndarray
    classes: np.ndarray
    support: dict[str, np.ndarray]
    query: dict[str, np.ndarray]
    correct: dict[str, np.ndarray]
    facts: dict[str, Any]
    transductive: dict[str, bool]
    groups: dict[str, np.ndarray]
    unfinished: tuple[str, ...]

    @property
    def methods(self) -> list[str]:
        """Names, in the order of recording."""
        return list(self.correct)


# Writing ------------------------------------------------------------------------------------------


def record(
    path: str | Path,
    method: str,
    transductive: bool | None = None,
    *,
    dataset: str | Path | None = None,
    seed: int | None = None,
) -> Recorder:
    """Record an evaluation loop: ``with record("mine.jsonl", "my method") as r: r.task(…)`` for
    each task.

    Each task is written at once, to ``mine.part.jsonl``, which `load` and ``fslcore report`` read
    too: a loop that is killed, or ends because the disk is full, loses at most the task in hand.
    When the block ends without an error, the file becomes ``mine.jsonl``, in place of an earlier
    recording of this method, which a note announces when the block begins. If a loop that was
    stopped is run again, its tasks are kept as ``mine.part-1.jsonl``, and a note says so.

    Parameters
    ----------
    path : path
        A .jsonl for this method alone; ``~`` is the home folder.
    method : str
        The method's name.
    transductive : bool, optional
        Whether an answer depends on the other queries of its task, as with batch statistics of the
        queries (`fslcore.evaluation.check_transductive` checks this). If True, the interval for new images
        counts how an image changes the other answers; if not given, the report has a note.
    dataset : str or path, optional
        Name of the data set, for the report.
    seed : int, optional
        A whole number of at least 0, for the report.

    Raises
    ------
    InputError
        At once, not when the block ends: another suffix, a path that cannot be written to, an
        existing file that is not a recording of this method; an empty name; a seed that is not a
        whole number; transductive neither True nor False.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "mine.jsonl"
    >>> with record(file, "guess") as r:
    ...     answers = dict(labels=[0, 1], predictions=[0, 0], support_labels=[0, 1])
    ...     r.task(support=["a", "b"], query=["c", "d"], **answers)
    >>> load(file).correct["guess"].tolist()
    [[True, False]]
    """
    path = Path(os.path.realpath(check_output(path, [ENDING], name="record")))
    return Recorder(path, _checked_header(method, transductive, dataset, seed))


class Recorder:
    """Records the tasks of one method; see `record`."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path, self.part = path, path.with_name(f"{path.stem}.part{ENDING}")
        self.method = header["method"]
        for existing in (self.path, self.part):
            _check_same_method(existing, self.method)
        self._numbers: dict[str, int] = {}  # of images
        self._class_of: dict[str, str] = {}
        self._tasks = self._queries = self._foreign_predictions = 0
        self._process = os.getpid()
        note_replacement(self.path, "record")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._keep_earlier_part()
        self._file = open(self.part, "xb")  # noqa: SIM115  closed by `save`
        self._write({"format": FORMAT, **header})

    def _keep_earlier_part(self) -> None:
        """Give the tasks of a loop that was stopped another name, and say which."""
        if not _has_tasks(self.part):
            self.part.unlink(missing_ok=True)
            return
        numbers = (self.part.with_name(f"{self.part.stem}-{n}{ENDING}") for n in itertools.count(1))
        kept = next(path for path in numbers if not path.exists())
        os.rename(self.part, kept)
        warn(f"record: {self.part} was not finished; its tasks are kept in {kept}")

    def __repr__(self) -> str:
        return f"Recorder({str(self.path)!r}, {self.method!r}): {len(self)} tasks"

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.save()
        else:
            tasks = f"{len(self)} tasks of {shown(self.method)}"
            warn(f"record: {self.part} holds {tasks}, and is not finished")
            self._file.close()

    def __len__(self) -> int:
        return self._tasks

    def task(
        self,
        support: Iterable[object],
        query: Iterable[object],
        labels: Iterable[object],
        predictions: Iterable[object],
        support_labels: Iterable[object],
        classes: Iterable[object] | None = None,
    ) -> None:
        """Record one task.

        Parameters
        ----------
        support, query : (n,) and (q,)
            Names or numbers of the images: the same for the same image in every task.
        labels : (q,)
            True class of each query.
        predictions : (q,)
            Predictions of the method, in the same terms as ``labels``; None or a negative number if
            it made none.
        support_labels : (n,)
            Class of each support image.
        classes : (K,), optional
            If labels are numbers within the task, 0 to K - 1: the class of the data set for each.

        Raises
        ------
        InputError
            Different lengths, an image twice in the task, pixels in place of a name, an image of
            two classes, a label without a class; predictions in other terms than the labels.
        """
        support, query, labels, predictions, support_labels = map(
            _plain_list, (support, query, labels, predictions, support_labels)
        )
        true_labels = [*support_labels, *labels]
        try:
            _check_counts(support, query, labels, predictions, support_labels)
            _check_terms(true_labels, predictions)
            images = _image_names([*support, *query])
            class_of = dict(zip(images, _class_names(true_labels, classes)))
            self._check_classes(class_of)
        except InputError as error:
            raise InputError(f"task {len(self)}: {error}") from None
        correct = [int(label == prediction) for label, prediction in zip(labels, predictions)]
        self._write_task(class_of, correct)
        self._tasks += 1
        self._queries += len(query)
        classes_of_task = {None, *true_labels}
        foreign = [prediction not in classes_of_task for prediction in predictions]
        self._foreign_predictions += sum(foreign)

    def _write_task(self, class_of: dict[str, str], correct: list[int]) -> None:
        """Append the line of a task, whose last images are the queries."""
        introduced = [image for image in class_of if image not in self._class_of]
        numbers = [self._numbers.setdefault(image, len(self._numbers)) for image in class_of]
        first_query = len(numbers) - len(correct)
        line: dict[str, Any] = {}
        if introduced:
            line["images"] = {image: {"class": class_of[image]} for image in introduced}
        line["support"], line["query"] = numbers[:first_query], numbers[first_query:]
        self._write(line | {"correct": correct})
        self._class_of |= class_of

    def _check_classes(self, class_of: Mapping[str, str]) -> None:
        for image, name in class_of.items():
            earlier = self._class_of.get(image, name)
            if earlier != name:
                raise InputError(
                    f"image {shown(image)} is of class {shown(name)}, and was of "
                    f"{shown(earlier)} in an earlier task; labels are classes of the data set: "
                    "where yours are numbers within a task, give classes="
                )

    def save(self) -> Path:
        """Finish the recording, which gets its name.

        Raises
        ------
        InputError
            No task was recorded.
        """
        if not self._tasks:
            raise InputError(f"record: no task of {self.method} was recorded")
        if 2 * self._foreign_predictions > self._queries:
            share = self._foreign_predictions / self._queries
            warn(
                f"record: {share:.0%} of the predictions of {self.method} are not a class of their "
                "task; are they in the same terms as the labels?"
            )
        self._write({"tasks": self._tasks})
        self._file.close()
        os.replace(self.part, self.path)
        return self.path

    def _write(self, line: dict[str, Any]) -> None:
        """Append a line at once."""
        is_open = self._process == os.getpid() and not self._file.closed
        if not is_open or not is_at(self.part, self._file.fileno()):
            raise InputError(
                f"record must have one file per method and process, got {self.part} that another "
                "process finished, removed or began"
            )
        self._file.write(_encoded(line))
        self._file.flush()


def save(
    path: str | Path,
    images: Mapping[str, Mapping[str, str]],
    runs: Mapping[str, tuple[Tasks, Outcomes, bool]],
    facts: dict[str, Any],
) -> None:
    """Write results of learners on tasks as recordings, all in one file.

    Parameters
    ----------
    path : path
    images : mapping
        By the name of each image: ``class``, and ``groups`` and ``class_groups`` where they are
        known.
    runs : mapping
        By the name of a method: its `fslcore.tasks.Tasks`, their `fslcore.evaluation.Outcomes`, and
        whether its answers depend on each other.
    facts : dict[str, Any]
        dataset and seed.
    """

    def write(part: Path) -> None:
        with open(part, "wb") as file:
            for method, (tasks, results, transductive) in runs.items():
                header = _checked_header(method, transductive, **facts)
                file.write(_encoded({"format": FORMAT, **header}))
                for name in images:
                    file.write(_encoded({"images": {name: images[name]}}))
                file.writelines(_task_lines(tasks, results.correct.astype(int)))
                file.write(_encoded({"tasks": len(tasks)}))

    replace_file(Path(path), write)


def _task_lines(tasks: Tasks, correct: np.ndarray) -> Iterator[bytes]:
    for support, query, answers in zip(tasks.support, tasks.query, correct):
        line = {
            "support": support[support >= 0],
            "query": query[query >= 0],
            "correct": answers[query >= 0],
        }
        yield _encoded({name: values.tolist() for name, values in line.items()})


def _encoded(line: dict[str, Any]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


# Checks -------------------------------------------------------------------------------------------


def _checked_header(
    method: object, transductive: object = None, dataset: object = None, seed: object = None
) -> dict[str, Any]:
    header: dict[str, Any] = {"method": _checked_text("method", method)}
    if transductive is not None:
        header["transductive"] = flag("transductive", transductive)
    if dataset is not None:
        header["dataset"] = _checked_text("dataset", dataset)
    if seed is not None:
        header["seed"] = whole("seed", seed, 0, LARGEST_SEED)
    return header


def _checked_text(name: str, value: object) -> str:
    """A name, or the text of a path, without blanks around it."""
    text = str(value).strip()
    if not text or not isinstance(value, str | Path):
        raise InputError(f"{name} must be a name, got {quoted(value)}")
    return text


def _check_same_method(path: Path, method: str) -> None:
    """Refuse a file that is not a recording of this method, and would be replaced."""
    if not path.exists() or not path.stat().st_size:
        return
    # There is no line where even the header was not written whole.
    _, header = next(_lines(path), (1, {"method": method}))
    recorded = header.get("method")
    if recorded != method:
        raise InputError(
            "record must be one file per method, and all of them given to fslcore report, got a "
            f"recording of {shown(recorded)} in {path}"
        )


def _has_tasks(path: Path) -> bool:
    """Whether a file has a whole line after its first, the header."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        next(file, None)
        return next(file, b"").endswith(b"\n")


def _check_counts(
    support: list[Any],
    query: list[Any],
    labels: list[Any],
    predictions: list[Any],
    support_labels: list[Any],
) -> None:
    if not len(labels) == len(predictions) == len(query) > 0 or len(support_labels) != len(support):
        raise InputError(
            "labels, predictions and support_labels must have one for each image, got "
            f"{len(labels)}, {len(predictions)} and {len(support_labels)} for {len(query)} "
            f"queries and {len(support)} support images"
        )


def _image_names(images: list[Any]) -> list[str]:
    for image in images:
        if isinstance(image, list | dict):
            raise InputError(f"images must be names or numbers, not pixels, got {quoted(image)}")
    names = [str(image) for image in images]
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise InputError(f"images must be different in a task, got {quoted(name)} twice")
    return names


def _check_terms(labels: list[Any], predictions: list[Any]) -> None:
    """Refuse predictions that could never be right: all would be wrong, without an error."""
    predictions = [prediction for prediction in predictions if prediction is not None]
    for value in [*labels, *predictions]:
        if isinstance(value, list | tuple | dict):
            raise InputError(
                "labels and predictions must be one class per image, the argmax of scores, got "
                f"{quoted(value)}"
            )
    for label in labels:
        if label is None or label != label:
            raise InputError(f"labels must be the class of each image, got {label}")
    are_texts = {isinstance(prediction, str) for prediction in predictions}
    if predictions and are_texts.isdisjoint(isinstance(label, str) for label in labels):
        raise InputError(
            f"predictions must be in the terms of the labels, got {predictions[-1]!r} for "
            f"{labels[-1]!r}"
        )


def _class_names(labels: list[Any], classes: Iterable[object] | None) -> list[str]:
    """The class of the data set for each label: an index in ``classes``, where there are any."""
    if classes is not None:
        classes = _plain_list(classes)
        for label in labels:
            if label not in range(len(classes)):
                raise InputError(
                    f"labels must be indices in classes, 0 to {len(classes) - 1}, got "
                    f"{quoted(label)}"
                )
        labels = [classes[label] for label in labels]
    return [str(label) for label in labels]


def _plain_list(values: Iterable[object]) -> list[Any]:
    """Python's own values, also from tensors and arrays."""
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    return [_plain_value(value) for value in (values if isinstance(values, list) else [values])]


def _plain_value(value: object) -> object:
    """Python's own value; 1.0, True and a tensor of them become 1: the same class or image."""
    value = value.tolist() if hasattr(value, "tolist") else value
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


# Reading ------------------------------------------------------------------------------------------


@dataclass
class _Part:
    """What the lines from one header to the next say.

    Attributes
    ----------
    images : dict[str, Any]
        By name, in the order of their numbers: class, groups and class groups.
    tasks : list[Any]
        Support, query and correct of each.
    """

    path: Path
    header: dict[str, Any]
    images: dict[str, dict[str, str]] = field(default_factory=dict)
    tasks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)
    finished: bool = False

    def add(self, line: dict[str, Any]) -> None:
        """Take up a line; `ValueError`, `TypeError` or the like if it is none of a recording."""
        for image, facts in line.get("images", {}).items():
            earlier = self.images.setdefault(image, facts)
            are_texts = all(isinstance(facts[name], str) for name in ("class", *facts))
            if earlier != facts or not are_texts:
                raise ValueError(
                    f"image {shown(image)} must have one class, as text, got {quoted(facts)}"
                )
        self.finished = "tasks" in line
        if self.finished and line["tasks"] != len(self.tasks):
            raise ValueError(f"{line['tasks']} tasks, but {len(self.tasks)} lines of them")
        if not self.finished and line.keys() != {"images"}:
            self.add_task(line["support"], line["query"], line["correct"])

    def add_task(self, support: list[int], query: list[int], correct: list[int]) -> None:
        numbers = [*support, *query]
        are_images = all(type(n) is int and 0 <= n < len(self.images) for n in numbers)
        if not are_images or len({*numbers}) < len(numbers):
            raise ValueError(
                f"images must be numbers from 0 to {len(self.images) - 1}, each once in a task"
            )
        if not len(correct) == len(query) > 0 or {*correct, 0, 1} != {0, 1}:
            raise ValueError(
                f"correct must have 0 or 1 for each of {len(query)} queries, got {len(correct)}"
            )
        answers = np.array(correct, np.int8)
        self.tasks.append((np.array(support, np.int32), np.array(query, np.int32), answers))

    def arrays(self, places: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Support, query and correct, with places of images for their numbers, sorted by them."""
        padding = len(places)  # beyond all others, so that it is sorted to the end
        place_of_number = np.array([*(places[image] for image in self.images), padding], np.int32)
        support, query, correct = map(_padded, zip(*self.tasks))
        support, query = np.sort(place_of_number[support], axis=1), place_of_number[query]
        order = query.argsort(axis=1)
        query, correct = (np.take_along_axis(table, order, axis=1) for table in (query, correct))
        for table in (support, query):
            table[table == padding] = -1
        return support, query, correct > 0


def is_recording(path: Path) -> bool:
    """Whether a file begins with the header of a recording."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(BEGINNING)) == BEGINNING


def is_earlier_part(path: Path) -> bool:
    """Whether a name is that of the tasks of a stopped loop, kept when the loop was run again."""
    return bool(re.fullmatch(rf".+\.part-\d+{re.escape(ENDING)}", path.name))


def load(path: str | Path | Sequence[str | Path]) -> Recording:
    """A recording from its file, or from several files, each with other methods on images of the
    same names.

    For an unfinished method, the tasks written so far are returned, and `Recording.unfinished`
    names it. A last line that was not written to its end is left out, with a note.

    Raises
    ------
    InputError
        No such file, or one that is not a recording, with the number of the line. For several: a
        method in two, an image of two classes, or facts that differ.
    """
    parts = _parts_by_method([path] if isinstance(path, str | os.PathLike) else path)
    facts, images = _joined(parts.values())
    places = {image: place for place, image in enumerate(images)}
    arrays = [part.arrays(places) for part in parts.values()]
    support, query, correct = (dict(zip(parts, tables)) for tables in zip(*arrays))
    return Recording(
        images=np.array(list(images)),
        classes=np.array([images[image]["class"] for image in images]),
        support=support,
        query=query,
        correct=correct,
        facts=facts,
        transductive={
            method: part.header["transductive"]
            for method, part in parts.items()
            if "transductive" in part.header
        },
        groups=_groups(images),
        unfinished=tuple(method for method, part in parts.items() if not part.finished),
    )


def _parts_by_method(paths: Iterable[str | Path]) -> dict[str, _Part]:
    parts: dict[str, _Part] = {}
    for path in map(Path, paths):
        for part in _parts(path):
            method = part.header["method"]
            if method in parts:
                raise InputError(
                    f"record must have method {method} once, got it in {parts[method].path} and "
                    f"in {path}"
                )
            parts[method] = part
    return parts


def _parts(path: Path) -> list[_Part]:
    """The recordings in a file, each of one method."""
    parts: list[_Part] = []
    for number, line in _lines(path):
        try:
            if "format" in line:
                choice("format", line.pop("format"), [FORMAT])
                parts.append(_Part(path, _checked_header(**line)))
            else:
                parts[-1].add(line)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            problem = f"is not that of a recording ({reason(error)})"
            raise InputError(f"record: line {number} of {path} {problem}") from None
    if not parts or not all(part.tasks for part in parts):
        raise InputError(f"record: {path} has a header, but no task after it")
    return parts


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a file with their numbers, without one at its end that was not written whole."""
    if not path.is_file():
        raise InputError(f"record: no file {path}")
    if not is_recording(path):
        raise InputError(f"record: {path} is not a recording, which begins with a header")
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            try:
                line = json.loads(text)
            except (ValueError, RecursionError) as error:
                if not text.endswith(b"\n"):
                    warn(
                        f"record: the last line of {path} was not written to its end, and is left out"
                    )
                    return
                problem = f"is not JSON ({reason(error)})"
                raise InputError(f"record: line {number} of {path} {problem}") from None
            yield number, line


def _joined(parts: Iterable[_Part]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Facts on the tasks of all parts, and on each image by its name, sorted by class and name."""
    facts: dict[str, Any] = {}
    images: dict[str, dict[str, Any]] = {}
    for part in parts:
        of_tasks = {name: part.header[name] for name in FACTS if name in part.header}
        _agree(facts, of_tasks, "", part.path)
        for image, of_image in part.images.items():
            subject = f" of image {shown(image)}"
            _agree(images.setdefault(image, {}), of_image, subject, part.path)
    return facts, dict(sorted(images.items(), key=lambda image: (image[1]["class"], image[0])))


def _agree(facts: dict[str, Any], facts_of_file: dict[str, Any], subject: str, path: Path) -> None:
    """Add facts of a subject from a file to those from others."""
    for name, value in facts_of_file.items():
        if facts.setdefault(name, value) != value:
            raise InputError(
                f"record: {name}{subject} must be the same in all, got {quoted(value)} in {path} and "
                f"{quoted(facts[name])} elsewhere"
            )


def _groups(images: dict[str, dict[str, Any]]) -> dict[str, np.ndarray]:
    """The groups of all images, if they are known of any."""
    groups = {}
    for name in GROUPS:
        values = [facts[name] for facts in images.values() if name in facts]
        if len(values) == len(images):
            groups[name] = np.array(values)
        elif values:
            raise InputError(
                f"{name} of a record must be known of all or none of the images, got {len(values)} of "
                f"{len(images)}"
            )
    return groups


def _padded(rows: list[np.ndarray]) -> np.ndarray:
    """Rows of any lengths as one array, padded by -1."""
    table = np.full((len(rows), max(map(len, rows))), -1, np.int32)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table
