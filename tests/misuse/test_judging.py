"""The judge of this folder fails where it should."""

import warnings
from pathlib import Path

import pytest

from fslcore.errors import InputError

from .judging import Done, Warned, fine, has, judge, near, row


def refuse(text):
    raise InputError(text)


def warn(text):
    warnings.warn(text, stacklevel=1)


def written():
    Path("half").touch()
    refuse("x = 3")


@pytest.mark.parametrize(
    "call, expected",
    [
        row("refused", lambda: refuse("x = 3; 4 is allowed"), "3 & 4|5"),
        row("refused by a command", lambda: Done(2, "", "fslcore: x = 3\n"), "3"),
        row("refused after the usage", lambda: Done(2, "", "usage: x\nx: error: 3\n"), "3"),
        row("taken", lambda: 3, near(3)),
        row("warned", lambda: warn("x is odd"), Warned("odd")),
    ],
)
def test_what_is_as_expected_passes(call, expected):
    judge(call, expected)


@pytest.mark.parametrize(
    "call, expected",
    [
        row("a word is lacking", lambda: refuse("something is wrong"), "3"),
        row("two lines", lambda: Done(2, "", "x = 3\nand more\n"), "3"),
        row("a file is left", written, "3"),
        row("refused after the work", lambda: Done(2, "mean accuracy 3 %", "x = 3"), "3"),
        row("taken", lambda: 3, "3"),
        row("another exit code", lambda: Done(1, "", "x = 3"), "3"),
        row("another exception", lambda: 1 / 0, "zero"),
        row("refused though good", lambda: refuse("x = 3"), fine),
        row("another value", lambda: 3, near(4)),
        row("another text", lambda: Done(0, "even"), has("odd")),
        row("another warning", lambda: warn("x is odd"), Warned("even")),
        row("a traceback", lambda: Done(0, "Traceback (most recent call last):"), fine),
    ],
)
def test_what_is_not_fails(call, expected):
    with pytest.raises((AssertionError, ZeroDivisionError)):
        judge(call, expected)
