"""Checks of a learner: its configuration, its scores, and what they depend on."""

import copy
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import torch

from ..datasets.bank import Bank
from ..errors import InputError, reason
from ..tasks import Tasks, sample_closed
from ..tasks.tasks import ARRAYS, PAD
from .protocol import Learner, complete, shape_fault

__all__ = ["check_learner"]

TOLERANCE = (
    1e-3  # of the standard deviation of the scores, as for `fslcore.evaluation.check_transductive`
)
WAYS = 3
SHOTS = 2
QUERIES = 2


def check_learner(learner: Learner, bank: Bank | None = None, *, seed: int = 0) -> None:
    """Run a learner on small tasks and report all faults, as scikit-learn's ``check_estimator``.

    Its configuration must be JSON and stay the same. Its scores must have the shape (T, n_query,
    K), be on the bank's device and be finite. They must not change when it is asked again, when
    tasks come in batches of another size or in another order, or when they are padded with -1.
    Without ``transductive`` they must not depend on other queries of a task. The bank and the tasks
    must not be changed.

    Parameters
    ----------
    learner
        As for `fslcore.evaluation.evaluate`.
    bank : Bank, optional
        Its input: at least 3 classes of at least 4 rows. By default 36 random rows of 6 classes: 64
        features with embeddings of names and a mean, or images of 32 × 32 pixels.
    seed : int
        Seed of the default bank and the tasks.

    Raises
    ------
    InputError
        It is not a learner; otherwise, all faults found, in sequence.
    """
    learner = complete(learner)
    if bank is None:
        bank = _bank(learner, seed)
    sampled = sample_closed(
        bank.labels, tasks=4, ways=WAYS, shots=SHOTS, queries=QUERIES, seed=seed
    )
    tasks = replace(  # whose arrays can be written to
        sampled,
        support=sampled.support.copy(),
        support_label=sampled.support_label.copy(),
        query=sampled.query.copy(),
        query_label=sampled.query_label.copy(),
    )
    faults = list(dict.fromkeys(_faults(learner, bank, tasks)))
    if faults:
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        numbered = [f"({i}) {fault}" for i, fault in enumerate(faults, 1)]
        raise InputError(f"learner = {learner.name}; {count}: {'; '.join(numbered)}")


def _bank(learner: Learner, seed: int) -> Bank:
    rng = torch.Generator().manual_seed(seed)
    labels = np.repeat(np.arange(6), 6)
    if learner.reads == "images":
        pixels = torch.randint(0, 256, (36, 32, 32, 3), dtype=torch.uint8, generator=rng)
        return Bank(pixels, labels, "")
    features = torch.randn(36, 64, generator=rng)
    text = torch.randn(6, 64, generator=rng)
    return Bank(features, labels, "", text=text, center=torch.zeros(64))


def _faults(learner: Learner, bank: Bank, tasks: Tasks) -> Iterator[str]:
    """The faults, in the order of the checks; a fault that makes the rest meaningless ends them."""
    config, fault = _configuration(learner)
    yield from fault
    bank_before, tasks_before = copy.deepcopy((bank, tasks))
    try:
        scores = learner.scores(bank, tasks)
        fault = _form_faults(scores, bank, tasks)
        yield from fault
        if fault:
            return
        values = _as_array(scores)
        spread = max(float(values[np.isfinite(values)].std()), 1e-12)
        yield from _dependences(learner, bank, tasks, values, TOLERANCE * spread)
    except Exception as error:  # of any kind: it is the user's code
        yield f"scores fails with {reason(error)}"
    if _differ(bank, bank_before, ("data", "text", "center", "labels")):
        yield "it changes the bank"
    if _differ(tasks, tasks_before, ARRAYS):
        yield "it changes the tasks"
    if not fault and _configuration(learner)[0] != config:
        yield "config() differs after scores"


def _differ(changed: object, before: object, names: Iterable[str]) -> bool:
    """Whether one of these arrays of two objects differs."""
    pairs = [(getattr(changed, name), getattr(before, name)) for name in names]
    return any(array is not None and bool((array != copied).any()) for array, copied in pairs)


def _configuration(learner: Learner) -> tuple[str | None, list[str]]:
    """The configuration as text, and its faults."""
    try:
        first, second = (
            json.dumps(learner.config(), sort_keys=True, allow_nan=False) for _ in range(2)
        )
    except Exception as error:
        return None, [f"config() does not give JSON ({reason(error)})"]
    return first, [] if first == second else ["config() differs each time"]


def _form_faults(scores: object, bank: Bank, tasks: Tasks) -> list[str]:
    """Faults of the form of scores, or of their values."""
    shape = (*tasks.query.shape, tasks.ways)
    form = shape_fault(scores, shape)
    if form:
        return [f"scores must be a tensor of shape {shape}, (T, n_query, K), got {form}"]
    if isinstance(scores, torch.Tensor) and scores.device != bank.data.device:
        return [f"scores are on {scores.device}, not on the bank's device, {bank.data.device}"]
    infinite = ~np.isfinite(_as_array(scores))
    if infinite.any():
        return [
            f"{infinite.sum()} of {infinite.size} scores are NaN or infinite, although all "
            "classes have support"
        ]
    return []


def _as_array(scores: object) -> np.ndarray:
    return torch.as_tensor(scores).detach().double().cpu().numpy()


def _dependences(
    learner: Learner, bank: Bank, tasks: Tasks, scores: np.ndarray, tolerance: float
) -> Iterator[str]:
    """Equivalent ways of asking in which scores change, though they must not."""
    n = len(tasks)

    def score(tasks: Tasks) -> np.ndarray:
        return _as_array(learner.scores(bank, tasks))

    def differ(repeated: np.ndarray) -> bool:
        return repeated.shape != scores.shape or not (np.abs(repeated - scores) <= tolerance).all()

    if differ(score(tasks)):
        yield "scores differ when it is asked again"
        return  # the checks below would all fail
    if differ(np.concatenate([score(tasks[i : i + 1]) for i in range(n)])):
        yield "scores depend on how many tasks are asked together"
    backwards = tasks[np.arange(n)[::-1]]
    if differ(score(backwards)[::-1]):
        yield "scores depend on the order of tasks"
    if differ(score(_padded(tasks, "support"))):
        yield (
            "scores depend on padding of the support: "
            "support and support_label of -1 are not an image"
        )
    if differ(score(_padded(tasks, "query"))[:, : scores.shape[1]]):
        yield "scores depend on padding of the queries: a query of -1 is not an image"
    if learner.transductive:
        return
    alone = []
    for i in range(scores.shape[1]):
        query = replace(tasks, query=tasks.query[:, [i]], query_label=tasks.query_label[:, [i]])
        alone.append(score(query))
    if differ(np.concatenate(alone, axis=1)):
        yield "scores depend on the other queries of a task, but transductive is False"


def _padded(tasks: Tasks, side: str) -> Tasks:
    """The tasks with two more places of the support or of the query, which are padding."""

    def padded(name: str) -> np.ndarray:
        return np.pad(getattr(tasks, name), ((0, 0), (0, 2)), constant_values=PAD)

    if side == "support":
        return replace(tasks, support=padded("support"), support_label=padded("support_label"))
    return replace(tasks, query=padded("query"), query_label=padded("query_label"))
