"""A backbone: a network that turns an image into a feature vector, with its preprocessing."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..catalogue import PRECISIONS
from ..datasets import Images
from ..errors import InputError, choice, instance, warn

__all__ = [
    "Backbone",
    "FromFile",
    "autocast",
    "check_features",
    "device",
    "has_bfloat16",
    "match_input_size",
    "precision",
]

PREPARED = "v1"  # part of a backbone's digest: raise it when `Backbone.preprocess` changes


def device() -> torch.device:
    """The device for evaluations: the first CUDA GPU if there is one, else the CPU.

    The environment variable ``FSLCORE_DEVICE`` sets another: cpu, cuda, cuda:NUMBER or mps.

    Raises
    ------
    InputError
        It names a device that is not available.
    """
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    wanted = os.environ.get("FSLCORE_DEVICE")
    if not wanted:
        return torch.device("cuda" if gpus else "cpu")
    devices = ["cpu", "cuda", *(f"cuda:{i}" for i in range(gpus))] if gpus else ["cpu"]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return torch.device(choice("device", wanted, devices))


def autocast(device: torch.device) -> AbstractContextManager[object]:
    """A context in which networks on a device compute in `precision`."""
    return torch.autocast(device.type, torch.bfloat16) if precision() == "bf16" else nullcontext()


def precision() -> str:
    """The precision of networks: 'f32' (32-bit floats), or 'bf16' (bfloat16 where autocast can).

    The environment variable ``FSLCORE_PRECISION`` sets it. 'auto' is bf16 on a processor or GPU
    with instructions for it, else f32. Features of the two differ by rounding (their cosine is
    about 0.999) and have cache keys of their own; so have results of `fslcore.learners.FineTune`.

    Raises
    ------
    InputError
        Another value.
    """
    wanted = choice("precision", os.environ.get("FSLCORE_PRECISION") or PRECISIONS[0], PRECISIONS)
    if wanted != "auto":
        return wanted
    return "bf16" if has_bfloat16() else "f32"


def has_bfloat16() -> bool:
    """Whether the device has instructions for bfloat16."""
    kind = device().type
    if kind == "cuda":
        return torch.cuda.is_bf16_supported()
    read = getattr(torch.cpu, "get_capabilities", dict)
    capabilities: dict[str, bool] = read() if kind == "cpu" else {}
    return any(capabilities.get(name) for name in ("avx512_bf16", "amx_bf16"))


@dataclass(frozen=True)
class Backbone:
    """A network with its preprocessing and weights.

    ``Backbone("mine", network=network, mean=…, std=…)`` is a network of your own; `load` gives the
    known ones.

    Attributes
    ----------
    name : str
    source, licence : str
        Origin of the weights and the licence for their use; for information only.
    dim : int
        Length D of a feature vector; if it is not given, the network is run once to find it.
    network : nn.Module or callable
        The network, or a function that builds it, which `module` calls once.
    mean, std : 3 floats
        Channel statistics, for pixels in 0 … 1; by default these pixels are not normalised.
    resolution : int or None
        Side in pixels that images are resized to; None: their own side, rounded up to a multiple
        of 32 and at most 64 (the quick profile's bound for CPUs).
    interpolation : str
        How images are resized: 'bilinear' or 'bicubic', with antialiasing.
    read_at : int or None
        Side in pixels that whole images are squeezed to, of which the network reads the central
        ``resolution``, as in released code; None: the centre square of an image, at ``resolution``.
    fine_tuning : dict
        Settings of `fslcore.learners.FineTune` for this network in released code.
    weights : str
        SHA-256 of the weights file; for a network of your own, any text that belongs in its keys
        (see `digest`).
    head : dict of str to tensors
        Weights of a learner trained with the network (see `fslcore.learners.make`).
    map : (C, H, W) or None
        Channels, height and width of the map, if the features are a flattened map.
    trained_at : int or None
        Side in pixels of the images the network was trained on, if it takes any size.
    options : dict
        Settings of the learner that was trained with the network, if its recipe has any.
    text : callable or None
        From n sentences to their (n, D) unit embeddings in the space of the features, by the text
        tower trained with the network.
    base : str or None
        Data set on whose base classes the network was trained, if known.

    Raises
    ------
    InputError
        Without ``dim``: a network that cannot read images of that side, or does not return (B, D)
        features.
    """

    name: str
    source: str = ""
    licence: str = ""
    dim: int | None = None
    network: nn.Module | Callable[[], nn.Module] | None = None
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    resolution: int | None = None
    interpolation: str = "bilinear"
    weights: str = ""
    head: dict[str, Tensor] = field(default_factory=dict, repr=False)
    map: tuple[int, int, int] | None = None
    trained_at: int | None = None
    options: dict[str, Any] = field(default_factory=dict, repr=False)
    text: Callable[[list[str]], Tensor] | None = field(default=None, repr=False, compare=False)
    base: str | None = None
    read_at: int | None = None
    fine_tuning: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.dim is not None:
            return
        instance("network", self.network, (nn.Module, Callable))  # type: ignore[arg-type]  # no class
        side = self.side(32, 32)
        network = self.module.to(device())
        try:
            with torch.inference_mode():
                features = network(torch.zeros(1, 3, side, side, device=device()))
        except (RuntimeError, ValueError, AssertionError) as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(
                f"backbone {self.name}: its network cannot read images of {side} × {side} pixels "
                f"({reason}); resolution=PIXELS says at which side it reads them"
            ) from None
        check_features(self, features, 1)
        object.__setattr__(self, "dim", features.shape[1])

    @cached_property
    def _built(self) -> nn.Module:
        if self.network is None:
            raise InputError(
                f"backbone {self.name}: it is made without a network, which would be run"
            )
        return self.network if isinstance(self.network, nn.Module) else self.network()

    @property
    def module(self) -> nn.Module:
        """(B, 3, H, W) normalised floats to (B, D) features: the network, in evaluation mode."""
        return self._built.eval()

    @property
    def digest(self) -> str:
        """SHA-256 of everything except the image that determines a feature.

        For a network from `load`: its name, the preprocessing and the SHA-256 of its file. Once you
        change its parameters it is a network of your own: ``replace(backbone,
        network=backbone.module)``. For your own network: also its parameters, buffers and `repr`,
        at each use. The code of its ``forward`` and plain attributes are not covered, so nothing
        is for a network without parameters. If these change, or the tower of ``text`` does, change
        ``weights`` or ``name``.
        """
        facts = [
            self.name,
            self.dim,
            self.mean,
            self.std,
            self.resolution,
            self.interpolation,
            self.weights,
            PREPARED,
        ]
        facts += [] if self.read_at is None else [self.read_at]
        return hashlib.sha256(json.dumps([*facts, *self._own()]).encode()).hexdigest()

    def _own(self) -> list[str]:
        """SHA-256 of the content of a network of the user's own.

        Empty for one identified by ``weights``.
        """
        if self.network is None or isinstance(self.network, FromFile):
            return []
        sha = hashlib.sha256(repr(self.module).encode())
        for name, part in chain(self.module.named_parameters(), self.module.named_buffers()):
            sha.update(f"{name} {part.dtype} {tuple(part.shape)}".encode())
            sha.update(part.detach().cpu().reshape(-1).view(torch.uint8).numpy().data)
        return [sha.hexdigest()]

    def side(self, height: int, width: int) -> int:
        """Side in pixels of the square that images of this size are resized to."""
        return self.resolution or min(64, 32 * math.ceil(max(height, width) / 32))

    def preprocess(self, images: Tensor) -> Tensor:
        """(B, H, W, C) uint8, C 1 or 3, to (B, 3, side, side) normalised floats."""
        if images.ndim != 4 or images.shape[-1] not in (1, 3) or images.dtype != torch.uint8:
            raise InputError(
                f"images must have shape (N, H, W, 1 or 3) of uint8, got {tuple(images.shape)} of "
                f"{images.dtype}"
            )
        x = images.permute(0, 3, 1, 2).float() / 255
        crop = self.side(*x.shape[-2:])
        side = self.read_at or crop
        if x.shape[-2:] != (side, side):
            x = F.interpolate(
                x, (side, side), mode=self.interpolation, antialias=True, align_corners=False
            )
        x = x[..., (side - crop) // 2 :, (side - crop) // 2 :][..., :crop, :crop]
        x = x.expand(-1, 3, -1, -1)
        mean, std = (torch.tensor(v, device=x.device).view(3, 1, 1) for v in (self.mean, self.std))
        return (x - mean) / std


class FromFile(partial[nn.Module]):
    """Builds a network from a file whose SHA-256 is the `Backbone.weights`."""


def check_features(backbone: Backbone, output: object, images: int) -> Tensor:
    """The output of a network for a number of images, if it is a feature vector for each."""
    shape = tuple(output.shape) if isinstance(output, Tensor) else ()
    if len(shape) != 2 or shape[0] != images or backbone.dim not in (None, shape[1]):
        form = f"shape {shape}" if shape else f"a {type(output).__name__}"
        raise InputError(
            f"the network of backbone {backbone.name} must make a tensor of shape ({images}, "
            f"{backbone.dim or 'D'}), a feature vector for each image, got {form}"
        )
    return instance("output", output, Tensor)


def match_input_size(images: Images, backbone: Backbone) -> tuple[Images, Backbone]:
    """The user's own images and a backbone at one size.

    So the network gets the pixels that are read.

    The size is the one the user set (`fslcore.datasets.load`); otherwise, for a folder of class
    folders, the one the network was trained at, instead of the limit of 64 pixels for embedded
    data. All other images and their backbone are returned unchanged. A warning reports the
    size, and a folder that the network was trained on.

    Raises
    ------
    InputError
        The network takes only another size; neither the images nor the backbone name a size.
    """
    read = images.squeezed_to if backbone.read_at else images.at_size
    if images.side is None and read is None:
        return images, backbone
    if backbone.read_at:
        if images.side or read is None:
            raise InputError(
                f"size = {images.side}; {backbone.name} reads images at {backbone.read_at} pixels "
                "only"
            )
        warn(
            f"{images.name}: the whole image at {backbone.read_at} × {backbone.read_at} pixels, "
            f"of which {backbone.name} reads the central {backbone.resolution}"
        )
        return read(backbone.read_at), backbone
    side = images.side or backbone.resolution or backbone.trained_at
    if side is None:
        raise InputError(
            "resolution=PIXELS of the backbone or size=PIXELS of the images must be given, since "
            f"{backbone.name} does not say at which side it reads {images.name}"
        )
    if backbone.resolution not in (None, side):
        raise InputError(
            f"size = {side}; {backbone.name} takes images of {backbone.resolution} pixels per "
            "side only"
        )
    warn(f"{images.name}: read at {side} × {side} pixels for {backbone.name}")
    folder = _folder(images.name)
    if folder and folder == _folder(backbone.base or ""):
        warn(
            f"{images.name}: {backbone.name} was trained and selected on the classes of this "
            "folder, so that its "
            "accuracies do not apply to new classes; evaluate on classes of another folder"
        )
    return images.at_size(side) if images.at_size else images, replace(backbone, resolution=side)


def _folder(dataset: str) -> Path | None:
    """The folder of class folders in a data set's name."""
    kind, _, path = dataset.partition("?")[0].partition(":")
    return Path(path).expanduser().resolve() if kind == "folder" else None
