"""Intervals for new training runs: components against another library, coverage of known truths, plans, chances."""

import hashlib
import json
import math
import re
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from refusal import refuses
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.power import TTestIndPower

from fslbook import published
from fslbook.beyond import runs as stored
from fslbook.training import RECIPES
from fslcore import datasets, stats
from fslcore.paths import DATA
from fslcore.stats import runs as runs_module
from tests.checkout import build_script


def crossed(rng, runs, tasks, run=1.0, task=1.0, both=1.0):
    """(R, T) accuracies about 0 with crossed effects of these standard deviations, the last one of each cell."""
    effects = rng.normal(0, run, (runs, 1)) + rng.normal(0, task, tasks)
    return effects + rng.normal(0, both, (runs, tasks))


def test_components_are_those_of_a_mixed_model():
    import statsmodels.formula.api as smf

    x = 50 + crossed(np.random.default_rng(3), 6, 40, run=2, task=3, both=4)
    long = pd.DataFrame(
        {"y": x.ravel(), "run": np.repeat(np.arange(6), 40), "task": np.tile(np.arange(40), 6)}
    )
    parts = {"run": "0 + C(run)", "task": "0 + C(task)"}
    fit = smf.mixedlm("y ~ 1", long, groups=np.ones(len(long)), vc_formula=parts).fit(reml=True)
    ours = stats.new_run_interval(x)
    theirs = dict(
        zip(fit.model.exog_vc.names, fit.vcomp)
    )  # balanced: REML is the analysis of variance
    assert ours.run_variance == pytest.approx(theirs["run"], rel=1e-3)
    assert 40 * ours.rest_variance == pytest.approx(theirs["task"], rel=1e-3)
    assert 40 * ours.interaction_variance == pytest.approx(fit.scale, rel=1e-3)
    assert ours.interval.standard_error == pytest.approx(fit.bse["Intercept"], rel=1e-3)


def test_with_runs_alone_it_is_students_interval_of_their_means():
    means, against = np.array([61.0, 64.0, 60.5, 62.0]), np.array([58.0, 59.0, 63.0])
    runs, others = (np.repeat(values[:, None], 30, axis=1) for values in (means, against))
    alone = stats.new_run_interval(runs)
    half = scipy.stats.t.ppf(0.975, 3) * means.std(ddof=1) / 2
    assert alone.interval.half_width == pytest.approx(half)
    assert alone.prediction_half_width == pytest.approx(half * math.sqrt(5))
    assert alone.fixed.half_width == 0 and alone.rest_variance == 0
    welch = scipy.stats.ttest_ind(means, against, equal_var=False)
    assert stats.new_run_interval(runs, others).interval.p_value == pytest.approx(welch.pvalue)
    paired = stats.new_run_interval(runs[:3], others, paired=True)
    assert paired.interval.p_value == pytest.approx(
        scipy.stats.ttest_rel(means[:3], against).pvalue
    )


@pytest.mark.parametrize("runs", [3, 10])
@pytest.mark.parametrize("run, task, cell", [(1, 0.1, 1), (0.6, 6, 6), (0.0, 3, 9)])
def test_new_runs_are_covered(runs, run, task, cell):
    rng, tasks = np.random.default_rng([runs, int(10 * task)]), 60
    results = [
        stats.new_run_interval(crossed(rng, runs, tasks, run, task, cell)) for _ in range(400)
    ]
    held = np.mean([r.interval.low <= 0 <= r.interval.high for r in results])
    assert (
        0.915 <= held <= (0.99 if runs == 3 else 0.985)
    )  # 0.92 to 0.98, and the noise of 400 draws


@pytest.mark.parametrize("paired", [False, True])
def test_differences_of_recipes_are_covered(paired):
    rng, held, naive = np.random.default_rng(4), [], []
    for _ in range(400):
        tasks, start = (
            rng.normal(0, 4, 80),
            rng.normal(0, 2 * paired, (4, 1)),
        )  # what paired runs start from
        a, b = (
            tasks + start + rng.normal(0, s, (4, 1)) + rng.normal(0, 3, (4, 80)) for s in (0.5, 1.5)
        )
        result = stats.new_run_interval(a, b, paired=paired)
        held.append(abs(result.interval.estimate) <= result.interval.half_width)
        naive.append(abs(result.fixed.estimate) <= result.fixed.half_width)
    assert 0.925 <= np.mean(held) <= 0.98
    assert np.mean(naive) < 0.7  # the paired interval over tasks does not speak of new runs


def world(
    rng,
    runs,
    *,
    classes=12,
    size=16,
    tasks=120,
    ways=4,
    shots=1,
    queries=4,
    sd=(0.3, 0.4, 0.6, 0.2, 0.4),
):
    """Right answers (R, T, K·Q) of runs on closed tasks, with the tasks, the labels and the means of each target.

    Probit: an answer is right where μ + class + image + run + run × class + run × image, of these standard deviations,
    is above standard normal noise.
    """
    of_class, image, run, run_class, run_image = sd
    labels = np.arange(classes).repeat(size)
    c, e = rng.normal(0, of_class, classes), rng.normal(0, image, classes * size)
    r = rng.normal(0, run, runs)
    rc, re = (
        rng.normal(0, run_class, (runs, classes)),
        rng.normal(0, run_image, (runs, classes * size)),
    )
    p = scipy.stats.norm.cdf(0.5 + c[labels] + e + r[:, None] + rc[:, labels] + re)  # (R, N)
    chosen = rng.permuted(np.tile(np.arange(classes), (tasks, 1)), axis=1)[:, :ways]
    places = (
        np.argsort(rng.random((tasks, ways, size)), axis=2)[..., : shots + queries]
        + size * chosen[..., None]
    )
    support, query = places[..., :shots].reshape(tasks, -1), places[..., shots:].reshape(tasks, -1)
    right = rng.random((runs, *query.shape)) < p[:, query]

    def mean(fixed, *unknown):  # over everything that is new
        return scipy.stats.norm.cdf(
            (0.5 + fixed) / math.sqrt(1 + sum(u**2 for u in unknown))
        ).mean()

    truth = {
        "closed": mean(c[labels] + e, run, run_class, run_image),
        "images": mean(c, image, run, run_class, run_image),
        "classes": mean(np.zeros(1), of_class, image, run, run_class, run_image),
    }
    return right, (support, query, labels), truth


@pytest.mark.slow
def test_new_runs_with_new_images_and_classes_are_covered():
    rng, covered, without_runs = np.random.default_rng(7), [], []
    for _ in range(60):
        right, places, truth = world(rng, 4)
        result = stats.new_run_intervals(right, *places)
        for target, mean in truth.items():
            interval, fixed = getattr(result, target).interval, getattr(result, target).fixed
            covered.append(interval.low <= mean <= interval.high)
            without_runs.append(fixed.low <= mean <= fixed.high)
    shares = np.reshape(covered, (60, 3)).mean(axis=0)
    assert (shares >= 0.87).all(), shares  # 60 draws: 0.95 less 2.8 standard errors
    assert np.mean(without_runs[::3]) < 0.6


def test_two_runs_are_never_surer_than_their_means_alone():
    """Two runs that are alike by chance: at least Student's interval of the two means, and no less for one of them."""
    rng, covered = np.random.default_rng(1), []
    for _ in range(400):
        x = 70 + rng.normal(0, 2.0, (2, 1)) + rng.normal(0, 8, 300) + rng.normal(0, 3, (2, 300))
        interval, means = stats.new_run_interval(x).interval, x.mean(axis=1)
        alone = scipy.stats.t.ppf(0.975, 1) * means.std(ddof=1) / 2**0.5
        assert interval.half_width >= alone * (1 - 1e-9) and (interval.p_value < 0.05) == (
            interval.sign != 0
        )
        covered.append(abs(interval.estimate - 70) < interval.half_width)
    assert 0.94 < np.mean(covered) < 0.985


def test_what_changes_in_one_run_alone_is_counted_once():
    """Runs and images that only interact: the variance of the mean is theirs over R, not twice that."""
    rng = np.random.default_rng(8)
    ratio = []
    for _ in range(25):
        right, places, _ = world(rng, 6, tasks=300, sd=(0, 0, 0, 0, 1.2))
        result = stats.new_run_intervals(right, *places).images
        added = result.run_deviations[0] ** 2 / 6
        ratio.append(result.interval.standard_error**2 / (added + result.fixed.standard_error**2))
    assert np.mean(ratio) < 0.75


def test_an_interval_is_never_wider_than_that_of_the_next_target():
    for seed in range(8):
        right, places, _ = world(np.random.default_rng(seed), 2, tasks=60)
        result = stats.new_run_intervals(right, *places)
        intervals = [getattr(result, k).interval for k in ("closed", "images", "classes")]
        halves = [interval.half_width for interval in intervals]
        assert halves == sorted(halves)
        targets = ["new runs", "new runs and images", "new runs and classes"]
        assert [interval.target for interval in intervals] == targets
    narrow = replace(result.classes.interval, half_width=1e-3)
    larger = replace(result.classes, interval=narrow)
    taken_over = runs_module._no_wider(result.images, larger).interval
    assert (taken_over.half_width, taken_over.target) == (1e-3, "new runs and images")


def test_three_targets_for_these_runs_are_three_intervals_of_their_mean():
    right, places, _ = world(np.random.default_rng(1), 3)
    result, fixed = (
        stats.new_run_intervals(100 * right, *places),
        stats.three_intervals(100 * right.mean(axis=0), *places),
    )
    halves = []
    for target in ("closed", "images", "classes"):
        ours, theirs = getattr(result, target).fixed, getattr(fixed, target)
        assert (ours.estimate, ours.half_width, ours.df) == pytest.approx(
            (theirs.estimate, theirs.half_width, theirs.df)
        )
        runs = getattr(result, target)
        rest = max(ours.standard_error**2 - runs.interaction_variance / 3, 0)
        assert runs.rest_variance == pytest.approx(rest)
        halves.append(f"{runs.interval.half_width:.2f}")
    assert str(result).startswith(f"{100 * right.mean():.2f} ")
    targets = ("these images", "new images", "new classes")
    assert re.findall(r"± ([\d.]+) \(([a-z ]+)\)", str(result)) == [*zip(halves, targets)]


def test_two_methods_are_compared_both_ways():
    right, places, _ = world(np.random.default_rng(1), 3)
    against = world(np.random.default_rng(2), 5)[0]
    forth = stats.new_run_intervals(right, *places, b=against)
    back = stats.new_run_intervals(against, *places, b=right)
    assert forth.images.interval.estimate == pytest.approx(-back.images.interval.estimate)
    assert forth.classes.interval.half_width == pytest.approx(back.classes.interval.half_width)
    assert forth.closed.n_runs == (3, 5)


def test_nothing_is_known_of_new_classes_where_every_task_has_all():
    right, places, _ = world(np.random.default_rng(2), 3, classes=4)
    endless = stats.new_run_intervals(right, *places).classes.interval
    assert (endless.half_width, endless.target) == (np.inf, "new runs and classes")


def test_chance_better_is_the_same_from_both_sides():
    first, second = [61.2, 63.0, 62.1], [59.8, 61.9, 60.1, 60.9]
    forth, back = (
        stats.probability_of_improvement(first, second),
        stats.probability_of_improvement(second, first, confidence_level=0.95),
    )
    assert (forth.estimate, forth.low, forth.high) == pytest.approx(
        (1 - back.estimate, 1 - back.high, 1 - back.low)
    )
    assert stats.probability_of_improvement(first, first).estimate == 0.5
    for runs, against, level in (
        (3, 3, 0.95),
        (9, 12, 0.8),
    ):  # all on one side: as many draws as the fewer runs
        sure = stats.probability_of_improvement(
            np.ones(runs), np.zeros(against), confidence_level=level
        )
        exact = scipy.stats.binomtest(runs, runs).proportion_ci(level, "exact").low
        assert (sure.estimate, sure.low, sure.high, sure.confidence_level) == pytest.approx(
            (1, exact, 1, level)
        )


@pytest.mark.parametrize(
    "rounded",
    [lambda count: count * (1 / 75), lambda count: np.float32(count / 75)],
    ids=["product", "32 bits"],
)
def test_what_differs_by_rounding_alone_is_no_difference(rounded):
    count = np.random.default_rng(0).binomial(75, 0.8, (6, 300))
    first, second = count / 75, rounded(count)
    assert (first != second).any()
    paired = stats.new_run_interval(first, second, paired=True)
    assert (paired.interval.estimate, paired.interval.half_width, paired.interval.sign) == (
        0,
        0,
        0,
    )
    assert stats.probability_of_improvement(first[0], second[0], paired=True).estimate == 0.5
    assert stats.new_run_interval(first, second).fixed.sign == 0
    assert stats.probability_of_improvement([0.3] * 6, [0.1 + 0.2] * 6).estimate == 0.5


def collapsing(rng, shift, runs):
    """Runs of two methods, of which 15 % collapse."""
    return [mean + rng.normal(0, 1, runs) - 20 * (rng.random(runs) < 0.15) for mean in (shift, 0)]


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_chance_better_is_covered_without_normal_runs(shift):
    """400 studies of 2 to 10 runs; the former interval, of normal runs, held 70 to 88 % where runs collapse."""
    rng = np.random.default_rng([7, int(2 * shift)])
    first, second = (np.sort(runs) for runs in collapsing(rng, shift, 400_000))
    truth = np.mean([np.searchsorted(second, first, side) for side in ("left", "right")]) / len(
        second
    )
    for runs in (2, 3, 5, 10):
        chances = [
            stats.probability_of_improvement(*collapsing(rng, shift, runs)) for _ in range(400)
        ]
        assert np.mean([chance.low <= truth <= chance.high for chance in chances]) >= 0.93, runs


@pytest.mark.parametrize("first, second, share", [(5, 20, 0.6), (12, 12, 1.0)])
def test_chance_better_is_covered_where_runs_are_of_two_kinds_or_of_one(first, second, share):
    """Runs of the worse kind are below all others; of one kind, the interval is shorter than for so few pairs."""
    rng = np.random.default_rng(first)
    distance, studies = 1.5, 500
    truth = share * scipy.stats.norm.cdf(distance / np.sqrt(2))
    better_kind = rng.random((studies, first)) < share
    means = np.where(better_kind, distance, -30) + rng.normal(size=(studies, first))
    chances = [stats.probability_of_improvement(x, rng.normal(size=second)) for x in means]
    assert np.mean([chance.low <= truth <= chance.high for chance in chances]) >= 0.94
    fewest = min(first, second)
    widths = [
        (scipy.stats.beta.ppf(0.975, k + 1, fewest - k) if k < fewest else 1)
        - (scipy.stats.beta.ppf(0.025, k, fewest - k + 1) if k else 0)
        for k in (fewest * chance.estimate for chance in chances)
    ]
    saved = 1 - np.mean([chance.high - chance.low for chance in chances]) / np.mean(widths)
    assert saved > (0.05 if share == 1 else 0)


@pytest.mark.parametrize("first, second", [(3, 3), (5, 5), (4, 9)])
def test_no_interval_excludes_what_that_of_runs_which_all_agree_holds(first, second):
    numbers = np.arange(first + second)
    surest = (0.05 / 2) ** (1 / min(first, second))
    lows = []
    for chosen in combinations(numbers, first):
        rest = np.setdiff1d(numbers, chosen)
        lows.append(stats.probability_of_improvement(np.array(chosen, float), 1.0 * rest).low)
    assert max(lows) == pytest.approx(surest)


def test_chance_better_is_mann_whitneys_share_with_the_exact_interval_of_independent_pairs():
    first, second = [3.0, 1, 2, 9, 9, 9], [2.0, 2, 0, 0]
    share = scipy.stats.mannwhitneyu(first, second).statistic / 24
    assert stats.probability_of_improvement(first, second).estimate == pytest.approx(share)
    paired = stats.probability_of_improvement(
        [1.0, 2, 3, 4, 5, 6, 7], [0.0, 1, 4, 3, 4, 7, 6], paired=True
    )
    four_of_five = stats.probability_of_improvement(
        [1.0, 1, 0, 1, 1], [0.5] * 8
    )  # one run is below all others
    for chance, better, runs in ((paired, 5, 7), (four_of_five, 4, 5)):
        exact = scipy.stats.binomtest(better, runs).proportion_ci(0.95, "exact")
        assert (chance.estimate, chance.low, chance.high) == pytest.approx(
            (better / runs, exact.low, exact.high)
        )


def test_chance_better_counts_as_many_independent_pairs_as_its_variance_is_that_of():
    """By DeLong's variance, from the share of the other method's runs that each run is above, or below."""
    first, second = np.array([2.0, 5, 7, 10, 12]), np.array([1.0, 3, 6, 8, 11])
    wins = first[:, None] > second
    variance = wins.mean(axis=1).var(ddof=1) / 5 + wins.mean(axis=0).var(ddof=1) / 5
    share = wins.mean()
    pairs = share * (1 - share) / variance
    assert 5 < pairs < 3 * 25 / 11
    chance = stats.probability_of_improvement(first, second)
    low = scipy.stats.beta.ppf(0.025, pairs * share, pairs * (1 - share) + 1)
    high = scipy.stats.beta.ppf(0.975, pairs * share + 1, pairs * (1 - share))
    assert (chance.estimate, chance.low, chance.high) == pytest.approx((share, low, high))


def test_runs_that_agree_can_be_planned_with():
    rng = np.random.default_rng(0)
    tasks = rng.normal(60, 8, 50)
    agreeing = stats.new_run_interval(
        np.tile(tasks + rng.normal(1, 0.1, 50), (3, 1)), np.tile(tasks, (4, 1))
    )
    assert (
        agreeing.run_deviations == (0, 0) and stats.plan_runs(agreeing, difference=5.0).n_runs == 2
    )
    for values in (tasks, tasks.round()):  # nothing varies, but for rounding: the bounds decide
        runs = np.tile(values + 1, (3, 1)), np.tile(values, (4, 1))
        bounded = stats.new_run_interval(*runs, bounds=(-100, 100))
        assert bounded.rest_variance == 0
        assert stats.plan_runs(bounded, difference=50.0).n_runs == 10  # 2 / 1.5^10 < 0.05
        assert stats.plan_runs(stats.new_run_interval(*runs), difference=50.0).n_runs is None


def test_a_plan_has_the_power_that_it_promises():
    rng, powers = np.random.default_rng(6), []
    for _ in range(40):
        first, second = (
            crossed(rng, 5, 30, run=1, task=2, both=0.1),
            crossed(rng, 5, 30, run=1, task=2, both=0.1),
        )
        pilot = stats.new_run_interval(first, second - second.mean(axis=0) + first.mean(axis=0))
        runs = stats.plan_runs(pilot, difference=1).n_runs
        powers.append(stats.power(1, math.sqrt(2 / runs), 2 * (runs - 1)))
    assert 0.75 <= np.mean(powers) <= 0.92
    exact = replace(
        pilot,
        n_runs=(3000, 3000),
        rest_variance=0.0,
        interaction_variance=0.0,
        run_deviations=(1.0, 1.0),
    )
    assert stats.plan_runs(exact, difference=1).n_runs == 17  # of each, as textbooks have it


def test_the_range_of_a_plan_is_for_the_spreads_that_a_pilot_allows_for():
    """Each end is statsmodels' number for a variance that is known: that of an end of the χ² interval of the runs'."""
    rng = np.random.default_rng(2)
    a, b = (crossed(rng, 8, 200, run=2, task=0.1, both=0) for _ in "ab")
    pilot = replace(stats.new_run_interval(a, b), rest_variance=0.0, run_deviations=(2.0, 2.0))
    plan = stats.plan_runs(pilot, difference=3, confidence_level=0.9)
    ends = [4.0 * 14 / scipy.stats.chi2.ppf(q, 14) for q in (0.95, 0.05)]
    solve = TTestIndPower().solve_power
    assert list(plan.runs_range) == [
        math.ceil(solve(3 / math.sqrt(v), alpha=0.1, power=0.8)) for v in ends
    ]


def test_where_all_runs_are_equal_their_number_is_the_evidence():
    for runs in (3, 6):
        interval = stats.new_run_interval(np.full((runs, 9), 0.7), bounds=(-1, 1)).interval
        assert (interval.target, interval.half_width) == ("new runs", 0)
        assert interval.p_value == pytest.approx(2 / 1.7**runs)


def test_a_plan_that_no_runs_fulfil_says_so():
    rng = np.random.default_rng(0)
    unknown = replace(
        stats.new_run_interval(crossed(rng, 5, 20), crossed(rng, 5, 20)), rest_variance=math.inf
    )
    assert stats.plan_runs(unknown, difference=20) == runs_module.RunPlan(None, (None, None))
    pilot = stats.new_run_interval(
        crossed(rng, 5, 20, run=0.1, task=9), crossed(rng, 5, 20, run=0.1, task=9)
    )
    assert stats.plan_runs(pilot, difference=0.5).n_runs is None
    plan = stats.plan_runs(pilot, difference=20)
    assert plan.runs_range[0] <= plan.n_runs <= plan.runs_range[1]


def test_bad_input_is_named():
    many, few = np.zeros((3, 9)), np.zeros((1, 9))
    for call, says in (
        (lambda: stats.new_run_interval(few), "^a .*at least 2 runs.*got 1$"),
        (
            lambda: stats.new_run_interval(many, np.zeros((4, 9)), paired=True),
            "paired runs must be as many, got 3 of a and 4 of b",
        ),
        (lambda: stats.new_run_interval(many, paired=True), "paired must be False without b"),
        (lambda: stats.new_run_interval(many[:, :1]), "at least 2 tasks"),
        (
            lambda: stats.plan_runs(stats.new_run_interval(many), difference=0),
            "^difference .* 0, got 0",
        ),
    ):
        with refuses(says):
            call()


# ---------------------------------------------------------------- the runs that ship


@pytest.fixture(scope="module")
def script():
    return build_script("runs")


@pytest.fixture(scope="module")
def shipped():
    return pd.read_parquet(stored.RECORDS).assign(
        provenance=lambda x: x["provenance"].map(json.loads)
    )


def test_shipped_runs_are_of_the_data_at_hand(shipped):
    digest, name = (DATA / "runs" / "SHA256SUMS").read_text().split()
    assert hashlib.sha256((DATA / "runs" / name).read_bytes()).hexdigest() == digest
    trained_on = {
        split: datasets.load("coloured", split=split).digest for split in ("base", "validation")
    }
    assert all(facts["training_data"] == trained_on for facts in shipped["provenance"])
    for (dataset, name), part in shipped.groupby(["dataset", "learner"]):
        assert part["seed"].tolist() == [*range(5 if name in stored.names() else 3)]
        assert len({facts["weights"] for facts in part["provenance"]}) == len(part)
        assert {facts["images"] for facts in part["provenance"]} == {datasets.load(dataset).digest}


def test_shipped_records_are_read_task_by_task(shipped):
    for row in shipped.groupby(["dataset", "learner"]).head(1).itertuples():
        right = stored.answers(row.dataset, row.learner)
        assert right.shape[1:] == (row.tasks, 75) and set(np.unique(right)) == {0, 100}
        assert right[0].mean() > (
            19 if RECIPES[row.learner].batch == "views" else 24
        )  # chance is 20 %
        tasks = stored.tasks_of(row.dataset, RECIPES[row.learner].learner)
        assert tasks.digest == row.provenance["tasks"] and len(tasks) == row.tasks


def test_records_of_other_tasks_are_refused(monkeypatch):
    stored.answers.cache_clear()
    monkeypatch.setitem(stored.SHAPE, "seed", 1)
    stored._tasks.cache_clear()
    with refuses("other images or tasks"):
        stored.answers("clipart", "protonet")
    stored._tasks.cache_clear()


@pytest.fixture(scope="module")
def drawn_once():
    """To draw the images that the first steps read takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load", cache(datasets.load))
        yield


@pytest.mark.slow
@pytest.mark.parametrize("name", ["baseline", "protonet", "anil", "maml", "unisiam"])
def test_the_code_trains_as_it_did(script, shipped, drawn_once, name):
    noted = shipped[shipped["learner"] == name]["provenance"].iloc[0]["first_losses"]
    assert script.first_losses(script.started(name)) == pytest.approx(noted, rel=0.01)


def few_of(runs):
    names = [f"m{number}" for number in range(len(runs))]
    return pd.DataFrame({"runs": [*runs], "sd": runs.std(axis=1, ddof=1)}, index=names)


@pytest.fixture
def one_base(monkeypatch):
    """All learners start from the same weights."""
    monkeypatch.setattr(
        stored, "bases", lambda: {f"m{number}": stored.SHARED[1] for number in range(8)}
    )


def test_learners_with_fewer_tasks_are_left_out_by_name():
    left = stored.left_out("clipart")
    networks = stored.all_answers("clipart")
    assert left == [
        name for name in stored.names(stored.FEW) if RECIPES[name].learner in ("maml", "boil")
    ]
    assert len(left) == 2
    assert len(networks) == stored.FEW * (len(stored.names(stored.FEW)) - len(left))
    assert networks.shape[1] == stored.TASKS


def test_luck_is_the_analysis_of_variance_in_two_ways(one_base):
    """Against the tables of an ordinary least squares fit."""
    rng = np.random.default_rng(0)
    runs = rng.normal(60, 2, (6, 1)) + rng.normal(0, 3, (1, 4)) + rng.normal(0, 1, (6, 4))
    luck = stored.luck(few_of(runs)).loc[stored.SHARED[1]]
    long = pd.DataFrame(runs).rename_axis("learner").reset_index().melt("learner", var_name="seed")
    table = anova_lm(ols("value ~ C(learner) + C(seed)", long).fit())
    assert luck["p"] == pytest.approx(table.loc["C(seed)", "PR(>F)"])
    assert luck["left"] ** 2 == pytest.approx(table.loc["Residual", "mean_sq"])
    common = (table.loc["C(seed)", "mean_sq"] - table.loc["Residual", "mean_sq"]) / 6
    assert luck["share"] == pytest.approx(common / (common + luck["left"] ** 2))
    assert luck["sd"] ** 2 == pytest.approx(common + luck["left"] ** 2) and luck["learners"] == 6
    row = stored.luck_table(stored.luck(few_of(runs))).iloc[0]
    assert row["share"] == f"{luck['share']:.0%}" and row["sd"] == f"{luck['sd']:.1f}"


def test_luck_of_runs_that_share_nothing_is_none(one_base):
    rng = np.random.default_rng(1)
    luck = pd.concat([stored.luck(few_of(rng.normal(60, 2, (8, 3)))) for _ in range(400)])
    assert 0.02 <= (luck["p"] < 0.05).mean() <= 0.08 and luck["share"].median() < 0.05


def test_no_displayed_name_takes_the_runs_for_the_papers_baseline():
    """They are tested on features of unit length, and Baseline of the papers on the features as they are."""
    assert RECIPES["baseline"].learner == "lr"
    displayed = stored.bases()
    assert "Baseline" not in displayed and "Baseline, unit features" in displayed


def test_printed_pairs_are_all_pairs_with_the_better_first():
    table = published.table("S7", "fewstab").query("metric == 'acc'")
    pairs = stored.printed_pairs(0.9)
    assert [*pairs.columns] == ["dataset", "shots", "a", "b", "difference", "apart", "survives"]
    sizes = table.groupby(["dataset", "shots"]).size()
    assert len(pairs) == (sizes * (sizes - 1) // 2).sum() and pairs["difference"].min() >= 0
    cells = table.set_index(["dataset", "shots", "learner"])
    for pair in pairs.sample(20, random_state=0).itertuples():
        a, b = (cells.loc[(pair.dataset, pair.shots, name)] for name in (pair.a, pair.b))
        assert pair.difference == pytest.approx(a["mean"] - b["mean"])
        assert pair.apart == (a["mean"] - a["half_width"] > b["mean"] + b["half_width"])
        spread_of_both = math.hypot(pair.survives, pair.survives)
        low, high = scipy.stats.norm.interval(0.9, loc=0, scale=spread_of_both)
        assert (low, high) == pytest.approx((-pair.difference, pair.difference))


def test_a_pair_is_shown_for_these_runs_and_new_ones():
    kinds = ["fixed", "runs", "paired", "images"]
    pair = {k: stats.Interval(i, 1.0, 0.95, 100, "these images") for i, k in enumerate(kinds)}
    rows = stored.pair_rows(pd.DataFrame([{"a": "A", "b": "B", **pair}])).set_index("series")
    names = ["these runs", "new runs", "same starts", "new images"]
    assert rows["mean"].to_dict() == dict(zip(names, range(4)))
