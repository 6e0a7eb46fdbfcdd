"""Planning: against statsmodels, and by drawing what was planned."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from statsmodels.stats.power import NormalIndPower, TTestPower

from fslbook.beyond import coverage
from fslcore.errors import InputError
from fslcore.stats import Interval, Plan, ThreeIntervals, closed_interval, detectable, plan, power, smallest


@given(st.floats(0.05, 3), st.integers(3, 400), st.floats(0.8, 0.99))
def test_power_is_that_of_statsmodels(effect, n, level):
    assume(effect * np.sqrt(n) < 7)  # beyond, SciPy's lower tail gives statsmodels a NaN
    theirs = TTestPower().power(effect, n, 1 - level)
    assert power(effect, 1 / np.sqrt(n), n - 1, level) == pytest.approx(theirs, abs=1e-6)


def test_power_with_known_variance():
    theirs = NormalIndPower(ddof=0).power(0.3, 50, 0.05, ratio=0)
    assert power(0.3, 1 / np.sqrt(50)) == pytest.approx(theirs, abs=1e-9)


@settings(max_examples=30)
@given(st.floats(0.01, 100), st.floats(1, 1000), st.floats(0.3, 0.99))
def test_detectable_turns_power_around(standard_error, df, wanted):
    found = detectable(standard_error, df, power=wanted)
    assert power(found, standard_error, df) == pytest.approx(wanted, abs=1e-6)


def pilot(values, image_variance, class_variance):
    closed = closed_interval(values)
    sampling = float(np.var(values, ddof=1) / len(values))
    half = 1.959963984540054 * np.sqrt(image_variance + sampling)
    images = Interval(closed.mean, half, 0.95, len(values), "images")
    return ThreeIntervals(closed, images, closed, sampling, image_variance, class_variance)


def test_tasks_are_those_of_a_paired_t_test():
    values = np.random.default_rng(0).normal(0, 8, 300)
    found = plan(pilot(values, 1.0, 2.0), images=50, classes=20, ways=5, shots=1, difference=1.5)
    theirs = TTestPower().solve_power(1.5 / values.std(ddof=1), power=0.8, alpha=0.05)
    assert found.tasks == int(np.ceil(theirs))


@settings(max_examples=30)
@given(st.floats(0.001, 10), st.floats(0.001, 30), st.floats(0.2, 5), st.floats(0.5, 0.95))
def test_what_is_planned_is_enough_and_no_more(by_image, by_class, difference, wanted):
    made = pilot(np.linspace(-10, 10, 100), by_image, by_class)
    found = plan(made, images=40, classes=12, ways=5, shots=1, difference=difference, power=wanted)

    def reached(images=None, classes=None):
        if images is not None:
            return power(difference, np.sqrt(by_image * 40 / images), images * 12 - 1)
        return power(difference, np.sqrt(by_class * 12 / classes), classes - 1)

    assert reached(images=found.images) >= wanted - 1e-6 and reached(classes=found.classes) >= wanted - 1e-6
    assert found.images == 3 or reached(images=found.images - 1) < wanted
    assert found.classes == 6 or reached(classes=found.classes - 1) < wanted


def test_a_planned_number_of_images_gives_the_wanted_chance():
    """Two backbones, one a little better on these classes: plan from one test set, then draw many."""
    found = coverage.check_plan(40, power=0.8, level=0.95, seed=3)
    assert found["images"] > 30 and found["difference"] > 0
    assert 0.6 < found["told"] < 0.95
    assert found["told_by_pilot"] < found["told"]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: power(1, 0), "standard_error = 0"),
        (lambda: power(1, 1, 0.5), "df = 0.5"),
        (lambda: power(1, 1, level=2), "level = 2"),
        (lambda: detectable(1, power=0.01), "power = 0.01"),
        (lambda: plan(pilot([1, 2], 1, 1), images=5, classes=8, ways=5, shots=1, difference=0), "difference = 0"),
    ],
)
def test_bad_input_is_told(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_no_plan_for_new_classes_where_the_pilot_tells_nothing_of_them():
    found = plan(pilot([1, 2, 3], 1.0, np.inf), images=20, classes=5, ways=5, shots=1, difference=1)
    assert isinstance(found, Plan) and found.classes is None


def test_power_of_a_huge_difference_is_1_and_tends_to_it():
    assert [power(x, 1.0, df) for x in (1e12, 1e200) for df in (1, 20, np.inf)] == [1.0] * 6


@pytest.mark.parametrize("arguments, found", [((3,), 7), ((3, 6), None), ((3, 7), 7), ((9,), 9), ((1,), 7)])
def test_smallest_looks_in_its_range(arguments, found):
    assert smallest(lambda n: n >= 7, *arguments) == found


def test_smallest_ends():
    assert smallest(lambda n: False, 2) is None and smallest(lambda n: n >= 10**12, 2) == 10**12
    for arguments, name in (((0,), "least = 0"), ((-3,), "least = -3"), ((20, 10), "most = 10"), ((2, 10**30), "most")):
        with pytest.raises(InputError, match=name):
            smallest(lambda n: n > 5, *arguments)
