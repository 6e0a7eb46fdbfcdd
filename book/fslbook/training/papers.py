"""Training settings of the papers' networks (``papers.yml``)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import yaml

from fslcore.errors import choice

from ..catalogue import TRAINERS

__all__ = ["of_paper", "settings_of"]

OVERRIDING = ("datasets", "learners", "shots")  # whose fields override the earlier ones
NOTES = ("source", "unverified")
SHARED = ("sets", "trained_with")  # by all trainings


@lru_cache
def _file():
    return yaml.safe_load(Path(__file__).with_name("papers.yml").read_text("utf-8"))


def settings_of(paper: str) -> dict:
    """The trainings of a paper: its ``learners``, its data sets as loaded (``sets``), its shots
    (``trained_with``)."""
    return _file()[choice("paper", paper, TRAINERS)]


def of_paper(
    paper: str, learner: str, dataset: str, shots: int = 5
) -> tuple[dict, dict[str, list[str]]]:
    """Settings with which a paper trains a learner on a data set.

    Parameters
    ----------
    paper : str
        A name of `fslbook.catalogue.TRAINERS`.
    learner : str
        A name of `RECIPES`.
    dataset : str
        As for `fslcore.datasets.load`; only the part before a colon or a question mark counts.
    shots : int
        Shots of the training tasks.

    Returns
    -------
    fields : dict
        Fields of `Recipe` with their values, if they differ from the learner's own recipe.
    notes : dict of list of str
        ``source``: the source of the values; ``unverified``: settings that it does not state, or
        that differ here.

    Raises
    ------
    InputError
        Another paper; a learner or a data set that it does not have.
    """
    recipes = settings_of(paper)
    kind = dataset.partition(":")[0].partition("?")[0]
    named = {"learners": learner, "datasets": kind, "shots": shots}
    for group in ("learners", "datasets"):
        choice(f"{group[:-1]} of the paper {paper}", named[group], recipes[group])
    fields: dict = {}
    notes: dict[str, list[str]] = {name: [] for name in NOTES}

    def add(node: dict) -> None:
        for name, value in node.items():
            if name in NOTES:
                notes[name] += value if isinstance(value, list) else [value]
            elif isinstance(value, dict) and name not in OVERRIDING:
                fields[name] = {**fields.get(name, {}), **value}
            elif name not in (*OVERRIDING, *SHARED):
                fields[name] = value
        for name in OVERRIDING:
            if overriding := node.get(name, {}).get(named[name]):
                add(overriding)

    add(recipes)
    return fields, notes
