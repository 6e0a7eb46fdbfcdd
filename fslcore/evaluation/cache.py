"""Records by the content of all inputs: stored, shipped, or else computed and stored."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import torch

from .. import store
from ..datasets import Images, Source
from ..datasets.bank import Bank
from ..datasets.images import KEPT
from ..errors import InputError, instance
from ..learners import Learner
from ..learners.own import identity
from ..learners.protocol import complete
from ..models import backbones
from ..paths import DATA
from ..tasks import Tasks
from .outcomes import Outcomes, evaluate, narrowed, progress_bar, used_rows

__all__ = ["ConfiguredMethod", "cached_outcomes"]

# Tasks that are stored together and computed at once: a stopped run loses little, and storing is
# cheap.
BLOCK = 20  # of learners that train a network on each task
BLOCK_OF_MAPS = 256
BLOCK_OF_FEATURES = 1024
SHORT = 16  # hexadecimal digits by which a file names its blocks


@dataclass(frozen=True)
class ConfiguredMethod:
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "learner", complete(self.learner))

    @property
    def slow(self) -> bool:
        """Whether the learner reads images and trains a network on each task."""
        return self.learner.reads == "images"

    @property
    def _reads_by_block(self) -> bool:
        """Whether the learner reads images that are too many to be held in memory."""
        has_images = self.slow and self.source.needs_backbone
        return has_images and math.prod(self._images.images.shape) > KEPT

    @property
    def _images(self) -> Images:
        return instance("source", self.source, Images)

    @property
    def _network(self) -> backbones.Backbone:
        if self.backbone is None:
            raise InputError(f"backbone = None; {self.learner.name} reads features of images")
        return self.backbone

    def bank(self, *, progress: bool = False) -> Bank:
        """The input of the learner: the bank itself, the images, or their features."""
        if isinstance(self.source, Bank):
            bank = self.source
        elif self.slow:
            bank = self._bank_of_images(slice(None))
        else:
            bank = backbones.features(self._images, self._network, progress=progress)
            if self.learner.reads_text:
                bank = replace(
                    bank, text=backbones.names_embedded(self._images.class_names, self._network)
                )
        return narrowed(bank, self.learner).to(backbones.device(), wide=False)

    def _bank_of_images(self, rows: np.ndarray | slice) -> Bank:
        pixels = np.ascontiguousarray(self._images.images[rows])
        return Bank(torch.from_numpy(pixels), self.source.labels[rows], self.source.digest)

    def prepared(self, *, progress: bool = False) -> Bank | None:
        """`bank`, shared by many blocks of tasks; None if each block reads its own images."""
        if self._reads_by_block:
            return None
        bank = self.bank(progress=progress)
        return (
            self.learner.prepare(bank)
            if self.learner.needs_feature_map and not bank.large
            else bank
        )

    def inputs(self, tasks: Tasks) -> tuple[Bank, Tasks]:
        """The input of the learner for some tasks, and the tasks by its rows."""
        if not self._reads_by_block:
            return self.bank(), tasks
        rows, renumbered_tasks = used_rows(tasks)
        return self._bank_of_images(rows).to(backbones.device()), renumbered_tasks

    def blocks(self, tasks: Tasks) -> list[Tasks]:
        """The tasks in blocks, whose records are stored together; processes may share them."""
        size = (
            BLOCK
            if self.slow
            else BLOCK_OF_MAPS
            if self.learner.needs_feature_map
            else BLOCK_OF_FEATURES
        )
        return [tasks[start : start + size] for start in range(0, len(tasks), size)]

    def keys(self) -> Callable[[Tasks], str]:
        """A function that gives the key of a record, for any tasks."""
        digest = self.source.digest
        if self.source.needs_backbone and not self.slow:
            digest = backbones.feature_key(self._images, self._network)
        if self.learner.reads_text and self.source.needs_backbone:
            digest += f" {backbones.names_key(self._images.class_names, self._network)}"
        config = identity(self.learner)  # for some learners it contains all weights

        def key(part: Tasks) -> str:
            return store.digest(
                json.dumps({"bank": digest, "tasks": part.digest, **config}, sort_keys=True)
            )

        return key

    @overload
    def outcomes(
        self,
        tasks: Tasks,
        *,
        stored: Literal[False] = False,
        progress: bool = False,
        bank: Bank | None = None,
    ) -> Outcomes: ...

    @overload
    def outcomes(
        self, tasks: Tasks, *, stored: bool, progress: bool = False, bank: Bank | None = None
    ) -> Outcomes | None: ...

    def outcomes(self, tasks: Tasks, **options: Any) -> Outcomes | None:
        """Which queries are classified correctly; ``options`` as for `keyed_outcomes`."""
        return self.keyed_outcomes(tasks, **options)[0]

    def keyed_outcomes(
        self,
        tasks: Tasks,
        *,
        stored: bool = False,
        progress: bool = False,
        bank: Bank | None = None,
    ) -> tuple[Outcomes | None, str]:
        """`fslcore.evaluation.cached_outcomes`, where ``bank`` is the result of `prepared`, if available."""
        key = self.keys()
        blocks = self.blocks(tasks)
        record = _find(key(tasks))
        if record is not None:
            return record, key(tasks)
        if stored:
            return self._first_stored(tasks)

        def compute(block: Tasks, path: Path) -> None:
            nonlocal bank
            if bank is None:  # prepared once, and only if a block is missing
                bank = self.prepared(progress=progress)
            inputs = (bank, block) if bank is not None else self.inputs(block)
            block_record = evaluate(self.learner, *inputs, progress=progress and len(blocks) == 1)
            block_record.save(path, {"key": key(block), "sha256": block_record.digest})

        parts: list[Outcomes] = []
        with progress_bar(self.learner, len(tasks), progress and len(blocks) > 1) as bar:
            for block in blocks:
                parts.append(_find(key(block), partial(compute, block)))
                bar.update(len(block))
        return concatenated(parts), key(tasks)

    def _first_stored(self, tasks: Tasks) -> tuple[Outcomes | None, str]:
        """The record of the first tasks that are stored, in blocks or in one piece, and its key."""
        key = self.keys()
        blocks = self.blocks(tasks)
        parts: list[Outcomes] = []
        for block in blocks:
            part = _find(key(block))
            if part is None:
                break
            parts.append(part)
        size = len(blocks[0]) if blocks else 0
        for n_blocks in range(len(blocks) - 1, len(parts), -1):
            first_tasks = tasks[: n_blocks * size]
            record = _find(key(first_tasks))
            if record is not None:
                return record, key(first_tasks)
        if not parts:
            return None, key(tasks)
        return concatenated(parts), key(tasks[: len(parts) * size])


def cached_outcomes(
    source: Source,
    backbone: backbones.Backbone | None,
    learner: Learner,
    tasks: Tasks,
    **options: Any,
) -> tuple[Outcomes | None, str]:
    """The record of a learner on tasks, found by the content of all inputs or else computed and
    cached.

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
    outcomes : Outcomes or None
    key : str
        SHA-256 of the content of images or features, weights, the tasks of the record and the
        learner's settings.
    """
    return ConfiguredMethod(source, backbone, learner).keyed_outcomes(tasks, **options)


def concatenated(records: list[Outcomes]) -> Outcomes:
    """One record of the tasks of several."""
    return Outcomes(
        correct=np.concatenate([record.correct for record in records]),
        query_label=np.concatenate([record.query_label for record in records]),
    )


@overload
def _find(key: str, compute: Callable[[Path], None]) -> Outcomes: ...


@overload
def _find(key: str, compute: None = None) -> Outcomes | None: ...


def _find(key: str, compute: Callable[[Path], None] | None = None) -> Outcomes | None:
    """The shipped or cached record of this key, which ``compute`` may add to the cache."""
    if key[:SHORT] in _shipped():
        path, tasks = _shipped()[key[:SHORT]]
        record = _shipped_record(path)
        return Outcomes(record.correct[tasks].copy(), record.query_label[tasks].copy())

    def read(path: Path) -> Outcomes:
        record, provenance = Outcomes.load(path)
        same_content = provenance.get("sha256") == record.digest
        same_shape = record.correct.shape == record.query_label.shape
        if provenance["key"] != key or not same_content or not same_shape:
            raise ValueError("it must have the key, SHA-256 and shape that it names, got others")
        return record

    path = store.path("records", f"{key}.npz")
    return store.find(path, read) if compute is None else store.get(path, read, compute)


@lru_cache(maxsize=1)
def _shipped_record(path: Path) -> Outcomes:
    """A shipped record, of which one block after the other is asked for."""
    return Outcomes.load(path)[0]


@cache
def _shipped() -> dict[str, tuple[Path, slice]]:
    """The place of a record among the shipped results: all tasks of a file, or a block of them."""
    places = {}
    for path in sorted((DATA / "results").glob("*.npz")):
        _, provenance = Outcomes.load(path)
        places[provenance["key"][:SHORT]] = path, slice(provenance["tasks"])
        for i, key in enumerate(provenance.get("blocks", ())):
            places[key] = path, slice(i * BLOCK, (i + 1) * BLOCK)
    return places
