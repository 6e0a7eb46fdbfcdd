"""The contracts of imports, which ``make lint`` checks, see a breach; and an import has no side effects."""

import os
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from running import captured

from fslcore.paths import ROOT

BIN = Path(sys.executable).parent
PACKAGES = {"fslcore": ROOT / "fslcore", "fslbook": ROOT / "book" / "fslbook"}
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
ONE_WAY, LAYERS, REPORT, PAPERS, SHARED = CONTRACTS
STATES = ("KEPT", "BROKEN")


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


@pytest.mark.parametrize(
    "module, line, contract",
    [
        ("fslcore/store.py", "def late():\n    from fslbook.oops import audit", ONE_WAY),
        ("fslcore/stats/rare.py", "from ..evaluation import table", LAYERS),
        ("fslcore/tasks/samplers.py", "from .. import datasets", LAYERS),  # neighbours in one layer
        ("fslcore/attic.py", "", LAYERS),  # a module that has no layer
        ("fslcore/report/samples.py", "from .items import analyse_items", REPORT),
        ("fslcore/report/roles.py", "def late():\n    from .read import read_table", REPORT),
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
