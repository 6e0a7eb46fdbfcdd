"""Checks of the arguments that functions on results tables share."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from ...errors import InputError, choice, flag, floats, number, shown, whole
from ...stats import ThreeIntervals

__all__ = ["MANY", "ROWS"]

MANY, ROWS = 40, 500  # methods in a matrix or figure and rows of a table that somebody reads
OPTIONS = ("drop = ", "methods = ", "sampling = ")  # messages that begin with the option at fault
UNTOLD = "how the methods do on new images cannot be told from this file."
RECORDED = "how the methods do on new images, and on new classes, the three intervals tell."  # of a recording
READING = {
    "open": "Open tasks share no image, so their intervals and conclusions speak of **new images** of these classes.",
    "closed": "Closed tasks use images again, so their intervals and conclusions speak of **these very images** only. "
    "They would come out much the same with other tasks from the same images; " + UNTOLD,
    "unknown": "The file does not say how the tasks were drawn, so it cannot be told what a conclusion speaks of. "
    "**If no two tasks share an image** (open), it speaks of new images of these classes. **If images are "
    "used again** (closed, what most samplers do), it speaks of these very images only, and nothing is "
    "known of new ones. `--sampling open` or `--sampling closed` settles it.",
}
SETTLES = {
    "closed": "More closed tasks narrow only the interval for these images; for new images or new classes, more of "
    "those are needed.",
    "unknown": "If images are used again, more tasks narrow only the interval for these images.",
}


def checked(function: Callable) -> Callable:
    """The function, with each argument checked by its name in `CHECKS`; an `InputError` names it.

    None is allowed where it is what an argument is by default.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        for name, value in given.arguments.items():
            if value is not None or signature.parameters[name].default is not None:
                CHECKS[name](name, value)
        if "pairs" in given.arguments:
            _check_pairs_of(given.arguments["table"], given.arguments["pairs"])
        return function(*args, **kwargs)

    return call


def refuse(problems: Sequence[str]) -> None:
    """Raise `InputError` with all that is wrong, in one line; nothing where nothing is."""
    said = list(dict.fromkeys(problems))
    if len(said) == 1:
        raise InputError(said[0] if said[0].startswith(OPTIONS) else f"results: {said[0]}")
    if said:
        raise InputError(
            f"results: {len(said)} problems: " + "; ".join(f"({i}) {problem}" for i, problem in enumerate(said, 1))
        )


def members(table: pd.DataFrame) -> pd.Series:
    """Whose tasks each row is of: the method's, or where it was trained several times, that run's of the method."""
    return table["method"] + ", run " + table["run"] if "run" in table else table["method"]


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
    if value.duplicated([c for c in ("setting", "method", "run", "task") if c in value]).any():
        raise InputError(f"{name} has a task of a method twice; once is allowed")
    number_of = value.assign(method=members(value)).groupby("setting")[["method", "task"]].nunique()
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


def _check_paths(name: str, value: object) -> None:
    several = isinstance(value, Sequence) and not isinstance(value, (str, bytes)) and len(value)
    for one in value if several else [value]:
        _check_path(name, one)


def _check_path(name: str, value: object) -> None:
    if not isinstance(value, (str, os.PathLike)) or not str(value):
        raise InputError(f"results: {name} = {shown(value)}; the name of a file or folder is allowed")


def _check_found(name: str, value: object) -> None:
    if not isinstance(value, dict) or any(not isinstance(one, ThreeIntervals) for one in value.values()):
        raise InputError(f"{name} = {shown(value)}; a dict of ThreeIntervals by name is allowed")


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} = {shown(value)}; a name is allowed")


PAIRS = "setting a b tasks difference half_width sd p unpaired p_holm holm p_bh bh paired".split()
CHECKS = {  # by the name of the argument
    "table": _check_table,
    "pairs": _check_pairs,
    "frame": _check_frame,
    "name": _check_text,
    "path": _check_paths,
    "found": _check_found,
    "three": _check_found,
    "folder": _check_path,
    "methods": _check_names,
    "drop": _check_names,
    "notes": _check_names,
    "sampling": functools.partial(choice, allowed=[*READING]),
    "seed": functools.partial(choice, allowed=["run", "tasks", "unknown"]),
    "repeats": functools.partial(choice, allowed=["copies", "tasks", "unknown"]),
    "separator": functools.partial(choice, allowed=["comma", "semicolon", "tab", "bar", "blanks", "unknown"]),
    "decimal": functools.partial(choice, allowed=[".", ","]),
    "out_of": functools.partial(number, above=0),
    "common": flag,
    "runs": flag,
    "apart": functools.partial(_check_frame, columns=["a", "b"], source=" with columns a and b"),
    "level": functools.partial(number, above=0, below=1),
    "power": functools.partial(number, above=0, below=1),
    "margin": functools.partial(number, above=0),
    "effect": functools.partial(number, infinite=True),
    "most": functools.partial(whole, least=1),
}
