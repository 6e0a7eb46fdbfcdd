"""Whether a learner's answer to a query depends on the other queries of its task."""

from dataclasses import dataclass, replace

import numpy as np

from ..datasets.bank import Bank
from ..errors import InputError, instance, whole
from ..learners.protocol import Learner, complete
from ..tasks import Tasks
from ..tasks.tasks import PAD, Floats, Integers
from .outcomes import predict_scores

__all__ = ["TransductivityResult", "check_transductive"]

Places = tuple[Integers, Integers]  # of queries: the task, and the place in it

# Of the standard deviation of the scores; 32-bit rounding and batching move scores far less.
TOLERANCE = 1e-3
COMPANY = {
    "alone": "asked one by one",
    "order": "asked in another order",
    "class": "asked with their own class only",
}


@dataclass(frozen=True)
class TransductivityResult:
    """Result of `check_transductive`: differences from the answers to all queries of a task together.

    Attributes
    ----------
    learner : str
        Its name.
    queries : int
        Number of queries asked in each way.
    moved : dict of float
        By way of asking ('alone', 'order', 'class'): the largest change of a score, in standard
        deviations of the scores.
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
            return (
                f"{self.learner}: answers do not depend on the other queries ({self.queries} asked "
                "one by one)"
            )
        way = max(self.moved, key=lambda name: (self.changed[name], self.moved[name]))
        return (
            f"{self.learner}: answers DEPEND on the other queries of a task: "
            f"{self.changed[way]:.0%} of {self.queries} change when {COMPANY[way]}; right "
            f"{self.together:.0%} together, {self.alone:.0%} alone"
        )


def check_transductive(
    learner: Learner, bank: Bank, tasks: Tasks, *, queries: int = 5, seed: int = 0
) -> TransductivityResult:
    """Ask a learner the same queries together, one by one, in another order and with others, and
    compare.

    A learner that uses all queries of a task at once, as batch normalisation in training mode does,
    classifies a batch instead of single images. Its accuracy depends on the number of queries of a
    task and on how evenly they come from its classes. That may be intended, but has to be stated.

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
    TransductivityResult
        Its ``depends``; printed as one line.

    Raises
    ------
    InputError
        A task names an image that is not in the bank; tasks with a single query.

    Notes
    -----
    Equal answers are evidence for these tasks, not a proof for all. A learner that answers at
    random, without a seed of its own for each query, shows changes too.
    """
    instance("bank", bank, Bank)
    instance("tasks", tasks, Tasks)
    queries = whole("queries", queries, minimum=1)
    seed = whole("seed", seed, minimum=0)
    if ((tasks.query >= 0).sum(axis=1) < 2).any():
        raise InputError("tasks must have at least 2 queries each, got one with 1")
    together = _scores(learner, bank, tasks)
    rng = np.random.default_rng(seed)
    chosen = _chosen_queries(tasks, queries, rng)
    usual = together[chosen]
    others = _asked_otherwise(learner, bank, tasks, chosen, rng)
    spread = together[np.isfinite(together) & (tasks.query >= 0)[..., None]].std()
    moved, changed = _changes(others, usual, spread)
    answers = usual.argmax(axis=1)
    label = tasks.query_label[chosen]
    return TransductivityResult(
        learner=complete(learner).name,
        queries=len(label),
        moved=moved,
        changed=changed,
        together=float((answers == label).mean()),
        alone=float((others["alone"].argmax(axis=1) == label).mean()),
        depends=max(moved.values()) > TOLERANCE,
    )


def _chosen_queries(tasks: Tasks, queries: int, rng: np.random.Generator) -> Places:
    """Task and place of at most so many queries of each task, chosen at random."""
    places = [rng.permutation(np.flatnonzero(row >= 0))[:queries] for row in tasks.query]
    task = np.repeat(np.arange(len(places)), [len(chosen) for chosen in places])
    return task, np.concatenate(places)


def _changes(
    others: dict[str, Floats], usual: Floats, spread: float
) -> tuple[dict[str, float], dict[str, float]]:
    """By way of asking: the largest change of a score, and the share of changed answers."""
    moved = {}
    changed = {}
    for way, now in others.items():
        moved[way] = _largest_change(now, usual, spread)
        changed[way] = float((now.argmax(axis=1) != usual.argmax(axis=1)).mean())
    return moved, changed


def _asked_otherwise(
    learner: Learner, bank: Bank, tasks: Tasks, queries: Places, rng: np.random.Generator
) -> dict[str, Floats]:
    """Scores (n, K) of n queries by way of asking; those of 'class' if there are classmates."""
    task, place = queries
    alone = _scores(learner, bank, _asking(tasks, task, place[:, None]))
    order = np.argsort(np.where(tasks.query >= 0, rng.random(tasks.query.shape), 2), axis=1)
    reordered = _scores(learner, bank, _asking(tasks, np.arange(len(tasks)), order))
    scores = {
        "alone": alone[:, 0],
        "order": reordered[task, np.argsort(order, axis=1)[task, place]],
    }
    classmates = _classmates(tasks, task, place)
    if classmates.shape[1]:
        places = np.concatenate([place[:, None], classmates], axis=1)
        scores["class"] = _scores(learner, bank, _asking(tasks, task, places))[:, 0]
    return scores


def _scores(learner: Learner, bank: Bank, tasks: Tasks) -> Floats:
    """(T, n_query, K) scores of all tasks, in 64 bits."""
    return np.concatenate(
        [part.double().cpu().numpy() for part in predict_scores(learner, bank, tasks)]
    )


def _classmates(tasks: Tasks, task: Integers, place: Integers) -> Integers:
    """Places (t, q) of the other queries of one query's class in each of t tasks, then padding."""
    places = np.arange(tasks.query.shape[1])
    same_class = tasks.query_label[task] == tasks.query_label[task, place][:, None]
    same_class &= places != place[:, None]
    descending = -np.sort(-np.where(same_class, places, -1), axis=1)
    return descending[:, : same_class.sum(axis=1).max()]


def _largest_change(scores: Floats, usual: Floats, spread: float) -> float:
    """The largest change of a score, in standard deviations; infinite if finiteness changes."""
    finite = np.isfinite(usual)
    if (np.isfinite(scores) != finite).any():
        return np.inf
    change = np.abs(np.where(finite, scores, 0) - np.where(finite, usual, 0)).max()
    return float(change / spread) if change > 0 else 0.0


def _asking(tasks: Tasks, task: Integers, places: Integers) -> Tasks:
    """These tasks with the queries at these places (t, q) of each; -1 is padding."""
    rows = task[:, None]
    return replace(
        tasks,
        support=tasks.support[task],
        support_label=tasks.support_label[task],
        query=np.where(places >= 0, tasks.query[rows, places], PAD),
        query_label=np.where(places >= 0, tasks.query_label[rows, places], PAD),
        check=False,
    )
