"""Methods: a backbone with a learner, by name, and ready to run on images or features."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from .. import datasets, learners, sources
from ..catalogue import learner_title, registered_learners
from ..datasets.bank import Bank, load_features
from ..errors import InputError, instance, quoted, suggestion
from ..learners.protocol import complete
from ..models import backbones, registry
from .cache import ConfiguredMethod

__all__ = ["Method", "configure", "load_backbone", "load_images_or_features"]


class Method(NamedTuple):
    """A backbone and a learner, by their names.

    Attributes
    ----------
    backbone : str
        As for `fslcore.models.backbones.load`.
    learner : str
        A name of `fslcore.catalogue.registered_learners`, or ``module:Class``.
    """

    backbone: str
    learner: str

    @classmethod
    def parse(cls, text: str) -> Method:
        """The method written with a space: 'conv4-protonet protonet'.

        Raises
        ------
        InputError
            No space, or an unknown backbone or learner.
        """
        backbone, _, learner = text.rpartition(" ")
        network = backbone.partition(":")[0]
        networks = registry.available()
        known = [*registered_learners]
        if network not in networks or (learner not in known and ":" not in learner):
            similar = suggestion(network, networks) if network not in networks else ""
            raise InputError(
                f"method must be a backbone ({', '.join(networks)}), a space and a learner "
                f"({', '.join(known)}), got {quoted(text)}{similar or suggestion(learner, known)}"
            )
        return cls(backbone, learner)

    @property
    def label(self) -> str:
        """'efficientnet-lite0 NCC' for ('efficientnet-lite0', 'ncc')."""
        return f"{self.backbone} {learner_title(self.learner)}"


def load_images_or_features(dataset: str, size: int | None = None) -> datasets.Source:
    """The images of a data set (`fslcore.datasets.load`), or the bank of ``features:PATH``."""
    if dataset.startswith("features:"):
        if size is not None:
            raise InputError(f"size = {size}; {dataset} are features, not images")
        return load_features(dataset.removeprefix("features:"))
    if ":" in dataset or size is not None:
        return datasets.load(dataset, size=size)
    return _shipped_images(dataset)


def load_backbone(name: str) -> backbones.Backbone:
    """The backbone of this name (see `fslcore.models.backbones.load`)."""
    return backbones.load(name) if ":" in name else _named_backbone(name)


# What ships does not change while a process runs, and is loaded many times.
_shipped_images = lru_cache(maxsize=8)(datasets.load)
_named_backbone = lru_cache(maxsize=8)(backbones.load)


def configure(
    source: str | datasets.Source,
    backbone: str,
    learner: str | learners.Learner,
    *,
    size: int | None = None,
    **settings: Any,
) -> ConfiguredMethod:
    """A method on a data set, with the learner's weights if it was trained together with the
    backbone.

    Parameters
    ----------
    source : str, Images or Bank
        A name as for `load_images_or_features`, or its result.
    backbone : str
        As for `fslcore.models.backbones.load`, with ``{dataset}`` replaced by the data set
        (`fslcore.sources.filled`); ignored for a bank.
    learner : str or Learner
        A registered name, ``module:Class`` for a class of your own, or an object.
    size : int, optional
        As for `load_images_or_features`.
    **settings
        Arguments of the learner, such as ``C=10``, if it is a name.

    Raises
    ------
    InputError
        As for the loaders; a learner that cannot read the features, or that needs embeddings of
        class names or a mean over base classes where there are none.
    """
    if isinstance(source, str):
        source = load_images_or_features(source, size)
    if isinstance(source, Bank):
        configured = _made(learner, None, **settings)
        configured.check(source)
        return ConfiguredMethod(source, None, configured)
    given = instance("source", source, datasets.Images)
    images, model = backbones.match_input_size(
        given, load_backbone(sources.filled(backbone, given.name))
    )
    configured = _made(learner, model, **settings)
    if configured.reads_text and model.text is None:
        raise InputError(
            f"learner = {configured.name}; it reads embeddings of the names of classes, and "
            f"{model.name} has no text tower: clip has one, and features:FILE.npz may bring them "
            "as an array 'text'"
        )
    if configured.reads_center:
        configured = _made(learner, model, **settings, center=backbones.base_mean(images, model))
    return ConfiguredMethod(images, model, configured)


def _made(
    learner: str | learners.Learner, backbone: backbones.Backbone | None, **settings: Any
) -> learners.Learner:
    """The learner of a name with its settings; or a learner object, which takes none."""
    if isinstance(learner, str):
        return learners.make(learner, backbone, **settings)
    if settings:
        raise InputError(
            f"{', '.join(settings)}: none is taken with a learner that is made; give them to its "
            "class"
        )
    return complete(learner)
