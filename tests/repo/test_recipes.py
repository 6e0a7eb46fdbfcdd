"""The recipes of CONTRIBUTING.md name every file: all are followed in a copy of the tree, whose tests are green."""

import pytest
from recipes import Copy, Recipe

from tests.checkout import ROOT

MEDIAN = '''"""Nearest median of a class."""

import torch

from {library}datasets.bank import Bank
from {library}tasks import Tasks
from {common}common import check_features, indices, mask_absent, one_hot
from {common}protocol import Learner

__all__ = ["NearestMedian"]


class NearestMedian(Learner):
    """Negative distance to the median of each class's support features, per dimension."""

    name = "median"

    @torch.inference_mode()
    def scores(self, bank: Bank, tasks: Tasks) -> torch.Tensor:
        """Scores (T, n_query, K) from a bank of features; -inf for a class without support."""
        check_features(bank)
        support, label, query = indices(tasks, bank.data.device)
        members = one_hot(label, tasks.ways)
        x = bank.rows(support)[:, None].masked_fill(~members.mT[..., None], torch.nan)
        medians = x.nanmedian(dim=2).values.nan_to_num()
        distance = torch.cdist(
            bank.rows(query), medians, compute_mode="donot_use_mm_for_euclid_dist"
        )
        return mask_absent(-distance, members.to(bank.dtype))
'''
LOOP = """

def test_nearest_median_against_a_loop():
    bank = features()
    tasks = sample_closed(bank.labels, tasks=3)
    x = bank.data.numpy()
    scores = NearestMedian().scores(bank, tasks).numpy()
    for answer, (support, label, query) in zip(scores, task_rows(tasks)):
        medians = np.stack([np.median(x[support[label == k]], axis=0) for k in range(5)])
        distance = np.linalg.norm(x[query][:, None] - medians, axis=-1)
        assert answer == pytest.approx(-distance, rel=1e-4)
"""
LINES_OF_TESTS = """import numpy as np
import pytest

from fslbook.learners import NearestMedian
from fslcore.tasks import sample_closed
from tests.learners.learner_inputs import features, task_rows
"""
# What runs for every learner.
FOR_EVERY_LEARNER = """tests/learners/test_every_learner.py tests/evaluation/test_transductivity.py
    tests/evaluation/test_shards.py tests/models/test_devices.py tests/book/estimation/test_informed.py""".split()


def a_learner_of_the_library(copy):
    recipe = Recipe("A learner of the library", copy, "median")
    recipe.write("fslcore/learners/NAME.py", MEDIAN.format(library="..", common="."))
    package = "fslcore/learners/__init__.py"
    recipe.insert(package, "from .own import", "from .median import NearestMedian\n")
    recipe.insert(package, '    "OnFeatures",', '    "NearestMedian",\n')
    entry = '    "median": LearnerEntry("median", "fslcore.learners:NearestMedian"),\n'
    recipe.insert("fslcore/catalogue.py", '    "simpleshot": LearnerEntry(', entry)
    recipe.insert(
        "book/explained.yml",
        "fslcore.learners.SimpleShot:",
        "fslcore.learners.NearestMedian: networks\n",
    )
    tests = "tests/learners/test_learners.py"
    recipe.insert(tests, "    ProtoNet,\n    SimpleShot,", "    NearestMedian,\n")
    recipe.append(tests, LOOP)
    recipe.insert("tests/cli/test_catalogue.py", '"ncc", "protonet"', '"median", ')
    names = ("tests/cli/test_catalogue.py", "tests/cli/test_cli.py", "tests/repo/test_versions.py")
    recipe.test(
        *FOR_EVERY_LEARNER, tests, *names, named="median or list or test_catalogue or test_versions"
    )
    assert "median" in recipe.run("-m", "fslcore", "list", "learners")
    return recipe


def a_learner_of_the_chapters(copy):
    recipe = Recipe("A learner of the chapters", copy, "midpoint")
    text = MEDIAN.format(library="fslcore.", common="fslcore.learners.")
    recipe.write("book/fslbook/learners/NAME.py", _as_midpoint(text))
    package = "book/fslbook/learners/__init__.py"
    recipe.insert(package, "from .mtl import", "from .midpoint import Midpoint\n")
    recipe.insert(package, '    "OnMaps",', '    "Midpoint",\n')
    entry = '    "midpoint": LearnerEntry("midpoint", "fslbook.learners:Midpoint"),\n'
    recipe.insert("book/fslbook/catalogue.py", '    "mtl": LearnerEntry(', entry)
    recipe.insert("fslcore/cli/app.py", '    "mtl": "MTL",', '    "midpoint": "Midpoint",\n')
    own = "tests/book/learners/test_NAME.py"
    recipe.write(own, _as_midpoint(LINES_OF_TESTS + LOOP))
    assert "midpoint" in recipe.run("-m", "fslbook", "list", "learners")
    names = ("tests/cli/test_catalogue.py", "tests/cli/test_both_commands.py")
    which = "midpoint or test_catalogue or test_both_commands or test_versions"
    recipe.test(*FOR_EVERY_LEARNER, own, *names, "tests/repo/test_versions.py", named=which)
    return recipe


def _as_midpoint(text):
    return text.replace("NearestMedian", "Midpoint").replace('"median"', '"midpoint"')


CHAPTER = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# The median task

A mean over tasks hides their spread. After this chapter you will be able to compare the median accuracy of tasks with
their mean.

```{admonition} In four lines
:class: tip

Question
: How far is the median accuracy of tasks from the mean?

The papers
: The papers print means alone.

Here
: The median of {glue:text}`tasks` tasks is {glue:text}`median` %, the mean {glue:text}`mean` %.

Why
: Accuracies of tasks are skewed towards low values.
```

## Median and mean

Half of the tasks have an accuracy below the median. A few hard tasks lower the mean, and leave the median where it is.

```{code-cell} ipython3
:tags: [parameters]

dataset: str = "clipart"  # dataset: images of the tasks
backbone: str = "glyph-conv"  # backbone: feature extractor
tasks: int = 100  # 50..10000: closed tasks, T
seed: int = 0  # 0..: of the task sampler
```

```{code-cell} ipython3
:tags: [hide-input]

import numpy as np

from fslbook.cells import check_parameters, glue
from fslbook.style import style
from fslcore import evaluation

check_parameters("NAME", globals())
style()
```

```{code-cell} ipython3
method = evaluation.configure(dataset, backbone, "ncc")
drawn = evaluation.sample_tasks(method.source, "closed", tasks=tasks, seed=seed)
accuracies = 100 * method.outcomes(drawn).accuracy()
np.median(accuracies), accuracies.mean()
```

```{code-cell} ipython3
:tags: [remove-cell]

glue(tasks=tasks, median=f"{np.median(accuracies):.1f}", mean=f"{accuracies.mean():.1f}")
```
"""


RERUNS = """median-task:
  all: {tasks: 60}
  runs:
    letters: {dataset: glyphs/hebrew}
"""


def a_chapter(copy):
    recipe = Recipe("A chapter", copy, "median-task")
    recipe.write("notebooks/NAME.md", CHAPTER.replace("NAME", "median-task"))
    for profile in ("quick", "large"):
        recipe.append(f"profiles/{profile}.yml", "median-task:\n  tasks: 60\n")
    recipe.append("tests/rerun/chapters.yml", RERUNS)
    recipe.insert("_toc.yml", "      - file: your-results\n", "      - file: median-task\n")
    printed = recipe.run("-m", "fslbook", "run", "median-task", "-p", "tasks", "50", "--quiet")
    assert printed.strip().endswith("median-task.ipynb")
    tests = ("tests/book/test_notebooks.py", "tests/book/test_plain_notebooks.py")
    recipe.test(*tests, "tests/repo/test_rerun.py", named="median or profiles or test_rerun")
    return recipe


CITE = '''

def {name}(options: argparse.Namespace) -> None:
    """Show how to cite the library.

    {program} {name}
    """
    print("The fslcore authors")
'''
TEST_OF_CITE = """

def test_{name}(capsys):
    assert {program}.main(["{name}"]) == 0
    assert capsys.readouterr().out == "The fslcore authors\\n"
"""


def a_command_of_the_library(copy):
    recipe = Recipe("A command of the library", copy, "cite")
    recipe.append("fslcore/cli/commands.py", CITE.format(program="fslcore", name="cite"))
    line = '    add = command("fetch"'
    recipe.insert("fslcore/cli/app.py", line, '    command("cite", commands.cite)\n')
    recipe.insert("book/fslbook/cli.py", '    "compare",\n', '    "cite",\n')
    recipe.append("tests/cli/test_cli.py", TEST_OF_CITE.format(program="app", name="cite"))
    assert recipe.run("-m", "fslcore", "cite") == "The fslcore authors\n"
    tests = ("tests/cli/test_both_commands.py", "tests/cli/test_cli.py")
    recipe.test(*tests, named="cite or command or list")
    return recipe


def a_command_of_the_book(copy):
    recipe = Recipe("A command of the book", copy, "authors")
    recipe.append("book/fslbook/cli.py", CITE.format(program="fslbook", name="authors"))
    line = '    add = command("plan", plan)'
    recipe.insert("book/fslbook/cli.py", line, '    command("authors", authors)\n')
    recipe.insert("fslcore/cli/app.py", '    "jupyter",\n', '    "authors",\n')
    recipe.append(
        "tests/book/test_book_command.py", TEST_OF_CITE.format(program="cli", name="authors")
    )
    assert recipe.run("-m", "fslbook", "authors") == "The fslcore authors\n"
    tests = ("tests/cli/test_both_commands.py", "tests/book/test_book_command.py")
    recipe.test(*tests, named="test_book_command")
    return recipe


DIGITS = """\"\"\"Build the `NAME` set: the digits that scikit-learn ships.

    python data/NAME/build.py
\"\"\"

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.datasets import load_digits

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import _build  # noqa: E402

digits = load_digits()
frame = pd.DataFrame(
    {
        "image": [_build.webp((16 * image).clip(0, 255).astype(np.uint8)) for image in digits.images],
        "class_name": digits.target.astype(str),
        "split": "novel",
        "domain": "digits",
        "caption": "a handwritten digit",
    }
)
frame = _build.in_order(frame, ["class_name"])
facts = {
    "name": "NAME",
    "title": "Handwritten digits",
    "licence": "MIT",
    "source": "scikit-learn",
    "image": {"height": 8, "width": 8, "channels": 1},
    "sha256": _build.write_images(frame, HERE),
    "build": "python data/NAME/build.py",
    "packages": {"scikit-learn": sklearn.__version__},
}
_build.write_card(frame, HERE, facts, (HERE / "card.tmpl").read_text(encoding="utf-8"))
"""
CARD = """# {title}

- **Source**: {source}. Package: {packages}.
- **Licence**: {licence}.
- **Rebuild**: `{build}`
- **SHA-256** of `images.parquet`: `{sha256}`.

{splits}

{classes}
"""


def a_data_set_that_ships(copy):
    recipe = Recipe("A data set that ships", copy, "digits")
    copy.link_entries("data")
    recipe.write("data/NAME/build.py", DIGITS.replace("NAME", "digits"))
    folder = copy.folder / "data" / "digits"
    (folder / "card.tmpl").write_text(CARD, "utf-8")
    contents = []
    for _ in range(2):
        recipe.run("data/digits/build.py")
        contents.append([path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()])
    assert contents[0] == contents[1] and len(contents[0]) == 5
    assert "digits" in recipe.run("-m", "fslcore", "list", "datasets")
    recipe.test("tests/datasets/test_bank_and_datasets.py", named="digits")
    command = ["evaluate", "digits", "glyph-conv", "--learners", "ncc", "--samplings", "closed"]
    output = ["--tasks", "10", "-o", str(copy.folder.parent / "digits.csv")]
    assert "mean accuracy" in recipe.run("-m", "fslcore", *command, *output)
    assert not (ROOT / "data" / "digits").exists()
    return recipe


MEDIANS = '''"""Interval for the median, from order statistics."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from ..errors import InputError, floats
from .intervals import DEFAULT_CONFIDENCE_LEVEL, Interval, checked_level
from .targets import Target

__all__ = ["median_interval"]


def median_interval(
    scores: ArrayLike, confidence_level: float = DEFAULT_CONFIDENCE_LEVEL
) -> Interval:
    """Interval for the median of continuous scores, valid for any number of tasks.

    Parameters
    ----------
    scores : (T,) array_like
        Accuracies of tasks.
    confidence_level : float
        Least coverage, between 0 and 1.

    Returns
    -------
    Interval
        Its ends are two of the scores (David and Nagaraja, 2003, section 7.1).

    Raises
    ------
    InputError
        Too few scores; a level outside 0 to 1.

    Examples
    --------
    >>> print(median_interval([0.5, 0.6, 0.7, 0.8, 0.9, 0.95]))
    0.75 (0.50 to 0.95)
    """
    x = np.sort(floats("scores", scores))
    tail = (1 - checked_level(confidence_level)) / 2
    left_out = int(binom.ppf(tail, x.size, 0.5))
    if binom.cdf(left_out, x.size, 0.5) > tail:
        left_out -= 1
    if left_out < 0:
        raise InputError(f"scores must be more at this confidence_level, got {x.size}")
    return Interval.from_ends(
        estimate=float(np.median(x)),
        low=float(x[left_out]),
        high=float(x[x.size - 1 - left_out]),
        confidence_level=confidence_level,
        n=x.size,
        target=Target.NEW_TASKS,
    )
'''
COVERAGE = """

def test_the_interval_of_a_median_holds_it():
    samples = np.random.default_rng(0).exponential(size=(2000, 15))
    intervals = [stats.median_interval(sample) for sample in samples]
    coverage = np.mean([found.low <= np.log(2) <= found.high for found in intervals])
    exact = 1 - 2 * scipy_stats.binom.cdf(3, 15, 0.5)
    assert abs(coverage - exact) < 4 * np.sqrt(exact * (1 - exact) / 2000)
    of_20 = stats.median_interval(np.arange(20.0))
    assert (of_20.low, of_20.high) == (5, 14)  # P(B <= 5) = 0.021, P(B <= 6) = 0.058
"""


def a_statistic(copy):
    recipe = Recipe("A statistic", copy, "medians")
    recipe.write("fslcore/stats/NAME.py", MEDIANS)
    package = "fslcore/stats/__init__.py"
    recipe.insert(package, "from .pilot import", "from .medians import median_interval\n")
    recipe.insert(package, '    "minimum_detectable_difference",\n', '    "median_interval",\n')
    module = ".. automodule:: fslcore.stats.medians\n   :members:\n\n"
    recipe.insert("book/api-stats-intervals.md", ".. automodule:: fslcore.stats.rare", module)
    recipe.insert("book/explained.yml", "fslcore.stats.anytime:", "fslcore.stats.medians: primer\n")
    recipe.append("tests/stats/test_stats.py", COVERAGE)
    tests = ["tests/stats/test_stats.py"]
    values = '        "paired_interval": dict(atol=1e-9),\n'
    line = '        "median_interval": dict(scores=A),\n'
    recipe.insert("tests/misuse/test_arguments.py", values, line)
    tests += ["tests/misuse/test_arguments.py", "fslcore/stats/medians.py"]
    recipe.test(*tests, named="median")
    return recipe


FOLDS_OF_DATASETS = """def analyse_datasets_and_folds(place: Place) -> list[Sample]:
    \"\"\"Over data sets, on means over folds.\"\"\"
    return analyse_datasets(place)


"""
RECOGNISED = """    if datasets > 1 and seeded and seeded[0] == "fold":
        return Shape.DATASETS_AND_FOLDS
"""
FOLDS_CASE = """    "data sets and folds": (
        (6, 3), lambda values: long((6, 3), ["dataset", "fold"], values), {}
    ),
"""
AGAINST_SCIPY = """

def test_folds_of_several_data_sets_are_averaged():
    values = np.clip(RNG.normal(70, 4, (2, 8, 5)), 0, 100)
    dataset, fold = np.indices((8, 5)).reshape(2, -1)
    parts = [
        pd.DataFrame({"method": method, "dataset": dataset, "fold": fold, "accuracy": part.ravel()})
        for method, part in zip(("ours", "theirs"), values)
    ]
    results = report_on(pd.concat(parts))
    assert results.shape is Shape.DATASETS_AND_FOLDS
    expected = scipy.stats.ttest_rel(*values.mean(axis=2)).pvalue
    assert results.pairs["p"][0] == pytest.approx(expected)
"""


def a_design_of_results(copy):
    recipe = Recipe("A design of results", copy, "folds")
    member = '    DATASETS_AND_FOLDS = "data sets and folds"\n'
    recipe.insert("fslcore/report/model.py", '    PRINTED = "printed means"', member)
    place = '    if seeded and seeded[0] == "fold":'
    recipe.insert("fslcore/report/shapes.py", place, RECOGNISED)
    analysis = "fslcore/report/analysis.py"
    designs = "fslcore/report/designs.py"
    recipe.insert(designs, "def analyse_printed(", FOLDS_OF_DATASETS)
    line = "    Shape.DATASETS_AND_FOLDS: designs.analyse_datasets_and_folds,\n"
    recipe.insert(analysis, "    Shape.PRINTED: designs.analyse_printed", line)
    line = '    Shape.DATASETS_AND_FOLDS: "Verdicts apply to other data sets like these.",\n'
    recipe.insert("fslcore/report/applies.py", "    Shape.PRINTED: (", line)
    place = "Shape.DATASETS, Shape.DATASETS_AND_SEEDS)"
    recipe.insert(analysis, place, "Shape.DATASETS_AND_FOLDS, ")
    recipe.insert(
        "fslcore/report/schema.json", '    "printed means"', '    "data sets and folds",\n'
    )
    recipe.insert("tests/report/test_every_shape.py", '    "printed": (', FOLDS_CASE)
    recipe.append("tests/report/test_shapes.py", AGAINST_SCIPY)
    recipe.run("tests/site/test_labs_report.py")
    tests = ["tests/report/test_every_shape.py", "tests/report/test_shapes.py"]
    recipe.test(*tests, named="folds or schema")
    return recipe


RECIPES = (
    a_learner_of_the_library,
    a_learner_of_the_chapters,
    a_chapter,
    a_command_of_the_library,
    a_command_of_the_book,
    a_data_set_that_ships,
    a_statistic,
    a_design_of_results,
)


@pytest.mark.slow
def test_a_tree_in_which_all_recipes_were_followed_is_green(tmp_path):
    copy = Copy(tmp_path / "copy")
    recipes = [follow(copy) for follow in RECIPES]
    copy.run("tests/repo/test_versions.py")  # both recipes for learners end with it
    copy.check()
    differences = [recipe.differences() for recipe in recipes]
    assert not any(differences), differences
