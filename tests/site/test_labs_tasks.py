"""The lab "How many tasks?", in Chromium: its numbers are those of `stats.plan_sample_size` for the same input."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browsing import page_of
from refusal import says_in_one_line

from fslcore import stats
from fslcore.stats.planning import smallest

ROOT = Path(__file__).resolve().parents[2]
LABS = ROOT / "book" / "_static" / "labs"
SCRIPTS = (
    "labs.js",
    "papaparse/papaparse.min.js",
    "report_columns.js",
    "report_table.js",
    "report_roles.js",
    "report_rows.js",
    "tasks.js",
)
PILOT = "a whole number, in digits alone, from 2 to 1000000000 is allowed."
USUAL = dict(
    deviation=8.0,
    pilot=None,
    difference=1.0,
    power=0.8,
    level=0.95,
    ways=None,
    shots=None,
    queries=None,
)
LABELS = {
    "deviation": "Standard deviation of the differences, in points",
    "pilot": "Tasks behind it",
    "difference": "Difference worth finding",
    "power": "Power, in %",
    "level": "Level, in %",
    "classes": "Classes",
    "images": "Images per class",
    "ways": "Ways",
    "shots": "Shots",
    "queries": "Queries per class",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with the block of the guide, and nothing else."""
    block = re.search(
        r'<link[^\n]*\n<div class="fsl-lab" data-lab="tasks">.*?(?=\n```)', _guide(), re.S
    )[0]
    assert re.findall(r'labs/([\w./]+\.js)"', block) == list(SCRIPTS)
    return page_of(
        tmp_path_factory.mktemp("lab") / "page.html", block.replace("_static/labs", LABS.as_uri())
    )


def _guide():
    return (ROOT / "book" / "guide.md").read_text("utf-8")


@pytest.fixture
def page(phone, address):
    phone.goto(address)
    phone.wait_for_function("() => document.querySelector('.fsl-says')?.textContent")
    return phone


def planned(deviation, pilot, difference, power, level):
    """Number of tasks and its range, by Python."""
    if pilot is None:
        n = smallest(
            lambda t: stats.power(difference, deviation / np.sqrt(t), t - 1, level) >= power, 2
        )
        return [n, n, n]
    closed = stats.Interval(0.0, 1.0, level, pilot, "these images", np.inf)
    unknown = [
        stats.Interval(0.0, np.inf, level, pilot, kind, np.nan)
        for kind in ("new images", "new classes")
    ]
    answer = stats.ThreeIntervals(closed, *unknown, deviation**2 / pilot, np.inf, np.inf)
    plan = stats.plan_sample_size(
        answer,
        difference=difference,
        n_classes=5,
        images_per_class=20,
        ways=5,
        shots=1,
        target_power=power,
        confidence_level=level,
    )
    assert plan.images_per_class is None and plan.n_classes is None
    return [plan.n_tasks, *plan.tasks_range]


CASES = [
    (8.0, None, 1.0, 0.8, 0.95),
    (8.0, 600, 1.0, 0.8, 0.95),
    (12.345, 100, 0.7, 0.9, 0.99),
    (5.0, 2, 3.0, 0.6, 0.9),
    (0.01, None, 5.0, 0.8, 0.95),  # a tiny standard deviation
    (9.0, None, 100.0, 0.8, 0.95),  # a huge difference
    (6.5, 40, 1.25, 0.99, 0.999),
    (142.0, 10000, 1.0, 0.999, 0.9999),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_numbers_of_tasks_are_those_of_the_library(page, case):
    inputs = USUAL | dict(zip(USUAL, case)) | {"classes": None}
    answer = page.evaluate("given => fslLabs.compute.tasks.answer(given).tasks", inputs)
    assert [answer["size"], answer["low"], answer["high"]] == planned(*case)


def test_images_are_those_of_the_open_tasks(page):
    answers = dict(classes=7, ways=5, shots=5, queries=15)
    tasks = planned(8.0, None, 1.0, 0.8, 0.95)[0]
    answer = page.evaluate("answers => fslLabs.compute.tasks.answer(answers)", USUAL | answers)
    assert answer["images"] == tasks * 5 * 20 and answer["inEach"] == -(-tasks * 5 // 7) * 20
    count = page.evaluate(
        "answers => fslLabs.compute.tasks.openTasks(answers)", answers | {"perClass": 59}
    )
    assert count == 7 * 2 // 5


def test_the_sentence_without_scripts_is_about_right():
    assert "7.85 (SD / difference)² + 2 tasks" in _guide() and "(how-many-tasks)=\n" in _guide()
    for ratio in (0.1, 0.3, 0.6, 1.0):
        assert abs(planned(1.0, None, ratio, 0.8, 0.95)[0] - 7.85 / ratio**2 - 2) <= 1


# ---------------------------------------------------------------- the form


def fill(page, **values):
    """Type values by keyboard; what is said once they are read."""
    for name, value in values.items():
        page.get_by_label(LABELS[name], exact=name in ("classes", "ways", "shots")).press(
            "Control+A"
        )
        page.keyboard.type(str(value)) if value != "" else page.keyboard.press("Delete")
    page.wait_for_timeout(200)  # longer than changes rest
    return page.locator(".fsl-says").text_content(), page.locator(
        ".fsl-notes li"
    ).all_text_contents()


def test_the_form_answers_by_target(page):
    n = planned(11.5, 300, 2.5, 0.9, 0.99)
    sentence, notes = fill(page, deviation="11,5", pilot=300, difference=2.5, power=90, level=99)
    assert sentence.startswith(
        f"Finding a difference of 2.5 points with 90 % power (level 99 %) takes {n[0]:,} closed tasks "
        f"for these images, or at least {n[0]:,} open tasks for new images of these classes. The number of classes"
    )
    assert [note.split(":")[0] for note in notes] == [
        "These images",
        "New images of these classes",
        "New classes",
    ]
    assert (
        f"from 300 tasks leaves open {n[1]:,} to {n[2]:,}." in notes[0]
        and "these images only" in notes[0]
    )
    assert (
        "Enter ways, shots and queries" in notes[1]
        and "stats.plan_sample_size" in notes[1]
        and "stats.plan_sample_size" in notes[2]
    )
    sentence, notes = fill(page, classes=20, images=60, ways=5, shots=5, queries=15)
    assert (
        f"{n[0]:,} × 5 × (5 + 15) = {n[0] * 100:,} images, or {-(-n[0] // 4) * 20:,} in each of 20 cl"
        in notes[1]
    )
    assert "Your 60 images per class allow 12 open tasks: too few." in notes[1]
    _, notes = fill(page, images=n[0] * 20)
    assert f"allow {n[0] * 4:,} open tasks: enough." in notes[1]


@pytest.mark.parametrize(
    "values, line",
    [
        ({"deviation": ""}, "The standard deviation is missing; type it, or drop a file of per-task accuracies."),
        ({"deviation": "-3"}, "Standard deviation = -3; a number from 0.01 to 142 is allowed."),
        ({"pilot": "10,000"}, f"Tasks behind it = 10,000; {PILOT}"),
        ({"power": "5"}, "Power = 5; more than 100 % minus the level, 5 %, is allowed."),
        ({"shots": "5"}, "Fill in ways, shots and queries, or none of the three."),
        (dict(ways=5, shots=1, queries=15, classes=4), "Classes = 4; at least as many as ways, 5, are allowed."),
    ],
)  # fmt: skip
def test_bad_input_gets_one_line(page, values, line):
    sentence, notes = fill(page, **values)
    assert sentence == line and notes == [] and page.locator(".fsl-says.fsl-wrong").count() == 1
    fill(
        page,
        deviation=8,
        pilot="",
        difference=1,
        power=80,
        level=95,
        ways="",
        shots="",
        queries="",
        classes="",
    )
    assert (
        page.locator(".fsl-says.fsl-wrong").count() == 0
        and page.locator(".fsl-notes li").count() == 3
    )


def dropped(page, tmp_path, text, name="mine.csv"):
    (tmp_path / name).write_text(text, "utf-8")
    page.get_by_label("Or drop a file").set_input_files(tmp_path / name)
    page.wait_for_timeout(200)
    return page.locator(".fsl-says").text_content()


def test_a_file_gives_the_standard_deviation_of_the_chosen_pair(page, tmp_path):
    rng = np.random.default_rng(5)
    shares = pd.DataFrame(rng.uniform(0.4, 0.9, (80, 3)).round(4), columns=["ours", "ncc", "base"])
    long = shares.melt(ignore_index=False, var_name="method", value_name="accuracy")
    dropped(page, tmp_path, long.to_csv(index_label="task"))
    page.get_by_label("minus").select_option("2")
    sd = float((100 * (shares["ours"] - shares["base"])).std(ddof=1))
    page.wait_for_timeout(200)
    assert (
        f"takes {planned(sd, 80, 1.0, 0.8, 0.95)[0]:,} closed"
        in page.locator(".fsl-says").text_content()
    )
    assert float(page.get_by_label(LABELS["deviation"]).input_value()) == float(f"{sd:.5g}")
    assert page.get_by_label(LABELS["pilot"]).input_value() == "80"
    page.get_by_label("minus").select_option("0")
    assert (
        "ours − ours is the same on every task"
        in page.locator(".fsl-says.fsl-wrong").text_content()
    )


def test_a_bad_file_gets_one_line(page, tmp_path):
    wide = dropped(page, tmp_path, "task,ours,base\n1,70.5,70\n2,71.25,69\n")
    assert "ours, base have no role" in wide
    assert wide.endswith("that of Your results asks what others are.")
    lower = dropped(page, tmp_path, "method,task,accuracy ↓\na,1,5\na,2,6\nb,1,6\nb,2,7\n")
    assert lower == "mine.csv holds values of another measure; accuracies per task are needed."
    single = dropped(page, tmp_path, "method,task,accuracy\nours,1,70.5\nours,2,71.25\n")
    assert says_in_one_line(single, "mine.csv", "one method", "two")
    assert page.locator(".fsl-says.fsl-wrong").count() == 1
    means = dropped(
        page, tmp_path, "method,dataset,accuracy\na,CUB,50.5\nb,CUB,51\na,Cars,52\nb,Cars,53.5\n"
    )
    assert says_in_one_line(means, "mine.csv", "data sets", "per task")
    unshared = dropped(page, tmp_path, "method,task,acc\na,1,.5\na,2,.6\nb,2,.6\nb,3,.7\n")
    assert says_in_one_line(unshared, "a and b", "1 task", "2")


@pytest.mark.slow
def test_every_input_has_a_label_and_a_phone_is_wide_enough(page):
    unlabelled = "() => [...document.querySelectorAll(':is(input, select)')].filter(e => !e.labels.length).length"
    assert page.evaluate(unlabelled) == 0
    fill(page, classes=20, images=60, ways=5, shots=5, queries=15)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
