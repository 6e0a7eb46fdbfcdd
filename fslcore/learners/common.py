"""Code shared by the learners, such as fetching a chunk of tasks from the bank."""

import hashlib
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..datasets.bank import Bank
from ..errors import InputError
from ..tasks import Tasks
from .protocol import Learner

CACHED = 2**17  # numbers, half a megabyte, that fit into the cache of a core


def query_loss(scores: Tensor, target: Tensor) -> Tensor:
    """The training loss: mean cross-entropy of scores (T, q, K) with labels (T, q)."""
    return F.cross_entropy(scores.flatten(0, 1), target.flatten())


class OnFeatures(nn.Module, Learner):
    """A learner that reads features: one implementation for training and evaluation.

    A subclass has a ``name`` and a differentiable ``forward(support, members, query)``: support
    features (T, n, D), one-hot labels (T, n, K), query features (T, q, D) to scores (T, q, K). Rows
    of ``members`` without a class are padding. ``embed`` is applied to each image alone, before. A
    learner that is ``transductive`` uses all queries of a task at once: its ``forward`` takes as a
    fourth argument which queries (T, q) are not padding.
    """

    digested = False  # whether its many weights are represented by their digest in a key

    def config(self) -> dict[str, Any]:
        weights = self.state_dict()
        if not self.digested:
            return {**super().config(), **{name: w.tolist() for name, w in weights.items()}}
        sha = hashlib.sha256()
        for name, w in weights.items():
            sha.update(name.encode() + w.cpu().numpy().tobytes())
        return {**super().config(), "weights": sha.hexdigest()}

    @property
    def trained(self) -> nn.Module:
        return self

    @torch.no_grad()
    def scores(self, bank: Bank, tasks: Tasks) -> Tensor:
        """Scores (T, n_query, K) from a bank of features; -inf for a class without support."""
        self.eval().to(bank.data.device)
        bank = self.prepare(bank)
        support, label, query = indices(tasks, bank.data.device)
        members = one_hot(label, tasks.ways).to(bank.dtype)
        support = bank.rows(support)
        query = bank.rows(query)
        present = (queries_present(tasks, query.device),) if self.transductive else ()
        return mask_absent(self(support, members, query, *present), members)

    def prepare(self, bank: Bank) -> Bank:
        """The bank with its features embedded; one call serves many calls of `scores`."""
        check_features(bank)
        return bank

    def embed(self, features: Tensor) -> Tensor:
        """The learner's embedding of the features (..., D) of each image alone."""
        return features

    def descriptors(self, embedded: Tensor) -> Tensor:
        """The input (..., V, C) of an auxiliary classifier: V vectors per image."""
        return embedded[..., None, :]

    def on_images(
        self, network: nn.Module, support: Tensor, members: Tensor, query: Tensor
    ) -> Tensor:
        """As ``forward``, from normalised images (T, n, 3, H, W) and (T, q, 3, H, W)."""
        support, query = self.embed_images(network, support, query)
        return self(support, members, query)

    def embed_images(
        self, network: nn.Module, support: Tensor, query: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Embedded features of images (T, n, 3, H, W) and (T, q, 3, H, W), in one batch."""
        features = network(torch.cat([support, query], dim=1).flatten(0, 1)).unflatten(
            0, (len(support), -1)
        )
        return self.embed(features).split([support.shape[1], query.shape[1]], dim=1)

    loss = staticmethod(query_loss)


def indices(tasks: Tasks, device: torch.device) -> tuple[Tensor, ...]:
    """support, support_label, query as int64 tensors; padded indices refer to row 0."""
    support, label, query = (
        torch.as_tensor(a.copy(), dtype=torch.int64, device=device)
        for a in (tasks.support, tasks.support_label, tasks.query)
    )
    return support.clamp(min=0), label, query.clamp(min=0)


def queries_present(tasks: Tasks, device: torch.device) -> Tensor:
    """(T, n_query) which queries are not padding."""
    return torch.as_tensor(tasks.query >= 0, device=device)


def check_features(bank: Bank) -> None:
    """Raise `InputError` unless the bank contains features."""
    if bank.data.ndim != 2 or not bank.data.is_floating_point():
        raise InputError(
            f"bank must have features (N, D), got {bank.data.dtype} of shape "
            f"{tuple(bank.data.shape)}"
        )


def supports_and_queries(bank: Bank, tasks: Tasks) -> tuple[Tensor, ...]:
    """Support features x (T, n, D), one-hot labels (T, n, K), scale (T, n, 1), queries (T, q).

    ``scale * x`` are the unit features, zeros for padding. The scale is applied in the products
    with x, which have far fewer numbers than x itself.
    """
    check_features(bank)
    support, label, query = indices(tasks, bank.data.device)
    members = one_hot(label, tasks.ways).to(bank.dtype)
    x = bank.rows(support)
    lengths = x.norm(dim=-1) if bank.large else bank.norms[support]  # not kept of a large bank
    scale = members.sum(dim=-1) / lengths.clamp(min=1e-12)
    return x, members, scale[..., None], query


def query_scores(bank: Bank, query: Tensor, weights: Tensor) -> Tensor:
    """Products (T, q, K) of unit query features with ``weights`` (T, K, D).

    A few tasks at a time, in the same memory, so that on a CPU their features stay in its cache.
    """
    tasks, ways, dim = weights.shape
    n_queries = query.shape[1]
    few = max(torch.get_num_threads(), CACHED // (n_queries * dim))
    step = tasks if weights.is_cuda else min(max(1, tasks), few)
    features = bank.data.new_empty(step * n_queries, dim)
    scores = weights.new_empty(tasks, ways, n_queries)
    lengths = scores.new_empty(query.shape) if bank.large else bank.norms[query]
    for start in range(0, tasks, step):
        part = slice(start, start + step)
        index = query[part]
        x = torch.index_select(bank.data, 0, index.flatten(), out=features[: index.numel()])
        x = x.to(bank.dtype).unflatten(0, index.shape)
        torch.bmm(weights[part], x.mT, out=scores[part])
        if bank.large:
            lengths[part] = x.norm(dim=-1)
    scores /= lengths.clamp(min=1e-12)[:, None]
    return scores.mT


def one_hot(label: Tensor, ways: int) -> Tensor:
    """(T, n) labels to (T, n, K) booleans; padding (-1) gives a row without any."""
    return label[..., None] == torch.arange(ways, device=label.device)


def class_means(support: Tensor, members: Tensor) -> Tensor:
    """Means (T, K, ...) over the support (T, n, ...) of each class.

    Zeros for a class without support.
    """
    size = members.sum(dim=1).clamp(min=1)[..., None]
    return (members.mT @ support.flatten(2) / size).unflatten(-1, support.shape[2:])


def mask_absent(scores: Tensor, members: Tensor) -> Tensor:
    """Scores (T, q, K) with -inf for classes that have no support; ``members`` is (T, n, K)."""
    return scores.masked_fill(members.sum(dim=1, keepdim=True) == 0, -torch.inf)
