"""Cells of tables: numbers, those behind ± and in brackets, and text."""

from __future__ import annotations

import re

import pandas as pd

from ..errors import visible
from .numbers import half_width_of, number_in, without_markup

Reading = tuple[pd.DataFrame, list[str]]  # a frame, and a sentence for each choice
EMPTY_CELLS = {"", "-", "--", "---", "–", "—", "nan", "na", "n/a", "none", "null", "nil"}
THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")  # 1,620 in 1,620.5 ± 3
TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "correct": 1.0, "wrong": 0.0}


def is_value(text: str) -> bool:
    """Whether a cell holds a number, or a word for a missing one."""
    word = text.strip().strip('"').lower()
    return number_in(text) is not None or (text.strip() != "" and word in EMPTY_CELLS)


def parts_of_cell(text: str) -> tuple[str, str, str] | None:
    """The number of a cell, the one behind ± and the one in brackets, empty if there is none; None
    for other text.
    """
    word = text.strip().lower()
    if word in EMPTY_CELLS:
        return "", "", ""
    if word in TRUTH:
        return f"{TRUTH[word]:g}", "", ""
    match = number_in(text)
    if match is None:
        return None
    half_width = half_width_of(match)
    in_brackets = match["rank"] if half_width else match["inside"]
    return match[1], half_width, in_brackets or ""


def typed(frame: pd.DataFrame, file: str, decimal: str = "unknown") -> Reading:
    """Columns as numbers, or as text with its control characters made visible.

    One of 'mean ± half' gets a second column, named NAME ±, and one of 'number (number)' NAME ().
    """
    columns, notes = {}, []
    for name, cells in frame.items():
        if cells.dtype.kind in "biuf":
            has_gaps = cells.dtype.kind == "b" or cells.isna().any()
            columns[str(name)] = cells.astype(float) if has_gaps else cells
            continue
        texts = cells.astype(object).where(cells.notna(), "").astype(str)
        parsed = parsed_cells(texts, decimal)
        if parsed is None:
            clean = {text: visible(without_markup(text)) for text in texts.unique()}
            columns[str(name)] = texts.map(clean).astype(object)
            continue
        columns[str(name)], seconds, more_notes = parsed
        for sign, numbers in seconds.items():
            if numbers.notna().any():
                columns[f"{name} {sign}"] = numbers
        notes += more_notes
    notes = [f"{file}: {note}" for note in dict.fromkeys(notes)]
    return pd.DataFrame(columns, index=frame.index), notes


def are_thousands(cells: pd.Series) -> bool:
    """Whether all commas of cells may stand between thousands."""
    return not cells.str.replace(THOUSANDS, "", regex=True).str.contains(",").any()


def parsed_cells(
    texts: pd.Series, decimal: str
) -> tuple[pd.Series, dict[str, pd.Series], list[str]] | None:
    """Numbers of cells, those behind ± and in brackets, and notes; None where a cell is other text."""
    values = pd.to_numeric(texts, errors="coerce").astype(float)
    unusual = texts[values.isna()]
    if unusual.empty:
        return values, {}, []
    commas = texts[texts.str.contains(",")]
    if decimal != "," and not commas.empty and are_thousands(commas):
        is_sure = decimal == "." or texts.str.contains(r"\d\.\d|,\d{3},").any()
        parsed = parsed_cells(texts.str.replace(",", ""), ".") if is_sure else None
        if parsed:  # otherwise they may be decimal commas as well
            parsed[2].append("commas are read as those between thousands.")
        return parsed
    parts = {}
    for text in unusual.unique():
        part = parts_of_cell(text)
        if part is None:
            return None
        parts[text] = part
    numbers = [number for number, *_ in parts.values()]
    notes = []
    if any("," in number for number in numbers):
        if decimal == "." or any("." in number for number in numbers):
            return None
        notes.append("commas are read as decimal commas.")
    if any("%" in text for text in parts):
        notes.append("percent signs are left out.")
    if any(text.strip().lower() in TRUTH for text in parts):
        notes.append("true and false are read as 1 and 0.")
    table = pd.DataFrame([*parts.values()], [*parts], columns=["number", "±", "()"])
    table = table.replace("", "nan").replace(",", ".", regex=True).astype(float)
    values = values.fillna(texts.map(table["number"]))
    seconds = {sign: texts.map(table[sign]) for sign in ("±", "()")}
    return (values, seconds, notes) if values.notna().any() else None
