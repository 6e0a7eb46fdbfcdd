"""Interventional few-shot learning (Yue et al., 2020): the adjustment, and the learners combined with it."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from ..datasets.bank import Bank
from ..errors import InputError, whole
from .common import OnFeatures, without_empty
from .maml_frozen import FrozenMAML
from .matchingnet import MatchingNet
from .mtl import MTL
from .sib import SIB

__all__ = ["MTLIFSL", "SIBIFSL", "FrozenMAMLIFSL", "Interventional", "MatchingNetIFSL"]


class Interventional(OnFeatures):
    """A learner on frozen features with the backdoor adjustment for the network's training classes.

    *Feature-wise*: the features are divided in order into ``parts`` equal parts; the learner classifies by each alone,
    with separate weights, and the probabilities are averaged. Features of at most ``threshold`` count as
    absent. *Class-wise*: an image's features x are joined by Σᵢ P(aᵢ|x) x̄ᵢ over the
    classes aᵢ that the network was trained on, with mean features x̄ᵢ. *Combined*, the default, is both: each part of x
    with the same part of that mean. One part and ``classes`` is only class-wise.

    The network's own classifier is not kept, so P comes from a linear classifier fitted to its features of the
    same images. As in the released code, features and means have unit length, and the weight 1/m of each of
    m classes, which would make their part vanish, is omitted. The released code also centres the features on the mean
    of all classes, for the adjusted learners only. Here both read the same features, so that the adjustment is the only
    difference. It averages logarithms for some learners, where the paper averages probabilities.

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

    of: type[OnFeatures]  # the learner to be adjusted
    sized = True
    digested = True
    knows_classes = True
    settings = ("classes", "threshold")

    def __init__(self, dim: int = 256, *, parts: int = 4, classes: bool = True, threshold: float = 1e-3, **options):
        super().__init__()
        if dim % whole("parts", parts, 1):
            raise InputError(f"parts = {parts}; {dim} features are not so many equal parts")
        self.classes, self.threshold = classes, threshold
        size = {"dim": dim // parts * (1 + classes)} if self.of.sized else {}
        self.parts = nn.ModuleList(self.of(**size, **options) for _ in range(parts))
        if classes:
            for name, shape in {"weight": (0, dim), "bias": (0,), "means": (0, dim)}.items():
                self.register_buffer(name, torch.zeros(shape))

    def know(self, head: nn.Linear, means: torch.Tensor) -> None:
        """Set the network's knowledge of the m classes it was trained on.

        Parameters
        ----------
        head : nn.Linear
            From features (D) to the classes.
        means : (m, D) tensor
            Means of the unit features of each class.
        """
        if self.classes:
            self.weight, self.bias, self.means = head.weight.detach(), head.bias.detach(), means

    def config(self) -> dict:
        of = {k: v for k, v in self.parts[0].config().items() if k in ("version", "steps", "lr")}
        return {**super().config(), "parts": len(self.parts), "of": of}

    def prepare(self, bank: Bank) -> Bank:
        if self.classes and not len(self.means):
            raise InputError(f"learner = {self.name}; it needs a network that was trained for it")
        return super().prepare(bank)

    def forward(self, support: torch.Tensor, members: torch.Tensor, query: torch.Tensor, *asked) -> torch.Tensor:
        """As for all learners; the scores are logarithms of probabilities."""
        split = zip(self._split(support), self._split(query))
        found = [of(x, members, z, *asked) for of, (x, z) in zip(self.parts, split)]
        each = torch.stack([torch.log_softmax(without_empty(scores, members), dim=-1) for scores in found])
        return each.logsumexp(dim=0) - math.log(len(found))

    def _split(self, x: torch.Tensor) -> list[torch.Tensor]:
        """The input of each part from features (..., D)."""
        n = len(self.parts)
        unit = F.normalize(x * (x.abs() > self.threshold), dim=-1)
        if not self.classes:
            return list(unit.chunk(n, dim=-1))
        taken_for = torch.softmax(F.linear(x, self.weight, self.bias), dim=-1) @ self.means
        return [torch.cat(pair, dim=-1) for pair in zip(unit.chunk(n, dim=-1), taken_for.chunk(n, dim=-1))]

    def _load_from_state_dict(self, state: dict, prefix: str, *rest) -> None:
        # The number of classes is taken from the file.
        for name, _ in self.named_buffers(recurse=False):
            if prefix + name in state:
                setattr(self, name, torch.zeros_like(state[prefix + name]))
        super()._load_from_state_dict(state, prefix, *rest)


class MatchingNetIFSL(Interventional):
    """`MatchingNet` with the adjustment."""

    name = "matchingnet-ifsl"
    of = MatchingNet


class FrozenMAMLIFSL(Interventional):
    """`FrozenMAML` with the adjustment."""

    name = "maml-frozen-ifsl"
    of = FrozenMAML


class MTLIFSL(Interventional):
    """`MTL` with the adjustment."""

    name = "mtl-ifsl"
    of = MTL


class SIBIFSL(Interventional):
    """`SIB` with the adjustment; transductive, like `SIB`."""

    name = "sib-ifsl"
    of = SIB
    transductive = True
