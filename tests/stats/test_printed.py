"""What two printed figures tell: the arithmetic against SciPy, bounds by simulation, the rest against data at hand."""

from decimal import Decimal
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, strategies as st
from refusal import refuses, says_in_one_line
from scipy import stats as sp

from fslbook.oops import gaussians
from fslcore import stats
from fslcore.errors import InputError
from fslcore.paths import DATA
from fslcore.report import printed as words
from fslcore.stats import compare_printed, published as printed
from fslcore.tasks import sample_closed


@pytest.fixture(scope="module")
def episodes():
    """Accuracies (T, methods) of the stored 5-way 5-shot episodes, by set of classes."""
    rows = pd.read_parquet(DATA / "episodes" / "episodes.parquet").query("block == -1")
    tables = rows.pivot_table(
        "accuracy", ["dataset", "split", "task"], ["backbone", "learner"], observed=True
    )
    by_set = tables.groupby(["dataset", "split"], observed=True)
    arrays = [100 * table.dropna(axis=1).to_numpy() for _, table in by_set]
    assert len(arrays) == 12 and rows.queries.unique() == [75]
    return arrays


def test_what_it_takes_for_usual_comes_from_the_stored_episodes(episodes):
    """`CORRELATION` says 72 pairs, and the sentences of the report repeat it."""
    shared, correlations = [], []
    for a in episodes:
        mean, n = a.mean(axis=0), 75
        ratio = a.var(axis=0, ddof=1) / (mean * (100 - mean))
        shared += list((ratio - 1 / n) / (1 - 1 / n))
        correlations += list(np.corrcoef(a.T)[np.triu_indices(a.shape[1], 1)])
    assert round(np.median(shared), 4) == printed.BETWEEN
    assert tuple(np.quantile(correlations, [0.05, 0.5, 0.95]).round(2)) == printed.CORRELATION
    assert f"{len(correlations)} measured pairs" in words.MEASURED
    assert min(correlations) > printed.ASSUMED_CORRELATION


def test_it_knows_what_the_figures_of_the_episodes_mean(episodes):
    """Each pair of methods printed with each of the three, to one decimal or two, of as many tasks as there are."""
    pairs = 0
    for a in episodes:
        error = 1 / np.sqrt(len(a))
        factors = {"interval": 1.96 * error, "standard error": error, "standard deviation": 1}
        for meaning, factor in factors.items():
            figures = np.stack([a.mean(axis=0), factor * a.std(axis=0, ddof=1)], axis=1).round(2)
            for first, second in pairwise(figures):
                assert compare_printed(first, second, len(a)).likely.meaning == meaning
                pairs += 1
    assert pairs == 108


@pytest.mark.parametrize("ways, queries", [(3, 1), (5, 1), (5, 15)])
def test_usual_is_what_answers_with_the_usual_correlation_vary_by(ways, queries):
    """The deviation of a mean of n answers, by adding up their covariances; off by up to √z, with z = 1.96."""
    n = ways * queries
    correlation = np.where(np.eye(n), 1.0, printed.BETWEEN)
    covariance = 0.7 * 0.3 * correlation
    deviation = 100 * np.sqrt(covariance.sum()) / n
    for factor, is_usual in [(0.998, True), (1.002, False)]:
        for off in (factor * 1.4, 1 / (factor * 1.4)):
            figure = (70.0, deviation * off)
            r = compare_printed(figure, figure, 600, ways=ways, queries=queries)
            (reading,) = [r for r in r.readings if r.meaning == "standard deviation"]
            assert reading.usual == is_usual


def test_unrelated_tasks_have_welch_s_interval():
    """Tasks of different numbers, or that are said to be others."""
    rng = np.random.default_rng(0)
    for same_tasks in ["no", "unknown"] * 15:
        a, b = rng.uniform([60, 0.2], [80, 2], (2, 2))
        tasks, level = rng.integers(5, 900, 2).tolist(), float(rng.uniform(0.8, 0.99))
        if same_tasks == "no":
            tasks[1] = tasks[0]
        for r in compare_printed(
            a, b, tasks, same_tasks=same_tasks, confidence_level=level
        ).readings:
            errors = np.sqrt(tasks)
            factors = {"interval": errors / sp.norm.ppf((1 + level) / 2), "standard error": errors}
            s = np.array([a[1], b[1]]) * factors.get(r.meaning, 1)
            assert r.deviations == pytest.approx(s)
            test = sp.ttest_ind_from_stats(
                a[0], s[0], tasks[0], b[0], s[1], tasks[1], equal_var=False
            )
            assert r.tasks.widest.p_value == pytest.approx(test.pvalue, rel=1e-9)
            assert r.tasks.narrowest == r.tasks.widest and r.tasks.correlation is None
            assert r.tasks.paired == () and not r.tasks.is_usually_decided
            assert r.tasks.verdict == (
                "better" if test.pvalue < 1 - level else "not significantly different"
            )


@pytest.mark.parametrize("rho", [-0.2, 0.0, 0.28, 0.71, 0.95, 0.99])
def test_the_paired_interval_lies_between_the_two(rho):
    """Of accuracies whose correlation is exactly this one, the interval is the paired one of the library."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2))
    x -= x.mean(axis=0)
    first = x[:, 0] / x[:, 0].std(ddof=1)
    unrelated = x[:, 1] - (x[:, 1] @ first) / (first @ first) * first
    unrelated /= unrelated.std(ddof=1)
    a, b = 70 + 9 * first, 69.6 + 8 * (rho * first + np.sqrt(1 - rho**2) * unrelated)
    figures = [(v.mean(), 1.959963984540054 * v.std(ddof=1) / 20) for v in (a, b)]
    difference = compare_printed(*figures, 400, same_tasks="yes").readings[0].tasks
    paired = stats.paired_interval(a, b)
    narrowest, widest = difference.narrowest, difference.widest
    if rho in printed.CORRELATION:
        usual = difference.paired[printed.CORRELATION.index(rho)]
        assert usual.half_width == pytest.approx(paired.half_width, rel=1e-9)
        assert (usual.df, usual.estimate) == (paired.df, pytest.approx(paired.estimate))
    assert narrowest == difference.paired[-1]
    assert (narrowest.n, widest.n) == (400, 800)
    assert narrowest.is_difference and widest.is_difference
    low, high = narrowest.half_width * (1 - 1e-9), widest.half_width * 1.003
    assert (low <= paired.half_width <= high) == (0 <= rho <= 0.95)
    assert (rho > difference.correlation) == (paired.sign != 0)


@pytest.mark.parametrize("rho, called_better", [(-0.3, 9), (0, 5), (0.3, 2), (0.7, 0)])
def test_better_assumes_that_accuracies_do_not_correlate_negatively(rho, called_better):
    """How often printed figures of equal methods on the same 600 tasks are called so, in percent."""
    error = 9 / np.sqrt(600)
    half_width = 1.96 * error

    def verdict(gap):
        return compare_printed((70 + gap, half_width), (70, half_width), 600).likely.tasks.verdict

    limit = 1.96 * np.sqrt(2) * error
    assert verdict(1.01 * limit) == "better" != verdict(0.99 * limit)
    rng = np.random.default_rng(3)
    errors = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], 10_000) * error
    called = np.abs(errors[:, 0] - errors[:, 1]) > limit
    assert 100 * called.mean() == pytest.approx(called_better, abs=1)


@given(
    st.tuples(st.floats(1.01, 99.99), st.floats(0.001, 99)),
    st.tuples(st.floats(1.01, 99.99), st.floats(0.001, 99)),
    st.integers(2, 2000),
    st.sampled_from([None, 10, 20, 400]),
    st.sampled_from(["yes", "no"]),
)
@example((71.2, 0.4), (70.5, 0.5), 600, None, "yes")
@example((1.2, 6), (99, 6), 5, 10, "yes")
def test_no_number_is_outside_what_it_can_be(a, b, tasks, classes, same_tasks):
    """Correlations within ±1, ends of a difference within ±100 points, deviations that accuracies can have."""
    try:
        figures = compare_printed(a, b, tasks, classes=classes, images=500, same_tasks=same_tasks)
    except InputError as error:
        assert says_in_one_line(str(error), "standard deviation")
        return
    assert figures.likely in figures.readings
    for reading in figures.readings:
        for deviation, (mean, _) in zip(reading.deviations, (a, b)):
            assert deviation <= np.sqrt(mean * (100 - mean) * tasks / (tasks - 1)) * (1 + 1e-12)
        for difference in filter(None, (reading.tasks, reading.images, reading.classes)):
            assert difference.correlation is None or -1 < difference.correlation < 1
            for interval in (difference.widest, difference.narrowest, *difference.paired):
                assert -100 <= interval.low <= interval.estimate <= interval.high <= 100


def test_a_reading_by_which_accuracies_would_vary_more_than_they_can_is_left_out():
    printed_line = compare_printed((90, 4), (91, 4), 600)
    (reading,) = printed_line.readings
    # Else accuracies would vary by 50 and 98 points.
    assert reading.meaning == "standard deviation" and printed_line.likely is reading
    with refuses("± = 30 and 30; .* at most 12.17 and 11.12"):
        compare_printed((1.2, 30), (99, 30), 5)


def test_images_that_a_closed_interval_leaves_out_are_bounded():
    """Test sets of two Gaussian classes: the bound holds the truth at its level, the closed interval does not."""
    rng, shape = np.random.default_rng(2), dict(ways=2, shots=2, queries=4)
    truth = 100 * gaussians.gaussian_tasks(gaussians.PAPER, 200_000, 2, 4, rng).mean()
    by_bound = by_closed = 0
    for seed in range(150):
        x, labels = gaussians.gaussian_classes(60, rng)
        tasks = sample_closed(labels, tasks=400, seed=seed, **shape)
        interval = stats.closed_task_interval(100 * gaussians.nearest_mean_accuracy(x, tasks))
        figure = interval.estimate, interval.half_width
        # Beside a figure that is known: the difference then varies as the accuracy does.
        r = compare_printed(figure, (truth, 1e-6), 400, images=120, **shape).readings[0]
        by_bound += not r.images.widest.sign
        by_closed += not r.tasks.widest.sign
    assert by_bound >= sp.binom.ppf(0.001, 150, 0.95) and by_closed < 0.8 * 150


def test_sampling_is_inferred_from_the_number_of_images():
    figures = (71.2, 0.4), (70.5, 0.5)
    assert compare_printed(*figures, 600).sampling == "unknown"
    assert compare_printed(*figures, 600, images=59_999).sampling == "closed"
    assert compare_printed(*figures, 600, images=60_000).sampling == "unknown"
    assert compare_printed(*figures, 600, images=60_000, sampling="open").likely.images is None
    with refuses("tasks .*599.*got 600"):
        compare_printed(*figures, 600, images=59_999, sampling="open")
    assert compare_printed(*figures, 600, images=199).likely.images is None
    assert compare_printed(*figures, 600, classes=9).likely.classes is None
    assert compare_printed(*figures, 600, classes=10).likely.classes.widest.n == 2


@pytest.mark.parametrize(
    "figure, message",
    [
        ("71.2±0.4", r"^a .*got '71\.2±0\.4'"),
        *(((mean, 1), "mean of a") for mean in (True, 101)),
        ((0.7, 0.1), r"mean of a .*percent, got 0\.7.* 70\?"),
        *(((71.2, half), "± of a") for half in (-1, 0)),
    ],
)
def test_bad_figures(figure, message):
    with refuses(message):
        compare_printed(figure, (70, 1), 600)


def test_a_mean_that_could_not_be_a_share_is_taken_for_percent():
    assert compare_printed((1.5, 0.2), (70, 1), 600).difference == pytest.approx(-68.5)


def test_decimals_are_numbers():
    exact = [(Decimal(mean), Decimal("0.4")) for mean in ("71.2", "70.1")]
    assert compare_printed(*exact, 600) == compare_printed((71.2, 0.4), (70.1, 0.4), 600)
