"""A backbone: a network that turns an image into a feature vector, with the preprocessing that it is used with."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from ..datasets import Images
from ..errors import InputError, choice, instance, note

__all__ = ["Backbone", "FromFile", "check_features", "device", "fitted"]

PREPARED = "v1"  # part of a backbone's digest: raise it when `Backbone.preprocess` changes


def device() -> torch.device:
    """The device evaluations run on: the first CUDA GPU where there is one, else the CPU.

    The environment variable ``FSLCORE_DEVICE`` sets another: cpu, cuda, cuda:NUMBER or mps.

    Raises
    ------
    InputError
        It names one that is not there.
    """
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    wanted = os.environ.get("FSLCORE_DEVICE")
    if not wanted:
        return torch.device("cuda" if gpus else "cpu")
    there = ["cpu"] + ["cuda"] * (gpus > 0) + [f"cuda:{i}" for i in range(gpus)]
    there += ["mps"] * torch.backends.mps.is_available()
    return torch.device(choice("device", wanted, there))


@dataclass(frozen=True)
class Backbone:
    """A network with the preprocessing and the weights it is used with.

    ``Backbone("mine", made=network, mean=…, std=…)`` is a network of your own; `load` gives those that are known.

    Attributes
    ----------
    name : str
    source, licence : str
        Where the weights come from and what allows their use; nothing depends on them.
    dim : int
        Length D of a feature vector; where it is not given, the network is run once to find it.
    made : nn.Module or callable
        The network, or what builds it: `network` asks for it once, when images are to be turned into features.
    mean, std : 3 floats
        Channel statistics, for pixels in 0 … 1; by default the network sees these pixels as they are.
    resolution : int or None
        Side in pixels that images are resized to; None: their own side, rounded up to a multiple
        of 32 and at most 64 (the quick profile's bound for CPUs).
    interpolation : str
        How images are resized: 'bilinear' or 'bicubic', with antialiasing.
    read_at : int or None
        Side in pixels that all of an image is squeezed to, of which the network sees the middle ``resolution``, as
        released code has it; None: the middle square of an image, at ``resolution``.
    fine_tuning : dict
        Settings of `fslcore.learners.FineTune` that released code has for this network.
    weights : str
        SHA-256 of the weights file; for a network of your own, any text that belongs in its keys (see `digest`).
    head : dict of str to tensors
        What a learner trained beside the network (see `fslcore.learners.make`).
    map : (C, H, W) or None
        Channels, height and width of the map whose flattening the features are, where they are one.
    trained_at : int or None
        Side in pixels of the images the network was trained on, where it takes any.
    options : dict
        Settings of the learner that was trained beside the network, where its recipe has any.
    text : callable or None
        From n sentences to their (n, D) unit embeddings in the space of the features, by the text tower that was
        trained beside the network.
    base : str or None
        Data set on whose base classes the network was trained, where it is known.

    Raises
    ------
    InputError
        Without ``dim``: a network that cannot read images of that side, or gives no (B, D) features.
    """

    name: str
    source: str = ""
    licence: str = ""
    dim: int | None = None
    made: nn.Module | Callable[[], nn.Module] | None = None
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    resolution: int | None = None
    interpolation: str = "bilinear"
    weights: str = ""
    head: dict[str, torch.Tensor] = field(default_factory=dict, repr=False)
    map: tuple[int, int, int] | None = None
    trained_at: int | None = None
    options: dict = field(default_factory=dict, repr=False)
    text: Callable[[list[str]], torch.Tensor] | None = field(default=None, repr=False, compare=False)
    base: str | None = None
    read_at: int | None = None
    fine_tuning: dict = field(default_factory=dict, repr=False)

    def __post_init__(self):
        if self.dim is not None:
            return
        instance("made", self.made, (nn.Module, Callable))
        side, network = self.side(32, 32), self.network.to(device())
        try:
            with torch.inference_mode():
                found = network(torch.zeros(1, 3, side, side, device=device()))
        except (RuntimeError, ValueError, AssertionError) as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(
                f"backbone {self.name}: its network cannot read images of {side} × {side} pixels ({reason}); "
                "resolution=PIXELS says at which side it reads them"
            ) from None
        check_features(self, found, 1)
        object.__setattr__(self, "dim", found.shape[1])

    @cached_property
    def _network(self) -> nn.Module | None:
        return self.made if self.made is None or isinstance(self.made, nn.Module) else self.made()

    @property
    def network(self) -> nn.Module:
        """(B, 3, H, W) normalised floats to (B, D) features, in evaluation mode."""
        return self._network and self._network.eval()

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides a feature besides the image.

        Of a network that `load` gave: its name, the preprocessing and the SHA-256 of its file. Once you change its
        parameters it is one of your own, ``replace(backbone, made=network)``. Of your own network: also its parameters,
        its buffers and what it prints of itself (`repr`), at each use. Neither the code of its ``forward`` nor plain
        attributes are covered, which is all that there is of a network without parameters: where these change, or the
        tower of ``text`` does, change ``weights`` or ``name``.
        """
        facts = [self.name, self.dim, self.mean, self.std, self.resolution, self.interpolation, self.weights, PREPARED]
        facts += [] if self.read_at is None else [self.read_at]
        return hashlib.sha256(json.dumps([*facts, *self._own()]).encode()).hexdigest()

    def _own(self) -> list[str]:
        """SHA-256 of what a network of the user's own holds; nothing for one that ``weights`` stands for."""
        if self.made is None or isinstance(self.made, FromFile):
            return []
        sha = hashlib.sha256(repr(self.network).encode())
        for name, part in chain(self.network.named_parameters(), self.network.named_buffers()):
            sha.update(f"{name} {part.dtype} {tuple(part.shape)}".encode())
            sha.update(part.detach().cpu().reshape(-1).view(torch.uint8).numpy())
        return [sha.hexdigest()]

    def side(self, height: int, width: int) -> int:
        """Side in pixels of the square that images of this size are resized to."""
        return self.resolution or min(64, 32 * math.ceil(max(height, width) / 32))

    def preprocess(self, images: torch.Tensor) -> torch.Tensor:
        """(B, H, W, C) uint8, C 1 or 3, to (B, 3, side, side) normalised floats."""
        if images.ndim != 4 or images.shape[-1] not in (1, 3) or images.dtype != torch.uint8:
            raise InputError(
                f"images: {images.dtype} of shape {tuple(images.shape)}; (N, H, W, 1 or 3) uint8 is needed"
            )
        x = images.permute(0, 3, 1, 2).float() / 255
        seen = self.side(*x.shape[-2:])
        side = self.read_at or seen
        if x.shape[-2:] != (side, side):
            x = F.interpolate(x, (side, side), mode=self.interpolation, antialias=True, align_corners=False)
        x = x[..., (side - seen) // 2 :, (side - seen) // 2 :][..., :seen, :seen]
        x = x.expand(-1, 3, -1, -1)
        mean, std = (torch.tensor(v, device=x.device).view(3, 1, 1) for v in (self.mean, self.std))
        return (x - mean) / std


class FromFile(partial):
    """Builds a network from a file whose SHA-256 is the `Backbone.weights`."""


def check_features(backbone: Backbone, found: object, images: int) -> torch.Tensor:
    """What a network, perhaps the user's own, gives for so many images, if it is a feature vector for each."""
    shape = tuple(found.shape) if isinstance(found, torch.Tensor) else ()
    if len(shape) != 2 or shape[0] != images or backbone.dim not in (None, shape[1]):
        what = f"shape {shape}" if shape else f"a {type(found).__name__}"
        raise InputError(
            f"backbone {backbone.name}: of {images} image{'s' * (images > 1)} its network makes {what}; a tensor of "
            f"shape ({images}, {backbone.dim or 'D'}), a feature vector for each, is needed"
        )
    return found


def fitted(images: Images, backbone: Backbone) -> tuple[Images, Backbone]:
    """The user's own images and a backbone at one size, so that the network sees the pixels that are read.

    That is the size the user asked for (`fslcore.datasets.load`); else, for a folder of class folders,
    the one the network was trained at, not the 64 pixels that bound embedded data. All other images and
    their backbone come back as they are. The size is told in a line on stderr, and so is a folder that the network
    was trained on.

    Raises
    ------
    InputError
        The network takes another size only; neither the images nor the backbone name a size.
    """
    if images.side is None and not (images.squeezed if backbone.read_at else images.sized):
        return images, backbone
    if backbone.read_at:
        if images.side:
            raise InputError(f"size = {images.side}; {backbone.name} reads images at {backbone.read_at} pixels only")
        note(
            f"{images.name}: all of an image at {backbone.read_at} × {backbone.read_at} pixels, of which "
            f"{backbone.name} sees the middle {backbone.resolution}"
        )
        return images.squeezed(backbone.read_at), backbone
    side = images.side or backbone.resolution or backbone.trained_at
    if side is None:
        raise InputError(
            f"size: {backbone.name} does not say at which side it reads {images.name}; resolution=PIXELS of the "
            "backbone or size=PIXELS of the images is needed"
        )
    if backbone.resolution not in (None, side):
        raise InputError(f"size = {side}; {backbone.name} takes images of {backbone.resolution} pixels a side only")
    note(f"{images.name}: read at {side} × {side} pixels, which {backbone.name} sees")
    if _folder(images.name) and _folder(images.name) == _folder(backbone.base or ""):
        note(
            f"{images.name}: {backbone.name} was trained and selected on the classes of this folder, so that its "
            "accuracies say nothing of new classes; evaluate on classes of another folder"
        )
    return images.sized(side) if images.sized else images, replace(backbone, resolution=side)


def _folder(dataset: str) -> Path | None:
    """The folder of class folders that a data set's name holds."""
    kind, _, path = dataset.partition("?")[0].partition(":")
    return Path(path).expanduser().resolve() if kind == "folder" else None
