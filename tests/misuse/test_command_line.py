"""Commands and options that are misspelt, help, and streams and folders that cannot be written to."""

import json
import re
from pathlib import Path

import pytest

from .judging import command, fill, fslcore, has, holds, judge, row
from .test_features import good


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
        row("list", ["list"], has("clipart & glyph-conv & ncc")),
        row("list --json", ["list", "--json"], lambda done: json.loads(done.out)),
        row("version", ["--version"], lambda done: re.fullmatch(r"(fslcore )?\d+\.\d+\S*", done.out.strip())),
        row("--help", ["--help"], has("list & evaluate & report")),
    ],
)
def test_commands(arguments, expected):
    judge(lambda: fslcore(*arguments), expected)


def test_output_in_ascii():
    done = command("PYTHONIOENCODING=ascii LC_ALL=C $FSLCORE list")
    assert done.code == 0 and holds(done.text, "clipart") and "Traceback" not in done.text


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
