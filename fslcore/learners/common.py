"""What the learners share: fetching a chunk of tasks from the bank."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from ..bank import Bank
from ..errors import InputError
from ..tasks import Tasks


def indices(tasks: Tasks, where: torch.device) -> tuple[torch.Tensor, ...]:
    """support, support_label, query as int64 tensors; padded indices point at row 0."""
    support, label, query = (
        torch.as_tensor(a.copy(), dtype=torch.int64, device=where)
        for a in (tasks.support, tasks.support_label, tasks.query)
    )
    return support.clamp(min=0), label, query.clamp(min=0)


def fetch(bank: Bank, tasks: Tasks) -> tuple[torch.Tensor, ...]:
    """Unit support features (T, n, D), one-hot labels (T, n, K), query features (T, q, D), norms (T, q, 1).

    Padding gives rows of zeros. A query's norm divides its scores, which are far fewer numbers
    than its features.
    """
    if bank.data.ndim != 2 or not bank.data.is_floating_point():
        raise InputError(f"bank: {bank.data.dtype} of shape {tuple(bank.data.shape)}; (N, D) features are needed")
    support, label, query = indices(tasks, bank.data.device)
    members = one_hot(label, tasks.ways).to(bank.data.dtype)
    x = F.normalize(F.embedding(support, bank.data), dim=-1) * members.sum(dim=-1, keepdim=True)
    q = F.embedding(query, bank.data)
    return x, members, q, q.norm(dim=-1, keepdim=True).clamp(min=1e-12)


def one_hot(label: torch.Tensor, ways: int) -> torch.Tensor:
    """(T, n) labels to (T, n, K) booleans; padding (-1) gives a row without any."""
    return label[..., None] == torch.arange(ways, device=label.device)


def without_empty(scores: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
    """Scores (T, q, K) with -inf for classes that have no support; ``members`` is (T, n, K)."""
    return scores.masked_fill(members.sum(dim=1, keepdim=True) == 0, -torch.inf)
