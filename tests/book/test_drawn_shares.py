"""What figures of shares draw of given tables: the very numbers, in percent, and none outside 0 to 100."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fslbook.beyond import figures as beyond
from fslbook.evaluators import figures as evaluators


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
