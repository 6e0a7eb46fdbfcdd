"""What a user may say about a results file, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import InputError, choice, flag, number, shown, whole
from ..stats import DEFAULT_CONFIDENCE_LEVEL

CHOICES = {
    "sampling": ("open", "closed", "unknown"),
    "seed": ("runs", "tasks", "unknown"),
    "separator": ("comma", "semicolon", "tab", "bar", "blanks", "unknown"),
    "decimal": (".", ",", "unknown"),
}


@dataclass(frozen=True)
class Options:
    """Answers to what a file leaves open; every one may be left out.

    Attributes
    ----------
    sampling : str
        How tasks were drawn: 'closed' (images are reused between tasks), 'open' (each image is in
        one task at most) or 'unknown'.
    seed : str
        What a seed numbers: 'runs' (trainings), 'tasks' (draws of tasks), or 'unknown'.
    reference : str or None
        The method that is compared with each other one; None for every two.
    level : float
        Confidence level of intervals; tests are made at 1 - ``level``.
    margin : float or None
        The largest difference that does not matter, chosen before the results are seen.
    leave_out : sequence of str
        Columns, methods, data sets and tasks to leave out (``--drop``).
    only_methods : sequence of str
        The methods: no other is read, and no other column as one (``--methods``).
    common : bool
        Where methods have different tasks, use those that all share.
    lower_is_better : bool
        Values are errors, losses or times.
    out_of : float or None
        The full score, such as 75 for right answers of 75; None for shares or percent.
    separator : str
        A name of `fslcore.report.read.SEPARATORS`, or 'unknown': the one that splits all lines of a
        text into equally many cells.
    decimal : str
        '.', ',' or 'unknown': a comma if numbers have commas and none has a point.
    pool, shots : int or None
        As for `fslcore.stats.crossed_intervals`.
    """

    sampling: str = "unknown"
    seed: str = "unknown"
    reference: str | None = None
    level: float = DEFAULT_CONFIDENCE_LEVEL
    margin: float | None = None
    leave_out: Sequence[str] = ()
    only_methods: Sequence[str] = ()
    common: bool = False
    lower_is_better: bool = False
    out_of: float | None = None
    separator: str = "unknown"
    decimal: str = "unknown"
    pool: int | None = None
    shots: int | None = None

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            choice(name, getattr(self, name), allowed)
        flag("common", self.common)
        flag("lower_is_better", self.lower_is_better)
        number("level", self.level, over=0, under=1)
        for name in ("margin", "out_of"):
            if getattr(self, name) is not None:
                number(name, getattr(self, name), over=0)
        for name in ("pool", "shots"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), 1)
        if self.reference is not None and not isinstance(self.reference, str):
            raise InputError(
                f"reference = {shown(self.reference)}; the name of a method is allowed"
            )
        for name in ("leave_out", "only_methods"):
            names = getattr(self, name)
            is_list = isinstance(names, (list, tuple))
            if not is_list or not all(isinstance(part, str) for part in names):
                raise InputError(f"{name} = {shown(names)}; a list of names is allowed")
            object.__setattr__(self, name, tuple(names))

    @property
    def sign(self) -> int:
        """1 if the better of two values is the higher, -1 if it is the lower."""
        return -1 if self.lower_is_better else 1
