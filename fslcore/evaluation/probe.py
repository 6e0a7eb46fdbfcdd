"""Whether a learner's answer to a query depends on the other queries of its task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..datasets.bank import Bank
from ..errors import InputError, instance, whole
from ..learners.protocol import Learner, complete
from ..tasks import Tasks
from ..tasks.tasks import PAD
from .records import scores

__all__ = ["Neighbours", "probe"]

TOLERANCE = 1e-3  # of the standard deviation of the scores; 32-bit rounding and batching move scores far less
COMPANY = {"alone": "asked one by one", "order": "asked in another order", "class": "asked with their own class only"}


@dataclass(frozen=True)
class Neighbours:
    """Result of `probe`: differences from the answers to all queries of a task together.

    Attributes
    ----------
    learner : str
        Its name.
    queries : int
        Number of queries asked in each way.
    moved : dict of float
        By way of asking ('alone', 'order', 'class'): the largest change of a score, in standard deviations of the
        scores.
    changed : dict of float
        By way of asking: the share of queries whose answer changes.
    together, alone : float
        Accuracy with all queries of a task asked together, and with each asked alone.
    depends : bool
        Whether answers depend on other queries: the learner is *transductive*.
    """

    learner: str
    queries: int
    moved: dict[str, float]
    changed: dict[str, float]
    together: float
    alone: float
    depends: bool

    def __str__(self) -> str:
        if not self.depends:
            return f"{self.learner}: answers do not depend on the other queries ({self.queries} asked one by one)"
        way = max(self.moved, key=lambda name: (self.changed[name], self.moved[name]))
        return (
            f"{self.learner}: answers DEPEND on the other queries of a task: {self.changed[way]:.0%} of "
            f"{self.queries} change when {COMPANY[way]}; right {self.together:.0%} together, {self.alone:.0%} alone"
        )


def probe(learner: Learner, bank: Bank, tasks: Tasks, *, queries: int = 5, seed: int = 0) -> Neighbours:
    """Ask a learner the same queries together, one by one, in another order and with others, and compare.

    A learner that uses all queries of a task at once, as batch normalisation in training mode does,
    classifies a batch instead of single images. Its accuracy depends on the number of queries of a task
    and on how evenly they come from its classes. That may be intended, but has to be stated.

    Parameters
    ----------
    learner
        Has ``scores(bank, tasks)``, as for `evaluate`: one of this package or your own.
    bank : Bank
        Its input.
    tasks : Tasks
        A few are enough; each is run about ``queries`` times.
    queries : int
        At most this many queries of each task are asked one by one, chosen at random from ``seed``.

    Returns
    -------
    Neighbours
        Its ``depends``; printed as one line.

    Raises
    ------
    InputError
        A task names an image that is not in the bank; tasks with a single query.

    Notes
    -----
    Equal answers are evidence for these tasks, not a proof for all. A learner that answers at random, without
    a seed of its own for each query, shows changes too.
    """
    instance("bank", bank, Bank), instance("tasks", tasks, Tasks)
    queries, rng = whole("queries", queries, least=1), np.random.default_rng(whole("seed", seed, least=0))
    if ((tasks.query >= 0).sum(axis=1) < 2).any():
        raise InputError("tasks: one has a single query; at least 2 are needed")
    score = lambda of: np.concatenate([part.double().cpu().numpy() for part in scores(learner, bank, of)])  # noqa: E731
    asked = score(tasks)
    spread = asked[np.isfinite(asked) & (tasks.query >= 0)[..., None]].std()

    places = [rng.permutation(np.flatnonzero(row >= 0))[:queries] for row in tasks.query]
    task, place = np.repeat(np.arange(len(places)), [len(p) for p in places]), np.concatenate(places)
    label = tasks.query_label[task, place]
    found = {"alone": score(_asking(tasks, task, place[:, None]))[:, 0]}
    order = np.argsort(np.where(tasks.query >= 0, rng.random(tasks.query.shape), 2), axis=1)
    mixed = score(_asking(tasks, np.arange(len(tasks)), order))
    found["order"] = mixed[task, np.argsort(order, axis=1)[task, place]]
    kin = (tasks.query_label[task] == label[:, None]) & (np.arange(tasks.query.shape[1]) != place[:, None])
    if kin.any():
        # The query itself, and the following ones of its class; the rest is padding.
        rest = np.where(kin, np.arange(tasks.query.shape[1]), -1)
        rest = -np.sort(-rest, axis=1)[:, : kin.sum(axis=1).max()]
        found["class"] = score(_asking(tasks, task, np.concatenate([place[:, None], rest], axis=1)))[:, 0]
    usual = asked[task, place]
    finite = np.isfinite(usual)

    def moved(other: np.ndarray) -> float:
        if (np.isfinite(other) != finite).any():
            return np.inf
        gap = np.abs(np.where(finite, other, 0) - np.where(finite, usual, 0)).max()
        return float(gap / spread) if gap > 0 else 0.0

    gaps = {name: moved(other) for name, other in found.items()}
    answers = {name: other.argmax(axis=1) for name, other in found.items()}
    return Neighbours(
        complete(learner).name,
        len(task),
        gaps,
        {name: float((answer != usual.argmax(axis=1)).mean()) for name, answer in answers.items()},
        float((usual.argmax(axis=1) == label).mean()),
        float((answers["alone"] == label).mean()),
        max(gaps.values()) > TOLERANCE,
    )


def _asking(tasks: Tasks, task: np.ndarray, places: np.ndarray) -> Tasks:
    """The supports of these tasks with the queries at these places (t, q) of each; -1 is padding."""
    rows = task[:, None]
    query, label = (np.where(places >= 0, a[rows, places], PAD) for a in (tasks.query, tasks.query_label))
    support = tasks.support[task], tasks.support_label[task]
    return Tasks(*support, query, label, tasks.ways, tasks.sampler, tasks.unseen)
