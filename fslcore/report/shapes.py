"""From cells to one row per measurement, and what kind of sample these rows are.

The rule: what has one meaning is taken; of two meanings the more cautious is taken, said, and the
option for the other is named; only what would be false is refused. The size of a number decides
nothing but its unit, shares or percent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd

from ..errors import InputError, like, visible
from .columns import (
    INDEX_NAME,
    LOWER_IS_BETTER,
    NUMBERED_METHOD,
    NUMBERED_UNIT,
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

PLACE_KEYS = ("dataset", "ways", "shots", "queries", "sampling")
UNIT_KEYS = ("task", "item", "class")
COUNT_KEYS = ("ways", "shots", "queries")
PERCENT = 100.0
FEW_VALUES = 4  # different values of a block that may come again by chance
MOSTLY_TEXT = 0.6  # share of cells that are no numbers, in a column that is not read
NUMBERED_FILE = re.compile(
    r"(?P<method>.*?)[-_. ]*(?P<word>seed|run|split|(?<![a-z])[sr])?[-_. ]*(?P<number>\d+)",
    re.IGNORECASE,
)


class Shape(StrEnum):
    """What the rows are a sample of."""

    TASKS = "tasks"
    DRAWS = "tasks in several draws"
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
    rows = with_units(rows, notes)
    shape = shape_of(rows, options, notes)
    percent = not options.lower_is_better
    return Measurements(rows.reset_index(drop=True), shape, percent, tuple(dict.fromkeys(notes)))


# One file -----------------------------------------------------------------------------------------


def rows_of(table: Table, options: Options, notes: list[str]) -> pd.DataFrame:
    """One file as rows with ``accuracy``, and ``method`` where the file names it."""
    if table.frame.empty and len(table.frame.columns):
        raise InputError(f"{table.name} has no rows")
    frame = table.frame.drop(columns=[name for name in options.drop if name in table.frame])
    frame = tracked_columns(frame, table.name, notes)
    check_epochs(frame, table.name, notes)
    frame = without_index(frame, table, notes)
    measured = [name for name in frame if not str(name).endswith(" ±")]
    names = chosen_meanings(measured)
    for name in names:
        if plain_name(name) == "run" and is_numeric(frame[name]):  # no names of methods
            names[name] = "run"
    names = {
        name: meaning
        for name, meaning in names.items()
        if meaning != "accuracy" or not is_mean_of_methods(name, frame, names)
    }
    if options.lower_is_better and "accuracy" not in names.values():
        names |= lower_column(measured)
    elif "half_width" in names.values() and "accuracy" not in names.values():
        means = [name for name in measured if plain_name(name) in ("mean", "average", "avg")]
        names |= dict.fromkeys(means[:1], "accuracy")
    if "accuracy" in names.values():
        rows = long_rows(frame, names, table.name, notes)
    else:
        rows = melted_rows(frame, names, table, options, notes)
    rows["accuracy"] = scaled(rows, table, options, notes)
    for key in COUNT_KEYS:
        if key in rows:
            digits = rows[key].astype(str).str.extract(r"(\d+)")[0]
            rows[key] = pd.to_numeric(digits).astype("Int64")
    if "method" in rows:
        rows["method"] = rows["method"].map(lambda name: visible(str(name).strip()))
        if rows["method"].eq("").any():
            raise InputError(f"{table.name} has a row without a method; name it, or leave it out")
    return rows


def is_mean_of_methods(name: str, frame: pd.DataFrame, names: dict[str, str]) -> bool:
    """Whether a column is the mean of others that stand beside it, a column per method."""
    others = [other for other in frame.select_dtypes("number") if other not in names]
    return is_summary(name) and any(not is_other_measure(other) for other in others)


def check_epochs(frame: pd.DataFrame, file: str, notes: list[str]) -> None:
    """Raise `InputError` for a curve of training, whose rows are epochs; note that steps may be."""
    meanings = {plain_name(name) for name in frame}
    units = {*chosen_meanings(frame).values()} & {"task", "item", "seed", "run", "dataset"}
    if meanings & {"epoch", "epochs"} and not units:
        raise InputError(
            f"{file} has a row per epoch, and epochs of a training are no tasks; keep the final "
            "test, with a row per task, seed or data set"
        )
    if "step" in meanings:
        notes.append(f"{file}: a step is read as the number of a task, and not of a training.")


def tracked_columns(frame: pd.DataFrame, file: str, notes: list[str]) -> pd.DataFrame:
    """Exports of tracking tools: 'run - metric' becomes 'run'; columns of bounds are left out."""
    matches = {name: TRACKED.fullmatch(str(name)) for name in frame}
    tracked = {name: match for name, match in matches.items() if match}
    if not tracked:
        return frame
    bounds = [name for name, match in tracked.items() if match["bound"]]
    if bounds:
        notes.append(f"{file}: columns that end with __MIN and __MAX are left out.")
    metrics = {match["metric"] for name, match in tracked.items() if name not in bounds}
    accuracies = {metric for metric in metrics if not is_other_measure(metric)}
    if len(accuracies) != 1:
        return frame.drop(columns=bounds)
    unused = [name for name, match in tracked.items() if match["metric"] not in accuracies]
    unread = [*bounds, *unused]
    names = {name: match["run"] for name, match in tracked.items() if name not in unread}
    notes.append(f"{file}: {accuracies.pop()} of {len(names)} runs is read, a method per run.")
    return frame.drop(columns=unread).rename(columns=names)


def without_index(frame: pd.DataFrame, table: Table, notes: list[str]) -> pd.DataFrame:
    """Columns that only number the rows are left out; an unnamed one of text names the data
    sets.
    """
    file = table.name
    unnamed = [name for name in frame if INDEX_NAME.fullmatch(str(name))]
    if [*frame.columns[:1]] == ["column 1"] and is_numbering(frame["column 1"]):
        unnamed = ["column 1"]
    meanings = chosen_meanings(frame)
    others = [name for name in frame if name not in unnamed and str(name) not in meanings]
    if len(frame) > 2:
        counters = [name for name in others if is_numbering(frame[name])]
        unnamed += [name for name in counters if frame[name].iloc[0] in (0, 1)]
    for name in unnamed:
        numeric = is_numeric(frame[name])
        if numeric and (frame[name] % 1 != 0).any():
            position = list(frame).index(name) + 1
            raise InputError(f"column {position} of {file} has no name; name it after its method")
        if numeric or frame[name].eq("").all():
            notes.append(f"{file}: column '{name}', which numbers the rows, is left out.")
            frame = frame.drop(columns=name)
        else:
            has_datasets = "dataset" in chosen_meanings(frame).values()
            meaning = "method" if has_datasets else "dataset"
            plural = "methods" if has_datasets else "data sets"
            notes.append(f"{file}: the column without a name is read as {plural}.")
            frame = frame.rename(columns={name: meaning})
    return frame


def is_numeric(values: pd.Series) -> bool:
    """Whether a column holds numbers."""
    return values.dtype.kind in "iuf"


def is_numbering(values: pd.Series) -> bool:
    """Whether values are consecutive whole numbers."""
    return is_numeric(values) and values.diff().iloc[1:].eq(1).all()


def lower_column(names: Sequence[str]) -> dict[str, str]:
    """The only column whose name is that of an error, a loss or a time, as the measured one."""
    columns = [name for name in names if plain_name(name) in LOWER_IS_BETTER]
    return {columns[0]: "accuracy"} if len(columns) == 1 else {}


def long_rows(
    frame: pd.DataFrame, names: dict[str, str], file: str, notes: list[str]
) -> pd.DataFrame:
    """Rows of a table with one column of values."""
    measured = next(name for name, meaning in names.items() if meaning == "accuracy")
    if not is_numeric(frame[measured]):
        cell = first_text(frame[measured], file)
        raise InputError(f"{measured} in {cell}; a number is needed, or nan")
    half_width = frame.get(f"{measured} ±")
    unread = [str(name) for name in frame if name not in names and name != f"{measured} ±"]
    if unread:
        notes.append(f"{file}: not read: {', '.join(unread)}.")
    rows = frame[[*names]].rename(columns=names)
    if half_width is not None:
        rows["half_width"] = half_width
    if "backbone" in rows:
        backbone = rows.pop("backbone").astype(str)
        rows["method"] = (
            backbone + " " + rows["method"].astype(str) if "method" in rows else backbone
        )
    return without_empty(rows, file, notes)


def melted_rows(
    frame: pd.DataFrame,
    names: dict[str, str],
    table: Table,
    options: Options,
    notes: list[str],
) -> pd.DataFrame:
    """Rows of a table with several columns of values: a column per method, or a row per method."""
    keys = [name for name in names if names[name] not in ("accuracy", "half_width")]
    columns = value_columns(frame, keys, table.name, options, notes)
    keyed = frame[keys].rename(columns=names)
    if not {"method", "task", "item", "dataset", "seed", "run"} & {*names.values()}:
        keyed["task"] = np.arange(len(frame))
    parts = []
    for name in columns:
        part = keyed.assign(column=str(name), accuracy=frame[name])
        if f"{name} ±" in frame:
            part["half_width"] = frame[f"{name} ±"]
        parts.append(part)
    rows = without_empty(pd.concat(parts, ignore_index=True), table.name, notes)
    return named_by_column(rows, columns, table, notes)


def without_empty(rows: pd.DataFrame, file: str, notes: list[str]) -> pd.DataFrame:
    """Rows that have a value; how many have none is noted."""
    empty = rows["accuracy"].isna()
    if empty.any():
        notes.append(f"{file}: {int(empty.sum())} empty values are left out.")
    return rows[~empty].copy()


def value_columns(
    frame: pd.DataFrame, keys: Sequence[str], file: str, options: Options, notes: list[str]
) -> list[str]:
    """The columns of values: of numbers, and no other measure, summary or ±."""
    numeric = [name for name in frame if is_numeric(frame[name]) and name not in keys]
    numeric = [name for name in numeric if not str(name).endswith(" ±")]
    if options.methods:
        unwanted = [name for name in numeric if name not in options.methods]
    else:
        unwanted = [name for name in numeric if is_other_measure(name) or is_summary(name)]
    if options.lower_is_better and not options.methods:
        unwanted = [name for name in unwanted if not words_of(name) & LOWER_IS_BETTER]
    columns = [name for name in numeric if name not in unwanted]
    others = (*numeric, *keys)
    texts = [name for name in frame if name not in others and not str(name).endswith(" ±")]
    check_mostly_numbers(frame[texts], file)
    if not columns:
        lower = [str(name) for name in unwanted if words_of(name) & LOWER_IS_BETTER]
        if lower:
            raise InputError(
                f"{file}: {', '.join(lower)}: lower is better of an error, a loss or a time; "
                "say --lower-is-better to compare methods by it"
            )
        listed = ", ".join(map(str, frame)) or "none"
        if options.methods:
            named = ", ".join(options.methods)
            raise InputError(f"methods = {named}; {file} has the columns {listed}")
        raise InputError(
            f"{file} has the columns {listed}; a column accuracy, or a column of numbers per "
            "method, is needed"
        )
    summaries = [str(name) for name in unwanted if is_summary(name)]
    if summaries:
        notes.append(f"{file}: left out, as a summary of the others: {', '.join(summaries)}.")
    unwanted = [str(name) for name in unwanted if str(name) not in summaries]
    if unwanted:
        listed = ", ".join(unwanted)
        notes.append(
            f"{file}: left out, as their names are no methods': {listed} (--methods names all "
            "methods)."
        )
    if texts:
        notes.append(f"{file}: not read: {', '.join(map(str, texts))}.")
    return columns


def check_mostly_numbers(texts: pd.DataFrame, file: str) -> None:
    """Raise `InputError` for columns of numbers in which a few cells are other text."""
    problems = []
    for name, cells in texts.items():
        if pd.to_numeric(cells, errors="coerce").isna().mean() < MOSTLY_TEXT:
            problems.append(
                f"{name} in {first_text(cells, file)}; a number is needed, or nan where a value is "
                f"missing (--drop {name} leaves the column out)"
            )
    refuse(problems)


def first_text(cells: pd.Series, file: str) -> str:
    """Where the first cell that is no number stands, and what it is."""
    row = int(pd.to_numeric(cells, errors="coerce").isna().to_numpy().argmax())
    return f"row {row + 1} of {file} is {cells.iloc[row] or 'empty'}"


def named_by_column(
    rows: pd.DataFrame, columns: Sequence[str], table: Table, notes: list[str]
) -> pd.DataFrame:
    """What the names of the columns of values are: methods, seeds, shots, or data sets."""
    column = rows.pop("column")
    has_methods = "method" in rows
    for pattern in (NUMBERED_UNIT, NUMBERED_METHOD, SHOTS):
        parts = column.str.extract(rf"^{pattern.pattern}$", flags=re.IGNORECASE)
        parts = parts.reindex(columns=["method", "word", "number"])
        words, methods = parts["word"].dropna(), parts["method"]
        if parts["number"].isna().any() or (pattern is not NUMBERED_UNIT and len(columns) == 1):
            continue
        key = key_of_word(words.iloc[0]) if len(words) else "seed"
        if pattern is NUMBERED_UNIT:
            if parts["word"].nunique(dropna=False) > 1:
                continue
            notes.append(f"{table.name}: a column per {key}.")
        elif pattern is NUMBERED_METHOD:
            notes.append(f"{table.name}: columns are named after a method and a {key}.")
        elif methods.isna().all() == has_methods:
            key = "shots"
            notes.append(f"{table.name}: the names of columns hold the number of shots.")
        else:
            continue
        if methods.notna().all():
            rows["method"] = methods
        return rows.assign(**{key: parts["number"].astype(int)})
    if has_methods:
        key = "dataset" if "dataset" not in rows else "sampling"
        notes.append(f"{table.name}: a row per method and a column per data set.")
        return rows.assign(**{key: column})
    if len(columns) == 1 and (str(columns[0]).startswith("column ") or chosen_meanings(columns)):
        return rows
    return rows.assign(method=column)


def key_of_word(word: str) -> str:
    """The key that a word in a column's name stands for."""
    return next(iter(chosen_meanings([word.lower()]).values()), "seed").replace("method", "run")


def scaled(rows: pd.DataFrame, table: Table, options: Options, notes: list[str]) -> pd.Series:
    """Values in percent, or as written where lower is better."""
    values = rows["accuracy"].astype(float)
    if values.empty:
        raise InputError(f"{table.name} has no number in its columns of values")
    if not np.isfinite(values).all():
        raise InputError(f"{table.name} has an infinite value; finite numbers are needed, or nan")
    if options.lower_is_better:
        return values
    full_score = options.out_of or (1.0 if values.max() <= 1 else PERCENT)
    if values.min() < 0 or values.max() > full_score:
        outside = values.min() if values.min() < 0 else values.max()
        raise InputError(
            f"{table.name} has the value {outside:g}, and accuracies go from 0 to "
            f"{full_score:g}; for right answers "
            "of 75 say --out-of 75, for errors, losses or times --lower-is-better, and leave "
            "other columns "
            "out with --drop NAME"
        )
    if options.out_of is None:
        check_one_unit(rows, table.name)
    if "half_width" in rows:
        rows["half_width"] *= PERCENT / full_score
    if full_score == 1 and not values.isin([0.0, 1.0]).all():
        notes.append(f"{table.name}: values from 0 to 1 are read as shares.")
    whole_numbers = (values % 1 == 0).all() and values.max() > 1
    if whole_numbers and options.out_of is None:
        notes.append(
            f"{table.name}: whole numbers are read as percent; if they count right answers, say "
            "--out-of N. "
            "Sizes in points change, tests do not."
        )
    return values * (PERCENT / full_score)


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


# All files ----------------------------------------------------------------------------------------


def joined(
    parts: Sequence[pd.DataFrame], tables: Sequence[Table], notes: list[str]
) -> pd.DataFrame:
    """The rows of all files; what files do not say of themselves is taken from their names."""
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
        if are_seeds and not {"seed", "run", "support"} & {*part}:
            part = part.assign(**{key_of_word(match["word"] or "seed"): int(match["number"])})
        if "method" not in part:
            name = match["method"] if are_seeds else table.stem
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
        rows = rows[~rows[key].astype(str).isin(options.drop)]
    if options.methods:
        rows = rows[rows["method"].isin(options.methods)]
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
    for option in ("methods", "drop"):
        for name in getattr(options, option):
            if name not in names:
                problems.append(
                    f"{option} = {name}; no column, method or row has that "
                    f"name{like(name, methods)}"
                )
    if options.reference is not None and options.reference not in methods:
        listed = ", ".join(sorted(methods)[:20])
        problems.append(
            f"reference = {options.reference}; {listed} are "
            f"allowed{like(options.reference, methods)}"
        )
    refuse(problems)


def with_units(rows: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Rows with the key of their unit, and no row twice.

    Raises
    ------
    InputError
        Rows with the same keys.
    """
    keys = ["method", *PLACE_KEYS, "seed", "run", "support", *UNIT_KEYS]
    keys = [key for key in keys if key in rows]
    parts = {"class": "accuracies of the classes", "item": "answers to the items"}
    parts_of_task = [key for key in parts if key in keys]
    if "task" in keys and parts_of_task and "support" not in keys:
        notes += [f"The {parts[key]} of a task are averaged." for key in parts_of_task]
        return averaged(rows, [key for key in keys if key not in parts])
    repeated = rows.duplicated(keys, keep=False)
    if not repeated.any():
        return rows
    rows = rows.copy()
    if not {*UNIT_KEYS} & {*keys}:
        rows["task"] = rows.groupby(keys, sort=False).cumcount()
        notes.append(
            "Rows name no task: row k of each method is read as task k. If they are different "
            "tasks, the tests still hold."
        )
        return rows
    if "support" not in keys and rows["accuracy"].isin([0.0, PERCENT]).all():
        notes.append("Right and wrong answers of the same task are averaged.")
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
        check_copies(rows, seeded[0])
    if not units:
        return shape_of_means(rows, seeded, notes)
    check_blocks(rows)
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
        "fslcore compare 71.2±0.4 70.5±0.5 --tasks 600"
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
        return Shape.DRAWS
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


def check_blocks(rows: pd.DataFrame) -> None:
    """Raise `InputError` where the values of a method are one block of values again and again."""
    groups = [name for name in ("method", *PLACE_KEYS) if name in rows]
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


def check_copies(rows: pd.DataFrame, key: str) -> None:
    """Raise `InputError` where two seeds, or runs, of a method have the very same numbers."""
    groups = [name for name in ("method", *PLACE_KEYS) if name in rows]
    for place, part in rows.groupby(groups, sort=False):
        vectors = part.groupby(key, sort=False)["accuracy"].agg(tuple)
        copies = vectors[vectors.duplicated(keep=False) & (vectors.map(len) > 4)]
        if len(copies):
            raise InputError(
                f"{place[0]}: {key} {copies.index[0]} and {key} {copies.index[1]} have the very "
                "same numbers; one is a "
                f"copy of the other: leave it out (--drop {copies.index[1]}), or bring its own "
                "results"
            )
