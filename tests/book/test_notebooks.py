"""Parameters of the notebooks, profiles, and running a notebook."""

import os
import subprocess
import sys

import jupytext
import nbformat
import pytest
from papermill.inspection import inspect_notebook
from refusal import refuses

from fslbook import notebooks
from fslbook.paths import NOTEBOOKS, PROFILES
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
        r"no file lorge.yml; evaluators.yml, .* oops.yml, quick.yml ship .* \(did you mean large.yml\?\)"
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
def test_parameters_are_read_as_papermill_reads_them(name, tmp_path):
    jupytext.write(jupytext.read(NOTEBOOKS / f"{name}.md"), tmp_path / "n.ipynb")
    for p in notebooks.parameters(name):
        theirs = inspect_notebook(str(tmp_path / "n.ipynb"))[p.name]
        assert theirs["inferred_type_name"] == p.type and eval(theirs["default"]) == p.default
        assert theirs["help"] == f"{p.allowed}: {p.meaning}"
    assert len(inspect_notebook(str(tmp_path / "n.ipynb"))) == len(notebooks.parameters(name))


@pytest.mark.parametrize("name", notebooks.names())
def test_every_parameter_is_described_and_its_default_allowed(name):
    parameters = notebooks.parameters(name)
    assert parameters and all(p.meaning and p.allowed for p in parameters)
    assert notebooks.check(name, {p.name: p.default for p in parameters})
    with pytest.raises(InputError):
        notebooks.check(name, {"no_such_parameter": 1})


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.yml")), ids=lambda p: p.stem)
def test_profiles_fit_their_notebooks(path):
    """Those of a paper name its chapters, and data that need not be here yet."""
    chapters = set(notebooks.profile(path, absent=True))
    assert (
        chapters == set(notebooks.names())
        if path.stem in ("quick", "large")
        else chapters <= set(notebooks.names())
    )
