"""Notebooks by former names: one that another holds now still runs, and its key in a profile counts."""

import pytest

from fslcore.errors import InputError
from fslcore.tools import notebooks


@pytest.fixture(autouse=True)
def merged(monkeypatch):
    monkeypatch.setitem(notebooks.MERGED, "former", "planning")


def test_a_former_name_is_the_notebook_that_holds_it():
    assert notebooks.source("former") == notebooks.source("planning")
    assert notebooks.check("former", {"seed": 3}) == {"seed": 3}
    assert notebooks.current("planning") == "planning" and notebooks.current("nothing") == "nothing"


def test_both_keys_of_a_profile_are_one(tmp_path):
    (tmp_path / "p.yml").write_text("planning: {seed: 3}\nformer: {level: 0.9}\n")
    assert notebooks.profile(tmp_path / "p.yml") == {"planning": {"seed": 3, "level": 0.9}}
    (tmp_path / "p.yml").write_text("planning: {seed: 3}\nformer: {seed: 4}\n")
    with pytest.raises(InputError, match="seed is 3 and 4 of planning, which holds former"):
        notebooks.profile(tmp_path / "p.yml")


def test_every_merged_notebook_is_held_by_one_that_is_there():
    assert set(notebooks.MERGED.values()) <= set(notebooks.names())


def test_the_parameters_of_a_former_notebook_are_those_of_the_one_that_holds_it():
    given = {"queries": 5, "tasks": 60, "runs": 2, "synthetic_runs": 3, "lr_shots": 1, "level": 0.9}
    assert notebooks.check("pilot", given) == notebooks.check("sizing-tasks", given) == given


def test_the_intervals_of_gaps_run_by_their_former_name():
    assert notebooks.source("honest-gaps") == notebooks.source("known-truth")
    given = {"datasets": ["clipart"], "attributes": "pixels", "groups": ["author"], "ways": 3, "level": 0.9}
    assert notebooks.check("honest-gaps", given) == given
