"""Every target of the Makefile installs what it needs before its work, or says in one line what is missing."""

import ast
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.metadata import entry_points, packages_distributions

import pdf  # book/pdf.py
import pytest
from packaging.utils import canonicalize_name

from fslcore.paths import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = re.search(r"^\.PHONY: (.+)", MAKEFILE, re.MULTILINE)[1].split()
PAPERS = re.search(r"^PAPERS := (.+)", MAKEFILE, re.MULTILINE)[1].split()
CALLS = [[name] for name in TARGETS if name != "paper"]
CALLS += [["paper", f"PAPER={paper}"] for paper in PAPERS]
PROGRAMS = "make sh test echo rm touch true".split()  # that any system with make has
FOLDERS = [ROOT, *(ROOT / name for name in ("book", "tests", "benchmarks", "tests/rehearsal", "tests/cluster"))]
OURS = {"fslcore": ROOT / "fslcore", "fslbook": ROOT / "book" / "fslbook"}  # commands, and their code
FOR_TESTS = ["tests/**/*.py", "fslcore/stats/**/*.py"]  # what pytest imports for its doctests
LEFT_OUT_OF_TESTS = "rehearsal/captioners.py"  # by tests/conftest.py, where transformers is missing
IMPORT = re.compile(r"^ *(?:from (\w+)[\w.]* import|import (\w+))", re.MULTILINE)


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
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PAPER"))}
    environ |= {"PATH": str(tree / "bin"), "CHROMIUM": ""}
    return subprocess.run(["make", *words], cwd=tree, env=environ, text=True, capture_output=True)


def dry_run(tree, *words):
    """The commands of a target, each once: a call of make by make lists the installation again in a dry run."""
    done = make(tree, "-n", "--no-print-directory", *words)
    assert done.returncode == 0, done.stderr
    return list(dict.fromkeys(done.stdout.splitlines()))


def split_commands(commands):
    """Commands up to the last installation, and the work."""
    last = max((i for i, line in enumerate(commands) if "-m pip install" in line), default=-1)
    return commands[: last + 1], commands[last + 1 :]


def installed(commands):
    """Distributions that the lists of an installation name."""
    files = [name for line in commands for name in re.findall(r" -r (\S+)", line)]
    pins = [re.findall(r"^([\w.-]+)==", (ROOT / name).read_text(), re.MULTILINE) for name in files]
    return {canonicalize_name(name) for names in pins for name in names} | {"pip"}


@cache
def local_file(module, folder):
    """The file of a module of the repository, for a script in a folder, or None."""
    for start in (folder, *FOLDERS):
        path = start / module.replace(".", "/")
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None


def is_local(name, folder):
    """Whether a name of a module is that of a file or a folder of the repository."""
    return bool(local_file(name, folder)) or any((start / name).is_dir() for start in FOLDERS)


def is_guarded(node):
    """Whether a statement says itself what to do without a package, or is for type checkers."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    caught = (
        [ast.unparse(handler.type) for handler in node.handlers if handler.type] if isinstance(node, ast.Try) else []
    )
    return any(re.search(r"ImportError|ModuleNotFoundError", error) for error in caught)


@cache
def imports_of_file(path, in_functions):
    """Names that may be those of modules that a file imports."""
    text = path.read_text("utf-8")
    found, todo = set(), [ast.parse(text)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = path.parent
            for _ in range(node.level - 1):
                package = package.parent
            start = ".".join(package.relative_to(ROOT).parts) if node.level else ""
            module = ".".join(filter(None, (start, node.module)))
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
        if is_guarded(node) or (isinstance(node, ast.FunctionDef) and not in_functions):
            continue
        todo += ast.iter_child_nodes(node)
    if in_functions:  # in processes of its own
        found |= {f"{name}{end}" for name in re.findall(r'"-m", "(\w+)"', text) for end in ("", ".__main__")}
    asked = set(re.findall(r'importorskip\("(\w+)', text))
    if any(path.is_relative_to(folder) for folder in OURS.values()):  # which say in one line what is missing
        asked |= set(re.findall(r'find_spec\("(\w+)"\)', text))
    return {name for name in found if name.partition(".")[0] not in asked}


def packages_of(files, in_functions):
    """Names of packages from elsewhere that these files import, and the files of the repository that they import."""
    found, seen, todo = set(), set(), [*files]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        for module in imports_of_file(path, in_functions):
            package, file = module.partition(".")[0], local_file(module, path.parent)
            if file:
                todo.append(file)
            elif not is_local(package, path.parent):
                found.add(package)
    return found - sys.stdlib_module_names


def packages_written_in(paths):
    """Names of packages from elsewhere that the code in files that are not Python imports."""
    names = {first or second for path in paths for first, second in IMPORT.findall(path.read_text("utf-8"))}
    return {name for name in names if not is_local(name, ROOT)} - sys.stdlib_module_names


@cache
def distributions():
    return packages_distributions()


def distribution_of(package):
    """Canonical names of the distributions that may bring a package."""
    return {canonicalize_name(name) for name in distributions().get(package, [package])}


@cache
def distribution_of_program(name):
    (script,) = entry_points(group="console_scripts", name=name)
    return canonicalize_name(script.dist.name)


# Of users alone: a line asks for them where a file of their kind is read.
ASKED_FOR = {"openpyxl", "tensorboard"}


@cache
def needs(command):
    """Sets of distributions: one of each is needed by a command of a target."""
    packages, programs = set(), set(re.findall(r"\.venv/bin/([\w-]+) ", command)) - {"python"}
    for script in re.findall(r"python (\S+\.py)", command):
        packages |= packages_of([ROOT / script], in_functions=True)
    if "-m pytest" in command:
        files = {path for pattern in FOR_TESTS for path in ROOT.glob(pattern)} - {ROOT / "tests" / LEFT_OUT_OF_TESTS}
        packages |= {"pytest", "xdist"} | packages_of(files, in_functions=False)
    for name in programs & {*OURS}:
        programs.remove(name)
        packages |= packages_of(OURS[name].glob("**/*.py"), in_functions=True)
    if " snakemake " in command:
        programs.add("snakemake")
        packages |= packages_of([*ROOT.glob("fslcore/**/*.py"), *ROOT.glob("book/**/*.py")], in_functions=True)
        packages |= packages_written_in([ROOT / "Snakefile", *ROOT.glob("notebooks/*.md")])
    if "--captioner" in command:
        packages.add("transformers")
    packages -= ASKED_FOR
    return [*map(distribution_of, packages), *({distribution_of_program(name)} for name in programs)]


def test_a_call_of_every_target_is_looked_at():
    assert {call[0] for call in CALLS} == set(TARGETS) and len(TARGETS) > 10


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_a_target_installs_all_that_its_work_imports(tree, call):
    before, work = split_commands(dry_run(tree, *call))
    there = installed(before)
    missing = {" or ".join(sorted(names)) for line in work for names in needs(line) if not names & there}
    assert missing == set()
    assert not [line for line in before if re.search(r"\.venv/bin/(?!python -m pip)", line)], "work before all is there"


def test_what_the_work_of_every_target_needs_is_found(tree):
    """A command whose packages were not found would pass."""
    work = {line for call in CALLS for line in split_commands(dry_run(tree, *call))[1]}
    others = {line for line in work if re.match("touch |test |echo |rm |make ", line)}
    assert [line for line in work - others if not needs(line)] == []


@pytest.fixture
def ready_tree(tree):
    """A tree in which all is installed."""
    markers = [tree / name for name in (".venv/ready", ".venv/captions", "_build/mutmut/ready")]
    for marker in markers:
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
    yield tree
    for marker in markers:
        shutil.rmtree(marker.parent, ignore_errors=True)


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_nothing_is_installed_twice(ready_tree, call):
    before, _ = split_commands(dry_run(ready_tree, *call))
    assert before == []


MISSING = [
    (["check"], "git", "Git"),
    (["pdf"], "chromium", "chromium-browser google-chrome"),
    (["pdf"], "_build/html/index.html", "make book"),
    (["pdf", "CHROMIUM=/nowhere"], None, "/nowhere"),
    (["book", "PROFILE=attic.yml"], None, "attic.yml"),
    (["paper"], None, " ".join(PAPERS)),
    (["paper", "PAPER=attic"], None, "attic"),
    (["paper", "PAPER=oops fewstab"], None, "oops fewstab; one of"),
    (["rehearsal", "PAPER=attic"], None, "attic"),
]


@pytest.mark.parametrize(
    "call, hidden, words", MISSING, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_what_is_missing_is_said_in_one_line_before_anything_is_installed(tree, call, hidden, words):
    path = tree / (hidden if hidden and "/" in hidden else f"bin/{hidden}")
    aside = tree / "aside"
    if hidden:
        path.rename(aside)
    done = make(tree, *call)
    if hidden:
        aside.rename(path)
    assert done.returncode and words in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stdout == "" and not (tree / ".venv").exists()


def test_browsers_are_those_of_the_script_that_prints():
    assert tuple(re.search(r"^BROWSERS := (.+)", MAKEFILE, re.MULTILINE)[1].split()) == pdf.BROWSERS


SCRIPTS = [
    (["data/clipart/build.py", "work"], "apt-get"),
    (["data/fashion/build.py", "work"], "apt-get"),
    (["data/glyphs/build.py", "work"], "apt-get"),
    (["data/icons/build.py", "work"], "resvg_py not found"),
    (["book/pdf.py"], "no program chromium"),
    (["tests/rehearsal/rehearse.py", "fewstab"], "make captions"),
    (["tests/rerun/rerun.py", "--part", "9/4"], "part = 9/4"),
]
RUN_WITHOUT_PACKAGES = """
import importlib.util, runpy, sys
find_spec, missing = importlib.util.find_spec, ("resvg_py", "transformers")
importlib.util.find_spec = lambda name, *package: None if name in missing else find_spec(name, *package)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize("words, line", SCRIPTS, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_scripts_say_in_one_line_what_is_missing(tmp_path, words, line):
    environ = os.environ | {"PATH": str(tmp_path / "bin"), "CHROMIUM": ""}
    (tmp_path / "bin").mkdir()
    for name in ("dpkg", "dpkg-deb"):
        (tmp_path / "bin" / name).symlink_to(shutil.which("true"))
    command = [sys.executable, "-c", RUN_WITHOUT_PACKAGES, str(ROOT / words[0]), *words[1:]]
    done = subprocess.run(command, cwd=tmp_path, env=environ, text=True, capture_output=True)
    assert done.returncode and line in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
