"""A results file as a table of cells: text in any coding, arrays, JSON, spreadsheets, Parquet.

What a column means is decided in `fslcore.report.shapes`. Nothing is loaded that could run code.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import InputError, reason, shown, unique_keys, visible, warn
from ..paths import check_expanded, check_zip
from ..recorder import is_earlier_part
from . import events, logs
from .columns import chosen_meanings, meanings
from .options import Options

if TYPE_CHECKING:
    import pyarrow as pa

Reading = tuple[pd.DataFrame, list[str]]  # a frame, and a sentence for each choice
# In the order in which they are tried.
SEPARATORS = {"tab": "\t", "semicolon": ";", "comma": ",", "bar": "|", "blanks": " "}
TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".dat", ".log", ".out", ".md", "")
# Formats that need another library; the line writes them as a CSV. None runs code of the file.
CONVERSIONS = {
    ".pt": "import torch, pandas as pd; pd.DataFrame({{name: values.tolist() for name, values in "
    "torch.load({path}, weights_only=True).items()}}).to_csv({target}, index=False)",
    ".mat": "import scipy.io, pandas as pd; "
    "pd.DataFrame({{name: values.ravel() for name, values in "
    "scipy.io.loadmat({path}).items() if name[0] != '_'}}).to_csv({target}, index=False)",
}
CONVERSIONS[".pth"] = CONVERSIONS[".pt"]
PICKLES = (".pkl", ".pickle")
BYTES_OF_XML = 10  # of memory per byte of a spreadsheet's XML: its cells as objects of Python
BYTES_OF_CELL = 8  # of a table in memory, at least
ROWS, ROWS_OF_DELTAS = 2**16, 16  # of a Parquet file whose texts are measured together
PLUS_MINUS = r"(?:±|\+\s*/?\s*-|\$?\\pm\$?)"
NUMBER = r"[-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?"
CELL = re.compile(
    rf"\$?\s*({NUMBER})\s*(?:\\?%)?\s*(?:{PLUS_MINUS}\s*({NUMBER})"
    rf"|(?:\(|\$?_\{{)\s*(?:{PLUS_MINUS})?\s*({NUMBER})\s*[)}}])?"
    r"\s*(?:\\?%)?\s*\$?"
)
EMPTY_CELLS = {"", "-", "--", "---", "–", "—", "nan", "na", "n/a", "none", "null", "nil"}
TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "correct": 1.0, "wrong": 0.0}
LOGGED = re.compile(r"([A-Za-z][A-Za-z @/_-]*?)\s*[:=]?\s+?(\d+\.\d+)")
MARKUP = re.compile(r"\\text(?:bf|it)\{([^{}]*)\}|\\(?:underline|mathbf)\{([^{}]*)\}|\*\*(.*?)\*\*")


@dataclass(frozen=True)
class Table:
    """Cells of one file: text or numbers.

    Attributes
    ----------
    frame : DataFrame
        Columns named as in the file; of a file without names ``value``, or ``column 1``, ….
    name : str
        The file's name in messages.
    notes : tuple of str
        A sentence for each choice that reading took.
    """

    frame: pd.DataFrame
    name: str
    notes: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        """The name without its ending, which may be a method's or a data set's."""
        return Path(self.name).stem


def refuse(problems: Sequence[str]) -> None:
    """Raise `InputError` with all problems in one line; nothing if there is none."""
    problems = list(dict.fromkeys(problems))
    if len(problems) == 1:
        raise InputError(problems[0])
    if problems:
        numbered = [f"({number}) {problem}" for number, problem in enumerate(problems, 1)]
        raise InputError(f"{len(problems)} problems: {'; '.join(numbered)}")


def read_tables(files: Sequence[Path], options: Options) -> list[Table]:
    """The tables of all files.

    Raises
    ------
    InputError
        Files that cannot be read, all of them in one line, each with what to type.
    """
    tables, problems = [], []
    for path in files:
        try:
            tables.append(read_table(path, options))
        except InputError as error:
            problems.append(str(error))
    refuse(problems)
    return logs.with_supports(tables)


def expanded(paths: Sequence[Path]) -> list[Path]:
    """The files, with those inside of folders; each may be given once."""
    files = []
    for path in paths:
        if os.path.isdir(path):
            inside = events.test_runs(path) or files_inside(path)
            if not inside:
                raise InputError(f"{path} has no files")
            files += inside
        else:
            files.append(path)
    repeated = [name for name, count in Counter(map(os.path.realpath, files)).items() if count > 1]
    if repeated:
        name = os.path.basename(repeated[0])
        raise InputError(f"{name} is given twice; once is allowed")
    return files


def files_inside(folder: Path) -> list[Path]:
    """The files in a folder, without hidden ones and what stopped loops recorded before they were
    run again, which a note names.
    """
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and file.name[0] != "."]
    earlier = [file for file in files if is_earlier_part(file)]
    if earlier:
        names = ", ".join(file.name for file in earlier)
        warn(f"{folder}: not read, recorded by loops that were stopped and run again: {names}")
    return [file for file in files if file not in earlier]


def read_table(path: Path, options: Options) -> Table:
    """One file as a table; errors as for `read_tables`."""
    if not os.path.isfile(path):
        part = path.with_name(f"{path.stem}.part{path.suffix}")
        hint = f"; {part} holds the tasks of a loop that is not finished" if part.is_file() else ""
        raise InputError(f"no file {path}{hint}")
    ending = path.suffix.lower()
    try:
        if events.MARK in path.name:
            frame, notes = events.test_run(path)
        elif ending in READERS:
            frame, notes = READERS[ending](path)
        elif ending in TEXT_ENDINGS:
            frame, notes = read_text(path, options)
        else:
            raise InputError(other_format(path))
    except InputError:
        raise
    except ModuleNotFoundError as error:
        package = (error.name or str(error)).partition(".")[0]
        raise InputError(
            f"{path.name}: reading it needs {package}; pip install {package} installs it"
        ) from None
    except MemoryError:
        raise
    except Exception as error:  # readers raise anything on a broken file
        raise InputError(f"{path.name} cannot be read ({reason(error)})") from None
    return Table(frame, path.name, tuple(notes))


def other_format(path: Path) -> str:
    """The refusal of another format, with a line of Python that writes it as a CSV, if known."""
    endings = filter(None, [*TEXT_ENDINGS, *READERS])
    message = f"{path.name}: {', '.join(endings)} are read"
    if path.suffix.lower() in PICKLES:
        return (
            f"{message}; a pickle can run code when it is loaded, so none is: write the table with "
            ".to_csv where it was made"
        )
    line = CONVERSIONS.get(path.suffix.lower())
    if line is None:
        return message
    code = line.format(path=python_text(path.name), target=python_text(f"{path.stem}.csv"))
    return f"{message}; this writes it as a CSV: python -c {shlex.quote(code)}"


def python_text(text: str) -> str:
    """A text as Python writes it, in double quotes, so that a shell's single quotes hold it."""
    return json.dumps(text)


# Text ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lines:
    """The lines of a text that are rows.

    Attributes
    ----------
    rows : list of str
        Without empty lines, comments and rules. Where all lines begin with #, they are rows.
    places : list of int
        The place of each row. An empty line between rows has one too.
    comments : int
        How many lines are comments.
    inside : list of str
        The comments between the rows.
    """

    rows: list[str]
    places: list[int]
    comments: int
    inside: list[str]

    @property
    def in_place(self) -> list[str]:
        """The rows at their places, with empty lines between them."""
        lines = [""] * (self.places[-1] + 1)
        for place, row in zip(self.places, self.rows, strict=True):
            lines[place] = row
        return lines


def read_text(path: Path, options: Options) -> Reading:
    """A table of text: a line of names, or none, and rows of as many cells."""
    text, notes = decoded(path.read_bytes(), path.name)
    lines = lines_of(text, path.name, is_rule)
    kind = separator_of(lines.rows) if options.separator == "unknown" else options.separator
    if kind is None:
        raise InputError(unlike_a_table(path, lines.rows))
    rows = split_rows(lines.rows, kind)
    if kind == "one" or all(len(row) == 1 for row in rows):
        kind = "one"
        lines = lines_of(text, path.name, is_rule_of_values)
        rows = values_in_place(lines, path.name, notes)
        places = [*range(len(rows))]
    else:
        check_widths(rows, lines.rows, path.name)
        check_comments(lines.inside, len(rows[0]), kind, path.name)
        places = lines.places
    if lines.comments:
        notes.append(f"Lines that begin with # are left out of {path.name}: {lines.comments}.")
    headless = all(map(is_value, rows[0]))
    is_open = options.separator == options.decimal == "unknown"
    if headless and is_open and kind == "comma" and len(rows[0]) == 2:
        raise InputError(
            f"{path.name}: {lines.rows[0]} may be two numbers, or one with a decimal comma; say "
            "--separator comma or --separator semicolon --decimal ,"
        )
    if kind not in ("comma", "one"):
        notes.append(f"{path.name}: {kind.removesuffix('s')}s separate the cells.")
    if headless:
        notes.append(f"{path.name} has no line of names.")
        names = ["value"]
        if len(rows[0]) > 1:
            names = [f"column {number}" for number in range(1, len(rows[0]) + 1)]
    else:
        names = checked_names(rows.pop(0), path.name)
        places = [place - 1 for place in places[1:]]
    if options.common and kind != "one" and lines.inside and not chosen_meanings(names):
        raise InputError(
            f"--common: {path.name}: {shown(lines.inside[0])} is a comment between the rows, which "
            "name no task; write a row of nan there if values are missing, or remove the line"
        )
    cells = pd.DataFrame(rows, index=places, columns=names, dtype=object)
    frame, more_notes = typed(cells, path.name, options.decimal)
    return frame, [*notes, *more_notes]


def lines_of(text: str, file: str, is_rule: Callable[[str, Sequence[str]], bool]) -> Lines:
    """The lines of a text, by a function that says which are rules, given the rows before them."""
    lines = text.splitlines()
    if len(lines) > 2 and not any(map(str.strip, lines[1::2])) and all(map(str.strip, lines[::2])):
        lines = lines[::2]  # each line ends twice, as Python's csv writes without newline=""
    has_other = any(line.strip() and not is_comment(line) for line in lines)
    rows: list[str] = []
    places: list[int] = []
    comments: list[str] = []
    inside: list[str] = []
    place = seen = 0
    for line in lines:
        if not line.strip():
            place += bool(rows)
        elif has_other and is_comment(line):
            comments.append(line)
        elif not is_rule(line, rows):
            if rows:
                inside += comments[seen:]
            seen = len(comments)
            rows.append(line)
            places.append(place)
            place += 1
    if not rows:
        raise InputError(f"{file} has no rows")
    return Lines(rows, places, len(comments), inside)


def is_comment(line: str) -> bool:
    """Whether a line begins with a sign of a comment."""
    return line.lstrip().startswith(("#", "//"))


def is_rule(line: str, rows: Sequence[str]) -> bool:
    """Whether a line of several cells separates rows; dashes for missing values do not."""
    if "-" not in line or not re.fullmatch(r"[\s|:+-]+", line):
        return False
    return "---" in line or "+" in line or (len(rows) == 1 and "|" in line)


def is_rule_of_values(line: str, rows: Sequence[str]) -> bool:
    """Whether a line of one cell separates the name from its values."""
    below_name = len(rows) == 1 and not is_value(rows[0])
    return below_name and re.fullmatch(r"\s*-{3,}\s*", line) is not None


def values_in_place(lines: Lines, file: str, notes: list[str]) -> list[list[str]]:
    """The rows of a file with one value per line, where an empty line is a missing value.

    Raises
    ------
    InputError
        A comment between values, which may stand for a value or for none.
    """
    if lines.inside:
        raise InputError(
            f"{file}: {shown(lines.inside[0])} is a comment between the values; write nan there "
            "if a value is missing, or remove the line"
        )
    in_place = lines.in_place
    empty = len(in_place) - len(lines.rows)
    if empty:
        notes.append(f"{file}: {empty} empty lines are read as tasks without a value.")
    return split_rows(in_place, "one")


def check_comments(comments: Sequence[str], width: int, kind: str, file: str) -> None:
    """Raise `InputError` for comments between rows that look like rows of a method."""
    alike = []
    for comment, cells in zip(comments, split_rows(comments, kind), strict=True):
        if len(cells) == width and any(map(number_in, cells[1:])):
            alike.append(comment)
    if alike:
        raise InputError(
            f"{file}: {len(alike)} lines between its rows, such as {shown(alike[0])}, begin with "
            "a sign of a comment and have as many cells as the rows; remove them if they are "
            "comments, and else write the method without that sign"
        )


def decoded(raw: bytes, name: str) -> tuple[str, list[str]]:
    """The text of a file in UTF-8, UTF-16 or Windows-1252, and a note on what is unusual."""
    has_mark = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    if has_mark or b"\0" in raw[:1000]:
        without_mark = "utf-16-le" if raw[1:2] == b"\0" else "utf-16-be"
        try:
            text = raw.decode("utf-16" if has_mark else without_mark)
        except UnicodeDecodeError:
            raise InputError(f"{name} is no text; a table of text is needed") from None
        return text, [f"{name} is read as UTF-16."]
    try:
        return raw.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace"), [f"{name} is read as Windows-1252."]


def separator_of(lines: Sequence[str]) -> str | None:
    """The kind of separator that splits the lines into equally many cells; 'one' for one cell a
    line.
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
    return None


def split_rows(lines: Sequence[str], kind: str) -> list[list[str]]:
    """The cells of each line."""
    if kind == "one":
        return [[line.strip().strip('"')] for line in lines]
    if kind == "blanks":
        return [re.sub(rf"\s*({PLUS_MINUS})\s*", r"\1", line).split() for line in lines]
    if kind == "bar":
        lines = [line.strip().strip("|") for line in lines]
    limit = csv.field_size_limit(
        max(map(len, lines), default=0) + 1
    )  # of a cell: 131,072 characters
    try:
        return list(csv.reader(lines, delimiter=SEPARATORS[kind], skipinitialspace=True))
    finally:
        csv.field_size_limit(limit)


def check_widths(rows: Sequence[Sequence[str]], lines: Sequence[str], file: str) -> None:
    """Raise `InputError` for a row with another number of cells than the first."""
    width = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != width:
            raise InputError(
                f"row {number} of {file}, {shown(lines[number])}, has {len(row)} cells and its "
                f"first line {width}; write nan where a value is missing, and quote cells that "
                "contain the separator"
            )


def checked_names(names: list[str], file: str) -> list[str]:
    """The names of columns; each may stand once."""
    names = [without_markup(name) for name in names]
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise InputError(f"{file} has two columns {repeated[0]}; give one of them another name")
    return [name or f"Unnamed:{number}" for number, name in enumerate(names)]


def unlike_a_table(path: Path, lines: Sequence[str]) -> str:
    """The refusal of free text, with the line of Python that extracts the numbers of this file."""
    labels = Counter(match[1].strip() for line in lines for match in LOGGED.finditer(line))
    named = [label for label in labels if re.search(r"acc|score|top.?1", label, re.IGNORECASE)]
    message = f"{path.name} is no table: its lines do not have equally many cells"
    if not (named or labels):
        return f"{message}; a line of names and a row per task are needed"
    label = max(named or labels, key=labels.__getitem__)
    pattern = rf"{re.escape(label)}\s*[:=]?\s*(\d+\.?\d*)".replace("\\ ", " ")
    source, target = python_text(path.name), python_text(f"{path.stem}.csv")
    code = (
        f"import re; text = open({source}).read(); "
        f'open({target}, "w").write("accuracy\\n" + '
        f'"\\n".join(re.findall(r"{pattern}", text)))'
    )
    numbers = f'its {labels[label]} numbers of "{label}"'
    return f"{message}; this writes {numbers} as a table: python -c {shlex.quote(code)}"


# Cells --------------------------------------------------------------------------------------------


def without_markup(text: str) -> str:
    """Text without bold, italic and underlining of LaTeX and Markdown."""
    return MARKUP.sub(lambda match: match[match.lastindex or 0], text).strip()


def number_in(text: str) -> re.Match[str] | None:
    """The number of a cell such as '71.3 ± 0.4 %', and the one behind ±; None for other text."""
    return CELL.fullmatch(without_markup(text.replace("−", "-")))


def is_value(text: str) -> bool:
    """Whether a cell holds a number, or a word for a missing one."""
    word = text.strip().strip('"').lower()
    return number_in(text) is not None or (text.strip() != "" and word in EMPTY_CELLS)


def number_and_half_width(text: str) -> tuple[str, str] | None:
    """The number of a cell and the one behind ±, empty if there is none; None for other text."""
    word = text.strip().lower()
    if word in EMPTY_CELLS:
        return "", ""
    if word in TRUTH:
        return f"{TRUTH[word]:g}", ""
    match = number_in(text)
    return match and (match[1], match[2] or match[3] or "")


def typed(frame: pd.DataFrame, file: str, decimal: str = "unknown") -> Reading:
    """Columns as numbers, or as text with its control characters made visible.

    One of 'mean ± half' gets a second column, named NAME ±.
    """
    columns, notes = {}, []
    for name, cells in frame.items():
        if cells.dtype.kind in "biuf":
            has_gaps = cells.dtype.kind == "b" or cells.isna().any()
            columns[str(name)] = cells.astype(float) if has_gaps else cells
            continue
        texts = cells.astype(object).where(cells.notna(), "").astype(str)
        parsed = parsed_cells(texts, decimal)
        if parsed is None:
            clean = {text: visible(without_markup(text)) for text in texts.unique()}
            columns[str(name)] = texts.map(clean).astype(object)
            continue
        columns[str(name)], half_widths, more_notes = parsed
        if half_widths.notna().any():
            columns[f"{name} ±"] = half_widths
        notes += more_notes
    notes = [f"{file}: {note}" for note in dict.fromkeys(notes)]
    return pd.DataFrame(columns, index=frame.index), notes


def parsed_cells(texts: pd.Series, decimal: str) -> tuple[pd.Series, pd.Series, list[str]] | None:
    """Numbers of cells, the numbers behind ±, and notes; None where a cell is other text."""
    values = pd.to_numeric(texts, errors="coerce").astype(float)
    unusual = texts[values.isna()]
    if unusual.empty:
        return values, pd.Series(np.nan, values.index), []
    parts = {}
    for text in unusual.unique():
        part = number_and_half_width(text)
        if part is None:
            return None
        parts[text] = part
    numbers = [number for number, _ in parts.values()]
    notes = []
    if any("," in number for number in numbers):
        if decimal == "." or any("." in number for number in numbers):
            return None
        notes.append("commas are read as decimal commas.")
    if any("%" in text for text in parts):
        notes.append("percent signs are left out.")
    if any(text.strip().lower() in TRUTH for text in parts):
        notes.append("true and false are read as 1 and 0.")
    table = pd.DataFrame([*parts.values()], [*parts], columns=["number", "half_width"])
    table = table.replace("", "nan").replace(",", ".", regex=True).astype(float)
    values = values.fillna(texts.map(table["number"]))
    half_widths = texts.map(table["half_width"])
    return (values, half_widths, notes) if values.notna().any() else None


# Other formats ------------------------------------------------------------------------------------


def read_arrays(path: Path) -> Reading:
    """Arrays of NumPy: a vector is a method, of a matrix the longer axis is the tasks."""
    check_zip("results", path)
    loaded = np.load(path, allow_pickle=False)
    is_single = isinstance(loaded, np.ndarray)
    columns, notes = {}, []
    arrays = {path.stem: loaded} if is_single else dict(loaded)
    for name, values in arrays.items():
        if not isinstance(values, np.ndarray):  # a member without NumPy's mark
            raise InputError(f"{path.name}: {shown(name)} is no array of NumPy; leave it out")
        if values.dtype.kind not in "biuf" or values.ndim not in (1, 2) or not values.size:
            raise InputError(
                f"{path.name}: {name} holds {values.dtype} of shape {values.shape}; a number per "
                "task, or a row per task and a column per method, is needed"
            )
        if values.ndim == 1:
            columns[name] = values
            continue
        tasks, methods = sorted(values.shape, reverse=True)
        notes.append(f"{path.name}: {tasks} rows are read as tasks, {methods} as methods.")
        by_method = values.T if len(values) == tasks else values
        columns |= {f"{name} {number}": row for number, row in enumerate(by_method, 1)}
    if is_single and len(columns) == 1:
        columns = {"value": columns.popitem()[1]}
    series = {name: pd.Series(row, dtype=float) for name, row in columns.items()}
    return pd.DataFrame(series), notes


def read_json(path: Path) -> Reading:
    """A list of records; a list of numbers; or lists, or records, by method."""
    content = parsed_json(path.read_text("utf-8-sig"))
    if isinstance(content, list):
        if any(isinstance(entry, (dict, list)) for entry in content):
            return frame_of_records(content, path)
        return typed(pd.DataFrame({"value": content}), path.name)
    if isinstance(content, dict) and content:
        frame = logs.mteb_frame(content, path)
        if frame is not None:
            return frame, []
        kinds = {type(value) for value in content.values()}
        if kinds == {list}:
            columns = {name: pd.Series(values) for name, values in content.items()}
            return typed(pd.DataFrame(columns), path.name)
        if kinds == {dict}:
            return frame_of_dicts(content, path)
    raise InputError(
        f'{path.name}: a list of records, or an object such as {{"method": [numbers]}}, is needed'
    )


def parsed_json(text: str) -> object:
    """The content of JSON, in which each key of an object stands once."""
    return json.loads(text, object_pairs_hook=unique_keys)


def frame_of_dicts(content: dict[str, dict[str, Any]], path: Path) -> Reading:
    """Numbers by method and data set, or lists of them by method and seed or data set."""
    rows = []
    for method, inner in content.items():
        for column, values in inner.items():
            values = values if isinstance(values, list) else [values]
            rows += [(method, column, task, value) for task, value in enumerate(values)]
    frame = pd.DataFrame(rows, columns=["method", "column", "task", "accuracy"])
    if frame["task"].max() == 0:
        del frame["task"]
    column = frame.pop("column")
    seeds = column.str.extract(r"(?i)^(?:seed|run)?[-_ ]*(\d+)$")[0]
    is_seed = seeds.notna().all()
    frame["seed" if is_seed else "dataset"] = seeds.astype(int) if is_seed else column
    values, notes = typed(frame[["accuracy"]], path.name)
    inner_names = "seeds" if is_seed else "data sets"
    notes.append(f"{path.name}: outer names are read as methods, inner names as {inner_names}.")
    return frame.drop(columns="accuracy").join(values), notes


def read_json_lines(path: Path) -> Reading:
    """A record per line."""
    lines = path.read_text("utf-8-sig").splitlines()
    return frame_of_records([parsed_json(line) for line in lines if line.strip()], path)


def frame_of_records(records: list[Any], path: Path) -> Reading:
    """Records with simple values; those with lists or objects inside are left out and named."""
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise InputError(
                f"{path.name}: record {number} is {shown(record)}; an object such as "
                '{"method": "ours", "task": 1, "accuracy": 71.2} is needed'
            )
    if records and logs.are_samples(records):
        return logs.samples_frame(records, path)
    frame = pd.DataFrame.from_records(records)
    is_nested = frame.map(lambda cell: isinstance(cell, (list, dict))).any()
    frame, notes = typed(frame.loc[:, ~is_nested], path.name)
    notes += notes_on_nested([*map(str, is_nested.index[is_nested])], path)
    return frame, notes


def notes_on_nested(names: Sequence[str], path: Path) -> list[str]:
    """A note on columns of lists or objects, which are left out; one of accuracies is refused."""
    accuracies = meanings(names).get("accuracy")
    if accuracies:
        raise InputError(
            f"{path.name}: {accuracies[0]} holds lists or objects; a number per row is needed"
        )
    if not names:
        return []
    return [f"{path.name}: not read, as they hold lists or objects: {', '.join(names)}."]


def read_spreadsheet(path: Path) -> Reading:
    """The first sheet of a workbook; refused if its cells exceed what may be expanded."""
    import openpyxl

    check_zip("results", path, expansion=BYTES_OF_XML)
    book = openpyxl.load_workbook(path, read_only=True)
    first, *others = book.sheetnames
    sheet = book[first]
    sheet.reset_dimensions()  # a file may say a wrong size of its sheet
    widths = [len(cells) for cells in sheet.iter_rows(values_only=True)]
    book.close()
    check_expanded("results", path, BYTES_OF_CELL * len(widths) * max(widths, default=0))
    frame = pd.read_excel(path, sheet_name=first)
    has_value = frame.notna().any(axis=1)
    if not has_value.any():
        raise InputError(f"{path.name}: its first sheet has no rows")
    # Among numbers alone, an empty row is a task without a value.
    numbers_only = frame.dtypes.map(is_number_type).all()
    last = has_value[has_value].index[-1]
    frame = frame.loc[:last] if numbers_only else frame[has_value]
    frame, notes = typed(frame, path.name)
    if others:
        notes.append(f"{path.name}: the first of {len(others) + 1} sheets, {first}, is read.")
    return frame, notes


def is_number_type(dtype: np.dtype) -> bool:
    """Whether a column of this type holds numbers."""
    return dtype.kind in "iuf"


def read_parquet(path: Path) -> Reading:
    """A Parquet file; refused if its unpacked size exceeds what may be expanded."""
    from pyarrow import types
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        metadata = file.metadata
        fields = [*file.schema_arrow]
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    # A value that repeats takes next to nothing in the file, and 8 bytes each time in the table.
    cells = metadata.num_rows * metadata.num_columns
    unpacked = max(BYTES_OF_CELL * cells, sum(group.total_byte_size for group in groups))
    check_expanded("results", path, unpacked)
    nested = [field.name for field in fields if types.is_nested(field.type)]
    simple = [field for field in fields if not types.is_nested(field.type)]
    check_texts(path, [field.name for field in simple if holds_text(field.type)])
    frame = pd.read_parquet(path, columns=[field.name for field in simple])
    frame = frame.reset_index(drop=frame.index.names == [None])
    frame, notes = typed(frame, path.name)
    notes += notes_on_nested(nested, path)
    return frame, notes


def holds_text(kind: pa.DataType) -> bool:
    """Whether values of a type of Arrow are texts or bytes."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return any(
        is_kind(kind)
        for is_kind in (
            types.is_string,
            types.is_large_string,
            types.is_binary,
            types.is_large_binary,
        )
    )


def check_texts(path: Path, columns: Sequence[str]) -> None:
    """`check_expanded` for texts, of which a file holds each once, however often it comes."""
    from pyarrow import compute
    from pyarrow.parquet import ParquetFile

    if not columns:
        return
    with ParquetFile(path) as file:
        groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    # Texts that are stored as differences from the one before expand while they are read.
    is_delta = any("DELTA_BYTE_ARRAY" in str(group.to_dict()) for group in groups)
    size_of_batch = ROWS_OF_DELTAS if is_delta else ROWS
    size = 0
    with ParquetFile(path, read_dictionary=None if is_delta else columns) as file:
        for batch in file.iter_batches(size_of_batch, columns=columns):
            for column in batch.columns:
                is_dictionary = hasattr(column, "dictionary")
                lengths = compute.binary_length(column.dictionary if is_dictionary else column)
                lengths = lengths.take(column.indices) if is_dictionary else lengths
                size += compute.sum(lengths).as_py() or 0
            check_expanded("results", path, size)


READERS = {
    ".npy": read_arrays,
    ".npz": read_arrays,
    ".json": read_json,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".xlsx": read_spreadsheet,
    ".parquet": read_parquet,
}
