"""The command ``fslcore report``: its files, names with signs that something obeys, errors, and what it imports."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import proposed
import pytest
from refusal import says_in_one_line
from signs import control_characters

from fslcore.cli import app, output
from fslcore.errors import visible
from fslcore.report import Results

SIGNS = [
    *"\\$_{}%&#~^<>|*`[]=+-@\"'",
    "\n",
    "\t",
    "\x00",
    "\x1b[31m",
    "\x7f",
    "\x9b2J",
    "\u202e",
    "\u2028",
    "\u200b",
]
ODD_NAMES = [
    "$x$",
    "$\\frac$",
    "a$b",
    "<img src=x>",
    "*a* `b` [c](http://d)",
    "=1+1",
    *(f"x{s}y" for s in SIGNS),
]


def table_of(names, tasks=12):
    table = pd.DataFrame(
        {"method": np.repeat(names, tasks), "task": np.tile(range(tasks), len(names))}
    )
    return table.assign(accuracy=np.random.default_rng(0).integers(40, 80, len(table)) / 80)


def wide(path, columns=("ours", "base"), tasks=30):
    values = np.random.default_rng(1).normal(70, 8, (tasks, len(columns))).clip(2, 98)
    wide = pd.DataFrame(values, columns=list(columns)).rename_axis("task").reset_index()
    wide.melt("task", var_name="method", value_name="accuracy").to_csv(path, index=False)
    return path


def report(*arguments):
    return app.main(["report", *map(str, arguments), "--quiet"])


def contents(folder):
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(path.read_text("utf-8").partition("</style>")[2])

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text += data


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Glyph")
def test_names_of_any_signs_are_shown_as_they_are_and_obeyed_by_nothing(tmp_path, capsys):
    dataset = "- <script>d</script>\x1b[2J"
    table_of(ODD_NAMES).assign(dataset=dataset).to_parquet(tmp_path / "r.parquet")
    arguments = (
        tmp_path / "r.parquet",
        "-o",
        tmp_path / "r.html",
        "--tables",
        tmp_path,
        "--figures",
        tmp_path,
    )
    assert report(*arguments) == 0, capsys.readouterr().err
    printed = capsys.readouterr()
    assert not control_characters(printed.out + printed.err)
    page = Page(tmp_path / "r.html")
    assert (
        not control_characters(page.text) and "script" not in page.tags and "img" not in page.tags
    )
    assert all(visible(name) in page.text for name in ODD_NAMES)
    for path in (*tmp_path.glob("*.tex"), *tmp_path.glob("*.md")):
        text = path.read_text("utf-8")
        assert not control_characters(text)
        separator = r"(?<!\\)&" if path.suffix == ".tex" else r"(?<!\\)\|"
        rows = [line for line in text.splitlines() if re.search(separator, line)]
        assert len({len(re.findall(separator, row)) for row in rows}) <= 1, path
    assert {f"report.{ending}" for ending in ("pdf", "png", "svg")} <= {
        path.name for path in tmp_path.iterdir()
    }


def test_latex_stays_balanced_whatever_the_names(tmp_path):
    proposed.from_frame(table_of(ODD_NAMES)).write_tables(tmp_path)
    text = (tmp_path / "methods.tex").read_text("utf-8")
    bare = re.sub(r"\\[\\&%$#_{}]|\\text\w+(\{\})?", "", text)
    assert (
        r"$\pm$" in text
        and bare.count("$") % 2 == 0
        and bare.count("{") == bare.count("}")
        and not set("#%^") & set(bare)
    )


def test_errors_and_json_print_no_control_characters(tmp_path, capsys):
    assert report(tmp_path / "\x1b[31m\u202e.csv") == 2
    assert "/\\x1b[31m\\u202e.csv" in capsys.readouterr().err
    table_of(["a\x1b[2J", "b"]).to_json(tmp_path / "r.json", orient="records")
    assert report(tmp_path / "r.json", "-o", tmp_path / "r.html", "--json") == 0
    printed = capsys.readouterr().out
    assert not control_characters(printed)
    assert {row["method"] for row in json.loads(printed)["methods"]} == {"a\\x1b[2J", "b"}
    output.print_json({"a": "\x7f\x9b\u202e\U000e0001é"})
    printed = capsys.readouterr().out
    assert not control_characters(printed) and json.loads(printed) == {
        "a": "\x7f\x9b\u202e\U000e0001é"
    }


@pytest.mark.parametrize("existing", [False, True])
def test_of_a_report_that_fails_nothing_is_left(tmp_path, capsys, monkeypatch, existing):
    monkeypatch.chdir(tmp_path)
    wide("r.csv")
    if existing:
        (tmp_path / "t").mkdir()
        for name in ("r.html", "t/methods.tex"):
            (tmp_path / name).write_text("as it was")
    (tmp_path / "f" / "report.svg").mkdir(parents=True)  # where a file is to go
    before = contents(tmp_path)
    assert report("r.csv", "-o", "r.html", "--tables", "t", "--figures", "f") == 2
    assert "got the folder" in capsys.readouterr().err
    assert contents(tmp_path) == before
    monkeypatch.setattr(Results, "write_figures", lambda *_: 1 / 0)
    assert report("r.csv", "-o", "r.html", "--tables", "t", "--figures", "g") == 1
    assert contents(tmp_path) == before


def test_what_a_second_report_replaces_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wide("r.csv")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "mine.txt").write_text("of another kind")
    line = ["report", "r.csv", "--tables", "t"]
    assert app.main(line) == 0 and capsys.readouterr().err == ""
    written = len(list((tmp_path / "t").iterdir())) - 1
    assert app.main(line) == 0
    page, tables = capsys.readouterr().err.splitlines()
    assert says_in_one_line(page, "output = r.html", "the file of 20")
    assert says_in_one_line(tables, "tables = t", f"{written} files", "replaced")


def test_the_page_is_named_after_the_file_or_report_where_there_are_several(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    wide("mine.csv")
    assert report("mine.csv") == 0 and (tmp_path / "mine.html").is_file()
    for name in ("ours.csv", "base.csv"):
        wide(name)
    assert report("ours.csv", "base.csv", "--by", "file") == 0
    assert (
        "The page: report.html" in capsys.readouterr().out and (tmp_path / "report.html").is_file()
    )


def test_terminal_page_and_json_say_the_same(tmp_path, capsys):
    path = wide(tmp_path / "r.csv", ["ours", "base", "third"])
    assert report(path, "-o", tmp_path / "r.html") == 0
    lines = capsys.readouterr().out.splitlines()
    assert report(path, "-o", tmp_path / "r.html", "--json") == 0
    record = json.loads(
        capsys.readouterr().out, parse_constant=pytest.fail
    )  # NaN and Infinity are no JSON
    sentences = [row["sentence"] for row in record["verdicts"]]
    text = Page(tmp_path / "r.html").text
    assert lines[0] == sentences[0] and lines[2 : len(sentences) + 1] == sentences[1:]
    assert lines[1] == record["read"] and record["read"].startswith("Read: 3 methods")
    assert all(sentence in text for sentence in [*sentences, record["read"]])
    assert record["report"] == str(tmp_path / "r.html")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["gone.csv"], "gone.csv"),
        (["r.csv", "r.csv"], "files must be different, got r.csv"),
        (["r.csv", "--level", "95"], "level must be a number between 0 and 1, got 95.0"),
        (["r.csv", "--sampling", "random"], "sampling must be 'open' or 'closed', got 'random'"),
        (["r.csv", "--seed", "run"], "seed must be 'runs' or 'tasks', got 'run'"),
        (
            ["r.csv", "--reference", "our"],
            "reference must be 'base' or 'ours', got 'our'; did you mean 'ours'?",
        ),
        (
            ["r.csv", "--where", "method!=bass"],
            "where = method!=bass; method has the values ours, base",
        ),
        (["r.csv", "--tables", ""], "tables must be a path, got ''"),  # a variable that is not set
        (["r.csv", "-o", "r.csv"], ".html"),
        (["r.csv", "-o", "out.html/"], "out.html/"),
    ],
)
def test_an_error_is_one_line_and_leaves_nothing(tmp_path, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    wide("r.csv")
    assert report(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and words in printed.err
    assert [path.name for path in tmp_path.iterdir()] == ["r.csv"]


@pytest.mark.slow
def test_it_imports_nothing_of_notebooks_and_networks(tmp_path):
    path = wide(tmp_path / "r.csv")
    code = f"""
import sys
from fslcore.cli import app
assert app.main(["report", {str(path)!r}, "-o", {str(tmp_path / "r.html")!r}]) == 0
print(set("torch sklearn statsmodels IPython jupytext nbformat papermill yaml tqdm fslbook".split()) & set(sys.modules))
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True).endswith("\nset()\n")
