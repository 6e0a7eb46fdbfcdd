"""Run a learner on tasks, keep the record, and lay it out as a results table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from . import backbones, datasets, learners
from .bank import Bank, load_features
from .errors import InputError, choice, note
from .paths import CACHE, DATA, replace_file
from .tasks import Tasks, sample_closed, sample_open

__all__ = [
    "COLUMNS",
    "Record",
    "class_of",
    "draw",
    "evaluate",
    "fitted",
    "load_backbone",
    "load_source",
    "ready",
    "record",
    "results_table",
    "run",
    "run_queries",
    "scores",
    "write_table",
]

# One row a task; `fslcore.results.read` reads it back (book/running.md, "The results table").
COLUMNS = {
    "dataset": str,
    "backbone": str,
    "learner": str,
    "ways": int,
    "shots": int,
    "queries": int,
    "sampling": str,
    "seed": int,
    "task": int,
    "accuracy": float,
}


@dataclass(frozen=True)
class Record:
    """Was each query right? All metrics derive from this.

    Attributes
    ----------
    correct : (T, n_query) bool
        False on padding.
    query_label : (T, n_query) integers
        In-task class of each query; -1 is padding.
    """

    correct: np.ndarray
    query_label: np.ndarray

    def accuracy(self) -> np.ndarray:
        """(T,) share of queries that were right, 0 to 1 (OOPS, equation 1)."""
        return self.correct.sum(axis=1) / (self.query_label >= 0).sum(axis=1)

    def class_accuracy(self) -> np.ndarray:
        """(T, K) share of each class's queries that were right; NaN for a class without queries."""
        ways = self.query_label.max() + 1
        of_class = self.query_label[:, None] == np.arange(ways)[:, None]
        with np.errstate(invalid="ignore"):
            return (self.correct[:, None] & of_class).sum(axis=2) / of_class.sum(axis=2)

    def by_class(self) -> np.ndarray:
        """(T, K, Q) 1 where a query was right and 0 where not, as `fslcore.stats.moments` takes them.

        Raises
        ------
        InputError
            Classes with different numbers of queries.
        """
        order = np.argsort(self.query_label, axis=1, kind="stable")
        label = np.take_along_axis(self.query_label, order, axis=1)
        ways = int(label.max()) + 1
        queries, rest = divmod(label.shape[1], ways)
        if rest or (label != np.repeat(np.arange(ways), queries)).any():
            raise InputError("record: classes have different numbers of queries; equal numbers are needed")
        return np.take_along_axis(self.correct, order, axis=1).reshape(-1, ways, queries).astype(np.int8)

    def worst_class(self) -> np.ndarray:
        """(T,) accuracy of each task's worst class."""
        return np.nanmin(self.class_accuracy(), axis=1)

    def save(self, path: str | Path, provenance: dict) -> None:
        """Write an .npz without pickles, with what made it (JSON values)."""

        def write(part: Path) -> None:
            with open(part, "wb") as file:
                np.savez_compressed(
                    file,
                    correct=self.correct,
                    query_label=self.query_label.astype(np.int16),
                    provenance=json.dumps(provenance, sort_keys=True),
                )

        replace_file(Path(path), write)

    @classmethod
    def load(cls, path: str | Path) -> tuple[Record, dict]:
        """The record and its provenance."""
        with np.load(path, allow_pickle=False) as z:
            return cls(z["correct"], z["query_label"].astype(np.int64)), json.loads(str(z["provenance"]))


def evaluate(learner, bank: Bank, tasks: Tasks, *, chunk: int | None = None, progress: bool = False) -> Record:
    """Run ``learner`` on every task and record which queries it got right.

    Parameters
    ----------
    learner
        Has ``scores(bank, tasks)`` (see `fslcore.learners`).
    bank : Bank
        Features, or images for learners that train the backbone.
    tasks : Tasks
        T tasks whose indices point into ``bank``.
    chunk : int, optional
        Tasks at once; bounds the memory and does not change the result. By default 256 for
        features, fewer where a support is large; for fine-tuning 1 on a CPU and 16 on a GPU.
    progress : bool
        Show a progress bar.

    Raises
    ------
    InputError
        A task names an image that the bank lacks.
    """
    chunks = scores(learner, bank, tasks, chunk=chunk, progress=progress)
    predicted = np.concatenate([part.argmax(dim=-1).cpu().numpy() for part in chunks])
    correct = (predicted == tasks.query_label) & (tasks.query_label >= 0)
    return Record(correct, np.asarray(tasks.query_label))


def scores(
    learner, bank: Bank, tasks: Tasks, *, chunk: int | None = None, progress: bool = False
) -> Iterator[torch.Tensor]:
    """The learner's scores for every query, (t, n_query, K) for a chunk of t tasks after another.

    Parameters and errors: as for `evaluate`.
    """
    tasks.check_bank(len(bank))
    maps = isinstance(learner, learners.OnMaps)
    if chunk is None:
        n, q = tasks.support.shape[1], tasks.query.shape[1]
        if learner.reads == "images":
            chunk = 1 if bank.data.device.type == "cpu" else 16
        elif maps:
            chunk = max(1, min(256, learner.pairs // (n * q)))
        else:
            chunk = max(1, min(256, 2**23 // n**2))  # Gram matrices of n × n
    if maps:
        bank = learner.prepare(bank)  # once, not for each chunk
    with _bar(learner, len(tasks), progress) as bar:
        for at in range(0, len(tasks), chunk):
            part = tasks[at : at + chunk]
            yield learner.scores(bank, part)
            bar.update(len(part))


def _bar(learner, tasks: int, progress: bool) -> tqdm:
    """Counts tasks, where they take longer than five seconds."""
    return tqdm(total=tasks, desc=learner.name, unit="task", delay=5, disable=not progress)


def load_source(dataset: str, size: int | None = None) -> datasets.Images | Bank:
    """The images of a data set (see `fslcore.datasets.load`), or the bank that ``features:PATH`` names."""
    if dataset.startswith("features:"):
        if size is not None:
            raise InputError(f"size = {size}; {dataset} are features, not images")
        return load_features(dataset.removeprefix("features:"))
    return datasets.load(dataset, size=size) if ":" in dataset or size is not None else _shipped_images(dataset)


def fitted(source: datasets.Images | Bank, backbone: str) -> tuple[datasets.Images | Bank, backbones.Backbone | None]:
    """What `record` takes: images and the backbone of this name at one size (see `fslcore.backbones.fitted`).

    A bank needs none and comes back with None.
    """
    return (source, None) if isinstance(source, Bank) else backbones.fitted(source, load_backbone(backbone))


def load_backbone(name: str) -> backbones.Backbone:
    """The backbone of this name (see `fslcore.backbones.load`)."""
    return backbones.load(name) if ":" in name else _named_backbone(name)


# What ships with the book does not change while a process runs, and a chapter asks for it many times.
_shipped_images = lru_cache(maxsize=8)(datasets.load)
_named_backbone = lru_cache(maxsize=8)(backbones.load)


def run(
    dataset: str,
    backbone: str,
    learner: str,
    sampling: str,
    *,
    ways: int = 5,
    shots: int = 5,
    queries: int = 15,
    tasks: int | None = 600,
    seed: int = 0,
    skip_small_classes: bool = False,
    stored: bool = False,
    progress: bool = False,
    size: int | None = None,
) -> pd.DataFrame | None:
    """Results table of one setting, from the cache or from ``data/results`` where it is there.

    Parameters and errors: as for `run_queries`.

    Returns
    -------
    DataFrame or None
        One row a task, with the columns of `COLUMNS`; accuracy in percent.
    """
    shape = dict(ways=ways, shots=shots, queries=queries, seed=seed)
    _, kept = run_queries(
        dataset,
        backbone,
        learner,
        sampling,
        tasks=tasks,
        skip_small_classes=skip_small_classes,
        stored=stored,
        progress=progress,
        size=size,
        **shape,
    )
    if kept is None:
        return None
    return results_table(kept, dataset=dataset, backbone=backbone, learner=learner, sampling=sampling, **shape)


def results_table(kept: Record, **setting) -> pd.DataFrame:
    """A row a task, with the columns of `COLUMNS` that ``setting`` gives to all rows; accuracy in percent."""
    if setting["dataset"].startswith("features:"):
        setting["backbone"] = "none"
    table = pd.DataFrame({"task": np.arange(len(kept.correct)), "accuracy": 100 * kept.accuracy()})
    return table.assign(**setting)[list(COLUMNS)]


def run_queries(
    dataset: str,
    backbone: str,
    learner: str,
    sampling: str,
    *,
    ways: int = 5,
    shots: int = 5,
    queries: int = 15,
    tasks: int | None = 600,
    seed: int = 0,
    skip_small_classes: bool = False,
    stored: bool = False,
    progress: bool = False,
    size: int | None = None,
) -> tuple[Tasks, Record | None]:
    """The tasks of one setting, and which queries were right.

    Parameters
    ----------
    dataset : str
        As for `fslcore.datasets.load`, or ``features:PATH`` for precomputed features.
    backbone : str
        As for `fslcore.backbones.load`; ignored for precomputed features.
    learner : str
        A name of `fslcore.learners.names`.
    sampling : str
        'closed' (with reuse of images) or 'open' (without, until the data are used up).
    ways, shots, queries, seed : int
        Of the tasks.
    tasks : int or None
        Number of closed tasks; upper bound on the number of open ones (None: no bound).
    skip_small_classes : bool
        Leave out classes with fewer than S + Q images instead of raising.
    stored : bool
        Compute nothing (fine-tuning takes hours on a CPU): as many of the first tasks as results
        are kept of, or None.
    progress : bool
        Show progress bars.
    size : int, optional
        Pixels at which the user's own images are read and seen, as for `fslcore.datasets.load`.

    Returns
    -------
    tasks : Tasks
    record : Record or None
        Of the first of these tasks, where fewer are kept.

    Raises
    ------
    InputError
        What the loaders and samplers raise; an unknown learner or sampling.
    """
    _known(sampling)
    source, model, (method,) = ready(dataset, backbone, [learner], size)
    shape = dict(ways=ways, shots=shots, queries=queries, seed=seed, skip_small_classes=skip_small_classes)
    drawn = draw(source, sampling, tasks=tasks, **shape)
    return drawn, record(source, model, method, drawn, stored=stored, progress=progress)[0]


def ready(
    dataset: str, backbone: str, names: list[str], size: int | None = None
) -> tuple[datasets.Images | Bank, backbones.Backbone | None, list]:
    """The images or the bank, the backbone (None for a bank) and the learners of these names; errors as for each."""
    source, model = fitted(load_source(dataset, size), backbone)
    methods = [learners.make(name, model) for name in names]
    for method in methods if model is None else []:
        if getattr(method, "sized", False):
            raise InputError(
                f"learner = {method.name}; it needs weights that were trained beside a network, not features"
            )
        if isinstance(method, learners.OnMaps):
            method.embed(source.data[:1])  # raises where the features are no such map
    return source, model, methods


def draw(source: datasets.Images | Bank, sampling: str, *, tasks: int | None, **shape) -> Tasks:
    """Tasks of a sampling by its name; ``shape`` and errors as for `fslcore.tasks.sample_closed`."""
    labels = class_of(source)  # by name, so that an error can name one
    if _known(sampling) == "closed":
        return sample_closed(labels, tasks=0 if tasks is None else tasks, **shape)
    return sample_open(labels, max_tasks=tasks, **shape)


def class_of(source: datasets.Images | Bank) -> np.ndarray:
    """(N,) class of each image: its name, or what a bank calls it."""
    return source.classes if isinstance(source, Bank) else np.array(source.class_names)[source.labels]


def _known(sampling: str) -> str:
    return choice("sampling", sampling, ("closed", "open"))


BLOCK = 20  # tasks of fine-tuning that are kept together, so that a stopped run loses little


def record(
    source: datasets.Images | Bank,
    backbone: backbones.Backbone | None,
    learner,
    tasks: Tasks,
    *,
    stored: bool = False,
    progress: bool = False,
) -> tuple[Record | None, str]:
    """The record of a learner on tasks, found by the content of all inputs or else computed and kept.

    Parameters
    ----------
    source : Images or Bank
        Images, whose features are taken from ``backbone`` (some learners read the images); or a
        bank of features.
    backbone : Backbone or None
        None for a bank.
    learner, tasks
        As for `evaluate`.
    stored : bool
        Compute nothing: the record of the first tasks, as many as are kept, or None.

    Returns
    -------
    record : Record or None
    key : str
        SHA-256 of the content of images or features, weights, the tasks of the record and the
        learner's settings.
    """
    trains = learner.reads == "images"
    digest = source.digest if trains or isinstance(source, Bank) else backbones.feature_key(source, backbone)

    def key(part: Tasks) -> str:
        facts = {"bank": digest, "tasks": part.digest, **learner.config()}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    size = BLOCK if trains else len(tasks)
    blocks = [tasks[at : at + size] for at in range(0, len(tasks), size)]
    found = _find(key(tasks))
    if found is not None:
        return found, key(tasks)
    parts = [_find(key(block)) for block in blocks]
    if any(part is None for part in parts):
        if stored:
            n = next(i for i, part in enumerate(parts) if part is None)
            for whole in (tasks[: i * size] for i in range(len(blocks) - 1, n, -1)):
                if (found := _find(key(whole))) is not None:
                    return found, key(whole)
            return (_joined(parts[:n]), key(tasks[: n * size])) if n else (None, key(tasks))
        bank = _bank(source, backbone, trains, digest, progress)
        with _bar(learner, len(tasks), progress and trains) as bar:
            for i, block in enumerate(blocks):
                if parts[i] is None:
                    parts[i] = evaluate(learner, bank, block, progress=progress and not trains)
                    parts[i].save(CACHE / "records" / f"{key(block)}.npz", {"key": key(block)})
                bar.update(len(block))
    return _joined(parts), key(tasks)


def _joined(parts: list[Record]) -> Record:
    return Record(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("correct", "query_label")))


def _bank(source, backbone, trains: bool, digest: str, progress: bool) -> Bank:
    if isinstance(source, Bank):
        bank = source
    elif trains:
        bank = Bank(torch.from_numpy(np.ascontiguousarray(source.images[:])), source.labels, digest)
    else:
        bank = backbones.features(source, backbone, progress=progress)
    return bank.to(backbones.device())


def _find(key: str) -> Record | None:
    """The record kept under this key, in the cache or among the results that ship with the book."""
    path = CACHE / "records" / f"{key}.npz"
    if path.is_file():
        try:
            found, made = Record.load(path)
            if made["key"] != key or found.correct.shape != found.query_label.shape:
                raise ValueError("other content")
            return found
        except Exception as error:  # many kinds, of broken archives
            note(f"{path} is damaged and made again ({error or type(error).__name__})")
    path = _shipped().get(key)
    return Record.load(path)[0] if path else None


@cache
def _shipped() -> dict[str, Path]:
    return {Record.load(path)[1]["key"]: path for path in sorted((DATA / "results").glob("*.npz"))}


def check_ending(path: str | Path) -> Path:
    """The path, if it has an ending that `write_table` can write."""
    path = Path(path)
    if path.suffix not in (".parquet", ".csv"):
        raise InputError(f"results: {path.name}; .parquet and .csv are allowed")
    return path


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a results table to .parquet or .csv (temporary name, then rename)."""
    path = check_ending(path)
    write = table.to_parquet if path.suffix == ".parquet" else table.to_csv
    replace_file(path, lambda part: write(part, index=False))
