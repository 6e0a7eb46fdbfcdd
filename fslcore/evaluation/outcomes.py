"""Run a learner on tasks and record which queries it classifies correctly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from ..datasets.bank import Bank
from ..errors import InputError, reason, whole
from ..learners.own import is_own
from ..learners.protocol import Learner, complete, shape_fault
from ..paths import check_zip, replace_file
from ..tasks import Tasks
from ..tasks.tasks import PAD

__all__ = ["Outcomes", "evaluate", "predict_scores"]


@dataclass(frozen=True)
class Outcomes:
    """Whether each query was right. All metrics derive from this.

    Attributes
    ----------
    correct : (T, n_query) bool
        False on padding.
    query_label : (T, n_query) integers
        In-task class of each query; -1 is padding.
    """

    correct: np.ndarray
    query_label: np.ndarray

    @property
    def digest(self) -> str:
        """SHA-256 of the answers, the classes of the queries and their shape."""
        sha = hashlib.sha256(repr((self.correct.shape, self.query_label.shape)).encode())
        sha.update(np.packbits(self.correct).tobytes())
        sha.update(self.query_label.astype("<i2").tobytes())
        return sha.hexdigest()

    def accuracy(self) -> np.ndarray:
        """(T,) share of correct queries, 0 to 1 (OOPS, equation 1)."""
        return self.correct.sum(axis=1) / (self.query_label >= 0).sum(axis=1)

    def class_accuracy(self) -> np.ndarray:
        """(T, K) share of each class's correct queries; NaN for a class without queries."""
        ways = self.query_label.max() + 1
        is_of_class = self.query_label[:, None] == np.arange(ways)[:, None]
        with np.errstate(invalid="ignore"):
            return (self.correct[:, None] & is_of_class).sum(axis=2) / is_of_class.sum(axis=2)

    def by_class(self) -> np.ndarray:
        """(T, K, Q) array, 1 for a correct query and 0 otherwise, as `fslcore.stats.pilot.moments` takes
        it.

        Raises
        ------
        InputError
            Classes with different numbers of queries.
        """
        order = np.argsort(self.query_label, axis=1, kind="stable")
        label = np.take_along_axis(self.query_label, order, axis=1)
        ways = int(label.max()) + 1
        queries, remainder = divmod(label.shape[1], ways)
        if remainder or (label != np.repeat(np.arange(ways), queries)).any():
            raise InputError(
                "record must have equal numbers of queries per class, got unequal ones"
            )
        correct = np.take_along_axis(self.correct, order, axis=1)
        return correct.reshape(-1, ways, queries).astype(np.int8)

    def worst_class(self) -> np.ndarray:
        """(T,) accuracy of each task's worst class."""
        return np.nanmin(self.class_accuracy(), axis=1)

    def save(self, path: str | Path, provenance: dict[str, Any]) -> None:
        """Write an .npz without pickles, with its provenance (JSON values)."""

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
    def load(cls, path: str | Path) -> tuple[Outcomes, dict[str, Any]]:
        """The record and its provenance.

        Raises
        ------
        InputError
            The file expands too far.
        """
        check_zip("record", Path(path))
        with np.load(path, allow_pickle=False) as arrays:
            record = cls(arrays["correct"], arrays["query_label"].astype(np.int64))
            return record, json.loads(str(arrays["provenance"]))


def evaluate(
    learner: Learner, bank: Bank, tasks: Tasks, *, chunk: int | None = None, progress: bool = False
) -> Outcomes:
    """Run ``learner`` on every task and record which queries it classifies correctly.

    Parameters
    ----------
    learner
        Has ``scores(bank, tasks)`` (see `fslcore.learners`).
    bank : Bank
        Features, or images for learners that train the backbone.
    tasks : Tasks
        T tasks whose indices refer to rows of ``bank``.
    chunk : int, optional
        Tasks at once; limits the memory and does not change the result. By default 256 for
        features, fewer where a support is large; for fine-tuning 1 on a CPU and 16 on a GPU.
    progress : bool
        Show a progress bar.

    Raises
    ------
    InputError
        A task names an image that is not in the bank; a chunk below 1; scores of another shape than
        (t, n_query, K), or with NaN.
    """
    chunks = predict_scores(learner, bank, tasks, chunk=chunk, progress=progress)
    predicted = np.concatenate([part.argmax(dim=-1).cpu().numpy() for part in chunks])
    correct = (predicted == tasks.query_label) & (tasks.query_label >= 0)
    return Outcomes(correct, np.asarray(tasks.query_label))


def predict_scores(
    learner: Learner, bank: Bank, tasks: Tasks, *, chunk: int | None = None, progress: bool = False
) -> Iterator[torch.Tensor]:
    """The learner's scores for every query, (t, n_query, K) for each chunk of t tasks in turn.

    Parameters and errors: as for `evaluate`.
    """
    learner = complete(learner)
    tasks.check_bank(len(bank))
    bank = narrowed(bank, learner)
    if chunk is None:
        chunk = learner.at_once(tasks, bank.data.device)
    whole("chunk", chunk, minimum=1)
    if learner.needs_feature_map:
        if bank.large:  # all of it, prepared, would not fit into memory
            rows, tasks = used_rows(tasks)
            index = torch.from_numpy(rows).to(bank.data.device)
            bank = Bank(bank.rows(index), bank.labels[rows], bank.digest)
        bank = learner.prepare(bank)  # once, not for each chunk
    with progress_bar(learner, len(tasks), progress) as bar:
        for start in range(0, len(tasks), chunk):
            part = tasks[start : start + chunk]
            yield _checked(learner, _scored(learner, bank, part), part)
            bar.update(len(part))


def narrowed(bank: Bank, learner: Learner) -> Bank:
    """The bank, in 32 bits for a learner of this package whose weights have 32 bits."""
    weights = learner.trained and learner.trained.state_dict()
    if weights and bank.data.dtype == torch.float64:
        return replace(bank, data=bank.data.float(), finite=None)
    return bank


def _scored(learner: Learner, bank: Bank, tasks: Tasks) -> object:
    """The output of a learner for tasks; an error in the user's own learner is reported as such."""
    try:
        return learner.scores(bank, tasks)
    except (InputError, MemoryError, OSError):
        raise
    except Exception as error:
        # The command line recognises a lack of memory by this word too.
        if not is_own(learner) or "allocate" in str(error):
            raise
        raise InputError(
            f"learner = {learner.name}; its method scores fails ({reason(error)})"
        ) from error


def _checked(learner: Learner, output: object, tasks: Tasks) -> torch.Tensor:
    """The output of a learner for tasks, if it is a score for each query and class."""
    shape = (*tasks.query.shape, tasks.ways)
    fault = shape_fault(output, shape)
    if fault:
        raise InputError(
            f"the scores of {learner.name} must be a tensor or array of shape {shape}, one for "
            f"each task, query and class, got {fault}"
        )
    output = torch.as_tensor(output).detach()
    is_nan = output.isnan().any(dim=-1).cpu().numpy() & (tasks.query >= 0)
    if is_nan.any():
        raise InputError(
            f"learner = {learner.name}; its scores are NaN for {is_nan.sum()} of {is_nan.size} "
            "queries"
        )
    return output


def used_rows(tasks: Tasks) -> tuple[np.ndarray, Tasks]:
    """The rows of a bank that tasks name, sorted, and the tasks by their positions among these."""
    images = np.concatenate([tasks.support, tasks.query], axis=1)
    rows = np.unique(images[images >= 0]).astype(np.int64)
    placed = np.where(images >= 0, np.searchsorted(rows, images), PAD)
    support, query = np.split(placed, [tasks.support.shape[1]], axis=1)
    return rows, replace(tasks, support=support, query=query, check=False)


def progress_bar(learner: Learner, tasks: int, progress: bool) -> tqdm:
    """Counts tasks, if they take longer than five seconds."""
    return tqdm(total=tasks, desc=learner.name, unit="task", delay=5, disable=not progress)
