"""A learner of the user's own, by ``module:Class`` and as an object: found, distinguished in the
cache, and refused.
"""

import sys

import numpy as np
import pytest
from refusal import refuses, says_in_one_line

from fslcore import evaluation, learners
from fslcore.cli.app import main
from fslcore.datasets import Images
from fslcore.learners.own import identity, own_learner
from fslcore.learners.protocol import Learner, complete
from fslcore.tasks import sample_closed

MINE = """
import torch
from torch.nn import functional as F
from {helper} import sharpness

class Nearest:
    name = "nearest image"

    def scores(self, bank, tasks):
        unit = F.normalize(bank.data, dim=1)
        similarity = sharpness * (unit[tasks.query] @ unit[tasks.support].mT)
        members = torch.tensor(tasks.support_label)[..., None] == torch.arange(tasks.ways)
        return similarity[..., None].where(members[:, None], -torch.inf).amax(dim=2)

class Sized(Nearest):
    settings = ("dim", "k")
    def __init__(self, dim, k=1):
        self.dim, self.k = dim, k

class Loose(Nearest):
    def __init__(self):
        self.k = 3

class NoScores:
    pass

class NoConfig(Nearest):
    config = {{"k": 3}}

class Reads(Nearest):
    reads = "pixels"

class Breaks:
    def scores(self, bank, tasks):
        return {{}}["x"]

class Asks(Nearest):
    def __init__(self, k):
        pass

made = Nearest()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, request):
    """The current folder, with a module of this test's own; its name."""
    name = f"mine_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(MINE.format(helper=f"{name}_helper"))
    (tmp_path / f"{name}_helper.py").write_text("sharpness = 1.0\n")
    (tmp_path / "bad.py").write_text("def x(:")
    (tmp_path / "ends.py").write_text("raise SystemExit('done')")
    (tmp_path / "lacks.py").write_text("import nothing_of_the_kind")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("FSLCORE_CACHE", str(tmp_path / "cache"))
    return name


@pytest.fixture
def images():
    pixels = np.random.default_rng(0).integers(0, 256, (60, 8, 8, 1), dtype=np.uint8)
    return Images("noise", pixels, np.repeat(np.arange(6), 10), list("abcdef"))


@pytest.mark.parametrize(
    "named, facts",
    [
        ("absent:Nearest", ["no module absent"]),
        ("mine:Neerest", ["Neerest", "'Nearest'"]),
        ("mine.py:Nearest", ["mine.py", ":Nearest?"]),
        ("mine:NoScores", ["NoScores", "scores(bank, tasks)"]),
        ("mine:NoConfig", ["config", "{'k': 3}", "dict"]),
        ("mine:Reads", ["reads", "nearest image", "pixels", "'features' or 'images'"]),
        ("mine:Asks", ["Asks", "TypeError: ", "'k'"]),
        ("mine:Breaks", ["Breaks", "scores", "KeyError: 'x'"]),
        ("mine:Loose", ["k: ", "config()", "settings"]),
        ("bad:X", ["module bad", "SyntaxError: invalid syntax"]),
        ("ends:X", ["module ends", "SystemExit: done"]),
        ("lacks:X", ["lacks", "nothing_of_the_kind", "not installed"]),
        (":", ["module:Class"]),
    ],
)
def test_a_learner_that_is_none_is_refused_in_one_line(folder, capsys, named, facts):
    named, facts = named.replace("mine", folder), [fact.replace("mine", folder) for fact in facts]
    line = f"evaluate glyphs/hebrew glyph-conv --tasks 2 --learners {named} -o r.csv"
    code = main(line.split())
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert code == 2 and line.startswith("fslcore: ") and says_in_one_line(line, *facts)


def test_a_class_gets_what_it_asks_for_of_the_backbone_and_settings(folder):
    backbone = evaluation.load_backbone("glyph-conv")
    learner = own_learner(f"{folder}:Sized", backbone, {"k": 4})
    assert learner.config() == {"learner": "nearest image", "version": 1, "dim": 512, "k": 4}
    assert learners.make(f"{folder}:Sized", backbone).original.k == 1
    with refuses(r"\bk\b", "object", "settings"):
        own_learner(f"{folder}:made", backbone, {"k": 4})


def test_a_record_is_found_again_until_the_source_or_a_setting_changes(folder, images, tmp_path):
    tasks = sample_closed(images.labels, tasks=4, ways=3, shots=2, queries=3)
    backbone = evaluation.load_backbone("glyph-conv")

    def record(stored=True, **settings):
        learner = own_learner(f"{folder}:Sized", backbone, settings)
        return evaluation.cached_outcomes(images, backbone, learner, tasks, stored=stored)[0]

    assert record() is None
    first = record(stored=False)
    assert (record().correct == first.correct).all() and record(k=2) is None
    for name in (f"{folder}_helper.py", f"{folder}.py"):
        before = (tmp_path / name).read_text()
        (tmp_path / name).write_text(before + "\n# another\n")
        assert record() is None
        (tmp_path / name).write_text(before)
        assert record() is not None


def test_private_attributes_are_no_settings(folder):
    nearest = type(complete(own_learner(f"{folder}:Nearest", None, {})).original)
    memory = nearest()
    memory._features = np.zeros(3)  # what it keeps between calls
    assert identity(complete(memory)) == identity(complete(nearest()))
    memory.k = 3
    with refuses(r"\bk\b", "config\\(\\)", "settings"):
        identity(complete(memory))


def test_an_object_is_as_good_as_a_name(folder, images):
    tasks = sample_closed(images.labels, tasks=4, ways=3, shots=2, queries=3)
    by_name = evaluation.configure(images, "glyph-conv", f"{folder}:Nearest")
    learner = sys.modules[folder].Nearest()
    method = evaluation.configure(images, "glyph-conv", learner)
    correct = method.outcomes(tasks).correct
    assert (
        by_name.outcomes(tasks, stored=True) is not None and method.learner.name == "nearest image"
    )
    assert np.array_equal(correct, evaluation.evaluate(learner, method.bank(), tasks).correct)
    with refuses(r"\bC\b", "learner"):
        evaluation.configure(images, "glyph-conv", learner, C=1)


def test_a_class_without_a_file_is_refused(monkeypatch):
    monkeypatch.setitem(
        sys.modules, "typed_in", type(sys)("typed_in")
    )  # as a notebook's, which no file holds
    typed = type("Typed", (), {"scores": lambda self, bank, tasks: None, "__module__": "typed_in"})
    with refuses("learner", "Typed", "no file"):
        identity(complete(typed()))


class Mine(Learner):
    name = "mine"
    settings = ("k",)

    def __init__(self, k):
        self.k = k

    def scores(self, bank, tasks):
        raise RuntimeError("no")


def test_the_identity_of_an_own_learner_cannot_stand_for_another():
    source_of_own = identity(Mine(3))["own"]
    assert (
        source_of_own["class"].endswith("test_own_learners:Mine")
        and len(source_of_own["source"]) == 64
    )
    assert (
        source_of_own["config"]
        == {"learner": "mine", "version": 1, "k": 3}
        != identity(Mine(4))["own"]["config"]
    )
    with refuses("its config\\(\\) is not JSON \\(TypeError"):
        identity(Mine(object()))
    assert identity(learners.make("ncc")) == {"learner": "ncc", "version": 1}


def test_an_installed_package_is_identified_by_its_own_modules(tmp_path, monkeypatch):
    root = tmp_path / "site-packages"
    (root / "whole").mkdir(parents=True)
    (root / "whole" / "__init__.py").touch()
    learner = "import other\nfrom .part import value\nclass One:\n    scores = print\n"
    (root / "whole" / "learner.py").write_text(learner)
    monkeypatch.syspath_prepend(str(root))
    sources = []
    for name in ("other.py", "whole/part.py", "other.py", "whole/part.py"):
        (root / name).write_text("# more\n" * len(sources) + "value = 1\n")
        if (root / "whole/part.py").exists():
            sources.append(identity(own_learner("whole.learner:One", None, {}))["own"]["source"])
    assert sources[0] == sources[1] != sources[2]
