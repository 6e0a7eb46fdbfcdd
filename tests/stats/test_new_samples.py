"""How many new units an open pair needs, and what testing them alone, or with the first ones, does."""

import numpy as np
import pytest
from scipy import stats

from fslcore.stats import confidence_sequence
from fslcore.stats.planning import new_sample_sizes, powers

LEVEL, MOST = 0.95, 10**6


@pytest.mark.parametrize("first", [3, 100])
def test_the_mean_power_over_first_samples_is_the_wanted_one(first):
    effect, df = 0.4, first - 1
    deviation = np.sqrt(stats.chi2.ppf((np.arange(1_000) + 0.5) / 1_000, df) / df)

    def mean_power(df):
        sizes = new_sample_sizes(
            effect / deviation,
            np.full(len(deviation), df),
            np.full(len(deviation), LEVEL),
            0.8,
            MOST,
        )
        return powers(effect, 1 / np.sqrt(sizes), sizes - 1, LEVEL).mean()

    assert mean_power(df) == pytest.approx(0.8, abs=0.015)
    if first < 5:  # with the estimated spread taken for the true one
        assert mean_power(np.inf) < 0.74


class Samples:
    """Counts, sums and sums of squared deviations of many growing samples from a standard normal."""

    def __init__(self, count, seed):
        self.rng = np.random.default_rng(seed)
        self.n, self.mean, self.squares = np.zeros((3, count))

    def grow(self, sizes):
        """Add new units, and return their own p-values."""
        mean = self.rng.normal(0, 1 / np.sqrt(sizes))
        squares = self.rng.chisquare(sizes - 1)
        n = self.n + sizes
        gap = mean - self.mean
        self.squares += squares + gap**2 * self.n * sizes / n
        self.mean += gap * sizes / n
        self.n = n
        return self.p_values(sizes, mean, squares)

    @staticmethod
    def p_values(n, mean, squares):
        return 2 * stats.t.sf(np.abs(mean) / np.sqrt(squares / (n - 1) / n), n - 1)

    @property
    def p(self):
        return self.p_values(self.n, self.mean, self.squares)

    def new_sizes(self):
        """Of the open ones as the report prints them; 0 where it prints none."""
        sizes = np.zeros(len(self.n))
        is_open = self.p >= 1 - LEVEL
        n, deviation = self.n[is_open], np.sqrt(self.squares / (self.n - 1))[is_open]
        effects = self.mean[is_open] / deviation
        levels = np.full(len(effects), LEVEL)
        sizes[is_open] = new_sample_sizes(effects, n - 1, levels, 0.8, MOST)
        return sizes


def share(truth):
    """In percent, with its Monte-Carlo error."""
    return 100 * truth.mean(), 100 * np.sqrt(truth.mean() * (1 - truth.mean()) / len(truth))


@pytest.mark.parametrize("first", [10])
def test_new_units_alone_keep_the_level_and_all_units_together_do_not(first):
    """Equal methods: a new sample finds a difference in 5.0 % of cases, whatever the first one showed.

    Those who let either of two tests decide find one in about 10 % of studies, with the units taken
    together (as the report once advised) or apart: so a new sample has to replace the first.
    """
    studies = Samples(3_000, first)
    studies.grow(np.full(3_000, first))
    is_open = studies.p >= 1 - LEVEL
    sizes = studies.new_sizes()
    asked = is_open & (sizes > 0)
    alone = studies.grow(np.maximum(sizes, 2))[asked] < 1 - LEVEL
    rate, error = share(alone)
    assert abs(rate - 5) < 4 * error
    together = asked & (studies.p < 1 - LEVEL)
    new_alone = np.zeros(3_000, bool)
    new_alone[asked] = alone
    for second in (together, new_alone):
        rate, error = share(~is_open | second)
        assert rate - 4 * error > 5
        assert rate == pytest.approx(9.7, abs=2.5)


@pytest.mark.slow
def test_the_anytime_interval_may_be_looked_at_in_every_round():
    rng = np.random.default_rng(1)
    false = 0
    for _ in range(120):
        values = np.clip(rng.normal(0, 0.1, 40), -1, 1)
        for _ in range(6):
            found = confidence_sequence(values, bounds=(-1, 1))
            if not found.low <= 0 <= found.high:
                false += 1
                break
            values = np.append(values, np.clip(rng.normal(0, 0.1, len(values)), -1, 1))
    assert false / 120 <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("times, enough", [(1.5, False), (4, True)])
def test_the_anytime_interval_takes_two_to_four_times_the_units(times, enough):
    """Differences with a standard deviation of 8 points, of a tenth of that on average."""
    sizes = new_sample_sizes([0.1], [np.inf], [LEVEL], 0.8, MOST)
    draws = np.random.default_rng(0).normal(0.8, 8, (60, int(times * sizes[0])))
    detected = [confidence_sequence(values, bounds=(-100, 100)).low > 0 for values in draws]
    assert (np.mean(detected) >= 0.8) == enough
