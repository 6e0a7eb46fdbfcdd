"""Where panels lie in figures as Matplotlib writes them."""

import io

import matplotlib.pyplot as plt
import panels
import pytest


def drawn(columns, shared=False, legend=False):
    figure, axes = plt.subplots(1, columns, figsize=(6, 2), sharey=shared)
    for axis in [axes] if columns == 1 else axes:
        axis.plot([0, 1], [0, 1], label="a")
    if legend:
        figure.legend()
    figure.tight_layout()
    text = io.StringIO()
    figure.savefig(text, format="svg")
    plt.close(figure)
    return panels.panels(text.getvalue())


def test_panels_with_labels_of_their_own_are_parted_left_of_the_labels():
    assert drawn(1) == [] and drawn(4) == []
    (first, second) = drawn(2)
    assert (
        first[0] == 0 and second[1] == 1 and first[1] == second[0] == pytest.approx(0.51, abs=0.03)
    )
    assert len(drawn(3)) == 3


def test_panels_that_share_labels_or_a_legend_stay_together():
    assert drawn(2, shared=True) == [(0.0, 1.0)] and drawn(2, legend=True) == [(0.0, 1.0)]


def test_images_of_a_site_are_marked(tmp_path):
    (tmp_path / "_images").mkdir()
    figure, _ = plt.subplots(1, 2)
    figure.savefig(tmp_path / "_images" / "a.svg")
    (tmp_path / "p.html").write_text(
        '<p><img alt="A" src="_images/a.svg"><img src="_images/b.png"></p>', "utf-8"
    )
    assert panels.mark(tmp_path) == 1
    text = (tmp_path / "p.html").read_text("utf-8")
    assert text.startswith('<p><img data-panels="0.0000-') and text.endswith(
        '<img src="_images/b.png"></p>'
    )
