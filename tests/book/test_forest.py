"""The forest plots that chapters share."""

import base64
import re

import drawn
import numpy as np
import pandas as pd
import pytest

from fslbook.beyond import near_copies
from fslbook.figures import forest, line_by_line
from fslbook.style import style
from fslcore.tasks import sample_closed

ROWS = pd.DataFrame(
    {"row": ["NCC", "LR $x$", "NCC"], "mean": [50.0, 60.0, 52.0], "half_width": [1.0, 2.0, 3.0]}
)


def svgs(rows, **options):
    style()
    encoded = re.findall(r"base64,([^\"]+)", forest(rows, **options).data)
    return [base64.b64decode(text).decode() for text in encoded]


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


def test_a_remark_finds_room_among_crowded_rows():
    crowded = pd.DataFrame({"row": list("aabb"), "series": ["x", "y"] * 2, "mean": [50.0] * 4})
    crowded = crowded.assign(low=1.0, high=99.0)
    (plain,), (noted,) = svgs(crowded), svgs(crowded, remarks={3: "here", 0: ""})
    assert 'id="remark"' not in plain and noted.count('id="remark"') == 1
    assert plain.count('id="xtick') == noted.count('id="xtick')


@pytest.mark.parametrize("count, columns", [(3, 2), (4, 3), (5, 3), (4, 2), (2, 2)])
def test_a_legend_is_read_line_by_line(count, columns):
    names = [str(k) for k in range(count)]
    ordered = line_by_line(names, names, columns)[1]
    filled = np.array_split(ordered, columns)  # as Matplotlib does, one column after the other
    lines = [column[k] for k in range(count) for column in filled if k < len(column)]
    assert lines == names
