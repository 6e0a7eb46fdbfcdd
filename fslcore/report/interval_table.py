"""The three intervals of methods as a table for reading."""

import numpy as np
import pandas as pd

from .. import stats
from ..stats.formatting import UNKNOWN
from ..stats.targets import IMAGE_TARGETS, Target

__all__ = ["interval_cells", "interval_table", "legend", "varying_keys"]

MARKS = {  # of cells, by what stands in them
    "(floor)": "the tasks do not show that classes add anything to new images, so this is the "
    "least that it can be",
    "few errors": "so few errors, or right answers, are left that the limits are rough",
    "as new images": "the tasks do not show that classes add anything",
    "as new classes": "nothing is known of new images alone, so what new classes add is in it",
    UNKNOWN: "these tasks do not show it",
}


def interval_table(table: pd.DataFrame) -> pd.DataFrame:
    """`fslcore.evaluation.three_targets.intervals` or ``pairs`` for reading: the mean and a column per target."""
    cells = pd.DataFrame([interval_cells(result) for result in table["result"]], index=table.index)
    means = [f"{result.closed.estimate:.2f}" for result in table["result"]]
    named = table.assign(mean=means, **cells)
    if "classes" in table:
        named["dataset"] += " (" + table["classes"].astype(str) + " classes)"
    return varying_keys(named, ["dataset", "method", "a", "b"], ["mean", *cells])


def varying_keys(table: pd.DataFrame, keys: list[str], columns: list[str]) -> pd.DataFrame:
    """The columns, indexed by the keys of the table that vary; by its first key where none does."""
    present = [key for key in keys if key in table]
    varying = [key for key in present if table[key].nunique() > 1]
    return table.set_index(varying or present[:1])[columns]


def interval_cells(result: stats.ThreeIntervals) -> dict[str, str]:
    """The three intervals for reading, by target.

    New classes come with new images, so where classes are not seen to add anything the variance of
    images is a floor, and the cell says so. Where nothing is known of new images alone, the
    interval for new classes stands for both.
    """
    cells = {}
    for target, interval in result.by_target.items():
        remark = ", few errors" if interval.few_errors else ""
        cells[target.value] = interval.format_half_width(".2f") + remark
    if not np.isfinite(result.classes.half_width):
        return cells
    images = Target.NEW_IMAGES.value
    classes = Target.NEW_CLASSES.value
    if not np.isfinite(result.image_variance):
        cells[images] = f"as {classes}"
    elif result.class_variance == result.image_variance:
        has_equal_widths = result.classes.half_width == result.images.half_width
        cells[classes] = f"as {images}" if has_equal_widths else f"{cells[classes]} (floor)"
    return cells


def legend(table: pd.DataFrame) -> list[str]:
    """A line for each mark that stands in cells of `interval_cells`, with what it means."""
    columns = [target for target in IMAGE_TARGETS if target in table]
    cells = table[columns].astype(str).to_numpy().ravel()
    return [
        f"{mark}: {meaning}."
        for mark, meaning in MARKS.items()
        if any(mark in cell for cell in cells)
    ]
