"""Recipes: what a learner is trained on and how, as data, and the names of their files."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache

import numpy as np

from fslcore import datasets
from fslcore.catalogue import public_name
from fslcore.errors import InputError, choice
from fslcore.models.networks import NETWORKS, Network

from .pixels import chosen

__all__ = ["RECIPES", "Recipe", "split_classes"]


@dataclass(frozen=True)
class Recipe:
    """A training of a learner.

    Attributes
    ----------
    learner : str
        A name of `fslcore.catalogue.registered_learners`: tested on the validation tasks, and trained if ``batch``
        is 'tasks'.
    batch : str
        'classes': batches of images, cross-entropy over all base classes, with a head that is
        discarded afterwards; 'tasks': few-shot tasks, cross-entropy of the learner's scores on
        their queries; 'views': two random views of each image, without labels. Validation tasks,
        which select the epoch, have labels in all cases.
    network : str
        A name of `fslcore.models.networks.NETWORKS`.
    dataset : str
        Its base classes are for training, its validation classes for selection (as for
        `fslcore.datasets.load`).
    epochs, steps : int
        Epochs, and optimiser steps per epoch; 0 steps: one pass over the images.
    size : int
        Images per batch, or tasks per batch.
    ways, shots, queries : int
        Shape of the training tasks; the validation tasks have as many shots.
    lr, weight_decay : float
        The largest learning rate of the schedule, and the optimiser's weight decay.
    jitter : bool
        Rotate, scale and shift each image slightly; for data without such variation.
    frozen : str
        With tasks: a backbone (as for `fslcore.models.backbones.load`) whose network is used and
        stays frozen; only the learner is trained.
    teacher : str
        With classes: a backbone whose outputs are learned in addition to the labels (Tian et al.,
        2020). Its head is fitted again on its features.
    auxiliary : float
        With tasks: weight of a second cross-entropy, of the queries over all base classes, with a
        head that is discarded afterwards. It reads the learner's descriptors of the queries (of
        each place, if it compares places).
    objective : str
        With views: the loss, a name of `fslbook.training.unlabelled.OBJECTIVES`.
    options : dict
        Options of the objective, with views; otherwise of the learner.
    architecture : dict
        Fields of `fslcore.models.networks.Network` that differ from those of ``network``:
        ``widths`` (one number per block, which sets the depth too), ``side`` (pixels of the images)
        and the like.
    augmentation : tuple of str
        Names of `fslbook.training.augment.AUGMENTATIONS`, after ``jitter``.
    optimiser, schedule : str
        Names of `fslbook.training.schedule.OPTIMISERS` and ``SCHEDULES``.
    temperature, taught : float
        With a teacher: the divisor of both outputs before the softmax, and the weight of the
        divergence from the teacher's, with 1 - ``taught`` for the cross-entropy.
    read_at : int or None
        Side in pixels that the whole image is squeezed to. Training uses a random square of the
        network's side, evaluation the central one. None: the centre square of an image, at the
        network's side.
    mean, std : 3 floats
        Channel statistics by which pixels in 0 … 1 are normalised, after the augmentation; (0, 0,
        0) and (1, 1, 1) leave them unchanged. The checkpoint stores them, and ``read_at`` too.
    milestones, factor : tuple of int, float
        Epochs after which the schedule 'steps' multiplies the learning rate by ``factor``; by
        default six and eight tenths of them.
    patience : int
        Training ends after this many epochs without a better validation accuracy; 0: after all
        epochs.
    validation : int
        Number of validation tasks; 0: 1,000, or 150 for a learner that trains a network on each.
    """

    learner: str
    batch: str
    network: str = "conv4"
    dataset: str = "coloured"
    epochs: int = 20
    steps: int = 0
    size: int = 128
    ways: int = 5
    shots: int = 5
    queries: int = 15
    lr: float = 0.004
    weight_decay: float = 0.05
    jitter: bool = False
    frozen: str = ""
    teacher: str = ""
    auxiliary: float = 0.0
    objective: str = ""
    options: dict = field(default_factory=dict)
    architecture: dict = field(default_factory=dict)
    augmentation: tuple[str, ...] = ()
    optimiser: str = "adamw"
    schedule: str = "one-cycle"
    temperature: float = 4.0
    taught: float = 0.5
    read_at: int | None = None
    mean: tuple[float, float, float] = (0.5,) * 3
    std: tuple[float, float, float] = (0.5,) * 3
    milestones: tuple[int, ...] = ()
    factor: float = 0.1
    patience: int = 0
    validation: int = 0

    def __post_init__(self):
        for name in ("augmentation", "mean", "std", "milestones"):  # lists in data files
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def built(self) -> Network:
        """The network, with the changed fields.

        Raises
        ------
        InputError
            No such network or field, or as for `fslcore.models.networks.Network`; batches of one
            image where batch normalisation needs more.
        """
        for name in self.architecture:
            choice("architecture", name, [field.name for field in fields(Network)])
        network = replace(NETWORKS[choice("network", self.network, NETWORKS)], **self.architecture)
        if self.size == 1 and (
            self.batch == "views" or (self.batch == "classes" and _needs_batches(network))
        ):
            raise InputError(
                f"size must be at least 2 for {self.network} at {network.side} pixels, which is "
                "normalised over a batch, got 1"
            )
        return network

    def plain(self) -> dict:
        """The recipe as JSON values, for the metadata of a checkpoint; fields after ``options`` if
        not the default."""
        values, defaults = asdict(self), asdict(Recipe(self.learner, self.batch))
        names = list(values)
        always = names[: names.index("options") + 1]
        return {
            name: value
            for name, value in values.items()
            if name in always or value != defaults[name]
        }


@cache
def _needs_batches(network: Network) -> bool:
    """Whether batch normalisation sees one value per channel where a batch is one image; as PyTorch
    itself says."""
    import torch

    # Drawn by values, which tensors without any do not have.
    single = replace(network, dropout=0.0, dropblock=0)
    with torch.device("meta"):
        try:
            single.build().train()(torch.empty(1, 3, network.side, network.side))
        except ValueError:
            return True
    return False


_TASKS = dict(batch="tasks", steps=250, size=1, lr=0.002)
_MAPS = dict(_TASKS, network="conv4-map", epochs=8)
_VIEWS = dict(batch="views", network="conv4-32", size=64, lr=0.002, epochs=9)
# The whole network is adapted to each task.
_ADAPTED = dict(_TASKS, network="conv4-32", size=4, options={"first_order": True})
# On the features of a frozen network, which are computed once (FewSTAB, Table S10).
_FROZEN = dict(_TASKS, size=4, epochs=4, frozen="conv4-baseline")
RECIPES = {
    "glyph-conv": Recipe(
        "ncc", "classes", network="glyph-conv", dataset="glyphs", size=256, jitter=True
    ),
    "baseline": Recipe("lr", "classes", epochs=12),
    "baseline++": Recipe("cosine", "classes", epochs=12),
    "protonet": Recipe("protonet", **_TASKS, epochs=15),
    "r2d2": Recipe("r2d2", **_TASKS, epochs=15),
    "maml": Recipe("maml", **_ADAPTED | dict(steps=60, epochs=15)),
    "anil": Recipe("anil", **_TASKS, epochs=8),
    "boil": Recipe("boil", **_ADAPTED | dict(steps=50, epochs=8)),
    "leo": Recipe("leo", **_FROZEN | dict(lr=0.0005, epochs=8)),
    "rfs": Recipe("lr", "classes", epochs=8, teacher="conv4-baseline"),
    "dn4": Recipe("dn4", **_MAPS),
    "can": Recipe("can", **_MAPS, auxiliary=1.0),
    "renet": Recipe("renet", **_MAPS, auxiliary=1.0),
    "unisiam": Recipe("lr", **_VIEWS, objective="unisiam"),
    "psco": Recipe("lr", **_VIEWS | dict(lr=0.003, epochs=13), objective="psco"),
    "beclr": Recipe("opta", **_VIEWS, objective="beclr"),
    **{
        name: Recipe(name, **_FROZEN)
        for name in (
            "matchingnet",
            "maml-frozen",
            "mtl",
            "sib",
            "matchingnet-ifsl",
            "maml-frozen-ifsl",
            "mtl-ifsl",
            "sib-ifsl",
        )
    },
}
WAYS = 5  # of validation tasks


def file_name(name: str, recipe: Recipe) -> str:
    """Of a checkpoint: 'conv4-1shot-protonet'."""
    public = public_name(recipe.network)
    return name if public == name else f"{public}-{with_shots(name, recipe.shots)}"


def with_shots(name: str, shots: int) -> str:
    """A training's name in its file name: '1shot-protonet', and 'protonet' for 5 shots."""
    return name if shots == 5 else f"{shots}shot-{name}"


def method(name: str, shots: int, trained: str) -> tuple[str, str]:
    """Backbone and learner of a training with tasks of so many shots.

    Parameters
    ----------
    name : str
        Of `RECIPES`.
    trained : str
        The backbone, where ``{learner}`` stands for the training and its shots:
        'conv4-icons-{learner}' is 'conv4-icons-1shot-r2d2' for 'r2d2' and 1.
    """
    recipe = RECIPES[name]
    training = with_shots(name, shots) if recipe.batch == "tasks" else name
    return trained.replace("{learner}", training), recipe.learner


def trained_with(shots: int) -> int:
    """Shots of the training that goes with tasks of so many shots: 1 for 1, else 5."""
    return 1 if shots == 1 else 5


def split_classes(
    images: datasets.Images, ways: int = 5
) -> tuple[datasets.Images, datasets.Images]:
    """Classes for training and classes for validation, of images without a split.

    In the order of the SHA-256 of their names, the first quarter is for validation, at least five
    classes, the rest for training: the split does not depend on the machine, nor on the sorting of
    class names.

    Parameters
    ----------
    ways : int
        The minimum number of training classes.

    Raises
    ------
    InputError
        Fewer classes than five plus ``ways``.
    """
    names = {name: name.encode("utf-8", "surrogateescape") for name in images.class_names}
    order = sorted(names, key=lambda name: hashlib.sha256(names[name]).digest())
    held = max(WAYS, len(order) // 4)
    if len(order) - held < ways:
        raise InputError(
            f"dataset must have at least {ways + WAYS} classes, {ways} to train on and {WAYS} "
            f"others to validate on, got {len(order)} of {images.name}"
        )
    return _of_classes(images, sorted(order[held:])), _of_classes(images, sorted(order[:held]))


def _of_classes(images: datasets.Images, names: list[str]) -> datasets.Images:
    place = {name: i for i, name in enumerate(names)}
    label = np.array([place.get(name, -1) for name in images.class_names])[images.labels]
    rows = np.flatnonzero(label >= 0)
    return datasets.Images(images.name, chosen(images.images, rows), label[rows], names)
