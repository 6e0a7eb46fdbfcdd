"""What the three papers print: their tables and the claims of their prose, as transcribed in ``data/published``."""

from __future__ import annotations

import pandas as pd

from fslcore.paths import DATA

__all__ = ["claims", "recomputed", "table"]


def table(table: int | str, paper: str = "oops") -> pd.DataFrame:
    """A table of a paper (``oops``, ``evaluators``, ``fewstab``) as transcribed in ``data/published``; symbols as text.

    Parameters
    ----------
    table : int or str
        3 or 'S7', say.
    """
    path = DATA / "published" / f"{paper}_table{table}.csv"
    return pd.read_csv(path, dtype={"closed": str, "open": str, "paired": str})


def claims(paper: str = "oops") -> pd.DataFrame:
    """What a paper (as for `printed`) says in its prose, by id: section, claim, value and unit, all as text."""
    return pd.read_csv(DATA / "published" / f"{paper}_claims.csv", dtype=str, keep_default_na=False).set_index("id")


def recomputed(table: int) -> pd.DataFrame:
    """Cells of OOPS Tables 4 to 6 as the authors' released accuracies give them, of commit bd7ea17 of their repository.

    All cells at 5 shots, and at 1 and 10 shots those of Table 4 whose print is illegible: keys, mean and half_width.
    """
    found = pd.read_csv(DATA / "published" / "oops_recomputed.csv")
    return found[found["table"] == table].drop(columns="table")
