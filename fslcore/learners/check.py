"""Checks of a learner: its configuration, its scores, and what they depend on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

from ..datasets.bank import Bank
from ..errors import InputError, reason
from ..tasks import Tasks, sample_closed
from ..tasks.tasks import PAD
from .protocol import Learner, complete, misshapen

__all__ = ["check_learner"]

TOLERANCE = 1e-3  # of the standard deviation of the scores, as for `fslcore.evaluation.probe`
WAYS, SHOTS, QUERIES = 3, 2, 2


def check_learner(learner: Learner, bank: Bank | None = None, *, seed: int = 0) -> None:
    """Run a learner on a few small tasks and report all faults, as scikit-learn's `check_estimator` does.

    Its configuration must be JSON and stay the same. Its scores must have the shape (T, n_query, K), be on the bank's
    device and be finite. They must not change when it is asked again, when tasks come in batches of another size or in
    another order, or when they are padded with -1. Without ``transductive`` they must not depend on other queries of
    a task. The bank and the tasks must not be changed.

    Parameters
    ----------
    learner
        As for `fslcore.evaluation.evaluate`.
    bank : Bank, optional
        Its input: at least 3 classes of at least 4 rows. By default 36 random rows of 6 classes: 64 features
        with embeddings of names and a mean, or images of 32 × 32 pixels.
    seed : int
        Seed of the default bank and the tasks.

    Raises
    ------
    InputError
        It is not a learner; otherwise, all faults found, in sequence.
    """
    learner = complete(learner)
    bank = _bank(learner, seed) if bank is None else bank
    drawn = sample_closed(bank.labels, tasks=4, ways=WAYS, shots=SHOTS, queries=QUERIES, seed=seed)
    tasks = replace(drawn, **{name: np.array(getattr(drawn, name)) for name in _ARRAYS})  # which it could write to
    faults = list(dict.fromkeys(_faults(learner, bank, tasks)))
    if faults:
        told = "; ".join(f"({i}) {fault}" for i, fault in enumerate(faults, 1))
        raise InputError(f"learner = {learner.name}; {len(faults)} {'fault' if len(faults) == 1 else 'faults'}: {told}")


_ARRAYS = ("support", "support_label", "query", "query_label")


def _bank(learner: Learner, seed: int) -> Bank:
    rng, labels = torch.Generator().manual_seed(seed), np.repeat(np.arange(6), 6)
    if learner.reads == "images":
        return Bank(torch.randint(0, 256, (36, 32, 32, 3), dtype=torch.uint8, generator=rng), labels, "")
    data = torch.randn(36, 64, generator=rng)
    return Bank(data, labels, "", text=torch.randn(6, 64, generator=rng), center=torch.zeros(64))


def _faults(learner: Learner, bank: Bank, tasks: Tasks) -> Iterator[str]:
    """The faults, in the order of the checks; a fault that makes the rest meaningless ends them."""
    config, fault = _config(learner)
    yield from fault
    before = {name: value.clone() for name in ("data", "text", "center") if (value := getattr(bank, name)) is not None}
    labels, arrays = bank.labels.copy(), [getattr(tasks, name).copy() for name in _ARRAYS]
    try:
        asked = learner.scores(bank, tasks)
        yield from (fault := _form(asked, bank, tasks))
        if fault:
            return
        asked = _plain(asked)
        spread = max(float(asked[np.isfinite(asked)].std()), 1e-12)
        yield from _changed(learner, bank, tasks, asked, TOLERANCE * spread)
    except Exception as error:  # of any kind: it is the user's code
        yield f"scores fails with {reason(error)}"
    if (
        any(not torch.equal(getattr(bank, name), value) for name, value in before.items())
        or (bank.labels != labels).any()
    ):
        yield "it changes the bank"
    if any((getattr(tasks, name) != array).any() for name, array in zip(_ARRAYS, arrays)):
        yield "it changes the tasks"
    if not fault and _config(learner)[0] != config:
        yield "config() differs after scores"


def _config(learner: Learner) -> tuple[str | None, list[str]]:
    """The configuration as text, and its faults."""
    try:
        first, second = (json.dumps(learner.config(), sort_keys=True, allow_nan=False) for _ in range(2))
    except Exception as error:
        return None, [f"config() does not give JSON ({reason(error)})"]
    return first, [] if first == second else ["config() differs each time"]


def _form(scores: object, bank: Bank, tasks: Tasks) -> list[str]:
    """Faults of the form of scores, or of their values."""
    wanted = (*tasks.query.shape, tasks.ways)
    if what := misshapen(scores, wanted):
        return [f"scores are {what}, not a tensor of shape {wanted}: (T, n_query, K)"]
    if isinstance(scores, torch.Tensor) and scores.device != bank.data.device:
        return [f"scores are on {scores.device}, not on the bank's device, {bank.data.device}"]
    lost = ~np.isfinite(_plain(scores))
    return (
        [f"{lost.sum()} of {lost.size} scores are NaN or infinite, although all classes have support"]
        if lost.any()
        else []
    )


def _plain(scores: torch.Tensor | np.ndarray) -> np.ndarray:
    return torch.as_tensor(scores).detach().double().cpu().numpy()


def _changed(learner: Learner, bank: Bank, tasks: Tasks, asked: np.ndarray, most: float) -> Iterator[str]:
    """Equivalent ways of asking in which scores change, though they must not."""
    score = lambda of: _plain(learner.scores(bank, of))  # noqa: E731
    n = len(tasks)

    def moves(other: np.ndarray) -> bool:
        return other.shape != asked.shape or not (np.abs(other - asked) <= most).all()

    if moves(score(tasks)):
        yield "scores differ when it is asked again"
        return  # the checks below would all fail
    if moves(np.concatenate([score(tasks[[i]]) for i in range(n)])):
        yield "scores depend on how many tasks are asked together"
    if moves(score(tasks[np.arange(n)[::-1]])[::-1]):
        yield "scores depend on the order of tasks"
    if moves(score(_padded(tasks, ("support", "support_label")))):
        yield "scores depend on padding of the support: support and support_label of -1 are not an image"
    if moves(score(_padded(tasks, ("query", "query_label")))[:, : asked.shape[1]]):
        yield "scores depend on padding of the queries: a query of -1 is not an image"
    if not learner.transductive:
        alone = [
            replace(tasks, query=tasks.query[:, [i]], query_label=tasks.query_label[:, [i]])
            for i in range(asked.shape[1])
        ]
        if moves(np.concatenate([score(one) for one in alone], axis=1)):
            yield "scores depend on the other queries of a task, but transductive is False"


def _padded(tasks: Tasks, names: tuple[str, ...]) -> Tasks:
    return replace(
        tasks, **{name: np.pad(getattr(tasks, name), ((0, 0), (0, 2)), constant_values=PAD) for name in names}
    )
