"""Names of trainings, captioners and estimators, without importing torch or spaCy."""

from __future__ import annotations

from fslcore.catalogue import EPISODIC, PLAIN, UNLABELLED
from fslcore.errors import InputError, choice

__all__ = [
    "CAPTIONERS",
    "COMPOUNDS",
    "ESTIMATORS",
    "FACTS",
    "RECIPES",
    "TRAINERS",
    "source_and_compounds",
]

TRAINERS = ("evaluators", "fewstab")  # papers whose own trainings are in `fslbook.training`
RECIPES = ("glyph-conv", *PLAIN, *EPISODIC, *UNLABELLED)
CAPTIONERS = ("pixels", "vit-gpt2", "blip", "blip-large")
FACTS = "facts:"  # begins the name of a source of attributes that consists of known facts
COMPOUNDS = ("parts", "whole")  # of captions: compounds and their parts, or compounds alone
#: Estimators of a task's own accuracy: the paper's four, and others.
ESTIMATORS = {
    "paper": ("hold-out", "5-fold", "leave-one-out", "bootstrap"),
    "more": ("leave-one-out, refilled", "K-fold"),
}


def source_and_compounds(source: str) -> tuple[str, str]:
    """A source of attributes without what follows ``?``, and its rule for compounds, out of `COMPOUNDS`.

    Raises
    ------
    InputError
        Another rule, or a rule for a source without captions.
    """
    name, mark, compounds = source.rpartition("?compounds=")
    if not mark:
        return source, COMPOUNDS[0]
    if name == CAPTIONERS[0] or name.startswith(FACTS):
        raise InputError(f"source = {source}; compounds are parts of captions, and {name} has none")
    return name, choice("compounds", compounds, COMPOUNDS)
