"""Records by the content of all inputs: from the cache or the shipped results, or else computed and cached."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import takewhile
from pathlib import Path

import numpy as np
import torch

from .. import store
from ..datasets import Source
from ..datasets.bank import Bank
from ..datasets.images import KEPT
from ..learners import Learner
from ..learners.own import identity
from ..learners.protocol import complete
from ..models import backbones
from ..paths import DATA
from ..tasks import Tasks
from .records import Record, evaluate, narrow, progress_bar, used

__all__ = ["Ready", "record"]

# Tasks that are stored together and computed at once: a stopped run loses little, and storing is cheap.
BLOCK = 20  # of learners that train a network on each task
BLOCK_OF_MAPS = 256
BLOCK_OF_FEATURES = 1024
SHORT = 16  # hexadecimal digits by which a file names its blocks


@dataclass(frozen=True)
class Ready:
    """A learner and its input, ready for tasks.

    Attributes
    ----------
    source : Images or Bank
        Images whose features are computed (some learners read the images), or a bank of features.
    backbone : Backbone or None
        None for a bank.
    learner
        See `fslcore.learners`.
    """

    source: Source
    backbone: backbones.Backbone | None
    learner: Learner

    def __post_init__(self):
        object.__setattr__(self, "learner", complete(self.learner))

    @property
    def slow(self) -> bool:
        """Whether the learner reads images and trains a network on each task."""
        return self.learner.reads == "images"

    @property
    def _by_tasks(self) -> bool:
        """Whether the learner reads images that are too many to be held in memory."""
        return self.slow and self.source.needs_backbone and math.prod(self.source.images.shape) > KEPT

    def bank(self, *, progress: bool = False) -> Bank:
        """The input of the learner: the bank itself, the images, or their features, computed unless cached."""
        if not self.source.needs_backbone:
            found = self.source
        elif self.slow:
            pixels = torch.from_numpy(np.ascontiguousarray(self.source.images[:]))
            found = Bank(pixels, self.source.labels, self.source.digest)
        else:
            found = backbones.features(self.source, self.backbone, progress=progress)
            if self.learner.reads_text:
                found = replace(found, text=backbones.names_embedded(self.source.class_names, self.backbone))
        return narrow(found, self.learner).to(backbones.device(), wide=False)

    def prepared(self, *, progress: bool = False) -> Bank | None:
        """`bank`, shared by many blocks of tasks; None if each block reads its own images."""
        if self._by_tasks:
            return None
        found = self.bank(progress=progress)
        return self.learner.prepare(found) if self.learner.places and not found.large else found

    def reading(self, tasks: Tasks) -> tuple[Bank, Tasks]:
        """The input of the learner for some tasks, and the tasks by its rows; only their images if very many."""
        return self._of_tasks(tasks) if self._by_tasks else (self.bank(), tasks)

    def _of_tasks(self, tasks: Tasks) -> tuple[Bank, Tasks]:
        """The images named by some tasks, and the tasks by their positions among these."""
        rows, placed = used(tasks)
        pixels = torch.from_numpy(np.ascontiguousarray(self.source.images[rows]))
        return Bank(pixels, self.source.labels[rows], self.source.digest).to(backbones.device()), placed

    def blocks(self, tasks: Tasks) -> list[Tasks]:
        """The tasks, divided into blocks whose records are stored together, and which several processes may compute."""
        size = BLOCK if self.slow else BLOCK_OF_MAPS if self.learner.places else BLOCK_OF_FEATURES
        return [tasks[at : at + size] for at in range(0, len(tasks), size)]

    def keys(self) -> Callable[[Tasks], str]:
        """A function that gives the key of a record, for any tasks."""
        images = self.source.needs_backbone
        digest = backbones.feature_key(self.source, self.backbone) if images and not self.slow else self.source.digest
        if self.learner.reads_text and images:
            digest += f" {backbones.names_key(self.source.class_names, self.backbone)}"
        config = identity(self.learner)  # for some learners it contains all weights

        def key(part: Tasks) -> str:
            return store.digest(json.dumps({"bank": digest, "tasks": part.digest, **config}, sort_keys=True))

        return key

    def record(
        self, tasks: Tasks, *, stored: bool = False, progress: bool = False, read: Bank | None = None
    ) -> Record | None:
        """Which queries of the tasks the learner classifies correctly; see `fslcore.evaluation.record`."""
        return self.keyed_record(tasks, stored=stored, progress=progress, read=read)[0]

    def keyed_record(
        self, tasks: Tasks, *, stored: bool = False, progress: bool = False, read: Bank | None = None
    ) -> tuple[Record | None, str]:
        """`fslcore.evaluation.record`, where ``read`` is the result of `prepared`, if available."""
        key, own = self.keys(), self.blocks(tasks)
        if (found := _find(key(tasks))) is not None:
            return found, key(tasks)
        if stored:
            return self._first(tasks)

        def make(block: Tasks, path: Path) -> None:
            nonlocal read
            if read is None and not self._by_tasks:
                read = self.prepared(progress=progress)
            asked = (read, block) if read is not None else self._of_tasks(block)
            made = evaluate(self.learner, *asked, progress=progress and len(own) == 1)
            made.save(path, {"key": key(block)})

        parts = []
        with progress_bar(self.learner, len(tasks), progress and len(own) > 1) as bar:
            for block in own:
                parts.append(_find(key(block), partial(make, block)))
                bar.update(len(block))
        return joined(parts), key(tasks)

    def _first(self, tasks: Tasks) -> tuple[Record | None, str]:
        """The record of as many of the first tasks as are stored, in blocks or in one piece, and its key."""
        key, own = self.keys(), self.blocks(tasks)
        parts = [*takewhile(lambda part: part is not None, (_find(key(block)) for block in own))]
        for n in range(len(own) - 1, len(parts), -1):
            first = tasks[: n * len(own[0])]
            if (found := _find(key(first))) is not None:
                return found, key(first)
        return (joined(parts), key(tasks[: len(parts) * len(own[0])])) if parts else (None, key(tasks))


def record(
    source: Source, backbone: backbones.Backbone | None, learner: Learner, tasks: Tasks, **options
) -> tuple[Record | None, str]:
    """The record of a learner on tasks, found by the content of all inputs or else computed and cached.

    Parameters
    ----------
    source : Images or Bank
        Images, whose features are computed by ``backbone`` (some learners read the images); or a
        bank of features.
    backbone : Backbone or None
        None for a bank.
    learner, tasks
        As for `evaluate`.
    stored : bool
        Compute nothing: return the record of as many of the first tasks as are stored, or None.
    progress : bool
        Show a progress bar.

    Returns
    -------
    record : Record or None
    key : str
        SHA-256 of the content of images or features, weights, the tasks of the record and the
        learner's settings.
    """
    return Ready(source, backbone, learner).keyed_record(tasks, **options)


def joined(parts: list[Record]) -> Record:
    return Record(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("correct", "query_label")))


def _find(key: str, make: Callable[[Path], None] | None = None) -> Record | None:
    """The record stored under this key, among the shipped results or in the cache, where ``make`` may put it."""
    if key[:SHORT] in _shipped():
        path, rows = _shipped()[key[:SHORT]]
        whole = Record.load(path)[0]
        return Record(whole.correct[rows], whole.query_label[rows])

    def read(path: Path) -> Record:
        found, made = Record.load(path)
        if made["key"] != key or found.correct.shape != found.query_label.shape:
            raise ValueError("other content")
        return found

    path = store.path("records", f"{key}.npz")
    return store.find(path, read) if make is None else store.get(path, read, make)


@cache
def _shipped() -> dict[str, tuple[Path, slice]]:
    """The place of a record among the shipped results: all tasks of a file, or a block of them."""
    found = {}
    for path in sorted((DATA / "results").glob("*.npz")):
        made = Record.load(path)[1]
        found[made["key"][:SHORT]] = path, slice(made["tasks"])
        found |= {key: (path, slice(i * BLOCK, (i + 1) * BLOCK)) for i, key in enumerate(made.get("blocks", ()))}
    return found
