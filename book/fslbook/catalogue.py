"""Names of learners, data sets, trainings, captioners and estimators, without importing torch or spaCy."""

from __future__ import annotations

from pathlib import Path

from fslcore.catalogue import (
    EPISODIC,
    LEARNERS as LIBRARY_LEARNERS,
    PLAIN,
    UNLABELLED,
    USER_CHECKPOINT,
    DatasetEntry,
    LearnerEntry,
    learner_title,
)
from fslcore.errors import InputError, choice

__all__ = [
    "CAPTIONERS",
    "COMPOUNDS",
    "DATASETS",
    "ESTIMATORS",
    "FACTS",
    "LEARNERS",
    "LEARNER_TITLES",
    "NEAR_COPY_RULES",
    "RECIPES",
    "TRAINERS",
    "method_title",
    "source_and_compounds",
]

#: Learners of the chapters, beside those of the library.
LEARNERS = {
    "lr-raw": LearnerEntry("LR on raw features", "fslbook.learners:RawLogisticRegression"),
    "linear-sgd": LearnerEntry("linear layer by SGD", "fslbook.learners:LinearLayer"),
    "matchingnet": LearnerEntry("MatchingNet", "fslbook.learners:MatchingNet"),
    "r2d2": LearnerEntry("R2D2", "fslbook.learners:R2D2"),
    "maml": LearnerEntry("MAML", "fslbook.learners:MAML", "images"),
    "anil": LearnerEntry("ANIL", "fslbook.learners:ANIL"),
    "leo": LearnerEntry("LEO", "fslbook.learners:LEO"),
    "boil": LearnerEntry("BOIL", "fslbook.learners:BOIL", "images"),
    "dn4": LearnerEntry("DN4", "fslbook.learners:DN4"),
    "can": LearnerEntry("CAN", "fslbook.learners:CAN"),
    "renet": LearnerEntry("RENet", "fslbook.learners:RENet"),
    "opta": LearnerEntry("OpTA", "fslbook.learners:OpTA", transductive=True),
    "opta-plain": LearnerEntry("OpTA (plain)", "fslbook.learners:PlainOpTA", transductive=True),
    "maml-frozen": LearnerEntry("MAML (frozen)", "fslbook.learners:FrozenMAML"),
    "mtl": LearnerEntry("MTL", "fslbook.learners:MTL"),
    "sib": LearnerEntry("SIB", "fslbook.learners:SIB", transductive=True),
    "matchingnet-ifsl": LearnerEntry("MatchingNet + IFSL", "fslbook.learners:MatchingNetIFSL"),
    "maml-frozen-ifsl": LearnerEntry("MAML (frozen) + IFSL", "fslbook.learners:FrozenMAMLIFSL"),
    "mtl-ifsl": LearnerEntry("MTL + IFSL", "fslbook.learners:MTLIFSL"),
    "sib-ifsl": LearnerEntry("SIB + IFSL", "fslbook.learners:SIBIFSL", transductive=True),
    "tip-adapter": LearnerEntry("Tip-Adapter", "fslbook.learners:TipAdapter"),
    "text-probe": LearnerEntry("LR from names", "fslbook.learners:TextProbe"),
}
#: Data sets of the chapters, beside those of the library.
DATASETS = {
    "coloured": DatasetEntry(
        "fslbook.coloured_glyphs:load_coloured",
        embedded="glyphs",
        settings={"per_class": int, "bias": float, "seed": int, "ink": str},
    )
}
#: Printed names of all learners and of trainings of a backbone, by their names here.
LEARNER_TITLES = {
    **{name: entry.title for name, entry in (LIBRARY_LEARNERS | LEARNERS).items()},
    "baseline++": "Baseline++",
    "rfs": "RFS",
    "unisiam": "UniSiam",
    "psco": "PsCo",
    "beclr": "BECLR",
    "baseline": "Baseline",
}
# Of Evaluating the evaluators, and the learners that test its trainings on batches.
PAPER_LEARNERS = ("baseline", "baseline++", "protonet", "r2d2", "maml")
TEST_LEARNERS = {"baseline": "lr-raw", "baseline++": "cosine"}
TRAINERS = ("evaluators", "fewstab")  # papers whose own trainings are in `fslbook.training`
RECIPES = ("glyph-conv", *PLAIN, *EPISODIC, *UNLABELLED)
CAPTIONERS = ("pixels", "vit-gpt2", "blip", "blip-large")
FACTS = "facts:"  # begins the name of a source of attributes that consists of known facts
NEAR_COPY_RULES = ("either", "both", "hash", "features")
COMPOUNDS = ("parts", "whole")  # of captions: compounds and their parts, or compounds alone
#: Estimators of a task's own accuracy: the paper's four, and others.
ESTIMATORS = {
    "paper": ("hold-out", "5-fold", "leave-one-out", "bootstrap"),
    "more": ("leave-one-out, refilled", "K-fold"),
}


def method_title(backbone: str, learner: str) -> str:
    """'ProtoNet' for ('conv4-protonet', 'protonet'); both names if not trained together."""
    name, _, file = backbone.partition(":")
    trained = Path(file).stem if name == USER_CHECKPOINT else name.partition("-")[2]
    if trained in PAPER_LEARNERS and learner == TEST_LEARNERS.get(trained, trained):
        return LEARNER_TITLES[trained]
    return f"{backbone} {learner_title(learner)}"


def source_and_compounds(source: str) -> tuple[str, str]:
    """A source of attributes without what follows ``?``, and its rule for compounds, out of `COMPOUNDS`.

    Raises
    ------
    InputError
        Another rule, or a rule for a source without captions.
    """
    name, mark, compounds = source.rpartition("?compounds=")
    if not mark:
        return source, COMPOUNDS[0]
    if name == CAPTIONERS[0] or name.startswith(FACTS):
        raise InputError(f"source = {source}; compounds are parts of captions, and {name} has none")
    return name, choice("compounds", compounds, COMPOUNDS)
