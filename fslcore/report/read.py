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

from ..errors import InputError, note, reason, shown, visible
from ..paths import check_expanded
from ..recorder import is_earlier_part
from . import events, logs
from .options import Options

Reading = tuple[pd.DataFrame, list[str]]  # a frame, and a sentence for each choice
# In the order in which they are tried.
SEPARATORS = {"tab": "\t", "semicolon": ";", "comma": ",", "bar": "|", "blanks": " "}
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
        note(f"{folder}: not read, recorded by loops that were stopped and run again: {names}")
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
        package = error.name.partition(".")[0]
        raise InputError(
            f"{path.name}: reading it needs {package}; pip install {package} installs it"
        ) from None
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise InputError(f"{path.name} cannot be read ({reason(error)})") from None
    return Table(frame, path.name, tuple(notes))


def other_format(path: Path) -> str:
    """The refusal of another format, with a line of Python that writes it as a CSV, if known."""
    endings = filter(None, [*TEXT_ENDINGS, *READERS])
    message = f"{path.name}: {', '.join(endings)} are read"
    line = CONVERSIONS.get(path.suffix.lower())
    if line is None:
        return message
    command = line.format(path=repr(path.name), target=repr(f"{path.stem}.csv"))
    return f'{message}; this writes it as a CSV: python -c "{command}"'


# Text ---------------------------------------------------------------------------------------------


def read_text(path: Path, options: Options) -> Reading:
    """A table of text: a line of names, or none, and rows of as many cells."""
    text, notes = decoded(path.read_bytes(), path.name)
    lines = table_lines(text, path.name, notes)
    kind = separator_of(lines) if options.separator == "unknown" else options.separator
    if kind is None:
        raise InputError(unlike_a_table(path, lines))
    rows = split_rows(lines, kind)
    check_widths(rows, lines, path.name)
    headless = all(map(number_in, rows[0]))
    is_open = options.separator == options.decimal == "unknown"
    if headless and is_open and kind == "comma" and len(rows[0]) == 2:
        raise InputError(
            f"{path.name}: {lines[0]} may be two numbers, or one with a decimal comma; say "
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
    cells = pd.DataFrame(rows, columns=names, dtype=object)
    frame, more_notes = typed(cells, path.name, options.decimal)
    return frame, [*notes, *more_notes]


def table_lines(text: str, file: str, notes: list[str]) -> list[str]:
    """The lines of a table: no empty ones, no comments, and no rule below the names."""
    lines = [line for line in text.splitlines() if line.strip()]
    comments = [line for line in lines if line.lstrip().startswith(("#", "//"))]
    if comments and len(comments) < len(lines):
        lines = [line for line in lines if line not in comments]
        notes.append(f"Lines that begin with # are left out of {file}: {len(comments)}.")
    lines = [line for line in lines if not re.fullmatch(r"[\s|:+-]+", line) or "-" not in line]
    if not lines:
        raise InputError(f"{file} has no rows")
    return lines


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
    if len(lines) > 1 and one_name and all(map(number_in, lines[1:6])):
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
        return [[line] for line in lines]
    if kind == "blanks":
        return [re.sub(rf"\s*({PLUS_MINUS})\s*", r"\1", line).split() for line in lines]
    if kind == "bar":
        lines = [line.strip().strip("|") for line in lines]
    return list(csv.reader(lines, delimiter=SEPARATORS[kind], skipinitialspace=True))


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
    return MARKUP.sub(lambda match: match[match.lastindex], text).strip()


def number_in(text: str) -> re.Match | None:
    """The number of a cell such as '71.3 ± 0.4 %', and the one behind ±; None for other text."""
    return CELL.fullmatch(without_markup(text.replace("−", "-")))


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
    parts = {}
    for text in unusual.unique():
        parts[text] = number_and_half_width(text)
        if parts[text] is None:
            return None
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
    loaded = np.load(path, allow_pickle=False)
    is_single = isinstance(loaded, np.ndarray)
    columns, notes = {}, []
    arrays = {path.stem: loaded} if is_single else dict(loaded)
    for name, values in arrays.items():
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
    content = json.loads(path.read_text("utf-8-sig"))
    if isinstance(content, list):
        if content and isinstance(content[0], dict):
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


def frame_of_dicts(content: dict[str, dict], path: Path) -> Reading:
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
    inner = "seeds" if is_seed else "data sets"
    notes.append(f"{path.name}: outer names are read as methods, inner names as {inner}.")
    return frame.drop(columns="accuracy").join(values), notes


def read_json_lines(path: Path) -> Reading:
    """A record per line."""
    lines = path.read_text("utf-8-sig").splitlines()
    return frame_of_records([json.loads(line) for line in lines if line.strip()], path)


def frame_of_records(records: list[dict], path: Path) -> Reading:
    """Records with simple values; those with lists or objects inside are left out and named."""
    if records and logs.are_samples(records):
        return logs.samples_frame(records, path)
    frame = pd.DataFrame.from_records(records)
    is_nested = frame.map(lambda cell: isinstance(cell, (list, dict))).any()
    frame, notes = typed(frame.loc[:, ~is_nested], path.name)
    if is_nested.any():
        names = ", ".join(map(str, is_nested.index[is_nested]))
        notes.append(f"{path.name}: not read, as they hold lists or objects: {names}.")
    return frame, notes


def read_spreadsheet(path: Path) -> Reading:
    """The first sheet of a workbook."""
    import openpyxl  # noqa: F401  its absence is said by `read_table`

    sheets = pd.read_excel(path, sheet_name=None)
    first = next(iter(sheets))
    frame = sheets[first].dropna(how="all")
    if frame.empty:
        raise InputError(f"{path.name}: its first sheet has no rows")
    frame, notes = typed(frame, path.name)
    if len(sheets) > 1:
        notes.append(f"{path.name}: the first of {len(sheets)} sheets, {first}, is read.")
    return frame, notes


def read_parquet(path: Path) -> Reading:
    """A Parquet file; refused if its unpacked size exceeds the memory."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        metadata = file.metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    # A value that repeats takes next to nothing in the file, and 8 bytes each time in the table.
    cells = metadata.num_rows * metadata.num_columns
    unpacked = max(8 * cells, sum(group.total_byte_size for group in groups))
    check_expanded("results", path, unpacked)
    frame = pd.read_parquet(path)
    if frame.index.names != [None]:
        frame = frame.reset_index()
    return typed(frame, path.name)


READERS = {
    ".npy": read_arrays,
    ".npz": read_arrays,
    ".json": read_json,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".xlsx": read_spreadsheet,
    ".parquet": read_parquet,
}
