"""The running example: its numbers by hand, its table as its picture, and the first page as both."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from scipy.stats import t

from fslbook.beyond import running_example, runs
from fslbook.evaluations import RUNNING_EXAMPLE_IN

ROOT = Path(__file__).resolve().parents[2]
LR, NCC = running_example.METHODS.values()


def rows_of(**repetitions):
    """Rows as of `so_far`, from (mean, low, high) of both methods and the difference by repetition."""
    rows = [
        dict(repetition=name.replace("_", " "), quantity=quantity, mean=mean, low=low, high=high)
        for name, three in repetitions.items()
        for quantity, (mean, low, high) in zip((LR, NCC, running_example.DIFFERENCE), three)
    ]
    frame = pd.DataFrame(rows)
    return frame.assign(half_width=(frame["high"] - frame["low"]) / 2, source="", remark="")


def drawn(axes):
    """(mean, low, high) of every row of a panel, from the marks and lines in it."""
    lines = [c for c in axes.collections if isinstance(c, LineCollection)]
    marks = [c for c in axes.collections if not isinstance(c, LineCollection)]
    means = [x for c in marks for x in c.get_offsets()[:, 0]]
    ends = [tuple(segment[:, 0]) for c in lines for segment in c.get_segments()]
    return sorted(np.round(means, 6)), sorted(map(tuple, np.round(ends, 6)))


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def check_the_picture_has_the_rows_of_the_table(rows):
    means, differences = running_example.picture(rows).axes
    names = list(running_example.table(rows).index)
    for axes in (means, differences):
        assert [tick.get_text().replace("\n", " ") for tick in axes.get_yticklabels()] == names
    is_difference = rows["quantity"] == running_example.DIFFERENCE
    elsewhere = (rows["repetition"] == running_example.NOT_THIS_PAIR[0]) & ~is_difference
    with_ends = rows["low"].notna()
    for axes, part in ((means, ~is_difference & ~elsewhere), (differences, is_difference)):
        shown = rows[part & with_ends]
        assert drawn(axes)[0] == sorted(np.round(shown["mean"], 6))
        assert drawn(axes)[1] == sorted(map(tuple, np.round(shown[["low", "high"]], 6).to_numpy()))
    words = " ".join(text.get_text() for axes in (means, differences) for text in axes.texts)
    cells = running_example.table(rows)
    for name in rows.loc[elsewhere, "repetition"].unique():  # written, not drawn
        assert f"{cells.loc[name, LR]} and {cells.loc[name, NCC]}" in words
    for remark in rows.loc[rows["remark"] != "", "remark"]:
        assert remark in words


def test_the_picture_has_the_rows_and_numbers_of_the_table():
    rows = rows_of(
        these_images=[(72, 71, 73), (70, 69, 71.5), (2, 1, 3)],
        new_training_runs=[(35, 34, 36), (33, 32, 34), (2, -1, 5)],
        another_laboratory=[(72, 68, 76), (70, 66, 74), (np.nan, np.nan, np.nan)],
    )
    is_last = (rows["repetition"] == "another laboratory") & rows["mean"].isna()
    rows.loc[is_last, "remark"] = "3 of 4 kept their order"
    check_the_picture_has_the_rows_of_the_table(rows)
    cells = running_example.table(rows)
    assert list(cells.loc["these images"]) == ["72.0 ± 1.0", "70.0 (69.0 to 71.5)", "+2.00 ± 1.00"]
    assert cells.loc["another laboratory", running_example.DIFFERENCE] == "—"


@pytest.mark.slow
def test_rows_of_these_images_are_the_usual_interval_by_hand():
    rows = running_example.so_far("closed-vs-open")
    accuracies = [right.mean(axis=1) for right in running_example.both().right.values()]
    for quantity, values in zip((LR, NCC), accuracies):
        row = running_example.row_of(rows, "these images", quantity)
        assert len(values) == 600
        assert row["mean"] == pytest.approx(values.mean())
        half = 1.96 * values.std(ddof=1) / np.sqrt(600)
        assert row["half_width"] == pytest.approx(half, abs=0.002)
    difference = accuracies[0] - accuracies[1]
    row = running_example.row_of(rows, "these images")
    assert row["mean"] == pytest.approx(difference.mean())
    assert row["half_width"] == pytest.approx(
        1.96 * difference.std(ddof=1) / np.sqrt(600), abs=0.001
    )


@pytest.mark.slow
def test_each_chapter_adds_a_row_and_keeps_the_others():
    before = running_example.so_far("closed-vs-open")
    after = running_example.so_far("three-intervals")
    pd.testing.assert_frame_equal(after.iloc[:3], before)
    assert list(after["repetition"].unique()) == ["these images", "new images", "new classes"]
    widths = after[after["quantity"] == LR]["half_width"].to_numpy()
    assert np.all(np.diff(widths) > 0)


@pytest.mark.slow
def test_the_row_of_new_runs_takes_runs_as_the_sample():
    rows = running_example.so_far("training-runs")
    means = [
        runs.accuracies(running_example.TRAINED_ON, name).mean(axis=1)
        for name in running_example.TRAINED
    ]
    for quantity, of_runs in zip((LR, NCC), means):
        row = running_example.row_of(rows, "new training runs", quantity)
        least = t.ppf(0.975, len(of_runs) - 1) * of_runs.std(ddof=1) / np.sqrt(len(of_runs))
        assert row["mean"] == pytest.approx(of_runs.mean())
        assert row["half_width"] == pytest.approx(least, rel=0.15)
    row = running_example.row_of(rows, "new training runs")
    assert row["mean"] == pytest.approx(means[0].mean() - means[1].mean())
    assert "other networks" in row["source"]


@pytest.mark.slow
def test_the_complete_picture_has_the_rows_of_the_complete_table():
    rows = running_example.so_far("leaderboards")
    assert rows["repetition"].nunique() == len(running_example.ROWS) == 6
    check_the_picture_has_the_rows_of_the_table(rows)
    apart = running_example.row_of(rows, "near-copies kept apart")
    assert "groups of near-copies" in apart["source"]
    laboratory = rows[rows["repetition"] == "another laboratory"].set_index("quantity")
    assert laboratory["half_width"][LR] == laboratory["half_width"][NCC] > 1
    assert np.isnan(laboratory["half_width"][running_example.DIFFERENCE])


def test_chapters_of_the_example_compute_its_features():
    assert list(RUNNING_EXAMPLE_IN) == list(running_example.ROWS)


def test_the_first_page_shows_the_picture_and_each_row_with_its_chapter():
    page = (ROOT / "book" / "index.md").read_text("utf-8")
    assert "](leaderboards::fig-signature)" in page
    lines = [line for line in page.splitlines() if "leaderboards::example_" in line and "|" in line]
    chapters = [re.search(r"\{doc\}`([\w-]+)`", line)[1] for line in lines]
    assert chapters == list(running_example.ROWS)
    for line in lines:
        keys = re.findall(r"leaderboards::example_(\w+)_(lr|ncc|difference)`", line)
        assert len({row for row, _ in keys}) == 1
        assert [column for _, column in keys] == ["lr", "ncc", "difference"]


@pytest.mark.parametrize("name", running_example.ROWS)
def test_each_chapter_shows_the_rows_known_so_far(name):
    text = (ROOT / "notebooks" / f"{name}.md").read_text("utf-8")
    assert f'running_example.so_far("{name}", level)' in text
    assert "running_example.table(example)" in text


def test_worked_paragraphs_of_the_guide_have_their_numbers_from_chapters():
    guide = (ROOT / "book" / "guide.md").read_text("utf-8")
    section = guide.partition("### Five worked paragraphs")[2].partition("Sentences that match")[0]
    paragraphs = [line for line in section.splitlines() if line.startswith("> ")]
    assert len(paragraphs) == 5
    for paragraph in paragraphs:
        assert len(re.findall(r"\{glue:text\}`[\w-]+::\w+`", paragraph)) >= 2
        typed = re.sub(r"\{glue:text\}`[^`]*`|95 %", "", paragraph)
        assert not re.search(r"\d", typed), typed
    assert "Which ± for 600 tasks?" in guide and "math" not in guide and "$" not in guide
