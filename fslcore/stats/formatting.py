"""How an estimate and its interval are written: one rule of digits, and one word for what is not
known, in every print, table and page.

A mean has as many decimals as show two digits of the half-width. An interval is '± half-width';
it is 'low to high' where an end lies over a tenth of the half-width away from that, as near a bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, inf, isfinite, isinf, isnan, log10
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, broadcast, check_together, quoted

__all__ = ["UNKNOWN", "decimals", "format_ends", "format_half_width", "format_interval"]

UNKNOWN = "unknown"  # an interval with an infinite end
NO_ESTIMATE = "—"
MOST_ASYMMETRY = 0.1  # of the half-width, by which an end may be off from the text '± half-width'
FEWEST_DECIMALS, MOST_DECIMALS = 2, 9


def format_interval(
    estimate: ArrayLike,
    half_width: ArrayLike | None = None,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    *,
    spec: str = "",
) -> str | NDArray[Any]:
    """An estimate with its interval as text: '80.12 ± 0.31' or '99.90 (99.69 to 99.97)'.

    Parameters
    ----------
    estimate : array_like
        A number, or an array.
    half_width : array_like, optional
        Of the interval; by default half the distance of its ends.
    low, high : array_like, optional
        Its ends; by default estimate ± half_width. All arguments broadcast.
    spec : str
        Python's format of a number, for all numbers: '.1f', or '+.1f' for an estimate with its sign.
        Without it two decimals, or as many more as show two digits of the half-width.

    Returns
    -------
    str, or array of str
        '—' where the estimate is NaN, the estimate alone where the half-width is; '80.12 ± unknown'
        where an end or the half-width is infinite.

    Raises
    ------
    InputError
        What are no numbers, shapes that do not broadcast, a format that numbers do not have, one end
        without the other, neither a half-width nor ends.

    Examples
    --------
    >>> format_interval(80.123, 0.314), format_interval(0.80123, 0.00314)
    ('80.12 ± 0.31', '0.8012 ± 0.0031')
    >>> format_interval(99.9, low=99.69, high=99.97), format_interval(-1.25, 0.5, spec="+.1f")
    ('99.90 (99.69 to 99.97)', '-1.2 ± 0.5')
    """
    try:
        format(0.0, spec)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"spec must be a format of numbers, got {quoted(spec)} ({error})"
        ) from None
    check_together(low=low, high=high)
    if half_width is None and low is None:
        raise InputError("half_width, or low and high, must be given, got None")
    ends = {"half_width": half_width, "low": low, "high": high}
    given = {name: value for name, value in ends.items() if value is not None}
    estimate, *others = broadcast(estimate=estimate, **given)
    arrays = dict(zip(given, others))
    if half_width is None:
        with np.errstate(invalid="ignore"):
            arrays["half_width"] = (arrays["high"] - arrays["low"]) / 2
    if low is None:
        arrays["low"] = estimate - arrays["half_width"]
        arrays["high"] = estimate + arrays["half_width"]
    numbers = [arrays[name] for name in ends]
    with np.errstate(invalid="ignore"):  # of infinite estimates
        cells = np.vectorize(_text, otypes=[object])(estimate, *numbers, spec)
    return cells if cells.ndim else str(cells[()])


def _text(estimate: float, half_width: float, low: float, high: float, spec: str) -> str:
    spec = spec or f".{decimals(half_width)}f"
    if isnan(estimate):
        return NO_ESTIMATE
    return with_interval(
        format(estimate, spec), format_half_width(estimate, half_width, low, high, spec)
    )


def with_interval(estimate: str, interval: str, remark: str = "") -> str:
    """The texts of an estimate and of `format_half_width` as one, with a remark on the interval."""
    if not interval:
        return estimate
    if interval.startswith("±"):
        return f"{estimate} {interval} ({remark})" if remark else f"{estimate} {interval}"
    return f"{estimate} ({interval}, {remark})" if remark else f"{estimate} ({interval})"


def format_half_width(
    estimate: float, half_width: float, low: float, high: float, spec: str
) -> str:
    """'± half-width', 'low to high' where an end is off from it by over a tenth, '± unknown' where
    an end is infinite; '' where the half-width is NaN.
    """
    if isnan(half_width):
        return ""
    if isinf(half_width):
        return f"± {UNKNOWN}"
    off = max(abs(estimate - half_width - low), abs(estimate + half_width - high))
    if off <= half_width * MOST_ASYMMETRY:
        return f"± {half_width:{unsigned(spec)}}"
    ends = format_ends(low, high, spec)
    return f"± {ends}" if ends == UNKNOWN else ends


def format_ends(low: float, high: float, spec: str) -> str:
    """'low to high'; 'unknown' where an end is not finite."""
    if not (isfinite(low) and isfinite(high)):
        return UNKNOWN
    return f"{low:{unsigned(spec)}} to {high:{unsigned(spec)}}"


def unsigned(spec: str) -> str:
    """A format of numbers without the sign of positive ones."""
    return spec.lstrip("+ ")


def decimals(half_width: float | Iterable[float]) -> int:
    """How many decimals show two digits of a half-width, or of the narrowest of several: at least
    two, and no more than nine.
    """
    widths = np.ravel(np.asarray(half_width, dtype=float))
    narrowest = widths[(widths > 0) & np.isfinite(widths)].min(initial=inf)
    if isinf(narrowest):
        return FEWEST_DECIMALS
    return min(max(FEWEST_DECIMALS, 1 - floor(log10(narrowest))), MOST_DECIMALS)
