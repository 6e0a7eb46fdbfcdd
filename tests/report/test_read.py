"""Files as people have them: each is made here and gives the same answer; refusals have a way out."""

import csv
import json
import re
import sys
import zipfile

import numpy as np
import pandas as pd
import proposed
import pytest
from numpy.testing import assert_allclose
from refusal import refuses

from fslcore.report import Results
from fslcore.report.text import is_rule, lines_of

RNG = np.random.default_rng(5)
HARD = RNG.normal(0, 8, 40)
ACCURACIES = pd.DataFrame(
    {
        name: (60 + shift + HARD + RNG.normal(0, 4, 40)).round(2)
        for name, shift in (("ours", 5), ("protonet", 0))
    }
)
EXPECTED = proposed.from_frame(ACCURACIES).pairs


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
    pairs = proposed.read(path).pairs
    assert list(pairs["a"]) == ["ours"]
    for column in ("difference", "half_width", "p"):
        assert_allclose(pairs[column], EXPECTED[column], rtol=1e-9)


@pytest.mark.parametrize("kind", ["tab", "semicolon", "bar", "blank"])
def test_a_separator_other_than_the_comma_is_named(tmp_path, kind):
    sign = {"tab": "\t", "semicolon": ";", "bar": "|", "blank": " "}[kind]
    ACCURACIES.to_csv(tmp_path / "r.csv", index=False, sep=sign)
    (note,) = [n for n in proposed.read(tmp_path / "r.csv").reading if "separate the cells" in n]
    assert re.search(rf"\b{kind}s\b", note)


def test_quoted_cells_may_hold_line_breaks_and_quotes(tmp_path):
    notes = ['see "a"\nand\nb', "x", 'one\nof "a" and "b"', '"a"']
    table = ACCURACIES.assign(note=[notes[i % 4] for i in range(40)], other="y, z")
    table.to_csv(tmp_path / "r.csv", index=False)
    pairs = proposed.read(tmp_path / "r.csv", ignore=["note"]).pairs
    assert_allclose(pairs[["difference", "p"]], EXPECTED[["difference", "p"]], rtol=1e-9)


def test_windows_text_is_read_and_said(tmp_path):
    path = tmp_path / "w.csv"
    path.write_bytes(
        ACCURACIES.rename(columns={"ours": "à nous"}).to_csv(index=False).encode("cp1252")
    )
    results = proposed.read(path)
    assert results.pairs["a"][0] == "à nous"
    assert any("Windows-1252" in note for note in results.reading)


def test_two_numbers_per_line_are_refused_until_it_is_said_what_a_comma_is(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("71,5\n72,3\n70,1\n")
    with refuses("may be two numbers, or one with a decimal comma"):
        proposed.read(path)
    assert [*proposed.read(path, separator="comma").methods["mean"]] == [71, 3]
    assert proposed.read(path, separator="semicolon", decimal=",").methods[
        "mean"
    ].item() == pytest.approx(71.3)


def with_thousands(numbers):
    rows = [f'{k},"{a:,.{digits}f}","{b:,.{digits}f}"' for k, (a, b, digits) in enumerate(numbers)]
    return "\n".join(["task,ours,base", *rows])


def test_commas_between_thousands_are_no_decimal_commas(tmp_path):
    """1,620 beside 978 was read as 1.62."""
    path = tmp_path / "r.csv"
    numbers = [(1620, 1200, 0), (978, 850, 0), (4280, 4010, 0), (12850, 11300, 0)]
    roles = {"methods": ["ours", "base"], "value": "score"}
    path.write_text(with_thousands(numbers))
    with refuses("ours must be a number", "got '1,620' in row 1; say what a comma is"):
        Results.read(path, **roles)
    expected = np.mean([a for a, *_ in numbers]), np.mean([b for _, b, _ in numbers])
    for decimal in (".", ","):
        means = Results.read(path, **roles, decimal=decimal).methods["mean"].tolist()
        assert (means == pytest.approx(expected)) == (decimal == ".")
    path.write_text(with_thousands([(a, b, 1) for a, b, _ in numbers]))
    assert Results.read(path, **roles).methods["mean"].tolist() == pytest.approx(expected)
    path.write_text("task;ours;base\n1;0,712;0,698\n2;0,731;0,701\n3;0,699;0,650\n")
    assert Results.read(path, methods=["ours", "base"]).methods["mean"][0] == pytest.approx(71.4)


def test_a_spreadsheet_is_read_or_its_package_is_named(tmp_path, monkeypatch):
    path = tmp_path / "book.xlsx"
    try:
        import openpyxl  # noqa: F401
    except ModuleNotFoundError:
        zipfile.ZipFile(path, "w").close()
    else:
        ACCURACIES.to_excel(path, index=False)
        assert_allclose(proposed.read(path).pairs["p"], EXPECTED["p"])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with refuses("pip install openpyxl"):
        proposed.read(path)


def test_a_sheet_with_a_title_is_refused_as_such(tmp_path):
    path = tmp_path / "book.xlsx"
    rows = [["Table 2"], ["task", *ACCURACIES], *ACCURACIES.reset_index().to_numpy().tolist()]
    pd.DataFrame(rows).to_excel(path, index=False, header=False)
    with refuses("cells of the first row of its sheet are empty", "no line of names"):
        Results.read(path)


def test_a_pivot_of_pandas_is_refused_as_one(tmp_path):
    path = tmp_path / "r.csv"
    rows = [(d, m, s, 70.5 + s) for d in "xy" for m in "ab" for s in range(2)]
    table = pd.DataFrame(rows, columns=["dataset", "method", "seed", "acc"])
    table.pivot(index="dataset", columns=["method", "seed"], values="acc").to_csv(path)
    with refuses("several lines of names"):
        Results.read(path)


def test_results_in_the_place_of_names_are_refused(tmp_path):
    path = tmp_path / "q.txt"
    path.write_text("".join(f"ndcg\t{700 + k}\t0.{31 + k}\n" for k in (3, 1, 9, 4)))
    with refuses("its first line has the value 0.34 and seems to hold results"):
        Results.read(path)
    path.write_text("method,0.1,0.5\na,61.5,70.25\nb,60.5,69.5\n")
    with refuses("have no role"):
        Results.read(path)


def test_cells_with_links_and_ranks_are_numbers(tmp_path):
    path = tmp_path / "r.md"
    ours = ["[**72.5 ± 0.4**](https://x.org/a)", "68.1±0.5 (1)", "70.0 ± 0.3[^1]"]
    rows = [f"| {d} | {a} | 65.5 ± 0.4 (2) |" for d, a in zip("xyz", ours, strict=True)]
    path.write_text("\n".join(["| dataset | ours | base |", "|---|---|---|", *rows]))
    results = Results.read(path, methods=["ours", "base"], ignore=["()"], pm="ci")
    means = results.methods.groupby("method")["mean"].agg(list)
    assert sorted(means["ours"]) == [68.1, 70.0, 72.5] and set(means["base"]) == {65.5}


def test_a_column_of_empty_values_alone_is_said_to_be_one(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("method,task,acc\na,1,nan\na,2,nan\nb,1,nan\nb,2,nan\n")
    with refuses("no row has a value"):
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
    results = proposed.read(tmp_path / name)
    assert list(results.methods["method"]) == ["ours"] and results.pairs.empty
    assert results.methods["mean"][0] == pytest.approx(ACCURACIES["ours"].mean())


def test_a_file_per_method_and_a_folder_are_one_table(tmp_path):
    for name in ACCURACIES:
        ACCURACIES[[name]].rename(columns={name: "acc"}).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    for path in (sorted(tmp_path.iterdir()), tmp_path):
        assert_allclose(proposed.read(path).pairs["p"], EXPECTED["p"])


def test_a_log_is_refused_as_what_it_is(tmp_path):
    (tmp_path / "t.log").write_text("[0] test acc: 71.2\n[1] test acc: 72.2 (best so far, saved)\n")
    with refuses("t.log is no table", "without the other lines of a log"):
        proposed.read(tmp_path / "t.log")


def test_a_pickle_is_never_loaded_and_no_command_loads_it(tmp_path):
    for ending in ("pkl", "pickle", "pt", "pth"):
        ACCURACIES.to_pickle(tmp_path / f"r.{ending}")
        with refuses("can run code") as refused:
            proposed.read(tmp_path / f"r.{ending}")
        assert "python" not in str(refused.value) and "read_pickle" not in str(refused.value)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "has no rows"),
        ("ours,protonet\n", "has no rows"),
        ("ours,protonet\n71,70\n72\n73,70\n", "row 2 of .*, 72, has 1 cells"),
        ("ours,protonet\n71,70\n72,x7\n", "protonet"),
        ("accuracy,method\nhigh,a\n71,b\n", "accuracy .*number.*got 'high' in row 1"),
        ("ours,protonet\n71,170\n72,70\n", "value 170.*lower_is_better=True"),
        ("method,accuracy\na,71.2\nb,70.1\n", "one number per method.*fslcore compare"),
        ("name,place\na,b\nc,d\n", "no column is named as values"),
    ],
)
def test_what_has_no_true_reading_is_refused_with_a_way_out(tmp_path, text, message):
    path = tmp_path / "x.csv"
    path.write_text(text)
    with refuses(message):
        proposed.read(path)


def test_all_problems_of_all_files_come_at_once(tmp_path):
    (tmp_path / "a.csv").write_text("")
    (tmp_path / "b.csv").write_text("ours,ours\n1,2\n3,4\n")
    with refuses(r"3 problems: \(1\) a.csv has no rows; \(2\) b.csv .*; \(3\) no file"):
        proposed.read([tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.csv"])


# What is missing keeps its place ------------------------------------------------------------------

SMALL_NOISE = np.random.default_rng(5).normal(0, 0.05, 40)
ONE_BETTER = (61 + HARD + SMALL_NOISE).round(3)
OTHER = (60 + HARD).round(3)
MISSING = 5  # a task


def values_with(text, values=ONE_BETTER, missing=MISSING):
    """One value per line, with a text in place of one."""
    return "\n".join(text if i == missing else str(v) for i, v in enumerate(values)) + "\n"


@pytest.mark.parametrize("name", ["acc\n", "acc\n---\n", "# 5-way 1-shot\n", "\n# a\n\nacc\n", ""])
@pytest.mark.parametrize("empty", ["nan", "", "  ", "-", "--", "---", "–", "n/a", "NULL", '""'])
def test_a_missing_value_keeps_its_place_in_a_file_of_values(tmp_path, name, empty):
    (tmp_path / "a.txt").write_text(name + values_with(empty))
    (tmp_path / "b.txt").write_text(name + values_with("x", OTHER, None))
    pair = proposed.read([tmp_path / "a.txt", tmp_path / "b.txt"], common=True).pairs.iloc[0]
    expected = np.delete(ONE_BETTER - OTHER, MISSING)
    assert pair["difference"] == pytest.approx(expected.mean()) and pair["n"] == 39
    assert pair["half_width"] < 0.1  # paired by task; by shifted tasks it is 4


def test_the_first_and_the_last_value_may_be_missing(tmp_path):
    for missing in (0, 39):
        (tmp_path / "a.txt").write_text(values_with("nan", missing=missing))
        (tmp_path / "b.txt").write_text(values_with("x", OTHER, None))
        pair = proposed.read([tmp_path / "a.txt", tmp_path / "b.txt"], common=True).pairs.iloc[0]
        assert pair["difference"] == pytest.approx(np.delete(ONE_BETTER - OTHER, missing).mean())


FORMS_OF_VALUES = {
    "json": lambda p, values: p.write_text(json.dumps([None if v != v else v for v in values])),
    "npy": lambda p, values: np.save(p, values),
    "jsonl": lambda p, values: p.write_text(
        "\n".join(json.dumps({"acc": None if v != v else v}) for v in values)
    ),
    "parquet": lambda p, values: pd.DataFrame({"acc": values}).to_parquet(p),
}


@pytest.mark.parametrize("ending", FORMS_OF_VALUES)
def test_a_missing_value_keeps_its_place_in_other_formats(tmp_path, ending):
    with_gap = ONE_BETTER.copy()
    with_gap[MISSING] = np.nan
    paths = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for path, values in zip(paths, (with_gap, OTHER), strict=True):
        FORMS_OF_VALUES[ending](path, values)
    pair = proposed.read(paths, common=True).pairs.iloc[0]
    assert pair["difference"] == pytest.approx(np.delete(ONE_BETTER - OTHER, MISSING).mean())


def test_a_missing_value_keeps_its_place_among_the_rows_of_a_method(tmp_path):
    rows = [f"{'nan' if i == MISSING else v},a" for i, v in enumerate(ONE_BETTER)]
    rows += [f"{v},b" for v in OTHER]
    path = tmp_path / "r.csv"
    path.write_text("\n".join(["accuracy,method", *rows]))
    pair = proposed.read(path, common=True).pairs.iloc[0]
    assert pair["difference"] == pytest.approx(np.delete(ONE_BETTER - OTHER, MISSING).mean())


def test_lines_that_end_twice_are_no_missing_values(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(values_with("x", OTHER, None).replace("\n", "\r\r\n").encode())
    results = proposed.read(path)
    assert results.methods["n"].item() == 40 and not any("empty" in r for r in results.reading)


@pytest.mark.parametrize("comment", ["# failed", "// failed"])
def test_a_comment_between_values_is_refused(tmp_path, comment):
    path = tmp_path / "a.txt"
    path.write_text(values_with(comment))
    with refuses(f"such as {comment}, begin with a sign of a comment.*write nan"):
        proposed.read(path)


def test_a_comment_between_rows_is_refused(tmp_path):
    """It may say of how many shots the rows below are; those above and below all rows are left out."""
    path = tmp_path / "r.csv"
    rows = [f"{m},{task},{60 + task}" for task in range(9) for m in "ab"]
    path.write_text("\n".join(["# our run", "method,task,accuracy", *rows, "# the end"]))
    assert len(Results.read(path).methods) == 2
    path.write_text("\n".join(["method,task,accuracy", "# 1-shot", *rows]))
    with refuses("1 lines between its rows, such as # 1-shot"):
        Results.read(path)


def test_the_rows_and_columns_of_a_matrix_are_asked_for(tmp_path):
    """The longer axis was taken for tasks."""
    draws = np.random.default_rng(1).normal(60, 5, (2, 3, 40)).round(2)
    for name, values in zip(("ours", "base"), draws, strict=True):
        np.save(tmp_path / f"{name}.npy", values)
    files = [tmp_path / "ours.npy", tmp_path / "base.npy"]
    with refuses("row, column, file have no role") as error:
        Results.read(files)
    assert proposed.commands(error.value) == []
    roles = {"method": "file", "unit": {"row": "draw", "column": "task"}}
    expected = draws[0].mean() - draws[1].mean()
    assert abs(Results.read(files, **roles).pairs["difference"][0]) == pytest.approx(abs(expected))
    np.savez(tmp_path / "both.npz", ours=draws[0], base=draws[1])
    both = Results.read(tmp_path / "both.npz", **{**roles, "method": "array"})
    assert abs(both.pairs["difference"][0]) == pytest.approx(abs(expected))


def test_a_second_table_is_refused(tmp_path):
    table = "| method | CUB |\n| -- | -- |\n| ours | 71.5 |\n| base | 70.5 |\n"
    (tmp_path / "r.md").write_text(f"## 1-shot\n\n{table}\n## 5-shot\n\n{table}")
    with refuses("has its line of names twice"):
        Results.read(tmp_path / "r.md")


def test_rows_without_names_and_of_different_numbers_are_not_paired(tmp_path):
    rows = [f"a,{v}" for i, v in enumerate(ONE_BETTER) if i != MISSING]
    rows += [f"b,{v}" for v in OTHER]
    path = tmp_path / "r.csv"
    path.write_text("\n".join(["method,accuracy", *rows]))
    with refuses("common=True: a has 39 rows, another method 40"):
        proposed.read(path, common=True)
    results = proposed.read(path)
    assert results.pairs["half_width"].item() > 2  # Welch
    assert any("write nan where a value is missing" in note for note in results.reading)


# What would be read wrongly without a word --------------------------------------------------------


def test_rows_of_a_method_that_look_like_comments_are_refused(tmp_path):
    path = tmp_path / "r.csv"
    lines = [f"{name},{i},{70 + i % 7}" for name in ("#1", "a", "b") for i in range(30)]
    path.write_text("\n".join(["method,task,accuracy", *lines]))
    with refuses("30 lines between its rows, such as #1,0,70"):
        proposed.read(path)
    path.write_text("\n".join(["# ours, 30 tasks, 2024", "method,task,accuracy", *lines[30:]]))
    assert len(proposed.read(path).methods) == 2


def test_a_key_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "r.json"
    path.write_text('{"ours": [1, 2, 3], "b": [2, 3, 4], "ours": [3, 4, 5]}')
    with refuses("got ours twice"):
        proposed.read(path)


CELL_OF_CSV = 131_072  # characters, which Python's csv takes unless it is told otherwise


@pytest.mark.slow
def test_a_row_per_method_may_have_many_tasks(tmp_path):
    path = tmp_path / "r.csv"
    values = RNG.integers(20, 76, (2, 2_000)) / 75
    lines = [",".join(["method", *(f"task{i}" for i in range(2_000))])]
    lines += [",".join([name, *(f"{x:.70f}" for x in row)]) for name, row in zip("ab", values)]
    assert len(lines[1]) > CELL_OF_CSV
    path.write_text("\n".join(lines))
    methods = proposed.read(path).methods.set_index("method")
    assert methods["mean"]["a"] == pytest.approx(100 * values[0].mean())
    assert methods["n"]["a"] == 2_000


def test_a_cell_may_be_long(tmp_path):
    path = tmp_path / "r.csv"
    long_text = "x" * (CELL_OF_CSV + 1)
    ACCURACIES.assign(log=[long_text] * 40).to_csv(path, index=False)
    assert_allclose(proposed.read(path).pairs["p"], EXPECTED["p"])
    assert csv.field_size_limit() == CELL_OF_CSV  # as it was, for other users of csv


def test_reading_takes_a_time_in_proportion_to_the_lines(monkeypatch):
    """Counted in comparisons of lines, which were quadratic in the number of comments."""

    class Line(str):
        compared = 0

        def __eq__(self, other):
            Line.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    class Text(str):
        def splitlines(self):
            return [Line(line) for line in str.splitlines(self)]

    def comparisons(count):
        Line.compared = 0
        text = "".join(f"# note {i}\n" for i in range(count)) + "ours,b\n71,70\n"
        rows, comments, between = lines_of(Text(text), "r.csv", is_rule)
        assert comments == count and len(rows) == 2 and not between
        return Line.compared

    assert comparisons(400) <= 2 * comparisons(200) + 400


def test_a_title_and_a_packed_file_are_refused_as_what_they_are(tmp_path):
    (tmp_path / "r.csv").write_text(
        "Results of our study\nmethod,task,accuracy\na,1,0.5\nb,1,0.6\n"
    )
    with refuses("Results of our study", "no line of names.*remove titles"):
        Results.read(tmp_path / "r.csv")
    (tmp_path / "r.csv.gz").write_bytes(b"")
    with refuses("unpack it first"):
        Results.read(tmp_path / "r.csv.gz")
