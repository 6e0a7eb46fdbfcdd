"""Read anybody's per-task accuracies and lay them out as the one long table, noting every choice."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ...errors import InputError, like, visible
from . import files
from .arguments import MANY, READING, checked, members

__all__ = ["normalise", "read"]

# What makes tasks the same for two methods; all may be left out.
SHARED = {"dataset": str, "sampling": str, "ways": int, "shots": int, "queries": int, "seed": int}
NAMES = ("method", "backbone", "learner")
OF_CELL = ("run", "task", "query")  # which training, task and query a row is of
KNOWN = {*SHARED, *NAMES, *OF_CELL, "accuracy"}
# What stands at the edge of a table and is no method and no task.
SUMMARIES = {"mean", "average", "avg", "total", "sum", "std", "sd", "stdev", "stddev", "stderr", "sem", "ci", "ci95"}
OF_WHAT = {"acc", "accuracy", "accuracies", "score", "scores", "test", "task", "tasks", "of", "over", "all", "overall"}
ALL = {"all", "overall"}  # as tasks; a method may well be called so
# What runs write along, that is no accuracy; and what is none where it holds whole numbers, for SHOT is a method.
MEASURED = {"loss", "losses", "err", "error", "errors", "int", "interval", "time", "runtime", "timestamp", "duration"}
MEASURED |= {"elapsed", "sec", "seconds", "minutes", "epoch", "epochs", "nll", "ece", "auc", "auroc"}
COUNTED = {"step", "steps", "iter", "iters", "iteration", "iterations", "episode", "episodes", "trial", "fold", "batch"}
COUNTED |= {"way", "ways", "shot", "shots", "query", "queries", "id", "idx", "row"}
LEVELS = {"90", "95", "99"}
OF_RUN = {"train", "training", "val", "valid", "validation", "eval", "inference", "meta", "wall", "relative", "global"}
OF_RUN |= {"s", "ms", "n", "k", "num", "number", "rate", "conf", "confidence", "se"}
BESIDE = re.compile(
    r"(.+?)(?:__(?:min|max|step)|[ _.(-]*(?:±|\+/-)[\W\d]*(?:std|sd|sem|se|ci)?[\W\d]*|[ _.-]+"
    r"(?:std|stdev|stddev|stderr|sem|se|ci95|ci|conf[ _.-]*int|err|error|loss|time(?:[ _.-]m?s)?|sec|seconds|epoch))",
    re.IGNORECASE,
)
DIFFERENCES = {"diff", "difference", "delta", "gap", "gain"}
LEAST = {"ways": 1, "shots": 1, "queries": 1, "seed": 0}
RARE = 1e-5  # what comes less often by chance is taken for made
INDEX = re.compile(r"|Unnamed: \d+|index|level_\d+|nan|None")
DIGITS = 9  # of a percent; what differs by less differs by rounding
COMPARED = 400  # methods of a setting; the 80,000 pairs take a minute


@checked
def read(
    path: str | Path | Sequence[str | Path],
    sampling: str = "unknown",
    common: bool = False,
    drop: Sequence[str] = (),
    runs: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Read per-task accuracies from a file in either of two formats, or from several files together.

    *Long*: a row a task of a method, with columns ``accuracy``, ``task`` and ``method`` (or, in its
    place, ``backbone``, ``learner`` or both). *Wide*: a row a task and a column a method; a column
    ``task`` is optional. Both may have the columns ``dataset``, ``sampling``, ``ways``, ``shots``,
    ``queries`` and ``seed``, and ``run``, where methods were trained several times. A file with a
    column ``accuracy`` is long; one that names no method has one, called after the file.

    Several files are one table: each may have its own format and unit. Where none names its data set, they are of
    one, a method or some in each; or of one each, if methods come again.

    Parameters
    ----------
    path : path, or sequence of them
        The file: text, Parquet or an array (`fslcore.tools.report.frame`); of several, all or none a recording.
    sampling, common, drop
        As for `normalise`.
    runs : bool
        Each file is a training run, of the number that its name ends with: protonet-seed0.csv is run 0 of protonet,
        where it does not name its methods itself.

    Returns
    -------
    table, notes
        As for `normalise`.

    Raises
    ------
    InputError
        No such file, another ending, unreadable, two columns of one name; files of other columns than the rest;
        with ``runs`` one file alone, or one with a column run; and as for `normalise`.
    """
    frames, notes = files.frames(path, runs)
    try:
        table, more = _together(frames, sampling, common, drop)
    except InputError as error:  # a recording that was stopped has other tasks than the rest
        raise InputError(" ".join([f"{error}", *(f"({note})" for note in notes if "not finished" in note)])) from None
    return table, [*map(visible, notes), *more]


@checked
def normalise(
    frame: pd.DataFrame, name: str, sampling: str = "unknown", common: bool = False, drop: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Check a table of either format (see `read`) and lay it out as the one long table.

    Parameters
    ----------
    frame : DataFrame
        Accuracies as shares (no value above 1) or in percent. Levels of its index with a name of a column that is
        read, method and task say, are columns; what else the index holds is not read.
    name : str
        What errors and notes call it; also the data set's name where none is given.
    sampling : str
        How the tasks were drawn, where no column says it: 'open', 'closed' or 'unknown'.
    common : bool
        Where methods have different tasks or empty cells, use the tasks that all share instead of
        raising.
    drop : sequence of str
        Columns, methods and tasks to leave out, such as a mean that was written along.

    Returns
    -------
    table : DataFrame
        setting (text; settings are compared each on its own), method, task, accuracy (percent),
        dataset, sampling, and those of run, ways, shots, queries and seed that the input has.
    notes : list of str
        Every choice that was taken, a sentence each.

    Raises
    ------
    InputError
        A column missing; a value of the wrong type, missing, outside its range or in another unit
        than the rest; nothing but 0 and 1, which are queries and no tasks; a mean or another summary among methods
        or tasks; a loss, a time or a count among methods; a task given twice; methods or runs with different tasks;
        fewer than 2 tasks. The message names column and row (1 is the first below the header), or method and task.
    """
    known = {*map(_plain, frame.columns)}
    levels = [i for i, level in enumerate(frame.index.names) if _plain(level) in KNOWN - known]
    frame = frame.reset_index(level=levels) if levels else frame
    return _together([(frame, name, Path(name).stem)], sampling, common, drop)


def _together(
    frames: list[tuple[pd.DataFrame, str, str]], sampling: str, common: bool, drop: Sequence[str]
) -> tuple[pd.DataFrame, list[str]]:
    """One table of all frames, each with a name for messages and one for what it holds.

    Each is laid out by itself, so that messages name its file and row. Control characters in names are escaped: all
    that is printed or written takes them from here.
    """
    frames = [(_visible(frame, name), visible(name), visible(holds)) for frame, name, holds in frames]
    drop = [*map(visible, drop)]
    several, names = len(frames) > 1, [name for _, name, _ in frames]
    whole = f"the {len(frames)} files" if several else names[0]
    laid = [_laid_out(frame, name, holds, several, drop) for frame, name, holds in frames]
    known = set().union(*(of for *_, of in laid))
    if unknown := [one for one in drop if one not in known]:
        near = like(unknown[0], known)
        raise InputError(f"drop = {unknown[0]}; no column, method or task of {whole} has that name{near}")
    longs = {name: long for name, (long, *_) in zip(names, laid) if not long.empty}
    if not longs:
        raise InputError(f"drop = {_listed(drop)}; nothing of {whole} is left")
    if several:
        _refuse_other_columns(longs, sampling)
    notes = list(dict.fromkeys(note for _, more, _ in laid for note in more))
    notes += [f"Left out, as told: {_listed(drop)}."] * bool(drop)
    of_files: dict[str, list[str]] = {}
    for name, long in longs.items():
        longs[name], more = _in_percent(long, name, sampling, common)
        for note in more:
            of_files.setdefault(note, []).append(name)
    notes += [note if len(of) == len(longs) else f"Of {_listed(of)}: {note}" for note, of in of_files.items()]
    long = pd.concat([of.assign(file=name) for name, of in longs.items()], ignore_index=True)
    if "dataset" not in long:
        long["dataset"] = long["file"].map({name: holds for _, name, holds in frames})
        notes += _one_data_set(long) if len(longs) > 1 else []
    if several and "run" not in long:
        methods = set(long["method"])
        notes += _perhaps_runs(holds for *_, holds in frames if holds in methods)
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
        how = "; if each file is a training run, say so (--runs)" if perhaps else ""
        raise InputError(f"results: {first['setting']}: method {who} has task {first['task']} twice (rows {rows}){how}")
    long, more = _aligned(long, common)
    columns = [*keys, "accuracy", *[c for c in SHARED if c in long]]
    return long[columns].reset_index(drop=True), notes + more


def _laid_out(
    frame: pd.DataFrame, name: str, holds: str, several: bool, drop: Sequence[str]
) -> tuple[pd.DataFrame, list[str], set[str]]:
    """A row a task of a method, the notes, and all names that can be dropped; accuracies as they were written."""
    before = [*map(str, frame.columns)]
    frame = frame.rename(columns=_plain)
    if frame.columns.duplicated().any():
        raise InputError(f"results: {name} has two columns {frame.columns[frame.columns.duplicated()][0]}")
    if frame.empty:
        raise InputError(f"results: {name} has no rows")
    frame = frame.reset_index(drop=True)
    for column in KNOWN - {"accuracy"} & set(frame):
        if frame[column].dtype == object:  # spreadsheets keep blanks that nobody sees
            bare = [(v.strip() or None) if isinstance(v, str) else v for v in frame[column]]
            frame[column] = pd.Series(bare, dtype=object)
    for column in SHARED.keys() & set(frame):
        frame[column] = _typed(frame[column], column, name)
    known = {*before, *frame}
    frame = frame.drop(columns=[c for c in drop if c in frame])
    if several and known & {*drop} and {*frame} <= KNOWN - {"accuracy"}:
        return pd.DataFrame({"method": []}), [], known  # the file's methods are left out, those of others are not
    if "task" in frame:
        known |= set(frame["task"].astype(str))
        frame = frame[~frame["task"].astype(str).isin(drop)].copy()
    if "run" in frame:
        frame["run"] = _runs(frame["run"], name)
    frame, notes = _without_index(frame, name)
    if nameless := _nameless(frame, several):
        called = "method 1" if holds.lower() in KNOWN else holds
        frame = frame.rename(columns={nameless: called})
        notes.append(f"{name} names no method: it is called {called}.")
    long, more = (_long if "accuracy" in frame else _wide)(frame, name)
    known |= set(long["method"])
    return long[~long["method"].isin(drop)].copy(), notes + more, known


def _visible(frame: pd.DataFrame, name: str) -> pd.DataFrame:
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
            raise InputError(
                f"results: two names in column {column} of {name} would both be shown as "
                f"{made[made != frame[column]].iloc[0]}; give one of them another name"
            )
        frame = frame.assign(**{str(column): made})
    return frame


def _nameless(frame: pd.DataFrame, several: bool) -> str | None:
    """The only column of accuracies, where nothing names its method; each of several files may call it acc, say."""
    own = [c for c in frame if c not in KNOWN - {*NAMES, "accuracy"}]
    if len(own) > 1 or ("task" in frame and frame.duplicated([c for c in frame if c not in own]).any()):
        return None  # other columns tell methods apart, or should
    unnamed = len(own) == 1 and (
        own == ["accuracy"] or (several and (own == ["method 1"] or _words(own[0]) <= OF_WHAT))
    )
    return own[0] if unnamed else None


def _in_percent(long: pd.DataFrame, name: str, sampling: str, common: bool) -> tuple[pd.DataFrame, list[str]]:
    """The rows of one file as tasks, in percent, with how they were drawn; and notes."""
    said = "sampling" in long
    long["sampling"] = _sampling(long, sampling, name)
    told = "" if sampling == "unknown" else ", as told"
    notes = [] if said else [f"No column sampling: the sampling is {sampling}{told}."]
    _refuse_summaries(long, name)  # before units, which a loss or a count would mix
    long, more = _tasks_of_queries(long, name)
    notes += more + _to_percent(long, name, common)
    return long.dropna(subset="accuracy"), notes


def _refuse_other_columns(longs: dict[str, pd.DataFrame], sampling: str) -> None:
    """Files whose tasks are told apart by other columns than those of the rest: nothing would be compared."""
    for column in [c for c in (*SHARED, "run") if c != "sampling" or sampling == "unknown"]:
        has = {name: column in long for name, long in longs.items()}
        if any(has.values()) and not all(has.values()):
            first, lacks = (next(n for n, there in has.items() if there == wanted) for wanted in (True, False))
            how = ", or say it for all (--sampling)" if column == "sampling" else ""
            raise InputError(
                f"results: {first} has a column {column} and {lacks} has none; give it to every file{how}, or leave it "
                f"out (--drop {column})"
            )


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


def _perhaps_runs(called: Iterable[str]) -> list[str]:
    """A note on methods that are called after files whose names differ in a number alone."""
    of: dict[str, list[str]] = {}
    for name in called:
        if found := files.numbered(name):
            of.setdefault(found[0], []).append(name)
    alike = [name for names in of.values() if len(names) > 1 for name in names]
    if not alike:
        return []
    return [
        f"{_listed(alike)} are methods of their own here; if files are training runs of one method, say so (--runs)."
    ]


def _runs(values: pd.Series, name: str) -> pd.Series:
    """What the trainings are called, as text."""
    if values.isna().any():
        raise InputError(f"results: column run of {name} is empty in row {values.isna().argmax() + 1}")
    if values.dtype.kind == "f":
        if (part := values % 1 != 0).any():
            raise InputError(
                f"results: run in row {part.argmax() + 1} of {name} is {values[part].iloc[0]}; the name or number of a "
                "training run is needed"
            )
        values = values.astype(int)
    return values.astype(str)


def _plain(column) -> str:
    """A column's name without blanks around it; known ones in lower case, or Task would be a method."""
    text = str(column).strip()
    return text.lower() if text.lower() in KNOWN else text


def _without_index(frame: pd.DataFrame, name: str) -> tuple[pd.DataFrame, list[str]]:
    """Without columns that nobody named: row numbers that were saved along, and empty ones."""
    if "accuracy" in frame and {*NAMES} & {*frame}:
        return frame, []  # where they are not read
    notes = []
    for column in [c for c in frame if INDEX.fullmatch(c)]:
        values = frame[column]
        number = pd.api.types.is_numeric_dtype(values)
        counts = number and ((values.diff() == 1) | (values == values.iloc[0])).all()  # one after another, perhaps anew
        if not counts and values.notna().any():
            raise InputError(
                f"results: column '{column}' of {name} looks like an index, not a method; name it task, "
                f"or leave it out (--drop '{column}')"
            )
        notes.append(f"Not read: column '{column}', which {'counts the rows' if counts else 'is empty'}.")
        frame = frame.drop(columns=column)
    return frame, notes


def _tasks_of_queries(long: pd.DataFrame, name: str) -> tuple[pd.DataFrame, list[str]]:
    """A row a task where a column says which query a row is; values of queries that pass for tasks are refused."""
    numbers = pd.to_numeric(long["accuracy"], errors="coerce")
    there = numbers[long["accuracy"].notna()]
    varies = there.groupby(long["method"]).nunique().max() > 1  # else one may be all right, and one all wrong
    single = varies and any(there.isin([0, right]).all() for right in (1, 100))
    if "query" not in long:
        if single:
            twice = long.duplicated([c for c in (*SHARED, "method", "run", "task") if c in long]).any()
            how = "name the queries in a column query" if twice else "add columns task and query"
            right = f"{there.max():.0f}"
            raise InputError(
                f"results: {name} holds only 0 and {right}, as single queries do; the accuracy of each "
                f"task is needed: average them by task, or {how}, and they are averaged here"
            )
        return long, []
    if not numbers.notna().all():
        first = long[numbers.isna()].iloc[0]
        raise InputError(
            f"results: {first['cell']} in row {first['row']} of {name} is {first['accuracy']}; a number "
            "for each query is needed"
        )
    keys = [c for c in long if c not in ("accuracy", "query", "row")]
    twice = long.duplicated([*keys, "query"])
    if twice.any():
        first = long[twice].iloc[0]
        raise InputError(
            f"results: method {first['method']} has query {first['query']} of task {first['task']} twice "
            f"(row {first['row']} of {name})"
        )
    groups = long.assign(accuracy=numbers).groupby(keys, sort=False)
    out = groups.agg(accuracy=("accuracy", "mean"), row=("row", "first"), size=("row", "size")).reset_index()
    sizes = sorted(out.pop("size").unique())
    shown = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else sizes[0]
    return out, [f"Column query: the accuracy of a task is the mean of its {shown} queries."]


def _refuse_summaries(long: pd.DataFrame, name: str) -> None:
    """Means, totals and the like among the methods or the tasks, and losses, times and counts, by their names.

    Of a method the whole name must say it (mean_acc, test_loss), since nearest-mean and mean teacher are methods; or
    it must stand beside its method (ours and ours_std).
    """
    numbers = pd.to_numeric(long["accuracy"], errors="coerce")
    values = {str(method).strip(): of for method, of in numbers.groupby(long["method"], sort=False)}

    def small(one: str) -> bool:  # as standard errors are, and ResNet-SE is not
        return 4 * values[one].mean() < numbers.drop(values[one].index).mean()

    def refuse(what: str, one: str, looks: str, more: str = "") -> None:
        raise InputError(
            f"results: {what} {one} of {name} looks like {looks}; leave it out (--drop {shlex.quote(one)}), or give it "
            f"another name{more}"
        )

    for what in ("method", "task"):
        names = [str(n).strip() for n in pd.unique(long[what])] if long[what].dtype == object else []
        for one in names if len(names) > 1 else []:
            words = _words(one)
            if (words & SUMMARIES and words <= SUMMARIES | OF_WHAT | LEVELS) or (
                what == "task" and words and words <= ALL
            ):
                refuse(what, one, "a summary of the others")
    for one in values if len(values) > 1 else []:
        words, beside = _words(one), BESIDE.fullmatch(one)
        if beside and beside[1] in values and (not one.lower().endswith("se") or small(one)):
            refuse("method", one, "something else than accuracies" if words & MEASURED else f"a summary of {beside[1]}")
        if (words <= {"se"} | OF_WHAT and "se" in words and small(one)) or (not words and "±" in one):
            refuse("method", one, "a summary of the others")
        if {"test", "training"} <= words:  # test-time training
            continue
        if words <= MEASURED | COUNTED | OF_RUN | OF_WHAT | SUMMARIES | LEVELS:
            if words & MEASURED:
                refuse("method", one, "something else than accuracies")
            if words & COUNTED and (values[one].dropna() % 1 == 0).all():
                refuse("method", one, "a count", " (task, ways or shots, if it is that)")


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))


def _refuse_made_columns(numbers: pd.DataFrame, name: str) -> None:
    """A column of a wide table that is the mean of all others, or by name and values a difference of two."""
    x, methods = numbers.to_numpy(), [*numbers]
    if len(methods) < 3:
        return

    def refuse(at: int, what: str) -> None:
        raise InputError(
            f"results: method {methods[at]} of {name} {what}; leave it out (--drop {shlex.quote(methods[at])})"
        )

    for at in (i for i, method in enumerate(methods) if _words(method) & DIFFERENCES):
        rest, size, near = np.delete(x, at, axis=1), np.abs(x[:, at]), _unit(x[:, at])
        few = np.abs(np.abs(rest[:9, :, None] - rest[:9, None]) - size[:9, None, None]) <= near
        for pair in np.argwhere(np.triu(few.all(axis=0), 1)):
            if (np.abs(np.abs(np.diff(rest[:, pair])[:, 0]) - size) <= near).all():
                refuse(at, "is the difference of " + " and ".join(np.delete(methods, at)[pair]))
    off = np.abs((x.sum(axis=1, keepdims=True) - x) / (len(methods) - 1) - x).max(axis=0)
    at = int(off.argmin())
    rest = np.delete(x, at, axis=1)
    varied = np.ptp(rest, axis=1) > 4 * (near := _unit(x[:, at]))
    if off[at] <= near and varied.sum() >= 8:
        refuse(at, "looks like a summary of the others: it is their mean")


def _unit(values: np.ndarray) -> float:
    """One in the last decimal place that numbers were written with; of many digits, what computing may be off by."""
    digits = max(len(np.format_float_positional(v, trim="-").partition(".")[2]) for v in values)
    return max(1.01 * 10.0**-digits, 1e-6 * np.abs(values).max())


def _refuse_last_row(numbers: pd.DataFrame, name: str) -> None:
    """A row of means or sums below a wide table, or above a last row of standard deviations.

    A row that a task of its own might well give is left in.
    """
    x = numbers.to_numpy()
    for back in (1, 2):
        above, last = x[:-back], x[-back] if len(x) > 5 else np.nan
        if np.isnan(last).any():
            continue
        near = max(_unit(last), 1e-6 * np.nanmax(np.abs(above)))
        for summary, values in (("mean", np.nanmean(above, axis=0)), ("sum", np.nansum(above, axis=0))):
            if (np.abs(last - values) <= near).all() and _chance(above, last, near) < RARE:
                raise InputError(
                    f"results: row {len(above) + 1} of {name} is the {summary} of the rows above; leave it out"
                )


def _chance(rows: np.ndarray, row: np.ndarray, near: float) -> float:
    """About how often one more task of this kind would by chance come so near to the middle of all methods.

    The normal density in the middle, one method after another, each given those before it. Accuracies go in steps of
    a query: where the row is on a step like the rest, no value is nearer than half a step.

    Parameters
    ----------
    rows, row : (T, M) and (M,)
    near : float
        How near it is.
    """
    reach = np.array([max(near, _step(column, value) / 2) for column, value in zip(rows.T, row)])
    if (np.abs(rows - row) <= 3 * reach).all(axis=1).any():  # there is such a task
        return 1.0
    centred = np.nan_to_num(rows - np.nanmean(rows, axis=0))
    spread = np.zeros(len(reach))  # what the methods before leave open
    diagonal = np.diag(np.linalg.qr(centred, mode="r"))
    spread[: len(diagonal)] = np.abs(diagonal) / np.sqrt(len(rows))
    return float(np.prod(np.minimum(1, 2 * reach / np.maximum(np.sqrt(2 * np.pi) * spread, near * 1e-9))))


def _step(column: np.ndarray, value: float) -> float:
    """The largest step of which all values differ by whole numbers; 0 if this value does not, infinite if all are one.

    Of numbers that were computed it is next to nothing.
    """
    levels = np.unique(column[~np.isnan(column)].round(9))
    if len(levels) < 2:
        return np.inf
    step, small = 0.0, 1e-6 * np.abs(levels).max()
    for rest in np.diff(levels):  # Euclid's algorithm
        while rest > small:
            step, rest = rest, abs(step - rest * round(step / rest))
    off = (value - levels[0]) / (step or small)
    return step if abs(off - round(off)) < 1e-3 else 0.0


def _typed(values: pd.Series, column: str, name: str) -> pd.Series:
    kind = SHARED[column]
    try:
        typed = values.astype(kind)
        if values.isna().any() or (kind is int and (typed != values.astype(float)).any()):
            raise ValueError
    except (ValueError, TypeError):
        raise InputError(f"results: column {column} of {name} must hold {kind.__name__} values in every row") from None
    if kind is int and (low := typed < LEAST[column]).any():
        raise InputError(
            f"results: {column} in row {low.argmax() + 1} of {name} is {typed[low].iloc[0]}; a whole "
            f"number of at least {LEAST[column]} is allowed"
        )
    return typed


def _long(frame: pd.DataFrame, name: str) -> tuple[pd.DataFrame, list[str]]:
    who = ["method"] if "method" in frame else [c for c in NAMES if c in frame]
    missing = [c for c, there in (("method (or backbone, learner)", who), ("task", "task" in frame)) if not there]
    if missing:
        raise InputError(
            f"results: {name} has a column accuracy but lacks {' and '.join(missing)}; "
            "task, accuracy and method are needed"
        )
    for column in [*who, "task"]:
        if frame[column].isna().any():
            raise InputError(f"results: column {column} of {name} is empty in row {frame[column].isna().argmax() + 1}")
    kept = [c for c in frame if c in SHARED or c in OF_CELL or c == "accuracy"]
    long = frame[kept].assign(method=frame[who].astype(str).agg(" ".join, axis=1), row=frame.index + 1)
    notes = [
        f"{name} is read as a long table, a row a task of a method; a method is named by "
        f"{' and '.join(who)}: {_listed(long['method'].unique())}."
    ]
    unread = [c for c in frame if c not in kept and c not in who]
    return long.assign(cell="accuracy"), notes + [f"Not read: {_listed(unread)}."] * bool(unread)


def _wide(frame: pd.DataFrame, name: str) -> tuple[pd.DataFrame, list[str]]:
    who = [c for c in NAMES if c in frame]
    if who:
        raise InputError(f"results: {name} has a column {who[0]} but lacks accuracy; it needs task and accuracy too")
    shared = [c for c in SHARED if c in frame]
    own = [*shared, *(c for c in OF_CELL if c in frame)]
    methods = [c for c in frame if c not in own]
    if not methods:
        raise InputError(f"results: {name} has no column of accuracies; it needs one a method, or a column accuracy")
    _check_number(len(methods), len(frame), name)
    key = [frame[c] for c in own if c in shared or c == "run"] or [pd.Series(0, frame.index)]
    for column in methods:  # a row number that was saved along would pass for a method
        numbers = pd.to_numeric(frame[column], errors="coerce")
        steps = numbers.groupby(key).diff().dropna()
        if len(steps) > 1 and (steps == 1).all():
            raise InputError(
                f"results: column {column} of {name} counts the rows; name it task, or leave it out "
                f"(--drop {shlex.quote(column)})"
            )
    values = frame[methods].apply(pd.to_numeric, errors="coerce").astype(float).replace([np.inf, -np.inf], np.nan)
    _refuse_made_columns(values, name)
    _refuse_last_row(values, name)
    task = frame["task"] if "task" in frame else frame.groupby(key).cumcount()
    if task.isna().any():
        raise InputError(f"results: column task of {name} is empty in row {task.isna().argmax() + 1}")
    flags = frame.select_dtypes(bool)  # melting would make numbers of them
    if "query" in frame and "task" not in frame:
        raise InputError(f"results: {name} has a column query but lacks task; it needs both")
    wide = frame.assign(**flags.astype(object), task=task, row=frame.index + 1)
    long = wide.melt([*dict.fromkeys([*own, "task", "row"])], methods, "method", "accuracy")
    notes = [f"{name} is read as a wide table, a row a task and a column a method: {_listed(methods)}."]
    if "task" not in frame:
        notes.append(
            "No column says which task a row is: the rows are taken as tasks in their order, the same for every method."
        )
    return long.assign(cell=long["method"]), notes


def _check_number(methods: int, tasks: int, name: str) -> None:
    if methods > COMPARED:
        raise InputError(
            f"results: {name} has {methods:,} methods and {tasks:,} tasks; up to {COMPARED} methods are "
            "compared at once (leave some out, or transpose it: a row a task, a column a method)"
        )


def _listed(names) -> str:
    """The names in one line; of very many the first ones."""
    names = [*map(str, names)]
    more = f" and {len(names) - MANY // 2} more" if len(names) > MANY else ""
    return ", ".join(names[: MANY // 2] if more else names) + more


def _sampling(long: pd.DataFrame, told: str, name: str) -> pd.Series:
    if told not in READING:
        raise InputError(f"sampling = {told}; open, closed and unknown are allowed{like(told, READING)}")
    if "sampling" not in long:
        return pd.Series(told, long.index)
    bad = ~long["sampling"].isin(["open", "closed"])
    if bad.any():
        first = long[bad].iloc[0]
        raise InputError(
            f"results: sampling in row {first['row']} of {name} is {first['sampling']}; open and closed are allowed"
        )
    if told != "unknown" and (long["sampling"] != told).any():
        first = long[long["sampling"] != told].iloc[0]
        raise InputError(f"sampling = {told}; row {first['row']} of {name} says {first['sampling']}")
    return long["sampling"]


def _setting(long: pd.DataFrame) -> pd.Series:
    """The data set, and whatever else tells the tasks of one row from those of another."""
    text = long["dataset"]
    words = {"sampling": "{}", "ways": "{}-way", "shots": "{}-shot", "queries": "{} queries", "seed": "seed {}"}
    for column, word in words.items():
        if column in long and long[column].nunique() > 1:
            text = text + ", " + long[column].map(word.format)
    return text


def _to_percent(long: pd.DataFrame, name: str, common: bool) -> list[str]:
    """Turn the accuracies into numbers in percent, in place; what was read, as notes."""
    numbers = pd.to_numeric(long["accuracy"], errors="coerce").astype(float)

    def refuse(bad: pd.Series, what: str) -> None:
        if bad.any():
            at = long[bad].iloc[0]
            raise InputError(f"results: {at['cell']} in row {at['row']} of {name} {what.format(at['accuracy'])}")

    refuse(long["accuracy"].map(lambda v: isinstance(v, (bool, np.bool_))), "is {}; a number is needed")
    text = numbers.isna() & long["accuracy"].notna()
    refuse(
        text & long["accuracy"].astype(str).str.strip().str.endswith("%"),
        "is {}; a number is needed, or a percent sign in each cell of its column and some percentage above 1",
    )
    refuse(text, "is {}; a number is needed")
    refuse(numbers.notna() & ~numbers.between(0, 100), "is {}; 0 to 1 (shares) or 0 to 100 (percent) is allowed")
    if not common:
        refuse(numbers.isna(), "is empty; fill it, or use the tasks that all methods share (--common)")
    shares = not (numbers > 1).any()
    if not shares:
        top = long.loc[numbers.idxmax()]
        refuse(
            (numbers > 0) & (numbers <= 1),
            f"is {{}}, a share, while {top['cell']} in row {top['row']} is {top['accuracy']}, a percentage; one "
            "unit in a file is allowed (divide percentages by 100)",
        )
    long["accuracy"] = numbers * (100 if shares else 1)
    notes = [
        "No accuracy is above 1: they are read as shares and shown in percent."
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
