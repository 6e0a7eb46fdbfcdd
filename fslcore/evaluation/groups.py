"""Groups of images that depend on each other, by a fact of the images or from a table."""

import numpy as np
import pandas as pd

from ..datasets import Source
from ..datasets.papers import text_table
from ..errors import InputError, shown, suggestion, visible, warn
from ..paths import at_home

__all__ = ["image_groups"]

MISSING_VALUES = ("", "na", "n/a", "#n/a", "nan", "none", "null")  # as written in tables
MOST_MISSED = 0.1  # share of missed copies above which a note is written


def image_groups(source: Source, name: str) -> np.ndarray:
    """(N,) group of each image, by a fact of the images or from a table.

    Parameters
    ----------
    source : Images or Bank
        N images, or rows of features.
    name : str
        A column of ``source.facts``, such as family or author; or a .csv with the columns ``image``
        and ``group``: images by the names of `fslcore.datasets.Images.names`, rows of features by
        their number from 0. Rows of other images are not used. If its column ``missed`` says that
        the groups miss more than 10 % of copies, a warning says so too.

    Raises
    ------
    InputError
        No such fact, file or column; an image twice, or without a group (including NA and the
        like).
    """
    facts = source.facts
    if facts is not None and name in facts:
        return facts[name].to_numpy()
    if not str(name).endswith(".csv"):
        columns = [] if facts is None else list(facts)
        choices = f"{', '.join(columns)} are known, or " if columns else ""
        raise InputError(
            f"apart = {shown(name)}; {choices}a .csv with the columns image and "
            f"group{suggestion(name, columns)}"
        )
    table = text_table(at_home(name, "apart"), ["image", "group"], name="apart")
    table["image"] = table["image"].map(visible)
    table = table[table["image"].isin(set(source.names))]
    twice = table["image"].duplicated()
    if twice.any():
        raise InputError(f"apart: {name} has {table['image'][twice].iloc[0]} twice")
    if "missed" in table:
        _note_missed_copies(name, table["missed"])
    groups = table.set_index("image")["group"].str.strip().reindex(source.names)
    missing = groups.isna() | groups.str.lower().isin(MISSING_VALUES)
    if missing.any():
        raise InputError(
            f"apart: {name} has no group for {groups.index[missing][0]} ({missing.sum()} of "
            f"{len(groups)} are missing, left empty, or NA, NaN, null or the like)"
        )
    return groups.to_numpy(dtype=str)


def _note_missed_copies(name: str, shares: pd.Series) -> None:
    highest = pd.to_numeric(shares.str.replace(",", "."), errors="coerce").max()
    if highest > MOST_MISSED:
        warn(
            f"{name}: the groups miss {highest:.0%} of re-encoded or downscaled copies, so a task "
            "may have copies on both sides: accuracies may be too high, and intervals for new "
            "images too narrow"
        )
