"""The lab that judges a difference from a paper: its numbers and its sentence are those of the chapter's functions."""

import dataclasses
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from browsing import page_of

from fslbook.beyond import reproductions
from fslbook.beyond.reproductions import KINDS, TARGET
from fslcore import stats
from fslcore.stats.published import READINGS

LABS = Path(__file__).resolve().parents[2] / "book" / "_static" / "labs"
LEVEL = 0.9
AUTHORS, TWO = KINDS[3].name, KINDS[6].name
TABLE = pd.DataFrame(
    [(TARGET, d, f"L{k % 3}") for k, d in enumerate([-2.5, -1.3, -1.3, 0.0, 0.4, 1.3, 2.0])]
    + [(TWO, d, "A and B") for d in (0.2, 1.3, 6.0)]
    + [(KINDS[0].name, d, f"M{d}") for d in (0.1, 1.3, 1.31)],
    columns=["kind", "difference", "group"],
)  # without the authors' code, and with ties at 1.3


@pytest.fixture(scope="module")
def html():
    return reproductions.reproduction_lab(TABLE, LEVEL)


@pytest.fixture(scope="module")
def facts(html):
    return json.loads(re.search(r'-data">(.*?)</script>', html)[1])


@pytest.fixture
def page(phone, html, tmp_path):
    phone.goto(page_of(tmp_path / "page.html", html.replace("_static/labs", LABS.as_uri())))
    return phone


def test_percentiles_are_those_of_python_with_ties_and_kinds_without_pairs(page, facts):
    gaps = [-1.3, 48.1 - 49.4, 1.3, 0.0, 0.3, -2.51, 99.0]
    call = (
        "([gaps, facts]) => gaps.map(gap => fslLabs.compute.reproduction.percentiles(gap, facts))"
    )
    for gap, found in zip(gaps, page.evaluate(call, [gaps, facts])):
        for ours, row in zip(reproductions.percentiles(gap, TABLE), found):
            values = list(dataclasses.asdict(ours).values())
            assert list(row.values())[:5] == values[:5]
            assert list(row.values())[5:] == pytest.approx(values[5:], nan_ok=True)


@pytest.mark.parametrize("dataset", ["miniImageNet", "CUB", "another data set"])
@pytest.mark.parametrize("plus_minus", [0.81, None])
def test_widths_and_the_sentence_are_those_of_python(page, facts, dataset, plus_minus):
    call = """([figure, trainings, facts]) => {
      const { splitWidths, trainingWidths, sentenceToPrint, ofTasks } = fslLabs.compute.reproduction;
      return [splitWidths(figure, facts), trainingWidths([figure.mean, ...trainings], facts.level),
        sentenceToPrint(figure, trainings, facts), ofTasks(-1.2, 0.8, 0.5, facts.level)];
    }"""
    for shots, tasks, trainings in [(1, 600, []), (5, 10_000, [49.05, 47.2]), (5000, 2, [48.1])]:
        figure = {
            "mean": 48.125,
            "half": plus_minus,
            "tasks": tasks,
            "shots": shots,
            "dataset": dataset,
        }
        widths, runs, sentence, share = page.evaluate(call, [figure, trainings, facts])
        means, shape = [48.125, *trainings], (plus_minus, tasks, dataset, shots)
        expected = reproductions.split_widths(48.125, *shape, LEVEL)
        assert widths == pytest.approx(dataclasses.asdict(expected))
        of_runs = reproductions.training_widths(means, LEVEL)
        if not trainings:
            assert runs is None and of_runs is None
        else:
            assert list(runs.values()) == pytest.approx(list(dataclasses.asdict(of_runs).values()))
        assert sentence == reproductions.sentence_to_print(means, *shape, TABLE, LEVEL)
        assert share == pytest.approx(reproductions.of_tasks(-1.2, 0.8, 0.5, LEVEL))


def test_a_plus_minus_is_read_as_from_printed_reads_it(page, facts):
    figures = [
        (48.7, 0.8, 600),
        (48.7, 0.4, 600),
        (48.7, 10.1, 600),
        (90.0, 0.12, 10_000),
        (62.0, 3.0, 30),
    ]
    call = """([figures, facts]) => figures.map(([mean, half, tasks]) =>
      fslLabs.compute.reproduction.reading({ mean, half, tasks }, { ...facts, level: 0.95 }))"""
    found = page.evaluate(call, [figures, facts])
    for (mean, half, tasks), reading in zip(figures, found):
        likely = stats.compare_printed((mean, half), (mean, half), tasks).likely
        assert reading["meaning"] == likely.meaning
        error = likely.deviations[0] / tasks**0.5
        assert reading["interval"] == pytest.approx(1.959964 * error, rel=1e-5)
    assert {reading["meaning"] for reading in found} == set(READINGS)


def test_a_standard_error_is_doubted(page):
    note = page.locator(".fsl-note")
    page.wait_for_function("document.querySelector('.fsl-print').textContent")
    assert note.inner_text() == ""
    page.get_by_label("Its ± (may be empty)").fill("0.38")
    page.wait_for_function("document.querySelector('.fsl-note').textContent")
    assert note.inner_text().startswith(
        "The paper's ± has the size of a standard error over 600 tasks"
    )


def test_without_any_pair_the_lab_still_says_what_tasks_do(page, facts):
    empty = reproductions.reproduction_lab(TABLE[:0], LEVEL)
    none = json.loads(re.search(r'-data">(.*?)</script>', empty)[1])
    figure = {"mean": 60.0, "half": 0.5, "tasks": 600, "shots": 5, "dataset": "CUB"}
    call = "([figure, facts]) => fslLabs.compute.reproduction.sentenceToPrint(figure, [], facts)"
    sentence = page.evaluate(call, [figure, none])
    assert sentence == reproductions.sentence_to_print([60.0], 0.5, 600, "CUB", 5, TABLE[:0], LEVEL)
    assert sentence.endswith("One implementation.")


def test_a_reader_asks_by_keyboard_on_a_phone(page):
    says = page.locator(".fsl-says")
    page.get_by_label("Your mean, in %").focus()
    for text in ("58,7", "0.5", "60", ""):
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type(text) if text else page.keyboard.press("Delete")
        page.keyboard.press("Tab")
    page.wait_for_function(
        "document.querySelector('.fsl-says').textContent.includes('58.70 is 1.30')"
    )
    assert "1.30 points below the paper" in says.inner_text()
    assert "of 7 reproductions beside the paper's number, three differed" in says.inner_text()
    rows = dict(
        zip(
            page.locator("tbody th").all_inner_texts(),
            page.locator("tbody td:nth-child(4)").all_inner_texts(),
        )
    )
    assert rows[TARGET] == "3 of 7, in 3 of 3 laboratories" and AUTHORS not in rows
    assert rows[TWO] == "2 of 3 either way, in 1 of 1 pairs of laboratories"
    page.get_by_label("Means of your other trainings").fill("59.4 58.0")
    page.wait_for_function(
        "document.querySelector('.fsl-print').textContent.includes('Mean of 3 trainings: 58.70')"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(
    "label, text, words",
    [
        ("Your mean, in %", "0.48", "Your mean is 0.48: percent is needed, not a share."),
        ("Your mean, in %", "", "Your mean is empty: a number between 1 and 100"),
        ("The paper's mean, in %", "x", "The paper's mean is x: a number between 1 and 100"),
        ("Your ± (may be empty)", "-1", "Your ± is -1: a number over 0"),
        (
            "Your ± (may be empty)",
            "30",
            "Your ± is 30.00: as an interval over 600 tasks it is at most 3.4; "
            "for a standard deviation, type 2.01.",
        ),
        (
            "Its ± (may be empty)",
            "99",
            "The paper's ± is 99.00: as an interval over 600 tasks it is at most 3.4.",
        ),
        ("Tasks", "1", "The number of tasks is 1: a whole number from 2 to 1,000,000"),
        ("Shots", "1.5", "The number of shots is 1.5: a whole number from 1"),
        ("Means of your other trainings", "48 abc", "A mean of a training is abc: a number"),
    ],
)
def test_bad_input_gets_one_line_and_no_result(page, label, text, words):
    page.get_by_label(label).fill(text)
    page.wait_for_selector(".fsl-wrong")
    assert page.locator(".fsl-says").inner_text().startswith(words)
    assert page.locator(".fsl-note").inner_text() == ""
    assert page.locator("tbody").count() == 0 and page.locator(".fsl-print").inner_text() == ""
