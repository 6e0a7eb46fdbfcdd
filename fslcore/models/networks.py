"""Networks that are trained here, from scratch: images in, one flat feature vector an image out."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.abc import MetaPathFinder

import torch
from torch import nn

__all__ = ["NETWORKS", "Conv4", "GlyphConv", "Network", "ResNet12", "resnet18"]


class Conv4(nn.Sequential):
    """Four blocks of 3×3 convolution, batch norm, ReLU and 2×2 max pooling (Vinyals et al., 2016).

    Parameters
    ----------
    width : int
        Channels of every block: 64, or 32 as MAML has it (Finn et al., 2017).
    pooled : int
        Blocks that pool. With 3 of them a 32×32 image ends as a 4×4 map, for learners that compare places.
    """

    def __init__(self, width: int = 64, pooled: int = 4):
        def block(channels: int, pool: bool) -> nn.Sequential:
            convolution = nn.Conv2d(channels, width, 3, padding=1, bias=False)
            return nn.Sequential(
                convolution, nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2) if pool else nn.Identity()
            )

        super().__init__(*(block(width if i else 3, i < pooled) for i in range(4)), nn.Flatten())


class GlyphConv(nn.Module):
    """Four 3×3 convolutions with stride 2, batch norm and ReLU; the last map, 2×2×128, is the feature.

    Small enough to be trained and fine-tuned on a CPU. It reads the mean over colour channels.
    """

    widths = (64, 64, 128, 128)
    dim = 512

    def __init__(self):
        super().__init__()
        layers, last = [], 1
        for width in self.widths:
            layers += [nn.Conv2d(last, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
            last = width
        self.layers = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x.mean(dim=1, keepdim=True)).flatten(1)


class ResNet12(nn.Sequential):
    """Four residual blocks of three 3×3 convolutions, each block ending in 2×2 max pooling; leaky ReLU.

    The widths are those of Lee et al. (2019), the blocks those of Oreshkin et al. (2018). Without the DropBlock
    of the former.

    Parameters
    ----------
    pooled : bool
        Average the last map over its places, to 640 features; else flatten it, for learners that compare places.
    """

    widths = (64, 160, 320, 640)

    def __init__(self, pooled: bool = True):
        blocks = map(_ResidualBlock, (3, *self.widths), self.widths)
        super().__init__(*blocks, *((nn.AdaptiveAvgPool2d(1),) if pooled else ()), nn.Flatten())
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, a=_SLOPE, mode="fan_out", nonlinearity="leaky_relu")


_SLOPE = 0.1  # of the leaky ReLU


class _ResidualBlock(nn.Module):
    def __init__(self, channels: int, width: int):
        super().__init__()
        layers = []
        for i in range(3):
            layers += [nn.Conv2d(width if i else channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)]
            layers += [nn.LeakyReLU(_SLOPE)] if i < 2 else []
        self.layers = nn.Sequential(*layers)
        self.shortcut = nn.Sequential(nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width))
        self.out = nn.Sequential(nn.LeakyReLU(_SLOPE), nn.MaxPool2d(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.layers(x) + self.shortcut(x))


def resnet18() -> nn.Module:
    """ResNet-18 without its classifier, 512 features (He et al., 2016)."""
    from torchvision import models

    network = models.resnet18()
    network.fc = nn.Identity()
    return network


@dataclass(frozen=True)
class Network:
    """A network that `fslcore.tools.training` knows.

    Attributes
    ----------
    build : callable
        Makes it, with random weights.
    dim : int
        Its number of features.
    side : int
        Of the square images it reads, in pixels.
    map : (C, H, W) or None
        Channels, height and width of the map whose flattening the features are.
    """

    build: Callable[[], nn.Module]
    dim: int
    side: int = 32
    map: tuple[int, int, int] | None = None


NETWORKS = {
    "conv4": Network(Conv4, 256, map=(64, 2, 2)),
    "conv4-32": Network(partial(Conv4, 32), 128, map=(32, 2, 2)),
    "conv4-map": Network(partial(Conv4, pooled=3), 1024, map=(64, 4, 4)),
    "glyph-conv": Network(GlyphConv, GlyphConv.dim, side=28, map=(128, 2, 2)),
    "resnet12": Network(ResNet12, 640, side=84),
    "resnet12-map": Network(partial(ResNet12, pooled=False), 16000, side=84, map=(640, 5, 5)),
    "resnet18": Network(resnet18, 512),
}


class _Torchvision(MetaPathFinder):
    """Lets torchvision import beside a torch of another build (a CPU torch, say), once this module is imported.

    timm and open_clip import torchvision, whose import names two compiled operators. Where they are missing, their
    schemas are declared just before the part of torchvision that names them. They are never called here.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "torchvision._meta_registrations" and not hasattr(torch.ops.torchvision, "nms"):
            self.schemas = torch.library.Library("torchvision", "FRAGMENT")  # they last as long as this object
            self.schemas.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            self.schemas.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


sys.meta_path.insert(0, _Torchvision())
warnings.filterwarnings("ignore", message="IProgress not found")  # of a library that timm imports
