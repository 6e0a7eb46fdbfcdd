"""The command line: what it runs, and the one line it says about bad input."""

import os
import subprocess
import sys

import nbformat
import numpy as np
import pytest

from fslcore import cli, notebooks
from fslcore.errors import InputError
from fslcore.paths import PROFILES, ROOT

NOTEBOOK = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A small notebook

```{code-cell} ipython3
:tags: [parameters]

shots: int = 5  # 1..100: labelled images a class
rate: float = 0.5  # 0..1: a share
kind: str = "closed"  # closed|open: sampling
sets: list[str] = ["clipart"]  # dataset: test sets
folds: int = 5  # 2|5|10: a choice among numbers
fast: bool = False  # True|False: a truth value
where: str = ""  # folder: some files
```

```{code-cell} ipython3
import numpy as np
from fslcore.tasks import sample_closed
tasks = sample_closed(np.repeat(np.arange(6), 30), tasks=3, shots=shots)
print("shots", tasks.support.shape[1] // 5)
```
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    (tmp_path / "nb").mkdir()
    (tmp_path / "nb" / "small.md").write_text(NOTEBOOK)
    (tmp_path / "profile.yml").write_text("small: {rate: 0.25}\n")
    monkeypatch.setattr(notebooks, "NOTEBOOKS", tmp_path / "nb")
    return ["run", "small", "--profile", str(tmp_path / "profile.yml"), "-o", str(tmp_path / "out.ipynb")]


def printed(notebook):
    cells = nbformat.read(notebook, 4).cells
    return "".join(o.get("text", "") for c in cells if c.cell_type == "code" for o in c.outputs)


def test_run_executes_with_the_given_parameters(small, tmp_path):
    assert cli.main([*small, "-p", "shots", "7", "-p", "folds", "10", "-p", "fast", "true"]) == 0
    assert "shots 7" in printed(tmp_path / "out.ipynb")


@pytest.mark.parametrize("given, message", [
    (["-p", "shot", "1"], "parameter shot: small takes shots, rate, kind, sets, folds, fast, where (did you mean shots?)"),
    (["-p", "shots", "many"], "parameter shots = 'many'; int is needed"),
    (["-p", "shots", "2.5"], "parameter shots = 2.5; int is needed"),
    (["-p", "shots", "true"], "parameter shots = True; int is needed"),
    (["-p", "shots", "0"], "parameter shots = 0; 1..100 is allowed"),
    (["-p", "rate", "1.5"], "parameter rate = 1.5; 0..1 is allowed"),
    (["-p", "folds", "3"], "parameter folds = 3; 2, 5, 10 are allowed"),
    (["-p", "fast", "1"], "parameter fast = 1; bool is needed"),
    (["-p", "rate", ".nan"], "parameter rate = nan; 0..1 is allowed"),
    (["-p", "kind", "opened"], "parameter kind = opened; closed, open are allowed (did you mean open?)"),
    (["-p", "where", "/none"], "parameter where = /none; there is no such folder"),
    (["-p", "sets", "clipart"], "parameter sets = 'clipart'; a list of str is allowed"),
    (["-p", "sets", "[clipard]"], "dataset = clipard; known are clipart"),
    (["-p", "sets", "['folder:/none']"], "no folder /none"),
    (["-p", "shots", "40"], "small: shots + queries = 55; class 0 has 30 images"),
])
def test_bad_parameters_are_told_in_one_line(small, tmp_path, capfd, given, message):
    assert cli.main([*small, *given]) == 2
    error = capfd.readouterr().err.strip()
    assert message in error and error.startswith("fslcore: ") and "\n" not in error
    assert not (tmp_path / "out.ipynb").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["nb", "profile.yml"]


def test_unknown_notebook_and_profile(small, capsys):
    assert cli.main(["run", "smal", *small[2:]]) == 2
    assert "did you mean small?" in capsys.readouterr().err
    assert cli.main(["run", "small", "--profile", "none.yml"]) == 2
    assert "no file none.yml" in capsys.readouterr().err


@pytest.mark.parametrize("arguments, message", [
    (["--ways", "8"], "ways = 8; the data have 7 classes"),
    (["--shots", "30", "--queries", "31"], "shots + queries = 61; class 0 has 60 images"),
    (["--tasks", "1"], "tasks = 1; a whole number of at least 2"),
    (["--learners", "svm"], "learner = svm"),
    (["--seed", "-1"], "seed = -1"),
    (["-o", "table.txt"], "table.txt; a name that ends in .parquet or .csv is allowed"),
])
def test_evaluate(tmp_path, capsys, arguments, message):
    rng, labels = np.random.default_rng(0), np.arange(7).repeat(60)
    np.savez(tmp_path / "f.npz", features=rng.normal(size=(420, 8)), labels=labels)
    command = ["evaluate", f"features:{tmp_path}/f.npz", "none", "-o", str(tmp_path / "t.csv")]
    assert cli.main([*command, *arguments]) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "t.csv").exists()
    assert cli.main([*command, "--tasks", "5"]) == 0
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 1 + 2 * (5 + 4)
    capsys.readouterr()
    assert cli.main([*command, "--tasks", "40", "--intervals"]) == 0
    out = capsys.readouterr().out
    assert "± new images" in out and "± new classes" in out and "none LR" in out


def test_list_names_everything(capsys):
    assert cli.main(["list"]) == 0
    out = capsys.readouterr().out
    for word in ("closed-vs-open", "ft_tasks = 100", "glyphs/latin", "efficientnet-lite0", "dinov2", "lr"):
        assert word in out


def test_the_plain_way_jupytext_and_papermill(tmp_path):
    tools = os.path.dirname(sys.executable)
    command = (
        f"{tools}/jupytext --to ipynb -o - notebooks/data-and-backbones.md"
        f" | {tools}/papermill - {tmp_path}/out.ipynb -p classes 3 -p speed_images 64"
    )
    subprocess.run(command, shell=True, check=True, cwd=ROOT, capture_output=True)
    assert nbformat.read(tmp_path / "out.ipynb", 4).metadata.papermill.parameters == {"classes": 3, "speed_images": 64}


@pytest.mark.parametrize("name", notebooks.names())
def test_every_parameter_is_described_and_its_default_allowed(name):
    found = notebooks.parameters(name)
    assert found and all(p.meaning and p.allowed for p in found)
    assert notebooks.check(name, {p.name: p.default for p in found})
    with pytest.raises(InputError):
        notebooks.check(name, {"no_such_parameter": 1})


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.yml")), ids=lambda p: p.stem)
def test_profiles_fit_their_notebooks(path):
    assert set(notebooks.profile(path)) == set(notebooks.names())


def test_a_file_is_whole_or_absent(tmp_path):
    from fslcore.paths import replace_file

    def breaks(part):
        part.write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        replace_file(tmp_path / "x", breaks)
    assert not list(tmp_path.iterdir())
    replace_file(tmp_path / "x", lambda part: part.write_text("whole"))
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_names_known_without_torch_are_those_of_the_registries():
    from fslcore import backbones, captions, known, learners, networks, training

    pairs = {
        known.backbones: backbones.available(), known.learners: learners.names, known.networks: networks.NETWORKS,
        known.recipes: training.RECIPES, known.captioners: captions.NAMES,
    }
    for names, registry in pairs.items():
        assert sorted(names()) == sorted(registry)
