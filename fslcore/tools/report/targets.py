"""What an interval applies to, and how three of them are read in a table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ... import stats

TARGETS = {"closed": "these images", "images": "new images", "classes": "new classes"}
MARKS = {  # of cells, by what stands in them
    "(floor)": "the tasks do not show that classes add anything to new images, so this is the least that it can be",
    "few errors": "so few errors, or right answers, are left that the limits are rough",
    "as new images": "the tasks do not show that classes add anything",
    "as new classes": "nothing is known of new images alone, so what new classes add is in it",
    "—": "these tasks do not tell",
}


def in_cells(found: stats.ThreeIntervals) -> dict[str, str]:
    """The three intervals for reading, by target.

    New classes come with new images, so where classes are not seen to add anything the variance of images is a floor,
    and the cell says so. Where nothing is known of new images alone, the interval for new classes stands for both.
    """
    cells = {target: around(getattr(found, kind)) for kind, target in TARGETS.items()}
    images, classes = TARGETS["images"], TARGETS["classes"]
    if np.isfinite(found.classes.half_width):
        if not np.isfinite(found.image_variance):
            cells[images] = f"as {classes}"
        elif found.class_variance == found.image_variance:
            same = found.classes.half_width == found.images.half_width
            cells[classes] = f"as {images}" if same else f"{cells[classes]} (floor)"
    return cells


def legend(frame: pd.DataFrame) -> list[str]:
    """A line for each mark that stands in cells of `in_cells`, with what it means."""
    cells = [str(cell) for column in TARGETS.values() if column in frame for cell in frame[column]]
    return [f"{mark}: {says}." for mark, says in MARKS.items() if any(mark in cell for cell in cells)]


def around(interval: stats.Interval) -> str:
    """'± half-width' or 'low to high' for reading (`Interval.around`); a dash where nothing is known."""
    return interval.around(".2f") + ", few errors" * interval.few_errors if np.isfinite(interval.half_width) else "—"
