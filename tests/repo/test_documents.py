"""The commands that the README and the book print are understood as they stand."""

import ast
import inspect
import os
import re
import shlex
import shutil
import sys
import tomllib
from importlib import metadata
from itertools import product

import commands_page
import numpy as np
import pytest
import yaml
from checkout import copy_sources
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from PIL import Image
from running import captured

from fslbook import cli, notebooks, training
from fslcore import store
from fslcore.cli import app
from fslcore.paths import ROOT
from fslcore.stats import pilot, plan
from fslcore.tasks import sample_closed

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "book").glob("*.md")),
    *sorted((ROOT / "notebooks").glob("*.md")),
]
BASH = re.compile(r"(?ms)^```bash\n(.*?)^```")
LINES = [
    line
    for page in PAGES
    for block in BASH.findall(page.read_text("utf-8"))
    for line in block.replace("\\\n", "").splitlines()
]
README = (ROOT / "README.md").read_text("utf-8")
SITUATIONS = re.findall(r"^\| [^|]+ \| `([^`|]+)` \| `(\w+)` \|$", README, re.MULTILINE)
COMMANDS = {line for line in LINES if line.startswith(("fslcore ", "fslbook "))}
COMMANDS = sorted(COMMANDS | {line for line, _ in SITUATIONS})
PARSERS = {"fslcore": app._program().parser, "fslbook": cli._program().parser}
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


ELSEWHERE = re.compile(  # needs a network, a cluster, or hours
    r"(?m)^(python3 -m venv|source|pip|make|snakemake|fslcore fetch|fslbook train|fslbook run est).*\n(  .*\n)*"
)
FIRST_COMMANDS = {  # of the pages of *How do I …?*; test_own_page.py runs its own
    page.stem: ELSEWHERE.sub("", match[1])
    for page in (ROOT / "book").glob("*.md")
    if page.stem != "own"
    and (match := re.match(r"(?:\(.*\n)?# .*\n\n```bash\n([^`]*)", page.read_text("utf-8")))
}


@pytest.fixture(scope="module")
def clean_copy(tmp_path_factory):
    """A copy of the sources without anything built, with the files that readers have."""
    folder = tmp_path_factory.mktemp("clean") / "copy"
    copy_sources(folder)
    for kind, i in product(range(6), range(20)):
        path = folder / "files/mushrooms" / str(kind) / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng([kind, i]).integers(0, 256, (24, 24, 3), "u1")
        Image.fromarray(noise).save(path)
    (folder / "my-images").symlink_to(folder / "files/mushrooms")
    logs = ROOT / "tests/report/logs"
    shutil.copytree(logs / "lm_eval", folder / "out")
    shutil.copytree(logs / "mteb/all/results", folder / "results")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", [*filter(FIRST_COMMANDS.get, FIRST_COMMANDS)])
def test_the_first_commands_of_a_page_run_in_a_clean_copy(page, clean_copy):
    lines = FIRST_COMMANDS[page].replace("/data/", f"{clean_copy}/files/")
    environment = os.environ | {
        "PATH": f"{sys.exec_prefix}/bin:{os.environ['PATH']}",
        "PYTHONPATH": f"{clean_copy}:{clean_copy}/book",
        "FSLCORE_CACHE": str(clean_copy / "cache"),
    }
    command = ["bash", "-ec", lines]
    done = captured(command, cwd=clean_copy, env=environment)
    assert done.returncode == 0, done.stderr


SOURCES = [
    path
    for folder in ("fslcore", "book", "notebooks", "data", "profiles", "binder", ".github")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".md", ".js", ".toml", ".yml", ".txt", ".j2"}
] + [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "pyproject.toml"]
FROM_THE_INDEX = re.compile(r"pip install [^`\n]*(?<![\w/])fslcore(?:[-_]data)?(?![\w-])")


def test_nothing_tells_to_install_from_the_index_before_a_release():
    """Another project may take the names there: what is printed installs from a copy, or from files."""
    for line in ("pip install 'fslcore[book]'", "pip install -q fslcore-data"):
        assert FROM_THE_INDEX.search(line)
    named = {path: FROM_THE_INDEX.findall(path.read_text("utf-8")) for path in SOURCES}
    assert {path: lines for path, lines in named.items() if lines} == {}


def in_copy(line, clean_copy):
    environment = os.environ | {
        "PATH": f"{sys.exec_prefix}/bin:{os.environ['PATH']}",
        "PYTHONPATH": f"{clean_copy}:{clean_copy}/book",
        "FSLCORE_CACHE": str(store.path()),  # features of images take a minute where there are none
    }
    return captured(["bash", "-ec", line], cwd=clean_copy, env=environment)


def files_of(folder):
    return {path for path in folder.iterdir() if path.name not in ("cache", "_build")}


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line, _ in SITUATIONS])
def test_every_command_of_the_readme_works_as_typed_and_git_ignores_what_it_writes(
    line, clean_copy
):
    before = files_of(clean_copy)
    done = in_copy(line, clean_copy)
    assert done.returncode == 0 and done.stdout, done.stderr
    written = [path.name + "/" * path.is_dir() for path in files_of(clean_copy) - before]
    if written and (ROOT / ".git").exists():
        ignored = captured(["git", "check-ignore", "--no-index", *written], cwd=ROOT)
        assert ignored.stdout.splitlines() == written


def test_the_readme_has_a_command_per_situation_and_names_the_extra_that_has_it():
    assert 5 <= len(SITUATIONS) <= 8
    of_book = {"fslbook": "book"}
    for line, extra in SITUATIONS:
        program, command, *_ = line.split()
        usual = PARSERS[program]._subparsers._group_actions[0].choices[command].get_default("extra")
        assert extra == of_book.get(program, usual), line


SIZES = re.compile(r"^\| `(pip install [^`]+)` .*\| +(\d+) \| +([\d.]+ GB) \|$", re.MULTILINE)
PAGE_OF_SIZES = SIZES.findall((ROOT / "book/install.md").read_text("utf-8"))


def test_readme_and_page_say_the_same_of_each_installation():
    rows = SIZES.findall(README)
    assert len(rows) == 4 and set(rows) < set(PAGE_OF_SIZES)


def pinned_names(name):
    text = (ROOT / name).read_text("utf-8")
    return set(map(canonicalize_name, re.findall(r"(?m)^([\w.-]+)==", text)))


def required(extras):
    """Names of the packages that an installation has, as those installed here ask for them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    own_lists = {"": project["dependencies"], **project["optional-dependencies"]}
    pins = pinned_names("requirements.txt")
    waiting, seen = [("fslcore", extra) for extra in ("", *extras)], set()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        lines = metadata.requires(name) or [] if name in pins else []
        lines = own_lists[extra] if name == "fslcore" else lines
        for requirement in map(Requirement, lines):
            if not requirement.marker or requirement.marker.evaluate({"extra": extra}):
                further = ("", *requirement.extras)
                waiting += [(canonicalize_name(requirement.name), extra) for extra in further]
    return {name for name, _ in seen if name in pins or name.startswith("fslcore")}


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="counted with Python 3.11")
@pytest.mark.parametrize("line, count, _", PAGE_OF_SIZES)
def test_the_number_of_packages_is_that_of_what_they_ask_for(line, count, _):
    extras = re.search(r"\[([\w,]+)\]", line)
    names = required(extras[1].split(",") if extras else [])
    if "captions" in line:  # which are not installed here
        names |= pinned_names("requirements-captions.txt")
    assert len(names - {"pytz"}) == int(count)  # of pandas 2; without pins, pip takes pandas 3


def test_readme_and_page_begin_with_an_environment():
    """Python of Debian and Ubuntu refuses pip outside of one."""
    for text in (README, (ROOT / "book/install.md").read_text("utf-8")):
        first, second, third, *_ = BASH.search(text)[1].splitlines()
        assert first.startswith("python3 -m venv .venv") and third.startswith("pip install ")
        assert second.startswith("source .venv/bin/activate")
        lines = [line for block in BASH.findall(text) for line in block.splitlines()]
        assert lines[lines.index("make book") + 1] == "source .venv/bin/activate"


def test_every_printed_line_fits_the_page():
    pages = (page.read_text("utf-8") for page in PAGES if page.parent.name == "book")
    lines = "".join(block for page in pages for block in BASH.findall(page)).splitlines()
    assert max(map(len, lines)) <= 77  # at 1,280 pixels


def test_the_pages_on_commands_have_every_argument():
    text = commands_page.library_page() + commands_page.book_page()
    for parser in PARSERS.values():
        for command in commands_page.subparsers(parser).choices.values():
            assert all(f"`{name}`" in text for name in command._option_string_actions)


def test_the_page_names_every_learner_that_can_be_trained():
    (section,) = re.findall(
        r"(?ms)^`fslbook train LEARNER` trains .*?```bash",
        (ROOT / "book/train.md").read_text("utf-8"),
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
    r"(?ms)^(`{3,})(?:\{code-cell\}[^\n]*|python)\n(?:---\n.*?\n---\n|(?::[^\n]*\n)+)?(.*?)^\1$"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_on_pages_names_what_is_there(page):
    """What it takes from our packages can be imported, and modules have the names that it calls."""
    names = {}
    for _, code in CODE.findall(page.read_text("utf-8")):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and re.match("fslcore|fslbook", node.module):
                exec(ast.unparse(node), names)
            elif isinstance(node, ast.Attribute):
                owner = names.get(ast.unparse(node.value))
                assert not inspect.ismodule(owner) or hasattr(owner, node.attr), ast.unparse(node)


def test_lines_on_statistics_run_on_whether_queries_were_right():
    rng = np.random.default_rng(0)
    labels = np.arange(8).repeat(40)
    tasks = sample_closed(labels, tasks=200, ways=5, shots=5, queries=6)
    right, right_a, right_b = rng.random((3, *tasks.query.shape)) < [[[0.7]], [[0.8]], [[0.6]]]
    variables = {"right": right, "right_a": right_a, "right_b": right_b, "labels": labels}
    variables |= {"support": tasks.support, "query": tasks.query}
    variables |= {"accuracies_a": right_a.mean(axis=1), "accuracies_b": right_b.mean(axis=1)}
    page = (ROOT / "book/report-results.md").read_text("utf-8")
    (lines,) = [code for _, code in CODE.findall(page) if "accuracies_a" in code]
    exec(lines, variables)
    in_text = re.findall(r"`((?:pilot|plan)\([^`…]*right[^`…]*\))`", page)
    assert len(in_text) == 2
    for line in in_text:
        eval(line, variables | {"pilot": pilot, "plan": plan})
