"""What a user may say about a results file, checked once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from ..catalogue import REPORT_WORDS
from ..errors import InputError, choice, flag, instance, number, quoted, whole
from ..stats import DEFAULT_CONFIDENCE_LEVEL

NAMES = ("reference", "method", "value", "group", "low", "high", "of")
UNITS = ("task", "item", "class", "seed", "run", "draw", "fold", "dataset", "support")


def names_of(option: str, names: object) -> tuple[str, ...]:
    """A list of names, checked."""
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{option} must be a list of names, got {quoted(names)}")
    return tuple(names)


CHECKS: dict[str, Callable[[str, Any], object]] = {
    **{name: partial(choice, allowed=(*words, "unknown")) for name, words in REPORT_WORDS.items()},
    **dict.fromkeys(("common", "lower_is_better", "higher_is_better"), flag),
    "level": partial(number, over=0, under=1),
    **dict.fromkeys(("margin", "out_of"), partial(number, over=0)),
    **dict.fromkeys(("pool", "shots"), partial(whole, minimum=1)),
    **dict.fromkeys(NAMES, partial(instance, kind=str)),
    **dict.fromkeys(("unit", "columns"), partial(instance, kind=Mapping)),
    "rows": partial(choice, allowed=UNITS),
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
    method, value, group : str or None
        The column of the methods, of the values, and of the groups that units come in. In a table
        with several columns of values, ``value`` names what they measure.
    methods : sequence of str
        A column of values for each method.
    columns : dict of sequences of str
        Columns of values that are something else: ``{"dataset": ["CUB", "Cars"]}``.
    unit : dict of str
        What columns of other names number: ``{"episode_no": "task"}``; one of `UNITS`.
    rows : str or None
        What a row is where no column says it; one of `UNITS`. Row k is then the same in all files.
    by : sequence of str
        Columns within whose values methods are compared.
    where : sequence of str
        The rows to use: 'split=test' or 'method!=ours'; several of one column are alternatives.
    ignore : sequence of str
        Columns without a role; '()' for all numbers in parentheses.
    pm : str or None
        What ± is: 'ci' (half of an interval), 'se' or 'sd'; 'sd=COLUMN' names its column.
    n : str, int or None
        Of how many values each mean is: a number, or a column.
    low, high : str or None
        The columns with the ends of intervals.
    of : str or None
        The column of the totals of which the values are counts.
    common : bool
        Where methods have different tasks, use those that all share.
    lower_is_better, higher_is_better : bool
        Which of two values is the better, where a name says otherwise or nothing.
    out_of : float or None
        The full score, such as 75 for right answers of 75; None for shares or percent.
    separator : str
        A name of `fslcore.report.text.SEPARATORS`, or 'unknown': the one that splits all lines of a
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
    method: str | None = None
    value: str | None = None
    group: str | None = None
    methods: Sequence[str] = ()
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unit: Mapping[str, str] = field(default_factory=dict)
    rows: str | None = None
    by: Sequence[str] = ()
    where: Sequence[str] = ()
    ignore: Sequence[str] = ()
    pm: str | None = None
    n: str | int | None = None
    low: str | None = None
    high: str | None = None
    of: str | None = None
    common: bool = False
    lower_is_better: bool = False
    higher_is_better: bool = False
    out_of: float | None = None
    separator: str = "unknown"
    decimal: str = "unknown"
    pool: int | None = None
    shots: int | None = None

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name in CHECKS and value is not option.default:
                CHECKS[option.name](option.name, value)
        if self.lower_is_better and self.higher_is_better:
            raise InputError("lower_is_better and higher_is_better must not both be True")
        for name in ("methods", "by", "where", "ignore"):
            names = getattr(self, name)
            names = (names,) if isinstance(names, str) else names
            object.__setattr__(self, name, names_of(name, names))
        for word in self.unit.values():
            choice("unit", word, UNITS)
        columns = {word: names_of("columns", names) for word, names in self.columns.items()}
        object.__setattr__(self, "columns", columns)
        for word in columns:
            choice("columns", word, (*UNITS, "shots"))
        if self.n is not None and not isinstance(self.n, str):
            whole("n", self.n, 1)
        if self.pm is not None:
            kind = self.pm.partition("=")[0] if isinstance(self.pm, str) else self.pm
            choice("pm", kind, ("ci", "se", "sd"))
        for condition in self.where:
            if not re.fullmatch(r".+?!?=.*", condition, re.DOTALL):
                raise InputError(
                    f"where must be COLUMN=VALUE or COLUMN!=VALUE, got {quoted(condition)}"
                )

    @property
    def sign(self) -> int:
        """1 if the better of two values is the higher, -1 if it is the lower."""
        return -1 if self.lower_is_better else 1
