"""The base, validation and novel classes of Meta-Dataset (``splits.yml``)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ..catalogue import SPLITS
from ..errors import InputError, either, quoted, suggestion

__all__ = ["listed_splits", "of_split"]


@cache
def listed_splits() -> dict[str, dict[str, list[Any]]]:
    """``splits.yml``: names or numbers of classes, by data set and split."""
    return yaml.safe_load(Path(__file__).with_name("splits.yml").read_text("utf-8"))


def of_split(key: str | None, split: str, classes: Iterable[str], folder: Path) -> list[str]:
    """The classes classes that belong to a split, in their order; for ``key`` None all are novel.

    Raises
    ------
    InputError
        A split that the data set does not have; a class of the split that is
        missing (the first, and how many).
    """
    classes = list(classes)
    lists: dict[str, list[Any]] = {"novel": classes} if key is None else listed_splits()[key]
    numbers = lists.get("numbers")
    if numbers:
        base = {*range(numbers[0], numbers[1] + 1)}.difference(lists["novel"], lists["validation"])
        lists = {"base": sorted(base), **lists}
    if split not in lists:
        raise InputError(
            f"split must be {either(name for name in SPLITS if name in lists)} of this data set, "
            f"got {quoted(split)}"
        )
    by_entry = {_number(name) if numbers else name: name for name in classes}
    missing = [entry for entry in lists[split] if entry not in by_entry]
    if missing:
        similar = "" if numbers else suggestion(missing[0], classes)
        raise InputError(
            f"dataset: no class {missing[0]} in {folder} ({len(missing)} of the "
            f"{len(lists[split])} classes of the split {split} are missing){similar}"
        )
    chosen = {by_entry[entry] for entry in lists[split]}
    return [name for name in classes if name in chosen]


def _number(name: str) -> int | str:
    """The number before the first point of a class name, if it is one."""
    number = name.partition(".")[0]
    return int(number) if number.isdecimal() else name
