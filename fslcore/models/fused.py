"""The same networks, faster for computing features only: folded norms and direct convolutions.

`torch.compile` needs a C++ compiler and, for EfficientNet-Lite0 on one core, some minutes before the first batch;
then a batch takes 0.044 s, compared with 0.071 s here and 0.116 s in the plain network (16 images of 96 pixels).
"""

from __future__ import annotations

import math
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import fuse_conv_bn_weights

__all__ = ["folded", "with_fast_convolutions"]


class _Pointwise(nn.Module):
    """A 1×1 convolution as a matrix product over a channels-last map, which is faster."""

    def __init__(self, convolution: nn.Conv2d):
        super().__init__()
        self.weight, self.bias = convolution.weight, convolution.bias

    def forward(self, x: Tensor) -> Tensor:
        y = F.linear(x.movedim(-3, -1), self.weight.flatten(1), self.bias)
        return y.movedim(-1, -3)


class _Depthwise(nn.Module):
    """A depthwise convolution without the taps that read only padding, for small maps."""

    def __init__(self, convolution: nn.Conv2d):
        super().__init__()
        self.weight, self.bias = convolution.weight, convolution.bias
        self.stride = convolution.stride[0]
        self.size = convolution.kernel_size[0]
        # timm's Conv2dSame pads as much as the map needs; otherwise the padding is a number.
        self.padding = (
            None if type(convolution).__name__ == "Conv2dSame" else int(convolution.padding[0])
        )

    def forward(self, x: Tensor) -> Tensor:
        side = x.shape[-1]
        stride = self.stride
        size = self.size
        if self.padding is None:
            out = math.ceil(side / stride)
            before = max((out - 1) * stride + size - side, 0) // 2
        else:
            before = self.padding
            out = (side + 2 * before - size) // stride + 1
        # tap i of output r reads row i - before + stride·r
        taps = [
            i for i in range(size) if any(0 <= i - before + stride * r < side for r in range(out))
        ]
        first = taps[0]
        last = taps[-1] + 1
        before -= first
        after = (out - 1) * stride + (last - first) - side - before
        x = F.pad(x, (before, after, before, after))
        return F.conv2d(
            x,
            self.weight[..., first:last, first:last],
            self.bias,
            stride=stride,
            groups=x.shape[-3],
        )


def with_fast_convolutions(module: nn.Module) -> nn.Module:
    """Replace pointwise and depthwise convolutions by equal, faster ones, in place.

    Same parameters.
    """
    for name, child in module.named_children():
        if not isinstance(child, nn.Conv2d):
            with_fast_convolutions(child)
            continue
        square = child.kernel_size[0] == child.kernel_size[1]
        regular = square and child.dilation == (1, 1) and child.stride[0] == child.stride[1]
        if regular and child.kernel_size == (1, 1) and child.groups == 1 and child.stride == (1, 1):
            setattr(module, name, _Pointwise(child))
        elif regular and child.groups == child.in_channels == child.out_channels:
            setattr(module, name, _Depthwise(child))
        else:
            with_fast_convolutions(child)
    return module


@torch.inference_mode()
def folded(network: nn.Module, images: Tensor) -> nn.Module:
    """A copy for evaluation with each batch norm folded into the convolution before it.

    It is a quarter to a third faster.

    *Before* is the order in which a module lists its parts, which need not be that of the data. So
    the copy is tested on ``images``, a few normalised ones, and if its features differ by more than
    rounding, the network itself is returned.
    """
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    if not norms or any(norm.running_mean is None for norm in norms):
        return network
    copy = deepcopy(network)
    for module in list(copy.modules()):
        last = None
        for name, child in list(module.named_children()):
            if (
                isinstance(child, nn.BatchNorm2d)
                and isinstance(last, (nn.Conv2d, _Pointwise, _Depthwise))
                and child.running_mean is not None
                and child.running_var is not None
            ):
                last.weight, last.bias = fuse_conv_bn_weights(
                    last.weight,
                    last.bias,
                    child.running_mean,
                    child.running_var,
                    child.eps,
                    child.weight,
                    child.bias,
                )
                setattr(
                    module, name, getattr(child, "act", nn.Identity())
                )  # timm's contain their activation
            last = child
    features = network(images)
    faster = copy(images)
    return (
        copy
        if torch.allclose(features, faster, rtol=1e-3, atol=1e-4 * features.abs().max().item())
        else network
    )
