"""The rows of all files, and what kind of sample they are.

The rule: what has one meaning is taken; of two meanings the more cautious is taken, said, and the
option for the other is named; only what would be false is refused. The size of a number decides
nothing but its unit, shares or percent.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd

from ..errors import InputError, suggestion, visible
from .columns import is_summary
from .options import Options
from .read import Table, refuse
from .rows import PERCENT, UNIT_KEYS, key_of_word, rows_of

PLACE_KEYS = ("dataset", "ways", "shots", "queries", "sampling")
FEW_VALUES = 4  # different values of a block that may come again by chance
NUMBERED_FILE = re.compile(
    r"(?P<method>.*?)[-_. ]*(?P<word>seed|run|split|(?<![a-z])[sr])?[-_. ]*(?P<number>\d+)",
    re.IGNORECASE,
)


class Shape(StrEnum):
    """What the rows are a sample of."""

    TASKS = "tasks"
    TASKS_IN_DRAWS = "tasks in several draws"
    RUNS = "training runs on tasks"
    DATASETS = "data sets"
    SEEDS = "seeds"
    DATASETS_AND_SEEDS = "data sets and seeds"
    PRINTED = "printed means"
    OUTCOMES = "right or wrong answers"
    ITEMS = "items under supports"
    RECORDED = "recorded tasks"


@dataclass(frozen=True)
class Measurements:
    """Rows of measurements and what they are.

    Attributes
    ----------
    rows : DataFrame
        ``method``, ``accuracy`` (percent, or as written) and the keys that the files have: those
        of the place (`PLACE_KEYS`), ``seed``, ``run``, and of the unit (`UNIT_KEYS`);
        ``half_width`` of printed means.
    shape : Shape
    percent : bool
        Whether the values are accuracies in percent.
    notes : tuple of str
        How the files were read, a sentence per choice.
    """

    rows: pd.DataFrame
    shape: Shape
    percent: bool
    notes: tuple[str, ...]


def measurements(tables: Sequence[Table], options: Options) -> Measurements:
    """One row per measurement of all files.

    Raises
    ------
    InputError
        What has no true reading, with the way out; all problems of all files in one line.
    """
    notes = [note for table in tables for note in table.notes]
    problems: list[str] = []
    parts = []
    for table in tables:
        try:
            parts.append(rows_of(table, options, notes))
        except InputError as error:
            problems.append(str(error))
    refuse(problems)
    rows = joined(parts, tables, notes)
    rows = without_summaries(rows, options, notes)
    check_names(rows, tables, options)
    rows = with_units(rows, options, notes)
    rows = with_items_of_one_class(rows, notes)
    shape = shape_of(rows, options, notes)
    percent = not options.lower_is_better
    return Measurements(rows.reset_index(drop=True), shape, percent, tuple(dict.fromkeys(notes)))


# All files ----------------------------------------------------------------------------------------


def joined(
    parts: Sequence[pd.DataFrame], tables: Sequence[Table], notes: list[str]
) -> pd.DataFrame:
    """The rows of all files; what files do not name is taken from their own names."""
    if len(parts) == 1:
        rows = parts[0]
        return rows if "method" in rows else rows.assign(method=visible(tables[0].stem))
    numbered = [NUMBERED_FILE.fullmatch(table.stem) for table in tables]
    prefixes = [match["method"] for match in numbered if match]
    are_seeds = len(prefixes) == len(tables) and len(set(prefixes)) < len(prefixes)
    if are_seeds and not any("support" in part for part in parts):
        notes.append("The number at the end of a file's name is read as its seed.")
    if any("method" not in part for part in parts):
        notes.append("Methods are called after their files.")
    named = []
    for part, table, match in zip(parts, tables, numbered, strict=True):
        if are_seeds and match and not {"seed", "run", "support"} & {*part}:
            part = part.assign(**{key_of_word(match["word"] or "seed"): int(match["number"])})
        if "method" not in part:
            name = match["method"] if are_seeds and match else table.stem
            part = part.assign(method=visible(name or "method"))
        named.append(part.assign(file=table.stem))
    rows = pd.concat(named, ignore_index=True)
    several_files = rows.groupby("method")["file"].nunique().max() > 1
    if several_files and not {"seed", "run", "dataset"} & {*rows}:
        rows["dataset"] = rows["file"]
        notes.append("Files with the same methods are read as data sets, named after the files.")
    return rows.drop(columns="file")


def without_summaries(rows: pd.DataFrame, options: Options, notes: list[str]) -> pd.DataFrame:
    """Rows of means over the others, and what the user drops, are left out."""
    for key in ("task", "item", "dataset", "class", "method", "seed", "run"):
        if key not in rows:
            continue
        texts = rows[key].astype(str)
        summaries = {text for text in texts.unique() if is_summary(text)}
        if summaries:
            summaries |= {text for text in texts.unique() if re.fullmatch(r"\d+%", text)}
        if summaries and len(summaries) < texts.nunique():
            notes.append(f"Left out, as a summary of the others: {', '.join(sorted(summaries))}.")
            rows = rows[~texts.isin(summaries)]
        rows = rows[~rows[key].astype(str).isin(options.leave_out)]
    if options.only_methods:
        rows = rows[rows["method"].isin(options.only_methods)]
    if rows.empty:
        raise InputError("nothing is left: --drop and --methods leave every row out")
    return rows.copy()


def check_names(rows: pd.DataFrame, tables: Sequence[Table], options: Options) -> None:
    """Raise `InputError` for a method, a reference or a dropped name that the files do not have."""
    methods = set(rows["method"])
    names = {*methods}
    for table in tables:
        names |= {*map(str, table.frame)}
        for column in table.frame.select_dtypes(exclude="floating"):
            names |= {*map(str, table.frame[column].unique())}
    problems = []
    for option, given_names in (("methods", options.only_methods), ("drop", options.leave_out)):
        for name in given_names:
            if name not in names:
                problems.append(
                    f"{option} = {name}; no column, method or row has that "
                    f"name{suggestion(name, methods)}"
                )
    if options.reference is not None and options.reference not in methods:
        listed = ", ".join(sorted(methods)[:20])
        problems.append(
            f"reference = {options.reference}; {listed} are "
            f"allowed{suggestion(options.reference, methods)}"
        )
    refuse(problems)


def with_units(rows: pd.DataFrame, options: Options, notes: list[str]) -> pd.DataFrame:
    """Rows that have a value, with the key of their unit, and no row twice.

    Raises
    ------
    InputError
        Rows with the same keys; ``common`` where rows name no task and methods have different
        numbers of rows.
    """
    keys = ["method", *PLACE_KEYS, "seed", "run", "support", *UNIT_KEYS]
    keys = [key for key in keys if key in rows]
    parts = {"class": "accuracies of the classes", "item": "answers to the items"}
    parts_of_task = [key for key in parts if key in keys]
    has_value = rows["accuracy"].notna()
    repeated = rows[has_value].duplicated(keys, keep=False)
    if repeated.any() and not {*UNIT_KEYS} & {*keys}:
        # Rows without a value have their place too: only then is row k the same task in all files.
        numbered = numbered_rows(rows, keys, options, notes)
        return numbered[has_value].copy()
    rows = rows[has_value].copy()
    if "task" in keys and parts_of_task and "support" not in keys:
        notes += [f"The {parts[key]} of a task are averaged." for key in parts_of_task]
        return averaged(rows, [key for key in keys if key not in parts])
    if not repeated.any():
        return rows
    if "support" not in keys and rows["accuracy"].isin([0.0, PERCENT]).all():
        unit = next(key for key in UNIT_KEYS if key in keys)
        notes.append(f"Right and wrong answers of the same {unit} are averaged.")
        return averaged(rows, keys)
    if rows.groupby(keys).size().nunique() > 1 or "run" in keys:
        first = rows[repeated].iloc[0]
        place = ", ".join(f"{key} {first[key]}" for key in keys)
        raise InputError(
            f"{int(repeated.sum())} rows come more than once (the first: {place}); keep each once, "
            "or number training runs in a column run"
        )
    rows["run"] = rows.groupby(keys, sort=False).cumcount()
    notes.append("A task that comes again for a method is read as another training run of it.")
    return rows


def with_items_of_one_class(rows: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Rows in which an item has one class: items that are numbered within classes get names of
    their own, and a column that gives an item another class under another method goes.
    """
    if not {"item", "class"} <= {*rows} or rows.groupby("item")["class"].nunique().max() < 2:
        return rows
    if rows.groupby(["method", "item"])["class"].nunique().max() < 2:
        notes.append(
            "The column of classes is not read: it gives the same item another class under another "
            "method."
        )
        return rows.drop(columns="class")
    notes.append("Items are numbered within classes: class and number name an item.")
    return rows.assign(item=rows["class"].astype(str) + " " + rows["item"].astype(str))


def numbered_rows(
    rows: pd.DataFrame, keys: Sequence[str], options: Options, notes: list[str]
) -> pd.DataFrame:
    """Rows with their place as ``task``; a method with fewer rows than others has its own tasks."""
    rows = rows.assign(task=rows.groupby([*keys], sort=False, dropna=False).cumcount())
    notes.append(
        "Rows name no task: row k of each method is read as task k. If they are different "
        "tasks, the tests still hold."
    )
    count = rows.groupby([*keys], dropna=False)["task"].transform("size")
    place = [rows[key] for key in keys if key != "method"] or [np.zeros(len(rows))]
    most = count.groupby(place, dropna=False).transform("max")
    is_shorter = count < most
    if not is_shorter.any():
        return rows
    first = is_shorter.idxmax()
    problem = (
        f"{rows['method'][first]} has {count[first]:,} rows, another method {most[first]:,}, and "
        "rows name no task: which tasks are the same is unknown; number them in a column task, or "
        "write nan where a value is missing"
    )
    if options.common:
        raise InputError(f"--common: {problem}")
    notes.append(f"{problem}.")
    own_numbers = (rows["method"].factorize()[0] + 1) * count.max() + rows["task"]
    return rows.assign(task=rows["task"].mask(is_shorter, own_numbers))


def averaged(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Mean values by these keys."""
    return rows.groupby([*keys], sort=False, as_index=False)["accuracy"].mean()


# The shape ----------------------------------------------------------------------------------------


def shape_of(rows: pd.DataFrame, options: Options, notes: list[str]) -> Shape:
    """What the rows are a sample of.

    Raises
    ------
    InputError
        One mean per method, without a ±: nothing varies; copies of the same numbers.
    """
    units = {*UNIT_KEYS} & {*rows}
    seeded = [key for key in ("run", "seed") if key in rows and rows[key].nunique() > 1]
    if "support" in rows and (units or rows["support"].nunique() > 1):
        return Shape.ITEMS
    if units and "group" in rows:
        return Shape.ITEMS
    if seeded:
        check_copies(rows, seeded[0], notes)
    if not units:
        return shape_of_means(rows, seeded, notes)
    check_blocks(rows, seeded)
    if seeded:
        return shape_of_seeded(rows, seeded[0], options, notes)
    if rows["accuracy"].isin([0.0, PERCENT]).all() and not options.lower_is_better:
        notes.append("Values are 0 and 1 alone: each is read as one wrong or right answer.")
        return Shape.OUTCOMES
    return Shape.TASKS


def shape_of_means(rows: pd.DataFrame, seeded: Sequence[str], notes: list[str]) -> Shape:
    """`shape_of` one mean per cell."""
    datasets = rows["dataset"].nunique() if "dataset" in rows else 1
    if "half_width" in rows and rows["half_width"].notna().all():
        return Shape.PRINTED
    if datasets > 1:
        return Shape.DATASETS_AND_SEEDS if seeded else Shape.DATASETS
    if seeded:
        notes.append(
            "Does a seed here vary the training, the tasks, or both? Verdicts are for whatever "
            "it varies."
        )
        return Shape.SEEDS
    raise InputError(
        "one number per method: nothing shows how much it varies. Bring a row per task, per seed "
        "or per data set, or compare printed figures with their ±: "
        "fslcore compare 79.59±0.52 76.87±0.56 --tasks 600"
    )


def shape_of_seeded(rows: pd.DataFrame, key: str, options: Options, notes: list[str]) -> Shape:
    """`shape_of` tasks under several seeds: draws of tasks, or the more cautious training runs."""
    unit = next(name for name in UNIT_KEYS if name in rows)
    of_unit = rows.groupby([name for name in (*PLACE_KEYS, unit) if name in rows])[key].nunique()
    is_unknown = options.seed == "unknown"
    if options.seed == "tasks" or (is_unknown and of_unit.max() == 1):
        notes.append(
            f"Each {key} has tasks of its own: they are read as one sample of tasks in several "
            "draws."
        )
        return Shape.TASKS_IN_DRAWS
    if key == "seed" and is_unknown and unit == "item":
        notes.append(
            "Each seed is read as a support (labelled examples, or a prompt) of all items; "
            "--seed runs reads trainings."
        )
        return Shape.ITEMS
    if key == "seed" and is_unknown:
        notes.append(
            "A seed may number trainings or draws of tasks: it is read as trainings, the more "
            "cautious; --seed tasks reads draws of tasks."
        )
    return Shape.RUNS


def check_blocks(rows: pd.DataFrame, seeded: Sequence[str]) -> None:
    """Raise `InputError` where the values of a method, under one seed, are one block of values
    again and again.
    """
    groups = [name for name in ("method", *PLACE_KEYS, *seeded) if name in rows]
    for place, part in rows.groupby(groups, sort=False):
        values = part["accuracy"].to_numpy()
        for times in range(2, 11):
            blocks = values.reshape(times, -1) if len(values) % times == 0 else values[None]
            repeats = len(blocks) > 1 and (blocks == blocks[0]).all()
            if repeats and len(np.unique(blocks[0])) > FEW_VALUES:
                raise InputError(
                    f"{place[0]}: {len(values)} values are the same {blocks.shape[1]} values "
                    f"{times} times; keep each task once, or number runs in a column run"
                )


def check_copies(rows: pd.DataFrame, key: str, notes: list[str]) -> None:
    """Raise `InputError` where two seeds, or runs, of a method have the very same numbers, and
    another does not.

    A method with the same numbers under every seed may be deterministic, which is noted, and a few
    different values, as where all answers are right, may come again by chance.
    """
    groups = [name for name in ("method", *PLACE_KEYS) if name in rows]
    equal = []
    for place, part in rows.groupby(groups, sort=False):
        vectors = part.groupby(key, sort=False)["accuracy"].agg(tuple)
        copies = vectors[vectors.duplicated(keep=False)]
        copies = copies[copies.map(lambda values: len({*values}) > FEW_VALUES)]
        if copies.empty:
            continue
        if vectors.nunique() == 1:
            equal.append(place[0])
            continue
        raise InputError(
            f"{place[0]}: {key} {copies.index[0]} and {key} {copies.index[1]} have the very same "
            f"numbers; one is a copy of the other: leave it out (--drop {shlex.quote(str(copies.index[1]))}), or "
            "bring its own results"
        )
    if equal:
        notes.append(
            f"Every {key} of {', '.join(dict.fromkeys(equal))} has the very same numbers: it is "
            "read as a method without randomness. If they are copies of one file, leave them out "
            f"with --drop and the number of the {key}."
        )
