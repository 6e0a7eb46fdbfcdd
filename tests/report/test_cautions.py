"""Cautions about intervals that rest on few units: they come where such intervals fail, and seldom elsewhere."""

import numpy as np
import pandas as pd
import proposed
import pytest
from refusal import says_in_one_line

from fslcore import stats
from fslcore.report.analysis import FEW_UNITS, MOST_KURTOSIS
from fslcore.stats.rare import variance_units

report_on = proposed.from_frame


def accuracies(rng, tasks, methods, failing):
    """Tasks of which a share fails, by 60 points, for each method on its own."""
    values = 80 + rng.normal(0, 4, (methods, tasks))
    return (values - 60 * (rng.random((methods, tasks)) < failing)).clip(0, 100)


def is_cautious(values):
    units = variance_units(values)
    return units < min(FEW_UNITS, len(values) / MOST_KURTOSIS)


def cautions(table):
    lines = report_on(table).cautions
    return [line for line in lines if line.startswith(("Few ", "Rare values "))]


def test_variance_units_are_a_third_of_normal_values_and_the_odd_ones_of_others():
    rng = np.random.default_rng(0)
    assert variance_units(rng.normal(5, 2, 30_000)) == pytest.approx(10_000, rel=0.03)
    assert variance_units(np.r_[np.zeros(997), np.ones(3)]) == pytest.approx(3, rel=0.02)
    assert variance_units(rng.choice([-1.0, 1.0], 1000)) == pytest.approx(1000, rel=0.01)
    assert np.isnan(variance_units(np.full(30, 0.1 + 0.2)))


@pytest.mark.parametrize("tasks", [20, 30, 60, 100, 600])
def test_normal_values_seldom_give_a_caution(tasks):
    rng = np.random.default_rng(1)
    flagged = [is_cautious(rng.normal(70, 8, tasks)) for _ in range(2000)]
    assert np.mean(flagged) <= 0.01


@pytest.mark.parametrize("tasks, failing", [(100, 0.03), (400, 0.03), (600, 0.01)])
def test_rare_failures_give_one_where_the_interval_of_a_difference_does_not_hold(tasks, failing):
    """At 3 failing tasks it covers in 87 % of studies, at more in more."""
    rng = np.random.default_rng(2)
    flagged, covered = [], []
    for _ in range(400):
        differences = rng.normal(0, 0.5, tasks) + 60 * (rng.random(tasks) < failing)
        interval = stats.open_task_interval(differences, bounds=(-100, 100))
        covered.append(interval.low <= 60 * failing <= interval.high)
        # Without a failure nothing shows that there are any.
        flagged.append(is_cautious(differences) or differences.max() < 30)
    assert np.mean(flagged) >= 0.95
    if tasks == 100:  # what the caution is about
        assert np.mean(covered) < 0.92


def test_welch_calls_equal_methods_different_where_few_tasks_miss_rare_failures():
    rng = np.random.default_rng(6)
    values = accuracies(rng, 660, 800, 0.03)
    tests = [stats.welch_interval(x[:600], x[600:], bounds=(-100, 100)) for x in values]
    assert np.mean([test.p_value < 0.05 for test in tests]) > 0.08


def test_rare_failures_that_few_tasks_can_miss_give_one_for_unpaired_methods():
    rng = np.random.default_rng(3)
    names = np.repeat(["a", "b"], [600, 60])
    table = pd.DataFrame({"method": names, "task": range(660)})
    for failing, least, most in ((0.03, 0.95, 1), (0.0, 0, 0.05)):
        flagged = []
        for _ in range(20):
            values = accuracies(rng, 660, 1, failing)[0]
            lines = cautions(table.assign(accuracy=values))
            flagged.append(any("the difference" in line for line in lines))
        assert least <= np.mean(flagged) <= most


def test_the_caution_names_the_pair_the_count_and_what_it_means():
    rng = np.random.default_rng(4)
    b = 70 + rng.normal(0, 6, 100)
    a = b + rng.normal(0, 0.1, 100)
    a[:3] -= 20
    (line,) = cautions(pd.DataFrame({"a": a, "b": b}))
    assert says_in_one_line(line, "difference b − a", "3 of 100", "interval", "too narrow")
    results = report_on(pd.DataFrame({"a": a, "b": b}))
    assert line in results.lines() and line in results._repr_html_()
    assert line in results.record()["cautions"]


def test_few_items_that_two_methods_answer_differently_are_counted():
    first = np.r_[np.ones(5), np.zeros(95), np.ones(100)].astype(int)
    second = np.r_[np.zeros(100), np.ones(100)].astype(int)
    table = pd.DataFrame({"item": range(200), "a": first, "b": second})
    (line,) = report_on(table).cautions
    assert line.startswith("a and b answer 5 of 200 items differently: one answer more or less")


def test_data_sets_with_one_outlier_are_said():
    rng = np.random.default_rng(5)
    base = rng.normal(70, 8, 14)
    ours = base + rng.normal(0, 0.3, 14)
    ours[3] += 15
    names = [f"d{i}" for i in range(14)]
    (line,) = cautions(pd.DataFrame({"dataset": names, "ours": ours, "base": base}))
    assert "about 1 of 14" in line
