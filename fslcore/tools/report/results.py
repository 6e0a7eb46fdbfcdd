"""A results table that was read and checked once, and all that a report says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from ... import stats
from ...errors import choice, number
from .. import notebooks
from . import across_datasets, compare, paragraph, runs, show, tables
from .recorded import three_list
from .tables import DIGITS, SHARED

UNKNOWN = "this file does not show how the methods do on new images."
RECORDED = "the three intervals show how the methods do on new images and on new classes."  # of a recording
READING = {
    "open": "Open tasks share no image, so their intervals and conclusions apply to **new images** of these classes.",
    "closed": "Closed tasks reuse images, so their intervals and conclusions apply to **these images** only. "
    "They would be much the same with other tasks from the same images; " + UNKNOWN,
    "unknown": "The file does not say how the tasks were drawn, so it is unknown what a conclusion applies to. "
    "**If no two tasks share an image** (open), it applies to new images of these classes. **If tasks reuse images** "
    "(closed, as most samplers do), it applies to these images only, and the file shows nothing about "
    "new ones. `--sampling open` or `--sampling closed` settles it.",
}
SETTLES = {
    "closed": "More closed tasks narrow only the interval for these images; for new images or new classes, more of "
    "those are needed.",
    "unknown": "If images are used again, more tasks narrow only the interval for these images.",
}
INTERVALS = {"new_images": ("closed", stats.open_interval), "these_images": ("open", stats.closed_interval)}


@dataclass(frozen=True, eq=False)
class Results:
    """Per-task accuracies of methods, and what they let one conclude: made by `read` or `of`, which check them.

    All else takes the table as it is. What is computed is computed once, when it is first asked for.

    Attributes
    ----------
    table : DataFrame
        setting (text; settings are compared each on its own), method, task, accuracy (percent), dataset, sampling,
        and those of run, ways, shots, queries and seed that the input has. Every method of a setting has the same
        tasks.
    notes : tuple of str
        Every choice that was taken in reading, a sentence each.
    level : float
        Nominal coverage of all intervals; tests are made at 1 - ``level``.
    margin : float or None
        Points: the largest difference that does not matter.
    three : dict of ThreeIntervals, or None
        Of a recording, by method, or by 'A − B' or 'A − B (unpaired)', in percent and in points; None of other files.
    reason : str
        Why some of ``three`` are missing, in words of `fslcore.stats.three_intervals`; else empty.
    reference : str or None
        The method that each other is compared with, such as one's own: then nothing else is compared, and corrections
        are for these comparisons alone. None: every two methods. Ranks over data sets are of all methods in any case.
    """

    table: pd.DataFrame
    notes: Sequence[str] = ()
    level: float = stats.LEVEL
    margin: float | None = None
    three: dict[str, stats.ThreeIntervals] | None = None
    reason: str = ""
    reference: str | None = None

    def __post_init__(self) -> None:
        if self.reference is not None:
            choice("reference", self.reference, self.table["method"].unique())

    @classmethod
    def read(
        cls,
        path: str | Path | Sequence[str | Path],
        sampling: str = "unknown",
        *,
        level: float = stats.LEVEL,
        margin: float | None = None,
        reference: str | None = None,
        **how: object,
    ) -> Results:
        """Read per-task accuracies from a file in either of two formats, or from several files together.

        *Long*: a row per task and method, with columns ``accuracy``, ``task`` and ``method`` (or, in its
        place, ``backbone``, ``learner`` or both). *Wide*: a row per task and a column per method; a column
        ``task`` is optional. Both may have the columns ``dataset``, ``sampling``, ``ways``, ``shots``,
        ``queries`` and ``seed``, and ``run``, where methods were trained several times. A file with a
        column ``accuracy`` is long; one that names no method has one, called after the file.

        Several files are one table: each may have its own format and unit. Where none names its data set, they are of
        one, a method or some in each; or of one each, if methods come again.

        Parameters
        ----------
        path : path, or sequence of them
            The file: text or Parquet (`fslcore.tools.report.files.frame`); of several, all or none a recording.
        sampling : str
            How the tasks were drawn, where no column says it: 'open', 'closed' or 'unknown'.
        level, margin : float
            As the attributes; a margin is over 0, and chosen before the results are seen.
        reference : str, optional
            As the attribute: a method's name, as in the table.
        common : bool
            Where methods have different tasks or empty cells, use the tasks that all share instead of
            raising.
        drop : sequence of str
            Columns, methods and tasks to leave out, such as a mean that was written along.
        runs : bool
            Each file is a training run, of the number that its name ends with: protonet-seed0.csv is run 0 of
            protonet, where it does not name its methods itself.
        methods : sequence of str
            The methods: other columns are not read, and no name of one is asked about.
        seed : str
            What a column ``seed`` numbers: 'run', trainings of a method, or 'tasks', draws of tasks. Needed where it
            has several values.
        repeats : str
            What rows are that come again in blocks: 'copies', which are left out, or 'tasks' of their own.
        out_of : float, optional
            What a full score is: 1 for shares, 100 for percent, 75 for right answers among 75 queries. Needed where a
            method has whole numbers alone, as counts are.
        separator, decimal : str
            What separates the cells of text and what its decimal sign is, as for `fslcore.tools.report.files.frame`.

        Raises
        ------
        InputError
            No such file, another ending, unreadable, two columns of one name; files of other columns than the rest;
            with ``runs`` one file alone, or one with a column run; a column missing; a value of the wrong type,
            missing, outside its range or in another unit than the rest; nothing but 0 and 1, which are queries and no
            tasks; a mean or another summary among methods or tasks; a loss, a time or a count among methods; a task
            given twice; rows that come again; a seed of which it is not known what it numbers; methods or runs with
            different tasks; fewer than 2 tasks. The message names all of it, with column and row (1 is the first below
            the header), or method and task.
        """
        _check(level, margin)
        table, notes, recorded = tables.read(path, sampling, **how)
        three = recorded.three_intervals(level, table, reference) if recorded else (None, "")
        return cls(table, tuple(notes), level, margin, *three, reference)

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        name: str = "results",
        sampling: str = "unknown",
        *,
        level: float = stats.LEVEL,
        margin: float | None = None,
        reference: str | None = None,
        **how: object,
    ) -> Results:
        """The results in a DataFrame of either format (see `read`).

        Parameters
        ----------
        frame : DataFrame
            Accuracies as shares (no value above 1) or in percent. Levels of its index with a name of a column that is
            read, method and task say, are columns; what else the index holds is not read.
        name : str
            What errors and notes call it; also the data set's name where none is given.
        sampling, level, margin, reference, **how
            As for `read`.

        Raises
        ------
        InputError
            As for `read`.
        """
        _check(level, margin)
        table, notes = tables.normalise(frame, name, sampling, **how)
        return cls(table, tuple(notes), level, margin, reference=reference)

    @cached_property
    def settings(self) -> pd.DataFrame:
        """A row a setting: how its tasks were drawn, their shape where it is known, their number, the methods'."""
        parts = self.table.groupby("setting")
        shape = parts[[c for c in SHARED if c in self.table and c != "dataset"]].first()
        return shape.assign(tasks=parts["task"].nunique(), methods=parts["method"].nunique())

    @cached_property
    def grids(self) -> dict[str, pd.DataFrame]:
        """By setting, accuracies, a row per task, a column per method, best mean first; the mean of several runs."""
        out, table = {}, self.table
        if "run" in table:
            table = table.groupby(["setting", "method", "task"], sort=False, as_index=False)["accuracy"].mean()
        for setting, part in table.groupby("setting"):
            grid = part.pivot(index="task", columns="method", values="accuracy").round(DIGITS)
            out[setting] = grid[sorted(grid, key=lambda m: (-round(grid[m].mean(), DIGITS), m))]
        return out

    @cached_property
    def single(self) -> dict[tuple[str, str], dict[str, stats.Interval]]:
        """By setting and method, the best first, the intervals its sampling gives: ``new_images``, ``these_images``."""
        sampling = self.settings["sampling"]
        return {
            (setting, method): {
                name: make(accuracies, self.level, (0, 100))
                for name, (never, make) in INTERVALS.items()
                if sampling[setting] != never
            }
            for setting, grid in self.grids.items()
            for method, accuracies in grid.items()
        }

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """By setting and method, the best first: the mean and intervals in percent.

        mean, tasks, and of ``new_images`` (open interval; NaN for closed tasks, which cannot give it) and
        ``these_images`` (closed interval; NaN for open tasks) the half-width and, with ``_low`` and ``_high`` behind
        the name, the ends, which lie between 0 and 100 (`fslcore.stats.limits`). Where the sampling is unknown both
        stand there, and one of them holds. ``few_errors``: whether so few queries went wrong, or right, that an
        interval is rough (`fslcore.stats.Interval`).
        """
        rows = {}
        for key, of in self.single.items():
            first, *_ = of.values()
            rows[key] = {"mean": first.mean}
            for name in INTERVALS:
                r = of.get(name)
                ends = (r.half_width, r.low, r.high) if r else (np.nan,) * 3
                rows[key] |= dict(zip((name, f"{name}_low", f"{name}_high"), ends))
            rows[key] |= {"tasks": first.n_tasks, "few_errors": any(r.few_errors for r in of.values())}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["setting", "method"])

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Every pair of methods of every setting, compared task by task.

        Paired t-tests (OOPS, equation 5), corrected over all pairs of the table together: by Holm
        (1979), which bounds the chance of even one false conclusion, and by Benjamini and Hochberg
        (1995), which bounds the expected share of false ones among the conclusions.

        Columns are setting; a and b, a with the higher mean; tasks; difference a - b, its half_width and
        standard deviation sd over tasks (points); p, p_holm, p_bh; and verdicts at ``level``, whether a
        and b are significantly different: ``paired`` (without correction), ``holm``, ``bh``, and ``unpaired``, the
        usual way: their closed intervals do not meet. With a margin also ``margin``, ``p_equivalent`` and
        ``equivalent`` (`fslcore.stats.equivalence`, corrected by Holm's method over all pairs): it bounds the chance of
        even one false *equivalent*; that of a false *higher* is bounded by itself.

        With a ``reference``, the pairs that it belongs to, and of these ``half_width_all`` and ``p_all``: intervals
        that hold all at once, and p-values to match (`fslcore.stats.simultaneous_intervals`; Bonferroni's correction
        for several settings).
        """
        pairs = compare.all_pairs(self.grids, self.level, self.reference)
        return compare.with_margin(pairs, self.margin, self.level) if self.margin else pairs

    @cached_property
    def groups(self) -> dict[str, list[list[str]]]:
        """By setting, largest sets of methods of which no two are significantly different; none if too many.

        With a ``reference`` the one set of it and those not significantly different from it.
        """
        apart = self.pairs[self.pairs["holm"]]
        if self.reference is not None:
            told = {s: {*of["a"], *of["b"]} - {self.reference} for s, of in apart.groupby("setting")}
            return {
                s: [[m for m in g if m not in told.get(s, ())]] if self.reference in g else [[m] for m in g]
                for s, g in self.grids.items()
            }
        return {s: compare.groups(list(g), apart[apart["setting"] == s], show.GROUPS) for s, g in self.grids.items()}

    @cached_property
    def panels(self) -> dict[str, tuple[pd.Series, list[list[str]]]]:
        """By setting, mean accuracies (the best first) and ``groups``, for `fslcore.tools.report.figures.groups`."""
        return {setting: (grid.mean(), self.groups[setting]) for setting, grid in self.grids.items()}

    chosen = cached_property(compare.chosen)
    ranks = cached_property(across_datasets.by_ranks)
    new_runs = cached_property(runs.new_runs)
    recipes = cached_property(runs.recipes)
    run_reading = cached_property(runs.run_reading)

    @cached_property
    def reading(self) -> list[str]:
        """What intervals and conclusions apply to, for each way of sampling in the table."""
        found = [READING[s] for s in READING if (self.table["sampling"] == s).any()]
        return [text.replace(UNKNOWN, RECORDED) for text in found] if self.three else found

    @cached_property
    def settles(self) -> list[str]:
        """What more tasks leave open, for each way of sampling in the table."""
        return [SETTLES[s] for s in SETTLES if (self.table["sampling"] == s).any()]

    @cached_property
    def warnings(self) -> list[str]:
        """A sentence for each setting of too many groups to name, or of limits that rest on a single answer."""
        lacking = [s for s, grid in self.grids.items() if self.reference not in (None, *grid)]
        told = [f"{setting}: {self.reference} is not among its methods; nothing is compared." for setting in lacking]
        return [*told, *show.crowded(self), *show.few_errors(self)]

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables for a reader: methods, matrix, pairs, changed, needed, runs, recipes, three_intervals.

        What a file has nothing for, as runs where methods were trained once, is without rows.
        """
        return {
            "methods": show.interval_list(self),
            "matrix": show.matrix(self),
            "pairs": show.pair_list(self),
            "changed": show.changed(self),
            "needed": show.needed(self),
            "runs": runs.run_list(self),
            "recipes": runs.recipe_list(self),
            "three_intervals": three_list(self.three or {}),
        }

    summary = show.summary
    record = show.record
    paragraphs = paragraph.paragraphs
    write_tables = show.write_tables
    write_figures = show.write_figures

    def to_html(self, path: str | Path, title: str = "report", progress: bool = False) -> None:
        """Write the page of *Your results*, which shows these results, as one HTML file (`notebooks.page`)."""
        notebooks.page(notebooks.executed("your-results", {}, progress, {"found": self}), path, title)


def _check(level: object, margin: object) -> None:
    number("level", level, above=0, below=1)
    if margin is not None:
        number("margin", margin, above=0)
