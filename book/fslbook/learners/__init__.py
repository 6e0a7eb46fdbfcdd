"""Learners of the chapters, beside those of `fslcore.learners`.

`fslbook.catalogue.LEARNERS` has their names, by which `fslcore.learners.make` finds them once `fslbook` is imported.
The command ``fslcore evaluate`` takes them as ``fslbook.learners:CLASS``.
"""

from .anil import ANIL
from .baseline import LinearLayer, RawLogisticRegression
from .boil import BOIL
from .can import CAN
from .common import OnMaps
from .dn4 import DN4
from .ifsl import MTLIFSL, SIBIFSL, FrozenMAMLIFSL, Interventional, MatchingNetIFSL
from .leo import LEO
from .maml import MAML
from .maml_frozen import FrozenMAML
from .matchingnet import MatchingNet
from .mtl import MTL
from .opta import OpTA, PlainOpTA
from .r2d2 import R2D2
from .renet import RENet
from .sib import SIB
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
    "FrozenMAML",
    "FrozenMAMLIFSL",
    "Interventional",
    "LinearLayer",
    "MatchingNet",
    "MatchingNetIFSL",
    "OnMaps",
    "OpTA",
    "PlainOpTA",
    "RENet",
    "RawLogisticRegression",
    "TextProbe",
    "TipAdapter",
]
