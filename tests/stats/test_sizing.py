"""Sizing of tasks: moments by enumeration, the model and the pilots against simulation, and the sweeps."""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats as scipy_stats

from fslbook.oops import gaussians, optima, sizing
from fslcore import stats
from fslcore.errors import InputError
from fslcore.evaluation import Method, Record
from fslcore.stats.pilot import moments
from fslcore.tasks import sample_closed

shapes = st.tuples(st.integers(3, 6), st.integers(1, 4), st.integers(2, 5))
values = shapes.flatmap(lambda shape: arrays(int, shape, elements=st.integers(-1, 1)))


def enumerated(x):
    """Moments by going through all pairs, one by one."""
    t, k, q = x.shape
    queries = [
        x[i, c, a] * x[i, c, b] for i, c, a, b in product(*map(range, (t, k, q, q))) if a != b
    ]
    classes = [
        x[i, c, a] * x[i, d, b] for i, c, d, a, b in product(*map(range, (t, k, k, q, q))) if c != d
    ]
    tasks = [
        x[i, c, a] * x[j, d, b]
        for i, j, c, d, a, b in product(*map(range, (t, t, k, k, q, q)))
        if i != j
    ]
    m3 = (k - 1) / k * np.mean(classes) if k > 1 else 0
    return x.mean(), (x**2).mean(), np.mean(queries), m3, np.mean(tasks)


@given(values)
def test_moments_by_enumeration(x):
    m = moments(x)
    assert (m.mean, m.square, m.m2, m.m3, m.squared_mean) == pytest.approx(enumerated(x), abs=1e-12)
    assert m.ways == x.shape[1]


@given(values, st.integers(1, 20))
def test_alpha_and_beta_are_an_analysis_of_variance(x, shots):
    t, k, q = x.shape
    within = x.var(axis=2, ddof=1).mean() / k
    model = moments(x).model(shots)
    assert model.beta == pytest.approx(shots * within, abs=1e-12)
    assert model.alpha == pytest.approx(x.mean(axis=(1, 2)).var(ddof=1) - within / q, abs=1e-12)
    assert model.gamma == pytest.approx(model.beta / shots + shots * model.alpha, abs=1e-12)
    # so at the pilot's own Q and T the model gives back s²/T
    assert model.variance(q, t) == pytest.approx(x.mean(axis=(1, 2)).var(ddof=1) / t, abs=1e-12)


@given(values)
def test_jackknife_leaves_out_each_task_once(x):
    if not x.var(axis=2).any():
        with pytest.raises(InputError, match="do not vary"):
            stats.pilot(x, 5)
        return
    by_hand = np.array(
        [
            (m.alpha, m.beta)
            for m in (moments(np.delete(x, i, axis=0)).model(5) for i in range(len(x)))
        ]
    )
    spread = (len(x) - 1) * np.cov(by_hand.T, ddof=0)
    p = stats.pilot(x, 5)
    assert p.covariance == pytest.approx(spread, abs=1e-12)
    assert p.expected.alpha >= max(0, p.model.alpha)
    # Fieller's bounds: at a finite end, β - αq² is exactly z standard errors from 0
    for q in (p.low, p.high):
        if 0 < q < np.inf:
            weights = np.array([-(q**2), 1])
            distance = (p.model.beta - p.model.alpha * q**2) ** 2
            assert distance == pytest.approx(
                1.959964**2 * weights @ p.covariance @ weights, rel=1e-3, abs=1e-9
            )
    assert p.low <= p.high and (p.low <= p.optimum <= p.high or p.low == np.inf)


@pytest.mark.parametrize("shots, separation", [(1, 2.0), (5, 1.0)])
def test_integrals_and_estimates_agree(shots, separation):
    truth = gaussians.gaussian_moments(shots, separation)
    rng = np.random.default_rng(1)
    x = gaussians.gaussian_tasks(gaussians.centres(2, separation), 40_000, shots, 3, rng)
    p = stats.pilot(x, shots)
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


def test_equation_10():
    model = stats.VarianceModel(0.02, 0.5, 0.2, 5)
    ways, images, q = 5, 2000, np.arange(1, 30)
    tasks = stats.task_count(images, ways, 5, q)
    assert model.variance(q, tasks) == pytest.approx(ways / images * (0.02 * q + 0.5 / q + 0.2))
    assert model.optimum == 5
    assert stats.best_queries(model) == 5
    assert stats.best_queries(model, q, tasks) == 5
    assert stats.task_count(1000, 2, 5, 20) == 20
    exact = optima.fit_variance(q, tasks, model.variance(q, tasks), np.full(29, 1e-6), 5)
    assert (exact.model.alpha, exact.model.beta, exact.model.gamma) == pytest.approx(
        (0.02, 0.5, 0.2)
    )
    assert exact.r_squared == pytest.approx(1) and exact.p_value == pytest.approx(1)


@pytest.mark.parametrize(
    "alpha, beta, optimum", [(0, 1, np.inf), (-0.1, 1, np.inf), (0.1, 0, 0), (0, 0, np.nan)]
)
def test_where_there_is_no_finite_optimum(alpha, beta, optimum):
    model = stats.VarianceModel(alpha, beta, 0.1, 5)
    assert model.optimum == pytest.approx(optimum, nan_ok=True)
    if not np.isfinite(optimum):
        with pytest.raises(InputError, match=r"Q\* = (inf|nan)"):
            stats.best_queries(model)
    assert stats.best_queries(stats.VarianceModel(0, 1, 0.2, 5), [1, 10, 50], [200, 90, 20]) == 50


def test_the_interval_covers():
    truth = gaussians.gaussian_moments(5, 1.0).model(5).optimum
    x = gaussians.gaussian_tasks(
        gaussians.centres(2, 1.0), 400 * 300, 5, 5, np.random.default_rng(2)
    )
    pilots = [stats.pilot(part, 5) for part in x.reshape(400, 300, 2, 5)]
    hits = np.mean([p.low <= truth <= p.high for p in pilots])
    assert hits == pytest.approx(0.95, abs=0.04)
    assert any(np.isinf(p.high) for p in pilots)


def test_common_optimum_against_generalised_least_squares():
    """At each Q every run has the α nearest to its estimates, in their own covariance, of those on β = αQ²."""
    rng = np.random.default_rng(7)
    pilots = [
        stats.pilot(gaussians.gaussian_tasks(gaussians.centres(2, distance), 300, 5, 6, rng), 5)
        for distance in (0.9, 1.0, 1.1)
    ]
    found = optima.common_optimum(pilots)

    def distance(q):
        total, line = 0.0, np.array([1.0, q**2])
        for p in pilots:
            inverse, estimate = np.linalg.inv(p.covariance), np.array([p.model.alpha, p.model.beta])
            off = estimate - line * (line @ inverse @ estimate) / (line @ inverse @ line)
            total += off @ inverse @ off
        return total

    grid = np.geomspace(0.01, 1e4, 6001)
    far = np.array([distance(q) for q in grid])
    assert 1 < grid[far.argmin()] < 50
    assert found.chi_square == pytest.approx(far.min(), rel=1e-4) and found.df == 2
    assert found.optimum == pytest.approx(grid[far.argmin()], rel=2e-3)
    assert found.p_value == pytest.approx(scipy_stats.chi2.sf(far.min(), 2), rel=1e-3)


@pytest.fixture
def bank(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(8).repeat(60)
    features = rng.normal(size=(480, 6)) + 1.2 * np.eye(8, 6)[labels]
    np.savez(tmp_path / "f.npz", features=features, labels=labels)
    return f"features:{tmp_path}/f.npz"


def test_sweep_and_what_is_made_of_it(bank):
    methods = [("none", "ncc"), ("none", "lr")]
    trials = sizing.sweep([bank], methods, [1, 5], [1, 2, 5, 10, 20, 70], images=5000)
    assert set(trials["method"]) == {"none NCC", "none LR", "none NCC − none LR"}
    assert (
        trials["queries"].max() == 20
        and (trials.groupby(["shots", "queries"])["trial"].nunique() == 10).all()
    )
    first = trials[
        (trials["shots"] == 5) & (trials["queries"] == 5) & (trials["method"] == "none NCC")
    ]
    assert first["n_tasks"].tolist() == [9] * 10 or first["n_tasks"].between(8, 9).all()
    curves = sizing.curve(trials)
    assert (curves["error"] > 0).all() and curves["p_value"].between(0, 1).all()
    least = sizing.minima(curves)
    assert ((least["low"] <= least["best"]) & (least["best"] <= least["high"])).all()
    runs = sizing.pilot_values([bank], methods, [1, 5], tasks=200, queries=5, runs=2)
    values = runs[bank, 5, 0]
    assert (values["none NCC − none LR"] == values["none NCC"] - values["none LR"]).all()
    choices = sizing.recommended(curves, runs)
    assert (
        len(choices) == 12 and (choices["regret"] >= 1).all() and (choices["measured"] >= 1).all()
    )
    assert choices["regret"].median() < 1.2
    table = sizing.regret_table(choices.assign(pilot="closed"), ["method"], {"regret": "r"})
    assert table.shape == (3, 1) and table.index[2] == "none NCC − none LR"
    once = {key: v for key, v in runs.items() if key[2] == 0}
    equal = sizing.equal_optima(once, [("none NCC", "none LR")])
    assert (
        len(equal) == 2
        and (equal["cost"] >= 1 - 1e-12).all()
        and (stats.holm(equal["p"]) >= equal["p"]).all()
    )
    stars = sizing.ratio_table(equal.assign(ratio=[1.5, 0.25], p=[0.01, 0.9]), ["shots"])
    assert stars[bank].tolist() == ["1.50 *", "0.25"]
    assert (
        "—"
        in sizing.ratio_table(equal.assign(ratio=[np.nan, 0.25], p=[0.9, 0.9]), ["shots"])[
            bank
        ].tolist()
    )
    pd.testing.assert_frame_equal(
        sizing.sweep([bank], methods, [1, 5], [1, 2, 5, 10, 20, 70], images=5000), trials
    )


def test_classes_of_the_data_set_are_told_to_the_pilot(bank):
    table = sizing.by_target([bank], [Method("none", "ncc")], 5, ways=3, queries=5, tasks=200)
    ((_, method, classes, images),) = table.to_numpy()
    labels = np.arange(8).repeat(60)
    drawn = sample_closed(labels, tasks=200, ways=3, shots=5, queries=5)
    values = sizing.pilot_values(
        [bank], [Method("none", "ncc")], [5], ways=3, queries=5, tasks=200
    )[bank, 5, 0][method]
    again = stats.pilot(values.reshape(200, 15), 5, labels=labels[drawn.query], target="images")
    assert (
        images.model.alpha == pytest.approx(again.model.alpha)
        and images.model.alpha < classes.model.alpha
    )


def test_parts_of_a_data_set_share_no_image(bank):
    table, common = sizing.by_size(bank, ("none", "ncc"), 1, 2, queries=3)
    assert table["images"].sum() == 480 and table["images"][0] == pytest.approx(240, abs=8)
    assert common.df == 1
    with pytest.raises(InputError, match="part 4 holds 2 tasks|at least 2 are needed"):
        sizing.by_size(bank, ("none", "ncc"), 1, 4, queries=3)


def fixed_classes(rng, tasks, classes=12, ways=3, queries=4):
    """Values on tasks of fixed classes, easy and hard ones, and the classes (T, K); α without the classes is 0.01."""
    easy = np.linspace(0.3, 0.7, classes)
    of_task = rng.random((tasks, classes)).argsort(axis=1)[:, :ways]
    chance = easy[of_task] + 0.1 * rng.choice([-1, 1], (tasks, 1))
    return (rng.random((tasks, ways, queries)) < chance[..., None]).astype(int), of_task


def test_open_tasks_that_use_the_classes_up_have_the_variance_of_the_target_images():
    """Each class in as many tasks: the real variance over fresh runs, with α for new images and with the paper's."""
    rng, runs, tasks, queries = np.random.default_rng(9), 4000, 8, 4
    of_task = (
        rng.random((runs, tasks // 4, 12)).argsort(axis=2).reshape(runs, tasks, 3)
    )  # a class in 2 of 8 tasks
    chance = np.linspace(0.3, 0.7, 12)[of_task] + 0.1 * rng.choice([-1, 1], (runs, tasks, 1))
    real = (rng.binomial(queries, chance) / queries).mean(axis=(1, 2)).var()
    x, of_task = fixed_classes(rng, 4000)
    says = {
        t: stats.pilot(x, 5, labels=of_task, target=t).model.variance(queries, tasks)
        for t in ("images", "classes")
    }
    assert says["images"] == pytest.approx(real, rel=0.08) and says["classes"] > 1.08 * real


def test_the_target_images_by_leaving_out_each_task():
    rng = np.random.default_rng(10)
    x, of_task = fixed_classes(rng, 40)
    p = stats.pilot(x, 5, labels=of_task, target="images")
    by_hand = []
    for i in range(len(x)):
        m = moments(np.delete(x, i, 0), labels=np.delete(of_task, i, 0), target="images").model(5)
        by_hand.append((m.alpha, m.beta))
    assert p.covariance == pytest.approx(39 * np.cov(np.array(by_hand).T, ddof=0), rel=1e-6)
    design = np.eye(12)[of_task].sum(axis=1)
    fit = sm.OLS(x.mean(axis=(1, 2)), design).fit()
    within = x.var(axis=2, ddof=1).mean() / 3
    assert p.model.alpha == pytest.approx(fit.mse_resid - within / 4, rel=1e-9)
    flat = stats.pilot(x.reshape(40, 12), 5, labels=np.repeat(of_task, 4, axis=1), target="images")
    assert (flat.low, flat.optimum, flat.high) == pytest.approx(
        (p.low, p.optimum, p.high)
    ) and flat.target == "images"


@pytest.mark.parametrize(
    "spread, ends", [(0.2, "{:.1f} ({:.1f} to {:.1f})"), (0.0, "{:.1f} ({:.1f} to ∞)")]
)
def test_the_short_form_of_a_pilot(spread, ends):
    rng = np.random.default_rng(0)
    chance = np.clip(0.5 + spread * rng.choice([-1, 1], (200, 1, 1)), 0, 1)
    found = stats.pilot((rng.random((200, 4, 6)) < chance).astype(int), 1)
    assert np.isfinite(found.optimum) and str(found) == ends.format(
        found.optimum, found.low, found.high
    )


def test_optima_are_compared_by_leaving_each_task_out():
    rng = np.random.default_rng(1)
    a, b = rng.random((30, 3, 4)), rng.random((30, 3, 4)) ** 2

    def crossed(rows):
        of_a, of_b = (stats.pilot(x[rows], 1).model for x in (a, b))
        return of_b.alpha * of_a.beta - of_a.alpha * of_b.beta

    tasks = np.arange(30)
    without = np.array([crossed(np.delete(tasks, t)) for t in tasks])
    z = crossed(tasks) / np.sqrt(29 * without.var())
    assert optima.compare_optima(a, b).z == pytest.approx(z, rel=1e-6)


def test_the_least_numbers_are_taken():
    assert stats.task_count(12, 1, 1, [1, 2]).tolist() == [6, 4]  # of one class and one shot
    assert np.isfinite(
        optima.fit_variance([1, 2, 4, 8], [9] * 4, [0, 1.0, 0.5, 0.4], [0.1] * 4, 5).p_value
    )


def test_fits_that_are_right_have_every_p_value_equally_often():
    """χ² of a true model has n - 3 degrees of freedom, as SciPy's χ² has them: one more or less would show."""
    rng, q = np.random.default_rng(13), np.array([1, 2, 4, 7, 15, 40])
    tasks = stats.task_count(2000, 5, 5, q)
    truth = stats.VarianceModel(0.02, 0.5, 0.2, 5).variance(q, tasks)
    error = 0.02 * truth
    p = [
        optima.fit_variance(q, tasks, rng.normal(truth, error), error, 5).p_value
        for _ in range(500)
    ]
    assert scipy_stats.kstest(p, "uniform").pvalue > 0.001


@pytest.mark.parametrize("seed", range(3))
def test_the_expected_alpha_is_that_of_a_normal_number_cut_off_at_0(seed):
    x = np.random.default_rng(seed).integers(
        0, 2, (30, 4, 6)
    )  # α is 0 in truth: the estimate is near or below
    p = stats.pilot(x, 5)
    error = np.sqrt(p.covariance[0, 0])
    cut = scipy_stats.truncnorm(-p.model.alpha / error, np.inf, p.model.alpha, error)
    assert p.expected.alpha == pytest.approx(cut.mean(), rel=1e-6)


@pytest.mark.parametrize("kind", [int, str])
def test_labels_group_queries_that_come_in_any_order(kind):
    rng = np.random.default_rng(0)
    x = rng.random((40, 4, 6)) < rng.uniform(0.2, 0.9, (40, 4, 1))
    classes = np.array([rng.permutation(9)[:4] for _ in range(40)])  # tasks differ in their classes
    order = rng.random((40, 24)).argsort(axis=1)
    label = np.take_along_axis(np.repeat(classes, 6, axis=1), order, axis=1).astype(kind)
    flat = np.take_along_axis(x.reshape(40, 24), order, axis=1)
    found, grouped = stats.pilot(flat, 5, labels=label), stats.pilot(x, 5)
    assert (found.low, found.optimum, found.high) == pytest.approx(
        (grouped.low, grouped.optimum, grouped.high)
    )
    assert moments(flat, labels=label).m2 == pytest.approx(moments(x).m2)


@pytest.mark.parametrize("values", [[0, 1], [0, 100], [-1, 0, 1], [0, 0.5, 1]])
def test_a_pilot_knows_the_bounds_of_true_and_false_and_else_those_that_are_given(values):
    x = np.random.default_rng(0).choice(values, (9, 2, 8))
    assert stats.pilot(x, 5).bounds is None and stats.pilot(x, 5, bounds=(-100, 100)).bounds == (
        -100,
        100,
    )
    assert stats.pilot(x > 0, 5).bounds == (0, 1)
    with pytest.raises(
        InputError, match="pilot: its values lie between 0 and 1, as those of one method"
    ):
        stats.plan(stats.pilot(x > 0, 5), difference=0.1)


@pytest.mark.slow
def test_tasks_by_difficulty_pay_only_where_the_difficulty_is_known():
    """With the measured method's own errors as difficulty the interval is narrower than with those of another."""
    ncc, other = Method("efficientnet-lite0", "ncc"), Method("conv4-protonet", "protonet")
    found = sizing.by_difficulty(
        "clipart", [(ncc, ncc), (other, ncc)], tasks=200, proposals=2000, seeds=range(4)
    )
    own, apart = found["weighted"]
    assert found["correlation"][0] == pytest.approx(1) and 0.1 < found["correlation"][1] < 0.7
    assert 0.8 < own.mean < 1.02 < 1.1 < apart.mean < 1.4
    regressed = found[
        "regressed"
    ]  # with P = 10 T the same method leaves √(T / P); another √(1 - ρ²(1 - T / P))
    assert regressed[0].mean == pytest.approx(0.1**0.5, rel=0.05)
    assert regressed[1].mean == pytest.approx(
        (1 - 0.9 * found["correlation"][1] ** 2) ** 0.5, rel=0.03
    )


@given(st.floats(0.01, 1), st.floats(0.05, 20), st.integers(1, 10))
def test_the_best_whole_number_of_queries_is_the_best_of_all(alpha, beta, shots):
    model = stats.VarianceModel(alpha, beta, beta / shots + shots * alpha, shots)
    every = np.arange(1, 200)
    best = stats.best_queries(model)
    of = model.variance(every, 1 / (shots + every))
    assert model.variance(best, 1 / (shots + best)) == pytest.approx(of.min())


def test_a_variance_asks_for_tasks_by_their_name():
    with pytest.raises(InputError, match="^tasks"):
        stats.VarianceModel(0.1, 1, 1, 5).variance(5, -1)


QUERY_LABELS = {  # labels of the queries of 3 tasks, and what is said of them
    "values: shape (3, 4); labels of the queries are needed": None,
    "labels: 2 classes with equal": [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]],
    "labels (2, 4)": [[0, 0, 1, 1]] * 2,
    "labels hold -1, which is padding": [[0, 0, -1, -1]] * 3,
}


@pytest.mark.parametrize("words", QUERY_LABELS)
def test_labels_that_do_not_fit_are_refused(words):
    with pytest.raises(InputError, match=re.escape(words)):
        stats.pilot(np.arange(12).reshape(3, 4) % 2, 5, labels=QUERY_LABELS[words])


@pytest.mark.parametrize(
    "label, words",
    [
        (None, "labels = None; the classes of the queries"),
        (np.zeros((40, 3), int), "3 different classes"),
        (np.arange(120).reshape(40, 3), "120 classes in 40 tasks"),
    ],
)
def test_labels_that_do_not_fit_the_target_are_refused(label, words):
    x, _ = fixed_classes(np.random.default_rng(0), 40)
    with pytest.raises(InputError, match=words):
        stats.pilot(x, 5, labels=label, target="images")


NUMBERS = np.arange(16).reshape(4, 2, 2)
ONES = stats.VarianceModel(1, 1, 1, 1)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: moments(np.ones((3, 2))), r"shape \(3, 2\)"),
        (lambda: moments(NUMBERS[:1]), "at least 2 tasks"),
        (lambda: moments(NUMBERS[..., :1]), "2 queries"),
        (lambda: stats.pilot(np.eye(4)[:, :, None].repeat(2, 2), 5), "do not vary"),
        (lambda: stats.pilot(NUMBERS[:2], 5), "at least 3 tasks"),
        (lambda: stats.best_queries(ONES, [1, 2], [9, 1]), "the least is 1"),
        (lambda: stats.best_queries(ONES, [1, 2], [9]), "one length"),
        (lambda: stats.best_queries(ONES, [2.5, 1], [50, 40]), "queries"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_a_data_set_that_is_too_small_for_a_pilot_is_named(bank):
    methods = [Method("none", "ncc")]
    with pytest.raises(
        InputError,
        match="holds 2 open tasks of 8 ways, 5 shots and 20 queries, and a pilot needs 3",
    ):
        sizing.pilot_values([bank], methods, [5], sampling="open", ways=8, queries=20, tasks=None)
    with pytest.raises(
        InputError, match="at 1 shots for 2 numbers of queries only, and a curve needs 4"
    ):
        sizing.curve(sizing.sweep([bank], methods, [1], [1, 2], images=1000))


def test_values_by_class():
    label = np.array([[0, 1, 0, 1], [1, 1, 0, 0]])
    right = np.array([[True, False, False, True], [False, True, True, True]])
    assert Record(right, label).by_class().tolist() == [[[1, 0], [0, 1]], [[1, 1], [0, 1]]]
    with pytest.raises(InputError, match="different numbers"):
        Record(right, np.array([[0, 1, 0, -1], [1, 1, 0, 0]])).by_class()


def test_optima_are_compared_with_the_signs_and_ratios_that_they_have():
    rng, means = np.random.default_rng(3), gaussians.centres(2, 1.0)
    one_shot, a, b = (gaussians.gaussian_tasks(means, 300, shots, 6, rng) for shots in (1, 5, 5))
    assert optima.compare_optima(one_shot, b).z < -1.96  # one shot has the smaller Q*
    swapped, compared = optima.compare_optima(b, a), optima.compare_optima(a, b)
    assert swapped.z == pytest.approx(-compared.z) and swapped.ratio == pytest.approx(
        1 / compared.ratio
    )
    assert optima.compare_optima(a, 2 * a).ratio == pytest.approx(1)


def test_small_classes_are_left_out_on_request(tmp_path):
    labels = np.arange(8).repeat([4, *[60] * 7])
    features = np.random.default_rng(0).normal(size=(len(labels), 4))
    np.savez(tmp_path / "f.npz", features=features, labels=labels)
    small, methods = f"features:{tmp_path}/f.npz", [Method("none", "ncc")]
    for call, shots in ((sizing.pilot_values, [5]), (sizing.by_target, 5)):
        with pytest.raises(InputError, match="class 0 has 4 images"):
            call([small], methods, shots, queries=5, tasks=20)
        assert len(call([small], methods, shots, queries=5, tasks=20, skip_small_classes=True)) == 1
    assert len(sizing.by_size(small, methods[0], 1, 2, queries=3, skip_small_classes=True)[0]) == 2
    grid = dict(shots=[5], queries=[2, 20, 45, 56], images=1000)
    assert sizing.sweep([small], methods, **grid).empty
    trials = sizing.sweep([small], methods, **grid, ways=2, skip_small_classes=True)
    assert sorted(trials["queries"].unique()) == [2, 20, 45]
