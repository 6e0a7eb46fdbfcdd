"""Fine-tuning of the whole backbone on each task's support."""

from __future__ import annotations

import copy

import torch
from torch.func import functional_call, vmap
from torch.nn import functional as F

from ..datasets.bank import Bank
from ..errors import whole
from ..models.backbone import Backbone, autocast, precision
from ..models.fused import with_fast_convolutions
from ..tasks import Tasks
from .common import indices, one_hot, without_empty
from .protocol import Learner

__all__ = ["FineTune"]


class FineTune(Learner):
    """Train the whole backbone and a linear head on the support, separately for each task (FT in OOPS).

    The head reads L2-normalised features and starts at all ones with zero bias, as in the released
    code. SGD with momentum 0.9; learning rate ``lr`` for the backbone and ``head_lr`` for the
    head, both with a cosine schedule to zero over the epochs; the whole support is one batch; batch
    normalisation stays in evaluation mode. On a GPU a batch of tasks is trained at once, each with its own
    copy of the weights, which is exact because tasks share no parameter; on a CPU, one after the other is faster.

    With the precision 'bf16' (`fslcore.models.backbone.precision`) the network computes in bfloat16, while the weights,
    their updates and the head keep 32 bits. Such results have keys of their own.

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

    def __init__(self, backbone: Backbone, epochs: int = 30, lr: float = 1e-4, head_lr: float = 0.1):
        self.backbone, self.epochs = backbone, whole("epochs", epochs, least=1)
        self.lr, self.head_lr = lr, head_lr
        self.network = with_fast_convolutions(copy.deepcopy(backbone.network)).eval()

    def config(self) -> dict:
        rounded = {} if precision() == "f32" else {"precision": precision()}  # keys of 32 bits stay as they were
        return {**super().config(), "backbone": self.backbone.digest, **rounded}

    def scores(self, bank: Bank, tasks: Tasks) -> torch.Tensor:
        """Logits (T, n_query, K) from a bank of (N, H, W, C) uint8 images; -inf for a class without support.

        Memory grows with T times the size of the network on a GPU: use few tasks at once.
        """
        # vmap's layouts cost a CPU up to half its speed, and not all batch norms under it read bfloat16.
        together = bank.data.device.type != "cpu" and precision() == "f32"
        parts = [tasks] if together else [tasks[t : t + 1] for t in range(len(tasks))]
        return torch.cat([self._together(bank, part) for part in parts])

    def _together(self, bank: Bank, tasks: Tasks) -> torch.Tensor:
        """`scores` of tasks that are trained at once, by vmap unless there is only one."""
        where = bank.data.device
        network = self.network.to(where)
        support, label, query = indices(tasks, where)
        members = one_hot(label, tasks.ways)
        count = members.sum((1, 2))
        # One task is spared this dimension, and vmap.
        batch = (len(tasks),) * (len(tasks) > 1)
        run = vmap(functional_call, in_dims=(None, 0, 0)) if batch else functional_call

        def stacked(tensor):  # one copy of the weights per task
            return tensor.detach().expand(*batch, *tensor.shape).clone().requires_grad_()

        weights = {name: stacked(p) for name, p in network.named_parameters()}
        head = stacked(torch.ones(tasks.ways, self.backbone.dim, device=where))
        bias = stacked(torch.zeros(tasks.ways, device=where))

        def logits(x):
            with autocast(where):
                features = run(network, weights, x)
            found = F.normalize(features.float(), dim=-1) @ head.mT + bias[..., None, :]
            return found.view(len(tasks), -1, tasks.ways)

        def images(index):
            x = self.backbone.preprocess(bank.data[index.flatten()])
            return x.contiguous(memory_format=torch.channels_last).unflatten(0, (*batch, index.shape[1]))

        groups = [{"params": list(weights.values()), "lr": self.lr}, {"params": [head, bias], "lr": self.head_lr}]
        optimiser = torch.optim.SGD(groups, momentum=0.9)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.epochs)
        x = images(support)
        with torch.enable_grad():
            for _ in range(self.epochs):
                loss = F.cross_entropy(logits(x).mT, label, ignore_index=-1, reduction="none")
                # the mean over each task's own images; tasks are summed and stay independent
                (loss.sum(dim=1) / count).sum().backward()
                optimiser.step()
                optimiser.zero_grad()
                schedule.step()
        with torch.no_grad():
            return without_empty(logits(images(query)), members)
