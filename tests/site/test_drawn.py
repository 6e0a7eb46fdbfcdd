"""The numbers that figures show, read from their SVG files: no share leaves 0 to 100, in any figure of the book."""

import io
from pathlib import Path

import drawn
import matplotlib.pyplot as plt
import pytest

from fslbook.style import style

NOTEBOOKS = sorted((Path(__file__).parents[2] / "_build" / "notebooks").glob("*.ipynb"))


def written(figure):
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight")
    plt.close(figure)
    return text.getvalue()


def test_lines_bars_and_marks_are_read_in_the_unit_of_their_axis():
    style()
    figure, (left, right) = plt.subplots(1, 2, sharey=True)
    left.errorbar([20.0, 40.0], [1, 2], xerr=[[5, 5], [5, 10]], linestyle="")
    left.axvline(30)
    left.set(xlabel="accuracy (%)", ylabel="task")
    right.barh([1, 2], [-3, 7])
    right.set(xlabel="gain (points)")
    axes = {
        (axis.label, round(axis.low, 1), round(axis.high, 1))
        for axis in drawn.axes_of(written(figure))
    }
    assert {("accuracy (%)", 15.0, 50.0), ("gain (points)", -3.0, 7.0)} <= axes
    assert [label for label, *_ in axes if label == "task"]


@pytest.mark.parametrize(
    "label, high, outside",
    [
        ("accuracy (%)", 100.0, False),
        ("accuracy (%)", 100.2, True),
        ("mean accuracy, %", 105.0, True),
        ("gain (points)", 105.0, False),
        ("rank correlation", 1.0, False),
        ("rank correlation", 1.1, True),
    ],
)
def test_a_share_above_all_is_found(label, high, outside):
    figure, ax = plt.subplots()
    ax.hlines([0], [0], [high])
    ax.set(xlabel=label)
    (fault,) = [axis.outside() for axis in drawn.axes_of(written(figure)) if axis.label == label]
    assert bool(fault) is outside


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_figure_of_the_book_draws_a_share_outside_0_to_100(notebook):
    assert drawn.faults(notebook) == []


@pytest.mark.skipif(not NOTEBOOKS, reason="the book is not built")
def test_figures_of_shares_are_among_those_that_are_read():
    shares = [
        axis
        for notebook in NOTEBOOKS
        for _, svg in drawn.pictures(notebook)
        for axis in drawn.axes_of(svg)
        if axis.limits == (0, 100)
    ]
    assert len(shares) > 50
