"""The best of many scores on one test set: simulations with known truth, against theory."""

import numpy as np
import pandas as pd
import pytest

from fslbook.beyond import adaptivity
from fslbook.beyond.leaderboards import NORMAL

ACCURACY, ITEMS = 70.0, 1000
ERROR = np.sqrt(ACCURACY * (100 - ACCURACY) / ITEMS)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    "count, expected",
    [(1, 0), (2, 1 / np.sqrt(np.pi)), (3, 1.5 / np.sqrt(np.pi)), (10, 1.5387527), (100, 2.5075936)],
)
def test_the_expected_maximum_is_that_of_tables_of_order_statistics(count, expected):
    """Harter (1961), "Expected values of normal order statistics", has the last two."""
    assert adaptivity.expected_maximum(count) == pytest.approx(expected, abs=1e-6)


def test_the_excess_of_equal_methods_is_an_error_times_the_expected_maximum():
    for count in (1, 4, 30):
        excess = adaptivity.expected_excess(ACCURACY, np.full(count, 1.7))
        assert excess == pytest.approx(1.7 * adaptivity.expected_maximum(count), abs=1e-6)


def test_the_excess_of_unequal_methods_is_that_of_simulated_scores(rng):
    truths, errors = np.array([70, 70.5, 71, 64.0]), np.array([1, 2, 0.5, 3.0])
    scores = rng.normal(truths, errors, (400_000, 4))
    simulated = scores.max(axis=1) - truths[scores.argmax(axis=1)]
    standard_error = simulated.std() / np.sqrt(len(simulated))
    assert abs(adaptivity.expected_excess(truths, errors) - simulated.mean()) < 4 * standard_error


@pytest.mark.parametrize("correlation", [0, 0.5, 0.9])
def test_scores_have_the_accuracy_the_error_and_the_correlation_asked_for(correlation, rng):
    scores = adaptivity.correlated_scores(
        [ACCURACY, ACCURACY, ACCURACY],
        items=ITEMS,
        correlation=correlation,
        repetitions=20_000,
        rng=rng,
    )
    assert scores.mean() == pytest.approx(ACCURACY, abs=4 * ERROR / np.sqrt(len(scores)))
    assert scores.std(axis=0) == pytest.approx(ERROR, rel=0.03)
    between = np.corrcoef(scores.T)[np.triu_indices(3, 1)]
    assert between == pytest.approx(correlation, abs=0.03)


def test_methods_that_repeat_a_source_cannot_differ_more_than_they_may_answer_alone(rng):
    how = dict(items=ITEMS, correlation=0.9, repetitions=2, rng=rng)
    with pytest.raises(
        ValueError, match=r"correlation = 0\.9; accuracies of 40% to 80% allow less"
    ):
        adaptivity.correlated_scores([40, 80], **how)


def test_the_simulated_excess_is_that_of_the_theory():
    """By correlation of equal methods, and for methods of which each is better than the one before."""
    worlds = [(0, 0), (0.5, 0), (0.9, 0), (0, 0.02), (0, 0.1)]
    table = adaptivity.excesses(
        [2, 10, 50], worlds, accuracy=ACCURACY, items=ITEMS, repetitions=4000, seed=0, level=0.9999
    )
    assert len(table) == 15
    assert table["expected"].between(table["low"], table["high"]).all()
    assert (table["low"] > 0).all()
    by_world = table[table["methods"] == 50].set_index(["correlation", "gain"])["expected"]
    assert by_world[0.9, 0] == pytest.approx(np.sqrt(0.1) * by_world[0, 0])
    assert by_world[0, 0.1] < by_world[0, 0.02] < by_world[0, 0]


def revised(rng, **changes):
    how = dict(items=ITEMS, variants=60, changed=0.1, margin=0.0, repetitions=2000, rng=rng)
    return adaptivity.revised(ACCURACY, **how | changes)


def test_variants_with_new_answers_alone_are_as_good_as_unrelated_methods(rng):
    excess = revised(rng, changed=1.0)[[0, 1, 9, 60]].mean(axis=1) - ACCURACY
    expected = [ERROR * adaptivity.expected_maximum(count) for count in (1, 2, 10, 61)]
    assert excess == pytest.approx(expected, abs=0.1)


def test_luck_that_is_inherited_adds_up_beyond_that_of_unrelated_methods(rng):
    path = revised(rng).mean(axis=1)
    assert path[0] == pytest.approx(ACCURACY, abs=0.15)
    assert path[60] - ACCURACY > 1.5 * ERROR * adaptivity.expected_maximum(61)
    assert (np.diff(revised(rng), axis=0) >= 0).all()


def test_a_ladder_with_a_wide_step_reports_little_of_it(rng):
    """A variant changes a tenth of the answers: its gain has a standard error of √0.2 of that of a score."""
    plain, one, wide = (revised(rng, margin=m).mean(axis=1)[60] for m in (0, ERROR, 2 * ERROR))
    assert plain - one > ERROR
    assert wide == pytest.approx(ACCURACY, abs=0.15)


def board(means, plus_minus):
    return pd.DataFrame(
        {
            "board": "A, 1-shot",
            "method": [f"m{i}" for i in range(len(means))],
            "mean": means,
            "plus_minus": plus_minus,
        }
    )


def test_a_leader_s_margin_is_held_against_that_of_equal_methods():
    errors = np.array([1, 1, 1, 1, 1, 0.1, 0.1, 0.1])
    means = np.array([60, 59.8, 59.5, 59, 58.5, 40, 40, 40])
    (row,) = adaptivity.leaders(board(means, NORMAL * errors), 0.0).itertuples()
    assert (row.board, row.methods, row.first, row.close) == ("A, 1-shot", 8, "m0", 5)
    assert row.lead == pytest.approx(0.2)
    assert row.excess == pytest.approx(adaptivity.expected_maximum(5), abs=1e-6)
    second = 0.4950189705  # of five normal variables (Harter, 1961)
    assert row.chance_lead == pytest.approx(adaptivity.expected_maximum(5) - second, abs=0.02)
    assert 0 < row.least < row.excess
    assert row.excess_laboratory == row.excess


def test_a_laboratory_s_variance_takes_the_place_of_a_smaller_one():
    means = [60, 50, 49, 48, 47, 46, 45, 44.0]
    (row,) = adaptivity.leaders(board(means, [0.5] * 8), 2 * np.sqrt(2)).itertuples()
    assert (row.close, row.excess, row.chance_lead) == (1, pytest.approx(0, abs=1e-9), 0)
    (near,) = adaptivity.leaders(
        board(np.array(means) / 100, [0.5] * 8), 2 * np.sqrt(2)
    ).itertuples()
    assert near.close_laboratory == 8
    assert near.excess_laboratory == pytest.approx(2 * adaptivity.expected_maximum(8), abs=1e-6)


def test_few_methods_or_none_with_a_plus_minus_make_no_row():
    assert adaptivity.leaders(board([60.0, 59], [1.0, 1]), 1.0).empty
    assert adaptivity.leaders(board([60.0] * 8, [np.nan] * 8), 1.0).empty
