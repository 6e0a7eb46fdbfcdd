"""Tasks sampled uniformly over their difficulty, with weights that make their mean that of uniformly sampled tasks.

Beside their weighted mean: the mean of plain tasks that a cheap method on many more tasks makes
more precise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from fslcore.errors import InputError, floats, instance, number, whole
from fslcore.stats import LEVEL, Interval
from fslcore.stats.intervals import TINY
from fslcore.stats.task_intervals import per_task
from fslcore.tasks.samplers import streams
from fslcore.tasks.tasks import Tasks

FAR = 4.5  # standard deviations off the mean, beyond which all difficulties count as equally rare


def sample_by_difficulty(
    proposals: Tasks, difficulty: ArrayLike, *, tasks: int, seed: int = 0
) -> tuple[Tasks, np.ndarray]:
    """Choose tasks uniformly over their difficulty from many uniformly sampled tasks (Arnold et al., 2021).

    As in that paper, difficulties are modelled as normal. The probability of choosing a task is
    inversely proportional to this density; the rarest tasks are always chosen. Arnold et al. train
    on such tasks and truncate the uniform distribution. Here it is not truncated: each weight is
    the inverse of the probability of choosing the task, which is valid for any distribution of
    difficulties.

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
        How many proposals each stands for: `weighted_interval` takes them.

    Raises
    ------
    InputError
        No proposals; not one finite number per proposal; fewer than 2 tasks, or more tasks than
        proposals.
    """
    instance("proposals", proposals, Tasks)
    d, count = floats("difficulty", difficulty), len(proposals)
    if len(d) != count:
        raise InputError(
            f"difficulty: {len(d)} numbers; one for each of {count} proposals is needed"
        )
    tasks = whole("tasks", tasks, 2, count)
    order_rng, start_rng = streams(seed, 2)
    chance = _chances(d, tasks)
    # All that are sure; of the others a systematic sample in random order, in which each has its
    # own chance.
    sure = np.flatnonzero(chance >= 1)
    candidates = order_rng.permutation(np.flatnonzero(chance < 1))
    ends = np.cumsum(chance[candidates])
    places = start_rng.random() + np.arange(tasks - len(sure))
    if len(places):
        candidates = candidates[
            np.searchsorted(ends * (len(places) / ends[-1]), places, side="right").clip(
                max=len(candidates) - 1
            )
        ]
    chosen = order_rng.permutation(np.concatenate([sure, candidates[: len(places)]]))
    sampler = {
        **proposals.sampler,
        "difficulty": "uniform",
        "proposals": count,
        "tasks": tasks,
        "chosen by": seed,
    }
    return replace(proposals[chosen], sampler=sampler), 1 / chance[chosen]


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
        random = order[common[0] :]
        chance[random] = factor[common[0]] * rarity[random]
    return chance


def weighted_interval(accuracies: ArrayLike, weights: ArrayLike, level: float = LEVEL) -> Interval:
    """Interval of a mean over tasks that were not drawn alike: weighted by how rarely a task like each was drawn.

    Parameters
    ----------
    accuracies : (T,) array_like
        One number per task, T ≥ 2: accuracies, or the differences of two methods
        (`paired_differences`).
    weights : (T,) array_like
        Over 0: the probability of each task where all are drawn alike, over that with which it was
        drawn, up to a common factor, as `sample_by_difficulty` gives them.
    level : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    Interval
        Of the self-normalised mean Σwx / Σw. Its variance by the delta method is T / (T - 1) ·
        Σw²(x - mean)² / (Σw)² (Owen, 2013, chapter 9); Student's quantile has n - 1 degrees of
        freedom, n = (Σw)² / Σw² the effective number of tasks (Kish, 1965). With equal weights it
        is `open_interval`. Where a few tasks have most of the weight it is too narrow: with
        log-normal weights that go along with the accuracies it covered in 92 to 94 % of cases for n
        = T / 3, 85 to 87 % for n = T / 9, and 71 to 77 % for n = T / 50.

    Raises
    ------
    InputError
        Other shapes, weights that are not positive, and as for `closed_interval`.

    Examples
    --------
    >>> r = weighted_interval([0.7, 0.8, 0.75, 0.85], [1, 2, 1, 2])
    >>> round(r.mean, 4), round(r.half_width, 4), round(r.df, 1)
    (0.7917, 0.1038, 2.6)
    """
    (x, fine), w = per_task("accuracies", accuracies), floats("weights", weights, extreme=True)
    if w.shape != x.shape or (w <= 0).any():
        raise InputError(
            f"weights: shape {w.shape}, from {w.min(initial=np.inf):g} on; one over 0 for each of {x.size} accuracies "
            "is needed"
        )
    share = w / w.max()  # their squares then have room
    share /= share.sum()
    mean = float(share @ x)
    level = number("level", level, over=0, under=1)
    df = float(max(1 / (share @ share) - 1, np.finfo(float).tiny))
    spread = np.sqrt(x.size / (x.size - 1) * (share**2 @ (x - mean) ** 2))
    # The squares of tiny weights may be 0; what varies is then not known, and is not taken for
    # equal.
    half = (
        float(stats.t.ppf((1 + level) / 2, df) * max(spread, TINY)) if np.ptp(x) > 2 * fine else 0.0
    )
    return Interval(mean, half, level, x.size, "weighted", df)


def regression_interval(
    accuracies: ArrayLike, cheap: ArrayLike, more: ArrayLike, level: float = LEVEL
) -> Interval:
    """Interval of the mean accuracy of a dear method, with what a cheap one tells of many more tasks.

    Parameters
    ----------
    accuracies : (T,) array_like
        Of the expensive method, one number per task, T ≥ 3; or the differences of two methods.
    cheap : (T,) array_like
        Of the cheap method, on the same tasks.
    more : (P,) array_like
        Of the cheap method on P tasks that were drawn in the same way, those T among them; P ≥ T.
    level : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    Interval
        Of the regression estimator x̄ + b(m̄ - c̄), with b the slope of the T accuracies on the
        cheap ones, c̄ the mean of these and m̄ that of all P (double sampling: Cochran, 1977,
        section 12.6). Its variance is s²(1/T + (m̄ - c̄)² / Σ(c - c̄)²) + b² s²_P / P, with s² that
        of the residuals; Student's quantile has T - 2 degrees of freedom. Where both methods
        correlate by ρ and P is large, it is √(1 - ρ²) times as wide as without.

    Raises
    ------
    InputError
        Other shapes, fewer than 3 tasks, and as for `closed_interval`.

    Examples
    --------
    >>> r = regression_interval([0.7, 0.8, 0.75, 0.9], [0.5, 0.6, 0.5, 0.7], [0.5, 0.6, 0.5, 0.7, 0.6, 0.6, 0.4, 0.5])
    >>> round(r.mean, 4), round(r.half_width, 4), r.df
    (0.7659, 0.135, 2)
    """
    (x, fine), (c, cheap_rounding), (m, _) = (
        per_task("accuracies", accuracies),
        per_task("cheap", cheap),
        per_task("more", more),
    )
    if not 3 <= x.size == c.size <= m.size:
        raise InputError(
            f"accuracies, cheap and more hold {x.size}, {c.size} and {m.size} numbers; as many of the first two, at "
            "least 3, and no fewer of the third are needed"
        )
    level, df = number("level", level, over=0, under=1), x.size - 2
    off = c - c.mean()
    square = off @ off if np.ptp(c) > 2 * cheap_rounding else 0.0
    slope = off @ x / square if square else 0.0  # a method that is always equal tells nothing
    moved = m.mean() - c.mean()
    left = x - x.mean() - slope * off
    of_tasks = left @ left / df * (1 / x.size + (moved**2 / square if square else 0.0))
    spread = np.sqrt(of_tasks + slope**2 * m.var(ddof=1) / m.size) if np.ptp(x) > 2 * fine else 0.0
    half = float(stats.t.ppf((1 + level) / 2, df) * spread)
    return Interval(float(x.mean() + slope * moved), half, level, x.size, "regression", df)
