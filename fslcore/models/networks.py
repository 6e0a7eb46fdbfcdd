"""Networks that are trained here, from scratch: images to flat feature vectors."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import InputError, choice, number, whole

__all__ = [
    "NETWORKS",
    "Conv4",
    "DropBlock",
    "GlyphConv",
    "Network",
    "ResNet12",
    "import_torchvision",
    "resnet18",
]


class Conv4(nn.Sequential):
    """Four blocks of 3×3 convolution, batch norm, ReLU and 2×2 max pooling (Vinyals et al., 2016).

    The ReLU comes after the pooling, which gives the same numbers from a quarter of the work.

    Parameters
    ----------
    width : int, or tuple of them
        Channels of each of four blocks: 64, or 32 as in MAML (Finn et al., 2017); or one number for
        each of any number of blocks.
    pooled : int
        Blocks that pool. With 3 of them a 32×32 image gives a 4×4 map, for learners that compare
        places.
    """

    def __init__(self, width: int | tuple[int, ...] = 64, pooled: int = 4):
        widths = (width,) * 4 if isinstance(width, int) else width

        def block(channels: int, width: int, pool: bool) -> nn.Sequential:
            convolution = nn.Conv2d(channels, width, 3, padding=1, bias=False)
            return nn.Sequential(
                convolution,
                nn.BatchNorm2d(width),
                nn.MaxPool2d(2) if pool else nn.Identity(),
                nn.ReLU(),
            )

        pairs = enumerate(zip((3, *widths), widths))
        super().__init__(*(block(*pair, i < pooled) for i, pair in pairs), nn.Flatten())


class GlyphConv(nn.Module):
    """Four 3×3 convolutions with stride 2, batch norm and ReLU.

    The last map, 2×2×128, is the feature.

    Small enough to be trained and fine-tuned on a CPU. It reads the mean over colour channels.
    """

    dim = 512

    def __init__(self, widths: tuple[int, ...] = (64, 64, 128, 128)):
        super().__init__()
        layers, last = [], 1
        for width in widths:
            layers += [
                nn.Conv2d(last, width, 3, 2, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(),
            ]
            last = width
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x.mean(dim=1, keepdim=True)).flatten(1)


class ResNet12(nn.Sequential):
    """Four residual blocks of three 3×3 convolutions, each block ending in 2×2 max pooling.

    Leaky ReLU.

    The widths are those of Lee et al. (2019), the blocks those of Oreshkin et al. (2018).

    Parameters
    ----------
    pooled : bool
        Average the last map over its places, to 640 features; else flatten it, for learners that
        compare places.
    widths : tuple of int
        Channels of each block.
    dropout : float
        Share of the outputs of each block that training sets to zero: of the first two blocks
        single numbers, of the others squares of places (`DropBlock`), as Lee et al. (2019) and
        LibFewShot have it.
    dropblock : int
        Side of these squares, in places; 0: single numbers in all blocks.
    """

    def __init__(
        self,
        pooled: bool = True,
        widths: tuple[int, ...] = (64, 160, 320, 640),
        dropout: float = 0.0,
        dropblock: int = 0,
    ):
        blocks = [_ResidualBlock(*pair) for pair in zip((3, *widths), widths)]
        for i, block in enumerate(blocks if dropout else ()):
            block.out.append(
                DropBlock(dropout, dropblock) if i > 1 and dropblock else nn.Dropout(dropout)
            )
        super().__init__(*blocks, *((nn.AdaptiveAvgPool2d(1),) if pooled else ()), nn.Flatten())
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(
                    module.weight, a=_SLOPE, mode="fan_out", nonlinearity="leaky_relu"
                )


_SLOPE = 0.1  # of the leaky ReLU


class _ResidualBlock(nn.Module):
    def __init__(self, channels: int, width: int):
        super().__init__()
        layers = []
        for i in range(3):
            layers += [
                nn.Conv2d(width if i else channels, width, 3, padding=1, bias=False),
                nn.BatchNorm2d(width),
            ]
            layers += [nn.LeakyReLU(_SLOPE)] if i < 2 else []
        self.layers = nn.Sequential(*layers)
        self.shortcut = nn.Sequential(
            nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        )
        self.out = nn.Sequential(nn.LeakyReLU(_SLOPE), nn.MaxPool2d(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.layers(x) + self.shortcut(x))


class DropBlock(nn.Module):
    """Dropout of squares of places of each channel (Ghiasi et al., 2018).

    The places that are left are scaled.

    Parameters
    ----------
    rate : float
        Final share of the places that is dropped.
    side : int
        Side of the squares, in places; at most that of the map.
    batches : int
        Number of batches over which the share rises to ``rate``.
    """

    seen: Tensor

    def __init__(self, rate: float, side: int, batches: int = 40_000):
        super().__init__()
        self.rate, self.side, self.batches = rate, side, batches
        self.register_buffer(
            "seen", torch.zeros((), dtype=torch.int64)
        )  # batches; kept for a resumed training

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        self.seen += 1
        height, width = x.shape[-2:]
        side = min(self.side, height, width)
        inner = (height - side + 1, width - side + 1)  # where a square may begin
        share = (
            self.rate
            * min(1, int(self.seen) / self.batches)
            * height
            * width
            / (side**2 * math.prod(inner))
        )
        begins = x.new_empty(*x.shape[:2], *inner).bernoulli_(min(1, share))
        mask = 1 - F.max_pool2d(F.pad(begins, [side - 1] * 4), side, 1)
        return x * mask * (mask.numel() / mask.sum().clamp(min=1))


def resnet18(stem: int = 7) -> nn.Module:
    """ResNet-18 without its classifier, 512 features (He et al., 2016).

    Parameters
    ----------
    stem : int
        Side of the first convolution: 7, with stride 2 and max pooling after it; or 3, with stride
        1 and no pooling, as in LibFewShot for small images.
    """
    import_torchvision()
    from torchvision import models

    network = models.resnet18()
    network.fc = nn.Identity()
    if stem == 3:
        network.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
        network.maxpool = nn.Identity()
        nn.init.kaiming_normal_(network.conv1.weight, mode="fan_out", nonlinearity="relu")
    return network


@dataclass(frozen=True)
class Network:
    """A network that can be trained, described by data.

    Attributes
    ----------
    kind : str
        'conv' (`Conv4`), 'strided' (`GlyphConv`), 'residual' (`ResNet12`) or 'resnet18'.
    widths : tuple of int
        Channels of each block, one number per block; not for 'resnet18'.
    side : int
        Side of the square input images, in pixels.
    pooled : int
        Blocks of 'conv' that halve the map.
    averaged : bool
        Whether 'residual' averages the last map over its places; otherwise it is flattened.
    dropout, dropblock : float, int
        Dropout of 'residual' in training (`ResNet12`); none in evaluation.
    stem : int
        Side of the first convolution of 'resnet18', 7 or 3 (`resnet18`).

    Raises
    ------
    InputError
        Another kind, or a field that it does not have; widths or a side below 1; an image too small
        for the blocks.
    """

    kind: str
    widths: tuple[int, ...] = ()
    side: int = 32
    pooled: int = 4
    averaged: bool = True
    dropout: float = 0.0
    dropblock: int = 0
    stem: int = 7

    def __post_init__(self) -> None:
        choice("kind of network", self.kind, ("conv", "strided", "residual", "resnet18"))
        number("dropout", self.dropout, minimum=0, under=1), whole("dropblock", self.dropblock, 0)
        if self.kind != "residual":
            for name in ("dropout", "dropblock"):
                number(f"{name} of {self.kind}", getattr(self, name), minimum=0, maximum=0)
        if self.stem != 7 and (self.kind, self.stem) != ("resnet18", 3):
            allowed = "7 or 3" if self.kind == "resnet18" else "7"
            raise InputError(f"stem of {self.kind} must be {allowed}, got {self.stem}")
        whole("side", self.side, 1), whole("pooled", self.pooled, 0)
        widths = tuple(whole("widths", width, 1) for width in self.widths)
        if bool(widths) == (self.kind == "resnet18"):
            raise InputError(
                f"widths = {list(widths)}; {self.kind} has "
                f"{'its own' if widths else 'at least one'}"
            )
        object.__setattr__(self, "widths", widths)
        if 0 in (self.map or ()):
            raise InputError(
                f"side = {self.side}; {len(widths)} blocks of {self.kind} leave no place of such "
                "an image"
            )

    def build(self) -> nn.Module:
        """The network, with random weights."""
        if self.kind == "conv":
            return Conv4(self.widths, self.pooled)
        if self.kind == "residual":
            return ResNet12(self.averaged, self.widths, self.dropout, self.dropblock)
        return GlyphConv(self.widths) if self.kind == "strided" else resnet18(self.stem)

    @property
    def map(self) -> tuple[int, int, int] | None:
        """Channels, height and width of the map, if the features are a flattened map."""
        if self.kind == "resnet18" or (self.kind == "residual" and self.averaged):
            return None
        halved = min(self.pooled, len(self.widths)) if self.kind == "conv" else len(self.widths)
        place = -(-self.side // 2**halved) if self.kind == "strided" else self.side // 2**halved
        return (self.widths[-1], place, place)

    @property
    def dim(self) -> int:
        """Number of features."""
        return math.prod(self.map) if self.map else self.widths[-1] if self.widths else 512


NETWORKS = {
    "conv4": Network("conv", (64,) * 4),
    "conv4-32": Network("conv", (32,) * 4),
    "conv4-map": Network("conv", (64,) * 4, pooled=3),
    "glyph-conv": Network("strided", (64, 64, 128, 128), side=28),
    "resnet12": Network("residual", (64, 160, 320, 640), side=84),
    "resnet12-map": Network("residual", (64, 160, 320, 640), side=84, averaged=False),
    "resnet18": Network("resnet18"),
}


@cache
def import_torchvision() -> None:
    """Import torchvision, also one that was built for another torch (for example a CPU torch).

    timm, open_clip and transformers import torchvision, whose import names two compiled operators.
    If they are missing, their schemas are declared and the import is repeated. The operators are
    never called here.
    """
    warnings.filterwarnings(
        "ignore", message="IProgress not found"
    )  # from a library that timm imports
    try:
        import_module("torchvision")
    except RuntimeError:  # operator torchvision::nms does not exist
        for operator in ("nms", "qnms"):
            torch.library.define(
                f"torchvision::{operator}",
                "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
            )
        import_module("torchvision")
