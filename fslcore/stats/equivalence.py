"""Whether two methods are the same within a margin, which says more than that they are not
significantly different.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite, isinf

from scipy import stats

from ..errors import instance, number
from .intervals import Interval, student_quantile


@dataclass(frozen=True)
class Equivalence:
    """What `tost` returns, for one difference.

    Attributes
    ----------
    difference : Interval
        What was asked about.
    margin : float
        How large a difference does not matter, in the unit of the interval.
    p_value : float
        Of the hypothesis that the true difference is at least the margin, in either direction.
    """

    difference: Interval
    margin: float
    p_value: float

    @property
    def equivalent(self) -> bool:
        """Whether the true difference is smaller than the margin, at the level of the interval."""
        return self.p_value < 1 - self.difference.confidence_level

    @property
    def interval(self) -> Interval:
        """The interval that the two tests invert, of twice the level minus 1: it lies between -margin
        and margin exactly where they call two methods equivalent.

        The difference itself where that level is not over 0, or its half-width not finite.
        """
        difference = self.difference
        level = 2 * difference.confidence_level - 1
        if level <= 0 or not isfinite(difference.half_width):
            return difference
        half_width = difference.standard_error * student_quantile(difference.df, level)
        return replace(difference, confidence_level=level, half_width=half_width)

    @property
    def verdict(self) -> str:
        """'equivalent', 'higher', 'lower' or 'not significantly different'.

        A difference can lie away from 0 and be smaller than the margin all the same: then
        'equivalent' is said.
        """
        if self.equivalent:
            return "equivalent"
        return {1: "higher", -1: "lower", 0: "not significantly different"}[self.difference.sign]

    def __str__(self) -> str:
        return f"{self.difference}: {self.verdict} (margin {self.margin:g}, p = {self.p_value:.2g})"


def tost(difference: Interval, margin: float) -> Equivalence:
    """Test whether a difference is smaller than a margin, by two one-sided tests (Schuirmann,
    1987).

    Parameters
    ----------
    difference : Interval
        Of a difference of two methods: `paired_interval` or `welch_interval`, or one of the
        three intervals of a difference (``three_intervals(1.0 * right_of_first - right_of_second,
        …).classes``). A verdict applies to what the interval applies to: these images, new images
        or new classes.
    margin : float
        The largest difference that does not matter, over 0, in the unit of the interval. It is
        chosen before the data are seen: some margin is wide enough for any two methods.

    Returns
    -------
    Equivalence
        Of many pairs, `holm` takes the ``p_value`` of each.

    Raises
    ------
    InputError
        No interval (of the three take one), a margin that is not over 0.

    Notes
    -----
    Both t = (margin - mean)/SE and t = (margin + mean)/SE must be large; the p-value is the larger
    of the two tests'. It is below 5 % where the 90 % interval, not the 95 % one, lies between
    -margin and margin. Where nothing varies it is the largest chance of T equal differences if the
    true mean is a margin off 0 (`fslcore.stats.Interval`): for differences of 0, (1 - margin/b)^T
    with bounds -b and b. So two methods that agree on 600 tasks, with accuracies in percent, are
    equivalent within 0.5 points, and not within 0.49. Nor are they if a few tasks differ: bounds
    then count as for `Interval`, and of methods at the margin that differ on 0.5 to 50 of 100 to
    3,000 tasks, by up to b, at most 6 % were called equivalent at a level of 5 %. Without bounds
    it would be 15 %: pass them. Without bounds and variance, and where the interval is infinite,
    the p-value is 1. Both tests suppose means that are nearly normal. With ten or fewer tasks whose
    differences are skewed, up to 13 % of methods at the margin were called equivalent.

    Examples
    --------
    >>> from fslcore.stats import paired_interval
    >>> a, b = [80.1, 70.2, 75.3, 90.1, 66.0, 71.2], [80.0, 70.3, 75.1, 90.2, 66.1, 71.0]
    >>> print(tost(paired_interval(a, b), 0.5))
    0.03 ± 0.16: equivalent (margin 0.5, p = 0.00031)
    >>> print(tost(paired_interval(a, b), 0.1))
    0.03 ± 0.16: not significantly different (margin 0.1, p = 0.16)
    """
    instance("difference", difference, Interval)
    number("margin", margin, over=0)
    inside = margin - abs(difference.estimate)
    # Where all, or nearly all, units gave one value, any chance of that is compatible with it.
    is_one_value = difference.half_width == 0 or difference.has_rare_units
    if isinf(difference.half_width) or (inside <= 0 and is_one_value):
        p = 1.0
    elif inside <= 0:
        p = float(stats.t.sf(inside / difference.standard_error, difference.df))
    else:
        p = max(difference.one_sided_p_value(end) for end in (-margin, margin))
    return Equivalence(difference, float(margin), p)
