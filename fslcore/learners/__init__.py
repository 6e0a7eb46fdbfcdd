"""Learners: from a task's support to scores for its queries.

All learners follow the protocol `Learner`. Each is a line of `fslcore.catalogue.LEARNERS_BY_NAME`,
which names its module and class.
"""

from importlib import import_module
from typing import Any

from ..catalogue import LEARNERS_BY_NAME
from ..errors import InputError, suggestion
from ..models.backbone import Backbone
from .check import check_learner
from .common import OnMaps
from .ifsl import Interventional
from .protocol import Learner

__all__ = [
    "Interventional",
    "Learner",
    "OnMaps",
    "check_learner",
    "make",
    "names",
    "of_features",
    "of_images",
]

_classes = {}
for _name, _entry in LEARNERS_BY_NAME.items():
    _module, _, _class = _entry.place.partition(":")
    _classes[_name] = getattr(import_module(f".{_module}", __name__), _class)
    globals()[_class] = _classes[_name]
    __all__ += [_class]

of_features = {name: kind for name, kind in _classes.items() if kind.reads == "features"}
# These train on each task.
of_images = {name: kind for name, kind in _classes.items() if kind.reads == "images"}
names = (*of_features, *of_images)


def make(name: str, backbone: Backbone | None = None, **settings: Any) -> Learner:
    """A learner by name or ``module:Class``, with the weights trained beside the backbone, if any.

    ``settings`` are arguments of its class, such as ``C`` of `LogisticRegression`. The defaults are
    the settings of its training, and for fine-tuning those of released code for the backbone.

    Raises
    ------
    InputError
        Unknown name; a learner that reads images without a backbone, or with one it cannot use; a
        learner that compares places with a backbone whose features are not a map; a module or a
        class of your own that is missing or is not a learner.
    """
    if ":" in name:
        from .own import own_learner

        return own_learner(name, backbone, settings)
    if name not in names:
        raise InputError(
            f"learner = {name}; {', '.join(names)} are allowed{suggestion(name, names)}"
        )
    # The backbone, if it was trained with this learner.
    trained = backbone if backbone is not None and backbone.name.endswith(f"-{name}") else None
    if trained is not None:
        settings = trained.options | settings
    if name in of_images:
        if backbone is None:
            raise InputError(
                f"learner = {name}; precomputed features allow {', '.join(of_features)}"
            )
        if name == "ft":
            settings = backbone.fine_tuning | settings
        return of_images[name](backbone, **settings)
    kind = of_features[name]
    if backbone is not None and kind.sized:
        settings.setdefault("dim", backbone.dim)
    if backbone is not None and kind.places:
        if backbone.map is None:
            raise InputError(
                f"learner = {name}; the features of {backbone.name} are no map; those of "
                f"conv4-{name} are"
            )
        settings.setdefault("map", backbone.map)
    learner = kind(**settings)
    if trained is not None and trained.head:
        learner.load_state_dict(trained.head)
    return learner
