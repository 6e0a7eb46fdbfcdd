"""The lab that reports on a reader's file, in Chromium: its numbers, notes, tables and errors are those of the command.

What a browser cannot do alike is named in `OTHERWISE`.
"""

import base64
import json
import math
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fslbook.beyond import lab_examples
from fslcore.errors import told
from fslcore.tools import report
from fslcore.tools.cli.output import print_json
from fslcore.tools.report.arguments import READING, SETTLES
from fslcore.tools.report.runs import SAYS

LABS = Path(__file__).resolve().parents[2] / "book" / "_static" / "labs"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
SCRIPTS = (
    "labs.js",
    "report_files.js",
    "report_checks.js",
    "report_tables.js",
    "report_stats.js",
    "report_show.js",
    "report_examples.js",
    "report.js",
)
OF_FILES = """([given, how]) => {
  const lab = fslLabs.compute.report;
  const files = given.map(([name, data]) => ({name, bytes: Uint8Array.from(atob(data), c => c.charCodeAt(0))}));
  try {
    const found = lab.ofFiles(files, how), made = lab.tables(found), shown = {};
    for (const [of, table] of Object.entries(made)) shown[of] = [lab.markdown(table), lab.latex(table)];
    return {record: lab.record(found), files: shown};
  } catch (error) {
    if (error instanceof lab.InputError) return {error: lab.python.oneLine(error.message)};
    throw error;
  }
}"""


@pytest.fixture(scope="module")
def browser():
    if not BROWSER:
        pytest.skip("no Chromium on PATH nor in $CHROMIUM")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with nothing but the lab, on disk."""
    scripts = "".join(f'<script src="{(LABS / name).as_uri()}"></script>' for name in SCRIPTS)
    styles = "".join(f'<link rel="stylesheet" href="{(LABS / name).as_uri()}">' for name in ("labs.css", "report.css"))
    path = tmp_path_factory.mktemp("lab") / "page.html"
    path.write_text(
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8">{styles}<style>*{{box-sizing:border-box}}</style>'
        f'<article><div class="fsl-lab" data-lab="report"><p>no scripts</p></div></article>{scripts}</html>',
        "utf-8",
    )
    return path.as_uri()


@pytest.fixture
def page(browser, address):
    page = browser.new_page(viewport={"width": 390, "height": 844}, accept_downloads=True)
    page.faults, page.asked = [], []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(address)
    yield page
    page.close()


@pytest.fixture(scope="module")
def lab(browser, address):
    """What the page makes of a file."""
    page = browser.new_page()
    page.goto(address)

    def call(content, name="mine.csv", **how):
        given = content if isinstance(content, dict) else {name: content}
        data = {n: c if isinstance(c, bytes) else c.encode() for n, c in given.items()}
        return page.evaluate(OF_FILES, [[[n, base64.b64encode(c).decode()] for n, c in data.items()], how])

    yield call
    page.close()


def by_command(folder, capsys, content, name="mine.csv", level=0.95, margin=0, **how):
    """What `fslcore report` makes of a file, or of several by name: its JSON and tables, or its line."""
    given = content if isinstance(content, dict) else {name: content}
    for of, data in given.items():
        (folder / of).write_bytes(data if isinstance(data, bytes) else data.encode())
    try:
        table, notes = report.read([folder / of for of in given], **how)
        pairs = report.comparisons(table, level)
        if margin:
            pairs = report.equivalents(table, pairs, margin, level)
        capsys.readouterr()
        print_json(report.record(table, pairs, notes, level))
        record = json.loads(capsys.readouterr().out)
        files = {}
        for file in report.write_tables(table, pairs, folder / "tables", level):
            if file.stem != "evaluation":  # a paragraph, no table of it
                files.setdefault(file.stem, []).append(file.read_text("utf-8"))
        return {"record": record, "files": {of: [md, tex] for of, (tex, md) in files.items()}}
    except Exception as error:
        return {"error": told(error, "report")[0].replace(f"{folder}/", "")}


def differences(theirs, ours, where=""):
    """Where two nested values differ, numbers beyond six digits; of ranks what the lab gives."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        keys = ours if "/ranks/" in where else {**theirs, **ours}
        return [
            line
            for key in keys
            for line in (
                differences(theirs[key], ours[key], f"{where}/{key}")
                if key in theirs and key in ours
                else [f"{where}/{key}: only one has it"]
            )
        ]
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return [line for i, (a, b) in enumerate(zip(theirs, ours)) for line in differences(a, b, f"{where}/{i}")]
    numbers = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in (theirs, ours))
    same = math.isclose(theirs, ours, rel_tol=1e-6, abs_tol=1e-9) if numbers else theirs == ours
    return [] if same else [f"{where}: {theirs!r}, and in the page {ours!r}"]


# ---------------------------------------------------------------- the numbers


def made(seed):
    """A table as people bring it, long or wide, and how it is to be read."""
    rng = np.random.default_rng(seed)
    methods, tasks = int(rng.integers(2, 7)), int(rng.integers(2, 50))
    gap, noise = rng.choice([0, 0.01, 1, 20]), rng.choice([0, 1e-13, 0.1, 4])
    digits, runs, parts = int(rng.choice([0, 2, 6, 15])), int(rng.choice([1, 1, 3])), []
    for s in range(int(rng.integers(1, 3))):
        hard = rng.normal(60, rng.choice([0, 10]), tasks)
        for run in range(runs):
            x = hard[:, None] + gap * np.arange(methods) + noise * rng.normal(size=(tasks, methods))
            x += rng.normal(0, 1, methods) * (runs > 1)
            if rng.random() < 0.3:
                x[:, 0] = rng.choice([100, 2])
            frame = pd.DataFrame(x.clip(2, 100).round(digits), columns=[f"m{i}" for i in range(methods)])
            frame = (frame / rng.choice([1, 100])) if s == run == 0 and not parts else frame
            frame = frame.assign(task=range(tasks)).melt("task", var_name="method", value_name="accuracy")
            parts.append(frame.assign(dataset=f"d{s}", **({"run": run} if runs > 1 else {})))
    if parts[0]["accuracy"].max() <= 1:
        parts = [part.assign(accuracy=part["accuracy"] / (1 if part is parts[0] else 100)) for part in parts]
    table = pd.concat(parts)
    if rng.random() < 0.4:
        table = table.assign(ways=5, shots=1, queries=15)
    how = dict(sampling=str(rng.choice(["open", "closed", "unknown"])), level=float(rng.choice([0.9, 0.95, 0.99])))
    if rng.random() < 0.4:
        how["margin"] = float(rng.choice([0.1, 1, 5]))
    if rng.random() < 0.3:
        table, how["common"] = table.sample(frac=0.98, random_state=seed), True
    return table.to_csv(index=False), how


@pytest.mark.parametrize("seed", range(12))
def test_random_files_give_the_report_of_the_command(lab, tmp_path, capsys, seed):
    text, how = made(seed)
    theirs = by_command(tmp_path, capsys, text, **how)
    assert differences(theirs, lab(text, **how)) == []


TABLE = "ours,base,other\n" + "".join(
    f"{70 + 7 * math.sin(i):.2f},{68 + 6 * math.sin(i + 0.3):.2f},{60 + i * i % 7}.25\n" for i in range(9)
)
WRITTEN = {
    "plain": TABLE,
    "index of pandas": ",ours,base\n0,72.5,70.5\n1,80,79\n2,64.25,66\n3,71,70.25\n",
    "signs that end no line": "task,a,b\na\x85b,72.5,70.5\r\nc\u2028d\x0be\x1cf,80,79\r1,64,66\n",
    "blanks around texts": "dataset,method,task,accuracy\nD , m ,a ,70\nD,m,b,72\nD,n,a,60\nD,n ,b,63\n",
    "methods called none": "method,task,accuracy\n"
    + "".join(f"{m},{t},{70 + i + 2 * t}\n" for i, m in enumerate(["NA", "None", "null", "N/A 1"]) for t in (0, 1)),
    "a task called NA": "task,ours,base\nNA,70,71\nDE,72,70\n",
    "a mark": b"\xef\xbb\xbf" + TABLE.encode(),
    "bars and wide letters": "方法 🍄|a_b & 50%\n72.5|70.5\n80|79\n64.25|66\n",
    "markup": TABLE.replace("ours", "<b>*ours*</b> {x} ~ ^ \\ #1"),
    "control characters": TABLE.replace("ours", "\x1b[31mours\u202e\x7f\U000e0001 \u200d"),
    "control characters in names": "method,task,accuracy\n"
    + "".join(f'"{m}",{t},{70 + i + 2 * t}\n' for i, m in enumerate(["a\tb", "a\x9bb", " a\u2028b\t"]) for t in (0, 1)),
    "ties of rounding": "a,b\n70.125,60\n70.125,60.5\n70.125,60\n70.125,60.5\n",
    "equal gaps": "a,b\n70,69\n80,79\n60,59\n50,49\n90,89\n30,29\n40,39\n75,74\n",
    "one method": "a\n70\n80\n60\n",
    "no method": "task,accuracy\n1,70\n2,72\n",
    "no method, no task": ",accuracy\n0,70\n1,72\n2,75\n",
    "queries": "task,query,a,b\n"
    + "".join(f"{t},{q},{(t + q) % 2},{int(q > t)}\n" for t in range(5) for q in range(4)),
    "data sets": "dataset,task,a,b,c\n"
    + "".join(f"d{s},{t},{60 + (7 * t + s) % 11},{61 + t % 5},{59 + t * t % 11}\n" for s in range(4) for t in range(8)),
}  # fmt: skip


@pytest.mark.parametrize("how", WRITTEN)
def test_text_is_read_however_it_is_written(lab, tmp_path, capsys, how):
    theirs, ours = by_command(tmp_path, capsys, WRITTEN[how]), lab(WRITTEN[how])
    assert "record" in theirs and differences(theirs, ours) == []


def fractional(given):
    """The texts with 50.5 for 50 and so on: whole numbers alone are asked about."""
    if isinstance(given, dict):
        return {key: fractional(value) for key, value in given.items()}
    return re.sub(r"(?<![\d.])([5-9]\d)(?![\d.%])", r"\1.5", given) if isinstance(given, str) else given


WRITTEN = fractional(WRITTEN)


def lines(*rows):
    return "\n".join(rows) + "\n"


SEVERAL = {
    "a method each": {
        "ours.csv": lines("accuracy", "72.5", "80", "64"),
        "maml.csv": lines("task,accuracy", "2,0.7", "0,0.61", "1,0.75"),
        "bare.txt": lines("score", "70.5", "79", "66"),
        "acc.tsv": lines("task\ttest_acc", "0\t60", "1\t71", "2\t68"),
    },
    "names of tasks beside numbers": {
        "a.csv": lines("task,accuracy", "0,72.5", "1,80"),
        "b.csv": lines("task,accuracy", "0,70", "x,80", "1,81"),
    },
    "a data set each": {f"{s}.csv": lines("ours,base", f"7{i},70", "80,79", f"6{i},66") for i, s in enumerate("bac")},
    "one name, two endings": {"ours.csv": lines("a", "72.5", "80"), "ours.txt": lines("b", "72.5", "81")},
    "named data sets": {
        "a.csv": lines("dataset,task,a", "d0,0,70", "d0,1,72", "d1,0,60", "d1,1,66"),
        "b.csv": lines("dataset,task,b", "d0,0,71", "d0,1,75", "d1,0,60", "d1,1,61"),
    },
    "runs": {f"{m}.csv": lines("run,task,accuracy", f"0,0,7{m}", "0,1,72", "1,0,60", "1,1,66") for m in range(3)},
    "queries": {f"{m}.csv": lines("task,query,accuracy", "0,0,1", f"0,1,{m}", "1,0,0", "1,1,1") for m in range(2)},
    "a summary that is left out": {"a.csv": lines("a,mean", "70,71", "72,73"), "b.csv": lines("b", "70", "71")},
    "a file that is left out": {"a.csv": lines("a", "70", "72"), "mean.csv": lines("mean", "70", "71")},
}
SEVERAL_BAD = {
    "a column in one": {"a.csv": lines("shots,a", "5,70", "5,72"), "b.csv": lines("b", "70", "71")},
    "sampling in one": {"a.csv": lines("sampling,a", "open,70", "open,72"), "b.csv": lines("b", "70", "71")},
    "runs in one": {"a.csv": lines("run,task,a", "1,0,70", "1,1,72"), "b.csv": lines("b", "70", "71")},
    "a task twice": {f"{n}.csv": lines("dataset,task,a", "d,0,70", "d,1,72") for n in "xy"},
    "other tasks": {"a.csv": lines("task,a", "0,70", "1,72"), "b.csv": lines("task,b", "0,70", "2,71")},
    "fewer tasks": {"a.csv": lines("a", "70", "72", "75"), "b.csv": lines("b", "70", "71")},
    "a value": {"a.csv": lines("a", "70", "72"), "b.csv": lines("b", "70", "171")},
    "nothing of it": {"a.csv": lines("mean", "70", "72"), "b.csv": lines("mean", "70", "71")},
    "no such name": {"a.csv": lines("a", "70", "72"), "b.csv": lines("b", "70", "71")},
}


MINI = lines("dataset,ours,base", "mini,72.5,70", "mini,80,79", "mini,64,66")
RUNS = {
    "of two methods": {
        f"{m}-seed{s}.csv": lines("acc", f"7{s}", "80", f"6{s}") for m in ("ours", "maml") for s in "01"
    },
    "of several methods": {f"seed{s}.csv": MINI.replace("2.5", s) for s in "013"},
    "of nothing else": {f"{s}.csv": lines("ours", f"7{s}", "80", f"6{s}") for s in range(3)},
    "of data sets": {f"{d} run_{s}.csv": lines("ours,base", f"7{s},70", "80,79") for d in "xy" for s in range(2)},
    "of weights": {
        f"{s}.csv": lines("backbone,learner,task,accuracy", f"conv4:w{s}.pt,lr,0,7{s}", f"conv4:w{s}.pt,lr,1,80")
        for s in "12"
    },
    "without numbers": {f"{s}.csv": MINI.replace("2.5", s) for s in "38"} | {"last.csv": MINI},
    "one a method too many": {f"ours{end}.csv": lines("acc", "71", "80") for end in ("-0", "-1", "seed 2", "4")},
    "one name, two endings": {f"a-0.{end}": lines("acc", "70", "72") for end in ("csv", "txt")},
    "a run twice": {f"{name}.csv": lines("acc", "70", "72") for name in ("a-0", "a_0")},
    "a run inside": {"a-0.csv": lines("Run,task,a", "1,0,70", "1,1,72"), "a-1.csv": lines("acc", "70", "72")},
    "one file": {"a-0.csv": lines("acc", "70", "72")},
}


RUNS, SEVERAL, SEVERAL_BAD = map(fractional, (RUNS, SEVERAL, SEVERAL_BAD))


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize("what", RUNS)
def test_files_that_are_training_runs_are_read_as_by_the_command(lab, tmp_path, capsys, what, runs):
    theirs, ours = by_command(tmp_path, capsys, RUNS[what], runs=runs), lab(RUNS[what], runs=runs)
    if "error" in theirs:
        assert theirs == ours and "run" in theirs["error"]
    else:
        assert differences(theirs, ours) == [] and not (runs and what == "one file")


@pytest.mark.parametrize("what", SEVERAL)
def test_several_files_give_the_report_of_the_command(lab, tmp_path, capsys, what):
    how = {"drop": ["mean"]} if "left out" in what else {"common": True} if "beside" in what else {}
    theirs = by_command(tmp_path, capsys, SEVERAL[what], **how)
    assert "record" in theirs and differences(theirs, lab(SEVERAL[what], **how)) == []


@pytest.mark.parametrize("what", SEVERAL_BAD)
def test_what_several_files_lack_is_told_as_by_the_command(lab, tmp_path, capsys, what):
    how = {"drop": ["mean"]} if "nothing" in what else {"drop": ["c"]} if "such" in what else {}
    theirs = by_command(tmp_path, capsys, SEVERAL_BAD[what], **how)
    assert "error" in theirs and theirs == lab(SEVERAL_BAD[what], **how)


def test_a_file_named_as_a_column(lab, tmp_path, capsys):
    theirs = by_command(tmp_path, capsys, "accuracy\n70.5\n72\n", "accuracy.csv")
    assert "record" in theirs and differences(theirs, lab("accuracy\n70.5\n72\n", "accuracy.csv")) == []


def test_blanks_and_tabs(lab, tmp_path, capsys):
    for name, text in (("t.txt", "ours base\n72.5 70.5\n80  79.5\n"), ("t.tsv", "ours\tbase\n72.5\t70.5\n80\t79.5\n")):
        separator = "blanks" if name == "t.txt" else "tab"
        assert differences(by_command(tmp_path, capsys, text, name, separator=separator), lab(text, name)) == []


BAD = {
    "nothing": "",
    "names alone": "a,b\n",
    "two columns of a name": "m0,m0\n70,71\n72,73\n",
    "two names shown as one": 'method,task,accuracy\n"a\tb",0,70\n"a\tb",1,72\n"a\\tb",0,60\n"a\\tb",1,61\n',
    "one name in two cases": "m0,Task,task\n70,0,1\n",
    "a truth value": "m0,m1\nTrue,70\nFalse,72\n",
    "a word": "m0,m1\n70,71\n72,n.a.\n",
    "beyond 100": "m0,m1\n70,71\n72,100.5\n",
    "below 0": "m0,m1\n70,71\n72,-1\n",
    "infinite": "m0,m1\n70,71\n72,inf\n",
    "a share that strayed in": "m0,m1\n70,71\n72,0.7\n",
    "single queries": "m0,m1\n1,0\n0,1\n1,1\n",
    "a query without a task": "query,m0,m1\n1,1,0\n2,0,1\n",
    "a query twice": "task,query,m0,m1\n1,1,1,0\n1,1,0,1\n",
    "a task twice": "task,m0,m1\n1,70,71\n1,72,73\n",
    "no task": "task,m0,m1\n,70,71\n1,72,73\n",
    "one task": "m0,m1\n70,71\n",
    "a column that counts": "m0,nr\n70,1.5\n72,2.5\n65,3.5\n",
    "an index that does not": "index,m0,m1\n5,70,71\n3,72,73\n8,60,61\n",
    "long without task": "method,accuracy\na,70\na,72\n",
    "long without method, of two": "task,accuracy\n1,70\n2,72\n1,71\n2,74\n",
    "wide with a learner": "learner,m0\nncc,70\nlr,72\n",
    "a method lacks tasks": "method,task,accuracy\na,1,70\na,2,71\nb,1,72\n",
    "a run lacks tasks": "method,run,task,accuracy\na,0,1,70\na,0,2,71\na,1,1,72\n",
    "no accuracies": "task\n1\n2\n",
    "ways in words": "ways,m0\nfive,70\nfive,72\n",
    "ways of 0": "ways,m0\n0,70\n0,72\n",
    "ways of 5.5": "ways,m0\n5.5,70\n5.5,72\n",
    "a sampling of its own": "sampling,m0\nopened,70\nopened,72\n",
    "a row of means": "m0,m1\n70,60\n72,63\n65,66\n81,71\n76,59\n64,70\n71.83,65.33\n",
    "a mean by name": "task,m0,m1\n0,70,60\n1,72,63\nmean,71,61.5\n",
    "a deviation beside its method": "ours,ours_std,base\n70,1.5,66\n72,1.6,61\n",
    "a method called nan": "method,task,accuracy\na,0,70\nnan,1,71\n",
    "a method of blanks": "method\ttask\taccuracy\na\t0\t70\n \t1\t71\n",
    "a data set of blanks": "dataset|task|a\nx|0|70\n \u00a0|1|71\n",
    "too many methods": ",".join(f"m{i}" for i in range(402)) + "\n" + (",".join(["70"] * 402) + "\n") * 2,
    "bad sampling of the file": "sampling,m0\nopen,70\nopen,72\n",
}  # fmt: skip


BAD = fractional(BAD)
ALONG = (
    *(
        "test_loss",
        "m1_err",
        "time_s",
        "Wall time",
        "epoch",
        "Step",
        "lr",
        "f1",
        "top5",
        "top-5",
        "top1",
        "top_5",
        "gpu1",
    ),
    *(
        "95% CI",
        "m1 ±",
        "m1 +/- std",
        "se",
        "SE-ResNet",
        "valLoss",
        "mAP",
        "k-NN",
        "zero-shot",
        "mean teacher",
        "m1__MAX",
    ),
    *(
        "Fé_se",
        "ß ± ß",
        "ÉpochStep",
        "5-way",
        "SHOT",
        "MAML5",
        "stdé",
        "x_std9",
        "laptop 5",
        "test-time training",
        "acc",
    ),
)
ASKED = {
    "counts": "a,b\n12,15\n40,31\n22,8\n17,9\n",
    "counts of one": "a,b\n12,15.5\n40,31\n22,8\n17,9\n",
    "counts that may be percent": "task,ways,queries,a,b\n0,5,4,15,20\n1,5,4,35,55\n2,5,4,40,65\n",
    "counts that are no percent": "task,ways,queries,a,b\n0,5,15,15,20\n1,5,15,35,55\n2,5,15,40,66\n",
    "blocks": "a,b\n" + "12.5,15.5\n40,31.5\n22,8\n" * 4,
    "each row twice": "a,b\n" + "".join(f"{x}.5,{2 * x}.25\n" * 2 for x in (12, 40, 31, 22, 8)),
    "constants": "a,b\n" + "12.5,15.5\n" * 9,
    "seeds": "seed,task,a\n" + "".join(f"{s},{t},{12.5 + 3 * t + s}\n" for s in (0, 1) for t in range(4)),
    "one seed": "seed,task,a\n" + "".join(f"3,{t},{12.5 + 3 * t}\n" for t in range(4)),
    "means": "a,b\n12.5,15.5\n40,31\n22,8\n17,9\n18.5,6.5\n22.00,14.00\n",
    "named means": "task,a,b\n0,12.5,15.5\n1,40,31\n2,22,8\n3,17,9\n4,18.5,6.5\n5,22.00,14.00\n",
}


@pytest.mark.parametrize("what", ASKED)
def test_what_is_asked_about_is_asked_by_the_page_with_the_same_line(lab, tmp_path, capsys, what):
    assert differences(by_command(tmp_path, capsys, ASKED[what]), lab(ASKED[what])) == []


def test_names_of_other_measures_are_known_from_names_of_methods(lab, tmp_path, capsys):
    said = []
    frame = pd.DataFrame({"m0": [70.5, 66, 71, 80.5, 59], "m1": [71.25, 60, 75, 83, 59]})
    for name in ALONG:
        text = frame.assign(**{name: [71.5, 64.25, 80, 66, 70.5]}).to_csv(index=False)
        theirs, ours = by_command(tmp_path, capsys, text), lab(text)
        assert differences(theirs, ours) == [], name
        said.append("error" in theirs)
    assert 15 < sum(said) < len(said) - 8


@pytest.mark.parametrize("what", BAD)
def test_bad_files_get_the_command_s_line(lab, tmp_path, capsys, what):
    how = {"sampling": "closed"} if "of the file" in what else {}
    theirs = by_command(tmp_path, capsys, BAD[what], **how)
    assert "error" in theirs and lab(BAD[what], **how) == theirs


def test_what_is_left_out_is_named_as_the_command_names_it(lab, tmp_path, capsys):
    text = "task,ours,base,Odd\n0,70.5,60.5,1.5\n1,72,63,9\nlast,65,66,3\n"
    for drop in (["Odd"], ["Odd", "last"], ["bace"], ["nothing like it"], ["ours", "base", "Odd"]):
        theirs = by_command(tmp_path, capsys, text, drop=drop)
        assert differences(theirs, lab(text, drop=drop)) == [], drop


# What a page answers otherwise, since there is no reader of such files in it, or since the words are Python's own.
OTHERWISE = {
    "t.parquet": (b"PAR1", ".csv, .tsv, .txt are read on this page"),
    "t.csv": (b"\xef\xbb\xbfa,b\n\xff,1\n", "t.csv cannot be read (it is not utf-8, as its first bytes say)"),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_a_page_cannot_read_is_an_error_in_one_line_too(lab, tmp_path, capsys, name):
    content, line = OTHERWISE[name]
    assert line in lab(content, name)["error"]
    assert by_command(tmp_path, capsys, content, name)["error"].startswith("results: ")


def test_a_name_that_is_no_table_s(lab, tmp_path, capsys):
    for name in ("mine.html", "mine"):
        assert lab("a,b\n", name) == by_command(tmp_path, capsys, "a,b\n", name)


def test_the_sentences_are_the_library_s(page):
    assert page.evaluate("fslLabs.compute.report.READING") == READING
    assert page.evaluate("fslLabs.compute.report.SAYS") == SAYS


def test_many_methods_are_grouped_as_the_library_groups_them(lab, tmp_path, capsys):
    """Fifteen twins that are told apart make more sets than can be named; forty methods in a row make over 26."""
    rng = np.random.default_rng(0)
    one = rng.normal(60, 10, (50, 15))
    twins = np.hstack([one, one + 0.5 + rng.normal(0, 0.1, one.shape)])
    row = rng.normal(60, 10, (80, 1)) + np.arange(40) / 4 + rng.normal(0, 0.3, (80, 40))
    for x, said in ((twins, "over 200 sets"), (row, "g3")):
        text = pd.DataFrame(x.clip(2, 100).round(3)).add_prefix("m").to_csv(index=False)
        ours, theirs = lab(text)["record"], by_command(tmp_path, capsys, text)["record"]
        assert [m["groups"] for m in ours["methods"]] == [m["groups"] for m in theirs["methods"]]
        assert ours["notes"] == theirs["notes"] and said in json.dumps(theirs)


# ---------------------------------------------------------------- the page


def says(page):
    return page.locator(".fsl-says").text_content()


def reported(page):
    page.locator(".fsl-report h3").first.wait_for()


def test_a_file_is_chosen_reported_and_saved_and_nothing_is_asked_for(page, tmp_path):
    evil = '<img src=x onerror="window.ran=1">'
    path = tmp_path / "<b>mine.csv"
    path.write_text(TABLE.replace("ours", f'"{evil.replace(chr(34), chr(34) * 2)}"'))
    before = len(page.asked)
    page.get_by_label("Drop a file here").set_input_files(path)
    reported(page)
    assert "of 3 pairs of methods are told apart" in says(page)
    assert evil in page.locator(".fsl-report").inner_text() and page.locator(".fsl-report img").count() == 0
    table, notes = report.read(path)
    pairs = report.comparisons(table)
    shown = page.locator(".fsl-report").inner_text()
    for cell in report.pair_list(table, pairs)["difference (points)"]:
        assert cell in shown
    assert all(note in shown for note in notes)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save this report").click()
    html = Path(download.value.path()).read_text("utf-8")
    assert "<script" not in html and "<img" not in html and "onerror" in html and "<button" not in html
    assert page.asked[before:] == [url for url in page.asked[before:] if url.startswith("blob:")]
    assert page.evaluate("window.ran") is None and page.faults == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_several_files_dropped_at_once_are_one_report(page, tmp_path):
    data = page.evaluate_handle(
        """files => { const data = new DataTransfer();
        for (const [name, text] of Object.entries(files)) data.items.add(new File([text], name));
        return data; }""",
        SEVERAL["a method each"],
    )
    page.dispatch_event(".fsl-drop", "drop", {"dataTransfer": data})
    reported(page)
    shown = page.locator(".fsl-report").inner_text()
    assert "of 6 pairs of methods are told apart" in says(page) and "they are one data set" in shown
    assert all(method in shown for method in ("ours", "maml", "bare", "acc"))
    with page.expect_download() as download:
        page.get_by_role("button", name="Save this report").click()
    assert download.value.suggested_filename == "report.html"
    assert "ours.csv and 3 more: report" in Path(download.value.path()).read_text("utf-8") and not page.faults


def test_a_table_is_pasted_and_settings_change_the_report(page):
    page.get_by_text("Paste a table instead").press("Enter")
    page.get_by_label("A line of names").fill("ours,base\n70.5,70.5\n71,69\n72,73\n66,64\n")
    page.get_by_role("button", name="Read it").press("Enter")
    reported(page)
    assert "0.95" in says(page) and "if tasks share no image" in page.locator(".fsl-report").inner_text()
    for sampling, said in (("unknown", "unknown"), ("closed", "closed"), ("open", None)):  # of what more tasks settle
        page.get_by_label("How tasks were drawn").select_option(sampling)
        page.wait_for_function(
            "text => document.querySelector('.fsl-report').innerText.includes(text)", arg=READING[sampling][:25]
        )
        shown = page.locator(".fsl-report").inner_text()
        assert [kind for kind, text in SETTLES.items() if text in shown] == ([said] if said else [])
    page.get_by_label("Largest difference").fill("3")
    page.get_by_label("Level of").fill("0.9")
    page.wait_for_function("document.querySelector('.fsl-says').textContent.includes('Holm\\'s correction, 0.9)')")
    shown = page.locator(".fsl-report").inner_text()
    assert "equivalent within 3 points" in shown and "speak of new images of these classes" in shown
    page.get_by_label("Level of").fill("95")
    page.wait_for_function("document.querySelector('.fsl-says').textContent.startsWith('level = 95')")
    assert page.locator(".fsl-report h3").count() == 0


def test_a_file_is_dropped_and_a_bad_one_is_told_in_one_line(page):
    drop = """text => {
      const of = new DataTransfer();
      of.items.add(new File([text], 'bad.csv'));
      const how = {dataTransfer: of, bubbles: true, cancelable: true};
      document.querySelector('.fsl-drop').dispatchEvent(new DragEvent('drop', how));
    }"""
    page.evaluate(drop, "m0,m1\n70,71\n72,n.a.\n")
    page.wait_for_function("document.querySelector('.fsl-says').textContent.startsWith('results: ')")
    assert says(page) == "results: m1 in row 2 of bad.csv is n.a.; a number is needed"
    page.evaluate(drop, TABLE)
    reported(page)
    assert page.locator(".fsl-says.fsl-wrong").count() == 0


def test_a_table_is_copied_as_the_command_writes_it(page, tmp_path):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Two methods, open tasks").click()
    reported(page)
    (tmp_path / "fashion.csv").write_text(lab_examples.examples()["fashion.csv"]["text"])
    table, _ = report.read(tmp_path / "fashion.csv", "open", decimal=",")
    report.write_tables(table, report.comparisons(table), tmp_path)
    for kind, ending in (("Markdown", "md"), ("LaTeX", "tex")):
        page.get_by_role("button", name=f"Copy as {kind}").first.click()
        page.get_by_text(f"Copied as {kind}.").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == (tmp_path / f"methods.{ending}").read_text()


def test_the_page_answers_while_it_compares_many(page):
    """Time goes to others between slices: a clock that runs beside ticks on."""
    rng = np.random.default_rng(0)
    text = pd.DataFrame(rng.normal(60, 9, (600, 80)).clip(2, 100).round(2)).add_prefix("m").to_csv(index=False)
    page.evaluate("window.ticks = 0; setInterval(() => { window.ticks += 1; }, 5)")
    page.get_by_text("Paste a table instead").click()
    page.get_by_label("A line of names").evaluate("(area, text) => { area.value = text; }", text)
    page.get_by_role("button", name="Read it").click()
    begun = page.evaluate("window.ticks")
    page.wait_for_selector(".fsl-report h3", timeout=60000)
    assert page.evaluate("window.ticks") - begun >= 10
    assert "The first 500 of 3,160 rows" in page.locator(".fsl-report").inner_text()


def test_every_example_is_of_the_stored_results_and_can_be_read(lab, tmp_path, capsys):
    assert (LABS / "report_examples.js").read_text("utf-8") == lab_examples.script()
    for name, of in lab_examples.examples().items():
        decimal = "," if "decimal commas" in of["title"] else "."
        theirs = by_command(tmp_path, capsys, of["text"], name, sampling=of["sampling"], decimal=decimal)
        assert len(theirs["record"]["pairs"]) >= 1
        assert differences(theirs, lab(of["text"], name, sampling=of["sampling"])) == []


def test_all_labs_together_are_small():
    assert sum(path.stat().st_size for path in LABS.rglob("*") if path.is_file()) < 1_000_000
