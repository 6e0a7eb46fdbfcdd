"""Tables of the evaluators paper: from per-task accuracies of known error, and from methods run here."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from fslbook.estimation.resampled import ESTIMATORS
from fslbook.evaluators import estimates, selection
from fslbook.evaluators.estimates import FRESH
from fslcore import datasets
from fslcore.errors import InputError
from fslcore.paths import DATA
from fslcore.tasks import sample_closed

METHODS = ["glyph-conv ncc", "glyph-conv lr"]


def world(tasks=4000, bias=0.0, spread=0.0, seed=0, dataset="d", method="m"):
    """Tasks of true accuracy near 70 %; estimators test 25 images of a model off by ``bias`` ± ``spread`` points."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.5, 0.9, tasks)
    columns = {
        "dataset": dataset,
        "method": method,
        "task": np.arange(tasks),
        "oracle": rng.binomial(75, truth) / 75,
    }
    for name in ESTIMATORS:
        off = np.clip(truth + (bias + spread * rng.normal(size=tasks)) / 100, 0, 1)
        n = 5 if name == "hold-out" else 25
        columns[name] = rng.binomial(n, off) / n
    columns[FRESH] = rng.binomial(25, truth) / 25
    table = pd.DataFrame(columns)
    columns = ["oracle", *ESTIMATORS, FRESH]
    table[columns] *= 100
    return table


def test_biases_are_paired_t_tests_with_holms_correction():
    tables = [world(300, bias=b, seed=s, method=f"m{s}") for s, b in enumerate((-3, 0, 0))]
    biases = estimates.biases(pd.concat(tables))
    assert len(biases) == 12
    for row in biases.itertuples():
        t = tables[int(row.method[1])]
        assert row.p_value == pytest.approx(
            scipy_stats.ttest_rel(t[row.estimator], t["oracle"]).pvalue
        )
        assert row.mean == pytest.approx((t[row.estimator] - t["oracle"]).mean())
    # Holm: in order of p, the i-th is compared with 0.05 / (12 - i) until one fails
    p = np.sort(biases["p_value"])
    passed = np.cumprod(p <= 0.05 / (12 - np.arange(12))).sum()
    assert (biases["verdict"] != 0).sum() == passed
    sure = biases[biases["verdict"] != 0]
    assert (np.sign(sure["mean"]) == sure["verdict"]).all() and passed >= 3


def test_means_maes_and_far_of_a_table_by_hand():
    table = pd.DataFrame(
        {
            "dataset": "d",
            "method": "m",
            "task": [0, 1],
            "oracle": [60.0, 80.0],
            "5-fold": [64.0, 68.0],
            FRESH: [60.0, 90.0],
        }
    )
    assert estimates.means(table).set_index("estimator")["mean"].to_dict() == {
        "oracle": 70,
        "5-fold": 66,
        FRESH: 75,
    }
    assert estimates.maes(table).set_index("estimator")["mae"].to_dict() == {"5-fold": 8, FRESH: 5}
    assert estimates.share_far_off(table).set_index("estimator")["mean"].to_dict() == {
        "5-fold": 50,
        FRESH: 0,
    }  # 10 is not more
    half = estimates.maes(table).set_index("estimator")["half_width"]["5-fold"]
    assert half == pytest.approx(
        12.706 * np.std([4, 12], ddof=1) / np.sqrt(2), rel=1e-3
    )  # two tasks: Student's quantile
    cells = estimates.wide(estimates.maes(table))
    assert cells.loc[("d", "m"), "5-fold"] == "8.0 ± 50.8" and "bootstrap" not in cells


def test_findings_are_symbols_of_each_data_set_here_and_as_printed():
    table = pd.concat(
        [
            world(2000, bias=-20, dataset="low", method="A"),
            world(2000, bias=20, dataset="high", method="A"),
            world(2000, dataset="low", method="B"),
        ]
    )
    symbols = estimates.findings(table)
    assert list(symbols.loc[("A", "here")]) == ["0 0", "+ −", "+ −", "+ +", "− −"]
    assert symbols.loc[("B", "here"), "leave-one-out is low"] == "0"
    maml = symbols.loc[("MAML", "printed")]
    assert list(maml) == ["+ + +"] * 3 + ["· + ·", "· · ·"]
    assert list(symbols.index.get_level_values(0))[:2] == ["A", "B"]


@pytest.mark.parametrize("table", [1, 2, 3, 4, 5])
def test_printed_cells_have_the_papers_digits(table):
    """Each cell is what ``data/published`` has as text: '69.50' stays '69.50'."""
    rows = pd.read_csv(
        DATA / "published" / f"evaluators_table{table}.csv", dtype=str, keep_default_na=False
    )
    value = rows["mae"] if table in (2, 3) else rows["mean"] + " ± " + rows["half_width"]
    read = selection.printed if table > 3 else estimates.printed
    cells = estimates.as_printed(read(table)).rename_axis(columns="estimator").stack()
    added = {selection.ALWAYS, selection.ANY} if table == 5 else set()  # from Table 1
    cells = cells[~cells.index.get_level_values("estimator").isin(added)]
    assert sorted(cells) == sorted(value)


def test_curves_are_means_with_standard_errors():
    table = (
        world(50)
        .drop(columns=["hold-out", "bootstrap"])
        .rename(columns={"leave-one-out": "12-fold"})
    )
    curve = estimates.curve(table, "folds").set_index(["estimator", "folds"])
    size = (table["12-fold"] - table["oracle"]).abs()
    assert curve.loc[("K-fold", 12), "mae"] == pytest.approx(size.mean())
    assert curve.loc[("K-fold", 12), "error"] == pytest.approx(scipy_stats.sem(size))
    assert curve.loc[FRESH].index.isna().all() and len(curve) == 3


def test_collected_tasks_are_the_samplers_and_fresh_images_are_new():
    shape = dict(tasks=6, shots=(4, 4, 5, 6, 6), queries=(8, 8, 10, 12, 12))
    images = datasets.load("glyphs/hebrew")
    names = np.array(images.class_names)[images.labels]
    expected = sample_closed(names, tasks=6, shots=shape["shots"], queries=(12, 12, 15, 18, 18))
    tasks, fresh = estimates.draw(images, ways=5, seed=0, **shape)
    assert (tasks.support == expected.support).all()
    assert np.bincount(tasks.query_label[0]).tolist() == list(shape["queries"])
    assert np.bincount(fresh.query_label[0]).tolist() == list(shape["shots"])
    for t in range(6):
        assert set(tasks.query[t]) | set(fresh.query[t]) == set(expected.query[t])
        assert not set(tasks.query[t]) & set(fresh.query[t])
    table = estimates.collect(["glyphs/hebrew"], METHODS[:1], rounds=3, **shape)
    assert (
        list(table) == ["dataset", "method", "task", "oracle", *ESTIMATORS, FRESH]
        and len(table) == 6
    )


def test_sweeps_have_what_exists_and_no_more():
    shots = estimates.by_shots("glyphs/hebrew", METHODS[:1], [1, 3], tasks=4, rounds=2)
    one_shot = shots[shots["shots"] == 1]
    assert (
        one_shot["bootstrap"].isna().all() and shots[shots["shots"] == 3]["bootstrap"].notna().all()
    )
    assert (one_shot[["hold-out", "5-fold", "leave-one-out"]] == 0).all(axis=None)
    assert set(estimates.curve(shots, "shots")["estimator"]) == {*ESTIMATORS, FRESH}
    folds = estimates.collect(["glyphs/hebrew"], METHODS[:1], names=["2-fold", "25-fold"], tasks=4)
    assert {"2-fold", "25-fold"} <= set(folds)
    ways = estimates.by_ways("glyphs/hebrew", METHODS[:1], [2, 6], 6, tasks=4)
    assert ways.groupby("ways")["leave-one-out, refilled"].count().to_dict() == {2: 4, 6: 0}


def test_phenomenon_class_counts_mislead_logistic_regression_alone():
    """Leave-one-out of a learner that reads class counts falls far below its accuracy; a copy in the place mends it."""
    names = ["5-fold", "leave-one-out", "leave-one-out, refilled"]
    table = estimates.collect(["clipart"], METHODS, names=names, tasks=100)
    bias = estimates.biases(table, names).set_index(["method", "estimator"])
    lr, ncc = (bias.loc[f"glyph-conv {name}"] for name in ("LR", "NCC"))
    assert lr.loc["leave-one-out", "mean"] < -15 < -10 < lr.loc["leave-one-out, refilled", "mean"]
    assert lr.loc["leave-one-out", "verdict"] == -1 and abs(ncc.loc["leave-one-out", "mean"]) < 10


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: estimates.by_ways("clipart", METHODS, [2, 4], 30),
            "ways = 4; it must divide the 30 support images",
        ),
        (
            lambda: estimates.collect(["clipart"], ["glyph-conv ft"], tasks=3),
            "no results of them are at hand",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_where_an_error_rises_is_told_with_both_ends():
    rows = [
        ("A", "5-fold", 1, 9.0),
        ("A", "5-fold", 2, 7.0),
        ("B", "5-fold", 1, 8.0),
        ("B", "5-fold", 2, 9.5),
    ]
    curve = pd.DataFrame([*rows, ("B", "hold-out", 1, 6.0), ("B", "hold-out", 2, 6.5)])
    curve.columns = ["method", "estimator", "shots", "mae"]
    (rise,) = estimates.rises(curve, "shots")  # means over both estimators, at the first and last
    assert all(name in rise for name in ("B", "5-fold", "hold-out"))
    assert re.findall(r"([\d.]+)\D* at (\d)", rise) == [("7.0", "1"), ("8.0", "2")]


def test_rows_of_a_forest_hold_ours_and_the_printed_in_panels():
    keys = {"dataset": ["d"], "method": ["A"], "estimator": ["5-fold"]}
    ours = pd.DataFrame({**keys, "mae": [3.0], "half_width": [1.0]})
    rows = estimates.rows(ours, ours.assign(mae=4.0))
    assert rows[["panel", "row", "series", "mean"]].to_numpy().tolist() == [
        ["d", "A", "5-fold", 3.0],
        ["d, as printed", "A", "5-fold", 4.0],
    ]
