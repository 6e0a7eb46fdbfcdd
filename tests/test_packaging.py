"""The wheel: what is in it, and what it does where there is nothing else but NumPy and SciPy."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy

from fslcore import __version__
from fslcore.paths import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built without a network, from a copy: setuptools writes beside the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("fslcore", "data/results", "tests", "benchmarks", "notebooks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-index", "--no-deps", "--no-build-isolation", "-w", "."]
    subprocess.run([*build, "."], cwd=folder, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def alone(wheel, tmp_path_factory):
    """Runs Python with the wheel's files, NumPy and SciPy, in a folder elsewhere."""
    folder = tmp_path_factory.mktemp("alone")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder)
    for package in (np, scipy):
        there = Path(package.__file__).parent
        for part in there.parent.glob(f"{there.name}*"):
            (folder / part.name).symlink_to(part)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FSLCORE"))}

    def run(*arguments):
        # -S: without the environment's packages.
        done = subprocess.run([sys.executable, "-S", *arguments], cwd=folder, env=env, text=True, capture_output=True)
        return done.returncode, done.stdout, done.stderr

    return run


def test_the_wheel_holds_every_module_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as file:
        names = {name for name in file.namelist() if ".dist-info/" not in name}
        entries = file.read(f"fslcore-{__version__}.dist-info/entry_points.txt").decode()
    assert names == {p.relative_to(ROOT).as_posix() for p in (ROOT / "fslcore").rglob("*.py")}
    assert entries.split() == ["[console_scripts]", "fslcore", "=", "fslcore.__main__:main"]


def test_the_wheel_s_statistics_and_commands_start_with_numpy_and_scipy_alone(alone):
    statistics = "from fslcore.stats import paired_interval as p; print(p([.1, .3, .2], [.1, .2, .3]).conclusion)"
    assert alone("-c", statistics) == (0, "0\n", "")
    assert alone("-m", "fslcore", "--version") == (0, f"{__version__}\n", "")
    code, out, told = alone("-m", "fslcore", "--help")
    assert (code, told) == (0, "") and "evaluate" in out
    code, out, told = alone("-m", "fslcore", "list")
    assert code == 0 and "learners: anil" in out and len(told.splitlines()) == 1 and "-e '.[book]'" in told


@pytest.mark.parametrize(
    "command",
    [
        "report two.csv",
        "run planning",
        "evaluate clipart conv4-protonet -o x.csv",
        "assess photos",
        "train protonet",
        "caption clipart -o x.csv",
    ],
)
def test_what_the_wheel_lacks_is_told_in_one_line_with_what_brings_it(alone, command):
    code, out, told = alone("-m", "fslcore", *command.split())
    assert (code, out) == (2, "") and len(told.splitlines()) == 1 and "pip install -e '.[book]'" in told
