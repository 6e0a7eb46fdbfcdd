"""How pairs of methods and numbers stand in a table for a reader."""

from __future__ import annotations

import pandas as pd

from ... import stats

__all__ = ["by_pair", "p_value_text", "plus_minus", "unnested"]


def unnested(frame: pd.DataFrame, several: bool) -> pd.DataFrame:
    """Without the level 'setting' of the rows where there are not several settings."""
    if several:
        return frame
    frame = frame.droplevel("setting")
    return frame.rename_axis(index=None, columns=frame.index.name)  # else the name takes a header row of its own


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
