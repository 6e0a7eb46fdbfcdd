"""``fslbook run``: notebooks, parameters, profiles and outputs. No notebook is executed."""

import os
from pathlib import Path

import nbformat
import pytest

from fslbook import notebooks
from fslcore.paths import replace_file

from .judging import fill, fslbook, judge, nowhere, row, split

HERE = "closed-vs-open"


@pytest.fixture
def not_executed(monkeypatch):
    """A notebook that is to be executed, which takes long, gives an empty one; all before and after is real."""

    def run(name, given, output, *_, **__):
        notebooks.check(name, given)
        replace_file(Path(output), lambda part: nbformat.write(nbformat.v4.new_notebook(), part))
        return Path(output)

    monkeypatch.setattr(notebooks, "run", run)


def wrote(_):
    return os.path.isfile("out.ipynb")


def run(*more, notebook=HERE):
    return fslbook("run", notebook, *([] if "-o" in more else ["-o", "out.ipynb"]), *more)


BAD = {
    "ways": (
        "0 1 -1 51 1e9 nan .nan .inf five 2.5 true [5] null '' '5' 5.0 2024-01-01 0x5g @5 1_0 010 0x5 1:30".split(),
        "way",
    ),
    "shots": (["0", "101", "one", "1.5"], "shot"),
    "queries": (["0", "501", "x"], "querie"),
    "tasks": (["0", "1", "100001", "1000000000", "-5", "many"], "task"),
    "level": (["0", "1", "95", ".nan", "high", "true", "[0.95]", "-1", "&a [*a]", "1e-1"], "level"),
    "seed": (["-1", "x", "1.5"], "seed"),
    "ft_tasks": (["0", "-1"], "ft_task"),
    "ft_open": (["1"], "ft_open"),
    "datasets": (
        [
            "[]",
            "[clipard]",
            "[clipart, 3]",
            "[[clipart]]",
            "{a: clipart}",
            "clipart, fashion",
            "[null]",
            "['folder:gone']",
            "['']",
            "[clipart, fashion",
            "[clipart: fashion",
            "!!python/object/apply:os.system ['touch SPRUNG']",
        ],
        "dataset",
    ),
    "backbones": (["[glyphconv]", "[resnet50]", "[]"], "backbone"),
    "learners": (["[ncx]", "[]", "[3]", "[true]"], "learner"),
    "fine_tuning": (["never", "true", "yes", "Stored", "''"], "fine_tuning"),
}


@pytest.mark.parametrize(
    "notebook, name, value, expected",
    [
        *(row(f"{name} {v}", HERE, name, v, words) for name, (values, words) in BAD.items() for v in values),
        *(row(f"{name} {v}", HERE, name, v, wrote) for name, v in [("ways", "5"), ("level", "0.9"), ("shots", "1")]),
        *(row(f"one of {name}", HERE, name, v, wrote) for name, v in [("datasets", "clipart"), ("learners", "ncc")]),
        row("one of backbones", HERE, "backbones", "glyph-conv", wrote),
        row("ways with a comment", HERE, "ways", "5 # classes", wrote),
        row("ways after a tab", HERE, "ways", "\t5", "way"),
        row("two data sets", HERE, "datasets", "[clipart, fashion]", wrote),
        row("a data set twice", HERE, "datasets", "[clipart, clipart]", "clipart & once"),
        row("way", HERE, "way", "5", "way & ways"),
        row("Ways", HERE, "Ways", "5", "Ways & ways"),
        row("shot", HERE, "shot", "1", "shot & shots"),
        row("dataset", HERE, "dataset", "clipart", "dataset & datasets"),
        row("no name", HERE, "", "5", "parameter"),
        row("ways=5", HERE, "ways=5", "5", "ways=5"),
        row("results gone", "your-results", "results", "gone.csv", "gone.csv"),
        row("common 1", "your-results", "common", "1", "common"),
        row("common 'yes'", "your-results", "common", "'yes'", "common"),
        row("common yes", "your-results", "common", "yes", wrote),
        row("sampling random", "your-results", "sampling", "random", "random & open"),
        row("folder gone", "your-support-set", "folder", "gone", "gone"),
        row("released gone", "benchmark", "released", "gone", "gone"),
        row("a method without learner", "estimators", "methods", "[efficientnet-lite0]", "efficientnet-lite0"),
        row("learner lrr", "estimators", "methods", "[efficientnet-lite0 lrr]", "lrr"),
        row("backbone lite9", "estimators", "methods", "[efficientnet-lite9 lr]", "efficientnet-lite9"),
        row("two learners", "estimators", "methods", "[efficientnet-lite0 lr ncc]", "efficientnet-lite0 lr ncc"),
        row("one number of shots", "sizing-tasks", "shots", "5", wrote),
        row("shots of 0", "sizing-tasks", "shots", "[0]", "shots"),
        row("shots twice", "sizing-tasks", "shots", "[5, 5]", "shots & once"),
        row("two tasks", "sizing-tasks", "tasks", "2", "tasks"),
        row("differences of 0", "planning", "differences", "[0]", "differences"),
        row("differences NaN", "planning", "differences", "[.nan]", "differences"),
        row("one class", "data-and-backbones", "classes", "1", "classes"),
        row("speed_images 1e3", "data-and-backbones", "speed_images", "1e3", "speed_images"),
        row("a list of data sets", "three-papers", "dataset", "[clipart]", "dataset"),
        row("attributes words", "three-papers", "attributes", "words", "words"),
    ],
)
def test_parameters(not_executed, notebook, name, value, expected):
    judge(lambda: run("-p", name, value, notebook=notebook), expected)


@pytest.mark.parametrize(
    "line, expected",
    [
        row("a parameter without value", f"{HERE} -p ways", "-p"),
        row("a parameter with an equals sign", f"{HERE} -p ways=5", "-p"),
        row("a parameter twice", f"{HERE} -p ways 5 -p ways 10 -o out.ipynb", "ways & twice|once"),
        row("no notebook", "", "notebook"),
        row("two notebooks", f"{HERE} benchmark", "benchmark"),
        row("profile quick", f"{HERE} --profile quick -o out.ipynb", "quick"),
        row("profile without a name", f"{HERE} --profile", "--profile"),
        row("profile of an empty name", f"{HERE} --profile ''", "profile"),
        *(
            row(f"notebook {name or 'without a name'}", f"'{name}' -o out.ipynb", words)
            for name, words in {
                "closed-vs-opne": "closed-vs-opne & mean closed-vs-open",
                "": "notebook",
                "nothing": f"nothing & {HERE}",
                "closed-vs-open.md": f"closed-vs-open.md & {HERE}",
                "notebooks/closed-vs-open.md": "notebooks/closed-vs-open.md",
                "../profiles/quick": "../profiles/quick",
                "Closed-vs-Open": f"Closed-vs-Open & {HERE}",
                "page": "page",
                "x" * 300: "xxx",
                "*": "*",
                "index": "index",
            }.items()
        ),
        *(
            row(f"output {v}", f"{HERE} -o {v}", f"{v} & .ipynb")
            for v in "out.txt out.html out . out.csv out.md -".split()
        ),
        row("output without a name", f"{HERE} -o ''", "output|-o & .ipynb"),
        row("output in a new folder", f"{HERE} -o new/out.ipynb", lambda _: os.path.isfile("new/out.ipynb")),
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
        row("JSON", '{"closed-vs-open": {"ways": 7}}', wrote),
        row("a byte order mark", b"\xef\xbb\xbf" + f"{HERE}:\n  ways: 7\n".encode(), wrote),
        row("empty", "", wrote),
        row("only a comment", "# nothing\n", wrote),
        row("null", "null\n", wrote),
        row("a notebook without parameters", f"{HERE}:\n", "p.yml|closed"),
        row("a list", "- ways: 5\n", "p.yml"),
        row("a number", "5\n", "p.yml"),
        row("a text", "quick\n", "p.yml"),
        row("a notebook with a list", f"{HERE}:\n- ways\n", "p.yml"),
        row("a notebook with a number", f"{HERE}: 5\n", "p.yml"),
        row("an unknown notebook", "closed-vs-opne:\n  ways: 5\n", "closed-vs-opne"),
        row("an unknown parameter", f"{HERE}:\n  way: 5\n", "way & ways"),
        row("a parameter of the wrong type", f"{HERE}:\n  ways: five\n", "ways & five"),
        row("out of range", f"{HERE}:\n  ways: 99\n", "ways & 99"),
        row("a bad value for another notebook", "pilot:\n  tasks: 1\n", "tasks"),
        row("parameters on top", "ways: 5\nshots: 1\n", "p.yml|ways"),
        row("a tab", f"{HERE}:\n\tways: 5\n", "p.yml"),
        row("a bracket that does not end", f"{HERE}:\n  datasets: [clipart\n", "p.yml"),
        row("a quote that does not end", f"{HERE}:\n  datasets: ['clipart\n", "p.yml"),
        row("a colon too many", f"{HERE}: ways: 5\n", "p.yml"),
        row("wrong steps", f"{HERE}:\n    ways: 5\n  shots: 1\n", "p.yml"),
        row("a key twice", f"{HERE}:\n  ways: 5\n  ways: 10\n", "ways & twice|once|double"),
        row("an anchor that is not there", f"{HERE}: *nothing\n", "p.yml"),
        row("two documents", f"{HERE}:\n  ways: 5\n---\npilot: {{}}\n", "p.yml"),
        row("a tag that runs a command", f"{HERE}: !!python/object/apply:os.system ['touch SPRUNG']\n", "p.yml"),
        row("an anchor in itself", "&a\nx: *a\n", "p.yml|x"),
        row("zeros in front of a number", f"{HERE}:\n  ways: 007\n", "p.yml & 007"),
        row("a number as key", "5:\n  ways: 5\n", "5"),
        row("null as key", "null:\n  ways: 5\n", "p.yml|None|null"),
        row("a list as key", "? [a, b]\n: {ways: 5}\n", "p.yml|a"),
        row("TOML", "[closed-vs-open]\nways = 5\n", "p.yml"),
        row("noise", bytes(range(128, 256)), "p.yml"),
        row("UTF-16", f"{HERE}:\n  ways: 7\n".encode("utf-16"), "p.yml & UTF-8"),
        row("Latin 1", f"# für\n{HERE}:\n  ways: 7\n".encode("latin-1"), "p.yml"),
        row("a NUL", f"{HERE}:\0\n", "p.yml"),
        row("a folder", Path.mkdir, "p.yml"),
        row("no such file", lambda path: None, "p.yml"),
        row("a link to itself", lambda path: path.symlink_to(path), "p.yml"),
        row("a billion laughs", LAUGHS, "p.yml|a"),
    ],
)
def test_profiles(not_executed, content, expected):
    fill("p.yml", content)
    judge(lambda: run("--profile", "p.yml"), expected)


def test_names_of_profiles(not_executed):
    judge(lambda: run("--profile", "x" * 300 + ".yml"), "xxx")
    fill("p.txt", f"{HERE}:\n  ways: 7\n")
    judge(lambda: run("--profile", "p.txt"), wrote)


@pytest.mark.parametrize("make, path, words", nowhere(".ipynb"))
def test_where_no_notebook_can_be_written(not_executed, make, path, words):
    make()
    judge(lambda: run("-o", path), words)
