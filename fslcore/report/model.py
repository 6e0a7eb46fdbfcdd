"""What the modules of a report share: the shapes of results, and rows of measurements. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from ..errors import InputError

PERCENT = 100.0
UNIT_KEYS = ("task", "item", "class")
SETTINGS = ("dataset", "ways", "shots", "queries", "sampling")


class Shape(StrEnum):
    """What the rows are a sample of."""

    TASKS = "tasks"
    TASKS_IN_DRAWS = "tasks in several draws"
    RUNS = "training runs on tasks"
    DATASETS = "data sets"
    SEEDS = "seeds"
    FOLDS = "folds"
    DATASETS_AND_SEEDS = "data sets and seeds"
    PRINTED = "printed means"
    OUTCOMES = "right or wrong answers"
    ITEMS = "items under supports"
    RECORDED = "recorded tasks"


class Note(str):
    """A sentence of a report, with the field of `Options` that would change what it says."""

    option: str

    def __new__(cls, text: str, option: str = "") -> Note:
        note = super().__new__(cls, text)
        note.option = option
        return note


@dataclass(frozen=True)
class Table:
    """Cells of one file: text or numbers.

    Attributes
    ----------
    frame : DataFrame
        Columns named as in the file; of a file of numbers alone ``numbers``, or ``column 1``, …
    name : str
        The file's name in messages.
    notes : tuple of str
        A sentence for each choice that reading took.
    from_tool : bool
        Whether the format is a tool's own, which names its columns (recordings, lm-eval, MTEB).
    parts : dict of str
        The named parts of the file's path, such as ``{"method": "ours"}``.
    """

    frame: pd.DataFrame
    name: str
    notes: tuple[str, ...] = ()
    from_tool: bool = False
    parts: dict[str, str] | None = None

    @property
    def stem(self) -> str:
        """The name without its folder and ending."""
        return self.name.rpartition("/")[2].rpartition(".")[0] or self.name


@dataclass(frozen=True)
class Measurements:
    """Rows of measurements and what they are.

    Attributes
    ----------
    rows : DataFrame
        ``method``, ``accuracy`` (percent, or as written) and the keys that were named: those of
        `SETTINGS` and `blocks`, ``seed``, ``run``, ``fold`` and of the unit (`UNIT_KEYS`);
        ``half_width`` of printed means.
    shape : Shape
    percent : bool
        Whether the values are accuracies in percent.
    notes : tuple of str
        How the files were read: first the roles of all columns, then a sentence per choice.
    blocks : tuple of str
        Columns within whose values methods are compared, never across.
    lower_is_better : bool
    """

    rows: pd.DataFrame
    shape: Shape
    percent: bool
    notes: tuple[str, ...]
    blocks: tuple[str, ...] = ()
    lower_is_better: bool = False


class UnnamedRoles(InputError):
    """Columns without a role: the message has a line per column, and the command to type."""
