"""The data of the longer exercises: as their script makes them, and small."""

import sys
from pathlib import Path

import pytest
import yaml

from fslbook.beyond import course
from fslcore.errors import InputError
from fslcore.paths import DATA

ROOT = Path(__file__).resolve().parents[2]
HOME = DATA / "course"


@pytest.fixture
def build(monkeypatch):
    monkeypatch.syspath_prepend(str(HOME))
    sys.modules.pop("build", None)
    yield __import__("build")
    sys.modules.pop("build", None)


def digests():
    return {
        name: digest
        for digest, name in map(str.split, (HOME / "SHA256SUMS").read_text("utf-8").splitlines())
    }


def test_the_script_makes_the_files_that_ship(build, tmp_path):
    build.build(tmp_path)
    for name in digests():
        if name != "timings.csv":  # measured; whoever measures again need not make it again
            assert (tmp_path / name).read_bytes() == (HOME / name).read_bytes(), name


def test_rows_of_one_task_go_together():
    """What the answers pair is measured on the same tasks."""
    trap = course.table("trap")
    assert (
        trap.groupby("dataset")["task"].agg(["min", "max", "size"]).eq([0, 99, 100]).all(axis=None)
    )
    review = course.table("review")
    assert (review.groupby(["dataset", "task"])["learner"].nunique() == 3).all() and len(
        review
    ) == 1800
    record = course.recording()
    first, second = record.methods
    assert (record.support[first] == record.support[second]).all() and (
        record.query[first] == record.query[second]
    ).all()


QUESTIONS = yaml.safe_load((HOME / "answers.yml").read_text("utf-8"))


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_checked_and_usual_mistakes_named(name):
    question = QUESTIONS[name]
    assert question["asked"] in course.check(name, ...)
    assert str(question["right"]) not in course.check(name, ...)
    assert course.check(name, question["right"] + 0.9 * question["within"]).startswith("Right")
    for mistake, value in question["mistakes"].items():
        assert f"Wrong: {value:g} is {mistake}" in course.check(name, value)
    assert "not a usual mistake" in course.check(name, -1e6)
    assert f"Wrong: {-question['right']:g} has the wrong sign" in course.check(
        name, -question["right"]
    )
    call = f'course.check("{name}", ...)'
    assert sum(call in page.read_text("utf-8") for page in (ROOT / "notebooks").glob("*.md")) == 1


@pytest.mark.parametrize(
    "name, answer, words",
    [
        ("trap", 0.6177, "is a share of 1. Asked is the share of wAcc-R that is lost"),
        ("claim", 0.0194, "is a share of 1"),
        ("comparing-methods", 80.62, "is a percentage"),
        ("cost", 7.407, "not a usual mistake"),  # of a number of tasks there is no share
    ],
)
def test_a_share_for_a_percentage_is_named_and_the_reverse(name, answer, words):
    line = course.check(name, answer)
    assert line.startswith(f"Wrong: {answer:g} ") and words in line


@pytest.mark.parametrize(
    "question, message",
    [
        (("primer", "0.82"), "answer must be a finite number, got '0.82'"),
        (("claim", "two"), "answer must be a finite number, got 'two'"),
        (("claims", 2), "exercise must be .*'claim', .*got 'claims'; did you mean 'claim'"),
    ],
)
def test_what_is_no_answer_gets_one_line(question, message):
    with pytest.raises(InputError, match=message):
        course.check(*question)
