"""The lab that reports on a reader's file, in Chromium: its numbers are those of `fslcore report`, in ``golden``.

``python tests/site/test_labs_report.py`` writes ``golden`` again: files, and what Python concludes from each.
"""

import argparse
import base64
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fslbook.beyond import lab_examples
from fslcore.errors import InputError
from fslcore.tools import report
from fslcore.tools.cli import app
from fslcore.tools.report import questions

LABS = Path(__file__).resolve().parents[2] / "book" / "_static" / "labs"
GOLDEN = Path(__file__).resolve().parent / "golden"
SCRIPTS = ("labs.js", "report_read.js", "report_stats.js", "report_examples.js", "report.js")
OF_FILES = """given => given.map(([name, data]) => {
  const lab = fslLabs.compute.report;
  const read = lab.read({name, bytes: Uint8Array.from(atob(data), c => c.charCodeAt(0))});
  if (read.problems.length) return {problems: read.problems, options: read.options};
  const {methods, pairs, groups} = lab.conclude(read);
  const last = methods.at(-1).name, against = lab.conclude(read, last);
  const ends = (kind, {half, low, high}) => ({[kind]: half, [`${kind}_low`]: low, [`${kind}_high`]: high});
  return {
    intervals: methods.map(({name, mean, open, closed}) => ({
      method: name, mean, ...ends("new_images", open), ...ends("these_images", closed), tasks: read.tasks,
      few_errors: open.few || closed.few,
    })),
    pairs: pairs.map(({i, j, overlap, d, error, ...pair}) => pair),
    against: against.pairs.map(({i, j, overlap, d, error, ...pair}) => pair),
    groups: groups.map(of => of.map(i => methods[i].name)),
  };
})"""


# ---------------------------------------------------------------- what Python says


def concluded(path):
    """What `fslcore report` concludes from a file, as plain values."""
    table, _, _ = report.tables.read(path)
    found = report.Results(table)
    pairs = found.pairs
    ((_, groups),) = found.panels.values()
    kept = ["a", "b", "difference", "half_width", "p", "p_holm", "p_bh", "holm", "bh"]
    last = found.intervals.reset_index()["method"].iloc[-1]
    against = report.Results(table, reference=last).pairs[[*kept, "half_width_all", "p_all"]]
    return {
        "intervals": found.intervals.reset_index().drop(columns="setting").to_dict("records"),
        "pairs": pairs[kept].to_dict("records"),
        "against": against.to_dict("records"),  # of the method with the lowest mean
        "groups": groups,
    }


def _csv(x, digits=3, **how):
    frame = pd.DataFrame(np.clip(x, 0, 100).round(digits)).add_prefix("m")
    return frame.to_csv(index_label="task", lineterminator="\n", **how)


def golden_files():
    """By name: the examples of the page, and files at the edges of what it reads."""
    rng = np.random.default_rng(0)
    hard = rng.normal(60, 10, (80, 1))
    row = hard + np.arange(12) / 4 + rng.normal(0, 1, (80, 12))
    one = rng.normal(60, 10, (50, 8))
    twins = np.hstack([one, one + 0.5 + rng.normal(0, 0.1, one.shape)])
    errors = np.where(rng.random((40, 3)) < [0.02, 0.1, 0.98], 98.667, 100.0)
    edge = np.column_stack([np.full(40, 100.0), errors, np.zeros(40), hard[:40], hard[:40], hard[:40] + 1])
    near = 0.9 * hard[:30] + np.array([0, 1e-6, 0.002, 0.5]) * np.arange(30)[:, None]
    recipes = rng.normal(0.6, 0.1, (12, 3)).clip(0, 1)
    methods = ['"ours, best"', '"the ""base"""', "dritte Größe"]
    long = [f"{methods[m]}, t{t} ,{recipes[t, m]:.17g}" for t in rng.permutation(12) for m in rng.permutation(3)]
    return {name: of["text"] for name, of in lab_examples.examples().items()} | {
        "edge.csv": _csv(edge / 100, 5),
        "row.csv": _csv(row),
        "near.tsv": _csv(near, 12, sep="\t"),
        "quoted.csv": "\ufeff" + "\r\n".join(["Method,Task,Accuracy", *long]) + "\r\n\r\n",
        "single.txt": "task;ours\n0;7.05e1\n1;80.\n2;+66.25\n",
        "twins.csv": _csv(twins),
        "two.csv": "task,a,b\nx,0.5,0.25\ny,.75,0\n",
    }


def differences(theirs, ours, where=""):
    """Where two nested values differ, numbers by more than a billionth of them (and of what stands for 0)."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() == ours.keys():
        return [line for key in theirs for line in differences(theirs[key], ours[key], f"{where}/{key}")]
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return [line for i, (a, b) in enumerate(zip(theirs, ours)) for line in differences(a, b, f"{where}/{i}")]
    numbers = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in (theirs, ours))
    small = 1e-290 if "/p" in where.replace("/pairs", "") else 1e-12
    same = math.isclose(theirs, ours, rel_tol=1e-9, abs_tol=small) if numbers else theirs == ours
    return [] if same else [f"{where}: {theirs!r}, and in the page {ours!r}"]


# ---------------------------------------------------------------- the page


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
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.faults, page.asked = [], []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(address)
    yield page
    page.close()


@pytest.fixture(scope="module")
def lab(browser, address):
    """What the page makes of files, by name: their texts or bytes."""
    page = browser.new_page()
    page.goto(address)

    def call(files):
        data = [(n, c if isinstance(c, bytes) else c.encode()) for n, c in files.items()]
        return page.evaluate(OF_FILES, [[n, base64.b64encode(c).decode()] for n, c in data])

    yield call
    page.close()


# ---------------------------------------------------------------- the numbers


def test_golden_files_are_up_to_date():
    """``python tests/site/test_labs_report.py`` writes them again."""
    made = golden_files()
    assert sorted(p.name for p in GOLDEN.iterdir()) == sorted([*made, *(f"{name}.json" for name in made)])
    for name, text in made.items():
        assert (GOLDEN / name).read_bytes() == text.encode(), name
        assert differences(concluded(GOLDEN / name), json.loads((GOLDEN / f"{name}.json").read_text())) == [], name


def test_golden_files_hold_what_they_are_for():
    of = {name: json.loads((GOLDEN / f"{name}.json").read_text()) for name in golden_files()}
    assert of["twins.csv"]["groups"] == [] and len(of["row.csv"]["groups"]) > 2
    assert len({frozenset(group) for group in of["row.csv"]["groups"]}) < sum(map(len, of["row.csv"]["groups"]))
    assert any(r["few_errors"] for r in of["edge.csv"]["intervals"])
    assert {r["these_images"] for r in of["edge.csv"]["intervals"]} > {0.0}
    p = [pair["p"] for found in of.values() for pair in found["pairs"]]
    assert min(p) < 1e-60 and 1 in p and any(r["bh"] and not r["holm"] for r in of["row.csv"]["pairs"])


@pytest.mark.parametrize("name", golden_files())
def test_the_page_gives_the_numbers_of_golden_files(lab, name):
    (found,) = lab({name: (GOLDEN / name).read_bytes()})
    assert differences(json.loads((GOLDEN / f"{name}.json").read_text()), found) == []


# ---------------------------------------------------------------- what is not read


def lines(*rows):
    return "\n".join(rows) + "\n"


WIDE = "task,a,b\n1,0.5,0.75\n2,0.7,0.625\n3,0.6,0.85\n"
LONG = "method,task,accuracy\n" + lines("a,1,.5", "a,2,.7", "a,3,.62", "b,1,.4", "b,2,.65", "b,3,.61")
REFUSED = {  # file: what is said of it, after the file's name where it begins with that, and how the command reads it
    "nothing": ("", ["has no rows"], ""),
    "names alone": ("task,a,b\n", ["has no rows"], ""),
    "NUL": ("task,a\n1,\0", ["is not UTF-8; save it as UTF-8 (iconv -f UTF-16"], ""),
    "not UTF-8": (WIDE.replace("a", "é").encode("latin-1"), ["is not UTF-8; save it as UTF-8 (iconv -f WIN"], ""),
    "a comment": ("# late\n" + WIDE, ["begins with #, and comments are not read"], ""),
    "two separators": (WIDE.replace("b", "b;c", 1), ["the line of names of f.csv has more than one separator"], ""),
    "bars": (WIDE.replace(",", "|"), ["'|' separates the cells of f.csv"], ""),
    "an open quote": (WIDE.replace("0.7,", '"0.7,'), ["row 2 of f.csv has a quotation mark within a cell"], ""),
    "a quote within": (WIDE.replace("a,", 'a"x",', 1), ["the line of names of f.csv has a quotation mark"], ""),
    "a control character": (WIDE.replace(",a", ",a\u202e"), ["the line of names of f.csv has a control char"], ""),
    "no names": (WIDE.partition("\n")[2], ["the first line of f.csv has a number, 1, among", "has no column task"], ""),
    "a name twice": (WIDE.replace("b", "a", 1), ["has two columns a; each name may stand once"], ""),
    "Task and task": (WIDE.replace("b", "Task", 1), ["has two columns task; each name may stand once"], ""),
    "an empty line": (WIDE.replace("\n2", "\n\n2"), ["row 2 of f.csv, '', has 0 cells and the line of names"], ""),
    "a long row": (WIDE.replace("0.7,", "0.7,1,"), ["row 2 of f.csv, 2,0.7,1,0.625, has 4 cells and the"], ""),
    "names again": (
        WIDE + WIDE,
        ["row 4 of f.csv is its line of names again", "a in row 4 of f.csv is a; a number is needed", "method a of"],
        "",
    ),
    "no task": ("a,b\n0.5,0.75\n0.7,0.6\n", ["has no column task"], ""),
    "no method": ("task\n1\n2\n", ["has no column of accuracies"], ""),
    "long without method": ("task,accuracy\n1,0.5\n2,0.7\n", ["lacks method; method, task and accuracy"], ""),
    "long with a data set": (
        LONG.replace("\n", ",mini\n").replace("mini", "dataset", 1),
        ["column dataset of f.csv is read by the command alone"],
        "",
    ),
    "a seed": (
        LONG.replace("\n", ",0\n").replace(",0\n", ",seed\n", 1),
        ["column seed of f.csv; say what it numbers: --seed run"],
        "",
    ),
    "runs": (LONG.replace("\n", ",0\n").replace(",0\n", ",run\n", 1), ["column run of f.csv is read by"], ""),
    "more columns": (
        LONG.replace("\n", ",7\n").replace(",7\n", ",note,\n", 1),
        ["row 1 of f.csv, a,1,.5,7, has 4 cells and the line of names 5; write nan", "note,  of f.csv is none of"],
        "--drop note ''",
    ),
    "a note": (
        LONG.replace("\n", ",7\n").replace(",7\n", ",a note\n", 1),
        ["a note of f.csv is none of method, task and accuracy; leave it out (--drop 'a note')"],
        "--drop 'a note'",
    ),
    "an index": (
        "," + WIDE.replace("\n", "\n9,", 3),
        ["column '' of f.csv looks like an index, not a method; name it task, or leave it out (--drop '')"],
        "--drop ''",
    ),
    "a loss and a time": (
        lines("task,a,val_loss,TimeSec", "1,0.5,2.5,17", "2,0.625,2.4,18"),
        ["val_loss (loss, val), TimeSec (sec, time) of f.csv look like something else than accuracies; leave them out"],
        "--drop val_loss TimeSec",
    ),
    "a mean by name": (
        WIDE.replace("\n3,", "\nmean,"),
        ["task mean of f.csv looks like a summary of the others; leave it out (--drop mean)"],
        "--drop mean",
    ),
    "no name of a task": (WIDE.replace("\n2,", "\n,"), ["column task of f.csv is empty in row 2"], ""),
    "no name of a method": (LONG.replace("a,", ","), ["column method of f.csv is empty in row 1"], ""),
    "an empty cell": (WIDE.replace("0.7,", ","), ["a in row 2 of f.csv is empty; fill it"], ""),
    "decimal commas": (
        WIDE.replace(",", ";").replace(".", ","),
        ["a in row 1 of f.csv is 0,5; a number is needed (--decimal , if it has a decimal comma) (and 5 more like it)"],
        "--decimal ,",
    ),
    "percent signs": (WIDE.replace("0.7,", "70 %,"), ["a in row 2 of f.csv is 70 %; a number is needed, without"], ""),
    "a word": (WIDE.replace("0.7,", "n.a.,"), ["a in row 2 of f.csv is n.a.; a number is needed"], ""),
    "hexadecimal": (WIDE.replace("0.7,", "0x1,"), ["a in row 2 of f.csv is 0x1; a number is needed"], ""),
    "beyond 100": (
        WIDE.replace("0.7,", "100.5,"),
        [
            "a in row 2 of f.csv is 100.5; 0 to 1 (shares) or 0 to 100 (percent) is allowed",
            "a in row 1 of f.csv is 0.5, a share, while a in row 2 is 100.5, a percentage; one unit in a file is "
            "allowed (divide percentages by 100) (and 4 more like it)",
        ],
        "",
    ),
    "below 0": (WIDE.replace("0.7,", "-0.7,"), ["a in row 2 of f.csv is -0.7; 0 to 1 (shares) or 0 to 100"], ""),
    "two units": (WIDE.replace("0.7,", "70.5,"), ["a in row 1 of f.csv is 0.5, a share, while a in row 2 is 70.5"], ""),
    "queries": (lines("task,a,b", "1,0,1", "2,1,1", "3,0,0"), ["holds only 0 and 1, as single queries do"], ""),
    "counts": (
        lines("task,a,b", "1,51,70.5", "2,60,71.25", "3,49,72"),
        ["a of f.csv has whole numbers alone, as counts of right answers are; say what a full score is (--out-of 100"],
        "",
    ),
    "a column that counts": (
        lines("task,a,b", "1,51.5,70.5", "2,52.5,71.25", "3,53.5,72"),
        ["column a of f.csv counts the rows; name it task, or leave it out (--drop a)"],
        "--drop a",
    ),
    "copies": (
        lines("task,a", *(f"{t},0.{'357'[t % 3]}" for t in range(9))),
        ["6 of 9 accuracies of f.csv repeat those above them, task by task; say what they are: --repeats copies"],
        "",
    ),
    "each row thrice": (
        lines("task,a", *(f"{t},0.{'3572'[t // 3]}" for t in range(12))),
        ["8 of 12 accuracies of f.csv repeat those above them"],
        "",
    ),
    "a task twice": (WIDE.replace("\n2,", "\n1.0,"), ["method a of f.csv has task 1.0 twice (rows 1 and 2) (a"], ""),
    "a task less": (
        LONG.replace("b,2,.65\n", ""),
        ["method b of f.csv lacks 1 of 3 tasks (the first: 2); bring the same tasks for every method"],
        "",
    ),
    "one task": ("task,a,b\n1,0.5,0.75\n", ["f.csv: 1 task for every method; it needs 2 or more"], ""),
    "many methods": (
        lines(",".join(["task", *(f"m{i}" for i in range(41))]), *(f"{t}" + f",0.{t}5" * 41 for t in range(3))),
        ["has 41 methods; up to 40 are compared on this page"],
        "",
    ),
    "several": (
        lines("task,a,epoch,seed", "1,50.5,1,0", "2,0.7,2,0", "1,60%,3,0"),
        ["column seed", "epoch (epoch)", "a in row 3 of f.csv is 60%", "a in row 2 of f.csv is 0.7, a", "method a"],
        "--drop epoch",
    ),
}  # fmt: skip


def test_what_is_not_the_declared_format_is_refused_with_all_its_problems(lab):
    found = [*lab({f"{name}/f.csv": text for name, (text, *_) in REFUSED.items()})]
    for (name, (_, starts, options)), answer in zip(REFUSED.items(), found):
        problems = [problem.replace(f"{name}/", "").removeprefix("f.csv ") for problem in answer["problems"]]
        assert len(problems) == len(starts), (name, problems)
        assert all(p.startswith(start) for p, start in zip(problems, starts)), (name, problems)
        assert all("\n" not in p for p in problems)
        assert " ".join(answer["options"]) == options, name


def said(path):
    """What the command says of a file that it refuses, without its folder; else None."""
    try:
        report.tables.read(path)
    except InputError as error:
        return str(error).removeprefix("results: ")
    return None


OWN_WORDS = {  # the page's: it alone refuses the file, or names a problem more, or the file in place of its data set
    *("bars", "an open quote", "a quote within", "a control character", "no names", "Task and task", "names again"),
    *(
        "no task",
        "no method",
        "long without method",
        "long with a data set",
        "a seed",
        "runs",
        "more columns",
        "a note",
    ),
    *("an index", "a task twice", "a task less", "one task", "many methods", "several"),
}


def test_other_refusals_have_the_words_of_the_command(lab, tmp_path):
    for name in REFUSED.keys() - OWN_WORDS:
        text = REFUSED[name][0]
        (tmp_path / "f.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
        problems = lab({"f.csv": text})[0]["problems"]
        several = f"{len(problems)} problems: " + "; ".join(f"({i}) {of}" for i, of in enumerate(problems, 1))
        assert said(tmp_path / "f.csv") == (problems[0] if len(problems) == 1 else several), name


def test_options_of_printed_commands_are_the_command_s():
    known = {option for action in _options() for option in action.option_strings}
    text = (LABS / "report_read.js").read_text("utf-8") + (LABS / "report.js").read_text("utf-8")
    told = {option.rstrip("-") for option in re.findall(r"--[a-z]+(?:-[a-z]+)*", text)}
    assert told - known == set() and len(told) >= 8


def _options():
    (commands,) = (a for a in app._parser()._actions if isinstance(a, argparse._SubParsersAction))
    return commands.choices["report"]._actions


def test_files_of_other_kinds_are_refused_by_their_names(lab):
    found = lab({"mine.parquet": b"PAR1", "mine": WIDE, "big.csv": WIDE + "4,0.5,0.5\n" * 2_000_001})
    refused = [answer["problems"] for answer in found]
    assert refused[:2] == [[f"{name}; .csv, .tsv, .txt are read on this page"] for name in ("mine.parquet", "mine")]
    assert refused[2] == ["big.csv has over 20 MB, and this page reads no more"]


NAMED = (
    *("ours", "k-NN", "SHOT", "zero-shot", "triplet", "MAML++"),
    *("LR-free", "SE-ResNet", "test-time adaptation"),
    *(
        "error",
        "top-5 acc",
        "ours_err",
        "test_loss",
        "valLoss",
        "nll",
        "ECE",
        "std",
        "m1_se",
        "ours ± std",
        "wall time",
        "time_s",
    ),
    *(
        "epoch",
        "step",
        "lr",
        "f1",
        "F1-score",
        "auc",
        "AUROC",
        "top5",
        "kappa",
        "gpu_mem",
        "mean",
        "ci95",
        "wer",
        "gap",
    ),
)


def test_names_are_refused_where_the_command_refuses_them(lab, tmp_path):
    named = [*NAMED, *(f"a {word}" for word in sorted(questions.OTHER))]
    texts = {f"{i}/f.csv": WIDE.replace("b", name, 1) for i, name in enumerate(named)}
    for name, text, answer in zip(named, texts.values(), lab(texts)):
        (tmp_path / "f.csv").write_text(text)
        assert ("problems" in answer) == (said(tmp_path / "f.csv") is not None), name
        assert ("problems" in answer) == (name not in NAMED[:6]), name


def changed(rng):
    """A file of the declared format, with none to three changes that people's files have."""
    tasks, methods, digits = int(rng.integers(2, 40)), int(rng.integers(1, 6)), int(rng.choice([2, 4, 6, 16]))
    x = (rng.normal(0.6, 0.15, (tasks, 1)) + rng.normal(0, 0.05, (tasks, methods))).clip(0.02, 1)
    frame = pd.DataFrame(x.round(digits)).add_prefix("m").rename_axis("task").reset_index()
    changes = {
        "percent": lambda f: f.assign(**(100 * f.filter(like="m")).round(digits)),
        "one percent": lambda f: f.assign(m0=(100 * f["m0"]).round(digits)),
        "tasks": lambda f: f.assign(task=[f"t{t}" for t in f["task"]]),
        "a task twice": lambda f: pd.concat([f, f.iloc[:1]]),
        "order": lambda f: f.sample(frac=1, random_state=int(rng.integers(99))),
        "a gap": lambda f: f.mask((f == f.iloc[0, -1]) & (f.columns == f.columns[-1])),
        "queries": lambda f: f.assign(**(f.filter(like="m") > 0.5).astype(int)),
        "constant": lambda f: f.assign(m0=0.5),
        "a name": lambda f: f.rename(columns={"m0": str(rng.choice(["Best, ours", 'a"b', " x ", "loss", "seed"]))}),
        "no task": lambda f: f.drop(columns="task"),
    }
    chosen = rng.choice([*changes], int(rng.integers(0, 4)), replace=False)
    for name in [name for name in changes if name in chosen]:
        frame = changes[name](frame)
    if "task" in frame and rng.random() < 0.4:
        frame = frame.melt("task", var_name="method", value_name="accuracy").dropna()
        frame = frame.sample(frac=float(rng.choice([1, 1, 0.9])), random_state=1)
    sep = str(rng.choice([",", ",", ";", "\t"]))
    text = frame.to_csv(index=bool(rng.random() < 0.1), sep=sep, decimal=str(rng.choice([".", ".", ".", ","])))
    return text.replace("\n", "\r\n" if rng.random() < 0.3 else "\n")


def test_what_the_page_reads_the_command_reads_and_finds_the_same(lab, tmp_path):
    rng = np.random.default_rng(3)
    texts = {f"f{i}.csv": changed(rng) for i in range(150)}
    read = 0
    for (name, text), ours in zip(texts.items(), lab(texts)):
        if "problems" not in ours:
            (tmp_path / name).write_bytes(text.encode())
            assert differences(concluded(tmp_path / name), ours) == [], text
            read += 1
    assert 40 < read < 110


# ---------------------------------------------------------------- the page


def says(page):
    return page.locator(".fsl-says").text_content()


def drop(page, files):
    data = page.evaluate_handle(
        """files => { const data = new DataTransfer();
        for (const [name, text] of Object.entries(files)) data.items.add(new File([text], name));
        return data; }""",
        files,
    )
    page.dispatch_event(".fsl-drop", "drop", {"dataTransfer": data})
    page.wait_for_function("document.querySelector('.fsl-report pre')")


def test_a_file_is_chosen_and_reported_and_nothing_is_asked_for(page, tmp_path):
    evil = '<img src=x onerror="window.ran=1">'
    path = tmp_path / "<b>mine.csv"
    path.write_text(WIDE.replace(",a", f',"{evil.replace(chr(34), chr(34) * 2)}"'))
    before = len(page.asked)
    page.get_by_label("Drop a file here").set_input_files(path)
    page.locator(".fsl-report h3").first.wait_for()
    assert says(page) == (
        "0 of 1 pairs of methods differ significantly (paired t-tests, Holm's correction, 5 % level)."
    )
    shown = page.locator(".fsl-report").inner_text()
    assert evil in shown and page.locator(".fsl-report img").count() == 0
    assert "3 tasks, 2 methods; values are read as shares" in shown and "no significant difference" in shown
    assert "fslcore report '<b>mine.csv'" in shown and "pip install '.[report]'" in shown
    assert page.asked[before:] == [] and page.evaluate("window.ran") is None and page.faults == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_tables_groups_and_a_conclusion_for_each_pair(page):
    page.get_by_role("button", name="Eight methods").press("Enter")
    page.locator(".fsl-report h3").first.wait_for()
    wanted = json.loads((GOLDEN / "clipart.csv.json").read_text())
    methods, pairs = (
        [[cell.inner_text() for cell in row.locator("th, td").all()] for row in table.locator("tbody tr").all()]
        for table in page.locator(".fsl-report table").all()
    )
    letters = [" ".join(c for c, of in zip("abcdefgh", wanted["groups"]) if row[0] in of) for row in methods]
    assert [row[3] for row in methods] == letters
    assert [row[:2] for row in methods] == [
        [r["method"], f"{r['mean']:.2f} ± {r['these_images']:.2f}"] for r in wanted["intervals"]
    ]
    ends = {r["method"]: (r["these_images_low"], r["these_images_high"]) for r in wanted["intervals"]}
    for row, of in zip(pairs, wanted["pairs"], strict=True):
        assert row[1] == f"{of['difference']:.2f} ± {of['half_width']:.2f}"
        assert row[2:] == ["< 0.0001" if p < 1e-4 else f"{p:.4f}" for p in (of["p"], of["p_holm"], of["p_bh"])]
        overlap = ends[of["a"]][0] <= ends[of["b"]][1]
        if of["holm"]:
            said = f"{of['a']} is more accurate than {of['b']}" + ", although their intervals overlap" * overlap
        elif of["bh"]:
            said = f"{of['a']} is more accurate than {of['b']} by Benjamini and Hochberg's correction, not by Holm's"
        else:
            said = f"{of['a']} and {of['b']}: no significant difference" + " after correction" * (of["p"] < 0.05)
            said += ", although their intervals do not overlap" * (not overlap)
        assert row[0] == said
    assert len({(of["holm"], of["bh"], of["p"] < 0.05) for of in wanted["pairs"]}) >= 3
    assert says(page).startswith(f"{sum(of['holm'] for of in wanted['pairs'])} of {len(pairs)} pairs")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_one_method_is_compared_with_the_others(page):
    page.get_by_role("button", name="Eight methods").click()
    wanted = json.loads((GOLDEN / "clipart.csv.json").read_text())
    choice = page.get_by_label("Compare")
    options = choice.locator("option").all_inner_texts()
    assert options[0] == "every two methods" and len(options) == 9
    last = wanted["intervals"][-1]["method"]
    choice.select_option(label=f"{last} with each other method")
    methods, pairs = page.locator(".fsl-report table").all()
    rows = [[c.inner_text() for c in row.locator("th, td").all()] for row in pairs.locator("tbody tr").all()]
    assert [row[5:] for row in rows] == [
        [f"± {of['half_width_all']:.2f}", "< 0.0001" if of["p_all"] < 1e-4 else f"{of['p_all']:.4f}"]
        for of in wanted["against"]
    ]
    marks = [row.locator("th, td").last.inner_text() for row in methods.locator("tbody tr").all()]
    assert marks == [*("▲" if of["holm"] else "△" if of["bh"] else "○" for of in wanted["against"]), "—"]
    below = sum(of["holm"] for of in wanted["against"])
    assert says(page).startswith(f"{last} is significantly more accurate than 0 and less than {below} of 7 others")
    assert f"--reference '{last}'" in page.locator(".fsl-report pre").inner_text()
    choice.select_option("every")
    assert "28 pairs of methods differ" in says(page) and page.faults == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_bad_file_gets_one_line_and_the_command(page):
    drop(page, {"bad file.csv": "task;a;epoch\n1;0,5;1\n2;0,7;2\n"})
    assert says(page).startswith("2 problems: (1) epoch (epoch) of bad file.csv looks like") and "\n" not in says(page)
    assert page.locator(".fsl-says.fsl-wrong").count() == 1
    assert page.locator(".fsl-report pre").inner_text().splitlines() == [
        "pip install '.[report]'  # once, in a copy of the repository",
        "fslcore report 'bad file.csv' --drop epoch --decimal ,",
    ]
    drop(page, {"a.csv": WIDE, "b.csv": WIDE})
    assert says(page) == "2 files were given; this page reads one"
    assert page.locator(".fsl-report pre").inner_text().endswith("fslcore report a.csv b.csv")
    drop(page, {"a.csv": WIDE})
    page.locator(".fsl-report h3").first.wait_for()
    assert page.locator(".fsl-says.fsl-wrong").count() == 0 and page.faults == []


def test_a_table_is_pasted_by_keyboard(page):
    page.get_by_text("Paste a table instead").press("Enter")
    page.get_by_label("A line of names").fill("task,ours\n1,70.5\n2,71.25\n")
    page.get_by_role("button", name="Read it").press("Enter")
    page.locator(".fsl-report h3").first.wait_for()
    assert says(page) == "One method: there is nothing to compare it with."
    assert page.locator(".fsl-report table").count() == 1


def test_every_example_is_of_the_stored_results_and_can_be_read(page):
    assert (LABS / "report_examples.js").read_text("utf-8") == lab_examples.script()
    for of in lab_examples.examples().values():
        page.get_by_role("button", name=of["title"]).click()
        page.locator(".fsl-report h3").first.wait_for()
        assert "pairs of methods differ significantly" in says(page)


def test_all_labs_together_are_small():
    files = [path for path in LABS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 1_000_000
    scripts = [path for path in files if path.suffix == ".js"]
    assert sum(len(path.read_text("utf-8").splitlines()) for path in scripts) <= 2700  # what is there to be maintained


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, text in golden_files().items():
        (GOLDEN / name).write_bytes(text.encode())
        made = json.dumps(concluded(GOLDEN / name), indent=1) + "\n"
        (GOLDEN / f"{name}.json").write_text(made)
        print(GOLDEN / name, len(made), file=sys.stderr)
