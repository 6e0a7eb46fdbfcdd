"""Fine-tuning of the whole backbone on each task's support."""

from __future__ import annotations

import copy
import math

import torch
from torch import nn
from torch.func import functional_call, vmap
from torch.nn import functional as F
from torch.utils._pytree import tree_map

from ..backbones import Backbone
from ..bank import Bank
from ..errors import InputError
from ..tasks import Tasks
from .common import indices, one_hot, without_empty

__all__ = ["FineTune"]


class FineTune:
    """Train all of the backbone and a linear head on the support, for each task anew (FT in OOPS).

    The head reads L2-normalised features and starts at all ones with zero bias, as in the released
    code. SGD with momentum 0.9; learning rate ``lr`` for the backbone and ``head_lr`` for the
    head, both on a cosine down to zero over the epochs; the whole support is one batch; batch
    normalisation stays in evaluation mode. A batch of tasks is trained at once, each with its own
    copy of the weights, which is exact: tasks share no parameter.

    Parameters
    ----------
    backbone : Backbone
    epochs : int
        Steps of gradient descent.
    lr, head_lr : float
        Learning rates of the backbone and the head.
    """

    name = "ft"
    reads = "images"

    def __init__(self, backbone: Backbone, epochs: int = 30, lr: float = 1e-4, head_lr: float = 0.1):
        if epochs < 1:
            raise InputError(f"epochs = {epochs}; at least 1 is needed")
        self.backbone, self.epochs, self.lr, self.head_lr = backbone, epochs, lr, head_lr
        self.network = _with_fast_convolutions(copy.deepcopy(backbone.network)).eval()

    def config(self) -> dict:
        """What decides the scores, for cache keys."""
        return {
            "learner": self.name, "version": 1, "backbone": self.backbone.digest,
            "epochs": self.epochs, "lr": self.lr, "head_lr": self.head_lr,
        }

    def scores(self, bank: Bank, tasks: Tasks) -> torch.Tensor:
        """Logits (T, n_query, K) from a bank of (N, H, W, C) uint8 images; -inf for a class without support.

        Memory grows with T times the size of the network: pass few tasks at once.
        """
        where = bank.data.device
        network = self.network.to(where)
        support, label, query = indices(tasks, where)
        members = one_hot(label, tasks.ways)
        # cross_entropy leaves out what has this label
        target = label.masked_fill(label < 0, -100)
        count = members.sum((1, 2))

        def stacked(tensor):  # one copy of the weights a task
            return tensor.detach().expand(len(tasks), *tensor.shape).clone().requires_grad_()

        weights = {name: stacked(p) for name, p in network.named_parameters()}
        buffers = dict(network.named_buffers())
        head = stacked(torch.ones(tasks.ways, self.backbone.dim, device=where))
        bias = stacked(torch.zeros(tasks.ways, device=where))

        def of_one(weights, head, bias, x):
            features = functional_call(network, (weights, buffers), (x,))
            return F.normalize(features, dim=-1) @ head.T + bias

        def logits(*stack):
            if len(tasks) > 1:
                return vmap(of_one)(*stack)
            # One task needs no vmap, whose layouts cost a factor of two on a CPU.
            return of_one(*tree_map(lambda t: t[0], stack))[None]

        def images(index):
            x = self.backbone.preprocess(bank.data[index.flatten()])
            return x.contiguous(memory_format=torch.channels_last).unflatten(0, index.shape)

        groups = [{"params": list(weights.values()), "lr": self.lr}, {"params": [head, bias], "lr": self.head_lr}]
        optimiser = torch.optim.SGD(groups, momentum=0.9)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.epochs)
        x = images(support)
        with torch.enable_grad():
            for _ in range(self.epochs):
                loss = F.cross_entropy(logits(weights, head, bias, x).mT, target, reduction="none")
                # the mean over each task's own images; tasks add up without touching each other
                (loss.sum(dim=1) / count).sum().backward()
                optimiser.step()
                optimiser.zero_grad()
                schedule.step()
        with torch.no_grad():
            return without_empty(logits(weights, head, bias, images(query)), members)


class _Pointwise(nn.Module):
    """A 1×1 convolution as a matrix product over a channels-last map, which trains faster."""

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
        self.weight = convolution.weight
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
        return F.conv2d(x, self.weight[..., first:last, first:last], stride=stride, groups=x.shape[-3])


def _with_fast_convolutions(module: nn.Module) -> nn.Module:
    """Replace pointwise and depthwise convolutions by equal, faster ones, in place; same parameters."""
    for name, child in module.named_children():
        square = isinstance(child, nn.Conv2d) and child.kernel_size[0] == child.kernel_size[1]
        plain = square and child.dilation == (1, 1) and child.stride[0] == child.stride[1]
        if plain and child.kernel_size == (1, 1) and child.groups == 1 and child.stride == (1, 1):
            setattr(module, name, _Pointwise(child))
        elif plain and child.groups == child.in_channels == child.out_channels and child.bias is None:
            setattr(module, name, _Depthwise(child))
        else:
            _with_fast_convolutions(child)
    return module
