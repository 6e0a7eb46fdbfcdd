"""Whether ``fslcore report`` gives the same answer however a file is written: counts of the outcomes.

``python benchmarks/report_variants.py --variants 2000`` writes twelve good files in so many ways, one or
two changes at a time, reads each, and says for each kind of change how many were read the same, how
many were asked for a role (and whether the proposed command then gives the same), how many were
refused, and how many were silently different, which it lists.
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fslcore.cli import app
from fslcore.errors import InputError
from fslcore.report import Options, Results
from fslcore.report.model import UnnamedRoles

METHODS = ("ours", "base", "proto")
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Sheet:
    """A table, and how it is written."""

    frame: pd.DataFrame
    options: dict[str, Any]
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    line_end: str = "\n"
    head: str = ""
    ending: str = ".csv"
    orient: str = "records"


Change = Callable[[Sheet, np.random.Generator], Sheet]


# ---------------------------------------------------------------- twelve good files


def long(rng: np.random.Generator, **axes: int) -> pd.DataFrame:
    """A row per method and combination of numbers of the axes."""
    indices = np.indices(axes.values()).reshape(len(axes), -1)
    hard = rng.normal(0, 6, indices.shape[1])
    parts = []
    for number, method in enumerate(METHODS):
        part = pd.DataFrame(dict(zip(axes, indices, strict=True)))
        values = 65 - 2 * number + hard + rng.normal(0, 2, len(part))
        parts.append(part.assign(method=method, accuracy=values.clip(20, 99).round(2)))
    return pd.concat(parts, ignore_index=True)


def named(frame: pd.DataFrame, key: str, prefix: str) -> pd.DataFrame:
    """The numbers of a column as names."""
    return frame.assign(**{key: prefix + frame[key].astype(str)})


def wide(frame: pd.DataFrame, unit: str) -> pd.DataFrame:
    """A column per method."""
    table = frame.pivot(index=unit, columns="method", values="accuracy")
    return table[[*METHODS]].reset_index().rename_axis(columns=None)


def files() -> dict[str, Sheet]:
    """Twelve files of different shapes, with the roles that they do not name."""
    rng = np.random.default_rng(59)
    tasks = long(rng, task=30)
    datasets = named(long(rng, dataset=8), "dataset", "set ")
    of_both = named(long(rng, dataset=4, seed=3), "dataset", "set ")
    draws = long(rng, seed=3, task=10)
    draws["task"] += 10 * draws["seed"]
    answers = long(rng, item=40)
    answers["accuracy"] = (answers["accuracy"] > 62).astype(int)
    classed = answers.assign(**{"class": "kind " + (answers["item"] % 6).astype(str)})
    printed = datasets.groupby("method")["accuracy"].agg(["mean", "std"]).reset_index()
    cells = printed["mean"].map("{:.2f}".format) + " ± " + printed["std"].map("{:.2f}".format)
    columns = {"methods": METHODS}
    return {
        "tasks": Sheet(tasks, {}),
        "tasks, wide": Sheet(wide(tasks, "task"), columns),
        "data sets": Sheet(datasets, {}),
        "data sets, wide": Sheet(wide(datasets, "dataset"), columns),
        "seeds": Sheet(long(rng, seed=5), {}),
        "folds": Sheet(long(rng, fold=10), {}),
        "data sets and seeds": Sheet(of_both, {}),
        "draws": Sheet(draws, {"seed": "tasks"}),
        "runs": Sheet(long(rng, run=3, task=12), {}),
        "answers": Sheet(answers, {}),
        "answers of classes": Sheet(classed, {}),
        "printed": Sheet(printed[["method"]].assign(accuracy=cells), {"pm": "ci"}),
    }


# ---------------------------------------------------------------- changes


def with_column(name: str, values: Callable[[int, np.random.Generator], Any]) -> Change:
    """One more column."""

    def change(sheet: Sheet, rng: np.random.Generator) -> Sheet:
        place = int(rng.integers(0, sheet.frame.shape[1] + 1))
        frame = sheet.frame.copy()
        frame.insert(place, name, values(len(frame), rng))
        return replace(sheet, frame=frame)

    return change


def with_header(column: str, name: str) -> Change:
    """Another word for a column; the same table where it has none of that name."""

    def change(sheet: Sheet, rng: np.random.Generator) -> Sheet:
        return replace(sheet, frame=sheet.frame.rename(columns={column: name}))

    return change


def written(**how: Any) -> Change:
    """Another way to write the same cells."""

    def change(sheet: Sheet, rng: np.random.Generator) -> Sheet:
        return replace(sheet, **how)

    return change


def of_numbers(function: Callable[[pd.Series], pd.Series]) -> Change:
    """Another way to write accuracies."""

    def change(sheet: Sheet, rng: np.random.Generator) -> Sheet:
        frame = sheet.frame.copy()
        for column in frame.columns.intersection(["accuracy", *METHODS]):
            if frame[column].dtype.kind == "f":
                frame[column] = function(frame[column])
        return replace(sheet, frame=frame)

    return change


def of_frame(function: Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]) -> Change:
    """Another order of rows or columns, or more of them."""
    return lambda sheet, rng: replace(sheet, frame=function(sheet.frame, rng))


def mean_row(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """A last row with means, where a column per method makes one possible."""
    values = frame.columns.intersection(METHODS)
    if values.empty:
        return frame
    row = {frame.columns[0]: "mean", **frame[values].mean().round(2)}
    return pd.concat([frame.astype({frame.columns[0]: object}), pd.DataFrame([row])])


def in_capitals(name: str) -> str:
    """The name of a column in capitals; those of methods name them."""
    return name if name in METHODS else name.upper()


ADDED: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "lr": lambda n, rng: 0.001,
    "learning_rate": lambda n, rng: rng.choice([0.1, 0.01], n),
    "batch_size": lambda n, rng: 64,
    "batch size": lambda n, rng: rng.choice([32, 64], n),
    "n_images": lambda n, rng: "1,000",
    "images": lambda n, rng: [f"1,{k:03}" for k in range(n)],
    "time": lambda n, rng: 1_700_000_000 + np.arange(n),
    "started": lambda n, rng: 1_700_000_000 + rng.integers(0, 10**6, n),
    "when": lambda n, rng: pd.date_range("2026-01-01", periods=n, freq="h").astype(str),
    "slurm_job_id": lambda n, rng: 9_000_000 + rng.permutation(n),
    "Δ": lambda n, rng: rng.normal(0, 2, n).round(2),
    "diff": lambda n, rng: rng.normal(0, 2, n).round(2),
    "epoch": lambda n, rng: 100,
    "epochs": lambda n, rng: rng.choice([90, 100], n),
    "rank": lambda n, rng: rng.integers(1, 4, n),
    "p-value": lambda n, rng: rng.random(n).round(3),
    "f1": lambda n, rng: (rng.random(n) * 100).round(2),
    "loss": lambda n, rng: rng.random(n).round(3),
    "runtime_s": lambda n, rng: rng.random(n).round(2),
    "git": lambda n, rng: "ab12cd",
    "commit": lambda n, rng: [f"{k:07x}" for k in rng.integers(0, 2**28, n)],
    "gpu": lambda n, rng: "A100",
    "note": lambda n, rng: "",
    "comment": lambda n, rng: rng.choice(["ok", "again"], n),
    "params": lambda n, rng: 11_700_000,
    "k": lambda n, rng: rng.integers(0, 5, n),
    "seed_": lambda n, rng: 42,
    "n_way": lambda n, rng: 5,
    "val_acc": lambda n, rng: (rng.random(n) * 100).round(2),
    "best": lambda n, rng: rng.choice([0, 1], n),
    "Unnamed: 0": lambda n, rng: np.arange(n),
}  # fmt: skip
HEADERS = {
    "method": [
        "model", "Method", "framework", "trainer", "policy", "pipeline_name", "backbone", "network",
        "system", "what",
    ],
    "accuracy": ["acc", "Accuracy (%)", "test_acc", "Top-1", "result", "score", "y"],
    "task": ["episode", "Task ID", "uid", "try"],
    "dataset": ["Dataset", "benchmark", "domain", "where"],
    "seed": ["Seed", "random_seed", "rep"],
}  # fmt: skip
CHANGES: dict[str, Change] = {
    **{f"column {name}": with_column(name, values) for name, values in ADDED.items()},
    **{f"{old} called {new}": with_header(old, new) for old, names in HEADERS.items() for new in names},
    "semicolons": written(separator=";"),
    "tabs": written(separator="\t", ending=".tsv"),
    "bars": written(separator="|"),
    "decimal commas": written(separator=";", decimal=","),
    "byte order mark": written(encoding="utf-8-sig"),
    "UTF-16": written(encoding="utf-16"),
    "CRLF": written(line_end="\r\n"),
    "a comment": written(head="# made by a script\n"),
    "a title line": written(head="Results of our study\n"),
    "JSON": written(ending=".json"),
    "JSON lines": written(ending=".jsonl"),
    "JSON by column": written(ending=".json", orient="list"),
    "JSON, split": written(ending=".json", orient="split"),
    "JSON of pandas": written(ending=".json", orient="columns"),
    "Parquet": written(ending=".parquet"),
    "compressed": written(ending=".csv.gz"),
    "shares": of_numbers(lambda values: (values / 100).round(6)),
    "percent signs": of_numbers(lambda values: values.map("{:.2f} %".format)),
    "trailing zeros": of_numbers(lambda values: values.map("{:.6f}".format)),
    "exponents": of_numbers(lambda values: values.map("{:.8e}".format)),
    "rows shuffled": of_frame(lambda frame, rng: frame.sample(frac=1, random_state=rng)),
    "columns shuffled": of_frame(lambda frame, rng: frame[rng.permutation(frame.columns)]),
    "columns reversed": of_frame(lambda frame, rng: frame[frame.columns[::-1]]),
    "header in capitals": of_frame(lambda frame, rng: frame.rename(columns=in_capitals)),
    "an empty row": of_frame(lambda frame, rng: pd.concat([frame, frame.iloc[:1].map(lambda _: None)])),
    "a mean row": of_frame(mean_row),
}  # fmt: skip


def write(sheet: Sheet, folder: Path) -> Path:
    """The file of a sheet."""
    path = folder / f"results{sheet.ending}"
    frame = sheet.frame
    if sheet.ending == ".parquet":
        frame.to_parquet(path, index=False)
    elif sheet.ending == ".jsonl":
        path.write_text(frame.to_json(orient="records", lines=True), "utf-8")
    elif sheet.ending == ".json":
        frame = frame.reset_index(drop=True)
        text = frame.to_json(orient=sheet.orient if sheet.orient != "list" else "records")
        if sheet.orient == "list":
            text = pd.io.json.ujson_dumps(frame.to_dict("list"))
        path.write_text(text, "utf-8")
    elif sheet.ending == ".csv.gz":
        frame.to_csv(path, index=False)
    else:
        text = frame.to_csv(
            sep=sheet.separator, decimal=sheet.decimal, index=False, lineterminator=sheet.line_end
        )
        path.write_bytes((sheet.head + text).encode(sheet.encoding))
    return path


# ---------------------------------------------------------------- outcomes


def conclusion(results: Results) -> pd.DataFrame:
    """What is compared, in an order that does not depend on that of the file."""
    columns = ["difference", "low", "high", "p", "p_holm"]
    pairs = results.pairs.assign(pair=results.pairs["a"] + results.pairs["b"])
    keys = ["place", "target", "pair"]
    return pairs.set_index(keys)[columns].astype(float).sort_index()


def is_same(found: pd.DataFrame, expected: pd.DataFrame) -> bool:
    """Whether two conclusions are, up to rounding."""
    return found.index.equals(expected.index) and np.allclose(
        found, expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True
    )


def typed(command: str) -> Results:
    """What a proposed command reads."""
    parsed = vars(app._program().parser.parse_args(shlex.split(command)[1:]))
    options = {field.name: parsed[field.name] for field in fields(Options) if field.name in parsed}
    return Results.read([str(path) for path in parsed["results"]], **options)


def outcome(sheet: Sheet, expected: pd.DataFrame) -> tuple[str, str]:
    """What becomes of a file, and what was said."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        path = write(sheet, Path())
        try:
            results = Results.read(path.name, **sheet.options)
        except UnnamedRoles as error:
            lines = [line.strip() for line in str(error).splitlines()]
            commands = [line for line in lines if line.startswith("fslcore report ")]
            if not commands:
                return "asked, no proposal", str(error)
            same = is_same(conclusion(typed(commands[0])), expected)
            return f"asked, proposal {'the same' if same else 'different'}", commands[0]
        except InputError as error:
            return "refused", str(error)
    same = is_same(conclusion(results), expected)
    return ("same" if same else "SILENTLY DIFFERENT"), " ".join(results.lines()[:2])


def variants(count: int) -> Iterator[tuple[str, str, Sheet]]:
    """File, changes and sheet: every single change, then pairs of them as a seed draws these."""
    rng = np.random.default_rng(2026)
    sheets = files()
    singles = [(file, (name,)) for file in sheets for name in CHANGES]
    pairs = [(file, names) for file in sheets for names in combinations(CHANGES, 2)]
    drawn = rng.choice(len(pairs), max(count - len(singles), 0), replace=False)
    for file, names in [*singles, *(pairs[number] for number in drawn)][:count]:
        sheet = sheets[file]
        for name in names:
            sheet = CHANGES[name](sheet, rng)
        yield file, " + ".join(names), sheet


def main() -> None:
    """Run the variants and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--variants", type=int, default=2000)
    parser.add_argument(
        "--list", action="store_true", help="print every outcome that is not the same"
    )
    arguments = parser.parse_args()
    expected = {}
    for name, sheet in files().items():
        frame = sheet.frame
        expected[name] = conclusion(Results.from_frame(frame, **sheet.options))
    counts: Counter[str] = Counter()
    for file, change, sheet in variants(arguments.variants):
        try:
            kind, said = outcome(sheet, expected[file])
        except InputError as error:  # the proposed command does not work
            kind, said = "PROPOSAL REFUSED", str(error)
        except Exception as error:
            kind, said = "CRASH", repr(error)
        counts[kind] += 1
        if kind.isupper() or (arguments.list and kind != "same"):
            print(f"{kind} | {file} | {change} | {said[:300]!r}", flush=True)
    for kind, number in sorted(counts.items()):
        print(f"{number:6} {kind}")


if __name__ == "__main__":
    main()
