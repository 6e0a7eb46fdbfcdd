"""The lab with a trap: its tasks are the chapter's biased ones, and what the page says of them is what NumPy counts."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from browsing import page_of

from fslbook import attributes
from fslbook.fewstab import tables, trap
from fslcore import evaluation

LABS = Path(__file__).resolve().parents[2] / "book" / "_static" / "labs"
SET, SHOTS, QUERIES, WAYS = "clipart", 5, 15, 5
KINDS = ("random", "biased")


@pytest.fixture(scope="module")
def methods():
    return {name: method for name, method in trap.learners().items() if name.startswith("ProtoNet")}


@pytest.fixture(scope="module")
def lab_data(methods):
    return trap.traps(SET, methods)


def digits(text):
    return np.array([int(c, 32) for c in text])


@pytest.mark.slow
def test_tasks_are_the_chapter_s_and_each_attribute_is_the_clue_of_one_class(lab_data):
    drawn_tasks, attribute = tables.draw(
        SET, "pixels", tasks=trap.TASKS, shots=SHOTS, queries=QUERIES, seed=0
    )
    matrix = attributes.of(tables.images_of(SET), "pixels")
    assert len(lab_data["tasks"]) == len({t["attribute"] for t in lab_data["tasks"]}) == 6
    used = np.bincount(attribute.ravel())
    assert matrix.names[used.argmax()] == lab_data["tasks"][0]["attribute"]
    for task in lab_data["tasks"]:
        assert task["clues"][task["at"]] == task["attribute"] and len(set(task["clues"])) == WAYS
        assert any([matrix.names[a] for a in row] == task["clues"] for row in attribute)


@pytest.mark.slow
def test_random_queries_are_other_images_of_the_class_and_biased_ones_lack_the_clue(lab_data):
    shares = []
    for task in lab_data["tasks"]:
        for k in range(WAYS):
            support, random = set(task["support"][k]), set(task["query"]["random"][k])
            assert len(support) == SHOTS and len(random) == 3 and not support & random
            lures = digits(task["shows"]["biased"])[k * QUERIES : (k + 1) * QUERIES] >> k & 1
            assert not lures.any()
        others = [
            (digits(task["shows"][kind]) & ~(1 << np.arange(WAYS).repeat(QUERIES)) > 0)
            for kind in KINDS
        ]
        shares.append([of.mean() for of in others])
    random, biased = np.mean(shares, axis=0)
    assert biased > random + 0.05


def test_answers_are_those_of_the_learners_on_these_tasks(lab_data, methods):
    drawn_tasks, _ = tables.draw(SET, "pixels", tasks=60, shots=SHOTS, queries=QUERIES, seed=0)
    images = tables.images_of(SET)
    for at, method in enumerate(methods.values()):
        run = evaluation.configure(images, *method)
        right = run.outcomes(drawn_tasks).correct
        for task in lab_data["tasks"]:
            ours = digits(task["answers"]["biased"][at]) == np.repeat(np.arange(WAYS), QUERIES)
            assert any((ours == row).all() for row in right)


def test_the_place_in_a_page_holds_the_data_whole_and_no_markup_of_theirs(lab_data):
    evil = {**lab_data, "learners": ["</script><img src=x>", *lab_data["learners"][1:]]}
    html = trap.html({SET: evil})
    data = re.search(
        r'<script type="application/json" id="fsl-trap-data">(.*?)</script>', html, re.DOTALL
    )[1]
    assert json.loads(data) == {SET: evil} and "<img" not in html
    assert all((LABS / name).is_file() for name in re.findall(r"_static/labs/([\w.]+)", html))


# ---------------------------------------------------------------- the page


@pytest.fixture
def page(phone, lab_data, tmp_path):
    html = trap.html({SET: lab_data}).replace("_static/labs", LABS.as_uri())
    phone.goto(page_of(tmp_path / "page.html", html))
    return phone


def counted(task, kind, learner):
    predicted, shows = digits(task["answers"][kind][learner]), digits(task["shows"][kind])
    truth = np.repeat(np.arange(WAYS), QUERIES)
    right = predicted == truth
    return {
        "of": len(predicted),
        "right": int(right.sum()),
        "share": 100 * right.mean(),
        "worst": 100 * right.reshape(WAYS, -1).mean(axis=1).min(),
        "wrong": int((~right).sum()),
        "lured": int(((shows >> predicted & 1) & ~right).sum()),
    }


def test_every_number_is_that_of_numpy(page, lab_data):
    call = "([task, kind, learner]) => fslLabs.compute.trap.summary(task, kind, learner)"
    for task in lab_data["tasks"]:
        for kind in KINDS:
            for learner in range(len(lab_data["learners"])):
                assert page.evaluate(call, [task, kind, learner]) == pytest.approx(
                    counted(task, kind, learner), 1e-9
                )


def test_the_reader_chooses_by_keyboard_and_reads_the_result(page, lab_data):
    page.get_by_label("Clue of one class").focus()
    page.keyboard.press("ArrowDown")
    page.get_by_label("Learner that answers").select_option("0")
    task = lab_data["tasks"][1]
    r, a = (counted(task, kind, 0) for kind in KINDS)
    says = page.locator(".fsl-says").text_content()
    name = lab_data["learners"][0]
    assert says.startswith(
        f"{name}: {r['share']:.0f} % of the random queries right, {a['share']:.0f} %"
    )
    assert (
        f"{a['lured']} of {a['wrong']} wrong answers name a class"
        in page.locator(".fsl-lab").inner_text()
    )
    assert (
        page.locator(".fsl-row").count() == WAYS
        and page.locator(".fsl-name", has_text="(yours)").count() == 1
    )
    pictures = page.locator(".fsl-row img")
    assert pictures.count() == WAYS * (SHOTS + 2 * 3)
    assert page.evaluate(
        "[...document.images].every(i => i.complete && i.naturalWidth === 48 && i.alt)"
    )
    hits = page.locator(".fsl-hit").count()
    visible = [digits(task["answers"][kind][0]).reshape(WAYS, -1)[:, :3] for kind in KINDS]
    assert hits == sum(int((of == np.arange(WAYS)[:, None]).sum()) for of in visible)
    assert page.locator(".fsl-hit", has_text="✓").count() == hits
    assert page.locator(".fsl-miss", has_text="✗").count() == 30 - hits
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
