"""Values of extreme magnitude: refused in one line, instead of an interval that is infinite, or has no width."""

import warnings

import numpy as np
import pytest
from refusal import refuses

from fslcore import stats

rng = np.random.default_rng(0)
A, B = rng.random((2, 30))
LABELS = np.arange(8).repeat(12)
IMAGES = np.array(
    [[rng.permutation(12)[:4] + 12 * c for c in rng.permutation(8)[:5]] for _ in range(60)]
)
PLACES = IMAGES[..., 0], IMAGES[..., 1:].reshape(60, 15), LABELS
QUERIES, TABLE = rng.random((3, 60, 15)), rng.random((5, 4))
FUNCTIONS = {
    "closed_task_interval": lambda k: stats.closed_task_interval(k * A),
    "open_task_interval": lambda k: stats.open_task_interval(k * A),
    "confidence_sequence": lambda k: stats.confidence_sequence(k * A, bounds=(0, k)),
    "paired_differences": lambda k: stats.paired_differences(k * A, B),
    "paired_interval": lambda k: stats.paired_interval(k * A, k * B),
    "welch_interval": lambda k: stats.welch_interval(k * A, k * B),
    "pilot": lambda k: stats.estimate_variance(k * QUERIES[0].reshape(60, 5, 3), shots=5),
    "three_intervals": lambda k: stats.three_intervals(k * QUERIES[0], *PLACES),
    "influence": lambda k: stats.jackknife_influence(k * A.repeat(2), PLACES[0], LABELS),
    "new_run_intervals": lambda k: stats.new_run_intervals(k * QUERIES, *PLACES),
    "crossed_intervals": lambda k: stats.crossed_intervals(k * QUERIES[:, 0]),
    "new_run_interval": lambda k: stats.new_run_interval(k * QUERIES[..., 0]),
    "probability_of_improvement": lambda k: stats.probability_of_improvement(k * A, k * B),
    "friedman_nemenyi": lambda k: stats.friedman_nemenyi(k * TABLE),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_magnitudes_whose_powers_are_out_of_range_are_refused(name):
    for factor in (1e150, 1e-200):
        with refuses("magnitude"):
            FUNCTIONS[name](factor)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_magnitudes_that_are_allowed_are_computed_without_a_warning(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for factor in (1e29, 1e-28):
            FUNCTIONS[name](factor)


def test_ranks_are_the_same_in_any_unit():
    table = TABLE.round(1)  # with ties
    ranks = stats.friedman_nemenyi(table).ranks.tolist()
    for factor in (1e-28, 1e-11, 0.01, 100, 1e29):
        assert stats.friedman_nemenyi(factor * table).ranks.tolist() == ranks, factor


def test_p_values_may_be_as_small_as_they_come():
    assert stats.holm([1e-200, 0.2]).tolist() == pytest.approx([2e-200, 0.2], rel=1e-9)
    assert stats.benjamini_hochberg([1e-200, 1e-250]).max() < 1e-199
