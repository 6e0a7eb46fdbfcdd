"""Choosing by estimates: ranks and picks against loops and SciPy, tables against worlds of known best choice."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from refusal import refuses
from scipy.stats import spearmanr

from fslbook.beyond import runs as trained
from fslbook.estimation.ranks import rank_correlation, selected_value
from fslbook.estimation.resampled import ESTIMATORS
from fslbook.evaluators import estimates, figures, selection
from fslbook.evaluators.estimates import FRESH, HALVES
from fslbook.evaluators.selection import ALWAYS, ANY, DEFAULT, EVEN, TUNED
from fslcore import datasets
from fslcore.tasks import resplits, sample_all_classes

few_values = st.integers(1, 6).flatmap(
    lambda t: st.integers(2, 5).flatmap(
        lambda m: st.tuples(
            *(arrays(float, (t, m), elements=st.sampled_from([0, 0.2, 0.4, 1.0])) for _ in range(2))
        )
    )
)


@given(few_values)
def test_rank_correlation_is_scipys(pair):
    a, b = pair
    correlation = rank_correlation(a, b)
    for x, y, r in zip(a, b, correlation):
        if len(set(x)) == 1 or len(set(y)) == 1:
            assert np.isnan(r)
        else:
            assert r == pytest.approx(spearmanr(x, y).statistic)


@given(few_values)
def test_picked_is_the_mean_over_those_that_tie(pair):
    estimate, value = pair
    values_of_choice = selected_value(estimate, value)
    for x, y, z in zip(estimate, value, values_of_choice):
        assert z == pytest.approx(np.mean([v for e, v in zip(x, y) if e == max(x)]))
    with_default = selected_value(estimate, value, default=0)
    first = estimate[:, 0] == estimate.max(axis=1)
    assert (with_default[first] == value[first, 0]).all()
    assert with_default[~first] == pytest.approx(values_of_choice[~first])
    assert selected_value(value, value) == pytest.approx(value.max(axis=1))


def test_ranks_of_one_row_go_with_those_of_many_whichever_comes_first():
    row, rows = [1.0, 2.0, 3.0], [[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]
    for pair in ((row, rows), (rows, row)):
        assert rank_correlation(*pair).tolist() == [-1, 1]


@pytest.mark.parametrize("compute", [rank_correlation, selected_value])
def test_ranks_are_the_same_in_any_unit(compute):
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 5, 4))
    first = first.round(1)  # with ties
    for factor in (1e-28, 1e-11, 0.01, 100, 1e29):
        assert compute(factor * first, second).tolist() == compute(first, second).tolist(), factor
    for factor in (1e150, 1e-200):
        with refuses("magnitude"):
            compute(factor * first, second)


def test_a_constant_row_has_no_rank_correlation():
    assert np.isnan(rank_correlation([0.0, 0.0], [1.0, 2.0]))


def test_sums_that_differ_by_rounding_tie():
    a = np.array([[0.1 + 0.2, 0.3, 0.1]])
    assert a[0, 0] != a[0, 1]
    assert selected_value(a, [[1.0, 2.0, 9.0]]) == 1.5
    assert rank_correlation(a, [[1.0, 1.0, 0.0]]) == pytest.approx(1)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: selected_value([[1, 2]], [[1, 2, 3]]),
            r"\(tasks, candidates\) .*got shapes \(1, 2\) and \(1, 3\)",
        ),
        (
            lambda: selected_value([[1.0, 2.0]], [[1.0, 2.0]], default=2),
            "default must be an integer from 0 to 1",
        ),
        (lambda: sample_all_classes([0, 0, 1], shots=1, tasks=1), "class 1 .*images, got 1"),
        (
            lambda: selection.ranks(world(candidates=1)),
            "methods of d .*at least 2 candidates.*got m0 alone",
        ),
        (
            lambda: selection.picks(world(), default="C = 9"),
            "default = C = 9; m0, m1, m2, m3 are the candidates",
        ),
    ],
)
def test_bad_input(call, message):
    with refuses(message):
        call()


def world(tasks=2000, candidates=4, lead=0.0, spread=0.0, seed=0, dataset="d"):
    """Candidates near 70 %; the first is ``lead`` points better, tasks move each by ``spread`` points."""
    rng = np.random.default_rng(seed)
    truth = 0.7 + rng.normal(size=(tasks, candidates)) * spread / 100
    truth[:, 0] += lead / 100
    truth = truth.clip(0, 1)
    tables = []
    for m in range(candidates):
        half = [rng.binomial(n, truth[:, m]) for n in (40, 35)]
        columns = {
            name: rng.binomial(n, truth[:, m]) / n
            for name, n in zip([*ESTIMATORS, FRESH], (5, 25, 25, 200, 25))
        }
        columns |= dict(zip(HALVES, (half[0] / 40, half[1] / 35)))
        table = 100 * pd.DataFrame({"oracle": sum(half) / 75, **columns})
        table.insert(0, "dataset", dataset)
        table.insert(1, "method", f"m{m}")
        tables.append(table.rename_axis("task").reset_index())
    return pd.concat(tables, ignore_index=True)


def test_where_all_are_equal_the_oracles_lead_is_luck_and_no_rule_wins():
    table = world()
    optimism = selection.optimism(table).loc["d"]
    assert optimism["same half"] > 75 and optimism["other half"] == pytest.approx(70, abs=0.5)
    assert abs(optimism["rank correlation"]) < 0.05 < optimism["difference"]
    picked = selection.picks(table)
    assert (
        selection.differences_from(picked, ALWAYS, [*ESTIMATORS, ANY, FRESH])["verdict"] == 0
    ).all()
    assert selection.differences_from(picked, ALWAYS, ["oracle"])["verdict"].tolist() == [1]
    mean = estimates.means(selection.ranks(table)).set_index("estimator")["mean"]
    assert (mean.abs() < 0.05).all()


def test_a_leader_is_found_on_the_other_tasks_without_hindsight():
    table = world(lead=6)
    picked = selection.picks(table)
    leader = table.query("method == 'm0'")["oracle"].to_numpy()
    assert (picked[ALWAYS].to_numpy() == leader).all()
    assert picked[ANY].mean() == pytest.approx(table["oracle"].mean())
    differences = selection.differences_from(
        picked, ALWAYS, ["hold-out", "5-fold", FRESH]
    ).set_index("estimator")
    assert (differences["verdict"] == -1).all()
    assert differences["mean"]["hold-out"] < differences["mean"]["5-fold"]


def test_best_on_average_does_not_look_at_its_own_half():
    table = world(tasks=2, candidates=2).assign(
        oracle=[0.0, 100.0, 100.0, 0.0]
    )  # m0 wins the odd task
    assert selection.picks(table)[ALWAYS].tolist() == [0, 0]


def test_where_tasks_differ_better_estimates_rank_and_choose_better():
    table = world(spread=8)
    mean = estimates.means(selection.ranks(table)).set_index("estimator")["mean"]
    assert mean["hold-out"] < mean["5-fold"] < mean["bootstrap"]  # of 5, 25 and 200 images
    assert mean["5-fold"] == pytest.approx(mean[FRESH], abs=0.03)
    differences = selection.differences_from(selection.picks(table), ALWAYS, ESTIMATORS).set_index(
        "estimator"
    )
    assert (differences["verdict"] == 1).all() and differences["mean"].idxmax() == "bootstrap"


def test_one_kind_of_estimators_is_better_only_where_its_lead_is_above_chance():
    rng = np.random.default_rng(0)
    scores = pd.DataFrame({name: rng.normal(size=400) for name in ESTIMATORS})
    scores = scores.assign(method="3 learners", task=np.tile(np.arange(200), 2))
    scores["dataset"] = np.repeat(["noise", "lead"], 200)
    scores.loc[scores["dataset"] == "lead", "bootstrap"] += 1
    found = selection.first_kind(scores, ["leave-one-out", "bootstrap"])
    assert found.set_index("dataset")["verdict"].to_dict() == {"noise": 0, "lead": 1}
    swapped = selection.first_kind(scores, ["hold-out", TUNED])
    assert swapped.set_index("dataset")["verdict"].to_dict() == {"noise": 0, "lead": -1}


def test_ranks_without_an_order_count_as_told():
    table = world(tasks=3).assign(**{"5-fold": 50.0})
    assert (selection.ranks(table)["5-fold"] == 0).all()
    share = selection.undefined(table).loc[("d", "5-fold")]
    assert share["undefined (%)"] == 100 and np.isnan(share["mean of the others"])


def test_a_default_is_kept_unless_something_is_above_it():
    table = world(tasks=2, candidates=2).assign(
        oracle=[60.0, 60.0, 80.0, 80.0], **{"5-fold": [50.0, 50.0, 50.0, 51.0]}
    )
    picked = selection.picks(table, [TUNED], default="m0")
    assert picked[DEFAULT].tolist() == [60, 60] and picked[TUNED].tolist() == [60, 80]
    assert selection.picks(table, [TUNED])[TUNED].tolist() == [70, 80]


def test_grid_runs_every_setting_on_the_same_tasks():
    grid = selection.grid(
        ["glyphs/hebrew"], "glyph-conv lr", "C", [0.01, 1, 100], tasks=6, names=[TUNED]
    )
    assert grid.groupby("method", sort=False).size().to_dict() == {
        "C = 0.01": 6,
        "C = 1": 6,
        "C = 100": 6,
    }
    usual = estimates.collect(["glyphs/hebrew"], ["glyph-conv lr"], tasks=6, names=[TUNED])
    columns = ["task", "oracle", TUNED, FRESH]
    assert (
        grid.loc[grid["method"] == "C = 1", columns].reset_index(drop=True).equals(usual[columns])
    )
    assert len(selection.picks(grid, [TUNED], default="C = 1")) == 6


def test_even_folds_divide_the_shots():
    folds = {s: int(selection.even_folds(s).removesuffix("-fold")) for s in range(2, 40)}
    assert all(s % k == 0 for s, k in folds.items())
    assert [folds[s] for s in (2, 4, 5, 6, 7, 16)] == [2, 4, 5, 3, 7, 4] and selection.even_folds(
        1
    ) == "2-fold"


def test_at_one_shot_nothing_is_tuned():
    table = selection.by_shots(
        ["clipart"],
        "glyph-conv lr",
        "C",
        [0.01, 1, 100],
        "C = 1",
        ways=[2],
        shots=[1, 4],
        queries=15,
        tasks=20,
    )
    one_shot, four = (table[table["shots"] == s] for s in (1, 4))
    assert len(one_shot) == len(four) == 20
    assert (one_shot[TUNED] == one_shot[DEFAULT]).all() and (
        one_shot[EVEN] == one_shot[DEFAULT]
    ).all()
    assert (four[EVEN] != four[DEFAULT]).any()


def test_tasks_of_all_classes_test_on_all_the_rest():
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(["a", "b", "c"], [4, 6, 9]))
    few, many = (sample_all_classes(labels, shots=s, tasks=3, seed=1) for s in (1, 3))
    for t in range(3):
        assert sorted([*many.support[t], *many.query[t]]) == list(range(19))
        assert (labels[many.support[t]] == np.array(list("abc"))[many.support_label[t]]).all()
        assert set(few.support[t]) < set(many.support[t])
    assert np.bincount(many.support_label[0]).tolist() == [3, 3, 3]


def test_all_classes_has_what_exists_and_no_more():
    table = selection.all_classes(
        ["glyphs/hebrew"], "glyph-conv lr", [1, 2], tasks=2, rounds=2, largest=40
    )
    one_shot, two = (table[table["shots"] == s] for s in (1, 2))
    assert one_shot["bootstrap"].isna().all() and two["bootstrap"].notna().all()
    assert one_shot["leave-one-out"].notna().all() and two["leave-one-out"].isna().all()
    assert (two[EVEN] > two[TUNED]).all()  # two images per class in 5 folds: most lose one
    assert set(table["ways"]) == {len(datasets.load("glyphs/hebrew").class_names)}
    curves = selection.curves(table, {"accuracy (%)": table[["oracle"]]})
    mean = curves.set_index("shots")["mean"].to_dict()
    assert mean == pytest.approx(table.groupby("shots")["oracle"].mean().to_dict())
    assert [ax.get_ylabel() for ax in figures.shot_panels(curves).axes] == ["accuracy (%)"]


def test_exponents_of_pure_chance_are_found():
    rng = np.random.default_rng(0)
    tables = []
    for i, p in enumerate((0.2, 0.4, 0.7, 0.9, 0.97)):
        for shots in (2, 4, 8, 16):
            n = 10 * shots
            estimate = 100 * rng.binomial(n, p, 400) / n
            ids = dict(dataset=f"d{i}", ways=10, shots=shots, task=np.arange(400), oracle=100 * p)
            tables.append(pd.DataFrame({**ids, EVEN: estimate}))
    exponents = selection.exponents(pd.concat(tables))
    assert exponents["exponent"].to_numpy() == pytest.approx(
        exponents["chance"].to_numpy(), abs=0.05
    )
    assert (exponents["alone"] < 0.95).all()


def test_the_luck_of_networks_is_that_of_equal_ones_at_least(monkeypatch):
    """Networks that guess alike gain by luck alone; where one knows all, nothing is luck."""
    rng = np.random.default_rng(1)
    shape = trained._tasks("clipart").query.shape
    monkeypatch.setattr(
        trained, "all_answers", lambda dataset: 100.0 * (rng.random((6, *shape)) < 0.5)
    )
    assert trained.luck_elsewhere("clipart", 20)["images"] > 0.2
    monkeypatch.setattr(
        trained, "all_answers", lambda dataset: np.stack([np.zeros(shape), np.full(shape, 100.0)])
    )
    assert trained.luck_elsewhere("clipart", 20) == {"images": 0.0, "classes": 0.0}


def test_where_no_bootstrap_holds_all_classes_the_others_stay(monkeypatch):
    monkeypatch.setattr(resplits, "DRAWS", 0)
    table = selection.all_classes(
        ["glyphs/hebrew"], "glyph-conv lr", [2], tasks=2, rounds=2, largest=100
    )
    assert table["bootstrap"].isna().all()
    assert table[["hold-out", TUNED, EVEN, "oracle"]].notna().all(axis=None)


def test_the_best_of_equal_runs_gains_on_one_half_what_it_loses_on_the_other():
    """0.9 where it was chosen and 0.5 where it was not; the average run has no luck."""
    counts, sums = np.full(2, 10), np.array([[9.0, 5], [5, 9], [7, 7]])
    luck = trained._mean_luck(sums, counts, np.arange(2), 20, np.random.default_rng(0))
    assert luck == pytest.approx(0.4)


def test_findings_count_both_sides():
    findings = selection.findings(selection.picks(world(spread=8)), {})
    printed, here = findings.loc["Resampling chooses better than hold-out"]
    assert printed.startswith("9 of 9 better") and here.startswith("3 of 3 better")
    assert findings.loc["Estimators come up to the oracle", "here"].startswith("0 of 4 better, 4 ")


def test_cases_are_counted_where_at_least_half_are_decided():
    assert selection.decided_cases(pd.Series([1, 1, -1, 0])) == (2, 3)
    assert selection.decided_cases(pd.Series([1, 0])) == (1, 1)
    assert selection.decided_cases(pd.Series([1, 0, 0])) is None
    assert selection.favoured(pd.Series([1, 0, -1]), none="no") == "1 of 2"
    assert selection.favoured(pd.Series([0, 0]), none="no") == "no"
