"""The base, validation and novel classes of Meta-Dataset (``splits.yml``)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml

from ..errors import InputError, like

__all__ = ["SPLITS", "listed_splits", "of_split"]

SPLITS = ("novel", "validation", "base")


@cache
def listed_splits() -> dict[str, dict[str, list]]:
    """``splits.yml``: names or numbers of classes, by data set and split."""
    return yaml.safe_load(Path(__file__).with_name("splits.yml").read_text("utf-8"))


def of_split(key: str | None, split: str, known: Iterable[str], where: Path) -> list[str]:
    """The known classes that belong to a split, in their order; for ``key`` None all are novel.

    Raises
    ------
    InputError
        A split that the data set does not have; a class of the split that is not known (the first, and how many).
    """
    known = list(known)
    lists = {"novel": known} if key is None else listed_splits()[key]
    numbers = lists.get("numbers")
    if numbers:
        rest = set(range(numbers[0], numbers[1] + 1)).difference(lists["novel"], lists["validation"])
        lists = {"base": sorted(rest), **lists}
    if split not in lists:
        raise InputError(f"split = {split}; of this data set there is {' and '.join(s for s in SPLITS if s in lists)}")
    called = {int(n) if numbers and (n := c.partition(".")[0]).isdecimal() else c: c for c in known}
    missing = [c for c in lists[split] if c not in called]
    if missing:
        of = f"{len(missing)} of the {len(lists[split])} classes of the split {split} are missing"
        near = "" if numbers else like(missing[0], known)
        raise InputError(f"dataset: no class {missing[0]} in {where} ({of}){near}")
    chosen = {called[c] for c in lists[split]}
    return [c for c in known if c in chosen]
