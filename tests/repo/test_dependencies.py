"""What a chapter is made from: which edits change which chapters' digests, and that the build reruns just those."""

import inspect
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import uses
from dependencies import SourceTree
from running import captured

from fslcore.paths import ROOT
from tests.checkout import copy_sources

CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.md"))
FEWSTAB_FIGURES = {"fewstab-audit", "known-truth", "spurious-bias", "ten-learners"}
PRINTED_ONLY = {"evaluators-audit"}


@pytest.fixture
def copy(tmp_path):
    """The sources in a folder of the test's own; the data, which it only reads, by link."""
    copy_sources(tmp_path / "checkout")
    return tmp_path / "checkout"


def edit(path):
    path.write_text(path.read_text() + "\n# edited\n")


def changed(copy, module):
    """Chapters whose digest an edit changes."""
    sources = SourceTree(copy)
    before = {name: sources.chapter(name) for name in CHAPTERS}
    edit(copy / module)
    after = SourceTree(copy)
    return {name for name in CHAPTERS if after.chapter(name) != before[name]}


def digest_of_results(copy):
    sources = SourceTree(copy)
    return sources.digest(sources.reached({"fslcore.evaluation"}))


@pytest.mark.slow
def test_a_learner_changes_the_chapters_that_evaluate_and_their_results(copy):
    before = digest_of_results(copy)
    chapters = changed(copy, "book/fslbook/learners/r2d2.py")
    assert {"closed-vs-open", "ten-learners", "selection"} <= chapters
    assert not chapters & (PRINTED_ONLY | {"data-and-backbones"})
    assert digest_of_results(copy) != before


NEAREST = """from .centroid import NearestCentroid


class Nearest(NearestCentroid):
    name = "nearest"
"""


def test_a_learner_is_a_file_an_import_and_a_line_of_the_catalogue(copy):
    """Then it has a name, is listed, is public and is found by the build."""
    (copy / "fslcore/learners/nearest.py").write_text(NEAREST)
    catalogue = copy / "fslcore/catalogue.py"
    line = '    "ncc": LearnerEntry('
    entry = '    "nearest": LearnerEntry("Nearest", "fslcore.learners:Nearest"),'
    catalogue.write_text(catalogue.read_text().replace(line, f"{entry}\n{line}"))
    package = copy / "fslcore/learners/__init__.py"
    line = "from .own import"
    text = package.read_text().replace(line, f"from .nearest import Nearest\n{line}")
    package.write_text(
        text.replace('    "NearestCentroid",', '    "Nearest",\n    "NearestCentroid",')
    )
    assert "fslcore.learners.nearest" in SourceTree(copy).reached({"fslcore.evaluation"})
    code = (
        "from fslcore.catalogue import by_kind; from fslcore.learners import Nearest, __all__, make\n"
        "print(type(make('nearest')) is Nearest, 'Nearest' in __all__, 'nearest' in by_kind()['learners']['features'])"
    )
    assert (
        subprocess.check_output([sys.executable, "-c", code], cwd=copy, text=True).split()
        == ["True"] * 3
    )


@pytest.mark.slow
def test_an_interval_changes_the_chapters_that_use_it_and_no_evaluation(copy):
    before = digest_of_results(copy)
    assert {"closed-vs-open", "comparing-methods", "three-intervals"} <= changed(
        copy, "fslcore/stats/intervals.py"
    )
    assert digest_of_results(copy) == before


def test_of_a_package_that_passes_names_on_the_modules_count_whose_names_are_used(copy):
    sources = SourceTree(copy)

    def users(module):
        return {name for name in CHAPTERS if module in sources.modules(name)}

    def stats_modules(names):
        return {
            name for name in SourceTree(copy).reached(names) if name.startswith("fslcore.stats.")
        }

    assert users("fslcore.report.words") == {"your-results", "benchmark"}
    assert {"sizing-tasks", "planning"} <= users("fslcore.stats.pilot") < set(CHAPTERS)
    new = copy / "fslcore" / "attic.py"
    for code, chapters in {
        "from .stats import estimate_variance": {"pilot"},
        "from . import stats\nstats.holm": {"adjusted_p_values"},
        "from . import stats as s\ns.power, s.estimate_variance": {"planning", "pilot"},
        "from . import stats\ngetattr(stats, 'plan_sample_size')": {
            "adjusted_p_values",
            "planning",
            "pilot",
            "influence",
        },
    }.items():
        new.write_text(code)
        chosen = {f"fslcore.stats.{name}" for name in chapters}
        have = stats_modules({"fslcore.attic"})
        assert chosen <= have and (have == stats_modules(chosen) or "getattr" in code), code


def test_no_function_of_the_statistics_hides_its_module():
    package = import_module("fslcore.stats")
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"fslcore.stats.{module.name}")
        assert inspect.ismodule(getattr(package, module.name)), module.name


@pytest.mark.parametrize("package", ["fslcore", "fslcore.datasets", "fslcore.report"])
def test_names_that_a_package_imports_late_are_those_it_imports_for_type_checkers(package):
    """So a chapter depends on the modules of the names it uses, and editors find them."""
    module = import_module(package)
    names = SourceTree(ROOT).names_of(package)
    assert set(names) == set(module.__all__) <= set(dir(module))
    for name, full in names.items():
        origin = import_module(full.removesuffix(f".{name}"))
        assert getattr(module, name) is getattr(origin, name)
    assert not hasattr(module, "attic")


def test_imports_inside_functions_count_and_those_for_type_checkers_do_not(copy):
    sources = SourceTree(copy)
    assert "fslcore.fetch" in sources.reached({"fslcore.cli.commands"})  # in fetch
    (copy / "fslcore" / "attic.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .tasks import Tasks\n"
        "class A:\n    def f(self):\n        with open('x'):\n            from . import store\n"
    )
    assert SourceTree(copy).reached({"fslcore.attic"}) == {
        "fslcore",
        *sources.reached({"fslcore.store"}),
        "fslcore.attic",
    }


def test_an_import_that_leads_nowhere_is_told(copy):
    notebook = copy / "notebooks" / "informed.md"
    notebook.write_text(
        notebook.read_text() + "\n```{code-cell}\n:tags: [x]\nfrom fslcore import attic\n```\n"
    )
    with pytest.raises(LookupError, match="informed imports fslcore.attic"):
        SourceTree(copy).modules("informed")


def test_data_are_those_that_a_chapter_s_modules_name():
    sources = SourceTree(ROOT)

    def folders(chapter):
        files = sources.data(sources.modules(chapter))
        assert all(path.is_file() for path in files)
        return {path.parent.relative_to(ROOT / "data").as_posix() for path in files}

    assert "published" in folders("evaluators-audit")
    assert {"checkpoints", "clipart", "fashion", "glyphs", "icons"} == folders("data-and-backbones")
    assert "coverage" in folders("planning") and "coverage" not in folders("sizing-tasks")
    assert "episodes" in folders("informed") and "episodes" not in folders("evaluators-audit")
    assert "checkpoints/bias" in folders("known-truth") - folders("ten-learners")


def test_every_folder_of_data_belongs_to_a_chapter():
    sources = SourceTree(ROOT)
    read = {path.parent for path in sources.data(sources.files)}
    endings = (".parquet", ".csv", ".npz", ".txt")
    assert {path.parent for path in (ROOT / "data").rglob("*") if path.suffix in endings} <= read


@pytest.mark.slow
def test_snakemake_reruns_the_same_chapters(copy):
    """With commands that only make their files: the graph is the build's own."""
    snakefile = copy / "Snakefile"
    text = re.sub(
        r'shell:\n        ".*"', 'shell:\n        "touch {output}"', snakefile.read_text()
    )
    snakefile.write_text(text)

    def snakemake(*options):
        program = Path(sys.executable).with_name("snakemake")
        command = [program, *"--cores 2 --nolock".split(), *options]
        done = captured(command, cwd=copy)
        assert done.returncode == 0, done.stderr
        output = r"output: _build/(notebooks|results)/(\S+)\.(?:ipynb|parquet)"
        return set(re.findall(output, done.stdout + done.stderr))

    assert {name for kind, name in snakemake() if kind == "notebooks"} == set(CHAPTERS)
    edit(copy / "book/fslbook/fewstab/figures.py")
    pair = {"estimators", "selection"}  # the second finds what the first has evaluated
    for name in pair:
        (copy / "notebooks" / f"{name}.md").open("a").write("\n")
    assert snakemake() == {("notebooks", name) for name in FEWSTAB_FIGURES | pair}
    assert snakemake("-n") == set()  # all is done; and both ran, though one waited for the other


def test_functions_and_chapters_link_to_each_other():
    sources = SourceTree(ROOT)
    chapters_of = uses.chapters_of_functions(sources, CHAPTERS)
    functions = {full for name, full in sources.names_of("fslcore.stats").items() if name.islower()}
    paired = "fslcore.stats.task_intervals.paired_interval"
    assert functions - set(chapters_of) == {"fslcore.stats.proportions.mcnemar"}
    assert "comparing-methods" in chapters_of[paired]
    links = uses.function_links(sources, "comparing-methods", {paired: "a.stats.paired"})
    assert links.endswith(": {py:obj}`stats.paired <a.stats.paired>`.")


def test_what_no_chapter_calls_has_a_page_that_explains_it():
    pages = "".join(path.read_text() for path in (ROOT / "book").glob("api-*.md"))
    modules = uses.DOCUMENTED.findall(pages)
    assert {n.rpartition(".")[0] for n in uses.EXPLAINED if n not in modules} <= {*modules}
    links = uses.explained_links("same-support", modules)
    assert links.endswith(": {py:mod}`stats.crossed <fslcore.stats.crossed>`.")
