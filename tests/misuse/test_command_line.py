"""Commands and options that are misspelt, help, and streams and folders that cannot be written to."""

import argparse
import json
import re
import sys
from pathlib import Path

import pytest

from fslcore.cli import app as cli

from .judging import Done, command, fill, fslcore, has, holds, judge, refused, row
from .test_features import good

COMMANDS = next(a for a in cli._program().parser._actions if isinstance(a, argparse._SubParsersAction)).choices
OPTIONS = {
    "--quiet": ("evaluate", "train", "caption", "report", "assess", "run"),
    "--json": ("list", "report", "assess", "evaluate"),
    "--device": ("evaluate", "train", "assess"),
    "--figures": ("report",),
    "--size": ("evaluate",),
    "--skip-small": ("evaluate",),
}


@pytest.mark.parametrize(
    "arguments, expected",
    [
        row("nothing", [], "COMMAND|command"),
        row("an empty command", [""], "invalid choice|command"),
        row("a command that is misspelt", ["raport", "r.csv"], "raport & mean report|mean 'report'"),
        row("a command in capitals", ["REPORT"], "REPORT & report"),
        row("an argument too many", ["list", "extra"], "extra"),
        row("an option that is not there", ["--verbose"], "verbose|command|COMMAND"),
        row("an option alone", ["evaluate", "--json"], "dataset"),
        row("help", ["help"], "help|list"),
        row("-v", ["-v"], "-v|command|COMMAND"),
        row("a NUL in a command", ["list\0"], "list"),
        row("list", ["list"], has("closed-vs-open & clipart & glyph-conv & ncc")),
        row("list --json", ["list", "--json"], lambda done: json.loads(done.out)),
        row("version", ["--version"], lambda done: re.fullmatch(r"(fslcore )?\d+\.\d+\S*", done.out.strip())),
        row("--help", ["--help"], has("list & evaluate & report")),
    ],
)
def test_commands(arguments, expected):
    judge(lambda: fslcore(*arguments), expected)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_the_exit_codes_the_usual_options_and_a_text_for_each(name):
    expected = f"usage & fslcore {name}  & exit & 2 & --debug".replace("  &", " &")
    judge(lambda: fslcore(name, "--help"), has(expected))
    judge(lambda: fslcore(name, "--help"), has(" & ".join(o for o, of in OPTIONS.items() if name in of) or "usage"))
    assert [a.dest for a in COMMANDS[name]._actions if not a.help] == []


@pytest.mark.parametrize(
    "line, code, words",
    [
        row("a reader that stops reading", "set -o pipefail; $FSLCORE list | head -1", (0, 141), ""),
        row("a full device", "$FSLCORE list > /dev/full", (2,), "space|full|write"),
        row("output in ASCII", "PYTHONIOENCODING=ascii LC_ALL=C $FSLCORE list", (0,), "clipart"),
        row("output that is closed", "$FSLCORE list >&-", (0,), ""),
        row("version", "$FSLCORE --version", (0,), "0."),
    ],
)
def test_streams(line, code, words):
    done = command(line)
    assert done.code in code and holds(done.text, words)
    assert "Traceback" not in done.text and not re.search(r"\w+Error\b", done.err)


def test_debug_shows_where():
    judge(lambda: fslcore("report", "gone.csv"), "gone.csv")
    assert "Traceback" in fslcore("report", "gone.csv", "--debug").err
    assert "Traceback" in fslcore("--debug", "report", "gone.csv").err


@pytest.mark.parametrize(
    "make, words",
    [
        row("a file", lambda: fill("cache", ""), "cache"),
        row("a link to nothing", lambda: Path("cache").symlink_to("/proc/gone"), "/proc/gone"),
        row("a new folder", lambda: None, None),
    ],
)
def test_the_cache(make, words, monkeypatch):
    fill("f.npz", good)
    make()
    monkeypatch.setenv("FSLCORE_CACHE", str(Path("cache").absolute()))
    small = [
        "--tasks",
        "20",
        "--ways",
        "3",
        "--shots",
        "1",
        "--queries",
        "2",
        "--samplings",
        "closed",
        "--learners",
        "ncc",
    ]
    call = lambda: fslcore("evaluate", "features:f.npz", "none", "-o", "r.csv", *small)  # noqa: E731
    judge(call, words or (lambda _: Path("cache").is_dir() and Path("r.csv").is_file()))


BARRED = """
import builtins, sys
real = builtins.__import__
def barred(name, *a, **k):
    if name.split(".")[0] in {"torch", "torchvision"}:
        raise ImportError(name)
    return real(name, *a, **k)
builtins.__import__ = barred
from fslcore.cli.app import main
for line in sys.stdin:
    print(main(eval(line)), file=sys.stderr)
"""
EARLY = {
    "r.txt": ["evaluate", "clipart", "glyph-conv", "-o", "r.txt"],
    "ways & -1": ["evaluate", "clipart", "glyph-conv", "-o", "r.csv", "--ways", "-1"],
    "ncx": ["evaluate", "clipart", "glyph-conv", "-o", "r.csv", "--learners", "ncx"],
    "x.pdf": ["assess", "gone", "-o", "x.pdf"],
    "level|gone": ["assess", "gone", "--level", "3"],
    "epochs": ["train", "protonet", "--epochs", "0"],
    "c.txt": ["caption", "clipart", "-o", "c.txt"],
}


def test_what_is_wrong_is_said_before_torch_is_there():
    fill("run.py", BARRED)
    fill("lines", "\n".join(map(repr, EARLY.values())))
    said = command(f"{sys.executable} run.py < lines").err.splitlines()
    assert len(said) == 2 * len(EARLY), said
    for words, line, code in zip(EARLY, said[::2], said[1::2]):
        refused(Done(int(code), err=line), words)
