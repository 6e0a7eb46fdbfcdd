"""The command line: what it runs, and the one line it says about bad input."""

import argparse
import errno
import io
import json
import os
import pickle
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
import torch

from fslbook import notebooks
from fslbook import notebooks as chapters
from fslbook.paths import PROFILES
from fslcore import datasets, recorder, store
from fslcore.cli import app, commands, options
from fslcore.datasets.bank import load_features
from fslcore.errors import InputError, note
from fslcore.evaluation import three_targets
from fslcore.paths import _HOST, ROOT, check_folder, check_output, replace_file, scratch
from fslcore.report import Results

NOTEBOOK = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A small notebook

```{code-cell} ipython3
:tags: [parameters]

shots: int = 5  # 1..100: labelled images per class
rate: float = 0.5  # 0..1: a share
kind: str = "closed"  # closed|open: sampling
sets: list[str] = ["clipart"]  # dataset: test sets
folds: int = 5  # 2|5|10: a choice among numbers
fast: bool = False  # True|False: a truth value
where: str = ""  # folder: some files
more: list[str] = ["glyph-conv"]  # backbone or none: others
```

```{code-cell} ipython3
import numpy as np
from fslcore.tasks import sample_closed
tasks = sample_closed(np.repeat(np.arange(6), 30), tasks=3, shots=shots)
print("shots", tasks.support.shape[1] // 5, "of", sets)
```
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    (tmp_path / "nb").mkdir()
    (tmp_path / "nb" / "small.md").write_text(NOTEBOOK)
    (tmp_path / "profile.yml").write_text("small: {rate: 0.25}\n")
    monkeypatch.setattr(notebooks, "NOTEBOOKS", tmp_path / "nb")
    return ["run", "small", "--profile", str(tmp_path / "profile.yml"), "-o", str(tmp_path / "out.ipynb")]


def printed(notebook):
    cells = nbformat.read(notebook, 4).cells
    return "".join(o.get("text", "") for c in cells if c.cell_type == "code" for o in c.outputs)


def test_run_executes_with_the_given_parameters(small, tmp_path):
    assert app.main([*small, "-p", "shots", "7", "-p", "folds", "10", "-p", "fast", "true"]) == 0
    assert "shots 7" in printed(tmp_path / "out.ipynb")


def test_one_value_where_a_list_is_meant_is_the_list_of_it(small, tmp_path):
    assert app.main([*small, "-p", "sets", "fashion"]) == 0
    assert "of ['fashion']" in printed(tmp_path / "out.ipynb")


def test_a_notebook_that_can_skip_small_classes_says_how(small, tmp_path, capfd):
    """Others do not advise an option that `run` has not: see above."""
    able = NOTEBOOK.replace("rate: float", "skip_small_classes: bool = False  # True|False: smaller ones\nrate: float")
    (tmp_path / "nb" / "small.md").write_text(able)
    assert app.main([*small, "-p", "shots", "40"]) == 2
    assert "30 images (lower them, or skip small classes: -p skip_small_classes true)" in capfd.readouterr().err


def test_a_list_may_be_empty_where_the_notebook_says_so():
    """Its other lists are refused below."""
    assert chapters.check("selection", {"image_methods": []}) == {"image_methods": []}


@pytest.mark.parametrize(
    "given, message",
    [
        (
            ["-p", "shot", "1"],
            "parameter shot: small takes shots, rate, kind, sets, folds, fast, where, more (did you mean shots?)",
        ),
        (["-p", "shots", "many"], "parameter shots = 'many'; int is needed"),
        (["-p", "shots", "2.5"], "parameter shots = 2.5; int is needed"),
        (["-p", "shots", "true"], "parameter shots = True; int is needed"),
        (["-p", "shots", "0"], "parameter shots = 0; 1..100 is allowed"),
        (["-p", "rate", "1.5"], "parameter rate = 1.5; 0..1 is allowed"),
        (["-p", "folds", "3"], "parameter folds = 3; 2, 5, 10 are allowed"),
        (["-p", "fast", "1"], "parameter fast = 1; bool is needed"),
        (["-p", "rate", ".nan"], "parameter rate = nan; 0..1 is allowed"),
        (["-p", "kind", "opened"], "parameter kind = opened; closed, open are allowed (did you mean open?)"),
        (["-p", "where", "/none"], "parameter where = /none; there is no such folder"),
        (["-p", "where", "/etc/passwd"], "parameter where = /etc/passwd; this is a file, a folder is needed"),
        (["-p", "sets", "{clipart: 1}"], "parameter sets = {'clipart': 1}; a list of str is allowed, such as "),
        (["-p", "sets", "[]"], "parameter sets = []; a list of str, not an empty one, is allowed, such as "),
        (["-p", "sets", "clipard"], "dataset = clipard; known are clipart"),
        (["-p", "sets", "[clipard]"], "dataset = clipard; known are clipart"),
        (["-p", "sets", "['folder:/none']"], "no folder /none"),
        (["-p", "shots", "40"], "small: shots + queries = 55; class 0 has 30 images (lower them)"),
    ],
)
def test_bad_parameters_are_told_in_one_line(small, tmp_path, capfd, given, message):
    assert app.main([*small, *given]) == 2
    error = capfd.readouterr().err.strip()
    assert message in error and error.startswith("fslcore: ") and "\n" not in error
    assert not (tmp_path / "out.ipynb").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["nb", "profile.yml"]


def test_unknown_notebook(small, capsys):
    assert app.main(["run", "smal", *small[2:]]) == 2
    assert "did you mean small?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text, message",
    [
        (None, "profile: no file "),
        (
            "small: {rate: [1",
            "profile.yml; not a YAML value: expected ',' or ']', but got '<stream end>' (line 1, column ",
        ),
        ("small:\n\trate: 1", "found character '\\t' that cannot start any token (line 2, column 1)"),
        (b"\x89PNG\r\n\x1a\n\x00", "profile.yml is not UTF-8 text"),
        ("a: \x00", "profile.yml; not a YAML value: unacceptable character #x0000: special"),
        ("- small", "holds ['small']; notebooks with their parameters are needed"),
        ("small", "holds small; notebooks with their parameters are needed"),
        ("small: 3", "small has 3; parameters with their values are needed"),
        ("smal: {rate: 1}", "notebook = smal; small is allowed (did you mean small?)"),
        ("1: {rate: 1}", "notebook = 1; small is allowed"),
        ("small: {rat: 1}", "parameter rat: small takes"),
        ("small: {rate: 2}", "parameter rate = 2; 0..1 is allowed"),
        ("small: {rate: 2001-13-01}", "not a YAML value: month must be in 1..12"),
        ("[" * 3000, "profile.yml; nested too deeply"),
    ],
)
def test_bad_profiles_are_told_in_one_line(small, tmp_path, capsys, text, message):
    path = tmp_path / "profile.yml"
    path.unlink()
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert app.main(small) == 2
    error = capsys.readouterr().err
    assert message in error and error.startswith("fslcore: ") and error.count("\n") == 1
    assert not (tmp_path / "out.ipynb").exists()


@pytest.mark.parametrize("name", ["large.yml", "profiles/large.yml"])
def test_a_profile_that_ships_goes_by_its_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    profile = notebooks.profile(name)
    assert profile == notebooks.profile(PROFILES / "large.yml")
    assert profile["selection"]["features"] == "clip-b32"  # the evaluators' paper, of which the chapter is
    (tmp_path / "profiles").mkdir()
    (tmp_path / name).write_text("planning: {seed: 7}")  # a file of the user's comes first
    assert notebooks.profile(name) == {"planning": {"seed": 7}}
    with pytest.raises(
        InputError,
        match=r"no file lorge.yml; evaluators.yml, .* oops.yml, quick.yml ship .* \(did you mean large.yml\?\)",
    ):
        notebooks.profile("lorge.yml")


def test_a_profile_that_is_a_folder_and_one_that_is_empty(small, tmp_path, capsys):
    assert app.main([*small, "--profile", str(tmp_path)]) == 2
    assert f"profile: {tmp_path} is a folder, a file is needed" in capsys.readouterr().err
    (tmp_path / "profile.yml").write_text("# nothing\n")
    assert chapters.profile(tmp_path / "profile.yml") == {}


def test_a_notebook_whose_process_ends_or_fails_is_told_in_one_line(small, tmp_path, capsys):
    book = tmp_path / "nb" / "small.md"
    for code, message in [
        ("import os; os._exit(1)", "not enough memory (small: its process was killed"),
        ("open('/none/x')", "fslcore: small: [Errno 2] No such file or directory: '/none/x'"),
        ("1 / 0", "a fault of fslcore: RuntimeError: small: ZeroDivisionError: division by zero; "),
    ]:
        book.write_text(NOTEBOOK.replace("import numpy as np", code))
        assert app.main(small) == (1 if "1 / 0" in code else 2)
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1 and not (tmp_path / "out.ipynb").exists()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--ways", "8"], "ways = 8; the data have 7 classes"),
        (["--shots", "30", "--queries", "31"], "shots + queries = 61; class 0 has 60 images"),
        (["--tasks", "1"], "tasks = 1; a whole number of at least 2"),
        (["--learners", "svm"], "learner = svm"),
        (["--seed", "-1"], "seed = -1"),
        (["-o", "table.txt"], "table.txt; a name ending in .parquet or .csv or .npz is allowed"),
    ],
)
def test_evaluate(tmp_path, capsys, arguments, message):
    rng, labels = np.random.default_rng(0), np.arange(7).repeat(60)
    np.savez(tmp_path / "f.npz", features=rng.normal(size=(420, 8)), labels=labels)
    command = ["evaluate", f"features:{tmp_path}/f.npz", "none", "-o", str(tmp_path / "t.csv")]
    assert app.main([*command, *arguments]) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "t.csv").exists()
    assert app.main([*command, "--tasks", "5"]) == 0
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 1 + 2 * (5 + 4)
    capsys.readouterr()
    assert app.main([*command, "--tasks", "40", "--intervals"]) == 0
    out = capsys.readouterr().out
    assert "new images" in out and "new classes" in out and "none LR" in out


def test_evaluate_writes_a_recording_whose_report_has_three_intervals(tmp_path, capsys, own_cache):
    rng, labels = np.random.default_rng(0), np.arange(7).repeat(60)
    x = rng.normal(size=(420, 8)) + rng.normal(size=(7, 8))[labels]
    np.savez(tmp_path / "f.npz", features=x, labels=labels)
    command = ["evaluate", f"features:{tmp_path}/f.npz", "none", "--tasks", "60", "--shots", "2", "--json", "--quiet"]
    command += ["--learners", "ncc", "lr", "opta", "--intervals", "--level", "0.8"]
    table, path = tmp_path / "t.csv", tmp_path / "r.npz"
    printed = {}
    for file in (table, path):
        assert app.main([*command, "-o", str(file)]) == 0
        printed[file] = json.loads(capsys.readouterr().out)
    assert printed[path]["intervals"] == printed[table]["intervals"]
    assert [row["sampling"] for row in printed[path]["means"]] == ["closed"] * 3  # without being asked
    methods = Results.read(path, level=0.8).methods.set_index(["target", "method"])
    for row, name in zip(printed[path]["intervals"], ("ncc", "lr", "opta")):
        for kind, target in three_targets.TARGETS.items():
            theirs = row["result"][kind]
            if theirs["half_width"] is not None:
                ours = methods.loc[(target, f"none {name}")]
                assert theirs["level"] == 0.8 and ours["mean"] == pytest.approx(theirs["mean"])
                assert ours["half_width"] == pytest.approx(theirs["half_width"])
    assert recorder.load(path).transductive == {"none ncc": False, "none lr": False, "none opta": True}
    closed = pd.read_csv(table).query("sampling == 'closed'").groupby("learner")["accuracy"].mean()
    means = methods.xs("these images")["mean"]
    assert means.to_dict() == pytest.approx({f"none {name}": mean for name, mean in closed.items()})
    before = path.read_bytes()
    for more, words in (
        (["--learners", "ncc"], "it is a recording of none lr, which would be lost"),
        (["--samplings", "closed", "open"], "samplings: closed and open; .npz holds tasks of one"),
        (["--apart", "g.csv"], "--apart: not with .npz"),
    ):
        assert app.main([*command, *more, "-o", str(path)]) == 2
        assert words in capsys.readouterr().err and path.read_bytes() == before
    assert app.main([part for part in command if part != "--intervals"] + ["-o", str(table)]) == 2
    assert "--level 0.8: only with --intervals" in capsys.readouterr().err


# Told before torch is imported: {t} is a folder with the file f.npz, which is not read either.
EVALUATE = "evaluate features:{t}/f.npz none -o {t}/t.csv"
BAD = [
    ("", "the following arguments are required: COMMAND"),
    ("evalute", "command = evalute; list, run, plan-run, report"),
    ("evalute", "(did you mean evaluate?)"),
    ("lst", "(did you mean list?)"),
    ("list extra", "name = extra; notebooks, datasets, backbones"),
    ("list closed-v-open", "(did you mean closed-vs-open?)"),
    ("list ncc extra", "name = ncc; notebooks, datasets"),
    ("list learners extra", "extra: no such argument"),
    ("list --jsn", "--jsn: no such argument (did you mean --json?)"),
    ("evaluate", "required: dataset, backbone; see fslcore evaluate --help"),
    ("evaluate features:{t}/f.npz none", "output: none; -o FILE.csv, FILE.parquet or FILE.npz is needed (or --"),
    ("evaluate clipard glyph-conv -o {t}/t.csv", "(did you mean clipart?)"),
    ("evaluate folder:{t}/none glyph-conv -o {t}/t.csv", "dataset: no folder {t}/none"),
    ("evaluate features:{t}/none.npz none -o {t}/t.csv", "features: no file {t}/none.npz"),
    ("evaluate clipart glif-conv -o {t}/t.csv", "one of 140 names is allowed (did you mean glyph-conv?)"),
    ("evaluate clipart none -o {t}/t.csv", "backbone = none; "),
    (EVALUATE + " --lerners ncc", "--lerners: no such argument (did you mean --learners?)"),
    (EVALUATE + " --learners nc", "learner = nc; "),
    (EVALUATE + " --learners nc", "one of 25 names is allowed (did you mean ncc?)"),
    (EVALUATE + " --learners", "argument --learners: expected at least one argument"),
    (EVALUATE + " --learners ncc ncc", "learners = ncc ncc; ncc is allowed once"),
    (EVALUATE + " --samplings closed closed", "samplings = closed closed; closed is allowed once"),
    (EVALUATE + " --samplings opened", "sampling = opened; closed, open are allowed (did you mean open?)"),
    *(
        (EVALUATE + f" --{name} {value}", f"{name} = {value}; a whole number of at least {least} is allowed")
        for name, least in (("ways", 2), ("shots", 1), ("queries", 1), ("tasks", 2), ("ft-tasks", 2), ("ft-open", 2))
        for value in (least - 1, -5, "five", 2.5, "1e3", "nan")
    ),
    (EVALUATE + " --seed -1", "seed = -1; a whole number from 0 to 9,007,199,254,740,992 is allowed"),
    (EVALUATE + " --seed 99999999999999999999", "seed = 99999999999999999999; "),
    (EVALUATE + " --tasks " + "9" * 5000, "tasks = 9999"),
    *(
        (
            f"{EVALUATE} --{name} 1000000000",
            f"{name} = 1,000,000,000; about {memory} GiB of memory would be needed, and",
        )
        for name, memory in (("tasks", "2,235"), ("ways", "268,221"), ("shots", "67,055"), ("queries", "67,055"))
    ),
    ("report ''", "results = ''; a path is needed"),
    ("report r.csv --tables ''", "tables = ''; a path is needed"),  # a variable of the shell that is not set
    ("report r.csv --figures ''", "figures = ''; a path is needed"),
    ("fetch oops-benchmark --folder ''", "folder = ''; a path is needed"),
    ("assess ''", "folder = ''; a path is needed"),
    (EVALUATE + " --device gpu", "device = gpu; cpu, cuda, cuda:NUMBER and mps are allowed"),
    ("evaluate features:{t}/f.npz none -o {t}/t.txt", "t.txt; a name ending in .parquet or .csv or .npz is allowed"),
    ("evaluate features:{t}/f.npz none -o {t}", "a name ending in .parquet or .csv"),
    ("evaluate features:{t}/f.npz none -o {t}/folder.csv", "this is a folder, the name of a file is needed"),
    ("evaluate features:{t}/f.npz none -o {t}/f.npz/t.csv", "{t}/f.npz is a file, a folder is needed"),
    ("evaluate features:{t}/f.npz none -o /proc/t.csv", "nothing can be written to /proc"),
    ("evaluate features:{t}/f.npz none -o {t}/" + "x" * 251 + ".csv", ".csv; File name too long"),
    ("evaluate folder:{t} glyph-conv -o {t}/old.csv", "this is an input ({t}), which is never overwritten"),
    ("train protnet", "learner = protnet; "),
    ("train protnet", "one of 24 names is allowed (did you mean protonet?)"),
    ("train protonet --epochs 0", "epochs = 0; a whole number of at least 1 is allowed"),
    ("train protonet --shots 0", "shots = 0; "),
    ("train protonet --seed -1", "seed = -1; "),
    ("train protonet --network conv5", "network = conv5; "),
    ("train protonet --dataset coloured/hebrw", "dataset = coloured/hebrw; known are "),
    ("train protonet -o {t}/x.pt", "output = {t}/x.pt; a name ending in .safetensors is allowed"),
    ("train protonet -o /proc/x.safetensors", "nothing can be written to /proc"),
    (
        "caption clipart --captioner blib -o {t}/c.csv",
        "captioner = blib; pixels, vit-gpt2, blip, blip-large are",
    ),
    ("caption clipart --split nvel -o {t}/c.csv", "split = nvel; novel, validation, base are allowed (did you mean"),
    ("caption clipart -o {t}/c.txt", "a name ending in .csv is allowed"),
    ("features clipard glyph-conv", "(did you mean clipart?)"),
    ("features features:{t}/f.npz none", "dataset = features:{t}/f.npz; "),
    ("features clipart glif-conv", "one of 140 names is allowed (did you mean glyph-conv?)"),
    ("features folder:{t}/none glyph-conv", "dataset: no folder {t}/none"),
    (
        "features clipart glyph-conv --split bas",
        "split = bas; novel, validation, base are allowed (did you mean base?)",
    ),
    ("features clipart glyph-conv --part 5/4", "part = 5/4; K/N with K from 1 to N is allowed, such as 1/4"),
    ("features clipart glyph-conv --jobs many", "jobs = many; a whole number from 1 to 1024 is allowed"),
    ("features clipart glyph-conv -o {t}/f.csv", "a name ending in .safetensors or .npz is allowed"),
    ("features folder:{t} glyph-conv -o {t}/f.npz", "this is an input ({t}), which is never overwritten"),
    ("features clipart glyph-conv --part 1/2 -o {t}/g.npz", "parts of the features are not written"),
    ("fetch opps-benchmark", "(did you mean oops-benchmark?)"),
    ("fetch oops-benchmark --folder {t}/f.npz", "{t}/f.npz is a file, a folder is needed"),
    ("report {t}/old.csv --level 1", "level = 1.0; a number between 0 and 1 is allowed"),
    ("report {t}/old.csv --level much", "level = much; "),
    ("report {t}/old.csv -o {t}/report.pdf", "report.pdf; "),
    ("assess {t} --level 0 -o {t}/a.html", "level = 0.0; "),
    ("assess {t} --learner ncc ncc -o {t}/a.html", "learners = ncc ncc; ncc is allowed once"),
    ("assess {t} --backbone dinno -o {t}/a.html", "(did you mean dino?)"),
    ("run sizing", "notebook = sizing; one of 27 names is allowed (did you mean sizing-tasks?)"),
    ("run sizing-tasks -p shots", "argument -p/--parameter: expected 2 arguments"),
    ("run sizing-tasks -o {t}/out.ipynb -p shots [", "parameter shots = [; not a YAML value: "),
    ("run sizing-tasks -o {t}/out.ipynb -p first glyf-conv", "parameter first = glyf-conv; one of 140 names"),
    ("run sizing-tasks -o {t}/out.ipynb --profile {t}", "profile: {t} is a folder"),
    ("run sizing-tasks -o {t}/out.html", "a name ending in .ipynb is allowed"),
    ("completion ksh", "shell = ksh; bash, zsh, fish, tcsh are allowed"),
]


@pytest.fixture
def told(tmp_path, capsys):
    """A bad command line's one line on stderr; nothing else is said and nothing written."""
    (tmp_path / "f.npz").write_bytes(b"not read")
    (tmp_path / "old.csv").write_text("a,b\n")
    (tmp_path / "folder.csv").mkdir()
    before = sorted(tmp_path.rglob("*"))

    def of(line):
        assert app.main(shlex.split(line.replace("{t}", str(tmp_path)))) == 2
        out, error = capsys.readouterr()
        assert error.startswith("fslcore: ") and error.count("\n") == 1 and not out
        assert sorted(tmp_path.rglob("*")) == before
        return error.replace(str(tmp_path), "{t}")

    return of


@pytest.mark.parametrize("line, message", BAD, ids=lambda text: text[:60])
def test_bad_command_lines_are_told_in_one_line(told, line, message):
    assert message in told(line)


def test_bad_command_lines_are_told_without_torch(tmp_path):
    (tmp_path / "f.npz").write_bytes(b"not read")
    (tmp_path / "old.csv").write_text("a,b\n")
    (tmp_path / "folder.csv").mkdir()
    code = (
        "import sys, shlex, json; sys.modules['torch'] = None\n"
        "from fslcore.cli import app\n"
        "for line in json.load(sys.stdin): assert app.main(shlex.split(line)) == 2, line"
    )
    lines = [line.replace("{t}", str(tmp_path)) for line, _ in BAD]
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, input=json.dumps(lines), text=True, capture_output=True, cwd=ROOT)
    assert done.stderr.count("\n") == len(BAD) and "torch" not in done.stderr and done.returncode == 0


def test_version_help_and_list_need_numpy_and_scipy_alone():
    code = (
        "import sys; sys.modules.update(dict.fromkeys("
        "'torch pandas yaml PIL pyarrow tqdm jupytext papermill statsmodels safetensors'.split()))\n"
        "from fslcore.cli import app\n"
        "try: app.main(sys.argv[1:])\n"
        "except SystemExit as stop: sys.exit(stop.code)"
    )
    for command, text in [("--version", "0.1"), ("evaluate --help", "--samplings"), ("list", "learners:")]:
        done = subprocess.run([sys.executable, "-c", code, *command.split()], text=True, capture_output=True, cwd=ROOT)
        assert done.returncode == 0 and text in done.stdout and "Traceback" not in done.stderr


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path):
    (tmp_path / "x.png").write_bytes(b"")
    with pytest.raises(InputError, match="this is a file, a folder is needed"):
        chapters.check("your-support-set", {"folder": str(tmp_path / "x.png")})


def test_a_missing_package_is_named_with_what_brings_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert app.main(["run", "planning"]) == 2
    assert (
        capsys.readouterr().err == "fslcore: this needs the package yaml; pip install 'fslcore[evaluate]' installs it\n"
    )


def test_a_missing_module_of_our_own_is_a_fault(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "fslcore.report", None)
    monkeypatch.delattr("fslcore.report", raising=False)
    assert app.main(["report", str(ROOT / "README.md")]) == 1
    assert capsys.readouterr().err.startswith("fslcore: a fault of fslcore: ModuleNotFoundError")


@pytest.mark.parametrize(
    "error, code, line",
    [
        (InputError("tasks = 1; more"), 2, "tasks = 1; more"),
        (KeyboardInterrupt(), 130, "stopped"),
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), 2, "/x/y: Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "No space left on device"),
        (OSError("cannot identify image file"), 2, "cannot identify image file"),
        (MemoryError(), 2, "not enough memory"),
        (MemoryError("Unable to allocate 7.45 GiB"), 2, "not enough memory (Unable to allocate 7.45 GiB)"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 2, "not enough memory (DefaultCPUAllocator: "),
        (RecursionError("maximum recursion depth exceeded"), 2, "the input is nested too deeply (maximum"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), 2, "a file is not UTF-8 text ("),
        (zipfile.BadZipFile("File is not a zip file"), 2, "a file is damaged or of another kind (BadZipFile: File is"),
        (pickle.UnpicklingError("x"), 2, "a file is damaged or of another kind (UnpicklingError: x)"),
        (json.JSONDecodeError("x", "", 0), 2, "a file is damaged or of another kind (JSONDecodeError: "),
        (
            ZeroDivisionError("division\nby zero"),
            1,
            "a fault of fslcore: ZeroDivisionError: division by zero; please report it ",
        ),
    ],
)
def test_what_goes_wrong_is_one_line_and_an_exit_code(monkeypatch, capsys, error, code, line):
    def fails(_):
        raise error

    monkeypatch.setattr(commands, "show_names", fails)
    assert app.main(["list"]) == code
    said = capsys.readouterr().err
    assert said.startswith(f"fslcore: {line}") and said.count("\n") == 1
    for arguments in (["--debug", "list"], ["list", "--debug"]):
        assert app.main(arguments) == code
        said = capsys.readouterr().err
        assert said.startswith("Traceback") and f"\nfslcore: {line}" in said


def _commands():
    parser = app._program().parser
    (commands,) = (a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return {"fslcore": parser, **commands}


@pytest.mark.parametrize("name", _commands())
def test_help_explains_every_argument_and_gives_examples_and_exit_codes(name, tmp_path, capsys):
    parser = _commands()[name]
    for action in parser._actions:
        assert action.help or isinstance(action, argparse._SubParsersAction), action.dest
    assert "exit codes:" in parser.epilog and "130" in parser.epilog
    assert name in parser.format_help()  # a stray % would fail here
    examples = [line.strip() for line in parser.epilog.splitlines() if line.startswith("  fslcore ")]
    assert examples
    for example in examples:
        _, *arguments = shlex.split(example.partition(" >")[0])
        try:
            options = app._program().parser.parse_args(arguments)
            kind, colon, _ = (getattr(options, "dataset", None) or "").partition(":")
            assert not colon or f"{kind}:PATH" in [*datasets.forms(), "features:PATH"]
        except InputError as error:  # the files are not here
            assert "no folder /data" in str(error) or "no file my" in str(error)
        except SystemExit as stop:
            assert arguments[-1] == "--help" and not stop.code


def test_output_is_checked_and_nothing_left_behind(tmp_path):
    (tmp_path / "in.csv").write_text("")
    (tmp_path / "link.csv").symlink_to(tmp_path / "in.csv")
    assert check_output(tmp_path / "new" / "deep" / "t.csv", [".csv"]) == tmp_path / "new" / "deep" / "t.csv"
    assert check_output(tmp_path / "in.csv") == tmp_path / "in.csv"  # may be written again
    for path, message in [
        (tmp_path, "this is a folder"),
        ("", "= ''; the name of a file is allowed"),
        (None, "= None; the name of a file is allowed"),
        ("~nobody here/t.csv", "home"),
        ("t\0.csv", "null"),
        ("/dev/null", "this is not a regular file"),
        (tmp_path / "in.csv", "is never overwritten"),
        (tmp_path / "link.csv", "is never overwritten"),
        (tmp_path / "in.csv" / "t.csv", "in.csv is a file, a folder is needed"),
        ("/proc/1/t.csv", "nothing can be written to /proc/1"),
        ("x" * 254, "File name too long"),
    ]:
        with pytest.raises(InputError, match=message):
            check_output(path, inputs=[tmp_path / "in.csv"])
    assert check_folder(tmp_path / "new") == tmp_path / "new"
    for path in (tmp_path / "in.csv", "/proc/new"):
        with pytest.raises(InputError, match="folder"):
            check_folder(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.csv", "link.csv"]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    for name in ("there/old", "there/new", "there/made/later"):  # with no ending, which libraries take from the name
        link = tmp_path / f"{name.replace('/', '-')}.csv"
        link.symlink_to(name)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "old").write_text("before")
    for link in sorted(tmp_path.glob("*.csv")):
        assert check_output(link, [".csv"]) == link
        replace_file(link, lambda part: part.write_text(part.suffix))
        assert link.is_symlink() and link.read_text() == (tmp_path / link.readlink()).read_text() == ".csv"
    assert sorted(p.name for p in (tmp_path / "there").iterdir()) == ["made", "new", "old"]
    (tmp_path / "file.csv").symlink_to(tmp_path / "there" / "old" / "t.csv")
    with pytest.raises(InputError, match="there/old is a file, a folder is needed"):
        check_output(tmp_path / "file.csv")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_file_has_the_permissions_of_any_other(tmp_path, mask):
    """The library of safetensors leaves its files to the owner alone, and a shared cache to one person."""
    from safetensors.torch import save_file

    before = os.umask(mask)
    try:
        (tmp_path / "plain").touch()
        replace_file(tmp_path / "t.safetensors", lambda part: save_file({"w": torch.zeros(2)}, part))
    finally:
        os.umask(before)
    assert (tmp_path / "t.safetensors").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("library", ["python", "safetensors", "parquet"])
def test_a_full_disk_is_told_with_the_file(tmp_path, library):
    import pandas as pd
    from safetensors import SafetensorError

    def fills(part):
        if library == "safetensors":  # it writes to a name of its own; these are its words
            raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
        part.symlink_to("/dev/full")
        part.write_text("x") if library == "python" else pd.DataFrame({"x": [1]}).to_parquet(part)

    with pytest.raises(OSError, match="No space left") as told:
        replace_file(tmp_path / "t.csv", fills)
    assert str(told.value) == f"[Errno 28] No space left on device: '{tmp_path}/t.csv'"
    assert not list(tmp_path.iterdir())


def test_a_cache_that_cannot_be_is_told_before_the_work(monkeypatch, capsys):
    monkeypatch.setenv("FSLCORE_CACHE", "/proc/cache")
    monkeypatch.setattr(commands, "run", None)  # would fail if it were called
    assert app.main(["run", "sizing-tasks"]) == 2
    assert capsys.readouterr().err.startswith("fslcore: FSLCORE_CACHE: nothing can be written to /proc (")


def test_a_path_from_the_home_folder_is_that_also_where_no_shell_has_seen_it(monkeypatch, tmp_path):
    """After the colon of folder:~/x, or in a variable that Docker sets, ~ reaches us as it is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FSLCORE_CACHE", "~/cache")
    assert store.path("records") == tmp_path / "cache" / "records"
    np.savez(tmp_path / "f.npz", features=np.eye(4), labels=[0, 0, 1, 1])
    assert options.dataset_of("novel")("features:~/f.npz") == "features:~/f.npz"
    assert len(load_features("~/f.npz")) == 4


@pytest.mark.parametrize(
    "line, name",
    [
        ("evaluate folder:~nobody-9/x glyph-conv -o t.csv", "dataset"),
        ("evaluate folder:~nobody-9/x?grund=black glyph-conv -o t.csv", "dataset"),
        ("evaluate glyphs/hebrew glyph-conv:~nobody-9/w.pt -o t.csv", "input"),
        ("evaluate features:~nobody-9/f.npz none -o t.csv", "features"),
        ("evaluate glyphs/hebrew glyph-conv -o t.csv --apart ~nobody-9/x.csv", "apart"),
        ("report r.csv --tables ~nobody-9/x", "tables"),
        ("features clipart glyph-conv", "FSLCORE_CACHE"),
    ],
)
def test_a_home_folder_of_nobody_is_bad_input_and_no_fault(line, name, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    if name == "FSLCORE_CACHE":
        monkeypatch.setenv("FSLCORE_CACHE", "~nobody-9/cache")
    assert app.main(line.split()) == 2
    assert capsys.readouterr().err.startswith(f"fslcore: {name} = ")


@pytest.mark.parametrize("command", ["list", "plan-run quick.yml"])
def test_what_ships_is_read_as_utf_8_in_every_locale(command):
    """Windows has another one; here it is ASCII, which Python would else make UTF-8."""
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-m", "fslcore", *command.split()], cwd=ROOT, env=env, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("command", ["list", "completion fish", "--version"])  # more and less than a buffer holds
def test_output_to_a_closed_pipe_or_a_full_disk_makes_no_noise(command):
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    call = dict(args=[sys.executable, "-m", "fslcore", *command.split()], cwd=ROOT, env=buffered, text=True, stderr=-1)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(**call, stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")  # as the shell has it of what `head` cuts off
    with open("/dev/full", "w") as full:
        done = subprocess.run(**call, stdout=full)
    assert (done.returncode, done.stderr) == (2, "fslcore: No space left on device\n")


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_sigterm_stop_with_one_line(number, code, tmp_path):
    rng, labels = np.random.default_rng(0), np.arange(7).repeat(60)
    np.savez(tmp_path / "f.npz", features=rng.normal(size=(420, 64)), labels=labels)
    command = [sys.executable, "-m", "fslcore", "evaluate", f"features:{tmp_path}/f.npz", "none"]
    options = ["-o", f"{tmp_path}/t.csv", "--samplings", "closed", "--tasks", "20000", "--quiet"]
    env = {**os.environ, "FSLCORE_CACHE": str(tmp_path / "cache")}
    run = subprocess.Popen([*command, *options], cwd=ROOT, env=env, text=True, stdout=-1, stderr=-1)
    assert "ncc closed: 20000 tasks" in run.stdout.readline()  # now it is at the second learner
    run.send_signal(number)
    _, error = run.communicate(timeout=30)
    assert (run.returncode, error) == (code, "fslcore: stopped\n")
    assert not (tmp_path / "t.csv").exists() and not list(tmp_path.rglob(".*"))


def test_json_is_strict(capsys):
    assert app.main(["list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = {"datasets", "backbones", "learners", "estimators", "captioners"}
    assert set(found) == {"notebooks", "profiles", *names}
    assert "cub:PATH" in found["datasets"]["papers"] and found["learners"]["images"] == ["boil", "ft", "maml"]
    first = found["notebooks"]["sizing-tasks"]["parameters"][5]
    assert first == {"name": "ways", "type": "int", "default": 5, "allowed": "2..50", "meaning": "classes per task, K"}
    import pandas as pd

    table = pd.DataFrame({"x": [1.5, np.nan], "n": [1, 2]})
    commands.print_json(
        {"t": table, "p": Path("a/b"), 3: (np.float32(np.inf), np.arange(2), np.bool_(True)), "none": None}
    )
    rows = [{"x": 1.5, "n": 1}, {"x": None, "n": 2}]
    assert json.loads(capsys.readouterr().out) == {"t": rows, "p": "a/b", "3": [None, [0, 1], True], "none": None}


@pytest.fixture
def environment(monkeypatch):
    """What a command says to what it starts is set back at the end."""
    for name in ("FSLCORE_DEVICE", "FSLCORE_PRECISION", "TQDM_DISABLE", "FSLCORE_QUIET"):
        monkeypatch.setenv(name, "")


def test_evaluate_prints_json_alone(tmp_path, capsys, environment):
    rng, labels = np.random.default_rng(0), np.arange(7).repeat(60)
    np.savez(tmp_path / "f.npz", features=rng.normal(size=(420, 8)), labels=labels)
    command = ["evaluate", f"features:{tmp_path}/f.npz", "none", "-o", str(tmp_path / "t.csv"), "--tasks", "40"]
    command.append("--json")
    assert app.main([*command, "--quiet", "--intervals"]) == 0
    out, error = capsys.readouterr()
    found = json.loads(out)
    assert not error and found["output"] == str(tmp_path / "t.csv") and found["ways"] == 5
    table = np.genfromtxt(tmp_path / "t.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    for mean in found["means"]:
        rows = table[(table["learner"] == mean["learner"]) & (table["sampling"] == mean["sampling"])]
        assert mean["tasks"] == len(rows) and mean["accuracy"] == pytest.approx(rows["accuracy"].mean())
    assert len(found["means"]) == 4 and [row["method"] for row in found["intervals"]] == ["none NCC", "none LR"]
    closed = found["intervals"][0]["result"]["closed"]
    assert closed["mean"] == pytest.approx(found["means"][0]["accuracy"]) and closed["half_width"] > 0
    assert app.main(command) == 0
    assert json.loads(capsys.readouterr().out)["intervals"] is None


def test_the_device_reaches_notebooks_and_quiet_has_no_bars(monkeypatch, capsys, environment):
    def run(options):
        print(options.device, options.quiet, os.environ["FSLCORE_DEVICE"], os.environ["TQDM_DISABLE"])
        note("of no weight")

    monkeypatch.setattr(commands, "run", run)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert app.main(["--quiet", "run", "sizing-tasks", "--device", "cuda:1"]) == 0
    told = capsys.readouterr()
    assert told.out == "cuda:1 True cuda:1 1\n" and not told.err
    assert not any(os.environ.get(name) for name in app.OPTIONS_OF_CHILDREN)  # the next command has its own
    note("of some weight")
    assert capsys.readouterr().err == "fslcore: of some weight\n"
    monkeypatch.setattr(commands, "run", lambda options: print(os.environ["FSLCORE_PRECISION"]))
    assert app.main(["run", "sizing-tasks", "--precision", "bf16"]) == 0
    assert capsys.readouterr().out == "bf16\n" and not os.environ.get("FSLCORE_PRECISION")


def test_a_device_that_is_not_there_is_told_before_anything_is_looked_up(monkeypatch, capsys, environment):
    monkeypatch.setattr(commands, "evaluate", lambda options: print("from the cache"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert app.main(["evaluate", "clipart", "glyph-conv", "-o", "x.csv", "--device", "cuda"]) == 2
    told = capsys.readouterr()
    assert not told.out and told.err.startswith("fslcore: device = cuda; cpu")


def test_a_closed_output_is_no_fault(environment):
    for closed in ("1>&-", "2>&-", "1>&- 2>&-"):
        line = f"{sys.executable} -m fslcore --version {closed}"
        done = subprocess.run(["bash", "-c", line], capture_output=True)
        assert done.returncode == 0 and b"fault" not in done.stderr, done.stderr


@pytest.mark.parametrize(
    "text, message",
    [
        ("small: {rate: 0.5, rate: 0.25}", "profile.yml; not a YAML value: rate is there twice (line 1, column 20)"),
        ("small:\n  rate: 0.5\nsmall:\n  rate: 0.5\n", "small is there twice (line 3, column 1)"),
    ],
)
def test_a_name_twice_in_a_profile(small, tmp_path, text, message):
    (tmp_path / "profile.yml").write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        chapters.profile(tmp_path / "profile.yml")
    (tmp_path / "profile.yml").write_text("small: &all {rate: 0.5}\n")  # what has one of each is taken as ever
    assert chapters.profile(tmp_path / "profile.yml") == {"small": {"rate": 0.5}}


def test_list_fits_one_screen(capsys):
    assert app.main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 100
    for word in ("closed-vs-open", "your-support-set", "clipart", "glyph-conv", "dinov2", "tip-adapter", "quick.yml"):
        assert word in "\n".join(lines)
    for kind in commands.KINDS:
        assert any(line.startswith(f"{kind}: ") for line in lines)


def test_list_shows_all_of_a_kind_or_the_parameters_of_a_notebook(capsys):
    def out(*arguments):
        assert app.main(["list", *arguments]) == 0
        return capsys.readouterr().out

    whole = json.loads(out("--json"))
    for kind in commands.KINDS:
        assert (found := json.loads(out(kind, "--json")))[kind] == whole[kind] and set(found) <= {kind, "notebooks"}
        names = whole[kind] if kind in ("notebooks", "profiles") else sum(whole[kind].values(), [])
        assert all(name in out(kind) for name in names)
    one = out("closed-vs-open").splitlines()
    assert one[0] == "closed-vs-open: Closed and open intervals" and any("ft_tasks = 600" in line for line in one)
    assert json.loads(out("sizing-tasks", "--json")) == {
        "notebooks": {"sizing-tasks": whole["notebooks"]["sizing-tasks"]}
    }
    assert len(out("notebooks").splitlines()) == len(chapters.names())
    both = json.loads(out("estimators", "--json"))  # a notebook and a kind
    assert list(both) == ["notebooks", "estimators"] and list(both["notebooks"]) == ["estimators"]
    lines = {line.split(" (")[0].strip(): line for line in out("backbones").splitlines()[1:]}
    assert lines["fetched"] == "  fetched (from the model hub, or NAME:FILE): clip, clip-b32, dino, dinov2, dinov2-reg"
    assert "  more (not in the paper; K is a number): 'leave-one-out, refilled', K-fold" in out("estimators")


def test_the_plain_way_jupytext_and_papermill(tmp_path):
    tools = os.path.dirname(sys.executable)
    command = (
        f"{tools}/jupytext --to ipynb -o - notebooks/primer.md"
        f" | {tools}/papermill - {tmp_path}/out.ipynb -p tasks 60 -p spread 8"
    )
    subprocess.run(command, shell=True, check=True, cwd=ROOT, capture_output=True)
    assert nbformat.read(tmp_path / "out.ipynb", 4).metadata.papermill.parameters == {"tasks": 60, "spread": 8}


@pytest.mark.parametrize("name", chapters.names())
def test_parameters_are_read_as_papermill_reads_them(name, tmp_path):
    import jupytext
    from papermill.inspection import inspect_notebook

    jupytext.write(jupytext.read(chapters.NOTEBOOKS / f"{name}.md"), tmp_path / "n.ipynb")
    for p in chapters.parameters(name):
        theirs = inspect_notebook(str(tmp_path / "n.ipynb"))[p.name]
        assert theirs["inferred_type_name"] == p.type and eval(theirs["default"]) == p.default
        assert theirs["help"] == f"{p.allowed}: {p.meaning}"
    assert len(inspect_notebook(str(tmp_path / "n.ipynb"))) == len(chapters.parameters(name))


@pytest.mark.parametrize("name", chapters.names())
def test_every_parameter_is_described_and_its_default_allowed(name):
    found = chapters.parameters(name)
    assert found and all(p.meaning and p.allowed for p in found)
    assert chapters.check(name, {p.name: p.default for p in found})
    with pytest.raises(InputError):
        chapters.check(name, {"no_such_parameter": 1})


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.yml")), ids=lambda p: p.stem)
def test_profiles_fit_their_notebooks(path):
    """Those of a paper name its chapters, and data that need not be here yet."""
    found = set(chapters.profile(path, absent=True))
    assert found == set(chapters.names()) if path.stem in ("quick", "large") else found <= set(chapters.names())


def test_a_file_is_whole_or_absent(tmp_path):
    def breaks(part):
        part.write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        replace_file(tmp_path / "x", breaks)
    assert not list(tmp_path.iterdir())
    replace_file(tmp_path / "x", lambda part: part.write_text("whole"))
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_threads_that_write_the_same_file_leave_one_of_theirs_whole(tmp_path):
    together = threading.Barrier(2, timeout=60)

    def slowly(letter):
        def write(part):
            with open(part, "a") as file:
                for _ in range(3):
                    together.wait()
                    file.write(letter)
                    file.flush()

        replace_file(tmp_path / "x", write)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(slowly, "ab"))
    assert (tmp_path / "x").read_text() in ("aaa", "bbb") and len(list(tmp_path.iterdir())) == 1


@pytest.fixture
def gone():
    """A process that is no more."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_what_a_killed_process_left_of_a_file_goes_with_the_next_write(tmp_path, gone):
    host, old = _HOST, time.time() - 8 * 24 * 3600
    stale = [f".{gone}-{host}-7.x.csv", f".{os.getppid()}-{host}.x.csv", f".{gone}-00000000.x.csv"]
    kept = [
        f".{gone}-{host}.x.csv.more",
        f".{gone}-{host}.y.csv",
        f".{gone}-{host}.xxcsv",
        f"{gone}-{host}.x.csv",
        f".{gone}.x.csv",
        f".a{gone}-{host}.x.csv",
        f".1-{host}.x.csv",
        f".{gone}-00000001.x.csv",
    ]
    for name in stale + kept:
        (tmp_path / name).write_text("half")
    for name in stale[1:]:  # a number that another process has by now, and another machine's: so old that nobody writes
        os.utime(tmp_path / name, (old, old))
    replace_file(tmp_path / "x.csv", lambda part: part.write_text("whole"))
    assert {p.name for p in tmp_path.iterdir()} == {*kept, "x.csv"}


def test_a_killed_process_leaves_its_folder_to_the_next(tmp_path, gone, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in (f"fslcore.{gone}-{_HOST}.abc", f"fslcore.1-{_HOST}.abc", f"other.{gone}-{_HOST}.abc"):
        (tmp_path / name).mkdir()
    with scratch() as folder:
        assert folder.parent == tmp_path and len(list(tmp_path.iterdir())) == 3
    assert {p.name for p in tmp_path.iterdir()} == {f"fslcore.1-{_HOST}.abc", f"other.{gone}-{_HOST}.abc"}


def test_names_known_without_torch_are_those_of_the_registries():
    from fslbook import training
    from fslbook.attributes import captions
    from fslcore import catalogue, learners, tasks
    from fslcore.models import networks
    from fslcore.models.registry import available

    pairs = [
        (catalogue.backbones(), available()),
        (catalogue.known, learners.names),
        (catalogue.NETWORKS, networks.NETWORKS),
        (catalogue.RECIPES, training.RECIPES),
        (catalogue.CAPTIONERS, captions.NAMES),
        (catalogue.ESTIMATORS["paper"], tasks.ESTIMATORS),
    ]
    for names, registry in pairs:
        assert sorted(names) == sorted(registry)
    assert tasks.REFILLED in catalogue.ESTIMATORS["more"]
    assert {recipe.removesuffix("-32") for recipe in catalogue.RECIPES} - {"glyph-conv"} <= set(catalogue.LEARNERS)


def test_the_table_of_learners_is_what_their_classes_say():
    from fslcore import catalogue, learners

    classes = learners.of_features | learners.of_images
    assert classes.keys() == catalogue.known.keys()
    for name, of in catalogue.known.items():
        kind = classes[name]
        place = f"{kind.__module__.rpartition('.')[2]}:{kind.__name__}"
        assert (kind.name, place, kind.reads, kind.transductive) == (name, of.place, of.reads, of.transductive)
        assert of.title == catalogue.LEARNERS[name]


def test_names_by_kind_are_those_of_the_registry():
    from fslcore import catalogue
    from fslcore.models.registry import entries, shipped

    found = catalogue.by_kind()
    kinds = {name: kind for kind, names in found["backbones"].items() for name in names}
    for name, entry in entries().items():
        packaged = shipped(name) or isinstance(entry.local, tuple)
        assert kinds.pop(name) == (
            "shipped" if packaged else "released" if entry.backbone.read_at else "fetched" if entry.hub else "brought"
        )
    assert not kinds
    assert sorted(sum(found["learners"].values(), [])) == sorted(catalogue.known)


@pytest.mark.parametrize("when", ["import", "end"])
def test_ctrl_c_is_quiet_while_python_begins_and_ends(when):
    stop = "os.kill(os.getpid(), signal.SIGINT)"
    script = {
        "import": "import os, signal, sys, types; from importlib.abc import MetaPathFinder\n"
        f"class Stop(MetaPathFinder):\n def find_spec(self, name, *_):\n  if name == 'fslcore.cli.app': {stop}\n"
        "sys.meta_path.insert(0, Stop())\n",
        "end": f"import atexit, os, signal, sys, time\natexit.register(lambda: ({stop}, time.sleep(5)))\n",
    }[when]
    script += "sys.argv[1:] = ['--quiet', 'completion', 'bash']\nfrom fslcore.__main__ import main\nsys.exit(main())\n"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == ((130, "fslcore: stopped\n") if when == "import" else (-signal.SIGINT, ""))


def test_run_shows_a_bar_after_five_seconds_and_on_a_terminal_alone(small, tmp_path, monkeypatch):
    import tqdm

    real, shown, given = tqdm.tqdm, io.StringIO(), []

    def bar(**options):
        given.append(options)
        return real(**{**options, "delay": 0, "disable": bool(options["disable"]), "file": shown})

    monkeypatch.setattr(tqdm, "tqdm", bar)
    chapters.run("small", {}, tmp_path / "o.ipynb", progress=True)
    assert given[0]["delay"] == 5 and given[0]["disable"] is None  # None: where it is no terminal
    cells = [int(n) for n in re.findall(r"(\d+)/3 ", shown.getvalue())]
    assert cells and cells == sorted(cells) and not re.search(r"\dcell ", shown.getvalue())  # more than there are
    shown.truncate(0)
    chapters.run("small", {}, tmp_path / "o.ipynb")
    assert given[1]["disable"] is True and not shown.getvalue().strip("\0")
