"""Learners: from a task's support to scores for its queries.

All learners follow the protocol `Learner`.
"""

from ..catalogue import known
from ..errors import InputError, like
from ..models.backbone import Backbone
from .anil import ANIL
from .boil import BOIL
from .can import CAN
from .centroid import NearestCentroid
from .check import check_learner
from .common import OnMaps
from .cosine import CosineClassifier
from .dn4 import DN4
from .finetune import FineTune
from .ifsl import MTLIFSL, SIBIFSL, FrozenMAMLIFSL, Interventional, MatchingNetIFSL
from .leo import LEO
from .logistic import LogisticRegression
from .maml import MAML
from .maml_frozen import FrozenMAML
from .matchingnet import MatchingNet
from .mtl import MTL
from .opta import OpTA
from .protocol import Learner
from .protonet import ProtoNet
from .r2d2 import R2D2
from .renet import RENet
from .sib import SIB
from .simpleshot import SimpleShot
from .text import TextProbe, TipAdapter

__all__ = [
    "ANIL",
    "BOIL",
    "CAN",
    "DN4",
    "LEO",
    "MAML",
    "MTL",
    "MTLIFSL",
    "R2D2",
    "SIB",
    "SIBIFSL",
    "CosineClassifier",
    "FineTune",
    "FrozenMAML",
    "FrozenMAMLIFSL",
    "Interventional",
    "Learner",
    "LogisticRegression",
    "MatchingNet",
    "MatchingNetIFSL",
    "NearestCentroid",
    "OnMaps",
    "OpTA",
    "ProtoNet",
    "RENet",
    "SimpleShot",
    "TextProbe",
    "TipAdapter",
    "check_learner",
    "make",
    "names",
    "of_features",
    "of_images",
]

_classes = {name: globals()[of.place.partition(":")[2]] for name, of in known.items()}
of_features = {name: kind for name, kind in _classes.items() if kind.reads == "features"}
of_images = {
    name: kind for name, kind in _classes.items() if kind.reads == "images"
}  # they train a network on each task
names = (*of_features, *of_images)


def make(name: str, backbone: Backbone | None = None, **settings) -> Learner:
    """A learner by name, or by ``module:Class``, with weights that were trained with the backbone's network (R2D2: λ).

    ``settings`` are arguments of its class, such as ``C`` of `LogisticRegression`. The defaults are the settings of its
    training, and for fine-tuning those of released code for the backbone.

    Raises
    ------
    InputError
        Unknown name; a learner that reads images without a backbone, or with one it cannot use; a learner that
        compares places with a backbone whose features are not a map; a module or a class of your own that is missing or
        is not a learner.
    """
    if ":" in name:
        from .own import made

        return made(name, backbone, settings)
    if name in of_images:
        if backbone is None:
            raise InputError(f"learner = {name}; precomputed features allow {', '.join(of_features)}")
        trained = backbone.options if backbone.name.endswith(f"-{name}") else {}
        return of_images[name](backbone, **(backbone.fine_tuning if name == "ft" else trained) | settings)
    if name not in of_features:
        raise InputError(f"learner = {name}; {', '.join(names)} are allowed{like(name, names)}")
    trained = backbone is not None and backbone.name.endswith(f"-{name}")
    if trained:
        settings = backbone.options | settings
    if backbone is not None and of_features[name].sized:
        settings.setdefault("dim", backbone.dim)
    if backbone is not None and of_features[name].places:
        if backbone.map is None:
            raise InputError(f"learner = {name}; the features of {backbone.name} are no map; those of conv4-{name} are")
        settings.setdefault("map", backbone.map)
    learner = of_features[name](**settings)
    if trained and backbone.head:
        learner.load_state_dict(backbone.head)
    return learner
