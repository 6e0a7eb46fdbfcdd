"""What figures of shares draw of given tables: the very numbers, in percent, and none outside 0 to 100."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fslbook.beyond import figures as beyond
from fslbook.evaluators import figures as evaluators
from fslbook.fewstab import figures as fewstab
from fslbook.oops import figures as oops

EXTREME = np.array([0.0, 1.0, 0.5, 0.97, 0.04] * 8)  # shares
OTHER = EXTREME[::-1]
ESTIMATES = ["5-fold", "hold-out"]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def points(ax):
    """(n, 2) of all that is drawn: marks, lines, and ends of intervals and bars."""
    parts = [line.get_xydata() for line in ax.lines if line.get_transform() == ax.transData]
    for collection in ax.collections:
        offsets = np.ma.getdata(collection.get_offsets())
        if offsets.any() or len(offsets) > 1:
            parts.append(offsets)
        else:
            parts += [path.vertices for path in collection.get_paths()]
    parts += [
        bar.get_bbox().get_points()
        for group in ax.containers
        for bar in group
        if hasattr(bar, "get_bbox")
    ]
    return np.concatenate([np.asarray(part, float).reshape(-1, 2) for part in parts])


def within(values):
    return len(values) and values.min() >= 0 and values.max() <= 100


def marks(ax, label):
    """The coordinates of the line with a label."""
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line.get_xydata()


def test_an_assessment_draws_its_estimates_and_intervals():
    table = pd.DataFrame(
        {
            "basis": ["informed", "5-fold", "informed"],
            "low": [0.0, 0.3, 0.9],
            "high": [0.2, 0.6, 1.0],
            "estimate": [0.1, 0.5, 1.0],
            "5-fold": [0.0, 0.5, 0.96],
            "backbone": "net",
            "learner": list("abc"),
        }
    )
    (ax,) = evaluators.assessment(table).axes
    assert marks(ax, "informed estimate").tolist() == [[10, 0], [100, 2]]
    assert marks(ax, "other estimate").tolist() == [[50, 1]]
    assert marks(ax, "5-fold")[:, 0] == pytest.approx([0, 50, 96])
    (bars,) = ax.collections
    ends = [path.vertices.tolist() for path in bars.get_paths()]
    assert np.allclose(ends, [[[0, 0], [20, 0]], [[30, 1], [60, 1]], [[90, 2], [100, 2]]])


@pytest.mark.parametrize("kind", ["scatter", "estimates"])
def test_points_that_are_moved_a_little_stay_between_0_and_100(kind):
    if kind == "scatter":
        table = pd.DataFrame({"accuracy": EXTREME} | dict.fromkeys(ESTIMATES, OTHER))
        figure = evaluators.estimate_scatter(table, ESTIMATES)
    else:
        table = 100 * pd.DataFrame({"oracle": EXTREME} | dict.fromkeys(ESTIMATES, OTHER))
        figure = evaluators.estimates(table, ESTIMATES, "A")
    for ax in figure.axes[: len(ESTIMATES)]:
        (cloud,) = ax.collections
        x, y = np.ma.getdata(cloud.get_offsets()).T
        assert within(x) and within(y)
        moved = (
            np.abs([x - 100 * OTHER, y - 100 * EXTREME])
            if kind == "scatter"
            else np.abs([x - 100 * EXTREME, y - 100 * OTHER])
        )
        assert 0 < moved.max() <= 1.5 and len(np.unique(x)) > len(np.unique(EXTREME))


def test_intervals_of_tasks_are_sorted_and_those_outside_are_counted():
    table = pd.DataFrame(
        {"low": [0.5, 0.0, 0.2], "high": [1.0, 0.2, 0.6], "truth": [1.0, 0.3, 0.4]}
    )
    (ax,) = evaluators.task_intervals(table).axes
    assert re.findall(r"\d+", ax.get_title()) == ["2", "3"]  # inside, of all
    assert marks(ax, "accuracy").tolist() == [[1, 40], [2, 100]]
    assert marks(ax, "outside").tolist() == [[0, 30]]
    assert within(points(ax)[:, 1])


def test_accuracies_of_learners_are_where_their_axes_say():
    rows = [("a", 1, "ncc", 0.0, 0.0), ("a", 1, "lr", 100.0, 60.0), ("a", 5, "ncc", 80.0, 0.0)]
    columns = ["dataset", "shots", "learner", "acc", "wacc-a"]
    table = pd.DataFrame(rows, columns=columns).set_index(columns[:3])
    figure = fewstab.accuracy_panels(table)
    shown = [
        [
            tuple(mark.get_offsets()[0])
            for mark in ax.collections
            if np.isfinite(mark.get_offsets()).all()
        ]
        for ax in figure.axes[:2]
    ]
    assert shown == [[(0, 0), (100, 60)], [(80, 0)]]


def test_error_rates_of_captioners_are_percent():
    captioners = [captioner for captioner, *_ in fewstab.ERRORS]
    curves = pd.DataFrame(
        {
            "captioner": np.repeat(captioners, 2),
            "drop": [0.0, 1.0] * len(captioners),
            "invent": 0.25,
            "gap": 3.0,
            "by relative gap": 1.0,
        }
    )
    gaps, _ = fewstab.captioner_noise(curves).axes[:2]
    assert all(line.get_xdata().tolist() == [25, 100] for line in gaps.lines)


def test_coverage_draws_shares_with_their_intervals():
    rows = [
        ("plain", "", "new images", "closed", 40.0, 35.0, 45.0),
        ("plain", "", "new images", "open", 100.0, 99.0, 100.0),
        ("plain", "", "new images", "images", 95.0, 92.0, 97.0),
        ("plain", "", "new classes", "classes", 0.0, 0.0, 1.0),
    ]
    columns = ["regime", "given", "target", "interval", "share", "low", "high"]
    images, classes = beyond.coverage(pd.DataFrame(rows, columns=columns)).axes[:2]
    for ax, expected in ((images, {40, 100, 95, 35, 45, 99, 92, 97}), (classes, {0, 1})):
        ends = points(ax)[:, 0]
        assert within(ends) and expected <= set(ends.round(6))


def test_conclusive_pairs_are_shares_of_all_pairs():
    bars = pd.DataFrame(
        {
            "rule": ["open", "paired", "open"],
            "shots": [1, 1, 0],
            "conclusive": [0, 8, 3],
            "pairs": [8, 8, 4],
        }
    )
    (ax,) = oops.conclusive_bars(bars).axes
    (ours,) = ax.containers
    assert [bar.get_width() for bar in ours] == [0, 100]
    assert marks(ax, "OOPS")[:, 0].tolist() == [75]


def test_coverage_of_equal_weights_is_drawn_in_percent():
    weights = pd.DataFrame({"dataset": ["a", "a", "b"], "weight": [0.5, 1.5, 1.0]})
    shares = pd.DataFrame(
        {
            "dataset": ["a", "b"] * 2,
            "drawn": ["x", "x", "y", "y"],
            "share": [0.0, 100.0, 95.0, 40.0],
        }
    )
    left, right = oops.class_weights(weights, shares, 0.95).axes
    assert marks(right, "x").tolist() == [[0, 0], [100, 1]]
    assert marks(right, "y").tolist() == [[95, 0], [40, 1]] and 95 in right.lines[0].get_xdata()
    assert sorted(left.collections[0].get_offsets()[:, 0]) == [0.5, 1.0, 1.5]


@pytest.mark.parametrize("estimators", [["5-fold"], ["5-fold", "hold-out"]])
def test_values_of_settings_stand_in_the_row_of_their_method(estimators):
    places = [(d, m, e) for d in ("x", "y") for m in ("A", "B") for e in estimators]
    ours = pd.DataFrame(places, columns=["dataset", "method", "estimator"])
    ours = ours.assign(mae=np.arange(len(ours)) + 2.0, half_width=1.0)
    printed = ours[ours["dataset"] == "x"].reset_index(drop=True)
    figure = evaluators.setting_forest({"here": ours, "printed": printed}, "error (points)")
    figure.canvas.draw()
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["", "A", "B"] * 2
    for ax, table in zip(figure.axes, (ours, printed)):
        for bar in ax.containers:
            part = table[table["estimator"] == bar.get_label()]
            x, y = bar.lines[0].get_data()
            assert x.tolist() == part["mae"].tolist()
            assert [names[round(row)] for row in y] == part["method"].tolist()
            below = {"x": 0, "y": 3}
            assert all(0.6 < row - below[d] < 2.4 for row, d in zip(y, part["dataset"]))
