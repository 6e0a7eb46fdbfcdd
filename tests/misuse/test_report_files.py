"""Tables as users have them, given to ``fslcore report``: refused in one line, or read with the right means."""

import gzip
import os
import random
import re
import zipfile
from pathlib import Path
from statistics import mean

import pandas as pd
import pytest

from fslcore.report import Results

from .judging import fill, fine, fslcore, has, judge, nowhere, row, small_disk

draw = random.Random(0)
HARD = [draw.randint(-12, 12) for _ in range(40)]  # a task is hard for both alike
OURS = [round((54 + h + draw.randint(-4, 4)) / 75, 10) for h in HARD]
BASE = [round((48 + h + draw.randint(-4, 4)) / 75, 10) for h in HARD]
BOTH = [(i, a, b) for i, (a, b) in enumerate(zip(OURS, BASE))]
MEANS = {"ours": 100 * mean(OURS), "base": 100 * mean(BASE)}


def csv(header, rows, end="\n"):
    """A header, and rows of cells."""
    return end.join([header, *(",".join(str(cell) for cell in cells) for cells in rows)]) + end


def each(header, cells):
    """A row per task: ``cells(task, ours, base)``."""
    return csv(header, [cells(*of) for of in BOTH])


WIDE = each("task,ours,base", lambda *of: of)
BARE = each("ours,base", lambda i, a, b: (a, b))
PERCENT = each("ours,base", lambda i, a, b: (100 * a, 100 * b))
LONG = csv("method,task,accuracy", [[m, i, v] for m, of in (("ours", OURS), ("base", BASE)) for i, v in enumerate(of)])
LINES = WIDE.splitlines()


def first(column, value):
    """The wide table with a column in front that is the same everywhere."""
    return "\n".join([f"{column},{LINES[0]}", *(f"{value},{line}" for line in LINES[1:])]) + "\n"


def cell(text):
    """The wide table with this in place of a number of base, in the sixth row."""
    return each("task,ours,base", lambda i, a, b: (i, a, text if i == 5 else b))


def more(column, value=lambda i, a, b: 0.5):
    """The wide table with a column more."""
    return each(f"task,ours,base,{column}", lambda i, a, b: (i, a, b, value(i, a, b)))


def shuffled(text):
    head, *lines = text.splitlines()
    return "\n".join([head, *sorted(lines, key=lambda line: line[::-1])])


def zipped(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")
        file.writestr("[Content_Types].xml", "<Types/>")


def link(target):
    return lambda path: path.symlink_to(target)


def frame(make):
    """Writes what pandas writes of a table of the two methods: ``make(frame, path)``."""
    return lambda path: make(pd.DataFrame({"ours": OURS, "base": BASE}), path)


def parquet(change=lambda f: f):
    return frame(lambda f, path: change(f).to_parquet(path))


def indexed(change):
    return frame(lambda f, path: change(f).to_csv(path))


def simulated(methods, tasks, gap, seed):
    """A wide table of so many methods, with a gap (shares) between two of them; and their means in percent."""
    rng = random.Random(seed)
    hard = [rng.randint(-10, 10) for _ in range(tasks)]
    columns = {
        f"m{m}": [min(75, max(8, round(48 + h + rng.randint(-5, 5) + 75 * gap * m))) / 75 for h in hard]
        for m in range(methods)
    }
    return csv(",".join(columns), zip(*columns.values())), {m: 100 * mean(of) for m, of in columns.items()}


def queries(per):
    """A long table of two methods, a row per query, so many of a task."""
    return csv(
        "method,task,accuracy", [(m, i // per, int((i + k) % 4 > 0)) for k, m in enumerate("xy") for i in range(900)]
    )


def means(wanted=MEANS, tasks=40, tolerance=0.0051):
    """What is read are these methods with these means, and so many tasks."""

    def check(done):
        methods = done.value.methods
        assert methods["n"].eq(tasks).all()
        return methods.set_index("method")["mean"].to_dict() == pytest.approx(wanted, abs=tolerance)

    return check


def two(ours="ours", base="base"):
    """The two methods under other names."""
    return means({ours: MEANS["ours"], base: MEANS["base"]})


def rounded(digits):
    return means(
        {"ours": mean(round(100 * a, digits) for a in OURS), "base": mean(round(100 * b, digits) for b in BASE)}
    )


def selected(done):
    """What is read are the tasks on which ours is above 0.6."""
    tasks = [(a, b) for a, b in zip(OURS, BASE) if a > 0.6]
    wanted = {"ours": 100 * mean(a for a, _ in tasks), "base": 100 * mean(b for _, b in tasks)}
    return means(wanted, len(tasks))(done)


def counted(*counts):
    """What is read are so many tasks of each method."""
    return lambda done: done.value.methods["n"].tolist() == [*counts]


def of_two(done):
    """What is read are two data sets."""
    return done.value.methods.groupby("place")["n"].first().tolist() == [40, 40]


STRANGE = "<b>*方法*</b> $é$ `🍄` {{z}}"  # the name of a method
ANSWERS = means({"ours": 75, "base": 200 / 3}, 3000)
FORMS = [
    row("wide, shares", WIDE, means()),
    row("wide, no column task", BARE, means()),
    row("wide, percent", PERCENT, means()),
    row("long", LONG, means()),
    row(
        "long, backbone and learner",
        csv(
            "backbone,learner,task,accuracy", [("clip", m, i, v) for i, *of in BOTH for m, v in zip(("ncc", "lr"), of)]
        ),
        two("clip ncc", "clip lr"),
    ),
    row("the manual's", "task,ours,base\n0,0.72,0.68\n1,0.81,0.83\n", means({"ours": 76.5, "base": 75.5}, 2)),
    row("lines end as on Windows", WIDE.replace("\n", "\r\n"), means()),
    row("lines end as on an old Mac", WIDE.replace("\n", "\r"), means()),
    row("a byte order mark", b"\xef\xbb\xbf" + WIDE.encode(), means()),
    row("a byte order mark before a method", b"\xef\xbb\xbf" + BARE.encode(), means()),
    row("blanks around names", WIDE.replace("task,ours,base", " Task , ours , base "), means()),
    row("all in quotes", re.sub(r"([^,\n]+)", r'"\1"', WIDE), means()),
    row("no newline at the end", WIDE.rstrip(), means()),
    row("empty lines between", WIDE.replace("\n", "\n\n"), means()),
    row("exponents", each("ours,base", lambda i, a, b: (f"{a:.12e}", f"{b:.12e}")), means()),
    row("tasks are texts", re.sub(r"^(\d+),", r"task-\1,", WIDE, flags=re.MULTILINE), means()),
    row("tasks are dates", re.sub(r"^(\d+),", r"2024-01-01T00:\1:00,", WIDE, flags=re.MULTILINE), means()),
    row("shuffled rows", shuffled(WIDE), means()),
    row("long, shuffled rows", shuffled(LONG), means()),
    row("a method has a comma", WIDE.replace("ours", '"ours, tuned"', 1), two("ours, tuned")),
    row("methods are numbers", WIDE.replace("ours,base", "1,2"), means({"r": (MEANS["ours"] + MEANS["base"]) / 2}, 2)),
    row("a method of 300 letters", WIDE.replace("ours", "o" * 300, 1), two("o" * 300)),
    row("one method", each("ours", lambda i, a, b: [a]), means({"ours": MEANS["ours"]})),
    row("whole percent", csv("x,y", [(70, 60), (72, 65), (68, 66), (71, 61)]), means({"x": 70.25, "y": 63.0}, 4)),
    row("equal methods", each("x,y", lambda i, a, b: (a, a)), means({"x": MEANS["ours"], "y": MEANS["ours"]})),
    row("all right", csv("ours,base", [(1.0, 1.0)] * 10), means({"ours": 100, "base": 100}, 10)),
    row("all wrong", csv("ours,base", [(0.0, 0.0)] * 10), means({"ours": 0, "base": 0}, 10)),
    row("the file says open", first("sampling", "open"), means()),
    row("Open with a capital", first("sampling", "Open"), means()),
    row("K is 5.0", first("ways", "5.0"), means()),
    *(
        row(f"simulated, {m} methods, {t} tasks, gap {g}", text, means(wanted, t))
        for i, (m, t, g) in enumerate([(2, 600, 0.002), (2, 20, 0.3), (2, 3, 0.0), (4, 2, 0.0), (12, 100, 0.003)])
        for text, wanted in [simulated(m, t, g, i)]
    ),
]
DIALECTS = [
    row("semicolons and decimal commas", WIDE.replace(",", ";").replace(".", ","), means()),
    row("semicolons", WIDE.replace(",", ";"), means()),
    row(
        "one method, decimal commas",
        each("ours", lambda i, a, b: [f"{100 * a:.2f}".replace(".", ",")]),
        means({"ours": MEANS["ours"]}),
    ),
    row("tabs", WIDE.replace(",", "\t"), means()),
    row("blanks", WIDE.replace(",", "  "), means()),
    row("bars", WIDE.replace(",", "|"), means()),
    row("sep=; on top", "sep=;\n" + WIDE.replace(",", ";"), "row 1 & cells"),
    row("sep=, on top", "sep=,\n" + WIDE, "row 1 & cells"),
    row("a comment on top", "# my results\n" + WIDE, means()),
    row("comments on top and at the end", "# my results, 2024\n# run 3\n" + WIDE + "# end\n", means()),
    row("a title on top", "My results of May\n" + WIDE, "row 1 & cells"),
    row("a title and an empty line on top", "My results,,\n,,\n" + WIDE, "My results"),
    row("no header", "\n".join(LINES[1:]), two("column 2", "column 3")),
    row("no header, shares only", BARE.split("\n", 1)[1], "--separator comma"),
    row("no header, percent", PERCENT.split("\n", 1)[1], "--separator comma"),
    row("two header lines, as pandas writes", ",clip,clip\n" + WIDE, "two columns clip"),
    row("the header once more in the middle", "\n".join(LINES[:20] + LINES[:1] + LINES[20:]), "row 20 & number"),
    row(
        "decimal commas in quotes",
        each("task,ours,base", lambda i, a, b: (i, *(f'"{v:.4f}"'.replace(".", ",") for v in (a, b)))),
        means(),
    ),
    row(
        "percent signs",
        each("ours,base", lambda i, a, b: (f"{100 * a:.2f}%", f"{100 * b:.2f}%")),
        means(),
    ),
    row("mean ± half-width in a cell", cell("61.2 ± 0.5"), "shares and percent"),
    row("UTF-16, as Excel's Unicode text", WIDE.replace(",", "\t").encode("utf-16"), means()),
    row("UTF-16 with commas", WIDE.encode("utf-16"), means()),
    row("UTF-16 without mark", WIDE.encode("utf-16-le"), means()),
    row("Latin 1 with an umlaut", WIDE.replace("ours", "für", 1).encode("latin-1"), two("für")),
    row("a NUL in it", WIDE.replace("10,", "10\0,"), "r.csv"),
    row("compressed", gzip.compress(WIDE.encode()), "r.csv"),
    row("a comma at the end of every row", each("task,ours,base", lambda i, a, b: (i, a, f"{b},")), "r.csv"),
    row("a comma at the end of every line", WIDE.replace("\n", ",\n"), means()),
    row("a quote that does not end", WIDE.replace("10,", '10,"'), "r.csv"),
    row("a row is short", WIDE + "40,0.5\n", "41|base"),
    row("a row is long", WIDE + "40,0.5,0.6,0.7\n", "r.csv"),
]
SHAPES = [
    row("index of pandas, no name", indexed(lambda f: f), means()),
    row("index of pandas after a selection", indexed(lambda f: f[f.ours > 0.6]), selected),
    row("index of pandas, shuffled", indexed(lambda f: f.sample(frac=1, random_state=0)), means()),
    row(
        "index of pandas, long",
        indexed(lambda f: f.melt(var_name="method", value_name="accuracy").assign(task=[*range(40)] * 2)),
        means(),
    ),
    row("index called index", indexed(lambda f: f.rename_axis("index")), means()),
    row("index called id, from 100", indexed(lambda f: f.set_axis(range(100, 140)).rename_axis("id")), "139 & --drop"),
    row("index called episode", indexed(lambda f: f.rename_axis("episode")), means()),
    row(
        "index of random numbers",
        indexed(lambda f: f.set_axis([i * 37 % 41 for i in f.index], axis=0)),
        means(),
    ),
    *(
        row(f"a row {kind or 'without name'} at the end", WIDE + f"{kind},{mean(OURS)},{mean(BASE)}\n", means())
        for kind in ("mean", "Average", "Total", "std", "Mittelwert", "AVG", "")
    ),
    row("pandas' describe below", WIDE + "count,40,40\nmean,0.7,0.6\nstd,0.1,0.1\nmin,0.5,0.4\n", "shares and percent"),
    row("a row of units below the header", WIDE.replace("\n", "\n,[%],[%]\n", 1), "row 1 & number"),
    row("long, a row of means a method", LONG + "ours,mean,0.73\nbase,mean,0.65\n", means()),
    row("long, a row all", LONG + "ours,all,0.73\nbase,all,0.65\n", means()),
    *(
        row(f"a column {name}", more(name, lambda i, a, b: (a + b) / 2), means())
        for name in ("mean", "average", "avg", "Mean accuracy", "mean_acc")
    ),
    row("a column std", more("std", lambda i, a, b: 0.05), means()),
    row("a column difference", more("diff", lambda i, a, b: a - b), means()),
    row("a column of words", more("note", lambda i, a, b: "ok"), means()),
    row("an empty column", more("note", lambda i, a, b: ""), means()),
    row("a column seconds", more("seconds", lambda i, a, b: 1.5 + i), means()),
    row(
        "Weights & Biases, wide",
        each("Step,x - acc,x - acc__MIN,x - acc__MAX", lambda i, a, b: (i, a, a, a)),
        means({"x": MEANS["ours"]}),
    ),
    row(
        "Weights & Biases without Step",
        each("x - acc,x - acc__MIN,x - acc__MAX", lambda i, a, b: (a, a, a)),
        means({"x": MEANS["ours"]}),
    ),
    row("TensorBoard", each("Wall time,Step,Value", lambda i, a, b: (1.7e9 + i, i, a)), means({"r": MEANS["ours"]})),
    row("a row per query", csv("ours,base", [(int(i % 4 > 0), int(i % 3 > 0)) for i in range(3000)]), ANSWERS),
    row("a row per query, 1.0", csv("ours,base", [(float(i % 4 > 0), float(i % 3 > 0)) for i in range(3000)]), ANSWERS),
    row(
        "a row per query, 100",
        csv("ours,base", [(100 * (i % 4 > 0), 100 * (i % 3 > 0)) for i in range(3000)]),
        ANSWERS,
    ),
    row(
        "long, a row per query",
        csv("method,task,accuracy", [(m, i, int((i + k) % 4 > 0)) for k, m in enumerate("xy") for i in range(900)]),
        means({"x": 75, "y": 75}, 900),
    ),
    row(
        "long, fifteen rows per task",
        csv(
            "method,task,accuracy", [(m, i // 15, int((i + k) % 4 > 0)) for k, m in enumerate("xy") for i in range(900)]
        ),
        means({"x": 75, "y": 75}, 60),
    ),
    row(
        "a row per query, True and False",
        csv("x,y", [(i % 4 > 0, i % 3 > 0) for i in range(300)]),
        means({"x": 75, "y": 200 / 3}, 300),
    ),
    row(
        "transposed, a row a method",
        "method,t0,t1,t2\nours,0.7,0.8,0.75\nbase,0.6,0.7,0.65\n",
        means({"ours": 75, "base": 65}, 3),
    ),
    row("two data sets", csv("dataset,x,y", [(d, a, b) for d in "de" for _, a, b in BOTH]), of_two),
    row(
        "a row a method, mean and interval",
        "method,mean,ci95\nours,70.1,0.5\nbase,68.2,0.4\n",
        means({"ours": 70.1, "base": 68.2}, 0),
    ),
    row("a column task twice", each("task,task,ours,base", lambda i, a, b: (i, i, a, b)), "task"),
    row("a method twice", WIDE.replace("base", "ours", 1), "ours"),
    row("a method twice but for blanks", WIDE.replace("base", " ours", 1), "ours"),
    row("methods that differ in case only", WIDE.replace("base", "Ours", 1), two("ours", "Ours")),
    row("a method without a name", WIDE.replace("base", "", 1), "column 3 & name"),
    row("a task twice", WIDE + "3,0.5,0.5\n", "3 & more than once"),
    row("a task twice, one of them text", WIDE + "3.0,0.5,0.5\n", "3 & more than once"),
    row("tasks 01 and 1", "task,ours,base\n01,.7,.6\n1,.72,.61\n2,.69,.64\n", "more than once"),
    row("long, a task twice", LONG + "ours,3,0.5\n", "ours & 3 & more than once"),
    row("long, no column task", csv("method,accuracy", [("ours", a) for a in OURS]), means({"ours": MEANS["ours"]})),
    row("long, no column method", csv("task,accuracy", enumerate(OURS)), means({"r": MEANS["ours"]})),
    row("long, acc in place of accuracy", LONG.replace("accuracy", "acc"), means()),
    row("long, Accuracy (%)", LONG.replace("accuracy", "Accuracy (%)"), means()),
    row("long, a method without name", LONG + ",40,0.7\n", "method"),
    row("long, a task without name", LONG + "ours,,0.7\n", means()),
    row(
        "long, methods with other tasks",
        LONG + "ours,40,0.7\n",
        lambda done: done.value.methods["n"].tolist() == [41, 40],
    ),
    row("an empty row in the middle", "\n".join(LINES[:20] + [",,"] + LINES[20:]), means()),
    row("one method in percent, one in shares", each("x,y", lambda i, a, b: (100 * a, b)), "y & shares and percent"),
    row("tenths of a percent", each("x,y", lambda i, a, b: (1000 * a, 1000 * b)), "920 & --out-of"),
    row("error rates below 1 percent", csv("ours,base", [(0.7, 0.4), (1.2, 0.9), (0.8, 0.3)]), "shares and percent"),
    row("a sampling that is not known", first("sampling", "random"), means()),
    row("two settings that overlap", first("ways", 5) + "10,0,0.7,0.6\n", "1 task"),
    *(row(f"ways of {v or 'nothing'}", first("ways", v), means()) for v in ("five", "", "5.5", "0", "-5")),
    row("shots of 1e30", first("shots", "1e30"), means()),
    *(row(f"a cell {text}", cell(text), "base & 6") for text in "failed,0.7.1,0x1,#DIV/0!".split(",")),
    *(row(f"a cell {text}", cell(text), f"{text} & --out-of") for text in ("-0.1", "-70", "170")),
    *(row(f"a cell {text}", cell(text), "r.csv & infinite") for text in ("inf", "-inf", "1e400")),
    row("a cell 70", cell("70"), "70 & shares and percent"),
    *(row(f"a cell {text or 'empty'}", cell(text), counted(40, 39)) for text in ("n/a", "-", "NaN", "")),
    row("a cell 1,5", cell("1,5"), "row 6 & 1,5"),  # a comma makes two cells of it
]
BROKEN = [
    row("empty", "", "r.csv"),
    row("one newline", "\n", "r.csv"),
    row("only blanks", "   \n  \n", "r.csv"),
    row("only a header", "task,ours,base\n", "no rows|empty"),
    row("one row", "task,ours,base\n0,0.7,0.6\n", "1 task"),
    row("noise", bytes(i * 7919 % 256 for i in range(4000)), "r.csv"),
    row("a picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0" + bytes(99), "r.csv"),
    row("a spreadsheet", zipped, "r.csv"),
    row("JSON", '[{"ours": 0.7, "base": 0.6}, {"ours": 0.8, "base": 0.7}]', "r.csv"),
    row("a web page", "<!DOCTYPE html>\n<html><body><p>404 Not found</p></body></html>\n", "r.csv"),
    row("a log file", "[INFO] task 0 acc 0.7\n[INFO] task 1 acc 0.8\n", "r.csv"),
    row("no such file", lambda path: None, "r.csv"),
    row("a folder", Path.mkdir, "r.csv"),
    row("a link to nothing", link("gone.csv"), "r.csv"),
    row("a link to itself", link("r.csv"), "r.csv"),
    row("a link to /dev/zero", link("/dev/zero"), "r.csv"),
    row("a pipe nobody writes to", os.mkfifo, "r.csv"),
    row("10,000 columns", csv(",".join(f"m{i}" for i in range(2000)), [[0.5] * 2000] * 2), "2000|2,000"),
    row("parquet", frame(lambda f, path: (f.to_parquet("x.parquet"), Path("x.parquet").rename(path))), "r.csv"),
]
ENDINGS = [  # in a file of another name
    row("a name with blanks", "my results é.csv", WIDE, means()),
    row("a name with a capital ending", "R.CSV", WIDE, means()),
    row("a name that begins with a dash", "./-r.csv", WIDE, means()),
    row("tabs, .tsv", "r.tsv", WIDE.replace(",", "\t"), means()),
    row("commas, .tsv", "r.tsv", WIDE, means()),
    row("compressed, .csv.gz", "r.csv.gz", gzip.compress(WIDE.encode()), "r.csv.gz"),
    row("a spreadsheet, .xlsx", "r.xlsx", zipped, "r.xlsx"),
    row("JSON, .json", "r.json", '[{"ours": 0.7}]', "1 task"),
    row("no ending", "results", WIDE, means()),
    row(".txt", "r.txt", WIDE, means()),
    row("a name too long", "x" * 300 + ".csv", lambda path: None, "xxx"),
    row("a name of bytes", "gone\udcff.csv", lambda path: None, "gone"),
    *(
        row(f"parquet, {name}", "r.parquet", content, expected)
        for name, content, expected in [
            ("wide", parquet(), means()),
            ("index with a name", parquet(lambda f: f.rename_axis("task")), means()),
            ("index of texts", parquet(lambda f: f.set_axis([f"t{i}" for i in f.index])), means()),
            (
                "two levels of index",
                parquet(lambda f: f.set_index([f.index // 20, f.index % 20])),
                means(),
            ),
            ("16-bit floats", parquet(lambda f: f.astype("float16")), means(tolerance=0.05)),
            ("32-bit floats", parquet(lambda f: f.astype("float32")), means()),
            (
                "categories",
                parquet(
                    lambda f: (
                        f.reset_index(names="task")
                        .melt("task", var_name="method", value_name="accuracy")
                        .astype({"method": "category"})
                    )
                ),
                means(),
            ),
            ("a column of lists", parquet(lambda f: f.assign(right=[[1, 0]] * len(f))), "right"),
            ("a column of records", parquet(lambda f: f.assign(more=[{"a": 1}] * len(f))), means()),
            ("truth values", parquet(lambda f: f > 0.6), means({"ours": 90, "base": 57.5})),
            ("a date a row", parquet(lambda f: f.assign(when=pd.Timestamp("2024-01-01"))), means()),
            ("no rows", parquet(lambda f: f.head(0)), "no rows|empty"),
            ("no columns", parquet(lambda f: f[[]]), "r.parquet"),
            ("cut off", frame(lambda f, p: (f.to_parquet(p), p.write_bytes(p.read_bytes()[:-30]))), "r.parquet"),
            ("noise", b"PAR1" + bytes(range(256)), "r.parquet"),
            ("empty", b"", "r.parquet"),
            ("a folder", Path.mkdir, "r.parquet"),
            ("text", WIDE, "r.parquet"),
        ]
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("content, expected", [*FORMS, *DIALECTS, *SHAPES, *BROKEN])
def test_a_table_is_refused_or_read_rightly(content, expected):
    refused_or_read("r.csv", content, expected)


@pytest.mark.parametrize("file, content, expected", ENDINGS)
def test_a_table_in_a_file_of_another_kind_is_refused_or_read_rightly(file, content, expected):
    refused_or_read(file, content, expected)


def refused_or_read(file, content, expected):
    fill(file, content)
    report = lambda: fslcore("report", file, "-o", "out.html")  # noqa: E731
    judge(report if isinstance(expected, str) else lambda: Results.read(file), expected)


def page(*said):
    """A page is written, nothing else, and these words are printed."""
    return lambda done: {p.name for p in Path().iterdir()} == {"r.csv", "out.html"} and has(" & ".join(said))(done)


@pytest.mark.parametrize(
    "content, options, expected",
    [
        row(
            "shares",
            WIDE,
            ["--level", "0.99", "--sampling", "closed"],
            page("ours is better than base", "99 %", "these images only"),
        ),
        row("another script, and markup", WIDE.replace("ours", STRANGE, 1), [], page(STRANGE)),
        row("an empty cell, common tasks", cell(""), ["--common"], page("39")),
        row(
            "no task in common",
            csv("method,task,accuracy", [("x", i, 0.7) for i in range(9)] + [("y", 9 + i, 0.6) for i in range(9)]),
            ["--common"],
            "--common & no two tasks",
        ),
        *(
            row(f"level {v}", WIDE, ["--level", v], f"level & {v}")
            for v in ("0", "1", "-0.5", "95", "nan", "inf", "high", "", "0,95")
        ),
        row("sampling random", WIDE, ["--sampling", "random"], "sampling & random"),
        row("an option that is not there", WIDE, ["--levle", "0.9"], "levle"),
        row("another file that is not there", WIDE, ["second.csv"], "second.csv"),
        *(
            row(f"page {name}", WIDE, ["-o", name], f"{name} & .html")
            for name in ("out.pdf", "out", "out.html/", "out.csv", "r.csv", "-", ".html")
        ),
        row("page without a name", WIDE, ["-o", ""], "output|-o"),
    ],
)
def test_the_command(content, options, expected):
    fill("r.csv", content)
    judge(lambda: fslcore("report", "r.csv", *([] if "-o" in options else ["-o", "out.html"]), *options), expected)


@pytest.mark.parametrize("make, path, words", nowhere(".html"))
def test_where_no_page_can_be_written(make, path, words):
    fill("r.csv", WIDE)
    make()
    judge(lambda: fslcore("report", "r.csv", "-o", path), words)


def test_where_a_page_is_written(here):
    fill("r.csv", WIDE)
    fill("new/out.html", "old")
    judge(lambda: fslcore("report", "r.csv", "-o", "new/out.html"), fine)
    assert Path("new/out.html").read_text().startswith("<")


def test_without_a_file_and_without_room():
    judge(lambda: fslcore("report"), "results")
    judge(lambda: fslcore("report", ""), "results")
    fill("r.csv", WIDE)
    with small_disk():
        judge(lambda: fslcore("report", "r.csv", "-o", "out.html"), "out.html")
