"""``fslbook run``: notebooks, parameters, profiles and outputs. No notebook is executed."""

import os
from pathlib import Path

import nbformat
import pytest

from fslbook import notebooks
from fslcore.paths import replace_file

from .judging import fill, fslbook, judge, row, split

HERE = "closed-vs-open"


@pytest.fixture
def not_executed(monkeypatch):
    """A notebook that is to be executed, which takes long, gives an empty one; all before and after is real."""

    def run(name, parameters, output, *_, **__):
        notebooks.check(name, parameters)
        replace_file(Path(output), lambda part: nbformat.write(nbformat.v4.new_notebook(), part))
        return Path(output)

    monkeypatch.setattr(notebooks, "run", run)


def wrote(_):
    return os.path.isfile("out.ipynb")


def run(*options, notebook=HERE):
    return fslbook("run", notebook, *([] if "-o" in options else ["-o", "out.ipynb"]), *options)


BAD = {
    "ways": (split("1 51 five @5 010"), "way"),
    "level": (["high", "&a [*a]"], "level"),
    "datasets": (
        [
            "[]",
            "[clipard]",
            "clipart, fashion",
            "['folder:gone']",
        ],
        "dataset",
    ),
    "backbones": (["[resnet50]"], "backbone"),
    "learners": (["[ncx]"], "learner"),
    "fine_tuning": (["never"], "fine_tuning"),
}


@pytest.mark.parametrize(
    "notebook, name, value, expected",
    [
        *(
            row(f"{name} {v}", HERE, name, v, words)
            for name, (values, words) in BAD.items()
            for v in values
        ),
        row(
            "a command",
            HERE,
            "datasets",
            "!!python/object/apply:os.system ['touch SPRUNG']",
            "dataset",
        ),
        row("one of several", HERE, "datasets", "clipart", wrote),
        row("a list", HERE, "datasets", "[clipart, fashion]", wrote),
        row("a data set twice", HERE, "datasets", "[clipart, clipart]", "clipart & once"),
        row("a name that is misspelt", HERE, "dataset", "clipart", "dataset & datasets"),
        row("results gone", "your-results", "results", "gone.csv", "gone.csv"),
        row("none of two words", "your-results", "sampling", "random", "random & open"),
        row("folder gone", "your-support-set", "folder", "gone", "gone"),
        row(
            "a method without learner",
            "estimators",
            "methods",
            "[efficientnet-lite0]",
            "efficientnet-lite0",
        ),
    ],
)
def test_parameters(not_executed, notebook, name, value, expected):
    judge(lambda: run("-p", name, value, notebook=notebook), expected)


@pytest.mark.parametrize(
    "line, expected",
    [
        row("a parameter with an equals sign", f"{HERE} -p ways=5", "-p"),
        row("a parameter twice", f"{HERE} -p ways 5 -p ways 10 -o out.ipynb", "ways & twice|once"),
        row("no notebook", "", "notebook"),
        row("two notebooks", f"{HERE} benchmark", "benchmark"),
        row(
            "a notebook that is misspelt",
            "closed-vs-opne -o out.ipynb",
            "'closed-vs-opne' & mean 'closed-vs-open'",
        ),
        row("output out.html", f"{HERE} -o out.html", "out.html & .ipynb"),
        row(
            "output in a new folder",
            f"{HERE} -o new/out.ipynb",
            lambda _: os.path.isfile("new/out.ipynb"),
        ),
    ],
)
def test_command_lines(not_executed, line, expected):
    judge(lambda: fslbook("run", *split(line)), expected)


LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{c}: &{c} [{','.join(['*' + p] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi")
)


@pytest.mark.parametrize(
    "content, expected",
    [
        row("good", f"{HERE}:\n  ways: 7\n", wrote),
        row("a notebook without parameters", f"{HERE}:\n", "p.yml|closed"),
        row("an unknown notebook", "closed-vs-opne:\n  ways: 5\n", "closed-vs-opne"),
        row("an unknown parameter", f"{HERE}:\n  way: 5\n", "way & ways"),
        row("out of range", f"{HERE}:\n  ways: 99\n", "ways & 99"),
        row("a bad value for another notebook", "pilot:\n  tasks: 1\n", "tasks"),
        row("a key twice", f"{HERE}:\n  ways: 5\n  ways: 10\n", "ways & twice|once|double"),
        row(
            "a tag that runs a command",
            f"{HERE}: !!python/object/apply:os.system ['touch SPRUNG']\n",
            "p.yml",
        ),
        row("zeros in front of a number", f"{HERE}:\n  ways: 007\n", "p.yml & 007"),
        row("noise", bytes(range(128, 256)), "p.yml"),
        row("no such file", lambda path: None, "p.yml"),
        row("a billion laughs", LAUGHS, "p.yml|a"),
    ],
)
def test_profiles(not_executed, content, expected):
    fill("p.yml", content)
    judge(lambda: run("--profile", "p.yml"), expected)
