"""Learners by name: the classes of those that are registered in `fslcore.catalogue`."""

from importlib import import_module

from ..catalogue import registered_learners
from .protocol import Learner

__all__ = ["is_registered", "learner_class"]


def learner_class(name: str) -> type[Learner]:
    """The class of a registered learner; its module is imported when it is first asked for."""
    module, _, attribute = registered_learners[name].place.partition(":")
    kind: type[Learner] = getattr(import_module(module), attribute)
    return kind


def is_registered(kind: type) -> bool:
    """Whether a class belongs to a package that registers its learners, such as this one."""
    packages = {entry.place.partition(".")[0] for entry in registered_learners.values()}
    return kind.__module__.partition(".")[0] in packages
