"""The rules of the house: which room may import which, what a module shows of itself, and how lines are laid out."""

import ast
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

import jupytext
import pytest
from running import captured

from fslbook.paths import NOTEBOOKS
from fslcore.paths import ROOT

BIN = Path(sys.executable).parent
PACKAGES = {"fslcore": ROOT / "fslcore", "fslbook": ROOT / "book" / "fslbook"}
MODULES = [path for folder in PACKAGES.values() for path in sorted(folder.rglob("*.py"))]
NAMES = [
    ".".join([package, *path.relative_to(folder).with_suffix("").parts])
    for package, folder in PACKAGES.items()
    for path in sorted(folder.rglob("*.py"))
]
CONTRACTS = [
    c["name"]
    for c in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
]
ONE_WAY, LAYERS, PAPERS, SHARED = CONTRACTS
STATES = ("KEPT", "BROKEN")
UNDOCUMENTED = """__init__ __main__ app catalogue commands evaluate errors faults figures options output paths
    program""".split()


def tool(name, *arguments, folder=ROOT):
    command = BIN / name
    assert command.exists(), f"{name} is not installed; requirements.txt has it"
    # The copies in the folder, whichever packages the environment knows.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(folder / "book")])}
    return captured([command, *arguments], cwd=folder, env=environment)


def contracts(folder):
    """Names of the contracts that a tree breaks, and what the tool printed."""
    done = tool("lint-imports", "--no-cache", "--no-logo", folder=folder)
    lines = done.stdout.splitlines()
    kept_contracts, broken = (
        [n for n in CONTRACTS if any(line.startswith(f"{n} {state}") for line in lines)]
        for state in STATES
    )
    assert sorted(kept_contracts + broken) == sorted(CONTRACTS), done.stdout + done.stderr
    assert bool(broken) == bool(done.returncode)
    return broken, done.stdout


def test_imports_keep_the_contracts():
    broken, printed = contracts(ROOT)
    assert not broken, printed


@pytest.mark.parametrize(
    "module, line, contract",
    [
        ("fslcore/store.py", "def late():\n    from fslbook.oops import audit", ONE_WAY),
        ("fslcore/stats/ranks.py", "from ..evaluation import table", LAYERS),
        ("fslcore/tasks/samplers.py", "from .. import datasets", LAYERS),  # neighbours in one layer
        ("fslcore/attic.py", "", LAYERS),  # a module that has no layer
        (
            "book/fslbook/beyond/worlds.py",
            "def late():\n    from ..oops.sizing import trace",
            PAPERS,
        ),
        ("book/fslbook/shared.py", "", SHARED),
    ],
)
def test_a_breach_of_a_contract_is_seen(tmp_path, module, line, contract):
    for folder in PACKAGES.values():
        shutil.copytree(
            folder,
            tmp_path / folder.relative_to(ROOT),
            ignore=lambda folder_name, names: [
                n for n in names if not n.endswith(".py") and not Path(folder_name, n).is_dir()
            ],
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with open(tmp_path / module, "a") as file:
        file.write(f"\n\n{line}\n")
    broken, printed = contracts(tmp_path)
    assert contract in broken, printed  # and maybe those that forbid what follows from it


def test_ruff_has_nothing_to_say():
    done = tool("ruff", "check", "--no-cache", ".")
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_would_lay_out_no_file_otherwise():
    done = tool("ruff", "format", "--no-cache", "--check", ".")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_statistics_are_typed():
    done = tool("mypy")
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_word_is_misspelt():
    done = tool("codespell")
    assert done.returncode == 0, done.stdout + done.stderr


def test_cells_use_no_name_that_is_not_there(tmp_path):
    """In branches too that the default parameters do not take."""
    for path in sorted(NOTEBOOKS.glob("*.md")):
        cells = [cell.source for cell in jupytext.read(path).cells if cell.cell_type == "code"]
        (tmp_path / f"{path.stem}.py").write_text("\n\n".join(cells))
    assert len(list(tmp_path.iterdir())) > 20
    rules = "--isolated --select F401,F811,F821 --config builtins=['display']".split()
    done = tool("ruff", "check", "--no-cache", *rules, str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def private(name):
    return name.startswith("_") and not name.startswith("__")


def borrowed(tree):
    """Private names of other modules of the house that a module imports or reaches through a module it imports."""
    ours, names_found = set(), []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (
            node.level or node.module.split(".")[0] in PACKAGES
        ):
            names_found += [a.name for a in node.names if private(a.name)]
            names_found += [part for part in (node.module or "").split(".") if private(part)]
            ours |= {a.asname or a.name for a in node.names if a.name.islower()}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and private(node.attr)
            and getattr(node.value, "id", None) in ours
        ):
            names_found.append(f"{node.value.id}.{node.attr}")
    return names_found


def test_no_module_uses_a_private_name_of_another():
    assert not [
        (str(p.relative_to(ROOT)), names_found)
        for p in MODULES
        if (names_found := borrowed(ast.parse(p.read_text())))
    ]


def test_every_module_says_what_it_is():
    assert not [
        str(p.relative_to(ROOT)) for p in MODULES if not ast.get_docstring(ast.parse(p.read_text()))
    ]


def test_a_package_lists_what_it_gives():
    for path in (p for p in MODULES if p.name == "__init__.py"):
        body = ast.parse(path.read_text()).body
        names_given = {
            a.asname or a.name
            for n in body
            if isinstance(n, ast.ImportFrom) and n.level == 1
            for a in n.names
        }
        listed = [
            n.value for n in body if isinstance(n, ast.Assign) and n.targets[0].id == "__all__"
        ]
        names = {name for value in listed for name in ast.literal_eval(value)}
        names_given = {
            name for name in names_given if not name.startswith("__")
        }  # a hook of Python
        assert names_given <= names, (
            f"{path.relative_to(ROOT)}: __all__ lacks {sorted(names_given - names)}"
        )


def test_the_api_reference_has_every_module_of_the_library_and_none_of_the_chapters():
    pages = "".join(page.read_text() for page in sorted((ROOT / "book").glob("api-*.md")))
    documented = set(re.findall(r"automodule:: (\S+)", pages))
    library = PACKAGES["fslcore"]
    names = [
        ".".join(["fslcore", *p.relative_to(library).with_suffix("").parts])
        for p in library.rglob("*.py")
    ]
    modules = {name for name in names if name.split(".")[-1] not in UNDOCUMENTED}
    assert {
        name
        for name in modules
        if name not in documented and name.rpartition(".")[0] not in documented
    } == set()
    chapters = tuple(f"fslbook.{room}" for room in ("oops", "evaluators", "fewstab", "beyond"))
    assert [name for name in documented if name.startswith(chapters)] == []


def test_the_library_names_nothing_of_the_book():
    """Neither its package, its chapters nor what runs notebooks, but for the hint at the other program."""
    chapters = [path.stem for path in NOTEBOOKS.glob("*.md") if "-" in path.stem]
    chapters.remove("near-copies")  # an English word too
    forbidden = re.compile(
        rf"fslbook|papermill|nbformat|jupyter|{'|'.join(chapters)}", re.IGNORECASE
    )
    names_found = {}
    for path in (ROOT / "fslcore").rglob("*"):
        if path.is_file() and path.suffix in {".py", ".yml", ".j2", ".json"}:
            lines = [
                line.strip()
                for line in path.read_text("utf-8").splitlines()
                if forbidden.search(line)
            ]
            if lines:
                names_found[path.relative_to(ROOT).as_posix()] = lines
    command, line = names_found.pop("fslcore/cli/app.py")
    assert command == '"jupyter",' and "is a command of fslbook" in line
    assert names_found == {}


IMPORTS_ALL = """
import importlib, sys

root, *modules = sys.argv[1:]
finders = [*sys.meta_path]
importing = True

def reads_data(event, arguments):
    if importing and event == "open" and str(arguments[0]).startswith(root):
        if not str(arguments[0]).endswith((".py", ".pyc")) and "site-packages" not in str(arguments[0]):
            print("reads", arguments[0])

sys.addaudithook(reads_data)
for module in modules:
    importlib.import_module(module)
importing = False
for finder in sys.meta_path:
    if finder not in finders and type(finder).__module__.startswith("fslcore"):
        print("adds", finder)
"""


def side_effects_of_import(names):
    """Files of the repository that an import reads, and hooks that it adds; in a process of its own."""
    command = [sys.executable, "-c", IMPORTS_ALL, f"{ROOT}{os.sep}", *names]
    return captured(command, cwd=ROOT, check=True).stdout.splitlines()


@pytest.mark.slow
def test_an_import_of_the_library_reads_no_data_and_changes_no_other_import():
    names = [
        name.removesuffix(".__init__")
        for name in NAMES
        if name.startswith("fslcore") and "__main__" not in name
    ]
    assert len(names) > 100
    assert side_effects_of_import(names) == []
