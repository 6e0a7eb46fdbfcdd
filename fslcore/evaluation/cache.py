"""Records by the content of all inputs: from the cache or the shipped results, or else computed and cached."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import torch

from .. import store
from ..datasets import Images, Source
from ..datasets.bank import Bank
from ..datasets.images import KEPT
from ..errors import note
from ..learners import Learner
from ..learners.own import identity
from ..learners.protocol import complete
from ..models import backbones
from ..paths import DATA
from ..tasks import Tasks
from .records import Record, evaluate, narrow, progress_bar, used

__all__ = ["bank", "blocks", "keys", "prepared", "reading", "record"]

# Tasks that are stored together and computed at once: a stopped run loses little, and storing is cheap.
BLOCK = 20  # of learners that train a network on each task
BLOCK_OF_MAPS = 256
BLOCK_OF_FEATURES = 1024
SHORT = 16  # hexadecimal digits by which a file names its blocks


def record(
    source: Source,
    backbone: backbones.Backbone | None,
    learner: Learner,
    tasks: Tasks,
    *,
    stored: bool = False,
    progress: bool = False,
    read: Bank | None = None,
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
    read : Bank, optional
        The result of `prepared` for this learner, if available.

    Returns
    -------
    record : Record or None
    key : str
        SHA-256 of the content of images or features, weights, the tasks of the record and the
        learner's settings.
    """
    learner = complete(learner)
    key = keys(source, backbone, learner)
    own = blocks(learner, tasks)
    found = _find(key(tasks))
    if found is not None:
        return found, key(tasks)
    parts = [_find(key(block)) for block in own] if len(own) > 1 else [None]
    if any(part is None for part in parts):
        if stored:
            n = next(i for i, part in enumerate(parts) if part is None)
            for i in range(len(own) - 1, n, -1):
                whole = tasks[: i * len(own[0])]
                if (found := _find(key(whole))) is not None:
                    return found, key(whole)
            return (joined(parts[:n]), key(tasks[: n * len(own[0])])) if n else (None, key(tasks))
        with progress_bar(learner, len(tasks), progress and len(own) > 1) as bar:
            for i, block in enumerate(own):
                if parts[i] is None:
                    store.check_writable()
                    if read is None and not _by_tasks(source, learner):
                        read = prepared(source, backbone, learner, progress=progress)
                    asked = (read, block) if read is not None else _of_tasks(source, block)
                    parts[i] = evaluate(learner, *asked, progress=progress and len(own) == 1)
                    parts[i].save(store.path("records", f"{key(block)}.npz"), {"key": key(block)})
                bar.update(len(block))
    return joined(parts), key(tasks)


def keys(source: Source, backbone: backbones.Backbone | None, learner: Learner) -> Callable[[Tasks], str]:
    """A function that gives the key of `record` for any tasks."""
    trains = learner.reads == "images"
    digest = source.digest if trains or not source.needs_backbone else backbones.feature_key(source, backbone)
    if learner.reads_text and source.needs_backbone:
        digest += f" {backbones.names_key(source.class_names, backbone)}"
    config = identity(learner)  # for some learners it contains all weights

    def key(part: Tasks) -> str:
        return store.digest(json.dumps({"bank": digest, "tasks": part.digest, **config}, sort_keys=True))

    return key


def blocks(learner: Learner, tasks: Tasks) -> list[Tasks]:
    """The tasks, divided into the blocks that are stored together; different processes may compute different blocks."""
    size = BLOCK if learner.reads == "images" else BLOCK_OF_MAPS if learner.places else BLOCK_OF_FEATURES
    return [tasks[at : at + size] for at in range(0, len(tasks), size)]


def joined(parts: list[Record]) -> Record:
    return Record(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("correct", "query_label")))


def bank(source: Source, backbone: backbones.Backbone | None, learner: Learner, *, progress: bool = False) -> Bank:
    """The input of a learner for computing: the bank itself, the images, or their features by the backbone."""
    if not source.needs_backbone:
        found = source
    elif learner.reads == "images":
        found = Bank(torch.from_numpy(np.ascontiguousarray(source.images[:])), source.labels, source.digest)
    else:
        found = backbones.features(source, backbone, progress=progress)
        if learner.reads_text:
            found = replace(found, text=backbones.names_embedded(source.class_names, backbone))
    return narrow(found, learner).to(backbones.device(), wide=False)


def reading(source: Source, backbone: backbones.Backbone | None, learner: Learner, tasks: Tasks) -> tuple[Bank, Tasks]:
    """The input of a learner for some tasks, and the tasks by its rows: `bank`, or only their images if too many."""
    return _of_tasks(source, tasks) if _by_tasks(source, learner) else (bank(source, backbone, learner), tasks)


def prepared(
    source: Source, backbone: backbones.Backbone | None, learner: Learner, *, progress: bool = False
) -> Bank | None:
    """`bank`, shared by many blocks of tasks; None if each block reads its own images."""
    if _by_tasks(source, learner):
        return None
    found = bank(source, backbone, learner, progress=progress)
    return learner.prepare(found) if learner.places and not found.large else found


def _by_tasks(source: Source, learner: Learner) -> bool:
    """Whether a learner reads images that are too many to be held in memory."""
    return learner.reads == "images" and source.needs_backbone and math.prod(source.images.shape) > KEPT


def _of_tasks(source: Images, tasks: Tasks) -> tuple[Bank, Tasks]:
    """The images named by some tasks, and the tasks by their positions among these."""
    rows, placed = used(tasks)
    pixels = torch.from_numpy(np.ascontiguousarray(source.images[rows]))
    return Bank(pixels, source.labels[rows], source.digest).to(backbones.device()), placed


def _find(key: str) -> Record | None:
    """The record stored under this key, in the cache or among the shipped results."""
    path = store.path("records", f"{key}.npz")
    if path.is_file():
        try:
            found, made = Record.load(path)
            if made["key"] != key or found.correct.shape != found.query_label.shape:
                raise ValueError("other content")
            return found
        except Exception as error:  # broken archives raise many kinds
            note(f"{path} is damaged and made again ({error or type(error).__name__})")
    path, rows = _shipped().get(key[:SHORT], (None, None))
    if path is None:
        return None
    whole = Record.load(path)[0]
    return Record(whole.correct[rows], whole.query_label[rows])


@cache
def _shipped() -> dict[str, tuple[Path, slice]]:
    """The place of a record among the shipped results: all tasks of a file, or a block of them."""
    found = {}
    for path in sorted((DATA / "results").glob("*.npz")):
        made = Record.load(path)[1]
        found[made["key"][:SHORT]] = path, slice(made["tasks"])
        found |= {key: (path, slice(i * BLOCK, (i + 1) * BLOCK)) for i, key in enumerate(made.get("blocks", ()))}
    return found
