"""The command ``fslbook``: what it runs, and the one line it says about bad input."""

import json
import sys

import nbformat
import pytest
from refusal import says_in_one_line
from running import captured

from fslbook import catalogue, cli, notebooks, training
from fslbook.attributes import captions
from fslbook.catalogue import LEARNER_TITLES
from fslcore.paths import ROOT
from fslcore.tasks import resplits

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

shots: int = 5  # 1..100: labelled images per class
rate: float = 0.5  # 0..1: a share
kind: str = "closed"  # closed|open: sampling
sets: list[str] = ["clipart"]  # dataset: test sets
folds: int = 5  # 2|5|10: a choice among numbers
fast: bool = False  # True|False: a truth value
where: str = ""  # folder: some files
more: list[str] = ["glyph-conv"]  # backbone or none: others
```

```{code-cell} ipython3
import numpy as np
from fslcore.tasks import sample_closed
tasks = sample_closed(np.repeat(np.arange(6), 30), tasks=3, shots=shots)
print("shots", tasks.support.shape[1] // 5, "of", sets)
```
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    (tmp_path / "nb").mkdir()
    (tmp_path / "nb" / "small.md").write_text(NOTEBOOK)
    (tmp_path / "profile.yml").write_text("small: {rate: 0.25}\n")
    monkeypatch.setattr(notebooks, "NOTEBOOKS", tmp_path / "nb")
    return [
        "run",
        "small",
        "--profile",
        str(tmp_path / "profile.yml"),
        "-o",
        str(tmp_path / "out.ipynb"),
    ]


def printed(notebook):
    cells = nbformat.read(notebook, 4).cells
    return "".join(o.get("text", "") for c in cells if c.cell_type == "code" for o in c.outputs)


def test_run_executes_with_the_given_parameters(small, tmp_path):
    assert cli.main([*small, "-p", "shots", "7", "-p", "folds", "10", "-p", "fast", "true"]) == 0
    assert "shots 7" in printed(tmp_path / "out.ipynb")


@pytest.mark.parametrize(
    "words, message",
    [
        (["folds", "3"], "parameter folds must be '2', '5' or '10', got '3'"),
        (["where", "/etc/passwd"], "parameter where must be a folder, got a file, /etc/passwd"),
        (["kind", "no"], "kind must be 'closed' or 'open', got False (YAML reads yes, no,"),
    ],
)
def test_a_bad_parameter_is_one_line_that_says_what_is_allowed(
    small, tmp_path, capsys, words, message
):
    assert cli.main([*small, "-p", *words]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error and error.startswith("fslbook: ") and "\n" not in error
    assert sorted(p.name for p in tmp_path.iterdir()) == ["nb", "profile.yml"]


def test_a_notebook_whose_process_ends_or_fails_is_told_in_one_line(small, tmp_path, capsys):
    book = tmp_path / "nb" / "small.md"
    for code, message in [
        ("import os; os._exit(1)", "not enough memory (small: its process was killed"),
        ("open('/none/x')", "fslbook: small: [Errno 2] No such file or directory: '/none/x'"),
        ("1 / 0", "a fault of fslcore: RuntimeError: small: ZeroDivisionError: division by zero; "),
    ]:
        book.write_text(NOTEBOOK.replace("import numpy as np", code))
        assert cli.main(small) == (1 if "1 / 0" in code else 2)
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1 and not (tmp_path / "out.ipynb").exists()


# Told before torch is imported.
COMMANDS = """rn primer => command must be 'list', 'run', 'jupyter'
list closed-v-open => did you mean 'closed-vs-open'?
assess '' => folder must be a path, got ''
assess {t} --backbone dinno -o {t}/a.html => did you mean 'dino'?
train protnet => learner must be one of 24 names, got 'protnet'; did you mean 'protonet'?
train protonet --dataset coloured/hebrw => dataset must be one of
run sizing => names, got 'sizing'; did you mean 'sizing-tasks'?
run sizing-tasks -p shots => argument -p/--parameter: expected 2 arguments
run sizing-tasks -p shots=1 => -p must be in two words, -p shots 1, got shots=1
run -p datasets='[a, b]' sizing-tasks => two words, -p datasets '[a, b]', got datasets=[a, b]
run sizing-tasks shots 1 => shots: no such argument; did you mean -p shots 1?
run sizing-tasks shots=1 => shots=1: no such argument; did you mean -p shots 1?
run sizing-tasks shots => shots: no such argument; see fslbook run --help
run sizing-tasks -o {t}/out.ipynb -p shots [ => parameter shots = [; not a YAML value:
run sizing-tasks -o {t}/out.ipynb --profile {t} => profile must be a file, got the folder {t}"""
BAD = [line.split(" => ") for line in COMMANDS.splitlines()]


def test_bad_command_lines_are_told_in_one_line_without_torch(tmp_path):
    code = (
        "import sys, shlex, json; sys.modules['torch'] = None\n"
        "from fslbook import cli\n"
        "for line in json.load(sys.stdin): assert cli.main(shlex.split(line)) == 2, line"
    )
    lines = [line.replace("{t}", str(tmp_path)) for line, _ in BAD]
    command = [sys.executable, "-c", code]
    done = captured(command, input=json.dumps(lines), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    errors = done.stderr.replace(str(tmp_path), "{t}").splitlines()
    for (line, message), error in zip(BAD, errors, strict=True):
        assert error.startswith("fslbook: ") and message in error, line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("line", ["run primer", "plan quick.yml"])
def test_without_the_packages_of_the_book_one_line_says_what_to_install(line):
    code = (
        "import sys; sys.modules.update(dict.fromkeys('yaml papermill jupytext nbformat'.split()))\n"
        "from fslbook import cli; sys.exit(cli.main(sys.argv[1:]))"
    )
    done = captured([sys.executable, "-c", code, *line.split()], cwd=ROOT)
    assert done.returncode == 2
    assert says_in_one_line(
        done.stderr, "fslbook: ", "package yaml", "pip install '.[book]' ./data"
    )


def test_list_shows_all_of_a_kind_or_the_parameters_of_a_notebook(capsys):
    def out(*arguments):
        assert cli.main(["list", *arguments]) == 0
        return capsys.readouterr().out

    overview = json.loads(out("--json"))
    assert set(overview) == {"notebooks", "estimators", "learners", "captioners", "profiles"}
    assert json.loads(out("captioners", "--json")) == {"captioners": overview["captioners"]}
    assert out("profiles").splitlines() == overview["profiles"]
    assert len(out("notebooks").splitlines()) == len(notebooks.names())
    title, *parameters = out("closed-vs-open").splitlines()
    assert title == "closed-vs-open: Closed and open intervals"
    assert any("ft_tasks = 600" in line for line in parameters)
    (about,) = json.loads(out("sizing-tasks", "--json"))["notebooks"].values()
    ways = {
        "name": "ways",
        "type": "int",
        "default": 5,
        "allowed": "2..50",
        "meaning": "classes per task, K",
    }
    assert ways in about["parameters"]


def test_names_known_without_torch_are_those_of_the_registries():
    assert sorted(catalogue.RECIPES) == sorted(training.RECIPES)
    assert sorted(catalogue.CAPTIONERS) == sorted(captions.NAMES)
    estimators = {name for names in catalogue.ESTIMATORS.values() for name in names}
    assert estimators - {"K-fold"} == {*resplits.NAMES}
    assert {recipe.removesuffix("-32") for recipe in catalogue.RECIPES} - {"glyph-conv"} <= set(
        LEARNER_TITLES
    )
