"""A rule for a number, beside plausible faulty ones: what the rules of two files of tests are judged by."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

TOLERANCE = 1e-7  # relative: two ways to compute one number
GAP = 1e-3  # relative: what a faulty rule is off by at least


class Rule(NamedTuple):
    """Numbers (one or several) that the code gives, that are right, and that faulty rules would give, by fault."""

    found: object
    right: object
    wrong: dict[str, object]
    tolerance: float = TOLERANCE

    def check(self) -> None:
        """The number is the right one, and each faulty one is another."""
        found = np.asarray(self.found, float)
        np.testing.assert_allclose(
            found, np.asarray(self.right, float), rtol=self.tolerance, atol=1e-15
        )
        gap = max(GAP, 2 * self.tolerance)
        for fault, numbers in self.wrong.items():
            is_near = np.isclose(found, np.asarray(numbers, float), rtol=gap, atol=0)
            assert not is_near.all(), fault


class Rules(dict):
    """Functions that return a `Rule`, by name."""

    def of(self, *statistics: Callable) -> Callable:
        """A decorator that notes a function, and what it is about."""

        def note(function: Callable[[], Rule]) -> Callable[[], Rule]:
            self[function.__name__] = function
            function.statistics = statistics
            return function

        return note
