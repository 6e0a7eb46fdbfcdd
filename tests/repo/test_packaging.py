"""The wheel: what is in it, and what it does in an environment of its own, outside the checkout."""

import os
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest
import scipy
from packaging.requirements import Requirement
from PIL import Image

from fslcore import __version__
from fslcore.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DEPENDENCIES = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["report"]
HEAVY = ("torch", "pandas", "matplotlib")
# From Python itself: doctest needs no package.
DOCTESTS = """
import doctest, importlib, pkgutil, sys
import fslcore.stats as stats
modules = [stats, *(importlib.import_module(f"fslcore.stats.{m.name}") for m in pkgutil.iter_modules(stats.__path__))]
found = [doctest.testmod(module) for module in modules]
print(sum(f.attempted for f in found) > 20, sum(f.failed for f in found), "torch" in sys.modules)
"""


def built(folder, source):
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", folder, source], check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(tmp_path_factory.mktemp("wheel"), ROOT)


@pytest.fixture(scope="module")
def data_wheel(tmp_path_factory):
    return built(tmp_path_factory.mktemp("data"), ROOT / "data")


class Environment:
    """A virtual environment with wheels, and a folder beside it in which its commands are run."""

    def __init__(self, folder, *wheels):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        self.bin = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        install = [sys.executable, "-m", "pip", "--python", self.bin / "python", "install", "-q", "--no-index"]
        subprocess.run([*install, "--no-deps", *wheels], check=True, capture_output=True)
        self.libraries = next((folder / "venv").rglob("site-packages"))
        self.here = folder / "here"
        self.here.mkdir()
        (folder / "home").mkdir()  # without it IPython warns
        self.environ = {
            k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "FSLCORE", "XDG_", "VIRTUAL"))
        }
        self.environ |= {"HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}

    def run(self, program, *arguments):
        command = [self.bin / program, *arguments]
        done = subprocess.run(command, cwd=self.here, env=self.environ, text=True, capture_output=True)
        return done.returncode, done.stdout, done.stderr

    def fslcore(self, line):
        code, out, told = self.run("fslcore", *line.split(), "--quiet")
        assert (code, told) == (0, ""), told
        return out


@pytest.fixture(scope="module")
def alone(wheel, tmp_path_factory):
    """With NumPy and SciPy, and nothing else."""
    made = Environment(tmp_path_factory.mktemp("alone"), wheel)
    for package in (np, scipy):
        there = Path(package.__file__).parent
        for part in there.parent.glob(f"{there.name}*"):
            (made.libraries / part.name).symlink_to(part)
    (made.here / "two.csv").write_text("task,ours,baseline\n0,0.7,0.6\n1,0.5,0.6\n")
    (made.here / "photos").mkdir()
    return made


def needed(requirements):
    """Names of the distributions that requirements bring here, with what those require, and so on."""
    names, waiting = set(), [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        here = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if here and requirement.name.lower() not in names:
            names.add(requirement.name.lower())
            waiting += [Requirement(text) for text in distribution(requirement.name).requires or ()]
    return names


@pytest.fixture(scope="module")
def report_only(wheel, tmp_path_factory):
    """With what the extra `report` brings, and nothing else."""
    made = Environment(tmp_path_factory.mktemp("report-only"), wheel)
    for name in needed(DEPENDENCIES):
        found = distribution(name)
        for part in {file.parts[0] for file in found.files if file.parts[0] not in ("..", "__pycache__")}:
            if not (made.libraries / part).exists():
                (made.libraries / part).symlink_to(found.locate_file(part))
    return made


@pytest.fixture(scope="module")
def reporting(wheel, tmp_path_factory):
    """With all libraries of the running interpreter, but its fslcore: a .pth file in a folder so added is not read."""
    made = Environment(tmp_path_factory.mktemp("reporting"), wheel)
    (made.libraries / "libraries.pth").write_text(str(Path(np.__file__).parents[1]))
    return made


@pytest.fixture(scope="module")
def installed(wheel, data_wheel, tmp_path_factory):
    """With the data, too."""
    made = Environment(tmp_path_factory.mktemp("installed"), wheel, data_wheel)
    (made.libraries / "libraries.pth").write_text(str(Path(np.__file__).parents[1]))
    before = listing(made.libraries)
    yield made
    assert listing(made.libraries) == before, "a command wrote into the installed package"


def listing(folder):
    own = [p for p in folder.glob("fslcore*/**/*") if p.is_file() and p.suffix != ".pyc"]
    return {p: p.stat().st_mtime_ns for p in own}


def test_the_wheel_holds_every_module_and_what_comes_with_them_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as file:
        names = {name for name in file.namelist() if ".dist-info/" not in name}
        entries = file.read(f"fslcore-{__version__}.dist-info/entry_points.txt").decode()
    shipped = [*files(ROOT / "notebooks"), *(ROOT / "profiles").glob("*.*")]
    expected = {p.relative_to(ROOT).as_posix() for p in files(ROOT / "fslcore")}
    expected |= {p.relative_to(ROOT / "book").as_posix() for p in files(ROOT / "book" / "fslbook")}
    expected |= {f"fslcore/_shipped/{p.relative_to(ROOT).as_posix()}" for p in shipped}
    assert names == expected and "fslcore/py.typed" in names
    assert entries.split() == ["[console_scripts]", "fslcore", "=", "fslcore.__main__:main"]
    assert wheel.stat().st_size < 1.5e6


def test_the_wheel_of_the_data_holds_all_of_them_and_not_what_builds_them(data_wheel):
    with zipfile.ZipFile(data_wheel) as file:
        names = {name for name in file.namelist() if ".dist-info/" not in name}
        facts = file.read(f"fslcore_data-{__version__}.dist-info/METADATA").decode()
        licences = {name.partition("/licenses/")[2] for name in file.namelist() if "/licenses/" in name}
    building = {"Snakefile", "parts.yml", "pyproject.toml", "packages.txt"}
    there = [p for p in files(ROOT / "data") if p.suffix not in {".py", ".tmpl"} and p.name not in building]
    assert names == {f"fslcore_data/{p.relative_to(ROOT / 'data').as_posix()}" for p in there}
    own = ["Public-Domain", "Fonts-of-glyphs", "Sets-of-icons"]
    assert f"License-Expression: {' AND '.join(['MIT', *(f'LicenseRef-{name}' for name in own)])}\n" in facts
    assert {"glyphs/fonts.csv", "icons/licences.txt", "icons/sets.csv"} < licences
    assert {p.relative_to(ROOT / "data").as_posix() for p in (ROOT / "data").glob("*/README.md")} < licences
    assert data_wheel.stat().st_size < 100e6  # what the Python package index takes


def test_both_distributions_are_of_one_release():
    code, data = (tomllib.loads((ROOT / part / "pyproject.toml").read_text()) for part in ("", "data"))
    assert data["project"]["version"] == __version__
    assert f"fslcore-data=={__version__}" in code["project"]["optional-dependencies"]["evaluate"]


def files(folder):
    return [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]


def test_statistics_and_the_first_commands_work_with_numpy_and_scipy_alone(alone):
    assert alone.run("python", "-c", DOCTESTS) == (0, "True 0 False\n", "")
    assert alone.run("fslcore", "--version") == (0, f"{__version__}\n", "")
    code, out, told = alone.run("fslcore", "--help")
    assert (code, told) == (0, "") and "evaluate" in out
    code, out, told = alone.run("fslcore", "list")
    assert (
        code == 0
        and "learners:" in out
        and "anil" in out
        and len(told.splitlines()) == 1
        and "fslcore[evaluate]" in told
    )


@pytest.mark.parametrize(
    "command",
    [
        "report two.csv",
        "run planning",
        "evaluate clipart conv4-protonet -o x.csv",
        "assess photos",
        "train protonet",
        "caption clipart -o x.csv",
        "fetch oops-benchmark",
    ],
)
def test_what_is_not_installed_is_told_in_one_line_with_what_brings_it(alone, command):
    code, out, told = alone.run("fslcore", *command.split())
    extra = "report" if command.startswith("report") else "evaluate"
    assert (code, out) == (2, "") and len(told.splitlines()) == 1 and f"pip install 'fslcore[{extra}]'" in told


def test_a_report_needs_at_most_20_packages_and_nothing_of_notebooks():
    assert len(needed(DEPENDENCIES)) + 1 <= 20  # and fslcore
    assert not needed(DEPENDENCIES) & {"ipython", "ipykernel", "jupytext", "nbformat", "papermill", "pyyaml", "torch"}


def test_its_commands_work_with_these_packages_alone(report_only):
    rows = "".join(f"{task},{task * 37 % 41 / 60 + 0.3},{task * 29 % 43 / 60 + 0.1}\n" for task in range(40))
    (report_only.here / "two.csv").write_text(f"task,ours,baseline\n{rows}")
    out = report_only.fslcore("report two.csv --tables t --figures f")
    assert out.startswith("ours is better than baseline by ") and (report_only.here / "two.html").is_file()
    assert {path.name for path in (report_only.here / "f").iterdir()} == {"report.pdf", "report.png", "report.svg"}
    assert report_only.fslcore("compare 79.6±0.5 76.9±0.6 --tasks 600")
    code, out, told = report_only.run("fslcore", "list")
    assert code == 0 and "protonet" in out and "fslcore[evaluate]" in told
    (report_only.here / "two.parquet").write_bytes(b"")
    code, out, told = report_only.run("fslcore", "report", "two.parquet")
    assert (code, out) == (2, "") and "reading it needs pyarrow; pip install pyarrow installs it" in told
    code, out, told = report_only.run("fslcore", "fetch", "oops-benchmark")
    assert (code, out) == (2, "") and "pip install 'fslcore[evaluate]'" in told


def test_a_report_needs_no_data_and_what_needs_them_says_so(reporting):
    (reporting.here / "two.csv").write_text("task,ours,baseline\n0,0.7,0.6\n1,0.5,0.6\n2,0.6,0.5\n")
    assert "ours" in reporting.fslcore("report two.csv") and (reporting.here / "two.html").is_file()
    assert reporting.fslcore("compare 79.6±0.5 76.9±0.6 --tasks 600") and "protonet" in reporting.fslcore("list")
    for command in ("evaluate clipart conv4-protonet -o x.csv", "run estimators", "plan-run quick.yml"):
        code, out, told = reporting.run("fslcore", *command.split())
        assert (code, out) == (2, "")
        assert told.startswith("fslcore: fslcore-data is not installed; pip install 'fslcore[evaluate]' installs it")


def test_a_package_without_its_notebooks_says_so(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path, [name for name in file.namelist() if name.endswith(".py")])
    call = dict(cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)}, text=True, capture_output=True)
    done = subprocess.run([sys.executable, "-m", "fslcore", "list"], **call)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("fslcore: no folder ")
    assert subprocess.run([sys.executable, "-m", "fslcore", "--help"], **call).returncode == 0


def test_names_are_those_of_the_checkout(installed):
    here = subprocess.run([sys.executable, "-m", "fslcore", "list", "--json"], cwd=ROOT, text=True, capture_output=True)
    assert installed.fslcore("list --json") == here.stdout != ""


def test_the_embedded_data_are_evaluated(installed):
    out = installed.fslcore(
        "evaluate clipart conv4-protonet --learners protonet --samplings closed --tasks 8 -o clipart.csv"
    )
    assert "8 tasks" in out and len((installed.here / "clipart.csv").read_text().splitlines()) == 9
    kept = installed.here.parent / "home" / ".cache" / "fslcore"
    assert sorted(p.name for p in kept.iterdir()) == ["features", "records"]


def test_a_report(installed):
    accuracies = np.random.default_rng(0).integers(40, 80, (50, 2)) / 100
    rows = [f"{task},{a},{b}" for task, (a, b) in enumerate(accuracies)]
    (installed.here / "two.csv").write_text("\n".join(["task,ours,baseline", *rows]))
    assert "ours" in installed.fslcore("report two.csv")
    assert "<html" in (installed.here / "two.html").read_text()


def test_an_assessment(installed):
    for name, mean in (("dark", 60), ("light", 190)):
        (installed.here / "photos" / name).mkdir(parents=True)
        for seed in range(5):
            pixels = np.random.default_rng(seed).normal(mean, 30, (32, 32, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(installed.here / "photos" / name / f"{seed}.png")
    assert "glyph-conv" in installed.fslcore("assess photos --backbone glyph-conv --learner ncc lr")
    assert "<html" in (installed.here / "photos.html").read_text()


def test_a_chapter_is_run_and_lies_in_the_present_folder(installed):
    assert installed.fslcore("run evaluators-audit") == "evaluators-audit.ipynb\n"
    assert (installed.here / "evaluators-audit.ipynb").is_file()


@pytest.mark.parametrize(
    "code",
    [
        "import fslcore.stats",
        "from fslcore.cli.app import main; main(['--help'])",
        "from fslcore.cli.app import main; main(['report', '--help'])",
    ],
)
def test_what_starts_at_once_loads_nothing_heavy(code):
    script = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\n"
    script += f"print('loaded:', *(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, text=True, capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded:"
