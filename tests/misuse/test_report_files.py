"""Tables as users have them, given to ``fslcore report``: refused in one line, or read with the right means."""

import os
import random
import re
from pathlib import Path
from statistics import mean

import pandas as pd
import proposed
import pytest

from .judging import fill, has, judge, report_as_proposed, row

draw = random.Random(0)
HARD = [draw.randint(-12, 12) for _ in range(40)]  # a task is hard for both alike
OURS = [round((54 + h + draw.randint(-4, 4)) / 75, 10) for h in HARD]
BASE = [round((48 + h + draw.randint(-4, 4)) / 75, 10) for h in HARD]
ROWS = [(i, a, b) for i, (a, b) in enumerate(zip(OURS, BASE))]
MEANS = {"ours": 100 * mean(OURS), "base": 100 * mean(BASE)}


def table(header, rows, end="\n"):
    """A header, and rows of cells."""
    return end.join([header, *(",".join(str(cell) for cell in cells) for cells in rows)]) + end


def per_task(header, cells):
    """A row per task: ``cells(task, ours, base)``."""
    return table(header, [cells(*values) for values in ROWS])


WIDE = per_task("task,ours,base", lambda *cells: cells)
BARE = per_task("ours,base", lambda i, a, b: (a, b))
LONG_ROWS = [
    [method, i, value]
    for method, values in (("ours", OURS), ("base", BASE))
    for i, value in enumerate(values)
]
LONG = table("method,task,accuracy", LONG_ROWS)
LINES = WIDE.splitlines()


def constant(column, value):
    """The wide table with a column in front that is the same everywhere."""
    return "\n".join([f"{column},{LINES[0]}", *(f"{value},{line}" for line in LINES[1:])]) + "\n"


def cell(text):
    """The wide table with this in place of a number of base, in the sixth row."""
    return per_task("task,ours,base", lambda i, a, b: (i, a, text if i == 5 else b))


def with_column(column, value):
    """The wide table with a column more."""
    return per_task(f"task,ours,base,{column}", lambda i, a, b: (i, a, b, value(i, a, b)))


def shuffled(text):
    head, *lines = text.splitlines()
    return "\n".join([head, *sorted(lines, key=lambda line: line[::-1])])


def frame(make):
    """Writes what pandas writes of a table of the two methods: ``make(frame, path)``."""
    return lambda path: make(pd.DataFrame({"ours": OURS, "base": BASE}), path)


QUERIES = [(name, i // 15, int((i + k) % 4 > 0)) for k, name in enumerate("xy") for i in range(900)]


def means(wanted=MEANS, tasks=40, tolerance=0.0051):
    """What is read are these methods with these means, and so many tasks."""

    def check(done):
        methods = done.value.methods
        assert methods["n"].eq(tasks).all()
        return methods.set_index("method")["mean"].to_dict() == pytest.approx(wanted, abs=tolerance)

    return check


def renamed(ours="ours", base="base"):
    """The two methods under other names."""
    return means({ours: MEANS["ours"], base: MEANS["base"]})


def counted(*counts):
    """What is read are so many tasks of each method."""
    return lambda done: done.value.methods["n"].tolist() == [*counts]


ANSWERS = means({"ours": 75, "base": 200 / 3}, 3000)
FORMS = [  # in r.csv
    row(
        "long, backbone and learner",
        table("backbone,learner,task,accuracy", [("clip", *cells) for cells in LONG_ROWS]),
        renamed("clip ours", "clip base"),
    ),
    row("lines end as on an old Mac", WIDE.replace("\n", "\r"), means()),
    row(
        "tasks are dates",
        re.sub(r"^(\d+),", r"2024-01-01T00:\1:00,", WIDE, flags=re.MULTILINE),
        means(),
    ),
    row("long, shuffled rows", shuffled(LONG), means()),
    row(
        "methods are numbers",
        WIDE.replace("ours,base", "1,2"),
        renamed("1", "2"),
    ),
    row("Open with a capital", constant("sampling", "Open"), means()),
    row("K is 5.0", constant("ways", "5.0"), means()),
    row("sep=; on top", "sep=;\n" + WIDE.replace(",", ";"), "row 1 & cells"),
    row("a title and an empty line on top", "My results,,\n,,\n" + WIDE, "My results"),
    row("no header", "\n".join(LINES[1:]), renamed("column 2", "column 3")),
    row("no header, shares only", BARE.split("\n", 1)[1], "--separator comma"),
    row(
        "two header lines, as pandas writes",
        ",clip,clip\n" + WIDE,
        "several lines of names & reset_index",
    ),
    row(
        "the header once more in the middle",
        "\n".join(LINES[:20] + LINES[:1] + LINES[20:]),
        "r.csv & line of names twice",
    ),
    row("mean ± half-width in a cell", cell("61.2 ± 0.5"), "base ± & no role"),
    row("a NUL in it", WIDE.replace("10,", "10\0,"), "r.csv"),
    row("a quote that does not end", WIDE.replace("10,", '10,"'), "r.csv"),
]
LAYOUTS = [  # in r.csv
    row("a row without name at the end", WIDE + f",{mean(OURS)},{mean(BASE)}\n", means()),
    row(
        "pandas' describe below",
        WIDE + "count,40,40\nmean,0.7,0.6\nstd,0.1,0.1\nmin,0.5,0.4\n",
        "shares and percent",
    ),
    row("long, a row of means a method", LONG + "ours,mean,0.73\nbase,all,0.65\n", means()),
    row(
        "a column Mean accuracy",
        with_column("Mean accuracy", lambda i, a, b: (a + b) / 2),
        "ours, base have no role & --methods NAME",
    ),
    row(
        "TensorBoard",
        per_task("Wall time,Step,Value", lambda i, a, b: (1.7e9 + i, i, a)),
        "training curve & --where Step=39 & --unit Step=task",
    ),
    row(
        "a row per query, 1.0",
        table("ours,base", [(float(i % 4 > 0), float(i % 3 > 0)) for i in range(3000)]),
        ANSWERS,
    ),
    row(
        "long, fifteen rows per task",
        table("method,task,accuracy", QUERIES),
        "15 rows & method x, task 0 & --unit",
    ),
    row(
        "transposed, a row a method",
        "method,t0,t1,t2\nours,0.7,0.8,0.75\nbase,0.6,0.7,0.65\n",
        means({"ours": 75, "base": 65}, 3),
    ),
    row(
        "a row a method, mean and interval",
        "method,mean,ci95\nours,70.1,0.5\nbase,68.2,0.4\n",
        means({"ours": 70.1, "base": 68.2}, 0),
    ),
    row("a method twice but for blanks", WIDE.replace("base", " ours", 1), "ours"),
    row(
        "methods that differ in case only", WIDE.replace("base", "Ours", 1), renamed("ours", "Ours")
    ),
    row("a method without a name", WIDE.replace("base", "", 1), renamed("ours", "column 3")),
    row(
        "tasks 01 and 1",
        "task,ours,base\n01,.7,.6\n1,.72,.61\n2,.69,.64\n",
        "2 rows & task 1 & once",
    ),
    row("long, a task twice", LONG + "ours,3,0.5\n", "2 rows & ours & task 3 & once"),
    row("long, a method without name", LONG + ",40,0.7\n", "method"),
    row(
        "one method in percent, one in shares",
        per_task("x,y", lambda i, a, b: (100 * a, b)),
        "x, y may each be the values",
    ),
    row("two settings that overlap", constant("ways", 5) + "10,0,0.7,0.6\n", "2 tasks & got 1"),
    *(row(f"ways of {v or 'nothing'}", constant("ways", v), means()) for v in ("five", "")),
    row("a cell failed", cell("failed"), "base & 6"),
    row("a cell -0.1", cell("-0.1"), "-0.1 & --out-of"),
    row("a cell -inf", cell("-inf"), "r.csv & infinity"),
    row("a cell 1e400", cell("1e400"), "ours, base may each be the values"),
    *(row(f"a cell {text or 'empty'}", cell(text), counted(40, 39)) for text in ("n/a", "")),
    row("a cell 1,5", cell("1,5"), "row 6 & 1,5"),  # a comma makes two cells of it
]
BROKEN = [  # in r.csv
    row(
        "a picture",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0" + bytes(99),
        "r.csv",
    ),
    row("JSON", '[{"ours": 0.7, "base": 0.6}, {"ours": 0.8, "base": 0.7}]', "r.csv"),
    row("a pipe nobody writes to", os.mkfifo, "r.csv"),
]
ENDINGS = [  # in a file of another name
    row("a name that begins with a dash", "./-r.csv", WIDE, means()),
]
PARQUET = [  # of what pandas writes
    row("index with a name", lambda f: f.rename_axis("task"), means()),
    row("16-bit floats", lambda f: f.astype("float16"), means(tolerance=0.05)),
    row(
        "categories",
        lambda f: f.melt(var_name="method", value_name="acc").astype({"method": "category"}),
        means(),
    ),
    row("a column of lists", lambda f: f.assign(right=[[1, 0]] * len(f)), means()),
    row("truth values", lambda f: f > 0.6, means({"ours": 90, "base": 57.5})),
    row("a date a row", lambda f: f.assign(when=pd.Timestamp("2024-01-01")), means()),
]


@pytest.mark.slow
@pytest.mark.parametrize("content, expected", [*FORMS, *LAYOUTS, *BROKEN])
def test_a_table_is_refused_or_read_rightly(content, expected):
    refused_or_read("r.csv", content, expected)


@pytest.mark.parametrize("file, content, expected", ENDINGS)
def test_a_table_in_a_file_of_another_kind_is_refused_or_read_rightly(file, content, expected):
    refused_or_read(file, content, expected)


@pytest.mark.parametrize("change, expected", PARQUET)
def test_a_parquet_file_is_refused_or_read_rightly(change, expected):
    refused_or_read(
        "r.parquet", frame(lambda table, path: change(table).to_parquet(path)), expected
    )


@pytest.mark.parametrize(
    "content",
    [b"PAR1" + bytes(range(256)), Path.mkdir],
    ids=["noise", "folder"],
)
def test_what_is_no_parquet_file_is_refused(content):
    refused_or_read("r.parquet", content, "r.parquet")


def refused_or_read(file, content, expected):
    fill(file, content)
    report = lambda: report_as_proposed(file, "-o", "out.html")  # noqa: E731
    judge(report if isinstance(expected, str) else lambda: proposed.read(file), expected)


def page(words):
    """A page is written, nothing else, and these words are printed."""
    return lambda done: (
        {path.name for path in Path().iterdir()} == {"r.csv", "out.html"} and has(words)(done)
    )


@pytest.mark.parametrize(
    "content, options, expected",
    [
        row(
            "shares",
            WIDE,
            ["--level", "0.99", "--sampling", "closed"],
            page("ours is better & 99 % & these images only"),
        ),
        row("an empty cell, common tasks", cell(""), ["--common"], page("39")),
        row(
            "no task in common",
            LONG.replace("base,", "base,x"),
            ["--common"],
            "--common & no two tasks",
        ),
    ],
)
def test_the_command(content, options, expected):
    fill("r.csv", content)
    judge(lambda: report_as_proposed("r.csv", "-o", "out.html", *options), expected)


def test_where_a_page_is_written():
    fill("r.csv", WIDE)
    fill("new/out.html", "old")
    assert report_as_proposed("r.csv", "-o", "new/out.html").code == 0
    assert Path("new/out.html").read_text().startswith("<")
