"""The rows of all files, and what kind of sample they are, from the roles that were named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from ..errors import InputError, choice, suggestion, visible
from . import roles as named
from .model import PERCENT, SETTINGS, UNIT_KEYS, Measurements, Note, Shape, Table
from .options import Options
from .roles import Roles, Unassigned
from .vocabulary import ANSWERS, METRICS, ROLE_OF, is_accuracy, is_summary, plain_name, words_of

FEW_VALUES = 4  # different values of a block that may come again by chance
COUNT_KEYS = ("ways", "shots", "queries")
MOST_DIGITS = 6  # behind the point of a mean that a file holds
SMALL_CHANCE = 1e-3  # that a unit's values are the means of the others' and it is none
MOST_METHODS = 60  # compared two by two; the 1,770 pairs take some seconds


def measurements(tables: Sequence[Table], options: Options) -> Measurements:
    """One row per measurement of all files.

    Raises
    ------
    Unassigned
        Columns without a role; `fslcore.report.proposal` says what they could be.
    InputError
        What has no true reading, with the way out.
    """
    notes = [note for table in tables for note in table.notes]
    name = tables[0].name if len(tables) == 1 else f"{len(tables)} files"
    frame = named.one_frame(tables)
    if frame.empty:
        raise InputError(f"{name} has no rows")
    frame = named.chosen_rows(frame, options.where)
    roles = named.roles_of(frame, options, name)
    lower = named.direction_of(roles, options, tables)
    rows = named.rows_by(frame, roles, options)
    rows = with_methods(rows, tables, options, notes)
    rows, percent, measure = scaled(rows, roles, options, name=name, lower=lower, notes=notes)
    rows, summaries = without_summaries(rows, [*roles.blocks.values()])
    check_reference(rows, options)
    for key in rows.columns.intersection(COUNT_KEYS):
        texts = rows[key].astype(str)
        digits = texts.str.extract(r"(\d+)")[0]
        is_number = digits.notna().all()  # no number is in all, beside 1 and 5
        rows[key] = digits.astype("int64") if is_number else digits.fillna(texts)
    rows = with_units(rows, options, roles, notes)
    rows = with_items_of_one_class(rows, notes)
    shape = shape_of(rows, options, roles, notes)
    sentence = named.reading_sentence(rows, roles, measure, options, summaries)
    rows = rows.drop(columns=named.PLACE, errors="ignore")
    return Measurements(
        rows.reset_index(drop=True),
        shape,
        percent,
        (sentence, *dict.fromkeys(notes)),
        tuple(roles.blocks.values()),
        lower,
    )


# Rows ---------------------------------------------------------------------------------------------


def with_methods(
    rows: pd.DataFrame, tables: Sequence[Table], options: Options, notes: list[str]
) -> pd.DataFrame:
    """Rows with the names of their methods; of ``methods`` that are values of a column, these alone."""
    if "method" not in rows:
        rows = rows.assign(method=tables[0].stem)
        notes.append("Nothing distinguishes methods: all rows are of one, called after its file.")
    rows["method"] = rows["method"].map(lambda name: visible(str(name).strip()))
    is_nameless = rows["method"].isin(["", "nan", "None"])
    if (is_nameless & rows["accuracy"].notna()).any():
        raise InputError("a row has no method; name it, or leave it out")
    rows = rows[~is_nameless]
    check_methods(rows["method"], options)
    if options.methods:
        rows = rows[rows["method"].isin(options.methods)]
    has_values = rows["accuracy"].notna().groupby(rows["method"]).transform("any")
    if not has_values.any():
        raise InputError("no row has a value")
    empty = int(rows["accuracy"].isna().sum())
    if empty:
        notes.append(f"{empty} empty values are left out.")
    return rows[has_values].copy()


def scaled(
    rows: pd.DataFrame, roles: Roles, options: Options, *, name: str, lower: bool, notes: list[str]
) -> tuple[pd.DataFrame, bool, str]:
    """Accuracies in percent, other measures as written; whether they are accuracies, and in words
    what they are.
    """
    values = rows["accuracy"].dropna()
    if not np.isfinite(values).all():
        raise InputError(f"values of {name} must be finite, or nan, got infinity")
    direction = "lower is better" if lower else "higher is better"
    if roles.of:
        rows["accuracy"] *= PERCENT
        notes.append("Counts are divided by their totals; each row weighs the same.")
        return rows, True, f"{roles.value} of {roles.of} in percent"
    measure = measure_of(roles, options)
    is_answer = plain_name(measure) in ANSWERS and values.isin([0, 1]).all()
    is_share = measure is None or is_accuracy(measure) or is_answer or options.out_of is not None
    if lower or not is_share:
        return rows, False, f"{measure or 'values'} as written ({direction})"
    full_score = options.out_of or (1.0 if values.max() <= 1 else PERCENT)
    outside = values.min() if values.min() < 0 else values.max()
    if outside < 0 or outside > full_score:
        column = measure or rows["method"][rows["accuracy"] == outside].iloc[0]
        raise InputError(
            f"{name}: {column} has the value {outside:g}, and accuracies go from 0 to {full_score:g}; "
            "for right answers of 75 say out_of=75, for another measure value=NAME, and "
            "lower_is_better=True where lower is better"
        )
    if options.out_of is None:
        check_one_unit(rows, name, measure)
    if "half_width" in rows:
        rows["half_width"] *= PERCENT / full_score
    if full_score == 1 and not values.isin([0.0, 1.0]).all():
        notes.append("Values from 0 to 1 are read as shares.")
    if (values % 1 == 0).all() and values.max() > 1 and options.out_of is None:
        text = (
            "Whole numbers are read as percent; if they count right answers, set the option out_of."
        )
        notes.append(Note(text, option="out_of"))
    rows["accuracy"] *= PERCENT / full_score
    is_named = measure or any(words_of(column) & {"acc", "accuracy"} for column in roles.wide)
    is_said = options.higher_is_better or options.out_of is not None
    is_assumed = not (is_named or is_said or values.isin([0.0, 1.0]).all())
    if is_assumed:
        check_one_measure(rows, roles)
    assumption = " (assumed, as no name says so)" if is_assumed else ""
    return rows, True, f"accuracy in percent{assumption}"


def check_one_measure(rows: pd.DataFrame, roles: Roles) -> None:
    """Raise `Unassigned` for columns of values, of which no name says what they measure, in blocks of
    any kind: they may be accuracies in some and losses in others.
    """
    for column, block in roles.blocks.items():
        if plain_name(column) not in ROLE_OF and rows[block].nunique() > 1:
            raise Unassigned(
                f"nothing says what the columns measure, which may differ between blocks of {column}: "
                "higher_is_better=True, or value='accuracy', if it is the same in all, "
                f"or {column} for one of them (where={[f'{column}={rows[block].iloc[0]}']})",
                roles,
                "measure",
            )


def measure_of(roles: Roles, options: Options) -> str | None:
    """What the values measure: the metric that was chosen, or the name of their column."""
    for condition in options.where:
        column, _, value = condition.partition("=")
        if plain_name(column) in METRICS and not column.endswith("!"):
            return value
    return options.value if roles.value in (None, named.NAMELESS) else roles.value


def check_one_unit(rows: pd.DataFrame, name: str, measure: str | None) -> None:
    """Raise `InputError` where some values are in shares and others in percent."""
    positive = rows["accuracy"][rows["accuracy"] > 0]
    if positive.empty or positive.max() <= 1:
        return
    small = positive[positive < 1]
    highest = positive.groupby(rows["method"]).max()
    if len(small) or highest.min() <= 1 or positive.median() <= 1:
        small = positive[positive <= 1]
        other = "" if measure else "; if they are no accuracies, name their measure (value='score')"
        raise InputError(
            f"{name} has the values {small.iloc[0]:g} and {positive.max():g}: shares and percent are "
            f"mixed; write one unit, or say out_of=100 if all are percent{other}"
        )


def without_summaries(rows: pd.DataFrame, blocks: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """The rows without those of means over the others, and what these are called."""
    left: list[str] = []
    keys = ("task", "item", "dataset", "class", "method", "seed", "run", "fold", "draw")
    for key in (*keys, *(block for block in blocks if block not in SETTINGS)):
        if key not in rows:
            continue
        texts = rows[key].astype(str)
        summaries = {text for text in texts.unique() if is_summary(text)}
        if key != "method" and key not in blocks:
            summaries |= means_of_the_others(rows[~texts.isin(summaries)], key)
        if summaries and len(summaries) < texts.nunique():
            left += sorted(summaries)
            rows = rows[~texts.isin(summaries)]
    return rows.copy(), left


def means_of_the_others(rows: pd.DataFrame, key: str) -> set[str]:
    """Units that have a name and whose values are the means of the others', which hardly comes by
    chance.
    """
    names = rows[key].astype(str)
    if names.nunique() < FEW_VALUES or names.str.isdecimal().all():
        return set()
    known = {"accuracy", "half_width", "total", named.PLACE, key}
    places = [column for column in rows if column not in known]
    place = rows.groupby(places, dropna=False).ngroup()
    values = rows["accuracy"].groupby([names, place]).mean().unstack()
    of_others = (values.sum() - values) / (values.notna().sum() - 1)
    units = units_of_last_digits(values)
    are_means = (values - of_others).abs().le(units, axis=0).all(axis=1)
    # A unit is hard for all methods: after the first, only differences from it are evidence.
    evidence = values.sub(values[0], axis=0)
    evidence[0] = values[0]
    ranges = evidence.max() - evidence.min()
    found = set()
    for name in values.index[are_means]:
        chance = len(values) * (2 * units[name] / ranges).clip(upper=1).prod()
        if not name.isdecimal() and chance < SMALL_CHANCE:
            found.add(name)
    return found


def units_of_last_digits(values: pd.DataFrame) -> pd.Series:
    """By row, the smallest step between numbers with as many digits behind the point."""
    units = pd.Series(10.0**-MOST_DIGITS, values.index)
    for digits in reversed(range(MOST_DIGITS)):
        steps = values * 10**digits
        are_steps = ((steps - steps.round()).abs() <= 1e-6).all(axis=1)
        units[are_steps] = 10.0**-digits
    return units


def check_methods(methods: Iterable[str], options: Options) -> None:
    """Raise `InputError` for one of ``methods`` that is none."""
    names = sorted({*methods})
    for name in options.methods:
        if name not in names:
            listed = ", ".join(names[:20])
            raise InputError(f"methods = {name}; {listed} are there{suggestion(name, names)}")


def check_reference(rows: pd.DataFrame, options: Options) -> None:
    """Raise `InputError` for a reference that is no method, and for many methods without one."""
    names = sorted({*rows["method"]})
    if options.reference is not None:
        choice("reference", options.reference, names)
    elif len(names) > MOST_METHODS:
        raise InputError(
            f"{len(names)} methods; up to {MOST_METHODS} are compared two by two, or one with all "
            "others (reference=NAME)"
        )


def with_units(
    rows: pd.DataFrame, options: Options, roles: Roles, notes: list[str]
) -> pd.DataFrame:
    """Rows that have a value, with the key of their unit, and no row twice.

    Raises
    ------
    Unassigned
        Rows that nothing tells apart.
    InputError
        Rows with the same keys; ``common`` where rows name no task and methods have different
        numbers of rows.
    """
    keys = [*SETTINGS, *roles.blocks.values(), "seed", "draw", "run", "fold", "support", *UNIT_KEYS]
    keys = ["method", *dict.fromkeys(key for key in keys if key in rows)]
    parts = {"class": "accuracies of the classes", "item": "answers to the items"}
    parts_of_task = [key for key in parts if key in keys]
    has_value = rows["accuracy"].notna()
    repeated = rows[has_value].duplicated(keys, keep=False)
    if options.rows is not None:
        if options.rows in keys:
            raise InputError(f"rows = {options.rows}; a column names the {options.rows} already")
        # Rows without a value have their place too: only then is row k the same in all files.
        return numbered_rows(rows, keys, options, notes)[has_value].copy()
    rows = rows[has_value].copy()
    if "task" in keys and parts_of_task and "support" not in keys:
        notes += [f"The {parts[key]} of a task are averaged." for key in parts_of_task]
        return averaged(rows, [key for key in keys if key not in parts])
    if not repeated.any():
        return rows
    first = rows[repeated].iloc[0]
    place = ", ".join(f"{key} {first[key]}" for key in keys)
    count = int((rows[keys] == first[keys]).all(axis=1).sum())
    left = roles.left_out()
    are_mostly_single = rows[keys].value_counts(dropna=False).median() == 1
    if not {*UNIT_KEYS} & {*keys} and not are_mostly_single:
        raise Unassigned(
            f"{first['method']} has {count:,} rows, and nothing says what a row is: rows='task', or "
            "item, class, seed, run, fold, dataset, where row k is the same for all methods",
            roles,
            "rows",
        )
    hint = f" Columns without a role may tell them apart: {', '.join(left)}." if left else ""
    raise InputError(
        f"{count:,} rows have {place}: keep each once, name what differs (by=['COLUMN'], "
        f"unit={{'COLUMN': 'run'}}), or choose (where=['COLUMN=VALUE']).{hint}"
    )


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
    """Rows with their place as their unit; a method with fewer rows than others has units of its own."""
    unit = options.rows or "task"
    # In a column or a file per method, an empty line has its place too.
    has_places = len(keys) == 1 or not rows.duplicated([*keys, named.PLACE]).any()
    by_method = rows.groupby("method")[named.PLACE].min().nunique() == 1
    place = rows[named.PLACE]
    if not (has_places and by_method):
        place = rows.groupby([*keys], sort=False, dropna=False).cumcount()
    rows = rows.assign(**{unit: place})
    notes.append(Note(f"Row k of each method is {unit} k, as the option rows says.", option="rows"))
    count = rows.groupby([*keys], dropna=False)[unit].transform("size")
    place = [rows[key] for key in keys if key != "method"] or [np.zeros(len(rows))]
    most = count.groupby(place, dropna=False).transform("max")
    is_shorter = count < most
    if not is_shorter.any():
        return rows
    first = is_shorter.idxmax()
    problem = (
        f"{rows['method'][first]} has {count[first]:,} rows, another method {most[first]:,}: "
        "which of them are the same is unknown; number them in a column, or "
        "write nan where a value is missing"
    )
    if options.common:
        raise InputError(f"common=True: {problem}")
    notes.append(f"{problem}.")
    own_numbers = (rows["method"].factorize()[0] + 1) * count.max() + rows[unit]
    return rows.assign(**{unit: rows[unit].mask(is_shorter, own_numbers)})


def averaged(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Mean values by these keys."""
    return rows.groupby([*keys], sort=False, as_index=False)["accuracy"].mean()


# The shape ----------------------------------------------------------------------------------------


def shape_of(rows: pd.DataFrame, options: Options, roles: Roles, notes: list[str]) -> Shape:
    """What the rows are a sample of.

    Raises
    ------
    InputError
        One mean per method, without a ±: nothing varies; copies of the same numbers.
    """
    units = {*UNIT_KEYS} & {*rows}
    seeded = [
        key for key in ("run", "draw", "seed", "fold") if key in rows and rows[key].nunique() > 1
    ]
    if len(seeded) > 1:
        first, *_, last = seeded
        raise InputError(
            f"{' and '.join(seeded)} both vary; one of them can be the sample: by={[last]} compares "
            f"within it, where=['{last}=…'] keeps one, and ignore={[roles.column_of(first) or first]} "
            "leaves one out that only numbers the rows"
        )
    if "support" in rows and (units or rows["support"].nunique() > 1):
        return Shape.ITEMS
    if units and "group" in rows:
        return Shape.ITEMS
    if seeded:
        check_copies(rows, seeded[0], roles, notes)
    if not units:
        return shape_of_means(rows, seeded, roles)
    check_blocks(rows, seeded, roles)
    if seeded:
        return shape_of_seeded(seeded[0], options, roles)
    if rows["accuracy"].isin([0.0, PERCENT]).all() and not options.lower_is_better:
        notes.append("Values are 0 and 1 alone: each is read as one wrong or right answer.")
        return Shape.OUTCOMES
    return Shape.TASKS


def shape_of_means(rows: pd.DataFrame, seeded: Sequence[str], roles: Roles) -> Shape:
    """`shape_of` one mean per cell."""
    is_unit = "dataset" in rows and "dataset" not in roles.blocks.values()
    datasets = rows["dataset"].nunique() if is_unit else 1
    if "half_width" in rows and rows["half_width"].notna().all():
        if seeded:
            spreads = [column for column, why in roles.ignored.items() if why == "±"]
            if roles.spread and roles.spread[1]:
                spreads = [roles.spread[1]]
            raise InputError(
                f"each mean has a ±, and {seeded[0]} varies too: leave out the ± "
                f"(ignore={spreads or ['COLUMN']}), or keep one {seeded[0]} (where=['{seeded[0]}=…'])"
            )
        return Shape.PRINTED
    if seeded and seeded[0] == "fold":
        if datasets > 1:
            raise InputError("folds and data sets both vary: compare within each (by=['dataset'])")
        return Shape.FOLDS
    if datasets > 1:
        return Shape.DATASETS_AND_SEEDS if seeded else Shape.DATASETS
    if seeded:
        return Shape.SEEDS
    raise InputError(
        "one number per method: nothing shows how much it varies. Bring a row per task, per seed "
        "or per data set, or compare printed figures with their ±: "
        "fslcore compare 79.59±0.52 76.87±0.56 --tasks 600"
    )


def shape_of_seeded(key: str, options: Options, roles: Roles) -> Shape:
    """`shape_of` tasks under several seeds: what a seed numbers is asked."""
    if key == "draw" or (key == "seed" and options.seed == "tasks"):
        return Shape.TASKS_IN_DRAWS
    if key == "run" or (key == "seed" and options.seed == "runs"):
        return Shape.RUNS
    if key == "fold":
        raise InputError(
            "a fold beside tasks or items: compare within each fold (by=['fold']), within each task "
            "if tasks are data sets (by=['task']), or say what it is (unit={'fold': 'run'}, or 'draw')"
        )
    raise Unassigned(
        "what a seed numbers has to be said: seed='runs' (trainings), seed='tasks' (draws of tasks); "
        "of items also unit={'seed': 'support'} (examples or prompts)",
        roles,
        "seed",
    )


def check_blocks(rows: pd.DataFrame, seeded: Sequence[str], roles: Roles) -> None:
    """Raise `InputError` where the values of a method, under one seed, are one block of values
    again and again.
    """
    keys = ("method", *SETTINGS, *roles.blocks.values(), *seeded)
    groups = [key for key in keys if key in rows]
    for place, part in rows.groupby(groups, sort=False):
        values = part["accuracy"].to_numpy()
        for times in range(2, 11):
            parts = values.reshape(times, -1) if len(values) % times == 0 else values[None]
            repeats = len(parts) > 1 and (parts == parts[0]).all()
            if repeats and len(np.unique(parts[0])) > FEW_VALUES:
                raise InputError(
                    f"{place[0]}: {len(values)} values are the same {parts.shape[1]} values "
                    f"{times} times; keep each task once, or number runs in a column run"
                )


def check_copies(rows: pd.DataFrame, key: str, roles: Roles, notes: list[str]) -> None:
    """Raise `InputError` where two seeds, or runs, of a method have the very same numbers, and
    another does not.

    A method with the same numbers under every seed may be deterministic, which is noted, and a few
    different values, as where all answers are right, may come again by chance.
    """
    groups = [c for c in ("method", *SETTINGS, *roles.blocks.values()) if c in rows]
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
            f"numbers; one is a copy of the other: leave it out "
            f"(where={[f'{key}!={copies.index[1]}']}), or "
            "bring its own results"
        )
    if equal:
        text = (
            f"Every {key} of {', '.join(dict.fromkeys(equal))} has the very same numbers: it is "
            "read as a method without randomness. If they are copies of one file, leave them out "
            f"(the option where: {key}!=NUMBER)."
        )
        notes.append(Note(text, option="where"))
