"""The running example: its numbers by hand, and the pages that show them."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from fslbook.beyond import running_example, runs

ROOT = Path(__file__).resolve().parents[2]
LR, NCC = running_example.METHODS.values()


@pytest.fixture(autouse=True)
def features_of_all_tests(shared_cache, monkeypatch):
    monkeypatch.setenv("FSLCORE_CACHE", str(shared_cache))


@pytest.fixture
def rows():
    """Those of all chapters up to the one on training runs."""
    return running_example.so_far("training-runs")


@pytest.mark.slow
def test_rows_of_these_images_are_the_usual_interval_by_hand(rows):
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
def test_each_chapter_adds_a_row(rows):
    names = ["these images", "new images", "new classes"]
    assert list(rows["repetition"].unique())[:3] == names
    widths = rows[(rows["quantity"] == LR) & rows["repetition"].isin(names)]["half_width"]
    assert np.all(np.diff(widths) > 0)


@pytest.mark.slow
def test_the_row_of_new_runs_takes_runs_as_the_sample(rows):
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


def test_a_cell_of_the_table_is_an_interval_or_says_that_there_is_none():
    values = {LR: (72, 71, 73), NCC: (70, 69, 71.5), running_example.DIFFERENCE: (2, 1, 3)}
    values = pd.DataFrame(values, index=["mean", "low", "high"]).T.rename_axis("quantity")
    rows = values.reset_index().assign(repetition="these images", source="", remark="")
    rows["half_width"] = (rows["high"] - rows["low"]) / 2
    cells = running_example.table(rows).loc["these images"]
    assert list(cells) == ["72.0 ± 1.0", "70.0 (69.0 to 71.5)", "+2.00 ± 1.00"]
