"""Records by the content of all that made them: found in the cache or among those that ship, else computed and kept."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import torch

from .. import datasets, store
from ..datasets.bank import Bank
from ..errors import note
from ..models import backbones
from ..paths import DATA
from ..tasks import Tasks
from .records import Record, evaluate, progress_bar

__all__ = ["bank", "record"]

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
    if getattr(learner, "reads_text", False) and not isinstance(source, Bank):
        digest += f" {backbones.names_key(source.class_names, backbone)}"

    def key(part: Tasks) -> str:
        facts = {"bank": digest, "tasks": part.digest, **learner.config()}
        return store.digest(json.dumps(facts, sort_keys=True))

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
            return (joined(parts[:n]), key(tasks[: n * size])) if n else (None, key(tasks))
        read = bank(source, backbone, learner, progress=progress)
        with progress_bar(learner, len(tasks), progress and trains) as bar:
            for i, block in enumerate(blocks):
                if parts[i] is None:
                    parts[i] = evaluate(learner, read, block, progress=progress and not trains)
                    parts[i].save(store.path("records", f"{key(block)}.npz"), {"key": key(block)})
                bar.update(len(block))
    return joined(parts), key(tasks)


def joined(parts: list[Record]) -> Record:
    return Record(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("correct", "query_label")))


def bank(
    source: datasets.Images | Bank, backbone: backbones.Backbone | None, learner, *, progress: bool = False
) -> Bank:
    """What a learner reads, where it computes: the bank itself, the images, or their features by the backbone."""
    if isinstance(source, Bank):
        found = source
    elif learner.reads == "images":
        found = Bank(torch.from_numpy(np.ascontiguousarray(source.images[:])), source.labels, source.digest)
    else:
        found = backbones.features(source, backbone, progress=progress)
        if getattr(learner, "reads_text", False):
            found = replace(found, text=backbones.names_embedded(source.class_names, backbone))
    return found.to(backbones.device())


def _find(key: str) -> Record | None:
    """The record kept under this key, in the cache or among the results that ship with the book."""
    path = store.path("records", f"{key}.npz")
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
