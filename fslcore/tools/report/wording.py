"""How pairs of methods are turned, and how they and numbers stand in a table for a reader."""

from __future__ import annotations

import pandas as pd

from ... import stats
from ...stats.chosen import RankSets


def unnested(frame: pd.DataFrame, several: bool) -> pd.DataFrame:
    """Without the level 'setting' of the rows where there are not several settings."""
    if several:
        return frame
    frame = frame.droplevel("setting")
    return frame.rename_axis(index=None, columns=frame.index.name)  # else the name takes a header row of its own


def both_ways(pairs: pd.DataFrame) -> pd.DataFrame:
    """Pairs both ways round: those with the higher mean first, then the same with a and b exchanged."""
    return pd.concat([pairs, pairs.rename(columns={"a": "b", "b": "a"}).assign(difference=-pairs["difference"])])


def of_reference(pairs: pd.DataFrame, reference: str) -> pd.DataFrame:
    """The pairs of one method in their order, with it as a, so that differences are it minus the other method, b."""
    both = both_ways(pairs)
    return both[both["a"] == reference].sort_index()


def by_pair(pairs: pd.DataFrame, columns: dict[str, pd.Series], several: bool) -> pd.DataFrame:
    """These columns by setting and pair."""
    first = {"setting": pairs["setting"], "higher mean": pairs["a"], "lower mean": pairs["b"]}
    return unnested(pd.DataFrame({**first, **columns}).set_index(["setting", "higher mean"]), several)


def plus_minus(pairs: pd.DataFrame) -> pd.Series:
    """Text also without rows, where pandas would keep the type of the numbers."""
    cells = stats.intervals.plus_minus(pairs["difference"], pairs["half_width"], ".2f")
    return pd.Series(cells, pairs.index, dtype=object).map(lambda cell: cell.replace(" ", "\N{NO-BREAK SPACE}"))


def p_value_text(value: float) -> str:
    """With four digits, or below what they can say."""
    return "<\N{NO-BREAK SPACE}0.0001" if value < 1e-4 else f"{value:.4f}"


def rank_texts(found: RankSets) -> list[str]:
    """The ranks that each method may have, as '1 to 3'."""
    return [f"{best} to {worst}" if best < worst else f"{best}" for best, worst in zip(found.best, found.worst)]
