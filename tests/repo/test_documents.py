"""The commands that the README and the book print work as typed; ``tests/lint`` reads whether they are allowed."""

import os
import re
import shutil
import sys
import tomllib
from importlib import metadata
from itertools import product

import commands_page
import numpy as np
import pytest
from checkout import copy_sources
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from PIL import Image
from running import captured, forked_commands

from fslbook import cli
from fslcore.cli import app
from fslcore.paths import ROOT
from fslcore.stats import estimate_variance, plan_sample_size
from fslcore.tasks import sample_closed
from tests.lint.documents import SITUATION

README = (ROOT / "README.md").read_text("utf-8")
SITUATIONS = [match[1] for match in SITUATION.finditer(README)]
PARSERS = {"fslcore": app._program().parser, "fslbook": cli._program().parser}


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


@pytest.fixture(scope="module")
def in_copy(clean_copy):
    """A function that runs lines of a shell in the copy. All share a cache, which is empty at first."""
    with forked_commands(clean_copy, clean_copy / "programs") as variables:
        environment = os.environ | variables | {"FSLCORE_CACHE": str(clean_copy / "cache")}
        yield lambda lines: captured(["bash", "-ec", lines], cwd=clean_copy, env=environment)


@pytest.mark.slow
@pytest.mark.parametrize("page", [*filter(FIRST_COMMANDS.get, FIRST_COMMANDS)])
def test_the_first_commands_of_a_page_run_in_a_clean_copy(page, clean_copy, in_copy):
    done = in_copy(FIRST_COMMANDS[page].replace("/data/", f"{clean_copy}/files/"))
    assert done.returncode == 0, done.stderr


def files_of(folder):
    return {path for path in folder.iterdir() if path.name not in ("cache", "_build")}


@pytest.mark.slow
@pytest.mark.parametrize("line", SITUATIONS)
def test_every_command_of_the_readme_works_as_typed_and_git_ignores_what_it_writes(
    line, clean_copy, in_copy
):
    before = files_of(clean_copy)
    done = in_copy(line)
    assert done.returncode == 0 and done.stdout, done.stderr
    written = [path.name + "/" * path.is_dir() for path in files_of(clean_copy) - before]
    if written and (ROOT / ".git").exists():
        ignored = captured(["git", "check-ignore", "--no-index", *written], cwd=ROOT)
        assert ignored.stdout.splitlines() == written


SIZES = re.compile(r"^\| `(pip install [^`]+)` .*\| +(\d+) \| +[\d.]+ GB \|$", re.MULTILINE)
PAGE_OF_SIZES = SIZES.findall((ROOT / "book/install.md").read_text("utf-8"))


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
@pytest.mark.parametrize("line, count", PAGE_OF_SIZES)
def test_the_number_of_packages_is_that_of_what_they_ask_for(line, count):
    extras = re.search(r"\[([\w,]+)\]", line)
    names = required(extras[1].split(",") if extras else [])
    if "captions" in line:  # which are not installed here
        names |= pinned_names("requirements-captions.txt")
    assert len(names - {"pytz"}) == int(count)  # of pandas 2; without pins, pip takes pandas 3


def test_the_pages_on_commands_have_every_argument():
    text = commands_page.library_page() + commands_page.book_page()
    for parser in PARSERS.values():
        for command in commands_page.subparsers(parser).choices.values():
            assert all(f"`{name}`" in text for name in command._option_string_actions)


def test_lines_on_statistics_run_on_whether_queries_were_right():
    rng = np.random.default_rng(0)
    labels = np.arange(8).repeat(40)
    tasks = sample_closed(labels, tasks=200, ways=5, shots=5, queries=6)
    right, right_a, right_b = rng.random((3, *tasks.query.shape)) < [[[0.7]], [[0.8]], [[0.6]]]
    variables = {"right": right, "right_a": right_a, "right_b": right_b, "labels": labels}
    variables |= {"support": tasks.support, "query": tasks.query}
    variables |= {"accuracies_a": right_a.mean(axis=1), "accuracies_b": right_b.mean(axis=1)}
    page = (ROOT / "book/report-results.md").read_text("utf-8")
    (lines,) = [
        code for code in re.findall(r"(?ms)^```python\n(.*?)^```$", page) if "accuracies_a" in code
    ]
    exec(lines, variables)
    in_text = re.findall(r"`((?:estimate_variance|plan_sample_size)\([^`…]*right[^`…]*\))`", page)
    assert len(in_text) == 2
    for line in in_text:
        eval(
            line,
            variables
            | {"estimate_variance": estimate_variance, "plan_sample_size": plan_sample_size},
        )
