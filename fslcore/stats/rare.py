"""What few units that differ let one conclude of a mean.

Where all units but a few gave one value, Student's interval rests on these few: its standard error
is theirs, and units that differ more, or were not drawn at all, do not count. After one differing
task of 600 it is narrower than bounds allow after none. The rule here is a score test: if the true
mean lies x from the observed one because of deviations of size w that were drawn too seldom, these
deviations add x (w - x) / n to the variance of a mean over n units (for values that are 0 or w it
is Wilson's, 1927). Their size is that of the farther bound where few were seen, and that of those
seen where there are thirty. And however few differ, the chance that n units hold no deviation of
size w, (1 - x/w)^n, is a lower limit of every p-value: with no unit that differs it is the p-value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

# Deviations that do not show yet, and that show, how large others are: a t-test is content with 30.
FEW_DEVIATIONS, MANY_DEVIATIONS = 10, 30
# Shares of the units that differ: up to the first these are rare, from the second on they are not.
RARE, COMMON = 0.1, 0.25


@dataclass(frozen=True)
class Rarity:
    """How large a deviation has to be expected beside those that a standard error shows.

    Attributes
    ----------
    unseen : float
        Weight of the bound: 1 where up to ten units differ from the others, 0 from 30 such units
        on, or where a quarter of the units or more differ.
    size : float
        Weighted size of the deviations that were seen, 0 where units that differ are common.
    """

    unseen: float
    size: float

    def deviation(self, room: float) -> float:
        """The size for a bound that lies this far from the mean."""
        return self.unseen * room + self.size

    @property
    def for_other_units(self) -> Rarity:
        """The same for a mean over other units, as classes or runs, whose deviations have other
        sizes.
        """
        return replace(self, size=0.0)


NO_RARITY = Rarity(0.0, 0.0)
NOTHING_DIFFERS = Rarity(1.0, 0.0)


def rarity_of(values: NDArray[np.float64], tolerance: float = 0.0) -> Rarity:
    """`Rarity` of values, one per unit; those that differ by no more than ``tolerance`` are equal."""
    deviations = np.abs(values - np.median(values))
    deviations = deviations[deviations > tolerance]
    count = len(deviations)
    if not count:
        return NOTHING_DIFFERS
    weight = _falling(count / len(values), RARE, COMMON)
    unseen = _falling(count, FEW_DEVIATIONS, MANY_DEVIATIONS)
    largest = deviations.max()  # squares of very small numbers are 0
    size = largest * ((deviations / largest) ** 2).sum() / (deviations / largest).sum()
    return Rarity(weight * unseen, float(weight * (1 - unseen) * size))


def _falling(x: float, start: float, stop: float) -> float:
    """1 up to the start, 0 from the stop on, linear between."""
    return min(max((stop - x) / (stop - start), 0.0), 1.0)


def chance_beyond(distance: float, error: float, df: float, size: float, units: int) -> float:
    """One-sided p-value of the hypothesis that the true mean is this far from the observed one, or
    farther.

    Parameters
    ----------
    distance : float
        0 or more.
    error, df : float
        Standard error, over 0, and the degrees of freedom of its Student quantiles.
    size : float
        Of a deviation (`Rarity.deviation`); 0 for Student's test.
    units : int
        Behind the mean.
    """
    if not size > distance > 0:
        return float(stats.t.sf(distance / error, df))
    added = distance * (size - distance) / units
    chance = float(stats.t.sf(distance / sqrt(error**2 + added), df))
    return max(chance, (1 - distance / size) ** units)


def reach(tail: float, error: float, df: float, size: float, units: int) -> float:
    """The distance for which `chance_beyond` is ``tail``."""
    quantile = float(stats.t.isf(tail, df))
    square = quantile**2
    half = square * size / units / 2
    distance = (half + sqrt(half**2 + (1 + square / units) * square * error**2)) / (
        1 + square / units
    )
    if distance > size:
        distance = quantile * error
    return max(distance, size * (1 - tail ** (1 / units)))


def variance_units(values: ArrayLike) -> float:
    """How many units carry the variance of values (n,): (Σ d²)² / Σ d⁴, with d the deviations from
    the mean.

    It is the number of values over their kurtosis: a third of normal ones, and k where k of many
    differ from the rest. NaN where nothing varies.
    """
    x = np.asarray(values, dtype=float)
    deviations = x - x.mean()
    largest = np.abs(deviations).max()
    if largest <= 1e-9 * np.abs(x).max():
        return nan
    squares = (deviations / largest) ** 2
    return float(squares.sum() ** 2 / (squares**2).sum())
