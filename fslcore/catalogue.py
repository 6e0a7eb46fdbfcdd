"""Names of backbones, learners and networks, without importing torch, so that a command line is checked at once.

The objects behind the names are defined elsewhere; the tests keep both consistent.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from .paths import DATA


class LearnerEntry(NamedTuple):
    """A learner of the library: its name in print, the place of its class, and its input."""

    title: str
    place: str  # module:Class in `fslcore.learners`
    reads: str = "features"
    transductive: bool = False


LEARNERS_BY_NAME = {
    "ncc": LearnerEntry("NCC", "centroid:NearestCentroid"),
    "lr": LearnerEntry("LR", "logistic:LogisticRegression"),
    "lr-raw": LearnerEntry("LR on raw features", "baseline:RawLogisticRegression"),
    "linear-sgd": LearnerEntry("linear layer by SGD", "baseline:LinearLayer"),
    "ft": LearnerEntry("FT", "finetune:FineTune", "images"),
    "matchingnet": LearnerEntry("MatchingNet", "matchingnet:MatchingNet"),
    "cosine": LearnerEntry("cosine", "cosine:CosineClassifier"),
    "protonet": LearnerEntry("ProtoNet", "protonet:ProtoNet"),
    "r2d2": LearnerEntry("R2D2", "r2d2:R2D2"),
    "maml": LearnerEntry("MAML", "maml:MAML", "images"),
    "anil": LearnerEntry("ANIL", "anil:ANIL"),
    "leo": LearnerEntry("LEO", "leo:LEO"),
    "boil": LearnerEntry("BOIL", "boil:BOIL", "images"),
    "dn4": LearnerEntry("DN4", "dn4:DN4"),
    "can": LearnerEntry("CAN", "can:CAN"),
    "renet": LearnerEntry("RENet", "renet:RENet"),
    "opta": LearnerEntry("OpTA", "opta:OpTA", transductive=True),
    "opta-plain": LearnerEntry("OpTA (plain)", "opta:PlainOpTA", transductive=True),
    "maml-frozen": LearnerEntry("MAML (frozen)", "maml_frozen:FrozenMAML"),
    "mtl": LearnerEntry("MTL", "mtl:MTL"),
    "sib": LearnerEntry("SIB", "sib:SIB", transductive=True),
    "matchingnet-ifsl": LearnerEntry("MatchingNet + IFSL", "ifsl:MatchingNetIFSL"),
    "maml-frozen-ifsl": LearnerEntry("MAML (frozen) + IFSL", "ifsl:FrozenMAMLIFSL"),
    "mtl-ifsl": LearnerEntry("MTL + IFSL", "ifsl:MTLIFSL"),
    "sib-ifsl": LearnerEntry("SIB + IFSL", "ifsl:SIBIFSL", transductive=True),
    "simpleshot": LearnerEntry("SimpleShot", "simpleshot:SimpleShot"),
    "tip-adapter": LearnerEntry("Tip-Adapter", "text:TipAdapter"),
    "text-probe": LearnerEntry("LR from names", "text:TextProbe"),
}
#: Printed names of learners, by their names here; includes the trainings of a backbone.
LEARNERS = {
    **{name: learner.title for name, learner in LEARNERS_BY_NAME.items()},
    "baseline++": "Baseline++",
    "rfs": "RFS",
    "unisiam": "UniSiam",
    "psco": "PsCo",
    "beclr": "BECLR",
    "baseline": "Baseline",
}
CHECKPOINTS = DATA / "checkpoints"
_INTERVENTIONAL = (
    "matchingnet",
    "maml-frozen",
    "mtl",
    "sib",
)  # each with and without the adjustment
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
PRECISIONS = (
    "f32",
    "bf16",
    "auto",
)  # of networks that compute features or are fine-tuned; the first is the default


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
    return list(
        dict.fromkeys(
            [*BACKBONES["shipped"], *BACKBONES["fetched"], *trained_names(), OWN, *released]
        )
    )


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
    kinds: dict[str, list[str]] = {"features": [], "images": [], "transductive": []}
    for name, learner in sorted(LEARNERS_BY_NAME.items()):
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
