"""Which of several methods is best over several data sets: mean ranks, and the probability of being the best.

What is random here is the data set, so D is small and little can be told: of two methods alone, D data sets that all
agree have a p-value of 2^(1 - D), however large their differences are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, special, stats

from ..errors import InputError, flag, floats, number, whole
from .intervals import LEVEL, Floats
from .ranks import DIGITS, comparable

__all__ = ["AcrossDatasets", "across_datasets", "probability_best"]

SHUFFLES = 20_000
ROWS = 2**22  # numbers that are drawn at once
SIZES = (np.arange(24) + 0.5) / 24  # of effects, as shares of the largest that is looked at
SHARED = np.array([0.1, 0.3, 0.5, 0.7, 0.9])  # shares of their variance that are common to all data sets


@dataclass(frozen=True)
class AcrossDatasets:
    """What `across_datasets` returns, for M methods on D data sets.

    Attributes
    ----------
    ranks : (M,) floats
        Mean rank of each method, 1 for one that is best on all data sets.
    n_datasets : int
        D.
    level : float
        1 minus the chance of even one false verdict, if all methods are equal.
    statistic : float
        Friedman's χ², corrected for ties.
    p_value : float
        Of the hypothesis that all methods are equal: how often the statistic comes out as large where their ranks are
        shuffled on each data set. At least 1/20,001.
    critical_difference : float
        Mean ranks that differ by more are significantly different (Nemenyi), where ``p_value`` is below 1 - level.
    p_values : (M, M) floats
        Nemenyi's p-value of every pair, corrected for the number of pairs.
    smallest_p : float
        The least exact p-value that D data sets can give, where all of them order M methods alike: M!^(1 - D).
    smallest_pair : float
        The same for two methods alone: 2^(1 - D), of the sign test.
    """

    ranks: Floats
    n_datasets: int
    level: float
    statistic: float
    p_value: float
    critical_difference: float
    p_values: Floats
    smallest_p: float
    smallest_pair: float

    @property
    def apart(self) -> NDArray[np.bool_]:
        """(M, M) truth values: whether two methods are significantly different."""
        gap = np.abs(self.ranks[:, None] - self.ranks)
        return (gap > self.critical_difference) & (self.p_value < 1 - self.level)

    @property
    def groups(self) -> list[np.ndarray]:
        """Largest sets of methods of which no two are significantly different, best first; positions in ``ranks``."""
        order = np.argsort(self.ranks, kind="stable")
        ends = [int((~self.apart[m, order]).nonzero()[0].max()) for m in order]
        return [order[i : end + 1] for i, end in enumerate(ends) if not i or end > ends[i - 1]]


def across_datasets(accuracies: ArrayLike, level: float = LEVEL) -> AcrossDatasets:
    """Compare methods over data sets by their ranks on each: Friedman's test, and Nemenyi's for every pair.

    Parameters
    ----------
    accuracies : (M, D) array_like
        Mean accuracy of M ≥ 2 methods on D ≥ 2 data sets, in any unit; higher is better. Methods that tie on a data set
        share the mean of their ranks.
    level : float
        1 minus the bound on the chance of even one false verdict among all pairs, between 0 and 1.

    Returns
    -------
    AcrossDatasets

    Raises
    ------
    InputError
        Another shape, NaN or infinity, a level outside (0, 1).

    Notes
    -----
    As Demšar (2006, section 3.2) recommends. With mean ranks R, χ² = 12 D/(M (M+1)) (Σ R² - M (M+1)²/4), divided by 1 -
    Σ (t³ - t)/(D M (M² - 1)) for ties of t methods. Its p-value is that of 20,000 shuffles, with one fixed seed: for
    few data sets the χ² and F distributions that are common for it are far off. Pairs are looked at only where it is
    below 1 - level. The critical difference is q √(M (M+1)/(6 D)), with q the quantile of the studentized range over
    √2. A rank drops how large a difference is, and whether two methods are significantly different depends on the
    others that are ranked with them. The bound on false verdicts is Nemenyi's: it holds where all methods are equal.

    Examples
    --------
    >>> found = across_datasets([[81, 75, 90, 66, 70, 88], [79, 74, 85, 60, 69, 80], [70, 71, 84, 61, 66, 82]])
    >>> found.ranks.round(2), round(found.p_value, 4), round(found.critical_difference, 2)
    (array([1.  , 2.33, 2.67]), 0.0056, 1.35)
    >>> found.groups, found.smallest_pair
    ([array([0, 1]), array([1, 2])], 0.03125)
    """
    x = _methods("accuracies", accuracies)
    level = number("level", level, above=0, below=1)
    methods, datasets = x.shape
    each, ranks = _ranks(x), mean_ranks(x)
    ties = sum((n**3 - n).sum() for n in (np.unique(column, return_counts=True)[1] for column in each.T))
    spread = 1 - ties / (datasets * methods * (methods**2 - 1))
    scale = 12 * datasets / (methods * (methods + 1)) / spread if spread > 0 else 0.0
    statistic = float(scale * _among(ranks))
    error = np.sqrt(methods * (methods + 1) / (12 * datasets))  # of a difference, over √2
    gap, place = np.unique(np.abs(ranks[:, None] - ranks).round(DIGITS), return_inverse=True)  # each integral once
    p_values = np.clip(stats.studentized_range.sf(gap / error, methods, np.inf), 0, 1)[place].reshape(methods, -1)
    return AcrossDatasets(
        ranks,
        datasets,
        level,
        statistic,
        _shuffled(each, float(_among(ranks))),
        float(stats.studentized_range.ppf(level, methods, np.inf) * error),
        p_values,
        math.exp((1 - datasets) * math.lgamma(methods + 1)),
        2.0 ** (1 - datasets),
    )


def probability_best(
    accuracies: ArrayLike,
    noise: ArrayLike | None = None,
    *,
    new_datasets: bool = False,
    draws: int = 10_000,
    seed: int = 0,
) -> Floats:
    """How probable it is, for each of M methods, that its mean rank over data sets is the best.

    Parameters
    ----------
    accuracies : (M, D) array_like
        Mean accuracy of M ≥ 2 methods on D ≥ 2 data sets, in any unit; higher is better.
    noise : (D, M, M) array_like, optional
        Covariances of the means on each data set, in squared units: of T tasks that methods share,
        ``np.cov(values) / T`` with values (M, T). Without it, means are taken as known.
    new_datasets : bool
        False: best over these very data sets, where only ``noise`` is uncertain. True: best over data sets such as
        these, which are resampled too. The two are different questions, and a report says which one it answers.
    draws : int
        Random draws; the standard error of a probability is at most 0.5/√draws.
    seed : int
        Same seed, same draws.

    Returns
    -------
    (M,) array
        Sums to 1: methods that tie for the best share a draw.

    Raises
    ------
    InputError
        Another shape, NaN or infinity, a matrix that is no covariance.

    Notes
    -----
    With ``noise`` the true means are drawn from their posterior distribution in a model with a normal effect of each
    method and one of each method on each data set, flat in the data sets' own levels. Otherwise the highest of several
    nearly equal means would count as more than it is: noise has helped it to be the highest. How large the effects are,
    and which share of their variance methods have on all data sets, is drawn from its posterior on a grid. In
    simulations of five equal or nearly equal methods on four data sets, the one called the best with a probability of
    39 % on average was it in 31 to 40 %; means drawn around what was observed say 50 %. Data sets are resampled by the
    Bayesian bootstrap (Rubin, 1981): weights w₀, w₁ … w_D come from a flat Dirichlet distribution, in which w₀ goes to
    a made-up data set, one of those there are with the names of its methods shuffled. That is the prior of a Dirichlet
    process of strength 1 (as in Benavoli et al., 2017), in which every order is equally likely. Without it a method
    that is the best on all of three data sets would be the best for certain. With it, of two methods the one that is
    better on all D data sets is the best with probability 1 - 2^-(D + 1).

    Examples
    --------
    >>> accuracies = [[81, 75, 90, 66], [79, 76, 85, 60]]
    >>> probability_best(accuracies, [2 * np.eye(2)] * 4).round(2)
    array([0.96, 0.04])
    >>> probability_best(accuracies, new_datasets=True).round(2)
    array([0.82, 0.18])
    """
    x, (methods, datasets) = _methods("accuracies", accuracies), np.shape(accuracies)
    flag("new_datasets", new_datasets)
    draws, seed = whole("draws", draws, least=1, most=10**8), whole("seed", seed, least=0)
    drawn = None if noise is None else _posterior(x, covariances("noise", noise, methods, datasets))
    rng = np.random.default_rng(seed)
    wins = np.zeros(methods)
    step = max(1, ROWS // (methods * (datasets + 1)))
    for at in range(0, draws, step):
        n = min(step, draws - at)
        values = np.broadcast_to(x, (n, methods, datasets)) if drawn is None else drawn(n, rng)
        weights = np.full((n, datasets), 1 / datasets)
        if new_datasets:
            chosen = values[np.arange(n), :, rng.integers(datasets, size=n)]
            values = np.concatenate([values, rng.permuted(chosen, axis=1)[..., None]], axis=2)
            weights = rng.dirichlet(np.ones(datasets + 1), n)
        score = -np.einsum("nmd,nd->nm", _ranks(values), weights)
        first = np.round(score, DIGITS) == np.round(score.max(axis=1, keepdims=True), DIGITS)
        wins += (first / first.sum(axis=1, keepdims=True)).sum(axis=0)
    return wins / draws


def mean_ranks(values: Floats) -> Floats:
    """(M,) mean rank of each method over the data sets, from accuracies (M, D)."""
    return np.asarray(_ranks(values).mean(axis=1))


def _ranks(values: Floats) -> Floats:
    """Ranks of the methods (axis -2) on each data set, 1 for the highest."""
    return np.asarray(stats.rankdata(-comparable(values), axis=-2))


def _among(ranks: Floats) -> Floats:
    """Sum of squares of mean ranks (..., M) around their own mean."""
    return np.asarray(((ranks - (ranks.shape[-1] + 1) / 2) ** 2).sum(axis=-1))


def _shuffled(ranks: Floats, observed: float) -> float:
    """p-value of the sum of squares among ranks (M, D), where methods change places on each data set."""
    rng = np.random.default_rng(0)
    step, larger = max(1, ROWS // ranks.size), 0
    for at in range(0, SHUFFLES, step):
        made = np.broadcast_to(ranks, (min(step, SHUFFLES - at), *ranks.shape))
        larger += int((_among(rng.permuted(made, axis=1).mean(axis=2)) >= observed - 1e-9).sum())
    return (1 + larger) / (1 + SHUFFLES)


def _methods(name: str, values: ArrayLike) -> Floats:
    x = floats(name, values, 2)
    if min(x.shape) < 2:
        raise InputError(f"{name} has shape {x.shape}; (methods, data sets), at least 2 of each, are needed")
    return x


def _posterior(x: Floats, noise: Floats) -> Callable[[int, np.random.Generator], Floats]:
    """A function that draws true means (n, M, D), up to a constant on each data set, given the observed ones (M, D).

    The true contrasts of methods on data set d are a + b_d, with variances ρτ² and (1 - ρ)τ²; given τ and ρ all is
    normal. Contrasts are turned so that the noise of each data set has independent coordinates.
    """
    basis = linalg.null_space(np.ones((1, len(x))))
    noise, turn = np.linalg.eigh(basis.T @ noise @ basis)
    noise = noise.clip(min=0)  # (D, M - 1); turn is (D, M - 1, M - 1)
    z = np.einsum("djk,jd->dk", turn, basis.T @ x)
    largest = 2 * np.sqrt((z**2).mean()) or 1.0
    size, shared = (grid.ravel() for grid in np.meshgrid((largest * SIZES) ** 2, SHARED))
    own, common = size * (1 - shared), size * shared
    total = own[:, None, None] + noise
    precision = np.einsum("djk,gdk,dlk->gjl", turn, 1 / total, turn, optimize=True)
    precision += np.eye(len(x) - 1) / common[:, None, None]
    covariance, pull = np.linalg.inv(precision), np.einsum("djk,gdk->gj", turn, z / total)
    mean = np.einsum("gml,gl->gm", covariance, pull)
    fit = (np.log(total) + z**2 / total).sum(axis=(1, 2)) - (pull * mean).sum(axis=1)
    fit += np.linalg.slogdet(precision)[1] + (len(x) - 1) * np.log(common)
    chance, root = special.softmax(-fit / 2), np.linalg.cholesky(covariance)

    def drawn(n: int, rng: np.random.Generator) -> Floats:
        g = rng.choice(len(chance), n, p=chance)
        effect = mean[g] + np.einsum("nml,nl->nm", root[g], rng.standard_normal(mean[g].shape))
        expected = np.einsum("djk,nj->ndk", turn, effect)
        kept = own[g, None, None] / total[g]
        true = expected + kept * (z - expected) + np.sqrt(kept * noise) * rng.standard_normal((n, *z.shape))
        return np.asarray(np.einsum("mj,djk,ndk->nmd", basis, turn, true, optimize=True))

    return drawn


def covariances(name: str, noise: ArrayLike, methods: int, datasets: int) -> Floats:
    """(D, M, M) checked covariances."""
    noise = floats(name, noise, None)
    if noise.shape != (datasets, methods, methods):
        raise InputError(f"{name} has shape {noise.shape}; ({datasets}, {methods}, {methods}), by data set, is needed")
    values = np.linalg.eigvalsh(noise)
    rounded = 1e-9 * max(np.abs(values).max(initial=0), np.finfo(float).tiny)
    if not np.allclose(noise, noise.mT, rtol=1e-6, atol=rounded) or values.min(initial=0) < -rounded:
        raise InputError(f"{name}: not all matrices are covariances, symmetric and without a negative eigenvalue")
    return noise
