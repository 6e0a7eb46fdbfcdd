"""Old import paths: for one release they import the module from its new place, with a `DeprecationWarning`."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["MOVED", "OF_CHAPTERS", "of_chapter"]

#: Old path: new path, of modules and of packages with everything in them.
MOVED = {
    "fslcore.attributes": "fslcore.tools.attributes",
    "fslcore.chapters": "fslcore.tools.notebooks",
    "fslcore.copies": "fslcore.tools.near_copies",
    "fslcore.estimation": "fslcore.tools.estimation",
    "fslcore.evaluation.kept": "fslcore.evaluation.cache",
    "fslcore.recorder": "fslcore.tools.recorder",
    "fslcore.results.until": "fslcore.evaluation.stopping",
    "fslcore.training": "fslcore.tools.training",
    "fslcore.workload": "fslcore.tools.workload",
}

#: Names that went to the code of the one chapter that uses them, by package and new place.
OF_CHAPTERS = {
    "fslcore.stats": {
        "fslbook.oops.difficulty": "regression_interval weighted_interval",
        "fslbook.oops.optima": "CommonOptimum OptimumRatio VarianceFit common_optimum compare_optima fit_variance",
    },
    "fslcore.tools.attributes": {"fslbook.fewstab.detection": "agreement agreement_table describe_table"},
}


def of_chapter(package: str, name: str) -> object:
    """What a package gave before it went to a chapter's code, for one release; the library itself never asks for it.

    Raises
    ------
    AttributeError
        The package never had this name.
    """
    for where, names in OF_CHAPTERS[package].items():
        if name in names.split():
            warnings.warn(f"{package}.{name} is now {where}.{name}", DeprecationWarning, stacklevel=3)
            return getattr(importlib.import_module(where), name)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")


class _Moved(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if _new(name) else None

    def exec_module(self, module: ModuleType) -> None:
        """Import the module of the new path under the requested name."""
        name = module.__name__
        warnings.warn(f"{name} has moved; import {_new(name)}", DeprecationWarning, stacklevel=2)
        sys.modules[name] = importlib.import_module(_new(name))


def _new(name: str) -> str:
    """The new path of a module, or an empty text if it has none."""
    parts = name.split(".")
    for n in range(len(parts), 1, -1):
        if old := MOVED.get(".".join(parts[:n])):
            return ".".join([old, *parts[n:]])
    return ""


sys.meta_path.append(_Moved())
