"""Sizing of tasks by OOPS: the model against integrals and simulation, sweeps of Q, and the comparison of optima."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from features import features_file
from refusal import refuses
from scipy import stats as scipy_stats

from fslbook.oops import gaussians, optima, sizing
from fslcore import stats
from fslcore.evaluation import Method
from fslcore.tasks import sample_closed


@pytest.mark.parametrize("shots, separation", [(1, 2.0), (5, 1.0)])
def test_integrals_and_estimates_agree(shots, separation):
    truth = gaussians.gaussian_moments(shots, separation)
    rng = np.random.default_rng(1)
    x = gaussians.gaussian_tasks(gaussians.centres(2, separation), 40_000, shots, 3, rng)
    p = stats.estimate_variance(x, shots)
    assert p.moments.mean == pytest.approx(truth.mean, abs=0.005)
    assert p.low < truth.model(shots).optimum < p.high
    assert p.optimum == pytest.approx(truth.model(shots).optimum, rel=0.1)


def test_the_model_predicts_the_variance_over_data_sets():
    table = sizing.gaussian_curve(400, 2, 60, 2000)
    z = (table["variance"] - table["predicted"]) / table["error"]
    assert (z**2).sum() < 2 * len(z)
    fit = optima.fit_variance(
        table["queries"], table["tasks"], table["variance"], table["error"], 2
    )
    assert fit.p_value > 0.001 and fit.r_squared > 0.95
    truth = gaussians.gaussian_moments(2).model(2)
    for name, error in zip(("alpha", "beta", "gamma"), fit.errors):
        assert getattr(fit.model, name) == pytest.approx(getattr(truth, name), abs=4 * error)


def test_common_optimum_against_generalised_least_squares():
    """At each Q every run has the α nearest to its estimates, in their own covariance, of those on β = αQ²."""
    rng = np.random.default_rng(7)
    pilots = [
        stats.estimate_variance(
            gaussians.gaussian_tasks(gaussians.centres(2, distance), 300, 5, 6, rng), 5
        )
        for distance in (0.9, 1.0, 1.1)
    ]
    common = optima.common_optimum(pilots)

    def distance(q):
        total, line = 0.0, np.array([1.0, q**2])
        for p in pilots:
            inverse, estimate = np.linalg.inv(p.covariance), np.array([p.model.alpha, p.model.beta])
            off = estimate - line * (line @ inverse @ estimate) / (line @ inverse @ line)
            total += off @ inverse @ off
        return total

    grid = np.geomspace(0.01, 1e4, 6001)
    distances = np.array([distance(q) for q in grid])
    minimum = distances.min()
    assert 1 < grid[distances.argmin()] < 50
    assert common.chi_square == pytest.approx(minimum, rel=1e-4) and common.df == 2
    assert common.optimum == pytest.approx(grid[distances.argmin()], rel=2e-3)
    assert common.p_value == pytest.approx(scipy_stats.chi2.sf(minimum, 2), rel=1e-3)


@pytest.fixture
def bank(tmp_path):
    return features_file(tmp_path, np.arange(8).repeat(60), apart=1.2)


def test_sweep_and_what_is_made_of_it(bank):
    methods = [("none", "ncc"), ("none", "lr")]
    trials = sizing.sweep([bank], methods, [1, 5], [1, 2, 5, 10, 20, 70], images=5000)
    assert set(trials["method"]) == {"none NCC", "none LR", "none NCC − none LR"}
    assert trials["queries"].max() == 20
    assert (trials.groupby(["shots", "queries"])["trial"].nunique() == 10).all()
    assert trials.query("shots == 5 and queries == 5")["n_tasks"].between(8, 9).all()
    curves = sizing.curve(trials)
    assert (curves["error"] > 0).all() and curves["p_value"].between(0, 1).all()
    minima = sizing.minima(curves)
    assert ((minima["low"] <= minima["best"]) & (minima["best"] <= minima["high"])).all()
    runs = sizing.pilot_values([bank], methods, [1, 5], tasks=200, queries=5, runs=2)
    values = runs[bank, 5, 0]
    assert (values["none NCC − none LR"] == values["none NCC"] - values["none LR"]).all()
    choices = sizing.recommended(curves, runs)
    assert len(choices) == 12 and (choices[["regret", "measured"]] >= 1).all(axis=None)
    assert choices["regret"].median() < 1.2
    table = sizing.regret_table(choices.assign(pilot="closed"), ["method"], {"regret": "r"})
    assert table.shape == (3, 1) and table.index[2] == "none NCC − none LR"
    once = {key: v for key, v in runs.items() if key[2] == 0}
    equal = sizing.equal_optima(once, [("none NCC", "none LR")])
    assert len(equal) == 2 and (equal["cost"] >= 1 - 1e-12).all()
    for ratio, p_value, cell in ((1.5, 0.01, "1.50 *"), (np.nan, 0.9, "—")):
        ratios = equal.assign(ratio=[ratio, 0.25], p=[p_value, 0.9])
        assert sizing.ratio_table(ratios, ["shots"])[bank].tolist() == [cell, "0.25"]
    pd.testing.assert_frame_equal(
        sizing.sweep([bank], methods, [1, 5], [1, 2, 5, 10, 20, 70], images=5000), trials
    )


def test_classes_of_the_data_set_are_told_to_the_pilot(bank):
    table = sizing.by_target([bank], [Method("none", "ncc")], 5, ways=3, queries=5, tasks=200)
    ((_, method, classes, images),) = table.to_numpy()
    labels = np.arange(8).repeat(60)
    tasks = sample_closed(labels, tasks=200, ways=3, shots=5, queries=5)
    values = sizing.pilot_values(
        [bank], [Method("none", "ncc")], [5], ways=3, queries=5, tasks=200
    )[bank, 5, 0][method]
    pilot = stats.estimate_variance(
        values.reshape(200, 15), 5, labels=labels[tasks.query], target="new images"
    )
    assert images.model.alpha == pytest.approx(pilot.model.alpha)
    assert images.model.alpha < classes.model.alpha


def test_parts_of_a_data_set_share_no_image(bank):
    table, common = sizing.by_size(bank, ("none", "ncc"), 1, 2, queries=3)
    assert table["images"].sum() == 480 and table["images"][0] == pytest.approx(240, abs=8)
    assert common.df == 1
    with refuses("part 4 holds 2 tasks|at least 2 tasks"):
        sizing.by_size(bank, ("none", "ncc"), 1, 4, queries=3)


def test_optima_are_compared_by_leaving_each_task_out():
    rng = np.random.default_rng(1)
    a, b = rng.random((30, 3, 4)), rng.random((30, 3, 4)) ** 2

    def crossed(rows):
        of_a, of_b = (stats.estimate_variance(x[rows], 1).model for x in (a, b))
        return of_b.alpha * of_a.beta - of_a.alpha * of_b.beta

    tasks = np.arange(30)
    without = np.array([crossed(np.delete(tasks, t)) for t in tasks])
    z = crossed(tasks) / np.sqrt(29 * without.var())
    found = optima.compare_optima(a, b)
    assert found.z == pytest.approx(z, rel=1e-6)
    assert found.p_value == pytest.approx(2 * scipy_stats.norm.sf(abs(z)))


def test_a_fit_of_exact_variances_is_their_model():
    queries = np.arange(1, 30)
    tasks = stats.open_task_count(2000, 5, 5, queries)
    variance = stats.VarianceModel(0.02, 0.5, 0.2, 5).variance(queries, tasks)
    fit = optima.fit_variance(queries, tasks, variance, np.full(29, 1e-6), 5)
    assert (fit.model.alpha, fit.model.beta, fit.model.gamma) == pytest.approx((0.02, 0.5, 0.2))
    assert fit.r_squared == pytest.approx(1) and fit.p_value == pytest.approx(1)
    shortest = optima.fit_variance([1, 2, 4, 8], [9] * 4, [0, 1.0, 0.5, 0.4], [0.1] * 4, 5)
    assert np.isfinite(shortest.p_value)


def test_fits_that_are_right_have_every_p_value_equally_often():
    """χ² of a true model has n - 3 degrees of freedom, as SciPy's χ² has them: one more or less would show."""
    rng, q = np.random.default_rng(13), np.array([1, 2, 4, 7, 15, 40])
    tasks = stats.open_task_count(2000, 5, 5, q)
    truth = stats.VarianceModel(0.02, 0.5, 0.2, 5).variance(q, tasks)
    error = 0.02 * truth
    p = [
        optima.fit_variance(q, tasks, rng.normal(truth, error), error, 5).p_value
        for _ in range(500)
    ]
    assert scipy_stats.kstest(p, "uniform").pvalue > 0.001


@pytest.mark.slow
def test_tasks_by_difficulty_pay_only_where_the_difficulty_is_known():
    """With the measured method's own errors as difficulty the interval is narrower than with those of another."""
    ncc, protonet = Method("efficientnet-lite0", "ncc"), Method("conv4-protonet", "protonet")
    widths = sizing.by_difficulty(
        "clipart", [(ncc, ncc), (protonet, ncc)], tasks=200, proposals=2000, seeds=range(4)
    )
    same_method, second_method = widths["weighted"]
    full_correlation, correlation = widths["correlation"]
    assert full_correlation == pytest.approx(1) and 0.1 < correlation < 0.7
    assert 0.8 < same_method.estimate < 1.02 < 1.1 < second_method.estimate < 1.4
    # With P = 10 T the same method leaves √(T / P); a second one √(1 - ρ²(1 - T / P)).
    same_method, second_method = widths["regressed"]
    assert same_method.estimate == pytest.approx(0.1**0.5, rel=0.05)
    assert second_method.estimate == pytest.approx((1 - 0.9 * correlation**2) ** 0.5, rel=0.03)


def test_a_data_set_that_is_too_small_for_a_pilot_is_named(bank):
    methods = [Method("none", "ncc")]
    with refuses("2 open tasks", "8 ways", "5 shots", "20 queries", r"\b3\b"):
        sizing.pilot_values([bank], methods, [5], sampling="open", ways=8, queries=20, tasks=None)
    with refuses("1 shot", r"\b2 numbers of queries", r"\b4\b"):
        sizing.curve(sizing.sweep([bank], methods, [1], [1, 2], images=1000))


def test_optima_are_compared_with_the_signs_and_ratios_that_they_have():
    rng, means = np.random.default_rng(3), gaussians.centres(2, 1.0)
    one_shot, a, b = (gaussians.gaussian_tasks(means, 300, shots, 6, rng) for shots in (1, 5, 5))
    assert optima.compare_optima(one_shot, b).z < -1.96  # one shot has the smaller Q*
    swapped, compared = optima.compare_optima(b, a), optima.compare_optima(a, b)
    assert swapped.z == pytest.approx(-compared.z)
    optimum_a, optimum_b = (stats.estimate_variance(x, 5).optimum for x in (a, b))
    assert compared.ratio == pytest.approx(optimum_a / optimum_b) == 1 / swapped.ratio
    assert optima.compare_optima(a, 2 * a).ratio == pytest.approx(1)


def test_small_classes_are_left_out_on_request(tmp_path):
    small = features_file(tmp_path, np.arange(8).repeat([4, *[60] * 7]), apart=0)
    methods = [Method("none", "ncc")]
    for call, shots in ((sizing.pilot_values, [5]), (sizing.by_target, 5)):
        with refuses("class 0 .*images, got 4"):
            call([small], methods, shots, queries=5, tasks=20)
        assert len(call([small], methods, shots, queries=5, tasks=20, skip_small_classes=True)) == 1
    assert len(sizing.by_size(small, methods[0], 1, 2, queries=3, skip_small_classes=True)[0]) == 2
    grid = dict(shots=[5], queries=[2, 20, 45, 56], images=1000)
    assert sizing.sweep([small], methods, **grid).empty
    trials = sizing.sweep([small], methods, **grid, ways=2, skip_small_classes=True)
    assert sorted(trials["queries"].unique()) == [2, 20, 45]


def test_a_fit_is_least_squares_weighted_by_errors_that_are_known():
    """Not of residuals: the errors come from the tasks, and χ² has 6 - 3 degrees of freedom."""
    rng = np.random.default_rng(6)
    q, tasks, shots = np.array([1.0, 2, 4, 8, 16, 32]), np.array([50.0, 40, 30, 20, 12, 6]), 5
    design = np.stack([q, 1 / q, np.ones(6)], axis=1) / ((shots + q) * tasks)[:, None]
    error = design @ [1, 3, 6] * np.array([0.02, 0.05, 0.1, 0.02, 0.1, 0.05])
    variance = design @ [1, 3, 6] + error * rng.normal(0, 1, 6)
    found = optima.fit_variance(q, tasks, variance, error, shots)
    fit = sm.WLS(variance, design, weights=1 / error**2).fit(cov_type="fixed scale")
    model = [found.model.alpha, found.model.beta, found.model.gamma]
    assert model == pytest.approx(fit.params, rel=1e-6)
    assert found.errors == pytest.approx(fit.bse, rel=1e-6)
    assert found.p_value == pytest.approx(scipy_stats.chi2.sf(fit.ssr, 3), rel=1e-6)


def test_half_widths_by_queries_have_errors_of_all_tasks_and_a_range_of_good_ones():
    """Two trials of each Q, of 30 and 50 tasks."""
    queries = np.array([1, 5, 10, 15, 20]).repeat(2)
    width = np.array([3.0, 2.09, 2.0, 2.2, 2.8]).repeat(2)
    trials = pd.DataFrame({
        "dataset": "d", "method": "m", "shots": 5, "queries": queries, "n_tasks": [30, 50] * 5,
        "variance": np.array([4.0, 6.0] * 5) + queries, "fourth": 200.0 + 100 * queries,
        "half_width": width + [-0.1, 0.1] * 5,
    })  # fmt: skip
    curve = sizing.curve(trials)
    variance, fourth = 5.0 + queries[::2], 200.0 + 100 * queries[::2]
    assert curve["error"].tolist() == pytest.approx(np.sqrt((fourth - variance**2) / 80))
    least = sizing.minima(curve).iloc[0]  # within 5 % of the least width; what Q = 15 costs
    assert least[["best", "low", "high", "at_15"]].tolist() == pytest.approx([10, 5, 10, 1.1])
