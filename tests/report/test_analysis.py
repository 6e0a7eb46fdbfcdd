"""The numbers of a report against SciPy and statsmodels."""

from pathlib import Path

import numpy as np
import pandas as pd
import proposed
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from refusal import refuses
from statsmodels.formula.api import ols
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.proportion import proportion_confint

from fslcore import stats

report_on = proposed.from_frame

RNG = np.random.default_rng(11)


def tasks_by_methods(tasks=50, methods=4):
    hard = RNG.normal(0, 7, (tasks, 1))
    values = 60 + np.arange(methods) % 7 + hard + RNG.normal(0, 5, (tasks, methods))
    return pd.DataFrame(values.clip(0, 100), columns=[f"m{i}" for i in range(methods)])


@pytest.mark.parametrize("level", [0.95, 0.9])
def test_paired_differences_and_holm(level):
    table = tasks_by_methods()
    pairs = report_on(table, level=level).pairs
    for pair in pairs.itertuples():
        expected = scipy.stats.ttest_rel(table[pair.a], table[pair.b])
        ends = expected.confidence_interval(level)
        assert (pair.p, pair.low, pair.high) == pytest.approx(
            (expected.pvalue, ends.low, ends.high), rel=1e-9
        )
    assert_allclose(pairs["p_holm"], multipletests(pairs["p"], method="holm")[1], rtol=1e-9)
    assert list(pairs["verdict"] == "better") == list(pairs["p_holm"] < 1 - level)


def test_methods_are_paired_where_both_have_all_tasks_of_each_other():
    table = tasks_by_methods(30, 3).assign(task=range(30))
    table.loc[:4, "m2"] = np.nan
    pairs = report_on(table).pairs
    for pair in pairs.itertuples():
        first, second = table[pair.a], table[pair.b]
        is_paired = "m2" not in (pair.a, pair.b)
        assert pair.test == ("paired t-test" if is_paired else "Welch's t-test")
        expected = (
            scipy.stats.ttest_rel(first, second)
            if is_paired
            else scipy.stats.ttest_ind(first.dropna(), second.dropna(), equal_var=False)
        )
        assert pair.p == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("shared, test", [(1, "Welch's t-test"), (2, "paired t-test")])
def test_over_data_sets_two_that_both_have_make_a_pair(shared, test):
    table = tasks_by_methods(9, 2).assign(dataset=[f"d{i}" for i in range(9)])
    table.loc[:3, "m0"] = np.nan
    table.loc[4 + shared :, "m1"] = np.nan
    (pair,) = report_on(table, methods=["m0", "m1"]).pairs.itertuples()
    assert pair.test == test


def test_draws_are_strata():
    table = tasks_by_methods(60, 2).assign(seed=np.repeat([0, 1, 2], 20), task=range(60))
    table["m0"] += 5 * table["seed"]
    pair = report_on(table).pairs.iloc[0]
    table["d"] = table[pair["a"]] - table[pair["b"]]
    fit = ols("d ~ C(seed, Sum)", table).fit()
    assert pair["half_width"] == pytest.approx(
        np.diff(fit.conf_int().loc["Intercept"])[0] / 2, rel=1e-9
    )
    assert pair["p"] == pytest.approx(fit.pvalues["Intercept"], rel=1e-9)


def test_runs_and_tasks_are_crossed():
    runs = {m: 60 + RNG.normal(0, 1, (3, 1)) + RNG.normal(0, 5, (3, 30)) for m in "ab"}
    run, task = np.indices((3, 30)).reshape(2, -1)
    columns = {method: values.ravel() for method, values in runs.items()}
    pair = report_on(pd.DataFrame({"run": run, "task": task, **columns})).pairs.iloc[0]
    expected = stats.new_run_interval(runs[pair["a"]], runs[pair["b"]]).interval
    assert (pair["difference"], pair["half_width"]) == pytest.approx(
        (expected.estimate, expected.half_width), rel=1e-9
    )


def test_the_highest_mean_is_corrected_for_its_choice():
    table = tasks_by_methods(120, 4)
    ((title, frame),) = report_on(table, level=0.9).frames.items()
    winner = stats.winner_interval(table.to_numpy().T, confidence_level=0.9, bounds=(0, 100))
    (found,) = frame.to_dict("records")
    assert "highest mean" in title and found.pop("method") == table.columns[winner.method]
    expected = {"mean": winner.observed.estimate, "corrected": winner.corrected.estimate}
    expected |= {"low": winner.corrected.low, "high": winner.corrected.high}
    assert found == pytest.approx(expected, rel=1e-9)
    assert found["corrected"] < found["mean"] == pytest.approx(table.mean().max())


def test_data_sets_have_student_wilcoxon_and_mean_ranks():
    table = tasks_by_methods(11, 3).round(1).assign(dataset=[f"d{i}" for i in range(11)])
    results = report_on(table)
    signed_ranks = results.frames["signed-rank test over data sets"].set_index("pair")
    for pair in results.pairs.itertuples():
        first, second = table[pair.a], table[pair.b]
        assert pair.p == pytest.approx(scipy.stats.ttest_rel(first, second).pvalue, rel=1e-9)
        wilcoxon = scipy.stats.wilcoxon((first - second).round(9)).pvalue
        row = signed_ranks.loc[f"{pair.a} − {pair.b}"]
        assert row["p_wilcoxon"] == pytest.approx(wilcoxon, rel=1e-9) and row["n"] == 11
    # Beside the interval stands no p-value of another test.
    assert not [name for name in results.pairs if "wilcoxon" in name]
    frame = results.frames["ranks over data sets"]
    assert [*frame] == ["method", "mean_rank", "critical_difference", "p_friedman"]
    ranks = frame.set_index("method")["mean_rank"]
    expected = scipy.stats.rankdata(-table[["m0", "m1", "m2"]], axis=1).mean(axis=0)
    assert list(ranks[["m0", "m1", "m2"]]) == pytest.approx(list(expected))


def test_printed_means_are_open_between_the_worst_and_the_best_that_pairing_can_do():
    worst = np.hypot(0.8, 0.6)
    best = np.sqrt(0.8**2 + 0.6**2 - 2 * 0.95 * 0.8 * 0.6)
    for gap, verdict in (
        (1.1 * worst, "better"),
        ((worst + best) / 2, "open"),
        (0.9 * best, "not significantly different"),
    ):
        table = pd.DataFrame({"method": ["a", "b"], "accuracy": [f"{60 + gap} ± 0.8", "60 ± 0.6"]})
        pair = report_on(table).pairs.iloc[0]
        assert pair["verdict"] == verdict
        assert (pair["half_width"], pair["paired_half_width"]) == pytest.approx(
            (worst, best), rel=1e-6
        )


@pytest.mark.parametrize("items", [40, 400])
def test_right_and_wrong_answers(items):
    first = RNG.random(items) < 0.7
    second = np.where(RNG.random(items) < 0.7, first, ~first)
    results = report_on(pd.DataFrame({"a": first, "b": second, "item": range(items)}))
    low, high = proportion_confint(first.sum(), items, method="wilson")
    method = results.methods.set_index("method").loc["a"]
    assert (method["low"], method["high"]) == pytest.approx((100 * low, 100 * high), rel=1e-9)
    expected = mcnemar(pd.crosstab(first, second), exact=False, correction=False)
    pair = results.pairs.iloc[0]
    assert pair["p"] == pytest.approx(expected.pvalue, rel=1e-9)
    assert pair["test"] == "McNemar's test"
    assert pair["spread"] == pytest.approx(100 * np.std(first * 1 - second, ddof=1))


@pytest.mark.parametrize("methods", [2, 3])
def test_these_data_show_what_a_power_analysis_says(methods):
    table = tasks_by_methods(12, methods)
    table[[*table]] = 60 + (table - table.mean()) / 3  # equal means
    results = report_on(table)
    pairs = results.pairs
    for pair in pairs.itertuples():
        effect = TTestPower().solve_power(nobs=12, alpha=0.05 / len(pairs), power=0.8)
        assert pair.detectable == pytest.approx(effect * pair.spread, rel=1e-4)
        sentence = f"These data would detect a true difference of {pair.detectable:.2f} points with 80 % power."
        assert sum(sentence in line for line in results.lines()) == 1


def test_two_data_sets_show_no_difference_that_accuracies_can_have():
    table = pd.DataFrame({"dataset": ["x", "y"], "a": [40.0, 80.0], "b": [60.0, 40.0]})
    results = report_on(table)
    assert results.pairs["detectable"][0] > 100
    assert not any("These data would detect" in line for line in results.lines())


def test_ranks_follow_from_the_significant_pairs():
    table = tasks_by_methods(60, 6)
    table["m5"] = (table["m5"] + 6).clip(upper=100)
    results = report_on(table)
    decided = results.pairs[results.pairs["verdict"] == "better"]
    for row in results.methods.itertuples():
        assert row.best_rank == 1 + (decided["b"] == row.method).sum()
        assert row.worst_rank == 6 - (decided["a"] == row.method).sum()


def test_a_reference_is_compared_with_each_other_method_and_nothing_else():
    table = tasks_by_methods(60, 5)
    results = report_on(table, reference="m2")
    assert len(results.pairs) == 4 and all(
        "m2" in pair for pair in zip(results.pairs["a"], results.pairs["b"])
    )
    assert_allclose(results.pairs["p_holm"], multipletests(results.pairs["p"], method="holm")[1])


def test_within_a_margin_methods_are_equivalent():
    table = tasks_by_methods(400, 2)
    table["m1"] = table["m0"] + RNG.normal(0, 0.5, 400)
    results = report_on(table, margin=1.0, level=0.9)
    assert (
        results.pairs["verdict"][0] == "equivalent"
        and "equivalent within 1 point:" in results.verdicts["sentence"][0]
        and "(80 % interval " in results.verdicts["sentence"][0]
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_interval_of_an_equivalence_lies_within_the_margin_exactly_where_its_p_value_says(seed):
    rng = np.random.default_rng(seed)
    for difference in (-1.2, -0.9, 0.2, 0.8, 1.0):
        a = rng.normal(70, 5, 60)
        b = a + difference + rng.normal(0, 0.9, 60)
        pair = report_on(pd.DataFrame({"a": a, "b": b}), margin=1.0).pairs.iloc[0]
        is_inside = pair["low_equivalent"] > -1 and pair["high_equivalent"] < 1
        assert is_inside == (pair["p_equivalent"] < 0.05)
        signed = (a - b).mean() * (1 if pair["a"] == "a" else -1)
        half = scipy.stats.ttest_1samp(a - b, 0).confidence_interval(0.9)
        assert pair["high_equivalent"] - signed == pytest.approx(half.high - (a - b).mean())
        middle = (pair["low_equivalent"] + pair["high_equivalent"]) / 2
        assert middle == pytest.approx(signed)


def test_missing_data_sets_leave_the_pairs_that_have_them():
    table = tasks_by_methods(8, 3).assign(dataset=[f"d{i}" for i in range(8)])
    table.loc[:1, "m2"] = np.nan
    results = report_on(table)
    counts = {frozenset((pair.a, pair.b)): pair.n for pair in results.pairs.itertuples()}
    assert counts[frozenset(("m0", "m1"))] == 8 and counts[frozenset(("m0", "m2"))] == 6


def test_many_methods_ask_for_a_reference():
    table = tasks_by_methods(30, 61)
    with refuses("reference=NAME"):
        report_on(table)
    assert len(report_on(table, reference="m3").pairs) == 60


def test_runs_near_the_ceiling_have_no_accuracy_above_100():
    """Of shares: 99.37 had the interval 97.84 to 100.90."""
    rng = np.random.default_rng(0)
    values = 1 - rng.exponential(0.006, (3, 30)).clip(0, 1)
    run, task = np.indices((3, 30)).reshape(2, -1)
    results = report_on(
        pd.DataFrame({"run": run, "task": task, "a": values.ravel()}), methods=["a"]
    )
    expected = stats.new_run_interval(100 * values, bounds=(0, 100)).interval
    assert results.methods["high"][0] == pytest.approx(expected.high) and expected.high < 100


def test_equal_answers_under_supports_have_the_ends_of_equal_answers_on_tasks():
    answers = (np.arange(50) % 3 > 0) * 1
    supports = [pd.DataFrame({"item": range(50), "support": s, "a": answers}) for s in range(3)]
    crossed = report_on(pd.concat(supports).assign(b=lambda frame: frame["a"])).pairs.iloc[1]
    shares = np.linspace(0, 1, 50)
    tasks = report_on(pd.DataFrame({"a": shares, "b": shares})).pairs.iloc[0]
    for pair in (crossed, tasks):
        assert (pair["low"], pair["high"], pair["p"]) == pytest.approx((-7.11, 7.11, 1), abs=0.01)


def test_draws_of_one_task_each_have_bounds():
    equal = pd.DataFrame({"seed": range(9), "task": range(9), "a": 0.7, "b": 0.7})
    pair = report_on(equal, seed="tasks").pairs.iloc[0]
    assert np.isfinite([pair["low"], pair["high"]]).all() and pair["p"] == 1


def test_a_printed_interval_ends_at_100_percent():
    table = pd.DataFrame({"method": ["a", "b"], "accuracy": ["99.5 ± 0.8", "100 ± 0.00"]})
    methods = report_on(table).methods.set_index("method")
    assert methods.loc["a", "high"] == 100 and methods.loc["a", "low"] == pytest.approx(98.7)


def test_differences_of_two_tasks_end_at_100_points():
    pair = report_on(pd.DataFrame({"a": [0.0, 100], "b": [50.0, 41]})).pairs.iloc[0]
    assert (pair["low"], pair["high"]) == (-100, 100) and pair["half_width"] > 100


def test_five_against_none_of_200_items_is_one_answer():
    """It was 'not significantly different', with an interval of 0.57 to 5.72."""
    first = np.r_[np.ones(5), np.zeros(95), np.ones(100)].astype(int)
    second = np.r_[np.zeros(100), np.ones(100)].astype(int)
    pair = report_on(pd.DataFrame({"item": range(200), "a": first, "b": second})).pairs.iloc[0]
    assert pair["verdict"] == "better" and pair["low"] > 0 and pair["p"] < 0.05


def test_effect_sizes_are_those_of_the_field_and_named():
    table = tasks_by_methods(50, 2)
    pair = report_on(table).pairs.iloc[0]
    differences = table[pair["a"]] - table[pair["b"]]
    assert pair["effect"] == "Cohen's d_z"
    assert pair["effect_size"] == pytest.approx(differences.mean() / differences.std(), rel=1e-9)
    long = table.melt(var_name="method", value_name="accuracy").assign(task=range(100))
    pair = report_on(long).pairs.iloc[0]
    pooled = np.sqrt(table.var().mean())
    assert pair["effect"] == "Cohen's d"
    assert pair["effect_size"] == pytest.approx(pair["difference"] / pooled, rel=1e-9)
    answers = pd.DataFrame({"a": [1] * 9 + [0] * 3 + [1] * 8, "b": [0] * 9 + [1] * 3 + [1] * 8})
    pair = report_on(answers.assign(item=range(20))).pairs.iloc[0]
    assert pair["effect"] == "Cohen's g" and pair["effect_size"] == pytest.approx(9 / 12 - 0.5)
    equal = report_on(pd.DataFrame({"a": [50.0] * 30, "b": [50.0] * 30})).pairs.iloc[0]
    assert equal["effect"] == "" and np.isnan(equal["effect_size"])


DECISIVE = Path(__file__).parents[1] / "site" / "tables"  # the form answers the same on these


@pytest.mark.parametrize(
    "name, start",
    [
        ("decisive", "One data set decides: without W or Y (or 1 more), a − b is not significant."),
        (
            "decisive_twice",
            "One data set decides: without CUB or Fungi (or 2 more), other − ours is not "
            "significant, and so for 1 more pair.",
        ),
        ("decisive_alone", ""),  # no pair is significant after Holm's correction
    ],
)
def test_data_sets_that_decide_are_named(name, start):
    results = report_on(pd.read_csv(DECISIVE / f"{name}.csv"))
    caution = results.cautions[0]
    assert caution == start if start else "decides" not in " ".join(results.cautions)
    is_named = results.pairs["decisive"] != ""
    assert is_named.sum() == (1 if name == "decisive" else 2)
    assert (results.pairs.loc[is_named, "p"] < 0.05).all()


def test_no_data_set_decides_what_all_show():
    frame = pd.read_csv(DECISIVE / "decisive.csv")
    everywhere = frame.assign(accuracy=frame["accuracy"] + 9 * (frame["method"] == "a"))
    results = report_on(everywhere)
    assert results.verdicts["verdict"].eq("better").any()
    assert "decides" not in " ".join(results.cautions)
