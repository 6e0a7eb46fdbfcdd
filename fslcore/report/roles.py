"""What each column of results is: named by a word of the vocabulary or by an option, never by what is left.

A column that varies and has no role is an error, whose message shows what the column could be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ..errors import InputError, check_together, quoted, shown, suggestion
from .model import SETTINGS, UNIT_KEYS, Table
from .options import Options
from .tables import is_value
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
    is_accuracy,
    is_lower_better,
    kind_of_spread,
    plain_name,
    words_of,
)

PLUS_MINUS, BRACKETS = " ±", " ()"  # at the end of columns that cells with two numbers give
FILE = "file"
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
    blocks : list of str
        Columns within whose values methods are compared.
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
    blocks: list[str] = field(default_factory=list)
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

    def __init__(self, message: str, columns: Sequence[str], missing: Sequence[str], roles: Roles):
        super().__init__(message)
        self.columns, self.missing, self.roles = [*columns], tuple(missing), roles


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
            frame[name] = number_or_text(text)
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


def number_or_text(text: str) -> int | str:
    """A whole number, or the text."""
    return int(text) if re.fullmatch(r"\d{1,18}", text) else text


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
        columns = [str(column) for column in frame if column != PLACE]
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
    leave_out_constant(frame, roles)
    name_by_words(frame, options, roles)
    leave_out_numbers_of_rows(frame, options, roles)
    name_headers(frame, roles)
    leave_out_measures(frame, roles)
    add_spread(frame, options, roles)
    check_sample(frame, roles, name)
    check_beside_values(roles)
    unnamed = unnamed_columns(frame, roles)
    missing = []
    if not roles.value and not roles.wide:
        missing.append("value")
        unnamed += constant_numbers(frame, roles)
    if roles.spread and roles.spread[0] == "unknown":
        missing.append("pm")
    if unnamed or missing:
        more = f" and {len(unnamed) - MOST_NAMES:,} more" if len(unnamed) > MOST_NAMES else ""
        names = ", ".join(map(shown, unnamed[:MOST_NAMES]))
        problem = f"{names}{more} {'has' if len(unnamed) == 1 else 'have'} no role"
        has_numbers = any(is_numeric(frame[column]) for column in unnamed)
        message = f"{name}: {problem}"
        if "value" in missing and not has_numbers:
            message = f"{name}: no column is named as values{f'; {problem}' if unnamed else ''}"
        if missing == ["pm"] and not unnamed:
            message = f"{name}: what ± is has to be said: pm='ci', pm='se', or pm='sd' and n=N"
        raise Unassigned(message, unnamed, missing, roles)
    return roles


def declared(frame: pd.DataFrame, options: Options) -> Roles:
    """The roles that options name."""
    roles = Roles()
    given: dict[str, str] = {}

    def use(option: str, column: str) -> str:
        check_column(option, column, frame)
        if column in given:
            raise InputError(
                f"{option} = {column}; {given[column]} names it too: a column has one role"
            )
        given[column] = option
        return column

    if options.method is not None:
        roles.method = use("method", options.method)
    if options.value is not None and (options.value in frame or not wide_options(options)):
        roles.value = use("value", options.value)
    declare_columns(frame, options, roles, use)
    for column, word in options.unit.items():
        roles.keys[use("unit", column)] = word
    roles.blocks = [use("by", name) for name in options.by]
    if options.group is not None:
        roles.keys[use("group", options.group)] = "group"
    for role in ("low", "high", "of"):
        if getattr(options, role) is not None:
            setattr(roles, role, use(role, getattr(options, role)))
    check_together(low=roles.low, high=roles.high)
    if options.n is not None:
        text = str(options.n)
        is_number = re.fullmatch(r"[1-9]\d*", text) and text not in frame
        roles.count = int(text) if is_number else use("n", text)
    kind, _, column = (options.pm or "").partition("=")
    if column:
        roles.spread = (kind, use("pm", column))
    for name in options.ignore:
        if name == BRACKETS.strip():
            columns = [column for column in frame if str(column).endswith(BRACKETS)]
            roles.ignored |= dict.fromkeys(columns, "ignored")
        else:
            roles.ignored[use("ignore", name)] = "ignored"
    check_keys(roles)
    return roles


def check_beside_values(roles: Roles) -> None:
    """Raise `InputError` for totals, or ends of intervals, beside several columns of values."""
    for option in ("of", "low", "high"):
        column = getattr(roles, option)
        if column is not None and roles.wide:
            raise InputError(
                f"{option} = {column}; it belongs to one column of values (value='COLUMN'), and "
                f"{', '.join(map(str, [*roles.wide][:4]))} hold values"
            )


def check_keys(roles: Roles) -> None:
    """Raise `InputError` where two columns, or a column and names of columns, say the same of a row."""
    columns_of = {key: f"the names of {', '.join(roles.wide)}" for key in roles.wide_words()}
    named = [*roles.keys.items(), *((column, block_name(column)) for column in roles.blocks)]
    for column, key in named:
        if key in columns_of:
            raise InputError(
                f"{column} and {columns_of[key]} both say the {key} of a row: one of them can"
            )
        columns_of[key] = column


def declare_columns(
    frame: pd.DataFrame, options: Options, roles: Roles, use: Callable[[str, str], str]
) -> None:
    """The roles of several columns of values."""
    names_columns = options.methods and not ({*options.methods} - {*map(str, frame)})
    if options.methods and (names_columns or not method_column(frame, roles)):
        roles.wide |= {use("methods", name): {"method": name} for name in options.methods}
    for word, names in options.columns.items():
        roles.wide |= {use("columns", name): {word: name} for name in names}
    if roles.value and roles.wide:
        raise InputError(
            f"value = {roles.value}; with columns of values it names what they measure, and no column"
        )


def wide_options(options: Options) -> bool:
    """Whether options name columns of values."""
    return bool(options.methods or options.columns)


def method_column(frame: pd.DataFrame, roles: Roles) -> bool:
    """Whether a column names the methods of the rows."""
    return roles.method is not None or any(
        ROLE_OF.get(plain_name(column)) == "method" for column in frame
    )


def leave_out_constant(frame: pd.DataFrame, roles: Roles) -> None:
    """Leave out what tells no row from another: constant columns, and an index without a name."""
    for column in frame.columns:
        if roles.has(column):
            continue
        values = frame[column]
        role = ROLE_OF.get(plain_name(column))
        keeps_meaning = role in (
            "method",
            "value",
            "task",
            "item",
            "class",
            *SETTINGS,
            "group",
            "support",
        )
        if not varies(values) and not keeps_meaning and plain_name(column) not in ANSWERS:
            roles.ignored[column] = "constant"
        elif INDEX_NAME.fullmatch(str(column)) and numbers_rows(frame, values):
            roles.ignored[column] = "an index"


def unnamed_columns(frame: pd.DataFrame, roles: Roles) -> list[str]:
    """The columns without a role, in their order."""
    return [column for column in frame.columns if column != PLACE and not roles.has(column)]


def constant_numbers(frame: pd.DataFrame, roles: Roles) -> list[str]:
    """The constant columns that may hold the values of a method: numbers, under no known word."""
    return [
        column
        for column, why in roles.ignored.items()
        if why == "constant" and column != PLACE
        if is_numeric(frame[column]) and frame[column].notna().any()
        if plain_name(column) not in ROLE_OF
    ]


def open_columns_of(frame: pd.DataFrame, roles: Roles) -> list[str]:
    """The columns that may be measurements, in their order: a column of one number may be one too."""
    possible = {*unnamed_columns(frame, roles), *constant_numbers(frame, roles)}
    return [column for column in frame.columns if column in possible]


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
        if roles.has(column) or str(column).endswith((PLUS_MINUS, BRACKETS)):
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
    if roles.wide and roles.method and "method" in roles.wide_words():
        raise InputError(f"methods; the column {roles.method} names methods too: one of them can")
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
    others = [column for column in (*roles.keys, *roles.blocks) if column != run]
    names_rows = {roles.keys.get(column) for column in others} & {"task", "item", "class"}
    keys = [roles.method, *others] if roles.method else others
    if names_rows or (others and not frame.duplicated(keys).any()):
        del roles.keys[run]
        roles.ignored[run] = "a number of rows"


def name_headers(frame: pd.DataFrame, roles: Roles) -> None:
    """Columns whose names hold a word and a number: seed0, ours_run2, 5-shot.

    One of them is a measurement too where all its values are equal.
    """
    if roles.value or roles.wide:
        return
    open_columns = [c for c in open_columns_of(frame, roles) if is_numeric(frame[c])]
    matches = {
        column: match for column in open_columns if (match := NUMBERED.fullmatch(str(column)))
    }
    kinds = {
        (bool(m["shots"]), (m["word"] or "").lower(), bool(m["method"] or m["of"]))
        for m in matches.values()
    }
    if len(matches) < 2 or len(kinds) != 1 or (roles.method and kinds.pop()[2]):
        return
    for column, match in matches.items():
        word = "shots" if match["shots"] else ROLE_OF[match["word"].lower()]
        names: dict[str, object] = {word: int(match["shots"] or match["number"])}
        if match["method"] or match["of"]:
            names["method"] = match["method"] or match["of"]
        roles.wide[column] = names
        roles.ignored.pop(column, None)


def leave_out_measures(frame: pd.DataFrame, roles: Roles) -> None:
    """Beside a column of values, leave out other measures and facts of a run, which have a name."""
    if not roles.value:
        return
    for column in frame.columns:
        if roles.has(column) or str(column).endswith((PLUS_MINUS, BRACKETS)):
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
    if roles.low is None:
        for column in frame.columns:
            base = str(column).removesuffix(PLUS_MINUS)
            is_left_out = roles.ignored.get(column) == "ignored"
            is_beside_values = str(column).endswith(PLUS_MINUS) and (
                base == roles.value or base in roles.wide
            )
            if is_beside_values and not is_left_out:
                kind = (options.pm or "unknown").partition("=")[0]
                roles.spread = roles.spread or (kind, "")
                roles.ignored[column] = "±"
    if not roles.value:
        return
    for column in frame.columns:
        if roles.has(column) and roles.ignored.get(column) != "constant":
            continue
        found = kind_of_spread(column, roles.value)
        if found and roles.spread is None and roles.low is None and is_numeric(frame[column]):
            roles.spread = ((options.pm or found).partition("=")[0], column)
    counts = [column for column in frame.columns if plain_name(column) in COUNTS]
    counts = [c for c in counts if not roles.has(c) or roles.ignored.get(c) == "constant"]
    if roles.spread and roles.count is None and len(counts) == 1:
        roles.count = counts[0]
    if roles.spread and roles.spread[0] == "sd" and roles.count is None:
        raise Unassigned(
            "a standard deviation beside a mean needs the number of values behind it (n=N)",
            [], ["n"], roles,
        )  # fmt: skip


def check_sample(frame: pd.DataFrame, roles: Roles, name: str) -> None:
    """Raise `InputError` for what is no sample: curves of training, trials, summaries, shots in headers."""
    unit_words = {"task", "item", "class", "dataset", "seed", "run", "fold", "draw"} & roles.words()
    keys = [column for column in (roles.method, *roles.keys, *roles.blocks) if column]
    are_told_apart = bool(keys) and not frame.duplicated(keys).any()  # then steps are a setting
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
                f"if each is a test task of its own, say unit={ {str(column): 'task'} }"
            )
        if plain in TRIALS or is_setting_of_search(str(column), frame):
            raise InputError(
                f"{name}: {column} numbers the trials of a search: they are no sample, and the best of "
                "them is too high. Bring the chosen setting on several seeds, tasks or data sets"
            )
    open_columns = unnamed_columns(frame, roles)
    first = next((c for c in open_columns if not is_numeric(frame[c])), None)
    for column in [first, *roles.keys, roles.method]:
        texts = {*frame[column].astype(str).str.lower()} if column is not None else set()
        if texts >= DESCRIBED or texts >= REPORTED:
            raise InputError(
                f"{name} is a summary (rows such as mean and std, or macro avg): bring the rows that "
                "it summarises, such as the answers to items"
            )
    if roles.value or roles.wide:
        return
    words = set().union(*map(words_of, open_columns)) if open_columns else set()
    is_log = bool(words & {"train", "training"}) and bool(words & {"val", "valid", "loss", "lr"})
    if is_log and not unit_words and not roles.method:
        raise InputError(
            f"{name} has the columns {', '.join(map(str, open_columns[:6]))}: a log of one training, "
            "whose rows are no independent sample. Bring the final test of several seeds, tasks or "
            "data sets"
        )
    numbers = [c for c in open_columns_of(frame, roles) if re.fullmatch(r"\d+", str(c))]
    if len(numbers) > 1 and roles.method:
        raise InputError(f"{name}: {columns_called_by_numbers(numbers)}")


def columns_called_by_numbers(columns: Sequence[str]) -> str:
    """What columns of values may be whose names are numbers."""
    return (
        f"the columns {', '.join(map(str, columns))} are numbers of shots, of seeds or of "
        f"tasks. Seeds and tasks are a sample (columns={ {'seed': [*map(str, columns)]} }); "
        "numbers of shots are chosen, and one number for each shows nothing of how much it varies"
    )


def is_setting_of_search(column: str, frame: pd.DataFrame) -> bool:
    """Whether a column is a setting that Optuna (params_lr) or scikit-learn (param_C) tried."""
    return column.startswith("params_") or (column.startswith("param_") and "params" in frame)


def direction_of(
    roles: Roles, options: Options, tables: Sequence[Table], frame: pd.DataFrame
) -> bool:
    """Whether lower values are better: by an arrow, an option, or the measure's name, which is asked.

    Raises
    ------
    Direction
        A measure of which lower is better by its name, where nothing says so.
    """
    if options.lower_is_better or options.higher_is_better:
        return options.lower_is_better
    chosen = [condition.rpartition("=")[2] for condition in options.where]
    names = [roles.value or "", roles.method or "", options.value or "", *roles.wide, *chosen]
    if any("↓" in str(name) for name in names):
        return True
    if any("↑" in str(name) for name in names) or (roles.value and is_accuracy(roles.value)):
        return False
    asked = next((str(name) for name in names if name and is_lower_better(name)), None)
    if asked is None and not roles.value:
        stems = [word for table in tables for word in words_of(table.stem)]
        asked = next(
            (word for word in stems if word in LOWER_IS_BETTER - {"time", "times", "error"}), None
        )
    if asked is not None:
        raise Direction(
            f"{asked}: lower is better of an error, a loss or a time; say lower_is_better=True, or "
            "higher_is_better=True if it is not one"
        )
    return False


# Rows ---------------------------------------------------------------------------------------------


def rows_by(frame: pd.DataFrame, roles: Roles, options: Options) -> pd.DataFrame:
    """A row per value: ``method``, ``accuracy``, ``half_width``, the keys, and the blocks."""
    columns = dict(roles.keys)
    columns |= {column: block_name(column) for column in roles.blocks}
    if roles.method:
        columns[roles.method] = "method"
    keyed = frame[[*columns]].rename(columns=columns)
    for name in keyed:
        values = keyed[name]
        if values.dtype.kind == "f" and (values % 1 == 0).all():
            keyed[name] = values.astype("int64")
    keyed[PLACE] = frame[PLACE]
    if roles.value:
        rows = keyed.assign(accuracy=numbers(frame, roles.value))
        if roles.of:
            totals = numbers(frame, roles.of)
            if (rows["accuracy"] > totals).any() or (totals <= 0).any():
                raise InputError(
                    f"{roles.value} must be counts up to their totals, {roles.of}, got a larger one"
                )
            rows["accuracy"], rows["total"] = rows["accuracy"] / totals, totals
        rows["half_width"] = half_widths(frame, roles, roles.value, options)
    else:
        every_row = np.tile(np.arange(len(keyed)), len(roles.wide))
        values = [numbers(frame, column) for column in roles.wide]
        widths = [half_widths(frame, roles, column, options) for column in roles.wide]
        rows = keyed.iloc[every_row].reset_index(drop=True)
        rows["accuracy"] = np.concatenate(values)
        for key in dict.fromkeys(key for names in roles.wide.values() for key in names):
            of_columns = pd.Series([names.get(key, np.nan) for names in roles.wide.values()])
            rows[key] = of_columns.repeat(len(keyed)).to_numpy()
        rows["half_width"] = np.concatenate(widths)
    if rows["half_width"].isna().all():
        del rows["half_width"]
    return rows.reset_index(drop=True)


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
        is_text = values.isna() & cells.notna() & cells.ne("")
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
        numbers(frame, roles.count) if isinstance(roles.count, str) else nothing.fillna(roles.count)
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
    parts = []
    count = rows["method"].nunique()
    if roles.method:
        source = f" (column {roles.method})"
    elif "method" in roles.wide_words():
        source = f" (columns {', '.join(map(str, [*roles.wide][:4]))}{', …' if len(roles.wide) > 4 else ''})"
    else:
        source = ""
    parts.append(f"{count:,} method{'' if count == 1 else 's'}{source}")
    columns = {key: column for column, key in roles.keys.items()}
    columns |= {block_name(column): column for column in roles.blocks}
    for key in dict.fromkeys((*NAMED_KEYS, *map(block_name, roles.blocks))):
        if key not in rows or (key in SETTINGS and rows[key].nunique() < 2):
            continue
        size = rows[key].nunique()
        known = key in NAMED_KEYS
        word = PLURALS.get(key, f"{key}s") if known else f"values of {key}"
        word = (
            {"data sets": "data set", "classes": "class"}.get(word, word.removesuffix("s"))
            if size == 1
            else word
        )
        column = columns.get(key)
        named = f" ({column})" if column and known and plain_name(column) != key else ""
        text = f"{size:,} {word}{named}"
        if text not in parts:
            parts.append(text)
    parts.append(measure)
    if roles.spread and "half_width" in rows:
        kind, column = roles.spread
        parts.append(f"± as {KINDS_OF_SPREAD[kind]}{f' ({column})' if column else ''}")
    parts += [f"only {condition}" for condition in options.where]
    left = [
        str(c)
        for c, why in roles.ignored.items()
        if why not in ("constant", "an index", "±") and c != PLACE
    ]
    left += [f"rows called {name}" for name in summaries]
    sentence = f"Read: {', '.join(parts)}"
    return f"{sentence}; left out: {', '.join(left)}." if left else f"{sentence}."
