"""A results file as a DataFrame, in whatever format people keep one: text of many kinds, Parquet, NumPy, PyTorch.

Nothing is judged here but the format; `fslcore.tools.report.normalise` says what a column is.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

import numpy as np
import pandas as pd

from ...errors import InputError, detached, missing, shown
from ...paths import check_expanded, check_zip, load_tensors
from .. import recorder
from . import libfewshot
from .recorded import accuracies, apart, unfinished, unsaid

__all__ = ["ENDINGS", "frame", "frames", "numbered"]

TEXT = (".csv", ".tsv", ".txt")
ENDINGS = (*TEXT, ".parquet", ".npy", ".pt", recorder.ENDING)
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
DECIMAL = {sign: re.compile(rf"\s*-?\d*{re.escape(sign)}\d+\s*%?\s*") for sign in ".,"}
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")
THREE = re.compile(r"\d{1,3},\d{3}")  # thousands, or three decimals
PERCENT = re.compile(r"\s*-?\d*[.,]?\d+\s*%\s*")
# A name that ends with the number of a training: what stands before, and the number.
NUMBERED = re.compile(
    r"(?:(.+?)[-_./\\ ]+(?:seed|run|s|r)?|(.+?)(?:seed|run)|(?:seed|run|s|r)?)[-_.= ]*(\d+)", re.IGNORECASE
)
LOOKED_AT = 1000  # lines, to tell how a text file is written
NAMES = {"method", "backbone", "learner", "dataset"}
COUNTS = {"", "index", "task", "query", "run", "ways", "shots", "queries", "seed"}
# What is a missing value among names too; NA, None and null may be what a method is called.
NAMELESS = ["", "nan", "NaN", "-nan", "-NaN", "<NA>", "#N/A"]


def frame(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """What the file holds, and a note for each choice that was taken.

    Parameters
    ----------
    path : path
        .csv, .tsv or .txt (cells parted by commas, semicolons, tabs or blanks; decimal points or commas; UTF-8, UTF-16
        or Windows-1252; lines that begin with # are comments, but below the header those of as many cells may be rows),
        .parquet, .npy (T × M numbers, for T tasks and M methods) or .pt (the same as a tensor, or tensors of T numbers
        by name), or .npz (what `fslcore.record` wrote); an event file of LibFewShot's test loop, or the folder of its
        runs (`fslcore.tools.report.libfewshot`).

    Raises
    ------
    InputError
        No such file, another ending, unreadable, two columns of one name.
    """
    if path.is_dir():
        return libfewshot.runs(path)
    if not path.is_file():
        raise InputError(f"results: no file {path}")
    if libfewshot.MARK in path.name:
        return libfewshot.run(path)
    readers = dict.fromkeys(TEXT, _text) | {".parquet": _parquet, ".npy": _numpy, ".pt": _torch}
    readers[recorder.ENDING] = _recording
    if path.suffix.lower() not in readers:
        table = " (save the table as .csv)" if path.suffix.lower() in (".xlsx", ".xls", ".ods") else ""
        raise InputError(f"results: {path.name}; {', '.join(ENDINGS)} are allowed{table}")
    try:
        return readers[path.suffix.lower()](path)
    except InputError:
        raise
    except Exception as error:  # each format has kinds of its own, from ArrowInvalid to UnpicklingError
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"results: {path} cannot be read ({said[0]})") from None


def frames(
    path: str | Path | Sequence[str | Path], runs: bool = False
) -> tuple[list[tuple[pd.DataFrame, str, str]], list[str]]:
    """Of each file its `frame`, a name for messages and one for what it holds; and the notes. Recordings are one frame.

    Raises
    ------
    InputError
        A file twice; a recording beside other files; with ``runs`` a recording, a file alone, or one with a column run;
        and as for `frame`.
    """
    paths = [Path(path)] if isinstance(path, (str, os.PathLike)) else [Path(one) for one in path]
    same = [one.resolve() for one in paths]
    if twice := [str(one) for i, one in enumerate(paths) if same[i] in same[:i]]:
        raise InputError(f"results: {twice[0]} is given twice; once is allowed")
    recorded = [one for one in paths if one.suffix.lower() == recorder.ENDING]
    if recorded and len(recorded) < len(paths):
        other = next(one for one in paths if one not in recorded)
        raise InputError(
            f"results: {recorded[0].name} is a recording and {other.name} is not; recordings, whose tasks are known by "
            "their images, or other files are allowed, not both together"
        )
    if recorded and runs:
        raise InputError(f"runs = True; {recorded[0].name} is a recording; files of accuracies are allowed")
    if len(recorded) > 1:
        found = recorder.load(paths)
        table = accuracies(found)
        return [(table, f"{len(paths)} recordings", f"{len(paths)} recordings")], [
            f"{len(paths)} recordings are one table: their tasks {_drawn(table)}.",
            *unfinished(found),
            *apart(found),
            *unsaid(found),
        ]
    found = [frame(one) for one in paths]
    named = [(table, *names) for (table, _), names in zip(found, _called(paths))]
    return [*_of_runs(named, paths)] if runs else named, [n for _, of in found for n in of]


def _called(paths: Sequence[Path]) -> list[tuple[str, str]]:
    """Names of files and of what they hold, with as many folders before them as it takes to tell them apart."""
    whole = [one.absolute().parts for one in paths]
    for parts in range(1, max(map(len, whole)) + 1):
        names = [Path(*of[-parts:]) for of in whole]
        if len(set(names)) == len(names):
            break
    alike = parts > 1 and len({one.name for one in names}) == 1  # protonet/results.csv and maml/results.csv
    hold = [one.parent if alike else one.with_suffix("") for one in names]
    return [*zip(map(str, names), map(str, hold if len(set(hold)) == len(hold) else names))]


def numbered(name: str) -> tuple[str, str] | None:
    """What stands before the number of a training, which may be nothing, and the number; None of other names."""
    found = NUMBERED.fullmatch(name)
    return found and (found[1] or found[2] or "", found[3])


def _of_runs(frames: Sequence[tuple[pd.DataFrame, str, str]], paths: Sequence[Path]) -> Iterator[tuple]:
    """Of `frames` of files that hold a training run each: with a column ``run``, from the number that a name ends with.

    protonet-seed0.csv and protonet/seed0.csv are run 0 of protonet where the file names no method; a name without a
    number is a run too. Of a backbone conv4:weights.safetensors the weights are the run's.
    """
    if len(paths) < 2:
        raise InputError("runs = True; one file is given, and each is to be a training run: two or more are needed")
    alike = len({one.name for one in paths}) == 1 and not numbered(paths[0].stem)  # 0/acc.csv and 1/acc.csv
    for (frame, name, _), path in zip(frames, paths):
        if "run" in {str(column).strip().lower() for column in frame}:
            raise InputError(f"runs = True; {name} has a column run; its name can tell the run where it has none")
        *folders, last = ("method", *path.parent.parts) if alike else ("method", *path.parent.parts, path.stem)
        what, run = numbered(last) or (last, last)
        weights = {c: frame[c].astype(str).str.partition(":")[0] for c in frame if str(c).strip().lower() == "backbone"}
        yield frame.assign(run=run, **weights), name, what or folders[-1]


def _parquet(path: Path) -> tuple[pd.DataFrame, list[str]]:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        of = file.metadata
        columns = [of.row_group(g).column(c) for g in range(of.num_row_groups) for c in range(of.num_columns)]
    # A value that repeats takes next to nothing in the file, and 8 bytes each time in the table.
    check_expanded("results", path, sum(max(c.total_uncompressed_size, 8 * c.num_values) for c in columns))
    found = pd.read_parquet(path)
    return found.reset_index(drop=found.index.names == [None]), []


def _numpy(path: Path) -> tuple[pd.DataFrame, list[str]]:
    return _array(np.load(path, allow_pickle=False), path.name)


def _recording(path: Path) -> tuple[pd.DataFrame, list[str]]:
    try:
        found = recorder.load(path)
    except InputError as error:
        raise InputError(f"{error}; accuracies in arrays are read from .npy and .pt, in columns from .csv") from None
    table = accuracies(found)
    notes = [*unfinished(found), *apart(found), *unsaid(found)]
    return table, [f"{path.name} is a recording: its tasks {_drawn(table)}.", *notes]


def _drawn(table: pd.DataFrame) -> str:
    return "share no image" if table["sampling"].iloc[0] == "open" else "use images again"


def _torch(path: Path) -> tuple[pd.DataFrame, list[str]]:
    try:
        import torch
    except ModuleNotFoundError:
        raise InputError(f"results: {path.name}: {missing('torch')}") from None

    check_zip("results", path)
    try:
        found = load_tensors(path)
    except Exception:  # its own message tells how to run what is in the file
        raise InputError(f"results: {path.name} is no file of tensors alone, and nothing else is read") from None
    tensors = [t for t in (found.values() if isinstance(found, dict) else [found]) if isinstance(t, torch.Tensor)]
    check_expanded("results", path, sum(t.numel() * t.element_size() for t in tensors))  # one may repeat a number
    if isinstance(found, dict) and found and all(getattr(v, "ndim", None) == 1 for v in found.values()):
        if len({len(v) for v in found.values()}) > 1:
            raise InputError(f"results: tensors of {path.name} have different lengths; one number a task is needed")
        names = [*map(str, found)]
        if twice := [name for i, name in enumerate(names) if name in names[:i]]:
            raise InputError(f"results: {path.name} has two tensors {twice[0]}; each name may stand once")
        return pd.DataFrame({name: np.asarray(detached(v)) for name, v in zip(names, found.values())}), []
    if not isinstance(found, torch.Tensor):
        raise InputError(
            f"results: {path.name} holds {type(found).__name__}; one tensor of tasks × methods, or "
            "tensors of one number a task by the names of methods, is needed"
        )
    return _array(np.asarray(detached(found)), path.name)


def _array(values: np.ndarray, name: str) -> tuple[pd.DataFrame, list[str]]:
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise InputError(
            f"results: {name} holds {values.dtype} of shape {values.shape}; numbers, a row a task and a "
            "column a method, are needed"
        )
    tasks, methods = values.shape
    if methods > tasks:
        raise InputError(
            f"results: {name} has {tasks} rows and {methods} columns; a row a task and a column a method "
            "is needed (transpose it)"
        )
    columns = [f"method {i}" for i in range(1, methods + 1)]
    return pd.DataFrame(values, columns=columns), [f"{name} names no methods: they are numbered by column."]


def _text(path: Path) -> tuple[pd.DataFrame, list[str]]:
    name, notes = path.name, []
    # Not splitlines, which ends a line at signs that Windows-1252 has within words.
    every = re.split(r"\r\n|\r|\n", _decoded(path, notes))
    lines = [line for line in every if line.strip()]
    told = re.fullmatch(r'"?sep=(.)"?', lines[0]) if lines else None  # Excel's
    lines = lines[bool(told) :]
    comments = [*takewhile(lambda line: line.startswith("#"), lines)]
    lines = lines[len(comments) :]
    plain = [line for line in lines if not line.startswith("#")]
    if not plain:
        raise InputError(f"results: {name} has no rows")
    sep = told[1] if told else "\t" if path.suffix.lower() == ".tsv" else _separator(plain[:LOOKED_AT])
    lines = _with_empty(every, plain[0], sep)[bool(told) + len(comments) :]
    lines = _rows(lines, plain, sep, name, notes)
    rows = [_cells(line, sep) for line in lines[:LOOKED_AT]]
    decimal = _decimal(rows, name)
    # np.savetxt writes the names as a comment.
    above = _cells(comments[-1].lstrip("# "), sep) if comments else []
    header = [cell.strip() for cell in rows[0]]
    numbers = [_number(cell, decimal) for cell in header]
    if all(n is not None for n in numbers) and numbers not in ([*range(len(numbers))], [*range(1, len(numbers) + 1)]):
        named = len(above) == len(header)
        header = above if named else [f"method {i}" for i in range(1, len(header) + 1)]
        notes.append(
            f"{name} has no line of names: "
            + ("they are taken from the comment above." if named else "its methods are numbered by column.")
        )
        first = None
    elif bad := [cell for cell, n in zip(header, numbers) if n is not None and n % 1]:
        raise InputError(
            f"results: the first line of {name} has a number, {bad[0]}, among its names; a line that "
            "names the columns is needed"
        )
    else:
        first = 0
    quoted = any('"' in line for line in lines[:LOOKED_AT])  # a cell in quotes may go on in the next line
    long = next((i for i, row in enumerate(rows) if len(row) > len(rows[0])), None)
    if long and not quoted:
        raise InputError(
            f"results: row {long} of {name}, {shown(lines[long])}, has more cells than its header names "
            f"columns, {shown(', '.join(header))}"
        )
    if first == 0 and (again := next((i for i, line in enumerate(lines[1:], 1) if line == lines[0]), None)):
        raise InputError(
            f"results: row {again} of {name} is its line of names again, as where files were put below one another; "
            "name the files instead (fslcore report a.csv b.csv)"
        )
    # Every digit of an accuracy counts: two methods may differ by rounding only.
    text = "\n".join(lines)
    how = dict(
        sep=r"\s+" if sep is None else sep,
        decimal=decimal,
        header=first,
        float_precision="round_trip",
        skipinitialspace=sep != "\t",
    )
    found = pd.read_csv(io.StringIO(text), **how)
    if not isinstance(found.index, pd.RangeIndex):
        raise InputError(f"results: rows of {name} have more cells than its header names columns")
    if first is None:
        found.columns = header
    twice = [h for i, h in enumerate(header) if h and h in header[:i]]  # pandas renames the second, and says nothing
    if twice:
        raise InputError(f"results: {name} has two columns {twice[0]}; each name may stand once")
    names = [c for c in found if (of := str(c).strip().lower()) in NAMES or (of in COUNTS and found[c].dtype == object)]
    if found[names].isna().any(axis=None):
        again = pd.read_csv(io.StringIO(text), **how, keep_default_na=False, na_values=NAMELESS)
        found[names] = again.set_axis(found.columns, axis=1)[names]
    for column in found.select_dtypes(object):
        cells = found[column].dropna().astype(str)
        if len(cells) and cells.map(lambda cell: bool(PERCENT.fullmatch(cell))).all():
            numbers = found[column].str.strip(" %\t\N{NO-BREAK SPACE}").str.replace(",", ".").astype(float)
            if numbers.max() > 1 or not numbers.any():  # else it stays text: 0.70% may be 0.70 as well as 70%
                found[column] = numbers
    if told or sep != ",":
        kind = {None: "blanks", "\t": "tabs", ";": "semicolons"}.get(sep, f"'{sep}'")
        notes.append(f"The cells of {name} are parted by {kind}.")
    return found, notes + ["Commas are read as decimal points."] * (decimal == ",")


def _decoded(path: Path, notes: list[str]) -> str:
    data = path.read_bytes()
    encoding = next((name for mark, name in MARKS.items() if data.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in data:
        raise InputError(f"results: {path.name} is no text, or UTF-16 without its mark; save it as UTF-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        if encoding != "utf-8":
            raise
    for encoding, said in (("cp1252", "Windows-1252"), ("latin-1", "Latin-1")):
        with suppress(UnicodeDecodeError):  # Windows-1252 leaves five bytes open
            text = data.decode(encoding)
            notes.append(f"{path.name} is not UTF-8; it is read as {said}.")
            break
    return text


def _with_empty(every: list[str], header: str, sep: str | None) -> list[str]:
    """Lines without blank ones, but for those that are rows without a value: else the tasks below would move up.

    Such a row is a blank line between those of a single column, unless one follows each, or one of tabs in a table.
    """
    first, width = every.index(header), len(_cells(header, sep))
    there = [i for i, line in enumerate(every) if line.strip()]
    alone = width == 1 and len({*np.diff([i for i in there if i >= first])}) > 1
    out = []
    for i, line in enumerate(every):
        if line.strip():
            out.append(line)
        elif first < i < there[-1] and (alone or (width > 1 and sep == "\t" and "\t" in line)):
            out.append("nan" if alone else line)
    return out


def _rows(lines: list[str], plain: list[str], sep: str | None, name: str, notes: list[str]) -> list[str]:
    """Header and rows, without comments among them; ``plain`` are those that do not begin with #.

    One that does, and has as many cells as the header, is a row: of task #0, or of method #1. But where the others
    begin with a number and it does too, it was taken out by its #.
    """
    width = len(_cells(plain[0], sep))
    counted = len(plain) > 1 and _number(_cells(plain[1], sep)[0], ",") is not None
    rows, kept, out = [], 0, 0
    for line in lines:
        if line.startswith("#"):
            cells = _cells(line, sep)
            if len(cells) != width or width == 1:
                continue
            begins = cells[0].lstrip("# ")
            if not begins or (counted and _number(begins, ",") is not None):
                out += 1
                continue
            kept += 1
        rows.append(line)
    what = f"lines of {name} that begin with # and have as many cells as its header"
    if kept:
        notes.append(f"Read as rows: {kept} {what}.")
    if out:
        notes.append(f"Left out as comments: {out} {what}.")
    return rows


def _cells(line: str, sep: str | None) -> list[str]:
    return line.split() if sep is None else next(csv.reader([line], delimiter=sep, skipinitialspace=sep != "\t"))


def _separator(lines: list[str]) -> str | None:
    """What parts every line into as many cells; None for blanks."""
    for sep in ("\t", ";", ",", "|", None):
        widths = {len(_cells(line, sep)) for line in lines}
        if len(widths) == 1 and widths.pop() > 1:
            return sep
    return next((sep for sep in "\t;" if sep in lines[0]), ",")


def _decimal(rows: list[list[str]], name: str) -> str:
    """The decimal sign; a comma only where cells show it.

    0,697 shows it where no cell has a point and no column says that it counts: no accuracy goes into thousands.
    """
    cells = [cell for row in rows for cell in row if not THOUSANDS.fullmatch(cell.strip())]
    shown = {sign: next((c.strip() for c in cells if pattern.fullmatch(c)), None) for sign, pattern in DECIMAL.items()}
    if shown[","] and shown["."]:
        raise InputError(f"results: {name} has {shown[',']} and {shown['.']}; one decimal sign is allowed")
    header = [cell.strip().lower() for cell in rows[0]]
    own = [i for i, cell in enumerate(header) if (cell == "accuracy" if "accuracy" in header else cell not in COUNTS)]
    three = any(THREE.fullmatch(row[i].strip()) for row in rows for i in own if i < len(row))
    return "," if shown[","] or (three and not shown["."]) else "."


def _number(cell: str, decimal: str) -> float | None:
    try:
        return float(cell.strip().removesuffix("%").replace(decimal, "."))
    except ValueError:
        return None
