"""Optimisers and learning rate schedules by name."""

from __future__ import annotations

from functools import partial

from torch import optim
from torch.optim import lr_scheduler

__all__ = ["OPTIMISERS", "SCHEDULES"]

#: From parameters, ``lr`` and ``weight_decay`` to an optimiser.
OPTIMISERS = {
    "adamw": optim.AdamW,
    "adam": optim.Adam,
    "sgd": partial(optim.SGD, momentum=0.9, nesterov=True),
    "sgd-momentum": partial(optim.SGD, momentum=0.9),
}
#: From an optimiser, a recipe and the total number of steps to a schedule, which changes at each
#: step.
SCHEDULES = {
    "one-cycle": lambda optimiser, recipe, steps: lr_scheduler.OneCycleLR(
        optimiser, recipe.lr, total_steps=steps
    ),
    "cosine": lambda optimiser, recipe, steps: lr_scheduler.CosineAnnealingLR(optimiser, steps),
    "steps": lambda optimiser, recipe, steps: lr_scheduler.MultiStepLR(
        optimiser, _at(recipe, steps), recipe.factor
    ),
    "constant": lambda optimiser, recipe, steps: lr_scheduler.ConstantLR(optimiser, factor=1.0),
}


def _at(recipe, steps):
    """Steps at which the rate falls: those of the recipe's epochs, or else six and eight tenths of
    all."""
    epochs = [epoch * (steps // recipe.epochs) for epoch in recipe.milestones]
    return epochs or [steps * 6 // 10, steps * 8 // 10]
