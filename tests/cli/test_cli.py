"""The command ``fslcore``: what it runs, and the one line it says about bad input."""

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from features import features_file
from refusal import refuses, says_in_one_line
from running import run_code

import fslcore
from fslcore import datasets, evaluation, fetch, recorder, store
from fslcore.catalogue import REPORT_WORDS
from fslcore.cli import app, commands, evaluate, faults, options, output, program
from fslcore.datasets.bank import load_features
from fslcore.errors import FslcoreWarning, InputError, warn
from fslcore.evaluation import Outcomes
from fslcore.paths import ROOT
from fslcore.report import Options, Results
from fslcore.stats.targets import IMAGE_TARGETS
from fslcore.tasks import sample_closed


@pytest.fixture
def features(tmp_path):
    """A file of features of seven classes with 60 images each."""
    dataset = features_file(tmp_path, np.arange(7).repeat(60))
    return f"evaluate {dataset} none -o {tmp_path}/t.csv".split()


@pytest.fixture
def recorded(features):
    options = "--tasks 60 --shots 2 --json --quiet --learners ncc lr fslbook.learners:OpTA"
    return [*features[:3], *options.split()]


def test_evaluate_writes_a_recording_whose_report_has_three_intervals(recorded, tmp_path, capsys):
    table, path = tmp_path / "t.csv", tmp_path / "r.jsonl"
    printed = {}
    for file in (table, path, path):  # a recording of the same methods is replaced
        assert app.main([*recorded, "--intervals", "-o", str(file)]) == 0
        printed[file] = json.loads(capsys.readouterr().out)
    assert printed[path]["intervals"] == printed[table]["intervals"]
    assert [row["sampling"] for row in printed[path]["means"]] == [
        "closed"
    ] * 3  # without an option
    methods = Results.read(path).methods.set_index(["target", "method"])
    for row, name in zip(printed[path]["intervals"], ("NCC", "LR", "OpTA")):
        for kind, target in zip(("closed", "images", "classes"), IMAGE_TARGETS, strict=True):
            interval = row["result"][kind]
            if interval["half_width"] is not None:
                reported = methods.loc[(target, name), ["mean", "half_width"]]
                assert reported.tolist() == pytest.approx(
                    [interval["estimate"], interval["half_width"]]
                )
    transductive = recorder.load(path).transductive
    assert transductive == {"NCC": False, "LR": False, "OpTA": True}


@pytest.mark.parametrize(
    "changes, words",
    [
        (["--learners", "ncc"], "it is a recording of LR, which would be lost"),
        (
            ["--samplings", "closed", "open"],
            "samplings: closed and open; .jsonl holds tasks of one",
        ),
        (["--apart", "g.csv"], "--apart: not with .jsonl"),
    ],
)
def test_a_recording_is_refused_what_it_cannot_hold(recorded, tmp_path, capsys, changes, words):
    path = tmp_path / "r.jsonl"
    tasks = sample_closed([0, 0, 1, 1], tasks=2, ways=2, shots=1, queries=1)
    answers = Outcomes(np.ones((2, 2), bool), tasks.query_label)
    images = {str(i): {"class": str(i // 2)} for i in range(4)}
    recorder.save(path, images, dict.fromkeys(("NCC", "LR"), (tasks, answers, False)), {})
    before = path.read_bytes()
    assert app.main([*recorded, *changes, "-o", str(path)]) == 2
    assert words in capsys.readouterr().err and path.read_bytes() == before


# Reported before torch is imported: {t} is a folder with the file f.npz, which is not read either.
EVALUATE = "evaluate features:{t}/f.npz none -o {t}/t.csv"


BAD = [
    ("", "the following arguments are required: COMMAND"),
    ("evalute", "command must be 'list', 'report', 'compare', 'evaluate'"),
    ("lst", "did you mean 'list'?"),
    ("list data", "name must be 'datasets', "),
    ("list learners extra", "extra: no such argument"),
    ("list --jsn", "--jsn: no such argument; did you mean '--json'?"),
    ("evaluate", "required: dataset, backbone; see fslcore evaluate --help"),
    ("evaluate features:{t}/f.npz none", "output must be -o FILE.csv, FILE.parquet or FILE.jsonl"),
    ("evaluate folder:{t}/none glyph-conv -o {t}/t.csv", "dataset: no folder {t}/none"),
    ("evaluate features:{t}/none.npz none -o {t}/t.csv", "features: no file {t}/none.npz"),
    ("evaluate clipart glif-conv -o {t}/t.csv", "got 'glif-conv'; did you mean 'glyph-conv'?"),
    ("evaluate clipart none -o {t}/t.csv", "got 'none'"),
    (EVALUATE + " --learners", "argument --learners: expected at least one argument"),
    (EVALUATE + " --learners ncc ncc", "learners must be different, got 'ncc' more than once"),
    (EVALUATE + " --samplings opened", "sampling must be 'closed' or 'open', got 'opened'"),
    (EVALUATE + " --ways five", "ways must be an integer"),
    (EVALUATE + " --seed -1", "seed must be an integer from 0 to 9,007,199,254,740,992, got -1"),
    (EVALUATE + " --tasks " + "9" * 5000, "tasks must be an integer >= 2, got '9999"),
    (EVALUATE + " --device gpu", "device must be cpu, cuda, cuda:NUMBER or mps, got 'gpu'"),
    ("evaluate features:{t}/f.npz none -o {t}/t.txt", "ending in .parquet or .csv or .jsonl, got"),
    ("evaluate folder:{t} glyph-conv -o {t}/old.csv", "this is an input ({t}), which is never"),
    ("features clipart glyph-conv --split bas", "split must be 'novel', 'validation' or 'base'"),
    ("features clipart glyph-conv --part 5/4", "part must be K/N with K from 1 to N, such as 1/4"),
    ("features clipart glyph-conv -o {t}/f.csv", "a name ending in .safetensors or .npz, got "),
    (
        "features clipart glyph-conv --part 1/2 -o {t}/g.npz",
        "parts of the features are not written",
    ),
    ("completion ksh", "shell must be 'bash', 'zsh', 'fish' or 'tcsh', got 'ksh'"),
]


@pytest.fixture
def folder(tmp_path):
    """A folder with files of bad content, which are not read."""
    (tmp_path / "f.npz").write_bytes(b"not read")
    (tmp_path / "old.csv").write_text("a,b\n")
    return tmp_path


@pytest.mark.parametrize("line, message", BAD, ids=lambda text: text[:60])
def test_bad_command_lines_are_reported_in_one_line(folder, capsys, line, message):
    before = sorted(folder.iterdir())
    assert app.main(shlex.split(line.replace("{t}", str(folder)))) == 2
    out, error = capsys.readouterr()
    assert error.startswith("fslcore: ") and error.count("\n") == 1 and not out
    assert message in error.replace(str(folder), "{t}")
    assert sorted(folder.iterdir()) == before


def test_bad_command_lines_are_reported_without_torch(folder):
    code = (
        "import sys, shlex, json; sys.modules['torch'] = None\n"
        "from fslcore.cli import app\n"
        "for line in json.load(sys.stdin): assert app.main(shlex.split(line)) == 2, line"
    )
    lines = [line.replace("{t}", str(folder)) for line, _ in BAD]
    done = run_code(code, input=json.dumps(lines), cwd=ROOT)
    assert (
        done.stderr.count("\n") == len(BAD) and "torch" not in done.stderr and done.returncode == 0
    )


COMPARE = "compare 71±1 70±1 --tasks 600"
LEAST = [
    *((EVALUATE, *pair) for pair in [("ways", 2), ("shots", 1), ("queries", 1), ("tasks", 2)]),
    *((EVALUATE, *pair) for pair in [("ft-tasks", 2), ("max-open", 2), ("ft-open", 2)]),
    *((EVALUATE, *pair) for pair in [("seed", 0), ("size", 8)]),
    *((COMPARE, *pair) for pair in [("ways", 2), ("shots", 1), ("queries", 1), ("tasks", 2)]),
    *((COMPARE, *pair) for pair in [("images", 1), ("classes", 1)]),
    *(("report r.csv", *pair) for pair in [("pool", 1), ("shots", 1)]),
    ("features clipart glyph-conv", "size", 8),
]


@pytest.mark.parametrize("line, name, least", LEAST)
def test_a_count_is_taken_from_its_minimum_on(folder, line, name, least):
    words = shlex.split(line.replace("{t}", str(folder)))
    parser = app._program().parser
    parsed = getattr(parser.parse_args([*words, f"--{name}", str(least)]), name.replace("-", "_"))
    assert parsed in (least, [least])
    with refuses(name, rf"\b{least}\b", f"got {least - 1}"):
        parser.parse_args([*words, f"--{name}", str(least - 1)])


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as stopped:
        app.main(["--version"])
    assert not stopped.value.code and capsys.readouterr().out == f"{fslcore.__version__}\n"


def test_version_help_list_and_compare_need_numpy_and_scipy_alone():
    code = (
        "import sys\n"  # SciPy reads sys.modules['torch']: a finder refuses, no entry of None
        "class Refused:\n"
        "    def find_spec(name, *_):\n"
        "        if name in 'torch pandas yaml PIL pyarrow tqdm jupytext papermill statsmodels safetensors'.split():\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Refused)\n"
        "from fslcore.cli import app\n"
        "sys.exit(app.main(sys.argv[1:]))"
    )
    for command, text in [
        ("--version", "0.1"),
        ("evaluate --help", "--samplings"),
        ("list", "learners:"),
        ("compare 71.2±0.4 70.1±0.4 --tasks 600", "The first is better"),
    ]:
        done = run_code(code, *command.split(), cwd=ROOT)
        assert done.returncode == 0 and text in done.stdout and "Traceback" not in done.stderr


def test_names_of_data_sets_load_no_reader():
    """So that ``fslcore list`` and completion are quick."""
    code = (
        "import sys\n"
        "from fslcore.cli import app\n"
        "app.main(['list', 'datasets'])\n"
        "sys.exit(', '.join({'pandas', 'PIL', 'pyarrow', 'torch'} & {*sys.modules}))"
    )
    done = run_code(code, cwd=ROOT)
    assert "clipart" in done.stdout and "dtd" in done.stdout and not done.stderr.strip()


def test_a_command_names_its_options_where_the_library_names_arguments(capsys):
    options_of = {
        option
        for parser in app._program()._commands.choices.values()
        for action in parser._actions
        for option in action.option_strings
    }
    code = "".join(p.read_text("utf-8") for p in (ROOT / "fslcore").rglob("*.py"))
    for argument, option in faults.OPTION_OF_ARGUMENT.items():
        assert option.split()[0] in options_of
        assert code.count(argument) > code.count(f'"{argument}": "--'), (
            f"{argument} is in no message"
        )
        with warnings.catch_warnings():
            program._show_warnings_as_lines("fslcore")
            warn(f"x (set {argument})")
        assert capsys.readouterr().err == f"fslcore: x (set {option})\n"
        assert faults.message(InputError(f"no ({argument})"), "report") == (f"no ({option})", 2)


@pytest.mark.parametrize(
    "argument, option",
    [
        ("by=['dataset']", "--by dataset"),
        ("where=[\"it's=1\", 'acc [%]!=2']", shlex.join(["--where", "it's=1", "acc [%]!=2"])),
        ("unit={'fold': 'run'}", "--unit fold=run"),
        ("columns={'seed': ['0', '1']}", "--columns seed 0 1"),
        ("value='results[].accuracy'", "--value 'results[].accuracy'"),
        ("decimal=','", "--decimal ,"),
        ("lower_is_better=True", "--lower-is-better"),
        ("out_of=75", "--out-of 75"),
        ("reference=NAME", "--reference NAME"),
        ("by=[dataset]", None),  # a user's own words, not Python's
        ("runs/seed=3", None),
        ("seed=3/a.csv", None),
    ],
)
def test_an_argument_of_a_report_becomes_an_option_that_exists(argument, option):
    expected = argument if option is None else option
    assert faults.with_options(f"either {argument}, or ({argument})") == (
        f"either {expected}, or ({expected})"
    )
    if option is not None:
        app._program().parser.parse_args(["report", "r.csv", *shlex.split(option)])


def test_defaults_of_the_report_stand_in_its_options_alone():
    fields = Options.__dataclass_fields__
    report = app._program()._commands.choices["report"]
    actions = {action.dest: action for action in report._actions}
    assert fields.keys() <= actions.keys()
    assert not fields.keys() & vars(report.parse_args(["r.csv"])).keys()
    for name, words in REPORT_WORDS.items():
        assert actions[name].choices == words
    words = "r.csv --columns seed a --columns task b --unit n=task --unit m=run".split()
    parsed = report.parse_args(words)
    assert parsed.columns == {"seed": ["a"], "task": ["b"]}
    assert parsed.unit == {"n": "task", "m": "run"}


TYPED = {  # by option of a report: the words, and the value that its reader gets
    "sampling": ("open", "open"),
    "seed": ("tasks", "tasks"),
    "reference": ("a", "a"),
    "level": ("0.9", 0.9),
    "margin": ("1.5", 1.5),
    "method": ("m", "m"),
    "value": ("v", "v"),
    "group": ("g", "g"),
    "methods": ("x y", ["x", "y"]),
    "columns": ("seed s t", {"seed": ["s", "t"]}),
    "unit": ("c=task d=run", {"c": "task", "d": "run"}),
    "rows": ("item", "item"),
    "by": ("p q", ["p", "q"]),
    "where": ("e=1 f!=2", ["e=1", "f!=2"]),
    "ignore": ("i j", ["i", "j"]),
    "pm": ("sd", "sd"),
    "n": ("5", "5"),
    "low": ("l", "l"),
    "high": ("h", "h"),
    "of": ("o", "o"),
    "common": ("", True),
    "lower_is_better": ("", True),
    "higher_is_better": ("", True),
    "out_of": ("75", 75.0),
    "separator": ("tab", "tab"),
    "decimal": (",", ","),
    "pool": ("20", 20),
    "shots": ("5", 5),
}


def test_each_option_of_a_report_reaches_its_reader_and_nothing_else_does(monkeypatch, tmp_path):
    assert TYPED.keys() == Options.__dataclass_fields__.keys()
    monkeypatch.chdir(tmp_path)
    read = []

    def refused(paths, **typed):
        read.append(typed)
        raise InputError("read")

    monkeypatch.setattr(Results, "read", refused)
    for name, (words, value) in TYPED.items():
        option = f"--{name.replace('_', '-')}"
        assert app.main(["report", "r.csv", option, *words.split()]) == 2
        assert read.pop() == {name: value}
    assert app.main(["report", "r.csv", "--json", "--tables", "t"]) == 2 and read == [{}]
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "error, code, line",
    [
        (InputError("tasks = 1; more"), 2, "tasks = 1; more"),
        (KeyboardInterrupt(), 130, "stopped"),
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), 2, "/x/y: Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "No space left on device"),
        (
            MemoryError("Unable to allocate 7.45 GiB"),
            2,
            "not enough memory (Unable to allocate 7.45 GiB)",
        ),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory"),
            2,
            "not enough memory (DefaultCPUAllocator: ",
        ),
        (
            RecursionError("maximum recursion depth exceeded"),
            2,
            "the input is nested too deeply (maximum",
        ),
        (
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
            2,
            "a file is not UTF-8 text (",
        ),
        (
            zipfile.BadZipFile("File is not a zip file"),
            2,
            "a file is damaged or of another kind (BadZipFile: File is",
        ),
        (
            ModuleNotFoundError(name="yaml"),
            2,
            "this needs the package yaml; in a copy of the repository, pip install '.[report]' installs it",
        ),
        (ModuleNotFoundError(name="fslcore.report"), 1, "a fault of fslcore: ModuleNotFoundError"),
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
    printed = capsys.readouterr().err
    assert printed.startswith(f"fslcore: {line}") and printed.count("\n") == 1
    for arguments in (["--debug", "list"], ["list", "--debug"]):
        assert app.main(arguments) == code
        printed = capsys.readouterr().err
        assert printed.startswith("Traceback") and f"\nfslcore: {line}" in printed


@pytest.mark.parametrize("words, extra", [("report r.csv", "report"), ("fetch dtd", "evaluate")])
def test_what_installs_a_missing_package_is_the_extra_of_the_command(
    monkeypatch, capsys, words, extra
):
    def fails(_):
        raise ModuleNotFoundError(name="other")

    monkeypatch.setattr(commands, words.split()[0], fails)
    assert app.main(words.split()) == 2
    assert says_in_one_line(capsys.readouterr().err, "package other", f"'.[{extra}]'")


def test_split_and_size_reach_what_reads_images(monkeypatch, tmp_path):
    read = []

    def refused(*names, **options):
        read.append((*names, options))
        raise InputError("read")

    monkeypatch.setattr(datasets, "load", refused)
    monkeypatch.setattr(evaluation, "load_images_or_features", refused)
    assert app.main("features glyphs glyph-conv --split base --size 32".split()) == 2
    assert read.pop() == ("glyphs", {"split": "base", "size": 32})
    command = f"evaluate glyphs glyph-conv --size 32 -o {tmp_path}/t.csv"
    assert app.main(command.split()) == 2 and read.pop() == ("glyphs", 32, {})


@pytest.mark.parametrize("words, progress", [([], True), (["--quiet"], False)])
def test_released_results_are_fetched_from_where_it_is_said(
    monkeypatch, tmp_path, capsys, words, progress
):
    calls = []
    monkeypatch.setattr(fetch, "fetch_results", lambda **options: calls.append(options) or "there")
    command = ["fetch", "oops-benchmark", "--from", str(tmp_path), *words]
    assert app.main(command) == 0 and capsys.readouterr().out == "there\n"
    assert calls == [{"downloads": tmp_path, "progress": progress}]


def test_a_cache_that_cannot_be_is_told_before_the_work(monkeypatch, capsys):
    monkeypatch.setenv("FSLCORE_CACHE", "/proc/cache")
    monkeypatch.setattr(commands, "features", None)  # would fail if it were called
    assert app.main(["features", "clipart", "glyph-conv"]) == 2
    assert capsys.readouterr().err.startswith(
        "fslcore: FSLCORE_CACHE: nothing can be written to /proc ("
    )


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
        ("report r.csv --tables ~nobody-9/x", "tables"),
        ("features clipart glyph-conv", "FSLCORE_CACHE"),
    ],
)
def test_a_home_folder_of_nobody_is_bad_input_and_no_fault(
    line, name, monkeypatch, tmp_path, capsys
):
    monkeypatch.chdir(tmp_path)
    if name == "FSLCORE_CACHE":
        monkeypatch.setenv("FSLCORE_CACHE", "~nobody-9/cache")
    assert app.main(line.split()) == 2
    assert capsys.readouterr().err.startswith(f"fslcore: {name} = ")


@pytest.mark.parametrize(
    "command", ["list", "completion fish", "--version"]
)  # more and less than a buffer holds
def test_output_to_a_closed_pipe_or_a_full_disk_makes_no_noise(command):
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    call = dict(
        args=[sys.executable, "-m", "fslcore", *command.split()],
        cwd=ROOT,
        env=buffered,
        text=True,
        stderr=-1,
    )
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(**call, stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (
        141,
        "",
    )  # as the shell has it of what `head` cuts off
    with open("/dev/full", "w") as full:
        done = subprocess.run(**call, stdout=full)
    assert (done.returncode, done.stderr) == (2, "fslcore: No space left on device\n")


@pytest.mark.slow
@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143)])
def test_a_signal_stops_with_one_line(number, code, features, tmp_path):
    options = "--samplings closed --tasks 20000 --quiet".split()
    command = [sys.executable, "-m", "fslcore", *features, *options]
    env = {**os.environ, "FSLCORE_CACHE": str(tmp_path / "cache")}
    run = subprocess.Popen(command, cwd=ROOT, env=env, text=True, stdout=-1, stderr=-1)
    assert "ncc closed: 20000 tasks" in run.stdout.readline()  # now it is at the second learner
    run.send_signal(number)
    _, error = run.communicate(timeout=30)
    assert (run.returncode, error) == (code, "fslcore: stopped\n")
    assert not (tmp_path / "t.csv").exists() and not list(tmp_path.rglob(".*"))


def test_json_is_strict(capsys):
    table = pd.DataFrame({"x": [1.5, np.nan], "n": [1, 2]})
    numbers = (np.float32(np.inf), np.arange(2), np.bool_(True))
    output.print_json({"t": table, "p": Path("a/b"), 3: numbers, "none": None})
    rows = [{"x": 1.5, "n": 1}, {"x": None, "n": 2}]
    assert json.loads(capsys.readouterr().out) == {
        "t": rows,
        "p": "a/b",
        "3": [None, [0, 1], True],
        "none": None,
    }


@pytest.fixture
def environment(monkeypatch):
    """What a command says to what it starts is set back at the end."""
    for name in ("FSLCORE_DEVICE", "FSLCORE_PRECISION", "TQDM_DISABLE", "PYTHONWARNINGS"):
        monkeypatch.setenv(name, "")


def test_evaluate_prints_json_alone(features, tmp_path, capsys, environment):
    command = [*features, "--tasks", "40", "--json"]
    assert app.main([*command, "--quiet", "--intervals"]) == 0
    out, error = capsys.readouterr()
    record = json.loads(out)
    assert not error and record["output"] == str(tmp_path / "t.csv") and record["ways"] == 5
    table = (
        pd.read_csv(tmp_path / "t.csv")
        .groupby(["learner", "sampling"])["accuracy"]
        .agg(["mean", "size"])
    )
    for mean in record["means"]:
        expected = table.loc[(mean["learner"], mean["sampling"])]
        assert [mean["accuracy"], mean["tasks"]] == pytest.approx(expected.tolist())
    assert len(record["means"]) == 4 and [row["method"] for row in record["intervals"]] == [
        "none NCC",
        "none LR",
    ]
    closed = record["intervals"][0]["result"]["closed"]
    assert (
        closed["estimate"] == pytest.approx(record["means"][0]["accuracy"])
        and closed["half_width"] > 0
    )
    assert app.main(command) == 0
    assert json.loads(capsys.readouterr().out)["intervals"] is None


def test_a_device_that_is_not_there_is_told_before_anything_is_looked_up(
    monkeypatch, capsys, environment
):
    monkeypatch.setattr(evaluate, "evaluate", lambda options: print("from the cache"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert app.main("evaluate clipart glyph-conv -o x.csv --device cuda".split()) == 2
    out, err = capsys.readouterr()
    assert not out and says_in_one_line(err, "fslcore: device", "'cpu'", "got 'cuda'")


def test_a_closed_output_is_no_fault(environment):
    for closed in ("1>&-", "2>&-", "1>&- 2>&-"):
        line = f"{sys.executable} -m fslcore --version {closed}"
        done = subprocess.run(["bash", "-c", line], capture_output=True)
        assert done.returncode == 0 and b"fault" not in done.stderr, done.stderr


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
    done = run_code(script, cwd=ROOT)
    assert (done.returncode, done.stderr) == (
        (130, "fslcore: stopped\n") if when == "import" else (-signal.SIGINT, "")
    )


def test_options_reach_what_a_command_starts_and_end_with_it(monkeypatch, capsys, environment):
    def features(options):
        print(
            *(os.environ[name] for name in ("FSLCORE_DEVICE", "FSLCORE_PRECISION", "TQDM_DISABLE"))
        )
        warn("of no weight")

    monkeypatch.setattr(commands, "features", features)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    command = "--quiet features clipart glyph-conv --device cuda:1 --precision bf16".split()
    assert app.main(command) == 0
    assert capsys.readouterr() == ("cuda:1 bf16 1\n", "")
    assert not any(
        os.environ.get(name) for name in program.OPTIONS_OF_CHILDREN
    )  # the next command has its own
    with pytest.warns(FslcoreWarning, match="of some weight"):
        warn("of some weight")


def test_a_warning_is_printed_once_in_one_line_and_a_user_can_filter_it(monkeypatch, capsys):
    def features(options):
        for _ in range(2):
            warn("two\nlines")

    monkeypatch.setattr(commands, "features", features)
    for _ in range(2):  # once per command
        assert app.main("features clipart glyph-conv".split()) == 0
        assert capsys.readouterr().err == "fslcore: two\\nlines\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FslcoreWarning)
        assert app.main("features clipart glyph-conv".split()) == 0
        assert capsys.readouterr().err == ""


def test_list_fits_one_screen_and_shows_all_of_a_kind(capsys):
    assert app.main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 100
    assert any(line.endswith(" …") for line in lines)  # where names are left out
    for word in ("clipart", "glyph-conv", "dinov2", "simpleshot"):
        assert word in "\n".join(lines)
    assert app.main(["list", "--json"]) == 0
    names = json.loads(capsys.readouterr().out)
    assert names["learners"]["images"] == ["ft"] and "cub:PATH" in names["datasets"]["papers"]
    for kind in commands.KINDS:
        assert any(line.startswith(f"{kind}: ") for line in lines)
        assert app.main(["list", kind, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {kind: names[kind]}
        assert app.main(["list", kind]) == 0
        out = capsys.readouterr().out
        assert all(name in out for group in names[kind].values() for name in group)
