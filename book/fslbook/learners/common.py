"""Code shared by the learners here: maps of descriptors, and gradient descent on supports."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from fslcore.datasets.bank import Bank
from fslcore.errors import InputError
from fslcore.learners.common import OnFeatures, check_features
from fslcore.tasks import Tasks


class OnMaps(OnFeatures):
    """A learner that compares places of a network's last map, H × W descriptors per image.

    It reads the flattened map, as features are stored, and ``embed`` gives ``forward`` the
    descriptors: (T, n, HW, C) for support and (T, q, HW, C) for queries.

    Parameters
    ----------
    map : (C, H, W)
        Channels, height and width of the map: `fslcore.models.backbone.Backbone.map`.
    """

    needs_feature_map = True
    pairs = 2**14  # of a support and a query image, in all tasks taken at once

    def __init__(self, map: tuple[int, int, int] = (64, 4, 4)) -> None:
        super().__init__()
        self.map = map

    def config(self) -> dict[str, Any]:
        return {**super().config(), "map": list(self.map)}

    def check(self, bank: Bank) -> None:
        super().check(bank)
        self.embed(bank.data[:1])

    def at_once(self, tasks: Tasks, device: torch.device) -> int:
        return max(1, min(256, self.pairs // (tasks.support.shape[1] * tasks.query.shape[1])))

    def prepare(self, bank: Bank) -> Bank:
        if bank.data.ndim == 3:  # already prepared
            return bank
        check_features(bank)
        self.to(bank.data.device)
        with torch.no_grad():
            rows = torch.arange(len(bank), device=bank.data.device)
            embedded = torch.cat([self.embed(bank.rows(part)) for part in rows.split(256)])
            return Bank(embedded, bank.labels, bank.digest)

    def embed(self, features: Tensor) -> Tensor:
        channels, height, width = self.map
        if features.shape[-1] != channels * height * width:
            raise InputError(
                f"features of {self.name} must be the flattening of a map of {channels} × "
                f"{height} × {width}, got length {features.shape[-1]}"
            )
        return features.unflatten(-1, (channels, -1)).mT

    def descriptors(self, embedded: Tensor) -> Tensor:
        return embedded


def support_loss(logits: Tensor, members: Tensor) -> Tensor:
    """(T,) mean cross-entropy of each task's support.

    Classes without support are excluded from the softmax.

    ``logits`` and the one-hot ``members`` are (T, n, K).
    """
    absent = members.sum(dim=1, keepdim=True) == 0
    # A large number in place of infinity, since infinity times zero is not a number.
    right = members * torch.log_softmax(logits.masked_fill(absent, -1e9), dim=-1)
    return -right.sum((1, 2)) / members.sum((1, 2))


def descended_head(
    support: Tensor,
    members: Tensor,
    steps: int,
    lr: float | Tensor,
    create_graph: bool,
) -> Sequence[Tensor]:
    """Linear heads (T, K, D) and biases (T, 1, K) after gradient descent on supports, from zero.

    ``support`` is (T, n, D), the one-hot ``members`` (T, n, K); ``create_graph`` allows training
    through the steps.
    """
    tasks = len(support)
    ways = members.shape[-1]
    head = support.new_zeros(tasks, ways, support.shape[-1], requires_grad=True)
    bias = support.new_zeros(tasks, 1, ways, requires_grad=True)
    loss = lambda head, bias: support_loss(support @ head.mT + bias, members)  # noqa: E731
    return descended(loss, (head, bias), steps, lr, create_graph)


def descended(
    loss: Callable[..., Tensor],
    weights: Sequence[Tensor],
    steps: int,
    lr: float | Tensor,
    create_graph: bool,
) -> Sequence[Tensor]:
    """Each task's weights after gradient descent on its ``loss(*weights)`` (T,)."""
    with torch.enable_grad():
        for _ in range(steps):
            slopes = torch.autograd.grad(loss(*weights).sum(), weights, create_graph=create_graph)
            weights = [w - lr * g for w, g in zip(weights, slopes)]
    return weights


def places_by_class(members: Tensor) -> tuple[Tensor, Tensor]:
    """Indices (T, K, s) of each class's support in ``members`` (T, n, K), and which are no padding.

    s is the largest number of shots of a class.
    """
    filled, index = members.mT.sort(dim=-1, descending=True, stable=True)
    shots = int(members.sum(dim=1).max())
    return index[..., :shots], filled[..., :shots] > 0
