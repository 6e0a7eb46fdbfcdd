"""The refusal of columns without a role: what each could be, and a whole command, which was tried.

Guesses are made here and nowhere else; none is used without the user's word. Where two readings are
about as likely, none is proposed.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError, visible
from . import analysis, roles as named, shapes
from .model import Table, UnnamedRoles
from .numbers import number_in
from .options import UNITS, Options
from .read import NAMES_OF_PARTS, matching, path_pattern
from .roles import BRACKETS, FILE, PLUS_MINUS, Direction, Unassigned, is_numeric
from .vocabulary import (
    FACTS,
    INDEX_NAME,
    KIND_OF_SPREAD,
    LOWER_IS_BETTER,
    METRICS,
    NUMBERED,
    OTHER_MEASURES,
    STEPS,
    VOCABULARY,
    is_summary,
    plain_name,
    words_of,
)

LIKE_METHODS = {*VOCABULARY["method"].split()} | set(
    "framework trainer policy backbone network name run pipeline variant config system agent arm "
    "estimator strategy architecture arch encoder solver baseline technique algo".split()
)
LIKE_DATASETS = set("data dataset datasets benchmark domain corpus set".split())
LIKE_VALUES = (
    "acc accuracy correct passed success successes score scores result value reward em f1 auc map "
    "bleu rouge performance test mean".split()
)
PLACES = {"place", "row", "column", *(f"key {number}" for number in range(1, 9))}  # may be anything
SETTINGS_OF_RUNS = set(
    "rank improvement delta diff difference gain margin pvalue p lr learning wd batch size count n id seed "
    "lambda alpha temperature dropout params flops".split()
)
IN_TRAINING = set("train training val valid validation dev".split())
NO_VALUES = LOWER_IS_BETTER | IN_TRAINING | STEPS | {*KIND_OF_SPREAD} | SETTINGS_OF_RUNS
NO_RESULTS = NO_VALUES | OTHER_MEASURES | FACTS | {"time", "test", "avg", "average"}
LIKE_COUNTS = {"seeds", "runs", "folds", "episodes", "repeats", "repetitions"}
LIKE_RUNS = {"run", "rep", "repeat", "repetition", "replicate", "trial", "iteration", "restart"}
LIKE_ITEMS = set(
    "id uid item case subject patient image utterance sentence sample example problem".split()
)
FEW_VALUES = 12  # of a setting
MOSTLY = 0.4  # of the cells of a column that some text has spoiled
LIKE = 3  # times as large, or as small, as the others: still a measurement of the same kind
SHOWN = 4  # values of a column
MOST_COLUMNS = 30  # in a table
MOST_NAMES = 8  # of columns in a sentence
ATTEMPTS = 12


@dataclass(frozen=True)
class Question:
    """What was read and asked.

    Attributes
    ----------
    tables : sequence of Table
    options : Options
    files : sequence of str
        As they were given, for the command.
    """

    tables: Sequence[Table]
    options: Options
    files: Sequence[str]


def refusal(error: Unassigned, asked: Question) -> UnnamedRoles:
    """The error that a user sees."""
    frame = named.chosen_rows(named.one_frame(asked.tables), asked.options.where)
    lines = [f"{error}. A verdict needs a role for every column that varies."]
    lines += table_of(error, frame)
    if not error.columns:  # values may be inside of what was left out
        lines += [note for table in asked.tables for note in table.notes if "not read" in note]
    likely, problem = proposal(asked)
    line = command(likely.files, likely.options)
    if not problem and likely.options.pm != asked.options.pm:
        lines.append(
            "If ± is half of an interval, a standard error, or a standard deviation of N values, type "
            "the first, the second or the third:"
        )
        of_kind = [likely.options, replace(likely.options, pm="se")]
        of_kind.append(replace(likely.options, pm="sd", n=likely.options.n or "N"))
        lines += [f"  {command(likely.files, options)}" for options in of_kind]
    elif not problem:
        lines += ["If this is meant, type:", f"  {line}"]
    elif problem != str(error):
        is_guess = likely.options != asked.options
        lines.append(f"With the most likely roles ({line}): {problem}" if is_guess else problem)
    return UnnamedRoles("\n".join(lines))


def table_of(error: Unassigned, frame: pd.DataFrame) -> list[str]:
    """A line per column with its values, and below those of one kind the options that would name each."""
    columns = error.columns[:MOST_COLUMNS]
    alike: dict[str, list[str]] = {}
    for column in columns:
        alike.setdefault(could_be(column, frame[column], error), []).append(column)
    width = max((len(visible(column)) for column in columns), default=0)
    lines = []
    for options, names in alike.items():
        lines += [f"  {visible(name):{width}}  {values_of(frame[name])}" for name in names]
        of_one = options.replace("NAME", quoted(names[0]))
        lines.append(f"    {of_one}" if len(names) == 1 else f"    each: {options}")
    if len(error.columns) > MOST_COLUMNS:
        lines.append(f"  … and {len(error.columns) - MOST_COLUMNS} more columns")
    return lines


def values_of(values: pd.Series) -> str:
    """How many values a column has, and the first of them."""
    count = values.nunique()
    texts = named.texts_of(values).unique()[:SHOWN]
    shown = ", ".join(visible(str(text))[:12] for text in texts)
    return f"{count} value{'' if count == 1 else 's'} ({shown}{', …' if count > SHOWN else ''})"


def could_be(column: str, values: pd.Series, error: Unassigned) -> str:
    """The options that could name a column, which they call NAME."""
    if column.endswith(BRACKETS):
        return "numbers in brackets: --ignore '()'"
    if column.endswith(PLUS_MINUS):
        mean = quoted(column.removesuffix(PLUS_MINUS))
        return f"of the values of {mean}: --value {mean}, --ignore NAME"
    if plain_name(column) in METRICS and values.nunique() > 1:
        return "measures, of which one is read: --where NAME=VALUE, --ignore NAME"
    choices = []
    is_part_of_mean = error.roles.value is not None and is_summary(error.roles.value)
    if is_numeric(values) and ("value" in error.missing or is_part_of_mean):
        several = "--columns dataset" if error.roles.method else "--methods"
        choices += ["--value NAME", f"{several} NAME …"]
    if values.nunique() > 1 and (is_whole_number(values) or not is_numeric(values)):
        if values.nunique() <= named.FEW:
            choices += ["--by NAME"] if error.roles.method else ["--method NAME", "--by NAME"]
        choices.append("--unit NAME=task (item, seed, …)")
    return ", ".join([*choices, "--ignore NAME"])


# The proposal -------------------------------------------------------------------------------------


def proposal(asked: Question) -> tuple[Question, str]:
    """The roles that are most likely, and why they cannot be read; empty if they can."""
    options = asked.options
    columns = (options.method, options.group, *options.by, *options.unit, *options.ignore)
    has_files = FILE in named.one_frame(asked.tables) and FILE not in columns
    pattern = path_pattern(asked.files) if len(asked.files) == len(asked.tables) else None
    if has_files and pattern and "{}" in pattern:
        line = f"fslcore report {quoted(pattern)}{NAMES_OF_PARTS}"
        return asked, f"The parts of the paths need names: {line}"
    return completed(with_pattern(asked, pattern) if has_files and pattern else asked)


def completed(asked: Question) -> tuple[Question, str]:
    """One guess after another, until the tables can be read, or a problem has no likely answer."""
    for _ in range(ATTEMPTS):
        try:
            more = next_guess(asked)
            if not more:
                return asked, ""
            asked = replace(asked, options=merged(asked.options, more))
        except InputError as error:
            return asked, str(error)
    return asked, "no likely roles can be read"


def next_guess(asked: Question) -> dict[str, object]:
    """What most likely is a role that is open; empty if the tables can be read.

    Raises
    ------
    InputError
        What has no true reading, or several that are about as likely.
    """
    options = asked.options
    try:
        measured = shapes.measurements(asked.tables, options)
    except Unassigned as error:
        frame = named.chosen_rows(named.one_frame(asked.tables), options.where)
        more = guess(error, frame)
        if not more:
            raise
        return more
    except Direction:
        return {"lower_is_better": True}
    # Whether each method has enough rows shows in the pairs of one method.
    method = options.reference or measured.rows["method"].iloc[0]
    analysis.analyse(measured, replace(options, reference=method))
    return {}


def with_pattern(asked: Question, pattern: str) -> Question:
    """The same files by a pattern with named parts, where it matches these files alone."""
    given = [str(Path(file)) for file in asked.files]
    try:
        parts = {str(file.path): file.parts for file in matching(pattern)}
    except InputError:
        return asked
    if {*parts} != {*given}:
        return asked
    named_tables = [
        replace(table, parts=parts[file]) for table, file in zip(asked.tables, given, strict=True)
    ]
    return Question(named_tables, asked.options, [pattern])


def merged(options: Options, more: Mapping[str, Any]) -> Options:
    """Options with further ones: lists and dicts get longer."""
    changes: dict[str, Any] = {}
    for name, value in more.items():
        known = getattr(options, name)
        if isinstance(known, tuple):
            value = known + tuple(value)
        elif isinstance(known, Mapping):
            value = {**known, **value}
        changes[name] = value
    return replace(options, **changes)


def guess(error: Unassigned, frame: pd.DataFrame) -> dict[str, object]:
    """What the next column without a role, or the next role without a column, most likely is."""
    roles, columns = error.roles, error.columns
    if any(column.endswith(BRACKETS) for column in columns):
        return {"ignore": ["()"]}
    if "value" not in error.missing and any(c.endswith(PLUS_MINUS) for c in columns):
        return {}  # the values may be those with a ±
    for column in columns:
        rows = chosen_part(column, frame[column])
        if rows:
            return {"where": [rows]}
    if "value" in error.missing:
        return guessed_values(columns, roles, frame)
    likely = guessed_method(columns, roles, frame)
    if likely:
        return likely
    return guessed_rest(columns, roles, frame) if columns else guessed_answer(error, frame)


def guessed_answer(error: Unassigned, frame: pd.DataFrame) -> dict[str, object]:
    """What most likely is the answer to what no column says."""
    if "pm" in error.missing:
        return {"pm": "ci"}
    if "n" in error.missing:
        counts = [column for column in frame if words_of(column) & LIKE_COUNTS]
        counts = [column for column in counts if is_numeric(frame[column])]
        return {"n": counts[0]} if len(counts) == 1 else {}
    if "rows" in error.missing:
        return {"rows": "task"}
    seed, unit = error.roles.column_of("seed"), error.roles.column_of("task")
    if "seed" not in error.missing or seed is None:
        return {}
    if "item" in error.roles.words():
        return {"unit": {seed: "support"}}
    has_own_tasks = unit is not None and frame.groupby(unit)[seed].nunique().max() == 1
    return {"seed": "tasks" if has_own_tasks else "runs"}


def chosen_part(column: str, values: pd.Series) -> str | None:
    """The rows that a column of metrics or of splits suggests.

    Raises
    ------
    InputError
        Several metrics, none of them an accuracy.
    """
    plain = plain_name(column)
    texts = [str(value) for value in values.unique()]
    if plain in METRICS:
        likely = [text for text in texts if words_of(text) & {"acc", "accuracy"}]
        if not likely and len(texts) > 1:
            raise InputError(
                f"{column} has {len(texts)} measures, {', '.join(texts[:SHOWN])}: choose one, such as "
                f"where={[f'{column}={texts[0]}']}"
            )
        return f"{column}={likely[0]}" if likely else None
    if "test" in texts and {*texts} <= IN_TRAINING | {"test"}:
        return f"{column}=test"
    return None


def guessed_values(
    columns: Sequence[str], roles: named.Roles, frame: pd.DataFrame
) -> dict[str, object]:
    """The column of values, by a word of its name; or the columns of one kind, as what they are.

    Raises
    ------
    InputError
        Several columns may each be the values.
    """
    firsts = [column for column in columns if not column.endswith(PLUS_MINUS)]
    numeric = [column for column in firsts if is_numberlike(frame[column])]
    totals = [column for column in frame if words_of(column) & {"trials", "total"}]
    counts = [column for column in numeric if words_of(column) & {"successes", "correct"}]
    if len(counts) == len(totals) == 1:
        return {"value": counts[0], "of": totals[0]}
    with_word = with_best_word(numeric)
    if len(with_word) == 1:
        return {"value": with_word[0]}
    likely = likely_values(numeric, frame)
    if len(likely) < 2:
        return {"value": likely[0]} if likely else {}
    varying = [column for column in likely if named.varies(frame[column])]
    measured = [c for c in likely if c in varying or is_as_large(c, varying, frame)]
    are_numbered = all(column.isdecimal() for column in measured)
    if are_numbered and "dataset" in roles.words():  # seeds of a data set rather than methods
        raise InputError(named.columns_called_by_numbers(measured))
    check_one_measure(measured)
    others = [column for column in numeric if column not in likely]
    more = [column for column in others if may_be_a_method(column, measured, frame)]
    is_one_kind = are_one_measure(measured, with_word, roles) and are_on_one_scale(measured, frame)
    has_spread = any(plain_name(column) in KIND_OF_SPREAD for column in numeric)  # of one of them
    if len(measured) < 2 or more or has_spread or not is_one_kind:
        raise several_values([*likely, *more])
    texts = [column for column in columns if column not in numeric]
    return guessed_columns(measured, texts, roles, frame)


def with_best_word(columns: Sequence[str]) -> list[str]:
    """The columns that have the first word of `LIKE_VALUES` that any has."""
    likely = [column for column in columns if not words_of(column) & NO_VALUES]
    for word in LIKE_VALUES:
        with_word = [column for column in likely if word in words_of(column)]
        if with_word:
            return with_word
    return []


def likely_values(columns: Sequence[str], frame: pd.DataFrame) -> list[str]:
    """Of columns of numbers those whose names are no measure's: fractions, or right and wrong answers,
    or any; beside errors or losses alone these.
    """
    likely = [c for c in columns if not words_of(c) & NO_RESULTS and not is_summary(c)]
    fractions = [column for column in likely if not is_whole_number(frame[column])]
    answers = [column for column in likely if frame[column].dropna().isin([0, 1]).all()]
    lower_is_better = [column for column in columns if words_of(column) & LOWER_IS_BETTER]
    if any(named.varies(frame[column]) for column in fractions):
        return fractions
    others = [c for c in columns if c not in likely and named.varies(frame[c])]
    if not all(is_whole_number(frame[column]) for column in others):  # rather than a flag
        return lower_is_better
    return answers or lower_is_better or likely


def are_one_measure(columns: Sequence[str], with_word: Sequence[str], roles: named.Roles) -> bool:
    """Whether the names of columns say one measure: all have a word of it, and nothing else names
    methods, or none has one.
    """
    if any(plain_name(column) in LOWER_IS_BETTER for column in columns):
        return False
    are_named = [column in with_word for column in columns]
    return not any(are_named) or (all(are_named) and not roles.method)


def may_be_a_method(column: str, columns: Sequence[str], frame: pd.DataFrame) -> bool:
    """Whether a column whose name has a word of a measure, and another, is like these columns: Time-CNN."""
    words = {word for word in words_of(column) if len(word) > 1} - {plain_name(column)}
    has_other = bool(words & LOWER_IS_BETTER) and not words <= NO_RESULTS
    return has_other and is_as_large(column, columns, frame)


def is_as_large(column: str, columns: Sequence[str], frame: pd.DataFrame) -> bool:
    """Whether the numbers of a column are about as large as those of others."""
    numbers = frame[[name for name in columns if is_numeric(frame[name])]].stack()
    middle = frame[column].median()
    return numbers.empty or bool(numbers.min() / LIKE <= middle <= numbers.max() * LIKE)


def is_whole_number(values: pd.Series) -> bool:
    """Whether a column holds several whole numbers."""
    return is_numeric(values) and values.nunique() > 1 and bool((values.dropna() % 1 == 0).all())


def are_on_one_scale(columns: Sequence[str], frame: pd.DataFrame) -> bool:
    """Whether columns are all shares, or none is; and no ranks, whole numbers up to their number."""
    numbers = frame[[column for column in columns if is_numeric(frame[column])]]
    highest = numbers.max()
    are_ranks = (numbers.dropna() % 1 == 0).all(axis=None) and 1 < highest.max() <= len(columns)
    return bool((highest <= 1).all() or (highest > 1).all()) and not are_ranks


def guessed_columns(
    columns: Sequence[str], texts: Sequence[str], roles: named.Roles, frame: pd.DataFrame
) -> dict[str, object]:
    """What several columns of values are: methods, or data sets where each row names a method.

    Raises
    ------
    InputError
        They may be several measures, or either.
    """
    words = roles.words()
    names = [roles.method, *(column for column in texts if like_methods(column, frame))]
    run = roles.column_of("run")
    if run and not is_numeric(frame[run]):  # its name
        names.append(run)
    method = next(filter(None, names), None)
    if method is not None:
        keys = {method, *roles.keys, *roles.blocks}
        if "dataset" in words or frame.duplicated([*keys]).any():
            raise several_values(columns)
        is_known = method == roles.method
        return {"columns": {"dataset": columns}} | ({} if is_known else {"method": method})
    if FILE in texts and numbered_word(frame[FILE]) is None:  # a file may be a method
        raise several_values(columns)
    own = [c for c in texts if frame[c].is_unique and not words_of(c) & LIKE_DATASETS]
    if not own or words or len(frame) > len(columns):
        return {"methods": columns}
    if INDEX_NAME.fullmatch(own[0]):
        raise several_values(columns)
    return {"columns": {"dataset": columns}, "method": own[0]}


def several_values(columns: Sequence[str]) -> InputError:
    """The error for columns of which each may hold the values."""
    more = ", …" if len(columns) > MOST_NAMES else ""
    listed = f"{', '.join(columns[:MOST_NAMES])}{more}"
    return InputError(
        f"{listed} may each be the values: say which one is (value=NAME), or that the columns are "
        "methods (methods=NAMES) or data sets (columns={'dataset': ['NAMES']})"
    )


def check_one_measure(columns: Sequence[str]) -> None:
    """Raise `InputError` for names of two parts, all of one by all of another: 'ours Base', 'ours New'."""
    for separator in " ./_-":
        parts = [column.rpartition(separator) for column in columns]
        firsts, _, seconds = (list(dict.fromkeys(part)) for part in zip(*parts, strict=True))
        are_crossed = len(firsts) * len(seconds) == len({*columns})
        if len(firsts) > 1 and len(seconds) > 1 and are_crossed:
            raise InputError(
                f"{', '.join(firsts)} and {', '.join(seconds)}: one may be methods or data sets, and "
                "the other measures; choose the columns of one measure (methods=NAMES, or data sets: "
                "columns={'dataset': ['NAMES']})"
            )


def is_numberlike(values: pd.Series) -> bool:
    """Whether most cells of a column are numbers."""
    if is_numeric(values):
        return True
    return values.astype(str).map(lambda text: number_in(text) is not None).mean() > MOSTLY


def like_methods(column: str, frame: pd.DataFrame) -> bool:
    """Whether a column's name is often that of methods."""
    few = 1 < frame[column].nunique() <= named.FEW
    words = words_of(column)
    return few and bool(words & LIKE_METHODS) and not words & LIKE_DATASETS


def guessed_method(
    columns: Sequence[str], roles: named.Roles, frame: pd.DataFrame
) -> dict[str, object]:
    """The column of the methods: by its name, or the only one of texts."""
    if "method" in roles.words():
        return {}
    texts = [column for column in columns if not is_numeric(frame[column])]
    few = [column for column in texts if 1 < frame[column].nunique() <= named.FEW]
    likely = [column for column in few if like_methods(column, frame)] or few
    if not likely or PLACES & {*likely}:
        return {}
    if FILE in likely:
        return {"method": FILE}
    counts = frame[likely[0]].value_counts()
    come_equally_often = counts.min() == counts.max() > 1
    is_likely = like_methods(likely[0], frame) or come_equally_often or not roles.keys
    return {"method": likely[0]} if is_likely and len(likely) == 1 else {}


def guessed_rest(
    columns: Sequence[str], roles: named.Roles, frame: pd.DataFrame
) -> dict[str, object]:
    """Of the columns that are left: what tells rows apart, else what to leave out; nothing where a
    column may be a setting, or the sample.
    """
    if PLACES & {*columns}:
        return {}
    units = roles.words().intersection(UNITS)
    if roles.value:  # a run that failed is no repetition
        frame = frame[frame[roles.value].notna()]
    for column in columns:
        word = numbered_word(frame[column])
        if word and word not in units:
            return {"unit": {column: word}}
    keys = roles.key_columns()
    if "method" not in roles.words():
        return {}
    if keys and not frame.duplicated(keys).any():
        for column in columns:
            check_no_kinds(column, roles, frame)
        return {"ignore": [*columns]}
    own = {column: unit_like(column, frame[column], units) for column in columns}
    own = {c: word for c, word in own.items() if word and not frame.duplicated([*keys, c]).any()}
    own = {c: word for c, word in own.items() if methods_of_values(c, roles, frame).median() > 1}
    own = {c: word for c, word in own.items() if words_of(c) & (LIKE_ITEMS | LIKE_RUNS)} or own
    if len(own) == 1:
        return {"unit": own}
    settings = [column for column in columns if frame[column].nunique() <= FEW_VALUES]
    are_crossed = all(methods_of_values(c, roles, frame).min() > 1 for c in settings)
    may_be_runs = any(counts_on(frame[column]) for column in settings)
    is_sample = bool(units) or roles.spread is not None
    if is_sample and settings and are_crossed and not may_be_runs:
        return {"by": settings} if not frame.duplicated([*keys, *settings]).any() else {}
    return {}


def methods_of_values(column: str, roles: named.Roles, frame: pd.DataFrame) -> pd.Series:
    """With how many methods each value of a column comes."""
    if roles.method is None:
        return pd.Series([2])
    return frame.groupby(column)[roles.method].nunique()


def counts_on(values: pd.Series) -> bool:
    """Whether the values of a column are three or more numbers in a row: they may number repetitions."""
    numbers = sorted(values.dropna().unique()) if is_numeric(values) else []
    return len(numbers) > 2 and numbers == [*range(int(numbers[0]), int(numbers[0]) + len(numbers))]


def check_no_kinds(column: str, roles: named.Roles, frame: pd.DataFrame) -> None:
    """Raise `InputError` for a column that gives each unit one of a few kinds: what these are matters."""
    keys = [key for key, word in roles.keys.items() if word in UNITS]
    words = words_of(column)
    is_harmless = words & SETTINGS_OF_RUNS and not words & (LIKE_RUNS | {"seed"})
    if not keys or is_harmless:
        return
    kinds_of_unit = frame.groupby(keys)[column].nunique()
    count = frame[column].nunique()
    if kinds_of_unit.max() == 1 and 1 < count <= FEW_VALUES and count < len(kinds_of_unit):
        raise InputError(
            f"{column} has {count} values for {len(kinds_of_unit)} of {', '.join(keys)}: name it if "
            f"these come in groups that are alike (group={column!r}), if it is a setting "
            f"(by={[column]}), or if it does not matter (ignore={[column]})"
        )


def unit_like(column: str, values: pd.Series, units: set[str]) -> str | None:
    """What a column may number or name: by its name, or as it has more values than settings have."""
    words, is_text = words_of(column), not is_numeric(values)
    if words & LIKE_RUNS and not units & {"run", "seed"}:
        return "run"
    if is_text and (words & LIKE_DATASETS or column == FILE or INDEX_NAME.fullmatch(column)):
        return "dataset"
    if words & LIKE_ITEMS:
        return "item"
    number_like = "item" if is_text or "task" in units else "task"
    return number_like if values.nunique() > FEW_VALUES else None


def numbered_word(values: pd.Series) -> str | None:
    """The unit that all values of a column name with a number, as seed0 and seed1 do."""
    matches = [NUMBERED.fullmatch(str(value)) for value in values.unique()]
    words = {match["word"] for match in matches if match and match["word"] and not match["method"]}
    return words.pop().lower() if len(words) == 1 and all(matches) else None


# The command --------------------------------------------------------------------------------------


def command(files: Sequence[str], options: Options) -> str:
    """The command with these options."""
    parts = ["fslcore report", *map(quoted_path, files)]
    for field in fields(Options):
        value = getattr(options, field.name)
        if not value or value == field.default:
            continue
        flag = "--" + field.name.replace("_", "-")
        if field.name == "columns":
            for word, names in value.items():
                parts += [flag, word, *map(quoted, names)]
        elif isinstance(value, Mapping):
            parts += [flag, *(quoted(f"{column}={word}") for column, word in value.items())]
        elif isinstance(value, tuple):
            parts += [flag, *map(quoted, value)]
        else:
            parts += [flag] if value is True else [flag, quoted(value)]
    return " ".join(parts)


def quoted(value: object) -> str:
    """A value as a shell takes it."""
    return shlex.quote(str(value))


def quoted_path(path: str) -> str:
    """A path as a shell takes it, and no option."""
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))
