"""The protocol of a learner, and its defaults."""

from typing import Any, Protocol, TypeGuard

import numpy as np
import torch
from torch import nn

from ..datasets.bank import Bank
from ..errors import InputError, choice, quoted
from ..tasks import Tasks

__all__ = ["Completed", "Learner", "complete", "shape_fault"]


class Learner(Protocol):
    """From the support of tasks to scores for their queries; a subclass has the defaults.

    A learner of your own needs no base class: a ``name`` and ``scores`` are enough for
    `fslcore.evaluation.evaluate`, and `complete` adds the defaults. To be cached, a learner with
    settings also needs ``config()``.

    Attributes
    ----------
    name : str
    reads : str
        'features', or 'images' for a learner that trains a network on each task.
    transductive : bool
        Whether a score may depend on the other queries of its task.
    reads_text, reads_center : bool
        Whether it reads ``bank.text``, embeddings of the names of classes, or ``bank.center``, the
        mean feature of base classes; the latter is then an argument ``center`` of its class, too.
    needs_dim, needs_feature_map : bool
        Whether its class has an argument ``dim``, the length of features of its trained weights, or
        ``map``, the shape of the map whose places it compares.
    version : int
        Part of ``config()``: raised when the scores change.
    settings : tuple of str
        Names of the attributes that determine the scores.
    """

    name: str
    reads: str = "features"
    transductive: bool = False
    reads_text: bool = False
    reads_center: bool = False
    needs_dim: bool = False
    needs_feature_map: bool = False
    version: int = 1
    settings: tuple[str, ...] = ()

    def config(self) -> dict[str, Any]:
        """The configuration that determines the scores, for cache keys: JSON values."""
        values = {name: getattr(self, name) for name in self.settings}
        return {"learner": self.name, "version": self.version, **values}

    def scores(self, bank: Bank, tasks: Tasks) -> torch.Tensor:
        """Scores (T, n_query, K) on the bank's device.

        The class with the largest is the prediction.
        """
        ...

    @property
    def trained(self) -> nn.Module | None:
        """Its trained weights besides those of the network, if any."""
        return None

    def check(self, bank: Bank) -> None:
        """Raise `InputError` unless it can read these features, which come without a network."""
        if self.needs_dim:
            raise InputError(
                f"learner = {self.name}; it needs weights that were trained beside a network, not "
                "features"
            )
        if self.reads_text and bank.text is None:
            raise InputError(
                f"learner = {self.name}; it reads an embedding of each class's name, (K, D), "
                "which features:FILE.npz brings as an array 'text'"
            )

    def prepare(self, bank: Bank) -> Bank:
        """The input of ``scores``, made from the bank once for many tasks."""
        return bank

    def at_once(self, tasks: Tasks, device: torch.device) -> int:
        """The largest number of tasks that fit into memory together."""
        if self.reads == "images":
            return 1 if device.type == "cpu" else 16
        return max(1, min(256, 2**23 // tasks.support.shape[1] ** 2))  # Gram matrices of n × n


class Completed(Learner):
    """A given learner with the defaults for missing attributes."""

    def __init__(self, learner: object) -> None:
        members = [*Learner.__annotations__, "config", "scores", "prepare", "at_once"]
        vars(self).update(
            {name: getattr(learner, name) for name in members if hasattr(learner, name)}
        )
        self.name = getattr(learner, "name", type(learner).__name__)
        self.original = learner

    def __getattr__(self, name: str) -> object:
        if name == "original":  # before it is set
            raise AttributeError(name)
        return getattr(self.original, name)


def complete(learner: object) -> Learner:
    """The learner, with the defaults for missing parts of `Learner`.

    Raises
    ------
    InputError
        It has no method ``scores``, ``config`` is not a method, or ``reads`` is neither 'features'
        nor 'images'.
    """
    if _has_defaults(learner):
        return learner
    if not callable(getattr(learner, "scores", None)):
        name = learner.__name__ if isinstance(learner, type) else type(learner).__name__
        raise InputError(f"learner {name} must have a method scores(bank, tasks), got none")
    completed = Completed(learner)  # type: ignore[abstract]  # its scores are the given ones
    if not callable(completed.config):
        raise InputError(
            f"config of {completed.name} must be a method that returns a dict, got "
            f"{quoted(completed.config)}"
        )
    choice(f"reads of learner {completed.name}", completed.reads, ("features", "images"))
    return completed


def _has_defaults(learner: object) -> TypeGuard[Learner]:
    return Learner in type(learner).__mro__


def shape_fault(scores: object, wanted: tuple[int, ...]) -> str:
    """A description of scores of another form than the wanted shape.

    An empty text if the form is right.
    """
    if isinstance(scores, torch.Tensor | np.ndarray) and tuple(scores.shape) == wanted:
        return ""
    return (
        f"shape {tuple(scores.shape)}" if hasattr(scores, "shape") else f"a {type(scores).__name__}"
    )
