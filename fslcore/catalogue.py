"""Names of backbones, learners and networks, without importing torch: a command line is checked at once.

The tables stand where they are used. Their keys are read from the source, so that no list is kept twice.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from functools import cache
from pathlib import Path

from .paths import DATA

__all__ = [
    "CHECKPOINTS",
    "LEARNERS",
    "PINNED",
    "TRAINED",
    "backbones",
    "by_kind",
    "captioners",
    "estimators",
    "learners",
    "networks",
    "recipes",
]

#: What learners are called in print, by their names here; trainings of a backbone among them.
LEARNERS = {
    "ncc": "NCC",
    "lr": "LR",
    "ft": "FT",
    "matchingnet": "MatchingNet",
    "cosine": "cosine",
    "protonet": "ProtoNet",
    "r2d2": "R2D2",
    "maml": "MAML",
    "anil": "ANIL",
    "leo": "LEO",
    "boil": "BOIL",
    "dn4": "DN4",
    "can": "CAN",
    "renet": "RENet",
    "opta": "OpTA",
    "maml-frozen": "MAML (frozen)",
    "mtl": "MTL",
    "sib": "SIB",
    "matchingnet-ifsl": "MatchingNet + IFSL",
    "maml-frozen-ifsl": "MAML (frozen) + IFSL",
    "mtl-ifsl": "MTL + IFSL",
    "sib-ifsl": "SIB + IFSL",
    "simpleshot": "SimpleShot",
    "tip-adapter": "Tip-Adapter",
    "text-probe": "LR from names",
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
# What ships, and names under which a user brings what `fslcore train` made: of other learners, or a larger network.
TRAINED = (
    *(Path(file).stem for file in PINNED),
    *(f"conv4-1shot-{learner}" for learner in _EPISODIC),
    *(
        f"{network}-{learner}"
        for network in ("conv4", "resnet12", "resnet18")
        for learner in ("baseline", "baseline++", "rfs", *_UNLABELLED, *_EPISODIC)
    ),
)


def backbones() -> list[str]:
    """Those of `fslcore.models.registry.available`."""
    return list(dict.fromkeys([*_keys("models/registry", "REGISTRY"), *TRAINED]))


def learners() -> list[str]:
    """Those of `fslcore.learners.names`."""
    return [has["name"] for has in _learners() if "name" in has]


def estimators() -> list[str]:
    """Those of `fslcore.tasks.ESTIMATORS`, and what else `fslcore.tasks.resplit` takes."""
    return [*_value("tasks/resplits", "ESTIMATORS"), _value("tasks/resplits", "REFILLED"), "K-fold"]


def by_kind() -> dict[str, dict[str, list[str]]]:
    """Names by what they are, for a list that a person reads.

    Returns
    -------
    dict
        ``backbones`` that are shipped (weights and all), fetched (from the model hub, or from a file) and brought
        (as NAME:FILE, after a training); ``learners`` that read features, that train a network on the images of each
        task, and that are transductive (use all queries of a task together); ``estimators`` of the paper and more;
        ``captioners`` without weights and models.
    """
    there = {Path(file).stem for file in PINNED}
    made = _made("models/registry", "REGISTRY")
    kinds = {"features": [], "images": [], "transductive": []}
    for has in _learners():
        if "name" in has:
            kinds["transductive" if has.get("transductive", False) else has["reads"]].append(has["name"])
    paper = _value("tasks/resplits", "ESTIMATORS")
    return {
        "backbones": {
            "shipped": [*(name for name, by in made.items() if by == "_lite"), *sorted(there)],
            "fetched": [name for name, by in made.items() if by != "_lite"],
            "brought": [name for name in dict.fromkeys(TRAINED) if name not in there],
        },
        "learners": {kind: sorted(names) for kind, names in kinds.items()},
        "estimators": {"paper": list(paper), "more": [name for name in estimators() if name not in paper]},
        "captioners": {"pixels": ["pixels"], "models": captioners()[1:]},
    }


def networks() -> list[str]:
    """Those of `fslcore.models.networks.NETWORKS`."""
    return _keys("models/networks", "NETWORKS")


def recipes() -> list[str]:
    """Those of `fslcore.tools.training.RECIPES`."""
    return _keys("tools/training/recipes", "RECIPES")


def captioners() -> list[str]:
    """Those of `fslcore.tools.attributes.captions.NAMES`."""
    return ["pixels", *_keys("tools/attributes/captions", "HUB")]


def _keys(module: str, table: str) -> list[str]:
    """Keys that are written out in a module's table."""
    return [key.value for key in _assigned(_parsed(module), table).keys if isinstance(key, ast.Constant)]


def _made(module: str, table: str) -> dict[str, str]:
    """Such keys, and the name of the function that makes what stands under each."""
    line = _assigned(_parsed(module), table)
    return {key.value: of.func.id for key, of in zip(line.keys, line.values) if isinstance(key, ast.Constant)}


def _value(module: str, name: str) -> object:
    """A constant of a module."""
    return ast.literal_eval(_assigned(_parsed(module), name))


def _assigned(lines: list[ast.stmt], name: str) -> ast.expr:
    for line in lines:
        target = line.targets[0] if isinstance(line, ast.Assign) else getattr(line, "target", None)
        if isinstance(target, ast.Name) and target.id == name:
            return line.value
    raise LookupError(f"nothing is called {name}")


def _learners() -> list[dict[str, object]]:
    """What the classes of the learners' modules say, or have from the class above: name, reads, transductive."""
    modules = (_parsed(f"learners/{module}") for module in _modules("learners"))
    classes = {of.name: of for module in modules for of in module if isinstance(of, ast.ClassDef)}

    def told(of: ast.ClassDef) -> dict[str, object]:
        above = [told(classes[base.id]) for base in of.bases if isinstance(base, ast.Name) and base.id in classes]
        found = {key: value for has in reversed(above) for key, value in has.items() if key != "name"}
        for key in ("name", "reads", "transductive"):
            with suppress(LookupError, ValueError):  # a value that is computed is none that a list can show
                found[key] = ast.literal_eval(_assigned(of.body, key))
        return found

    return [told(of) for of in classes.values()]


def _modules(package: str) -> list[str]:
    return sorted(path.stem for path in (Path(__file__).parent / package).glob("*.py"))


@cache
def _parsed(module: str) -> list[ast.stmt]:
    return ast.parse((Path(__file__).parent / f"{module}.py").read_text("utf-8")).body
