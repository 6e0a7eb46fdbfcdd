"""Names of backbones, learners and networks, and of data sets of other packages, without importing torch: a command
line is checked at once.

The objects behind the names are defined elsewhere; the tests keep both consistent.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from .errors import InputError
from .paths import DATA


class LearnerEntry(NamedTuple):
    """A learner known by a name: its name in print, the place of its class, and its input."""

    title: str
    place: str  # module:Class
    reads: str = "features"
    transductive: bool = False


LEARNERS = {
    "ncc": LearnerEntry("NCC", "fslcore.learners:NearestCentroid"),
    "lr": LearnerEntry("LR", "fslcore.learners:LogisticRegression"),
    "ft": LearnerEntry("FT", "fslcore.learners:FineTune", "images"),
    "cosine": LearnerEntry("cosine", "fslcore.learners:CosineClassifier"),
    "protonet": LearnerEntry("ProtoNet", "fslcore.learners:ProtoNet"),
    "simpleshot": LearnerEntry("SimpleShot", "fslcore.learners:SimpleShot"),
}
#: The learners above, and those that other packages have added by `register_learners`.
#:
#: :meta hide-value:
registered_learners = dict(LEARNERS)


def register_learners(entries: Mapping[str, LearnerEntry]) -> None:
    """Let learners of another package be found by name, by `fslcore.learners.make` and the like.

    Cache keys of a registered learner contain its ``version`` in place of its source: raise it when
    the scores change.

    Raises
    ------
    InputError
        A name that another learner has.
    """
    _register("learner", entries, registered_learners)


class DatasetEntry(NamedTuple):
    """A data set of another package that is made from an embedded one, and known by a name.

    Parameters
    ----------
    place : str
        ``module:function``, where the function takes a domain or None, ``split`` and the settings, and
        returns `Images` named as they were asked for.
    embedded : str
        The embedded data set whose splits and domains it has.
    settings : mapping
        What may follow the name, as in ``NAME?seed=1``: how each value is read from its text.
    """

    place: str
    embedded: str
    settings: Mapping[str, Callable[[str], Any]]


_Entry = TypeVar("_Entry", LearnerEntry, DatasetEntry)
_registered_datasets: dict[str, DatasetEntry] = {}


def _register(kind: str, entries: Mapping[str, _Entry], registered: dict[str, _Entry]) -> None:
    """Add entries by name, unless another entry has a name of theirs."""
    for name, entry in entries.items():
        existing = registered.get(name, entry)
        if existing != entry:
            raise InputError(f"{kind} = {name}; {existing.place} has this name")
    registered.update(entries)


def register_datasets(entries: Mapping[str, DatasetEntry]) -> None:
    """Let data sets of another package be found by name, by `fslcore.datasets.load` and the like.

    The command ``fslcore`` finds those that an entry point of the group ``fslcore.datasets`` names: a
    mapping like this one.

    Raises
    ------
    InputError
        A name that another data set has.
    """
    _register("dataset", entries, _registered_datasets)


def registered_datasets() -> dict[str, DatasetEntry]:
    """The data sets of other packages by name: of those that are imported, and of entry points."""
    _register_entry_points()
    return _registered_datasets


@cache
def _register_entry_points() -> None:
    from importlib.metadata import entry_points  # late: it reads the metadata of all packages

    for point in entry_points(group="fslcore.datasets"):
        register_datasets(point.load())


def reads_images(name: str) -> bool:
    """Whether this is a registered learner that reads images and trains a network on each task."""
    return name in registered_learners and registered_learners[name].reads == "images"


def learner_title(name: str) -> str:
    """The printed name of a learner; a name that is not registered stands for itself."""
    return registered_learners[name].title if name in registered_learners else name


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
USER_CHECKPOINT = "trained"  # trained:FILE, any network in a checkpoint, which names it
NETWORKS = ("conv4", "conv4-32", "conv4-map", "glyph-conv", "resnet12", "resnet12-map", "resnet18")
SPLITS = ("novel", "validation", "base")  # of the classes of a data set
SAMPLINGS = ("closed", "open")
#: Words of the options of a report; beside them 'unknown', where nothing is said.
REPORT_WORDS = {
    "sampling": ("open", "closed"),
    "seed": ("runs", "tasks"),
    "separator": ("comma", "semicolon", "tab", "bar", "blanks"),
    "decimal": (".", ","),
}
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
            [
                *BACKBONES["shipped"],
                *BACKBONES["fetched"],
                *trained_names(),
                USER_CHECKPOINT,
                *released,
            ]
        )
    )


def public_name(network: str) -> str:
    """The name of a network of `NETWORKS` in backbone names, without its width and whether it keeps its map."""
    return network.removesuffix("-32").removesuffix("-map")


def learners_by_input(entries: Mapping[str, LearnerEntry]) -> dict[str, list[str]]:
    """Names of learners that read features, that read images, and that are transductive."""
    kinds: dict[str, list[str]] = {"features": [], "images": [], "transductive": []}
    for name, entry in sorted(entries.items()):
        kinds["transductive" if entry.transductive else entry.reads].append(name)
    return kinds


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
    return {
        "backbones": {
            "shipped": [*BACKBONES["shipped"], *sorted(shipped)],
            "fetched": [*BACKBONES["fetched"]],
            "released": [f"{name}-released" for name in BACKBONES["fetched"]],
            "brought": [
                USER_CHECKPOINT,
                *(name for name in trained_names() if name not in shipped),
            ],
        },
        "learners": learners_by_input(LEARNERS),
    }
