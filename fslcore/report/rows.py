"""The cells of one file as rows, each with one measured value and the keys that the file has."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ..errors import InputError, visible
from .columns import (
    INDEX_NAME,
    LOWER_IS_BETTER,
    NUMBERED_METHOD,
    NUMBERED_UNIT,
    ROW_NAME,
    SHOTS,
    TRACKED,
    chosen_meanings,
    is_other_measure,
    is_summary,
    plain_name,
    words_of,
)
from .options import Options
from .read import Table, refuse

COUNT_KEYS = ("ways", "shots", "queries")
UNIT_KEYS = ("task", "item", "class")
ROW_KEYS = {"method", *UNIT_KEYS, "dataset", "seed", "run"}
PERCENT = 100.0
MOSTLY_TEXT = 0.6  # share of cells that are no numbers, in a column that is not read
HALF_WIDTH = " ±"  # at the end of the name of a column of half-widths (`fslcore.report.read.typed`)


def rows_of(table: Table, options: Options, notes: list[str]) -> pd.DataFrame:
    """One file as rows with ``accuracy``, and ``method`` where the file names it.

    A row without a value stays, with NaN: where rows name no task, the place of a row is its task.
    ``notes`` gets a sentence for each choice.
    """
    if table.frame.empty and len(table.frame.columns):
        raise InputError(f"{table.name} has no rows")
    frame = table.frame.drop(columns=[name for name in options.leave_out if name in table.frame])
    file = FileRows(frame, table.name, options, notes)
    file.read_tracked_columns()
    file.check_epochs()
    file.name_rows()
    file.drop_numbering()
    file.find_meanings()
    rows = file.long_rows() if "accuracy" in file.meanings.values() else file.melted_rows()
    rows["accuracy"] = file.scaled(rows)
    for key in rows.columns.intersection(COUNT_KEYS):
        digits = rows[key].astype(str).str.extract(r"(\d+)")[0]
        rows[key] = pd.to_numeric(digits).astype("Int64")
    if "method" in rows:
        rows["method"] = rows["method"].map(lambda name: visible(str(name).strip()))
        is_nameless = rows["method"].eq("")
        if (is_nameless & rows["accuracy"].notna()).any():
            raise InputError(f"{table.name} has a row without a method; name it, or leave it out")
        has_values = rows["accuracy"].notna().groupby(rows["method"]).transform("any")
        rows = rows[has_values & ~is_nameless]
    return rows


@dataclass
class FileRows:
    """A file on its way to rows.

    Attributes
    ----------
    frame : DataFrame
        Its cells, without the columns that are left out.
    file : str
        Its name in messages.
    options : Options
    notes : list of str
        How it was read.
    meanings : dict of str
        By column, as `fslcore.report.columns.chosen_meanings`.
    """

    frame: pd.DataFrame
    file: str
    options: Options
    notes: list[str]
    meanings: dict[str, str] = field(default_factory=dict)

    def note(self, choice: str) -> None:
        """Say how the file was read."""
        self.notes.append(f"{self.file}: {choice}")

    def read_tracked_columns(self) -> None:
        """Exports of tracking tools: 'run - metric' becomes 'run'; columns of bounds go."""
        matches = {name: TRACKED.fullmatch(str(name)) for name in self.frame}
        tracked = {name: match for name, match in matches.items() if match}
        if not tracked:
            return
        unread = [name for name, match in tracked.items() if match["bound"]]
        if unread:
            self.note("columns that end with __MIN and __MAX are left out.")
        metrics = {match["metric"] for name, match in tracked.items() if name not in unread}
        accuracies = [metric for metric in metrics if not is_other_measure(metric)]
        names = {}
        if len(accuracies) == 1:
            for name, match in tracked.items():
                if match["metric"] != accuracies[0]:
                    unread.append(name)
                elif name not in unread:
                    names[name] = match["run"]
            self.note(f"{accuracies[0]} of {len(names)} runs is read, a method per run.")
        self.frame = self.frame.drop(columns=unread).rename(columns=names)

    def check_epochs(self) -> None:
        """Raise `InputError` for a curve of training, whose rows are epochs; steps may be."""
        names = {plain_name(name) for name in self.frame}
        units = {"task", "item", "seed", "run", "dataset"}
        if names & {"epoch", "epochs"} and not units & {*chosen_meanings(self.frame).values()}:
            raise InputError(
                f"{self.file} has a row per epoch, and epochs of a training are no tasks; keep the "
                "final test, with a row per task, seed or data set"
            )
        if "step" in names:
            self.note("a step is read as the number of a task, and not of a training.")

    def name_rows(self) -> None:
        """Read a column that names the rows as their task, where no known column does.

        In a file of several methods, methods have to share its values.
        """
        frame, meanings = self.frame, chosen_meanings(self.frame)
        is_long = "accuracy" in meanings.values()
        keys = [name for name in meanings if meanings[name] not in ("accuracy", "half_width")]
        if {*UNIT_KEYS} & {*meanings.values()} or (keys and not frame.duplicated(keys).any()):
            return
        for name in frame.columns.difference([*meanings], sort=False):
            cells = frame[name]
            if not may_name_rows(name, cells, is_long) or frame.duplicated([*keys, name]).any():
                continue
            if "method" in meanings.values() and cells.is_unique:
                continue
            self.note(f"column '{name}' names the rows; methods are paired by it.")
            self.frame = frame.rename(columns={name: "task"})
            return

    def drop_numbering(self) -> None:
        """Drop columns that only number the rows; one of text without a name names data sets."""
        frame = self.frame
        unnamed = [name for name in frame if INDEX_NAME.fullmatch(str(name))]
        if [*frame.columns[:1]] == ["column 1"] and is_numbering(frame["column 1"]):
            unnamed = ["column 1"]
        if len(frame) > 2:
            meanings = chosen_meanings(frame)
            for name in frame.columns.difference([*unnamed, *meanings], sort=False):
                if is_numbering(frame[name]) and frame[name].iloc[0] in (0, 1):
                    unnamed.append(name)
        for name in unnamed:
            self.drop_or_name(name)

    def drop_or_name(self, name: str) -> None:
        """Drop a column without a name that numbers the rows; else name it."""
        cells = self.frame[name]
        numeric = is_numeric(cells)
        if numeric and (cells % 1 != 0).any():
            position = list(self.frame).index(name) + 1
            raise InputError(
                f"column {position} of {self.file} has no name; name it after its method"
            )
        if numeric or cells.eq("").all():
            self.note(f"column '{name}', which numbers the rows, is left out.")
            self.frame = self.frame.drop(columns=name)
            return
        meaning, plural = "dataset", "data sets"
        if "dataset" in chosen_meanings(self.frame).values():
            meaning, plural = "method", "methods"
        self.note(f"the column without a name is read as {plural}.")
        self.frame = self.frame.rename(columns={name: meaning})

    def find_meanings(self) -> None:
        """Find what the columns mean."""
        columns = [name for name in self.frame if not is_half_width(name)]
        meanings = chosen_meanings(columns)
        for name in [*meanings]:
            if plain_name(name) == "run" and is_numeric(self.frame[name]):  # no names of methods
                meanings[name] = "run"
            if meanings[name] == "accuracy" and self.is_mean_of_methods(name, meanings):
                del meanings[name]
        if "accuracy" not in meanings.values():
            measured = []
            if self.options.lower_is_better:
                measured = [name for name in columns if plain_name(name) in LOWER_IS_BETTER]
                measured = measured if len(measured) == 1 else []
            elif "half_width" in meanings.values():
                means = ("mean", "average", "avg")
                measured = [name for name in columns if plain_name(name) in means]
            meanings |= dict.fromkeys(measured[:1], "accuracy")
        self.meanings = meanings

    def is_mean_of_methods(self, name: str, meanings: dict[str, str]) -> bool:
        """Whether a column is the mean of others that stand beside it, a column per method."""
        others = self.frame.select_dtypes("number").columns.difference([*meanings])
        return is_summary(name) and not all(map(is_other_measure, others))

    def long_rows(self) -> pd.DataFrame:
        """Rows of a table with one column of values."""
        measured = next(name for name in self.meanings if self.meanings[name] == "accuracy")
        if not is_numeric(self.frame[measured]):
            cell = self.first_text(self.frame[measured])
            raise InputError(f"{measured} in {cell}; a number is needed, or nan")
        half_width = f"{measured}{HALF_WIDTH}"
        self.note_unread(name for name in self.frame if name not in (*self.meanings, half_width))
        rows = self.frame[[*self.meanings]].rename(columns=self.meanings)
        if half_width in self.frame:
            rows["half_width"] = self.frame[half_width]
        if "backbone" in rows:
            names = rows.pop("backbone").astype(str)
            if "method" in rows:
                names += " " + rows["method"].astype(str)
            rows["method"] = names
        self.note_empty(rows)
        return rows

    def melted_rows(self) -> pd.DataFrame:
        """Rows of a table with a column of values per method, or a row per method."""
        frame, meanings = self.frame, self.meanings
        keys = [name for name in meanings if meanings[name] not in ("accuracy", "half_width")]
        columns = self.value_columns(keys)
        keyed = frame[keys].rename(columns=meanings)
        if not ROW_KEYS & {*meanings.values()}:
            keyed["task"] = frame.index.to_numpy()  # of a text the place, empty lines included
        rows = keyed.take(np.tile(np.arange(len(frame)), len(columns))).reset_index(drop=True)
        rows["column"] = np.repeat(np.array([*map(str, columns)], dtype=object), len(frame))
        rows["accuracy"] = np.concatenate([frame[name].to_numpy(float) for name in columns])
        half_widths = [f"{name}{HALF_WIDTH}" for name in columns]
        if not frame.columns.intersection(half_widths).empty:
            of_columns = frame.reindex(columns=half_widths)
            rows["half_width"] = of_columns.to_numpy(float).ravel(order="F")
        self.note_empty(rows)
        return self.named_by_column(rows, columns)

    def note_empty(self, rows: pd.DataFrame) -> None:
        """Say how many rows have no value."""
        empty = int(rows["accuracy"].isna().sum())
        if empty:
            self.note(f"{empty} empty values are left out.")

    def note_unread(self, names: Iterable[object]) -> None:
        """Say which columns are not read."""
        listed = ", ".join(map(str, names))
        if listed:
            self.note(f"not read: {listed}.")

    def value_columns(self, keys: Sequence[str]) -> list[str]:
        """The columns of values: of numbers, and no other measure, summary or ±."""
        frame, options = self.frame, self.options
        candidates = [name for name in frame if name not in keys and not is_half_width(name)]
        numeric = [name for name in candidates if is_numeric(frame[name])]
        texts = [name for name in candidates if name not in numeric]
        self.check_mostly_numbers(texts)
        if options.only_methods:
            unwanted = [name for name in numeric if name not in options.only_methods]
        else:
            unwanted = [name for name in numeric if is_other_measure(name) or is_summary(name)]
            if options.lower_is_better:
                unwanted = [name for name in unwanted if not is_lower_better(name)]
        columns = [name for name in numeric if name not in unwanted]
        if not columns:
            self.refuse_columns(unwanted)
        summaries = [name for name in unwanted if is_summary(name)]
        if summaries:
            self.note(f"left out, as a summary of the others: {', '.join(map(str, summaries))}.")
        unwanted = [str(name) for name in unwanted if name not in summaries]
        if unwanted:
            self.note(
                f"left out, as their names are no methods': {', '.join(unwanted)} (--methods names "
                "all methods)."
            )
        self.note_unread(texts)
        return columns

    def refuse_columns(self, unwanted: Sequence[str]) -> None:
        """Raise `InputError`, as no column holds values."""
        lower = [str(name) for name in unwanted if is_lower_better(name)]
        if lower:
            raise InputError(
                f"{self.file}: {', '.join(lower)}: lower is better of an error, a loss or a time; "
                "say --lower-is-better to compare methods by it"
            )
        listed = ", ".join(map(str, self.frame)) or "none"
        if self.options.only_methods:
            methods = ", ".join(self.options.only_methods)
            raise InputError(f"methods = {methods}; {self.file} has the columns {listed}")
        raise InputError(
            f"{self.file} has the columns {listed}; a column accuracy, or a column of numbers per "
            "method, is needed"
        )

    def check_mostly_numbers(self, texts: Sequence[str]) -> None:
        """Raise `InputError` for columns of numbers in which a few cells are other text."""
        problems = []
        for name in texts:
            cells = self.frame[name]
            if pd.to_numeric(cells, errors="coerce").isna().mean() < MOSTLY_TEXT:
                problems.append(
                    f"{name} in {self.first_text(cells)}; a number is needed, or nan where a value "
                    f"is missing (--drop {shlex.quote(str(name))} leaves the column out)"
                )
        refuse(problems)

    def first_text(self, cells: pd.Series) -> str:
        """Where the first cell that is no number stands, and what it is."""
        row = int(pd.to_numeric(cells, errors="coerce").isna().to_numpy().argmax())
        return f"row {row + 1} of {self.file} is {cells.iloc[row] or 'empty'}"

    def named_by_column(self, rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
        """What the names of the columns of values are: methods, seeds, shots, or data sets."""
        column = rows.pop("column")
        has_methods = "method" in rows
        for pattern in (NUMBERED_UNIT, NUMBERED_METHOD, SHOTS):
            parts = column.str.extract(rf"^{pattern.pattern}$", flags=re.IGNORECASE)
            parts = parts.reindex(columns=["method", "word", "number"])
            words, methods = parts["word"].dropna(), parts["method"]
            if parts["number"].isna().any():
                continue
            if pattern is not NUMBERED_UNIT and len(columns) == 1:
                continue
            key = key_of_word(words.iloc[0]) if len(words) else "seed"
            if pattern is NUMBERED_UNIT:
                if parts["word"].nunique(dropna=False) > 1:
                    continue
                self.note(f"a column per {key}.")
            elif pattern is NUMBERED_METHOD:
                self.note(f"columns are named after a method and a {key}.")
            elif methods.isna().all() == has_methods:
                key = "shots"
                self.note("the names of columns hold the number of shots.")
            else:
                continue
            if methods.notna().all():
                rows["method"] = methods
            return rows.assign(**{key: parts["number"].astype(int)})
        if has_methods:
            self.note("a row per method and a column per data set.")
            return rows.assign(**{"dataset" if "dataset" not in rows else "sampling": column})
        first = str(columns[0])
        if len(columns) == 1 and (first.startswith("column ") or chosen_meanings(columns)):
            return rows
        return rows.assign(method=column)

    def scaled(self, rows: pd.DataFrame) -> pd.Series:
        """Values in percent, or as written where lower is better; half-widths in ``rows`` too.

        Empty values stay NaN.
        """
        all_values, options = rows["accuracy"].astype(float), self.options
        values = all_values.dropna()
        if values.empty:
            raise InputError(f"{self.file} has no number in its columns of values")
        if not np.isfinite(values).all():
            raise InputError(
                f"{self.file} has an infinite value; finite numbers are needed, or nan"
            )
        if options.lower_is_better:
            return all_values
        full_score = options.out_of or (1.0 if values.max() <= 1 else PERCENT)
        if values.min() < 0 or values.max() > full_score:
            outside = values.min() if values.min() < 0 else values.max()
            raise InputError(
                f"{self.file} has the value {outside:g}, and accuracies go from 0 to "
                f"{full_score:g}; for right answers of 75 say --out-of 75, for errors, losses or "
                "times --lower-is-better, and leave other columns out with --drop NAME"
            )
        if options.out_of is None:
            check_one_unit(rows, self.file)
        if "half_width" in rows:
            rows["half_width"] *= PERCENT / full_score
        if full_score == 1 and not values.isin([0.0, 1.0]).all():
            self.note("values from 0 to 1 are read as shares.")
        whole_numbers = (values % 1 == 0).all() and values.max() > 1
        if whole_numbers and options.out_of is None:
            self.note(
                "whole numbers are read as percent; if they count right answers, say --out-of N. "
                "Sizes in points change, tests do not."
            )
        return all_values * (PERCENT / full_score)


def is_half_width(name: object) -> bool:
    """Whether a column holds the numbers behind ±."""
    return str(name).endswith(HALF_WIDTH)


def is_lower_better(name: object) -> bool:
    """Whether a column's name is that of an error, a loss or a time."""
    return bool(words_of(name) & LOWER_IS_BETTER)


def is_numeric(values: pd.Series) -> bool:
    """Whether a column holds numbers."""
    return values.dtype.kind in "iuf"


def is_numbering(values: pd.Series) -> bool:
    """Whether values are consecutive whole numbers."""
    return is_numeric(values) and values.diff().iloc[1:].eq(1).all()


def may_name_rows(name: object, cells: pd.Series, is_long: bool) -> bool:
    """Whether a column without a known meaning may name rows, and not hold accuracies."""
    if is_other_measure(name) or cells.nunique() < 3:
        return False
    if not is_numeric(cells):
        return not INDEX_NAME.fullmatch(str(name)) and cells.ne("").all()
    if is_long or ROW_NAME.fullmatch(str(name)):
        return (cells % 1 == 0).all()
    return len(cells) > 9 and is_numbering(cells.sort_values())  # no accuracies: nearly certain


def key_of_word(word: str) -> str:
    """The key that a word in a column's name stands for."""
    return next(iter(chosen_meanings([word.lower()]).values()), "seed").replace("method", "run")


def check_one_unit(rows: pd.DataFrame, file: str) -> None:
    """Raise `InputError` where a method is in shares and others in percent, or one value is."""
    positive = rows["accuracy"][rows["accuracy"] > 0]
    if positive.empty or positive.max() <= 1:
        return
    highest = positive.groupby(rows["method"]).max() if "method" in rows else positive.iloc[:0]
    shares = list(highest.index[highest <= 1])
    if shares or positive.median() <= 1:
        kind = f"{shares[0]} has none above 1" if shares else "most are not above 1"
        raise InputError(
            f"{file} has the value {positive.max():g}, and {kind}: shares and percent are mixed; "
            "write one unit, or say --out-of 100 if all are percent"
        )
