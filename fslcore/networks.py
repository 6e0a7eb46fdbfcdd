"""Networks that are trained here, from scratch: images in, one flat feature vector an image out."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import fuse_conv_bn_weights

__all__ = [
    "NETWORKS",
    "Conv4",
    "GlyphConv",
    "Network",
    "ResNet12",
    "folded",
    "import_torchvision",
    "resnet18",
    "with_fast_convolutions",
]


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
    import_torchvision()
    from torchvision import models

    network = models.resnet18()
    network.fc = nn.Identity()
    return network


@dataclass(frozen=True)
class Network:
    """A network that `fslcore.training` knows.

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


def import_torchvision() -> None:
    """Let torchvision import beside a torch of another build (a CPU torch, say).

    timm and open_clip import torchvision, whose import names two compiled operators; where they
    are missing their schemas are declared first. They are never called here.
    """
    global _schemas
    warnings.filterwarnings("ignore", message="IProgress not found")  # of a library that timm imports
    try:
        import torchvision  # noqa: F401
    except RuntimeError:  # operator torchvision::nms does not exist
        for name in [m for m in sys.modules if m.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        _schemas = torch.library.Library("torchvision", "FRAGMENT")
        _schemas.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _schemas.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


_schemas: torch.library.Library | None = None  # the declarations last as long as this object


class _Pointwise(nn.Module):
    """A 1×1 convolution as a matrix product over a channels-last map, which is faster."""

    def __init__(self, convolution: nn.Conv2d):
        super().__init__()
        self.weight, self.bias = convolution.weight, convolution.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.linear(x.movedim(-3, -1), self.weight.flatten(1), self.bias)
        return y.movedim(-1, -3)


class _Depthwise(nn.Module):
    """A depthwise convolution without the taps that see only padding, on the small maps of small images."""

    def __init__(self, convolution: nn.Conv2d):
        super().__init__()
        self.weight, self.bias = convolution.weight, convolution.bias
        self.stride, self.size = convolution.stride[0], convolution.kernel_size[0]
        # timm's Conv2dSame pads as much as the map needs; else the padding is a number.
        self.padding = None if type(convolution).__name__ == "Conv2dSame" else convolution.padding[0]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        side, stride, size = x.shape[-1], self.stride, self.size
        if self.padding is None:
            out = math.ceil(side / stride)
            before = max((out - 1) * stride + size - side, 0) // 2
        else:
            before = self.padding
            out = (side + 2 * before - size) // stride + 1
        # tap i of output r reads row i - before + stride·r
        taps = [i for i in range(size) if any(0 <= i - before + stride * r < side for r in range(out))]
        first, last = taps[0], taps[-1] + 1
        before -= first
        after = (out - 1) * stride + (last - first) - side - before
        x = F.pad(x, (before, after, before, after))
        return F.conv2d(x, self.weight[..., first:last, first:last], self.bias, stride=stride, groups=x.shape[-3])


def with_fast_convolutions(module: nn.Module) -> nn.Module:
    """Replace pointwise and depthwise convolutions by equal, faster ones, in place; same parameters."""
    for name, child in module.named_children():
        square = isinstance(child, nn.Conv2d) and child.kernel_size[0] == child.kernel_size[1]
        plain = square and child.dilation == (1, 1) and child.stride[0] == child.stride[1]
        if plain and child.kernel_size == (1, 1) and child.groups == 1 and child.stride == (1, 1):
            setattr(module, name, _Pointwise(child))
        elif plain and child.groups == child.in_channels == child.out_channels:
            setattr(module, name, _Depthwise(child))
        else:
            with_fast_convolutions(child)
    return module


@torch.inference_mode()
def folded(network: nn.Module, images: torch.Tensor) -> nn.Module:
    """A copy for evaluation with each batch norm folded into the convolution before it, a quarter to a third faster.

    *Before* is the order in which a module lists its parts, which need not be that of the data. So the copy is tried
    on ``images``, a few that are normalised, and where its features differ by more than rounding the network itself is given.
    """
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    if not norms or any(norm.running_mean is None for norm in norms):
        return network
    copy = deepcopy(network)
    for module in list(copy.modules()):
        last = None
        for name, child in list(module.named_children()):
            if isinstance(child, nn.BatchNorm2d) and isinstance(last, (nn.Conv2d, _Pointwise, _Depthwise)):
                last.weight, last.bias = fuse_conv_bn_weights(
                    last.weight, last.bias, child.running_mean, child.running_var, child.eps, child.weight, child.bias
                )
                setattr(module, name, getattr(child, "act", nn.Identity()))  # timm's hold their activation
            last = child
    same, found = network(images), copy(images)
    return copy if torch.allclose(same, found, rtol=1e-3, atol=1e-4 * same.abs().max().item()) else network
