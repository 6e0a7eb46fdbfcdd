"""A learner of the user's own: found by ``module:Class``, and identified by its source."""

import hashlib
import importlib
import inspect
import json
import os
import sys
from modulefinder import Module, ModuleFinder
from pathlib import Path
from typing import IO, Any

from ..catalogue import registered_learners
from ..errors import InputError, quoted, reason, suggestion
from ..models.backbone import Backbone
from .protocol import Completed, Learner, complete
from .registry import is_registered, learner_class

__all__ = ["identity", "is_own", "load", "own_learner", "registered_name"]


def load(name: str) -> object:
    """The class (or object) named by ``module:Class``; the current folder is searched first.

    Raises
    ------
    InputError
        Another form, a module that is missing or cannot be imported, no such class in it.
    """
    module, _, path = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *path.split("."))):
        raise InputError(
            f"learner must be module:Class, such as mylearner:MyLearner, got {quoted(name)}"
        )
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as Python does for a script in that folder
    try:
        loaded = importlib.import_module(module)
    except (Exception, SystemExit) as error:  # of any kind: it is the user's code
        absent = isinstance(error, ModuleNotFoundError) and error.name
        if absent and f"{module}.".startswith(f"{absent}."):
            hint = ""
            if module.endswith(".py"):
                hint = f" (did you mean {name.replace('.py:', ':')}?)"
            message = f"learner = {name}; no module {absent}, in {folder} or installed{hint}"
            raise InputError(message) from None
        cause = f"it imports {absent}, which is not installed" if absent else reason(error)
        message = f"learner = {name}; the module {module} cannot be imported ({cause})"
        raise InputError(message) from error
    file = getattr(loaded, "__file__", None) or module
    for part in path.split("."):
        if not hasattr(loaded, part):
            learners = [key for key, value in vars(loaded).items() if hasattr(value, "scores")]
            raise InputError(f"learner = {name}; {file} has no {part}{suggestion(part, learners)}")
        loaded = getattr(loaded, part)
    return loaded


def registered_name(name: str) -> str:
    """The name of a registered learner whose ``module:Class`` is given; any other name unchanged."""
    if ":" not in name:
        return name
    kind = load(name)
    known = getattr(kind, "name", None)
    if isinstance(known, str) and known in registered_learners and kind is learner_class(known):
        return known
    return name


def own_learner(name: str, backbone: Backbone | None, settings: dict[str, Any]) -> Learner:
    """The learner named by ``module:Class``.

    Its class gets those of ``backbone``, ``dim`` and ``map`` that it has arguments for.

    Errors: as for `load`; a class that cannot be made so, or whose objects are not learners.
    """
    learner = load(name)
    if isinstance(learner, type):
        try:
            arguments = _arguments(learner, backbone)
            learner = learner(**arguments, **settings)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"learner = {name}; it cannot be made ({reason(error)})") from error
    elif settings:
        raise InputError(
            f"learner = {name}; {', '.join(settings)}: "
            "an object has its settings already, a class takes them"
        )
    return complete(learner)


def _arguments(kind: type, backbone: Backbone | None) -> dict[str, object]:
    """The arguments of a class that a backbone answers."""
    if backbone is None:
        return {}
    parameters = inspect.signature(kind).parameters
    offered = {"backbone": backbone, "dim": backbone.dim, "map": backbone.map}
    return {
        name: value for name, value in offered.items() if name in parameters and value is not None
    }


def is_own(learner: Learner) -> bool:
    """Whether its class is the user's own, not one of a package that registers its learners."""
    return not is_registered(type(_original(learner)))


def _original(learner: Learner) -> object:
    return learner.original if isinstance(learner, Completed) else learner


def identity(learner: Learner) -> dict[str, Any]:
    """The configuration of a learner for cache keys, and of a user's own its class and source.

    The source is that of its module and of the modules in the same folder or package that this
    imports.

    Raises
    ------
    InputError
        Settings that its configuration does not contain, a configuration that is not JSON, or a
        class without a file.
    """
    config = learner.config()
    if not is_own(learner):
        return config
    original = _original(learner)
    kind = type(original)
    has_own_config = _has_own_config(kind)
    attributes = [key for key in vars(original) if not key.startswith("_")]
    missing = [key for key in attributes if key not in {*config, "name", "training"}]
    if missing and not has_own_config:
        raise InputError(
            f"learner = {learner.name}; {', '.join(missing)}: to cache its records, it needs a "
            "method config() that "
            "returns all settings as JSON values, or the names of these attributes in settings"
        )
    try:
        json.dumps(config, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"learner = {learner.name}; its config() is not JSON ({reason(error)})"
        ) from None
    source = {
        "class": f"{kind.__module__}:{kind.__qualname__}",
        "source": _source(kind),
        "config": config,
    }
    return {"learner": learner.name, "own": source}


def _has_own_config(kind: type) -> bool:
    """Whether a class of the user's own defines ``config``, before a registered class does."""
    defining = next((base for base in kind.__mro__ if "config" in vars(base)), Learner)
    return not is_registered(defining)


def _source(kind: type) -> str:
    """SHA-256 of the module of a class, and of the modules beside it that it imports."""
    module = sys.modules[kind.__module__]
    file = getattr(module, "__file__", None)
    if file is None:
        raise InputError(
            f"learner = {kind.__qualname__}; no file holds its class, which would identify its "
            "records: write "
            "it into a module, or use fslcore.evaluation.evaluate, which caches nothing"
        )
    names = []
    if module.__name__ != "__main__":
        names = module.__name__.split(".")
    package = hasattr(module, "__path__")
    root = Path(file).resolve().parents[max(0, len(names) - 1 + package)]
    finder = _LocalImports(root, names[0] if names else "")
    if names:
        finder.import_hook(module.__name__)
    else:
        finder.run_script(file)
    parts = []
    for name, imported in sorted(finder.modules.items()):
        place = getattr(imported, "__file__", None)
        if place:
            digest = hashlib.sha256(Path(place).read_bytes()).hexdigest()
            parts.append(f"{name} {digest}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class _LocalImports(ModuleFinder):
    """Reads which modules of a folder import which.

    Among installed packages, only the learner's own.
    """

    def __init__(self, root: Path, package: str) -> None:
        super().__init__([str(root)], excludes=["fslcore"])
        installed = "site-packages" in root.parts or "dist-packages" in root.parts
        self.package = package if installed else None

    def find_module(
        self, name: str, path: str | None, parent: Module | None = None
    ) -> tuple[IO[Any] | None, str | None, tuple[str, str, int]]:
        if path is None and parent is None and self.package is not None and name != self.package:
            raise ImportError(name)
        return super().find_module(name, path, parent)
