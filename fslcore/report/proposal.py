"""The refusal of columns without a role: what each could be, and a whole command, which was tried.

Guesses are made here and nowhere else; none is used without the user's word.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError, visible
from . import roles as named
from .model import Table, UnnamedRoles
from .numbers import number_in
from .options import Options
from .read import FilePath, matching, path_pattern
from .roles import BRACKETS, FILE, PLUS_MINUS, Direction, Unassigned, is_numeric
from .vocabulary import (
    INDEX_NAME,
    KIND_OF_SPREAD,
    LOWER_IS_BETTER,
    METRICS,
    OTHER_MEASURES,
    STEPS,
    VOCABULARY,
    is_summary,
    kind_of_spread,
    plain_name,
    words_of,
)

LIKE_METHODS = set(
    "framework trainer policy backbone network name run pipeline variant config system agent arm "
    "estimator strategy architecture arch encoder solver baseline technique key algo".split()
)
LIKE_DATASETS = set("data dataset datasets benchmark domain corpus set".split())
METHOD_WORDS = {*VOCABULARY["method"].split()}
LIKE_VALUES = (
    "acc accuracy correct passed success successes score scores result value reward em f1 auc map "
    "bleu rouge performance test".split()
)
NOT_METHODS = set(
    "rank improvement delta diff difference gain margin pvalue p lr wd batch size count n id seed "
    "lambda alpha temperature time std sd mean avg average test train params flops".split()
)
LIKE_COUNTS = {"seeds", "runs", "folds", "episodes", "repeats", "repetitions"}
LIKE_RUNS = {"run", "rep", "repeat", "repetition", "replicate", "trial", "iteration", "restart"}
FEW_VALUES, FEW_KINDS = 12, 5
MOSTLY = 0.4  # of the cells of a column that some text has spoiled
LIKE = 3  # times as large, or as small, as the others: still a measurement of the same kind
OF_TWO_PARTS = re.compile(r"(.+)[ _/-](.+)")  # a name: of a method, and of what was measured
REVERSED = (
    "Methods rank in the opposite order in other rows: one kind may be accuracies, another a loss."
)
SHOWN = 4
ATTEMPTS = 12

Measure = Callable[[Sequence[Table], Options], object]


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


def refusal(error: Unassigned, asked: Question, measure: Measure) -> UnnamedRoles:
    """The error that a user sees.

    Parameters
    ----------
    error : Unassigned
    asked : Question
    measure : callable
        What reads tables by options, and raises `InputError`; tried before it is proposed.
    """
    frame = named.chosen_rows(named.one_frame(asked.tables), asked.options.where)
    lines = [f"{error}. A verdict needs a role for every column that varies."]
    lines += table_of(error, frame)
    if not error.columns:  # values may be inside of what was left out
        lines += [note for table in asked.tables for note in table.notes if "not read" in note]
    proposed, problem = proposal(asked, measure)
    if proposed is not None:
        others = for_other_measures(asked, proposed, frame, measure)
        if any(option.lower_is_better != proposed.options.lower_is_better for option in others):
            lines.append(REVERSED)
        lines.append(f"If this is meant, type{' one of' if others else ''}:")
        lines += [
            f"  {command(proposed.files, options)}" for options in (proposed.options, *others)
        ]
    elif problem and problem != str(error):
        lines.append(f"With the most likely roles: {problem}")
    return UnnamedRoles("\n".join(lines))


def table_of(error: Unassigned, frame: pd.DataFrame) -> list[str]:
    """A line per column: its values, and the options that would name it."""
    rows = []
    for column in error.columns[:30]:
        values = frame[column]
        texts = named.texts_of(values).unique()
        shown = ", ".join(visible(str(text))[:12] for text in texts[:SHOWN])
        count = values.nunique()
        more = ", …" if count > SHOWN else ""
        rows.append(
            (
                visible(str(column)),
                f"{count} value{'' if count == 1 else 's'} ({shown}{more})",
                could_be(column, values, error),
            )
        )
    widths = [max(map(len, cells)) for cells in list(zip(*rows, strict=True))[:2]] if rows else []
    lines = ["  " + "  ".join(map(str.ljust, row[:2], widths)) + f"  {row[2]}" for row in rows]
    if len(error.columns) > 30:
        lines.append(f"  … and {len(error.columns) - 30} more columns")
    return lines


def could_be(column: str, values: pd.Series, error: Unassigned) -> str:
    """The options that could name a column."""
    name = shlex.quote(str(column))
    ignored = f"--ignore {name}"
    if str(column).endswith(BRACKETS):
        return "numbers in brackets: --ignore '()'"
    choices = []
    if is_numeric(values) and "value" in error.missing:
        choices += [f"--value {name}", f"--methods {name} …"]
    is_measured = is_numeric(values) and bool((values.dropna() % 1 != 0).any())
    if values.nunique() == 1:
        return ", ".join([*choices, ignored])
    if not is_measured and values.nunique() <= named.FEW:
        choices += [] if error.roles.method else [f"--method {name}"]
        choices.append(f"--by {name}")
    if not is_measured:
        choices.append(f"--unit {shlex.quote(f'{column}=task')} (item, seed, …)")
    return ", ".join([*choices, ignored])


# The proposal -------------------------------------------------------------------------------------


def proposal(asked: Question, measure: Measure) -> tuple[Question | None, str]:
    """The roles that are most likely, if they can be read; else None, and why not."""
    problem = ""
    for start in (*with_pattern(asked), asked):
        tried, problem = completed(start, measure)
        if tried is not None:
            return tried, ""
    return None, problem


def completed(asked: Question, measure: Measure) -> tuple[Question | None, str]:
    """One guess after another, until the tables can be read."""
    options = asked.options
    problem = of_spread = ""
    for _ in range(ATTEMPTS):
        try:
            measure(asked.tables, options)
        except Unassigned as error:
            frame = named.chosen_rows(named.one_frame(asked.tables), options.where)
            more = guess(with_likely_columns(error, frame), frame, options)
            problem = str(error)
            of_spread = of_spread or (problem if "n" in error.missing else "")
        except Direction as error:
            more = {"lower_is_better": True}
            problem = str(error)
        except InputError as error:
            more = {}
            problem = str(error)
        else:
            return replace(asked, options=options), ""
        if not more:
            return None, of_spread or problem
        try:
            options = merged(options, more)
        except InputError as error:
            return None, str(error)
    return None, problem


def with_pattern(asked: Question) -> list[Question]:
    """The same files by a pattern with named parts, where it matches these files alone."""
    if len(asked.tables) < 2 or any(table.parts for table in asked.tables):
        return []
    pattern = path_pattern(asked.files) if len(asked.files) == len(asked.tables) else None
    if pattern is None or "{" not in pattern:
        return []
    try:
        files: list[FilePath] = matching(pattern)
    except InputError:
        return []
    parts = {str(file.path): file.parts for file in files}
    given = [str(Path(file)) for file in asked.files]
    if {*parts} != {*given}:
        return []
    tables = [
        replace(table, parts=parts[file]) for table, file in zip(asked.tables, given, strict=True)
    ]
    return [Question(tables, asked.options, [pattern])]


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


def with_likely_columns(error: Unassigned, frame: pd.DataFrame) -> Unassigned:
    """The error without constant columns that are a setting by their name, or whose number is
    unlike those that vary.
    """
    constant = [c for c in error.columns if error.roles.ignored.get(c) == "constant"]
    varying = [column for column in error.columns if column not in constant]
    unlikely = {c for c in constant if words_of(c) & (NOT_METHODS | STEPS)}
    numbers = frame[[c for c in varying if is_numeric(frame[c])]].to_numpy(float)
    numbers = numbers[np.isfinite(numbers)]
    if numbers.size:
        low, high = numbers.min() / LIKE, numbers.max() * LIKE
        unlikely |= {c for c in constant if not low <= frame[c].iloc[0] <= high}
    columns = [column for column in error.columns if column not in unlikely]
    return Unassigned(str(error), columns, error.missing, error.roles)


def guess(error: Unassigned, frame: pd.DataFrame, options: Options) -> dict[str, object]:
    """What the next column without a role, or the next role without a column, most likely is."""
    roles, columns = error.roles, error.columns
    brackets = [column for column in columns if str(column).endswith(BRACKETS)]
    if brackets:
        return {"ignore": ["()"]}
    for column in columns:
        choice = chosen_part(column, frame[column])
        if choice:
            return {"where": [choice]}
    for of_role in (guessed_methods_of_a_mean, guessed_value, guessed_method):
        found = of_role(error, frame)
        if found:
            return found
    if columns:
        return guessed_rest(columns, roles, frame)
    return guessed_answer(error, frame, options)


def guessed_answer(error: Unassigned, frame: pd.DataFrame, options: Options) -> dict[str, object]:
    """What most likely is the answer to what no column says."""
    roles = error.roles
    if "measure" in error.missing:
        are_opposite = any(rank_oppositely(column, roles, frame) for column in roles.blocks)
        return {} if are_opposite else {"higher_is_better": True}
    if "pm" in error.missing:
        return {"pm": "ci"}
    if "n" in error.missing and roles.spread:
        counts = [column for column in frame if words_of(column) & LIKE_COUNTS]
        counts = [column for column in counts if is_numeric(frame[column])]
        return {"n": counts[0]} if len(counts) == 1 else {"ignore": [roles.spread[1]]}
    if "rows" in error.missing and options.rows is None:
        return {"rows": "task"}
    if "seed" in error.missing:
        return guessed_seed(roles, frame)
    return {}


def guessed_seed(roles: named.Roles, frame: pd.DataFrame) -> dict[str, object]:
    """What a seed most likely numbers: draws where each has tasks of its own, else trainings."""
    seed = roles.column_of("seed")
    if seed is None:  # in the names of columns
        return {"seed": "runs"}
    if "item" in roles.words():
        return {"unit": {seed: "support"}}
    unit = roles.column_of("task")
    has_own_tasks = unit is not None and frame.groupby(unit)[seed].nunique().max() == 1
    return {"seed": "tasks" if has_own_tasks else "runs"}


def chosen_part(column: str, values: pd.Series) -> str | None:
    """The rows that a column of metrics or of splits suggests."""
    plain = plain_name(column)
    texts = [str(value) for value in values.unique()]
    if plain in METRICS:
        likely = [text for text in texts if words_of(text) & {"acc", "accuracy"}]
        return f"{column}={(likely or texts)[0]}"
    if plain in ("split", "subset", "phase", "partition") and "test" in texts:
        return f"{column}=test"
    return None


def guessed_methods_of_a_mean(error: Unassigned, frame: pd.DataFrame) -> dict[str, object]:
    """The columns of the methods, where the column of values may be their mean."""
    roles = error.roles
    if not roles.value or not is_summary(roles.value) or roles.method:
        return {}
    likely = guessed_value(Unassigned(str(error), error.columns, ["value"], roles), frame)
    return {**likely, "ignore": [roles.value]} if "methods" in likely else {}


def guessed_value(error: Unassigned, frame: pd.DataFrame) -> dict[str, object]:
    """The column of values, or the columns."""
    if "value" not in error.missing:
        return {}
    roles = error.roles
    first_numbers = [column for column in error.columns if not str(column).endswith(PLUS_MINUS)]
    numeric = [column for column in first_numbers if is_numberlike(frame[column])]
    results = [
        column
        for column in numeric
        if not (words_of(column) & (OTHER_MEASURES | NOT_METHODS) or is_summary(column))
        and plain_name(column) not in KIND_OF_SPREAD
    ]
    results = like_each_other(results, frame)
    accuracies = [column for column in numeric if words_of(column) & {"acc", "accuracy"}]
    accuracies = [c for c in accuracies if not words_of(c) & {"train", "std"}] or accuracies
    counts = [
        column for column in numeric if words_of(column) & {"successes", "correct", "ncorrect"}
    ]
    numbers = [column for column in frame if is_numeric(frame[column])]
    totals = [column for column in numbers if words_of(column) & {"trials", "total", "n", "count"}]
    if len(counts) == 1 and len(totals) == 1 and (frame[counts[0]] <= frame[totals[0]]).all():
        return {"value": counts[0], "of": totals[0]}
    if len(accuracies) == 1:
        return {"value": accuracies[0]}
    tests = [column for column in accuracies if "test" in words_of(column)]
    if len(tests) == 1 and roles.method:
        return {"value": tests[0]}
    if len(accuracies) > 1 and not roles.method:
        return {"methods": accuracies}
    for word in LIKE_VALUES:
        likely = [
            column
            for column in numeric
            if word in words_of(column) and not words_of(column) & (NOT_METHODS | LOWER_IS_BETTER)
        ]
        if len(likely) == 1:
            return {"value": likely[0]}
    return (
        guessed_mean(numeric, results, roles, frame)
        or guessed_columns(results, error, frame)
        or guessed_first(results, numeric)
    )


def guessed_mean(
    numeric: Sequence[str], results: Sequence[str], roles: named.Roles, frame: pd.DataFrame
) -> dict[str, object]:
    """The column of values, or the columns, where names say that they are means."""
    means = [column for column in numeric if "mean" in words_of(column)]
    if len(means) > 1 and not roles.method:
        return {"methods": means}
    of_a_measure = [column for column in means if not is_summary(column)]
    has_spread = any(kind_of_spread(c, mean) for mean in of_a_measure for c in numeric)
    if of_a_measure and (roles.method or has_spread):
        return {"value": of_a_measure[0]}
    return {"value": means[0]} if means and roles.method and not results else {}


def guessed_columns(
    results: Sequence[str], error: Unassigned, frame: pd.DataFrame
) -> dict[str, object]:
    """What several columns of values are: methods, or data sets where rows name methods."""
    roles = error.roles
    if len(results) < 2:
        return {}
    texts = [column for column in error.columns if not is_numberlike(frame[column])]
    run = roles.column_of("run")
    if run and not roles.method and names_rows(frame[run]):
        return {"method": run, "columns": {"dataset": results}}
    if len(texts) == 1 and is_nameless(texts[0]) and len(frame) > len(results):
        return {"methods": results}
    others = {*error.columns} - {*results}
    has_methods = roles.method or any(like_methods(column, frame) for column in others)
    if has_methods or (texts and not roles.words()):
        return {"columns": {"dataset": results}}
    return one_of_each(results)


def guessed_first(results: Sequence[str], numeric: Sequence[str]) -> dict[str, object]:
    """The first column of numbers, or that of a loss or of a time."""
    likely = results or [column for column in numeric if words_of(column) & LOWER_IS_BETTER]
    return {"value": likely[0]} if likely else {}


def names_rows(values: pd.Series) -> bool:
    """Whether a column holds a text of its own for each row."""
    return values.is_unique and not is_numeric(values)


def is_nameless(column: str) -> bool:
    """Whether a column has no name but that of its place, as the index of a table of pandas."""
    return INDEX_NAME.fullmatch(str(column)) is not None


def is_numberlike(values: pd.Series) -> bool:
    """Whether most cells of a column are numbers."""
    if is_numeric(values):
        return True
    return values.astype(str).map(lambda text: number_in(text) is not None).mean() > MOSTLY


def like_each_other(columns: Sequence[str], frame: pd.DataFrame) -> list[str]:
    """Of columns of numbers those of answers or of measurements, without those that count or number."""
    numeric = [column for column in columns if is_numeric(frame[column])]
    answers = [column for column in numeric if frame[column].dropna().isin([0, 1]).all()]
    if len(answers) > 1:
        return answers
    varying = [column for column in numeric if named.varies(frame[column])]
    whole = {column for column in varying if (frame[column].dropna() % 1 == 0).all()}
    return [column for column in columns if column not in whole] or [*columns]


def one_of_each(columns: Sequence[str]) -> dict[str, object]:
    """Columns as methods; of names of two parts, a method's and a measure's, the first measure."""
    matches = [OF_TWO_PARTS.fullmatch(str(column)) for column in columns]
    parts = [match for match in matches if match]
    if len(parts) == len(columns):
        methods = {match[1] for match in parts}
        measures = list(dict.fromkeys(match[2] for match in parts))
        if min(len(methods), len(measures)) > 1 and len(columns) == len(methods) * len(measures):
            chosen = [match[0] for match in parts if match[2] == measures[0]]
            return {"methods": chosen, "ignore": [c for c in columns if c not in chosen]}
    return {"methods": [*columns]}


def is_reversed(columns: pd.DataFrame, kinds: pd.Series, two: Sequence[object]) -> bool:
    """Whether columns of values rank in the opposite order in two kinds of rows, as an accuracy and
    a loss do.
    """
    means = columns.groupby(kinds).mean().loc[[*two]]
    ranks = means.rank(axis=1).to_numpy()
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    return bool(centred[0] @ centred[1] < 0)


def rank_oppositely(column: str, roles: named.Roles, frame: pd.DataFrame) -> bool:
    """Whether `is_reversed` holds for the first kind of rows in a column and another one."""
    first, *others = frame[column].unique()
    columns = frame[[name for name in roles.wide if is_numeric(frame[name])]]
    return any(is_reversed(columns, frame[column], (first, other)) for other in others)


def for_other_measures(
    asked: Question, proposed: Question, frame: pd.DataFrame, measure: Measure
) -> list[Options]:
    """The options for what else the columns of values measure: in other rows, or under names of the
    same methods.
    """
    options = proposed.options
    others = [*under_other_names(options), *transposed(options)]
    for condition in set(options.where) - set(asked.options.where):
        column, _, first = condition.partition("=")
        if column not in frame or chosen_part(column, frame[column]):
            continue
        columns = frame[[*options.methods]].apply(pd.to_numeric, errors="coerce")
        for kind in frame[column].unique():
            if kind != first:
                lower = is_reversed(columns, frame[column], (first, kind))
                where = [
                    f"{column}={kind}" if part == condition else part for part in options.where
                ]
                others.append(replace(options, where=where, lower_is_better=lower))
    readable = []
    for other in others:
        try:
            measure(proposed.tables, other)
        except InputError:
            continue
        readable.append(other)
    return readable


def under_other_names(options: Options) -> Iterator[Options]:
    """Of methods called ours_acc and base_acc, where ours_f1 and base_f1 are left out, the options
    for these.
    """
    names = [*options.methods, *options.ignore]
    parts = [match for match in map(OF_TWO_PARTS.fullmatch, names) if match]
    methods = [match[1] for match in parts if match[0] in options.methods]
    for name in dict.fromkeys(match[2] for match in parts):
        chosen = [match[0] for match in parts if match[2] == name]
        has_all = [match[1] for match in parts if match[2] == name] == methods
        if methods and has_all and chosen[0] not in options.methods:
            left = tuple(other for other in names if other not in chosen)
            yield replace(options, methods=chosen, ignore=left)


def transposed(options: Options) -> Iterator[Options]:
    """Where a column without a name names the methods, columns may do so, and it the data sets."""
    names = options.columns.get("dataset", ())
    if names and options.method is not None and is_nameless(options.method):
        unit = {**options.unit, options.method: "dataset"}
        yield replace(options, method=None, columns={}, methods=names, unit=unit)


def like_methods(column: str, frame: pd.DataFrame) -> bool:
    """Whether a column's name is often that of methods."""
    few = 1 < frame[column].nunique() <= named.FEW
    words = words_of(column) | {column.split(" ")[0]}
    return few and bool(words & LIKE_METHODS) and not words & LIKE_DATASETS


def guessed_method(error: Unassigned, frame: pd.DataFrame) -> dict[str, object]:
    """The column of the methods."""
    roles = error.roles
    if "method" in roles.words():
        return {}
    few = [column for column in error.columns if 1 < frame[column].nunique() <= named.FEW]
    likely = [column for column in few if like_methods(column, frame)]
    likely += [column for column in few if column == FILE]
    texts = [column for column in few if not is_numeric(frame[column])]
    likely += [column for column in texts if repeats(frame[column]) or (roles.wide and texts)]
    likely += [
        column for column in texts if len(frame) == frame[column].nunique() and not roles.keys
    ]
    return {"method": likely[0]} if likely else {}


def repeats(values: pd.Series) -> bool:
    """Whether each value comes equally often, and more than once."""
    counts = values.value_counts()
    return bool(counts.min() > 1 and counts.min() == counts.max())


def guessed_rest(
    columns: Sequence[str], roles: named.Roles, frame: pd.DataFrame
) -> dict[str, object]:
    """Of the columns that are left one: what tells rows apart, else left out."""
    keys = [column for column in (roles.method, *roles.keys, *roles.blocks) if column]
    is_ambiguous = frame.duplicated(keys).any() if keys else len(frame) > 1
    units = {*roles.keys.values()} & {"task", "item", "class", "seed", "run", "draw", "fold"}
    names = [name for column in roles.wide.values() for name in column]
    if roles.wide and not units and "dataset" not in {*roles.keys.values(), *names}:
        is_ambiguous = True
    ordered = sorted(
        columns,
        key=lambda column: (
            not words_of(column) & {"id", "uid", "item", "data"},
            frame[column].nunique(),
            columns.index(column),
        ),
    )
    if "number" in columns:  # of a folder: it may stand for anything
        return {}
    for column in ordered:
        values = frame[column]
        if is_numeric(values) and (values.dropna() % 1 != 0).any():
            continue
        words = words_of(column)
        if column == "key 2":
            is_seed = all(re.fullmatch(r"(?:seed|run)?[-_ ]*\d+", str(value)) for value in values)
            return {"unit": {column: "seed" if is_seed else "dataset"}}
        if column == "place":
            return {"unit": {column: "task"}}
        by_kind = guessed_kind(column, roles, frame)
        if by_kind:
            return by_kind
        if not is_ambiguous:
            continue
        if words & LIKE_RUNS and not units & {"run", "seed"}:
            return {"unit": {column: "run"}}
        with_it = not frame.duplicated([*keys, column]).any()
        is_method = bool(words & METHOD_WORDS)
        if with_it and not is_method and values.nunique() > (FEW_VALUES if units else 2):
            by_data = words & LIKE_DATASETS or column == FILE
            by_data = by_data or (is_nameless(column) and not is_numeric(values))
            likely = (
                "dataset"
                if by_data
                else "item"
                if "task" in units or not is_numeric(values) or words & {"id", "uid"}
                else "task"
            )
            return {"unit": {column: likely}}
        if values.nunique() <= FEW_VALUES or column == FILE or is_method:
            return {"by": [column]}
    if columns == [FILE]:
        return {"by": columns}
    return {"ignore": list(columns)}


def guessed_kind(column: str, roles: named.Roles, frame: pd.DataFrame) -> dict[str, object]:
    """Blocks by the kinds of rows in a column; one kind where another orders the methods otherwise."""
    values = frame[column]
    is_kind = roles.wide and not is_numeric(values) and values.nunique() <= FEW_KINDS
    if not is_kind or values.value_counts().min() < 2:
        return {}
    if rank_oppositely(column, roles, frame):
        return {"where": [f"{column}={values.iloc[0]}"]}
    return {"by": [column]}


# The command --------------------------------------------------------------------------------------


def command(files: Sequence[str], options: Options) -> str:
    """The command with these options."""
    parts = ["fslcore report", *map(quoted_path, files)]
    for field in fields(Options):
        value = getattr(options, field.name)
        if value in (None, False, "unknown", ()) or value == {} or value == field.default:
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
