"""What the learners share: fetching a chunk of tasks from the bank."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from ..bank import Bank
from ..errors import InputError
from ..tasks import Tasks


class OnFeatures(nn.Module):
    """A learner that reads features and is written once, for a batch of tasks, to train and to evaluate.

    A subclass has a ``name`` and a differentiable ``forward(support, members, query)``: support
    features (T, n, D), one-hot labels (T, n, K), query features (T, q, D) to scores (T, q, K). Rows of
    ``members`` without a class are padding.
    """

    name: str
    reads = "features"
    sized = False  # whether its own weights fit one length of features, an argument ``dim``

    def config(self) -> dict:
        """What decides the scores, for cache keys."""
        return {"learner": self.name, "version": 1, **{k: v.tolist() for k, v in self.state_dict().items()}}

    @torch.no_grad()
    def scores(self, bank: Bank, tasks: Tasks) -> torch.Tensor:
        """Scores (T, n_query, K) from a bank of features; -inf for a class without support."""
        check_features(bank)
        self.eval().to(bank.data.device)
        support, label, query = indices(tasks, bank.data.device)
        members = one_hot(label, tasks.ways).to(bank.data.dtype)
        found = self(F.embedding(support, bank.data), members, F.embedding(query, bank.data))
        return without_empty(found, members)

    def on_images(self, network: nn.Module, support, members, query) -> torch.Tensor:
        """As ``forward``, from normalised images: (T, n, 3, H, W), (T, n, K) and (T, q, 3, H, W)."""
        features = network(torch.cat([support, query], dim=1).flatten(0, 1)).unflatten(0, (len(support), -1))
        return self(features[:, : support.shape[1]], members, features[:, support.shape[1] :])

    def loss(self, scores: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """What training minimises, from the scores (T, q, K) of queries and their labels (T, q)."""
        return query_loss(scores, target)


def indices(tasks: Tasks, where: torch.device) -> tuple[torch.Tensor, ...]:
    """support, support_label, query as int64 tensors; padded indices point at row 0."""
    support, label, query = (
        torch.as_tensor(a.copy(), dtype=torch.int64, device=where)
        for a in (tasks.support, tasks.support_label, tasks.query)
    )
    return support.clamp(min=0), label, query.clamp(min=0)


def check_features(bank: Bank) -> None:
    """Raise `InputError` unless the bank holds features."""
    if bank.data.ndim != 2 or not bank.data.is_floating_point():
        raise InputError(f"bank: {bank.data.dtype} of shape {tuple(bank.data.shape)}; (N, D) features are needed")


def fetch(bank: Bank, tasks: Tasks) -> tuple[torch.Tensor, ...]:
    """Support features x (T, n, D), one-hot labels (T, n, K), scale (T, n, 1), query indices (T, q).

    ``scale * x`` are the unit features, zeros for padding. It goes into the products with x, which
    are far fewer numbers than x itself.
    """
    check_features(bank)
    support, label, query = indices(tasks, bank.data.device)
    members = one_hot(label, tasks.ways).to(bank.data.dtype)
    x = F.embedding(support, bank.data)
    scale = members.sum(dim=-1, keepdim=True) / x.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    return x, members, scale, query


def query_scores(bank: Bank, query: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Products (T, q, K) of unit query features with ``weights`` (T, K, D).

    A few tasks at a time, so that on a CPU the features they fetch stay in its cache.
    """
    out = weights.new_empty(*weights.shape[:2], query.shape[1])
    step = len(out) if weights.is_cuda else max(1, 2**19 // (query.shape[1] * weights.shape[-1]))
    for at in range(0, len(out), step):
        rows = slice(at, at + step)
        x = F.embedding(query[rows], bank.data)
        out[rows] = weights[rows] @ x.mT / x.norm(dim=-1).clamp(min=1e-12)[:, None]
    return out.mT


def one_hot(label: torch.Tensor, ways: int) -> torch.Tensor:
    """(T, n) labels to (T, n, K) booleans; padding (-1) gives a row without any."""
    return label[..., None] == torch.arange(ways, device=label.device)


def query_loss(scores: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy of scores (T, q, K) with labels (T, q)."""
    return F.cross_entropy(scores.flatten(0, 1), target.flatten())


def support_loss(logits: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
    """(T,) mean cross-entropy of each task's support; classes without support are out of the softmax.

    ``logits`` and the one-hot ``members`` are (T, n, K).
    """
    absent = members.sum(dim=1, keepdim=True) == 0
    # A large number in place of infinity, whose products with zero are no number.
    right = members * torch.log_softmax(logits.masked_fill(absent, -1e9), dim=-1)
    return -right.sum((1, 2)) / members.sum((1, 2))


def without_empty(scores: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
    """Scores (T, q, K) with -inf for classes that have no support; ``members`` is (T, n, K)."""
    return scores.masked_fill(members.sum(dim=1, keepdim=True) == 0, -torch.inf)
