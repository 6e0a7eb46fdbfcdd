"""Text as a table: its coding, its lines, its separators, a tabular of LaTeX."""

from __future__ import annotations

import csv
import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from ..errors import InputError, shown
from .numbers import PLUS_MINUS, number_in, without_markup
from .options import Options
from .tables import Reading, is_value, typed

# In the order in which they are tried.
SEPARATORS = {"tab": "\t", "semicolon": ";", "comma": ",", "bar": "|", "blanks": " "}


def read_text(path: Path, options: Options) -> Reading:
    """A table of text: a line of names, or none, and rows of as many cells."""
    text, notes = decoded(path.read_bytes(), path.name)
    if path.suffix.lower() == ".tex":
        text = tabular_lines(text, path.name)
    text = with_whole_cells(text)
    lines, count, between = lines_of(text, path.name, is_rule)
    kind = options.separator
    if kind == "unknown":
        kind = separator_of([*lines.values()], path.name)
    rows = split_rows(lines.values(), kind)
    if all(len(row) == 1 for row in rows):
        kind = "one"
        lines, count, between = lines_of(text, path.name, is_rule_of_values)
        rows = values_in_place(lines, path.name, notes)
    else:
        check_widths(rows, [*lines.values()], path.name)
    places = [*range(len(rows))] if kind == "one" else [*lines]
    if count:
        notes.append(f"Lines that begin with # are left out of {path.name}: {count}.")
    headless = all(map(is_value, rows[0]))
    is_open = options.separator == options.decimal == "unknown"
    if headless and is_open and kind == "comma" and len(rows[0]) == 2:
        raise InputError(
            f"{path.name}: {lines[0]} may be two numbers, or one with a decimal comma; say "
            "separator='comma', or separator='semicolon' and decimal=','"
        )
    if kind not in ("comma", "one"):
        notes.append(f"{path.name}: {kind.removesuffix('s')}s separate the cells.")
    if headless:
        notes.append(f"{path.name} has no line of names.")
        numbers = range(1, len(rows[0]) + 1)
        names = ["numbers"] if kind == "one" else [f"column {number}" for number in numbers]
    else:
        names = checked_names(rows, path.name)
        rows = rows[1:]
        places = [place - 1 for place in places[1:]]
        if any([*map(without_markup, row)] == names for row in rows):
            raise InputError(
                f"{path.name} has its line of names twice; keep the lines of one table in a file of "
                "their own"
            )
    check_comments(between, path.name)
    cells = pd.DataFrame(rows, index=places, columns=names, dtype=object)
    frame, more_notes = typed(cells, path.name, options.decimal)
    check_names_are_no_values(frame, path.name)
    return frame, [*notes, *more_notes]


def with_whole_cells(text: str) -> str:
    """The text with quoted cells that hold line breaks on one line each."""
    lines: list[str] = []
    is_open = False
    for line in text.splitlines():
        if is_open:
            lines[-1] += f" {line}"
        else:
            lines.append(line)
        is_open ^= line.count('"') % 2 == 1
    return text if is_open else "\n".join(lines)  # a quote alone is no beginning of a cell


def tabular_lines(text: str, file: str) -> str:
    """The one tabular of LaTeX as lines of cells with bars between them.

    Raises
    ------
    InputError
        None or several, cells over several rows or columns.
    """
    bodies = re.findall(
        r"\\begin\{tabular\}(?:\[.*?\])?\{(?:[^{}]|\{[^{}]*\})*\}(.*?)\\end\{tabular\}",
        text,
        re.DOTALL,
    )
    if len(bodies) != 1:
        raise InputError(f"{file} has {len(bodies)} tabulars; one is read")
    merged = re.search(r"\\multi(?:row|column)", bodies[0])
    if merged:
        raise InputError(f"{file} has a {merged[0]}; write its cell into each row and column")
    body = re.sub(
        r"(?<!\\)%.*|\\(?:top|mid|bottom|h|c?mid)(?:rule|line)(?:\([^)]*\))?(?:\{[^}]*\})?",
        "",
        bodies[0],
    )
    body = re.sub(r"~?\\cite\w*\{[^}]*\}|~", " ", body)
    rows = [row.strip() for row in re.split(r"\\\\(?:\[[^\]]*\])?", body)]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)&", row)] for row in rows if row]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def lines_of(
    text: str, file: str, is_rule: Callable[[str, Mapping[int, str]], bool]
) -> tuple[dict[int, str], int, list[str]]:
    """The lines that are rows by their places, how many are comments, and the comments between rows.

    An empty line between rows has a place too. Where all lines begin with #, they are rows.

    Parameters
    ----------
    is_rule : function
        Whether a line separates rows, from the line and the rows before it.
    """
    lines = text.splitlines()
    if len(lines) > 2 and not any(map(str.strip, lines[1::2])) and all(map(str.strip, lines[::2])):
        lines = lines[::2]  # each line ends twice, as Python's csv writes without newline=""
    has_other = any(line.strip() and not is_comment(line) for line in lines)
    rows: dict[int, str] = {}
    comments: list[str] = []
    place = before = until = 0
    for line in lines:
        if not line.strip():
            place += bool(rows)
        elif has_other and is_comment(line):
            comments.append(line)
        elif not is_rule(line, rows):
            before = before if rows else len(comments)
            until = len(comments)
            rows[place] = line
            place += 1
    if not rows:
        raise InputError(f"{file} has no rows")
    return rows, len(comments), comments[before:until]


def is_comment(line: str) -> bool:
    """Whether a line begins with a sign of a comment."""
    return line.lstrip().startswith(("#", "//"))


def is_rule(line: str, rows: Mapping[int, str]) -> bool:
    """Whether a line of several cells separates rows; dashes for missing values do not."""
    if "-" not in line or not re.fullmatch(r"[\s|:+-]+", line):
        return False
    return "---" in line or "+" in line or (len(rows) == 1 and "|" in line)


def is_rule_of_values(line: str, rows: Mapping[int, str]) -> bool:
    """Whether a line of one cell separates the name from its values."""
    below_name = len(rows) == 1 and not is_value(rows[0])
    return below_name and re.fullmatch(r"\s*-{3,}\s*", line) is not None


def values_in_place(lines: Mapping[int, str], file: str, notes: list[str]) -> list[list[str]]:
    """The rows of a file with one value per line, where an empty line is a missing value."""
    in_place = [lines.get(place, "") for place in range(max(lines) + 1)]
    empty = len(in_place) - len(lines)
    if empty:
        notes.append(f"{file}: {empty} empty lines are read as tasks without a value.")
    return split_rows(in_place, "one")


def check_comments(comments: Sequence[str], file: str) -> None:
    """Raise `InputError` for comments between rows: a missing value, a setting of the rows below, or a
    row of a method whose name begins with #.
    """
    if comments:
        raise InputError(
            f"{file}: {len(comments)} lines between its rows, such as {shown(comments[0])}, begin with "
            "a sign of a comment: remove them, write nan where a value is missing, write in a column what "
            "they mean for the rows below, or write a method without that sign"
        )


def decoded(raw: bytes, name: str) -> tuple[str, list[str]]:
    """The text of a file in UTF-8, UTF-16 or Windows-1252, and a note on what is unusual."""
    has_mark = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    if has_mark or b"\0" in raw[:1000]:
        without_mark = "utf-16-le" if raw[1:2] == b"\0" else "utf-16-be"
        try:
            text = raw.decode("utf-16" if has_mark else without_mark)
        except UnicodeDecodeError:
            raise InputError(f"{name} must be a table of text, got other bytes") from None
        return text, [f"{name} is read as UTF-16."]
    try:
        return raw.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace"), [f"{name} is read as Windows-1252."]


def separator_of(lines: Sequence[str], file: str) -> str:
    """The kind of separator that splits the lines into equally many cells; 'one' for one cell a
    line.

    Raises
    ------
    InputError
        There is none, as in free text.
    """
    sample = [*lines[:50], *lines[-5:]]
    counts_of_kind = {kind: Counter(map(len, split_rows(sample, kind))) for kind in SEPARATORS}
    for kind, counts in counts_of_kind.items():
        if len(counts) == 1 and 1 not in counts:
            return kind
    one_name = not any(sign in lines[0] for sign in "\t;,") or number_in(lines[0])
    if one_name and any(map(number_in, lines[1:])) and all(map(is_value, lines[1:6])):
        return "one"
    # One row may be damaged: then the first lines still agree.
    for kind in ("tab", "semicolon", "comma"):
        usual, times = counts_of_kind[kind].most_common(1)[0]
        if usual > 1 and times > len(sample) / 2:
            return kind
    raise InputError(unlike_a_table(file, lines))


def split_rows(lines: Iterable[str], kind: str) -> list[list[str]]:
    """The cells of each line."""
    if kind == "one":
        return [[line.strip().strip('"')] for line in lines]
    if kind == "blanks":
        return [re.sub(rf"\s*({PLUS_MINUS})\s*", r"\1", line).split() for line in lines]
    if kind == "bar":
        lines = [line.strip().strip("|") for line in lines]
    lines = [*lines]
    longest = max(map(len, lines), default=0)
    limit = csv.field_size_limit(longest + 1)  # of a cell: 131,072 characters
    try:
        return list(csv.reader(lines, delimiter=SEPARATORS[kind], skipinitialspace=True))
    finally:
        csv.field_size_limit(limit)


def check_widths(rows: Sequence[Sequence[str]], lines: Sequence[str], file: str) -> None:
    """Raise `InputError` for a row with another number of cells than the first."""
    width = len(rows[0])
    if width == 1 < len(rows[1]):
        raise InputError(
            f"the first line of {file}, {shown(lines[0])}, is no line of names, as the next has "
            f"{len(rows[1])} cells; remove titles, and keep the results alone of a log"
        )
    for number, row in enumerate(rows):
        if len(row) != width:
            raise InputError(
                f"row {number} of {file}, {shown(lines[number])}, has {len(row)} cells and its "
                f"first line {width}; write nan where a value is missing, and quote cells that "
                "contain the separator"
            )


def checked_names(rows: Sequence[Sequence[str]], file: str) -> list[str]:
    """The names of columns, in the first row; each may stand once."""
    names = [without_markup(html.unescape(name)) for name in rows[0]]
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    names_index = any(row[0] and not any(row[1:]) for row in rows[1:4])  # a line of pandas
    if repeated and (not names[0] or names_index):
        raise InputError(
            f"{file} has several lines of names, as pandas writes them: "
            'df.columns = ["_".join(names) for names in df.columns] and df.reset_index() before '
            ".to_csv make one line"
        )
    if repeated:
        raise InputError(f"{file} has two columns {repeated[0]}; give one of them another name")
    return [name or f"column {number}" for number, name in enumerate(names, 1)]


def check_names_are_no_values(frame: pd.DataFrame, file: str) -> None:
    """Raise `InputError` for a column called by a fraction that may be one of its values."""
    for name, values in frame.items():
        is_fraction = re.fullmatch(r"-?\d*\.\d+", str(name)) and values.dtype.kind == "f"
        if is_fraction and values.min() <= float(str(name)) <= values.max():
            raise InputError(
                f"{file}: its first line has the value {name} and seems to hold results: write a line "
                "of names above it, or give that column another name"
            )


def unlike_a_table(file: str, lines: Sequence[str]) -> str:
    """The refusal of free text."""
    if any("<table" in line.lower() for line in lines):
        return f"{file} has tables of HTML: write one of them as a CSV"
    if sum(line.lstrip().startswith("|") for line in lines) > 1:
        return (
            f"{file} has other lines than those of one table: keep the lines of one table, "
            "which begin with |, in a file of their own"
        )
    more = ""
    if any(re.search(rf"\d\s*%?\s*(?:{PLUS_MINUS})", line) for line in lines):
        more = "; printed means with their ± are compared by fslcore compare"
    return (
        f"{file} is no table: its lines do not have equally many cells. Write the results as a "
        f"line of names and a row per task, seed or data set, without the other lines of a log{more}"
    )
