"""Interventional few-shot learning (Yue et al., 2020): the adjustment and the adjusted learners."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fslcore.datasets.bank import Bank
from fslcore.errors import InputError, instance, whole
from fslcore.learners.common import OnFeatures, mask_absent

from .maml_frozen import FrozenMAML
from .matchingnet import MatchingNet
from .mtl import MTL
from .sib import SIB

__all__ = ["MTLIFSL", "SIBIFSL", "FrozenMAMLIFSL", "Interventional", "MatchingNetIFSL"]


class Interventional(OnFeatures):
    """A learner on frozen features with the backdoor adjustment for the network's training classes.

    *Feature-wise*: the features are divided in order into ``parts`` equal parts; the learner
    classifies by each alone, with separate weights, and the probabilities are averaged. Features of
    at most ``threshold`` count as absent. *Class-wise*: an image's features x are joined by Σᵢ
    P(aᵢ|x) x̄ᵢ over the classes aᵢ that the network was trained on, with mean features x̄ᵢ.
    *Combined*, the default, is both: each part of x with the same part of that mean. One part and
    ``classes`` is only class-wise.

    The network's own classifier is not kept, so P comes from a linear classifier fitted to its
    features of the same images. Features have unit length, and class means are means of such
    features. As in the released code, the weight 1/m of each of m classes, which would make their
    part vanish, is omitted. That code reads raw features in matching networks and MAML; in MTL and
    SIB it centres them on the mean of all classes and divides them by their length, for the
    adjusted learners only. Here both read the same features, so that the adjustment is the only
    difference. It averages logarithms in all but matching networks, where the paper averages
    probabilities: 97 % or more of the answers are the same on icons, but 87 to 91 % of those of SIB
    on clip art.

    Parameters
    ----------
    dim : int
        Length D of a feature vector.
    parts : int
        n of the feature-wise adjustment; 1: none. It divides D.
    classes : bool
        Adjust class-wise.
    threshold : float
        t of the paper (1e-3).
    **options
        Options of the learner.

    Raises
    ------
    InputError
        Parts below 1, or that do not divide D; in `scores`, unknown classes.
    """

    adjusted: type[OnFeatures]  # the learner with which the parts are classified
    needs_dim = True
    digested = True
    settings = ("classes", "threshold")

    def __init__(
        self,
        dim: int = 256,
        *,
        parts: int = 4,
        classes: bool = True,
        threshold: float = 1e-3,
        **options: Any,
    ) -> None:
        super().__init__()
        if dim % whole("parts", parts, 1):
            raise InputError(f"parts = {parts}; {dim} features are not so many equal parts")
        self.classes = classes
        self.threshold = threshold
        size = {"dim": dim // parts * (1 + classes)} if self.adjusted.needs_dim else {}
        self.parts = nn.ModuleList(self.adjusted(**size, **options) for _ in range(parts))
        if classes:
            for name, shape in {"weight": (0, dim), "bias": (0,), "means": (0, dim)}.items():
                self.register_buffer(name, torch.zeros(shape))

    def set_base_classes(self, head: nn.Linear, means: Tensor) -> None:
        """Set the network's knowledge of the m classes it was trained on.

        Parameters
        ----------
        head : nn.Linear
            From features (D) to the classes.
        means : (m, D) tensor
            Means of the unit features of each class.
        """
        if self.classes:
            self.weight = head.weight.detach()
            self.bias = head.bias.detach()
            self.means = means

    def config(self) -> dict[str, Any]:
        config = instance("parts", self.parts[0], OnFeatures).config()
        shared = {name: config[name] for name in ("version", "steps", "lr") if name in config}
        return {**super().config(), "parts": len(self.parts), "of": shared}

    def prepare(self, bank: Bank) -> Bank:
        if self.classes and not len(self.means):
            raise InputError(f"learner = {self.name}; it needs a network that was trained for it")
        return super().prepare(bank)

    def forward(self, support: Tensor, members: Tensor, query: Tensor, *present: Tensor) -> Tensor:
        """As for all learners; the scores are logarithms of probabilities."""
        log_p = []
        for learner, x, z in zip(self.parts, self._split(support), self._split(query)):
            scores = learner(x, members, z, *present)
            log_p.append(torch.log_softmax(mask_absent(scores, members), dim=-1))
        return torch.stack(log_p).logsumexp(dim=0) - math.log(len(log_p))

    def _split(self, x: Tensor) -> list[Tensor]:
        """The input of each part from features (..., D)."""
        n = len(self.parts)
        unit = F.normalize(x * (x.abs() > self.threshold), dim=-1).chunk(n, dim=-1)
        if not self.classes:
            return list(unit)
        probabilities = torch.softmax(F.linear(x, self.weight, self.bias), dim=-1)
        expected = (probabilities @ self.means).chunk(n, dim=-1)
        return [torch.cat(pair, dim=-1) for pair in zip(unit, expected)]

    def _load_from_state_dict(self, state: dict[str, Tensor], prefix: str, *options: Any) -> None:
        # The number of classes is taken from the file.
        for name, _ in self.named_buffers(recurse=False):
            if prefix + name in state:
                setattr(self, name, torch.zeros_like(state[prefix + name]))
        super()._load_from_state_dict(state, prefix, *options)


class MatchingNetIFSL(Interventional):
    """`MatchingNet` with the adjustment."""

    name = "matchingnet-ifsl"
    adjusted = MatchingNet


class FrozenMAMLIFSL(Interventional):
    """`FrozenMAML` with the adjustment."""

    name = "maml-frozen-ifsl"
    adjusted = FrozenMAML


class MTLIFSL(Interventional):
    """`MTL` with the adjustment."""

    name = "mtl-ifsl"
    adjusted = MTL


class SIBIFSL(Interventional):
    """`SIB` with the adjustment; transductive, like `SIB`."""

    name = "sib-ifsl"
    adjusted = SIB
    transductive = True
