"""``fslcore report``: tables as users have them."""

from __future__ import annotations

import gzip
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from statistics import mean

from .common import Case, Ran, fill, fine, fslcore, has, nowhere, of_area, small_disk

case = of_area("report files")
draw = random.Random(0)
HARD = [draw.randint(-12, 12) for _ in range(40)]  # a task is hard for both alike
OURS = [round((54 + h + draw.randint(-4, 4)) / 75, 10) for h in HARD]
BASE = [round((48 + h + draw.randint(-4, 4)) / 75, 10) for h in HARD]
MEANS = {"ours": 100 * mean(OURS), "base": 100 * mean(BASE)}
PERCENT = [[100 * a, 100 * b] for a, b in zip(OURS, BASE)]


def csv(header: str, rows: list, sep: str = ",", end: str = "\n") -> str:
    """A header, and rows of cells."""
    return end.join([header, *(sep.join(str(cell) for cell in row) for row in rows)]) + end


WIDE = csv("task,ours,base", [[i, a, b] for i, (a, b) in enumerate(zip(OURS, BASE))])
BARE = csv("ours,base", [[a, b] for a, b in zip(OURS, BASE)])
LONG = csv("method,task,accuracy", [[m, i, v] for m, of in (("ours", OURS), ("base", BASE)) for i, v in enumerate(of)])


def means(wanted: dict[str, float] = MEANS, tasks: int | None = None, tolerance: float = 0.0051) -> Callable:
    """The summary gives these methods with these means, no other, and so many tasks."""

    def check(ran: Ran) -> str | None:
        text = ran.out.replace("\N{NO-BREAK SPACE}", " ")
        found = re.findall(r"^\s+(.+?)\s+(-?[\d.]+) ± +[\d.]+", text, re.MULTILINE)
        got = {name.strip(): float(value) for name, value in found}
        if len(got) != len(wanted):
            return f"{len(got)} methods instead of {len(wanted)}: {', '.join(got)}"
        for name, value in wanted.items():
            if name not in got or abs(got[name] - value) > tolerance:
                return f"{name}: {got.get(name)} instead of {value:.2f}"
        if tasks and not re.search(rf"\b{tasks:,}|{tasks} tasks", text):
            return f"not {tasks} tasks: {text.splitlines()[0]}"
        page = Path("out.html")
        return None if page.is_file() and page.stat().st_size else "no page was written"

    return check


def given(
    name: str, content: str | bytes | Callable[[Path], None], *options: str, file: str = "r.csv", **wanted
) -> Case:
    """A case: this content in this file, and ``fslcore report`` on it."""

    def call() -> Ran:
        fill(Path(file), content)
        return fslcore("report", file, *(options if "-o" in options else ("-o", "out.html", *options)))

    return case(name, call, **wanted)


def frame(make: Callable, **options) -> Callable[[Path], None]:
    """Writes what pandas writes of a table of the two methods: ``make(frame, path)``."""

    def write(path: Path) -> None:
        import pandas as pd

        make(pd.DataFrame({"ours": OURS, "base": BASE}, **options), path)

    return write


def simulated(methods: int, tasks: int, gap: float, seed: int, unit: float = 100) -> tuple[str, dict[str, float]]:
    """A wide table of so many methods, a gap (shares) between two of them; and their means in percent."""
    rng = random.Random(seed)
    columns = {f"m{m}": [] for m in range(methods)}
    for _ in range(tasks):
        hard = rng.randint(-10, 10)
        for m, of in enumerate(columns.values()):
            of.append(min(75, max(8, round(48 + hard + rng.randint(-5, 5) + 75 * gap * m))) / 75)
    rows = [[unit * v for v in row] for row in zip(*columns.values())]
    return csv(",".join(columns), rows), {m: 100 * mean(v) for m, v in columns.items()}


def summed(kind: str) -> str:
    """The wide table with a row of means below, as a spreadsheet has it."""
    return WIDE + f"{kind},{mean(OURS)},{mean(BASE)}\n"


good = [
    given("wide, shares", WIDE, right=means(tasks=40)),
    given("wide, no column task", BARE, right=means(tasks=40)),
    given("wide, percent", csv("ours,base", PERCENT), right=means(tasks=40)),
    given("long", LONG, right=means(tasks=40)),
    given(
        "long, backbone and learner",
        csv(
            "backbone,learner,task,accuracy",
            [[b, who, i, v] for b, who, of in (("clip", "ncc", OURS), ("clip", "lr", BASE)) for i, v in enumerate(of)],
        ),
        right=means({"clip ncc": MEANS["ours"], "clip lr": MEANS["base"]}),
    ),
    given(
        "the example of the manual",
        "task,ours,baseline\n0,0.72,0.68\n1,0.81,0.83\n",
        right=means({"ours": 76.5, "baseline": 75.5}, 2),
    ),
    given("lines end as on Windows", WIDE.replace("\n", "\r\n"), right=means()),
    given("lines end as on an old Mac", WIDE.replace("\n", "\r"), right=means(), says=("r.csv",)),
    given("a byte order mark", b"\xef\xbb\xbf" + WIDE.encode(), right=means()),
    given("a byte order mark before a method", b"\xef\xbb\xbf" + BARE.encode(), right=means()),
    given("blanks around names", WIDE.replace("task,ours,base", " Task , ours , base "), right=means()),
    given(
        "all in quotes",
        "\n".join(",".join(f'"{c}"' for c in line.split(",")) for line in WIDE.splitlines()),
        right=means(),
    ),
    given("no newline at the end", WIDE.rstrip(), right=means()),
    given("empty lines between", WIDE.replace("\n", "\n\n"), right=means(), says=("empty",)),
    given("exponents", csv("ours,base", [[f"{a:.12e}", f"{b:.12e}"] for a, b in zip(OURS, BASE)]), right=means()),
    given("tasks are texts", re.sub(r"^(\d+),", r"task-\1,", WIDE, flags=re.MULTILINE), right=means()),
    given("tasks are dates", re.sub(r"^(\d+),", r"2024-01-01T00:\1:00,", WIDE, flags=re.MULTILINE), right=means()),
    given(
        "shuffled rows",
        "\n".join([WIDE.split("\n")[0], *sorted(WIDE.split("\n")[1:-1], key=lambda s: s[::-1])]),
        right=means(),
    ),
    given(
        "long, shuffled rows",
        "\n".join([LONG.split("\n")[0], *sorted(LONG.split("\n")[1:-1], key=lambda s: s[::-1])]),
        right=means(),
    ),
    given(
        "a method has a comma",
        WIDE.replace("ours", '"ours, tuned"', 1),
        right=means({"ours, tuned": MEANS["ours"], "base": MEANS["base"]}),
    ),
    given(
        "methods are numbers", WIDE.replace("ours,base", "1,2"), right=means({"1": MEANS["ours"], "2": MEANS["base"]})
    ),
    given(
        "a method in another script",
        WIDE.replace("ours", "方法 é 🍄", 1),
        right=means({"方法 é 🍄": MEANS["ours"], "base": MEANS["base"]}),
    ),
    given(
        "a method with markup",
        WIDE.replace("ours", "<b>*ours*</b> $x$ `y` {{z}}", 1),
        right=means({"<b>*ours*</b> $x$ `y` {{z}}": MEANS["ours"], "base": MEANS["base"]}),
    ),
    given(
        "a method of 300 letters",
        WIDE.replace("ours", "o" * 300, 1),
        right=means({"o" * 300: MEANS["ours"], "base": MEANS["base"]}),
    ),
    given("one method", csv("ours", [[a] for a in OURS]), right=means({"ours": MEANS["ours"]})),
    given(
        "whole percent",
        csv("ours,base", [[70, 60], [72, 65], [68, 66], [71, 61]]),
        right=means({"ours": 70.25, "base": 63}),
    ),
    given(
        "two equal methods",
        csv("ours,base", [[a, a] for a in OURS]),
        right=means({"ours": MEANS["ours"], "base": MEANS["ours"]}),
    ),
    given("all right", csv("ours,base", [[1.0, 1.0]] * 10), right=means({"ours": 100, "base": 100})),
    given("all wrong", csv("ours,base", [[0.0, 0.0]] * 10), right=means({"ours": 0, "base": 0})),
    given("one constant", csv("ours,base", [[0.5, b] for b in BASE]), right=means({"ours": 50, "base": MEANS["base"]})),
    given(
        "always the same gap",
        csv("ours,base", [[b + 0.1, b] for b in BASE]),
        right=means({"ours": MEANS["base"] + 10, "base": MEANS["base"]}),
    ),
    given(
        "one task apart",
        csv("ours,base", [[a, a if i else a - 1 / 75] for i, a in enumerate(OURS)]),
        right=means({"ours": MEANS["ours"], "base": MEANS["ours"] - 100 / 75 / 40}),
    ),
    given(
        "equal but for rounding",
        csv("ours,base", [[0.3, 0.1 + 0.2]] * 40),
        right=lambda ran: None if re.search(r"\b0 of 1", ran.out) else f"told apart: {ran.out}",
    ),
    given(
        "equal but for the rounding of 32 bits",
        csv("ours,base", [[a, f"{a:.7g}"] for a in OURS]),
        right=lambda ran: None if re.search(r"\b0 of 1", ran.out) else f"told apart: {ran.out}",
    ),
    given(
        "the file says open",
        WIDE.replace("task,", "sampling,task,").replace("\n", "\nopen,").removesuffix("open,"),
        right=means(),
    ),
    given(
        "Open with a capital",
        WIDE.replace("task,", "sampling,task,").replace("\n", "\nOpen,").removesuffix("Open,"),
        right=means(),
        says=("Open",),
    ),
    given("K is 5.0", WIDE.replace("task,", "ways,task,").replace("\n", "\n5.0,").removesuffix("5.0,"), right=means()),
    given("--level 0.99", WIDE, "--level", "0.99", right=means()),
    given("--sampling closed", WIDE, "--sampling", "closed", right=means()),
    given(
        "a new folder for the page",
        WIDE,
        "-o",
        "new/out.html",
        right=lambda _: None if Path("new/out.html").is_file() else "no page",
    ),
    given("a name with blanks", WIDE, file="my results é.csv", right=means()),
    given("a name with a capital ending", WIDE, file="R.CSV", right=means(), says=("R.CSV",)),
    given("a name that begins with a dash", WIDE, file="./-r.csv", right=means()),
    *(
        given(f"simulated, {m} methods, {t} tasks, gap {g}", text, right=means(wanted))
        for i, (m, t, g) in enumerate(
            [
                (2, 600, 0.0),
                (2, 600, 0.002),
                (2, 600, 0.05),
                (2, 20, 0.3),
                (2, 3, 0.0),
                (3, 100, 0.01),
                (4, 2, 0.0),
                (5, 60, 0.04),
                (8, 40, 0.0),
                (12, 100, 0.003),
                (12, 5, 0.02),
            ]
        )
        for text, wanted in [simulated(m, t, g, i)]
    ),
]

parquet = [
    given("parquet, wide", frame(lambda f, p: f.to_parquet(p)), file="r.parquet", right=means()),
    given(
        "parquet, index with a name",
        frame(lambda f, p: f.rename_axis("task").to_parquet(p)),
        file="r.parquet",
        right=means(),
    ),
    given(
        "parquet, index of texts",
        frame(lambda f, p: f.set_axis([f"t{i}" for i in f.index]).to_parquet(p)),
        file="r.parquet",
        right=means(),
        says=("index|__index_level_0__",),
    ),
    given(
        "parquet, two levels of index",
        frame(lambda f, p: f.set_index([f.index // 20, f.index % 20]).to_parquet(p)),
        file="r.parquet",
        right=means(),
        says=("level_0|index|rows",),
    ),
    given(
        "parquet, 16-bit floats",
        frame(lambda f, p: f.astype("float16").to_parquet(p)),
        file="r.parquet",
        right=means(tolerance=0.05),
        says=("r.parquet",),
    ),
    given(
        "parquet, 32-bit floats", frame(lambda f, p: f.astype("float32").to_parquet(p)), file="r.parquet", right=means()
    ),
    given(
        "parquet, categories",
        frame(
            lambda f, p: (
                f.reset_index(names="task")
                .melt("task", var_name="method", value_name="accuracy")
                .astype({"method": "category"})
                .to_parquet(p)
            )
        ),
        file="r.parquet",
        right=means(),
    ),
    given(
        "parquet, a column of lists",
        frame(lambda f, p: f.assign(right=[[1, 0]] * len(f)).to_parquet(p)),
        file="r.parquet",
        says=("right",),
    ),
    given(
        "parquet, a column of records",
        frame(lambda f, p: f.assign(more=[{"a": 1}] * len(f)).to_parquet(p)),
        file="r.parquet",
        says=("more",),
    ),
    given(
        "parquet, truth values",
        frame(lambda f, p: (f > 0.6).to_parquet(p)),
        file="r.parquet",
        says=("True|False|bool|0 and 1",),
    ),
    given("parquet, no rows", frame(lambda f, p: f.head(0).to_parquet(p)), file="r.parquet", says=("no rows|empty",)),
    given("parquet, no columns", frame(lambda f, p: f[[]].to_parquet(p)), file="r.parquet", says=("r.parquet",)),
    given(
        "parquet, cut off",
        frame(lambda f, p: (f.to_parquet(p), p.write_bytes(p.read_bytes()[:-30]))),
        file="r.parquet",
        says=("r.parquet",),
    ),
    given("parquet, noise", b"PAR1" + bytes(range(256)), file="r.parquet", says=("r.parquet",)),
    given("parquet, empty", b"", file="r.parquet", says=("r.parquet",)),
    given("parquet, a folder", lambda p: p.mkdir(), file="r.parquet", says=("r.parquet",)),
    given(
        "parquet, a date a row",
        frame(lambda f, p: f.assign(when=__import__("pandas").Timestamp("2024-01-01")).to_parquet(p)),
        file="r.parquet",
        says=("when",),
    ),
    given("parquet that is a .csv", WIDE, file="r.parquet", says=("r.parquet",)),
    given(
        "a .csv that is parquet",
        frame(lambda f, p: (f.to_parquet("x.parquet"), Path("x.parquet").rename(p))),
        says=("r.csv",),
    ),
]

wide = WIDE.splitlines()
dialects = [
    given(
        "semicolons and decimal commas",
        WIDE.replace(",", ";").replace(".", ","),
        right=means(),
        says=("r.csv", ";|semicolon|comma"),
    ),
    given("semicolons", WIDE.replace(",", ";"), right=means(), says=("r.csv", ";|semicolon|separator")),
    given(
        "semicolons, one method, decimal commas",
        "ours\n" + "\n".join(f"{100 * a:.2f}".replace(".", ",") for a in OURS),
        says=("r.csv",),
        right=means({"ours": mean(round(100 * a, 2) for a in OURS)}),
    ),
    given("tabs", WIDE.replace(",", "\t"), right=means(), says=("r.csv", "tab|separator|column")),
    given("tabs, .tsv", WIDE.replace(",", "\t"), file="r.tsv", right=means()),
    given("commas, .tsv", WIDE, file="r.tsv", right=means(), says=("r.tsv",)),
    given("blanks", WIDE.replace(",", "  "), right=means(), says=("r.csv",)),
    given("bars", WIDE.replace(",", "|"), right=means(), says=("r.csv",)),
    given("sep=; on top", "sep=;\n" + WIDE.replace(",", ";"), right=means(), says=("sep=",)),
    given("sep=, on top", "sep=,\n" + WIDE, right=means(), says=("sep=|header",)),
    given("a comment on top", "# my results\n" + WIDE, right=means(), says=("#|comment|header",)),
    given(
        "comments on top and at the end",
        "# my results, 2024\n# run 3\n" + WIDE + "# end\n",
        right=means(),
        says=("#|comment|header",),
    ),
    given("a title on top", "My results of May\n" + WIDE, right=means(), says=("My results|header|columns",)),
    given("a title and an empty line on top", "My results,,\n,,\n" + WIDE, right=means(), says=("r.csv",)),
    given("no header", "\n".join(wide[1:]), says=("header|method 1",)),
    given(
        "no header, shares only",
        "\n".join(BARE.splitlines()[1:]),
        says=("header",),
        right=means({"method 1": MEANS["ours"], "method 2": MEANS["base"]}),
    ),
    given(
        "no header, percent",
        "\n".join(csv("x", PERCENT).splitlines()[1:]),
        says=("header",),
        right=means({"method 1": MEANS["ours"], "method 2": MEANS["base"]}),
    ),
    given("two header lines, as pandas writes", ",clip,clip\ntask,ours,base\n" + "\n".join(wide[1:]), says=("r.csv",)),
    given(
        "the header once more in the middle",
        "\n".join(wide[:20] + wide[:1] + wide[20:]),
        right=means(),
        says=("ours|task",),
    ),
    given(
        "thousands with a point, decimal commas in quotes",
        "task,ours,base\n"
        + "\n".join(f'{i},"{a:.4f}","{b:.4f}"'.replace("0.", "0,") for i, (a, b) in enumerate(zip(OURS, BASE))),
        says=("ours|0,",),
        right=means({"ours": mean(100 * round(a, 4) for a in OURS), "base": mean(100 * round(b, 4) for b in BASE)}),
    ),
    given(
        "percent signs",
        csv("task,ours,base", [[i, f"{a:.2f}%", f"{b:.2f}%"] for i, (a, b) in enumerate(PERCENT)]),
        says=("%",),
        right=means({"ours": mean(round(a, 2) for a, _ in PERCENT), "base": mean(round(b, 2) for _, b in PERCENT)}),
    ),
    given(
        "mean ± half-width in a cell",
        csv("task,ours,base", [[i, f"{a:.1f} ± 0.5", f"{b:.1f} ± 0.5"] for i, (a, b) in enumerate(PERCENT)]),
        says=("±",),
    ),
    given("UTF-16, as Excel's Unicode text", WIDE.replace(",", "\t").encode("utf-16"), right=means(), says=("r.csv",)),
    given("UTF-16 with commas", WIDE.encode("utf-16"), right=means(), says=("r.csv",)),
    given("UTF-16 without mark", WIDE.encode("utf-16-le"), right=means(), says=("r.csv",)),
    given(
        "Latin 1 with an umlaut",
        WIDE.replace("ours", "für", 1).encode("latin-1"),
        says=("r.csv",),
        right=means({"für": MEANS["ours"], "base": MEANS["base"]}),
    ),
    given("a NUL in it", WIDE.replace("10,", "10\0,"), says=("r.csv|task",), right=means()),
    given("compressed, .csv", gzip.compress(WIDE.encode()), right=means(), says=("r.csv",)),
    given("compressed, .csv.gz", gzip.compress(WIDE.encode()), file="r.csv.gz", right=means(), says=("r.csv.gz",)),
    given(
        "a comma at the end of every row",
        csv("task,ours,base", [[i, a, f"{b},"] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        right=means(),
        says=("r.csv",),
    ),
    given(
        "a comma at the end of every line",
        WIDE.replace("\n", ",\n"),
        right=means(),
        says=("Unnamed|empty|no name|name",),
    ),
    given("a quote that does not end", WIDE.replace("10,", '10,"'), says=("r.csv",)),
    given("a row is short", WIDE + "40,0.5\n", says=("41|base",)),
    given("a row is long", WIDE + "40,0.5,0.6,0.7\n", says=("r.csv",)),
]

sums = {
    "mean": "mean",
    "average": "Average",
    "Total": "Total",
    "empty name": "",
    "std": "std",
    "Mittelwert": "Mittelwert",
    "AVG": "AVG",
}
shapes = [
    given(
        "index of pandas, no name",
        frame(lambda f, p: f.to_csv(p)),
        right=means(),
        says=("Unnamed|counts the rows|row number|index",),
    ),
    given(
        "index of pandas after a selection",
        frame(lambda f, p: f[f.ours > 0.6].to_csv(p)),
        says=("Unnamed|row number|index|counts",),
        right=means(
            {
                "ours": 100 * mean(a for a in OURS if a > 0.6),
                "base": 100 * mean(b for a, b in zip(OURS, BASE) if a > 0.6),
            }
        ),
    ),
    given(
        "index of pandas, shuffled",
        frame(lambda f, p: f.sample(frac=1, random_state=0).to_csv(p)),
        right=means(),
        says=("Unnamed|row number|index|counts",),
    ),
    given(
        "index of pandas, long",
        frame(lambda f, p: f.melt(var_name="method", value_name="accuracy").assign(task=[*range(40)] * 2).to_csv(p)),
        right=means(),
    ),
    given("index called index", frame(lambda f, p: f.rename_axis("index").to_csv(p)), right=means(), says=("index",)),
    given(
        "index called id, from 100",
        frame(lambda f, p: f.set_axis(range(100, 140)).rename_axis("id").to_csv(p)),
        right=means(),
        says=("id",),
    ),
    given(
        "index called episode", frame(lambda f, p: f.rename_axis("episode").to_csv(p)), right=means(), says=("episode",)
    ),
    given(
        "index of random numbers",
        frame(lambda f, p: f.set_axis([(i * 37) % 41 for i in f.index]).rename_axis("idx").to_csv(p)),
        right=means(),
        says=("idx",),
    ),
    *(
        given(
            f"a row {name} at the end",
            summed(kind),
            right=means(tasks=40),
            says=(f"{kind}|task|41|empty",),
            warns=("left out|summary",),
        )
        for name, kind in sums.items()
    ),
    given("a row mean at the end, no column task", BARE + f"{mean(OURS)},{mean(BASE)}\n", right=fine, says=("mean",)),
    given(
        "pandas' describe below",
        WIDE + "count,40,40\nmean,0.7,0.6\nstd,0.1,0.1\nmin,0.5,0.4\n",
        says=("count|mean|40",),
    ),
    given("a row of units below the header", WIDE.replace("\n", "\n,[%],[%]\n", 1), says=("[%]|row 1|empty",)),
    given(
        "long, a row of means a method",
        LONG + f"ours,mean,{mean(OURS)}\nbase,mean,{mean(BASE)}\n",
        says=("mean",),
        right=means(tasks=40),
        warns=("left out|summary",),
    ),
    given(
        "long, a row all",
        LONG + f"ours,all,{mean(OURS)}\nbase,all,{mean(BASE)}\n",
        says=("all",),
        right=means(tasks=40),
    ),
    *(
        given(
            f"a column {name}",
            csv(f"task,ours,base,{name}", [[i, a, b, (a + b) / 2] for i, (a, b) in enumerate(zip(OURS, BASE))]),
            right=means(),
            says=(name,),
            warns=(f"{name}", "left out|not read|not a method|looks"),
        )
        for name in ("mean", "average", "avg", "Mean accuracy", "mean_acc")
    ),
    given(
        "a column std",
        csv("task,ours,base,std", [[i, a, b, 0.05] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        right=means(),
        says=("std",),
        warns=("std", "left out|not read|not a method|looks"),
    ),
    given(
        "a column difference",
        csv("task,ours,base,diff", [[i, a, b, a - b] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        right=means(),
        says=("diff",),
    ),
    given(
        "a column of words",
        csv("task,ours,base,note", [[i, a, b, "ok"] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        says=("note",),
        right=means(),
    ),
    given(
        "an empty column",
        csv("task,ours,base,note", [[i, a, b, ""] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        says=("note",),
        right=means(),
    ),
    given(
        "a column seconds",
        csv("task,ours,base,seconds", [[i, a, b, 1.5 + i] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        says=("seconds",),
    ),
    given(
        "Weights & Biases, wide",
        csv(
            "Step,ours - acc,ours - acc__MIN,ours - acc__MAX,base - acc,base - acc__MIN,base - acc__MAX",
            [[i, a, a, a, b, b, b] for i, (a, b) in enumerate(zip(OURS, BASE))],
        ),
        says=("Step|MIN",),
        right=means({"ours - acc": MEANS["ours"], "base - acc": MEANS["base"]}),
    ),
    given(
        "Weights & Biases, MIN and MAX without Step",
        csv(
            "ours - acc,ours - acc__MIN,ours - acc__MAX,base - acc,base - acc__MIN,base - acc__MAX",
            [[a, a, a, b, b, b] for a, b in zip(OURS, BASE)],
        ),
        says=("MIN",),
        right=means({"ours - acc": MEANS["ours"], "base - acc": MEANS["base"]}),
    ),
    given(
        "TensorBoard",
        csv("Wall time,Step,Value", [[1.7e9 + i, i, a] for i, a in enumerate(OURS)]),
        says=("Wall time|Step",),
    ),
    given(
        "a row a query, 0 and 1",
        csv("ours,base", [[int(i % 4 > 0), int(i % 3 > 0)] for i in range(3000)]),
        says=("query|0 and 1|only 0",),
        warns=("query|queries",),
    ),
    given(
        "a row a query, 0.0 and 1.0",
        csv("ours,base", [[float(i % 4 > 0), float(i % 3 > 0)] for i in range(3000)]),
        says=("query|0 and 1|only 0",),
        warns=("query|queries",),
    ),
    given(
        "a row a query, 0 and 100",
        csv("ours,base", [[100 * (i % 4 > 0), 100 * (i % 3 > 0)] for i in range(3000)]),
        says=("query|0 and 100|only 0",),
        warns=("query|queries",),
    ),
    given(
        "long, a row a query",
        csv(
            "method,task,accuracy",
            [[m, i, int((i + k) % 4 > 0)] for k, m in enumerate(["ours", "base"]) for i in range(900)],
        ),
        says=("query|0 and 1|only 0",),
        warns=("query|queries",),
    ),
    given(
        "long, fifteen rows a task",
        csv(
            "method,task,accuracy",
            [[m, i // 15, int((i + k) % 4 > 0)] for k, m in enumerate(["ours", "base"]) for i in range(900)],
        ),
        says=("twice|query",),
    ),
    given(
        "a row a query, True and False",
        csv("ours,base", [[i % 4 > 0, i % 3 > 0] for i in range(300)]),
        says=("True|False|0 and 1",),
    ),
    given(
        "transposed, a row a method",
        csv("method,t0,t1,t2", [["ours", 0.7, 0.8, 0.75], ["base", 0.6, 0.7, 0.65]]),
        says=("method",),
    ),
    given(
        "a row a method, mean and interval",
        csv("method,mean,ci95", [["ours", 70.1, 0.5], ["base", 68.2, 0.4]]),
        says=("method|accuracy",),
    ),
    given(
        "a column task twice",
        csv("task,task,ours,base", [[i, i, a, b] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        says=("task",),
    ),
    given(
        "a method twice", csv("task,ours,ours", [[i, a, b] for i, (a, b) in enumerate(zip(OURS, BASE))]), says=("ours",)
    ),
    given(
        "a method twice but for blanks",
        csv("task,ours, ours", [[i, a, b] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        says=("ours",),
    ),
    given(
        "methods that differ in case only",
        csv("task,ours,Ours", [[i, a, b] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        right=means({"ours": MEANS["ours"], "Ours": MEANS["base"]}),
        says=("ours",),
    ),
    given(
        "a method without a name",
        csv("task,ours,", [[i, a, b] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        says=("Unnamed|name",),
    ),
    given("a task twice", WIDE + "3,0.5,0.5\n", says=("3", "twice")),
    given("a task twice, one of them text", WIDE + "3.0,0.5,0.5\n", says=("3", "twice")),
    given(
        "tasks 01 and 1",
        "task,ours,base\n01,.7,.6\n1,.72,.61\n2,.69,.64\n",
        right=means({"ours": 70.333, "base": 61.667}, 3),
        says=("twice",),
    ),
    given("long, a task twice", LONG + "ours,3,0.5\n", says=("ours", "3", "twice")),
    given("long, no column task", csv("method,accuracy", [["ours", a] for a in OURS]), says=("task",)),
    given("long, no column method", csv("task,accuracy", list(enumerate(OURS))), says=("method",)),
    given("long, acc in place of accuracy", LONG.replace("accuracy", "acc"), says=("accuracy",)),
    given("long, Accuracy (%)", LONG.replace("accuracy", "Accuracy (%)"), says=("accuracy",)),
    given("long, a method without name", LONG + ",40,0.7\n", says=("method", "81")),
    given("long, a task without name", LONG + "ours,,0.7\n", says=("task", "81")),
    given("long, methods with other tasks", LONG + "ours,40,0.7\n", says=("base", "--common")),
    given("long, methods with other tasks, --common", LONG + "ours,40,0.7\n", "--common", right=means(tasks=40)),
    given(
        "long, methods with no task in common",
        csv("method,task,accuracy", [["ours", i, 0.7] for i in range(9)] + [["base", 10 + i, 0.6] for i in range(9)]),
        "--common",
        says=("0 task|no task",),
    ),
    given(
        "long, two data sets",
        csv(
            "dataset,method,task,accuracy",
            [[d, m, i, v] for d in "ab" for m, of in (("ours", OURS), ("base", BASE)) for i, v in enumerate(of)],
        ),
        right=has("a: 2 methods", "b: 2 methods"),
    ),
    given(
        "ours and NaN",
        csv("task,ours,base", [[i, a, "NaN" if i == 5 else b] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        says=("base", "6"),
    ),
    given(
        "an empty cell",
        csv("task,ours,base", [[i, a, "" if i == 5 else b] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        says=("base", "6"),
    ),
    given(
        "an empty cell, --common",
        csv("task,ours,base", [[i, a, "" if i == 5 else b] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        "--common",
        right=has("39 tasks"),
    ),
    given("an empty row in the middle", "\n".join(wide[:20] + [",,"] + wide[20:]), says=("20|empty",), right=means()),
    *(
        given(
            f"a cell {text}",
            csv("task,ours,base", [[i, a, text if i == 5 else b] for i, (a, b) in enumerate(zip(OURS, BASE))]),
            says=("base", "6|row"),
        )
        for text in (
            "inf",
            "-inf",
            "1e400",
            "n/a",
            "-",
            "failed",
            "0.7.1",
            "0x1",
            "#DIV/0!",
            "-0.1",
            "-70",
            "170",
            "70",
            "1e-3%",
        )
    ),
    # A comma makes two cells of it: the row is named, and what is in it.
    given(
        "a cell 1,5",
        csv("task,ours,base", [[i, a, "1,5" if i == 5 else b] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        says=("row 6", "1,5"),
    ),
    given(
        "a bool in a column of numbers",
        csv("task,ours,base", [[i, a, "True" if i == 5 else b] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        says=("base",),
    ),
    given(
        "one method in percent, one in shares",
        csv("task,ours,base", [[i, 100 * a, b] for i, (a, b) in enumerate(zip(OURS, BASE))]),
        says=("base|ours", "share"),
    ),
    given("tenths of a percent", csv("ours,base", [[10 * a, 10 * b] for a, b in PERCENT]), says=("ours", "percent")),
    given(
        "error rates below 1 percent", csv("ours,base", [[0.7, 0.4], [1.2, 0.9], [0.8, 0.3]]), says=("share|percent",)
    ),
    given(
        "a sampling that is not known",
        WIDE.replace("task,", "sampling,task,").replace("\n", "\nrandom,").removesuffix("random,"),
        says=("random",),
    ),
    given(
        "two settings that overlap",
        WIDE.replace("task,", "ways,task,").replace("\n", "\n5,").removesuffix("5,") + "10,0,0.7,0.6\n",
        says=("10|1 task",),
    ),
    given(
        "ways are words",
        WIDE.replace("task,", "ways,task,").replace("\n", "\nfive,").removesuffix("five,"),
        says=("ways",),
    ),
    given("ways are empty", WIDE.replace("task,", "ways,task,").replace("\n", "\n,").removesuffix(","), says=("ways",)),
    given(
        "ways of 5.5", WIDE.replace("task,", "ways,task,").replace("\n", "\n5.5,").removesuffix("5.5,"), says=("ways",)
    ),
    given(
        "ways of 0",
        WIDE.replace("task,", "ways,task,").replace("\n", "\n0,").removesuffix("0,"),
        says=("ways",),
        right=means(),
    ),
    given(
        "ways of -5",
        WIDE.replace("task,", "ways,task,").replace("\n", "\n-5,").removesuffix("-5,"),
        says=("ways",),
        right=means(),
    ),
    given(
        "shots of 1e30",
        WIDE.replace("task,", "shots,task,").replace("\n", "\n1e30,").removesuffix("1e30,"),
        says=("shots",),
    ),
]


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")
        file.writestr("[Content_Types].xml", "<Types/>")


def link(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


broken = [
    given("empty", "", says=("r.csv",)),
    given("one newline", "\n", says=("r.csv",)),
    given("only blanks", "   \n  \n", says=("r.csv",)),
    given("only a header", "task,ours,base\n", says=("no rows|empty",)),
    given("one row", "task,ours,base\n0,0.7,0.6\n", says=("1 task",)),
    given("noise", bytes((i * 7919) % 256 for i in range(4000)), says=("r.csv",)),
    given("a picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0" + bytes(99), says=("r.csv",)),
    given("a spreadsheet", zipped, says=("r.csv",)),
    given("a spreadsheet, .xlsx", zipped, file="r.xlsx", says=("r.xlsx", ".csv")),
    given("JSON", '[{"ours": 0.7, "base": 0.6}, {"ours": 0.8, "base": 0.7}]', says=("r.csv|name|ours",)),
    given("JSON, .json", '[{"ours": 0.7}]', file="r.json", says=("r.json", ".csv")),
    given("a web page", "<!DOCTYPE html>\n<html><body><p>404 Not found</p></body></html>\n", says=("r.csv|<",)),
    given("a log file", "[INFO] task 0 acc 0.7\n[INFO] task 1 acc 0.8\n", says=("r.csv|INFO",)),
    given("no ending", WIDE, file="results", says=("results", ".csv"), right=means()),
    given(".txt", WIDE, file="r.txt", says=("r.txt", ".csv"), right=means()),
    given("no such file", lambda p: None, says=("r.csv",)),
    given("a folder", lambda p: p.mkdir(), says=("r.csv",)),
    given("a link to nothing", link("gone.csv"), says=("r.csv",)),
    given("a link to itself", link("r.csv"), says=("r.csv",)),
    given("a link to /dev/zero", link("/dev/zero"), says=("r.csv",)),
    given("a pipe nobody writes to", lambda p: __import__("os").mkfifo(p), says=("r.csv",)),
    given("a name too long", lambda p: None, file="x" * 300 + ".csv", says=("xxx",)),
    given("a name of bytes", lambda p: None, file="gone\udcff.csv", says=("gone",)),
    given(
        "10,000 columns",
        csv(",".join(f"m{i}" for i in range(10000)), [[0.5] * 10000] * 2),
        says=("10,000|10000|columns|methods",),
        right=fine,
    ),
]

options = [
    *(
        given(f"--level {v}", WIDE, "--level", v, says=("level", v.replace("e-9", "e-")))
        for v in ("0", "1", "-0.5", "95", "nan", "inf", "high", "", "1e-9", "0,95")
    ),
    given("--sampling random", WIDE, "--sampling", "random", says=("sampling", "random")),
    given(
        "--sampling that the file denies",
        WIDE.replace("task,", "sampling,task,").replace("\n", "\nopen,").removesuffix("open,"),
        "--sampling",
        "closed",
        says=("closed", "open"),
    ),
    given("an option that is not there", WIDE, "--levle", "0.9", says=("levle",)),
    given("two files", WIDE, "second.csv", says=("second.csv",)),
    *(
        given(f"page {name}", WIDE, "-o", name, says=(name or "output", ".html"))
        for name in ("out.pdf", "out", "out.html/", "out.csv", "r.csv", "-")
    ),
    given("page '' (empty)", WIDE, "-o", "", says=("output|-o",)),
    given("page .html", WIDE, "-o", ".html", says=(".html",), right=fine),
    case("no file given", lambda: fslcore("report"), says=("results",)),
    case("an empty file name", lambda: fslcore("report", ""), says=("results",)),
    case("a disk without room", lambda: (Path("r.csv").write_text(WIDE), _full())[1], says=("out.html",)),
]


def _full() -> Ran:
    with small_disk():
        return fslcore("report", "r.csv", "-o", "out.html")


def _page(make: Callable[[], str]) -> Callable[[], Ran]:
    def call() -> Ran:
        Path("r.csv").write_text(WIDE)
        return fslcore("report", "r.csv", "-o", make())

    return call


for name, make in nowhere(".html").items():
    options.append(case(f"page: {name}", _page(make), says=("plain|there|proc|xxx",)))


def _own_page(ran: Ran) -> str | None:
    """A page over another file is whole, and nothing else lies about."""
    left = sorted(p.name for p in Path().iterdir())
    return None if left == ["out.html", "r.csv"] and Path("out.html").read_text().startswith("<") else f"left: {left}"


options.append(
    given("page over an old one", lambda p: (p.write_text(WIDE), Path("out.html").write_text("old")), right=_own_page)
)
CASES = good + parquet + dialects + shapes + broken + options
