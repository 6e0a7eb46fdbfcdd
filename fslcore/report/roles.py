"""What each column of results is: named by a word of the vocabulary or by an option, never by what is left.

A column that varies and has no role is an error, whose message shows what the column could be.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ..errors import InputError, check_together, quoted, shown, suggestion
from .model import SETTINGS, UNIT_KEYS, Table
from .options import UNITS, Options
from .tables import EMPTY_CELLS, is_value
from .vocabulary import (
    ANSWERS,
    COUNTS,
    DESCRIBED,
    FACTS,
    INDEX_NAME,
    LOWER_IS_BETTER,
    NUMBERED,
    OTHER_MEASURES,
    REPORTED,
    ROLE_OF,
    STEPS,
    TRIALS,
    VOCABULARY,
    VOTES,
    is_accuracy,
    kind_of_spread,
    plain_name,
    words_of,
)

PLUS_MINUS, BRACKETS = " ±", " ()"  # at the end of columns that cells with two numbers give
FILE = "file"
NAMELESS = "numbers"  # of a file of numbers alone
PLACE = "place in file"
NAMED_KEYS = (*UNIT_KEYS, "support", "seed", "draw", "run", "fold", "group", *SETTINGS)
PLURALS = {
    "class": "classes",
    "dataset": "data sets",
    "shots": "numbers of shots",
    "queries": "numbers of queries",
    "ways": "numbers of ways",
    "sampling": "kinds of sampling",
}
KINDS_OF_SPREAD = {
    "ci": "half of an interval",
    "se": "standard error",
    "sd": "standard deviation",
}
REPETITIONS = ("run", "draw", "seed", "fold")  # one of them alone says nothing
SHOWN = 4  # names of methods
MOST_NAMES = 30  # of columns in one message
FEW = 60  # values of a column that may be a setting or a method


def is_numeric(values: pd.Series) -> bool:
    """Whether a column holds numbers."""
    return values.dtype.kind in "biuf"


@dataclass
class Roles:
    """The role of each column.

    Attributes
    ----------
    method, value : str or None
        None where the method is one for all rows, or values are in several columns.
    wide : dict of str
        By column of values, what its name is: ('method', 'ours'), as a tuple of pairs.
    keys : dict of str
        By column, the key of rows that it holds: a unit, a data set, a seed, …
    blocks : dict of str
        By column within whose values methods are compared, the key of rows that it gives.
    spread : tuple of str or None
        The kind of ± and its column; '' for that in the cells of values.
    count, low, high, of : str, int or None
    ignored : dict of str
        By column that has no role, why.
    """

    method: str | None = None
    value: str | None = None
    wide: dict[str, dict[str, object]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)
    spread: tuple[str, str] | None = None
    count: str | int | None = None
    low: str | None = None
    high: str | None = None
    of: str | None = None
    ignored: dict[str, str] = field(default_factory=dict)

    def words(self) -> set[str]:
        """The keys that rows have, those in the names of columns included."""
        return {*self.keys.values(), *self.wide_words()} | ({"method"} if self.method else set())

    def wide_words(self) -> set[str]:
        """The keys in the names of columns of values."""
        return {key for names in self.wide.values() for key in names}

    def key_columns(self) -> list[str]:
        """The columns that tell rows apart."""
        return [column for column in (self.method, *self.keys, *self.blocks) if column]

    def left_out(self) -> list[str]:
        """The columns whose names a report lists, as their values may matter to a reader."""
        silent = ("constant", "an index", "±")
        return [column for column, why in self.ignored.items() if why not in silent]

    def column_of(self, key: str) -> str | None:
        """The column that holds this key of a row, if one does."""
        return next((column for column, known in self.keys.items() if known == key), None)

    def has(self, column: str) -> bool:
        """Whether a column has a role."""
        single = (self.method, self.value, self.count, self.low, self.high, self.of)
        several = (self.wide, self.keys, self.blocks, self.ignored)
        is_spread = self.spread is not None and column == self.spread[1]
        return is_spread or column in single or any(column in columns for columns in several)


class Direction(InputError):
    """A measure whose name says that lower is better, where nothing else says so."""


class Unassigned(InputError):
    """Columns without a role, and what else is not named.

    Attributes
    ----------
    columns : list of str
        Those that vary; where no column holds values, also those of one number.
    missing : tuple of str
        'value', 'rows', 'pm', 'seed': roles that nothing has.
    roles : Roles
        What is known.
    """

    def __init__(self, message: str, roles: Roles, *missing: str, columns: Sequence[str] = ()):
        super().__init__(message)
        self.columns, self.missing, self.roles = [*columns], missing, roles


def one_frame(tables: Sequence[Table]) -> pd.DataFrame:
    """The rows of all files, with the named parts of their paths and, of several, their names."""
    frames = []
    for table in tables:
        frame = with_tool_methods(table.frame)
        frame.insert(0, PLACE, frame.index.to_numpy())
        for name, text in (table.parts or {}).items():
            if name in frame and not frame[name].astype(str).eq(text).all():
                raise InputError(
                    f"{table.name}: {name} is {text} in its path and {frame[name].iloc[0]} in its "
                    "rows; name one of them otherwise"
                )
            frame[name] = int(text) if re.fullmatch(r"\d{1,18}", text) else text
        names_method = table.from_tool and "method" in frame
        if len(tables) > 1 and not table.parts and not names_method:
            frame[FILE if FILE not in table.frame else "name of file"] = table.stem
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def with_tool_methods(frame: pd.DataFrame) -> pd.DataFrame:
    """A table of ``fslcore evaluate``, whose backbone and learner together are the method."""
    parts = ["backbone", "learner"]
    if not {*parts} <= {*frame} or "method" in frame:
        return frame.copy()
    names = frame["backbone"].astype(str) + " " + frame["learner"].astype(str)
    return frame.drop(columns=parts).assign(method=names)


def chosen_rows(frame: pd.DataFrame, where: Sequence[str]) -> pd.DataFrame:
    """The rows that meet the conditions: any of those of one column, and all of different ones.

    Raises
    ------
    InputError
        A column that does not exist, a value that it does not have.
    """
    wanted: dict[tuple[str, bool], list[str]] = {}
    for condition in where:
        column, differs, value = re.split(r"(?s)(?<=.)(!?)=", condition, maxsplit=1)
        check_column("where", column, frame)
        if value not in set(texts_of(frame[column])):
            seen = ", ".join(map(str, frame[column].unique()[:8]))
            raise InputError(f"where = {condition}; {column} has the values {seen}")
        wanted.setdefault((column, bool(differs)), []).append(value)
    for (column, differs), values in wanted.items():
        frame = frame[texts_of(frame[column]).isin(values) != differs]
    if frame.empty:
        raise InputError(f"where = {' '.join(where)}; no row is left")
    return frame


def texts_of(values: pd.Series) -> pd.Series:
    """Values as text; whole numbers without a point."""
    if values.dtype.kind == "f":
        return values.map(lambda value: f"{value:.15g}")
    return values.astype(str)


def check_column(option: str, name: str, frame: pd.DataFrame) -> None:
    """Raise `InputError` if a column does not exist."""
    if name not in frame:
        columns = [column for column in frame if column != PLACE]
        raise InputError(
            f"{option} = {name}; the columns {', '.join(columns[:20])} are "
            f"there{suggestion(name, columns)}"
        )


def varies(values: pd.Series) -> bool:
    """Whether a column has more than one value; one that has gaps too does."""
    return values.nunique(dropna=False) > 1


def roles_of(frame: pd.DataFrame, options: Options, name: str) -> Roles:
    """The role of each column.

    Parameters
    ----------
    frame : DataFrame
        As of `one_frame`.
    options : Options
    name : str
        What messages call the files.

    Raises
    ------
    Unassigned
        Columns that vary and have no role.
    InputError
        An option that names no column, or one column twice.
    """
    roles = declared(frame, options)
    check_roles(roles)
    leave_out_constant(frame, roles)
    name_by_words(frame, options, roles)
    leave_out_numbers_of_rows(frame, options, roles)
    name_headers(frame, roles)
    leave_out_measures(frame, roles)
    add_spread(frame, options, roles)
    check_sample(frame, roles, name)
    has_values = bool(roles.value or roles.wide)
    unnamed = unnamed_columns(frame, roles, constants=not has_values)
    missing = []
    problems = []
    if not has_values:
        missing.append("value")
        if not any(is_numeric(frame[column]) for column in unnamed):
            problems.append("no column is named as values")
    if unnamed:
        more = f" and {len(unnamed) - MOST_NAMES:,} more" if len(unnamed) > MOST_NAMES else ""
        names = ", ".join(map(shown, unnamed[:MOST_NAMES]))
        problems.append(f"{names}{more} {'has' if len(unnamed) == 1 else 'have'} no role")
    if roles.spread and roles.spread[0] == "unknown":
        missing.append("pm")
        if not problems:
            problems.append("what ± is has to be said: pm='ci', pm='se', or pm='sd' and n=N")
    if problems:
        message = f"{name}: {'; '.join(problems)}"
        raise Unassigned(message, roles, *missing, columns=unnamed)
    return roles


def declared(frame: pd.DataFrame, options: Options) -> Roles:
    """The roles that options name.

    Raises
    ------
    InputError
        A column that does not exist, or that two options name.
    """
    methods = columns_of_methods(frame, options)
    wide: dict[str, dict[str, object]] = {name: {"method": name} for name in methods}
    for word, names in options.columns.items():
        wide |= {name: {word: name} for name in names}
    # Of several columns of values, the option names what they measure.
    has_value = options.value in frame or not (options.methods or options.columns)
    value = options.value if has_value else None
    if options.value is not None and options.value not in frame and NAMELESS in frame:
        value = NAMELESS  # the option names what these measure
    kind, _, spread = (options.pm or "").partition("=")
    count = options.n
    if count is not None and str(count) not in frame and re.fullmatch(r"[1-9]\d*", str(count)):
        count = int(count)
    ignored = [name for name in options.ignore if name != BRACKETS.strip()]
    pairs = [(name, getattr(options, name)) for name in ("method", "group", "low", "high", "of")]
    pairs += [("value", value), ("pm", spread), ("n", count if isinstance(count, str) else None)]
    several = {"methods": methods, "unit": options.unit, "by": options.by, "ignore": ignored}
    for option, columns in several.items():
        pairs += [(option, column) for column in columns]
    for names in options.columns.values():
        pairs += [("columns", name) for name in names]
    check_declared(frame, pairs)
    check_together(low=options.low, high=options.high)
    if value and wide:
        raise InputError(
            f"value = {value}; with columns of values it names what they measure, and no column"
        )
    if len(ignored) < len(options.ignore):
        ignored += [column for column in frame if column.endswith(BRACKETS)]
    keys = dict(options.unit)
    if options.group:
        keys[options.group] = "group"
    return Roles(
        method=options.method,
        value=value,
        wide=wide,
        keys=keys,
        blocks={column: block_name(column) for column in options.by},
        spread=(kind, spread) if spread else None,
        count=count,
        low=options.low,
        high=options.high,
        of=options.of,
        ignored=dict.fromkeys(ignored, "ignored"),
    )


def columns_of_methods(frame: pd.DataFrame, options: Options) -> Sequence[str]:
    """The option ``methods``, unless it chooses among the methods that a column names."""
    named = [column for column in frame if ROLE_OF.get(plain_name(column)) == "method"]
    is_choice = (named or options.method) and not {*options.methods} <= {*frame}
    return [] if is_choice else options.methods


def check_declared(frame: pd.DataFrame, pairs: Sequence[tuple[str, str | None]]) -> None:
    """Raise `InputError` for a column that does not exist, or that two options name."""
    option_of: dict[str, str] = {}
    for option, column in pairs:
        if not column:
            continue
        check_column(option, column, frame)
        if column in option_of:
            raise InputError(
                f"{option} = {column}; {option_of[column]} names it too: a column has one role"
            )
        option_of[column] = option


def check_roles(roles: Roles) -> None:
    """Raise `InputError` where two columns, or a column and names of columns, say the same of a row,
    and for totals, or ends of intervals, beside several columns of values.
    """
    columns_of = {key: f"the names of {', '.join(roles.wide)}" for key in roles.wide_words()}
    named = [*roles.keys.items(), *roles.blocks.items()]
    named += [(roles.method, "method")] if roles.method else []
    for column, key in named:
        if key in columns_of:
            raise InputError(
                f"{column} and {columns_of[key]} both say the {key} of a row: one of them can"
            )
        columns_of[key] = column
    for option in ("of", "low", "high"):
        column = getattr(roles, option)
        if column is not None and roles.wide:
            raise InputError(
                f"{option} = {column}; it belongs to one column of values (value='COLUMN'), and "
                f"{', '.join([*roles.wide][:SHOWN])} hold values"
            )


def leave_out_constant(frame: pd.DataFrame, roles: Roles) -> None:
    """Leave out what tells no row from another: constant columns, and an index without a name."""
    for column in frame.columns:
        if roles.has(column):
            continue
        values = frame[column]
        plain = plain_name(column)
        has_meaning = ROLE_OF.get(plain) not in (None, *REPETITIONS) or plain in ANSWERS
        if not varies(values) and not has_meaning:
            roles.ignored[column] = "constant"
        elif INDEX_NAME.fullmatch(column) and numbers_rows(frame, values):
            roles.ignored[column] = "an index"


def unnamed_columns(frame: pd.DataFrame, roles: Roles, constants: bool = False) -> list[str]:
    """The columns without a role, in their order.

    With ``constants`` also those of one number under no known word, which may be measurements.
    """
    unnamed = []
    for column in frame.columns.drop(PLACE):
        is_number = is_numeric(frame[column]) and frame[column].notna().any()
        is_constant = constants and roles.ignored.get(column) == "constant"
        may_be_value = is_constant and is_number and plain_name(column) not in ROLE_OF
        if may_be_value or not roles.has(column):
            unnamed.append(column)
    return unnamed


def numbers_rows(frame: pd.DataFrame, values: pd.Series) -> bool:
    """Whether whole numbers count on from row to row of each file."""
    if not is_numeric(values):
        return False
    starts = frame[PLACE].diff().le(0)
    return bool((values.diff().iloc[1:].eq(1) | starts.iloc[1:]).all())


def name_by_words(frame: pd.DataFrame, options: Options, roles: Roles) -> None:
    """Give roles by the vocabulary; two columns of one role have none, but a unit beside its block."""
    found: dict[str, list[str]] = {}
    for column in frame.columns:
        if roles.has(column) or column.endswith((PLUS_MINUS, BRACKETS)):
            continue
        role = ROLE_OF.get(plain_name(column))
        is_answer = plain_name(column) in ANSWERS and frame[column].dropna().isin([0, 1]).all()
        role = "value" if is_answer else role
        if role:
            found.setdefault(role, []).append(column)
    known = roles.words()
    for role, columns in found.items():
        if role in known or len(columns) > 1:
            continue
        if role == "method":
            roles.method = columns[0]
        elif role == "value":
            if not roles.value and not roles.wide:
                roles.value = columns[0]
        else:
            roles.keys[columns[0]] = role
    file = next((name for name in (FILE, "name of file") if name in frame), None)
    if file and not roles.has(file) and roles.method:
        is_method = frame[file].astype(str).eq(frame[roles.method].astype(str))
        roles.ignored |= {file: "as the method"} if is_method.all() else {}


def leave_out_numbers_of_rows(frame: pd.DataFrame, options: Options, roles: Roles) -> None:
    """Leave out a run that is another one in every row, where other keys name the row: it numbers
    rows, which are no trainings of their own.
    """
    run = roles.column_of("run")
    if run is None or run in options.unit or not frame[run].is_unique:
        return
    keys = [column for column in roles.key_columns() if column != run]
    others = [column for column in keys if column != roles.method]
    names_rows = not {*UNIT_KEYS}.isdisjoint(roles.keys.get(column) for column in others)
    if names_rows or (others and not frame.duplicated(keys).any()):
        del roles.keys[run]
        roles.ignored[run] = "a number of rows"


def name_headers(frame: pd.DataFrame, roles: Roles) -> None:
    """Columns whose names hold a word and a number: seed0, ours_run2, 5-shot.

    One of them is a measurement too where all its values are equal.
    """
    if roles.value or roles.wide or roles.of or roles.low:
        return
    wide: dict[str, dict[str, object]] = {}
    for column in unnamed_columns(frame, roles, constants=True):
        match = NUMBERED.fullmatch(column)
        if match and is_numeric(frame[column]):
            word = "shots" if match["shots"] else ROLE_OF[match["word"].lower()]
            wide[column] = {word: int(match["shots"] or match["number"])}
            method = match["method"] or match["of"]
            if method:
                wide[column]["method"] = method
    kinds = {tuple(names) for names in wide.values()}
    if len(wide) < 2 or len(kinds) > 1 or (roles.method and "method" in kinds.pop()):
        return
    roles.wide = wide
    for column in wide:
        roles.ignored.pop(column, None)


def leave_out_measures(frame: pd.DataFrame, roles: Roles) -> None:
    """Beside a column of values, leave out other measures and facts of a run, which have a name."""
    if not roles.value:
        return
    for column in frame.columns:
        if roles.has(column) or column.endswith((PLUS_MINUS, BRACKETS)):
            continue
        words = words_of(column)
        if words & OTHER_MEASURES and is_numeric(frame[column]):
            roles.ignored[column] = "another measure"
        elif (
            plain_name(column) in FACTS
            or "time" in words
            or (words & {"best", "last"} and words & STEPS)
        ):
            roles.ignored[column] = "a fact of the run"


def add_spread(frame: pd.DataFrame, options: Options, roles: Roles) -> None:
    """Find what shows how much a mean varies: ± in its cells, or a column with a known word."""
    if roles.low is not None:
        return
    for column in frame.columns:
        base = column.removesuffix(PLUS_MINUS)
        is_of_values = base != column and (base == roles.value or base in roles.wide)
        if is_of_values and roles.ignored.get(column) != "ignored":
            roles.spread = roles.spread or ((options.pm or "unknown").partition("=")[0], "")
            roles.ignored[column] = "±"
    if not roles.value:
        return
    unknown = [c for c in frame.columns if not roles.has(c) or roles.ignored.get(c) == "constant"]
    for column in unknown:
        kind = kind_of_spread(column, roles.value)
        if kind and roles.spread is None and is_numeric(frame[column]):
            roles.spread = ((options.pm or kind).partition("=")[0], column)
    counts = [column for column in unknown if plain_name(column) in COUNTS]
    if roles.spread and roles.count is None and len(counts) == 1:
        roles.count = counts[0]
    if roles.spread and roles.spread[0] == "sd" and roles.count is None:
        message = "a standard deviation beside a mean needs the number of values behind it (n=N)"
        raise Unassigned(message, roles, "n")


def check_sample(frame: pd.DataFrame, roles: Roles, name: str) -> None:
    """Raise `InputError` for what is no sample: curves of training, trials, summaries, shots in headers."""
    keys = [*roles.key_columns(), *names_of_rows(frame, roles)]
    are_told_apart = bool(keys) and not frame.duplicated(keys).any()  # then steps are a setting
    # Of settings that Optuna, and scikit-learn, tried.
    prefixes = ("params_", "param_") if "params" in frame else ("params_",)
    for column in frame.columns:
        if roles.has(column) or not varies(frame[column]):
            continue
        plain = plain_name(column)
        if plain in STEPS and is_numeric(frame[column]) and not are_told_apart:
            last = texts_of(pd.Series([frame[column].max()]))[0]
            raise InputError(
                f"{name}: {column} has {frame[column].nunique():,} values: a training curve, whose "
                "steps are no independent sample. Keep the final test of each training "
                f"(where={[f'{column}={last}']}), with several seeds, tasks or data sets; "
                f"if each is a test task of its own, say unit={ {column: 'task'} }"
            )
        if plain in TRIALS or column.startswith(prefixes):
            raise InputError(
                f"{name}: {column} numbers the trials of a search: they are no sample, and the best of "
                "them is too high. Bring the chosen setting on several seeds, tasks or data sets"
            )
    votes = [column for column in unnamed_columns(frame, roles) if plain_name(column) in VOTES]
    if votes:
        raise InputError(
            f"{name} has votes between two methods (column {votes[0]}), which need a model of "
            "preferences (Bradley and Terry's); bring a score of each method per item"
        )
    for column in [column for column in frame if not is_numeric(frame[column])]:
        texts = {*frame[column].astype(str).str.lower()}
        if texts >= DESCRIBED or texts >= REPORTED:
            raise InputError(
                f"{name} is a summary (rows such as mean and std, or macro avg): bring the rows that "
                "it summarises, such as the answers to items"
            )
    if roles.value or roles.wide:
        return
    open_columns = unnamed_columns(frame, roles)
    words = set().union(*map(words_of, open_columns))
    is_log = bool(words & {"train", "training"}) and bool(words & {"val", "valid", "loss", "lr"})
    is_one_run = not roles.method and not are_told_apart and roles.words().isdisjoint(UNITS)
    if is_log and is_one_run:
        raise InputError(
            f"{name} has the columns {', '.join(open_columns[:6])}: a log of one training, "
            "whose rows are no independent sample. Bring the final test of several seeds, tasks or "
            "data sets"
        )
    possible = unnamed_columns(frame, roles, constants=True)
    numbers = [column for column in possible if re.fullmatch(r"\d+", column)]
    if len(numbers) > 1 and roles.method:
        raise InputError(f"{name}: {columns_called_by_numbers(numbers)}")


def names_of_rows(frame: pd.DataFrame, roles: Roles) -> list[str]:
    """The columns of text without a role that may name runs; times are no names."""
    texts = [column for column in unnamed_columns(frame, roles) if not is_numeric(frame[column])]
    return [c for c in texts if plain_name(c) not in FACTS and "time" not in words_of(c)]


def columns_called_by_numbers(columns: Sequence[str]) -> str:
    """What columns of values may be whose names are numbers."""
    return (
        f"the columns {', '.join(columns)} are numbers of shots, of seeds or of "
        f"tasks. Seeds and tasks are a sample (columns={ {'seed': [*columns]} }); "
        "numbers of shots are chosen, and one number for each shows nothing of how much it varies"
    )


def direction_of(roles: Roles, options: Options, tables: Sequence[Table]) -> bool:
    """Whether lower values are better: by an arrow, an option, or the measure's name, which is asked.

    Raises
    ------
    Direction
        A measure of which lower is better by its name, where nothing says so.
    """
    if options.lower_is_better or options.higher_is_better:
        return options.lower_is_better
    chosen = [condition.rpartition("=")[2] for condition in options.where]
    value = None if roles.value == NAMELESS else roles.value
    names = [value or "", roles.method or "", options.value or "", *roles.wide, *chosen]
    if any("↓" in name for name in names):
        return True
    if any("↑" in name for name in names) or (value and is_accuracy(value)):
        return False
    asked = [name for name in names if words_of(name) & LOWER_IS_BETTER]
    if not value:
        for table in tables:
            asked += words_of(table.stem) & (LOWER_IS_BETTER - {"time", "times", "error"})
    if asked:
        raise Direction(
            f"{asked[0]}: lower is better of an error, a loss or a time; say lower_is_better=True, or "
            "higher_is_better=True if it is not one"
        )
    return False


# Rows ---------------------------------------------------------------------------------------------


def rows_by(frame: pd.DataFrame, roles: Roles, options: Options) -> pd.DataFrame:
    """A row per value: ``method``, ``accuracy``, ``half_width``, the keys, and the blocks."""
    columns = roles.keys | roles.blocks
    if roles.method:
        columns[roles.method] = "method"
    keyed = frame[[*columns]].rename(columns=columns)
    for name in keyed:
        values = keyed[name]
        if values.dtype.kind == "f" and (values % 1 == 0).all():
            keyed[name] = values.astype("int64")
    keyed[PLACE] = frame[PLACE]
    wide = {roles.value: {}} if roles.value else roles.wide
    every_row = np.tile(np.arange(len(keyed)), len(wide))
    rows = keyed.iloc[every_row].reset_index(drop=True)
    rows["accuracy"] = np.concatenate([numbers(frame, column) for column in wide])
    if roles.of:
        rows["total"] = numbers(frame, roles.of).to_numpy()
        if (rows["accuracy"] > rows["total"]).any() or (rows["total"] <= 0).any():
            raise InputError(
                f"{roles.value} must be counts up to their totals, {roles.of}, got a larger one"
            )
        rows["accuracy"] /= rows["total"]
    for key in dict.fromkeys(key for names in wide.values() for key in names):
        of_columns = pd.Series([names.get(key, np.nan) for names in wide.values()])
        rows[key] = of_columns.repeat(len(keyed)).to_numpy()
    widths = np.concatenate([half_widths(frame, roles, column, options) for column in wide])
    return rows if np.isnan(widths).all() else rows.assign(half_width=widths)


def block_name(column: str) -> str:
    """The key of a block: that of the vocabulary, or the column's own name."""
    role = ROLE_OF.get(plain_name(column))
    if role in SETTINGS:
        return role
    reserved = {"method", "accuracy", "half_width", "total", *VOCABULARY, "place"}
    return f"{column} " if column in reserved else column


def numbers(frame: pd.DataFrame, column: str) -> pd.Series:
    """A column of values as numbers.

    Raises
    ------
    InputError
        The first cell that is none, and where it stands.
    """
    cells = frame[column]
    if is_numeric(cells):
        return cells.astype(float)
    values = pd.to_numeric(cells.where(cells.ne("")), errors="coerce")
    is_text = ~cells.astype(str).map(is_value) & cells.notna() & cells.ne("")
    if not is_text.any():  # two decimal signs in one column
        is_empty = cells.astype(str).str.strip().str.lower().isin(EMPTY_CELLS)
        is_text = values.isna() & cells.notna() & ~is_empty
    if is_text.any():
        row = int(is_text.to_numpy().argmax())
        has_comma = is_value(str(cells.iloc[row])) and "," in str(cells.iloc[row])
        hint = "; say what a comma is: decimal=',' or decimal='.'" if has_comma else ""
        raise InputError(
            f"{column} must be a number, or nan where a value is missing, got "
            f"{quoted(cells.iloc[row])} in row {row + 1}{hint}"
        )
    return values.astype(float)


def half_widths(frame: pd.DataFrame, roles: Roles, column: str, options: Options) -> pd.Series:
    """Half of each mean's interval, from the ±, the standard deviation or error, or the ends."""
    import scipy.stats

    nothing = pd.Series(np.nan, frame.index)
    if roles.low is not None and roles.high is not None:
        return (numbers(frame, roles.high) - numbers(frame, roles.low)) / 2
    if roles.spread is None:
        return nothing
    kind, name = roles.spread
    name = name or f"{column}{PLUS_MINUS}"
    if name not in frame:
        return nothing
    spread = numbers(frame, name)
    if kind == "ci":
        return spread
    level = (1 + options.level) / 2
    if roles.count is None:
        return spread * scipy.stats.norm.ppf(level)
    count = (
        nothing.fillna(roles.count) if isinstance(roles.count, int) else numbers(frame, roles.count)
    )
    if (count < 2).any():
        raise InputError(
            f"n must be at least 2, to estimate a spread, got {count.min():g}; leave such rows out "
            "(where=['COLUMN!=VALUE'])"
        )
    factor = scipy.stats.t.ppf(level, count - 1) / (np.sqrt(count) if kind == "sd" else 1)
    return spread * factor


def reading_sentence(
    rows: pd.DataFrame, roles: Roles, measure: str, options: Options, summaries: Sequence[str]
) -> str:
    """What was read as what, with the numbers of each: the second line of every answer.

    ``summaries`` are the units that were left out as means of the others.
    """
    count = rows["method"].nunique()
    is_nameless = roles.method is not None and INDEX_NAME.fullmatch(roles.method) is not None
    source = f" ({'' if is_nameless else 'column '}{roles.method})" if roles.method else ""
    if "method" in roles.wide_words():
        more = ", …" if len(roles.wide) > SHOWN else ""
        source = f" (columns {', '.join([*roles.wide][:SHOWN])}{more})"
    parts = [f"{count:,} method{'' if count == 1 else 's'}{source}"]
    columns = {key: column for column, key in (roles.keys | roles.blocks).items()}
    for key in dict.fromkeys((*NAMED_KEYS, *roles.blocks.values())):
        if key not in rows or (key in SETTINGS and rows[key].nunique() < 2):
            continue
        size = rows[key].nunique()
        if key in NAMED_KEYS:
            noun = key if size == 1 else PLURALS.get(key, f"{key}s")
            is_renamed = key in columns and plain_name(columns[key]) != key
            noun += f" ({columns[key]})" if is_renamed else ""
        else:
            noun = f"value{'' if size == 1 else 's'} of {key}"
        parts.append(f"{size:,} {noun}")
    parts.append(measure)
    if roles.spread and "half_width" in rows:
        kind, column = roles.spread
        parts.append(f"± as {KINDS_OF_SPREAD[kind]}{f' ({column})' if column else ''}")
    parts += [f"only {condition}" for condition in options.where]
    sentence = f"Read: {', '.join(parts)}"
    left_out = [*roles.left_out(), *(f"rows called {name}" for name in summaries)]
    return f"{sentence}; left out: {', '.join(left_out)}." if left_out else f"{sentence}."
