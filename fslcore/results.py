"""Per-task accuracies of anybody's methods: read the table, check it, and say what can be concluded.

One long table, a row a task of a method, is what everything here takes. `read` makes it from either
format a user may bring and notes every choice it took, so that a report can state them.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import shlex
from collections.abc import Callable, Sequence
from itertools import combinations, islice
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import scipy.stats

from . import stats, tablefiles
from .errors import InputError, choice, flag, floats, like, number, shown, whole
from .paths import replace_file

__all__ = [
    "MANY",
    "ROWS",
    "changed",
    "comparisons",
    "crowded",
    "group_letters",
    "groups",
    "interval_list",
    "intervals",
    "matrix",
    "needed",
    "normalise",
    "pair_list",
    "panels",
    "read",
    "reading",
    "record",
    "settings",
    "summary",
    "tasks_for_power",
    "tasks_for_width",
    "write_figures",
    "write_tables",
]

# What makes tasks the same for two methods; all may be left out.
SHARED = {"dataset": str, "sampling": str, "ways": int, "shots": int, "queries": int, "seed": int}
NAMES = ("method", "backbone", "learner")
KNOWN = {*SHARED, *NAMES, "task", "accuracy", "query"}
# What stands at the edge of a table and is no method and no task.
SUMMARIES = {"mean", "average", "avg", "total", "sum", "std", "sd", "stdev", "stddev", "stderr", "sem", "ci", "ci95"}
OF_WHAT = {"acc", "accuracy", "accuracies", "score", "scores", "test", "task", "tasks", "of", "over", "all", "overall"}
ALL = {"all", "overall"}  # as tasks; a method may well be called so
BESIDE = re.compile(r"(.+?)(?:__(?:min|max|step)|[ _.-]+(?:std|stdev|stddev|stderr|sem|ci95|ci))", re.IGNORECASE)
DIFFERENCES = {"diff", "difference", "delta", "gap", "gain"}
LEAST = {"ways": 1, "shots": 1, "queries": 1, "seed": 0}
RARE = 1e-5  # what comes less often by chance is taken for made
INDEX = re.compile(r"|Unnamed: \d+|index|level_\d+|nan|None")
DIGITS = 9  # of a percent; what differs by less differs by rounding
COMPARED = 400  # methods of a setting; the 80,000 pairs take a minute
MANY, ROWS = 40, 500  # methods in a matrix or figure and rows of a table that somebody reads
GROUPS = 200  # sets of methods; n pairs of twins that are told apart, and from nobody else, make 2^n
MOST = 10**6  # tasks; beyond it a number of tasks is no advice

READING = {
    "open": "Open tasks share no image, so their intervals and conclusions speak of **new images** of these classes.",
    "closed": "Closed tasks use images again, so their intervals and conclusions speak of **these very images** only. "
    "They would come out much the same with other tasks from the same images; how the methods do on new "
    "images cannot be told from this file.",
    "unknown": "The file does not say how the tasks were drawn, so it cannot be told what a conclusion speaks of. "
    "**If no two tasks share an image** (open), it speaks of new images of these classes. **If images are "
    "used again** (closed, what most samplers do), it speaks of these very images only, and nothing is "
    "known of new ones. `--sampling open` or `--sampling closed` settles it.",
}


def _checked(function: Callable) -> Callable:
    """The function, with each argument checked by its name in `CHECKS`; an `InputError` names it."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        for name, value in given.arguments.items():
            CHECKS[name](name, value)
        if "pairs" in given.arguments:
            _check_pairs_of(given.arguments["table"], given.arguments["pairs"])
        return function(*args, **kwargs)

    return call


def _check_frame(name: str, value: object, columns: Sequence[str] = (), source: str = "") -> None:
    if not isinstance(value, pd.DataFrame):
        raise InputError(f"{name} = {shown(value)}; a DataFrame{source} is allowed")
    if value.columns.nlevels > 1:
        raise InputError(f"{name} has columns of {value.columns.nlevels} levels; one level, a name each, is allowed")
    if missing := [c for c in columns if c not in value]:
        raise InputError(
            f"{name} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}; a DataFrame{source} is allowed"
        )


def _check_table(name: str, value: object) -> None:
    _check_frame(name, value, ["setting", "method", "task", "accuracy", "sampling"], " as `normalise` gives it")
    if value.empty:
        raise InputError(f"{name} has no rows; a row a task of a method is needed")
    accuracy = floats(f"{name}, column accuracy", value["accuracy"])
    if not ((accuracy >= 0) & (accuracy <= 100)).all():
        raise InputError(
            f"{name} has accuracies from {accuracy.min():g} to {accuracy.max():g}; 0 to 100 (percent) is allowed"
        )
    for sampling in pd.unique(value["sampling"]):
        choice(f"{name}, column sampling", sampling, READING)
    if value.duplicated(["setting", "method", "task"]).any():
        raise InputError(f"{name} has a task of a method twice; once is allowed")
    number_of = value.groupby("setting")[["method", "task"]].nunique()
    if (number_of.prod(axis=1) != value.groupby("setting").size()).any() or (number_of["task"] < 2).any():
        raise InputError(
            f"{name} has methods with other tasks, or fewer than 2; the same ones for every method of a "
            "setting are needed"
        )


def _check_pairs(name: str, value: object) -> None:
    _check_frame(name, value, PAIRS, " as `comparisons` gives it")
    floats(f"{name}, column difference", value["difference"])
    for column in ("holm", "bh", "paired", "unpaired"):
        if value[column].dtype != bool and len(value):
            raise InputError(f"{name}, column {column} holds {value[column].dtype}; True and False are allowed")


def _check_pairs_of(table: pd.DataFrame, pairs: pd.DataFrame) -> None:
    there = pd.MultiIndex.from_frame(table[["setting", "method"]].drop_duplicates())
    for column in "ab":
        other = ~pd.MultiIndex.from_frame(pairs[["setting", column]]).isin(there)
        if other.any():
            raise InputError(
                f"pairs: column {column} has {pairs.loc[other, column].iloc[0]}; methods of the table are allowed"
            )


def _check_names(name: str, value: object) -> None:
    if (
        isinstance(value, (str, bytes))
        or not isinstance(value, (Sequence, pd.Index, np.ndarray))
        or any(not isinstance(one, str) for one in value)
    ):
        raise InputError(f"{name} = {shown(value)}; a list of names is allowed")


def _check_path(name: str, value: object) -> None:
    if not isinstance(value, (str, os.PathLike)) or not str(value):
        raise InputError(f"results: {name} = {shown(value)}; the name of a file or folder is allowed")


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} = {shown(value)}; a name is allowed")


PAIRS = [
    "setting",
    "a",
    "b",
    "tasks",
    "difference",
    "half_width",
    "sd",
    "p",
    "unpaired",
    "p_holm",
    "holm",
    "p_bh",
    "bh",
    "paired",
]
CHECKS = {  # by the name of the argument
    "table": _check_table,
    "pairs": _check_pairs,
    "frame": _check_frame,
    "name": _check_text,
    "path": _check_path,
    "folder": _check_path,
    "methods": _check_names,
    "drop": _check_names,
    "notes": _check_names,
    "sampling": functools.partial(choice, allowed=[*READING]),
    "common": flag,
    "apart": functools.partial(_check_frame, columns=["a", "b"], source=" with columns a and b"),
    "level": functools.partial(number, above=0, below=1),
    "power": functools.partial(number, above=0, below=1),
    "effect": functools.partial(number, infinite=True),
    "most": lambda name, value: None if value is None else whole(name, value, least=1),
}


@_checked
def read(
    path: str | Path, sampling: str = "unknown", common: bool = False, drop: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Read per-task accuracies from a file, in either of two formats.

    *Long*: a row a task of a method, with columns ``accuracy``, ``task`` and ``method`` (or, in its
    place, ``backbone``, ``learner`` or both). *Wide*: a row a task and a column a method; a column
    ``task`` is optional. Both may have the columns ``dataset``, ``sampling``, ``ways``, ``shots``,
    ``queries`` and ``seed``. A file with a column ``accuracy`` is long.

    Parameters
    ----------
    path : path
        The file: text, Parquet or an array (`fslcore.tablefiles.frame`).
    sampling, common, drop
        As for `normalise`.

    Returns
    -------
    table, notes
        As for `normalise`.

    Raises
    ------
    InputError
        No such file, another ending, unreadable, two columns of one name; and as for `normalise`.
    """
    path = Path(path)
    frame, notes = tablefiles.frame(path)
    table, more = normalise(frame, path.name, sampling, common, drop)
    return table, notes + more


@_checked
def normalise(
    frame: pd.DataFrame, name: str, sampling: str = "unknown", common: bool = False, drop: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Check a table of either format (see `read`) and lay it out as the one long table.

    Parameters
    ----------
    frame : DataFrame
        Accuracies as shares (no value above 1) or in percent.
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
        dataset, sampling, and those of ways, shots, queries and seed that the input has.
    notes : list of str
        Every choice that was taken, a sentence each.

    Raises
    ------
    InputError
        A column missing; a value of the wrong type, missing, outside its range or in another unit
        than the rest; nothing but 0 and 1, which are queries and no tasks; a mean or another summary among methods
        or tasks; a task given twice; methods with different tasks; fewer than 2 tasks. The message names column and
        row (1 is the first below the header), or method and task.
    """
    before = [*map(str, frame.columns)]
    frame = frame.rename(columns=_plain)
    if frame.columns.duplicated().any():
        raise InputError(f"results: {name} has two columns {frame.columns[frame.columns.duplicated()][0]}")
    if frame.empty:
        raise InputError(f"results: {name} has no rows")
    frame = frame.reset_index(drop=True)
    for column in SHARED.keys() & set(frame):
        frame[column] = _typed(frame[column], column, name)
    known = {*before, *frame}
    frame = frame.drop(columns=[c for c in drop if c in frame])
    if "task" in frame:
        known |= set(frame["task"].astype(str))
        frame = frame[~frame["task"].astype(str).isin(drop)].copy()
    frame, notes = _without_index(frame, name)
    long, more = (_long if "accuracy" in frame else _wide)(frame, name)
    known |= set(long["method"])
    if unknown := [one for one in drop if one not in known]:
        near = like(unknown[0], known)
        raise InputError(f"drop = {unknown[0]}; no column, method or task of {name} has that name{near}")
    long = long[~long["method"].isin(drop)].copy()
    if long.empty:
        raise InputError(f"drop = {_listed(drop)}; nothing of {name} is left")
    notes += more + [f"Left out, as told: {_listed(drop)}."] * bool(drop)
    long["sampling"] = _sampling(long, sampling, name)
    if "sampling" not in frame:
        notes.append(f"No column sampling: the sampling is {sampling}{', as told' * (sampling != 'unknown')}.")
    long["setting"] = _setting(long, name)
    long, more = _tasks_of_queries(long, name)
    notes += more + _to_percent(long, name, common)
    _refuse_summaries(long, name)
    long = long.dropna(subset="accuracy")
    if long["task"].dtype == object:
        long["task"] = long["task"].astype(str)
    twice = long.duplicated(["setting", "method", "task"], keep=False)
    if twice.any():
        first = long[twice].iloc[0]
        same = long[(long[["setting", "method", "task"]] == first[["setting", "method", "task"]]).all(axis=1)]
        rows = " and ".join(str(r) for r in same["row"].head(2))
        raise InputError(
            f"results: {first['setting']}: method {first['method']} has task {first['task']} twice (rows {rows})"
        )
    long, more = _aligned(long, common)
    columns = ["setting", "method", "task", "accuracy", *[c for c in SHARED if c in long]]
    return long[columns].reset_index(drop=True), notes + more


def _plain(column) -> str:
    """A column's name without blanks around it; known ones in lower case, or Task would be a method."""
    text = str(column).strip()
    return text.lower() if text.lower() in KNOWN else text


def _without_index(frame: pd.DataFrame, name: str) -> tuple[pd.DataFrame, list[str]]:
    """Without columns that nobody named: row numbers that were saved along, and empty ones."""
    if "accuracy" in frame:
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
            twice = long.duplicated(["setting", "method", "task"]).any()
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
    """Means, totals and the like among the methods or the tasks, by their names.

    Of a method the whole name must say it (mean_acc), since nearest-mean and mean teacher are methods; or it must
    stand beside its method (ours and ours_std).
    """
    for what in ("method", "task"):
        names = [str(n).strip() for n in pd.unique(long[what])] if long[what].dtype == object else []
        for one in names if len(names) > 1 else []:
            words, beside = _words(one), BESIDE.fullmatch(one) if what == "method" else None
            if words & SUMMARIES and words <= SUMMARIES | OF_WHAT or what == "task" and words and words <= ALL:
                others = "the others"
            elif beside and beside[1] in names:
                others = beside[1]
            else:
                continue
            raise InputError(
                f"results: {what} {one} of {name} looks like a summary of {others}; leave it out "
                f"(--drop {shlex.quote(one)}), or give it another name"
            )


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
    kept = [c for c in frame if c in SHARED or c in ("task", "accuracy", "query")]
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
    own = [*shared, *(c for c in ("task", "query") if c in frame)]
    methods = [c for c in frame if c not in own]
    if not methods:
        raise InputError(f"results: {name} has no column of accuracies; it needs one a method, or a column accuracy")
    _check_number(len(methods), len(frame), name)
    key = [frame[c] for c in shared] or [pd.Series(0, frame.index)]
    for column in methods:  # a row number that was saved along would pass for a method
        numbers = pd.to_numeric(frame[column], errors="coerce")
        steps = numbers.groupby(key).diff().dropna()
        if len(steps) > 1 and (steps == 1).all():
            raise InputError(f"results: column {column} of {name} counts the rows; name it task, or leave it out")
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
        raise InputError(f"sampling = {told}; open, closed and unknown are allowed")
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


def _setting(long: pd.DataFrame, name: str) -> pd.Series:
    """The data set, and whatever else tells the tasks of one row from those of another."""
    if "dataset" not in long:
        long["dataset"] = Path(name).stem
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
    refuse(numbers.isna() & long["accuracy"].notna(), "is {}; a number is needed")
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
        count = part.groupby("task")["method"].transform("size")
        full = part[count == part["method"].nunique()]
        tasks, kept = part["task"].nunique(), full["task"].nunique()
        if kept < tasks and not common:
            has = part.groupby("method")["task"].nunique()
            worst = has.idxmin()
            lost = set(part["task"]) - set(part.loc[part["method"] == worst, "task"])
            first = part["task"][part["task"].isin(lost)].iloc[0]
            raise InputError(
                f"results: {setting}: method {worst} lacks {len(lost)} of {tasks} tasks (the first: "
                f"{first}); bring the same tasks for every method, or use those that all share (--common)"
            )
        if kept < 2:
            raise InputError(f"results: {setting}: {kept} task{'s' * (kept != 1)} for every method; it needs 2 or more")
        if kept < tasks:
            notes.append(f"{setting}: {tasks - kept} of {tasks} tasks are left out, since not every method has them.")
        if absent := everybody[~np.isin(everybody, part["method"].unique())].tolist():
            notes.append(f"{setting}: no results of {_listed(absent)}.")
        if part["method"].nunique() == 1:
            notes.append(f"{setting}: one method only, so no comparison is possible.")
        parts.append(full)
    if len(parts) > 1:
        notes.append(
            "Methods are compared where data set, sampling, ways, shots, queries and seed are the same: "
            f"{len(parts)} settings, each on its own."
        )
    return pd.concat(parts), notes


@_checked
def reading(table: pd.DataFrame) -> list[str]:
    """What intervals and conclusions speak of, for each way of sampling in the table."""
    return [READING[s] for s in READING if (table["sampling"] == s).any()]


@_checked
def settings(table: pd.DataFrame) -> pd.DataFrame:
    """A row a setting: how its tasks were drawn, their shape where it is known, their number, the methods'."""
    parts = table.groupby("setting")
    shape = parts[[c for c in SHARED if c in table and c != "dataset"]].first()
    return shape.assign(tasks=parts["task"].nunique(), methods=parts["method"].nunique())


def _grids(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Setting → accuracies, a row a task and a column a method, the best mean first."""
    out = {}
    for setting, part in table.groupby("setting"):
        grid = part.pivot(index="task", columns="method", values="accuracy").round(DIGITS)
        out[setting] = grid[sorted(grid, key=lambda m: (-round(grid[m].mean(), DIGITS), m))]
    return out


@_checked
def intervals(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Mean and intervals of every method in percent, the best first.

    Returns
    -------
    DataFrame
        By setting and method: mean, tasks, and the half-widths ``new_images`` (open interval; NaN
        for closed tasks, which cannot give it) and ``these_images`` (closed interval; NaN for
        open tasks). Where the sampling is unknown both stand there, and one of them holds.
    """
    sampling = table.groupby("setting")["sampling"].first()
    rows = {}
    for setting, grid in _grids(table).items():
        for method, accuracies in grid.items():
            opened, closed = stats.open_interval(accuracies, level), stats.closed_interval(accuracies, level)
            rows[setting, method] = {
                "mean": opened.mean,
                "new_images": np.nan if sampling[setting] == "closed" else opened.half_width,
                "these_images": np.nan if sampling[setting] == "open" else closed.half_width,
                "tasks": opened.n_tasks,
            }
    out = pd.DataFrame.from_dict(rows, orient="index")
    out.index.names = ["setting", "method"]
    return out


@_checked
def comparisons(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Every pair of methods of every setting, compared task by task.

    Paired t-tests (OOPS, equation 5), corrected over all pairs of the table together: by Holm
    (1979), which bounds the chance of even one false conclusion, and by Benjamini and Hochberg
    (1995), which bounds the expected share of false ones among the conclusions.

    Returns
    -------
    DataFrame
        setting; a and b, a with the higher mean; tasks; difference a - b, its half_width and
        standard deviation sd over tasks (points); p, p_holm, p_bh; and verdicts at ``level``, whether a
        and b are told apart: ``paired`` (without correction), ``holm``, ``bh``, and ``unpaired``, the
        usual way: their closed intervals do not meet.
    """
    parts = [_compared(grid, level).assign(setting=setting) for setting, grid in _grids(table).items()]
    out = pd.concat(parts, ignore_index=True)
    for name, adjust in (("holm", _holm), ("bh", scipy.stats.false_discovery_control)):
        out[f"p_{name}"] = adjust(out["p"].to_numpy()) if len(out) else out["p"]
        out[name] = out[f"p_{name}"] < 1 - level
    out["paired"] = out["p"] < 1 - level
    first = ["setting", "a", "b", "tasks", "difference", "half_width", "sd", "p", "unpaired"]
    return out[[*first, *out.columns.drop(first)]]


def _compared(grid: pd.DataFrame, level: float) -> pd.DataFrame:
    """Every pair of one setting, a row of differences at a time: `stats.paired_interval` for thousands of pairs."""
    x = np.ascontiguousarray(grid.T)
    (methods, tasks), coarse = x.shape, x.astype(np.float32)
    mean, sd = np.zeros((2, methods, methods))
    for i in range(methods - 1):
        d = (x[i] - x[i + 1 :]).round(DIGITS)
        # A file may hold one method in 32 bits and another in 64, and text does not say so: what 32 bits cannot tell
        # apart is equal. No task has the millions of queries that it would take to differ by so little.
        equal = stats.paired_differences(*np.broadcast_arrays(coarse[i][:, None], coarse[i + 1 :].T)).T
        d[(equal == 0).all(axis=1)] = 0
        mean[i, i + 1 :] = d.mean(axis=1)
        sd[i, i + 1 :] = np.where(np.ptp(equal, axis=1) > 0, d.std(ddof=1, axis=1), 0)
    a, b = np.triu_indices(methods, 1)
    mean, sd = mean[a, b].clip(min=0), sd[a, b]  # of equal means that of a may come out the lower by rounding
    error = sd / np.sqrt(tasks)
    p = 2 * scipy.stats.t.sf(mean / np.where(sd > 0, error, 1), tasks - 1)
    fixed = {d: stats.paired_interval([d] * tasks, [0] * tasks, level).p_value for d in (0, 1)}
    names = grid.columns.to_numpy(dtype=object)
    return pd.DataFrame(
        {
            "a": names[a],
            "b": names[b],
            "tasks": tasks,
            "difference": mean,
            "half_width": scipy.stats.t.ppf((1 + level) / 2, tasks - 1) * error,
            "sd": sd,
            "p": np.where(sd > 0, p, np.where(mean > 0, fixed[1], fixed[0])),
            "unpaired": _unpaired(grid, level)[a, b] & ((mean > 0) | (sd > 0)),
        }
    )


def _unpaired(grid: pd.DataFrame, level: float) -> np.ndarray:
    """(M, M) truth values: whether two closed intervals do not meet (`stats.compare`)."""
    closed = [stats.closed_interval(grid[m], level) for m in grid]
    low, high = (np.array([getattr(r, end) for r in closed]) for end in ("low", "high"))
    apart = (low[:, None] > high) | (low > high[:, None])
    for i in [i for i, r in enumerate(closed) if r.half_width == 0]:  # which has rules of its own
        apart[i] = apart[:, i] = [stats.compare(closed[i], r) != 0 for r in closed]
    return apart


def _holm(p: np.ndarray) -> np.ndarray:
    """Holm's adjusted p-values. statsmodels has them too, and takes a second to import."""
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1)
    return adjusted[np.argsort(order)]


@_checked
def groups(methods: list[str], apart: pd.DataFrame, most: int | None = None) -> list[list[str]]:
    """Largest sets of methods of which no two are told apart.

    Not being told apart does not carry over (a from b no, b from c no, yet a from c), so the sets
    may overlap. They are the maximal cliques of the graph whose edges are the pairs not told apart.

    Parameters
    ----------
    methods : list
        Of one setting, in the order wanted.
    apart : DataFrame
        Pairs that are told apart, in columns a and b; all others are not.
    most : int, optional
        Where there are more sets, none is returned: their number can double with each pair.

    Returns
    -------
    list of lists
        Members and sets in the order of ``methods``; every method is in one set at least.
    """
    told = {frozenset(pair) for pair in zip(apart["a"], apart["b"])}
    graph = networkx.Graph([pair for pair in combinations(methods, 2) if frozenset(pair) not in told])
    graph.add_nodes_from(methods)
    at = {m: i for i, m in enumerate(methods)}.get
    found = list(islice(networkx.find_cliques(graph), None if most is None else most + 1))
    if most is not None and len(found) > most:
        return []
    return sorted((sorted(c, key=at) for c in found), key=lambda c: [at(m) for m in c])


def _groups(table: pd.DataFrame, pairs: pd.DataFrame) -> dict[str, list[list[str]]]:
    apart = pairs[pairs["holm"]]
    return {s: groups(list(grid), apart[apart["setting"] == s], GROUPS) for s, grid in _grids(table).items()}


@_checked
def panels(table: pd.DataFrame, pairs: pd.DataFrame) -> dict[str, tuple[pd.Series, list[list[str]]]]:
    """Setting → mean accuracies (the best first) and groups after Holm's correction, for `plots.groups`."""
    found = _groups(table, pairs)
    return {setting: (grid.mean(), found[setting]) for setting, grid in _grids(table).items()}


def _names_of_groups(table: pd.DataFrame, pairs: pd.DataFrame) -> dict[tuple[str, str], list[str]]:
    """By setting and method, the names of its groups: letters, or numbers where letters do not suffice."""
    names = {}
    for setting, found in _groups(table, pairs).items():
        labels = [chr(97 + i) if len(found) <= 26 else f"g{i}" for i in range(len(found))]
        for method in table.loc[table["setting"] == setting, "method"].unique():
            names[setting, method] = [label for label, group in zip(labels, found) if method in group]
    return names


@_checked
def group_letters(table: pd.DataFrame, pairs: pd.DataFrame) -> pd.Series:
    """By setting and method, the letters of its groups: methods that share one are not told apart.

    Where they are more than letters, groups have numbers: 'g3–g7 g9'; where they are too many, there are none
    (`crowded`).
    """

    def text(names: list[str]) -> str:
        if not names or len(names[0]) == 1:
            return " ".join(names) or "—"
        at = np.array([int(n[1:]) for n in names])
        runs = np.split(at, np.flatnonzero(np.diff(at) > 1) + 1)
        return " ".join(f"g{run[0]}" + f"–g{run[-1]}" * (len(run) > 1) for run in runs)

    return pd.Series({key: text(names) for key, names in _names_of_groups(table, pairs).items()}, name="group")


@_checked
def crowded(table: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """A sentence for each setting whose methods form too many groups to name."""
    return [
        f"{setting}: over {GROUPS} sets of methods are not told apart, too many for letters; see the pairs."
        for setting, found in _groups(table, pairs).items()
        if not found
    ]


@_checked
def interval_list(table: pd.DataFrame, pairs: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """`intervals` for a reader, with the letters of `group_letters`; only the columns that say something."""
    found = intervals(table, level)
    either = (table["sampling"] == "unknown").any()
    names = {
        "new_images": "if tasks share no image: on new images" if either else "on new images",
        "these_images": "if they do: on these images" if either else "on these images",
    }
    shown = {
        name: (found["mean"].map("{:.2f}".format) + found[c].map(" ± {:.2f}".format)).where(found[c].notna(), "—")
        for c, name in names.items()
        if found[c].notna().any()
    }
    out = pd.DataFrame({**shown, "group": group_letters(table, pairs), "tasks": found["tasks"].astype(int)})
    return _unnested(table, out.reindex(found.index))


@_checked
def matrix(table: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Row minus column in points, each cell with the mark of its verdict; best methods first.

    ▲ ▼: the row is better, worse, after Holm's correction. △ ▽: after Benjamini and Hochberg's only.
    ○: not told apart.
    """
    back = pairs.rename(columns={"a": "b", "b": "a"}).assign(difference=-pairs["difference"])
    both = pd.concat([pairs, back])
    up = both["difference"] > 0
    mark = np.where(both["holm"], np.where(up, "▲", "▼"), np.where(both["bh"], np.where(up, "△", "▽"), "○"))
    text = [f"\N{NO-BREAK SPACE}{d + 0.0:+.2f}".replace("-", "−") for d in both["difference"]]
    both["cell"] = mark.astype(object) + np.array(text, dtype=object)
    ranked = {setting: pd.Series(grid.columns, name="method") for setting, grid in _grids(table).items()}
    order = pd.concat(ranked, names=["setting"])
    wide = both.pivot(index=["setting", "a"], columns="b", values="cell")
    rows = pd.MultiIndex.from_arrays([order.index.get_level_values("setting"), order], names=["setting", "method"])
    columns = pd.Index(order.unique(), name=None)
    return _unnested(table, wide.reindex(index=rows, columns=columns).fillna("—"))


def _unnested(table: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Without the level 'setting' of the rows where the table has one setting only."""
    if table["setting"].nunique() > 1:
        return frame
    frame = frame.droplevel("setting")
    return frame.rename_axis(index=None, columns=frame.index.name)  # else the name takes a header row of its own


def _verdict(pairs: pd.DataFrame) -> pd.Series:
    """In words, as strict as it holds."""
    says = np.select(
        [pairs["holm"], pairs["bh"], pairs["paired"]],
        ["higher (Holm)", "higher (BH only)", "higher, if compared alone"],
        "not told apart",
    )
    return pd.Series(says, pairs.index)


def _named(table: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    out = pairs.rename(columns={"a": "higher mean", "b": "lower mean"})
    return _unnested(table, out.set_index(["setting", "higher mean"]))


def _pm(pairs: pd.DataFrame) -> pd.Series:
    """Text also without rows, where pandas would keep the type of the numbers."""
    numbers = zip(pairs["difference"], pairs["half_width"])
    text = [f"{d:.2f} ± {half:.2f}".replace(" ", "\N{NO-BREAK SPACE}") for d, half in numbers]
    return pd.Series(text, pairs.index, dtype=object)


def _p(value: float) -> str:
    return "<\N{NO-BREAK SPACE}0.0001" if value < 1e-4 else f"{value:.4f}"


@_checked
def pair_list(table: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """`comparisons` for a reader: the difference with its paired interval, the three p-values, the verdict."""
    p = {column: pairs[column].map(_p) for column in ("p", "p_holm", "p_bh")}
    out = pairs.assign(verdict=_verdict(pairs), shown=_pm(pairs), **p)
    out = out.rename(columns={"shown": "difference (points)", "p_holm": "p, Holm", "p_bh": "p, BH"}, errors="raise")
    return _named(table, out)[["lower mean", "difference (points)", "verdict", "p", "p, Holm", "p, BH"]]


@_checked
def changed(table: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Pairs on which the usual reading (closed intervals that do not meet) and the paired tests differ."""
    out = pairs[pairs["unpaired"] != pairs["holm"]]
    usual = np.where(out["unpaired"], "higher: intervals do not meet", "nothing: intervals meet")
    out = out.assign(shown=_pm(out), usual=usual, paired=_verdict(out))
    out = out.rename(columns={"shown": "difference (points)", "usual": "usual reading", "paired": "paired"})
    return _named(table, out)[["lower mean", "difference (points)", "usual reading", "paired"]]


@_checked
def tasks_for_width(effect: float, level: float = 0.95) -> int | None:
    """Smallest number of tasks at which a paired interval's half-width is below the difference.

    Parameters
    ----------
    effect : float
        Mean difference over its standard deviation over tasks; only its size counts.
    level : float
        Nominal coverage.

    Returns
    -------
    int or None
        None where it is beyond a million, as for an effect of 0.
    """
    return _whole(_for_width(np.array([effect]), level)[0])


@_checked
def tasks_for_power(effect: float, level: float = 0.95, power: float = 0.8) -> int | None:
    """Smallest number of tasks at which a two-sided paired t-test finds a true difference in ``power`` of the cases.

    Parameters and result as for `tasks_for_width`; the test is made at 1 - ``level``.
    """
    return _whole(_for_power(np.array([effect]), level, power)[0])


def _whole(tasks: float) -> int | None:
    return None if np.isnan(tasks) else int(tasks)


def _for_width(effects: np.ndarray, level: float) -> np.ndarray:
    def enough(effect: np.ndarray, tasks: np.ndarray) -> np.ndarray:
        return scipy.stats.t.ppf((1 + level) / 2, tasks - 1) / np.sqrt(tasks) < np.abs(effect)

    return _smallest(enough, effects, level)


def _for_power(effects: np.ndarray, level: float, power: float = 0.8) -> np.ndarray:
    def enough(effect: np.ndarray, tasks: np.ndarray) -> np.ndarray:  # `stats.power` of many at once
        limit, shift = scipy.stats.t.ppf((1 + level) / 2, tasks - 1), np.abs(effect) * np.sqrt(tasks)
        other = np.nan_to_num(scipy.stats.nct.cdf(-limit, tasks - 1, shift))
        return scipy.stats.nct.sf(limit, tasks - 1, shift) + other >= power

    return _smallest(enough, effects, level)


def _smallest(enough, effects: np.ndarray, level: float) -> np.ndarray:
    """`stats.smallest` number of tasks for each of many effects at once; NaN where it is beyond `MOST`.

    An infinite effect, of equal differences, is told by the sign test, as in `comparisons`.
    """
    out, finite = np.full(len(effects), np.floor(2 - np.log2(1 - level))), np.isfinite(effects)
    out[finite] = _search(enough, effects[finite])
    return out


def _search(enough, effects: np.ndarray) -> np.ndarray:
    low, high = np.full((2, len(effects)), 2)
    going = ~enough(effects, high)
    while going.any() and high.max() < MOST:
        low[going], high[going] = high[going], np.minimum(2 * high[going], MOST)
        going[going] = ~enough(effects[going], high[going])
    while (at := np.flatnonzero((low < high) & ~going)).size:
        middle = (low[at] + high[at]) // 2
        yes = enough(effects[at], middle)
        high[at[yes]], low[at[~yes]] = middle[yes], middle[~yes] + 1
    return np.where(going, np.nan, high)


@_checked
def needed(table: pd.DataFrame, pairs: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """For each pair not told apart after Holm's correction, how many tasks would tell it apart.

    All numbers take the observed difference for the true one.

    Returns
    -------
    DataFrame
        By pair: the difference, tasks now, tasks for a half-width below the difference, and tasks
        for 80 % power, as the only comparison and among all pairs of the table (at (1 - level) / pairs,
        which is enough for Holm's correction whatever the others give); for open tasks of known
        shape also the images of that last number.
    """
    shape = settings(table)
    sized = {"ways", "shots", "queries"} <= set(shape)
    images = shape["ways"] * (shape["shots"] + shape["queries"]) if sized else pd.Series(np.nan, shape.index)
    a_task = images.where(shape["sampling"] == "open")  # closed tasks use images again
    out = pairs[~pairs["holm"]]
    effect = (out["difference"] / out["sd"]).fillna(0).to_numpy()  # identical accuracies: 0 / 0
    among = 1 - (1 - level) / max(len(pairs), 1)
    count = pd.Series(_for_power(effect, among), out.index)
    shown = {
        "difference (points)": _pm(out),
        "tasks now": out["tasks"].map("{:,}".format),
        "for ± below the difference": [_count(t) for t in _for_width(effect, level)],
        "for 80 % power, alone": [_count(t) for t in _for_power(effect, level)],
        f"for 80 % power, one of {len(pairs)}": count.map(_count),
    }
    if a_task.notna().any():
        of_pair = out["setting"].map(a_task)
        shown["images for that"] = (count * of_pair).map(_count).where(of_pair.notna(), "—")
    return _named(table, out.assign(**shown))[["lower mean", *shown]]


def _count(value: float | None) -> str:
    return f"over {MOST:,}" if pd.isna(value) else f"{int(value):,}"


@_checked
def summary(table: pd.DataFrame, pairs: pd.DataFrame, level: float = 0.95) -> list[str]:
    """A few lines for a terminal: each method's mean ±, its groups, and what can be concluded."""
    found, letters = intervals(table, level), group_letters(table, pairs)
    half = found["new_images"].fillna(found["these_images"])
    wide = max(len(m) for m in table["method"])
    lines = []
    for setting, facts in settings(table).iterrows():
        lines.append(f"{setting}: {facts['methods']} methods, {facts['tasks']} tasks, sampling {facts['sampling']}")
        for method, row in found.loc[setting].iterrows():
            key = (setting, method)
            lines.append(f"  {method:<{wide}}  {row['mean']:6.2f} ± {half[key]:5.2f}  {letters[key]}".rstrip())
    if len(pairs):
        lines.append(
            f"{pairs['holm'].sum()} of {len(pairs)} pairs are told apart (paired t-tests, Holm's correction, "
            f"{level:.4g}); methods that share a letter are not."
        )
        lines.append(f"Pairs on which unpaired closed intervals would say otherwise: {len(changed(table, pairs))}.")
    else:
        lines.append("One method a setting: no comparison is possible.")
    lines += crowded(table, pairs)
    return lines + [text.replace("**", "").replace("`", "") for text in reading(table)]


@_checked
def record(table: pd.DataFrame, pairs: pd.DataFrame, notes: list[str], level: float = 0.95) -> dict:
    """The whole report as plain values: notes, reading, settings, methods with intervals and groups, and all pairs.

    Numbers are not rounded. A half-width that the tasks cannot give is None.
    """
    methods = intervals(table, level).assign(groups=pd.Series(_names_of_groups(table, pairs))).reset_index()
    return {
        "level": level,
        "unit": "percent",
        "notes": [*notes, *crowded(table, pairs)],
        "reading": reading(table),
        "settings": settings(table).reset_index().to_dict("records"),
        "methods": methods.astype(object).where(methods.notna(), None).to_dict("records"),
        "pairs": pairs.assign(verdict=_verdict(pairs), changed=pairs["unpaired"] != pairs["holm"]).to_dict("records"),
    }


# What plain LaTeX lacks; amssymb has the triangles.
SYMBOLS = {
    "▲": r"$\blacktriangle$",
    "▼": r"$\blacktriangledown$",
    "△": r"$\vartriangle$",
    "▽": r"$\triangledown$",
    "○": r"$\circ$",
    "±": r"$\pm$",
    "−": "$-$",
    "<": "$<$",
    "—": "---",
    "\N{NO-BREAK SPACE}": "~",
}


@_checked
def write_tables(table: pd.DataFrame, pairs: pd.DataFrame, folder: str | Path, level: float = 0.95) -> list[Path]:
    """The report's tables as files, each in LaTeX (packages booktabs and amssymb) and Markdown.

    Returns
    -------
    list of paths
        methods, matrix, pairs, changed and needed, each .tex and .md; those without rows are left out.
    """
    made = {
        "methods": interval_list(table, pairs, level),
        "matrix": matrix(table, pairs),
        "pairs": pair_list(table, pairs),
        "changed": changed(table, pairs),
        "needed": needed(table, pairs, level),
    }
    out = []
    for name, frame in made.items():
        if frame.empty:
            continue
        index = [name or "method" for name in frame.index.names]
        flat = frame.rename_axis(index=index, columns=None).reset_index().astype(str)
        latex = flat.to_latex(index=False, escape=True)
        for symbol, code in SYMBOLS.items():
            latex = latex.replace(symbol, code)
        bare = flat.replace(r"\|", r"\\|", regex=True).rename(columns=lambda c: c.replace("|", r"\|"))
        for ending, text in (("tex", latex), ("md", bare.to_markdown(index=False, disable_numparse=True) + "\n")):
            out.append(Path(folder) / f"{name}.{ending}")
            replace_file(out[-1], lambda part: part.write_text(text, "utf-8"))
    return out


@_checked
def write_figures(table: pd.DataFrame, pairs: pd.DataFrame, folder: str | Path) -> list[Path]:
    """The report's figure (`plots.groups`) as groups.png, groups.pdf and groups.svg."""
    import matplotlib.pyplot as plt

    from . import plots

    out = [Path(folder) / f"groups.{ending}" for ending in ("png", "pdf", "svg")]
    with plt.rc_context():
        plots.style()
        figure = plots.groups(panels(table, pairs))
        for path in out:
            replace_file(path, lambda part: figure.savefig(part, bbox_inches="tight", dpi=200))
        plt.close(figure)
    return out
