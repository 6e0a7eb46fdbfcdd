"""Lay per-task accuracies of the declared format out as the one long table, and note every choice.

The format is declared in ``book/running.md``, "The results table". What departs from it is refused, with all problems
of all files at once and what to type instead; only the unit, shares or percent, is read from the numbers.
"""

from __future__ import annotations

import os
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
    several = isinstance(path, Sequence) and not isinstance(path, (str, bytes)) and len(path)
    for one in path if several else [path]:
        if not isinstance(one, (str, os.PathLike)) or not str(one):
            raise InputError(f"results: path = {shown(one)}; the name of a file or folder is allowed")
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

    ``problems`` holds those of files that could not be read, and gets what is found here. Control characters in names
    are escaped: all that is printed or written takes them from here.
    """
    given = [
        of._replace(frame=_visible(of.frame, of.name, problems), name=visible(of.name), holds=visible(of.holds))
        for of in given
    ]
    several, names = len(given) > 1, [of.name for of in given]
    whole = f"the {len(given)} files" if several else names[0]
    laid = [_laid_out(of, how, several, problems) for of in given]
    known = set().union(*(of for *_, of in laid))
    for option, what in (("drop", "column, method or task"), ("methods", "column or method")):
        if unknown := [one for one in getattr(how, option) if one not in known]:
            near = like(unknown[0], known)
            problems.append(f"{option} = {unknown[0]}; no {what} of {whole} has that name{near}")
    longs = {name: long for name, (long, *_) in zip(names, laid) if not long.empty}
    if not longs:
        refuse(problems)
        raise InputError(f"drop = {_listed(how.drop)}; nothing of {whole} is left")
    problems += _other_columns(longs, how.sampling)
    notes = list(dict.fromkeys(note for _, more, _ in laid for note in more))
    notes += [f"Left out, as told: {_listed(how.drop)}."] * bool(how.drop)
    of_files: dict[str, list[str]] = {}
    for of in given:
        if of.name in longs:
            longs[of.name], more = _in_percent(longs[of.name], of, how, problems)
            for note in more:
                of_files.setdefault(note, []).append(of.name)
    seeds = {seed for long in longs.values() if "seed" in long for seed in long["seed"]}
    if how.seed == "unknown" and len(seeds) > 1:
        problems.append(
            f"column seed of {whole} has {len(seeds)} values; say what it numbers: --seed run for trainings of a "
            "method, --seed tasks for draws of tasks"
        )
    refuse(problems)
    notes += [note if len(of) == len(longs) else f"Of {_listed(of)}: {note}" for note, of in of_files.items()]
    long = pd.concat([of.assign(file=name) for name, of in longs.items()], ignore_index=True)
    if "dataset" not in long:
        long["dataset"] = long["file"].map({of.name: of.holds for of in given})
        notes += _one_data_set(long) if len(longs) > 1 else []
    if several and "run" not in long:
        methods = set(long["method"])
        notes += _perhaps_runs(of.holds for of in given if of.holds in methods)
    long["setting"] = _setting(long)
    if long["task"].dtype == object:
        long["task"] = long["task"].astype(str)
    keys = ["setting", "method", "task", *(["run"] if "run" in long else [])]
    twice = long.duplicated(keys, keep=False)
    if twice.any():
        first = long[twice].iloc[0]
        same = long[(long[keys] == first[keys]).all(axis=1)].head(2)
        rows = " and ".join(f"{r} of {of}" if several else f"{r}" for r, of in zip(same["row"], same["file"]))
        who = first["method"] + (f", run {first['run']}," if "run" in long else "")
        perhaps = same["file"].nunique() > 1 and "run" not in long
        how_else = "; if each file is a training run, say so (--runs)" if perhaps else ""
        task = f"task {first['task']} twice (rows {rows})"
        raise InputError(f"results: {first['setting']}: method {who} has {task}{how_else}")
    long, more = _aligned(long, how.common)
    columns = [*keys, "accuracy", *[c for c in SHARED if c in long]]
    return long[columns].reset_index(drop=True), notes + more


def _laid_out(of: File, how: Choices, several: bool, problems: list[str]) -> tuple[pd.DataFrame, list[str], set[str]]:
    """A row per task of a method, the notes, and all names that can be dropped; accuracies as they were written.

    What is wrong is added to ``problems``.
    """
    frame, name, nothing = of.frame, of.name, pd.DataFrame({"method": []})
    before = [*map(str, frame.columns)]
    frame = frame.rename(columns=_plain).reset_index(drop=True)
    known = {*before, *frame}
    if frame.columns.duplicated().any() or frame.empty:
        twice = [*frame.columns[frame.columns.duplicated()]]
        problems.append(f"{name} has two columns {twice[0]}" if twice else f"{name} has no rows")
        return nothing, [], known
    for column in [c for c in frame if c in KNOWN - {"accuracy"} and frame[c].dtype == object]:
        bare = [(v.strip() or None) if isinstance(v, str) else v for v in frame[column]]  # blanks that nobody sees
        frame[column] = pd.Series(bare, dtype=object)
    frame = frame.drop(columns=[c for c in how.drop if c in frame])
    if several and known & {*how.drop} and {*frame} <= KNOWN - {"accuracy"}:
        return nothing, [], known  # the file's methods are left out, those of others are not
    if "task" in frame:
        known |= set(frame["task"].astype(str))
        frame = frame[~frame["task"].astype(str).isin(how.drop)].copy()
    if how.seed == "run" and "seed" in frame:
        if "run" in frame:
            problems.append(f"{name} has a column run and a column seed that is to be one; leave one out (--drop seed)")
        frame = frame.drop(columns="run", errors="ignore").rename(columns={"seed": "run"})
    for column in [c for c in frame if c in SHARED]:
        frame[column] = _typed(frame[column], column, name, problems)
    if "run" in frame:
        frame["run"] = _runs(frame["run"], name, problems)
    frame, notes = _without_index(frame, name, problems)
    if nameless := _nameless(frame, several):
        called = "method 1" if of.holds.lower() in KNOWN else of.holds
        frame = frame.rename(columns={nameless: called})
        notes.append(f"{name} names no method: it is called {called}.")
    if how.methods and "accuracy" not in frame:
        other = [c for c in frame if c not in KNOWN and c not in how.methods]
        frame = frame.drop(columns=other)
        notes += [f"Not read, as they are not among the methods: {_listed(other)}."] * bool(other)
        if other and {*frame} <= KNOWN:
            return nothing, notes, known
    made = (_long if "accuracy" in frame else _wide)(frame, name, problems)
    if made is None:
        return nothing, notes, known
    long, more = made
    known |= set(long["method"])
    wanted = ~long["method"].isin(how.drop) & (long["method"].isin(how.methods) | (not how.methods))
    long = long[wanted]
    asked = {*NAMES[1:]}.isdisjoint(frame) and not nameless and not how.methods and not of.declared
    if asked:
        other, said = questions.names(pd.unique(long["method"]), name)
        problems += said
        long = long[~long["method"].isin(other)]
    problems += questions.tasks(long["task"], name)
    return long.copy(), notes + more, known


def _visible(frame: pd.DataFrame, name: str, problems: list[str]) -> pd.DataFrame:
    """The frame with control characters escaped, in the names of columns and in the names that cells hold."""

    def plain(value: object) -> object:
        bare = value.strip() if isinstance(value, str) else ""  # of blanks around a name nothing is left, as below
        return visible(bare) if visible(bare) != bare else value

    frame = frame.rename(columns=plain)
    for column in [c for c in frame if str(c).strip().lower() in KNOWN and frame[c].ndim == 1]:
        known = frame[column].unique()
        if all(plain(value) is value for value in known):
            continue
        made = frame[column].astype(object).map(plain)
        if made.nunique() < frame[column].nunique():
            problems.append(
                f"two names in column {column} of {name} would both be shown as "
                f"{made[made != frame[column]].iloc[0]}; give one of them another name"
            )
        frame = frame.assign(**{str(column): made})
    return frame


def _nameless(frame: pd.DataFrame, several: bool) -> str | None:
    """The only column of accuracies, where nothing names its method; each of several files may call it acc, say."""
    own = [c for c in frame if c not in KNOWN - {*NAMES, "accuracy"}]
    if len(own) != 1 or ("task" in frame and frame.duplicated([c for c in frame if c not in own]).any()):
        return None  # other columns distinguish methods, or should
    return own[0] if own == ["accuracy"] or (several and questions.words(own[0]) <= OF_WHAT) else None


def _in_percent(long: pd.DataFrame, of: File, how: Choices, problems: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """The rows of one file as tasks, in percent, with how they were drawn; and notes."""
    told = "" if how.sampling == "unknown" else ", as told"
    notes = [] if "sampling" in long else [f"No column sampling: the sampling is {how.sampling}{told}."]
    long["sampling"] = _sampling(long, how.sampling, of.name, problems)
    long, more = _tasks_of_queries(long, of.name, problems)
    more += _to_percent(long, of, how, problems)
    if not of.declared:
        again = questions.repeated(long)
        if again.any() and how.repeats == "unknown":
            problems.append(questions.of_repeats(again, of.name))
        elif again.any() and how.repeats == "copies":
            more.append(f"Left out as copies, as told: {int(again.sum()):,} of {len(again):,} accuracies.")
            long = long[~again]
    return long.dropna(subset="accuracy"), notes + more


def _other_columns(longs: dict[str, pd.DataFrame], sampling: str) -> list[str]:
    """Files whose tasks are distinguished by other columns than those of the rest: nothing would be compared."""
    problems = []
    for column in [c for c in (*SHARED, "run") if c != "sampling" or sampling == "unknown"]:
        has = {name: column in long for name, long in longs.items()}
        if any(has.values()) and not all(has.values()):
            first, lacks = (next(n for n, there in has.items() if there == wanted) for wanted in (True, False))
            how = ", or say it for all (--sampling)" if column == "sampling" else ""
            problems.append(
                f"{first} has a column {column} and {lacks} has none; give it to every file{how}, or leave it out "
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


def _runs(values: pd.Series, name: str, problems: list[str]) -> pd.Series:
    """What the trainings are called, as text."""
    if values.isna().any():
        problems.append(f"column run of {name} is empty in row {values.isna().argmax() + 1}")
    elif values.dtype.kind == "f":
        if (part := values % 1 != 0).any():
            found = values[part].iloc[0]
            problems.append(f"run in row {part.argmax() + 1} of {name} is {found}; a name or a whole number is needed")
        else:
            values = values.astype(int)
    return values.astype(str)


def _plain(column) -> str:
    """A column's name without blanks around it; known ones in lower case, or Task would be a method."""
    text = str(column).strip()
    return text.lower() if text.lower() in KNOWN else text


def _without_index(frame: pd.DataFrame, name: str, problems: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Without columns that nobody named: row numbers that were saved along, and empty ones."""
    if "accuracy" in frame and {*NAMES} & {*frame}:
        return frame, []  # where they are not read
    notes = []
    for column in [c for c in frame if questions.INDEX.fullmatch(c)]:
        values = pd.to_numeric(frame[column], errors="coerce")
        counts = ((values.diff() == 1) | (values == values.iloc[0])).all()  # one after another, perhaps anew
        if not counts and frame[column].notna().any():
            problems.append(
                f"column '{column}' of {name} looks like an index, not a method; name it task, or leave it out "
                f"(--drop '{column}')"
            )
        notes.append(f"Not read: column '{column}', which {'counts the rows' if counts else 'is empty'}.")
        frame = frame.drop(columns=column)
    return frame, notes


def _tasks_of_queries(long: pd.DataFrame, name: str, problems: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """A row per task where a column says which query a row is; values of queries that pass for tasks are refused."""
    numbers = pd.to_numeric(long["accuracy"], errors="coerce")
    there = numbers[long["accuracy"].notna()]
    varies = there.groupby(long["method"]).nunique().max() > 1  # else one may be all right, and one all wrong
    single = varies and any(there.isin([0, right]).all() for right in (1, 100))
    if "query" not in long:
        if single:
            twice = long.duplicated([c for c in (*SHARED, "method", "run", "task") if c in long]).any()
            how = "name the queries in a column query" if twice else "add columns task and query"
            right = f"{there.max():.0f}"
            problems.append(
                f"{name} holds only 0 and {right}, as single queries do; the accuracy of each task is needed: average "
                f"them by task, or {how}, and they are averaged here"
            )
        return long, []
    if not numbers.notna().all():
        first = long[numbers.isna()].iloc[0]
        problems.append(
            f"{first['cell']} in row {first['row']} of {name} is {first['accuracy']}; a number for each query is needed"
        )
    keys = [c for c in long if c not in ("accuracy", "query", "row")]
    twice = long.duplicated([*keys, "query"])
    if twice.any():
        first = long[twice].iloc[0]
        problems.append(
            f"method {first['method']} has query {first['query']} of task {first['task']} twice "
            f"(row {first['row']} of {name})"
        )
    groups = long.assign(accuracy=numbers).groupby(keys, sort=False)
    out = groups.agg(accuracy=("accuracy", "mean"), row=("row", "first"), size=("row", "size")).reset_index()
    sizes = sorted(out.pop("size").unique())
    shown = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else sizes[0]
    return out, [f"Column query: the accuracy of a task is the mean of its {shown} queries."]


def _typed(values: pd.Series, column: str, name: str, problems: list[str]) -> pd.Series:
    kind = SHARED[column]
    try:
        typed = values.astype(kind)
        if values.isna().any() or (kind is int and (typed != values.astype(float)).any()):
            raise ValueError
    except (ValueError, TypeError):
        problems.append(f"column {column} of {name} must hold {kind.__name__} values in every row")
        return values
    if kind is int and (low := typed < LEAST[column]).any():
        problems.append(
            f"{column} in row {low.argmax() + 1} of {name} is {typed[low].iloc[0]}; a whole number of at least "
            f"{LEAST[column]} is allowed"
        )
    return typed


def _long(frame: pd.DataFrame, name: str, problems: list[str]) -> tuple[pd.DataFrame, list[str]] | None:
    who = ["method"] if "method" in frame else [c for c in NAMES if c in frame]
    missing = [c for c, there in (("method (or backbone, learner)", who), ("task", "task" in frame)) if not there]
    if missing:
        problems.append(
            f"{name} has a column accuracy but lacks {' and '.join(missing)}; task, accuracy and method are needed"
        )
        return None
    for column in [*who, "task"]:
        if frame[column].isna().any():
            problems.append(f"column {column} of {name} is empty in row {frame.index[frame[column].isna()][0] + 1}")
    kept = [c for c in frame if c in SHARED or c in OF_CELL or c == "accuracy"]
    long = frame[kept].assign(method=frame[who].astype(str).fillna("").agg(" ".join, axis=1), row=frame.index + 1)
    notes = [
        f"{name} is read as a long table, a row per task of a method; a method is named by "
        f"{' and '.join(who)}: {_listed(long['method'].unique())}."
    ]
    unread = [c for c in frame if c not in kept and c not in who]
    return long.assign(cell="accuracy"), notes + [f"Not read: {_listed(unread)}."] * bool(unread)


def _wide(frame: pd.DataFrame, name: str, problems: list[str]) -> tuple[pd.DataFrame, list[str]] | None:
    own = [*(c for c in SHARED if c in frame), *(c for c in OF_CELL if c in frame)]
    methods = [c for c in frame if c not in own]
    before = len(problems)
    if who := [c for c in NAMES if c in frame]:
        problems.append(f"{name} has a column {who[0]} but lacks accuracy; it needs task and accuracy too")
    elif not methods:
        problems.append(f"{name} has no column of accuracies; it needs one a method, or a column accuracy")
    elif "query" in frame and "task" not in frame:
        problems.append(f"{name} has a column query but lacks task; it needs both")
    elif "task" in frame and frame["task"].isna().any():
        problems.append(f"column task of {name} is empty in row {frame.index[frame['task'].isna()][0] + 1}")
    if len(problems) > before:
        return None
    _check_number(len(methods), len(frame), name)
    key = [frame[c] for c in own if c in SHARED or c == "run"] or [pd.Series(0, frame.index)]
    problems += questions.made(frame[methods], key, "task" in frame, name)
    task = frame["task"] if "task" in frame else frame.groupby(key).cumcount()
    flags = frame.select_dtypes(bool)  # melting would make numbers of them
    wide = frame.assign(**flags.astype(object), task=task, row=frame.index + 1)
    long = wide.melt([*dict.fromkeys([*own, "task", "row"])], methods, "method", "accuracy")
    notes = [f"{name} is read as a wide table, a row per task and a column a method: {_listed(methods)}."]
    if "task" not in frame:
        notes.append(
            "No column says which task a row is: the rows are taken as tasks in their order, the same for every method."
        )
    return long.assign(cell=long["method"]), notes


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


def _sampling(long: pd.DataFrame, told: str, name: str, problems: list[str]) -> pd.Series:
    if "sampling" not in long:
        return pd.Series(told, long.index)
    bad = ~long["sampling"].isin(["open", "closed"])
    other = long["sampling"] != told
    if bad.any():
        first = long[bad].iloc[0]
        problems.append(f"sampling in row {first['row']} of {name} is {first['sampling']}; open and closed are allowed")
    elif told != "unknown" and other.any():
        first = long[other].iloc[0]
        problems.append(f"sampling = {told}; row {first['row']} of {name} says {first['sampling']}")
    return long["sampling"]


def _setting(long: pd.DataFrame) -> pd.Series:
    """The data set, and whatever else tells the tasks of one row from those of another."""
    text = long["dataset"]
    for column, word in WORDS.items():
        if column in long and long[column].nunique() > 1:
            text = text + ", " + long[column].map(word.format)
    return text


def _to_percent(long: pd.DataFrame, of: File, how: Choices, problems: list[str]) -> list[str]:
    """Turn the accuracies into numbers in percent, in place; what was read, as notes."""
    name = of.name
    numbers = pd.to_numeric(long["accuracy"], errors="coerce").astype(float)

    def refuse_where(bad: pd.Series, what: str) -> None:
        if bad.any():
            at = long[bad].iloc[0]
            more = f" (and {int(bad.sum()) - 1:,} more like it)" if bad.sum() > 1 else ""
            problems.append(f"{at['cell']} in row {at['row']} of {name} {what.format(at['accuracy'])}{more}")

    flags = long["accuracy"].map(lambda v: isinstance(v, (bool, np.bool_)))
    refuse_where(flags, "is {}; a number is needed")
    text = numbers.isna() & long["accuracy"].notna()
    cells = long["accuracy"].astype(object).where(text, "").astype(str)
    for sign, mend in HINTS.items():  # the first that fits a cell
        fits = text & cells.str.contains(sign)
        refuse_where(fits, f"is {{}}; a number is needed{mend}")
        text &= ~fits
    top = how.out_of or 100
    allowed = f"0 to {top:g}, as told," if how.out_of else "0 to 1 (shares) or 0 to 100 (percent)"
    refuse_where(numbers.notna() & ~numbers.between(0, top), f"is {{}}; {allowed} is allowed")
    if not how.common:
        refuse_where(long["accuracy"].isna(), "is empty; fill it, or use the tasks that all methods share (--common)")
    shares = not (numbers > 1).any()
    if not shares and not how.out_of:
        at, said = long.loc[numbers.idxmax()], questions.counts(long.assign(accuracy=numbers), name)
        problems += [] if of.declared else said
        refuse_where(
            (numbers > 0) & (numbers < 1) | (numbers == 1) & (not said),
            f"is {{}}, a share, while {at['cell']} in row {at['row']} is {at['accuracy']}, a percentage; one unit in a "
            "file is allowed (divide percentages by 100)",
        )
    long["accuracy"] = numbers * (100 / how.out_of if how.out_of else 100 if shares else 1)
    notes = [
        f"Accuracies are read as out of {how.out_of:g}, as told."
        if how.out_of
        else "No accuracy is above 1: they are read as shares and shown in percent."
        if shares
        else "Accuracies go beyond 1: they are read as percentages."
    ]
    empty = int(numbers.isna().sum())
    return notes + [f"Empty cells left out: {empty}."] * bool(empty)


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
