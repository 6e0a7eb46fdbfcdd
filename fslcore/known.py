"""Names of backbones, learners and networks, without importing torch: a command line is checked at once.

The tables stand where they are used. Their keys are read from the source, so that no list is kept twice.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from .paths import DATA

__all__ = ["CHECKPOINTS", "PINNED", "TRAINED", "backbones", "captioners", "learners", "networks", "recipes"]

CHECKPOINTS = DATA / "checkpoints"
_SUMS = CHECKPOINTS / "SHA256SUMS"
PINNED = {file: digest for digest, file in map(str.split, _SUMS.read_text().splitlines())} if _SUMS.is_file() else {}
_INTERVENTIONAL = ("matchingnet", "maml-frozen", "mtl", "sib")  # each alone, and with the adjustment
_EPISODIC = (
    *("protonet", "r2d2", "maml", "anil", "boil", "leo", "dn4", "can", "renet"),
    *(f"{learner}{how}" for learner in _INTERVENTIONAL for how in ("", "-ifsl")),
)
# What ships, and names under which a user brings what `fslcore train` made: of other learners, or a larger network.
TRAINED = (
    *(Path(file).stem for file in PINNED),
    *(f"conv4-1shot-{learner}" for learner in _EPISODIC),
    *(
        f"{network}-{learner}"
        for network in ("conv4", "resnet12", "resnet18")
        for learner in ("baseline", "baseline++", "rfs", *_EPISODIC)
    ),
)


def backbones() -> list[str]:
    """Those of `fslcore.models.registry.available`."""
    return list(dict.fromkeys([*_keys("models/registry", "REGISTRY"), *TRAINED]))


def learners() -> list[str]:
    """Those of `fslcore.learners.names`."""
    classes = [n for m in _modules("learners") for n in _parsed(f"learners/{m}") if isinstance(n, ast.ClassDef)]
    return [
        line.value.value
        for of in classes
        for line in of.body
        if isinstance(line, ast.Assign) and line.targets[0].id == "name"
    ]


def networks() -> list[str]:
    """Those of `fslcore.models.networks.NETWORKS`."""
    return _keys("models/networks", "NETWORKS")


def recipes() -> list[str]:
    """Those of `fslcore.training.RECIPES`."""
    return _keys("training/recipes", "RECIPES")


def captioners() -> list[str]:
    """Those of `fslcore.attributes.captions.NAMES`."""
    return ["pixels", *_keys("attributes/captions", "HUB")]


def _keys(module: str, table: str) -> list[str]:
    """Keys that are written out in a module's table."""
    for line in _parsed(module):
        target = line.targets[0] if isinstance(line, ast.Assign) else getattr(line, "target", None)
        if isinstance(target, ast.Name) and target.id == table:
            return [key.value for key in line.value.keys if isinstance(key, ast.Constant)]
    raise LookupError(f"{module}.py has no table {table}")


def _modules(package: str) -> list[str]:
    return sorted(path.stem for path in (Path(__file__).parent / package).glob("*.py"))


@cache
def _parsed(module: str) -> list[ast.stmt]:
    return ast.parse((Path(__file__).parent / f"{module}.py").read_text("utf-8")).body
