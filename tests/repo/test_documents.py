"""The commands that the README and the book print are understood as they stand."""

import ast
import importlib
import inspect
import re
import shlex
from importlib.util import find_spec

import numpy as np
import pytest
import yaml

from fslbook import cli, notebooks, training
from fslcore.cli import app
from fslcore.paths import ROOT
from fslcore.stats import pilot, plan
from fslcore.tasks import sample_closed

LINES = [
    line
    for page in ("README.md", "book/running.md", "book/own.md", "book/guide.md", "book/course.md")
    for block in re.findall(
        r"^```bash\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    for line in block.splitlines()
]
COMMANDS = sorted({line for line in LINES if line.startswith(("fslcore ", "fslbook "))})
PARSERS = {"fslcore": app._program().parser, "fslbook": cli._program().parser}
PAGE = (ROOT / "book/running.md").read_text("utf-8")
PAPERMILL = sorted({line for line in LINES if "| papermill " in line})


@pytest.fixture
def attribute(tmp_path, monkeypatch):
    """Takes a printed line; the folders and files that its reader has are there."""
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSLCORE_DATA", str(tmp_path / "fetched"))
    for name in ("aircraft", "dtd", "cub/CUB_200_2011"):  # what a line before has fetched
        (tmp_path / "fetched" / name).mkdir(parents=True)

    def take(line):
        line = line.replace("/data/", f"{tmp_path}/data/").replace("/weights/", f"{tmp_path}/")
        for path in re.findall(rf"{tmp_path}/data/[\w-]+", line):
            (tmp_path / path).mkdir(exist_ok=True)
        for path in re.findall(r"features:([\w.]+)|([\w-]+\.safetensors)", line):
            (tmp_path / "".join(path)).touch()
        return shlex.split(line, comments=True)[1:]

    return take


@pytest.mark.parametrize("line", COMMANDS)
def test_every_printed_command_is_taken(line, attribute):
    options = PARSERS[line.split()[0]].parse_args(attribute(line))
    if options.command is cli.run:
        parameters = {name: notebooks.value(name, text) for name, text in options.parameter}
        assert notebooks.check(options.notebook, parameters) == parameters


def test_the_page_names_every_learner_that_can_be_trained():
    (section,) = re.findall(
        r"^`fslbook train LEARNER` trains .*?```bash", PAGE, re.MULTILINE | re.DOTALL
    )
    assert set(re.findall(r"`([\w+-]+)`", section)) == set(training.RECIPES)


@pytest.mark.parametrize("line", PAPERMILL)
def test_every_printed_papermill_line_gives_what_the_notebook_takes(line):
    from papermill.cli import _resolve_type, papermill

    notebook = re.search(r"notebooks/([\w-]+)\.md", line)[1]
    parameters = papermill.make_context(
        "papermill", shlex.split(line.partition("| papermill ")[2])
    ).params
    values = {
        name: _resolve_type(text) for name, text in parameters["parameters"]
    }  # lists stay texts, and are refused
    for text in parameters["parameters_yaml"]:
        values |= yaml.safe_load(text)
    assert values and notebooks.check(notebook, values) == values


CODE = re.compile(
    r"^(`{3,})(?:\{code-cell\}[^\n]*|python)\n(?:---\n.*?\n---\n|(?::[^\n]*\n)+)?(.*?)^\1$",
    re.MULTILINE | re.DOTALL,
)
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "book").glob("*.md")),
    *sorted((ROOT / "notebooks").glob("*.md")),
]


def strangers(text):
    """Names that code of a page takes from our packages and that are not there."""
    modules, missing = {}, []
    for node in (n for _, code in CODE.findall(text) for n in ast.walk(ast.parse(code))):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] in (
            "fslcore",
            "fslbook",
        ):
            package = importlib.import_module(node.module)
            for name in node.names:
                if not hasattr(package, name.name) and not find_spec(f"{node.module}.{name.name}"):
                    missing.append(f"{node.module}.{name.name}")
                else:
                    attribute = getattr(package, name.name, None)
                    modules[name.asname or name.name] = attribute or importlib.import_module(
                        f"{node.module}.{name.name}"
                    )
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in modules
        ):
            module = modules[node.value.id]
            if inspect.ismodule(module) and not hasattr(module, node.attr):
                missing.append(f"{module.__name__}.{node.attr}")
    return missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_on_pages_names_what_is_there(page):
    assert strangers(page.read_text("utf-8")) == []


def test_lines_on_statistics_run_on_whether_queries_were_right():
    rng = np.random.default_rng(0)
    labels = np.arange(8).repeat(40)
    tasks = sample_closed(labels, tasks=200, ways=5, shots=5, queries=6)
    right, right_a, right_b = rng.random((3, *tasks.query.shape)) < [[[0.7]], [[0.8]], [[0.6]]]
    variables = {"right": right, "right_a": right_a, "right_b": right_b, "labels": labels}
    variables |= {"support": tasks.support, "query": tasks.query}
    variables |= {"accuracies_a": right_a.mean(axis=1), "accuracies_b": right_b.mean(axis=1)}
    (lines,) = [code for _, code in CODE.findall(PAGE) if "accuracies_a" in code]
    exec(lines, variables)
    in_text = re.findall(r"`((?:pilot|plan)\([^`…]*right[^`…]*\))`", PAGE)
    assert len(in_text) == 2
    for line in in_text:
        eval(line, variables | {"pilot": pilot, "plan": plan})
