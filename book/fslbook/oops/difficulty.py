"""Tasks sampled uniformly over their difficulty, with weights that make their mean that of uniformly sampled tasks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from fslcore.errors import InputError, floats, instance, whole
from fslcore.tasks.samplers import streams
from fslcore.tasks.tasks import Tasks

__all__ = ["sample_by_difficulty"]

FAR = 4.5  # standard deviations off the mean, beyond which all difficulties count as equally rare


def sample_by_difficulty(
    proposals: Tasks, difficulty: ArrayLike, *, tasks: int, seed: int = 0
) -> tuple[Tasks, np.ndarray]:
    """Choose tasks uniformly over their difficulty from many uniformly sampled tasks (Arnold et al., 2021).

    As in that paper, difficulties are modelled as normal. The probability of choosing a task is inversely proportional
    to this density; the rarest tasks are always chosen. Arnold et al. train on such tasks and truncate the uniform
    distribution. Here it is not truncated: each weight is the inverse of the probability of choosing the task, which
    is valid for any distribution of difficulties.

    Parameters
    ----------
    proposals : Tasks
        P tasks sampled uniformly, as by `sample_closed`.
    difficulty : (P,) array_like
        Of each task: 1 minus the accuracy, or the loss, of a cheap learner.
    tasks : int
        T, from 2 to P. The more proposals per task, the more uniform the difficulties.
    seed : int
        Same seed, same tasks.

    Returns
    -------
    tasks : Tasks
        T different proposals in random order.
    weights : (T,) array
        How many proposals each stands for: `fslcore.stats.weighted_interval` takes them.

    Raises
    ------
    InputError
        No proposals; not one finite number per proposal; fewer than 2 tasks, or more tasks than proposals.
    """
    instance("proposals", proposals, Tasks)
    d, count = floats("difficulty", difficulty), len(proposals)
    if len(d) != count:
        raise InputError(f"difficulty: {len(d)} numbers; one for each of {count} proposals is needed")
    tasks = whole("tasks", tasks, 2, count)
    order_rng, start_rng = streams(seed, 2)
    chance = _chances(d, tasks)
    # All that are sure; of the others a systematic sample in random order, in which each has its own chance.
    sure = np.flatnonzero(chance >= 1)
    rest = order_rng.permutation(np.flatnonzero(chance < 1))
    ends = np.cumsum(chance[rest])
    places = start_rng.random() + np.arange(tasks - len(sure))
    if len(places):
        rest = rest[np.searchsorted(ends * (len(places) / ends[-1]), places, side="right").clip(max=len(rest) - 1)]
    chosen = order_rng.permutation(np.concatenate([sure, rest[: len(places)]]))
    made = {**proposals.sampler, "difficulty": "uniform", "proposals": count, "tasks": tasks, "chosen by": seed}
    return replace(proposals[chosen], sampler=made), 1 / chance[chosen]


def _chances(difficulty: np.ndarray, tasks: int) -> np.ndarray:
    """(P,) probabilities of being chosen. Their sum is ``tasks``; up to 1 they are inverse to the normal density."""
    scale = np.abs(difficulty).max() or 1.0  # large numbers have no squares
    d = difficulty / scale
    spread = d.std()
    z = ((d - d.mean()) / spread).clip(-FAR, FAR) if spread > 1e-12 else np.zeros(len(d))
    rarity = np.exp(z**2 / 2)
    order = np.argsort(-rarity, kind="stable")
    left = rarity[order][::-1].cumsum()[::-1]  # of each and all that are more common
    factor = (tasks - np.arange(tasks)) / left[:tasks]
    # The first that needs not be chosen for sure; of P from P all are.
    common = np.flatnonzero(factor * rarity[order][:tasks] < 1 - 1e-12)
    chance = np.ones(len(d))
    if len(common):
        rest = order[common[0] :]
        chance[rest] = factor[common[0]] * rarity[rest]
    return chance
