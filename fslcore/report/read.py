"""A results file as a table of cells: text in any coding, arrays, JSON, spreadsheets, Parquet.

What a column means is decided in `fslcore.report.shapes`. Nothing is loaded that could run code.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ..errors import InputError, reason, shown, visible
from ..paths import check_expanded
from . import events, logs

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "blanks": " "}
TRIED = 20  # different cells of a column, to see whether they are numbers
TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".dat", ".log", ".out", ".md", "")
# Formats that may hold code, or that need another library; the line writes them as a CSV.
CONVERSIONS = {
    ".pkl": "import pandas as pd; pd.DataFrame(pd.read_pickle({path})).to_csv({target}, "
    "index=False)",
    ".pt": "import torch, pandas as pd; pd.DataFrame({{name: values.tolist() for name, values in "
    "torch.load({path}, weights_only=True).items()}}).to_csv({target}, index=False)",
    ".mat": "import scipy.io, pandas as pd; "
    "pd.DataFrame({{name: values.ravel() for name, values in "
    "scipy.io.loadmat({path}).items() if name[0] != '_'}}).to_csv({target}, index=False)",
}
CONVERSIONS |= {".pickle": CONVERSIONS[".pkl"], ".pth": CONVERSIONS[".pt"]}
PLUS_MINUS = r"(?:±|\+\s*/?\s*-|\$?\\pm\$?)"
NUMBER = r"[-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?"
CELL = re.compile(
    rf"\$?\s*({NUMBER})\s*(?:\\?%)?\s*(?:{PLUS_MINUS}\s*({NUMBER})"
    rf"|(?:\(|\$?_\{{)\s*(?:{PLUS_MINUS})?\s*({NUMBER})\s*[)}}])?"
    r"\s*(?:\\?%)?\s*\$?"
)
EMPTY_CELLS = {"", "-", "–", "—", "nan", "na", "n/a", "none", "null", "nil"}
TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "correct": 1.0, "wrong": 0.0}
LOGGED = re.compile(r"([A-Za-z][A-Za-z @/_-]*?)\s*[:=]?\s+?(\d+\.\d+)")
MARKUP = re.compile(r"\\text(?:bf|it)\{([^{}]*)\}|\\(?:underline|mathbf)\{([^{}]*)\}|\*\*(.*?)\*\*")


@dataclass(frozen=True)
class Table:
    """Cells of one file: text or numbers.

    Attributes
    ----------
    frame : DataFrame
        Columns named as in the file; ``value`` where the file has no names and one column.
    name : str
        The file's name in messages.
    stem : str
        The name without its ending, which may be a method's or a data set's.
    notes : tuple of str
        A sentence for each choice that reading took.
    headless : bool
        Whether the file has no names of columns.
    """

    frame: pd.DataFrame
    name: str
    stem: str
    notes: tuple[str, ...] = ()
    headless: bool = False


def refuse(problems: Sequence[str]) -> None:
    """Raise `InputError` with all problems in one line; nothing if there is none."""
    problems = list(dict.fromkeys(problems))
    if len(problems) == 1:
        raise InputError(problems[0])
    if problems:
        numbered = [f"({number}) {problem}" for number, problem in enumerate(problems, 1)]
        raise InputError(f"{len(problems)} problems: {'; '.join(numbered)}")


def read_tables(paths: Sequence[Path], separator: str, decimal: str) -> list[Table]:
    """The tables of all files; of a folder, those of the files in it.

    Parameters
    ----------
    paths : sequence of Path
    separator : str
        A name of `SEPARATORS`, or 'unknown': the one that splits all lines into equally many cells.
    decimal : str
        '.', ',' or 'unknown': a comma if numbers have commas and none has a point.

    Raises
    ------
    InputError
        Files that cannot be read, all of them in one line, each with what to type.
    """
    tables, problems = [], []
    for path in expanded(paths):
        try:
            tables.append(read_table(path, separator, decimal))
        except InputError as error:
            problems.append(str(error))
    refuse(problems)
    return logs.with_supports(tables)


def expanded(paths: Sequence[Path]) -> list[Path]:
    """The files, with those inside of folders; each may be given once."""
    files = []
    for path in paths:
        if os.path.isdir(path):
            inside = events.test_runs(path) or [
                file for file in sorted(path.iterdir()) if file.is_file() and file.name[0] != "."
            ]
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


def read_table(path: Path, separator: str = "unknown", decimal: str = "unknown") -> Table:
    """One file as a table; arguments and errors as for `read_tables`."""
    if not os.path.isfile(path):
        raise InputError(f"no file {path}")
    ending = path.suffix.lower()
    readers = {
        ".npy": read_arrays,
        ".npz": read_arrays,
        ".json": read_json,
        ".jsonl": read_json_lines,
        ".ndjson": read_json_lines,
        ".xlsx": read_spreadsheet,
        ".parquet": read_parquet,
    }
    try:
        if events.MARK in path.name:
            frame, notes = events.test_run(path)
            return Table(frame, path.name, "events", tuple(notes))
        if ending in readers:
            return readers[ending](path)
        if ending in TEXT_ENDINGS:
            return read_text(path, separator, decimal)
    except (OSError, ValueError, KeyError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path.name} cannot be read ({reason(error)})") from None
    allowed = f"{', '.join(e for e in TEXT_ENDINGS if e)}, {', '.join(readers)} are read"
    raise InputError(f"{path.name}: {allowed}{conversion(path)}")


def conversion(path: Path) -> str:
    """A line of Python that writes a file of another format as a CSV; empty if none is known."""
    line = CONVERSIONS.get(path.suffix.lower())
    if line is None:
        return ""
    command = line.format(path=repr(path.name), target=repr(f"{path.stem}.csv"))
    return f'; this writes it as a CSV: python -c "{command}"'


# Text ---------------------------------------------------------------------------------------------


def read_text(path: Path, separator: str, decimal: str) -> Table:
    """A table of text: a line of names, or none, and rows of as many cells."""
    text, notes = decoded(path.read_bytes(), path.name)
    lines = [line for line in text.splitlines() if line.strip()]
    comments = [line for line in lines if line.lstrip().startswith(("#", "//"))]
    if comments and len(comments) < len(lines):
        lines = [line for line in lines if line not in comments]
        notes.append(f"Lines that begin with # are left out of {path.name}: {len(comments)}.")
    lines = [line for line in lines if not re.fullmatch(r"[\s|:+-]+", line) or "-" not in line]
    if not lines:
        raise InputError(f"{path.name} has no rows")
    kind = separator_of(lines) if separator == "unknown" else separator
    if kind is None:
        raise InputError(unlike_a_table(path, lines))
    if kind == "bar":
        lines = [line.strip().strip("|") for line in lines]
    first_cells = split_line(lines[0], kind)
    headless = all(as_number(cell) is not None for cell in first_cells)
    undeclared = separator == decimal == "unknown"
    if headless and undeclared and kind == "comma" and len(first_cells) == 2:
        raise InputError(
            f"{path.name}: {lines[0]} may be two numbers, or one with a decimal comma; say "
            "--separator comma or --separator semicolon --decimal ,"
        )
    frame = split_lines(lines, kind, headless, path.name)
    if kind not in ("comma", "one"):
        notes.append(f"{path.name}: {kind.removesuffix('s')}s separate the cells.")
    if headless:
        notes.append(f"{path.name} has no line of names.")
    frame, more_notes = numeric_columns(frame, path.name, decimal)
    return Table(frame, path.name, path.stem, (*notes, *more_notes), headless)


def decoded(raw: bytes, name: str) -> tuple[str, list[str]]:
    """The text of a file in UTF-8, UTF-16 or Windows-1252, and a note on what is unusual."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16"), [f"{name} is read as UTF-16."]
    if b"\0" in raw[:1000]:
        coding = "utf-16-le" if raw[1:2] == b"\0" else "utf-16-be"
        try:
            return raw.decode(coding), [f"{name} is read as UTF-16."]
        except UnicodeDecodeError:
            raise InputError(f"{name} is no text; a table of text is needed") from None
    try:
        return raw.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace"), [f"{name} is read as Windows-1252."]


def separator_of(lines: Sequence[str]) -> str | None:
    """The kind of separator that splits the lines into equally many cells; 'one' for one cell a
    line.
    """
    sample = [*lines[:50], *lines[-5:]]
    for kind in ("tab", "semicolon", "comma", "bar", "blanks"):
        counts = {len(split_line(line, kind)) for line in sample}
        if len(counts) == 1 and counts != {1}:
            return kind
    one_name = not any(sign in lines[0] for sign in "\t;,") or as_number(lines[0]) is not None
    are_numbers = one_name and all(as_number(line) is not None for line in lines[1:6])
    if len(lines) > 1 and (are_numbers or lines[0].strip() == "label"):
        return "one"
    # One row may be damaged: then the first lines still agree.
    for kind in ("tab", "semicolon", "comma"):
        counts = Counter(len(split_line(line, kind)) for line in sample)
        usual, times = counts.most_common(1)[0]
        if usual > 1 and times > len(sample) / 2:
            return kind
    return None


def split_line(line: str, kind: str) -> list[str]:
    """The cells of a line, without the blanks around them."""
    if kind == "one":
        return [line.strip()]
    if kind == "blanks":
        return re.sub(rf"\s*({PLUS_MINUS})\s*", r"\1", line).split()
    if kind == "bar":
        line = line.strip().strip("|")
    return [cell.strip() for cell in next(csv.reader([line], delimiter=SEPARATORS[kind]))]


def split_lines(lines: list[str], kind: str, headless: bool, name: str) -> pd.DataFrame:
    """All lines as a frame of text; refused if a row has another number of cells."""
    if kind in ("blanks", "one"):
        rows = [split_line(line, kind) for line in lines]
    else:
        rows = list(csv.reader(lines, delimiter=SEPARATORS[kind], skipinitialspace=True))
    width = len(rows[0])
    uneven = [number for number, row in enumerate(rows) if len(row) != width]
    if uneven:
        number = uneven[0]
        raise InputError(
            f"row {number} of {name}, {shown(lines[number])}, has {len(rows[number])} cells and "
            f"its first line {width}; write nan where a value is missing, and quote cells that "
            "contain the separator"
        )
    names = named_columns(rows[0], headless, name)
    if not headless:
        del rows[0]
    if not rows:
        raise InputError(f"{name} has no rows")
    return pd.DataFrame(rows, columns=names, dtype=object)


def named_columns(names: list[str], headless: bool, file: str) -> list[str]:
    """Names of columns: those of the file, or numbers where it has none; each may stand once."""
    if headless:
        return ["value"] if len(names) == 1 else [f"column {i}" for i in range(1, len(names) + 1)]
    names = [without_markup(name.strip()) for name in names]
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise InputError(f"{file} has two columns {repeated[0]}; give one of them another name")
    return [name or f"Unnamed:{i}" for i, name in enumerate(names)]


def unlike_a_table(path: Path, lines: Sequence[str]) -> str:
    """The refusal of free text, with the line of Python that extracts the numbers of this file."""
    labels = Counter(match[1].strip() for line in lines for match in LOGGED.finditer(line))
    named = [label for label in labels if re.search(r"acc|score|top.?1", label, re.IGNORECASE)]
    message = f"{path.name} is no table: its lines do not have equally many cells"
    if not (named or labels):
        return f"{message}; a line of names and a row per task are needed"
    label = max(named or labels, key=labels.__getitem__)
    pattern = rf"{re.escape(label)}\s*[:=]?\s*(\d+\.?\d*)".replace("\\ ", " ")
    command = (
        f"import re; text = open({path.name!r}).read(); "
        f"open({path.stem + '.csv'!r}, 'w').write('accuracy\\n' + "
        f"'\\n'.join(re.findall(r'{pattern}', text)))"
    )
    numbers = f'its {labels[label]} numbers of "{label}"'
    return f'{message}; this writes {numbers} as a table: python -c "{command}"'


# Cells --------------------------------------------------------------------------------------------


def without_markup(text: str) -> str:
    """Text without bold, italic and underlining of LaTeX and Markdown."""
    return MARKUP.sub(
        lambda match: next(part for part in match.groups() if part is not None), text
    ).strip()


def as_number(text: str) -> float | None:
    """The number that a cell begins with, such as 71.3 of '71.3 ± 0.4 %'; None for other text."""
    match = CELL.fullmatch(without_markup(text.replace("−", "-")))
    return float(match[1].replace(",", ".")) if match else None


def numeric_columns(frame: pd.DataFrame, name: str, decimal: str) -> tuple[pd.DataFrame, list[str]]:
    """Columns of numbers as numbers; one of 'mean ± half' gets a second column, named NAME ±."""
    out, notes = {}, []
    for column in frame:
        values, half_widths, kinds = parsed_cells(frame[column], decimal)
        if values is None:
            out[column] = visible_texts(frame[column])
            continue
        out[column] = values
        if half_widths is not None:
            out[f"{column} ±"] = half_widths
        notes += kinds
    counted = Counter(notes)
    return pd.DataFrame(out), [f"{name}: {note}" for note in counted]


def parsed_cells(
    cells: pd.Series, decimal: str
) -> tuple[pd.Series | None, pd.Series | None, list[str]]:
    """Numbers of cells, the numbers behind ±, and notes; None where a cell is other text."""
    values = pd.to_numeric(cells, errors="coerce")
    odd = cells[values.isna()]
    if any(is_other_text(text) for text in pd.unique(odd)[:TRIED]):
        return None, None, []
    bare = odd.str.strip().str.replace("−", "-", regex=False)
    lower = bare.str.lower()
    odd = bare[~lower.isin(EMPTY_CELLS)]
    if odd.empty:
        return (values.astype(float), None, []) if values.notna().any() else (None, None, [])
    if lower[odd.index].isin(TRUTH).all():
        values = values.astype(float)
        values[odd.index] = lower[odd.index].map(TRUTH)
        return values, None, ["true and false are read as 1 and 0."]
    if odd.str.contains(r"[\\*]").any():
        odd = odd.map(without_markup)
    parts = odd.str.extract(rf"^{CELL.pattern}$")
    if parts[0].isna().any():
        return None, None, []
    return numbers_of_parts(values, odd, parts, decimal)


def is_other_text(text: str) -> bool:
    """Whether a cell is neither a number, nor empty, nor true or false."""
    word = text.strip().lower()
    return word not in EMPTY_CELLS and word not in TRUTH and as_number(text) is None


def visible_texts(texts: pd.Series) -> pd.Series:
    """Texts without markup and with control characters made visible; each different text once."""
    codes, different = pd.factorize(texts)
    clean = np.array([visible(without_markup(text)) for text in different], dtype=object)
    return pd.Series(clean[codes], index=texts.index, name=texts.name)


def numbers_of_parts(
    values: pd.Series, odd: pd.Series, parts: pd.DataFrame, decimal: str
) -> tuple[pd.Series, pd.Series | None, list[str]]:
    """`parsed_cells` of cells that are numbers with a sign, a decimal comma or a ± beside them."""
    notes, texts = [], parts.fillna("")
    if texts[0].str.contains(",", regex=False).any():
        if decimal == "." or texts[0].str.contains(".", regex=False).any():
            return None, None, []
        notes.append("commas are read as decimal commas.")
    if odd.str.contains("%", regex=False).any():
        notes.append("percent signs are left out.")
    numbers = texts.apply(
        lambda column: pd.to_numeric(column.str.replace(",", "."), errors="coerce")
    )
    values = values.astype(float)
    values[odd.index] = numbers[0]
    half_widths = numbers[1].fillna(numbers[2])
    if half_widths.isna().all():
        return values, None, notes
    return values, half_widths.reindex(values.index), notes


# Other formats ------------------------------------------------------------------------------------


def read_arrays(path: Path) -> Table:
    """Arrays of NumPy: a vector is a method, of a matrix the longer axis is the tasks."""
    loaded = np.load(path, allow_pickle=False)
    arrays = (
        {path.stem: loaded}
        if isinstance(loaded, np.ndarray)
        else {name: loaded[name] for name in loaded}
    )
    notes, columns = [], {}
    for name, values in arrays.items():
        if values.dtype.kind not in "biuf" or values.ndim not in (1, 2) or not values.size:
            raise InputError(
                f"{path.name}: {name} holds {values.dtype} of shape {values.shape}; a number per "
                "task, "
                "or a row per task and a column per method, is needed"
            )
        if values.ndim == 1:
            columns[name] = pd.Series(values, dtype=float)
            continue
        tasks = values if values.shape[0] >= values.shape[1] else values.T
        notes.append(
            f"{path.name}: {tasks.shape[0]} rows are read as tasks, {tasks.shape[1]} as methods."
        )
        for number, column in enumerate(tasks.T, 1):
            columns[f"{name} {number}"] = pd.Series(column, dtype=float)
    frame = pd.DataFrame(columns)
    headless = isinstance(loaded, np.ndarray) and frame.shape[1] == 1
    if headless:
        frame.columns = ["value"]
    return Table(frame, path.name, path.stem, tuple(notes), headless)


def read_json(path: Path) -> Table:
    """A list of records; a list of numbers; or lists, or records, by method."""
    text = path.read_text("utf-8-sig")
    content = json.loads(text)
    if isinstance(content, list) and content and all(isinstance(row, dict) for row in content):
        return table_of_records(content, path)
    if isinstance(content, list):
        return Table(
            pd.DataFrame({"value": numbers_in(content, path)}), path.name, path.stem, (), True
        )
    if isinstance(content, dict) and content:
        frame = logs.mteb_frame(content, path)
        if frame is not None:
            return Table(frame, path.name, path.stem)
        kinds = {type(value) for value in content.values()}
        if kinds == {list}:
            columns = {
                str(name): pd.Series(numbers_in(values, path)) for name, values in content.items()
            }
            return Table(pd.DataFrame(columns), path.name, path.stem)
        if kinds == {dict}:
            return table_of_dicts(content, path)
    raise InputError(
        f'{path.name}: a list of records, or an object such as {{"method": [numbers]}}, is needed'
    )


def numbers_in(values: Sequence[object], path: Path) -> list[float]:
    """Numbers of a list in JSON; null is a missing one."""
    wrong = [value for value in values if value is not None and not isinstance(value, (int, float))]
    if wrong:
        raise InputError(f"{path.name}: {shown(wrong[0])} stands among numbers; numbers are needed")
    return [np.nan if value is None else float(value) for value in values]


def table_of_dicts(content: dict[str, dict], path: Path) -> Table:
    """Numbers by method and data set, or lists of them by method and seed or data set."""
    rows = []
    for method, inner in content.items():
        for column, values in inner.items():
            values = values if isinstance(values, list) else [values]
            for task, value in enumerate(numbers_in(values, path)):
                rows.append({"method": method, "column": column, "task": task, "accuracy": value})
    frame = pd.DataFrame(rows)
    if frame["task"].max() == 0:
        frame = frame.drop(columns="task")
    seeds = frame["column"].str.extract(r"(?i)^(?:seed|run)?[-_ ]*(\d+)$")[0]
    meaning = "dataset" if seeds.isna().any() else "seed"
    frame[meaning] = frame["column"] if meaning == "dataset" else seeds.astype(int)
    inner = "data sets" if meaning == "dataset" else "seeds"
    note = f"{path.name}: outer names are read as methods, inner names as {inner}."
    return Table(frame.drop(columns="column"), path.name, path.stem, (note,))


def read_json_lines(path: Path) -> Table:
    """A record per line."""
    lines = [line for line in path.read_text("utf-8-sig").splitlines() if line.strip()]
    return table_of_records([json.loads(line) for line in lines], path)


def table_of_records(records: list[dict], path: Path) -> Table:
    """Records with simple values; those with lists or objects inside are left out and named."""
    if records and logs.are_samples(records):
        frame, notes = logs.samples_frame(records, path)
        return Table(frame, path.name, path.stem, tuple(notes))
    frame = pd.DataFrame.from_records(records)
    nested = [
        name for name in frame if frame[name].map(lambda cell: isinstance(cell, (list, dict))).any()
    ]
    notes = []
    if nested:
        notes.append(
            f"{path.name}: not read, as they hold lists or objects: {', '.join(map(str, nested))}."
        )
    return Table(typed(frame.drop(columns=nested)), path.name, path.stem, tuple(notes))


def read_spreadsheet(path: Path) -> Table:
    """The first sheet of a workbook."""
    try:
        import openpyxl  # noqa: F401
    except ModuleNotFoundError:
        raise InputError(
            f"{path.name}: reading it needs openpyxl; pip install openpyxl installs it"
        ) from None
    sheets = pd.read_excel(path, sheet_name=None)
    first = next(iter(sheets))
    notes = (
        (f"{path.name}: the first of {len(sheets)} sheets, {first}, is read.",)
        if len(sheets) > 1
        else ()
    )
    frame = sheets[first].dropna(how="all")
    if frame.empty:
        raise InputError(f"{path.name}: its first sheet has no rows")
    return Table(typed(frame), path.name, path.stem, notes)


def read_parquet(path: Path) -> Table:
    """A Parquet file; refused if its unpacked size exceeds the memory."""
    try:
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError:
        raise InputError(
            f"{path.name}: reading it needs pyarrow; pip install pyarrow installs it"
        ) from None
    with ParquetFile(path) as file:
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    columns = [group.column(i) for group in groups for i in range(group.num_columns)]
    # A value that repeats takes next to nothing in the file, and 8 bytes each time in the table.
    check_expanded(
        "results", path, sum(max(c.total_uncompressed_size, 8 * c.num_values) for c in columns)
    )
    frame = pd.read_parquet(path)
    if frame.index.names != [None]:
        frame = frame.reset_index()
    return Table(typed(frame), path.name, path.stem)


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of a frame as numbers, or as text with its control characters made visible."""
    out = {}
    for column in frame:
        values = frame[column]
        if values.dtype.kind == "b":
            out[str(column)] = values.astype(float)
        elif values.dtype.kind in "iuf":
            out[str(column)] = values.astype(float) if values.isna().any() else values
        else:
            texts = values.map(text_of)
            numbers, half_widths, _ = parsed_cells(texts, "unknown")
            out[str(column)] = visible_texts(texts) if numbers is None else numbers
            if half_widths is not None:
                out[f"{column} ±"] = half_widths
    return pd.DataFrame(out, index=frame.index)


def text_of(cell: object) -> str:
    """A cell as text; empty for a missing value."""
    missing = pd.api.types.is_scalar(cell) and pd.isna(cell)
    return "" if missing else str(cell).strip()
