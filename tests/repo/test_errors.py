"""The checks of arguments: what passes comes back as its type, what does not is named in one line."""

from decimal import Decimal

import numpy as np
import pytest
import torch

from fslcore.errors import (
    InputError,
    choice,
    flag,
    floats,
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
        (lambda: shown("x" * 80), "x" * 80),
        (lambda: shown("x" * 81), "x" * 77 + "..."),
        (lambda: visible("a\u200db\u200e\x1b"), "a\u200db\\u200e\\x1b"),
        (lambda: reason(ValueError("a\n" + "b" * 300)), "ValueError: a " + "b" * 198),
    ],
)
def test_what_fits_comes_back(check, value):
    assert check() == value


@pytest.mark.parametrize(
    "check, says",
    [
        (lambda: whole("n", True, 1), "n = True; a whole number of at least 1 is allowed"),
        (
            lambda: whole("n", 10**9, 2, 10**6),
            "n = 1000000000; a whole number from 2 to 1,000,000 is allowed",
        ),
        (
            lambda: number("x", 0, over=0, maximum=2),
            "x = 0; a number over 0 and up to 2 is allowed",
        ),
        (lambda: number("x", "0.82"), "x = '0.82'; a number that is finite is allowed"),
        (lambda: whole("n", "5"), "n = '5'; a whole number is allowed"),
        (lambda: number("x", np.nan), "x = nan; a number that is finite is allowed"),
        (
            lambda: number("x", Decimal("sNaN"), over=0),
            "x = Decimal('sNaN'); a number over 0 is allowed",
        ),
        (lambda: number("x", 10**400, over=0), f"x = 1{'0' * 76}...; a number over 0 is allowed"),
        (lambda: flag("f", 1), "f = 1; True or False is allowed"),
        (
            lambda: choice("c", "opem", ["open", "closed"]),
            "c = opem; open, closed are allowed (did you mean open?)",
        ),
        (
            lambda: choice("c", "n9x", [f"n{i}" for i in range(21)]),
            "c = n9x; one of 21 names is allowed (did you mean n9?)",
        ),
        (lambda: floats("a", [1j]), "a holds complex128; numbers are allowed"),
        (lambda: floats("a", 1.0), "a has shape (); 1 dimension is needed"),
        (
            lambda: floats("a", [torch.ones(2, requires_grad=True)]),
            "a = [tensor([1., 1.], requires_grad=True)]; an array of numbers is allowed",
        ),
        (
            lambda: floats("a", np.ma.masked_less([1.0, 2.0], 2)),
            "a: 1 values are masked; leave them out first",
        ),
        (
            lambda: floats("a", [1e-31]),
            "a: the largest magnitude is 1e-31; 0 or 1e-30 to 1e+30 is allowed",
        ),
        (
            lambda: wholes("w", np.array([2**63], np.uint64)),
            "w holds 9223372036854775808; whole numbers of up to 63 bits are allowed",
        ),
        (lambda: labels("l", [["a"]]), "l: shape (1, 1); (N,), one per image, is needed"),
        (
            lambda: labels("l", np.array([1j])),
            "l = array([0.+1.j]); numbers alone or texts alone are allowed, without None and NaN",
        ),
    ],
)
def test_what_does_not_fit_is_named(check, says):
    with pytest.raises(InputError) as error:
        check()
    assert str(error.value) == says
