"""Fine-tuning of the whole backbone on each task's support."""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn import functional as F

from ..datasets.bank import Bank
from ..errors import instance, whole
from ..models.backbone import Backbone, autocast, precision
from ..models.fused import with_fast_convolutions
from ..tasks import Tasks
from .common import indices, mask_absent, one_hot
from .protocol import Learner

__all__ = ["FineTune"]


class FineTune(Learner):
    """Train the whole backbone and a linear head on the support of each task (FT in OOPS).

    The head reads L2-normalised features and starts at all ones with zero bias, as in the released
    code. SGD with momentum 0.9; learning rate ``lr`` for the backbone and ``head_lr`` for the head,
    both with a cosine schedule to zero over the epochs; the whole support is one batch; batch
    normalisation stays in evaluation mode. On a GPU a batch of tasks is trained at once, each with
    its own copy of the weights, which is exact because tasks share no parameter; on a CPU, one
    after the other is faster.

    With the precision 'bf16' (`fslcore.models.backbone.precision`) the network computes in
    bfloat16, while the weights, their updates and the head keep 32 bits. Such results have keys of
    their own.

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
    settings = ("epochs", "lr", "head_lr")

    def __init__(
        self, backbone: Backbone, epochs: int = 30, lr: float = 1e-4, head_lr: float = 0.1
    ) -> None:
        self.backbone = backbone
        self.epochs = whole("epochs", epochs, minimum=1)
        self.lr = lr
        self.head_lr = head_lr
        self.network = with_fast_convolutions(copy.deepcopy(backbone.module)).eval()

    def config(self) -> dict[str, Any]:
        config = {**super().config(), "backbone": self.backbone.digest}
        if precision() != "f32":  # keys of 32 bits stay as they were
            config["precision"] = precision()
        return config

    def scores(self, bank: Bank, tasks: Tasks) -> Tensor:
        """Logits (T, n_query, K) from a bank of (N, H, W, C) uint8 images.

        -inf for a class without support.

        Memory grows with T times the size of the network on a GPU: use few tasks at once.
        """
        # vmap's layouts cost a CPU up to half its speed, and not all batch norms under it read
        # bfloat16.
        together = bank.data.device.type != "cpu" and precision() == "f32"
        parts = [tasks] if together else [tasks[t : t + 1] for t in range(len(tasks))]
        return torch.cat([self._together(bank, part) for part in parts])

    def _together(self, bank: Bank, tasks: Tasks) -> Tensor:
        """`scores` of tasks that are trained at once, by vmap unless there is only one."""
        support, label, query = indices(tasks, bank.data.device)
        members = one_hot(label, tasks.ways)
        network = self.network.to(bank.data.device)
        dim = instance("dim", self.backbone.dim, int)
        copies = _Copies(network, dim, len(tasks), tasks.ways)

        def images(index: Tensor) -> Tensor:
            x = self.backbone.preprocess(bank.data[index.flatten()])
            x = x.contiguous(memory_format=torch.channels_last)
            return x.unflatten(0, (*copies.batch, index.shape[1]))

        self._train(copies, images(support), label)
        with torch.no_grad():
            return mask_absent(copies.logits(images(query)), members)

    def _train(self, copies: "_Copies", x: Tensor, label: Tensor) -> None:
        count = (label >= 0).sum(1)
        groups = [
            {"params": list(copies.weights.values()), "lr": self.lr},
            {"params": [copies.head, copies.bias], "lr": self.head_lr},
        ]
        optimiser = torch.optim.SGD(groups, momentum=0.9)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.epochs)
        with torch.enable_grad():
            for _ in range(self.epochs):
                logits = copies.logits(x).mT
                loss = F.cross_entropy(logits, label, ignore_index=-1, reduction="none")
                # The mean over each task's own images; tasks are summed and stay independent.
                (loss.sum(dim=1) / count).sum().backward()
                optimiser.step()
                optimiser.zero_grad()
                schedule.step()


class _Copies:
    """A network with a linear head, one copy of their weights per task."""

    def __init__(self, network: nn.Module, dim: int, tasks: int, ways: int) -> None:
        self.network = network
        self.tasks = tasks
        # One task is spared this dimension, and vmap.
        self.batch = (tasks,) if tasks > 1 else ()
        self.run = functional_call
        if self.batch:
            self.run = vmap(functional_call, in_dims=(None, 0, 0))
        self.weights = {name: self._copied(w) for name, w in network.named_parameters()}
        device = next(network.parameters()).device
        self.head = self._copied(torch.ones(ways, dim, device=device))
        self.bias = self._copied(torch.zeros(ways, device=device))

    def _copied(self, tensor: Tensor) -> Tensor:
        copies = tensor.detach().expand(*self.batch, *tensor.shape)
        return copies.clone().requires_grad_()

    def logits(self, x: Tensor) -> Tensor:
        """(T, n, K) of normalised images (T, n, 3, H, W)."""
        with autocast(x.device):
            features = self.run(self.network, self.weights, x)
        unit = F.normalize(features.float(), dim=-1)
        logits = unit @ self.head.mT + self.bias[..., None, :]
        return logits.view(self.tasks, -1, logits.shape[-1])
