"""Bad and odd input: a sample of the cases of ``benchmarks/misuse.py``, and what that battery calls an outcome."""

import sys
import time
import warnings
from collections import Counter

import pytest
from misuse import common, features, images, results

from fslcore.errors import InputError
from fslcore.paths import ROOT

# What is not as it should be yet, by the word of the battery.
OPEN = {
    "PNG, 12 of 16 bits in colour",
    "JPEG, turned by its Exif",
    "a film beside them",
    "images in the top folder too",
    "a class that is a link to all",
    "labels: texts with nan",
}
SAMPLE = [
    case
    for case in [*images.forms, *images.folders, *features.numbers, *features.files, *results.cases[::10]]
    if case.name not in OPEN
]


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: f"{case.area}: {case.name}")
def test_bad_and_odd_input_is_named_or_taken_rightly(case):
    with common.folder():
        outcome, seen = common.judge(case)
    assert outcome in common.GOOD, f"{outcome}: {seen}"


def refuse(text):
    raise InputError(text)


def warn(text):
    warnings.warn(text, stacklevel=1)


@pytest.mark.parametrize(
    "call, wanted, outcome",
    [
        (lambda: refuse("x = 3; 4 is allowed"), dict(says=("3", "4|5")), "named"),
        (lambda: refuse("something is wrong"), dict(says=("3",)), "misnamed"),
        (lambda: refuse("x = 3"), dict(right=common.fine), "misnamed"),
        (lambda: refuse("x = 3\nor 4"), dict(says=("3",)), "misnamed"),
        (lambda: 3, dict(says=("3",)), "silent"),
        (lambda: 3, dict(right=common.near(3)), "right"),
        (lambda: 3, dict(right=common.near(4)), "silent"),
        (lambda: 3, dict(right=common.near(4), expected=True), "lacking"),
        (lambda: warn("x is odd"), dict(warns=("odd",)), "warned"),
        (lambda: warn("x is odd"), dict(warns=("even",)), "silent"),
        (lambda: 1 / 0, dict(says=("",)), "traceback"),
        (lambda: sys.exit(1), dict(says=("",)), "traceback"),
        (lambda: time.sleep(5), dict(says=("",), limit=0.1), "hang"),
        (lambda: common.Ran(2, "", "fslcore: x = 3\n"), dict(says=("3",)), "named"),
        (lambda: common.Ran(2, "", "usage: x\nx: error: 3\n"), dict(says=("3",)), "named"),
        (lambda: common.Ran(2, "", "x = 3\nand\nmore\n"), dict(says=("3",)), "misnamed"),
        (lambda: common.Ran(1, "", "x = 3\n"), dict(says=("3",)), "traceback"),
        (lambda: common.Ran(0, "", "Traceback (most recent call last):\n"), dict(right=common.fine), "traceback"),
    ],
)
def test_an_outcome_is_what_it_is_called(call, wanted, outcome):
    assert common.judge(common.Case("area", "name", call, **wanted))[0] == outcome


def test_there_are_cases_enough_and_no_two_of_one_name(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["misuse.py"])
    import importlib.util

    spec = importlib.util.spec_from_file_location("battery", ROOT / "benchmarks" / "misuse.py")
    battery = importlib.util.module_from_spec(spec)
    monkeypatch.setattr("os.environ", dict(__import__("os").environ))  # it sets the number of threads
    spec.loader.exec_module(battery)
    cases = battery.cases()
    assert len(cases) >= 660
    assert len(Counter(case.area for case in cases)) == len(battery.AREAS)
