"""Every target of the Makefile installs what it needs before its work, or says in one line what is missing."""

import itertools
import os
import re
import shutil
import sys

import pytest
import yaml
from packaging.utils import canonicalize_name
from running import captured
from test_packaging import imported

from fslcore.paths import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = re.search(r"^\.PHONY: (.+)", MAKEFILE, re.MULTILINE)[1].split()
PAPERS = re.search(r"^PAPERS := (.+)", MAKEFILE, re.MULTILINE)[1].split()
CALLS = [[name] for name in TARGETS if name != "paper"]
CALLS += [["paper", f"PAPER={paper}"] for paper in PAPERS]
PROGRAMS = "make sh test echo rm touch true".split()  # that any system with make has


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The checkout by links, with a page of the site but without an environment, and the programs that there are.

    Git, Chromium and Python are programs that do nothing.
    """
    folder = tmp_path_factory.mktemp("tree")
    for path in ROOT.iterdir():
        if path.name not in (".git", ".venv", "_build", ".snakemake"):
            (folder / path.name).symlink_to(path)
    (folder / "_build" / "html").mkdir(parents=True)
    (folder / "_build" / "html" / "index.html").touch()
    (folder / "bin").mkdir()
    for name in PROGRAMS:
        (folder / "bin" / name).symlink_to(shutil.which(name))
    for name in ("git", "chromium", "python3"):
        (folder / "bin" / name).symlink_to(shutil.which("true"))
    return folder


def make(tree, *words):
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS", "PAPER"))
    }
    environ |= {"PATH": str(tree / "bin"), "CHROMIUM": ""}
    return captured(["make", *words], cwd=tree, env=environ)


def dry_run(tree, *words):
    """The commands of a target, each once: a call of make by make lists the installation again in a dry run."""
    done = make(tree, "-n", "--no-print-directory", *words)
    assert done.returncode == 0, done.stderr
    return list(dict.fromkeys(done.stdout.splitlines()))


def split_commands(commands):
    """Commands up to the last installation, and the work."""
    last = max((i for i, line in enumerate(commands) if "-m pip install" in line), default=-1)
    return commands[: last + 1], commands[last + 1 :]


LISTS = {
    "jupyter": "requirements-lab.txt",
    "captions": "requirements-captions.txt",
    "rehearsal": "requirements-captions.txt",
    "mutants": "benchmarks/mutants.txt",
}


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_a_target_installs_all_before_its_work(tree, call):
    before, work = split_commands(dry_run(tree, *call))
    assert not [line for line in before if re.search(r"\.venv/bin/(?!python -m pip)", line)]
    lists = {name for line in before for name in re.findall(r" -r (\S+)", line)}
    expected = (
        {"requirements.txt", LISTS.get(call[0], "requirements.txt")} if call != ["clean"] else set()
    )
    if any("--captioner" in line for line in work):
        expected |= {"requirements-captions.txt"}
    assert lists == expected


# What asks for itself where it is missing: readers of files, captioners, other libraries and tools; and mutmut.
OPTIONAL = """
tensorboard transformers tokenizers easyfsl learn2learn lm_eval mteb inspect_ai datasets libcst mutmut
""".split()


@pytest.mark.slow
def test_the_list_of_packages_has_all_that_code_imports():
    pins = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    folders = [ROOT / name for name in ("fslcore", "book", "tests", "benchmarks")]
    own_modules = {
        name
        for folder in folders
        for path in folder.rglob("*.py")
        for name in (path.stem, path.parent.name)
    }
    listed = set(map(canonicalize_name, [*pins, *OPTIONAL, *own_modules]))
    for folder in folders:
        assert imported(folder) <= listed, folder


@pytest.fixture
def ready_tree(tree):
    """A tree in which all is installed."""
    markers = [
        tree / name
        for name in (".venv/ready", ".venv/captions", ".venv/lab", "_build/mutmut/ready")
    ]
    for marker in markers:
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
    yield tree
    for marker in markers:
        shutil.rmtree(marker.parent, ignore_errors=True)


def test_nothing_is_installed_twice(ready_tree):
    for call in CALLS:
        before, _ = split_commands(dry_run(ready_tree, *call))
        assert before == [], call


def program(command):
    """The program of a command, with the words before its files."""
    words = [word for word in command.replace("--force-exclude", "").split() if "=" not in word]
    words = [word.removeprefix(".venv/bin/") for word in words if word != "env"]
    return " ".join(itertools.takewhile(lambda w: not re.search(r"[.*/]\w*$|^--check$", w), words))


def test_every_linter_of_a_commit_is_one_of_make_lint_and_runs_before_the_tests(ready_tree):
    """Where there is no Git, and so in continuous integration, `make check` does not run."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    of_a_commit = {program(hook["entry"]) for hook in hooks if hook["id"] != "fast-tests"}
    lines = dry_run(ready_tree, "lint")
    assert {program(line) for line in lines} == of_a_commit
    for target in ("test", "test-all"):
        assert dry_run(ready_tree, target)[: len(lines)] == lines


MISSING = [
    (["check"], "git", "Git"),
    (["pdf"], "chromium", "chromium-browser google-chrome"),
    (["pdf"], "_build/html/index.html", "make book"),
    (["book", "PROFILE=attic.yml"], None, "attic.yml"),
    (["paper"], None, " ".join(PAPERS)),
    (["paper", "PAPER=oops fewstab"], None, "got oops fewstab"),
]


@pytest.mark.parametrize(
    "call, hidden, words",
    MISSING,
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_missing_is_said_in_one_line_before_anything_is_installed(
    tree, call, hidden, words
):
    path = tree / (hidden if hidden and "/" in hidden else f"bin/{hidden}")
    aside = tree / "aside"
    if hidden:
        path.rename(aside)
    done = make(tree, *call)
    if hidden:
        aside.rename(path)
    assert done.returncode and words in done.stderr and len(done.stderr.splitlines()) == 1, (
        done.stderr
    )
    assert done.stdout == "" and not (tree / ".venv").exists()


SCRIPTS = [
    (["data/clipart/build.py", "work"], "apt-get"),
    (["data/icons/build.py", "work"], "resvg_py not found"),
    (["book/pdf.py"], "no program chromium"),
    (["tests/rehearsal/rehearse.py", "fewstab"], "make captions"),
    (["tests/rerun/rerun.py", "--part", "9/4"], "got 9/4"),
]
RUN_WITHOUT_PACKAGES = """
import importlib.util, runpy, sys
find_spec, missing = importlib.util.find_spec, ("resvg_py", "transformers")
importlib.util.find_spec = lambda name, *package: None if name in missing else find_spec(name, *package)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, line", SCRIPTS, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_scripts_say_in_one_line_what_is_missing(tmp_path, words, line):
    environ = os.environ | {"PATH": str(tmp_path / "bin"), "CHROMIUM": ""}
    (tmp_path / "bin").mkdir()
    for name in ("dpkg", "dpkg-deb"):
        (tmp_path / "bin" / name).symlink_to(shutil.which("true"))
    command = [sys.executable, "-c", RUN_WITHOUT_PACKAGES, str(ROOT / words[0]), *words[1:]]
    done = captured(command, cwd=tmp_path, env=environ)
    assert done.returncode and line in done.stderr and len(done.stderr.splitlines()) == 1, (
        done.stderr
    )
