"""Names of backbones, learners and networks, without importing torch, so that a command line is checked at once.

The objects behind the names are defined elsewhere; the tests keep both consistent.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from .paths import DATA


class Known(NamedTuple):
    """A learner of the library: its name in print, the place of its class, and its input."""

    title: str
    place: str  # module:Class in `fslcore.learners`
    reads: str = "features"
    transductive: bool = False


known = {
    "ncc": Known("NCC", "centroid:NearestCentroid"),
    "lr": Known("LR", "logistic:LogisticRegression"),
    "ft": Known("FT", "finetune:FineTune", "images"),
    "matchingnet": Known("MatchingNet", "matchingnet:MatchingNet"),
    "cosine": Known("cosine", "cosine:CosineClassifier"),
    "protonet": Known("ProtoNet", "protonet:ProtoNet"),
    "r2d2": Known("R2D2", "r2d2:R2D2"),
    "maml": Known("MAML", "maml:MAML", "images"),
    "anil": Known("ANIL", "anil:ANIL"),
    "leo": Known("LEO", "leo:LEO"),
    "boil": Known("BOIL", "boil:BOIL", "images"),
    "dn4": Known("DN4", "dn4:DN4"),
    "can": Known("CAN", "can:CAN"),
    "renet": Known("RENet", "renet:RENet"),
    "opta": Known("OpTA", "opta:OpTA", transductive=True),
    "maml-frozen": Known("MAML (frozen)", "maml_frozen:FrozenMAML"),
    "mtl": Known("MTL", "mtl:MTL"),
    "sib": Known("SIB", "sib:SIB", transductive=True),
    "matchingnet-ifsl": Known("MatchingNet + IFSL", "ifsl:MatchingNetIFSL"),
    "maml-frozen-ifsl": Known("MAML (frozen) + IFSL", "ifsl:FrozenMAMLIFSL"),
    "mtl-ifsl": Known("MTL + IFSL", "ifsl:MTLIFSL"),
    "sib-ifsl": Known("SIB + IFSL", "ifsl:SIBIFSL", transductive=True),
    "simpleshot": Known("SimpleShot", "simpleshot:SimpleShot"),
    "tip-adapter": Known("Tip-Adapter", "text:TipAdapter"),
    "text-probe": Known("LR from names", "text:TextProbe"),
}
#: Printed names of learners, by their names here; includes the trainings of a backbone.
LEARNERS = {
    **{name: learner.title for name, learner in known.items()},
    "baseline++": "Baseline++",
    "rfs": "RFS",
    "unisiam": "UniSiam",
    "psco": "PsCo",
    "beclr": "BECLR",
    "baseline": "Baseline",
}
CHECKPOINTS = DATA / "checkpoints"
_INTERVENTIONAL = ("matchingnet", "maml-frozen", "mtl", "sib")  # each with and without the adjustment
EPISODIC = (
    *("protonet", "r2d2", "maml", "anil", "boil", "leo", "dn4", "can", "renet"),
    *(f"{learner}{adjustment}" for learner in _INTERVENTIONAL for adjustment in ("", "-ifsl")),
)
UNLABELLED = ("unisiam", "psco", "beclr")
PLAIN = ("baseline", "baseline++", "rfs")
#: Networks trained by others: from a package, which ships with the library, or fetched from the model hub.
BACKBONES = {
    "shipped": ("efficientnet-lite0", "efficientnet-lite2"),
    "fetched": ("clip", "clip-b32", "dino", "dinov2", "dinov2-reg"),
}
OWN = "trained"  # trained:FILE, any network in a checkpoint, which names it
NETWORKS = ("conv4", "conv4-32", "conv4-map", "glyph-conv", "resnet12", "resnet12-map", "resnet18")
PRECISIONS = ("f32", "bf16", "auto")  # of networks that compute features or are fine-tuned; the first is the default


@cache
def pinned_digests() -> dict[str, str]:
    """SHA-256 of each checkpoint that ships, by the name of its file; empty where the data are not installed."""
    sums = CHECKPOINTS / "SHA256SUMS"
    if not sums.is_file():
        return {}
    digests = {}
    for line in sums.read_text("utf-8").splitlines():
        digest, file = line.split()
        digests[file] = digest
    return digests


@cache
def trained_names() -> tuple[str, ...]:
    """Names of networks that ship, and of networks that users train: for other learners, or larger ones."""
    names = [Path(file).stem for file in pinned_digests()]
    names.append("conv4-icons-baseline")  # on which other networks rest, before it ships
    names += [f"conv4-1shot-{learner}" for learner in EPISODIC]
    for network in ("conv4", "resnet12", "resnet18"):
        names += [f"{network}-{learner}" for learner in (*PLAIN, *UNLABELLED, *EPISODIC)]
    return tuple(dict.fromkeys(names))


def backbones() -> list[str]:
    """The names in `fslcore.models.registry.available`."""
    released = (f"{name}-released" for name in BACKBONES["fetched"])
    return list(dict.fromkeys([*BACKBONES["shipped"], *BACKBONES["fetched"], *trained_names(), OWN, *released]))


def public_name(network: str) -> str:
    """The name of a network of `NETWORKS` in backbone names, without its width and whether it keeps its map."""
    return network.removesuffix("-32").removesuffix("-map")


def by_kind() -> dict[str, dict[str, list[str]]]:
    """Names by kind, for printed lists.

    Returns
    -------
    dict
        ``backbones`` that are shipped (with weights), fetched (from the model hub, or from a file), released (the
        same, with the preprocessing of the code released with OOPS) and brought (as NAME:FILE, after a training);
        ``learners`` that read features, that train a network on the images of each task, and that are transductive
        (use all queries of a task together).
    """
    shipped = {Path(file).stem for file in pinned_digests()}
    kinds = {"features": [], "images": [], "transductive": []}
    for name, learner in sorted(known.items()):
        kinds["transductive" if learner.transductive else learner.reads].append(name)
    return {
        "backbones": {
            "shipped": [*BACKBONES["shipped"], *sorted(shipped)],
            "fetched": [*BACKBONES["fetched"]],
            "released": [f"{name}-released" for name in BACKBONES["fetched"]],
            "brought": [OWN, *(name for name in trained_names() if name not in shipped)],
        },
        "learners": kinds,
    }
