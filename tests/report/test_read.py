"""Files as people have them: each is made here and gives the same answer; refusals have a way out."""

import json
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from refusal import refuses

from fslcore.report import Results

RNG = np.random.default_rng(5)
HARD = RNG.normal(0, 8, 40)
ACCURACIES = pd.DataFrame(
    {
        name: (60 + shift + HARD + RNG.normal(0, 4, 40)).round(2)
        for name, shift in (("ours", 5), ("protonet", 0))
    }
)
EXPECTED = Results.from_frame(ACCURACIES).pairs


def to_blanks(path):
    lines = [" ".join(map(str, row)) for row in ACCURACIES.to_numpy()]
    path.write_text("\n".join(["ours   protonet", *lines]))


def to_markdown(path):
    rows = "".join(f"| **{a}** | {b} |\n" for a, b in ACCURACIES.to_numpy())
    path.write_text(f"| ours | protonet |\n| --- | ---: |\n{rows}")


LONG = ACCURACIES.assign(Episode=range(40)).melt(
    "Episode", var_name="Model", value_name="Test Acc (%)"
)
KINDS = {
    "wide.csv": lambda p: ACCURACIES.to_csv(p, index=False),
    "indexed.csv": lambda p: ACCURACIES.to_csv(p),
    "shares.csv": lambda p: (ACCURACIES / 100).to_csv(p, index=False),
    "semicolons.csv": lambda p: ACCURACIES.to_csv(p, index=False, sep=";", decimal=","),
    "tabs.tsv": lambda p: ACCURACIES.to_csv(p, index=False, sep="\t", decimal=","),
    "quoted.csv": lambda p: ACCURACIES.map(lambda x: f"{x}".replace(".", ",")).to_csv(
        p, index=False
    ),
    "blanks.txt": to_blanks,
    "bom.csv": lambda p: ACCURACIES.to_csv(p, index=False, encoding="utf-8-sig"),
    "utf16.csv": lambda p: ACCURACIES.to_csv(p, index=False, encoding="utf-16"),
    "utf16-bare.csv": lambda p: ACCURACIES.to_csv(p, index=False, encoding="utf-16-le"),
    "percent.csv": lambda p: ACCURACIES.map("{:.2f} %".format).to_csv(p, index=False),
    "commented.csv": lambda p: p.write_text("# 5-way 1-shot\n" + ACCURACIES.to_csv(index=False)),
    "table.md": to_markdown,
    "long.csv": lambda p: LONG.to_csv(p, index=False),
    "summary.csv": lambda p: p.write_text(
        ACCURACIES.assign(task=range(40)).to_csv(index=False)
        + f"{ACCURACIES.mean()[0:1].iloc[0]},70,mean\n"
    ),
    "measures.csv": lambda p: ACCURACIES.assign(train_loss=0.5, seconds=3).to_csv(p, index=False),
    "records.json": lambda p: ACCURACIES.to_json(p, orient="records"),
    "lists.json": lambda p: p.write_text(json.dumps(ACCURACIES.to_dict("list"))),
    "records.jsonl": lambda p: LONG.to_json(p, orient="records", lines=True),
    "table.parquet": lambda p: ACCURACIES.to_parquet(p),
    "arrays.npz": lambda p: np.savez(p, **ACCURACIES),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_file_gives_the_same_answer(tmp_path, name):
    path = tmp_path / name
    KINDS[name](path)
    pairs = Results.read(path).pairs
    assert list(pairs["a"]) == ["ours"]
    for column in ("difference", "half_width", "p"):
        assert_allclose(pairs[column], EXPECTED[column], rtol=1e-9)


def test_windows_text_is_read_and_said(tmp_path):
    path = tmp_path / "w.csv"
    path.write_bytes(
        ACCURACIES.rename(columns={"ours": "à nous"}).to_csv(index=False).encode("cp1252")
    )
    results = Results.read(path)
    assert results.pairs["a"][0] == "à nous"
    assert any("Windows-1252" in note for note in results.reading)


def test_two_numbers_per_line_are_refused_until_it_is_said_what_a_comma_is(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("71,5\n72,3\n70,1\n")
    with refuses("may be two numbers, or one with a decimal comma"):
        Results.read(path)
    assert [*Results.read(path, separator="comma").methods["mean"]] == [71, 3]
    assert Results.read(path, separator="semicolon", decimal=",").methods[
        "mean"
    ].item() == pytest.approx(71.3)


def test_a_spreadsheet_is_read_or_its_package_is_named(tmp_path, monkeypatch):
    path = tmp_path / "book.xlsx"
    try:
        import openpyxl  # noqa: F401
    except ModuleNotFoundError:
        path.write_bytes(b"")
    else:
        ACCURACIES.to_excel(path, index=False)
        assert_allclose(Results.read(path).pairs["p"], EXPECTED["p"])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with refuses("pip install openpyxl"):
        Results.read(path)


def with_decimal_commas(numbers):
    return "\n".join(["ours", *(str(number).replace(".", ",") for number in numbers)])


@pytest.mark.parametrize(
    "name, write",
    [
        ("ours.npy", lambda path, numbers: np.save(path, numbers)),
        ("ours.txt", lambda path, numbers: path.write_text("\n".join(map(str, numbers)))),
        ("ours.json", lambda path, numbers: path.write_text(json.dumps(numbers))),
        ("ours.csv", lambda path, numbers: path.write_text(with_decimal_commas(numbers))),
    ],
)
def test_one_column_of_numbers_is_a_method_called_after_its_file(tmp_path, name, write):
    write(tmp_path / name, ACCURACIES["ours"].to_list())
    results = Results.read(tmp_path / name)
    assert list(results.methods["method"]) == ["ours"] and results.pairs.empty
    assert results.methods["mean"][0] == pytest.approx(ACCURACIES["ours"].mean())


def test_a_file_per_method_and_a_folder_are_one_table(tmp_path):
    for name in ACCURACIES:
        ACCURACIES[[name]].rename(columns={name: "acc"}).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    for path in (sorted(tmp_path.iterdir()), tmp_path):
        assert_allclose(Results.read(path).pairs["p"], EXPECTED["p"])


def test_exports_of_tracking_tools_leave_bounds_out(tmp_path):
    columns = {}
    for name, values in ACCURACIES.items():
        for bound in ("", "__MIN", "__MAX"):
            columns[f"{name} - test/acc{bound}"] = values
    path = tmp_path / "export.csv"
    pd.DataFrame({"Step": range(40), **columns}).to_csv(path, index=False)
    results = Results.read(path)
    assert_allclose(results.pairs["p"], EXPECTED["p"])
    assert any("__MIN" in note for note in results.reading)


def printed_command(message):
    """The line of Python that a refusal prints."""
    words = shlex.split(message[message.index("python -c") :])
    return [sys.executable, *words[1:3]]


def test_a_log_is_refused_with_a_line_that_extracts_its_numbers(tmp_path):
    log = tmp_path / "train.log"
    lines = [
        f"[{i}] loss: {i / 100:.2f} | test acc: {value}"
        for i, value in enumerate(ACCURACIES["ours"])
    ]
    lines[3] += " (best so far, saved)"
    lines.insert(7, "evaluating …")
    log.write_text("\n".join(lines))
    with refuses("train.log is no table") as refused:
        Results.read(log)
    subprocess.run(printed_command(str(refused.value)), cwd=tmp_path, check=True)
    assert Results.read(tmp_path / "train.csv").methods["mean"][0] == pytest.approx(
        ACCURACIES["ours"].mean()
    )


def test_a_pickle_is_never_loaded_but_can_be_converted(tmp_path):
    ACCURACIES.to_pickle(tmp_path / "r.pkl")
    with refuses("are read") as refused:
        Results.read(tmp_path / "r.pkl")
    subprocess.run(printed_command(str(refused.value)), cwd=tmp_path, check=True)
    assert_allclose(Results.read(tmp_path / "r.csv").pairs["p"], EXPECTED["p"])


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "has no rows"),
        ("ours,protonet\n", "has no rows"),
        ("ours,protonet\n71,70\n72\n73,70\n", "row 2 of .*, 72, has 1 cells"),
        ("ours,protonet\n71,70\n72,x7\n", "protonet"),
        ("accuracy,method\nhigh,a\n71,b\n", "accuracy in row 1 of .* is high"),
        ("ours,protonet\n71,170\n72,70\n", "value 170.*--lower-is-better"),
        ("method,accuracy\na,71.2\nb,70.1\n", "one number per method.*fslcore compare"),
        ("name,place\na,b\nc,d\n", "column accuracy, or a column of numbers"),
    ],
)
def test_what_has_no_true_reading_is_refused_with_a_way_out(tmp_path, text, message):
    path = tmp_path / "x.csv"
    path.write_text(text)
    with refuses(message):
        Results.read(path)


def test_all_problems_of_all_files_come_at_once(tmp_path):
    (tmp_path / "a.csv").write_text("")
    (tmp_path / "b.csv").write_text("ours,ours\n1,2\n3,4\n")
    with refuses(r"3 problems: \(1\) a.csv has no rows; \(2\) b.csv .*; \(3\) no file"):
        Results.read([tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.csv"])
