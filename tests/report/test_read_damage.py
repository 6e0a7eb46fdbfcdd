"""Damaged and hostile results files: refused in one line, or read; and never expanded without a limit."""

import io
import json
import random
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import proposed
import pytest
from recording import LABELS, played
from refusal import refuses

from fslcore.cli import faults
from fslcore.errors import InputError
from fslcore.report import read
from fslcore.tasks import sample_closed

RNG = np.random.default_rng(0)
WIDE = pd.DataFrame({name: RNG.normal(65, 8, 20).round(2) for name in ("ours", "b")})
LONG = WIDE.assign(task=range(20)).melt("task", var_name="method", value_name="accuracy")
WRITERS = {
    ".npz": lambda path: np.savez_compressed(path, **WIDE),
    ".npy": lambda path: np.save(path, WIDE.to_numpy()),
    ".parquet": LONG.to_parquet,
    ".json": lambda path: LONG.to_json(path, orient="records"),
    ".jsonl": lambda path: LONG.to_json(path, orient="records", lines=True),
    ".csv": lambda path: LONG.to_csv(path, index=False),
    ".txt": lambda path: path.write_text("\n".join(map(str, WIDE["ours"]))),
    ".xlsx": lambda path: LONG.to_excel(path, index=False),
    ".tsv": lambda path: LONG.to_csv(path, sep="\t", index=False),
    ".md": lambda path: path.write_text(bars(LONG, "| ", " |")),
    ".tex": lambda path: path.write_text(tabular(LONG)),
}
LOGS = Path(__file__).parent / "logs"
DAMAGED = 200  # of each format


def bars(table, start="", end="", separator=" | ", rule="|---|---|---|\n"):
    """A table of text, as Markdown writes it."""
    rows = [[*table.columns], *table.astype(str).to_numpy().tolist()]
    lines = [f"{start}{separator.join(row)}{end}\n" for row in rows]
    return "".join([lines[0], rule, *lines[1:]])


def tabular(table):
    """A table of LaTeX with its document."""
    rows = bars(table, end=r" \\", separator=" & ", rule="\\midrule\n")
    return f"\\begin{{tabular}}{{lll}}\n{rows}\\end{{tabular}}\n"


def recorded(folder):
    """Two recordings."""
    tasks = sample_closed(LABELS, tasks=6, ways=3, shots=1, queries=2)
    for seed, method in enumerate("AB"):
        played(folder / f"{method}.jsonl", tasks, method, seed=seed, transductive=False)
    return folder, folder / "A.jsonl"


def logged(folder):
    """Samples of lm-evaluation-harness, in the folder of a model."""
    source = sorted((LOGS / "lm_eval/words").glob("samples_same*"))[0]
    path = folder / "model" / source.name
    path.parent.mkdir()
    shutil.copy(source, path)
    return path, path


def of_mteb(folder):
    """A result of MTEB beside the description of its model."""
    source = next((LOGS / "mteb/all/results").rglob("*Classification*.json"))
    shutil.copytree(source.parent, folder / "model")
    return folder / "model" / source.name, folder / "model" / source.name


def in_folders(folder):
    """A pattern of paths to a number in JSON."""
    for method, gap in (("ours", 2), ("base", 0)):
        for seed in range(3):
            path = folder / method / f"seed{seed}" / "results.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps({"test": {"acc": 70.5 + seed + gap}, "notes": ["a"]}))
    return folder / "{method}" / "seed{seed}" / "results.json", path


def single(ending):
    """A file of a format, by a function of its folder."""

    def made(folder):
        path = folder / f"r{ending}"
        WRITERS[ending](path)
        return path, path

    return made


SOURCES = {ending: single(ending) for ending in WRITERS}
SOURCES |= {"recordings": recorded, "lm-eval": logged, "MTEB": of_mteb, "a pattern": in_folders}


@pytest.mark.parametrize(
    "name, text",
    [
        ("r.jsonl", "1\n2\n"),
        ("r.json", '[{"accuracy": 1}, 2, 3]'),
        ("r.json", "[1, {}, 3]"),
        ("r.json", "[[1, 2], [3, 4]]"),
    ],
)
def test_records_that_are_no_objects_are_refused(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    with refuses("an object such as"):
        proposed.read(path)


def test_a_member_of_an_archive_that_is_no_array_is_refused(tmp_path):
    path = tmp_path / "r.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "x")
    with refuses("readme.txt is no array of NumPy"):
        proposed.read(path)


def damaged(raw, draw):
    """A file with flipped bits, or cut, or with a part lost or added."""
    content = bytearray(raw)
    place, other = sorted(draw.choices(range(len(content)), k=2))
    kind = draw.choice(["flip", "flip", "cut", "lost", "added"])
    if kind == "flip":
        for _ in range(draw.choice([1, 2, 8])):
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    elif kind == "cut":
        del content[place:]
    elif kind == "lost":
        del content[place:other]
    else:
        content[place:place] = draw.randbytes(9)
    return bytes(content)


def refused_among(name, folder, count, seed=1):
    """How many of so many damaged files are refused, each in one line and with exit code 2."""
    draw = random.Random(seed)
    given, path = SOURCES[name](folder)
    raw = path.read_bytes()
    files = {*folder.rglob("*")}
    refused = 0
    for _ in range(count):
        path.write_bytes(damaged(raw, draw))
        try:
            proposed.read(given)
        except InputError as error:
            refused += 1
            text, code = faults.message(error, "report")
            assert code == 2 and "a fault of" not in text
            assert "\n" not in text or type(error).__name__ == "UnnamedRoles"
    assert {*folder.rglob("*")} == files
    return refused


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SOURCES)
def test_some_damaged_files_are_refused_in_one_line_or_read(tmp_path, name):
    if name == ".xlsx":
        pytest.importorskip("openpyxl")
    refused_among(name, tmp_path, 8, seed=3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SOURCES)
def test_damaged_files_are_refused_in_one_line_or_read(tmp_path, name):
    if name == ".xlsx":
        pytest.importorskip("openpyxl")
    assert refused_among(name, tmp_path, DAMAGED) > DAMAGED / 20


VALUES = [None, True, "x", "", float("nan"), 1e400, -1, "71,5", 10**400, "\ud800", 0.5, 2]
KEYS = "ours b accuracy task method seed dataset doc_id resps filter task_name scores class".split()


def any_json(draw, depth=0):
    """A value of JSON of any form, with keys that readers know."""
    kind = draw.choice(["value", "list", "object"]) if depth < 3 else "value"
    if kind == "value":
        return draw.choice(VALUES)
    if kind == "list":
        return [any_json(draw, depth + 1) for _ in range(draw.randint(0, 4))]
    return {draw.choice(KEYS): any_json(draw, depth + 1) for _ in range(draw.randint(0, 5))}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["r.json", "r.jsonl"])
def test_json_of_any_form_is_refused_in_one_line_or_read(tmp_path, name):
    draw = random.Random(2)
    path = tmp_path / name
    for _ in range(300):
        lines = [json.dumps(any_json(draw)) for _ in range(3 if name == "r.jsonl" else 1)]
        path.write_text("\n".join(lines))
        try:
            proposed.read(path)
        except InputError as error:
            assert "\n" not in str(error) or type(error).__name__ == "UnnamedRoles"


# Sizes are checked before a file is expanded ------------------------------------------------------


def test_arrays_that_expand_too_far_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "r.npz"
    np.savez_compressed(path, ours=np.zeros(3 * 10**6))
    assert path.stat().st_size < 40_000
    monkeypatch.setenv("FSLCORE_EXPANDED", "0.02")
    monkeypatch.setattr(np, "load", None)  # not reached
    with refuses("FSLCORE_EXPANDED"):
        proposed.read(path)


@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_a_head_that_claims_more_than_any_memory_is_refused(tmp_path, ending):
    head = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (10**13,)}
    np.lib.format.write_array_header_1_0(head, shape)
    content = head.getvalue() + bytes(800)
    path = tmp_path / f"r{ending}"
    if ending == ".npy":
        path.write_bytes(content)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("ours.npy", content)
    with refuses("cannot be read"):
        proposed.read(path)


@pytest.mark.parametrize("form", ["dictionary", "plain", "differences"])
def test_texts_that_expand_too_far_are_refused(tmp_path, monkeypatch, form):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "r.parquet"
    methods = pa.DictionaryArray.from_arrays(
        pa.array([0, 1] * 500, pa.int32()), ["a" * 10**5, "b" * 10**5]
    )
    methods = methods if form == "dictionary" else methods.cast(pa.string())
    table = {"method": methods, "task": [*range(1000)], "accuracy": [0.5] * 1000}
    deltas = {"use_dictionary": False, "column_encoding": {"method": "DELTA_BYTE_ARRAY"}}
    if form == "differences":
        table["method"] = pa.array(["a" * 10**5] * 1000)
        assert 10**5 * read.ROWS_OF_TEXTS < 10**7  # bytes that are expanded at once
    parquet.write_table(pa.table(table), path, **(deltas if form == "differences" else {}))
    assert path.stat().st_size < 300_000
    monkeypatch.setenv("FSLCORE_EXPANDED", "0.05")
    monkeypatch.setattr(pd, "read_parquet", None)  # not reached
    with refuses("FSLCORE_EXPANDED"):
        proposed.read(path)


def test_texts_that_are_stored_as_differences_are_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    encodings = {"use_dictionary": False, "column_encoding": {"method": "DELTA_BYTE_ARRAY"}}
    table = pa.Table.from_pandas(LONG, preserve_index=False)
    parquet.write_table(table, tmp_path / "r.parquet", **encodings)
    methods = proposed.read(tmp_path / "r.parquet").methods.set_index("method")
    assert methods["mean"]["ours"] == pytest.approx(WIDE["ours"].mean())


def test_a_spreadsheet_that_expands_too_far_is_refused(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "r.xlsx"
    book = openpyxl.Workbook()
    book.active["XFD1048576"] = 1
    book.save(path)
    monkeypatch.setattr(pd, "read_excel", None)  # not reached
    with refuses("FSLCORE_EXPANDED"):
        proposed.read(path)
    pd.DataFrame({"ours": [7] * 20_000}).to_excel(path, index=False)
    monkeypatch.setenv("FSLCORE_EXPANDED", "0.001")
    monkeypatch.setattr(openpyxl, "load_workbook", None)  # not reached
    with refuses("FSLCORE_EXPANDED"):
        proposed.read(path)


def test_a_workbook_is_measured_before_any_library_opens_it(tmp_path, monkeypatch):
    """With openpyxl or without it: a small zip with a huge sheet, and a damaged one."""
    monkeypatch.setitem(sys.modules, "openpyxl", None)  # an import fails
    path = tmp_path / "r.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"):
            archive.writestr(name, bytes(2 * 10**7))
    assert path.stat().st_size < 50_000
    monkeypatch.setenv("FSLCORE_EXPANDED", "0.2")
    with refuses("FSLCORE_EXPANDED"):
        proposed.read(path)
    monkeypatch.setenv("FSLCORE_EXPANDED", "1")
    with refuses("pip install openpyxl"):
        proposed.read(path)
    path.write_bytes(path.read_bytes()[:-30])
    with refuses("r.xlsx is no workbook of Excel"):
        proposed.read(path)


def test_an_empty_row_of_a_sheet_keeps_its_place(tmp_path):
    pytest.importorskip("openpyxl")
    paths = [tmp_path / f"{name}.xlsx" for name in ("ours", "b")]
    for path in paths:
        values = WIDE[path.stem].copy()
        if path.stem == "ours":
            values[4] = np.nan
        values.to_frame("accuracy").to_excel(path, index=False)
    pair = proposed.read(paths, common=True).pairs.iloc[0]
    expected = abs((WIDE["ours"] - WIDE["b"]).drop(4).mean())
    assert pair["difference"] == pytest.approx(expected)
