"""Remarks on figures: words where nothing is covered, and an arrow."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text

from fslbook.remarks import remark
from fslbook.style import style


@pytest.fixture
def drawing():
    style()
    figure, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
    x = np.linspace(0, 10, 200)
    ax.plot(x, np.sin(x), label="sine")
    ax.plot(x[::20], np.cos(x[::20]), "o", label="points")
    ax.legend(loc="upper right")
    ax.set(ylim=(-1.5, 2), xlabel="x", title="two curves")
    yield ax
    plt.close(figure)


def extent(words):
    """The box of the words in dots, without the arrow of a remark."""
    return Text.get_window_extent(words, words.figure.canvas.get_renderer())


def drawn_points(ax):
    """In dots: all curves and marks, closely sampled, without the lines of the grid."""
    paths = [line.get_transform().transform_path(line.get_path()) for line in ax.lines]
    return np.concatenate([path.interpolated(20).vertices for path in paths])


def test_words_are_within_the_axes_and_cover_no_curve_mark_or_other_words(drawing):
    notes = [
        remark(drawing, "the sine is highest here", np.pi / 2, 1),
        remark(drawing, "and lowest here", 4.71, -1),
    ]
    drawing.figure.canvas.draw()
    boxes = [extent(note) for note in notes]
    frame, legend = drawing.get_window_extent(), drawing.get_legend().get_window_extent()
    for box in boxes:
        assert frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1)
        assert not box.contains(*drawn_points(drawing)[0]) and not box.overlaps(legend)
        assert not any(box.contains(x, y) for x, y in drawn_points(drawing))
    assert not boxes[0].overlaps(boxes[1])


def test_words_are_not_written_where_a_legend_is_empty():
    style()
    figure, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
    ax.axhspan(-0.1, 0.4, color="black", label="all below is ink")
    ax.set(xlim=(0, 1), ylim=(-0.1, 1))
    ax.legend(loc="upper center", title="\n\n\n\n", mode="expand")
    assert remark(ax, "here", 0.5, 0.42) is None
    plt.close(figure)


@pytest.mark.parametrize("seed", range(2))
def test_words_find_a_gap_in_a_cloud_of_points(seed):
    style()
    figure, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
    cloud = np.random.default_rng(seed).normal(size=(200, 2))
    ax.plot(*cloud.T, "o", markersize=4)
    note = remark(ax, "one of many", *cloud[np.abs(cloud).sum(axis=1).argmin()])
    figure.canvas.draw()
    assert note and not any(extent(note).contains(x, y) for x, y in ax.transData.transform(cloud))
    plt.close(figure)


def test_the_layout_stays_as_it_was(drawing):
    drawing.figure.canvas.draw()
    before = drawing.get_position().bounds
    assert remark(drawing, "a remark of some length that is broken into lines", 5, 0)
    drawing.figure.canvas.draw()
    assert drawing.get_position().bounds == pytest.approx(before)


def test_where_all_is_covered_or_the_point_is_not_drawn_nothing_is_written(drawing):
    assert remark(drawing, "outside", 50, 0) is None
    assert remark(drawing, "nowhere", np.nan, 0) is None
    drawing.set_axisbelow(True)
    drawing.bar([5], [4], width=20, bottom=-2, color="black")
    assert remark(drawing, "covered", 5, 0) is None
    assert [text.get_text() for text in drawing.texts] == []
