"""Optimisers and learning rates by their names."""

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
}
#: From an optimiser, its largest learning rate and the number of its steps to a schedule.
SCHEDULES = {
    "one-cycle": lambda optimiser, lr, steps: lr_scheduler.OneCycleLR(optimiser, lr, total_steps=steps),
    "cosine": lambda optimiser, lr, steps: lr_scheduler.CosineAnnealingLR(optimiser, steps),
    # A tenth of the rate from six tenths of the steps on, and a hundredth from eight tenths on.
    "steps": lambda optimiser, lr, steps: lr_scheduler.MultiStepLR(optimiser, [steps * 6 // 10, steps * 8 // 10]),
    "constant": lambda optimiser, lr, steps: lr_scheduler.ConstantLR(optimiser, factor=1.0),
}
