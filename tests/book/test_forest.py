"""The forest plots that chapters share."""

import base64
import re

import drawn
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from fslbook.beyond import near_copies
from fslbook.figures import forest
from fslbook.oops import benchmark
from fslbook.style import COLOURS, style
from fslcore.tasks import sample_closed

ROWS = pd.DataFrame(
    {"row": ["NCC", "LR $x$", "NCC"], "mean": [50.0, 60.0, 52.0], "half_width": [1.0, 2.0, 3.0]}
)


def svgs(rows, **options):
    style()
    encoded = re.findall(r"base64,([^\"]+)", forest(rows, **options).data)
    return [base64.b64decode(text).decode() for text in encoded]


def said(svg):
    """The texts of a picture: Matplotlib writes each as a comment beside its outlines."""
    return re.findall(r"<!-- (.*?) -->", svg)


def test_rows_series_and_panels_are_drawn():
    with_series = ROWS.assign(series=["ours", "ours", "printed"])
    (picture,) = svgs(with_series, xlabel="points")
    assert {"NCC", "LR $x$", "ours", "printed", "points"} <= set(said(picture))
    assert (
        'alt="points: NCC ours 50, LR $x$ ours 60, NCC printed 52"'
        in forest(with_series, xlabel="points").data
    )
    first, second = svgs(ROWS.assign(panel=["a", "a", "b"]))
    assert "a" in said(first) and "b" in said(second) and "LR $x$" not in said(second)


def test_the_same_picture_is_the_same_bytes():
    assert svgs(ROWS) == svgs(ROWS)
    ends = ROWS.assign(
        low=ROWS["mean"] - ROWS["half_width"], high=ROWS["mean"] + ROWS["half_width"]
    )
    assert svgs(ROWS) == svgs(ends.drop(columns="half_width")) != svgs(ROWS[["row", "mean"]])


def test_nothing_is_drawn_of_nothing():
    assert forest(ROWS[:0]) is None


def test_ends_of_an_interval_are_drawn_rather_than_a_width_beside_them():
    """Coverage with its own interval has, in the same table, the widths of the intervals under study."""
    ends = ROWS.assign(low=[45.0, 58.0, 50.0], high=[51.0, 65.0, 57.0])
    assert svgs(ends) == svgs(ends.drop(columns="half_width")) != svgs(ROWS)


def test_no_share_is_drawn_outside_0_to_100():
    wide = pd.DataFrame({"row": ["NCC"], "mean": [98.0], "half_width": [3.0]})
    (axis, *_) = drawn.axes_of(svgs(wide)[0])
    assert (axis.low, axis.high) == (pytest.approx(95, abs=0.01), pytest.approx(100, abs=0.01))
    (axis, *_) = drawn.axes_of(svgs(wide, xlabel="difference (points)")[0])
    assert axis.high == pytest.approx(101, abs=0.01)
    for outside in ({"mean": 101.0}, {"low": 95.0, "high": 105.0}, {"low": -1.0, "high": 99.0}):
        with pytest.raises(ValueError, match="NCC.*mean.*0 to 100"):
            forest(wide.assign(**outside))


def test_panels_may_have_units_of_their_own():
    both = ROWS.assign(panel=["a", "a", "b"], xlabel=["accuracy (%)"] * 2 + ["gap (points)"])
    first, second = svgs(both.assign(half_width=60.0))
    assert "accuracy (%)" in said(first) and "gap (points)" in said(second)
    assert drawn.axes_of(first)[0].low == pytest.approx(0, abs=0.01)
    assert drawn.axes_of(second)[0].low == pytest.approx(-8, abs=0.01)


def test_differences_name_their_backbone_once():
    keys = dict(
        dataset=["cub", "cub"],
        shots=[1, 1],
        a_backbone=["clip", "dino"],
        b_backbone=["clip", "clip"],
    )
    rows = benchmark.difference_rows(
        pd.DataFrame({**keys, "b_learner": "lr", "mean": [1.0, 2.0], "half_width": 1.0})
    )
    assert list(rows["panel"]) == ["CLIP: FT − LR", "FT on DINO − CLIP LR"]
    assert list(rows["row"]) == ["CUB"] * 2 and list(rows["series"]) == ["1-shot"] * 2


def test_copies_and_what_else_differs_are_drawn():
    labels, groups = np.repeat(np.arange(4), 12), np.arange(48) // 2
    images = dict(ways=2, shots=1, queries=2, seed=0, tasks=20)
    rng = np.random.default_rng(0)
    comparison = near_copies.Both(labels=labels, groups=groups)
    for name, kind_groups in (("ordinary", None), ("mixed", groups), ("apart", groups)):
        comparison[name] = sample_closed(labels, groups=kind_groups, **images), 100 * rng.random(20)
    rows = near_copies.rows({"clipart author": comparison}).set_index("series")
    copies = comparison["mixed"][1] - comparison["apart"][1]
    assert rows["mean"].iloc[0] == pytest.approx(copies.mean())
    assert rows["half_width"].iloc[0] == pytest.approx(comparison.copies().half_width)
    others = rows.iloc[1:]
    assert np.allclose(
        others["mean"], comparison["ordinary"][1].mean() - comparison["apart"][1].mean()
    )
    assert list(others.index.str.split(", ").str[1]) == [
        "these images",
        "new groups",
        "new classes",
    ]


def test_a_panel_has_only_the_series_that_occur_in_it():
    rows = pd.DataFrame({"row": "NCC", "mean": [1.0, 2, 3], "half_width": 1.0})
    first, second = svgs(rows.assign(panel=["p", "p", "q"], series=["ours", "theirs", "other"]))
    assert {"ours", "theirs"} <= set(said(first)) and "other" not in said(first)
    assert "other" in said(second) and not {"ours", "theirs"} & set(said(second))
    assert to_hex(COLOURS[2]) in second and to_hex(COLOURS[0]) not in second


def test_every_colour_of_lines_and_marks_stands_out_from_white():
    linear = np.array(COLOURS)
    linear = np.where(linear <= 0.04045, linear / 12.92, ((linear + 0.055) / 1.055) ** 2.4)
    assert (1.05 / (linear @ [0.2126, 0.7152, 0.0722] + 0.05) >= 3).all()  # WCAG 2.2, 1.4.11
    assert len(set(COLOURS)) == 10


def test_a_remark_finds_room_among_crowded_rows():
    crowded = pd.DataFrame({"row": list("aabb"), "series": ["x", "y"] * 2, "mean": [50.0] * 4})
    crowded = crowded.assign(low=1.0, high=99.0)
    (plain,), (noted,) = svgs(crowded), svgs(crowded, remarks={3: "here", 0: ""})
    assert 'id="remark"' not in plain and noted.count('id="remark"') == 1
    assert plain.count('id="xtick') == noted.count('id="xtick')
