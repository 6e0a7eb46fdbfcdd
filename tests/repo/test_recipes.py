"""The recipes of CONTRIBUTING.md name every file: each is followed in a copy of the tree, whose tests are green."""

import pytest
from recipes import Recipe

pytestmark = pytest.mark.slow

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


def test_a_learner_of_the_library(tmp_path):
    recipe = Recipe("A learner of the library", tmp_path / "copy", "median")
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
    recipe.run("tests/repo/test_versions.py")
    recipe.test(*FOR_EVERY_LEARNER, tests, "-k", "median")
    recipe.test(
        "tests/cli/test_catalogue.py", "tests/cli/test_cli.py", "tests/repo/test_versions.py"
    )
    assert "median" in recipe.run("-m", "fslcore", "list", "learners")
    recipe.run("-m", "tests.lint")
    recipe.check_files()


def test_a_learner_of_the_chapters(tmp_path):
    recipe = Recipe("A learner of the chapters", tmp_path / "copy", "median")
    text = MEDIAN.format(library="fslcore.", common="fslcore.learners.")
    recipe.write("book/fslbook/learners/NAME.py", text)
    package = "book/fslbook/learners/__init__.py"
    recipe.insert(package, "from .mtl import", "from .median import NearestMedian\n")
    recipe.insert(package, '    "OnMaps",', '    "NearestMedian",\n')
    entry = '    "median": LearnerEntry("median", "fslbook.learners:NearestMedian"),\n'
    recipe.insert("book/fslbook/catalogue.py", '    "mtl": LearnerEntry(', entry)
    recipe.insert("fslcore/cli/app.py", '    "mtl": "MTL",', '    "median": "NearestMedian",\n')
    tests = "tests/book/learners/test_NAME.py"
    recipe.write(tests, LINES_OF_TESTS + LOOP)
    recipe.run("tests/repo/test_versions.py")
    recipe.test(*FOR_EVERY_LEARNER, "tests/book/learners/test_median.py", "-k", "median")
    recipe.test("tests/cli", "tests/repo/test_versions.py")
    assert "median" in recipe.run("-m", "fslbook", "list", "learners")
    recipe.run("-m", "tests.lint")
    recipe.check_files()
