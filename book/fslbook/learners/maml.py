"""Model-agnostic meta-learning (Finn et al., 2017)."""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from fslcore.datasets.bank import Bank
from fslcore.errors import InputError, whole
from fslcore.learners.common import indices, mask_absent, one_hot, queries_present, query_loss
from fslcore.learners.protocol import Learner
from fslcore.models.backbone import Backbone
from fslcore.tasks import Tasks

__all__ = ["MAML"]

Weights = dict[str, Tensor]  # of a network, by name


class MAML(Learner):
    """A few steps of gradient descent on the support, from weights trained for this purpose.

    The linear head starts at zero, so a task may have any number of classes and their order does
    not matter. Batch normalisation uses the statistics of the support, so that a query's score does
    not depend on the other queries. ``transductive`` uses those of the support in the steps and
    those of the queries at the end, as released code does.

    Parameters
    ----------
    backbone : Backbone, optional
        Trained by MAML; needed for `scores`.
    steps : int
        Of gradient descent on the support.
    lr : float
        Their learning rate, for the network and the head.
    transductive : bool
        Normalise the queries with their own statistics.
    first_order : bool
        Train without second derivatives, which takes a quarter of the time.

    Raises
    ------
    InputError
        A backbone that was not trained by this learner; steps below 1.
    """

    name = "maml"
    reads = "images"
    settings = ("steps", "lr", "transductive")
    # A head that is trained with the network and not changed by the steps.
    head: nn.Linear | None = None

    def __init__(
        self,
        backbone: Backbone | None = None,
        *,
        steps: int = 5,
        lr: float = 0.05,
        transductive: bool = False,
        first_order: bool = False,
    ) -> None:
        if backbone is not None and not backbone.name.endswith(f"-{self.name}"):
            raise InputError(
                f"learner = {self.name}; {backbone.name} was not trained for it, "
                f"conv4-{self.name} was"
            )
        self.backbone = backbone
        self.steps = whole("steps", steps, minimum=1)
        self.lr = lr
        self.transductive = transductive
        self.first_order = first_order
        if backbone is not None:
            network = with_task_norm(copy.deepcopy(backbone.module)).eval()
            # The stubs leave this argument out.
            self.network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def config(self) -> dict[str, Any]:
        return {**super().config(), "backbone": self._trained_on.digest}

    @property
    def _trained_on(self) -> Backbone:
        if self.backbone is None:
            raise InputError(f"learner = {self.name}; it scores with the backbone it is made with")
        return self.backbone

    @property
    def trained(self) -> nn.Module | None:
        return self.head

    def scores(self, bank: Bank, tasks: Tasks) -> Tensor:
        """Logits (T, n_query, K) from a bank of (N, H, W, C) uint8 images.

        -inf for a class without support.
        """
        device = bank.data.device
        backbone = self._trained_on
        network = self.network.to(device)
        support, label, query = indices(tasks, device)
        members = one_hot(label, tasks.ways).float()
        present = queries_present(tasks, device)
        out = members.new_full((*query.shape, tasks.ways), -torch.inf)
        for t in range(len(tasks)):
            rows = label[t] >= 0
            x = backbone.preprocess(bank.data[support[t, rows]])
            z = backbone.preprocess(bank.data[query[t, present[t]]])
            out[t, present[t]] = self._task_scores(network, x, members[t, rows], z)
        return mask_absent(out, members)

    def _task_scores(self, network: nn.Module, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        """Scores (q, K) of queries z by the weights of the network, adapted to x and y."""
        weights = {name: w.detach().requires_grad_() for name, w in network.named_parameters()}
        with torch.enable_grad():
            adapted = self._adapt(network, weights, x, y, create_graph=False)
        with torch.no_grad():
            return self._answer(network, *adapted, x, z)

    def on_images(
        self, network: nn.Module, support: Tensor, members: Tensor, query: Tensor
    ) -> Tensor:
        """Scores (T, q, K) from normalised images (T, n, 3, H, W) and (T, q, 3, H, W).

        ``network`` must have passed through `with_task_norm`. Differentiable; with ``first_order``
        only through the final weights of the steps.
        """
        out = []
        for x, y, z in zip(support, members, query):
            weights: Weights = dict(network.named_parameters())
            adapted = self._adapt(network, weights, x, y, create_graph=not self.first_order)
            out.append(self._answer(network, *adapted, x, z))
        return torch.stack(out)

    loss = staticmethod(query_loss)

    def _start(self, features: Tensor, ways: int) -> tuple[Tensor, Tensor]:
        """Head (K, D) and bias before the first step."""
        head = features.new_zeros(ways, features.shape[1], requires_grad=True)
        return head, features.new_zeros(ways, requires_grad=True)

    def _adapt(
        self, network: nn.Module, weights: Weights, x: Tensor, y: Tensor, create_graph: bool
    ) -> tuple[Weights, Tensor, Tensor]:
        """Weights, head (K, D) and bias after the steps on a support.

        Its images x are (n, 3, H, W), its one-hot labels y (n, K).
        """
        x = x.contiguous(memory_format=torch.channels_last)
        features = self._features(network, weights, x, len(x))
        head, bias = self._start(features, y.shape[1])
        for step in range(self.steps):
            loss = _support_loss(features @ head.T + bias, y)
            # A head of zeros passes no gradient on: the first step changes only the head.
            body = weights if step or self.head else {}
            body, head, bias = self._moved(loss, body, head, bias, create_graph)
            weights = {**weights, **body}
            if step + 1 < self.steps:
                features = self._features(network, weights, x, len(x))
        return weights, head, bias

    def _moved(
        self, loss: Tensor, body: Weights, head: Tensor, bias: Tensor, create_graph: bool
    ) -> tuple[Weights, Tensor, Tensor]:
        """Some weights of the network, the head and the bias after one step of gradient descent."""
        moving = list(body.values())
        if not self.head:
            moving += [head, bias]
        slopes = torch.autograd.grad(loss, moving, create_graph=create_graph)
        moved = [w - self.lr * slope for w, slope in zip(moving, slopes)]
        if not self.head:
            head, bias = moved[-2:]
        return dict(zip(body, moved)), head, bias

    def _answer(
        self, network: nn.Module, weights: Weights, head: Tensor, bias: Tensor, x: Tensor, z: Tensor
    ) -> Tensor:
        """Scores (q, K) of queries z by the weights adapted to support x."""
        if self.transductive:
            features = self._features(network, weights, z, len(z))
        else:
            features = self._features(network, weights, torch.cat([x, z]), len(x))[len(x) :]
        return features @ head.T + bias

    def _features(self, network: nn.Module, weights: Weights, x: Tensor, rows: int) -> Tensor:
        for norm in network.modules():
            if isinstance(norm, TaskNorm):
                norm.rows = rows
        return functional_call(network, weights, (x,))


def _support_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Cross-entropy of logits (n, K); classes without an image are out of the softmax."""
    absent = torch.zeros_like(y[0]).masked_fill(y.sum(dim=0) == 0, -torch.inf)
    return F.cross_entropy(logits + absent, y.argmax(dim=1))


class TaskNorm(nn.BatchNorm2d):
    """Batch normalisation with the statistics of the first ``rows`` images, the support."""

    rows: int | None = None
    momentum: float

    def forward(self, x: Tensor) -> Tensor:
        if self.rows == len(x):
            # In training the running statistics are updated, so that the network serves other
            # learners too.
            running = (self.running_mean, self.running_var) if self.training else (None, None)
            return F.batch_norm(x, *running, self.weight, self.bias, True, self.momentum, self.eps)
        variance, mean = torch.var_mean(x[: self.rows], dim=(0, 2, 3), correction=0, keepdim=True)
        scale = self.weight[:, None, None] * torch.rsqrt(variance + self.eps)
        return torch.addcmul(self.bias[:, None, None] - mean * scale, x, scale)


def with_task_norm(module: nn.Module) -> nn.Module:
    """Replace every batch normalisation by `TaskNorm`, in place; same parameters."""
    for name, child in module.named_children():
        if isinstance(child, nn.BatchNorm2d):
            norm = TaskNorm(child.num_features, child.eps)
            norm.load_state_dict(child.state_dict())
            setattr(module, name, norm)
        else:
            with_task_norm(child)
    return module
