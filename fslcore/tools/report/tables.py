"""Lay per-task accuracies of the declared format out as the one long table, and note every choice.

The format is declared in ``book/running.md``, "The results table". What departs from it is refused, with all problems
of all files at once and what to type instead; only the unit, shares or percent, is read from the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ...errors import InputError, choice, flag, like, number, shown, visible
from . import files, questions
from .files import NAMES, SEPARATORS, File
from .questions import refuse
from .recorded import Recorded

# What makes tasks the same for two methods; all may be left out.
SHARED = {"dataset": str, "sampling": str, "ways": int, "shots": int, "queries": int, "seed": int}
OF_CELL = ("run", "task", "query")  # which training, task and query a row is of
KNOWN = {*SHARED, *NAMES, *OF_CELL, "accuracy"}
OF_WHAT = {"acc", "accuracy", "accuracies", "score", "scores", "test"}
WORDS = {"sampling": "{}", "ways": "{}-way", "shots": "{}-shot", "queries": "{} queries", "seed": "seed {}"}
LEAST = {"ways": 1, "shots": 1, "queries": 1, "seed": 0}
DIGITS = 9  # of a percent; what differs by less differs by rounding
# What a cell that is no number may be, and what mends it.
HINTS = {
    r"\d,\d": " (--decimal , if it has a decimal comma)",
    r"\d\s+\d": " (--separator blanks if blanks separate the cells)",
    "%": ", without a percent sign",
    "": "",
}
ALLOWED = {
    "sampling": ("open", "closed", "unknown"),
    "seed": ("run", "tasks", "unknown"),
    "repeats": ("copies", "tasks", "unknown"),
    "separator": (*SEPARATORS, "unknown"),
    "decimal": (".", ","),
}
MANY = 40  # names that somebody reads
COMPARED = 400  # methods of a setting; the 80,000 pairs take a minute


@dataclass(frozen=True)
class Choices:
    """What the caller says of the files, as for `fslcore.tools.report.Results.read`."""

    sampling: str = "unknown"
    common: bool = False
    drop: Sequence[str] = ()
    runs: bool = False
    methods: Sequence[str] = ()
    seed: str = "unknown"
    repeats: str = "unknown"
    out_of: float | None = None
    separator: str = "unknown"
    decimal: str = "."

    def __post_init__(self) -> None:
        for name, allowed in ALLOWED.items():
            choice(name, getattr(self, name), allowed)
        flag("common", self.common), flag("runs", self.runs)
        if self.out_of is not None:
            number("out_of", self.out_of, above=0)
        for name in ("drop", "methods"):
            names = getattr(self, name)
            listed = isinstance(names, (Sequence, pd.Index, np.ndarray)) and not isinstance(names, (str, bytes))
            if not listed or any(not isinstance(one, str) for one in names):
                raise InputError(f"{name} = {shown(names)}; a list of names is allowed")
            object.__setattr__(self, name, [visible(one) for one in names])  # as they are called in the table


def read(path: str | Path | Sequence[str | Path], *given, **more) -> tuple[pd.DataFrame, list[str], Recorded | None]:
    """The table and the notes of `fslcore.tools.report.Results.read`, which says what the `Choices` mean.

    And of recordings what was recorded.
    """
    how = Choices(*given, **more)
    found, notes, problems = files.frames(path, how.runs, how.separator, how.decimal)
    try:
        table, more_notes = _together(found, how, problems)
    except InputError as error:  # a recording that was stopped has other tasks than the rest
        raise InputError(" ".join([f"{error}", *(f"({note})" for note in notes if "not finished" in note)])) from None
    return table, [*map(visible, notes), *more_notes], found[0].recorded


def normalise(frame: pd.DataFrame, name: str, *given, **more) -> tuple[pd.DataFrame, list[str]]:
    """The table and the notes of `fslcore.tools.report.Results.of`."""
    how = Choices(*given, **more)
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"frame = {shown(frame)}; a DataFrame is allowed")
    if frame.columns.nlevels > 1:
        raise InputError(f"frame has columns of {frame.columns.nlevels} levels; one level, a name each, is allowed")
    if not isinstance(name, str) or not name:
        raise InputError(f"name = {shown(name)}; a name is allowed")
    known = {*map(_plain, frame.columns)}
    levels = [i for i, level in enumerate(frame.index.names) if _plain(level) in KNOWN - known]
    frame = frame.reset_index(level=levels) if levels else frame
    return _together([File(frame, name, Path(name).stem)], how, [])


def _together(given: Sequence[File], how: Choices, problems: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """One table of all files, each laid out by itself, so that messages name its file and row.

    ``problems`` holds those of files that could not be read, and gets what is found here.
    """
    laid = [_Layout(of, how, problems) for of in given]
    several, whole = len(given) > 1, f"the {len(given)} files" if len(given) > 1 else laid[0].name
    for of in laid:
        of.lay_out(several)
    known = set().union(*(of.known for of in laid))
    for option, what in (("drop", "column, method or task"), ("methods", "column or method")):
        if unknown := [one for one in getattr(how, option) if one not in known]:
            near = like(unknown[0], known)
            problems.append(f"{option} = {unknown[0]}; no {what} of {whole} has that name{near}")
    notes = list(dict.fromkeys(note for of in laid for note in of.notes))
    notes += [f"Left out, as told: {_listed(how.drop)}."] * bool(how.drop)
    laid = [of for of in laid if not of.long.empty]
    if not laid:
        refuse(problems)
        raise InputError(f"drop = {_listed(how.drop)}; nothing of {whole} is left")
    problems += _other_columns(laid, how.sampling)
    of_files: dict[str, list[str]] = {}
    for of in laid:
        of.measure()
        for note in of.notes:
            of_files.setdefault(note, []).append(of.name)
    seeds = {seed for of in laid if "seed" in of.long for seed in of.long["seed"]}
    if how.seed == "unknown" and len(seeds) > 1:
        problems.append(
            f"column seed of {whole} has {len(seeds)} values; say what it numbers: --seed run for trainings of a "
            "method, --seed tasks for draws of tasks"
        )
    refuse(problems)
    notes += [note if len(of) == len(laid) else f"Of {_listed(of)}: {note}" for note, of in of_files.items()]
    long = pd.concat([of.long.assign(file=of.name) for of in laid], ignore_index=True)
    if "dataset" not in long:
        long["dataset"] = long["file"].map({of.name: of.holds for of in laid})
        notes += _one_data_set(long) if len(laid) > 1 else []
    if several and "run" not in long:
        notes += _perhaps_runs(of.holds for of in laid if (long["method"] == of.holds).any())
    long["setting"] = _setting(long)
    if long["task"].dtype.kind == "O":
        long["task"] = long["task"].astype(str)
    keys = ["setting", "method", "task", *(["run"] if "run" in long else [])]
    _check_once(long, keys, several)
    long, more = _aligned(long, how.common)
    columns = [*keys, "accuracy", *[c for c in SHARED if c in long]]
    return long[columns].reset_index(drop=True), notes + more


def _check_once(long: pd.DataFrame, keys: list[str], several: bool) -> None:
    """Raise `InputError` if a method, or a run of one, has two rows for a task."""
    if not (twice := long.duplicated(keys, keep=False)).any():
        return
    first = long[twice].iloc[0]
    same = long[(long[keys] == first[keys]).all(axis=1)].head(2)
    rows = " and ".join(f"{r} of {of}" if several else f"{r}" for r, of in zip(same["row"], same["file"]))
    who = first["method"] + (f", run {first['run']}," if "run" in long else "")
    perhaps = same["file"].nunique() > 1 and "run" not in long
    how_else = "; if each file is a training run, say so (--runs)" if perhaps else ""
    task = f"task {first['task']} twice (rows {rows})"
    raise InputError(f"results: {first['setting']}: method {who} has {task}{how_else}")


class _Layout:
    """One file on its way to a row per task of a method: ``frame``, as it was read, becomes ``long``.

    ``known`` are all names in it that can be dropped, ``notes`` the choices of the last step; what is wrong is added to
    the ``problems`` of all files. Control characters in names are escaped here, as all that shows names takes them from
    the table.
    """

    def __init__(self, of: File, how: Choices, problems: list[str]):
        self.name, self.holds, self.declared = visible(of.name), visible(of.holds), of.declared
        self.how, self.problems, self.notes = how, problems, []
        self.frame, self.long = of.frame.rename(columns=_plain).reset_index(drop=True), pd.DataFrame({"method": []})
        self.known = {*(visible(str(column)) for column in of.frame), *self.frame}

    def lay_out(self, several: bool) -> None:
        """From ``frame`` to ``long``, with accuracies as they were written; empty if the file holds nothing wanted."""
        frame, how = self.frame, self.how
        if frame.columns.duplicated().any() or frame.empty:
            twice = [*frame.columns[frame.columns.duplicated()]]
            self.problems.append(f"{self.name} has two columns {twice[0]}" if twice else f"{self.name} has no rows")
            return
        for column in [c for c in frame if c in KNOWN - {"accuracy"} and frame[c].dtype.kind == "O"]:
            frame[column] = self._named(frame[column])
        frame = frame.drop(columns=[c for c in how.drop if c in frame])
        if several and self.known & {*how.drop} and {*frame} <= KNOWN - {"accuracy"}:
            return  # the file's methods are left out, those of others are not
        if "task" in frame:
            self.known |= set(frame["task"].astype(str))
            frame = frame[~frame["task"].astype(str).isin(how.drop)].copy()
        self.frame = self._without_index(self._typed(frame))
        nameless = self._name_method(several)
        if how.methods and "accuracy" not in self.frame:
            other = [c for c in self.frame if c not in KNOWN and c not in how.methods]
            self.frame = self.frame.drop(columns=other)
            self.notes += [f"Not read, as they are not among the methods: {_listed(other)}."] * bool(other)
            if other and {*self.frame} <= KNOWN:
                return
        long = self._long() if "accuracy" in self.frame else self._wide()
        if long is not None:
            self.long = self._wanted(long, nameless).copy()

    def _named(self, values: pd.Series) -> pd.Series:
        """Names without the blanks around them that nobody sees, and with control characters escaped."""
        bare = [(v.strip() or None) if isinstance(v, str) else v for v in values]
        seen = [visible(v) if isinstance(v, str) else v for v in bare]
        if len({*seen}) < len({*bare}):
            escaped = next(new for new, old in zip(seen, bare) if new is not old)
            self.problems.append(
                f"two names in column {values.name} of {self.name} would both be shown as {escaped}; give one of them "
                "another name"
            )
        return pd.Series(seen, dtype=object)

    def _typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns that tell settings and trainings apart with values of their types."""
        if self.how.seed == "run" and "seed" in frame:
            if "run" in frame:
                self.problems.append(
                    f"{self.name} has a column run and a column seed that is to be one; leave one out (--drop seed)"
                )
            frame = frame.drop(columns="run", errors="ignore").rename(columns={"seed": "run"})
        for column in [c for c in frame if c in SHARED]:
            frame[column] = self._shared(frame[column], column)
        if "run" in frame:
            frame["run"] = self._runs(frame["run"])
        return frame

    def _shared(self, values: pd.Series, column: str) -> pd.Series:
        kind = SHARED[column]
        try:
            typed = values.astype(kind)
            if values.isna().any() or (kind is int and (typed != values.astype(float)).any()):
                raise ValueError
        except (ValueError, TypeError):
            self.problems.append(f"column {column} of {self.name} must hold {kind.__name__} values in every row")
            return values
        if kind is int and (low := typed < LEAST[column]).any():
            self.problems.append(
                f"{column} in row {low.argmax() + 1} of {self.name} is {typed[low].iloc[0]}; a whole number of at "
                f"least {LEAST[column]} is allowed"
            )
        return typed

    def _runs(self, values: pd.Series) -> pd.Series:
        """What the trainings are called, as text."""
        if values.isna().any():
            self.problems.append(f"column run of {self.name} is empty in row {values.isna().argmax() + 1}")
        elif values.dtype.kind == "f":
            if (part := values % 1 != 0).any():
                row, found = part.argmax() + 1, values[part].iloc[0]
                self.problems.append(f"run in row {row} of {self.name} is {found}; a name or a whole number is needed")
            else:
                values = values.astype(int)
        return values.astype(str)

    def _without_index(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Without columns that nobody named: row numbers that were saved along, and empty ones."""
        if "accuracy" in frame and {*NAMES} & {*frame}:
            return frame  # where they are not read
        for column in [c for c in frame if questions.INDEX.fullmatch(c)]:
            values = pd.to_numeric(frame[column], errors="coerce")
            counts = ((values.diff() == 1) | (values == values.iloc[0])).all()  # up by one, or from the start again
            if not counts and frame[column].notna().any():
                self.problems.append(
                    f"column '{column}' of {self.name} looks like an index, not a method; name it task, or leave it "
                    f"out (--drop '{column}')"
                )
            self.notes.append(f"Not read: column '{column}', which {'counts the rows' if counts else 'is empty'}.")
            frame = frame.drop(columns=column)
        return frame

    def _name_method(self, several: bool) -> bool:
        """Whether nothing names the method of the only column of accuracies, which then is called after the file."""
        own = [c for c in self.frame if c not in KNOWN - {*NAMES, "accuracy"}]
        rest = [c for c in self.frame if c not in own]
        if len(own) != 1 or ("task" in rest and self.frame.duplicated(rest).any()):
            return False  # other columns distinguish methods, or should
        if own != ["accuracy"] and not (several and questions.words(own[0]) <= OF_WHAT):  # each of several may say acc
            return False
        called = "method 1" if self.holds.lower() in KNOWN else self.holds
        self.frame = self.frame.rename(columns={own[0]: called})
        self.notes.append(f"{self.name} names no method: it is called {called}.")
        return True

    def _long(self) -> pd.DataFrame | None:
        """The rows of a table with a column accuracy; None if it lacks columns."""
        frame, name = self.frame, self.name
        who = ["method"] if "method" in frame else [c for c in NAMES if c in frame]
        missing = [c for c, there in (("method (or backbone, learner)", who), ("task", "task" in frame)) if not there]
        if missing:
            self.problems.append(
                f"{name} has a column accuracy but lacks {' and '.join(missing)}; task, accuracy and method are needed"
            )
            return None
        self._check_named([*who, "task"])
        kept = [c for c in frame if c in SHARED or c in OF_CELL or c == "accuracy"]
        method = frame[who].astype(str).fillna("").agg(" ".join, axis=1)
        self.notes.append(
            f"{name} is read as a long table, a row per task of a method; a method is named by {' and '.join(who)}: "
            f"{_listed(method.unique())}."
        )
        if unread := [c for c in frame if c not in kept and c not in who]:
            self.notes.append(f"Not read: {_listed(unread)}.")
        return frame[kept].assign(method=method, row=frame.index + 1, cell="accuracy")

    def _wide(self) -> pd.DataFrame | None:
        """The rows of a table with a column per method; None if it lacks columns."""
        frame, name = self.frame, self.name
        own = [*(c for c in SHARED if c in frame), *(c for c in OF_CELL if c in frame)]
        methods = [c for c in frame if c not in own]
        if who := [c for c in NAMES if c in frame]:
            lacks = f"a column {who[0]} but lacks accuracy; it needs task and accuracy too"
        elif not methods:
            lacks = "no column of accuracies; it needs one a method, or a column accuracy"
        elif "query" in frame and "task" not in frame:
            lacks = "a column query but lacks task; it needs both"
        else:
            lacks = ""
        if lacks:
            self.problems.append(f"{name} has {lacks}")
        if lacks or not self._check_named(["task"] if "task" in frame else []):
            return None
        _check_number(len(methods), len(frame), name)
        key = [frame[c] for c in own if c in SHARED or c == "run"] or [pd.Series(0, frame.index)]
        self.problems += questions.made(frame[methods], key, "task" in frame, name)
        task = frame["task"] if "task" in frame else frame.groupby(key).cumcount()
        flags = frame.select_dtypes(bool)  # melting would make numbers of them
        wide = frame.assign(**flags.astype(object), task=task, row=frame.index + 1)
        long = wide.melt([*dict.fromkeys([*own, "task", "row"])], methods, "method", "accuracy")
        self.notes.append(f"{name} is read as a wide table, a row per task and a column a method: {_listed(methods)}.")
        if "task" not in frame:
            self.notes.append(
                "No column says which task a row is: the rows are taken as tasks in their order, the same for every "
                "method."
            )
        return long.assign(cell=long["method"])

    def _check_named(self, columns: Sequence[str]) -> bool:
        """Whether every row names its task, and in a long table its method."""
        empty = {c: self.frame.index[self.frame[c].isna()] for c in columns}
        self.problems += [
            f"column {c} of {self.name} is empty in row {at[0] + 1}" for c, at in empty.items() if len(at)
        ]
        return not any(map(len, empty.values()))

    def _wanted(self, long: pd.DataFrame, nameless: bool) -> pd.DataFrame:
        """The rows of the methods that are asked for, and are methods by their names."""
        how = self.how
        self.known |= set(long["method"])
        long = long[~long["method"].isin(how.drop) & (long["method"].isin(how.methods) | (not how.methods))]
        if {*NAMES[1:]}.isdisjoint(self.frame) and not nameless and not how.methods and not self.declared:
            other, said = questions.names(pd.unique(long["method"]), self.name)
            self.problems += said
            long = long[~long["method"].isin(other)]
        self.problems += questions.tasks(long["task"], self.name)
        return long

    def measure(self) -> None:
        """The rows of ``long`` as tasks with accuracies in percent, and with how the tasks were drawn."""
        self.notes = []
        self._sampled()
        self._average_queries()
        self._to_percent()
        again = pd.Series(False, self.long.index) if self.declared else questions.repeated(self.long)
        if again.any() and self.how.repeats == "unknown":
            self.problems.append(questions.of_repeats(again, self.name))
        elif again.any() and self.how.repeats == "copies":
            self.notes.append(f"Left out as copies, as told: {int(again.sum()):,} of {len(again):,} accuracies.")
            self.long = self.long[~again]
        self.long = self.long.dropna(subset="accuracy")

    def _sampled(self) -> None:
        """With a column sampling, as the file has it or as told."""
        long, told = self.long, self.how.sampling
        if "sampling" not in long:
            self.notes.append(f"No column sampling: the sampling is {told}{', as told' * (told != 'unknown')}.")
            long["sampling"] = told
        elif not (known := long["sampling"].isin(["open", "closed"])).all():
            first = long[~known].iloc[0]
            self.problems.append(
                f"sampling in row {first['row']} of {self.name} is {first['sampling']}; open and closed are allowed"
            )
        elif told != "unknown" and (other := long["sampling"] != told).any():
            first = long[other].iloc[0]
            self.problems.append(f"sampling = {told}; row {first['row']} of {self.name} says {first['sampling']}")

    def _average_queries(self) -> None:
        """A row per task where a column says which query a row is; where none does, refuse values of queries."""
        long, name = self.long, self.name
        numbers = pd.to_numeric(long["accuracy"], errors="coerce")
        if "query" not in long:
            there = numbers[long["accuracy"].notna()]
            varies = there.groupby(long["method"]).nunique().max() > 1  # else one may be all right, and one all wrong
            if varies and any(there.isin([0, right]).all() for right in (1, 100)):
                twice = long.duplicated([c for c in (*SHARED, "method", "run", "task") if c in long]).any()
                how = "name the queries in a column query" if twice else "add columns task and query"
                self.problems.append(
                    f"{name} holds only 0 and {there.max():.0f}, as single queries do; the accuracy of each task is "
                    f"needed: average them by task, or {how}, and they are averaged here"
                )
            return
        if numbers.isna().any():
            first = long[numbers.isna()].iloc[0]
            self.problems.append(
                f"{first['cell']} in row {first['row']} of {name} is {first['accuracy']}; a number for each query is "
                "needed"
            )
        keys = [c for c in long if c not in ("accuracy", "query", "row")]
        if (twice := long.duplicated([*keys, "query"])).any():
            first = long[twice].iloc[0]
            self.problems.append(
                f"method {first['method']} has query {first['query']} of task {first['task']} twice "
                f"(row {first['row']} of {name})"
            )
        groups = long.assign(accuracy=numbers).groupby(keys, sort=False)
        self.long = groups.agg(accuracy=("accuracy", "mean"), row=("row", "first")).reset_index()
        sizes = sorted(groups.size().unique())
        shown = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else sizes[0]
        self.notes.append(f"Column query: the accuracy of a task is the mean of its {shown} queries.")

    def _to_percent(self) -> None:
        """With accuracies that are numbers in percent."""
        long, out_of = self.long, self.how.out_of
        numbers = pd.to_numeric(long["accuracy"], errors="coerce").astype(float)
        flags = long["accuracy"].map(lambda v: isinstance(v, (bool, np.bool_)))
        self._refuse_where(flags, "is {}; a number is needed")
        text = numbers.isna() & long["accuracy"].notna()
        cells = long["accuracy"].astype(object).where(text, "").astype(str)
        for sign, mend in HINTS.items():  # the first that fits a cell
            fits = text & cells.str.contains(sign)
            self._refuse_where(fits, f"is {{}}; a number is needed{mend}")
            text &= ~fits
        top = out_of or 100
        allowed = f"0 to {top:g}, as told," if out_of else "0 to 1 (shares) or 0 to 100 (percent)"
        self._refuse_where(numbers.notna() & ~numbers.between(0, top), f"is {{}}; {allowed} is allowed")
        if not self.how.common:
            how = "fill it, or use the tasks that all methods share (--common)"
            self._refuse_where(long["accuracy"].isna(), f"is empty; {how}")
        shares = not (numbers > 1).any()
        if not shares and not out_of:
            at, said = long.loc[numbers.idxmax()], questions.counts(long.assign(accuracy=numbers), self.name)
            self.problems += [] if self.declared else said
            self._refuse_where(
                (numbers > 0) & (numbers < 1) | (numbers == 1) & (not said),
                f"is {{}}, a share, while {at['cell']} in row {at['row']} is {at['accuracy']}, a percentage; one unit "
                "in a file is allowed (divide percentages by 100)",
            )
        if out_of:
            times, note = 100 / out_of, f"Accuracies are read as out of {out_of:g}, as told."
        elif shares:
            times, note = 100, "No accuracy is above 1: they are read as shares and shown in percent."
        else:
            times, note = 1, "Accuracies go beyond 1: they are read as percentages."
        self.notes.append(note)
        if empty := int(numbers.isna().sum()):
            self.notes.append(f"Empty cells left out: {empty}.")
        self.long["accuracy"] = numbers * times

    def _refuse_where(self, bad: pd.Series, what: str) -> None:
        """Name the first of these cells, whose content takes the place of the braces, and how many there are."""
        if bad.any():
            at = self.long[bad].iloc[0]
            more = f" (and {int(bad.sum()) - 1:,} more like it)" if bad.sum() > 1 else ""
            said = what.format(at["accuracy"])
            self.problems.append(f"{at['cell']} in row {at['row']} of {self.name} {said}{more}")


def _other_columns(laid: Sequence[_Layout], sampling: str) -> list[str]:
    """Files whose tasks are distinguished by other columns than those of the rest: nothing would be compared."""
    problems = []
    for column in [c for c in (*SHARED, "run") if c != "sampling" or sampling == "unknown"]:
        has, lacks = ([of.name for of in laid if (column in of.long) is there] for there in (True, False))
        if has and lacks:
            how = ", or say it for all (--sampling)" if column == "sampling" else ""
            problems.append(
                f"{has[0]} has a column {column} and {lacks[0]} has none; give it to every file{how}, or leave it out "
                f"(--drop {column})"
            )
    return problems


def _one_data_set(long: pd.DataFrame) -> list[str]:
    """Files that name no data set are of one, in place, unless a method comes again; and a note that says so."""
    of_run = "run" in long
    again = long.groupby(members(long), sort=False)["file"].nunique() > 1
    if again.any():
        each = "their names tell the data sets" if of_run else "each file is a data set of its own"
        return [f"No file names its data set, and {again.idxmax()}{',' * of_run} is in several: {each}."]
    long["dataset"] = f"{long['file'].nunique()} files"
    what = "run of a method" if of_run else "method"
    return [f"No file names its data set, and no {what} is in two: they are one data set."]


def members(table: pd.DataFrame) -> pd.Series:
    """Whose tasks each row is of: the method's, or where it was trained several times, that run's of the method."""
    return table["method"] + ", run " + table["run"] if "run" in table else table["method"]


def _perhaps_runs(called: Iterable[str]) -> list[str]:
    """A note on methods that are called after files whose names differ in a number alone."""
    of: dict[str, list[str]] = {}
    for name in called:
        if found := files.numbered(name):
            of.setdefault(found[0], []).append(name)
    alike = [name for names in of.values() if len(names) > 1 for name in names]
    how = "if files are training runs of one method, say so (--runs)"
    return [f"{_listed(alike)} are methods of their own here; {how}."] if alike else []


def _plain(column) -> str:
    """A column's name without blanks around it, escaped; known ones in lower case, or Task would be a method."""
    text = visible(str(column).strip())
    return text.lower() if text.lower() in KNOWN else text


def _check_number(methods: int, tasks: int, name: str) -> None:
    if methods > COMPARED:
        raise InputError(
            f"results: {name} has {methods:,} methods and {tasks:,} tasks; up to {COMPARED} methods are "
            "compared at once (leave some out, or transpose it: a row per task, a column a method)"
        )


def _listed(names) -> str:
    """The names in one line; of very many the first ones."""
    names = [*map(str, names)]
    more = f" and {len(names) - MANY // 2} more" if len(names) > MANY else ""
    return ", ".join(names[: MANY // 2] if more else names) + more


def _setting(long: pd.DataFrame) -> pd.Series:
    """The data set, and whatever else tells the tasks of one row from those of another."""
    text = long["dataset"]
    for column, word in WORDS.items():
        if column in long and long[column].nunique() > 1:
            text = text + ", " + long[column].map(word.format)
    return text


def _aligned(long: pd.DataFrame, common: bool) -> tuple[pd.DataFrame, list[str]]:
    """The table with the same tasks for every method of a setting."""
    notes, parts = [], []
    everybody = long["method"].unique().astype(str)
    for setting, part in long.groupby("setting"):
        _check_number(part["method"].nunique(), part["task"].nunique(), setting)
        who = members(part)
        count = part.groupby("task")["method"].transform("size")
        full = part[count == who.nunique()]
        tasks, kept = part["task"].nunique(), full["task"].nunique()
        if kept < tasks and not common:
            has = part.groupby(who)["task"].nunique()
            worst = has.idxmin()
            lost = set(part["task"]) - set(part.loc[who == worst, "task"])
            every = "every run of every method" if "run" in part else "every method"
            first = part["task"][part["task"].isin(lost)].iloc[0]
            raise InputError(
                f"results: {setting}: method {worst} lacks {len(lost)} of {tasks} tasks (the first: "
                f"{first}); bring the same tasks for {every}, or use those that all share (--common)"
            )
        if kept < 2:
            raise InputError(f"results: {setting}: {kept} task{'s' * (kept != 1)} for every method; it needs 2 or more")
        if kept < tasks:
            notes.append(f"{setting}: {tasks - kept} of {tasks} tasks are left out, since not every method has them.")
        if absent := everybody[~np.isin(everybody, part["method"].unique())].tolist():
            notes.append(f"{setting}: no results of {_listed(absent)}.")
        if "run" in part:
            runs = part.groupby("method")["run"].nunique()
            if alone := [*runs.index[runs == 1]]:
                notes.append(f"{setting}: one run of {_listed(alone)}, so nothing can be said of new runs of it.")
        if part["method"].nunique() == 1:
            notes.append(f"{setting}: one method only, so no comparison is possible.")
        parts.append(full)
    if len(parts) > 1:
        notes.append(
            "Methods are compared where data set, sampling, ways, shots, queries and seed are the same: "
            f"{len(parts)} settings, each on its own."
        )
    return pd.concat(parts), notes
