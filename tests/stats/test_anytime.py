"""Intervals that hold whenever one stops: by a plain loop, by properties, and by simulation with optional stopping."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from refusal import refuses

from fslcore import stats
from fslcore.stats import anytime
from fslcore.stats.planning import power, smallest

shares = arrays(float, st.integers(1, 60), elements=st.floats(0, 1).map(lambda v: round(v, 2)))


def wealth(values, mean):
    """What a gambler ends with who divides 1 among the bets, and bets on values above a mean."""
    return sum(
        share * math.prod(1 - bet + bet * x / mean for x in values)
        for bet, share in zip(anytime.BETS, anytime.DIVIDED, strict=True)
    )


@given(shares, st.floats(0.01, 0.99), st.sampled_from([0.8, 0.95, 0.99]))
@settings(deadline=None)
def test_what_is_left_out_is_what_the_bets_have_won_against(values, mean, level):
    interval = stats.confidence_sequence(values, confidence_level=level)
    for point, won, outside in (
        (mean, wealth(values, mean), mean < interval.low),
        (mean, wealth(1 - values, 1 - mean), mean > interval.high),
    ):
        if abs(point - interval.low) > 1e-6 and abs(point - interval.high) > 1e-6:
            assert outside == (won >= 2 / (1 - level))
    assert (
        interval.estimate == pytest.approx(values.mean())
        and interval.n == len(values)
        and interval.confidence_level == level
    )
    assert 0 <= interval.low <= values.mean() + 1e-9 and values.mean() - 1e-9 <= interval.high <= 1


@given(shares, st.integers(0, 1000))
@settings(deadline=None, max_examples=30)
def test_units_order_and_sign_do_not_matter(values, seed):
    interval = stats.confidence_sequence(values)
    ends = pytest.approx([interval.low, interval.high], abs=1e-7)
    shuffled = stats.confidence_sequence(np.random.default_rng(seed).permutation(values))
    percent = stats.confidence_sequence(100 * values, bounds=(0, 100))
    signed = stats.confidence_sequence(1 - 2 * values, bounds=(-1, 1))
    assert [shuffled.low, shuffled.high] == ends and [percent.low / 100, percent.high / 100] == ends
    assert [(1 - signed.high) / 2, (1 - signed.low) / 2] == ends
    assert signed.sign == (interval.high < 0.5) * 1 - (interval.low > 0.5) * 1
    wider = stats.confidence_sequence(values, confidence_level=0.99)
    assert wider.low <= interval.low + 1e-9 and wider.high >= interval.high - 1e-9


WORLDS = {  # draws, true mean, bounds
    "accuracies": (lambda rng, n: rng.binomial(75, rng.beta(16, 4, n)) / 75, 0.8, (0, 1)),
    "near the ceiling": (lambda rng, n: rng.binomial(75, rng.beta(63, 1, n)) / 75, 63 / 64, (0, 1)),
    "differences of equals": (
        lambda rng, n: np.subtract(*rng.binomial(75, rng.beta(16, 4, n), (2, n))) / 75,
        0,
        (-1, 1),
    ),
}


LOOKS = np.arange(20, 2001, 20)


def is_ever_left_out(x, mean):
    """Whether Student's interval of the first tasks leaves out a mean at any look."""
    count = np.arange(1, len(x) + 1)
    average = x.cumsum() / count
    deviation = np.sqrt(((x**2).cumsum() / count - average**2).clip(min=0))
    return (np.abs(average - mean) > 1.96 * deviation / np.sqrt(count))[LOOKS - 1].any()


def is_ever_won(x, mean):
    """Whether bets on values above a mean have multiplied the wealth by 40 at any look."""
    value, place = np.unique(x, return_inverse=True)
    log = np.log1p(anytime.BETS[:, None] * (value / mean - 1))[:, place].cumsum(axis=1)
    return (anytime.DIVIDED @ np.exp(log[:, LOOKS - 1]) >= 40).any()


@pytest.mark.parametrize("world", WORLDS)
def test_stopping_at_will_breaks_the_usual_interval_and_not_this_one(world):
    draw, mean, (low, high) = WORLDS[world]
    rng = np.random.default_rng(1)
    mean = (mean - low) / (high - low)
    usual = ours = 0
    for _ in range(120):
        x = (draw(rng, LOOKS[-1]) - low) / (high - low)
        usual += is_ever_left_out(x, mean)
        ours += is_ever_won(x, mean) or is_ever_won(1 - x, 1 - mean)
    assert usual > 0.3 * 120  # of a nominal 5 %
    assert ours <= 0.05 * 120


@pytest.mark.parametrize("tasks", [600, 2000, 10_000])
def test_it_is_not_absurdly_wide(tasks):
    x = np.random.default_rng(0).binomial(75, np.random.default_rng(1).beta(16, 4, tasks)) / 75
    ratio = stats.confidence_sequence(x).half_width / stats.closed_task_interval(x).half_width
    assert 1.5 < ratio < 1.8


def test_the_short_form_shows_two_digits_of_the_half_width():
    accuracies = [0.7, 0.8, 0.75, 0.85]
    wide = stats.confidence_sequence(accuracies)
    narrow = stats.confidence_sequence(np.tile(accuracies, 50))
    assert 0.01 < narrow.half_width < 0.1 < wide.half_width
    assert str(wide) == f"{wide.estimate:.2f} ({wide.low:.2f} to {wide.high:.2f})"
    assert str(narrow) == f"{narrow.estimate:.3f} ({narrow.low:.3f} to {narrow.high:.3f})"


@pytest.mark.parametrize(
    "values, bounds, words",
    [
        ([50, 60], (0, 1), "bounds"),
        ([-0.1, 0.2], (0, 1), r"\(-1, 1\)"),
        ([0.5], None, "^bounds .*got None"),
        ([], (0, 1), "1 task"),
    ],
)
def test_bad_input_is_refused(values, bounds, words):
    with refuses(words):
        stats.confidence_sequence(values, bounds=bounds)


@pytest.mark.slow
@pytest.mark.parametrize("times, enough", [(1.5, False), (4, True)])
def test_it_takes_two_to_four_times_the_units_of_one_look(times, enough):
    """Differences with a standard deviation of 8 points, of a tenth of that on average."""
    units = smallest(lambda n: power(0.8, 8 / math.sqrt(n)) >= 0.8, 2)
    draws = np.random.default_rng(0).normal(0.8, 8, (60, int(times * units)))
    detected = [stats.confidence_sequence(x, bounds=(-100, 100)).low > 0 for x in draws]
    assert (np.mean(detected) >= 0.8) == enough
