"""Planning: against statsmodels, and by drawing what was planned."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from refusal import refuses
from scipy import stats as scipy_stats
from statsmodels.stats.power import NormalIndPower, TTestPower

from fslcore import stats
from fslcore.stats import (
    Interval,
    ThreeIntervals,
    closed_task_interval,
    minimum_detectable_difference,
    plan_sample_size,
    power,
)
from fslcore.stats.planning import OF_CLASSES, Plan, smallest


@given(st.floats(0.05, 3), st.integers(3, 400), st.floats(0.8, 0.99))
def test_power_is_that_of_statsmodels(effect, n, level):
    theirs = TTestPower().power(effect, n, 1 - level)
    assume(not np.isnan(theirs))  # as SciPy's lower tail gives for large effects
    assert power(effect, 1 / np.sqrt(n), n - 1, level) == pytest.approx(theirs, abs=1e-6)


def test_power_with_known_variance():
    theirs = NormalIndPower(ddof=0).power(0.3, 50, 0.05, ratio=0)
    assert power(0.3, 1 / np.sqrt(50)) == pytest.approx(theirs, abs=1e-9)


@settings(max_examples=30)
@given(st.floats(0.01, 100), st.floats(1, 1000), st.floats(0.06, 0.99))
def test_detectable_turns_power_around(standard_error, df, wanted):
    difference = minimum_detectable_difference(standard_error, df, target_power=wanted)
    assert power(difference, standard_error, df) == pytest.approx(wanted, abs=1e-6)


SHAPE = dict(images_per_class=40, n_classes=12, ways=5, shots=1)  # of the pilot


def pilot(values, image_variance, class_variance, df=np.inf):
    closed = closed_task_interval(values)
    sampling = float(np.var(values, ddof=1) / len(values))

    def interval(variance, target):
        half_width = scipy_stats.t.ppf(0.975, df) * np.sqrt(variance + sampling)
        return Interval(closed.estimate, half_width, 0.95, len(values), target, df)

    images, classes = (
        interval(image_variance, "new images"),
        interval(class_variance, "new classes"),
    )
    return ThreeIntervals(closed, images, classes, sampling, image_variance, class_variance)


def test_tasks_are_those_of_a_paired_t_test():
    values = np.random.default_rng(0).normal(0, 8, 300)
    planned = plan_sample_size(pilot(values, 1.0, 2.0), difference=1.5, **SHAPE)
    theirs = TTestPower().solve_power(1.5 / values.std(ddof=1), power=0.8, alpha=0.05)
    # A known variance would need as many, and the pilot's 299 degrees of freedom cost one or two more.
    assert int(np.ceil(theirs)) < planned.n_tasks <= 1.02 * theirs
    assert planned.tasks_range[0] < theirs < planned.tasks_range[1]


@settings(max_examples=30)
@given(st.floats(0.001, 10), st.floats(0.001, 30), st.floats(0.2, 5), st.floats(0.5, 0.95))
def test_what_is_planned_is_enough_and_no_more(by_image, by_class, difference, wanted):
    estimates = pilot(np.linspace(-10, 10, 100), by_image, by_class)
    planned = plan_sample_size(estimates, difference=difference, target_power=wanted, **SHAPE)

    def with_images(n):
        variance = by_image * 40 / (1 + 8.5 / 40) * (1 + 8.5 / n) / n
        return power(difference, np.sqrt(variance), n * 12 - 1)

    def with_classes(n):
        variance = by_class * 12 / (1 + 4 / 12) * (1 + 4 / n) / n
        return power(difference, np.sqrt(variance), n - 1)

    for reached, size, minimum in (
        (with_images, planned.images_per_class, 3),
        (with_classes, planned.n_classes, 6),
    ):
        assert reached(size) >= wanted - 1e-6
        assert size == minimum or reached(size - 1) < wanted


def test_the_least_that_is_planned_is_what_leaves_one_out():
    """However large the difference: one image more than tasks take of a class, one class more, and two tasks."""
    estimates = pilot(np.linspace(-10, 10, 100), 1.0, 1.0)
    planned = plan_sample_size(estimates, difference=1e6, **SHAPE | {"shots": 3})
    assert (planned.n_tasks, planned.images_per_class, planned.n_classes) == (2, 5, 6)


WAYS, SHOTS, BETTER = 4, 5, 0.04


def world(rng, *shape):
    """Chances of two methods on open tasks, by class, (…, K) each: the first is better by `BETTER` on average."""
    easy = 0.3 + 0.4 * rng.beta(2, 2, (*shape, WAYS))
    by_task = 0.5 * (rng.beta(3, 3, (*shape, 1)) - 0.5)
    by_class = 0.4 * (rng.beta(3, 3, (*shape, WAYS)) - 0.5)
    half = (BETTER + by_task + by_class) / 2
    return (easy + half).clip(0, 1), (easy - half).clip(0, 1)


def pilot_of(rng, tasks, queries=6):
    a, b = (rng.random((tasks, WAYS, queries)) < chance[..., None] for chance in world(rng, tasks))
    return stats.estimate_variance(a.astype(int) - b, SHOTS)


def detected_share(rng, tasks, queries, studies=2000):
    """Share of studies of such a size whose paired interval lies above 0."""
    a, b = (
        rng.binomial(queries, chance).mean(axis=2) / queries
        for chance in world(rng, studies, tasks)
    )
    return np.mean(
        scipy_stats.ttest_1samp(a - b, 0, axis=1).statistic > scipy_stats.t.ppf(0.975, tasks - 1)
    )


@pytest.mark.parametrize("df, wanted", [(4, 0.8), (9, 0.6), (30, 0.9)])
def test_pilots_of_few_classes_plan_for_the_wanted_power_on_average(df, wanted):
    """Variances that fall as planned, and pilots as χ² has them: too little and too much margin both show."""

    def reached(n):
        return power(0.3, np.sqrt((1 + OF_CLASSES / n) / n), n - 1)

    truly = smallest(lambda n: reached(n) >= wanted, 6)
    chances, inside = [], []
    for variance in scipy_stats.chi2.ppf((np.arange(40) + 0.5) / 40, df) / df:
        estimates = pilot([1.0, 1.0], 0.0, variance * (1 + OF_CLASSES / (df + 1)) / (df + 1), df)
        shape = SHAPE | {"n_classes": df + 1, "ways": 2}
        planned = plan_sample_size(estimates, difference=0.3, target_power=wanted, **shape)
        chances.append(reached(planned.n_classes))
        inside.append(planned.classes_range[0] <= truly <= planned.classes_range[1])
    assert np.mean(chances) == pytest.approx(wanted, abs=0.015)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)


def test_a_plan_says_its_ranges():
    few, many = (
        plan_sample_size(pilot([1.0, 1.0], 0.1, 2.0, df), difference=2, **SHAPE)
        for df in (4, np.inf)
    )
    assert many.classes_range == (many.n_classes,) * 2
    assert many.n_classes < few.n_classes < few.classes_range[1]
    low, high = few.classes_range
    assert str(few).endswith(f"{few.n_classes} ({low} to {high:,}) classes")


def test_ranges_are_plans_for_the_ends_of_the_variances_interval():
    planned = plan_sample_size(pilot([1.0, 1.0], 0.5, 2.0, 30), difference=1, **SHAPE)
    for name, ends, df in (
        ("images_per_class", planned.images_range, 0.4 * 30),
        ("n_classes", planned.classes_range, 30),
    ):
        low, high = (
            getattr(
                plan_sample_size(pilot([1.0, 1.0], 0.5 * share, 2 * share), difference=1, **SHAPE),
                name,
            )
            for share in df / scipy_stats.chi2.ppf([0.975, 0.025], df)
        )
        assert ends == (low, high) and low < getattr(planned, name) < high


@pytest.mark.parametrize("wanted", [0.6, 0.8, 0.95])
def test_open_tasks_planned_from_a_pilot_have_the_wanted_power(wanted):
    rng = np.random.default_rng(0)
    planned = plan_sample_size(pilot_of(rng, 20_000), difference=BETTER, target_power=wanted)
    assert detected_share(rng, planned.n_tasks, planned.queries) == pytest.approx(wanted, abs=0.035)


def fewest_tasks(difference, model, queries):
    """Tasks with a power of 0.8, if the model is the truth."""
    variance = model.variance(queries, 1)
    return smallest(lambda t: power(difference, np.sqrt(variance / t), t - 1) >= 0.8, 2)


@pytest.mark.parametrize("difference", [0.04, 0.12, 0.4])
def test_open_tasks_take_about_the_fewest_images_that_do(difference):
    # Tasks that hardly vary: Q* is large.
    estimates = stats.estimate_variance(
        np.random.default_rng(4).choice([-1, 0, 1], (500, WAYS, 6)), SHOTS
    )
    planned = plan_sample_size(estimates, difference=difference)

    def images(queries):
        return (SHOTS + queries) * fewest_tasks(difference, estimates.expected, queries)

    # Q is chosen by the expected α, which where α may be 0 is a little above the estimate that sizes T.
    task = SHOTS + planned.queries
    expected = images(planned.queries)
    assert 0.85 * expected - task <= planned.images_per_class <= expected + 2 * task
    assert planned.images_per_class <= 1.1 * min(map(images, range(1, 40))) + 2 * task


@pytest.mark.parametrize("difference", [0.2, 0.3, 0.5])
def test_a_handful_of_open_tasks_pays_for_its_degrees_of_freedom(difference):
    open_pilot = pilot_of(np.random.default_rng(5), 20_000)
    planned = plan_sample_size(open_pilot, difference=difference)
    assert planned.n_tasks == fewest_tasks(difference, open_pilot.model, planned.queries) <= 12


def test_images_of_a_class_follow_the_number_of_classes():
    open_pilot = pilot_of(np.random.default_rng(3), 2000)
    first, many = (plan_sample_size(open_pilot, difference=BETTER, n_classes=n) for n in (WAYS, 20))
    assert (first.n_tasks, first.queries) == (many.n_tasks, many.queries)
    assert first == plan_sample_size(open_pilot, difference=BETTER)
    uses = many.images_per_class / (SHOTS + many.queries)
    assert uses == np.ceil(first.n_tasks * WAYS / 20)
    assert plan_sample_size(open_pilot, difference=-BETTER) == first  # either may be the better one


def test_no_plan_for_new_classes_where_the_pilot_tells_nothing_of_them():
    planned = plan_sample_size(pilot([1, 2, 3], 1.0, np.inf), difference=1, **SHAPE)
    assert planned.n_classes is None and planned.classes_range is None


def test_no_plan_for_new_images_where_the_interval_of_new_classes_stands_in():
    """What classes add to the variance does not fall with the images of a class."""
    estimates = pilot([1, 2, 3], 1.0, 2.0)
    unknown = replace(estimates, images=estimates.classes, image_variance=np.inf)
    planned = plan_sample_size(unknown, difference=1, **SHAPE)
    assert planned.images_per_class is None and planned.images_range is None
    assert "images" not in str(planned)
    assert planned.n_classes == plan_sample_size(estimates, difference=1, **SHAPE).n_classes


def test_power_of_a_huge_difference_is_1_and_tends_to_it():
    assert [power(x, 1.0, df) for x in (1e12, 1e200) for df in (1, 20, np.inf)] == [1.0] * 6


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("difference", [0.0, 1e-6, 1.0, 1e300])
@pytest.mark.parametrize("standard_error", [1e-320, 1e-30, 1e-3, 1.0, 1e300])
def test_no_power_overflows(difference, standard_error):
    for df in (1, 5, 1e6, 1e300, np.inf):
        for level in (1e-12, 0.5, 0.95):
            assert 0 <= power(difference, standard_error, df, confidence_level=level) <= 1


def test_a_plan_of_open_tasks_tells_their_queries_beside_them():
    planned = Plan(23, 108, None, 13, (20, np.inf), (90, 126), None)
    expected = "23 (20 to ∞) tasks of 13 queries per class, 108 (90 to 126) images per class"
    assert str(planned) == expected


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: plan_sample_size(small_pilot(), difference=0), "^difference .* 0, got 0"),
        (lambda: plan_sample_size(small_pilot(), difference=1, ways=5), "ways .*None.*Pilot"),
        (
            lambda: plan_sample_size(small_pilot(), difference=1, n_classes=3),
            "n_classes .*ways = 4, got 3",
        ),
        (lambda: plan_sample_size(small_pilot(), difference=1e-12), "more than 4.6e"),
        (
            lambda: plan_sample_size(pilot([1, 2], 1, 1), difference=1),
            "^images_per_class .*got None",
        ),
    ],
)
def test_bad_input_is_refused(call, words):
    with refuses(words):
        call()


def small_pilot():
    return pilot_of(np.random.default_rng(0), 100)


@pytest.mark.parametrize(
    "bounds, least_found", [((3,), 7), ((3, 6), None), ((3, 7), 7), ((9,), 9), ((1,), 7)]
)
def test_smallest_looks_in_its_range(bounds, least_found):
    assert smallest(lambda n: n >= 7, *bounds) == least_found
    assert smallest(lambda n: False, 2) is None and smallest(lambda n: n >= 10**12, 2) == 10**12
