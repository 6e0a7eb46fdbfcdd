"""Parameters of the notebooks, profiles, and running a notebook."""

import os
import re
import shlex
import subprocess
import sys

import jupytext
import nbformat
import pytest
from papermill.inspection import inspect_notebook
from refusal import refuses

from fslbook import notebooks
from fslbook.cells import check_parameters
from fslbook.paths import NOTEBOOKS, PROFILES
from fslcore.cli import faults
from fslcore.errors import InputError
from fslcore.paths import ROOT


@pytest.mark.parametrize("name", ["large.yml", "profiles/large.yml"])
def test_a_profile_that_ships_goes_by_its_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    profile = notebooks.profile(name)
    assert profile == notebooks.profile(PROFILES / "large.yml")
    assert (
        profile["selection"]["features"] == "clip-b32"
    )  # the evaluators' paper, of which the chapter is
    (tmp_path / "profiles").mkdir()
    (tmp_path / name).write_text("planning: {seed: 7}")  # a file of the user's comes first
    assert notebooks.profile(name) == {"planning": {"seed": 7}}
    with refuses(
        r"no file lorge.yml; evaluators-fetchable.yml, .* quick.yml ship .*; did you mean 'large.yml'"
    ):
        notebooks.profile("lorge.yml")


@pytest.mark.slow
def test_the_plain_way_jupytext_and_papermill(tmp_path):
    tools = os.path.dirname(sys.executable)
    command = (
        f"{tools}/jupytext --to ipynb -o - notebooks/primer.md"
        f" | {tools}/papermill - {tmp_path}/out.ipynb -p tasks 60 -p spread 8"
    )
    subprocess.run(command, shell=True, check=True, cwd=ROOT, capture_output=True)
    assert nbformat.read(tmp_path / "out.ipynb", 4).metadata.papermill.parameters == {
        "tasks": 60,
        "spread": 8,
    }


@pytest.mark.parametrize("name", notebooks.names())
def test_parameters_are_read_as_papermill_reads_them_and_defaults_are_allowed(name, tmp_path):
    parameters = notebooks.parameters(name)
    jupytext.write(jupytext.read(NOTEBOOKS / f"{name}.md"), tmp_path / "n.ipynb")
    inspected = inspect_notebook(str(tmp_path / "n.ipynb"))
    assert {*inspected} == {p.name for p in parameters} != set()
    for p in parameters:
        theirs = inspected[p.name]
        assert theirs["inferred_type_name"] == p.type and eval(theirs["default"]) == p.default
        assert p.allowed and p.meaning and theirs["help"] == f"{p.allowed}: {p.meaning}"
    assert notebooks.check(name, {p.name: p.default for p in parameters})
    with pytest.raises(InputError):
        notebooks.check(name, {"no_such_parameter": 1})


def test_a_chapter_refuses_impossible_and_misspelt_parameters():
    namespace = {p.name: p.default for p in notebooks.parameters("primer")}
    check_parameters("primer", namespace)
    with refuses(r"parameter truth .* 1\.\.99, got 150"):
        check_parameters("primer", namespace | {"truth": 150})
    injected = "# Parameters\nsed = 95\n"
    cells = ["", "seed: int = 0", injected]
    with refuses(r"\bsed\b", "primer", "truth", r"'seed'\?"):
        check_parameters("primer", namespace | {"In": cells, "sed": 95})
    # In Jupyter the cell can be corrected and run again, in the same process.
    check_parameters("primer", namespace | {"In": [*cells, "# Parameters\nseed = 95\n"], "sed": 95})


def test_every_kind_of_refusal_is_known_by_its_name():
    sources = [p for folder in ("fslcore", "book/fslbook") for p in (ROOT / folder).rglob("*.py")]
    kinds = [
        kind
        for path in sources
        for kind in re.findall(r"^class (\w+)\(InputError\)", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(kinds) > 3 and sorted([*kinds, "InputError"]) == sorted(notebooks.REFUSALS)


@pytest.mark.parametrize(
    "stated, parameter",
    [
        ("rows='task'", "-p rows task"),
        ("lower_is_better=True", "-p lower_is_better true"),
        ("columns={'seed': ['0', 'a b']}", """-p columns '[seed, "0", a b]'"""),
        ("where=['method!=ours']", "-p where '[method!=ours]'"),
        ("decimal=','", """-p decimal '","'"""),
        ("reference=NAME", "-p reference NAME"),
        ("by=['dataset']", None),  # no parameter of the chapter
        ("runs/seed=3", None),
    ],
)
def test_a_refusal_in_a_chapter_names_its_parameters(stated, parameter):
    expected = parameter or stated
    assert notebooks._advice("your-results", f"say {stated}, or ({stated})") == (
        f"say {expected}, or ({expected})"
    )
    if parameter and "NAME" not in parameter:
        _, name, text = shlex.split(parameter)
        value = notebooks.value(name, text)
        assert notebooks.check("your-results", {name: value}) == {name: value}


@pytest.mark.parametrize(
    "options, line",
    [
        (
            "--columns dataset 'A b' --pm ci --rows task",
            "Here as -p columns '[dataset, A b]' -p rows task\nThe command alone has --pm",
        ),
        ("--common --methods ours", "Here as -p common true -p methods '[ours]'"),
        ("--by fold", "The command alone has --by"),
    ],
)
def test_a_command_proposed_in_a_chapter_becomes_parameters(options, line):
    message = f"no role. If this is meant, type:\n  fslcore report a.csv {options}"
    assert notebooks._advice("your-results", message) == f"{message}\n{line}"


@pytest.mark.slow
def test_what_a_refusal_in_a_chapter_names_is_read(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("CUB,Cars,method\n50.5,40.5,ours\n51.5,42,ours\n49,39,base\n48,40.5,base\n")
    out = tmp_path / "out.ipynb"
    parameters = {"results": [str(path)], "columns": ["dataset", "CUB", "Cars"]}
    with pytest.raises(InputError, match=r"Here as .*-p rows task") as error:
        notebooks.run("your-results", parameters, out)
    lines = faults.message(error.value, "report")[0].splitlines()
    assert lines[-1].startswith("Here as -p ") and lines[-2].startswith("  fslcore report ")
    notebooks.run("your-results", {**parameters, "rows": "task"}, out)
    assert out.exists()


def test_a_source_of_captions_may_name_a_rule_for_compounds():
    for source in ("captions?compounds=whole", "vit-gpt2?compounds=parts", "a.csv?compounds=whole"):
        assert notebooks.check("spurious-bias", {"captioner": source}) == {"captioner": source}
    with refuses("compounds", r"\bno\b", "parts.*whole"):
        notebooks.check("spurious-bias", {"captioner": "vit-gpt2?compounds=no"})
    with refuses("compounds", "pixels", "captions"):
        notebooks.check("spurious-bias", {"captioner": "pixels?compounds=whole"})
    with refuses("captioner", r"\bvit\b", "captions.*pixels"):
        notebooks.check("spurious-bias", {"captioner": "vit?compounds=whole"})


def test_one_value_in_place_of_a_list_becomes_a_list_in_a_chapter_too():
    namespace = {p.name: p.default for p in notebooks.parameters("closed-vs-open")}
    namespace["datasets"] = "clipart"
    check_parameters("closed-vs-open", namespace)
    assert namespace["datasets"] == ["clipart"]


@pytest.mark.slow
def test_plain_papermill_stops_at_a_parameter_that_a_chapter_refuses(tmp_path):
    jupytext.write(jupytext.read(NOTEBOOKS / "primer.md"), tmp_path / "primer.ipynb")
    command = [sys.executable, "-m", "papermill", "primer.ipynb", "out.ipynb", "-p", "sed", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "did you mean 'seed'?" in done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.yml")), ids=lambda p: p.stem)
def test_profiles_fit_their_notebooks(path):
    """Those of a paper name its chapters, and data that need not be here yet."""
    named = set(notebooks.profile(path, absent=True))
    chapters = set(notebooks.names())
    assert named <= chapters, (
        f"profiles/{path.name} names {named - chapters}, which are no chapters"
    )
    if path.stem in ("quick", "large"):
        missing = chapters - named
        assert not missing, f"profiles/{path.name} lacks {missing}: a line 'NAME: {{}}' is enough"
