"""The forest plots that chapters share."""

import base64
import re

import pandas as pd
import pytest

from fslbook.figures import forest
from fslcore.tools.report.figures import style

ROWS = pd.DataFrame({"row": ["NCC", "LR $x$", "NCC"], "mean": [50.0, 60.0, 52.0], "half_width": [1.0, 2.0, 3.0]})


def svgs(rows, **options):
    style()
    found = re.findall(r"base64,([^\"]+)", forest(rows, **options).data)
    return [base64.b64decode(one).decode() for one in found]


def said(svg):
    """The texts of a picture: Matplotlib writes each as a comment beside its outlines."""
    return re.findall(r"<!-- (.*?) -->", svg)


def test_rows_series_and_panels_are_drawn():
    both = ROWS.assign(series=["ours", "ours", "printed"])
    (one,) = svgs(both, xlabel="points")
    assert {"NCC", "LR $x$", "ours", "printed", "points"} <= set(said(one))
    assert 'alt="points: NCC ours 50, LR $x$ ours 60, NCC printed 52"' in forest(both, xlabel="points").data
    first, second = svgs(ROWS.assign(panel=["a", "a", "b"]))
    assert "a" in said(first) and "b" in said(second) and "LR $x$" not in said(second)


def test_the_same_picture_is_the_same_bytes():
    assert svgs(ROWS) == svgs(ROWS)
    ends = ROWS.assign(low=ROWS["mean"] - ROWS["half_width"], high=ROWS["mean"] + ROWS["half_width"])
    assert svgs(ROWS) == svgs(ends.drop(columns="half_width")) != svgs(ROWS[["row", "mean"]])


@pytest.mark.parametrize("zero", [False, True])
def test_a_line_at_zero_is_in_sight(zero):
    (one,) = svgs(ROWS, zero=zero)
    assert ("0" in said(one)) is zero


def test_nothing_is_drawn_of_nothing():
    assert forest(ROWS[:0]) is None
