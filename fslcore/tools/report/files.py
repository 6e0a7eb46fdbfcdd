"""A results file as a DataFrame: text or Parquet of the declared format, recordings, and what LibFewShot leaves.

Nothing is judged here but the format; `fslcore.tools.report.normalise` says what a column is.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ...errors import InputError, shown, visible
from ...paths import check_expanded
from .. import recorder
from . import libfewshot, logs
from .questions import refuse
from .recorded import Recorded

TEXT = (".csv", ".tsv", ".txt")
ENDINGS = (*TEXT, ".parquet", recorder.ENDING)
NAMES = ("method", "backbone", "learner")  # columns that say whose accuracies a row of a long table holds
OF_ITEMS = ("item", "support", "model", "group")  # names in a table of scores (`fslcore.tools.report.items`)
# A name that ends with the number of a training: what stands before, and the number.
NUMBERED = re.compile(
    r"(?:(.+?)[-_./\\ ]+(?:seed|run|s|r)?|(.+?)(?:seed|run)|(?:seed|run|s|r)?)[-_.= ]*(\d+)", re.IGNORECASE
)
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "blanks": " "}
EMPTY = {"", "nan", "na", "n/a", "null", "none"}  # cells without a number, in any case
# How files of other endings become a table, for a reader to paste: PATH and NAME are put in.
ELSE = {
    ".json": "pd.read_json(PATH).to_csv(NAME, index=False)",
    ".jsonl": "pd.read_json(PATH, lines=True).to_csv(NAME, index=False)",
    ".pkl": "pd.DataFrame(pd.read_pickle(PATH)).to_csv(NAME, index=False)",
    ".xlsx": "pd.read_excel(PATH).to_csv(NAME, index=False)",
    ".npy": "import numpy as np; pd.DataFrame(np.load(PATH), columns=['ours', 'theirs']).to_csv(NAME, index=False)",
    ".pt": "import torch; pd.DataFrame({m: x.tolist() for m, x in torch.load(PATH, weights_only=True).items()})"
    ".to_csv(NAME, index=False)",
}
ELSE |= {".ndjson": ELSE[".jsonl"], ".pickle": ELSE[".pkl"], ".xls": ELSE[".xlsx"], ".pth": ELSE[".pt"]}


class File(NamedTuple):
    """A table, what messages call it, what it holds (a method or a data set), and whether its names are declared.

    Of a recording also the recording.
    """

    frame: pd.DataFrame
    name: str
    holds: str
    declared: bool = False
    recorded: Recorded | None = None


def frame(path: Path, separator: str = "unknown", decimal: str = ".") -> tuple[pd.DataFrame, list[str]]:
    """What the file holds, and a note for each choice that was taken.

    Parameters
    ----------
    path : path
        .csv, .tsv or .txt (UTF-8, a line of names, then a row a line), or .parquet; what tools log (`logs`); an event
        file of LibFewShot's test loop, or the folder of its runs (`fslcore.tools.report.libfewshot`).
    separator : str
        What separates the cells of text: 'comma', 'semicolon', 'tab', 'bar' or 'blanks'; unknown, the one of the first
        four that the line of names has.
    decimal : str
        The decimal sign of text, '.' or ','.

    Raises
    ------
    InputError
        No such file, another ending, unreadable, two columns of one name; text that is not of the declared format, with
        all that is wrong.
    """
    if path.is_dir():
        return libfewshot.runs(path)
    if not path.is_file():
        raise InputError(f"results: no file {path}")
    if libfewshot.MARK in path.name:
        return libfewshot.run(path)
    ending = path.suffix.lower()
    if ending in (".json", ".jsonl") and (reader := logs.reader(path)):
        return reader(path)
    if ending not in ENDINGS:
        how = ELSE.get(ending, "").replace("PATH", repr(path.name)).replace("NAME", repr(f"{path.stem}.csv"))
        mend = f"; in Python: import pandas as pd; {how}" if how else ""
        raise InputError(f"results: {path.name}; {', '.join(ENDINGS)} are allowed{mend}")
    with _readable(path):
        return _text(path, separator, decimal) if ending in TEXT else _parquet(path)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Errors of the libraries that read a file, in one line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # each format has kinds of its own, as ArrowInvalid
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"results: {path} cannot be read ({said[0]})") from None


def frames(
    path: str | Path | Sequence[str | Path], runs: bool = False, separator: str = "unknown", decimal: str = "."
) -> tuple[list[File], list[str], list[str]]:
    """Every file with its names, the notes, and what keeps files from being read. Recordings are one file.

    Raises
    ------
    InputError
        No name of a file; a file twice; a recording beside other files; with ``runs`` a recording, a file alone, or one
        with a column run; and as for `frame`.
    """
    given = path if isinstance(path, Sequence) and not isinstance(path, (str, bytes)) and len(path) else [path]
    if wrong := [one for one in given if not isinstance(one, (str, os.PathLike)) or not str(one)]:
        raise InputError(f"results: path = {shown(wrong[0])}; the name of a file or folder is allowed")
    paths = [Path(one) for one in given]
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
    if recorded:
        return *_recordings(paths), []
    named, notes, problems = [], [], []
    for one, called in zip(paths, _called(paths)):
        try:
            table, more = frame(one, separator, decimal)
        except InputError as error:
            problems.append(str(error).removeprefix("results: "))
        else:
            named.append(File(table, *called, one.is_dir() or libfewshot.MARK in one.name))
            notes += more
    if not named:
        refuse(problems)
    return [*_of_runs(named, paths)] if runs and not problems else named, notes, problems


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


def _of_runs(given: Sequence[File], paths: Sequence[Path]) -> Iterator[File]:
    """Of `frames` of files that hold a training run each: with a column ``run``, from the number that a name ends with.

    protonet-seed0.csv and protonet/seed0.csv are run 0 of protonet where the file names no method; a name without a
    number is a run too. Of a backbone conv4:weights.safetensors the weights are the run's.
    """
    if len(paths) < 2:
        raise InputError("runs = True; one file is given, and each is to be a training run: two or more are needed")
    alike = len({one.name for one in paths}) == 1 and not numbered(paths[0].stem)  # 0/acc.csv and 1/acc.csv
    for of, path in zip(given, paths):
        frame = of.frame
        if "run" in {str(column).strip().lower() for column in frame}:
            raise InputError(f"runs = True; {of.name} has a column run; its name can tell the run where it has none")
        *folders, last = ("method", *path.parent.parts) if alike else ("method", *path.parent.parts, path.stem)
        what, run = numbered(last) or (last, last)
        weights = {c: frame[c].astype(str).str.partition(":")[0] for c in frame if str(c).strip().lower() == "backbone"}
        yield of._replace(frame=frame.assign(run=visible(run), **weights), holds=what or folders[-1])


def _parquet(path: Path) -> tuple[pd.DataFrame, list[str]]:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        of = file.metadata
        columns = [of.row_group(g).column(c) for g in range(of.num_row_groups) for c in range(of.num_columns)]
    # A value that repeats takes next to nothing in the file, and 8 bytes each time in the table.
    check_expanded("results", path, sum(max(c.total_uncompressed_size, 8 * c.num_values) for c in columns))
    found = pd.read_parquet(path)
    return found.reset_index(drop=found.index.names == [None]), []


def _recordings(paths: Sequence[Path]) -> tuple[list[File], list[str]]:
    """One table of all recordings, and the notes."""
    one, called = paths[0], f"{len(paths)} recordings"
    if len(paths) > 1:
        name, holds, tasks, found = called, called, f"{called} are one table: their tasks", Recorded(paths)
    elif not one.is_file():
        raise InputError(f"results: no file {one}")
    else:
        name, holds, tasks = one.name, one.stem, f"{one.name} is a recording: its tasks"
        try:
            found = Recorded(one)
        except InputError as error:
            how = "accuracies are read from the columns of a .csv or .parquet"
            raise InputError(f"results: {error}; {how}") from None
    with _readable(one):
        table = found.table()
    drawn = "reuse images" if found.reused else "share no image"
    return [File(table, name, holds, True, found)], [f"{tasks} {drawn}.", *found.notes()]


def _text(path: Path, separator: str, decimal: str) -> tuple[pd.DataFrame, list[str]]:
    """A table of text: a line of names, then as many cells in every row."""
    name, raw = path.name, path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        coding = "UTF-16" if b"\0" in raw else "WINDOWS-1252"
        raise InputError(f"results: {name} is not UTF-8; save it as UTF-8 (iconv -f {coding} -t UTF-8 {name})")
    text = text.strip("\r\n")
    header = re.split(r"[\r\n]", text, maxsplit=1)[0]
    if not text.strip():
        raise InputError(f"results: {name} has no rows")
    outside = re.sub('"[^"]*"', "", header)  # of names in quotes
    found = [kind for kind, sep in SEPARATORS.items() if sep in outside and kind != "blanks"]
    if separator == "unknown" and len(found) > 1:
        raise InputError(
            f"results: the line of names of {name} has more than one separator ({', '.join(found)}); say which "
            f"separates the cells (--separator {found[0]})"
        )
    kind = [*found, "comma"][0] if separator == "unknown" else separator
    sep = SEPARATORS[kind]
    source = re.sub(r"[ \t]+", " ", text) if kind == "blanks" else text
    try:
        rows = [*csv.reader(io.StringIO(source, newline=""), delimiter=sep, skipinitialspace=sep != "\t", strict=True)]
    except csv.Error as error:
        raise InputError(f"results: {name} cannot be read ({error})") from None
    names, rows = [cell.strip() for cell in rows[0]], rows[1:]
    refuse(_unlike_a_table(names, rows, name))
    names = [column or f"Unnamed: {i}" for i, column in enumerate(names)]
    texts = {*NAMES, "dataset", "sampling"} | ({*OF_ITEMS} if "score" in {*map(str.lower, names)} else set())
    columns = ([row[i] for row in rows] for i in range(len(names)))
    table = pd.DataFrame({name: _column(cells, name, decimal, texts) for name, cells in zip(names, columns)})
    notes = [f"The cells of {name} are separated by {kind.rstrip('s')}s."] * (kind != "comma")
    return table, notes + ["Commas are read as decimal points."] * (decimal == ",")


def _unlike_a_table(names: Sequence[str], rows: Sequence[Sequence[str]], name: str) -> list[str]:
    """What in lines of cells is no table of one line of names and rows of as many cells."""
    if names[0].startswith("#"):
        return [f"{name} begins with #, and comments are not read: take them out (grep -v '^#' {name})"]
    problems = []
    if not rows:
        problems.append(f"{name} has no rows")
    if numbers := [cell for cell in names if _number(cell) is not None]:
        problems.append(
            f"the first line of {name} has a number, {numbers[0]}, among its names; a line that names the columns is "
            "needed"
        )
    if twice := [cell for i, cell in enumerate(names) if cell and cell in names[:i]]:
        problems.append(f"{name} has two columns {twice[0]}; each name may stand once")
    if other := [i for i, row in enumerate(rows, 1) if len(row) != len(names)]:
        row, more = rows[other[0] - 1], f" (and {len(other) - 1:,} more rows like it)" * (len(other) > 1)
        problems.append(
            f"row {other[0]} of {name}, {shown(','.join(row))}, has {len(row)} cells and the line of names "
            f"{len(names)}; write nan where a value is missing, and no empty line{more}"
        )
    stripped = [[cell.strip() for cell in row] for row in rows]
    if [*names] in stripped:
        problems.append(
            f"row {stripped.index([*names]) + 1} of {name} is its line of names again, as where files were put below "
            "one another; name the files instead (fslcore report a.csv b.csv)"
        )
    return problems


def _column(cells: Sequence[str], name: str, decimal: str, texts: set[str]) -> pd.Series:
    """Numbers where all cells are numbers or empty, else text; a name is text, and of that only an empty cell, or nan.

    Every digit of an accuracy counts: two methods may differ by rounding alone.
    """
    bare = [cell.strip() for cell in cells]
    own = name.lower()
    if own in texts:
        return pd.Series([None if cell in ("", "nan", "NaN") else cell for cell in bare], dtype=object)
    if all(re.fullmatch(r"[+-]?\d{1,18}", cell) for cell in bare):
        return pd.Series([*map(int, bare)])
    empty, sign = ({""}, ".") if own in ("task", "run") else (EMPTY, decimal)
    numbers = [float("nan") if cell.lower() in empty else _number(cell, sign) for cell in bare]
    if None in numbers:
        return pd.Series([None if cell.lower() in empty else cell for cell in bare], dtype=object)
    return pd.Series(numbers, dtype=float)


def _number(cell: str, decimal: str = ".") -> float | None:
    try:
        return None if "_" in cell or (decimal == "," and "." in cell) else float(cell.replace(decimal, "."))
    except ValueError:
        return None
