"""Results on the papers' own data that others have contributed, beside what the papers print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pandas as pd

from . import contributed
from .published import LABELS, comparison

__all__ = ["REPORTED", "UNDRAWN", "each", "reported", "results"]

#: What stands above a table of `reported`.
REPORTED = f"**Reported** by others: {LABELS['reported']}."
#: And where tasks are biased.
UNDRAWN = (
    f"{REPORTED} **Biased tasks were not drawn again:** they follow from attributes, which are not in the file. "
    "Checked are their number, their classes, and that no class has more right answers than queries."
)


def results(
    ways: int, sizes: Iterable[tuple[int, int]], seed: int
) -> Iterator[tuple[str, pd.DataFrame, dict]]:
    """Contributed results with these ways, (shots, queries) and seed: contributor, rows of results, images by set.

    Errors: as for `fslbook.contributed.contributed`, for a file that does not pass its checks.
    """
    sizes = list(sizes)
    for file in contributed.contributed():
        rows = file.results[(file.results["ways"] == ways) & (file.results["seed"] == seed)]
        rows = rows[[size in sizes for size in zip(rows["shots"], rows["queries"])]]
        if len(rows):
            yield file.by, rows, file.images


def reported(
    cells: Callable[[pd.DataFrame, dict[str, int]], pd.DataFrame],
    printed: pd.DataFrame,
    level: float,
    **shape: object,
) -> pd.DataFrame:
    """Apply `fslbook.published.comparison` to contributed results, by contributor; empty if there are none.

    Parameters
    ----------
    cells : callable
        Makes the long table for `fslbook.published.comparison` from results (a row per task) and the
        number of images by data set.
    printed, level
        As for `fslbook.published.comparison`.
    **shape
        As for `results`.
    """
    return _named(
        (by, comparison(cells(rows, images), printed, level))
        for by, rows, images in results(**shape)
    )


def each(cells: Callable[[contributed.Pack], pd.DataFrame]) -> pd.DataFrame:
    """The results of `fslbook.published.comparison` for each contributed file, by contributor; empty if there are none.

    Errors: as for `results`.
    """
    return _named(
        (file.by, table) for file in contributed.contributed() if len(table := cells(file))
    )


def _named(tables_by_name: Iterable[tuple[str, pd.DataFrame]]) -> pd.DataFrame:
    tables = [
        table.rename(columns={"live": "reported"})
        .assign(**{"reported by": by})
        .set_index("reported by", append=True)
        for by, table in tables_by_name
    ]
    if not tables:
        return pd.DataFrame()
    return pd.concat(tables).reorder_levels([-1, *range(tables[0].index.nlevels - 1)])
