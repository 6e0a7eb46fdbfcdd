"""The lab that places a number in a published table: its widths and counts are those of the library and NumPy."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browsing import page_of

from fslbook.beyond import leaderboards
from fslcore import stats

LABS = Path(__file__).resolve().parents[2] / "book" / "_static" / "labs"
ROWS = pd.DataFrame({"mean": np.linspace(60, 48, 20), "plus_minus": np.linspace(0.2, 0.9, 20)})
OWN, WIDTH, TASKS = {"mean": 55.1, "printed": 0.5}, 3.92, 150


@pytest.fixture(scope="module")
def html():
    board = ROWS.assign(method="M", year=2020, shots="1", dataset="miniImageNet", board="mini")
    board.loc[3, "plus_minus"] = np.nan
    return leaderboards.standing_lab(board[::-1], WIDTH, least=20)


@pytest.fixture
def page(phone, html, tmp_path):
    phone.goto(page_of(tmp_path / "page.html", html.replace("_static/labs", LABS.as_uri())))
    return phone


def test_tables_hold_ranked_cells_and_are_told_without_scripts(html):
    (board,) = json.loads(re.search(r'-data">(.*?)</script>', html)[1])["boards"].values()
    assert board["tasks"] == TASKS and leaderboards.NO_SCRIPTS in html
    assert [row[2] for row in board["rows"]] == pytest.approx(ROWS["mean"])


def test_widths_and_counts_are_those_of_the_library_and_numpy(page):
    board = {"tasks": TASKS, "spread": 0.2, "reproduction": WIDTH}
    rows = ROWS.rename(columns={"plus_minus": "printed"}).to_dict("records")
    call = """([own, rows, board]) => [fslLabs.compute.standing.standing(own, rows, board),
      [own, ...rows].map(row => fslLabs.compute.standing.widths(row, board).images)]"""
    counts, fresh = page.evaluate(call, [OWN, rows, board])
    figure = tuple(OWN.values())  # of 1,521 tasks, if accuracies vary by 0.2 √(55.1 · 44.9)
    reading = stats.compare_printed(figure, figure, 1521, images=12_000, shots=1).readings[0]
    assert fresh[0] == pytest.approx(reading.images.widest.half_width / 2**0.5, 0.01)
    limits = {
        "printed": np.hypot(0.5, ROWS["plus_minus"]),
        "images": np.hypot(fresh[0], fresh[1:]),
        "laboratory": WIDTH,
    }
    gap = ROWS["mean"] - OWN["mean"]
    for kind, limit in limits.items():
        lower, higher = (gap < -limit).sum(), (gap > limit).sum()
        assert counts[kind] == [lower, 20 - lower - higher, higher]


def test_a_reader_places_a_number_by_keyboard(page):
    mean, names = page.get_by_label("Your mean"), page.locator(".fsl-row-name")
    mean.fill("55.1")
    page.keyboard.press("Tab")
    page.keyboard.type("0,5")
    page.wait_for_function(
        "document.querySelector('.fsl-says').textContent.startsWith('55.10 would be in place 9 of 21.')"
    )
    assert names.count() == 13 and names.nth(6).text_content() == "yours"
    page.get_by_label("Rows").select_option("all")
    assert names.count() == 21
    assert page.locator("tbody tr td:last-child").all_inner_texts() == ["1", "1", "0"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    mean.fill("0.551")
    page.wait_for_selector(".fsl-wrong")
    assert "not a share" in page.locator(".fsl-says").inner_text()
