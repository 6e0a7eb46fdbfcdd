"""Learners: from a task's support to scores for its queries.

All learners follow the protocol `Learner`. `fslcore.catalogue.LEARNERS` has the names of those
defined here; other packages add theirs by `fslcore.catalogue.register_learners`.
"""

from typing import Any

from ..catalogue import registered_learners
from ..errors import InputError, choice
from ..models.backbone import Backbone
from .centroid import NearestCentroid
from .check import check_learner
from .common import OnFeatures
from .cosine import CosineClassifier
from .finetune import FineTune
from .logistic import LogisticRegression
from .own import own_learner, registered_name
from .protocol import Learner
from .protonet import ProtoNet
from .registry import learner_class
from .simpleshot import SimpleShot

__all__ = [
    "CosineClassifier",
    "FineTune",
    "Learner",
    "LogisticRegression",
    "NearestCentroid",
    "OnFeatures",
    "ProtoNet",
    "SimpleShot",
    "check_learner",
    "learner_class",
    "make",
]


def make(name: str, backbone: Backbone | None = None, **settings: Any) -> Learner:
    """A learner by name or ``module:Class``, with the weights trained beside the backbone, if any.

    ``settings`` are arguments of its class, such as ``C`` of `LogisticRegression`. The defaults are
    the settings of its training, and for fine-tuning those of released code for the backbone.

    Raises
    ------
    InputError
        Unknown name; a learner that reads images without a backbone, or with one it cannot use; a
        learner that needs a feature map with a backbone whose features are not a map; a module or a
        class of your own that is missing or is not a learner.
    """
    name = registered_name(name)
    if ":" in name:
        return own_learner(name, backbone, settings)
    choice("learner", name, registered_learners)
    kind: Any = learner_class(name)  # each takes settings of its own
    # The backbone, if it was trained with this learner.
    trained = backbone if backbone is not None and backbone.name.endswith(f"-{name}") else None
    if trained is not None:
        settings = trained.options | settings
    if kind.reads == "images":
        return _of_images(name, backbone, settings)
    if backbone is not None and kind.needs_dim:
        settings.setdefault("dim", backbone.dim)
    if backbone is not None and kind.needs_feature_map:
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


def _of_images(name: str, backbone: Backbone | None, settings: dict[str, Any]) -> Learner:
    """A learner that trains the network of a backbone on each task."""
    if backbone is None:
        of_features = [name for name, e in registered_learners.items() if e.reads == "features"]
        raise InputError(f"learner = {name}; precomputed features allow {', '.join(of_features)}")
    if name == "ft":
        settings = backbone.fine_tuning | settings
    kind: Any = learner_class(name)
    return kind(backbone, **settings)
