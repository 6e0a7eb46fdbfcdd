"""A results file as a table of cells: text in any coding, arrays, JSON, spreadsheets, Parquet.

What a column means is decided in `fslcore.report.roles`. Nothing is loaded that could run code.
"""

from __future__ import annotations

import glob
import json
import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError, quoted, reason, shown, unique_keys, warn
from ..paths import check_expanded, check_zip
from ..recorder import is_earlier_part
from . import logs
from .model import Table
from .options import Options
from .tables import Reading, typed
from .text import read_text
from .vocabulary import is_accuracy, plain_name

TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".dat", ".log", ".out", ".md", ".tex", "")
PREDICTIONS = {"predictions", "preds", "ypred", "groundtruths", "groundtruth", "ytrue"}
BOXES = {"bbox", "segmentation", "boxes"}
NUMBERED_PARTS = ("seed", "run", "fold", "task", "split")  # of a path, before their number
NAMES_OF_PARTS = ", with method, dataset, seed or another word in each pair of braces"
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".7z", ".tar", ".tgz")
PICKLES = (".pkl", ".pickle", ".pt", ".pth")
BYTES_OF_XML = 10  # of memory per byte of a spreadsheet's XML: its cells as objects of Python
BYTES_OF_CELL = 8  # of a table in memory, at least
ROWS_OF_TEXTS = 64  # of a Parquet file, whose texts are measured together


def read_tables(files: Sequence[FilePath], options: Options) -> list[Table]:
    """The tables of all files.

    Raises
    ------
    InputError
        Files that cannot be read, all of them in one line, each with what to type.
    """
    tables, problems = [], []
    for file in files:
        try:
            tables.append(replace(read_table(file.path, options), parts=file.parts or None))
        except InputError as error:
            problems.append(str(error))
    problems = [*dict.fromkeys(problems)]
    if len(problems) > 1:
        numbered = [f"({number}) {problem}" for number, problem in enumerate(problems, 1)]
        raise InputError(f"{len(problems)} problems: {'; '.join(numbered)}")
    if problems:
        raise InputError(problems[0])
    return logs.with_supports(tables)


@dataclass(frozen=True)
class FilePath:
    """A file, and the named parts of its path: of 'runs/{method}/{seed}.csv' both."""

    path: Path
    parts: dict[str, str]


def expanded(paths: Sequence[Path]) -> list[FilePath]:
    """The files, with those inside of folders and those that a pattern with {names} matches; each
    may be given once.
    """
    files = []
    for path in paths:
        if "{" in str(path) and not os.path.exists(path):
            files += matching(str(path))
        elif os.path.isdir(path):
            inside = files_inside(path)
            if not inside:
                raise InputError(without_files(path))
            files += [FilePath(file, {}) for file in inside]
        else:
            files.append(FilePath(path, {}))
    real = Counter(os.path.realpath(file.path) for file in files)
    repeated = [name for name, count in real.items() if count > 1]
    if repeated:
        name = os.path.basename(repeated[0])
        raise InputError(f"files must be different, got {name} more than once")
    return files


def without_files(path: Path) -> str:
    """The refusal of a folder without files, with a pattern for those of its folders."""
    below = [path / name for name in glob.glob("**", root_dir=path, recursive=True)]  # none hidden
    files = [str(file) for file in sorted(below) if file.is_file()]
    if not files:
        return f"{path} has no files"
    pattern = path_pattern(files) or f"{path}/{{method}}/results.json"
    return (
        f"{path} has folders and no files; name those to read by a pattern, such as '{pattern}'"
        f"{NAMES_OF_PARTS if '{}' in pattern else ''}"
    )


def matching(pattern: str) -> list[FilePath]:
    """The files that a pattern such as 'runs/{method}/seed{seed}/results.json' matches.

    Raises
    ------
    InputError
        A name that stands twice, and no file that matches.
    """
    pieces = re.split(r"\{(\w*)\}", pattern)
    names = pieces[1::2]
    if len(set(names)) < len(names) or "" in names:
        raise InputError(f"{pattern}: each part has a name of its own, such as {{method}}")
    expression = "".join(
        f"(?P<{piece}>[^/]+?)" if number % 2 else re.escape(piece)
        for number, piece in enumerate(pieces)
    )
    found = filter(os.path.isfile, glob.glob("*".join(map(glob.escape, pieces[::2]))))
    matches = {path: re.fullmatch(expression, path) for path in sorted(found)}
    files = [FilePath(Path(path), match.groupdict()) for path, match in matches.items() if match]
    if not files:
        raise InputError(f"{pattern}: no file has such a path")
    return files


def path_pattern(paths: Sequence[str]) -> str | None:
    """A pattern for these paths: parts that hold a number behind a word are called by it, and another
    that varies is the method if it is the only one, else {}, to be named. None for one path, or where
    the parts of paths do not agree.
    """
    if not paths:
        return None
    endings = Counter(Path(path).name for path in paths)
    if max(endings.values()) < 2:
        endings = Counter(Path(path).suffix for path in paths)
    ending = endings.most_common(1)[0][0]
    split = [re.split(r"([/_.-])", path) for path in paths if path.endswith(ending)]
    widths = Counter(map(len, split))
    if len(split) < 2 or len(widths) > 1:
        return None
    parts: list[str] = []
    for tokens in zip(*split, strict=True):
        if len(set(tokens)) == 1:
            parts.append(tokens[0])
            continue
        numbered = [re.fullmatch(r"([A-Za-z]*?)(\d+)", token) for token in tokens]
        words = {match[1] for match in numbered if match}
        word = words.pop() if all(numbered) and len(words) == 1 else ""
        known = [text for text in (word, *parts[-2:-1]) if text in NUMBERED_PARTS]
        is_new = all(numbered) and known and f"{{{known[0]}}}" not in "".join(parts)
        parts.append(f"{word}{{{known[0]}}}" if is_new else f"{word}{{}}")
    free = [number for number, part in enumerate(parts) if "{}" in part]
    if len(free) == 1 and not all(path[free[0]].isdigit() for path in split):
        parts[free[0]] = parts[free[0]].replace("{}", "{method}")
    return "".join(parts)


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
        from_tool = False
        if ending in JSON_READERS:
            frame, notes, from_tool = JSON_READERS[ending](path, options)
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
    return Table(frame, path.name, tuple(notes), from_tool)


def other_format(path: Path) -> str:
    """The refusal of another format."""
    endings = filter(None, [*TEXT_ENDINGS, *JSON_READERS, *READERS])
    message = f"{path.name}: {', '.join(endings)} are read"
    if path.suffix.lower() in PACKED:
        return f"{message}; unpack it first"
    if path.suffix.lower() in PICKLES:
        return (
            f"{message}; a pickle can run code when it is loaded, so none is: write the table with "
            ".to_csv where it was made"
        )
    return message


# Other formats ------------------------------------------------------------------------------------


def read_arrays(path: Path) -> Reading:
    """Arrays of NumPy: vectors as columns; a number per row, with its row and column, of matrices."""
    check_zip("results", path)
    try:
        loaded = np.load(path, allow_pickle=False)
        is_single = isinstance(loaded, np.ndarray)
        arrays = {path.stem: loaded} if is_single else dict(loaded)
    except MemoryError as error:  # what a damaged head says, as the true size was checked
        raise InputError(f"{path.name} cannot be read ({reason(error)})") from None
    for name, values in arrays.items():
        if not isinstance(values, np.ndarray):  # a member without NumPy's mark
            raise InputError(f"{path.name}: {shown(name)} is no array of NumPy; leave it out")
        if values.dtype.kind not in "biuf" or values.ndim not in (1, 2) or not values.size:
            raise InputError(
                f"{name} in {path.name} must be a vector or a matrix of numbers, got {values.dtype} "
                f"of shape {values.shape}"
            )
    if all(values.ndim == 1 for values in arrays.values()):
        names = ["numbers"] if is_single else [*arrays]
        vectors = zip(names, arrays.values(), strict=True)
        return pd.DataFrame({name: pd.Series(row, dtype=float) for name, row in vectors}), []
    parts = []
    for name, values in arrays.items():
        frame = pd.DataFrame(np.atleast_2d(values.T).T).melt(ignore_index=False, var_name="column")
        frame = frame.rename_axis("row").reset_index().rename(columns={"value": "numbers"})
        parts.append(frame if is_single else frame.assign(array=name))
    return pd.concat(parts, ignore_index=True), []


def read_json(path: Path, options: Options) -> tuple[pd.DataFrame, list[str], bool]:
    """A list of records or of numbers, lists by name, records by two names, or the results of one
    run; or what the JMESPath expression ``value`` finds. And whether it is a tool's own format.
    """
    content = parsed_json(path.read_text("utf-8-sig"))
    if is_flat(content):
        content = {"numbers": content}
    if isinstance(content, list):
        return frame_of_records(content, path)
    if not isinstance(content, dict) or not content:
        raise InputError(
            f"{path.name} must be a list of records, or an object, got {quoted(content)}"
        )
    if {"results", "configs", "versions"} <= {*content}:
        raise InputError(
            f"{path.name} has the means of lm-eval for one model: bring the samples that its option "
            "log_samples writes, or a table with a row per benchmark and a column per model"
        )
    frame = logs.mteb_frame(content, path)
    if frame is not None:
        return frame, [], True
    if all(map(is_flat, content.values())):
        columns = {name: pd.Series(values) for name, values in content.items()}
        return *typed(pd.DataFrame(columns), path.name), False
    are_objects = len(content) > 1 and all(isinstance(value, dict) for value in content.values())
    if are_objects and len({tuple(value) for value in content.values()}) == 1:
        return *frame_of_dicts(content, path), False
    return *frame_of_run(content, path, options), False


def is_flat(content: object) -> bool:
    """Whether a value of JSON is a list without lists and objects inside."""
    if not isinstance(content, list):
        return False
    return not any(isinstance(entry, (dict, list)) for entry in content)


def frame_of_run(content: dict[str, Any], path: Path, options: Options) -> Reading:
    """One row of a run's results, whose keys are joined by points: test.acc."""
    value = options.value
    frame = pd.json_normalize(content)
    nested = nested_columns(frame)
    if value not in (None, *frame.columns.drop(nested)):
        import jmespath

        try:
            found = jmespath.search(value, content)
        except jmespath.exceptions.JMESPathError:
            found = None
        numbers = found if isinstance(found, list) else [found]
        if not numbers or not all(isinstance(number, (int, float)) for number in numbers):
            raise InputError(
                "value must be a path of keys to a number, or to a list of numbers, such as "
                f"{', '.join(frame.columns[:4])}, got {value} in {path.name}, which is "
                f"{shown(found)}"
            )
        return typed(pd.DataFrame({value: numbers}), path.name)
    if len(nested) == frame.shape[1]:
        raise InputError(
            f"{path.name} has the keys {', '.join(map(str, content))}; say where the numbers are, by "
            "JMESPath (value='results[].accuracy')"
        )
    return without_nested(frame, nested, path)


def parsed_json(text: str) -> object:
    """The content of JSON, in which each key of an object stands once."""
    return json.loads(text, object_pairs_hook=unique_keys)


def numbers_by_keys(node: object, keys: tuple[str, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The keys, the place in a list, and the value of each number in dicts of dicts."""
    if isinstance(node, dict):
        for key, inner in node.items():
            yield from numbers_by_keys(inner, (*keys, key))
    else:
        for place, value in enumerate(node if isinstance(node, list) else [node]):
            yield (*keys, place, value)


def frame_of_dicts(content: dict[str, dict[str, Any]], path: Path) -> Reading:
    """Numbers, or lists of them, by two keys or more; what the keys are is asked."""
    if {plain_name(key) for key in next(iter(content.values()))} & PREDICTIONS:
        raise InputError(
            f"{path.name} has predictions and right answers, which are to be scored first: 1 for each "
            "right answer, 0 for each wrong one"
        )
    rows = [*numbers_by_keys(content)]
    depth = len(rows[0])
    if any(len(row) != depth for row in rows):
        raise InputError(
            f"{path.name} has numbers at different depths; say where they are, by JMESPath "
            "(value='results[].accuracy')"
        )
    keys = [f"key {number}" for number in range(1, depth - 1)]
    frame = pd.DataFrame(rows, columns=[*keys, "place", "numbers"])
    if frame["place"].max() == 0:
        del frame["place"]
    return typed(frame, path.name)


def read_json_lines(path: Path, options: Options) -> tuple[pd.DataFrame, list[str], bool]:
    """A record per line."""
    lines = path.read_text("utf-8-sig").splitlines()
    return frame_of_records([parsed_json(line) for line in lines if line.strip()], path)


def frame_of_records(records: list[Any], path: Path) -> tuple[pd.DataFrame, list[str], bool]:
    """Records with simple values; those with lists or objects inside are left out and named."""
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise InputError(
                f"record {number} of {path.name} must be an object such as "
                f'{{"method": "ours", "task": 1, "accuracy": 71.2}}, got {quoted(record)}'
            )
    if records and logs.are_samples(records):
        return *logs.samples_frame(records, path), True
    frame = pd.json_normalize(records)
    return *without_nested(frame, nested_columns(frame), path), False


def nested_columns(frame: pd.DataFrame) -> list[str]:
    """The columns in which a cell is a list or an object."""
    is_nested = frame.map(lambda cell: isinstance(cell, (list, dict))).any()
    return [*frame.columns[is_nested]]


def without_nested(frame: pd.DataFrame, nested: Sequence[str], path: Path) -> Reading:
    """The columns of simple values, and a note on those of lists or objects; accuracies among these
    are refused.
    """
    if BOXES & {*nested}:
        raise InputError(
            f"{path.name} has detections, whose scores are confidences: evaluate them first, and bring "
            "a value per image or per class"
        )
    accuracies = [name for name in nested if is_accuracy(name)]
    if accuracies:
        raise InputError(
            f"{accuracies[0]} in {path.name} must be a number per row, got lists or objects"
        )
    frame, notes = typed(frame.drop(columns=nested, errors="ignore"), path.name)
    if nested:
        names = ", ".join(map(str, nested))
        notes.append(f"{path.name}: not read, as they hold lists or objects: {names}.")
    return frame, notes


def read_spreadsheet(path: Path) -> Reading:
    """The first sheet of a workbook; refused if its cells exceed what may be expanded."""
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path.name} is no workbook of Excel, or only a part of one")
    check_zip("results", path, expansion=BYTES_OF_XML)
    import openpyxl

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
    filled = frame.columns[frame.notna().any()]
    nameless = [name for name in filled if re.fullmatch(r"Unnamed: \d+", str(name))]
    if len(nameless) > 1:
        raise InputError(
            f"{path.name}: {len(nameless)} cells of the first row of its sheet are empty, so it is no "
            "line of names: remove titles and merged cells, and write one line of names"
        )
    # Among numbers alone, an empty row is a task without a value.
    numbers_only = frame.dtypes.map(lambda dtype: dtype.kind in "iuf").all()
    last = has_value[has_value].index[-1]
    frame = frame.loc[:last] if numbers_only else frame[has_value]
    frame, notes = typed(frame, path.name)
    if others:
        notes.append(f"{path.name}: the first of {len(others) + 1} sheets, {first}, is read.")
    return frame, notes


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
    check_texts(path, [field.name for field in simple if not types.is_primitive(field.type)])
    frame = pd.read_parquet(path, columns=[field.name for field in simple])
    frame = frame.reset_index(drop=frame.index.names == [None])
    return without_nested(frame, nested, path)


def check_texts(path: Path, columns: Sequence[str]) -> None:
    """`check_expanded` for texts, of which a file holds each once, however often it comes."""
    from pyarrow.parquet import ParquetFile

    size = 0
    with ParquetFile(path) as file:
        # A few rows at once: texts that are stored as differences expand while they are read.
        for batch in file.iter_batches(ROWS_OF_TEXTS, columns=columns):
            for column in batch.columns:
                size += sum(len(str(value)) for value in column.to_pylist())
            check_expanded("results", path, size)


JSON_READERS = {".json": read_json, ".jsonl": read_json_lines, ".ndjson": read_json_lines}
READERS = {
    ".npy": read_arrays,
    ".npz": read_arrays,
    ".xlsx": read_spreadsheet,
    ".parquet": read_parquet,
}
