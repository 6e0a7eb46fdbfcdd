"""A report in a terminal of 80 columns: the answer, a plot of all intervals, and what to do next."""

from __future__ import annotations

import numpy as np
import pandas as pd

from . import words
from .conclusions import Conclusions
from .next_steps import next_steps
from .numbers import MINUS, signed
from .samples import counted

WIDTH = 80
MOST_CAUTIONS = 4
MOST_ROWS = 10  # of a plot
MOST_STEPS = 3
LABEL, PLOT = 26, (16, 36)  # the widest label; the narrowest and the widest plot
BARS = "Bars overlap where a difference's interval holds 0; ± is of each mean alone."
LEFT, LINE, RIGHT, MEAN, ZERO = "├─┤●│"  # an interval with its mean, and the line at 0


def lines(results: Conclusions) -> list[str]:
    """`fslcore.report.Results.lines`."""
    sentences = words.answers(results)
    answer = sentences[: words.MOST_LINES]
    answer[1:1] = results.reading[:1]
    answer += left_out(len(sentences), "verdict", words.MOST_LINES)
    answer += words.notes(results)
    answer += results.cautions[:MOST_CAUTIONS]
    answer += ["", *mean_plot(results)]
    if len(results.pairs):
        answer += ["", *difference_plot(results)]
    steps = next_steps(results)[:MOST_STEPS]
    if steps:
        answer += ["", "What next:"]
    for step in steps:
        answer += [f"  {step.command}", f"    {step.purpose}"]
    return answer


def mean_plot(results: Conclusions) -> list[str]:
    """Methods with their intervals on one axis, beside the table of methods."""
    methods = words.bars(results).head(MOST_ROWS)
    methods = methods.assign(label=methods["method"], middle=methods["mean"])
    named = ["place", "target", "method"]
    table = words.method_table(results).drop(columns=named, errors="ignore")
    digits = words.digits_of(results.methods)
    unit = "%" if results.percent else ""
    plot = plot_lines(methods, table.head(MOST_ROWS), digits=digits, unit=unit)
    plot += left_out(len(results.methods), "row")
    return [*plot, BARS] if words.has_bars(results) else plot


def difference_plot(results: Conclusions) -> list[str]:
    """The pairs of the verdicts on one axis with 0, and their effect sizes."""
    pairs = words.chosen_pairs(results)
    digits = words.digits_of(pairs)
    table = words.pair_table(results, pairs).filter(["difference", "effect size"])
    table = table.rename(columns={"difference": f"{results.level} interval"}).head(MOST_ROWS)
    unit = "points" if results.percent else ""
    drawn_pairs = pairs.head(MOST_ROWS).assign(middle=pairs["difference"])
    drawn_pairs["label"] = words.pair_names(drawn_pairs)
    if drawn_pairs["label"].map(len).max() > LABEL:  # then the first name stands above
        first = drawn_pairs["a"] + f" {MINUS} …"
        drawn_pairs["label"] = f"{MINUS} " + drawn_pairs["b"]
        heads = drawn_pairs["place"] + ", " + first
        drawn_pairs["place"] = heads.where(drawn_pairs["place"] != "", first)
    plot = plot_lines(drawn_pairs, table, digits=digits, unit=unit, zero=True)
    return plot + left_out(len(pairs), "difference")


def left_out(count: int, kind: str, most: int = MOST_ROWS) -> list[str]:
    """A line on what is not shown beyond so many, where there is any."""
    more = counted(count - most, f"more {kind}")
    return [f"… and {more}, on the page."] if count > most else []


def plot_lines(
    frame: pd.DataFrame, table: pd.DataFrame, *, digits: int, unit: str, zero: bool = False
) -> list[str]:
    """A row per interval, with a name before it and the cells of a table behind, below an axis.

    Parameters
    ----------
    frame : DataFrame
        place, target, label, low, middle, high.
    table : DataFrame
        What stands behind the plot, a row per row of ``frame``.
    digits : int
        Of the numbers at the axis.
    unit : str
        Of the axis.
    zero : bool
        Whether 0 is on the axis, with a line.
    """
    first, last = axis_ends(frame, zero=zero)
    cells = words.aligned(table)
    names = [words.shortened(name, LABEL) for name in frame["label"]]
    before = max(map(len, [unit, *names]))
    behind = max(map(len, cells))
    columns = int(np.clip(WIDTH - before - behind - 4, *PLOT))
    axis = axis_line(first, last, columns, digits, zero=zero)
    plot = [f"{unit:{before}}  {axis}  {cells[0]}".rstrip()]
    shown_head = ""
    ends = frame[["low", "middle", "high"]].to_numpy(float)
    for head, name, row, cell in zip(words.places_of(frame), names, ends, cells[1:], strict=True):
        if head != shown_head:
            plot.append(head)
            shown_head = head
        drawn = bar(row, first, last, columns, zero=zero)
        plot.append(f"{name:{before}}  {drawn}  {cell}".rstrip())
    return plot


def axis_ends(frame: pd.DataFrame, *, zero: bool) -> tuple[float, float]:
    """The least and the largest finite end, or mean."""
    values = frame[["low", "middle", "high"]].to_numpy(float).ravel()
    values = values[np.isfinite(values)]
    if zero:
        values = np.append(values, 0.0)
    first, last = values.min(), values.max()
    return (first, last) if last > first else (first - 1, last + 1)


def position(value: float, first: float, last: float, columns: int) -> int:
    """The column of a value, which may lie beyond the ends."""
    share = np.clip((value - first) / (last - first), 0, 1)
    return int(np.floor(share * (columns - 1) + 0.5))


def axis_line(first: float, last: float, columns: int, digits: int, *, zero: bool) -> str:
    """The numbers at both ends, and 0 where it is a line and has room."""
    digits = min(digits, 2)
    low, high = signed(first, digits), signed(last, digits)
    line = low + " " * max(columns - len(low) - len(high), 1) + high
    at_zero = position(0.0, first, last, columns)
    if zero and line[max(at_zero - 1, 0) : at_zero + 2].isspace():
        line = f"{line[:at_zero]}0{line[at_zero + 1 :]}"
    return f"{line:{columns}}"


def bar(ends: np.ndarray, first: float, last: float, columns: int, *, zero: bool) -> str:
    """One interval in characters."""
    low, middle, high = (position(end, first, last, columns) for end in ends)
    signs = [" "] * columns
    if zero:
        signs[position(0.0, first, last, columns)] = ZERO
    signs[low : high + 1] = LINE * (high + 1 - low)
    signs[low], signs[high] = LEFT, RIGHT
    signs[middle] = MEAN
    return "".join(signs)
