"""Names of backbones, learners and networks, without importing torch: a command line is checked at once.

What stands behind a name is made elsewhere; the tests hold both alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from .paths import DATA

__all__ = [
    "BACKBONES",
    "CAPTIONERS",
    "CHECKPOINTS",
    "ESTIMATORS",
    "LEARNERS",
    "NETWORKS",
    "OWN",
    "PINNED",
    "RECIPES",
    "TRAINED",
    "TRAINERS",
    "Known",
    "backbones",
    "by_kind",
    "known",
    "public_name",
]


class Known(NamedTuple):
    """A learner of the library: what it is called in print, where its class stands, and what it reads."""

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
#: What learners are called in print, by their names here; trainings of a backbone among them.
LEARNERS = {
    **{name: of.title for name, of in known.items()},
    "baseline++": "Baseline++",
    "rfs": "RFS",
    "unisiam": "UniSiam",
    "psco": "PsCo",
    "beclr": "BECLR",
    "baseline": "Baseline",
}
CHECKPOINTS = DATA / "checkpoints"
_SUMS = CHECKPOINTS / "SHA256SUMS"
PINNED = (
    {file: digest for digest, file in map(str.split, _SUMS.read_text("utf-8").splitlines())} if _SUMS.is_file() else {}
)
_INTERVENTIONAL = ("matchingnet", "maml-frozen", "mtl", "sib")  # each alone, and with the adjustment
_EPISODIC = (
    *("protonet", "r2d2", "maml", "anil", "boil", "leo", "dn4", "can", "renet"),
    *(f"{learner}{how}" for learner in _INTERVENTIONAL for how in ("", "-ifsl")),
)
_UNLABELLED = ("unisiam", "psco", "beclr")
_PLAIN = ("baseline", "baseline++", "rfs")
# What ships, and names under which a user brings what `fslcore train` made: of other learners, or a larger network.
TRAINED = (
    *(Path(file).stem for file in PINNED),
    *(f"conv4-1shot-{learner}" for learner in _EPISODIC),
    *(
        f"{network}-{learner}"
        for network in ("conv4", "resnet12", "resnet18")
        for learner in (*_PLAIN, *_UNLABELLED, *_EPISODIC)
    ),
)
#: Networks that others trained: from a package, which ships with the library, or fetched from the model hub.
BACKBONES = {
    "shipped": ("efficientnet-lite0", "efficientnet-lite2"),
    "fetched": ("clip", "clip-b32", "dino", "dinov2", "dinov2-reg"),
}
OWN = "trained"  # trained:FILE, any network that `fslcore train` made: its file says which
NETWORKS = ("conv4", "conv4-32", "conv4-map", "glyph-conv", "resnet12", "resnet12-map", "resnet18")
TRAINERS = ("evaluators", "fewstab")  # papers whose own trainings `fslcore.tools.training` has
RECIPES = ("glyph-conv", *_PLAIN, *_EPISODIC, *_UNLABELLED)
CAPTIONERS = ("pixels", "vit-gpt2", "blip", "blip-large")
#: Of a task's own accuracy: the paper's, and more.
ESTIMATORS = {
    "paper": ("hold-out", "5-fold", "leave-one-out", "bootstrap"),
    "more": ("leave-one-out, refilled", "K-fold"),
}


def backbones() -> list[str]:
    """Those of `fslcore.models.registry.available`."""
    released = (f"{name}-released" for name in BACKBONES["fetched"])
    return list(dict.fromkeys([*BACKBONES["shipped"], *BACKBONES["fetched"], *TRAINED, OWN, *released]))


def public_name(network: str) -> str:
    """A network of `NETWORKS` as backbones are named after it, whatever its width, and whether it keeps its map."""
    return network.removesuffix("-32").removesuffix("-map")


def by_kind() -> dict[str, dict[str, list[str]]]:
    """Names by what they are, for a list that a person reads.

    Returns
    -------
    dict
        ``backbones`` that are shipped (weights and all), fetched (from the model hub, or from a file), released (the
        same, with the preprocessing of the code that OOPS released) and brought (as NAME:FILE, after a training);
        ``learners`` that read features, that train a network on the images of each task, and that are transductive
        (use all queries of a task together); ``estimators`` of the paper and more;
        ``captioners`` without weights and models.
    """
    there = {Path(file).stem for file in PINNED}
    kinds = {"features": [], "images": [], "transductive": []}
    for name, of in sorted(known.items()):
        kinds["transductive" if of.transductive else of.reads].append(name)
    return {
        "backbones": {
            "shipped": [*BACKBONES["shipped"], *sorted(there)],
            "fetched": [*BACKBONES["fetched"]],
            "released": [f"{name}-released" for name in BACKBONES["fetched"]],
            "brought": [OWN, *(name for name in dict.fromkeys(TRAINED) if name not in there)],
        },
        "learners": kinds,
        "estimators": {kind: [*names] for kind, names in ESTIMATORS.items()},
        "captioners": {"pixels": [*CAPTIONERS[:1]], "models": [*CAPTIONERS[1:]]},
    }
