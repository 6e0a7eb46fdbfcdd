"""Names of trainings, captioners and estimators, without importing torch or spaCy."""

from __future__ import annotations

from fslcore.catalogue import EPISODIC, PLAIN, UNLABELLED

__all__ = ["CAPTIONERS", "ESTIMATORS", "FACTS", "RECIPES", "TRAINERS"]

TRAINERS = ("evaluators", "fewstab")  # papers whose own trainings are in `fslbook.training`
RECIPES = ("glyph-conv", *PLAIN, *EPISODIC, *UNLABELLED)
CAPTIONERS = ("pixels", "vit-gpt2", "blip", "blip-large")
FACTS = "facts:"  # begins the name of a source of attributes that consists of known facts
#: Estimators of a task's own accuracy: the paper's four, and others.
ESTIMATORS = {
    "paper": ("hold-out", "5-fold", "leave-one-out", "bootstrap"),
    "more": ("leave-one-out, refilled", "K-fold"),
}
