"""A data set by one string, as notebooks and the command line name it."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError
from .coloured import load_coloured
from .embedded import cards, load_embedded
from .folder import load_folder
from .images import Images

__all__ = ["check", "load", "names"]


def names(split: str = "novel") -> list[str]:
    """Names of the embedded data sets and, where there are several domains, NAME/DOMAIN."""
    found = []
    splits = {name: card["splits"] for name, card in cards().items()}
    splits["coloured"] = splits["glyphs"]
    for name, domains in ((name, of.get(split, {})) for name, of in sorted(splits.items())):
        if domains:
            found.append(name)
        if len(domains) > 1:
            found += [f"{name}/{domain}" for domain in domains]
    return found


def check(spec: str, split: str = "novel") -> None:
    """Raise `InputError` if `load` would not know the name; reads no image."""
    if spec.startswith("folder:"):
        if not Path(spec.removeprefix("folder:")).expanduser().is_dir():
            raise InputError(f"dataset: no folder {spec.removeprefix('folder:')}")
    elif spec not in names(split):
        raise InputError(f"dataset = {spec}; known are {', '.join(names(split))}, folder:PATH")


def load(spec: str, split: str = "novel") -> Images:
    """``clipart``, ``glyphs/latin`` …, or ``folder:PATH`` for a folder of class folders.

    Raises
    ------
    InputError
        Unknown name (says which are known) or missing folder.
    """
    check(spec, split)
    if spec.startswith("folder:"):
        return load_folder(spec.removeprefix("folder:"))
    name, _, domain = spec.partition("/")
    if name == "coloured":
        return load_coloured(domain or None, split=split)
    return load_embedded(name, split=split, domain=domain or None)
