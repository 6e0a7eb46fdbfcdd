"""The checks of arguments: what passes comes back as its type, what does not is named in one line."""

from decimal import Decimal

import numpy as np
import pytest
import torch
from refusal import refuses

from fslcore.errors import (
    broadcast,
    check_together,
    check_unique,
    choice,
    flag,
    floats,
    instance,
    labels,
    number,
    reason,
    shown,
    visible,
    whole,
    wholes,
)


@pytest.mark.parametrize(
    "check, value",
    [
        (lambda: whole("n", np.int8(3), 3, 3), 3),
        (lambda: number("x", 2, minimum=2, maximum=2), 2.0),
        (lambda: number("x", np.array(2.0)), 2.0),
        (lambda: number("x", float("inf"), infinite=True), float("inf")),
        (lambda: number("x", Decimal("71.2"), over=1), 71.2),
        (lambda: flag("f", np.True_), True),
        (lambda: floats("a", [1, True]).tolist(), [1.0, 1.0]),
        (lambda: floats("a", np.array([1, 2.5], dtype=object)).tolist(), [1.0, 2.5]),
        (lambda: floats("a", np.ma.masked_less([1.0, 2.0], 0)).tolist(), [1.0, 2.0]),
        (lambda: floats("a", torch.tensor([0.5, 1.5], dtype=torch.bfloat16)).tolist(), [0.5, 1.5]),
        (lambda: floats("a", [1e-31, 0.0], extreme=True).tolist(), [1e-31, 0.0]),
        (lambda: wholes("w", np.array([3], np.uint8)).dtype, np.dtype("int64")),
        (lambda: labels("l", np.array([1, 2.5], object)).tolist(), [1, 2.5]),
        (lambda: check_together(low=None, high=None), None),
        (lambda: check_together(low=0, high=1), None),
        (lambda: check_unique("u", [1, "1", "a"]), None),
        (lambda: [x.tolist() for x in broadcast(x=1, y=[2, 3])], [[1, 1], [2, 3]]),
        (lambda: shown("x" * 80), "x" * 80),
        (lambda: shown("x" * 81), "x" * 77 + "..."),
        (lambda: visible("a\u200db\u200e\x1b"), "a\u200db\\u200e\\x1b"),
        (lambda: reason(ValueError("a\n" + "b" * 300)), "ValueError: a " + "b" * 198),
    ],
)
def test_what_fits_comes_back(check, value):
    assert check() == value


GRADIENTS = torch.ones(2, requires_grad=True)


@pytest.mark.parametrize(
    "check, name, value, allowed",
    [
        (lambda: whole("n", True, 1), "n", "True", ">= 1"),
        (lambda: whole("n", 10**9, 2, 10**6), "n", "1000000000", "2 to 1,000,000"),
        (lambda: number("x", 0, over=0, maximum=2), "x", "got 0", "> 0 and <= 2"),
        (lambda: number("x", "0.82"), "x", "'0.82'", "finite"),
        (lambda: whole("n", "5"), "n", "'5'", "integer"),
        (lambda: number("x", np.nan), "x", "nan", "finite"),
        (lambda: number("x", Decimal("sNaN"), over=0), "x", "Decimal('sNaN')", "> 0"),
        (lambda: number("x", 10**400, over=0), "x", f"1{'0' * 76}...", "> 0"),
        (lambda: flag("f", 1), "f", "1", "True or False"),
        (lambda: choice("c", "opem", ["open", "closed"]), "c", "opem", "'open' or 'closed'"),
        (lambda: choice("c", "opem", ["open", "closed"]), "c", "opem", "mean 'open'?"),
        (lambda: choice("c", "n9x", [f"n{i}" for i in range(21)]), "c", "n9x", "21 names"),
        (lambda: choice("c", "n9x", [f"n{i}" for i in range(21)]), "c", "n9x", "mean 'n9'?"),
        (lambda: floats("a", [1j]), "a", "complex128", "numbers"),
        (lambda: floats("a", 1.0), "a", "shape ()", "1 dimension"),
        (lambda: floats("a", [GRADIENTS]), "a", "requires_grad=True", "array of numbers"),
        (lambda: floats("a", np.ma.masked_less([1.0, 2.0], 2)), "a", "got 1 of 2", "masked"),
        (lambda: floats("a", [1e-31]), "a", "1e-31", "0 or 1e-30 to 1e+30"),
        (lambda: wholes("w", np.array([2**63], np.uint64)), "w", str(2**63), "63 bits"),
        (lambda: floats("a", [np.nan, 1.0]), "a", "got NaN or infinity in 1 of 2 values", "finite"),
        (lambda: wholes("w", [True]), "w", "got bool", "integers"),
        (lambda: wholes("w", [5.0], 1), "w", "float64 (shape (1,))", "integers"),
        (
            lambda: labels("l", [1.0, np.inf]),
            "l",
            "got NaN or infinity for 1 of 2 images",
            "finite",
        ),
        (lambda: labels("l", ["a"], 2), "l", "got shape (1,)", "shape (2,), one per image"),
        (lambda: instance("i", "x", (list, tuple)), "i", "got 'x'", "of type list or tuple"),
        (lambda: labels("l", [["a"]]), "l", "shape (1, 1)", "(N,)"),
        (lambda: labels("l", np.array([1j])), "l", "array([0.+1.j])", "numbers alone"),
        (lambda: check_together(low=1, high=None, df=0), "low", "got low and df", "given together"),
        (lambda: check_unique("u", [1, "a", 1]), "u", "got 1", "different"),
        (lambda: broadcast(x=[1, 2], y=[1, 2, 3]), "arrays", "x (2,), y (3,)", "broadcast"),
    ],
)
def test_what_does_not_fit_is_named_with_its_value_and_what_is_allowed(check, name, value, allowed):
    with refuses(rf"^{name}\b") as error:
        check()
    text = str(error.value)
    assert " must " in text and ", got " in text
    assert value in text and allowed in text.replace(value, "", 1), text
