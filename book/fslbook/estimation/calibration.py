"""The episodes of known accuracy that ship with the book (``data/episodes``), and the methods they cover.

Imports neither torch nor an image, so that names are checked before the slow work starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pandas as pd

from fslcore.errors import InputError, suggestion
from fslcore.paths import DATA

__all__ = ["calibrated", "episodes", "methods", "stored"]

METHOD = ["backbone", "learner"]


def stored() -> pd.DataFrame:
    """All episodes, of 5 ways and 5 shots and of mixed shapes (``data/episodes/README.md`` explains the columns).

    ``classes`` is added: data set and split; no two of them share a class.
    """
    table = pd.read_parquet(DATA / "episodes" / "episodes.parquet")
    return table.assign(classes=table["dataset"].astype(str) + " " + table["split"].astype(str))


@cache
def episodes() -> pd.DataFrame:
    """The episodes of mixed shapes, with their ``domain``, the data set without its part."""
    table = stored()
    domain = table["dataset"].astype(str).str.split("/").str[0]
    return table[table["block"] >= 0].assign(domain=domain).reset_index(drop=True)


def calibrated() -> list[tuple[str, str]]:
    """(backbone, learner) of the methods with shipped episodes of several data sets."""
    domains = episodes().groupby(METHOD, observed=True)["domain"].nunique()
    return list(domains.index[domains > 1])


def methods(
    backbones: Sequence[str] | None = None, learners: Sequence[str] | None = None
) -> list[tuple[str, str]]:
    """The methods of `calibrated` with these backbones and learners; all by default.

    Raises
    ------
    InputError
        A backbone or learner without shipped episodes.
    """
    available = calibrated()
    for field, names, have in zip(METHOD, (backbones, learners), zip(*available)):
        for name in names or ():
            if name not in have:
                listed = ", ".join(dict.fromkeys(have))
                raise InputError(
                    f"{field} = {name}; there are episodes to learn from of {listed}{suggestion(name, have)}"
                )
    return [(b, k) for b, k in available if b in (backbones or [b]) and k in (learners or [k])]
