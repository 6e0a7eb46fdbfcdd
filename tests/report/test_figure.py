"""The figure of a report: what is drawn are the numbers of its tables, beside their own names."""

import numpy as np
import pandas as pd
import proposed
import pytest
from matplotlib.collections import LineCollection, PathCollection
from test_every_shape import CASES, OF_ANSWERS, drawn, report_on

from fslcore.report import figure, page, words

EVERY = [*CASES, *OF_ANSWERS]


def rows_of(axes):
    """The rows of a forest plot, from the top: name, mark, both ends, whether the mark is filled."""
    (lines,) = (c for c in axes.collections if isinstance(c, LineCollection))
    (marks,) = (c for c in axes.collections if isinstance(c, PathCollection))
    names = {y: label.get_text() for y, label in zip(axes.get_yticks(), axes.get_yticklabels())}
    filled = (marks.get_facecolors() == marks.get_edgecolors()).all(axis=1)
    rows = []
    for (x, y), segment, is_filled in zip(
        marks.get_offsets(), lines.get_segments(), filled, strict=True
    ):
        assert (segment[:, 1] == y).all()
        rows.append((names[y], x, *segment[:, 0], bool(is_filled)))
    heights = marks.get_offsets()[:, 1]
    top = max(axes.get_ylim()) if not axes.yaxis_inverted() else min(axes.get_ylim())
    assert (np.diff(np.abs(heights - top)) > 0).all()
    return rows


def with_ends(frame, middle):
    """Names of columns for both ends, which are the mark itself where nothing is known of them."""
    is_known = np.isfinite(frame["half_width"])
    ends = {end: frame[end].where(is_known, frame[middle]) for end in ("low", "high")}
    return frame.assign(middle=frame[middle], **ends)


def check_rows(rows, names, frame):
    expected = sorted(zip(names, frame["middle"], frame["low"], frame["high"], strict=True))
    assert [name for name, *_ in sorted(rows)] == [name for name, *_ in expected]
    numbers = [row[1:4] for row in sorted(rows)]
    np.testing.assert_allclose(numbers, [row[1:] for row in expected], atol=1e-9)


@pytest.mark.parametrize("name", EVERY)
def test_rows_are_those_of_the_tables_whatever_the_shape(name):
    results = report_on(name, drawn(name, "usual", 5, effect=0.03))
    means, differences = figure.draw(results).axes
    bars = with_ends(words.bars(results), "mean")
    check_rows(rows_of(means), bars["method"], bars)
    pairs = with_ends(words.chosen_pairs(results), "difference")
    rows = rows_of(differences)
    rows = [(name.replace("\n", " "), *row) for name, *row in rows]
    check_rows(rows, words.pair_names(pairs), pairs)
    verdicts = [text.get_text() for text in differences.texts]
    assert sorted(verdicts) == sorted(pairs["verdict"])
    assert [verdict == "better" for verdict in verdicts] == [row[4] for row in rows]


SIGNIFICANT_ALONE = 0  # a seed with a pair that is significant before Holm's correction alone


def test_names_of_a_pair_share_a_line_if_they_are_short():
    assert figure.pair_label("ours", "base") == "ours − base"
    assert figure.pair_label("glyph-conv NCC", "glyph-conv LR") == "glyph-conv NCC\n− glyph-conv LR"


def table(methods, tasks=40, seed=6):
    rng = np.random.default_rng(seed)
    values = (
        50 + np.arange(methods) + rng.normal(0, 5, (tasks, 1)) + rng.normal(0, 3, (tasks, methods))
    )
    return pd.DataFrame(values, columns=[f"m{i}" for i in range(methods)])  # fmt: skip


def test_a_mark_is_filled_by_the_corrected_test():
    results = proposed.from_frame(table(4, seed=SIGNIFICANT_ALONE))
    pairs = words.chosen_pairs(results)
    is_corrected = (pairs["p"] < 0.05) & (pairs["p_holm"] >= 0.05)
    assert is_corrected.any() and (pairs["p_holm"] < 0.05).any()
    rows = rows_of(figure.draw(results).axes[1])
    filled = {name for name, *_, is_filled in rows if is_filled}
    better = pairs[pairs["p_holm"] < 0.05]
    assert filled == {*words.pair_names(better)}
    best = results.methods["method"][0]  # what fewer tests would be about
    steps = [step.command for step in results.next_steps if "--reference" in step.command]
    assert len(steps) == 1 and steps[0].endswith(f" --reference {best}")


@pytest.mark.parametrize("is_lower_better", [False, True])
def test_the_best_mean_has_a_colour_of_its_own_on_top(is_lower_better):
    results = proposed.from_frame(table(4), lower_is_better=is_lower_better, methods=[*table(4)])
    means, differences = figure.draw(results).axes
    names = [row[0] for row in rows_of(means)]
    assert names == [*results.methods["method"]]
    assert names[0] == ("m0" if is_lower_better else "m3")
    (marks,) = (c for c in means.collections if isinstance(c, PathCollection))
    colours = [tuple(colour) for colour in marks.get_edgecolors()]
    assert colours[0] not in colours[1:] and len(set(colours[1:])) == 1
    labels = means.get_xlabel(), differences.get_xlabel()
    assert all(("lower is better" in label) == is_lower_better for label in labels)
    assert ("points" in labels[1]) != is_lower_better


def test_of_several_places_each_has_its_own_best_and_a_head():
    places = [table(3).assign(dataset=name, m0=table(3)["m0"] + gap) for name, gap in (("x", 0), ("y", 9))]  # fmt: skip
    results = proposed.from_frame(pd.concat(places), by="dataset", methods=["m0", "m1", "m2"])
    means = figure.draw(results, ["means"]).axes[0]
    assert [row[0] for row in rows_of(means)] == [*results.methods["method"]]
    labels = sorted(zip(means.get_yticks(), (t.get_text() for t in means.get_yticklabels())))
    assert [text for _, text in labels] == ["x", "m2", "m1", "m0", "y", "m0", "m2", "m1"]
    (marks,) = (c for c in means.collections if isinstance(c, PathCollection))
    colours = [tuple(colour) for colour in marks.get_edgecolors()]
    assert colours[0] == colours[3] and colours[0] not in colours[1:3] + colours[4:]


def test_a_matrix_is_the_row_minus_the_column_with_stars_on_significant_pairs():
    frame = table(figure.MATRIX_FROM)
    results = proposed.from_frame(frame)
    assert [*page.matrices(results)] == [""]
    axes = figure.draw_matrix(results.methods["method"], results.pairs).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [label.get_text() for label in axes.get_xticklabels()]
    (image,) = axes.images
    values = image.get_array().filled(np.nan)
    means = frame[names].mean().to_numpy()
    expected = means[:, None] - means
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_allclose(values, expected, atol=1e-9)
    assert np.nanmax(np.abs(values)) < image.get_clim()[1] == -image.get_clim()[0]
    (stars,) = axes.lines
    decided = results.pairs[results.pairs["verdict"] == "better"]
    assert 0 < len(decided) < len(results.pairs)
    places = [(names.index(pair.a), names.index(pair.b)) for pair in decided.itertuples()]
    expected_stars = {*places, *((j, i) for i, j in places)}
    assert {(int(x), int(y)) for x, y in stars.get_xydata()} == expected_stars


def test_fewer_methods_or_a_reference_have_no_matrix():
    few = proposed.from_frame(table(figure.MATRIX_FROM - 1))
    with_reference = proposed.from_frame(table(figure.MATRIX_FROM), reference="m1")
    assert page.matrices(few) == page.matrices(with_reference) == {}
