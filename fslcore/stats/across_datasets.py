"""Which of several methods is best over several data sets: mean ranks, and which differ
significantly.

The data sets are the sample, so D is small and power is low: with two methods, D data sets that all
agree have a p-value of 2^(1 - D), however large their differences are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ..errors import InputError, floats
from .intervals import DEFAULT_CONFIDENCE_LEVEL, Array, Bounds, Floats, Interval, checked_level
from .rare import rarity_of
from .targets import Target
from .task_intervals import open_task_interval

DIGITS = 9  # of the largest: values that differ by less are equal, as sums of shares are rounded
SHUFFLES = 20_000
ROWS = 2**22  # numbers that are drawn at once
MOST_SUMS = 2**21  # ranks of all sums after one data set
MOST_PERMUTED = 7  # methods whose orders are all listed


@dataclass(frozen=True)
class AcrossDatasets:
    """What `friedman_nemenyi` returns, for M methods on D data sets.

    Attributes
    ----------
    ranks : (M,) floats
        Mean rank of each method, 1 for one that is best on all data sets.
    n_datasets : int
        D.
    confidence_level : float
        1 minus the chance of even one false verdict, if all methods are equal.
    statistic : float
        Friedman's χ², corrected for ties.
    p_value : float
        Of the hypothesis that all methods are equal: how often the statistic comes out as large
        where their ranks are shuffled on each data set. Exact where all sums of ranks can be
        listed, as for 3 methods on 60 data sets, 4 on 20 or 5 on 7; else of 20,000 shuffles, with a
        standard error of 0.0015 at 0.05, and at least 1/20,001.
    critical_difference : float
        Mean ranks that differ by more are significantly different (Nemenyi), where ``p_value`` is
        below 1 - confidence_level.
    p_values : (M, M) floats
        Nemenyi's p-value of every pair, corrected for the number of pairs.
    smallest_pair : float
        The least exact p-value that D data sets can give for two methods: 2^(1 - D), of the sign
        test.
    """

    ranks: Floats
    n_datasets: int
    confidence_level: float
    statistic: float
    p_value: float
    critical_difference: float
    p_values: Floats
    smallest_pair: float

    @property
    def significant(self) -> NDArray[np.bool_]:
        """(M, M) truth values: whether two methods are significantly different."""
        gap = np.abs(self.ranks[:, None] - self.ranks)
        return (gap > self.critical_difference) & (self.p_value < 1 - self.confidence_level)

    @property
    def groups(self) -> list[Array]:
        """Largest sets of methods of which no two are significantly different, best first;
        positions in ``ranks``.
        """
        order = np.argsort(self.ranks, kind="stable")
        ends = [int((~self.significant[m, order]).nonzero()[0].max()) for m in order]
        return [order[i : end + 1] for i, end in enumerate(ends) if not i or end > ends[i - 1]]


def friedman_nemenyi(
    scores: ArrayLike, confidence_level: float = DEFAULT_CONFIDENCE_LEVEL
) -> AcrossDatasets:
    """Compare methods over data sets by their ranks on each: Friedman's test, and Nemenyi's for
    every pair.

    Parameters
    ----------
    scores : (M, D) array_like
        Mean accuracy of M ≥ 2 methods on D ≥ 2 data sets, in any unit; higher is better. Methods
        that tie on a data set share the mean of their ranks.
    confidence_level : float
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
    As Demšar (2006, section 3.2) recommends. With mean ranks R, χ² = 12 D/(M (M+1)) (Σ R² - M
    (M+1)²/4), divided by 1 - Σ (t³ - t)/(D M (M² - 1)) for ties of t methods. Its p-value is
    exact or that of shuffles with one fixed seed, and does not depend on the order of methods and
    data sets: for few data sets the χ² and F distributions that are common for it are far off.
    Pairs are looked at only where it is below 1 - confidence_level. The critical
    difference is q √(M (M+1)/(6 D)), with q the quantile of the studentized range over √2. A rank
    drops how large a difference is, and whether two methods are significantly different depends on
    the others that are ranked with them. The bound on false verdicts is Nemenyi's: it holds where
    all methods are equal.

    Examples
    --------
    >>> accuracies = [[81, 75, 90, 66, 70, 88], [79, 74, 85, 60, 69, 80], [70, 71, 84, 61, 66, 82]]
    >>> found = friedman_nemenyi(accuracies)
    >>> found.ranks.round(2), round(found.p_value, 4), round(found.critical_difference, 2)
    (array([1.  , 2.33, 2.67]), 0.0055, 1.35)
    >>> found.groups, found.smallest_pair
    ([array([0, 1]), array([1, 2])], 0.03125)
    """
    x = floats("scores", scores, 2)
    confidence_level = checked_level(confidence_level)
    methods, datasets = x.shape
    if min(methods, datasets) < 2:
        raise InputError(
            f"scores must have at least 2 methods and 2 data sets, got shape {x.shape}"
        )
    dataset_ranks = stats.rankdata(-comparable(x), axis=0)
    ranks = dataset_ranks.mean(axis=1)
    observed = _scatter(ranks)
    gap, place = np.unique(np.abs(ranks[:, None] - ranks).round(DIGITS), return_inverse=True)
    error = np.sqrt(methods * (methods + 1) / (12 * datasets))  # of a difference, over √2
    # Each integral is computed once.
    p_values = np.clip(stats.studentized_range.sf(gap / error, methods, inf), 0, 1)
    return AcrossDatasets(
        ranks=ranks,
        n_datasets=datasets,
        confidence_level=confidence_level,
        statistic=float(_friedman_scale(dataset_ranks) * observed),
        p_value=_p_value(dataset_ranks, float(observed)),
        critical_difference=float(
            stats.studentized_range.ppf(confidence_level, methods, inf) * error
        ),
        p_values=p_values[place].reshape(methods, -1),
        smallest_pair=2.0 ** (1 - datasets),
    )


def nearly_all_are_one(differences: Floats) -> bool:
    """Whether most differences are one number other than 0, so many that a t-test has next to no
    variance to rest on (`fslcore.stats.rare`).
    """
    tolerance = 1e-9 * float(np.abs(differences).max())
    return rarity_of(differences, tolerance).unseen > 0 and bool(np.median(differences) != 0)


def interval_over_datasets(
    differences: Floats, confidence_level: float, *, bounds: Bounds = None
) -> Interval:
    """`open_task_interval` of differences (D,) of two methods on D data sets.

    Where nearly all are one number other than 0, as rounded ones can be, the largest of them, in
    either direction, bounds them: ±100 points would leave every conclusion open, as data sets that
    are rare could lose 100 points. The p-value of equal differences is then 2^(1 - D), that of the
    sign test.
    """
    if nearly_all_are_one(differences):
        largest = float(np.abs(differences).max())
        bounds = -largest, largest
    interval = open_task_interval(differences, confidence_level, bounds=bounds)
    return replace(interval, target=Target.NEW_DATASETS, is_difference=True)


def signed_rank_p_value(differences: Floats) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test of differences (D,), exact without ties and
    for up to 50 data sets.

    Ties are between numbers as they were written: 70.3 - 70 and 60.3 - 60 are the same.
    """
    written = differences.round(DIGITS)
    return float(stats.wilcoxon(written).pvalue) if written.any() else 1.0


def decisive_datasets(
    differences: Floats, confidence_level: float, *, bounds: Bounds = None
) -> Array:
    """Data sets without each of which the paired t-test does not find its difference any more.

    A t-test over few data sets assumes nearly normal differences. With those of an exponential
    distribution 13 % of tests on 5 data sets at 5 % find a difference that there is not, and half
    of them have a decisive data set; with normal differences 5 %, and 7 in 10 have. Wilcoxon's and
    sign-flip tests assume symmetry, and at D = 11 find as many; an adjustment for skewness finds 8
    to 10 % where tails are long. If one data set in ten is an outlier, those without it show
    nothing, and no test of them can (30 % at D = 11).

    Parameters
    ----------
    differences : (D,) ndarray
        Of two methods, by data set.
    confidence_level : float
    bounds : (float, float), optional
        Of the differences.

    Returns
    -------
    (n,) integers
        Positions; none where the test finds no difference, or of fewer than 3 data sets.
    """
    conclusion = interval_over_datasets(differences, confidence_level, bounds=bounds).sign
    if not conclusion or len(differences) < 3:
        return np.array([], int)
    without_one = [np.delete(differences, i) for i in range(len(differences))]
    conclusions = [
        interval_over_datasets(rest, confidence_level, bounds=bounds).sign for rest in without_one
    ]
    return np.flatnonzero(np.array(conclusions) != conclusion)


def _friedman_scale(ranks: Floats) -> float:
    """What the scatter of mean ranks is multiplied by in Friedman's χ², with its correction for
    ties.
    """
    methods, datasets = ranks.shape
    counts = np.concatenate([np.unique(column, return_counts=True)[1] for column in ranks.T])
    ties = (counts**3 - counts).sum()
    spread = 1 - ties / (datasets * methods * (methods**2 - 1))
    return float(12 * datasets / (methods * (methods + 1)) / spread) if spread > 0 else 0.0


def _scatter(ranks: Floats) -> Floats:
    """Sum of squares of mean ranks (..., M) around their own mean."""
    return ((ranks - (ranks.shape[-1] + 1) / 2) ** 2).sum(axis=-1)


def _p_value(ranks: Floats, observed: float) -> float:
    """p-value of the scatter of ranks (M, D), where methods change places on each data set.

    Only which ranks there are on each data set matters, not where: so they are sorted, and the
    result depends on no order of methods or data sets.
    """
    doubled = np.sort(np.rint(2 * ranks), axis=0)  # shared ranks are halves
    doubled = doubled[:, np.lexsort(doubled)].astype(np.int64)
    exact = _enumerated(doubled, observed)
    return _shuffled(doubled / 2, observed) if exact is None else exact


def _enumerated(doubled: NDArray[np.int64], observed: float) -> float | None:
    """The exact p-value, from the distribution of the sums of ranks by one data set after another;
    None where that takes too many sums.
    """
    methods, datasets = doubled.shape
    radix = 2 * methods * datasets + 1  # sums are written as one number in this base
    if methods > MOST_PERMUTED or radix**methods > 2**62:
        return None
    digits = radix ** np.arange(methods)
    sums, chances = doubled[None, :, 0], np.ones(1)
    for ranks in doubled.T[1:]:
        orders = np.array(sorted(set(permutations(ranks.tolist()))))
        if len(sums) * orders.size > MOST_SUMS:
            return None
        # The methods are exchangeable, so that sums are the same in any order.
        following = np.sort((sums[:, None] + orders).reshape(-1, methods), axis=1)
        codes, place = np.unique(following @ digits, return_inverse=True)
        chances = np.bincount(place.ravel(), np.repeat(chances, len(orders))) / len(orders)
        sums = codes[:, None] // digits % radix
    scatter = _scatter(sums / (2 * datasets))
    return float(min(chances[scatter >= observed - 1e-9].sum(), 1.0))


def _shuffled(ranks: Floats, observed: float) -> float:
    """The p-value from shuffles of the ranks (M, D) on each data set, with a fixed seed."""
    rng = np.random.default_rng(0)
    batch = max(1, ROWS // ranks.size)
    larger = 0
    for start in range(0, SHUFFLES, batch):
        copies = np.broadcast_to(ranks, (min(batch, SHUFFLES - start), *ranks.shape))
        scatter = _scatter(rng.permuted(copies, axis=1).mean(axis=2))
        larger += int((scatter >= observed - 1e-9).sum())
    return (1 + larger) / (1 + SHUFFLES)


def comparable(values: Floats) -> Floats:
    """Values in units of a power of ten that none exceeds, without what comes from rounding."""
    unit = 10.0 ** np.ceil(np.log10(np.abs(values).max(initial=np.finfo(float).tiny)))
    return np.round(values / unit, DIGITS)
